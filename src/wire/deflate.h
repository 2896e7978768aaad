/* deflate.h: a small compressor, RFC 1951: matches within one block, fixed Huffman codes. Its
 * result is larger than zlib's usual one; it needs no memory but what it is given.
 *
 *   | last? 01 | literals and matches | end |   then, but behind the last block, an empty stored
 *                                               one, so that the next begins at a byte
 */
#ifndef PT_WIRE_DEFLATE_H
#define PT_WIRE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PT_DEFLATE_IN_MAX = 32 << 10,                                        /* of one block */
    PT_DEFLATE_OUT_MAX = PT_DEFLATE_IN_MAX + PT_DEFLATE_IN_MAX / 8 + 16, /* what it may come to */
    PT_DEFLATE_HASHES = 4096,
};

/* Where strings of three bytes were seen: the last place of each hash, and the one before each
 * place; places count from 1. Need not be cleared. */
typedef struct {
    uint16_t last[PT_DEFLATE_HASHES], before[PT_DEFLATE_IN_MAX];
} pt_deflate_places;

/* One block into `to`, which holds PT_DEFLATE_OUT_MAX bytes; returns how many it took. */
size_t pt_deflate_block(pt_deflate_places *places, uint8_t *to, const uint8_t *bytes, size_t size,
                        bool is_last);

#endif
