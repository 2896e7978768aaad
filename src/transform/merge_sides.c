/* merge_sides.c: sums the tables that are not stacks, by equal rows:
 *
 *   arc     caller and callee (locations of the result)     calls and costs are summed
 *   bin     range, mapping, event                           counts are summed
 *   block   address, mapping                                counts are summed
 *
 * Rows are collected in these tables, since sums change until the last profile, and are written to
 * the result at the end. A sum that reaches its limit is reported. */
#include "transform/merge_int.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t from, to;
    uint64_t calls;
} arc_row;

struct pt_merge_sides {
    PT_VECTOR(arc_row) arc;
    PT_VECTOR(int64_t) cost; /* for each event of the result the cost of arc 0, then of arc 1 ... */
    PT_VECTOR(pt_bin) bin;
    PT_VECTOR(pt_block) block;
    pt_index arc_index, bin_index, block_index;
    /* has_cost: a profile has arcs with costs; lacks_cost: a profile has arcs without costs. */
    bool has_cost, lacks_cost;
    double rate_hz; /* clock rate of the first profile's bins */
    bool rates_differ;
    uint64_t saturated;
};

static struct pt_merge_sides *sides_of(pt_merge *m)
{
    if (m->sides == NULL) {
        m->sides = pt_alloc(1, sizeof *m->sides);
        pt_index_init(&m->sides->arc_index);
        pt_index_init(&m->sides->bin_index);
        pt_index_init(&m->sides->block_index);
    }
    return m->sides;
}

void pt_merge_sides_free(struct pt_merge_sides *sides)
{
    if (sides == NULL) return;
    PT_FREE_ALL(sides->arc.items, sides->cost.items, sides->bin.items, sides->block.items);
    pt_index_done(&sides->arc_index);
    pt_index_done(&sides->bin_index);
    pt_index_done(&sides->block_index);
    free(sides);
}

static void count_into(struct pt_merge_sides *s, uint64_t *sum, uint64_t count)
{
    s->saturated += count > UINT64_MAX - *sum;
    *sum = pt_saturating_count(*sum, count);
}

/* ---- Arcs ---- */

static uint32_t arc_between(struct pt_merge_sides *s, uint32_t from, uint32_t to, uint32_t events)
{
    const uint64_t hash = pt_hash_u32_pair(from, to);
    const uint32_t known = PT_INDEX_FIND(&s->arc_index, hash, i,
                                         s->arc.items[i].from == from && s->arc.items[i].to == to);
    if (known != PT_NONE) return known;
    const uint32_t id = (uint32_t)s->arc.count;
    PT_PUSH(s->arc, (arc_row){.from = from, .to = to});
    PT_GROW(s->cost, s->arc.count * events);
    memset(s->cost.items + (size_t)id * events, 0, events * sizeof *s->cost.items);
    pt_index_add(&s->arc_index, hash, id);
    return id;
}

static void add_arcs(pt_merge_adding *a)
{
    const pt_arcs *const arcs = a->p->arc;
    if (arcs->t.count == 0) return;
    struct pt_merge_sides *const s = sides_of(a->merge);
    const uint32_t events = a->merge->event_count;
    bool has_cost = false;
    for (uint32_t e = 0; e < arcs->event_count; e++)
        has_cost |= arcs->cost[e] != NULL;
    *(has_cost ? &s->has_cost : &s->lacks_cost) = true;
    for (uint32_t i = 0; i < arcs->t.count; i++) {
        const uint32_t id = arc_between(s, pt_merge_location(a, arcs->from[i]),
                                        pt_merge_location(a, arcs->to[i]), events);
        count_into(s, &s->arc.items[id].calls, arcs->calls[i]);
        for (uint32_t e = 0; e < events; e++) {
            const uint32_t own = a->event[e];
            if (own != PT_NONE && arcs->cost[own] != NULL)
                s->saturated +=
                    pt_saturating_into(&s->cost.items[(size_t)id * events + e], arcs->cost[own][i]);
        }
    }
}

/* ---- bins and blocks: their addresses move with the image ---- */

static uint64_t shift_of(const pt_merge_adding *a, uint32_t mapping, uint32_t merged)
{
    if (mapping == PT_NONE || merged == PT_NONE) return 0;
    return pt_builder_mapping_at(a->b, (pt_mapping_id){merged})->start -
           a->p->mapping->row[mapping].start;
}

static void add_bin(struct pt_merge_sides *s, const pt_bin *bin)
{
    const uint64_t hash =
        pt_hash_mix(pt_hash_mix(bin->low, bin->high), pt_hash_u32_pair(bin->mapping, bin->event));
    PT_INDEX_EACH (&s->bin_index, hash, i) {
        pt_bin *const known = &s->bin.items[i];
        if (known->low != bin->low || known->high != bin->high || known->mapping != bin->mapping ||
            known->event != bin->event)
            continue;
        count_into(s, &known->count, bin->count);
        if (known->scale < bin->scale || known->scale > bin->scale) known->scale = 0;
        return;
    }
    PT_INDEX_PUSH(&s->bin_index, hash, s->bin, *bin);
}

