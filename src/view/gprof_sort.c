/* gprof_sort.c: a stable merge sort: what compares equal keeps its order, as gprof's reports rely
 * on. It halves as the C library's does, so that even orders that are none (gprof compares some
 * things by file, others by address) come out the same.
 */
#include <stdlib.h>
#include <string.h>

#include "view/gprof_int.h"

/* An id, and the first thing it is compared by: most comparisons look no further. */
typedef struct {
    uint64_t key;
    uint32_t id;
} item;

typedef struct {
    item *spare;
    pt_gprof_compare *compare;
    const void *context;
} sorting;

static bool in_order(const sorting *s, const item *a, const item *b)
{
    if (a->key != b->key) return a->key < b->key;
    return s->compare(s->context, a->id, b->id) <= 0;
}

/* As deep as count has bits. */
static void sort_part(const sorting *s, item *items, size_t count)
{
    if (count < 2) return;
    const size_t half = count / 2;
    sort_part(s, items, half);
    sort_part(s, items + half, count - half);
    size_t a = 0, b = half, n = 0;
    while (a < half && b < count)
        s->spare[n++] = in_order(s, &items[a], &items[b]) ? items[a++] : items[b++];
    while (a < half)
        s->spare[n++] = items[a++];
    memcpy(items, s->spare, n * sizeof *items); /* what is left of the second half lies right */
}

void pt_gprof_sort_by(uint32_t *ids, size_t count, pt_gprof_key *key, pt_gprof_compare *compare,
                      const void *context)
{
    if (count < 2) return;
    PT_FREE item *items = pt_alloc(2 * count, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = (item){.key = key != NULL ? key(context, ids[i]) : 0, .id = ids[i]};
    const sorting s = {items + count, compare, context};
    sort_part(&s, items, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = items[i].id;
}

void pt_gprof_sort(uint32_t *ids, size_t count, pt_gprof_compare *compare, const void *context)
{
    pt_gprof_sort_by(ids, count, NULL, compare, context);
}

uint64_t pt_gprof_falling(double value)
{
    uint64_t bits;
    if (value == 0) value = 0; /* not -0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? bits : ~bits & ~(UINT64_C(1) << 63);
}
