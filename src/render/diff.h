/* diff.h: a diff as text, JSON and CSV. */
#pragma once

#include "base/buf.h"
#include "render/look.h"
#include "render/report.h"
#include "view/diff.h"

typedef struct pt_diff_head {
    const char *title[2]; /* file name, or "3 profiles" */
    const char *query;    /* the analysis options as typed, "" = none */
    pt_summary summary[2];
    double confidence;
    bool normalized;
} pt_diff_head;

/* Did something grow by more than a limit? */
typedef struct pt_diff_verdict {
    double limit_share, limit; /* of the whole before; NAN = none */
    const pt_change *grown;    /* the growth that is beyond the limit and larger than noise; NULL =
                                * none */
    bool is_sure;              /* noise causes such a growth in less than one of 1,000 diffs */
    double found_share;        /* a growth of the whole is sure if it is about this large or larger;
                                * NAN = the whole has no limit */
    size_t row;                /* of the function; PT_NONE = the whole, or nothing */
    const char *name;          /* name of the function that grew; NULL = the whole */
    bool is_total;             /* the function's total grew, not its self */
} pt_diff_verdict;

/* Puts the report as text: the facts of both sides, the number of marked changes, the table. */
void pt_diff_text(pt_out *out, const pt_look *look, const pt_diff_head *head, const pt_diff *diff);
/* The growth and the limit, as a text for messages, which the caller frees. verdict->grown must not
 * be NULL. */
char *pt_verdict_text(const pt_diff_verdict *verdict, const char *unit, double confidence);
/* A text for messages, which the caller frees. If these runs show only growths far above the limit,
 * the text states the least growth that they show, and the number of runs that would show smaller
 * growths. Returns NULL if these runs show growths that are only a little larger than the limit. */
char *pt_verdict_blind_text(const pt_diff_verdict *verdict, const pt_diff *diff);
/* Writes the verdict as a title. */
void pt_diff_verdict_markdown(pt_out *out, const pt_diff_head *head, const pt_diff *diff,
                              const pt_diff_verdict *verdict);
/* only_real: only rows with a mark (view/diff.h). */
void pt_diff_markdown(pt_out *out, const pt_diff_head *head, const pt_diff *diff, bool only_real);
void pt_diff_json(pt_out *out, const pt_diff_head *head, const pt_diff *diff);
void pt_diff_csv(pt_out *out, const pt_diff_head *head, const pt_diff *diff);
