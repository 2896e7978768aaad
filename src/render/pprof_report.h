/* pprof_report.h: Go pprof's reports, to the byte (what they tell is made by view/graph.h).
 *
 * The rules are those of google/pprof: internal/report/report.go, internal/measurement and
 * profile/profile.go. Texts are padded by characters, not bytes, as Go does.
 */
#ifndef PT_RENDER_PPROF_REPORT_H
#define PT_RENDER_PPROF_REPORT_H

#include "base/buf.h"
#include "base/regex.h"
#include "view/graph.h"

/* What all reports on one question share. Borrows everything. */
typedef struct pt_pprof_report {
    const pt_profile *profile; /* what the filters left */
    /* The unit in which numbers of a label are understood. */
    const char *(*label_unit)(const void *context, const char *key);
    const void *label_context;
    uint32_t event;
    bool mean;
    int64_t total;           /* what 100 % is: pt_graph_total */
    const char *type;        /* of the event; with mean "mean_cpu" */
    const char *sample_unit; /* of the event */
    const char *unit; /* figures are in it: "minimum", "auto", "ms"; of reports on a graph what
                         pt_graph_unit made of it */
    double ratio;     /* 1/-divide_by; values are multiplied and cut to whole numbers; 0 = 1 */
    double node_fraction, edge_fraction; /* for the legend */
    bool compact;                        /* no legend about the profile */
    int64_t max_degree;                  /* of -dot: edges of a node, each way; 0 = any number */
    const char *title;                   /* base name of the main mapping's file, or NULL */
    const char *const *filters;          /* "focus=parse", ... */
    size_t filter_count;
} pt_pprof_report;

/* A value as the report shows it: "1.10s". */
void pt_pprof_put_value(pt_buf *buf, const pt_pprof_report *report, int64_t value);

/* The last part of a path that is not empty, as Go's filepath.Base has it; the caller frees. */
char *pt_pprof_base_name(const char *path);

/* Text right-aligned in at least width characters. */
void pt_pprof_put_right(pt_buf *buf, const char *text, unsigned width);

/* The legend: lines without their ends; free with pt_pprof_lines_done. */
typedef struct pt_pprof_lines {
    char **line;
    size_t count;
} pt_pprof_lines;
/* About the profile: file, build id, comments, type, time, duration. */
pt_pprof_lines pt_pprof_profile_labels(const pt_pprof_report *report);
/* About a report on a graph: the same unless compact (full: in any case), filters, what is shown
 * and dropped. full also tells where graphs are explained; else edges dropped are not told. */
pt_pprof_lines pt_pprof_graph_labels(const pt_pprof_report *report, const pt_graph *graph,
                                     bool full);
void pt_pprof_lines_done(pt_pprof_lines *lines);

/* -text, -top */
void pt_pprof_text(pt_out *out, const pt_pprof_report *report, const pt_graph *graph);
/* -tree; with a pattern -peek. PT_ERR_NOTFOUND in pprof's words if no node matches, after the
 * legend was put. */
pt_status pt_pprof_tree(pt_out *out, const pt_pprof_report *report, const pt_graph *graph,
                        const pt_regex *pattern, const char *pattern_text, pt_error *reterr);
/* -traces; places: folded as asked, without object names */
void pt_pprof_traces(pt_out *out, const pt_pprof_report *report, const pt_fold *places);
/* -tags */
void pt_pprof_tags(pt_out *out, const pt_pprof_report *report);
/* -raw */
void pt_pprof_raw(pt_out *out, const pt_profile *profile);
/* -comments */
void pt_pprof_comments(pt_out *out, const pt_profile *profile);
/* Puts a text of the profile between the quotes of a dot string: quotes and backslashes are
 * escaped, a newline ends a line that is aligned left. */
void pt_put_dot_text(pt_buf *buf, const char *text);
/* -dot; the graph made visual */
void pt_pprof_dot(pt_out *out, const pt_pprof_report *report, const pt_graph *graph);
/* A function's name without package, module version or outer namespaces, as in -dot; the caller
 * frees. */
char *pt_pprof_short_name(const char *name);
/* -callgrind; the graph with object names */
void pt_pprof_callgrind(pt_out *out, const pt_pprof_report *report, const pt_graph *graph);
/* -topproto: the graph's nodes as a profile of two events, cum and flat; one reference. */
pt_status pt_pprof_top_profile(const pt_pprof_report *report, const pt_graph *graph,
                               const pt_profile **ret_profile, pt_error *reterr);

#endif