static void add_bins(pt_merge_adding *a)
{
    const pt_bins *const bins = a->p->bin;
    if (bins->t.count == 0) return;
    struct pt_merge_sides *const s = sides_of(a->merge);
    const double rate_hz = a->p->event->row[bins->row[0].event].rate_hz;
    if (s->bin.count == 0) s->rate_hz = rate_hz;
    s->rates_differ |= rate_hz < s->rate_hz || rate_hz > s->rate_hz;
    for (uint32_t i = 0; i < bins->t.count; i++) {
        pt_bin bin = bins->row[i];
        uint32_t event = 0;
        while (event < a->merge->event_count && a->event[event] != bin.event)
            event++;
        if (event == a->merge->event_count) continue; /* the event was dropped, which is reported */
        const uint32_t mapping = pt_merge_mapping(a, bin.mapping);
        const uint64_t shift = shift_of(a, bin.mapping, mapping);
        bin.low += shift;
        bin.high += shift;
        bin.mapping = mapping;
        bin.event = event;
        add_bin(s, &bin);
    }
}

static void add_block(struct pt_merge_sides *s, const pt_block *block)
{
    const uint64_t hash = pt_hash_mix(block->address, block->mapping);
    PT_INDEX_EACH (&s->block_index, hash, i) {
        pt_block *const known = &s->block.items[i];
        if (known->address != block->address || known->mapping != block->mapping) continue;
        count_into(s, &known->count, block->count);
        return;
    }
    PT_INDEX_PUSH(&s->block_index, hash, s->block, *block);
}

static void add_blocks(pt_merge_adding *a)
{
    const pt_blocks *const blocks = a->p->block;
    for (uint32_t i = 0; i < blocks->t.count; i++) {
        pt_block block = blocks->row[i];
        const uint32_t mapping = pt_merge_mapping(a, block.mapping);
        block.address += shift_of(a, block.mapping, mapping);
        block.mapping = mapping;
        add_block(sides_of(a->merge), &block);
    }
}

void pt_merge_sides_add(pt_merge_adding *a)
{
    if (a->merge->pprof) return; /* pprof's files and reports have no such tables */
    if (a->merge->samples_only) {
        a->merge->sides_dropped += (uint64_t)a->p->arc->t.count + a->p->bin->t.count;
        a->merge->sides_dropped += a->p->block->t.count;
        return;
    }
    add_arcs(a);
    add_bins(a);
    add_blocks(a);
}

/* ---- The end ---- */

PT_ORDER(by_range, pt_bin, PT_UP(event) ?: PT_UP(mapping) ?: PT_UP(low) ?: PT_UP(high));

/* True if some bins overlap. Histograms with different layouts share parts of the text, and no bin
 * is the sum of both. */
static bool some_overlap(const struct pt_merge_sides *s)
{
    const size_t count = s->bin.count;
    if (count == 0) return false;
    PT_FREE pt_bin *sorted = pt_alloc(count, sizeof *sorted);
    memcpy(sorted, s->bin.items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_range);
    const pt_bin *last = &sorted[0];
    for (size_t i = 1; i < count; i++) {
        const pt_bin *const bin = &sorted[i];
        if (bin->low == bin->high) continue;
        if (bin->event == last->event && bin->mapping == last->mapping && bin->low < last->high)
            return true;
        last = bin;
    }
    return false;
}

static void put_bins(const struct pt_merge_sides *s, pt_builder *b, pt_diag *diag)
{
    const char *const why = s->rates_differ   ? "the clocks behind them differ"
                            : some_overlap(s) ? "their ranges overlap"
                                              : NULL;
    if (why != NULL)
        pt_diag_add(diag, s->bin.count, "histogram bins left out, since %s; samples are kept", why);
    for (size_t i = 0; why == NULL && i < s->bin.count; i++)
        pt_builder_bin(b, &s->bin.items[i]);
}

void pt_merge_sides_finish(pt_merge *m)
{
    const struct pt_merge_sides *const s = m->sides;
    if (s == NULL) return;
    const bool with_cost = s->has_cost && !s->lacks_cost;
    if (s->has_cost && s->lacks_cost)
        pt_diag_add(m->diag, 1,
                    "inclusive costs of calls left out, since not every profile has them");
    for (size_t i = 0; i < s->arc.count; i++) {
        const arc_row *const arc = &s->arc.items[i];
        pt_builder_arc(m->builder, (pt_location_id){arc->from}, (pt_location_id){arc->to},
                       arc->calls, with_cost ? &s->cost.items[i * m->event_count] : NULL);
    }
    put_bins(s, m->builder, m->diag);
    for (size_t i = 0; i < s->block.count; i++)
        pt_builder_block(m->builder, &s->block.items[i]);
    pt_diag_add(m->diag, s->saturated, "sums of calls or counts held at their limit");
}
