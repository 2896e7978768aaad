/* memory_image.h: memory of an interpreter that a test makes, and that a reader reads by a
 * callback.
 */
#pragma once

#include "base_check.h"

#include <stdlib.h>
#include <string.h>

enum {
    BASE = 0x10000,
    IMAGE_BYTES = 1 << 15,
    FIRST_FREE = 0x800, /* from the base */
};

typedef struct {
    uint8_t bytes[IMAGE_BYTES];
    uint64_t used;
    unsigned reads;
} image;

static bool read_image(void *arg, uint64_t addr, void *to, size_t size)
{
    image *const m = arg;
    m->reads++;
    if (addr < BASE || size > IMAGE_BYTES || addr - BASE > IMAGE_BYTES - size) return false;
    memcpy(to, m->bytes + (addr - BASE), size);
    return true;
}

static void put(image *m, uint64_t addr, uint64_t word)
{
    memcpy(m->bytes + (addr - BASE), &word, sizeof word);
}

static uint64_t make(image *m, size_t bytes)
{
    const uint64_t at = BASE + m->used;
    m->used += (bytes + 15) / 16 * 16;
    assert_true(m->used <= IMAGE_BYTES);
    return at;
}

static image *make_image(void)
{
    image *const m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->used = FIRST_FREE;
    return m;
}

/* Fills all of it with words, three of four of which are addresses in it. */
static inline void fill_at_random(image *m, uint64_t *seed)
{
    for (uint64_t at = 0; at < IMAGE_BYTES; at += 8) {
        *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint64_t word = *seed >> 33;
        put(m, BASE + at, word % 4 == 0 ? word : BASE + word % IMAGE_BYTES / 8 * 8);
    }
}
