/* traces.c: sums up samples by the rows of their stacks, and sorts them. The rows of a stack are
 * compared with the rows of other stacks once for each distinct stack and label set. */
#include "view/traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "view/table.h"

typedef struct {
    const pt_profile *profile;
    const pt_fold *fold;
    pt_trace *items;
    size_t count, cap;
    pt_index index;
    uint32_t *trace_of_stack; /* the trace of the stack in the last label set; PT_NONE = none */
} tracing;

/* Walks a stack row by row, innermost first. */
typedef struct {
    const pt_profile *profile;
    const pt_fold *fold;
    uint32_t stack, frame, in_frame;
} walk;

static uint32_t next_row(walk *w)
{
    if (w->frame == pt_stack_depth(w->profile, w->stack)) return PT_NONE;
    uint32_t one, count;
    const uint32_t *rows =
        pt_fold_rows(w->fold, pt_stack_frames(w->profile, w->stack)[w->frame], &one, &count);
    const uint32_t row = rows[w->in_frame++];
    if (w->in_frame == count) {
        w->in_frame = 0;
        w->frame++;
    }
    return row;
}

static bool read_alike(const tracing *t, uint32_t a, uint32_t b)
{
    walk x = {t->profile, t->fold, a, 0, 0}, y = {t->profile, t->fold, b, 0, 0};
    for (;;) {
        const uint32_t p = next_row(&x), q = next_row(&y);
        if (p != q) return false;
        if (p == PT_NONE) return true;
    }
}

static uint64_t hash_of(const tracing *t, uint32_t stack, uint32_t labels)
{
    uint64_t h = labels;
    walk w = {t->profile, t->fold, stack, 0, 0};
    for (uint32_t p = next_row(&w); p != PT_NONE; p = next_row(&w))
        h = pt_hash_mix(h, p);
    return h;
}

static uint32_t find_trace(tracing *t, uint32_t stack, uint32_t labels)
{
    uint32_t *last = &t->trace_of_stack[stack];
    if (*last != PT_NONE && t->items[*last].labels == labels) return *last;
    const uint64_t hash = hash_of(t, stack, labels);
    const uint32_t known =
        PT_INDEX_FIND(&t->index, hash, id,
                      t->items[id].labels == labels && read_alike(t, t->items[id].stack, stack));
    if (known != PT_NONE) return *last = known;
    PT_GROW(*t, t->count + 1);
    t->items[t->count] = (pt_trace){.stack = stack, .labels = labels};
    pt_index_add(&t->index, hash, (uint32_t)t->count);
    return *last = (uint32_t)t->count++;
}

static void add_samples(tracing *t, const pt_traces_request *request)
{
    const pt_samples *samples = t->profile->sample;
    for (uint32_t i = 0; i < samples->t.count; i++) {
        const uint32_t stack = samples->stack[i];
        const int64_t value = samples->value[request->event][i];
        if (value == 0 || pt_stack_depth(t->profile, stack) == 0) continue;
        const uint32_t id = find_trace(t, stack, request->labels ? samples->labels[i] : 0);
        pt_trace *trace = &t->items[id];
        trace->records++;
        pt_saturating_into(&trace->value, value);
    }
}

/* Orders traces: the heaviest first; equally heavy traces by stack and labels. */
PT_ORDER(compare_traces, pt_trace, pt_compare_magnitudes(a->value, b->value) ?: PT_UP(stack)
         ?: PT_UP(labels));

pt_status pt_traces_init(pt_traces *ret_traces, const pt_profile *profile,
                         const pt_traces_request *request, pt_error *reterr)
{
    pt_traces traces = {.profile = profile};
    const pt_status status = pt_fold_init(&traces.fold, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    tracing t = {.profile = profile, .fold = &traces.fold};
    t.trace_of_stack = pt_alloc(profile->stack->t.count, sizeof *t.trace_of_stack);
    memset(t.trace_of_stack, 0xff, profile->stack->t.count * sizeof *t.trace_of_stack);
    pt_index_init(&t.index);
    add_samples(&t, request);
    PT_SORT(t, compare_traces);
    for (size_t i = 0; i < t.count; i++) {
        t.items[i].share = pt_share(t.items[i].value, request->whole);
        if (request->limit > 0 && i >= request->limit) traces.more_share += t.items[i].share;
    }
    traces.trace = t.items;
    traces.count = request->limit > 0 && request->limit < t.count ? request->limit : t.count;
    traces.more = t.count - traces.count;
    pt_index_done(&t.index);
    free(t.trace_of_stack);
    *ret_traces = traces;
    return PT_OK;
}

void pt_traces_done(pt_traces *traces)
{
    pt_fold_done(&traces->fold);
    free(traces->trace);
    *traces = (pt_traces){0};
}
