/* print.h: Go pprof's reports, to the byte (view/graph.h computes the reports on a graph).
 *
 * The rules are those of google/pprof: internal/report/report.go, internal/measurement and
 * profile/profile.go. Texts are padded by characters, not bytes, as Go does.
 */
#pragma once

#include "base/buf.h"
#include "base/regex.h"
#include "render/graph_report.h"
#include "view/graph.h"

/* A function for the unit of a label's numbers, by the label's key. */
typedef struct pt_pprof_label_units {
    const char *(*of)(const void *context, const char *key);
    const void *context;
} pt_pprof_label_units;

/* Puts a text, right-aligned in at least `width` characters. */
void pt_pprof_put_right(pt_buf *buf, const char *text, unsigned width);

/* -text, -top */
void pt_pprof_text(pt_out *out, const pt_graph_report *report, const pt_graph *graph);
/* -tree; with a pattern -peek. PT_ERR_NOTFOUND, with pprof's message, if no node matches; the
 * legend has been put by then. */
pt_status pt_pprof_tree(pt_out *out, const pt_graph_report *report, const pt_graph *graph,
                        const pt_regex *pattern, const char *pattern_text, pt_error *reterr);
/* -traces; places: a fold by the requested rule, without object names */
void pt_pprof_traces(pt_out *out, const pt_graph_report *report, const pt_fold *places,
                     const pt_pprof_label_units *units);
/* -tags */
void pt_pprof_tags(pt_out *out, const pt_graph_report *report, const pt_pprof_label_units *units);
/* -raw */
void pt_pprof_raw(pt_out *out, const pt_profile *profile);
/* -comments */
void pt_pprof_comments(pt_out *out, const pt_profile *profile);
/* -callgrind; the graph with object names */
void pt_pprof_callgrind(pt_out *out, const pt_graph_report *report, const pt_graph *graph);
/* -topproto: the graph's nodes as a profile of two events, cum and flat; one reference. */
pt_status pt_pprof_top_profile(const pt_graph_report *report, const pt_graph *graph,
                               const pt_profile **ret_profile, pt_error *reterr);
