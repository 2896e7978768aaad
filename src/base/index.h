/* index.h: a hash index from content to 32-bit ids. The content is in an array of the caller; the
 * index holds only hashes and ids, and the caller compares the content:
 *
 *     const uint32_t known = PT_INDEX_FIND(&ix, hash, id, rows.items[id].key == key);
 *     return known != PT_NONE ? known : PT_INDEX_PUSH(&ix, hash, rows, (row){.key = key});
 *
 * PT_INDEX_EACH loops over the ids of a hash, for a caller that needs more than a comparison.
 *
 * A slot is 8 bytes: the upper half of the hash and id + 1 (0 = empty). The index uses linear
 * probing and is at most 5/8 full.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/grow.h"

#define PT_NONE UINT32_MAX /* no such row; never a valid id */

typedef struct pt_index {
    uint64_t *slots;
    uint32_t count;
    uint64_t mask; /* slots - 1, or 0 before the first add */
} pt_index;

typedef struct pt_probe {
    uint64_t position;
    uint32_t tag;
} pt_probe;

/* An empty index; pt_index_done frees it. */
void pt_index_init(pt_index *index);
void pt_index_done(pt_index *index);
/* Makes room for count ids, so that adding up to that many ids causes no rehash. */
void pt_index_reserve(pt_index *index, uint32_t count);
/* Adds an id under a hash. id is not PT_NONE, and each (hash, id) is added once only. */
void pt_index_add(pt_index *index, uint64_t hash, uint32_t id);

/* The slot at which the search for a tag (the upper half of a hash) begins. It depends on the tag
 * alone: a rehash has only the tags, and must put each tag where later searches begin. */
static inline uint64_t pt_index_home(uint32_t tag, uint64_t mask)
{
    return ((uint64_t)tag * 0x9e3779b97f4a7c15u >> 24) & mask;
}

/* Returns the next id in a search, or PT_NONE at its end. */
static inline uint32_t pt_index_next(const pt_index *index, pt_probe *probe)
{
    for (;;) {
        const uint64_t slot = index->slots[probe->position];
        if (slot == 0) return PT_NONE;
        probe->position = (probe->position + 1) & index->mask;
        if ((uint32_t)(slot >> 32) == probe->tag) return (uint32_t)slot - 1;
    }
}

/* Begins a search: the first id under the hash, or PT_NONE. */
static inline uint32_t pt_index_first(const pt_index *index, uint64_t hash, pt_probe *probe)
{
    const uint32_t tag = (uint32_t)(hash >> 32);
    *probe = (pt_probe){.position = pt_index_home(tag, index->mask), .tag = tag};
    return index->slots != NULL ? pt_index_next(index, probe) : PT_NONE;
}

/* Loops over the ids under the hash, and also over ids of other hashes that have the same upper
 * half. */
#define PT_INDEX_EACH(index, hash, id)                                                             \
    for (pt_probe id##_probe, *id##_open = &id##_probe; id##_open != NULL; id##_open = NULL)       \
        for (uint32_t id = pt_index_first((index), (hash), &id##_probe); id != PT_NONE;            \
             id = pt_index_next((index), &id##_probe))

/* The first id under the hash for which is_equal, an expression of id, is true; else PT_NONE. */
#define PT_INDEX_FIND(index, hash, id, is_equal)                                                   \
    __extension__({                                                                                \
        pt_probe id##_probe;                                                                       \
        uint32_t id = pt_index_first((index), (hash), &id##_probe);                                \
        while (id != PT_NONE && !(is_equal))                                                       \
            id = pt_index_next((index), &id##_probe);                                              \
        id;                                                                                        \
    })

/* Appends a row to the vector vec (grow.h) and adds its id under the hash. Returns the id. */
#define PT_INDEX_PUSH(index, hash, vec, ...)                                                       \
    __extension__({                                                                                \
        pt_index_add((index), (hash), (uint32_t)(vec).count);                                      \
        PT_PUSH((vec), __VA_ARGS__);                                                               \
        (uint32_t)(vec).count - 1;                                                                 \
    })
