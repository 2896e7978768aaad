/* between.c: see between.h. */
#include "capture/between.h"

#include <stdlib.h>
#include <string.h>

#include "capture/unwind_sample.h"

void pt_between_done(pt_between *b)
{
    for (size_t i = 0; i < b->held.count; i++)
        free((uint64_t *)b->held.items[i].pcs);
    free(b->held.items);
    *b = (pt_between){0};
}

bool pt_between_might_be(const pt_sink_sample *s, const pt_perf_sample *raw)
{
    return s->kernel_count > 0 && s->count == s->kernel_count + 1 && raw->stack_bytes == 0 &&
           pt_sample_is_in_call(raw);
}

bool pt_between_hold(pt_between *b, const pt_sink_sample *sample)
{
    if (b->held.count == PT_BETWEEN_MAX) return false;
    uint64_t *const pcs = pt_alloc(sample->count, sizeof *pcs);
    memcpy(pcs, sample->pcs, sample->count * sizeof *pcs);
    PT_GROW(b->held, b->held.count + 1);
    b->held.items[b->held.count] = *sample;
    b->held.items[b->held.count++].pcs = pcs;
    return true;
}

static void give(pt_sink *sink, pt_sink_sample *s, bool is_exec)
{
    if (is_exec) {
        s->count = s->kernel_count;
        s->end = PT_STACK_END_ROOT;
    }
    pt_sink_add(sink, s);
    free((uint64_t *)s->pcs);
}

uint64_t pt_between_release(pt_between *b, pt_sink *sink, uint32_t tid, bool is_exec)
{
    uint64_t weight = 0;
    for (size_t i = 0; i < b->held.count;) {
        pt_sink_sample *const at = &b->held.items[i];
        if (at->tid != tid) {
            i++;
            continue;
        }
        pt_sink_sample sample = *at;
        memmove(at, at + 1, (--b->held.count - i) * sizeof *at);
        weight += (uint64_t)sample.values[0];
        give(sink, &sample, is_exec);
    }
    return weight;
}

void pt_between_end(pt_between *b, pt_sink *sink)
{
    while (b->held.count > 0)
        pt_between_release(b, sink, b->held.items[0].tid, false);
}
