/* graph.c: nodes with their values, and the order in which a graph is cut.
 *
 * Samples are first summed up to one value for each stack. A node's cum remembers the last stack
 * with the node, so that recursion counts once without a set to clear. When nodes are cut, cum and
 * flat of the remaining nodes do not change: only edges do, and these are made again from the
 * stacks. */
#include "view/graph_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/units.h"

/* ---- Values ---- */

static void fold_samples(pt_graph_making *m)
{
    const pt_samples *samples = m->profile->sample;
    const uint32_t stacks = m->profile->stack->t.count;
    const int64_t *value = samples->value[m->request->event];
    const int64_t *div = m->request->mean ? samples->value[0] : NULL;
    m->value = pt_alloc(stacks, sizeof *m->value);
    m->counts = pt_alloc(stacks, sizeof *m->counts);
    if (div != NULL) m->div = pt_alloc(stacks, sizeof *m->div);
    for (uint32_t i = 0; i < samples->t.count; i++) {
        if (value[i] == 0 && (div == NULL || div[i] == 0)) continue;
        const uint32_t stack = samples->stack[i];
        m->counts[stack] = true;
        pt_wrapping_into(&m->value[stack], value[i]);
        if (div != NULL) pt_wrapping_into(&m->div[stack], div[i]);
    }
}

/* The values of a node while stacks are counted, next to each other in memory. */
typedef struct {
    int64_t cum, flat;
    uint64_t seen; /* 1 + the last stack with the node */
} cell;

static inline void count_place(const pt_graph_making *m, cell *cells, uint32_t place,
                               uint32_t stack, int64_t value)
{
    cell *c = &cells[place];
    if (c->seen == (uint64_t)stack + 1) return;
    c->seen = (uint64_t)stack + 1;
    pt_wrapping_into(&c->cum, value);
    if (m->div != NULL) pt_wrapping_into(&m->graph->node[place].cum_div, m->div[stack]);
}

static void count_stack(const pt_graph_making *m, cell *cells, uint32_t stack)
{
    const uint32_t *const frames = pt_stack_frames(m->profile, stack);
    const uint32_t *const of_location = m->places->of_location;
    const uint32_t depth = pt_stack_depth(m->profile, stack);
    const int64_t value = m->value[stack];
    for (uint32_t i = 0; i < depth; i++) {
        const uint32_t place = of_location[frames[i]];
        if (__builtin_expect(!(place & PT_FOLD_SEVERAL), 1)) {
            count_place(m, cells, place, stack, value);
            continue;
        }
        const uint32_t *several = m->places->several + (place & ~PT_FOLD_SEVERAL);
        for (uint32_t k = 1; k <= several[0]; k++)
            count_place(m, cells, several[k], stack, value);
    }
    uint32_t one, count;
    const uint32_t leaf = pt_fold_rows(m->places, frames[0], &one, &count)[0];
    pt_wrapping_into(&cells[leaf].flat, value);
    if (m->div != NULL) pt_wrapping_into(&m->graph->node[leaf].flat_div, m->div[stack]);
}

static void count_all(pt_graph_making *m)
{
    pt_graph *g = m->graph;
    g->node_count = m->places->count;
    g->node = pt_alloc(g->node_count, sizeof *g->node);
    PT_FREE cell *cells = pt_alloc(g->node_count, sizeof *cells);
    for (uint32_t s = 0; s < m->profile->stack->t.count; s++)
        if (m->counts[s] && pt_stack_depth(m->profile, s) > 0) count_stack(m, cells, s);
    for (uint32_t n = 0; n < g->node_count; n++) {
        g->node[n].info = &g->memory->info[n];
        g->node[n].cum = cells[n].cum;
        g->node[n].flat = cells[n].flat;
    }
}

/* Marks the nodes that are inlined into their caller at some location: the nodes of all lines of a
 * location except the outermost line. */
static void find_inlined(pt_graph_making *m)
{
    if (m->request->edges != PT_EDGES_INLINED || m->request->call_tree) return;
    m->may_inline = pt_alloc(m->places->count, 1);
    for (uint32_t l = 0; l < m->profile->location->t.count; l++) {
        uint32_t one, count;
        const uint32_t *places = pt_fold_rows(m->places, l, &one, &count);
        for (uint32_t i = 0; i + 1 < count; i++)
            m->may_inline[places[i]] = 1;
    }
}

