/* merge.c: merges profiles with different events as google/pprof does: the result has the types
 * that all profiles have, each in the smallest of its units (CompatibilizeSampleTypes in
 * profile/merge.go, ScaleProfiles in internal/measurement).
 *
 *   p1 p2 p3 | p4 | p5 p6      neighbours with equal events and period type are one group,
 *     g1       g2    g3        added up as they come; a group of one profile is that profile itself
 *         common types,
 *         common units         then the groups are merged
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"
#include "model/builder.h"
#include "personality/pprof/merge.h"
#include "transform/frames.h"
#include "transform/scale.h"

typedef struct {
    pt_diag *diag;
    const pt_profile *first; /* the first profile of the open group; NULL = no group is open */
    pt_merge *merge;         /* NULL while the group has one profile */
    PT_VECTOR(const pt_profile *) group; /* closed groups */
} grouping;

static void *begin_merge(pt_diag *diag)
{
    grouping *g = pt_alloc(1, sizeof *g);
    g->diag = diag;
    return g;
}

static void end_merge(void *merging)
{
    PT_FREE grouping *g = merging;
    pt_profile_unref(g->first);
    pt_merge_free(g->merge);
    for (size_t i = 0; i < g->group.count; i++)
        pt_profile_unref(g->group.items[i]);
    free(g->group.items);
}

/* ---- Grouping ---- */

static bool same_types(const pt_profile *a, uint32_t x, const pt_profile *b, uint32_t y)
{
    return strcmp(pt_text(a, x), pt_text(b, y)) == 0;
}

static bool same_events(const pt_profile *a, const pt_profile *b)
{
    const pt_provenance *const of_a = pt_profile_provenance(a);
    const pt_provenance *const of_b = pt_profile_provenance(b);
    bool equal = a->event->t.count == b->event->t.count &&
                 same_types(a, of_a->period_type, b, of_b->period_type) &&
                 same_types(a, of_a->period_unit, b, of_b->period_unit);
    for (uint32_t e = 0; equal && e < a->event->t.count; e++)
        equal = same_types(a, a->event->row[e].type, b, b->event->row[e].type) &&
                same_types(a, a->event->row[e].unit, b, b->event->row[e].unit);
    return equal;
}

static pt_status close_group(grouping *g, pt_error *reterr)
{
    if (g->first == NULL) return PT_OK;
    const pt_profile *profile = NULL;
    if (g->merge == NULL) {
        profile = pt_profile_ref(g->first);
    } else {
        pt_merge *const merge = g->merge;
        g->merge = NULL;
        const pt_status status = pt_merge_finish(merge, &profile, reterr);
        if (status != PT_OK) return status;
    }
    pt_profile_unref(g->first);
    g->first = NULL;
    PT_PUSH(g->group, profile);
    return PT_OK;
}

static pt_status add_profile(void *merging, const pt_profile *profile, pt_error *reterr)
{
    grouping *g = merging;
    pt_status status = PT_OK;
    if (g->first != NULL && !same_events(g->first, profile)) status = close_group(g, reterr);
    if (status != PT_OK) return status;
    if (g->first == NULL) {
        g->first = pt_profile_ref(profile);
        return PT_OK;
    }
    if (g->merge == NULL) {
        g->merge = pt_merge_new_to_the_letter(g->diag);
        status = pt_merge_add(g->merge, g->first, reterr);
    }
    return status == PT_OK ? pt_merge_add(g->merge, profile, reterr) : status;
}

/* ---- The same events for all ---- */

static uint32_t find_type(const pt_profile *p, const char *type)
{
    for (uint32_t e = 0; e < p->event->t.count; e++)
        if (strcmp(pt_text(p, p->event->row[e].type), type) == 0) return e;
    return PT_NONE;
}

static double unit_ratio(const char *from, const char *to)
{
    const char *unit;
    return pt_unit_convert_any(1, from, to, &unit);
}

static bool same_family(const char *x, const char *y)
{
    const pt_unit *const a = pt_unit_parse(x), *const b = pt_unit_parse(y);
    return strcmp(x, y) == 0 || (a != NULL && b != NULL && a->family == b->family);
}

