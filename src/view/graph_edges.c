/* graph_edges.c: makes edges from the stacks; sorts them in each node's lists; removes redundant
 * ones. */
#include "view/graph_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"

typedef struct {
    pt_graph_making *m;
    size_t cap;
    uint32_t *seen; /* per edge: 1 + the last counted stack that has the edge */
    size_t seen_cap;
    pt_index index;
    uint32_t *last; /* per location: the last edge from it, plus 1; a call usually has one target */
} connecting;

static uint32_t find_edge(connecting *c, uint32_t from, uint32_t to)
{
    pt_graph *g = c->m->graph;
    const uint64_t hash = pt_hash_u32_pair(from, to);
    const uint32_t known =
        PT_INDEX_FIND(&c->index, hash, e, g->edge[e].from == from && g->edge[e].to == to);
    if (known != PT_NONE) return known;
    const uint32_t e = g->edge_count++;
    g->edge = pt_grow(g->edge, &c->cap, g->edge_count, sizeof *g->edge);
    c->seen = pt_grow(c->seen, &c->seen_cap, g->edge_count, sizeof *c->seen);
    g->edge[e] = (pt_graph_edge){.from = from, .to = to, .inlined = true};
    c->seen[e] = 0;
    pt_index_add(&c->index, hash, e);
    return e;
}

/* Finds the edge between two nodes, or adds it. site: the location of `from`. */
static uint32_t find_call(connecting *c, uint32_t site, uint32_t from, uint32_t to)
{
    const pt_graph_edge *const edges = c->m->graph->edge;
    const uint32_t last = c->last[site];
    if (last != 0 && edges[last - 1].from == from && edges[last - 1].to == to) return last - 1;
    const uint32_t e = find_edge(c, from, to);
    c->last[site] = e + 1;
    return e;
}

static void add_call(connecting *c, uint32_t stack, uint32_t e, bool residual, bool inlined)
{
    const pt_graph_making *m = c->m;
    if (c->seen[e] == stack + 1) return;
    c->seen[e] = stack + 1;
    pt_graph_edge *edge = &m->graph->edge[e];
    pt_wrapping_into(&edge->weight, m->value[stack]);
    if (m->div != NULL) pt_wrapping_into(&edge->weight_div, m->div[stack]);
    edge->residual |= residual;
    edge->inlined &= inlined;
}

static void connect_stack(connecting *c, uint32_t stack)
{
    const pt_graph_making *m = c->m;
    const uint32_t *frames = pt_stack_frames(m->profile, stack);
    const uint8_t *wanted = m->request->edges == PT_EDGES_INLINED ? m->may_inline : NULL;
    uint32_t caller = PT_NONE, site = PT_NONE;
    bool residual = false; /* a frame between the two nodes is not kept */
    for (uint32_t i = pt_stack_depth(m->profile, stack); i-- > 0;) {
        uint32_t one, count;
        const uint32_t *nodes = pt_fold_rows(m->places, frames[i], &one, &count);
        for (uint32_t k = count; k-- > 0;) {
            const uint32_t n = nodes[k];
            if (m->kept != NULL && !m->kept[n]) {
                residual = true;
                continue;
            }
            if (caller != PT_NONE && caller != n && (wanted == NULL || wanted[n]) &&
                (m->chosen == NULL || m->chosen[n] || m->chosen[caller]))
                add_call(c, stack, find_call(c, site, caller, n), residual, k + 1 != count);
            caller = n;
            site = frames[i];
            residual = false;
        }
    }
}

static bool wants_edges(const pt_graph_making *m)
{
    if (m->request->edges == PT_EDGES_NONE) return false;
    if (m->request->edges == PT_EDGES_ALL) return true;
    return PT_ANY(n, m->graph->node_count, m->may_inline[n] && (m->kept == NULL || m->kept[n]));
}

void pt_graph_make_edges(pt_graph_making *m)
{
    pt_graph *g = m->graph;
    free(g->edge);
    g->edge = NULL;
    g->edge_count = 0;
    if (!wants_edges(m)) return;
    connecting c = {.m = m};
    c.last = pt_alloc(m->profile->location->t.count, sizeof *c.last);
    pt_index_init(&c.index);
    for (uint32_t s = 0; s < m->profile->stack->t.count; s++)
        if (m->counts[s]) connect_stack(&c, s);
    pt_index_done(&c.index);
    PT_FREE_ALL(c.seen, c.last);
}

