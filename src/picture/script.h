/* script.h: the script of a picture (web/picture.js), which script.S takes into the binary. */
#pragma once

#include "base/buf.h"

/* The script's bytes, up to pt_picture_js_end. */
extern const char pt_picture_js[], pt_picture_js_end[];

/* Puts the script as an SVG element. It zooms and moves the group with the id "viewport". */
void pt_picture_script(pt_out *out);
