/* ascending.h: binary search in items that ascend with a key of type uint64_t.
 *
 *   keys                10   20   20   30
 *   PT_FIRST_FROM 20         ^ 1            the first item whose key is not below 20
 *   PT_FIRST_AFTER 20                  ^ 3  the first item whose key is above 20
 *
 * Both macros return the number of items if there is no such item, so the item before
 * PT_FIRST_AFTER(..., key) is the last one whose key is at most `key`. items may be NULL if count
 * is 0. Any layer may include this header: it needs nothing but libc's headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* keys: the first item's key; the items are item_bytes apart. */
static inline size_t pt_first_from(const void *items, size_t count, size_t item_bytes,
                                   size_t key_off, uint64_t key)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        uint64_t found;
        memcpy(&found, (const char *)items + middle * item_bytes + key_off, sizeof found);
        if (found < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
