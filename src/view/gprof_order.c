/* gprof_order.c: the orders in which gprof's reports list things. */
#include <stdlib.h>
#include <string.h>

#include "view/gprof_int.h"

static int by_ticks(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof_symbol *const x = (const pt_gprof_symbol *)context + a;
    const pt_gprof_symbol *const y = (const pt_gprof_symbol *)context + b;
    if (x->ticks != y->ticks) return x->ticks > y->ticks ? -1 : 1;
    if (x->calls != y->calls) return x->calls > y->calls ? -1 : 1;
    return strcmp(x->name, y->name);
}

static uint64_t ticks_key(const void *context, uint32_t symbol)
{
    return pt_gprof_falling(((const pt_gprof_symbol *)context)[symbol].ticks);
}

uint32_t *pt_gprof_flat_order(const pt_gprof *g)
{
    uint32_t *const order = pt_alloc(g->symbol.count + 1, sizeof *order);
    for (uint32_t i = 0; i < g->symbol.count; i++)
        order[i] = i;
    pt_gprof_sort_by(order, g->symbol.count, ticks_key, by_ticks, g->symbol.items);
    return order;
}

static int by_name(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof_symbol *const s = context;
    return strcmp(s[a].name, s[b].name);
}

/* The first bytes of the name. */
static uint64_t name_key(const void *context, uint32_t symbol)
{
    const char *name = ((const pt_gprof_symbol *)context)[symbol].name;
    uint64_t key = 0;
    for (unsigned i = 0; i < sizeof key; i++) {
        key = key << 8 | (uint8_t)*name;
        name += *name != '\0';
    }
    return key;
}

void pt_gprof_sort_names(const pt_gprof *g, uint32_t *ids, size_t count)
{
    pt_gprof_sort_by(ids, count, name_key, by_name, g->symbol.items);
}

/* Calls of itself are least, then those inside a cycle. */
static int kind_of(const pt_gprof *g, const pt_gprof_arc *arc)
{
    const pt_gprof_symbol *const s = g->symbol.items;
    if (arc->from == arc->to) return 0;
    return s[arc->from].cycle != 0 && s[arc->from].cycle == s[arc->to].cycle ? 1 : 2;
}

static int by_weight(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof *const g = context;
    const pt_gprof_arc *const x = &g->arc.items[a], *const y = &g->arc.items[b];
    const int x_kind = kind_of(g, x), y_kind = kind_of(g, y);
    if (x_kind != y_kind) return x_kind < y_kind ? -1 : 1;
    const double x_time = x->ticks + x->child_ticks, y_time = y->ticks + y->child_ticks;
    if (x_kind == 2 && x_time != y_time) return x_time < y_time ? -1 : 1;
    return (x->calls > y->calls) - (x->calls < y->calls);
}

static int by_weight_falling(const void *context, uint32_t a, uint32_t b)
{
    return by_weight(context, b, a);
}

/* Of equal ones the earliest is first: lists begin with the latest. */
static uint32_t *sorted(const pt_gprof *g, const uint32_t *arcs, uint32_t count,
                        pt_gprof_compare *compare)
{
    uint32_t *const list = pt_alloc((size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        list[i] = arcs[count - 1 - i];
    pt_gprof_sort(list, count, compare, g);
    return list;
}

uint32_t *pt_gprof_callers(const pt_gprof *g, const pt_gprof_symbol *symbol)
{
    return sorted(g, g->in + symbol->first_in, symbol->in_count, by_weight);
}

uint32_t *pt_gprof_callees(const pt_gprof *g, const pt_gprof_symbol *symbol)
{
    return sorted(g, g->out + symbol->first_out, symbol->out_count, by_weight_falling);
}

static int by_member_weight(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof_symbol *const x = (const pt_gprof_symbol *)context + a;
    const pt_gprof_symbol *const y = (const pt_gprof_symbol *)context + b;
    const double x_time = x->shown_self + x->shown_child, y_time = y->shown_self + y->shown_child;
    if (x_time != y_time) return x_time > y_time ? -1 : 1;
    const uint64_t x_calls = x->calls + x->self_calls, y_calls = y->calls + y->self_calls;
    return (x_calls < y_calls) - (x_calls > y_calls);
}

uint32_t *pt_gprof_members(const pt_gprof *g, const pt_gprof_symbol *cycle)
{
    const size_t count = cycle->member_count;
    uint32_t *const list = pt_alloc(count + 1, sizeof *list);
    memcpy(list, g->member + cycle->first_member, count * sizeof *list);
    pt_gprof_sort(list, count, by_member_weight, g->symbol.items);
    return list;
}
