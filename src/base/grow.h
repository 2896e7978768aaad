/* grow.h: arrays that grow, their order, and searches. A vector is a struct { T *items; size_t
 * count, cap; }, which PT_VECTOR(T) writes; count: items in use, cap: items that the array has room
 * for. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* The number of an array's items. */
#define PT_COUNT(array) (sizeof(array) / sizeof *(array))

/* True if is_true, an expression of i, is true for a number i below count. The expression is
 * evaluated for 0, 1, ... until it is true.
 *
 *     return PT_ANY(i, PT_COUNT(words), strcmp(words[i], word) == 0);
 */
#define PT_ANY(i, count, is_true)                                                                  \
    __extension__({                                                                                \
        const __typeof__((count) + 0) i##_end = (count);                                           \
        __typeof__((count) + 0) i = 0;                                                             \
        while (i < i##_end && !(is_true))                                                          \
            i++;                                                                                   \
        i < i##_end;                                                                               \
    })

/* PT_ORDER(name, type, order): makes `name`, a static comparison of two items of the type for qsort
 * and bsearch. The order is a chain of keys, of which the first that differs decides; a key is a
 * field that ascends (PT_UP), a field that descends (PT_DOWN), a text that ascends (PT_TEXT_UP), or
 * any expression of the items a and b that is negative if a comes first:
 *
 *     PT_ORDER(by_cost, task, PT_DOWN(cost) ?: PT_TEXT_UP(name) ?: compare_owners(a, b));
 */
#define PT_ORDER(name, type, order)                                                                \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        const type *const a = left, *const b = right;                                              \
        return order;                                                                              \
    }                                                                                              \
    _Static_assert(sizeof(type) > 0, "the items have a size")
#define PT_COMPARE(x, y)  (((x) > (y)) - ((x) < (y)))
#define PT_UP(field)      PT_COMPARE(a->field, b->field)
#define PT_DOWN(field)    PT_COMPARE(b->field, a->field)
#define PT_TEXT_UP(field) strcmp(a->field, b->field)