static bool same_but_for_s(const char *x, const char *y)
{
    size_t a = strlen(x), b = strlen(y);
    if (a > 0 && x[a - 1] == 's') a--;
    if (b > 0 && y[b - 1] == 's') b--;
    return a == b && memcmp(x, y, a) == 0;
}

/* A type and its unit. */
typedef struct {
    const char *type, *unit;
} value_type;

static value_type event_type(const pt_profile *p, uint32_t event)
{
    return (value_type){pt_text(p, p->event->row[event].type),
                        pt_text(p, p->event->row[event].unit)};
}

static value_type period_type(const pt_profile *p)
{
    const pt_provenance *const from = pt_profile_provenance(p);
    return (value_type){pt_text(p, from->period_type), pt_text(p, from->period_unit)};
}

/* Sets *least to `other` if `other` has the smaller unit. Fails with PT_ERR_USAGE if names or kinds
 * of units differ. */
static pt_status join_type(const char *what, value_type *least, value_type other, pt_error *reterr)
{
    if (!same_but_for_s(least->type, other.type) || !same_family(least->unit, other.unit))
        return pt_error_set(reterr, PT_ERR_USAGE, "%s: incompatible types: {%s %s 0 0} {%s %s 0 0}",
                            what, least->type, least->unit, other.type, other.unit);
    if (unit_ratio(other.unit, least->unit) < 1) *least = other;
    return PT_OK;
}

typedef struct {
    const pt_profile *const *group;
    size_t group_count;
    value_type *type; /* [count] the types that all groups have, in the first group's order */
    uint32_t count;
    value_type period;
} agreement;

static bool has_once(const pt_profile *p, const char *type)
{
    uint32_t times = 0;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        times += strcmp(pt_text(p, p->event->row[e].type), type) == 0;
    return times == 1;
}

/* Finds the types that all groups have. pprof counts how often a type occurs in all profiles, so
 * a type that a profile has twice is not common. */
static void find_common(agreement *a)
{
    const pt_profile *const first = a->group[0];
    a->type = pt_alloc((size_t)first->event->t.count + 1, sizeof *a->type);
    for (uint32_t e = 0; e < first->event->t.count; e++) {
        const value_type type = event_type(first, e);
        bool everywhere = true;
        for (size_t i = 0; i < a->group_count && everywhere; i++)
            everywhere = has_once(a->group[i], type.type);
        if (everywhere) a->type[a->count++] = type;
    }
}

static pt_status agree_on_events(agreement *a, pt_error *reterr)
{
    find_common(a);
    if (a->count == 0)
        return pt_error_set(reterr, PT_ERR_USAGE, "profiles have empty common sample type list");
    a->period = period_type(a->group[0]);
    pt_status status = PT_OK;
    for (size_t i = 1; i < a->group_count && status == PT_OK; i++)
        status = join_type("period type", &a->period, period_type(a->group[i]), reterr);
    for (size_t i = 1; i < a->group_count && status == PT_OK; i++)
        for (uint32_t e = 0; e < a->count && status == PT_OK; e++) {
            const pt_profile *const p = a->group[i];
            status = join_type("sample types", &a->type[e],
                               event_type(p, find_type(p, a->type[e].type)), reterr);
        }
    for (size_t i = 1; i < a->group_count && status == PT_OK; i++) {
        const value_type one = period_type(a->group[0]), other = period_type(a->group[i]);
        if (strcmp(one.type, other.type) != 0)
            status = pt_error_set(reterr, PT_ERR_USAGE,
                                  "incompatible period types &{%s %s 0 0} and &{%s %s 0 0}",
                                  one.type, a->period.unit, other.type, a->period.unit);
    }
    return status;
}

/* Does the group have other events than the result: more of them, or in another order? */
static bool is_modified(const agreement *a, const pt_profile *p)
{
    bool modified = p->event->t.count != a->count;
    for (uint32_t e = 0; e < a->count && !modified; e++)
        modified = find_type(p, a->type[e].type) != e;
    return modified;
}

/* Changes the header for the common events and units; its strings are strings of the builder b. A
 * modified profile keeps its default event if the result has it; else the first event becomes the
 * default.
 */
