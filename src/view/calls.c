/* calls.c: see calls.h. */
#include "view/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "model/sums.h"

/* The key of a function: its row of the fold and its mapped file. */
typedef struct {
    uint32_t row, file; /* file: a string */
} function_key;

typedef struct {
    const pt_profile *profile;
    pt_calls *calls;
    size_t function_cap, call_cap;
    PT_VECTOR(function_key) key;
    uint32_t *of_location; /* per location: its function; PT_NONE: not searched yet */
    pt_index functions, pairs;
} gathering;

static uint32_t function_at(gathering *g, uint32_t location)
{
    if (location == PT_NONE || g->of_location[location] != PT_NONE)
        return location == PT_NONE ? PT_NONE : g->of_location[location];
    const pt_profile *const p = g->profile;
    const uint32_t mapping = p->location->mapping[location];
    const function_key key = {.row = g->calls->fold.of_location[location],
                              .file = mapping == PT_NONE ? 0 : p->mapping->row[mapping].file};
    const uint64_t hash = pt_hash_u32_pair(key.row, key.file);
    PT_INDEX_EACH (&g->functions, hash, f) {
        const function_key *const other = &g->key.items[f];
        if (other->row == key.row && other->file == key.file) return g->of_location[location] = f;
    }
    pt_calls *const calls = g->calls;
    const uint32_t f = calls->count++;
    calls->function =
        pt_grow(calls->function, &g->function_cap, calls->count, sizeof *calls->function);
    calls->function[f] =
        (pt_calls_function){.name = pt_fold_text(&g->calls->fold, key.row),
                            .file = pt_fold_file_at(&g->calls->fold, key.row, location),
                            .row = key.row};
    PT_PUSH(g->key, key);
    pt_index_add(&g->functions, hash, f);
    return g->of_location[location] = f;
}

static pt_call *call_between(gathering *g, uint32_t from, uint32_t to)
{
    pt_calls *const calls = g->calls;
    const uint64_t hash = pt_hash_u32_pair(from, to);
    const uint32_t known =
        PT_INDEX_FIND(&g->pairs, hash, c, calls->call[c].from == from && calls->call[c].to == to);
    if (known != PT_NONE) return &calls->call[known];
    const uint32_t c = calls->call_count++;
    calls->call = pt_grow(calls->call, &g->call_cap, calls->call_count, sizeof *calls->call);
    calls->call[c] = (pt_call){.from = from, .to = to};
    pt_index_add(&g->pairs, hash, c);
    return &calls->call[c];
}

static void gather_calls(gathering *g, uint32_t event)
{
    const pt_arcs *const arcs = g->profile->arc;
    pt_calls *const calls = g->calls;
    const int64_t *const cost = event < arcs->event_count ? arcs->cost[event] : NULL;
    calls->has_cost = cost != NULL;
    for (uint32_t i = 0; i < arcs->t.count; i++) {
        const uint32_t from = function_at(g, arcs->from[i]), to = function_at(g, arcs->to[i]);
        if (to == PT_NONE) continue;
        pt_calls_function *const callee = &calls->function[to];
        if (from == to) {
            callee->itself = pt_saturating_count(callee->itself, arcs->calls[i]);
            continue;
        }
        callee->called = pt_saturating_count(callee->called, arcs->calls[i]);
        if (cost != NULL) callee->total = pt_saturating_add(callee->total, cost[i]);
        if (from == PT_NONE) continue;
        pt_call *const call = call_between(g, from, to);
        call->calls = pt_saturating_count(call->calls, arcs->calls[i]);
        if (cost != NULL) call->cost = pt_saturating_add(call->cost, cost[i]);
    }
}

static void gather_self(gathering *g, uint32_t event)
{
    const pt_profile *const p = g->profile;
    const int64_t *const value = pt_profile_stack_values(p, event);
    for (uint32_t s = 0; s < p->stack->t.count; s++) {
        if (value[s] == 0 || pt_stack_depth(p, s) == 0) continue;
        const uint32_t function = function_at(g, pt_stack_frames(p, s)[0]);
        pt_calls_function *const f = &g->calls->function[function];
        f->self = pt_saturating_add(f->self, value[s]);
    }
}

