/* report.h: reports as text, JSON and CSV. Each function takes a head (which profile, how much of
 * it) and a view's result, and computes nothing but the look of the result.
 *
 * JSON: every document is an object with "schema" (a number that grows when a field changes its
 * meaning or is removed), "report", "profile" (the head) and the report's own fields. Shares are
 * fractions of 1. CSV is RFC 4180 with a header line; rows only.
 */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "render/look.h"
#include "view/summary.h"
#include "view/table.h"
#include "view/tree.h"

#define PT_REPORT_SCHEMA 1

typedef struct pt_report_head {
    const char *title;  /* the profile's file name, or "3 profiles" */
    pt_summary summary; /* of the profile before filtering */
    const char *query;  /* the analysis options as typed, "" = none */
    bool relative;      /* 100 % is the sum of the samples that the query left */
    bool shows_calls;   /* a line says that callers and callees come from call arcs */
    int64_t kept;       /* samples that the query left */
    int64_t kept_total; /* the sum of their magnitudes, of the chosen event */
    double kept_share;  /* kept_total as a share of the whole profile's total */
} pt_report_head;

/* pt_report_facts calls `tell` with each fact of a head, as a short text: the samples that a query
 * left, duration, quality. Pictures use it, since they do not show the head as lines. */
typedef void pt_fact_fn(void *context, const char *text);
void pt_report_facts(const pt_report_head *head, pt_fact_fn *tell, void *context);

/* Puts the facts as two or three lines. */
void pt_report_facts_text(pt_out *out, const pt_report_head *head);
/* Puts the lines of pt_report_facts_text, then an empty line. */
void pt_report_head_text(pt_out *out, const pt_look *look, const pt_report_head *head);
/* Begins a document of any kind: {"schema": 1, "report": name. The caller ends the document. */
void pt_report_json_begin(pt_json_w *w, pt_out *out, const char *name);
/* Begins the document of a report: {"schema": 1, "report": name, "profile": {...}. The caller ends
 * the document. */
void pt_report_head_json(pt_json_w *w, const char *name, const pt_report_head *head);
/* Puts the members of the head about profile and query into an object of another kind. */
void pt_report_profile_json(pt_json_w *w, const pt_report_head *head);

void pt_top_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_top *top);
void pt_top_json(pt_out *out, const pt_report_head *head, const pt_top *top);
void pt_top_markdown(pt_out *out, const pt_report_head *head, const pt_top *top);
void pt_top_csv(pt_out *out, const pt_report_head *head, const pt_top *top);

void pt_tree_text(pt_out *out, const pt_look *look, const pt_report_head *head, pt_tree *tree);
void pt_tree_json(pt_out *out, const pt_report_head *head, pt_tree *tree);
void pt_tree_csv(pt_out *out, const pt_report_head *head, pt_tree *tree);

/* Puts a CSV cell of text: quoted if that is necessary (RFC 4180, section 2), with an apostrophe
 * before a text that a spreadsheet would compute (csv.c). No other function puts texts into CSV. */
void pt_csv_put(pt_out *out, const char *text);
