/* flame_html.h: a flame graph as one page that opens offline. */
#pragma once

#include "render/report.h"
#include "view/flame.h"

/* The page holds all boxes that are at least half a pixel wide at this width (eight screens of
 * 4,000 pixels), since zooming shows narrow boxes. A page with PT_FLAME_HTML_MAX_NODES boxes still
 * opens without delay; if there are more boxes, the narrowest are left out. */
#define PT_FLAME_HTML_WIDTH_PX  32000
#define PT_FLAME_HTML_MAX_NODES 60000

/* Writes the page of web/ with the data in the form that docs/flame-data.md describes; errors stay
 * in out. Texts may contain any characters. */
void pt_render_flame_html(pt_out *out, const pt_flame *flame, const pt_report_head *head);

/* Writes the data alone. */
void pt_render_flame_json(pt_out *out, const pt_flame *flame, const pt_report_head *head);
