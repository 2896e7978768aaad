/* layout_int.h: a part of a drawing, all of whose boxes are connected, between the steps of
 * layout.h.
 *
 * Boxes have even ranks, labels of arrows odd ones. An arrow from rank 0 to rank 4 has bends on the
 * ranks 1, 2 and 3; one of the odd ranks holds its label, to the right of its line.
 */
#pragma once

#include "base/index.h"
#include "picture/drawing.h"

/* Boxes and bends of a part, at most. */
#define PT_LAYER_NODES_MAX 400000

/* A box, or a bend of an arrow on a rank that it crosses. */
typedef struct pt_layer_node {
    uint32_t box;       /* of a box: its node of the drawing; of a bend PT_NONE */
    uint32_t edge;      /* of a bend: its edge of the part */
    bool has_label;     /* of a bend: the arrow's label stands here */
    double left, right; /* room that it takes beside x */
    double height;
    int32_t rank;
    uint32_t place; /* in the order of its rank, from 0 */
    double x;       /* of a box its centre, of a bend its line */
} pt_layer_node;

/* A piece of an arrow, from a layer node to one on the next rank. */
typedef struct pt_layer_edge {
    uint32_t from, to;
    double weight;
} pt_layer_edge;

/* An arrow of the drawing. */
typedef struct pt_part_edge {
    uint32_t edge;                   /* of the drawing */
    uint32_t from, to;               /* layer nodes; from is the upper one */
    bool turned;                     /* the arrow points from `to` up to `from` */
    uint32_t bend_first, bend_count; /* layer nodes, downwards */
} pt_part_edge;

/* Owns all but the drawing. */
typedef struct pt_part {
    pt_drawing *drawing;
    pt_layer_node *node; /* boxes first, then bends */
    size_t node_count, node_cap, box_count;
    pt_part_edge *edge;
    size_t edge_count, edge_cap;
    pt_layer_edge *link;
    size_t link_count, link_cap;
    /* Links that reach node n: in[in_first[n]] up to in[in_first[n + 1]]; those that leave it the
     * same in `out`. */
    uint32_t *in_first, *in, *out_first, *out;
    /* Nodes of rank r in their order: order[rank_first[r]] up to order[rank_first[r + 1]]. */
    size_t rank_count;
    uint32_t *rank_first;
    uint32_t *order;
    double *rank_y, *rank_height; /* y of a rank's centre */
    double width, height;
} pt_part;

/* Steps 1 to 3. PT_ERR_LIMIT: there are more than PT_LAYER_NODES_MAX nodes. */
pt_status pt_layout_ranks(pt_part *part, pt_error *reterr);
/* Step 4. */
void pt_layout_order(pt_part *part);
/* Step 5. */
void pt_layout_place(pt_part *part);
/* Step 6: curves of the drawing's edges, in the part's coordinates. */
void pt_layout_route(pt_part *part);
