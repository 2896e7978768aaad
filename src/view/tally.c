/* tally.c: one pass over the distinct stacks, for the locations that have cells. */
#include "view/tally.h"

#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

void pt_tally_init(pt_tally *ret_tally, const pt_profile *profile, const pt_fold *fold)
{
    const size_t lines = profile->line->t.count, locations = profile->location->t.count;
    *ret_tally = (pt_tally){
        .profile = profile,
        .fold = fold,
        .cell_of_line = pt_alloc(lines + 1, sizeof *ret_tally->cell_of_line),
        .cell_of_location = pt_alloc(locations + 1, sizeof *ret_tally->cell_of_location),
        .is_counted = pt_alloc(locations + 1, sizeof *ret_tally->is_counted),
    };
    memset(ret_tally->cell_of_line, 0xff, lines * sizeof *ret_tally->cell_of_line);
    memset(ret_tally->cell_of_location, 0xff, locations * sizeof *ret_tally->cell_of_location);
}

void pt_tally_done(pt_tally *t)
{
    PT_FREE_ALL(t->groups.items, t->cells.items, t->calls.items);
    pt_index_done(&t->cell_index);
    pt_index_done(&t->call_index);
    PT_FREE_ALL(t->cell_of_line, t->cell_of_location, t->is_counted);
    *t = (pt_tally){0};
}

/* ---- Cells ---- */

uint32_t pt_tally_add_group(pt_tally *t)
{
    PT_PUSH(t->groups, (pt_tally_group){0});
    return (uint32_t)t->groups.count - 1;
}

static uint32_t cell_of(pt_tally *t, uint32_t group, uint64_t key)
{
    const uint64_t hash = pt_hash_mix(group, key);
    const uint32_t known =
        PT_INDEX_FIND(&t->cell_index, hash, id,
                      t->cells.items[id].group == group && t->cells.items[id].key == key);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&t->cell_index, hash, t->cells,
                         (pt_tally_cell){.group = group, .key = key});
}

void pt_tally_put_location(pt_tally *t, uint32_t location, uint32_t group, uint64_t key)
{
    t->cell_of_location[location] = cell_of(t, group, key);
    t->is_counted[location] = true;
}

void pt_tally_put_line(pt_tally *t, uint32_t location, uint32_t line, uint32_t group, uint64_t key)
{
    t->cell_of_line[line] = cell_of(t, group, key);
    t->is_counted[location] = true;
}

/* ---- Counting ---- */

static void count_cell(pt_tally *t, uint32_t in_cell, bool is_leaf, uint32_t mark, int64_t value)
{
    pt_tally_cell *c = &t->cells.items[in_cell];
    pt_tally_group *g = &t->groups.items[c->group];
    if (is_leaf) {
        pt_saturating_into(&c->self, value);
        pt_saturating_into(&g->self, value);
    }
    if (c->seen != mark) pt_saturating_into(&c->total, value);
    if (g->seen != mark) pt_saturating_into(&g->total, value);
    c->seen = g->seen = mark;
}

static void count_call(pt_tally *t, uint32_t in_cell, uint32_t callee, bool inlined, uint32_t mark,
                       int64_t value)
{
    const uint64_t hash = pt_hash_mix((uint64_t)callee << 1 | inlined, in_cell);
    uint32_t known =
        PT_INDEX_FIND(&t->call_index, hash, id,
                      t->calls.items[id].cell == in_cell && t->calls.items[id].callee == callee &&
                          t->calls.items[id].inlined == inlined);
    if (known == PT_NONE)
        known =
            PT_INDEX_PUSH(&t->call_index, hash, t->calls,
                          (pt_tally_call){.cell = in_cell, .callee = callee, .inlined = inlined});
    pt_tally_call *call = &t->calls.items[known];
    if (call->seen != mark) pt_saturating_into(&call->value, value);
    call->seen = mark;
}

/* Counts the callee of line i of the frame (0 = the innermost): the function that is inlined there,
 * or the outermost function of the frame that the location calls. */
static void count_callee(pt_tally *t, uint32_t in_cell, const uint32_t *frames, uint64_t at,
                         uint32_t i, uint32_t mark, int64_t value)
{
    uint32_t one, count;
    if (i > 0) {
        const uint32_t *rows = pt_fold_rows(t->fold, frames[at], &one, &count);
        count_call(t, in_cell, rows[i - 1], true, mark, value);
    } else if (at > 0) {
        const uint32_t *rows = pt_fold_rows(t->fold, frames[at - 1], &one, &count);
        count_call(t, in_cell, rows[count - 1], false, mark, value);
    }
}

static void count_frame(pt_tally *t, const uint32_t *frames, uint64_t at, uint32_t mark,
                        int64_t value)
{
    const uint32_t *line_first = t->profile->location->line_first;
    const uint32_t first = line_first[frames[at]];
    const uint32_t whole = t->cell_of_location[frames[at]];
    const uint32_t count = whole != PT_NONE ? 1 : line_first[frames[at] + 1] - first;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t in_cell = whole != PT_NONE ? whole : t->cell_of_line[first + i];
        if (in_cell == PT_NONE) continue;
        count_cell(t, in_cell, at == 0 && i == 0, mark, value);
        if (t->fold != NULL) count_callee(t, in_cell, frames, at, i, mark, value);
    }
}

void pt_tally_count(pt_tally *t, const int64_t *value)
{
    const pt_stacks *stacks = t->profile->stack;
    for (uint32_t s = 0; s < stacks->t.count; s++) {
        if (value[s] == 0) continue;
        const uint32_t *frames = stacks->frame + stacks->offset[s];
        const uint64_t depth = stacks->offset[s + 1] - stacks->offset[s];
        for (uint64_t i = 0; i < depth; i++)
            if (t->is_counted[frames[i]]) count_frame(t, frames, i, s + 1, value[s]);
    }
}

/* ---- Order ---- */

PT_ORDER(by_group_and_key, pt_tally_cell, PT_UP(group) ?: PT_UP(key));

PT_ORDER(by_cell_and_value, pt_tally_call, PT_UP(cell) ?: pt_compare_magnitudes(a->value, b->value)
         ?: PT_UP(callee) ?: PT_UP(inlined));

void pt_tally_sort(pt_tally *t)
{
    PT_FREE uint32_t *moved_to = pt_alloc(t->cells.count + 1, sizeof *moved_to);
    for (size_t i = 0; i < t->cells.count; i++)
        t->cells.items[i].seen = (uint32_t)i; /* the cell's index before the sort */
    PT_SORT(t->cells, by_group_and_key);
    for (size_t i = 0; i < t->cells.count; i++) {
        pt_tally_group *g = &t->groups.items[t->cells.items[i].group];
        moved_to[t->cells.items[i].seen] = (uint32_t)i;
        if (g->cell_count++ == 0) g->cell_first = i;
    }
    for (size_t i = 0; i < t->calls.count; i++)
        t->calls.items[i].cell = moved_to[t->calls.items[i].cell];
    PT_SORT(t->calls, by_cell_and_value);
    for (size_t i = 0; i < t->calls.count; i++) {
        pt_tally_cell *c = &t->cells.items[t->calls.items[i].cell];
        if (c->call_count++ == 0) c->call_first = i;
    }
}
