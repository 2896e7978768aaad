/* order.c: the orders in which gprof's reports list symbols and arcs. */
#include <string.h>

#include "personality/gprof/gprof_int.h"

static uint64_t ticks_key(const void *context, uint32_t symbol)
{
    return pt_gprof_falling(((const pt_gprof_symbol *)context)[symbol].ticks);
}

static uint64_t calls_key(const void *context, uint32_t symbol)
{
    return ~((const pt_gprof_symbol *)context)[symbol].calls;
}

uint32_t *pt_gprof_flat_order(const pt_gprof *g)
{
    uint32_t *const order = pt_alloc(g->symbol.count + 1, sizeof *order);
    memcpy(order, g->by_name, g->symbol.count * sizeof *order);
    pt_gprof_sort_by(order, g->symbol.count, calls_key, g->symbol.items);
    pt_gprof_sort_by(order, g->symbol.count, ticks_key, g->symbol.items);
    return order;
}

/* A sort key: cycles come before functions, names that begin with an underscore last. */
static uint64_t kind_key(const void *context, uint32_t symbol)
{
    const char *const name = ((const pt_gprof_symbol *)context)[symbol].name;
    return name == NULL ? 0 : name[0] == '_' ? 2 : 1;
}

static uint64_t total_key(const void *context, uint32_t symbol)
{
    const pt_gprof_symbol *const s = (const pt_gprof_symbol *)context + symbol;
    return pt_gprof_falling(s->shown_self + s->shown_child);
}

uint32_t *pt_gprof_graph_order(const pt_gprof *g)
{
    const size_t count = g->symbol.count, all = count + g->cycle_count;
    uint32_t *const order = pt_alloc(all + 1, sizeof *order);
    memcpy(order, g->by_name, count * sizeof *order);
    for (size_t i = count; i < all; i++)
        order[i] = (uint32_t)i;
    pt_gprof_sort_by(order, count, calls_key, g->symbol.items); /* cycles keep their order */
    pt_gprof_sort_by(order, all, kind_key, g->symbol.items);
    pt_gprof_sort_by(order, all, total_key, g->symbol.items);
    return order;
}

/* Orders arcs by weight. A function's calls of itself are least, then calls inside a cycle. */
static int by_weight(const void *context, uint32_t a, uint32_t b)
{
    const pt_gprof_arc *const x = (const pt_gprof_arc *)context + a;
    const pt_gprof_arc *const y = (const pt_gprof_arc *)context + b;
    if (x->kind != y->kind) return x->kind < y->kind ? -1 : 1;
    const double x_time = x->ticks + x->child_ticks, y_time = y->ticks + y->child_ticks;
    if (x->kind == PT_GPROF_BETWEEN && x_time != y_time) return x_time < y_time ? -1 : 1;
    return (x->calls > y->calls) - (x->calls < y->calls);
}

static int by_weight_falling(const void *context, uint32_t a, uint32_t b)
{
    return by_weight(context, b, a);
}

/* Sorts arcs. The lists begin with the latest arc; of equal arcs the earliest comes first. */
static uint32_t *sorted_arcs(const pt_gprof *g, const uint32_t *arcs, uint32_t count,
                             pt_gprof_compare *compare)
{
    uint32_t *const list = pt_alloc((size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; i < count; i++)
        list[i] = arcs[count - 1 - i];
    pt_gprof_sort(list, count, compare, g->arc.items);
    return list;
}

uint32_t *pt_gprof_callers(const pt_gprof *g, const pt_gprof_symbol *symbol)
{
    return sorted_arcs(g, g->in + symbol->first_in, symbol->in_count, by_weight);
}

uint32_t *pt_gprof_callees(const pt_gprof *g, const pt_gprof_symbol *symbol)
{
    return sorted_arcs(g, g->out + symbol->first_out, symbol->out_count, by_weight_falling);
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
