/* sort.c: stable sorts: equal items keep their order, since gprof's reports depend on it.
 *
 * By comparing: a merge sort that divides as the C library's does. So the result is gprof's even
 * where gprof's comparison is not an order (some pairs by file, others by address). By numbers: a
 * radix sort. To sort by several keys, call it once for each key, the least significant key first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "personality/gprof/gprof_int.h"

/* ---- By comparing ---- */

typedef struct {
    uint32_t *spare;
    pt_gprof_compare *compare;
    const void *context;
} sorting;

/* NOLINTNEXTLINE(misc-no-recursion): as deep as count has bits */
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
    memcpy(ids, s->spare, n * sizeof *ids); /* the rest of the second half is in place */
}

void pt_gprof_sort(uint32_t *ids, size_t count, pt_gprof_compare *compare, const void *context)
{
    uint32_t few[32];
    if (count < 2) return;
    uint32_t *const many = count > PT_COUNT(few) ? pt_alloc(count, sizeof *many) : NULL;
    const sorting s = {many != NULL ? many : few, compare, context};
    sort_part(&s, ids, count);
    free(many);
}

/* ---- By numbers ---- */

enum { DIGIT_BITS = 11, DIGITS = 6, RADIX = 1 << DIGIT_BITS };
enum { FEW = 24 }; /* so many items, or fewer, are sorted by insertion */

typedef struct {
    uint64_t key;
    uint32_t id;
} item;

static uint32_t digit_of(uint64_t key, unsigned which)
{
    return (uint32_t)(key >> (which * DIGIT_BITS)) & (RADIX - 1);
}

static void insert_each(item *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const item moved = items[i];
        size_t k = i;
        for (; k > 0 && items[k - 1].key > moved.key; k--)
            items[k] = items[k - 1];
        items[k] = moved;
    }
}

/* Sorts items[0, count). The array must have room for `count` more items. Returns the place of the
 * sorted items: items, or items + count. */
static item *sort_items(item *items, size_t count)
{
    if (count <= FEW) {
        insert_each(items, count);
        return items;
    }
    PT_FREE uint32_t *seen = pt_alloc((size_t)DIGITS * RADIX, sizeof *seen);
    for (size_t i = 0; i < count; i++)
        for (unsigned d = 0; d < DIGITS; d++)
            seen[d * RADIX + digit_of(items[i].key, d)]++;
    item *from = items, *to = items + count;
    for (unsigned d = 0; d < DIGITS; d++) {
        uint32_t *const place = seen + (size_t)d * RADIX;
        if (place[digit_of(from[0].key, d)] == count) continue; /* all items have the same digit */
        uint32_t at = 0;
        for (size_t i = 0; i < RADIX; i++) {
            const uint32_t n = place[i];
            place[i] = at;
            at += n;
        }
        for (size_t i = 0; i < count; i++)
            to[place[digit_of(from[i].key, d)]++] = from[i];
        item *const filled = to;
        to = from;
        from = filled;
    }
    return from;
}

void pt_gprof_sort_by(uint32_t *ids, size_t count, pt_gprof_key *key, const void *context)
{
    if (count < 2) return;
    PT_FREE item *items = pt_realloc(NULL, 2 * count, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = (item){.key = key(context, ids[i]), .id = ids[i]};
    const item *const sorted = sort_items(items, count);
    for (size_t i = 0; i < count; i++)
        ids[i] = sorted[i].id;
}

uint64_t pt_gprof_falling(double value)
{
    uint64_t bits;
    if (value == 0) value = 0; /* not -0 */
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? bits : ~bits & ~(UINT64_C(1) << 63);
}

/* ---- By name ---- */

enum { PIECE_BYTES = 8 };

/* The bytes of the name from `at` on as a number. Bytes after the end of the name are 0. */
static uint64_t piece_of(const char *name, size_t at)
{
    uint64_t key = 0;
    name += at;
    for (unsigned i = 0; i < PIECE_BYTES; i++) {
        key = key << 8 | (uint8_t)*name;
        name += *name != '\0';
    }
    return key;
}

typedef struct {
    size_t first, count, at; /* names that are alike up to their byte `at` */
} alike;

uint32_t *pt_gprof_by_name(const pt_gprof *g)
{
    const size_t count = g->symbol.count;
    uint32_t *const ids = pt_alloc_numbers(count);
    PT_FREE item *items = pt_realloc(NULL, 2 * count + 1, sizeof *items);
    PT_VECTOR(alike) todo = {0};
    PT_GROW(todo, 1);
    todo.items[todo.count++] = (alike){.count = count};
    while (todo.count > 0) {
        const alike a = todo.items[--todo.count];
        uint32_t *const part = ids + a.first;
        for (size_t i = 0; i < a.count; i++)
            items[i] = (item){piece_of(g->symbol.items[part[i]].name, a.at), part[i]};
        const item *const sorted = sort_items(items, a.count);
        for (size_t i = 0, n; i < a.count; i += n) {
            for (n = 0; i + n < a.count && sorted[i + n].key == sorted[i].key; n++)
                part[i + n] = sorted[i + n].id;
            if (n < 2 || (sorted[i].key & 0xff) == 0)
                continue; /* a single name, or names that end here */
            PT_PUSH(todo, (alike){a.first + i, n, a.at + PIECE_BYTES});
        }
    }
    free(todo.items);
    return ids;
}
