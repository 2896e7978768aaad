/* intervals.c: see intervals.h. */
#include "view/intervals.h"

#include <math.h>
#include <stdlib.h>

#include "view/draws.h"

/* A row with fewer draws than some of these says less of how its weights vary than all rows
 * together do: by simulation of log-normal weights up to sigma 1.5. */
#define TRUSTED_DRAWS 1000

enum { SELF, TOTAL };
enum { VALUE, COUNT, SQUARES, SUMS };

/* A row's sums. */
typedef struct {
    double sum[SUMS][2];
} row_draws;

typedef struct {
    pt_draws draws; /* of the whole profile */
    double whole;   /* the value of all that was recorded */
    double z;       /* half of an interval, in standard deviations */
    double varies;  /* (deviation / mean) squared of the weights within a row, of all rows */
    row_draws *row; /* by the row's id; NULL: all draws weigh the same */
    size_t row_count;
} drawn;

static double *sum_of(const drawn *d, uint32_t id, int what)
{
    return d->row[id].sum[what];
}

/* ---- Sums of unequal draws ---- */

/* The table of these values of samples, whose sum is `sum`. */
static pt_status make_table(const pt_profile *profile, const pt_top_request *request,
                            const double *values, double sum, pt_top *ret_top, double *ret_unit,
                            pt_error *reterr)
{
    PT_UNREF_PROFILE const pt_profile *one = pt_draws_profile(profile, values, sum, ret_unit);
    pt_top_request all = *request;
    all.event = 0;
    all.limit = 0;
    return pt_top_init(ret_top, one, &all, reterr);
}

static void put_table(drawn *d, int what, const pt_top *top, double unit)
{
    for (size_t i = 0; i < top->count; i++) {
        double *const sums = sum_of(d, top->row[i].id, what);
        sums[SELF] = (double)top->row[i].self * unit;
        sums[TOTAL] = (double)top->row[i].total * unit;
    }
}

static void make_room(drawn *d, const pt_top *top)
{
    for (size_t i = 0; i < top->count; i++) {
        if (top->row[i].id < d->row_count) continue;
        const size_t count = 2 * (size_t)top->row[i].id + 1;
        d->row = pt_realloc(d->row, count, sizeof *d->row);
        for (; d->row_count < count; d->row_count++)
            d->row[d->row_count] = (row_draws){0};
    }
}

static pt_status sum_rows(drawn *d, const pt_profile *profile, const pt_top_request *request,
                          const double *const values[SUMS], pt_error *reterr)
{
    const double sums[SUMS] = {d->draws.value, d->draws.count, d->draws.squares};
    for (int what = 0; what < SUMS; what++) {
        pt_top top;
        double unit;
        const pt_status status =
            make_table(profile, request, values[what], sums[what], &top, &unit, reterr);
        if (status != PT_OK) return status;
        make_room(d, &top);
        put_table(d, what, &top, unit);
        pt_top_done(&top);
    }
    return PT_OK;
}

/* How the weights of n draws vary about their mean, times n: n * squares / mean^2 - n, where mean
 * = value / n. */
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

/* How many draws of equal weight vary as much as n draws of a row do. */
static double equal_draws(const drawn *d, double value, double count, double squares)
{
    if (count <= 0) return 0;
    const double of_row = variation_of(value, count, squares);
    const double trust = count / (count + TRUSTED_DRAWS);
    const double without_bias = count > 1 ? of_row / (count - 1) : 0;
    const double shrunk = trust * without_bias + (1 - trust) * d->varies;
    return count / (1 + fmax(of_row / count, shrunk));
}

/* value: of the row. count: its draws, as if they were of equal weight. */
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

static pt_status know_draws(drawn *d, const pt_profile *profile, const pt_top_request *request,
                            bool *ret_known, pt_error *reterr)
{
    const uint32_t count = profile->sample->t.count;
    PT_FREE double *squares = pt_alloc(count + 1, sizeof *squares);
    PT_FREE double *counts = pt_alloc(count + 1, sizeof *counts);
    *ret_known = pt_draws_of(profile, request->event, squares, counts, &d->draws);
    if (!*ret_known || d->draws.weight > 0) return PT_OK;
    PT_FREE double *values = pt_alloc(count + 1, sizeof *values);
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
    const pt_status status = know_draws(&d, profile, request, ret_known, reterr);
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
