/* picture.h: writes a drawing, which pt_layout has given its places, as one file that needs no
 * other file.
 *
 * Text is Helvetica. Each function borrows the drawing and writes to `out`, which keeps the first
 * error of writing.
 */
#pragma once

#include "picture/drawing.h"

/* SVG: every viewer shows the whole picture; in a browser the wheel zooms, dragging moves, and a
 * double click shows the whole again. */
void pt_picture_svg(pt_out *out, const pt_drawing *drawing);

/* PostScript or PDF: one page as large as the drawing. A character that Latin-1 lacks becomes "?";
 * PDF also has the ellipsis. */
void pt_picture_ps(pt_out *out, const pt_drawing *drawing);
void pt_picture_pdf(pt_out *out, const pt_drawing *drawing);

/* Reads size bytes of SVG that `dot -Tsvg` printed, and writes the elements and attributes of an
 * allow-list: the result runs no script but pitot's (script.h), loads nothing and links to no other
 * document. In a browser it fills the window, zooms and moves. Fails with PT_ERR_FORMAT if the
 * input is not well-formed SVG; `out` then holds a part of the picture, which must not be used. */
pt_status pt_picture_svg_of_dot(pt_out *out, const char *svg, size_t size, pt_error *reterr);