/* ---- Lists ---- */

static int by_weight(const void *left, const void *right, void *context)
{
    const pt_calls *const calls = context;
    const pt_call *const a = left, *const b = right;
    return pt_compare_magnitudes(a->cost, b->cost) ?: PT_DOWN(calls)
               ?: strcmp(calls->function[a->to].name, calls->function[b->to].name)
               ?: strcmp(calls->function[a->from].name, calls->function[b->from].name)
               ?: PT_UP(to) ?: PT_UP(from);
}

/* Sorts all calls by weight, and lists the calls to and from each function in that order. */
static void list_calls(pt_calls *calls)
{
    const uint32_t n = calls->call_count;
    calls->in = pt_alloc((size_t)n + 1, sizeof *calls->in);
    calls->out = pt_alloc((size_t)n + 1, sizeof *calls->out);
    if (n > 0) qsort_r(calls->call, n, sizeof *calls->call, by_weight, calls);
    for (uint32_t c = 0; c < n; c++) {
        calls->function[calls->call[c].from].out_count++;
        calls->function[calls->call[c].to].in_count++;
    }
    uint32_t in = 0, out = 0;
    for (uint32_t f = 0; f < calls->count; f++) {
        pt_calls_function *const function = &calls->function[f];
        function->in_first = in;
        function->out_first = out;
        in += function->in_count;
        out += function->out_count;
        function->in_count = function->out_count = 0;
    }
    for (uint32_t c = 0; c < n; c++) {
        pt_calls_function *const from = &calls->function[calls->call[c].from];
        pt_calls_function *const to = &calls->function[calls->call[c].to];
        calls->out[from->out_first + from->out_count++] = c;
        calls->in[to->in_first + to->in_count++] = c;
    }
}

/* Sets the total of each function without callers: the function's self plus the costs of its
 * calls. */
static void total_roots(pt_calls *calls)
{
    for (uint32_t f = 0; f < calls->count; f++) {
        pt_calls_function *const function = &calls->function[f];
        if (function->in_count > 0 || function->called > 0) continue;
        function->total = function->self;
        for (uint32_t i = 0; i < function->out_count; i++)
            function->total = pt_saturating_add(
                function->total, calls->call[calls->out[function->out_first + i]].cost);
    }
}

/* Appends the base name of the mapped file to each name that several functions share. */
static void append_files(gathering *g)
{
    PT_FREE uint32_t *seen = pt_alloc((size_t)g->calls->fold.count + 1, sizeof *seen);
    for (size_t f = 0; f < g->key.count; f++)
        seen[g->key.items[f].row]++;
    for (size_t f = 0; f < g->key.count; f++) {
        const function_key *const key = &g->key.items[f];
        if (seen[key->row] < 2 || key->file == 0 || pt_fold_is_unnamed(&g->calls->fold, key->row))
            continue;
        const char *const file = pt_base_name(pt_text(g->profile, key->file));
        char **const name = &g->calls->function[f].name;
        char *const longer = pt_strf("%s [%s]", *name, file);
        free(*name);
        *name = longer;
    }
}

pt_status pt_calls_init(pt_calls *ret_calls, const pt_profile *profile, uint32_t event,
                        const pt_fold_rule *rule, pt_error *reterr)
{
    *ret_calls = (pt_calls){0};
    gathering g = {.profile = profile, .calls = ret_calls};
    pt_fold_rule outermost = *rule;
    outermost.no_inlines = true;
    const pt_status status = pt_fold_init(&ret_calls->fold, profile, &outermost, reterr);
    if (status != PT_OK) return status;
    const uint32_t locations = profile->location->t.count;
    g.of_location = pt_alloc((size_t)locations + 1, sizeof *g.of_location);
    memset(g.of_location, 0xff, locations * sizeof *g.of_location);
    pt_index_init(&g.functions);
    pt_index_init(&g.pairs);
    gather_self(&g, event);
    gather_calls(&g, event);
    append_files(&g);
    list_calls(ret_calls);
    if (ret_calls->has_cost) total_roots(ret_calls);
    pt_index_done(&g.functions);
    pt_index_done(&g.pairs);
    PT_FREE_ALL(g.key.items, g.of_location);
    return PT_OK;
}

