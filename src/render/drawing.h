/* drawing.h: boxes and arrows to be laid out and drawn: what a graph in the language of Graphviz
 * says, as far as pprof's graphs (Go's and Perl's) use that language.
 *
 *   dot text -> pt_drawing -> render/layout.h gives it places -> render/picture.h draws it
 *
 * Coordinates are points (1/72 inch), y grows downwards.
 */
#ifndef PT_RENDER_DRAWING_H
#define PT_RENDER_DRAWING_H

#include "base/buf.h"
#include "base/error.h"

typedef enum { PT_ALIGN_CENTRE, PT_ALIGN_LEFT, PT_ALIGN_RIGHT } pt_align;

typedef struct pt_drawing_line {
    char *text; /* UTF-8 */
    pt_align align;
    double width;
} pt_drawing_line;

typedef struct pt_drawing_label {
    pt_drawing_line *line;
    size_t count;
    double font_size, width, height;
} pt_drawing_label;

typedef enum { PT_SHAPE_BOX, PT_SHAPE_BOX_3D, PT_SHAPE_NONE } pt_shape_kind;

typedef struct pt_drawing_node {
    char *id; /* "N1" */
    pt_drawing_label label;
    pt_shape_kind shape;
    char *colour, *fill, *tooltip; /* "#b20000"; or NULL */
    unsigned peripheries;
    bool is_legend;
    double width, height;
    double x, y; /* centre */
} pt_drawing_node;

typedef enum { PT_LINE_SOLID, PT_LINE_DASHED, PT_LINE_DOTTED } pt_line_style;

typedef struct pt_point {
    double x, y;
} pt_point;

typedef struct pt_drawing_edge {
    uint32_t from, to; /* nodes */
    pt_drawing_label label;
    char *colour, *tooltip; /* or NULL */
    double pen_width, weight;
    unsigned min_ranks;
    pt_line_style style;
    /* A chain of cubic curves: start, then two controls and an end for each; the arrow's tip is
     * beyond the last, at tip. */
    pt_point *curve;
    size_t curve_count;
    pt_point tip;
    pt_point label_at; /* centre */
} pt_drawing_edge;

typedef struct pt_drawing {
    char *title;
    pt_drawing_node *node;
    size_t node_count, node_cap;
    pt_drawing_edge *edge;
    size_t edge_count, edge_cap;
    double width, height;
} pt_drawing;

/* Reads dot. PT_ERR_FORMAT for what pprof does not write. *ret_drawing is done with
 * pt_drawing_done; nothing has a place yet. */
pt_status pt_drawing_read(const char *dot, size_t size, pt_drawing *ret_drawing, pt_error *reterr);
void pt_drawing_done(pt_drawing *drawing);

/* Width of text in Helvetica of one point. */
double pt_helvetica_width(const char *text);

#endif