/* ---- Cutting ---- */

bool pt_graph_is_listed(const pt_graph_making *m, int64_t flat, int64_t cum)
{
    if (cum == 0 && flat == 0) return false;
    return !(m->request->drop_negative && (flat < 0 || (flat == 0 && cum < 0)));
}

static void list_nodes(pt_graph_making *m)
{
    pt_graph *g = m->graph;
    g->listed = pt_alloc(g->node_count, sizeof *g->listed);
    for (uint32_t n = 0; n < g->node_count; n++)
        if (pt_graph_is_listed(m, g->node[n].flat, g->node[n].cum))
            g->listed[g->listed_count++] = n;
}

/* Returns |total * fraction|, truncated to an integer as in Go; 0, which cuts nothing, if the
 * product does not fit an integer. */
uint64_t pt_graph_cutoff(int64_t total, double fraction)
{
    const int64_t cutoff = pt_whole_part((double)total * fraction);
    return cutoff == INT64_MIN ? 0 : pt_magnitude(cutoff);
}

/* Keeps the first `count` listed nodes. In a call tree a node that was never listed (its values are
 * 0, or negative and dropped) stays an end of edges, as in pprof. */
static void keep_listed(pt_graph_making *m, uint32_t count)
{
    pt_graph *g = m->graph;
    if (m->request->call_tree) { /* a call tree keeps the nodes that were never listed */
        if (m->kept == NULL) {
            m->kept = pt_alloc(g->node_count, sizeof *m->kept);
            memset(m->kept, 1, g->node_count);
        }
        for (uint32_t i = count; i < g->listed_count; i++)
            m->kept[g->listed[i]] = false;
    } else {
        free(m->kept);
        m->kept = pt_alloc(g->node_count, sizeof *m->kept);
        for (uint32_t i = 0; i < count; i++)
            m->kept[g->listed[i]] = true;
    }
    g->listed_count = count;
}

static void drop_light_nodes(pt_graph_making *m, uint64_t cutoff)
{
    pt_graph *g = m->graph;
    if (cutoff == 0) return;
    PT_FREE uint32_t *light = pt_alloc(g->listed_count, sizeof *light);
    uint32_t kept = 0, dropped = 0;
    for (uint32_t i = 0; i < g->listed_count; i++) {
        const uint32_t n = g->listed[i];
        if (pt_magnitude(g->node[n].cum) < cutoff)
            light[dropped++] = n;
        else
            g->listed[kept++] = n;
    }
    memcpy(g->listed + kept, light, dropped * sizeof *light);
    g->dropped_nodes += dropped;
    if (dropped > 0) keep_listed(m, kept);
}

/* The number of listed nodes, in order, that fit in node_count. In a picture the tags of a node
 * count as nodes. */
static uint32_t top_nodes(const pt_graph_making *m)
{
    const pt_graph *g = m->graph;
    uint64_t most = (uint64_t)m->request->node_count, count = 0;
    for (uint32_t i = 0; m->request->visual && i < g->listed_count; i++) {
        const size_t tags = pt_graph_count_tags(&g->node[g->listed[i]]);
        count += (tags < 4 ? tags : 4) + 1;
        if (count >= most) {
            most = (uint64_t)i + 1;
            break;
        }
    }
    return most < g->listed_count ? (uint32_t)most : g->listed_count;
}

/* Cuts a sorted graph to node_count. Its edges may not exist yet. Edges below the cutoff are
 * dropped before the cut; the cut makes the edges anew, except in a call tree. */
static void cut_to_top(pt_graph_making *m, uint64_t node_cutoff, uint64_t edge_cutoff)
{
    const pt_graph_request *r = m->request;
    pt_graph *g = m->graph;
    const uint32_t top = top_nodes(m);
    const bool cuts = top < g->listed_count;
    if (!r->call_tree && !r->visual && !cuts) pt_graph_make_edges(m);
    pt_graph_trim_edges(g, edge_cutoff);
    if (!cuts) return;
    keep_listed(m, top);
    if (r->call_tree) {
        pt_graph_trim_tree(m);
    } else {
        if (r->tags || r->visual) {
            pt_graph_free_tags(g);
            pt_graph_make_tags(m);
            pt_graph_trim_tags(g, node_cutoff);
        }
        pt_graph_make_edges(m);
    }
    pt_graph_sort(m);
}

