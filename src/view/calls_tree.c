/* calls_tree.c: the functions of calls.h as a tree: below each function, at its place, a row for
 * each call from it.
 *
 *   rows           steps
 *   main           1. Makes all rows in preorder: one for each root, one for each call.
 *     parse        2. Weighs rows: by cost, or by the largest self that a row's calls lead to.
 *       alloc      3. Folds rows that are light or deep into one row after their siblings.
 *     emit
 *       alloc      This row is marked `elsewhere`: the callees of alloc are shown below parse. */
#include <stdlib.h>

#include "base/grow.h"
#include "base/saturate.h"
#include "view/calls_tree.h"

/* A row of the tree before rows are folded. */
typedef struct {
    uint32_t parent, end, depth;
    uint32_t function, call;
    bool elsewhere;
    uint64_t weight;
} full_row;

/* A row that is still to be added to the list of rows. `call` is PT_NONE for a root. */
typedef struct {
    uint32_t parent, depth, function, call;
} waiting_row;

static full_row *all_rows(const pt_calls *calls, uint32_t *ret_count)
{
    uint32_t *root, roots;
    uint32_t *const by = pt_calls_hang(calls, &root, &roots);
    const size_t most = (size_t)calls->count + calls->call_count + 1;
    full_row *const row = pt_alloc(most, sizeof *row);
    waiting_row *const waiting = pt_alloc(most, sizeof *waiting);
    size_t count = 0, left = 0;
    for (uint32_t i = roots; i-- > 0;)
        waiting[left++] = (waiting_row){PT_NONE, 1, root[i], PT_NONE};
    while (left > 0) {
        const waiting_row next = waiting[--left];
        const uint32_t at = (uint32_t)count++;
        const bool elsewhere = next.call != PT_NONE && by[next.function] != next.call;
        row[at] = (full_row){.parent = next.parent,
                             .end = at + 1,
                             .depth = next.depth,
                             .function = next.function,
                             .call = next.call,
                             .elsewhere = elsewhere};
        const pt_calls_function *const f = &calls->function[next.function];
        for (uint32_t i = elsewhere ? 0 : f->out_count; i-- > 0;) {
            const uint32_t call = calls->out[f->out_first + i];
            waiting[left++] = (waiting_row){at, next.depth + 1, calls->call[call].to, call};
        }
    }
    for (size_t i = count; i-- > 0;)
        if (row[i].parent != PT_NONE && row[row[i].parent].end < row[i].end)
            row[row[i].parent].end = row[i].end;
    PT_FREE_ALL(waiting, root, by);
    *ret_count = (uint32_t)count;
    return row;
}

static int by_self(const void *left, const void *right, void *context)
{
    const pt_calls *const calls = context;
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    return pt_compare_magnitudes(calls->function[i].self, calls->function[k].self)
               ?: PT_COMPARE(i, k);
}

static int64_t total_of(const pt_calls *calls, const full_row *row)
{
    return row->call != PT_NONE ? calls->call[row->call].cost
                                : calls->function[row->function].total;
}

/* For each function, the largest self among this function and the functions that its calls lead to.
 * Walks from the function with the largest self back to its callers, then from the function with
 * the next largest self. */
static uint64_t *most_reached(const pt_calls *calls)
{
    uint64_t *most = pt_alloc((size_t)calls->count + 1, sizeof *most);
    PT_FREE uint32_t *order = pt_alloc_numbers(calls->count);
    PT_FREE uint32_t *queue = pt_alloc((size_t)calls->count + 1, sizeof *queue);
    PT_FREE bool *seen = pt_alloc((size_t)calls->count + 1, sizeof *seen);
    qsort_r(order, calls->count, sizeof *order, by_self, (void *)calls);
    for (uint32_t i = 0; i < calls->count; i++) {
        size_t head = 0, tail = 0;
        const uint64_t self = pt_magnitude(calls->function[order[i]].self);
        if (!seen[order[i]]) queue[tail++] = order[i];
        seen[order[i]] = true;
        while (head < tail) {
            const uint32_t f = queue[head++];
            most[f] = self;
            const pt_calls_function *const function = &calls->function[f];
            for (uint32_t k = 0; k < function->in_count; k++) {
                const uint32_t caller = calls->call[calls->in[function->in_first + k]].from;
                if (!seen[caller]) queue[tail++] = caller;
                seen[caller] = true;
            }
        }
    }
    return most;
}

/* The weight of a row is its total. If no totals are known, the weight is the largest self that the
 * row's calls lead to. */
