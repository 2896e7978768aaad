/* one_event.c: see one_event.h. */
#include "transform/one_event.h"

#include "model/builder.h"
#include "transform/frames.h"

static pt_events *event_alone(const pt_events *old, uint32_t event)
{
    pt_events *const events = pt_table_new(sizeof *events, 1);
    pt_event *const row = pt_alloc(1, sizeof *row);
    *row = old->row[event];
    row->sum_of = 0;
    events->row = row;
    return events;
}

static pt_samples *samples_of(const pt_samples *old, uint32_t event)
{
    PT_FREE uint32_t *rows = pt_alloc(old->t.count, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->t.count; i++)
        if (old->value[event][i] != 0) rows[count++] = i;
    pt_samples one = *old; /* the same samples with the column of this event only */
    one.event_count = 1;
    one.value = &old->value[event];
    return pt_samples_pick(&one, rows, count);
}

static pt_arcs *arcs_of(const pt_arcs *old, uint32_t event)
{
    const uint32_t count = old->t.count;
    pt_arcs *const arcs = pt_table_new(sizeof *arcs, count);
    int64_t **const cost = pt_alloc(1, sizeof *cost);
    cost[0] = pt_column_copy(old->cost[event], count, sizeof *cost[0]);
    arcs->event_count = 1;
    arcs->from = pt_column_copy(old->from, count, sizeof *old->from);
    arcs->to = pt_column_copy(old->to, count, sizeof *old->to);
    arcs->calls = pt_column_copy(old->calls, count, sizeof *old->calls);
    arcs->cost = (const int64_t *const *)cost;
    return arcs;
}

static pt_bins *bins_of(const pt_bins *old, uint32_t event)
{
    pt_bin *const row = pt_alloc(old->t.count, sizeof *row);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->t.count; i++) {
        if (old->row[i].event != event) continue;
        row[count] = old->row[i];
        row[count++].event = 0;
    }
    pt_bins *const bins = pt_table_new(sizeof *bins, count);
    bins->row = row;
    return bins;
}

/* The remaining event is the default, whichever was before. */
static pt_source *source_without_default(const pt_source *old)
{
    pt_source *const source = pt_table_new(sizeof *source, 1);
    source->row = old->row;
    source->row.default_event = 0;
    source->row.comments =
        pt_column_copy(old->row.comments, old->row.comment_count, sizeof *old->row.comments);
    return source;
}

const pt_profile *pt_one_event(const pt_profile *profile, uint32_t event, pt_diag *diag)
{
    if (profile->event->t.count == 1) return pt_profile_ref(profile);
    const pt_profile_tables tables = {
        .event = event_alone(profile->event, event),
        .sample = samples_of(profile->sample, event),
        .arc = arcs_of(profile->arc, event),
        .bin = bins_of(profile->bin, event),
        .unknown =
            pt_unknowns_without(profile->unknown, 1u << PT_IN_EVENT | 1u << PT_IN_SAMPLE, diag),
        .source = source_without_default(profile->source),
    };
    return pt_profile_derive(profile, &tables);
}
