/* merge_all.c: merges profiles with different events into one with all events.
 *
 *   a.dcpi  cycles        ->   cycles  imiss
 *   b.dcpi  imiss              (a's samples have 0 of imiss, b's 0 of cycles)
 *
 * Each profile gets the columns that it lacks; then profiles with equal events are merged. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "transform/frames.h"
#include "transform/merge.h"

#include "model/builder.h"

typedef struct {
    struct any_event {
        const pt_profile *profile;
        uint32_t event;
    } * items;
    size_t count, cap;
} all_events;

static bool same_event(const pt_profile *p, uint32_t event, const struct any_event *other)
{
    const pt_event *const a = &p->event->row[event], *b = &other->profile->event->row[other->event];
    return strcmp(pt_text(p, a->type), pt_text(other->profile, b->type)) == 0 &&
           strcmp(pt_text(p, a->unit), pt_text(other->profile, b->unit)) == 0;
}

/* For each event of the union, the profile's event, or PT_NONE if the profile does not have it.
 * Each event is used only once, so two events with equal names stay separate. The caller frees the
 * result. */
static uint32_t *own_events(const pt_profile *p, const all_events *all)
{
    uint32_t *const own = pt_alloc(all->count + 1, sizeof *own);
    PT_FREE bool *used = pt_alloc((size_t)p->event->t.count + 1, sizeof *used);
    for (size_t i = 0; i < all->count; i++) {
        own[i] = PT_NONE;
        for (uint32_t e = 0; e < p->event->t.count && own[i] == PT_NONE; e++)
            if (!used[e] && same_event(p, e, &all->items[i])) own[i] = e;
        if (own[i] != PT_NONE) used[own[i]] = true;
    }
    return own;
}

static void add_events(all_events *all, const pt_profile *p)
{
    PT_FREE uint32_t *own = own_events(p, all);
    PT_FREE bool *known = pt_alloc((size_t)p->event->t.count + 1, sizeof *known);
    for (size_t i = 0; i < all->count; i++)
        if (own[i] != PT_NONE) known[own[i]] = true;
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        if (known[e]) continue;
        PT_PUSH(*all, (struct any_event){p, e});
    }
}

static pt_samples *widened_samples(const pt_profile *p, const all_events *all, const uint32_t *own)
{
    const pt_samples *const old = p->sample;
    const uint32_t n = old->t.count;
    pt_samples *const s = pt_samples_new(n, (uint32_t)all->count, pt_samples_optional(old));
    memcpy((void *)s->stack, old->stack, n * sizeof *old->stack);
    memcpy((void *)s->labels, old->labels, n * sizeof *old->labels);
    if (old->time_ns) memcpy((void *)s->time_ns, old->time_ns, n * sizeof *old->time_ns);
    if (old->pid) memcpy((void *)s->pid, old->pid, n * sizeof *old->pid);
    if (old->tid) memcpy((void *)s->tid, old->tid, n * sizeof *old->tid);
    if (old->cpu) memcpy((void *)s->cpu, old->cpu, n * sizeof *old->cpu);
    if (old->comm) memcpy((void *)s->comm, old->comm, n * sizeof *old->comm);
    for (size_t i = 0; i < all->count; i++)
        if (own[i] != PT_NONE)
            memcpy((void *)s->value[i], old->value[own[i]], n * sizeof *old->value[own[i]]);
    return s;
}

static pt_arcs *widened_arcs(const pt_profile *p, const all_events *all, const uint32_t *own)
{
    const pt_arcs *const old = p->arc;
    const uint32_t n = old->t.count;
    pt_arcs *const arcs = pt_table_new(sizeof *arcs, n);
    arcs->event_count = (uint32_t)all->count;
    arcs->from = pt_column_copy(old->from, n, sizeof *old->from);
    arcs->to = pt_column_copy(old->to, n, sizeof *old->to);
    arcs->calls = pt_column_copy(old->calls, n, sizeof *old->calls);
    const int64_t **const cost = pt_alloc(all->count, sizeof *cost);
    for (size_t i = 0; i < all->count; i++)
        if (own[i] != PT_NONE) cost[i] = pt_column_copy(old->cost[own[i]], n, sizeof(int64_t));
    arcs->cost = cost;
    return arcs;
}

static pt_bins *widened_bins(const pt_profile *p, const all_events *all, const uint32_t *own)
{
    pt_bins *const bins = pt_table_new(sizeof *bins, p->bin->t.count);
    pt_bin *const row = pt_alloc(p->bin->t.count, sizeof *row);
    for (uint32_t b = 0; b < p->bin->t.count; b++) {
        row[b] = p->bin->row[b];
        for (size_t i = 0; i < all->count; i++)
            if (own[i] == p->bin->row[b].event) row[b].event = (uint32_t)i;
    }
    bins->row = row;
    return bins;
}

static pt_status widen_profile(const pt_profile *p, const all_events *all, const pt_profile **ret,
                               pt_error *reterr)
{
    PT_FREE uint32_t *own = own_events(p, all);
    pt_builder *const b = pt_builder_extend(p);
    pt_event *const row = pt_alloc(all->count + 1, sizeof *row);
    for (size_t i = 0; i < all->count; i++) {
        const struct any_event *const one = &all->items[i];
        row[i] = one->profile->event->row[one->event];
        if (own[i] != PT_NONE) row[i] = p->event->row[own[i]];
        if (own[i] == PT_NONE) {
            row[i].type = pt_builder_text(b, pt_text(one->profile, row[i].type)).v;
            row[i].unit = pt_builder_text(b, pt_text(one->profile, row[i].unit)).v;
        }
    }
    PT_UNREF_PROFILE const pt_profile *extended = NULL;
    const pt_status status = pt_builder_freeze(b, &extended, reterr);
    if (status != PT_OK) {
        free(row);
        return status;
    }
    pt_events *const events = pt_table_new(sizeof *events, (uint32_t)all->count);
    events->row = row;
    *ret = pt_profile_derive(extended, &(pt_profile_tables){
                                           .event = events,
                                           .sample = widened_samples(p, all, own),
                                           .arc = widened_arcs(p, all, own),
                                           .bin = widened_bins(p, all, own),
                                       });
    return PT_OK;
}

pt_status pt_merge_all_events(const pt_profile *const *profiles, size_t count, pt_diag *diag,
                              const pt_profile **ret_profile, pt_error *reterr)
{
    all_events all = {0};
    for (size_t i = 0; i < count; i++)
        add_events(&all, profiles[i]);
    pt_merge *const merge = pt_merge_new(diag);
    pt_status status = PT_OK;
    for (size_t i = 0; i < count && status == PT_OK; i++) {
        PT_UNREF_PROFILE const pt_profile *wide = NULL;
        status = widen_profile(profiles[i], &all, &wide, reterr);
        if (status == PT_OK) status = pt_merge_add(merge, wide, reterr);
    }
    free(all.items);
    if (status == PT_OK) return pt_merge_finish(merge, ret_profile, reterr);
    pt_merge_free(merge);
    return status;
}
