/* layout.h: gives the boxes and arrows of a drawing their places: in ranks, callers above callees.
 *
 *   1. arrows that close a cycle are reversed              layout_rank.c
 *   2. each box gets a rank, so that arrows are short      layout_rank.c
 *   3. arrows get a bend on each rank that they cross,
 *      and room for their labels                           layout_rank.c
 *   4. the nodes of each rank are ordered, so that few
 *      arrows cross                                        layout_order.c
 *   5. nodes get coordinates, so that arrows are straight  layout_place.c
 *   6. arrows become smooth curves                         layout_route.c
 *
 * After K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
 * Structures" (1981), and E. Gansner et al., "A Technique for Drawing Directed Graphs" (1993).
 * Parts of the graph that no arrow connects are laid out one by one and set side by side; the
 * legend stands above them (layout.c).
 */
#pragma once

#include "picture/drawing.h"

/* Fills x and y of the nodes, the curve, tip and label place of the edges, and width and height of
 * the drawing. The same drawing always gets the same places. Fails with PT_ERR_LIMIT if the graph
 * has too many nodes and bends (PT_LAYER_NODES_MAX in layout_int.h); the places are then
 * undefined. */
pt_status pt_layout(pt_drawing *drawing, pt_error *reterr);
