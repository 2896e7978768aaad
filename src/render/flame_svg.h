/* flame_svg.h: a flame graph as one SVG picture that needs no other file. */
#pragma once

#include "render/report.h"
#include "view/flame.h"

#define PT_FLAME_SVG_WIDTH_PX 1200
/* A box takes some 200 bytes. */
#define PT_FLAME_SVG_MAX_NODES 20000

/* Writes the picture; errors stay in out. A static picture with hover text for any viewer; browsers
 * also run its script (zoom, search, keys). Texts may contain any characters. */
void pt_render_flame_svg(pt_out *out, const pt_flame *flame, const pt_report_head *head);
