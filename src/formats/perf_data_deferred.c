/* perf_data_deferred.c: samples with a deferred user stack. With `perf record --call-graph
 * fp,defer` the kernel walks the user stack not at the sample but at the return to user mode, once
 * for all samples in between (PERF_RECORD_CALLCHAIN_DEFERRED, linux/perf_event.h):
 *
 *   sample    callchain: kernel ... | USER_DEFERRED | cookie
 *   later     cookie | count | USER ... | sample_id
 *
 * A copy of the sample's record is kept until the chain with the same cookie comes.
 */
#include "formats/perf_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { MARK_WORDS = 2 }; /* USER_DEFERRED and the cookie, at a chain's end */

typedef struct {
    uint32_t size; /* size of the body, which follows */
    uint16_t misc;
} waiting_head;

bool pt_perf_is_deferred(const uint8_t *chain, uint64_t count, bool swap, uint64_t *ret_cookie)
{
    if (count < MARK_WORDS) return false;
    const uint8_t *const mark = chain + 8 * (count - MARK_WORDS);
    *ret_cookie = pt_perf_u64(mark + 8, swap);
    return pt_perf_u64(mark, swap) == PT_PERF_CONTEXT_USER_DEFERRED;
}

static struct pt_perf_waiting *find_waiting(pt_perf_deferred *f, uint64_t cookie)
{
    const uint32_t found =
        PT_INDEX_FIND(&f->index, pt_hash_mix(cookie, 0), i, f->items[i].cookie == cookie);
    return found != PT_NONE ? &f->items[found] : NULL;
}

void pt_perf_defer(pt_perf_deferred *f, uint64_t cookie, uint16_t misc, const uint8_t *body,
                   size_t size)
{
    struct pt_perf_waiting *w = find_waiting(f, cookie);
    if (w == NULL) {
        pt_index_add(&f->index, pt_hash_mix(cookie, 0), (uint32_t)f->count);
        PT_GROW(*f, f->count + 1);
        w = &f->items[f->count++];
        *w = (struct pt_perf_waiting){.cookie = cookie};
    }
    const waiting_head head = {.size = (uint32_t)size, .misc = misc};
    pt_put(&w->samples, &head, sizeof head);
    pt_put(&w->samples, body, size);
}

/* Handles all samples that waited for a cookie. user: the user stack, or NULL. */
static void take_waiting(pt_perf_data *d, struct pt_perf_waiting *w, const uint8_t *user,
                         uint64_t count)
{
    PT_AUTO(pt_buf) samples = w->samples;
    w->samples = PT_BUF_INIT;
    for (size_t at = 0; at < samples.size;) {
        waiting_head head;
        memcpy(&head, samples.data + at, sizeof head);
        at += sizeof head;
        pt_perf_on_joined_sample(d, head.misc, samples.data + at, head.size, user, count);
        at += head.size;
    }
}

void pt_perf_on_deferred(pt_perf_data *d, const uint8_t *body, size_t size)
{
    const uint64_t count = size >= 16 ? pt_perf_u64(body + 8, d->swap) : UINT64_MAX;
    if (size < 16 || count > (size - 16) / 8) {
        d->odd++;
        return;
    }
    struct pt_perf_waiting *const w = find_waiting(&d->deferred, pt_perf_u64(body, d->swap));
    if (w != NULL) take_waiting(d, w, body + 16, count);
}

const uint8_t *pt_perf_deferred_join(pt_perf_deferred *f, const uint8_t *chain, uint64_t *count,
                                     const uint8_t *user, uint64_t user_count)
{
    pt_buf_clear(&f->joined);
    pt_put(&f->joined, chain, 8 * (*count - MARK_WORDS));
    pt_put(&f->joined, user, 8 * user_count);
    *count += user_count - MARK_WORDS;
    return f->joined.data;
}

void pt_perf_deferred_finish(pt_perf_data *d)
{
    for (size_t i = 0; i < d->deferred.count; i++)
        take_waiting(d, &d->deferred.items[i], NULL, 0);
}

void pt_perf_deferred_done(pt_perf_deferred *f)
{
    for (size_t i = 0; i < f->count; i++)
        pt_buf_done(&f->items[i].samples);
    free(f->items);
    pt_index_done(&f->index);
    pt_buf_done(&f->joined);
}
