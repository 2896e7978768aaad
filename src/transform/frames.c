/* frames.c: makes new lines, locations, stacks and samples where an edit changes them; everything
 * else is shared with the old profile. */
#include "transform/frames.h"

#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "model/builder.h"

/* ---- Lines ---- */

static uint32_t count_staying(const bool *stays, uint32_t count)
{
    uint32_t staying = 0;
    for (uint32_t i = 0; i < count; i++)
        staying += stays[i];
    return staying;
}

static pt_lines *edit_lines(const pt_lines *old, const bool *stays)
{
    const uint32_t count = count_staying(stays, old->t.count);
    pt_lines *lines = pt_table_new(sizeof *lines, count);
    uint32_t *function = pt_alloc(count, sizeof *function);
    int64_t *line = pt_alloc(count, sizeof *line);
    int64_t *column = old->column != NULL ? pt_alloc(count, sizeof *column) : NULL;
    uint32_t to = 0;
    for (uint32_t i = 0; i < old->t.count; i++) {
        if (!stays[i]) continue;
        function[to] = old->function[i];
        line[to] = old->line[i];
        if (column != NULL) column[to] = old->column[i];
        to++;
    }
    lines->function = function;
    lines->line = line;
    lines->column = column;
    return lines;
}

void *pt_column_copy(const void *column, size_t count, size_t item_size)
{
    if (column == NULL) return NULL;
    void *same = pt_alloc(count, item_size);
    memcpy(same, column, count * item_size);
    return same;
}

static pt_locations *edit_locations(const pt_locations *old, const bool *stays)
{
    const uint32_t count = old->t.count;
    pt_locations *locations = pt_table_new(sizeof *locations, count);
    uint32_t *first = pt_alloc((size_t)count + 1, sizeof *first);
    for (uint32_t i = 0; i < count; i++)
        first[i + 1] = first[i] + count_staying(stays + old->line_first[i],
                                                old->line_first[i + 1] - old->line_first[i]);
    locations->mapping = pt_column_copy(old->mapping, count, sizeof *old->mapping);
    locations->address = pt_column_copy(old->address, count, sizeof *old->address);
    locations->line_first = first;
    locations->flags = pt_column_copy(old->flags, count, sizeof *old->flags);
    locations->code_offset = pt_column_copy(old->code_offset, count, sizeof *old->code_offset);
    locations->source_id = pt_column_copy(old->source_id, count, sizeof *old->source_id);
    return locations;
}

/* ---- Stacks ---- */

void pt_stack_maker_init(pt_stack_maker *n)
{
    *n = (pt_stack_maker){0};
    n->offset = pt_grow(NULL, &n->offset_cap, 1, sizeof *n->offset);
    n->offset[0] = 0;
    pt_index_init(&n->index);
}

uint32_t *pt_stack_maker_space(pt_stack_maker *n, uint32_t depth)
{
    const uint64_t at = n->offset[n->count];
    n->frame = pt_grow(n->frame, &n->frame_cap, at + depth + 1, sizeof *n->frame);
    return n->frame + at;
}

uint32_t pt_stack_maker_commit(pt_stack_maker *n, uint32_t depth, uint8_t end)
{
    const uint64_t at = n->offset[n->count];
    const uint64_t hash = pt_hash_mix(pt_hash_bytes(n->frame + at, depth * sizeof *n->frame), end);
    const uint32_t known = PT_INDEX_FIND(
        &n->index, hash, id,
        n->end[id] == end && n->offset[id + 1] - n->offset[id] == depth &&
            memcmp(n->frame + n->offset[id], n->frame + at, depth * sizeof *n->frame) == 0);
    if (known != PT_NONE) return known;
    const uint32_t id = n->count++;
    n->offset = pt_grow(n->offset, &n->offset_cap, (size_t)n->count + 1, sizeof *n->offset);
    n->end = pt_grow(n->end, &n->end_cap, n->count, sizeof *n->end);
    n->offset[n->count] = at + depth;
    n->end[id] = end;
    pt_index_add(&n->index, hash, id);
    return id;
}

pt_stacks *pt_stack_maker_finish(pt_stack_maker *n)
{
    pt_index_done(&n->index);
    pt_stacks *stacks = pt_table_new(sizeof *stacks, n->count);
    stacks->offset = n->offset;
    stacks->frame = n->frame != NULL ? n->frame : pt_alloc(1, sizeof *n->frame);
    stacks->end = n->end != NULL ? n->end : pt_alloc(1, sizeof *n->end);
    return stacks;
}

