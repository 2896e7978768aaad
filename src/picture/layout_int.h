/* layout_int.h: the data that the steps of layout.h share: a connected part of a drawing.
 *
 * Boxes have even ranks; labels of arrows have odd ranks. An arrow from rank 0 to rank 4 has bends
 * on the ranks 1, 2 and 3. Its label stands on rank 1 or 3, to the right of the arrow's line.
 */
#pragma once

#include "base/index.h"
#include "picture/drawing.h"

/* Limit of the boxes and bends of a part. */
#define PT_LAYER_NODES_MAX 400000

/* A box, or a bend of an arrow on a rank that it crosses. */
typedef struct pt_layer_node {
    uint32_t box;       /* for a box: its node in the drawing; for a bend: PT_NONE */
    uint32_t edge;      /* for a bend: its edge in the part */
    bool has_label;     /* for a bend: the arrow's label is at this bend */
    double left, right; /* room to the left and to the right of x */
    double height;
    int32_t rank;
    uint32_t place; /* place in the order of the node's rank, from 0 */
    double x;       /* x of a box's centre, or of the arrow's line at a bend */
} pt_layer_node;

/* A link: a piece of an arrow, from a layer node to a layer node of the next rank. */
typedef struct pt_layer_edge {
    uint32_t from, to;
    double weight;
} pt_layer_edge;

/* An arrow of the drawing. */
typedef struct pt_part_edge {
    uint32_t edge;                   /* of the drawing */
    uint32_t from, to;               /* layer nodes; `from` is the upper node */
    bool turned;                     /* the arrow was reversed: it points from `to` up to `from` */
    uint32_t bend_first, bend_count; /* the edge's bends: consecutive layer nodes, from top to
                                      * bottom */
} pt_part_edge;

/* A part. It owns its arrays, but not the drawing. */
typedef struct pt_part {
    pt_drawing *drawing;
    pt_layer_node *node; /* boxes first, then bends */
    size_t node_count, node_cap, box_count;
    pt_part_edge *edge;
    size_t edge_count, edge_cap;
    pt_layer_edge *link;
    size_t link_count, link_cap;
    /* The links from the rank above to node n: in[in_first[n]] to in[in_first[n + 1] - 1]. `out`
     * and out_first have the links from node n to the rank below. */
    uint32_t *in_first, *in, *out_first, *out;
    /* The nodes of rank r from left to right: order[rank_first[r]] to order[rank_first[r + 1] - 1].
     */
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
