/* arcs.c: adds up the values of the profiles by symbol, and lists the arcs of each symbol. */
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "personality/gprof/gprof_int.h"

uint32_t pt_gprof_find_arc(const pt_gprof *g, uint32_t from, uint32_t to)
{
    return PT_INDEX_FIND(&g->arc_index, pt_hash_u32_pair(from, to), i,
                         g->arc.items[i].from == from && g->arc.items[i].to == to);
}

void pt_gprof_add_arc(pt_gprof *g, uint32_t from, uint32_t to, uint64_t calls)
{
    const uint32_t known = pt_gprof_find_arc(g, from, to);
    if (known != PT_NONE) {
        pt_gprof_arc *const arc = &g->arc.items[known];
        if (__builtin_add_overflow(arc->calls, calls, &arc->calls)) arc->calls = UINT64_MAX;
        return;
    }
    PT_INDEX_PUSH(&g->arc_index, pt_hash_u32_pair(from, to), g->arc,
                  (pt_gprof_arc){.from = from, .to = to, .calls = calls});
}

uint32_t pt_gprof_function_of(const pt_gprof *g, uint32_t symbol)
{
    while (symbol != PT_NONE && !g->symbol.items[symbol].is_function)
        symbol = symbol > 0 ? symbol - 1 : PT_NONE;
    return symbol;
}

/* The linked address of a location. */
static uint64_t linked_address(const pt_profile *p, uint32_t location)
{
    const uint32_t mapping = p->location->mapping[location];
    uint64_t addr = p->location->address[location];
    if (mapping != PT_NONE && (p->mapping->row[mapping].flags & PT_MAPPING_HAS_BIAS) != 0)
        addr -= p->mapping->row[mapping].bias;
    return addr;
}

static void add_arcs(pt_gprof *g, const pt_profile *p)
{
    const pt_arcs *const a = p->arc;
    for (uint32_t i = 0; i < a->t.count; i++) {
        const uint32_t from = pt_gprof_find(g, linked_address(p, a->from[i]));
        const uint32_t to = pt_gprof_function_of(g, pt_gprof_find(g, linked_address(p, a->to[i])));
        if (from == PT_NONE || to == PT_NONE) {
            g->lost_arcs++;
            continue;
        }
        if (!pt_gprof_wants_arc(g, from, to)) continue;
        uint64_t *const calls = &g->symbol.items[to].calls;
        if (__builtin_add_overflow(*calls, a->calls[i], calls)) *calls = UINT64_MAX;
        pt_gprof_add_arc(g, from, to, a->calls[i]);
    }
}

static void add_bins(pt_gprof *g, const pt_profile *p, double scale)
{
    const pt_bins *const b = p->bin;
    PT_GROW(g->bin, g->bin.count + b->t.count);
    for (uint32_t i = 0; i < b->t.count; i++) {
        const pt_bin *const row = &b->row[i];
        if (row->count == 0) continue;
        g->bin.items[g->bin.count++] = (pt_gprof_bin){.low = row->low,
                                                      .high = row->high,
                                                      .count = scale * (double)row->count,
                                                      .scale = row->scale};
    }
}

/* Adds the block's calls to the block at its address. */
static void count_block(pt_gprof *g, const pt_gprof_block *b)
{
    const uint64_t hash = pt_hash_mix(b->addr, b->symbol);
    PT_INDEX_EACH (&g->block_index, hash, i) {
        pt_gprof_block *const known = &g->block.items[i];
        if (known->addr != b->addr) continue;
        if (__builtin_add_overflow(known->calls, b->calls, &known->calls))
            known->calls = UINT64_MAX;
        return;
    }
    PT_INDEX_PUSH(&g->block_index, hash, g->block, *b);
}

static void add_blocks(pt_gprof *g, const pt_profile *p)
{
    const pt_blocks *const b = p->block;
    for (uint32_t i = 0; i < b->t.count; i++) {
        const uint32_t symbol = pt_gprof_find(g, b->row[i].address);
        if (symbol == PT_NONE) {
            g->lost_blocks++;
            continue;
        }
        count_block(g, &(pt_gprof_block){b->row[i].address, b->row[i].count, symbol});
    }
}

void pt_gprof_add(pt_gprof *g, const pt_profile *profile, double scale)
{
    g->has_bins |= profile->bin->t.count > 0;
    g->has_arcs |= profile->arc->t.count > 0;
    g->has_blocks |= profile->block->t.count > 0;
    add_bins(g, profile, scale);
    add_arcs(g, profile);
    add_blocks(g, profile);
}

/* ---- Lists ---- */

static uint64_t symbol_key(const void *context, uint32_t block)
{
    return ((const pt_gprof_block *)context)[block].symbol;
}