static void name_listed(pt_graph *g)
{
    for (uint32_t i = 0; i < g->listed_count; i++)
        pt_graph_name(g, g->listed[i]);
}

/* Lists the nodes that the request selects, not yet in order. */
static pt_status choose_nodes(pt_graph_making *m, pt_error *reterr)
{
    pt_graph *const g = m->graph;
    uint32_t kept = 0;
    if (m->request->choose == NULL) return PT_OK;
    name_listed(g);
    m->chosen = pt_alloc(g->node_count, sizeof *m->chosen);
    const pt_status status = m->request->choose(m->request->choose_context, g, m->chosen, reterr);
    for (uint32_t i = 0; i < g->listed_count; i++)
        if (m->chosen[g->listed[i]]) g->listed[kept++] = g->listed[i];
    g->listed_count = kept;
    return status;
}

/* Keeps the first choose_limit of the selected nodes, which are in order already. */
static void limit_chosen(pt_graph_making *m)
{
    pt_graph *const g = m->graph;
    const size_t limit = m->request->choose_limit;
    while (limit > 0 && g->listed_count > limit) {
        m->chosen[g->listed[--g->listed_count]] = false;
        g->chosen_more++;
    }
}

static pt_status trim_graph(pt_graph_making *m, pt_error *reterr)
{
    const pt_graph_request *r = m->request;
    pt_graph *g = m->graph;
    int64_t total = m->total; /* a call tree's total was summed before its light nodes were
                               * removed */
    for (uint32_t i = 0; i < g->listed_count && !r->call_tree; i++)
        pt_wrapping_into(&total, g->node[g->listed[i]].flat);
    const uint64_t node_cutoff = pt_graph_cutoff(total, r->node_fraction);
    const uint64_t edge_cutoff = pt_graph_cutoff(total, r->edge_fraction);
    if (!r->call_tree) drop_light_nodes(m, node_cutoff);
    g->original_count = g->listed_count;
    if (r->tags || r->visual) pt_graph_make_tags(m);
    /* the order of the nodes depends on the edges */
    if (r->visual && !r->call_tree) pt_graph_make_edges(m);
    const pt_status status = choose_nodes(m, reterr);
    if (status != PT_OK) return status;
    pt_graph_sort(m);
    limit_chosen(m);
    pt_graph_trim_tags(g, node_cutoff);
    if (r->node_count > 0)
        cut_to_top(m, node_cutoff, edge_cutoff);
    else if (!r->visual && !r->call_tree)
        pt_graph_make_edges(m);
    g->dropped_edges = pt_graph_trim_edges(g, edge_cutoff);
    pt_graph_list_edges(g);
    if (r->visual) pt_graph_trim_redundant_edges(g);
    return PT_OK;
}

/* ---- Queries of a finished graph ---- */

pt_status pt_graph_init(pt_graph *ret_graph, const pt_profile *profile,
                        const pt_graph_request *request, pt_error *reterr)
{
    pt_graph g = {.memory = pt_alloc(1, sizeof *g.memory), .is_pprof = request->fold.pprof};
    pt_graph_making m = {.profile = profile, .request = request, .graph = &g};
    m.places = &g.memory->places;
    pt_status status = pt_fold_init(m.places, profile, &request->fold, reterr);
    if (status == PT_OK) {
        g.memory->info = pt_alloc(m.places->count, sizeof *g.memory->info);
        for (uint32_t row = 0; row < m.places->count; row++)
            g.memory->info[row] = pt_fold_info(m.places, row);
        fold_samples(&m);
    }
    if (status == PT_OK && request->call_tree) status = pt_graph_make_tree(&m, reterr);
    if (status == PT_OK && !request->call_tree) count_all(&m);
    if (status == PT_OK) {
        find_inlined(&m);
        list_nodes(&m);
        status = trim_graph(&m, reterr);
    }
    if (status == PT_OK) {
        name_listed(&g);
        for (uint32_t n = 0; n < g.node_count; n++) {
            pt_graph_node *node = &g.node[n];
            for (uint32_t i = 0; i < node->in_count; i++)
                *(g.edge[node->in[i]].inlined ? &node->inlined : &node->called) = true;
        }
        if (request->fold.object_names) pt_graph_find_functions(&m);
        *ret_graph = g;
    } else {
        pt_graph_done(&g);
    }
    PT_FREE_ALL(m.value, m.div, m.counts, m.may_inline, m.kept, m.chosen, m.parent,
                m.leaf_of_stack);
    return status;
}