/* Makes the new stacks. new_stack[old]: row of each old stack. */
static pt_stacks *edit_stacks(const pt_profile *profile, const pt_frames_edit *edit,
                              uint32_t *new_stack)
{
    const pt_stacks *old = profile->stack;
    pt_stack_maker maker;
    pt_stack_maker_init(&maker);
    for (uint32_t s = 0; s < old->t.count; s++) {
        new_stack[s] = PT_NONE;
        if (edit->stack_dropped != NULL && edit->stack_dropped[s]) continue;
        uint32_t *const frames = pt_stack_maker_space(&maker, pt_stack_depth(profile, s));
        const uint32_t depth = edit->edit_stack(edit->context, s, frames);
        new_stack[s] = pt_stack_maker_commit(&maker, depth, old->end[s]);
    }
    return pt_stack_maker_finish(&maker);
}

/* ---- Label sets ---- */

void pt_set_maker_init(pt_set_maker *n)
{
    *n = (pt_set_maker){0};
    pt_index_init(&n->index);
    n->offset = pt_grow(NULL, &n->offset_cap, 2, sizeof *n->offset);
    n->offset[0] = n->offset[1] = 0;
    n->count = 1;
}

void pt_set_maker_put(pt_set_maker *n, const pt_label *label)
{
    const size_t at = (size_t)n->offset[n->count] + n->pending++;
    n->row = pt_grow(n->row, &n->row_cap, at + 1, sizeof *n->row);
    n->row[at] = *label;
}

uint32_t pt_set_maker_commit(pt_set_maker *n)
{
    const uint64_t at = n->offset[n->count];
    const size_t count = n->pending;
    n->pending = 0;
    if (count == 0) return 0;
    const uint64_t hash = pt_hash_bytes(n->row + at, count * sizeof *n->row);
    const uint32_t known =
        PT_INDEX_FIND(&n->index, hash, id,
                      n->offset[id + 1] - n->offset[id] == count &&
                          memcmp(n->row + n->offset[id], n->row + at, count * sizeof *n->row) == 0);
    if (known != PT_NONE) return known;
    const uint32_t id = n->count++;
    n->offset = pt_grow(n->offset, &n->offset_cap, (size_t)n->count + 1, sizeof *n->offset);
    n->offset[n->count] = at + count;
    pt_index_add(&n->index, hash, id);
    return id;
}

pt_label_sets *pt_set_maker_finish(pt_set_maker *n)
{
    pt_index_done(&n->index);
    pt_label_sets *sets = pt_table_new(sizeof *sets, n->count);
    sets->offset = n->offset;
    sets->row = n->row != NULL ? n->row : pt_alloc(1, sizeof *n->row);
    return sets;
}

/* ---- Samples ---- */

static void pick_u32(const uint32_t *to, const uint32_t *from, const uint32_t *row, uint32_t count)
{
    for (uint32_t i = 0; from != NULL && i < count; i++)
        ((uint32_t *)to)[i] = from[row[i]];
}

static void pick_i64(const int64_t *to, const int64_t *from, const uint32_t *row, uint32_t count)
{
    for (uint32_t i = 0; from != NULL && i < count; i++)
        ((int64_t *)to)[i] = from[row[i]];
}

pt_samples *pt_samples_pick(const pt_samples *old, const uint32_t *row, uint32_t count)
{
    pt_samples *samples = pt_samples_new(count, old->event_count, pt_samples_optional(old));
    pick_u32(samples->stack, old->stack, row, count);
    pick_u32(samples->labels, old->labels, row, count);
    pick_u32(samples->pid, old->pid, row, count);
    pick_u32(samples->tid, old->tid, row, count);
    pick_u32(samples->cpu, old->cpu, row, count);
    pick_u32(samples->comm, old->comm, row, count);
    pick_i64(samples->time_ns, old->time_ns, row, count);
    for (uint32_t e = 0; e < old->event_count; e++)
        pick_i64(samples->value[e], old->value[e], row, count);
    return samples;
}

/* Makes the samples without those that are dropped. new_stack: the new row of each stack; NULL if
 * the stacks did not change. */
