/* graph_report.h: a call graph (view/graph.h) in the language of Graphviz; values and legend of all
 * reports on a graph.
 *
 * The rules are those of google/pprof: internal/report/report.go, internal/measurement and
 * internal/graph/dotgraph.go.
 */
#pragma once

#include "base/buf.h"
#include "base/regex.h"
#include "view/graph.h"

/* The parameters of a report on a graph. Borrows everything. */
typedef struct pt_graph_report {
    const pt_profile *profile; /* after the filters */
    uint32_t event;
    bool mean;
    int64_t total;           /* 100 %: pt_graph_total */
    const char *type;        /* of the event; with mean "mean_cpu" */
    const char *sample_unit; /* of the event */
    const char *unit;        /* unit of the values: "minimum", "auto", "ms"; pt_graph_unit replaces
                              * "minimum" */
    double ratio; /* 1/-divide_by: the factor of all values, which are then cut to whole numbers;
                   * 0 = 1 */
    double node_fraction, edge_fraction; /* for the legend */
    bool compact;                        /* no legend about the profile */
    int64_t max_degree;         /* for a drawing: the most edges into a node, and the most out of
                                 * it; 0 = any number */
    const char *title;          /* base name of the main mapping's file, or NULL */
    const char *const *filters; /* "focus=parse", ... */
    size_t filter_count;
    const char *last_line; /* of the legend of a drawing; or NULL */
} pt_graph_report;

/* A value as the report shows it: "1.10s". */
void pt_graph_put_value(pt_buf *buf, const pt_graph_report *report, int64_t value);

/* The legend: lines without their ends; free with pt_legend_done. */
typedef struct pt_legend {
    char **line;
    size_t count;
} pt_legend;
/* Makes the legend about the profile: file, build id, comments, type, time, duration. */
pt_legend pt_profile_legend(const pt_graph_report *report);
/* Makes the legend of a report on a graph: the legend of the profile (unless compact and not full),
 * the filters, the numbers of nodes that are shown and dropped. full: also the number of dropped
 * edges and the last line. */
pt_legend pt_graph_legend(const pt_graph_report *report, const pt_graph *graph, bool full);
void pt_legend_done(pt_legend *lines);

/* Puts a text of the profile between the quotes of a dot string. Quotes and backslashes are
 * escaped; a newline ends a line that is aligned left. */
void pt_put_dot_text(pt_buf *buf, const char *text);
/* Writes the dot text of a graph that was made with `visual`. */
void pt_graph_dot(pt_out *out, const pt_graph_report *report, const pt_graph *graph);
/* A function's name without package, module version or outer namespaces, short enough for a box;
 * the caller frees. */
char *pt_short_name(const char *name);
