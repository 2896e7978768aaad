/* summary.c: see summary.h. Examines each sample once, and each distinct stack once. */
#include "view/summary.h"

#include <string.h>

#include "base/units.h"
#include "model/sums.h"
#include "view/table.h"

#define LEAVES_AHEAD 16 /* the leaf of the stack that comes this many stacks later is prefetched */

/* True if the innermost line of the location has a function's name. */
static bool has_name(const pt_profile *p, uint32_t location)
{
    const uint32_t first = p->location->line_first[location];
    if (first == p->location->line_first[location + 1]) return false;
    const uint32_t function = p->line->function[first];
    return function != PT_NONE && pt_text_bytes(p, p->function->name[function]) > 0;
}

/* A shorter period is not a sampling period: it only says that the unit is nanoseconds. */
#define PERIOD_MIN_NS 1000

bool pt_period_samples(const pt_profile *p, int64_t period, uint32_t unit)
{
    const pt_unit *const known = pt_unit_parse(pt_text(p, unit));
    if (known == NULL || period <= 0) return period > 0;
    if (known->family == PT_FAMILY_TIME) return (double)period * known->factor >= PERIOD_MIN_NS;
    return known->family != PT_FAMILY_BYTES || period > 1; /* 1: all allocations were recorded */
}

/* The sampling rate: the rate that the profile states, or 1 / period if the period is a time; 0 =
 * unknown. */
static double rate_of(const pt_profile *p, const pt_event *event)
{
    const pt_provenance *source = pt_profile_provenance(p);
    if (event->rate_hz > 0) return event->rate_hz;
    if (source->true_hz > 0) return source->true_hz;
    if (source->asked_hz > 0) return source->asked_hz;
    const pt_unit *unit = pt_unit_parse(pt_text(p, source->period_unit));
    if (unit == NULL || unit->family != PT_FAMILY_TIME || source->period <= 0) return 0;
    return pt_period_samples(p, source->period, source->period_unit)
               ? 1e9 / ((double)source->period * unit->factor)
               : 0;
}

/* The number of samples. Readers and writers add up equal samples; then an event counts the
 * samples. */
int64_t pt_summary_samples(const pt_profile *p)
{
    for (uint32_t e = 0; e < p->event->t.count; e++)
        if (p->event->row[e].kind == PT_EVENT_COUNT &&
            (strcmp(pt_text(p, p->event->row[e].type), "samples") == 0 ||
             strcmp(pt_text(p, p->event->row[e].unit), "samples") == 0))
            return pt_profile_magnitude(p, e);
    return p->sample->t.count;
}

/* Has the stack more than the sampled place: callers, the root's mark, or a single name (which came
 * from a stack)? In a profile of call arcs a single name is only a place. */
static bool is_stack(const pt_profile *p, uint32_t stack)
{
    const uint32_t depth = pt_stack_depth(p, stack);
    return depth > 1 || p->stack->end[stack] == PT_STACK_END_ROOT ||
           (depth == 1 && p->arc->t.count == 0 &&
            p->location->address[pt_stack_frames(p, stack)[0]] == 0);
}

/* Whole numbers up to this one are exact as doubles. */
#define EXACT_MAX (INT64_C(1) << 53)

/* Returns for each stack the sum of the magnitudes of its values, so that positive and negative
 * values do not cancel out. The caller frees the array.
 */
static double *weigh_stacks(const pt_profile *p, uint32_t event)
{
    const pt_samples *samples = p->sample;
    double *const weight = pt_alloc(p->stack->t.count, sizeof *weight);
    if (!pt_profile_has_negative(p, event) && pt_profile_magnitude(p, event) <= EXACT_MAX) {
        const int64_t *const value = pt_profile_stack_values(p, event);
        for (uint32_t s = 0; s < p->stack->t.count; s++)
            weight[s] = (double)value[s];
    } else {
        for (uint32_t i = 0; i < samples->t.count; i++)
            weight[samples->stack[i]] += (double)pt_magnitude(samples->value[event][i]);
    }
    return weight;
}

static void sum_stack_quality(const pt_profile *p, uint32_t event, pt_summary *summary)
{
    PT_FREE double *weight = weigh_stacks(p, event);
    PT_FREE bool *named = pt_alloc(p->location->t.count, sizeof *named);
    for (uint32_t l = 0; l < p->location->t.count; l++)
        named[l] = has_name(p, l);
    double all = 0, complete = 0, unchecked = 0, unnamed = 0;
    for (uint32_t s = 0; s < p->stack->t.count; s++) {
        if (s + LEAVES_AHEAD < p->stack->t.count)
            __builtin_prefetch(pt_stack_frames(p, s + LEAVES_AHEAD));
        if (weight[s] == 0) continue;
        summary->stacks++;
        summary->has_stacks |= is_stack(p, s);
        all += weight[s];
        summary->ends_known |= p->stack->end[s] != PT_STACK_END_UNKNOWN;
        if (p->stack->end[s] == PT_STACK_END_ROOT) complete += weight[s];
        if (p->stack->end[s] == PT_STACK_END_UNCHECKED) unchecked += weight[s];
        if (pt_stack_depth(p, s) == 0 || !named[pt_stack_frames(p, s)[0]]) unnamed += weight[s];
    }
    summary->complete_share = all > 0 ? complete / all : 0;
    summary->unchecked_share = all > 0 ? unchecked / all : 0;
    summary->unnamed_share = all > 0 ? unnamed / all : 0;
}

pt_summary pt_summary_of(const pt_profile *p, uint32_t event)
{
    const pt_event *e = &p->event->row[event];
    const pt_provenance *source = pt_profile_provenance(p);
    pt_summary summary = {
        .type = pt_text(p, e->type),
        .unit = pt_text(p, e->unit),
        .kind = e->kind,
        .samples = pt_summary_samples(p),
        .rows = p->sample->t.count,
        .total = pt_profile_magnitude(p, event),
        .duration_ns = source->duration_ns,
        .rate_hz = rate_of(p, e),
        .lost = source->lost,
        .cpu_used_ns = source->cpu_used_ns,
        .cpu_seen_ns = source->cpu_seen_ns,
        .damaged = source->damaged,
        .arcs = p->arc->t.count,
        .arc_costs = p->arc->cost[event] != NULL,
    };
    uint32_t part[PT_EVENT_PARTS_MAX];
    summary.part_count = pt_event_parts(p, event, part);
    for (size_t k = 0; k < summary.part_count; k++) {
        summary.part_type[k] = pt_text(p, p->event->row[part[k]].type);
        summary.part_total[k] = pt_profile_magnitude(p, part[k]);
    }
    sum_stack_quality(p, event, &summary);
    return summary;
}