/* Sorts the blocks by symbol. */
static void list_blocks(pt_gprof *g)
{
    const size_t count = g->block.count;
    PT_FREE uint32_t *order = pt_alloc_numbers(count);
    pt_gprof_sort_by(order, count, symbol_key, g->block.items);
    pt_gprof_block *const listed = pt_alloc(count + 1, sizeof *listed);
    for (size_t i = 0; i < count; i++) {
        listed[i] = g->block.items[order[i]];
        pt_gprof_symbol *const s = &g->symbol.items[listed[i].symbol];
        if (s->block_count++ == 0) s->first_block = (uint32_t)i;
    }
    free(g->block.items);
    g->block.items = listed;
    g->block.cap = count + 1;
}

/* The arcs sorted by caller, or by callee; of the arcs of one caller (or callee) the latest comes
 * first. */
static uint32_t *list_by(pt_gprof *g, bool callee)
{
    pt_gprof_symbol *const s = g->symbol.items;
    const size_t count = g->arc.count;
    for (size_t i = 0; i < count; i++) {
        pt_gprof_symbol *const end = &s[callee ? g->arc.items[i].to : g->arc.items[i].from];
        (*(callee ? &end->in_count : &end->out_count))++;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < g->symbol.count; i++) {
        uint32_t *const first = callee ? &s[i].first_in : &s[i].first_out;
        uint32_t *const n = callee ? &s[i].in_count : &s[i].out_count;
        *first = at;
        at += *n;
        *n = 0;
    }
    uint32_t *const list = pt_alloc(count + 1, sizeof *list);
    for (size_t i = count; i-- > 0;) {
        pt_gprof_symbol *const end = &s[callee ? g->arc.items[i].to : g->arc.items[i].from];
        uint32_t *const n = callee ? &end->in_count : &end->out_count;
        list[(callee ? end->first_in : end->first_out) + (*n)++] = (uint32_t)i;
    }
    return list;
}

static void take_out_self_calls(pt_gprof *g)
{
    for (size_t i = 0; i < g->arc.count; i++) {
        const pt_gprof_arc *const arc = &g->arc.items[i];
        if (arc->from != arc->to) continue;
        g->symbol.items[arc->to].calls -= arc->calls;
        g->symbol.items[arc->to].self_calls = arc->calls;
    }
}

/* ---- Times ---- */

static void set_arc_kinds(pt_gprof *g)
{
    for (size_t i = 0; i < g->arc.count; i++) {
        pt_gprof_arc *const arc = &g->arc.items[i];
        const uint32_t cycle = g->symbol.items[arc->from].cycle;
        arc->kind = arc->from == arc->to                                    ? PT_GPROF_OF_ITSELF
                    : cycle != 0 && cycle == g->symbol.items[arc->to].cycle ? PT_GPROF_IN_CYCLE
                                                                            : PT_GPROF_BETWEEN;
    }
}

static void inherit_through(const pt_gprof *g, const pt_gprof_symbol *child, bool *is_shown,
                            double *fraction)
{
    /* An arc's share is its part of all calls of the function; if the function is in a cycle, its
     * part of all calls that enter the cycle. */
    const uint64_t calls = pt_gprof_head(g, child)->calls;
    for (uint32_t i = 0; i < child->in_count; i++) {
        const pt_gprof_arc *const arc = &g->arc.items[g->in[child->first_in + i]];
        const pt_gprof_symbol *const parent = &g->symbol.items[arc->from];
        if (arc->kind != PT_GPROF_BETWEEN) continue;
        *is_shown |= parent->is_shown;
        if (calls != 0) *fraction += parent->fraction * ((double)arc->calls / (double)calls);
    }
}

/* Sets is_shown and fraction of a function, or of all members of its cycle, from those of the
 * callers: a function is shown if one of its callers is shown, and the fraction is the part of the
 * function's time that shown callers have. */
static void inherit_time(pt_gprof *g, pt_gprof_symbol *child)
{
    bool is_shown = false;
    double fraction = 0;
    if (child->cycle == 0) {
        inherit_through(g, child, &is_shown, &fraction);
        child->is_shown = is_shown;
        child->fraction = fraction;
        return;
    }
    pt_gprof_symbol *const cycle = &g->symbol.items[g->symbol.count + child->cycle - 1];
    for (uint32_t i = 0; i < cycle->member_count; i++)
        inherit_through(g, &g->symbol.items[g->member[cycle->first_member + i]], &is_shown,
                        &fraction);
    cycle->is_shown = is_shown;
    cycle->fraction = fraction;
    for (uint32_t i = 0; i < cycle->member_count; i++) {
        pt_gprof_symbol *const m = &g->symbol.items[g->member[cycle->first_member + i]];
        m->is_shown = is_shown;
        m->fraction = fraction;
    }
}

