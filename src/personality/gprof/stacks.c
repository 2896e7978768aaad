/* stacks.c: times from whole stacks, which gprof can only guess.
 *
 * A sample counts once for each function on its stack, and once for each arc (a caller and a callee
 * that follow each other on the stack). Frames in other files are left out: a function that libc's
 * qsort calls back counts as called by the caller of qsort.
 *
 * Without a gmon.out, stacks also give the ticks (of the innermost function) and the calls: an arc
 * has as many calls as samples contain it. These numbers are not real calls, but they divide times
 * among callers as the times were spent.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "personality/gprof/gprof_int.h"

#define NOT_ASKED (PT_NONE - 1) /* the location's symbol was not searched yet */

/* ---- Frames to symbols ---- */

typedef struct {
    const pt_gprof *g;
    const pt_profile *p;
    pt_gprof_text text;
    bool *is_ours;    /* [mapping]: the program's own file */
    uint32_t *symbol; /* [location] */
} reading;

/* Finds the program's own mappings: by build id if program and mapping have one, else by base name.
 * A mapping without a name may be the program's. */
static void find_own_mappings(reading *r)
{
    char id[2 * 64 + 1];
    pt_elf_id_hex(pt_elf_build_id(pt_object_elf(r->g->object)), id, sizeof id);
    const char *const name = pt_base_name(r->g->options.image != NULL ? r->g->options.image : "");
    for (uint32_t i = 0; i < r->p->mapping->t.count; i++) {
        const pt_mapping *const m = &r->p->mapping->row[i];
        const char *const file = pt_text(r->p, m->file), *const its = pt_text(r->p, m->build_id);
        r->is_ours[i] = id[0] != '\0' && its[0] != '\0'
                            ? strcmp(id, its) == 0
                            : file[0] == '\0' || strcmp(pt_base_name(file), name) == 0;
    }
}

static uint32_t by_address(const reading *r, uint32_t location, const pt_mapping *map)
{
    const bool is_return = (r->p->location->flags[location] & PT_LOCATION_RETURN_ADDR) != 0;
    const uint64_t pc = r->p->location->address[location] - is_return;
    uint64_t addr;
    if (!pt_elf_addr_of_mapped(pt_object_elf(r->g->object), map->start, map->limit,
                               map->file_offset, pc, &addr) ||
        addr - r->text.addr >= r->text.size_bytes)
        return PT_NONE;
    return pt_gprof_find(r->g, addr);
}

/* The symbol of the location's outermost function, by its name; PT_NONE if there is none. */
static uint32_t by_name(const reading *r, uint32_t location)
{
    const pt_profile *const p = r->p;
    const uint32_t end = p->location->line_first[location + 1];
    if (end == p->location->line_first[location]) return PT_NONE;
    const uint32_t function = p->line->function[end - 1];
    if (function == PT_NONE) return PT_NONE;
    const char *const linked = pt_text(p, p->function->system_name[function]);
    return pt_gprof_named(r->g,
                          linked[0] != '\0' ? linked : pt_text(p, p->function->name[function]));
}

static uint32_t symbol_of(reading *r, uint32_t location)
{
    uint32_t *const known = &r->symbol[location];
    if (*known != NOT_ASKED) return *known;
    const uint32_t mapping = r->p->location->mapping[location];
    const pt_mapping anywhere = {0};
    *known = PT_NONE;
    if (mapping != PT_NONE && !r->is_ours[mapping]) return PT_NONE;
    if (mapping != PT_NONE || r->p->location->address[location] != 0)
        *known =
            by_address(r, location, mapping != PT_NONE ? &r->p->mapping->row[mapping] : &anywhere);
    if (*known == PT_NONE) *known = by_name(r, location);
    return *known;
}

static void add_stack(pt_gprof *g, reading *r, uint32_t stack, double ticks)
{
    const uint32_t depth = pt_stack_depth(r->p, stack);
    const uint32_t *const frames = pt_stack_frames(r->p, stack);
    pt_gprof_stack added = {.first = g->frame.count, .ticks = ticks};
    PT_GROW(g->frame, g->frame.count + depth);
    for (uint32_t i = 0; i < depth; i++) {
        const uint32_t symbol = symbol_of(r, frames[i]);
        added.has_leaf |= i == 0 && symbol != PT_NONE;
        if (symbol != PT_NONE) g->frame.items[g->frame.count++] = symbol;
    }
    added.count = (uint32_t)(g->frame.count - added.first);
    PT_PUSH(g->stack, added);
}

