/* drawing.h: a graph of boxes and arrows, to be laid out and drawn.
 *
 *   dot text -> pt_drawing_read -> pt_drawing with sizes
 *                                    -> pt_layout (layout.h) -> the same pt_drawing with places
 *                                         -> pt_picture_svg, _ps, _pdf (picture.h) -> file
 *
 * pt_drawing_read reads the part of Graphviz's language that pprof's graphs (Go's and Perl's) use.
 * All lengths are points (1/72 inch); x grows to the right, y downwards. Texts are UTF-8. A drawing
 * owns everything that it points to; pt_drawing_done frees it.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

typedef enum { PT_ALIGN_CENTRE, PT_ALIGN_LEFT, PT_ALIGN_RIGHT } pt_align;

typedef struct pt_drawing_line {
    char *text;
    pt_align align; /* within the label's box */
    double width;
} pt_drawing_line;

/* Lines of text, one below the other; if count is 0, there is no label. */
typedef struct pt_drawing_label {
    pt_drawing_line *line;
    size_t count;
    double font_size, width, height; /* width of the widest line, height of all */
} pt_drawing_label;

typedef enum { PT_SHAPE_BOX, PT_SHAPE_BOX_3D, PT_SHAPE_NONE } pt_shape_kind;

typedef struct pt_drawing_node {
    char *id; /* the id by which edges of the dot text name the node: "N1" */
    pt_drawing_label label;
    pt_shape_kind shape;
    char *colour, *fill, *tooltip; /* colours such as "#b20000"; NULL = none */
    unsigned peripheries;          /* number of borders, one inside the other: 1 to 3 */
    bool is_legend;                /* the node is the legend, which stands above the graph */
    double width, height;          /* of the outermost border */
    double x, y;                   /* the node's centre; set by pt_layout */
} pt_drawing_node;

typedef enum { PT_LINE_SOLID, PT_LINE_DASHED, PT_LINE_DOTTED } pt_line_style;

typedef struct pt_point {
    double x, y;
} pt_point;

typedef struct pt_drawing_edge {
    uint32_t from, to; /* indices of nodes */
    pt_drawing_label label;
    char *colour, *tooltip; /* NULL = none */
    double pen_width;       /* 0.5 to 8 */
    double weight;      /* the larger, the shorter and straighter the edge is drawn; up to 1000 */
    unsigned min_ranks; /* least number of ranks from `from` down to `to`: 1 to 8 */
    pt_line_style style;
    /* Set by pt_layout. A chain of cubic Bezier curves: curve[0] is the start of the chain; then
     * come for each curve two control points and the curve's end. curve_count is 3 * curves + 1, or
     * 0 if the edge is not drawn. */
    pt_point *curve;
    size_t curve_count;
    pt_point tip;      /* of the arrowhead, beyond the end of the last curve */
    pt_point label_at; /* the label's centre */
} pt_drawing_edge;

typedef struct pt_drawing {
    char *title; /* "" = none */
    pt_drawing_node *node;
    size_t node_count, node_cap;
    pt_drawing_edge *edge;
    size_t edge_count, edge_cap;
    double width, height; /* from pt_layout */
} pt_drawing;

/* Reads size bytes of dot text. Fills labels, sizes and styles; places stay 0. PT_ERR_FORMAT: the
 * text has no node, and *ret_drawing is empty. */
pt_status pt_drawing_read(const char *dot, size_t size, pt_drawing *ret_drawing, pt_error *reterr);
void pt_drawing_done(pt_drawing *drawing);

/* The corners of an edge's arrowhead: the tip, then the two ends of the base. The edge must have a
 * curve. */
void pt_drawing_arrowhead(const pt_drawing_edge *edge, pt_point ret_corner[3]);
