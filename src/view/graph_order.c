/* graph_order.c: texts of nodes and the order in which a graph lists them. */
#include "view/graph_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"

uint32_t pt_graph_row(const pt_graph *graph, const pt_graph_node *node)
{
    return (uint32_t)(node->info - graph->memory->info);
}

bool *pt_graph_find(const pt_graph *graph, const char *name)
{
    const pt_fold *fold = &graph->memory->places;
    PT_FREE bool *listed = pt_alloc((size_t)fold->count + 1, sizeof *listed);
    for (uint32_t i = 0; i < graph->listed_count; i++)
        listed[pt_graph_row(graph, &graph->node[graph->listed[i]])] = true;
    return pt_fold_find(fold, name, listed);
}

void pt_graph_name(pt_graph *graph, uint32_t node)
{
    pt_graph_node *n = &graph->node[node];
    if (n->text == NULL) n->text = pt_fold_text(&graph->memory->places, pt_graph_row(graph, n));
}

/* Compares nodes with equal values and texts as pprof does: by the texts that Go prints for their
 * structs. */
static int compare_infos(const pt_node_info *a, const pt_node_info *b)
{
    const pt_node_info *info[2] = {a, b};
    char *text[2];
    for (int i = 0; i < 2; i++)
        text[i] = pt_strf("{%s  %" PRIu64 " %s %" PRId64 " %" PRId64 " %" PRId64 " %s}",
                          info[i]->name, info[i]->address, info[i]->file, info[i]->start_line,
                          info[i]->line, info[i]->column, info[i]->object);
    const int order = strcmp(text[0], text[1]);
    PT_FREE_ALL(text[0], text[1]);
    return order;
}

typedef struct {
    int64_t score;
    uint32_t node;
    bool by_flat;
} entry;

static int compare_entries(const void *left, const void *right, void *context)
{
    pt_graph *g = context;
    const entry *a = left, *b = right;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    pt_graph_name(g, a->node);
    pt_graph_name(g, b->node);
    const pt_graph_node *x = &g->node[a->node], *y = &g->node[b->node];
    const int text = strcmp(x->text, y->text);
    if (text != 0) return text;
    const uint64_t p = pt_magnitude(a->by_flat ? x->cum : x->flat);
    const uint64_t q = pt_magnitude(a->by_flat ? y->cum : y->flat);
    if (p != q) return p > q ? -1 : 1;
    const int info = x->info == y->info ? 0 : compare_infos(x->info, y->info);
    return info != 0 ? info : (a->node > b->node) - (a->node < b->node);
}

/* ---- Entropy: the information that a node adds to a picture ---- */

typedef struct {
    uint32_t in_count, out_count;
    int64_t in_total, out_total;
    double in, out;
} entropy_state;

/* The binary logarithm of x, with the same bits as Go's math.Log2. */
static double log2_of(double x)
{
    int exponent;
    const double fraction = frexp(x, &exponent);
    return fraction == 0.5 ? exponent - 1 : log(fraction) * (1 / M_LN2) + exponent;
}

static double information_of(int64_t part, int64_t total)
{
    const double fraction = (double)pt_magnitude(part) / (double)total;
    return -fraction * log2_of(fraction);
}

static int64_t entropy_of(const pt_graph_node *node, entropy_state *t)
{
    if (t->out_total != 0 && node->flat > 0) t->out += information_of(node->flat, t->out_total);
    const double score = (t->in_count == 0 ? 1 : t->in) + (t->out_count == 0 ? 1 : t->out);
    int64_t whole = pt_whole_part(score * (double)node->cum);
    pt_wrapping_into(&whole, node->flat);
    return whole;
}

/* The entropy of each node: a score from the weights of its edges. The caller frees the array. */
static int64_t *entropies_of(const pt_graph *g)
{
    PT_FREE entropy_state *t = pt_alloc(g->node_count, sizeof *t);
    for (uint32_t n = 0; n < g->node_count; n++)
        t[n].out_total = g->node[n].flat;
    for (uint32_t e = 0; e < g->edge_count; e++) {
        const pt_graph_edge *edge = &g->edge[e];
        if (edge->dropped) continue;
        t[edge->from].out_count++;
        t[edge->to].in_count++;
        if (edge->weight <= 0) continue;
        pt_wrapping_into(&t[edge->from].out_total, edge->weight);
        pt_wrapping_into(&t[edge->to].in_total, edge->weight);
    }
    for (uint32_t e = 0; e < g->edge_count; e++) {
        const pt_graph_edge *edge = &g->edge[e];
        if (edge->dropped) continue;
        entropy_state *from = &t[edge->from], *to = &t[edge->to];
        if (from->out_total != 0) from->out += information_of(edge->weight, from->out_total);
        if (to->in_total != 0) to->in += information_of(edge->weight, to->in_total);
    }
    int64_t *score = pt_alloc(g->node_count, sizeof *score);
    for (uint32_t n = 0; n < g->node_count; n++)
        score[n] = entropy_of(&g->node[n], &t[n]);
    return score;
}

void pt_graph_sort(pt_graph_making *m)
{
    pt_graph *g = m->graph;
    const bool visual = m->request->visual;
    PT_FREE int64_t *entropy = visual ? entropies_of(g) : NULL;
    PT_FREE entry *entries = pt_alloc(g->listed_count, sizeof *entries);
    for (uint32_t i = 0; i < g->listed_count; i++) {
        const pt_graph_node *node = &g->node[g->listed[i]];
        const int64_t score = visual               ? entropy[g->listed[i]]
                              : m->request->by_cum ? node->cum
                                                   : node->flat;
        entries[i] = (entry){
            .score = (int64_t)pt_magnitude(
                score), /* as in pprof, the magnitude of the smallest number stays negative */
            .node = g->listed[i],
            .by_flat = !visual && !m->request->by_cum};
    }
    qsort_r(entries, g->listed_count, sizeof *entries, compare_entries, g);
    for (uint32_t i = 0; i < g->listed_count; i++)
        g->listed[i] = entries[i].node;
}

/* ---- Functions ---- */

/* The column of a node without address and line, which stands for a function: pprof also
 * distinguishes functions by column. */
static int64_t column_of_function(const pt_node_info *info)
{
    return info->address == 0 && info->line == 0 ? info->column : 0;
}

static bool same_function(const pt_node_info *a, const pt_node_info *b)
{
    return column_of_function(a) == column_of_function(b) && a->name == b->name &&
           a->file == b->file && a->object == b->object && a->start_line == b->start_line;
}

void pt_graph_find_functions(pt_graph_making *m)
{
    pt_graph *g = m->graph;
    PT_AUTO(pt_index) index;
    pt_index_init(&index);
    for (uint32_t n = 0; n < g->node_count; n++) {
        const pt_node_info *info = g->node[n].info;
        const uint32_t parent = m->parent != NULL ? m->parent[n] : PT_NONE;
        const uint64_t hash =
            pt_hash_mix(pt_hash_mix((uintptr_t)info->name ^ parent, (uintptr_t)info->file),
                        (uintptr_t)info->object ^ (uint64_t)info->start_line);
        const uint32_t found = PT_INDEX_FIND(&index, hash, i,
                                             same_function(g->node[i].info, info) &&
                                                 (m->parent == NULL || m->parent[i] == parent));
        if (found == PT_NONE) pt_index_add(&index, hash, n);
        g->node[n].function = found == PT_NONE ? n : found;
    }
}
