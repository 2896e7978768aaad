/* graph_tree.c: the call tree as a graph: a node for each path, with one edge, from its caller.
 *
 *   stacks -> paths: parent, place, flat, cum        some 40 bytes each, and there may be millions
 *          -> paths that are too light are removed   all but a few hundred, usually
 *          -> nodes and edges                        callees of removed paths: nearest kept caller
 *
 * A parent always comes before its children. */
#include "view/graph_int.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"

enum { INLINED = 1, RESIDUAL = 2, GONE = 4 };

typedef struct {
    int64_t flat, cum;
} value_pair;

typedef struct {
    pt_graph_making *m;
    uint32_t count;
    uint32_t *parent; /* PT_NONE = none. After hang_paths: a node, no longer a path */
    uint32_t *place;
    value_pair *value;
    value_pair *div; /* NULL without mean */
    uint8_t *flags;
    size_t parent_cap, place_cap, value_cap, div_cap, flags_cap;
    pt_index index;
} paths;

static uint32_t find_child(paths *t, uint32_t parent, uint32_t place)
{
    const uint64_t hash = pt_hash_u32_pair(parent, place);
    const uint32_t known =
        PT_INDEX_FIND(&t->index, hash, n, t->parent[n] == parent && t->place[n] == place);
    if (known != PT_NONE) return known;
    const uint32_t n = t->count++;
    t->parent = pt_grow(t->parent, &t->parent_cap, t->count, sizeof *t->parent);
    t->place = pt_grow(t->place, &t->place_cap, t->count, sizeof *t->place);
    t->value = pt_grow(t->value, &t->value_cap, t->count, sizeof *t->value);
    t->flags = pt_grow(t->flags, &t->flags_cap, t->count, sizeof *t->flags);
    t->parent[n] = parent;
    t->place[n] = place;
    t->value[n] = (value_pair){0};
    t->flags[n] = INLINED; /* cleared by the first call that is not inlined */
    if (t->m->div != NULL) {
        t->div = pt_grow(t->div, &t->div_cap, t->count, sizeof *t->div);
        t->div[n] = (value_pair){0};
    }
    pt_index_add(&t->index, hash, n);
    return n;
}

static void grow_stack(paths *t, uint32_t stack)
{
    const pt_graph_making *m = t->m;
    const uint32_t *frames = pt_stack_frames(m->profile, stack);
    uint32_t n = PT_NONE;
    for (uint32_t i = pt_stack_depth(m->profile, stack); i-- > 0;) {
        uint32_t one, count;
        const uint32_t *places = pt_fold_rows(m->places, frames[i], &one, &count);
        for (uint32_t k = count; k-- > 0;) {
            n = find_child(t, n, places[k]);
            pt_wrapping_into(&t->value[n].cum, m->value[stack]);
            if (t->div != NULL) pt_wrapping_into(&t->div[n].cum, m->div[stack]);
            if (k + 1 == count) t->flags[n] &= (uint8_t)~INLINED;
        }
    }
    m->leaf_of_stack[stack] = n;
    if (n == PT_NONE) return;
    pt_wrapping_into(&t->value[n].flat, m->value[stack]);
    if (t->div != NULL) pt_wrapping_into(&t->div[n].flat, m->div[stack]);
}

/* Marks the paths below the cutoff and returns their number. Paths that are not listed stay, as in
 * pprof. */
static uint32_t mark_light(paths *t)
{
    int64_t total = 0;
    for (uint32_t n = 0; n < t->count; n++)
        if (pt_graph_is_listed(t->m, t->value[n].flat, t->value[n].cum))
            pt_wrapping_into(&total, t->value[n].flat);
    t->m->total = total;
    const uint64_t cutoff = pt_graph_cutoff(total, t->m->request->node_fraction);
    uint32_t gone = 0;
    for (uint32_t n = 0; n < t->count; n++) {
        if (!pt_graph_is_listed(t->m, t->value[n].flat, t->value[n].cum) ||
            pt_magnitude(t->value[n].cum) >= cutoff)
            continue;
        t->flags[n] |= GONE;
        gone++;
    }
    return gone;
}

