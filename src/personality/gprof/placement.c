/* placement.c: an order of functions, or of object files, in which those that call each other
 * often come close together.
 *
 *   1. The functions with the most callers come first: at most 1/80 of the called functions.
 *      Callers are counted by the arcs with the most calls, which make up 90 % of all calls.
 *   2. Then arcs, those with the most calls first, tie functions to chains: caller and callee
 *      become neighbours if both are at a free end of their chains. Arcs that make up 99 % of all
 *      calls are treated first, the other arcs afterwards.
 *   3. Functions that were never called come last.
 *
 * Rule: GNU gprof 2.40, as it behaves.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "personality/gprof/gprof_int.h"

#define MANY_CALLS   0.90 /* share of all calls in the arcs that count as uses of a function */
#define MOST_CALLS   0.99 /* share of all calls in the arcs that are placed first */
#define GROUP_SHARE  80   /* the group has one of this many called functions */
#define GROUP_PASSES 5    /* the group ends at a function with this number of uses, as in gprof */

typedef PT_VECTOR(uint32_t) arc_list;

typedef struct {
    pt_gprof *g;
    uint32_t *next, *previous; /* in the chain, or PT_NONE */
    uint32_t *uses;
    bool *placed;     /* symbols */
    bool *arc_placed; /* arcs */
    const char **name;
    size_t name_count, name_cap;
} placement;

static void put_symbol(placement *p, uint32_t symbol)
{
    p->name = pt_grow(p->name, &p->name_cap, p->name_count + 1, sizeof *p->name);
    p->name[p->name_count++] = p->g->symbol.items[symbol].name;
}

static void add_arc(arc_list *list, uint32_t arc)
{
    PT_PUSH(*list, arc);
}

static int by_calls(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof_arc *const arc = context;
    return (arc[a].calls < arc[b].calls) - (arc[a].calls > arc[b].calls);
}

static void sort_arcs(const placement *p, arc_list *list)
{
    pt_gprof_sort(list->items, list->count, by_calls, p->g->arc.items);
}

static double total_calls(const placement *p, const arc_list *list)
{
    uint64_t total = 0;
    for (size_t i = 0; i < list->count; i++)
        total += p->g->arc.items[list->items[i]].calls;
    return (double)total;
}

/* ---- Chains ---- */

/* The end of the symbol's chain in one direction, and the distance to this end. */
static uint32_t end_of(const uint32_t *step, uint32_t symbol, size_t *ret_distance)
{
    size_t distance = 0;
    for (; step[symbol] != PT_NONE; symbol = step[symbol])
        distance++;
    *ret_distance = distance;
    return symbol;
}

static bool is_alone(const placement *p, uint32_t symbol)
{
    return p->next[symbol] == PT_NONE && p->previous[symbol] == PT_NONE;
}

/* The other end of a chain; `symbol` is one end. */
static uint32_t other_end(const placement *p, uint32_t symbol)
{
    size_t distance;
    return end_of(p->next[symbol] != PT_NONE ? p->next : p->previous, symbol, &distance);
}

/* Makes `second` follow `first`. Returns false if `first` has a successor already, or `second` a
 * predecessor. */
static bool tie_chains(placement *p, uint32_t first, uint32_t second)
{
    if (p->next[first] != PT_NONE || p->previous[second] != PT_NONE) return false;
    p->next[first] = second;
    p->previous[second] = first;
    return true;
}

/* If caller or callee is in no chain yet, puts that function next to the other, or at the nearer
 * end of the other's chain. Returns false if both are in chains, or if the chain would become a
 * ring. *ret_tied is true if the two were tied. */
static bool join_chains(placement *p, uint32_t parent, uint32_t child, bool *ret_tied)
{
    size_t after, before;
    *ret_tied = false;
    if (is_alone(p, parent)) {
        const uint32_t last = end_of(p->next, child, &after);
        const uint32_t first = end_of(p->previous, child, &before);
        child = after < before ? last : first;
    } else if (is_alone(p, child)) {
        const uint32_t last = end_of(p->next, parent, &after);
        const uint32_t first = end_of(p->previous, parent, &before);
        parent = before < after ? first : last;
    } else {
        return false;
    }
    if (other_end(p, parent) == child && other_end(p, child) == parent) return false;
    if (p->next[parent] != PT_NONE)
        *ret_tied = tie_chains(p, child, parent);
    else if (p->previous[parent] != PT_NONE || p->previous[child] == PT_NONE)
        *ret_tied = tie_chains(p, parent, child);
    else
        *ret_tied = tie_chains(p, child, parent);
    return true;
}

