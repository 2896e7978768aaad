/* mappings.h: what a process has mapped, while it changes.
 *
 * The table is the caller's array, ascending and not overlapping. Its items are of any one type
 * that begins with a pt_map_range. Nothing is allocated.
 */
#ifndef PT_PROCESS_MAPPINGS_H
#define PT_PROCESS_MAPPINGS_H

#include <stddef.h>
#include <stdint.h>

typedef struct pt_map_range {
    uint64_t start, limit; /* [start, limit) */
    uint64_t file_offset;  /* of start */
} pt_map_range;

/* The first item that ends above addr; count if there is none. */
size_t pt_mappings_above(const void *items, size_t count, size_t item_bytes, uint64_t addr);

/* The item that addr lies in, or NULL. */
void *pt_mappings_at(void *items, size_t count, size_t item_bytes, uint64_t addr);

enum {
    PT_MAPPINGS_MORE = 2
}; /* items that one more mapping may add: itself, and the rest of one it splits */

/* Puts an item over what is there: that is cut, split or goes, since the kernel does not report
 * what is unmapped. There is room for count + PT_MAPPINGS_MORE items, and item is none of them.
 * Returns the new count. */
size_t pt_mappings_put(void *items, size_t count, size_t item_bytes, const void *item);

#endif
