/* draws.c: see draws.h. */
#include "view/draws.h"

#include <math.h>
#include <string.h>

#include "model/builder.h"
#include "model/sums.h"
#include "transform/frames.h"
#include "view/summary.h"
#include "view/table.h"

/* The largest variation (the square of deviation over mean) of weights that is accepted for draws
 * of one kind: the variation of a log-normal distribution with sigma 1.5. Samples whose weights
 * vary more are draws of different kinds. */
#define VARIATION_MAX 8.5

/* The largest share of an event's values that may be in samples with a count of 0. */
#define UNCOUNTED_MAX 0.01

static bool is_called(const pt_profile *p, uint32_t event, const char *type)
{
    return strcmp(pt_text(p, p->event->row[event].type), type) == 0;
}

static double value_of(const pt_profile *p, uint32_t event, uint32_t sample)
{
    return (double)pt_magnitude(p->sample->value[event][sample]);
}

/* Does nearly every sample with a value have a count? */
static bool counts_samples_of(const pt_profile *p, uint32_t count, uint32_t event)
{
    double all = 0, uncounted = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        all += value_of(p, event, i);
        if (p->sample->value[count][i] == 0) uncounted += value_of(p, event, i);
    }
    return uncounted <= UNCOUNTED_MAX * all;
}

/* The event that counts the draws of another event; PT_NONE if there is none. */
static uint32_t count_of_draws(const pt_profile *p, uint32_t event)
{
    static const char *const types[] = {"samples", "waits", "preemptions", "contentions",
                                        "allocations"};
    for (size_t k = 0; k < PT_COUNT(types); k++)
        for (uint32_t e = 0; e < p->event->t.count; e++)
            if (p->event->row[e].kind == PT_EVENT_COUNT && is_called(p, e, types[k]) &&
                (e == event || counts_samples_of(p, e, event)))
                return e;
    return PT_NONE;
}

/* The variation of the weights of draws, estimated from the mean weight in each sample. */
static double variation_between(const pt_profile *p, uint32_t event, uint32_t count, double mean)
{
    double sum = 0, rows = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const double draws = value_of(p, count, i);
        if (draws <= 0 || mean <= 0) continue;
        const double off = value_of(p, event, i) / draws / mean - 1;
        sum += draws * off * off;
        rows++;
    }
    return rows > 1 ? fmin(sum / (rows - 1), VARIATION_MAX) : 0;
}

static void square_counted(const pt_profile *p, uint32_t event, uint32_t count, double *ret_squares,
                           double *ret_counts, pt_draws *d)
{
    d->is_regular = is_called(p, count, "samples");
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        if (p->sample->value[event][i] != 0) d->count += value_of(p, count, i);
    const double varies =
        d->count > 0 ? variation_between(p, event, count, d->value / d->count) : 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const double value = value_of(p, event, i), draws = value_of(p, count, i);
        ret_squares[i] =
            draws > 0 ? value * value / draws * (1 + varies * (1 - 1 / draws)) : value * value;
        ret_counts[i] = value != 0 ? draws : 0;
    }
}

/* The event of objects for an event of bytes, and the reverse: "alloc_objects" and "alloc_space".
 * PT_NONE if there is none. */
static uint32_t partner_of(const pt_profile *p, uint32_t event)
{
    static const char *const ends[2][2] = {{"objects", "space"}, {"space", "objects"}};
    const char *const type = pt_text(p, p->event->row[event].type);
    for (size_t k = 0; k < 2; k++) {
        const size_t length = strlen(type), end = strlen(ends[k][0]);
        if (length < end || strcmp(type + length - end, ends[k][0]) != 0) continue;
        for (uint32_t e = 0; e < p->event->t.count; e++) {
            const char *const other = pt_text(p, p->event->row[e].type);
            if (strncmp(other, type, length - end) == 0 &&
                strcmp(other + length - end, ends[k][1]) == 0)
                return e;
        }
    }
    return PT_NONE;
}

/* The weight of a draw: the period of the event, or of the profile. Returns 0 if the period is not
 * one of sampling. */
static double period_of(const pt_profile *p, uint32_t event)
{
    const pt_event *const e = &p->event->row[event];
    const pt_provenance *const source = pt_profile_provenance(p);
    /* A heap profile has the period type "space" for the events "alloc_space" and "inuse_space". */
    const bool is_of_event = source->period_unit == e->unit &&
                             (source->period_type == e->type || e->kind == PT_EVENT_BYTES);
    const int64_t period = e->period > 0 ? e->period : is_of_event ? source->period : 0;
    return pt_period_samples(p, period, e->unit) ? (double)period : 0;
}

/* Allocations sampled with a probability that depends on their size: 1 - exp(-size / period). */
static bool square_heap(const pt_profile *p, uint32_t event, double *ret_squares,
                        double *ret_counts, pt_draws *d)
{
    const uint32_t partner = partner_of(p, event);
    if (partner == PT_NONE) return false;
    const bool is_bytes = p->event->row[event].kind == PT_EVENT_BYTES;
    const double period = period_of(p, is_bytes ? event : partner);
    if (period <= 0) return false;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const double value = value_of(p, event, i), other = value_of(p, partner, i);
        if (value == 0) continue;
        const double size = is_bytes ? (other > 0 ? value / other : 0) : other / value;
        const double chance = size > 0 ? -expm1(-size / period) : 0;
        const double weight = chance <= 0 ? period : (is_bytes ? size : 1) / chance;
        ret_squares[i] = value * weight;
        ret_counts[i] = value / weight;
        d->count += ret_counts[i];
    }
    return true;
}

