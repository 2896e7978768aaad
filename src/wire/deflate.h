/* deflate.h: a small compressor (RFC 1951): matches within one block, fixed Huffman codes. Its
 * output is usually larger than zlib's. It needs no memory except what the caller gives.
 *
 *   | last? 01 | literals and matches | end |
 *
 * After a block that is not the last, an empty stored block follows, so that the next block
 * begins at a byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PT_DEFLATE_IN_MAX = 32 << 10, /* input bytes of one block */
    /* Output bytes of one block, at most. */
    PT_DEFLATE_OUT_MAX = PT_DEFLATE_IN_MAX + PT_DEFLATE_IN_MAX / 8 + 16,
    PT_DEFLATE_HASHES = 4096,
};

/* The places of three-byte strings in a block: the last place of each hash, and for each place the
 * previous place with the same hash; 0: there is none. Places count from 1. The caller need not
 * clear the struct. */
typedef struct {
    uint16_t last[PT_DEFLATE_HASHES], before[PT_DEFLATE_IN_MAX];
} pt_deflate_places;

/* Compresses one block (size up to PT_DEFLATE_IN_MAX) into `to`, which has PT_DEFLATE_OUT_MAX
 * bytes. Returns the number of bytes written. */
size_t pt_deflate_block(pt_deflate_places *places, uint8_t *to, const uint8_t *bytes, size_t size,
                        bool is_last);
