/* peek.c: see peek.h. */
#include "view/peek.h"

#include <stdlib.h>
#include <string.h>

#include "view/table.h"

static pt_peek_other *others_of(const pt_graph *g, const uint32_t *edges, uint32_t edge_count,
                                bool callers, size_t limit, int64_t total, size_t *ret_count,
                                size_t *ret_more)
{
    const size_t count = limit > 0 && limit < edge_count ? limit : edge_count;
    pt_peek_other *other = pt_alloc(count, sizeof *other);
    for (size_t i = 0; i < count; i++) {
        const pt_graph_edge *edge = &g->edge[edges[i]];
        other[i] = (pt_peek_other){
            .name = g->node[callers ? edge->from : edge->to].text,
            .value = edge->weight,
            .share = pt_share(edge->weight, total),
            .inlined = edge->inlined,
        };
    }
    *ret_count = count;
    *ret_more = edge_count - count;
    return other;
}

static pt_peek_function function_of(const pt_graph *g, const pt_peek_request *request,
                                    const pt_graph_node *node)
{
    pt_peek_function f = {
        .name = node->text,
        .self = node->flat,
        .total = node->cum,
        .self_share = pt_share(node->flat, request->whole),
        .total_share = pt_share(node->cum, request->whole),
        .rootless_share = 1,
    };
    f.caller = others_of(g, node->in, node->in_count, true, request->other_limit, node->cum,
                         &f.caller_count, &f.more_callers);
    f.callee = others_of(g, node->out, node->out_count, false, request->other_limit, node->cum,
                         &f.callee_count, &f.more_callees);
    for (uint32_t i = 0; i < node->in_count; i++)
        f.rootless_share -= pt_share(g->edge[node->in[i]].weight, node->cum);
    if (f.rootless_share < 1e-9) f.rootless_share = 0;
    return f;
}

/* The functions to show. */
typedef struct {
    bool *found;  /* found by name: a flag for each row of the fold; NULL = no row */
    bool by_text; /* also compare the name with the names of functions of arcs, which may be
                   * longer */
} choice;

static pt_status is_chosen(const choice *c, const pt_peek_request *request, uint32_t row,
                           const char *text, bool *ret_match, pt_error *reterr)
{
    *ret_match = c->by_text ? strcmp(text, request->name) == 0 : c->found ? c->found[row] : false;
    if (c->by_text || c->found != NULL || request->pattern == NULL) return PT_OK;
    return pt_regex_match(request->pattern, text, strlen(text), ret_match, reterr);
}

static pt_status judge_count(const pt_peek *peek, const pt_peek_request *request, pt_error *reterr)
{
    return peek->count > 0
               ? PT_OK
               : pt_error_set(reterr, PT_ERR_NOTFOUND, "no function matches '%s'", request->name);
}

static pt_status find_functions(void *context, const pt_graph *g, bool *chosen, pt_error *reterr)
{
    const pt_peek_request *const request = context;
    const choice c = {.found = request->name != NULL ? pt_graph_find(g, request->name) : NULL};
    pt_status status = PT_OK;
    for (uint32_t i = 0; i < g->listed_count && status == PT_OK; i++) {
        const uint32_t n = g->listed[i];
        const pt_graph_node *const node = &g->node[n];
        status = is_chosen(&c, request, pt_graph_row(g, node), node->text, &chosen[n], reterr);
    }
    free(c.found);
    return status;
}

static pt_status find_shared_names(void *context, const pt_graph *g, bool *chosen, pt_error *reterr)
{
    (void)reterr;
    const pt_peek_shared *const shared = context;
    for (const char *const *name = shared->names; *name != NULL; name++) {
        PT_FREE bool *found = pt_graph_find(g, *name);
        for (uint32_t i = 0; i < g->listed_count && found != NULL; i++)
            chosen[g->listed[i]] |= found[pt_graph_row(g, &g->node[g->listed[i]])];
    }
    return PT_OK;
}

static bool is_shared_name(const pt_peek_request *request)
{
    if (request->shared == NULL || request->name == NULL) return false;
    for (const char *const *name = request->shared->names; *name != NULL; name++)
        if (strcmp(*name, request->name) == 0) return true;
    return false;
}

