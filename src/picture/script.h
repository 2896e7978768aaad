/* script.h: the script of a picture (web/dist/picture.js), which script.S embeds in the binary. */
#pragma once

#include "base/buf.h"

/* The script is the bytes from pt_picture_js to pt_picture_js_end. */
extern const char pt_picture_js[], pt_picture_js_end[];

/* Puts the script as an SVG element. The script zooms and moves the group with the id
 * "viewport". */
void pt_picture_script(pt_out *out);
