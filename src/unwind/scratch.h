/* scratch.h: memory for the time of a compilation, from whoever asked for it. For use inside the
 * layer. */
#ifndef PT_UNWIND_SCRATCH_H
#define PT_UNWIND_SCRATCH_H

#include <string.h>

#include "unwind/table.h"

typedef struct {
    const pt_unwind_memory *memory;
    void *bytes;
    size_t size_bytes;
} pt_scratch;

/* Room for count items, of any content; NULL if there is none. */
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

/* The same, zeroed. */
static inline void *pt_scratch_take_zeroed(pt_scratch *s, const pt_unwind_memory *memory,
                                           uint64_t count, size_t each)
{
    void *const bytes = pt_scratch_take(s, memory, count, each);
    return bytes == NULL ? NULL : memset(bytes, 0, s->size_bytes);
}

/* Room for count items, keeping those that fit; it may be elsewhere then. NULL, and nothing is
 * changed: there is none. */
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

#endif
