/* sum.c: see sum.h. */
#include "transform/sum.h"

#include <string.h>

#include "base/buf.h"
#include "base/saturate.h"
#include "model/builder.h"
#include "transform/frames.h"

typedef struct {
    uint32_t part[PT_EVENT_PARTS_MAX];
    size_t count;
} parts;

bool pt_is_sum(const pt_profile *profile, const char *names)
{
    return strchr(names, '+') != NULL && pt_profile_find_event(profile, names) == PT_NONE;
}

static const pt_event *event_of(const pt_profile *p, uint32_t event)
{
    return &p->event->row[event];
}

static pt_status add_part(const pt_profile *p, const char *name, parts *to, pt_error *reterr)
{
    const uint32_t event = pt_profile_find_event(p, name);
    if (event == PT_NONE)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "the profile has no event '%s'", name);
    if (to->count == PT_EVENT_PARTS_MAX || event >= 64)
        return pt_error_set(reterr, PT_ERR_USAGE, "a sum has at most %d of the first 64 events",
                            PT_EVENT_PARTS_MAX);
    for (size_t i = 0; i < to->count; i++)
        if (to->part[i] == event)
            return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is there twice", name);
    const pt_event *const first = event_of(p, to->count > 0 ? to->part[0] : event);
    if (strcmp(pt_text(p, first->unit), pt_text(p, event_of(p, event)->unit)) != 0)
        return pt_error_set(
            reterr, PT_ERR_USAGE, "%s is in %s and %s in %s; a sum takes events of one unit",
            pt_text(p, first->type), pt_text(p, first->unit), pt_text(p, event_of(p, event)->type),
            pt_text(p, event_of(p, event)->unit));
    to->part[to->count++] = event;
    return PT_OK;
}

static pt_status find_parts(const pt_profile *p, const char *names, parts *ret_parts,
                            pt_error *reterr)
{
    *ret_parts = (parts){0};
    pt_status status = PT_OK;
    while (status == PT_OK && names != NULL) {
        const size_t length = strcspn(names, "+");
        PT_FREE char *name = pt_strndup(names, length);
        status = add_part(p, name, ret_parts, reterr);
        names = names[length] == '+' ? names + length + 1 : NULL;
    }
    return status;
}

/* The table of strings with one more string at the end. */
static pt_strings *strings_with(const pt_strings *old, const char *text)
{
    const uint32_t count = old->t.count;
    pt_strings *const strings = pt_table_new(sizeof *strings, count + 1);
    uint64_t *const offset = pt_alloc((size_t)count + 2, sizeof *offset);
    memcpy(offset, old->offset, ((size_t)count + 1) * sizeof *offset);
    pt_buf bytes = PT_BUF_INIT;
    pt_put(&bytes, old->bytes, old->offset[count]);
    pt_put(&bytes, text, strlen(text) + 1);
    offset[count + 1] = bytes.size;
    strings->offset = offset;
    strings->bytes = pt_buf_take(&bytes, NULL);
    return strings;
}

static pt_events *events_with(const pt_events *old, const pt_event *more)
{
    pt_events *const events = pt_table_new(sizeof *events, old->t.count + 1);
    pt_event *const row = pt_alloc((size_t)old->t.count + 1, sizeof *row);
    memcpy(row, old->row, old->t.count * sizeof *row);
    row[old->t.count] = *more;
    events->row = row;
    return events;
}

static pt_samples *samples_with(const pt_samples *old, const parts *of)
{
    PT_FREE uint32_t *rows = pt_alloc_numbers(old->t.count);
    PT_FREE const int64_t **value = pt_alloc((size_t)old->event_count + 1, sizeof *value);
    memcpy(value, old->value, old->event_count * sizeof *value);
    value[old->event_count] = old->value[of->part[0]];
    pt_samples more = *old;
    more.event_count = old->event_count + 1;
    more.value = value;
    pt_samples *const samples = pt_samples_pick(&more, rows, old->t.count);
    int64_t *const sum = (int64_t *)samples->value[old->event_count];
    for (size_t k = 1; k < of->count; k++)
        for (uint32_t i = 0; i < old->t.count; i++)
            sum[i] = pt_saturating_add(sum[i], old->value[of->part[k]][i]);
    return samples;
}

/* The table of arcs for one more event. The arcs have no cost of it. */
static pt_arcs *arcs_with(const pt_arcs *old)
{
    const uint32_t count = old->t.count;
    pt_arcs *const arcs = pt_table_new(sizeof *arcs, count);
    arcs->event_count = old->event_count + 1;
    arcs->from = pt_column_copy(old->from, count, sizeof *old->from);
    arcs->to = pt_column_copy(old->to, count, sizeof *old->to);
    arcs->calls = pt_column_copy(old->calls, count, sizeof *old->calls);
    const int64_t **const cost = pt_alloc(arcs->event_count, sizeof *cost);
    for (uint32_t e = 0; e < old->event_count; e++)
        cost[e] = pt_column_copy(old->cost[e], count, sizeof *cost[e]);
    arcs->cost = cost;
    return arcs;
}

static char *name_of(const pt_profile *p, const parts *of)
{
    pt_buf name = PT_BUF_INIT;
    for (size_t i = 0; i < of->count; i++)
        pt_putf(&name, "%s%s", i > 0 ? "+" : "", pt_text(p, event_of(p, of->part[i])->type));
    return pt_buf_take(&name, NULL);
}

pt_status pt_sum_events(const pt_profile *profile, const char *names,
                        const pt_profile **ret_profile, pt_error *reterr)
{
    parts of;
    const pt_status status = find_parts(profile, names, &of, reterr);
    if (status != PT_OK) return status;
    PT_FREE char *name = name_of(profile, &of);
    pt_event sum = {.type = profile->string->t.count,
                    .unit = event_of(profile, of.part[0])->unit,
                    .kind = event_of(profile, of.part[0])->kind,
                    .period_varies = true};
    for (size_t i = 0; i < of.count; i++)
        sum.sum_of |= UINT64_C(1) << of.part[i];
    const pt_profile_tables tables = {
        .string = strings_with(profile->string, name),
        .event = events_with(profile->event, &sum),
        .sample = samples_with(profile->sample, &of),
        .arc = arcs_with(profile->arc),
    };
    *ret_profile = pt_profile_derive(profile, &tables);
    return PT_OK;
}
