/* picture.h: a laid-out drawing as a picture that needs no other file. Errors stay in out. */
#ifndef PT_RENDER_PICTURE_H
#define PT_RENDER_PICTURE_H

#include "render/drawing.h"

/* Complete in any viewer; in browsers the wheel zooms, dragging moves, a double click resets. */
void pt_picture_svg(pt_out *out, const pt_drawing *drawing);
/* One page as large as the picture. Characters that Latin-1 lacks become "?". */
void pt_picture_ps(pt_out *out, const pt_drawing *drawing);
void pt_picture_pdf(pt_out *out, const pt_drawing *drawing);

/* Writes what `dot -Tsvg` printed again, by an allow-list of elements and attributes: nothing in it
 * runs, loads or leads elsewhere. In browsers it fills the window, zooms and moves. PT_ERR_FORMAT:
 * it is no SVG; then `out` holds a part of it, which nobody may use. */
pt_status pt_picture_svg_of_dot(pt_out *out, const char *svg, size_t size, pt_error *reterr);

#endif
