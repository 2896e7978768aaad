/* flame_html.h: a flame graph as one page that opens offline. */
#ifndef PT_RENDER_FLAME_HTML_H
#define PT_RENDER_FLAME_HTML_H

#include "base/buf.h"
#include "view/flame.h"

/* A box of half a pixel on a screen this wide is still in the page: zooming shows it. */
#define PT_FLAME_HTML_WIDTH_PX  4000
#define PT_FLAME_HTML_MAX_NODES 60000

/* Writes the page of web/ with the data in it, as docs/flame-data.md describes them; errors stay in
 * out. title is any text. */
void pt_render_flame_html(pt_out *out, const pt_flame *flame, const char *title);

#endif
