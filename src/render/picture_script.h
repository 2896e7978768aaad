/* picture_script.h: the script of a picture (web/picture.js), as an element of SVG. */
#ifndef PT_RENDER_PICTURE_SCRIPT_H
#define PT_RENDER_PICTURE_SCRIPT_H

#include "base/buf.h"

/* The script moves the group whose id is "viewport". */
void pt_picture_script(pt_out *out);

#endif
