/* deflate.c: see deflate.h. */
#include "wire/deflate.h"

#include <string.h>

enum { MATCH_MIN = 3, MATCH_MAX = 258, TRIES = 16, END_OF_BLOCK = 256, FIRST_LENGTH = 257 };

/* ---- bits ---- */

typedef struct {
    uint8_t *to;
    size_t bytes;
    uint64_t held; /* bits not written yet; the first is the lowest */
    unsigned held_bits;
} bits;

static void put_bits(bits *b, uint32_t value, unsigned count)
{
    b->held |= (uint64_t)value << b->held_bits;
    b->held_bits += count;
    for (; b->held_bits >= 8; b->held_bits -= 8, b->held >>= 8)
        b->to[b->bytes++] = (uint8_t)b->held;
}

/* Writes a Huffman code, its highest bit first (RFC 1951, 3.1.1). */
static void put_code(bits *b, uint32_t code, unsigned count)
{
    uint32_t turned = 0;
    for (unsigned i = 0; i < count; i++)
        turned |= (code >> i & 1) << (count - 1 - i);
    put_bits(b, turned, count);
}

/* ---- symbols, RFC 1951, 3.2.5 and 3.2.6 ---- */

static void put_symbol(bits *b, uint32_t symbol)
{
    if (symbol < 144)
        put_code(b, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(b, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(b, symbol - 256, 7);
    else
        put_code(b, 0xc0 + symbol - 280, 8);
}

/* The code of a length or distance and its extra bits. value: the length minus 3, or the distance
 * minus 1. Codes come in groups of 2^per_log2 with the same number of extra bits; the first two
 * groups have none. */
typedef struct {
    uint32_t code, extra, extra_bits;
} coded;

static coded code_of(uint32_t value, unsigned per_log2)
{
    unsigned extra_bits = 0;
    while (value >> extra_bits >= UINT32_C(2) << per_log2)
        extra_bits++;
    return (coded){.code = (extra_bits << per_log2) + (value >> extra_bits),
                   .extra = value & ((UINT32_C(1) << extra_bits) - 1),
                   .extra_bits = extra_bits};
}

static void put_match(bits *b, size_t length, size_t distance)
{
    enum { LENGTHS_LOG2 = 2, DISTANCES_LOG2 = 1, LAST_LENGTH = 285 };
    if (length == MATCH_MAX) { /* has its own code */
        put_symbol(b, LAST_LENGTH);
    } else {
        const coded l = code_of((uint32_t)length - MATCH_MIN, LENGTHS_LOG2);
        put_symbol(b, FIRST_LENGTH + l.code);
        put_bits(b, l.extra, l.extra_bits);
    }
    const coded d = code_of((uint32_t)distance - 1, DISTANCES_LOG2);
    put_code(b, d.code, 5);
    put_bits(b, d.extra, d.extra_bits);
}

/* ---- matches ---- */

static unsigned hash_at(const uint8_t *at)
{
    const uint32_t three = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
    _Static_assert(PT_DEFLATE_HASHES == 1 << 12, "the index is the top 12 bits of a product");
    return three * UINT32_C(0x9e3779b1) >> 20;
}

static size_t common_bytes(const uint8_t *a, const uint8_t *b, size_t most)
{
    size_t length = 0;
    while (length < most && a[length] == b[length])
        length++;
    return length;
}

static void remember_place(pt_deflate_places *places, const uint8_t *bytes, size_t at)
{
    uint16_t *const last = &places->last[hash_at(bytes + at)];
    places->before[at] = *last;
    *last = (uint16_t)(at + 1);
}

/* Finds the longest match before `at`. Returns its length, or less than MATCH_MIN if there is none.
 */
static size_t find_match(const pt_deflate_places *places, const uint8_t *bytes, size_t at,
                         size_t size, size_t *ret_distance)
{
    const size_t most = size - at < MATCH_MAX ? size - at : MATCH_MAX;
    size_t best = 0, place = places->last[hash_at(bytes + at)];
    for (int tries = 0; place != 0 && tries < TRIES && best < most; tries++) {
        const size_t length = common_bytes(bytes + place - 1, bytes + at, most);
        if (length > best) {
            best = length;
            *ret_distance = at - (place - 1);
        }
        place = places->before[place - 1];
    }
    return best;
}

size_t pt_deflate_block(pt_deflate_places *places, uint8_t *to, const uint8_t *bytes, size_t size,
                        bool is_last)
{
    bits b = {.to = to};
    memset(places->last, 0, sizeof places->last);
    put_bits(&b, is_last, 1);
    put_bits(&b, 1, 2); /* fixed codes */
    for (size_t at = 0; at < size;) {
        size_t distance = 0, length = 0;
        const bool can_match = size - at >= MATCH_MIN;
        if (can_match) length = find_match(places, bytes, at, size, &distance);
        if (length < MATCH_MIN) {
            put_symbol(&b, bytes[at]);
            length = 1;
        } else {
            put_match(&b, length, distance);
        }
        for (const size_t next = at + length; at < next; at++)
            if (size - at >= MATCH_MIN) remember_place(places, bytes, at);
    }
    put_symbol(&b, END_OF_BLOCK);
    if (!is_last) put_bits(&b, 0, 3);
    if (b.held_bits > 0) put_bits(&b, 0, 8 - b.held_bits);
    if (!is_last) {
        memcpy(to + b.bytes, (const uint8_t[]){0, 0, 0xff, 0xff}, 4);
        b.bytes += 4;
    }
    return b.bytes;
}