void pt_calls_done(pt_calls *calls)
{
    for (uint32_t f = 0; f < calls->count; f++)
        free(calls->function[f].name);
    pt_fold_done(&calls->fold);
    PT_FREE_ALL(calls->function, calls->call, calls->in, calls->out);
    *calls = (pt_calls){0};
}

/* ---- As a tree ---- */

/* A heap of calls that are to be followed. The smallest index, which is the heaviest call, is on
 * top. */
typedef struct {
    uint32_t *items;
    size_t count;
} heap;

static void heap_push(heap *h, uint32_t call)
{
    size_t at = h->count++;
    for (; at > 0 && h->items[(at - 1) / 2] > call; at = (at - 1) / 2)
        h->items[at] = h->items[(at - 1) / 2];
    h->items[at] = call;
}

static uint32_t heap_pop(heap *h)
{
    const uint32_t top = h->items[0], last = h->items[--h->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < h->count; at = child) {
        if (child + 1 < h->count && h->items[child + 1] < h->items[child]) child++;
        if (h->items[child] >= last) break;
        h->items[at] = h->items[child];
    }
    h->items[at] = last;
    return top;
}

static int by_root(const void *left, const void *right, void *context)
{
    const pt_calls *const calls = context;
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const pt_calls_function *const a = &calls->function[i], *const b = &calls->function[k];
    return PT_UP(in_count > 0) ?: pt_compare_magnitudes(a->total, b->total)
               ?: PT_DOWN(out_count > 0) ?: pt_compare_magnitudes(a->self, b->self)
               ?: PT_TEXT_UP(name) ?: PT_COMPARE(i, k);
}

static void reach_from(const pt_calls *calls, uint32_t function, bool *reached, heap *h)
{
    const pt_calls_function *const f = &calls->function[function];
    reached[function] = true;
    for (uint32_t i = 0; i < f->out_count; i++)
        heap_push(h, calls->out[f->out_first + i]);
}

uint32_t *pt_calls_hang(const pt_calls *calls, uint32_t **ret_root, uint32_t *ret_root_count)
{
    const uint32_t n = calls->count;
    uint32_t *const by = pt_alloc((size_t)n + 1, sizeof *by);
    uint32_t *const root = pt_alloc((size_t)n + 1, sizeof *root);
    PT_FREE uint32_t *order = pt_alloc((size_t)n + 1, sizeof *order);
    PT_FREE bool *reached = pt_alloc((size_t)n + 1, sizeof *reached);
    heap h = {.items = pt_alloc((size_t)calls->call_count + 1, sizeof *h.items)};
    for (uint32_t f = 0; f < n; f++) {
        order[f] = f;
        by[f] = PT_NONE;
    }
    qsort_r(order, n, sizeof *order, by_root, (void *)calls);
    uint32_t roots = 0, next = 0;
    for (; next < n && calls->function[order[next]].in_count == 0; next++)
        reach_from(calls, root[roots++] = order[next], reached, &h);
    while (h.count > 0 || next < n) {
        if (h.count == 0) { /* only cycles without a caller from outside are left */
            const uint32_t f = order[next++];
            if (!reached[f]) reach_from(calls, root[roots++] = f, reached, &h);
            continue;
        }
        const uint32_t c = heap_pop(&h);
        const uint32_t to = calls->call[c].to;
        if (reached[to]) continue;
        by[to] = c;
        reach_from(calls, to, reached, &h);
    }
    free(h.items);
    *ret_root = root;
    *ret_root_count = roots;
    return by;
}
