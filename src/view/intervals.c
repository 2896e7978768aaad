/* intervals.c: see intervals.h. */
#include "view/intervals.h"

#include <math.h>
#include <stdlib.h>

#include "view/draws.h"

/* In a row with fewer draws than about this, the variation of the row's own weights is less
 * reliable than the variation over all rows: by simulation of log-normal weights up to sigma
 * 1.5. */
#define TRUSTED_DRAWS 1000

enum { SELF, TOTAL };
enum { VALUE, COUNT, SQUARES, SUMS };

/* A row's sums. */
typedef struct {
    double sum[SUMS][2];
    uint32_t seen; /* 1 + the last stack with the row */
} row_draws;

typedef struct {
    pt_draws draws; /* of the whole profile */
    double whole;   /* the value of the whole recording */
    double z;       /* half of an interval, in standard deviations */
    double varies;  /* the square of (deviation / mean) of the weights within a row, over all
                     * rows */
    row_draws *row; /* by the row's id; NULL if all draws weigh the same */
    size_t row_count;
} drawn;

static double *sum_of(const drawn *d, uint32_t id, int what)
{
    return d->row[id].sum[what];
}

/* ---- Sums of unequal draws ---- */

static void add_sums(double sum[SUMS][2], int which, const double value[SUMS])
{
    for (int what = 0; what < SUMS; what++)
        sum[what][which] += value[what];
}

/* Adds the sums of a stack's samples. Self goes to the row of the stack's first frame; a row that
 * is on the stack twice counts once. */
static void add_stack(drawn *d, const pt_fold *fold, uint32_t stack, const double value[SUMS])
{
    const uint32_t *const frames = pt_stack_frames(fold->profile, stack);
    const uint32_t depth = pt_stack_depth(fold->profile, stack);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t one, count;
        const uint32_t *const rows = pt_fold_rows(fold, frames[i], &one, &count);
        if (i == 0) add_sums(d->row[rows[0]].sum, SELF, value);
        for (uint32_t k = 0; k < count; k++) {
            row_draws *const row = &d->row[rows[k]];
            if (row->seen != stack + 1) add_sums(row->sum, TOTAL, value);
            row->seen = stack + 1;
        }
    }
}

/* Sums up the draws of each row. values: one for each sample. */
static pt_status sum_rows(drawn *d, const pt_profile *profile, const pt_top_request *request,
                          const double *const values[SUMS], pt_error *reterr)
{
    PT_AUTO(pt_fold) fold = {0};
    const pt_status status = pt_fold_init(&fold, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    const uint32_t stacks = profile->stack->t.count;
    PT_FREE double(*of_stack)[SUMS] = pt_alloc_table(stacks + 1, sizeof *of_stack);
    for (uint32_t i = 0; i < profile->sample->t.count; i++)
        for (int what = 0; what < SUMS; what++)
            of_stack[profile->sample->stack[i]][what] += values[what][i];
    d->row_count = fold.count;
    d->row = pt_alloc(fold.count, sizeof *d->row);
    for (uint32_t s = 0; s < stacks; s++)
        if (of_stack[s][VALUE] > 0) add_stack(d, &fold, s, of_stack[s]);
    return PT_OK;
}

/* The variation of the weights of n draws about their mean, times n: n * squares / mean^2 - n,
 * where mean = value / n. */
static double variation_of(double value, double count, double squares)
{
    if (value <= 0 || count <= 0) return 0;
    return fmax(0, squares * count * count / (value * value) - count);
}

static double variation_of_all(const drawn *d)
{
    double sum = 0, freedom = 0;
    for (size_t i = 0; i < d->row_count; i++) {
        const double n = d->row[i].sum[COUNT][SELF];
        if (n <= 1) continue;
        sum += variation_of(d->row[i].sum[VALUE][SELF], n, d->row[i].sum[SQUARES][SELF]);
        freedom += n - 1;
    }
    return freedom > 0 ? sum / freedom : 0;
}

/* ---- Intervals ---- */

/* The number of draws of equal weight whose sum would vary as much as the sum of the `count` draws
 * of a row. */
static double equal_draws(const drawn *d, double value, double count, double squares)
{
    if (count <= 0) return 0;
    const double of_row = variation_of(value, count, squares);
    const double trust = count / (count + TRUSTED_DRAWS);
    const double without_bias = count > 1 ? of_row / (count - 1) : 0;
    const double shrunk = trust * without_bias + (1 - trust) * d->varies;
    return count / (1 + fmax(of_row / count, shrunk));
}

/* The interval of a row with this value. count: the result of equal_draws. */
static pt_interval interval_of(const drawn *d, double value, double count)
{
    const double mean = d->draws.count > 0 ? d->draws.value / d->draws.count : 0;
    const double weight = count > 0 ? value / count : mean * (1 + d->varies);
    if (weight <= 0) return (pt_interval){0, 0};
    if (d->draws.is_regular && value <= d->whole && d->whole > 0) {
        const pt_interval share = pt_binomial_interval(value / d->whole, d->whole / weight, d->z);
        return (pt_interval){share.low * d->whole, share.high * d->whole};
    }
    const pt_interval counts = pt_poisson_interval(count, d->z);
    return (pt_interval){counts.low * weight, counts.high * weight};
}

static pt_interval row_interval(const drawn *d, const pt_top_row *row, int which)
{
    const double value = (double)(which == SELF ? row->self : row->total);
    if (d->draws.weight > 0) return interval_of(d, value, value / d->draws.weight);
    if (row->id >= d->row_count) return (pt_interval){NAN, NAN};
    const double count = sum_of(d, row->id, COUNT)[which];
    const double squares = sum_of(d, row->id, SQUARES)[which];
    return interval_of(d, value, equal_draws(d, value, count, squares));
}

static pt_status compute_draws(drawn *d, const pt_profile *profile, const pt_top_request *request,
                               bool *ret_known, pt_error *reterr)
{
    const uint32_t count = profile->sample->t.count;
    PT_FREE double *squares = pt_alloc_table(count + 1, sizeof *squares);
    PT_FREE double *counts = pt_alloc_table(count + 1, sizeof *counts);
    *ret_known = pt_draws_of(profile, request->event, squares, counts, &d->draws);
    if (!*ret_known || d->draws.weight > 0) return PT_OK;
    PT_FREE double *values = pt_alloc_table(count + 1, sizeof *values);
    for (uint32_t i = 0; i < count; i++)
        values[i] = (double)profile->sample->value[request->event][i];
    const double *const columns[SUMS] = {values, counts, squares};
    const pt_status status = sum_rows(d, profile, request, columns, reterr);
    if (status == PT_OK) d->varies = variation_of_all(d);
    return status;
}

pt_status pt_top_intervals(pt_top *top, const pt_profile *profile, const pt_top_request *request,
                           double confidence, bool *ret_known, pt_error *reterr)
{
    drawn d = {.whole = (double)request->drawn, .z = pt_normal_quantile((1 + confidence) / 2)};
    const pt_status status = compute_draws(&d, profile, request, ret_known, reterr);
    if (status != PT_OK) *ret_known = false;
    for (size_t i = 0; i < top->count; i++) {
        pt_top_row *const row = &top->row[i];
        const pt_interval unknown = {NAN, NAN};
        row->self_interval = *ret_known ? row_interval(&d, row, SELF) : unknown;
        row->total_interval = *ret_known ? row_interval(&d, row, TOTAL) : unknown;
    }
    top->has_intervals = true;
    free(d.row);
    return status;
}