/* Ties the functions of the arcs in the list: of all arcs, or of the first arcs, which make up
 * MOST_CALLS. Arcs that are not tied go to `rest`. */
static void tie_arcs(placement *p, const arc_list *list, bool all, arc_list *rest)
{
    const double total = all ? 0 : total_calls(p, list);
    uint64_t calls = 0;
    for (size_t i = 0; i < list->count; i++) {
        const uint32_t id = list->items[i];
        const pt_gprof_arc *const arc = &p->g->arc.items[id];
        calls += arc->calls;
        if (p->arc_placed[id]) continue;
        const bool is_rare = !all && (double)calls / total > MOST_CALLS;
        bool tied = false;
        if (is_rare || p->placed[arc->to] || p->placed[arc->from] ||
            !join_chains(p, arc->from, arc->to, &tied))
            add_arc(rest, id);
        p->arc_placed[id] |= tied;
    }
}

static void put_chain(placement *p, uint32_t symbol)
{
    size_t distance;
    for (symbol = end_of(p->previous, symbol, &distance); symbol != PT_NONE;
         symbol = p->next[symbol]) {
        p->placed[symbol] = true;
        put_symbol(p, symbol);
    }
}

static void place_arcs(placement *p, const arc_list *list, bool all, arc_list *rest)
{
    tie_arcs(p, list, all, rest);
    for (unsigned pass = 0; pass < (all ? 2 : 1); pass++) {
        for (size_t i = 0; i < list->count; i++) {
            const pt_gprof_arc *const arc = &p->g->arc.items[list->items[i]];
            if (p->placed[arc->from] || p->placed[arc->to]) continue;
            if (pass == 0 && is_alone(p, arc->from)) continue;
            if (pass == 0) {
                put_chain(p, arc->from);
            } else { /* functions in no chain */
                p->placed[arc->from] = true;
                put_symbol(p, arc->from);
            }
        }
    }
}

/* ---- Functions with many callers ---- */

static int by_uses(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *const uses = context;
    return (uses[a] < uses[b]) - (uses[a] > uses[b]);
}

static void count_uses(placement *p, const arc_list *arcs)
{
    const double total = total_calls(p, arcs);
    uint64_t calls = 0;
    for (size_t i = 0; i < arcs->count; i++) {
        const pt_gprof_arc *const arc = &p->g->arc.items[arcs->items[i]];
        calls += arc->calls;
        if ((double)calls / total > MANY_CALLS) return;
        p->uses[arc->to]++;
    }
}

static void take_arcs(placement *p, const uint32_t *arcs, uint32_t count, arc_list *taken)
{
    for (uint32_t i = 0; i < count; i++) {
        const pt_gprof_arc *const arc = &p->g->arc.items[arcs[i]];
        if (arc->from != arc->to) add_arc(taken, arcs[i]);
        p->arc_placed[arcs[i]] = true;
    }
}

/* Places the functions with the most callers, and the arcs among them. */
static void place_group(placement *p, const arc_list *arcs, const uint32_t *used, size_t used_count,
                        arc_list *rest)
{
    count_uses(p, arcs);
    PT_FREE uint32_t *order = pt_alloc(used_count + 1, sizeof *order);
    memcpy(order, used, used_count * sizeof *order);
    pt_gprof_sort(order, used_count, by_uses, p->uses);
    arc_list touched = {0}, inner = {0};
    size_t last = 0;
    for (size_t i = 0; i < used_count / GROUP_SHARE && p->uses[order[i]] != GROUP_PASSES; i++) {
        const pt_gprof_symbol *const s = &p->g->symbol.items[order[i]];
        take_arcs(p, p->g->out + s->first_out, s->out_count, &touched);
        take_arcs(p, p->g->in + s->first_in, s->in_count, &touched);
        p->placed[order[i]] = true;
        last = i;
    }
    for (size_t i = 0; i < touched.count; i++) {
        const pt_gprof_arc *const arc = &p->g->arc.items[touched.items[i]];
        if (!p->placed[arc->to] || !p->placed[arc->from]) continue;
        add_arc(&inner, touched.items[i]);
        p->placed[arc->to] = p->placed[arc->from] = false;
    }
    for (size_t i = 0; i < last; i++)
        if (p->placed[order[i]]) put_symbol(p, order[i]);
    sort_arcs(p, &inner);
    place_arcs(p, &inner, true, rest);
    PT_FREE_ALL(touched.items, inner.items);
}

