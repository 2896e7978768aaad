/* hash.h: the one hash function of the project, for tables in memory. Its values may change with
 * any version, so no file holds them. It does not resist an adversary who chooses the keys. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Multiplies to 128 bits and folds the halves: every input bit reaches every output bit. */
static inline uint64_t pt_hash_mix(uint64_t a, uint64_t b)
{
    const __uint128_t product = (__uint128_t)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd1b54a32d192ed03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hash of size bytes, 16 bytes a step. */
static inline uint64_t pt_hash_bytes(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint64_t h = size * 0xa0761d6478bd642fu;
    uint64_t a, b;
    size_t left = size;
    for (; left >= 16; left -= 16, p += 16) {
        memcpy(&a, p, 8);
        memcpy(&b, p + 8, 8);
        h = pt_hash_mix(a ^ h, b);
    }
    a = b = 0;
    if (left >= 8) {
        memcpy(&a, p, 8);
        memcpy(&b, p + left - 8, 8);
    } else if (left > 0) {
        memcpy(&a, p, left);
    }
    return pt_hash_mix(a ^ h, b ^ left);
}

/* Hash of two 32-bit keys. */
static inline uint64_t pt_hash_u32_pair(uint32_t a, uint32_t b)
{
    return pt_hash_mix(((uint64_t)a << 32) | b, 0x8ebc6af09c88c6e3u);
}