static void agree_header(const agreement *a, const pt_profile *p, pt_builder *b, pt_provenance *row)
{
    const value_type own = period_type(p);
    row->period = (int64_t)((double)row->period * unit_ratio(own.unit, a->period.unit));
    row->period_unit = pt_builder_text(b, a->period.unit).v;
    if (!is_modified(a, p)) return;
    const char *const wanted = pt_text(p, row->default_event);
    bool is_left = false;
    for (uint32_t e = 0; e < a->count; e++)
        is_left |= strcmp(a->type[e].type, wanted) == 0;
    if (!is_left) row->default_event = pt_builder_text(b, a->type[0].type).v;
}

static pt_samples *agree_samples(const agreement *a, const pt_profile *p)
{
    const pt_samples *const old = p->sample;
    const uint32_t count = old->t.count;
    pt_samples *const samples = pt_samples_new(count, a->count, 0);
    memcpy((void *)samples->stack, old->stack, count * sizeof *old->stack);
    memcpy((void *)samples->labels, old->labels, count * sizeof *old->labels);
    for (uint32_t e = 0; e < a->count; e++)
        memcpy((void *)samples->value[e], old->value[find_type(p, a->type[e].type)],
               count * sizeof(int64_t));
    return samples;
}

/* The profile of a group, with the common events in the common units. */
static const pt_profile *agreeing_profile(const agreement *a, const pt_profile *p)
{
    PT_FREE double *ratio = pt_alloc(a->count, sizeof *ratio);
    pt_builder *const b = pt_builder_extend(p);
    pt_events *const events = pt_table_new(sizeof *events, a->count);
    pt_event *const row = pt_alloc(a->count, sizeof *row);
    events->row = row;
    for (uint32_t e = 0; e < a->count; e++) {
        row[e] = p->event->row[find_type(p, a->type[e].type)];
        ratio[e] = unit_ratio(pt_text(p, row[e].unit), a->type[e].unit);
        row[e].unit = pt_builder_text(b, a->type[e].unit).v;
    }
    pt_source *const source = pt_table_new(sizeof *source, 1);
    source->row = *pt_profile_provenance(p);
    source->row.comments = pt_column_copy(source->row.comments, source->row.comment_count,
                                          sizeof *source->row.comments);
    agree_header(a, p, b, &source->row);
    const pt_profile_tables tables = {
        .event = events, .source = source, .sample = agree_samples(a, p)};
    PT_UNREF_PROFILE const pt_profile *extended = NULL;
    if (pt_builder_freeze(b, &extended, NULL) != PT_OK) extended = pt_profile_ref(p);
    PT_UNREF_PROFILE const pt_profile *derived = pt_profile_derive(extended, &tables);
    return pt_scale(derived, ratio);
}

static pt_status merge_groups(grouping *g, const pt_profile **ret_profile, pt_error *reterr)
{
    agreement a = {.group = g->group.items, .group_count = g->group.count};
    pt_status status = agree_on_events(&a, reterr);
    pt_merge *const merge = pt_merge_new_to_the_letter(g->diag);
    for (size_t i = 0; i < g->group.count && status == PT_OK; i++) {
        PT_UNREF_PROFILE const pt_profile *profile = agreeing_profile(&a, g->group.items[i]);
        status = pt_merge_add(merge, profile, reterr);
    }
    free(a.type);
    if (status == PT_OK) return pt_merge_finish(merge, ret_profile, reterr);
    pt_merge_free(merge);
    return status;
}

static pt_status finish_merge(void *merging, const pt_profile **ret_profile, pt_error *reterr)
{
    grouping *g = merging;
    const pt_status status = close_group(g, reterr);
    if (status != PT_OK) return status;
    if (g->group.count > 1) return merge_groups(g, ret_profile, reterr);
    *ret_profile = pt_profile_ref(g->group.items[0]);
    return PT_OK;
}

const pt_merge_rules pt_pprof_merge_rules = {
    .begin = begin_merge,
    .add = add_profile,
    .finish = finish_merge,
    .end = end_merge,
};
