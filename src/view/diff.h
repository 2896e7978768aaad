/* diff.h: the change of each function between two profiles, or two sets of profiles, and whether
 * the change is larger than chance could make it.
 *
 * Values are compared as they are (seconds of CPU), or, normalized, after scaling that gives both
 * sides the same total (shares). Each change has a confidence interval and a mark:
 *
 *   one run a side     samples are independent: counts are Poisson, so their errors are known
 *                      (base/stats.h); one run does not show how runs of a program differ
 *   several runs       the error is the larger one of Poisson's error and the spread between the
 *                      runs of a side; the interval is Student's
 *
 * The marks of all functions are made together (Benjamini and Hochberg 1995): at most 1 -
 * confidence of the marked rows are expected to be noise, and if nothing has changed, no row is
 * marked with that confidence. If the number of samples is unknown, changes have neither interval
 * nor mark.
 */
#pragma once

#include "base/stats.h"
#include "view/table.h"

typedef struct pt_diff_run {
    const pt_profile *profile; /* borrowed; NULL if no samples were left after the query */
    uint32_t event;
} pt_diff_run;

enum { PT_BEFORE, PT_AFTER };

typedef struct pt_diff_request {
    const pt_diff_run *run[2]; /* PT_BEFORE, PT_AFTER */
    size_t run_count[2];       /* at least 1 */
    bool normalize;
    double confidence; /* of intervals and marks, e.g. 0.95 */
    pt_sort sort;      /* by the change of self or of total; rows with this change marked come
                        * first, then rows with only the other change marked */
    pt_fold_rule fold;
} pt_diff_request;

typedef struct pt_change {
    double value[2]; /* mean of the side's runs */
    double change;   /* after - before */
    pt_interval interval;
    double p;        /* probability of a change at least so large by chance; NAN = unknown */
    double at_least; /* a lower limit of the change in its direction. All limits of a diff hold
                      * together in 999 of 1,000 diffs. 0 if the direction is in doubt */
    double doubt;    /* the difference between the change and the least change that at_least's
                      * certainty does not rule out; NAN = unknown */
    bool is_real;    /* marked: more than noise */
} pt_change;

typedef struct pt_diff_row {
    char *name;
    const char *file; /* as of pt_top_row, of the last run that has the function */
    int64_t line;
    pt_change self, total;
} pt_diff_row;

typedef struct pt_diff {
    pt_diff_row *row;
    size_t count, more;        /* more: beyond the limit */
    size_t real_count;         /* rows, shown or not, that have a mark */
    pt_change all;             /* of the whole profiles, before they were normalized */
    double sample_count[2];    /* for each side, the draws of all its runs (view/draws.h); 0 =
                                * unknown */
    const char *draws_name;    /* the profile's word for draws: "samples", "waits"; borrowed */
    double effective_count[2]; /* draws of equal weight that would vary as much */
    bool has_errors;           /* intervals and marks are known */
    size_t run_count[2];       /* if each is 1, the difference between runs is unknown */
    double seen_share; /* the smallest growth that four of five diffs mark if one function with a
                        * twentieth of the time grows and nothing else changes; as a share of that
                        * function's value; 0 = unknown */
    double scale[2];   /* factor of the side's values; 1 if not normalized */
} pt_diff;

/* Compares the runs of the request. The result has all rows, in the order of the request's sort.
 * Fails like pt_top_init, with nothing to free. pt_diff_done frees the rows and their names. */
pt_status pt_diff_init(pt_diff *ret_diff, const pt_diff_request *request, pt_error *reterr);
void pt_diff_done(pt_diff *diff);

/* Keeps the first `limit` rows; 0 = all. kept: the index of a row that is kept in any case, as the
 * last row if it comes after these; PT_NONE = no such row. */
void pt_diff_cut(pt_diff *diff, size_t limit, size_t kept);

/* The row with the largest growth, among those whose self or total grew by more than `share` of the
 * whole before; PT_NONE if there is none. is_sure: only growth beyond doubt (at_least) counts; else
 * all marked growth. *ret_is_total is true if it is the total that grew so much. Call it before
 * pt_diff_cut. */
size_t pt_diff_worst(const pt_diff *diff, double share, bool is_sure, bool *ret_is_total);
