/* tree.c: nodes of the merged call tree become rows; the tree's order is already the shown one. */
#include "view/tree.h"

#include <math.h>
#include <stdlib.h>

#include "view/table.h"

static const char *file_of(const pt_names *names, uint32_t name, uint32_t location)
{
    const pt_profile *p = names->profile;
    if (pt_names_is_unnamed(names, name)) {
        const uint32_t mapping = p->location->mapping[location];
        return mapping == PT_NONE ? "" : pt_text(p, p->mapping->row[mapping].file);
    }
    const uint32_t first = p->location->line_first[location];
    const uint32_t end = p->location->line_first[location + 1];
    for (uint32_t line = first; line < end; line++) {
        const uint32_t function = p->line->function[line];
        if (function != PT_NONE && p->function->name[function] == names->string[name])
            return pt_text(p, p->function->file[function]);
    }
    return "";
}

/* The text of a name, made when it is first asked for. */
static const char *text_of(pt_tree *shown, const pt_names *names, uint32_t name)
{
    char **text = &shown->name_text[name];
    if (*text == NULL) *text = pt_names_text(names, name);
    return *text;
}

/* Folded siblings that even together are too light for a row. */
static bool is_left_out(const pt_calltree *tree, uint32_t node, const pt_calltree_request *request)
{
    return tree->folded[node] > 0 && pt_magnitude(tree->total[node]) < request->min_weight;
}

/* A folded node stands behind its siblings, so that only it can follow unseen. */
static bool is_last(const pt_calltree *tree, uint32_t node, const pt_calltree_request *request)
{
    const uint32_t next = tree->end[node], end = tree->end[tree->parent[node]];
    return next == end || is_left_out(tree, next, request);
}

/* Outermost functions are each the beginning of a line of their own. */
static bool is_only(const pt_calltree *tree, uint32_t node, const pt_calltree_request *request)
{
    const uint32_t parent = tree->parent[node];
    return parent != 0 && node == parent + 1 && is_last(tree, node, request);
}

static pt_tree_row row_of(pt_tree *shown, const pt_names *names, const pt_calltree *tree,
                          uint32_t node, const pt_calltree_request *request, int64_t whole)
{
    const bool folded = tree->folded[node] > 0;
    const uint32_t name = tree->name[node];
    return (pt_tree_row){
        .name = folded ? "" : text_of(shown, names, name),
        .file = folded ? "" : file_of(names, name, tree->location[node]),
        .depth = tree->depth[node],
        .folded = tree->folded[node],
        .self = tree->self[node],
        .total = tree->total[node],
        .self_share = pt_share(tree->self[node], whole),
        .total_share = pt_share(tree->total[node], whole),
        .inlined = tree->inlined[node],
        .last = is_last(tree, node, request),
        .only = is_only(tree, node, request),
    };
}

/* The least weight that is not folded: ceil(share * whole). */
static uint64_t min_weight_of(const pt_tree_request *request)
{
    const double least = ceil(request->min_share * (double)pt_magnitude(request->whole));
    return least <= 0 ? 0 : least >= 9e18 ? UINT64_C(9000000000000000000) : (uint64_t)least;
}

static void fill_rows(pt_tree *shown, const pt_names *names, const pt_calltree *tree,
                      const pt_calltree_request *request, int64_t whole)
{
    *shown = (pt_tree){
        .row = pt_alloc(tree->count, sizeof *shown->row),
        .name_count = names->count,
        .name_text = pt_alloc(names->count, sizeof *shown->name_text),
        .rootless = tree->self[0],
    };
    PT_FREE uint32_t *indent = pt_alloc(tree->count, sizeof *indent);
    for (uint32_t i = 1; i < tree->count; i++) {
        if (is_left_out(tree, i, request)) {
            shown->left_out += tree->folded[i];
            continue;
        }
        pt_tree_row *row = &shown->row[shown->count++];
        *row = row_of(shown, names, tree, i, request, whole);
        const uint32_t parent = tree->parent[i];
        row->indent = indent[i] = parent == 0 ? 0 : indent[parent] + !row->only;
    }
}

pt_status pt_tree_init(pt_tree *ret_tree, const pt_profile *profile, const pt_tree_request *request,
                       pt_error *reterr)
{
    pt_names names;
    pt_status status = pt_names_init(&names, profile, request->unnamed, reterr);
    if (status != PT_OK) return status;
    const pt_calltree_request merged = {
        .event = request->event,
        .min_weight = min_weight_of(request),
        .max_depth = request->max_depth,
    };
    pt_calltree tree;
    status = pt_calltree_init(&tree, &names, &merged, reterr);
    if (status == PT_OK) {
        fill_rows(ret_tree, &names, &tree, &merged, request->whole);
        pt_calltree_done(&tree);
    }
    pt_names_done(&names);
    return status;
}

void pt_tree_done(pt_tree *tree)
{
    for (size_t i = 0; i < tree->name_count; i++)
        free(tree->name_text[i]);
    free(tree->name_text);
    free(tree->row);
    *tree = (pt_tree){0};
}
