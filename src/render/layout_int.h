/* layout_int.h: a connected part of a drawing on its way through the steps of layout.h.
 *
 * Ranks are doubled: boxes are on even ones, labels of arrows on odd ones. An arrow from rank 0 to
 * rank 4 has bends on 1, 2, 3; one of the odd ones holds its label, to the right of its line.
 */
#ifndef PT_RENDER_LAYOUT_INT_H
#define PT_RENDER_LAYOUT_INT_H

#include "base/index.h"
#include "render/drawing.h"

#define PT_LAYER_NODES_MAX 400000

typedef struct pt_layer_node {
    uint32_t box;  /* node of the drawing; PT_NONE for a bend */
    uint32_t edge; /* of a bend: edge of the part */
    bool has_label;
    double left, right; /* room beside x */
    double height;
    int32_t rank;
    uint32_t place; /* in its rank */
    double x;
} pt_layer_node;

/* Between neighbouring ranks, downwards. */
typedef struct pt_layer_edge {
    uint32_t from, to;
    double weight;
} pt_layer_edge;

/* An arrow of the drawing. */
typedef struct pt_part_edge {
    uint32_t edge;     /* of the drawing */
    uint32_t from, to; /* layer nodes, as laid out: downwards */
    bool turned;       /* the arrow points up */
    uint32_t bend_first, bend_count;
} pt_part_edge;

typedef struct pt_part {
    pt_drawing *drawing;
    pt_layer_node *node; /* boxes first, then bends */
    size_t node_count, node_cap, box_count;
    pt_part_edge *edge;
    size_t edge_count, edge_cap;
    pt_layer_edge *link;
    size_t link_count, link_cap;
    /* Links of a node: into it and out of it. */
    uint32_t *in_first, *in, *out_first, *out;
    /* Ranks: nodes in order. */
    size_t rank_count;
    uint32_t *rank_first; /* [rank_count + 1] */
    uint32_t *order;
    double *rank_y, *rank_height; /* centre */
    double width, height;
} pt_part;

/* Ranks, bends and links. PT_ERR_LIMIT. */
pt_status pt_layout_ranks(pt_part *part, pt_error *reterr);
void pt_layout_order(pt_part *part);
void pt_layout_place(pt_part *part);
/* Curves of the drawing's edges, in the part's coordinates. */
void pt_layout_route(pt_part *part);

#endif