static bool is_same_fold(const pt_fold_rule *a, const pt_fold_rule *b)
{
    return a->by == b->by && a->unnamed == b->unnamed && a->no_inlines == b->no_inlines &&
           a->columns == b->columns && a->object_names == b->object_names && !a->pprof &&
           !b->pprof; /* the fields that only pprof's rules use are not compared */
}

void pt_peek_shared_done(pt_peek_shared *shared)
{
    pt_graph_done(&shared->graph);
    if (shared->profile != NULL) pt_profile_unref(shared->profile);
    shared->profile = NULL;
}

/* Makes the shared graph, unless the existing one is of the same samples. */
static pt_status make_shared(pt_peek_shared *shared, const pt_profile *profile,
                             const pt_peek_request *request, pt_error *reterr)
{
    if (shared->profile == profile && shared->event == request->event &&
        is_same_fold(&shared->fold, &request->fold))
        return PT_OK;
    pt_peek_shared_done(shared);
    const pt_graph_request all = {.event = request->event,
                                  .fold = request->fold,
                                  .by_cum = true,
                                  .edges = PT_EDGES_ALL,
                                  .choose = find_shared_names,
                                  .choose_context = shared,
                                  .unit = "auto"};
    const pt_status status = pt_graph_init(&shared->graph, profile, &all, reterr);
    if (status != PT_OK) return status;
    shared->profile = pt_profile_ref(profile);
    shared->event = request->event;
    shared->fold = request->fold;
    return PT_OK;
}

/* Like peek_of_stacks, but uses the shared graph, which also lists the functions of other peeks. */
static pt_status peek_of_shared(pt_peek *peek, const pt_profile *profile,
                                const pt_peek_request *request, pt_error *reterr)
{
    const pt_graph *const g = &request->shared->graph;
    const pt_status status = make_shared(request->shared, profile, request, reterr);
    if (status != PT_OK) return status;
    PT_FREE bool *found = pt_graph_find(g, request->name);
    peek->function = pt_alloc((size_t)g->listed_count + 1, sizeof *peek->function);
    for (uint32_t i = 0; i < g->listed_count && found != NULL; i++) {
        const pt_graph_node *const node = &g->node[g->listed[i]];
        if (!found[pt_graph_row(g, node)]) continue;
        if (request->limit > 0 && peek->count == request->limit)
            peek->more++;
        else
            peek->function[peek->count++] = function_of(g, request, node);
    }
    return judge_count(peek, request, reterr);
}

static pt_status peek_of_stacks(pt_peek *peek, const pt_profile *profile,
                                const pt_peek_request *request, pt_error *reterr)
{
    pt_graph *const g = &peek->graph;
    const pt_graph_request chosen = {.event = request->event,
                                     .fold = request->fold,
                                     .by_cum = true,
                                     .edges = PT_EDGES_ALL,
                                     .choose = find_functions,
                                     .choose_context = (void *)request,
                                     .choose_limit = request->limit,
                                     .unit = "auto"};
    const pt_status status = pt_graph_init(g, profile, &chosen, reterr);
    if (status != PT_OK) return status;
    peek->function = pt_alloc((size_t)g->listed_count + 1, sizeof *peek->function);
    for (; peek->count < g->listed_count; peek->count++)
        peek->function[peek->count] = function_of(g, request, &g->node[g->listed[peek->count]]);
    peek->more = g->chosen_more;
    return judge_count(peek, request, reterr);
}

/* ---- Of arcs ---- */

static pt_peek_other *others_of_calls(const pt_calls *c, const uint32_t *list, uint32_t list_count,
                                      bool callers, size_t limit, int64_t total, size_t *ret_count,
                                      size_t *ret_more)
{
    const size_t count = limit > 0 && limit < list_count ? limit : list_count;
    pt_peek_other *other = pt_alloc(count, sizeof *other);
    for (size_t i = 0; i < count; i++) {
        const pt_call *call = &c->call[list[i]];
        other[i] = (pt_peek_other){
            .name = c->function[callers ? call->from : call->to].name,
            .value = call->cost,
            .share = pt_share(call->cost, total),
            .calls = call->calls,
        };
    }
    *ret_count = count;
    *ret_more = list_count - count;
    return other;
}

