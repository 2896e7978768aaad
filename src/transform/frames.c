/* frames.c: new lines, locations, stacks and samples where an edit asks for them; all else is
 * shared with the old profile. */
#include "transform/frames.h"

#include <stdlib.h>
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

static void *copy(const void *column, uint32_t count, size_t item_size)
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
    locations->mapping = copy(old->mapping, count, sizeof *old->mapping);
    locations->address = copy(old->address, count, sizeof *old->address);
    locations->line_first = first;
    locations->flags = copy(old->flags, count, sizeof *old->flags);
    locations->symbol_bytes = copy(old->symbol_bytes, count, sizeof *old->symbol_bytes);
    locations->source_id = copy(old->source_id, count, sizeof *old->source_id);
    return locations;
}

/* ---- Stacks ---- */

typedef struct {
    uint64_t *offset;
    uint32_t *frame;
    uint8_t *end;
    size_t offset_cap, frame_cap, end_cap;
    uint32_t count;
    pt_index index;
} interned;

/* Interns the depth frames that were written at the end of the frame column. */
static uint32_t intern_stack(interned *n, uint32_t depth, uint8_t end)
{
    const uint64_t at = n->offset[n->count];
    const uint64_t hash = pt_hash_mix(pt_hash_bytes(n->frame + at, depth * sizeof *n->frame), end);
    pt_probe probe = {0};
    for (uint32_t id = pt_index_first(&n->index, hash, &probe); id != PT_NONE;
         id = pt_index_next(&n->index, &probe)) {
        if (n->end[id] == end && n->offset[id + 1] - n->offset[id] == depth &&
            memcmp(n->frame + n->offset[id], n->frame + at, depth * sizeof *n->frame) == 0)
            return id;
    }
    const uint32_t id = n->count++;
    n->offset = pt_grow(n->offset, &n->offset_cap, (size_t)n->count + 1, sizeof *n->offset);
    n->end = pt_grow(n->end, &n->end_cap, n->count, sizeof *n->end);
    n->offset[n->count] = at + depth;
    n->end[id] = end;
    pt_index_add(&n->index, hash, id);
    return id;
}

/* Returns the new stacks; new_stack[old] is where each went. */
static pt_stacks *edit_stacks(const pt_profile *profile, const pt_frames_edit *edit,
                              uint32_t *new_stack)
{
    const pt_stacks *old = profile->stack;
    interned n = {0};
    n.offset = pt_grow(NULL, &n.offset_cap, 1, sizeof *n.offset);
    n.offset[0] = 0;
    pt_index_init(&n.index);
    for (uint32_t s = 0; s < old->t.count; s++) {
        new_stack[s] = PT_NONE;
        if (edit->stack_dropped != NULL && edit->stack_dropped[s]) continue;
        const uint64_t at = n.offset[n.count];
        n.frame =
            pt_grow(n.frame, &n.frame_cap, at + pt_stack_depth(profile, s) + 1, sizeof *n.frame);
        const uint32_t depth = edit->edit_stack(edit->context, s, n.frame + at);
        new_stack[s] = intern_stack(&n, depth, old->end[s]);
    }
    pt_index_done(&n.index);
    pt_stacks *stacks = pt_table_new(sizeof *stacks, n.count);
    stacks->offset = n.offset;
    stacks->frame = n.frame != NULL ? n.frame : pt_alloc(1, sizeof *n.frame);
    stacks->end = n.end != NULL ? n.end : pt_alloc(1, sizeof *n.end);
    return stacks;
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

/* The samples of stacks that are not dropped; new_stack may be NULL: stacks are as they were. */
static pt_samples *edit_samples(const pt_samples *old, const bool *dropped,
                                const uint32_t *new_stack)
{
    PT_FREE uint32_t *row = pt_alloc(old->t.count, sizeof *row);
    uint32_t count = 0;
    for (uint32_t i = 0; i < old->t.count; i++)
        if (dropped == NULL || !dropped[old->stack[i]]) row[count++] = i;
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
    uint32_t *stack = (uint32_t *)samples->stack;
    for (uint32_t i = 0; new_stack != NULL && i < count; i++)
        stack[i] = new_stack[stack[i]];
    return samples;
}

/* ---- Unknown fields: those of rows that were renumbered are lost ---- */

static bool is_lost(const pt_unknowns *unknown, uint32_t i, const pt_frames_edit *edit)
{
    return unknown->message[i] == PT_IN_SAMPLE ||
           (unknown->message[i] == PT_IN_LINE && edit->line_stays != NULL);
}

static pt_unknowns *edit_unknowns(const pt_unknowns *old, const pt_frames_edit *edit, pt_diag *diag)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; i < old->t.count; i++)
        lost += is_lost(old, i, edit);
    if (lost == 0) return NULL;
    pt_diag_add(diag, lost, "unknown fields dropped by filtering");
    pt_unknowns *unknown = pt_table_new(sizeof *unknown, old->t.count - lost);
    uint8_t *message = pt_alloc(old->t.count - lost, sizeof *message);
    uint32_t *row = pt_alloc(old->t.count - lost, sizeof *row);
    uint32_t *bytes = pt_alloc(old->t.count - lost, sizeof *bytes);
    for (uint32_t i = 0, to = 0; i < old->t.count; i++) {
        if (is_lost(old, i, edit)) continue;
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
    tables.sample = edit_samples(profile->sample, edit->stack_dropped, new_stack);
    tables.unknown = edit_unknowns(profile->unknown, edit, diag);
    return pt_profile_derive(profile, &tables);
}
