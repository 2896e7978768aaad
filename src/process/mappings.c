/* mappings.c: see mappings.h. */
#include "process/mappings.h"

#include <string.h>

#include "base/plain/ascending.h"

static pt_map_range *range_at(void *items, size_t item_bytes, size_t i)
{
    return (pt_map_range *)(void *)((char *)items + i * item_bytes);
}

/* The index of the first item that ends above addr; count if there is none. */
static size_t find_above(const void *items, size_t count, size_t item_bytes, uint64_t addr)
{
    return pt_first_after(items, count, item_bytes, offsetof(pt_map_range, limit), addr);
}

void *pt_mappings_at(void *items, size_t count, size_t item_bytes, uint64_t addr)
{
    const size_t at = find_above(items, count, item_bytes, addr);
    return at < count && range_at(items, item_bytes, at)->start <= addr
               ? range_at(items, item_bytes, at)
               : NULL;
}

static void cut_start(pt_map_range *range, uint64_t start)
{
    range->file_offset += start - range->start;
    range->start = start;
}

/* Moves items [from, count) to begin at `to`; returns the new count. */
static size_t move_items(void *items, size_t count, size_t item_bytes, size_t from, size_t to)
{
    memmove(range_at(items, item_bytes, to), range_at(items, item_bytes, from),
            (count - from) * item_bytes);
    return count - from + to;
}

size_t pt_mappings_put(void *items, size_t count, size_t item_bytes, const void *item)
{
    const pt_map_range *const new = item;
    size_t at = find_above(items, count, item_bytes, new->start);
    if (at < count && range_at(items, item_bytes, at)->start < new->start) {
        const uint64_t limit = range_at(items, item_bytes, at)->limit;
        if (limit > new->limit) { /* the copy becomes the rest above the new item */
            count = move_items(items, count, item_bytes, at, at + 1);
            memcpy(range_at(items, item_bytes, at), range_at(items, item_bytes, at + 1),
                   item_bytes);
        }
        range_at(items, item_bytes, at)->limit = new->start;
        at++;
    }
    size_t end = at;
    while (end < count && range_at(items, item_bytes, end)->limit <= new->limit)
        end++;
    if (end < count && range_at(items, item_bytes, end)->start < new->limit)
        cut_start(range_at(items, item_bytes, end), new->limit);
    if (end != at + 1) count = move_items(items, count, item_bytes, end, at + 1);
    memcpy(range_at(items, item_bytes, at), item, item_bytes);
    return count;
}