static pt_peek_function function_of_calls(const pt_calls *c, const pt_peek_request *request,
                                          const pt_calls_function *from)
{
    pt_peek_function f = {
        .name = from->name,
        .self = from->self,
        .total = from->total,
        .self_share = pt_share(from->self, request->whole),
        .total_share = pt_share(from->total, request->whole),
        .called = from->called,
        .itself = from->itself,
    };
    f.caller = others_of_calls(c, c->in + from->in_first, from->in_count, true,
                               request->other_limit, from->total, &f.caller_count, &f.more_callers);
    f.callee = others_of_calls(c, c->out + from->out_first, from->out_count, false,
                               request->other_limit, from->total, &f.callee_count, &f.more_callees);
    return f;
}

static int by_total(const void *left, const void *right, void *context)
{
    const pt_calls *const calls = context;
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const pt_calls_function *const a = &calls->function[i], *const b = &calls->function[k];
    return pt_compare_magnitudes(a->total, b->total) ?: pt_compare_magnitudes(a->self, b->self)
               ?: PT_DOWN(called) ?: PT_TEXT_UP(name) ?: PT_COMPARE(i, k);
}

static pt_status choose_of_calls(pt_peek *peek, const pt_peek_request *request, pt_error *reterr)
{
    const pt_calls *const c = &peek->calls;
    peek->function = pt_alloc(c->count, sizeof *peek->function);
    PT_FREE uint32_t *order = pt_alloc_numbers(c->count);
    qsort_r(order, c->count, sizeof *order, by_total, (void *)c);
    choice chosen = {0};
    for (uint32_t f = 0; f < c->count && request->name != NULL; f++)
        chosen.by_text |= strcmp(c->function[f].name, request->name) == 0;
    PT_FREE bool *shown = pt_alloc((size_t)c->fold.count + 1, sizeof *shown);
    for (uint32_t f = 0; f < c->count; f++)
        shown[c->function[f].row] = true;
    if (request->name != NULL && !chosen.by_text)
        chosen.found = pt_fold_find(&c->fold, request->name, shown);
    pt_status status = PT_OK;
    for (uint32_t i = 0; i < c->count && status == PT_OK; i++) {
        const pt_calls_function *const f = &c->function[order[i]];
        bool match = false;
        status = is_chosen(&chosen, request, f->row, f->name, &match, reterr);
        if (status != PT_OK || !match) continue;
        if (request->limit > 0 && peek->count == request->limit)
            peek->more++;
        else
            peek->function[peek->count++] = function_of_calls(c, request, f);
    }
    free(chosen.found);
    return status != PT_OK ? status : judge_count(peek, request, reterr);
}

pt_status pt_peek_init(pt_peek *ret_peek, const pt_profile *profile, const pt_peek_request *request,
                       pt_error *reterr)
{
    pt_peek peek = {.from_calls = request->from_calls, .total_known = true};
    pt_status status;
    if (request->from_calls) {
        status = pt_calls_init(&peek.calls, profile, request->event, &request->fold, reterr);
        if (status != PT_OK) return status;
        peek.total_known = peek.calls.has_cost;
        status = choose_of_calls(&peek, request, reterr);
    } else {
        status = is_shared_name(request) ? peek_of_shared(&peek, profile, request, reterr)
                                         : peek_of_stacks(&peek, profile, request, reterr);
    }
    if (status == PT_OK)
        *ret_peek = peek;
    else
        pt_peek_done(&peek);
    return status;
}

void pt_peek_done(pt_peek *peek)
{
    for (size_t i = 0; i < peek->count; i++)
        PT_FREE_ALL(peek->function[i].caller, peek->function[i].callee);
    free(peek->function);
    pt_graph_done(&peek->graph);
    pt_calls_done(&peek->calls);
    *peek = (pt_peek){0};
}