bool pt_gprof_add_stacks(pt_gprof *g, const pt_profile *p, uint32_t event, double scale)
{
    PT_FREE bool *is_ours = pt_alloc((size_t)p->mapping->t.count + 1, sizeof *is_ours);
    PT_FREE uint32_t *symbol = pt_alloc((size_t)p->location->t.count + 1, sizeof *symbol);
    PT_FREE double *ticks = pt_alloc((size_t)p->stack->t.count + 1, sizeof *ticks);
    reading r = {.g = g, .p = p, .is_ours = is_ours, .symbol = symbol};
    if (!pt_gprof_find_text(g, &r.text)) return false;
    find_own_mappings(&r);
    for (uint32_t i = 0; i < p->location->t.count; i++)
        symbol[i] = NOT_ASKED;
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        ticks[p->sample->stack[i]] += scale * (double)p->sample->value[event][i];
    const size_t before = g->frame.count;
    for (uint32_t i = 0; i < p->stack->t.count; i++)
        if (ticks[i] > 0) add_stack(g, &r, i, ticks[i]);
    return g->frame.count > before;
}

/* ---- Counting ---- */

static uint64_t whole_ticks(double ticks)
{
    return ticks < 1 ? 1 : ticks < 0x1p63 ? (uint64_t)llround(ticks) : (uint64_t)1 << 63;
}

/* Makes an arc for each caller and callee on a stack. */
static void lay_arcs(pt_gprof *g)
{
    for (size_t k = 0; k < g->stack.count; k++) {
        const pt_gprof_stack *const s = &g->stack.items[k];
        const uint32_t *const frames = g->frame.items + s->first;
        for (uint32_t i = 0; i + 1 < s->count; i++) {
            const uint32_t to = pt_gprof_function_of(g, frames[i]);
            if (to != PT_NONE && pt_gprof_wants_arc(g, frames[i + 1], to))
                pt_gprof_add_arc(g, frames[i + 1], to, 0);
        }
    }
    g->has_arcs = g->arc.count > 0;
}

static void count_leaf(pt_gprof *g, const pt_gprof_stack *s)
{
    g->ticks += s->ticks;
    if (s->has_leaf)
        pt_gprof_give(g, &g->symbol.items[g->frame.items[s->first]], s->ticks);
    else
        g->lost_ticks += whole_ticks(s->ticks);
}

static void count_arcs(pt_gprof *g, const pt_gprof_stack *s, size_t *seen, size_t stamp)
{
    for (uint32_t i = 0; i + 1 < s->count; i++) {
        /* The arc from frame i + 1 to frame i, or PT_NONE. */
        const uint32_t *const frames = g->frame.items + s->first;
        const uint32_t arc =
            pt_gprof_find_arc(g, frames[i + 1], pt_gprof_function_of(g, frames[i]));
        if (arc == PT_NONE || seen[arc] == stamp) continue;
        seen[arc] = stamp;
        pt_gprof_arc *const a = &g->arc.items[arc];
        a->true_ticks += s->ticks;
        if (!g->is_sampled) continue;
        a->calls += whole_ticks(s->ticks);
        g->symbol.items[a->to].calls += whole_ticks(s->ticks);
    }
}

static void count_symbol(pt_gprof *g, uint32_t symbol, double ticks, size_t *seen, size_t stamp)
{
    if (symbol == PT_NONE || seen[symbol] == stamp) return;
    seen[symbol] = stamp;
    g->symbol.items[symbol].true_ticks += ticks;
}

void pt_gprof_count_stacks(pt_gprof *g)
{
    g->is_sampled = !g->has_bins && !g->has_arcs;
    if (g->is_sampled) lay_arcs(g);
    PT_FREE size_t *seen_arc = pt_alloc(g->arc.count + 1, sizeof *seen_arc);
    PT_FREE size_t *seen = pt_alloc(g->symbol.count + 1, sizeof *seen);
    for (size_t k = 0; k < g->stack.count; k++) {
        const pt_gprof_stack *const s = &g->stack.items[k];
        g->true_ticks += s->ticks;
        if (g->is_sampled) count_leaf(g, s);
        count_arcs(g, s, seen_arc, k + 1);
        for (uint32_t i = 0; i < s->count; i++) {
            const uint32_t symbol = g->frame.items[s->first + i];
            count_symbol(g, symbol, s->ticks, seen, k + 1);
            count_symbol(g, pt_gprof_function_of(g, symbol), s->ticks, seen, k + 1);
        }
    }
    g->has_bins |= g->is_sampled;
}

void pt_gprof_count_cycles(pt_gprof *g)
{
    const uint32_t count = (uint32_t)g->symbol.count;
    PT_FREE size_t *seen = pt_alloc((size_t)count + g->cycle_count + 1, sizeof *seen);
    for (size_t k = 0; k < g->stack.count; k++) {
        const pt_gprof_stack *const s = &g->stack.items[k];
        for (uint32_t i = 0; i < s->count; i++) {
            const uint32_t cycle = g->symbol.items[g->frame.items[s->first + i]].cycle;
            if (cycle > 0) count_symbol(g, count + cycle - 1, s->ticks, seen, k + 1);
        }
    }
}
