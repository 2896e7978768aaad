/* hidden.c: finds the samples whose stacks have gaps in a cut graph. */
#include "view/hidden.h"

#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"

/* Listed nodes by their texts. */
typedef struct {
    const pt_graph *graph;
    pt_index index;
} listed_texts;

static bool is_listed(const listed_texts *l, const char *text)
{
    const uint64_t hash = pt_hash_bytes(text, strlen(text));
    return PT_INDEX_FIND(&l->index, hash, i,
                         strcmp(l->graph->node[l->graph->listed[i]].text, text) == 0) != PT_NONE;
}

/* For each place: does it belong to a listed node? The caller frees the array. */
static bool *listed_places(const pt_graph *graph, const pt_fold *places)
{
    listed_texts l = {.graph = graph};
    pt_index_init(&l.index);
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const char *text = graph->node[graph->listed[i]].text;
        if (!is_listed(&l, text)) pt_index_add(&l.index, pt_hash_bytes(text, strlen(text)), i);
    }
    bool *listed = pt_alloc((size_t)places->count + 1, sizeof *listed);
    for (uint32_t i = 0; i < places->count; i++) {
        PT_FREE char *text = pt_fold_text(places, i);
        listed[i] = is_listed(&l, text);
    }
    pt_index_done(&l.index);
    return listed;
}

/* Has the stack an unlisted frame that is called, directly or not, by a listed frame? */
static bool has_gap(const pt_profile *p, uint32_t stack, const pt_fold *places, const bool *listed)
{
    bool inside = false;
    const uint32_t *frames = pt_stack_frames(p, stack);
    for (uint32_t k = pt_stack_depth(p, stack); k-- > 0;) {
        uint32_t one, count;
        const uint32_t *at = pt_fold_rows(places, frames[k], &one, &count);
        for (uint32_t i = count; i-- > 0;) {
            if (inside && !listed[at[i]]) return true;
            inside |= listed[at[i]];
        }
    }
    return false;
}

pt_status pt_graph_hidden(const pt_graph *graph, const pt_profile *profile,
                          const pt_graph_request *request, int64_t *ret_value, pt_error *reterr)
{
    pt_fold places;
    const pt_status status = pt_fold_init(&places, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    PT_FREE bool *listed = listed_places(graph, &places);
    PT_FREE uint8_t *gap = pt_alloc((size_t)profile->stack->t.count + 1, 1); /* 1 no, 2 yes */
    const int64_t *values = profile->sample->value[request->event];
    int64_t sum = 0;
    for (uint32_t i = 0; i < profile->sample->t.count; i++) {
        const uint32_t stack = profile->sample->stack[i];
        if (gap[stack] == 0) gap[stack] = has_gap(profile, stack, &places, listed) ? 2 : 1;
        if (gap[stack] == 2) sum = pt_saturating_add(sum, values[i] < 0 ? -values[i] : values[i]);
    }
    pt_fold_done(&places);
    *ret_value = sum;
    return PT_OK;
}

bool pt_graph_has_residual(const pt_graph *graph)
{
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const pt_graph_node *node = &graph->node[graph->listed[i]];
        for (uint32_t k = 0; k < node->out_count; k++)
            if (graph->edge[node->out[k]].residual) return true;
    }
    return false;
}
