/* table.h: the flat table: a row for each row of the fold, with the value of the samples that end
 * in the row (self) and of the samples with the row on their stack (total).
 *
 * Rules, which are those of `pprof -top`: self goes to the innermost line of the leaf; total counts
 * a stack once however often a recursive function is on it; the fold (fold.h) decides the rows of
 * frames.
 */
#pragma once

#include "base/pool.h"
#include "base/saturate.h"
#include "base/stats.h"
#include "view/fold.h"

typedef enum { PT_SORT_SELF, PT_SORT_TOTAL } pt_sort;

typedef struct pt_top_request {
    uint32_t event; /* column of the samples */
    int64_t whole;  /* the value of 100 %; see pt_profile_magnitude */
    int64_t drawn;  /* the value of 100 % before any filter, for intervals only */
    pt_sort sort;   /* largest magnitude first; rows with equal magnitudes by the other column, then
                     * by name */
    pt_fold_rule fold;
    size_t limit;  /* the most rows; 0 = all */
    pt_pool *pool; /* threads that count large profiles; NULL = only the calling thread */
} pt_top_request;

/* The function of the program itself from which most of a row's self was called (own_code.h). */
typedef struct pt_own_caller {
    char *name;       /* NULL: the row is the program's own, or no own function called it */
    const char *file; /* of the profile; "" = unknown */
    int64_t line;     /* of the call; 0 = unknown */
    double share;     /* of the row's self */
} pt_own_caller;

typedef struct pt_top_row {
    char *name;
    const char *file; /* "" = unknown */
    int64_t line;     /* if rows are lines or addresses: the row's line; else the line with most of
                       * the self, or the function's first line if self is 0; 0 = unknown */
    int64_t self, total;
    double self_share, total_share; /* of the whole, 0 to 1 (more if values cancel out) */
    bool inlined;                   /* every frame of the row was inlined into another frame */
    bool unnamed;                   /* the name is an address or a file */
    bool has_image;                 /* the row has a function's name, or its mapped file is known */
    uint32_t id;                    /* the row's number in the fold: the same in every table of one
                                     * count */
    int64_t part_self[PT_EVENT_PARTS_MAX]; /* for each event of the sum */
    int64_t part_total[PT_EVENT_PARTS_MAX];
    pt_own_caller caller;      /* set by pt_own_callers; no name before */
    pt_interval self_interval; /* set by pt_top_intervals; NAN = unknown */
    pt_interval total_interval;
} pt_top_row;

typedef struct pt_top {
    pt_top_row *row;
    size_t count;
    size_t more; /* rows beyond the limit */
    int64_t whole;
    pt_grain by;        /* the grain of the rows: functions, files, lines ... */
    bool has_intervals; /* pt_top_intervals was called */
} pt_top;

/* Builds the table. It borrows strings of the profile; the caller calls pt_top_done. */
pt_status pt_top_init(pt_top *ret_top, const pt_profile *profile, const pt_top_request *request,
                      pt_error *reterr);
/* Both orders of one count: the first rows by self, and the first by total. Ignores
 * request->sort. */
pt_status pt_top_leaders(pt_top *ret_by_self, pt_top *ret_by_total, const pt_profile *profile,
                         const pt_top_request *request, pt_error *reterr);
void pt_top_done(pt_top *top);

/* value / whole; 0 when the whole is 0. */
static inline double pt_share(int64_t value, int64_t whole)
{
    return whole == 0 ? 0.0 : (double)value / (double)whole;
}
