/* grow.h: growing arrays. A vector is a struct { T *items; size_t count, cap; }, which
 * PT_VECTOR(T) writes; count: items in use, cap: items that the array has room for. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"

#define PT_VECTOR(type)                                                                            \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, cap;                                                                         \
    }

/* Returns the array, reallocated if necessary, with room for at least need items of item_size
 * bytes; *cap is updated. New items are not zeroed. Capacity grows by half. */
static inline void *pt_grow(void *column, size_t *cap, size_t need, size_t item_size)
{
    if (need <= *cap) return column;
    size_t bigger = *cap ? *cap + *cap / 2 : 16;
    if (bigger < need) bigger = need;
    *cap = bigger;
    return pt_realloc(column, bigger, item_size);
}

/* PT_GROW(v, n): gives v.items room for n items. */
#define PT_GROW(vec, need)                                                                         \
    ((vec).items = pt_grow((vec).items, &(vec).cap, (need), sizeof *(vec).items))

/* PT_PUSH(v, item): appends the item. */
#define PT_PUSH(vec, ...)                                                                          \
    (PT_GROW((vec), (vec).count + 1), (vec).items[(vec).count] = (__VA_ARGS__), (void)(vec).count++)

/* PT_SORT(v, compare): sorts the items by a comparison for qsort. */
#define PT_SORT(vec, compare)                                                                      \
    ((vec).count > 1 ? qsort((vec).items, (vec).count, sizeof *(vec).items, (compare)) : (void)0)
