/* flame_html.h: a flame graph as one page that opens offline. */
#pragma once

#include "render/report.h"
#include "view/flame.h"

/* The page holds boxes of at least half a pixel at this width, eight screens of 4,000 pixels:
 * zooming shows them. If there are more than PT_FLAME_HTML_MAX_NODES boxes, which open without
 * delay, the narrowest are left out. */
#define PT_FLAME_HTML_WIDTH_PX  32000
#define PT_FLAME_HTML_MAX_NODES 60000

/* Writes the page of web/ with the data in it, as docs/flame-data.md describes them; errors stay in
 * out. Texts may be anything. */
void pt_render_flame_html(pt_out *out, const pt_flame *flame, const pt_report_head *head);

/* Writes the data alone. */
void pt_render_flame_json(pt_out *out, const pt_flame *flame, const pt_report_head *head);