void pt_graph_done(pt_graph *graph)
{
    if (graph->memory == NULL) return;
    pt_graph_free_tags(graph);
    for (uint32_t n = 0; n < graph->node_count; n++)
        free(graph->node[n].text);
    PT_FREE_ALL(graph->node, graph->listed, graph->edge);
    pt_fold_done(&graph->memory->places);
    PT_FREE_ALL(graph->memory->info, graph->memory->lists, graph->memory);
    *graph = (pt_graph){0};
}

/* The label sets that mark samples of a -diff_base; NULL if there are none. */
static bool *base_sets(const pt_profile *p)
{
    bool *sets = NULL;
    for (uint32_t s = 1; s < p->labels->t.count; s++) {
        for (uint64_t i = p->labels->offset[s]; i < p->labels->offset[s + 1]; i++) {
            const pt_label *label = &p->labels->row[i];
            if (label->kind != PT_LABEL_STRING ||
                strcmp(pt_text(p, label->key), "pprof::base") != 0 ||
                strcmp(pt_text(p, label->str), "true") != 0)
                continue;
            if (sets == NULL) sets = pt_alloc(p->labels->t.count, sizeof *sets);
            sets[s] = true;
        }
    }
    return sets;
}

int64_t pt_graph_total(const pt_profile *profile, uint32_t event, bool mean)
{
    const pt_samples *samples = profile->sample;
    PT_FREE bool *sets = base_sets(profile);
    int64_t total = 0, div = 0, base_total = 0, base_div = 0;
    for (uint32_t i = 0; i < samples->t.count; i++) {
        const int64_t value = (int64_t)pt_magnitude(samples->value[event][i]);
        const int64_t d = mean ? samples->value[0][i] : 0;
        pt_wrapping_into(&total, value);
        pt_wrapping_into(&div, d);
        if (sets == NULL || !sets[samples->labels[i]]) continue;
        pt_wrapping_into(&base_total, value);
        pt_wrapping_into(&base_div, d);
    }
    return base_total > 0 ? pt_graph_mean(base_total, base_div) : pt_graph_mean(total, div);
}

const char *pt_graph_unit(const pt_graph *graph, int64_t total, const char *unit,
                          const char *sample_unit, double ratio, bool whole_numbers)
{
    if (strcmp(unit, "minimum") != 0 || graph->listed_count == 0) return unit;
    int64_t least = 0;
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const pt_graph_node *n = &graph->node[graph->listed[i]];
        int64_t value = (int64_t)pt_magnitude(pt_graph_mean(n->flat, n->flat_div));
        if (value == 0) value = (int64_t)pt_magnitude(pt_graph_mean(n->cum, n->cum_div));
        if (value > 0 && (least == 0 || value < least)) least = value;
    }
    if (least == 0) least = total;
    if (ratio > 0 && ratio != 1) {
        least = pt_whole_part((double)least * ratio);
        total = pt_whole_part((double)total * ratio);
    }
    const char *least_unit, *total_unit, *shown;
    pt_unit_convert(least, sample_unit, unit, &least_unit);
    pt_unit_convert(total, sample_unit, unit, &total_unit);
    shown = least_unit;
    int64_t hundred;
    if (!__builtin_mul_overflow(least, 100, &hundred) && strcmp(least_unit, total_unit) != 0 &&
        hundred < total && !whole_numbers)
        pt_unit_convert(hundred, sample_unit, unit, &shown);
    return shown[0] != '\0' ? shown : sample_unit;
}
