/* heap.h: a pt_unwind_memory that uses malloc. Not for signal handlers. */
#pragma once

#include <stdlib.h>

#include "unwind/table.h"

static inline void *pt_unwind_heap_take(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static inline void *pt_unwind_heap_resize(void *arg, void *memory, size_t bytes,
                                          size_t wanted_bytes)
{
    (void)arg;
    (void)bytes;
    return realloc(memory, wanted_bytes);
}

static inline void pt_unwind_heap_release(void *arg, void *memory, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(memory);
}

static const pt_unwind_memory pt_unwind_heap = {pt_unwind_heap_take, pt_unwind_heap_resize,
                                                pt_unwind_heap_release, NULL};