static bool square_equal(const pt_profile *p, uint32_t event, double weight, bool is_regular,
                         double *ret_squares, double *ret_counts, pt_draws *d)
{
    if (weight <= 0) return false;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        ret_squares[i] = value_of(p, event, i) * weight;
        ret_counts[i] = value_of(p, event, i) / weight;
    }
    d->count = d->value / weight;
    d->weight = weight;
    d->is_regular = is_regular;
    return true;
}

/* Adds up the draws of an event that is not a sum of events. squares and counts must be 0
 * before. */
static bool square_event(const pt_profile *profile, uint32_t event, double *squares, double *counts,
                         pt_draws *ret_draws)
{
    const pt_event *const e = &profile->event->row[event];
    pt_draws d = *ret_draws;
    const uint32_t count = count_of_draws(profile, event);
    bool is_known = true;
    if (count != PT_NONE) d.name = pt_text(profile, profile->event->row[count].type);
    const bool is_sampled = count != PT_NONE && is_called(profile, count, "samples");
    if (count == event)
        square_equal(profile, event, 1, is_sampled, squares, counts, &d);
    else if (count != PT_NONE)
        square_counted(profile, event, count, squares, counts, &d);
    else
        is_known = square_heap(profile, event, squares, counts, &d) ||
                   square_equal(profile, event, period_of(profile, event),
                                e->kind != PT_EVENT_BYTES, squares, counts, &d) ||
                   (e->kind == PT_EVENT_COUNT && profile->event->t.count == 1 &&
                    square_equal(profile, event, 1, false, squares, counts, &d));
    for (uint32_t i = 0; i < profile->sample->t.count; i++)
        d.squares += squares[i];
    *ret_draws = d;
    return is_known;
}

/* Adds up the draws of a sum of events: the draws of its events, which are independent. */
static bool square_sum(const pt_profile *profile, const uint32_t *part, size_t part_count,
                       double *squares, double *counts, pt_draws *d)
{
    const uint32_t rows = profile->sample->t.count;
    PT_FREE double *more = pt_alloc_table(2 * ((size_t)rows + 1), sizeof *more);
    for (size_t k = 0; k < part_count; k++) {
        pt_draws one = {.value = (double)pt_profile_magnitude(profile, part[k])};
        memset(more, 0, 2 * (size_t)rows * sizeof *more);
        if (!square_event(profile, part[k], more, more + rows, &one)) return false;
        for (uint32_t i = 0; i < rows; i++) {
            squares[i] += more[i];
            counts[i] += more[rows + i];
        }
        d->count += one.count;
        d->squares += one.squares;
    }
    return true;
}

bool pt_draws_of(const pt_profile *profile, uint32_t event, double *ret_squares, double *ret_counts,
                 pt_draws *ret_draws)
{
    const uint32_t rows = profile->sample->t.count;
    PT_FREE double *own_counts =
        ret_counts == NULL ? pt_alloc_table((size_t)rows + 1, sizeof *own_counts) : NULL;
    double *const counts = ret_counts != NULL ? ret_counts : own_counts;
    *ret_draws =
        (pt_draws){.name = "samples", .value = (double)pt_profile_magnitude(profile, event)};
    for (uint32_t i = 0; i < rows; i++)
        if (profile->sample->value[event][i] < 0) return false;
    memset(ret_squares, 0, rows * sizeof *ret_squares);
    memset(counts, 0, rows * sizeof *counts);
    uint32_t part[PT_EVENT_PARTS_MAX];
    const size_t parts = pt_event_parts(profile, event, part);
    return parts > 0 ? square_sum(profile, part, parts, ret_squares, counts, ret_draws)
                     : square_event(profile, event, ret_squares, counts, ret_draws);
}

/* The values of the copy add up to this many units, so that their sums are exact in a double. */
#define UNITS 0x1p52

const pt_profile *pt_draws_profile(const pt_profile *profile, const double *values, double sum,
                                   double *ret_unit)
{
    const uint32_t count = profile->sample->t.count;
    *ret_unit = sum > 0 ? sum / UNITS : 1;
    PT_FREE int64_t *column = pt_alloc(count, sizeof *column);
    PT_FREE uint32_t *rows = pt_alloc(count, sizeof *rows);
    for (uint32_t i = 0; i < count; i++) {
        column[i] = (int64_t)ceil(values[i] / *ret_unit);
        rows[i] = i;
    }
    const int64_t *const columns[] = {column};
    pt_samples one = *profile->sample;
    one.event_count = 1;
    one.value = columns;
    pt_events *const events = pt_table_new(sizeof *events, 1);
    events->row = pt_column_copy(&profile->event->row[0], 1, sizeof *events->row);
    return pt_profile_derive(
        profile,
        &(pt_profile_tables){.event = events, .sample = pt_samples_pick(&one, rows, count)});
}
