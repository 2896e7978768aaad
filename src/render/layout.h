/* layout.h: places for the boxes and arrows of a drawing, in layers, callers above what they call.
 *
 *   arrows against the stream are turned round    layout_rank.c
 *   ranks, as short as the arrows allow           layout_rank.c
 *   bends where arrows cross ranks, room for labels
 *   order within ranks, few crossings             layout_order.c
 *   places, arrows as straight as can be          layout_place.c
 *   smooth curves                                 layout_route.c
 *
 * After K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
 * Structures" (1981), and E. Gansner et al., "A Technique for Drawing Directed Graphs" (1993).
 * Parts that are not connected are laid out one by one and set side by side, the legend above them.
 */
#ifndef PT_RENDER_LAYOUT_H
#define PT_RENDER_LAYOUT_H

#include "render/drawing.h"

/* Fills the places of nodes and edges, and the size of the whole. PT_ERR_LIMIT when the graph is
 * too large to be looked at anyway. */
pt_status pt_layout(pt_drawing *drawing, pt_error *reterr);

#endif
