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

/* Sends a held sample to the sink and removes it. Returns the weight that became complete. */
static uint64_t send_row(pt_between *b, size_t row, pt_sink *sink, bool is_exec)
{
    pt_sink_sample *const at = &b->held.items[row];
    pt_sink_sample sample = *at;
    memmove(at, at + 1, (--b->held.count - row) * sizeof *at);
    const bool was_whole = sample.end == PT_STACK_END_ROOT;
    if (is_exec) {
        sample.count = sample.kernel_count;
        sample.end = PT_STACK_END_ROOT;
    }
    pt_sink_add(sink, &sample);
    free((uint64_t *)sample.pcs);
    return is_exec && !was_whole ? (uint64_t)sample.values[0] : 0;
}

void pt_between_hold(pt_between *b, pt_sink *sink, const pt_sink_sample *sample)
{
    if (b->held.count == PT_BETWEEN_MAX) send_row(b, 0, sink, false);
    uint64_t *const pcs = pt_alloc(sample->count, sizeof *pcs);
    memcpy(pcs, sample->pcs, sample->count * sizeof *pcs);
    PT_GROW(b->held, b->held.count + 1);
    b->held.items[b->held.count] = *sample;
    b->held.items[b->held.count++].pcs = pcs;
}

uint64_t pt_between_release(pt_between *b, pt_sink *sink, uint32_t tid, bool is_exec)
{
    uint64_t became_whole = 0;
    for (size_t i = 0; i < b->held.count;) {
        if (b->held.items[i].tid == tid)
            became_whole += send_row(b, i, sink, is_exec);
        else
            i++;
    }
    return became_whole;
}

void pt_between_forget(pt_between *b, pt_sink *sink, const pt_proc *proc)
{
    for (size_t i = 0; i < b->held.count;) {
        if (b->held.items[i].proc == proc)
            send_row(b, i, sink, false);
        else
            i++;
    }
}

void pt_between_end(pt_between *b, pt_sink *sink)
{
    while (b->held.count > 0)
        send_row(b, 0, sink, false);
}
