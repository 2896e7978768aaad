/* graph_tree.c: the call tree as a graph: a node for every path, with one edge, from its caller. */
#include "view/graph_int.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"

typedef struct {
    pt_graph_making *m;
    size_t node_cap, parent_cap, edge_cap;
    pt_index index;
} growing;

static uint32_t find_child(growing *t, uint32_t parent, uint32_t place)
{
    pt_graph_making *m = t->m;
    pt_graph *g = m->graph;
    const pt_node_info *info = &m->places->info[place];
    const uint64_t hash = pt_hash_u32_pair(parent, place);
    pt_probe probe = {0};
    for (uint32_t n = pt_index_first(&t->index, hash, &probe); n != PT_NONE;
         n = pt_index_next(&t->index, &probe))
        if (m->parent[n] == parent && g->node[n].info == info) return n;
    const uint32_t n = g->node_count++;
    g->node = pt_grow(g->node, &t->node_cap, g->node_count, sizeof *g->node);
    m->parent = pt_grow(m->parent, &t->parent_cap, g->node_count, sizeof *m->parent);
    g->edge = pt_grow(g->edge, &t->edge_cap, g->node_count, sizeof *g->edge);
    g->node[n] = (pt_graph_node){.info = info};
    m->parent[n] = parent;
    g->edge[n] =
        (pt_graph_edge){.from = parent, .to = n, .inlined = true, .dropped = parent == PT_NONE};
    pt_index_add(&t->index, hash, n);
    return n;
}

static void grow_stack(growing *t, uint32_t stack)
{
    pt_graph_making *m = t->m;
    pt_graph *g = m->graph;
    const uint32_t *frames = pt_stack_frames(m->profile, stack);
    const int64_t value = m->value[stack], div = m->div != NULL ? m->div[stack] : 0;
    uint32_t n = PT_NONE;
    for (uint32_t i = pt_stack_depth(m->profile, stack); i-- > 0;) {
        uint32_t one, count;
        const uint32_t *places = pt_places_of(m->places, frames[i], &one, &count);
        for (uint32_t k = count; k-- > 0;) {
            n = find_child(t, n, places[k]);
            pt_graph_sum(&g->node[n].cum, value);
            pt_graph_sum(&g->node[n].cum_div, div);
            g->edge[n].inlined &= k + 1 != count;
        }
    }
    m->leaf_of_stack[stack] = n;
    if (n == PT_NONE) return;
    pt_graph_sum(&g->node[n].flat, value);
    pt_graph_sum(&g->node[n].flat_div, div);
}

pt_status pt_graph_make_tree(pt_graph_making *m, pt_error *reterr)
{
    pt_graph *g = m->graph;
    growing t = {.m = m};
    const uint32_t stacks = m->profile->stack->t.count;
    m->leaf_of_stack = pt_alloc(stacks, sizeof *m->leaf_of_stack);
    pt_index_init(&t.index);
    for (uint32_t s = 0; s < stacks && g->node_count < INT32_MAX; s++) {
        m->leaf_of_stack[s] = PT_NONE;
        if (m->counts[s]) grow_stack(&t, s);
    }
    pt_index_done(&t.index);
    if (g->node_count >= INT32_MAX)
        return pt_error_set(reterr, PT_ERR_LIMIT, "the call tree has more than 2^31 nodes");
    for (uint32_t n = 0; n < g->node_count; n++) {
        g->edge[n].weight = g->node[n].cum;
        g->edge[n].weight_div = g->node[n].cum_div;
    }
    g->edge_count = g->node_count;
    return PT_OK;
}

/* Callers come before callees, so a caller that goes already hangs on one that stays. */
void pt_graph_trim_tree(pt_graph_making *m)
{
    pt_graph *g = m->graph;
    for (uint32_t n = 0; n < g->node_count; n++) {
        pt_graph_edge *edge = &g->edge[n];
        if (edge->dropped || m->kept[edge->from]) continue;
        const pt_graph_edge *above = &g->edge[edge->from];
        edge->residual = true;
        edge->inlined &= above->inlined;
        edge->dropped = above->dropped;
        edge->from = above->from;
    }
    for (uint32_t n = 0; n < g->node_count; n++)
        if (!m->kept[n]) g->edge[n].dropped = true;
}