/* ---- Whole orders ---- */

static void place_functions(placement *p, arc_list *arcs)
{
    pt_gprof *const g = p->g;
    PT_FREE uint32_t *used = pt_alloc(g->symbol.count + 1, sizeof *used);
    size_t used_count = 0;
    for (uint32_t i = 0; i < g->symbol.count; i++) {
        p->placed[i] = g->symbol.items[i].calls == 0;
        if (!p->placed[i]) used[used_count++] = i;
    }
    sort_arcs(p, arcs);
    arc_list rest = {0}, nowhere = {0};
    place_group(p, arcs, used, used_count, &rest);
    place_arcs(p, arcs, false, &rest);
    place_arcs(p, &rest, true, &nowhere);
    for (size_t i = 0; i < used_count; i++)
        if (!p->placed[used[i]]) put_symbol(p, used[i]);
    for (uint32_t i = 0; i < g->symbol.count; i++)
        if (g->symbol.items[i].calls == 0) put_symbol(p, i);
    PT_FREE_ALL(rest.items, nowhere.items);
}

/* Puts the object files without a function among the symbols, by name. */
static void put_other_files(placement *p)
{
    const pt_gprof_options *const o = &p->g->options;
    PT_FREE const char **files = pt_alloc(o->mapped_count + 1, sizeof *files);
    PT_FREE const char **known = pt_alloc(p->g->symbol.count + 1, sizeof *known);
    size_t known_count = 0;
    for (size_t i = 0; i < o->mapped_count; i++)
        files[i] = o->mapped[i].file;
    for (size_t i = 0; i < p->g->symbol.count; i++)
        if (p->g->symbol.items[i].is_mapped) known[known_count++] = p->g->symbol.items[i].name;
    qsort(files, o->mapped_count, sizeof *files, pt_compare_texts);
    qsort(known, known_count, sizeof *known, pt_compare_texts);
    for (size_t i = 0; i < o->mapped_count; i++) {
        if (i > 0 && strcmp(files[i], files[i - 1]) == 0) continue;
        if (bsearch(&files[i], known, known_count, sizeof *known, pt_compare_texts) != NULL)
            continue;
        p->name = pt_grow(p->name, &p->name_cap, p->name_count + 1, sizeof *p->name);
        p->name[p->name_count++] = files[i];
    }
}

static void place_files(placement *p, const arc_list *arcs)
{
    pt_gprof *const g = p->g;
    for (size_t i = 0; i < arcs->count; i++) {
        const pt_gprof_arc *const arc = &g->arc.items[arcs->items[i]];
        if (!g->symbol.items[arc->from].is_mapped || !g->symbol.items[arc->to].is_mapped)
            p->arc_placed[arcs->items[i]] = true;
    }
    arc_list rest = {0};
    place_arcs(p, arcs, false, &rest);
    for (uint32_t i = 0; i < g->symbol.count; i++)
        if (g->symbol.items[i].is_mapped && !p->placed[i]) put_symbol(p, i);
    put_other_files(p);
    free(rest.items);
}

const char **pt_gprof_placement(pt_gprof *g, bool by_file, size_t *ret_count)
{
    const size_t n = g->symbol.count;
    PT_FREE uint32_t *memory = pt_alloc(3 * (n + 1), sizeof *memory);
    PT_FREE bool *placed = pt_alloc(n + 1, sizeof *placed);
    PT_FREE bool *arc_placed = pt_alloc(g->arc.count + 1, sizeof *arc_placed);
    placement p = {.g = g,
                   .next = memory,
                   .previous = memory + n + 1,
                   .uses = memory + 2 * (n + 1),
                   .placed = placed,
                   .arc_placed = arc_placed};
    memset(memory, 0xff, 2 * (n + 1) * sizeof *memory); /* PT_NONE */
    arc_list arcs = {0};
    for (uint32_t i = 0; i < g->arc.count; i++)
        if (g->arc.items[i].from != g->arc.items[i].to) add_arc(&arcs, i);
    if (by_file)
        place_files(&p, &arcs);
    else
        place_functions(&p, &arcs);
    free(arcs.items);
    *ret_count = p.name_count;
    return p.name;
}
