/* ascending.h: binary search in items that ascend with a key of type uint64_t.
 *
 *   keys                10   20   20   30
 *   PT_FIRST_FROM 20         ^ 1            the first item whose key is not below 20
 *   PT_FIRST_AFTER 20                  ^ 3  the first item whose key is above 20
 *
 * Both macros return the number of items if there is no such item, so the item before
 * PT_FIRST_AFTER(..., key) is the last one whose key is at most `key`. items may be NULL if count
 * is 0. PT_FIRST_WHERE searches in any other order. Any layer may include this header: it needs
 * nothing but libc's headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first number i below count for which is_true, an expression of i, is true; count if there is
 * none. An expression that is true for a number must be true for all greater numbers. */
#define PT_FIRST_WHERE(i, count, is_true)                                                          \
    __extension__({                                                                                \
        size_t i##_low = 0, i##_high = (count);                                                    \
        while (i##_low < i##_high) {                                                               \
            const size_t i = i##_low + (i##_high - i##_low) / 2;                                   \
            if (is_true)                                                                           \
                i##_high = i;                                                                      \
            else                                                                                   \
                i##_low = i + 1;                                                                   \
        }                                                                                          \
        i##_low;                                                                                   \
    })

/* PT_FIRST_FROM for items that are item_bytes apart, with the key at key_off in each item. */
static inline size_t pt_first_from(const void *items, size_t count, size_t item_bytes,
                                   size_t key_off, uint64_t key)
{
    uint64_t found;
    return PT_FIRST_WHERE(
        i, count,
        (memcpy(&found, (const char *)items + i * item_bytes + key_off, sizeof found),
         found >= key));
}

static inline size_t pt_first_after(const void *items, size_t count, size_t item_bytes,
                                    size_t key_off, uint64_t key)
{
    return key == UINT64_MAX ? count : pt_first_from(items, count, item_bytes, key_off, key + 1);
}

/* items: an array of structures whose field `field` is the key, a uint64_t. */
#define PT_FIRST_FROM(items, count, field, key)                                                    \
    pt_first_from(items, count, sizeof *(items), offsetof(__typeof__(*(items)), field), key)
#define PT_FIRST_AFTER(items, count, field, key)                                                   \
    pt_first_after(items, count, sizeof *(items), offsetof(__typeof__(*(items)), field), key)
