/* memory.h: the bytes of a fuzz input as the memory of another process, which a reader of
 * interpreters reads by a callback. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_ADDR = 0x10000 /* of the first byte */ };

typedef struct {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
} memory;

static void check(bool holds)
{
    if (!holds) abort();
}

static bool read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    memory *const m = arg;
    m->reads++;
    if (addr < MEMORY_ADDR || size > m->size || addr - MEMORY_ADDR > m->size - size) return false;
    memcpy(to, m->bytes + (addr - MEMORY_ADDR), size);
    return true;
}
