/* scratch.h: temporary memory of a compilation, from the caller's allocator. For use inside the
 * layer. */
#pragma once

#include <string.h>

#include "unwind/table.h"

typedef struct {
    const pt_unwind_memory *memory;
    void *bytes;
    size_t size_bytes;
} pt_scratch;

/* Allocates count items, uninitialised. Returns NULL if there is no memory. */
static inline void *pt_scratch_take(pt_scratch *s, const pt_unwind_memory *memory, uint64_t count,
                                    size_t each)
{
    *s = (pt_scratch){.memory = memory};
    if (count > SIZE_MAX / each) return NULL;
    s->size_bytes = (size_t)count * each;
    if (s->size_bytes == 0) s->size_bytes = 8;
    s->bytes = memory->alloc(memory->arg, s->size_bytes);
    return s->bytes;
}

/* Allocates count items, zeroed. Returns NULL if there is no memory. */
static inline void *pt_scratch_take_zeroed(pt_scratch *s, const pt_unwind_memory *memory,
                                           uint64_t count, size_t each)
{
    void *const bytes = pt_scratch_take(s, memory, count, each);
    return bytes == NULL ? NULL : memset(bytes, 0, s->size_bytes);
}

/* Resizes to count items and keeps the items that fit; the memory may move. Returns NULL, with
 * nothing changed, if there is no memory. */
static inline void *pt_scratch_resize(pt_scratch *s, uint64_t count, size_t each)
{
    if (count == 0 || count > SIZE_MAX / each) return NULL;
    const size_t wanted = (size_t)count * each;
    void *const bytes = s->memory->resize(s->memory->arg, s->bytes, s->size_bytes, wanted);
    if (bytes == NULL) return NULL;
    s->size_bytes = wanted;
    return s->bytes = bytes;
}

static inline void pt_scratch_done(pt_scratch *s)
{
    if (s->bytes != NULL) s->memory->release(s->memory->arg, s->bytes, s->size_bytes);
    s->bytes = NULL;
}
