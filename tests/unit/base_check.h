/* base_check.h: what the tests of base share: cmocka and a fixed-seed generator. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"

/* splitmix64 (Steele, Lea, Flood 2014); the same numbers on every run. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Numbers of every bit length, so that each varint size comes up. */
static inline uint64_t random_of_any_size(uint64_t *state)
{
    const unsigned bits = (unsigned)(next_random(state) % 65);
    return bits == 0 ? 0 : next_random(state) >> (64 - bits);
}
