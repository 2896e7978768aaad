/* tree.c: makes rows of the nodes of the merged call tree, which are already in the shown order. */
#include "view/tree.h"

#include <math.h>
#include <stdlib.h>

#include "view/table.h"

/* The text of a name, made when it is first needed. */
static const char *text_of(pt_tree *t, uint32_t name)
{
    char **text = &t->name_text[name];
    if (*text == NULL) *text = pt_fold_text(&t->fold, name);
    return *text;
}

/* Does the node stand for folded siblings whose sum is too light for a row? */
static bool is_left_out(const pt_tree *t, uint32_t node)
{
    return t->nodes.folded[node] > 0 && pt_magnitude(t->nodes.total[node]) < t->min_weight;
}

/* Is no sibling shown after the node? The node that stands for folded siblings comes last, and may
 * be hidden.
 */
static bool is_last(const pt_tree *t, uint32_t node)
{
    const uint32_t next = t->nodes.end[node], end = t->nodes.end[t->nodes.parent[node]];
    return next == end || is_left_out(t, next);
}

/* Is the node the only shown child? False for an outermost function, which always has
 * indent 0. */
static bool is_only(const pt_tree *t, uint32_t node)
{
    const uint32_t parent = t->nodes.parent[node];
    return parent != 0 && node == parent + 1 && is_last(t, node);
}

static pt_tree_row row_of(pt_tree *t, uint32_t node)
{
    const pt_calltree *nodes = &t->nodes;
    const bool folded = nodes->folded[node] > 0;
    const uint32_t name = nodes->name[node];
    const uint32_t call = t->from_calls ? t->call_node[node].call : PT_NONE;
    pt_tree_row row = {
        .name = folded          ? ""
                : t->from_calls ? t->calls.function[name].name
                                : text_of(t, name),
        .file = folded          ? ""
                : t->from_calls ? t->calls.function[name].file
                                : pt_fold_file_at(&t->fold, name, nodes->location[node]),
        .is_call = call != PT_NONE,
        .calls = call != PT_NONE ? t->calls.call[call].calls : 0,
        .elsewhere = t->from_calls && t->call_node[node].elsewhere,
        .depth = nodes->depth[node],
        .folded = nodes->folded[node],
        .self = nodes->self[node],
        .total = nodes->total[node],
        .self_share = pt_share(nodes->self[node], t->whole),
        .total_share = pt_share(nodes->total[node], t->whole),
        .inlined = nodes->inlined[node],
        .last = is_last(t, node),
        .only = is_only(t, node),
        .indent = t->indent[node],
    };
    for (size_t k = 0; k < t->part_count; k++) {
        row.part_self[k] = t->part[k].self_base[node];
        row.part_total[k] = t->part[k].total_base[node];
    }
    return row;
}

bool pt_tree_next(pt_tree *tree, pt_tree_row *ret_row)
{
    while (tree->next < tree->nodes.count && is_left_out(tree, tree->next))
        tree->next++;
    if (tree->next >= tree->nodes.count) {
        tree->next = 1;
        return false;
    }
    *ret_row = row_of(tree, tree->next++);
    return true;
}

/* The least weight that is not folded: ceil(share * whole). */
static uint64_t min_weight_of(const pt_tree_request *request)
{
    const double least = ceil(request->min_share * (double)pt_magnitude(request->whole));
    return least <= 0 ? 0 : least >= 9e18 ? UINT64_C(9000000000000000000) : (uint64_t)least;
}

/* Parents come before their children, so one forward pass gives the indents. */
static void lay_out(pt_tree *t)
{
    if (!t->from_calls) t->name_text = pt_alloc(t->fold.count, sizeof *t->name_text);
    t->indent = pt_alloc(t->nodes.count, sizeof *t->indent);
    t->rootless = t->nodes.self[0];
    t->next = 1;
    for (uint32_t i = 1; i < t->nodes.count; i++) {
        const uint32_t parent = t->nodes.parent[i];
        t->indent[i] = parent == 0 ? 0 : t->indent[parent] + !is_only(t, i);
        if (is_left_out(t, i)) t->left_out += t->nodes.folded[i];
    }
}

/* If the event is a sum of events, makes the tree once more for each of these events, which gives
 * each node also its value of that event. */
static pt_status add_parts(pt_tree *t, const pt_profile *profile, const pt_calltree_request *merged,
                           pt_error *reterr)
{
    uint32_t part[PT_EVENT_PARTS_MAX];
    const size_t parts = pt_event_parts(profile, merged->event, part);
    pt_status status = PT_OK;
    while (status == PT_OK && t->part_count < parts) {
        pt_calltree_request with_part = *merged;
        with_part.part = &part[t->part_count];
        status = pt_calltree_init(&t->part[t->part_count], &t->fold, &with_part, reterr);
        if (status == PT_OK) t->part_count++;
    }
    return status;
}

pt_status pt_tree_init(pt_tree *ret_tree, const pt_profile *profile, const pt_tree_request *request,
                       pt_error *reterr)
{
    pt_tree t = {.whole = request->whole,
                 .min_weight = min_weight_of(request),
                 .from_calls = request->from_calls};
    const pt_calltree_request merged = {
        .event = request->event,
        .min_weight = t.min_weight,
        .max_depth = request->max_depth,
        .inverted = request->inverted,
    };
    pt_status status;
    if (t.from_calls) {
        status = pt_calls_init(&t.calls, profile, request->event, &request->fold, reterr);
        if (status != PT_OK) return status;
        pt_calls_tree(&t.calls, &merged, &t.nodes, &t.call_node);
        lay_out(&t);
        *ret_tree = t;
        return PT_OK;
    }
    status = pt_fold_init(&t.fold, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    status = pt_calltree_init(&t.nodes, &t.fold, &merged, reterr);
    if (status != PT_OK) {
        pt_fold_done(&t.fold);
        return status;
    }
    lay_out(&t);
    status = add_parts(&t, profile, &merged, reterr);
    if (status == PT_OK)
        *ret_tree = t;
    else
        pt_tree_done(&t);
    return status;
}

void pt_tree_done(pt_tree *tree)
{
    for (size_t k = 0; k < tree->part_count; k++)
        pt_calltree_done(&tree->part[k]);
    for (uint32_t i = 0; i < tree->fold.count; i++)
        free(tree->name_text[i]);
    PT_FREE_ALL(tree->name_text, tree->indent, tree->call_node);
    pt_calltree_done(&tree->nodes);
    pt_calls_done(&tree->calls);
    pt_fold_done(&tree->fold);
    *tree = (pt_tree){0};
}