/* Gives each kept path its nearest kept caller; t->parent then holds nodes instead of paths.
 * Returns the node of each kept path. */
static uint32_t *hang_paths(paths *t)
{
    uint32_t *node = pt_alloc(t->count, sizeof *node);
    uint32_t nodes = 0;
    for (uint32_t n = 0; n < t->count; n++) {
        const uint32_t p = t->parent[n];
        if (!(t->flags[n] & GONE)) node[n] = nodes++;
        if (p == PT_NONE) continue;
        if (!(t->flags[p] & GONE)) {
            t->parent[n] = node[p];
            continue;
        }
        t->parent[n] = t->parent[p];
        t->flags[n] |= RESIDUAL;
        if (!(t->flags[p] & INLINED)) t->flags[n] &= (uint8_t)~INLINED;
    }
    return node;
}

static void make_node(paths *t, uint32_t path, uint32_t n)
{
    pt_graph_making *m = t->m;
    pt_graph_node *node = &m->graph->node[n];
    *node = (pt_graph_node){.info = &m->graph->memory->info[t->place[path]],
                            .flat = t->value[path].flat,
                            .cum = t->value[path].cum};
    if (t->div != NULL) node->flat_div = t->div[path].flat;
    if (t->div != NULL) node->cum_div = t->div[path].cum;
    m->parent[n] = t->parent[path];
    m->graph->edge[n] = (pt_graph_edge){.from = t->parent[path],
                                        .to = n,
                                        .weight = node->cum,
                                        .weight_div = node->cum_div,
                                        .residual = t->flags[path] & RESIDUAL,
                                        .inlined = t->flags[path] & INLINED,
                                        .dropped = t->parent[path] == PT_NONE};
}

static void make_nodes(paths *t)
{
    pt_graph_making *m = t->m;
    pt_graph *g = m->graph;
    const uint32_t gone = mark_light(t);
    PT_FREE uint32_t *node = hang_paths(t);
    g->dropped_nodes = gone;
    g->node_count = g->edge_count = t->count - gone;
    g->node = pt_alloc(g->node_count, sizeof *g->node);
    g->edge = pt_alloc(g->node_count, sizeof *g->edge);
    m->parent = pt_alloc(g->node_count, sizeof *m->parent);
    for (uint32_t path = 0; path < t->count; path++)
        if (!(t->flags[path] & GONE)) make_node(t, path, node[path]);
    for (uint32_t s = 0; s < m->profile->stack->t.count; s++) {
        uint32_t *leaf = &m->leaf_of_stack[s];
        if (*leaf == PT_NONE) continue;
        const bool gone_too = t->flags[*leaf] & GONE;
        const uint32_t end = gone_too ? t->parent[*leaf] : node[*leaf];
        *leaf = gone_too && end != PT_NONE ? end | PT_GRAPH_CUT_LEAF : end;
    }
}

pt_status pt_graph_make_tree(pt_graph_making *m, pt_error *reterr)
{
    paths t = {.m = m};
    const uint32_t stacks = m->profile->stack->t.count;
    m->leaf_of_stack = pt_alloc(stacks, sizeof *m->leaf_of_stack);
    pt_index_init(&t.index);
    for (uint32_t s = 0; s < stacks && t.count < INT32_MAX; s++) {
        m->leaf_of_stack[s] = PT_NONE;
        if (m->counts[s]) grow_stack(&t, s);
    }
    pt_index_done(&t.index);
    const bool fits = t.count < INT32_MAX;
    if (fits) make_nodes(&t);
    PT_FREE_ALL(t.parent, t.place, t.value, t.div, t.flags);
    return fits ? PT_OK
                : pt_error_set(reterr, PT_ERR_LIMIT, "the call tree has more than 2^31 nodes");
}

/* Callers come before callees, so the caller of a removed node already is a kept node. */
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