uint32_t pt_graph_trim_edges(pt_graph *graph, uint64_t cutoff)
{
    uint32_t dropped = 0;
    if (cutoff == 0 || graph->edge_count == 0) return 0;
    PT_FREE bool *listed = pt_alloc(graph->node_count, sizeof *listed);
    for (uint32_t i = 0; i < graph->listed_count; i++)
        listed[graph->listed[i]] = true;
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        pt_graph_edge *edge = &graph->edge[e];
        if (edge->dropped || !listed[edge->to] || pt_magnitude(edge->weight) >= cutoff) continue;
        edge->dropped = true;
        dropped++;
    }
    return dropped;
}

/* ---- Lists ---- */

static int compare_edges(const void *left, const void *right, void *context)
{
    const pt_graph *g = context;
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const pt_graph_edge *a = &g->edge[i], *b = &g->edge[k];
    return pt_compare_magnitudes(a->weight, b->weight)
               ?: strcmp(g->node[a->from].text, g->node[b->from].text)
               ?: strcmp(g->node[a->to].text, g->node[b->to].text) ?: PT_COMPARE(i, k);
}

void pt_graph_sort_edges(const pt_graph *graph, uint32_t *edges, size_t count)
{
    if (count > 1) qsort_r(edges, count, sizeof *edges, compare_edges, (void *)graph);
}

void pt_graph_list_edges(pt_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++)
        graph->node[n].in_count = graph->node[n].out_count = 0;
    size_t count = 0;
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        if (graph->edge[e].dropped) continue;
        graph->node[graph->edge[e].from].out_count++;
        graph->node[graph->edge[e].to].in_count++;
        count++;
    }
    free(graph->memory->lists);
    uint32_t *lists = pt_alloc(2 * count, sizeof *lists), *next = lists;
    graph->memory->lists = lists;
    PT_FREE uint32_t **in = pt_alloc(graph->node_count, sizeof *in);
    PT_FREE uint32_t **out = pt_alloc(graph->node_count, sizeof *out);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        graph->node[n].in = in[n] = next;
        next += graph->node[n].in_count;
        graph->node[n].out = out[n] = next;
        next += graph->node[n].out_count;
    }
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        if (graph->edge[e].dropped) continue;
        pt_graph_name(graph, graph->edge[e].from);
        pt_graph_name(graph, graph->edge[e].to);
        *out[graph->edge[e].from]++ = e;
        *in[graph->edge[e].to]++ = e;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const pt_graph_node *node = &graph->node[n];
        pt_graph_sort_edges(graph, in[n] - node->in_count, node->in_count);
        pt_graph_sort_edges(graph, out[n] - node->out_count, node->out_count);
    }
}

/* ---- Redundant edges ---- */

typedef struct {
    uint32_t *queue;
    uint32_t *seen; /* per node: the number of the last search that reached the node */
    uint32_t search;
} reaching;

/* Does another path lead from the edge's caller to its callee? Searches backwards from the
 * callee. */
static bool is_redundant(const pt_graph *g, reaching *r, uint32_t edge)
{
    const uint32_t from = g->edge[edge].from;
    uint32_t head = 0, tail = 0;
    r->search++;
    r->queue[tail++] = g->edge[edge].to;
    r->seen[g->edge[edge].to] = r->search;
    while (head < tail) {
        const pt_graph_node *node = &g->node[r->queue[head++]];
        for (uint32_t i = 0; i < node->in_count; i++) {
            const pt_graph_edge *in = &g->edge[node->in[i]];
            if (node->in[i] == edge || in->dropped || r->seen[in->from] == r->search) continue;
            if (in->from == from) return true;
            r->seen[in->from] = r->search;
            r->queue[tail++] = in->from;
        }
    }
    return false;
}

void pt_graph_trim_redundant_edges(pt_graph *graph)
{
    reaching r = {.queue = pt_alloc(graph->node_count, sizeof *r.queue),
                  .seen = pt_alloc(graph->node_count, sizeof *r.seen)};
    bool dropped = false;
    for (uint32_t i = graph->listed_count; i-- > 0;) {
        const pt_graph_node *node = &graph->node[graph->listed[i]];
        for (uint32_t k = node->in_count; k-- > 0;) {
            pt_graph_edge *edge = &graph->edge[node->in[k]];
            /* as in pprof, all edges that are heavier than a direct edge stay, even residual
             * edges */
            if (!edge->residual) break;
            if (!is_redundant(graph, &r, node->in[k])) continue;
            edge->dropped = dropped = true;
        }
    }
    PT_FREE_ALL(r.queue, r.seen);
    if (dropped) pt_graph_list_edges(graph);
}
