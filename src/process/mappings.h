/* mappings.h: a process's mappings as a sorted array, updated as they change.
 *
 * The array is the caller's: ascending, without overlaps. Its items are of any type that begins
 * with a pt_map_range. Nothing here allocates.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct pt_map_range {
    uint64_t start, limit; /* [start, limit) */
    uint64_t file_offset;  /* offset in the mapped file of the byte at start */
} pt_map_range;

/* The item that contains addr, or NULL. */
void *pt_mappings_at(void *items, size_t count, size_t item_bytes, uint64_t addr);

enum {
    PT_MAPPINGS_MORE = 2
}; /* one put may add: the new mapping, and the upper part of a mapping that it splits */

/* Inserts an item. It replaces what it overlaps: older items are cut, split or removed, since
 * the kernel does not report unmapping. The array needs room for count + PT_MAPPINGS_MORE items;
 * item must not lie in it. Returns the new count. */
size_t pt_mappings_put(void *items, size_t count, size_t item_bytes, const void *item);