static pt_samples *edit_samples(const pt_samples *old, const pt_frames_edit *edit,
                                const uint32_t *new_stack)
{
    PT_FREE uint32_t *row = pt_alloc(old->t.count, sizeof *row);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->t.count; i++) {
        if (edit->stack_dropped != NULL && edit->stack_dropped[old->stack[i]]) continue;
        if (edit->set_dropped != NULL && edit->set_dropped[old->labels[i]]) continue;
        row[count++] = i;
    }
    pt_samples *samples = pt_samples_pick(old, row, count);
    uint32_t *stack = (uint32_t *)samples->stack;
    for (uint32_t i = 0; new_stack != NULL && i < count; i++)
        stack[i] = new_stack[stack[i]];
    return samples;
}

/* ---- Arcs ---- */

static pt_arcs *edit_arcs(const pt_arcs *old, const pt_frames_edit *edit)
{
    PT_FREE uint32_t *row = pt_alloc((size_t)old->t.count + 1, sizeof *row);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->t.count; i++)
        if (!edit->drops_arc(edit->context, old->from[i], old->to[i])) row[count++] = i;
    pt_arcs *arcs = pt_table_new(sizeof *arcs, count);
    arcs->event_count = old->event_count;
    arcs->from = pt_alloc(count, sizeof *arcs->from);
    arcs->to = pt_alloc(count, sizeof *arcs->to);
    uint64_t *const calls = pt_alloc(count, sizeof *calls);
    pick_u32(arcs->from, old->from, row, count);
    pick_u32(arcs->to, old->to, row, count);
    for (uint32_t i = 0; i < count; i++)
        calls[i] = old->calls[row[i]];
    arcs->calls = calls;
    const int64_t **const cost = pt_alloc(old->event_count, sizeof *cost);
    for (uint32_t e = 0; e < old->event_count; e++) {
        if (old->cost[e] == NULL) continue;
        cost[e] = pt_alloc(count, sizeof *cost[e]);
        pick_i64(cost[e], old->cost[e], row, count);
    }
    arcs->cost = cost;
    return arcs;
}

/* ---- unknown fields: rows that were renumbered lose theirs ---- */

pt_unknowns *pt_unknowns_without(const pt_unknowns *old, unsigned without, pt_diag *diag)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; i < old->t.count; i++)
        lost += without >> old->message[i] & 1;
    if (lost == 0) return NULL;
    pt_diag_add(diag, lost, "unknown fields dropped by filtering");
    pt_unknowns *unknown = pt_table_new(sizeof *unknown, old->t.count - lost);
    uint8_t *message = pt_alloc(old->t.count - lost, sizeof *message);
    uint32_t *row = pt_alloc(old->t.count - lost, sizeof *row);
    uint32_t *bytes = pt_alloc(old->t.count - lost, sizeof *bytes);
    for (uint32_t i = 0, to = 0; i < old->t.count; i++) {
        if (without >> old->message[i] & 1) continue;
        message[to] = old->message[i];
        row[to] = old->row[i];
        bytes[to++] = old->bytes[i];
    }
    unknown->message = message;
    unknown->row = row;
    unknown->bytes = bytes;
    return unknown;
}

const pt_profile *pt_frames_apply(const pt_profile *profile, const pt_frames_edit *edit,
                                  pt_diag *diag)
{
    pt_profile_tables tables = {0};
    PT_FREE uint32_t *new_stack = NULL;
    if (edit->line_stays != NULL) {
        tables.line = edit_lines(profile->line, edit->line_stays);
        tables.location = edit_locations(profile->location, edit->line_stays);
    }
    if (edit->edit_stack != NULL) {
        new_stack = pt_alloc(profile->stack->t.count, sizeof *new_stack);
        tables.stack = edit_stacks(profile, edit, new_stack);
    }
    tables.sample = edit_samples(profile->sample, edit, new_stack);
    if (edit->drops_arc != NULL && profile->arc->t.count > 0)
        tables.arc = edit_arcs(profile->arc, edit);
    const unsigned lost = 1u << PT_IN_SAMPLE | (edit->line_stays != NULL ? 1u << PT_IN_LINE : 0);
    tables.unknown = pt_unknowns_without(profile->unknown, lost, diag);
    return pt_profile_derive(profile, &tables);
}