static bool is_in(const pt_gprof_symbol *s, pt_gprof_table table)
{
    return (s->tables & 1u << table) != 0;
}

static void choose_for_graph(const pt_gprof *g, pt_gprof_symbol *s)
{
    if (!s->is_shown)
        s->is_shown = pt_gprof_wants(g, s, PT_GPROF_SHOW_GRAPH);
    else if (!is_in(s, PT_GPROF_SHOW_GRAPH) && is_in(s, PT_GPROF_HIDE_GRAPH))
        s->is_shown = false;
    if (s->fraction == 0)
        s->fraction = pt_gprof_wants(g, s, PT_GPROF_SHOW_TIME) ? 1 : 0;
    else if (!is_in(s, PT_GPROF_SHOW_TIME) && is_in(s, PT_GPROF_HIDE_TIME))
        s->fraction = 0;
}

/* Decides which symbols are shown, with which fraction of their time: first of callers, then of
 * their callees. */
static void choose_shown(pt_gprof *g, const uint32_t *bottom_up)
{
    uint32_t done_cycle = 0;
    for (size_t i = g->symbol.count; i-- > 0;) {
        pt_gprof_symbol *const s = &g->symbol.items[bottom_up[i]];
        if (s->cycle == 0 || s->cycle != done_cycle) inherit_time(g, s);
        done_cycle = s->cycle;
        choose_for_graph(g, s);
        s->shown_self = s->ticks * s->fraction;
        g->shown_ticks += s->shown_self;
    }
}

static void sum_cycles(pt_gprof *g)
{
    for (uint32_t c = 0; c < g->cycle_count; c++) {
        pt_gprof_symbol *const cycle = &g->symbol.items[g->symbol.count + c];
        for (uint32_t i = 0; i < cycle->member_count; i++) {
            const pt_gprof_symbol *const m = &g->symbol.items[g->member[cycle->first_member + i]];
            if (m->fraction != 0) cycle->ticks += m->ticks;
        }
        cycle->shown_self = cycle->fraction * cycle->ticks;
    }
}

static void gather_children(pt_gprof *g, pt_gprof_symbol *parent)
{
    pt_gprof_symbol *const cycle =
        parent->cycle > 0 ? &g->symbol.items[g->symbol.count + parent->cycle - 1] : NULL;
    for (uint32_t i = 0; i < parent->out_count; i++) {
        pt_gprof_arc *const arc = &g->arc.items[g->out[parent->first_out + i]];
        const pt_gprof_symbol *const callee = &g->symbol.items[arc->to];
        if (arc->calls == 0 || arc->kind != PT_GPROF_BETWEEN || callee->fraction == 0) continue;
        const pt_gprof_symbol *const child = pt_gprof_head(g, callee);
        if (child->calls == 0) continue;
        const double part = (double)arc->calls / (double)child->calls;
        arc->ticks = child->ticks * part;
        arc->child_ticks = child->child_ticks * part;
        const double share = arc->ticks + arc->child_ticks;
        const double shown = parent->fraction * share;
        parent->child_ticks += share;
        parent->shown_child += shown;
        arc->ticks *= parent->fraction;
        arc->child_ticks *= parent->fraction;
        if (cycle == NULL) continue;
        cycle->child_ticks += share;
        cycle->shown_child += shown;
    }
}

/* ---- Order ---- */

static uint64_t depth_key(const void *context, uint32_t symbol)
{
    return ((const pt_gprof_symbol *)context)[symbol].order;
}

static void number_symbols(pt_gprof *g)
{
    const uint32_t all = (uint32_t)g->symbol.count + g->cycle_count;
    g->by_total = pt_gprof_graph_order(g);
    for (uint32_t i = 0; i < all; i++)
        g->symbol.items[g->by_total[i]].number = i + 1;
}

void pt_gprof_assemble(pt_gprof *g)
{
    if (g->stack.count > 0) pt_gprof_count_stacks(g);
    pt_gprof_assign_ticks(g);
    list_blocks(g);
    if (!g->has_arcs) return;
    take_out_self_calls(g);
    if (g->options.static_calls) pt_gprof_add_static_calls(g);
    g->in = list_by(g, true);
    g->out = list_by(g, false);
    pt_gprof_find_cycles(g);
    set_arc_kinds(g);
    pt_gprof_count_cycles(g);
    PT_FREE uint32_t *bottom_up = pt_alloc_numbers(g->symbol.count);
    pt_gprof_sort_by(bottom_up, g->symbol.count, depth_key, g->symbol.items);
    choose_shown(g, bottom_up);
    sum_cycles(g);
    for (size_t i = 0; i < g->symbol.count; i++) {
        pt_gprof_symbol *const s = &g->symbol.items[bottom_up[i]];
        if (s->fraction != 0) gather_children(g, s);
    }
    number_symbols(g);
}
