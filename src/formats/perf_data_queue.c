/* perf_data_queue.c: sorts records by time.
 *
 * perf writes the contents of all cpus' rings one after the other, and writes a mark after each
 * round (PERF_RECORD_FINISHED_ROUND). No later round then has a record older than the newest record
 * of the previous round. A round consists of as many ascending runs as there are cpus, and these
 * runs are merged. */
#include "formats/perf_data.h"

#include "base/plain/ascending.h"

void pt_perf_queue_done(pt_perf_queue *queue)
{
    PT_FREE_ALL(queue->items, queue->spare);
}

void pt_perf_queue_add(pt_perf_queue *q, uint64_t time, const uint8_t *record, uint32_t chunk)
{
    if (q->count == 0) q->is_sorted = true;
    PT_GROW(*q, q->count + 1);
    if (q->count > 0 && time < q->items[q->count - 1].time) q->is_sorted = false;
    q->items[q->count++] = (pt_perf_queued){.time = time, .record = record, .chunk = chunk};
    if (time > q->newest) q->newest = time;
}

/* The end of the ascending run that begins at `at`. */
static size_t run_end(const pt_perf_queued *items, size_t at, size_t count)
{
    for (at++; at < count && items[at].time >= items[at - 1].time; at++)
        ;
    return at;
}

static void merge_runs(const pt_perf_queued *a, const pt_perf_queued *a_end,
                       const pt_perf_queued *b, const pt_perf_queued *b_end, pt_perf_queued *to)
{
    while (a < a_end && b < b_end)
        *to++ = b->time < a->time ? *b++ : *a++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof *to);
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof *to);
}

/* Merges adjacent runs until a single one is left. Equal times keep their order. */
static void sort_queue(pt_perf_queue *q)
{
    while (!q->is_sorted) {
        q->spare = pt_grow(q->spare, &q->spare_cap, q->count, sizeof *q->spare);
        size_t runs = 0;
        for (size_t at = 0; at < q->count; runs++) {
            const size_t middle = run_end(q->items, at, q->count);
            const size_t end = middle < q->count ? run_end(q->items, middle, q->count) : middle;
            merge_runs(q->items + at, q->items + middle, q->items + middle, q->items + end,
                       q->spare + at);
            at = end;
        }
        pt_perf_queued *const items = q->spare;
        const size_t cap = q->spare_cap;
        q->spare = q->items;
        q->spare_cap = q->cap;
        q->items = items;
        q->cap = cap;
        q->is_sorted = runs <= 1;
    }
}

size_t pt_perf_queue_ready(pt_perf_queue *q, uint64_t limit)
{
    if (q->count == 0) return 0;
    sort_queue(q);
    return PT_FIRST_AFTER(q->items, q->count, time, limit);
}

void pt_perf_queue_drop(pt_perf_queue *q, size_t count)
{
    if (count < q->count)
        memmove(q->items, q->items + count, (q->count - count) * sizeof *q->items);
    q->count -= count;
}
