/* gprof_sort.c: a stable merge sort: what compares equal keeps its order, as gprof's reports rely
 * on. It halves as the C library's does, so that even orders that are none (gprof compares some
 * things by file, others by address) come out the same.
 */
#include <stdlib.h>
#include <string.h>

#include "view/gprof_int.h"

typedef struct {
    uint32_t *spare;
    pt_gprof_compare *compare;
    const void *context;
} sorting;

/* As deep as count has bits. */
static void sort_part(const sorting *s, uint32_t *ids, size_t count)
{
    if (count < 2) return;
    const size_t half = count / 2;
    sort_part(s, ids, half);
    sort_part(s, ids + half, count - half);
    size_t a = 0, b = half, n = 0;
    while (a < half && b < count)
        s->spare[n++] = s->compare(s->context, ids[a], ids[b]) <= 0 ? ids[a++] : ids[b++];
    while (a < half)
        s->spare[n++] = ids[a++];
    memcpy(ids, s->spare, n * sizeof *ids); /* what is left of the second half lies right */
}

void pt_gprof_sort(uint32_t *ids, size_t count, pt_gprof_compare *compare, const void *context)
{
    PT_FREE uint32_t *spare = pt_alloc(count + 1, sizeof *spare);
    const sorting s = {spare, compare, context};
    sort_part(&s, ids, count);
}