static void weigh_row(const pt_calls *calls, full_row *row, uint32_t count)
{
    PT_FREE uint64_t *most = calls->has_cost ? NULL : most_reached(calls);
    for (uint32_t i = 0; i < count; i++)
        row[i].weight =
            most != NULL ? most[row[i].function] : pt_magnitude(total_of(calls, &row[i]));
}

/* ---- Rows that are shown ---- */

typedef struct {
    uint32_t full_end, node; /* the end of the subtree in full_rows; the node in the tree */
    uint32_t folded;
    int64_t folded_total;
} open_row;

typedef struct {
    pt_calltree *tree;
    pt_calls_node *node;
    PT_VECTOR(open_row) open;
} showing;

static uint32_t add_node(showing *s, uint32_t parent, uint32_t depth)
{
    pt_calltree *const t = s->tree;
    const uint32_t at = t->count++;
    t->parent[at] = parent;
    t->end[at] = at + 1;
    t->depth[at] = depth;
    t->name[at] = t->location[at] = PT_NONE;
    s->node[at].call = PT_NONE;
    return at;
}

static void close_row(showing *s)
{
    const open_row last = s->open.items[--s->open.count];
    if (last.folded == 0) return;
    const uint32_t at = add_node(s, last.node, s->tree->depth[last.node] + 1);
    s->tree->folded[at] = last.folded;
    s->tree->total[at] = last.folded_total;
}

static void open_node(showing *s, uint32_t node, uint32_t full_end)
{
    PT_PUSH(s->open, (open_row){.full_end = full_end, .node = node});
}

static void make_tree(pt_calltree *tree, size_t most)
{
    *tree = (pt_calltree){
        .parent = pt_alloc(most, sizeof *tree->parent),
        .end = pt_alloc(most, sizeof *tree->end),
        .depth = pt_alloc(most, sizeof *tree->depth),
        .name = pt_alloc(most, sizeof *tree->name),
        .location = pt_alloc(most, sizeof *tree->location),
        .inlined = pt_alloc(most, sizeof *tree->inlined),
        .folded = pt_alloc(most, sizeof *tree->folded),
        .self = pt_alloc(most, sizeof *tree->self),
        .total = pt_alloc(most, sizeof *tree->total),
    };
}

void pt_calls_tree(const pt_calls *calls, const pt_calltree_request *request, pt_calltree *ret_tree,
                   pt_calls_node **ret_node)
{
    uint32_t count;
    PT_FREE full_row *const row = all_rows(calls, &count);
    weigh_row(calls, row, count);
    const size_t most = 2 * (size_t)count + 2;
    uint64_t min_weight = calls->has_cost ? request->min_weight : 0;
    for (uint32_t i = 0; i < count; i++)
        if (row[i].weight > 0) min_weight = request->min_weight;
    make_tree(ret_tree, most);
    showing s = {.tree = ret_tree, .node = pt_alloc(most, sizeof *s.node)};
    open_node(&s, add_node(&s, 0, 0), count);
    for (uint32_t i = 0; i < count;) {
        while (s.open.items[s.open.count - 1].full_end <= i)
            close_row(&s);
        open_row *const above = &s.open.items[s.open.count - 1];
        if (row[i].weight < min_weight ||
            (request->max_depth != 0 && row[i].depth > request->max_depth)) {
            above->folded++;
            if (calls->has_cost)
                above->folded_total =
                    pt_saturating_add(above->folded_total, total_of(calls, &row[i]));
            else if (row[i].weight > (uint64_t)above->folded_total)
                above->folded_total = (int64_t)row[i].weight;
            i = row[i].end;
            continue;
        }
        const uint32_t at = add_node(&s, above->node, row[i].depth);
        ret_tree->name[at] = row[i].function;
        ret_tree->self[at] = row[i].elsewhere ? 0 : calls->function[row[i].function].self;
        ret_tree->total[at] = total_of(calls, &row[i]);
        s.node[at] = (pt_calls_node){.call = row[i].call, .elsewhere = row[i].elsewhere};
        open_node(&s, at, row[i].end);
        i++;
    }
    while (s.open.count > 0)
        close_row(&s);
    for (uint32_t at = ret_tree->count; at-- > 1;)
        if (ret_tree->end[ret_tree->parent[at]] < ret_tree->end[at])
            ret_tree->end[ret_tree->parent[at]] = ret_tree->end[at];
    free(s.open.items);
    *ret_node = s.node;
}
