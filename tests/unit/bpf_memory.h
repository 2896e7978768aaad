/* bpf_memory.h: the pool and the stack that a walk of src/bpf/walk.bpf.h reads in a test; included
 * before it. */
#pragma once

#include <string.h>

#include "bpf/pool.h"

static pt_bpf_pool pool;
static struct {
    uint64_t low, limit;
    const uint8_t *bytes; /* of [low, limit) */
} copied;

static const uint8_t *pool_chunk(uint32_t number)
{
    return number < pool.count ? pool.chunks[number] : NULL;
}

static bool read_stack(uint64_t *to, uint32_t bytes, uint64_t addr)
{
    memset(to, 0, bytes);
    for (uint64_t at = addr; at < addr + bytes; at += 8)
        if (at >= copied.low && at < copied.limit)
            memcpy(to + (at - addr) / 8, copied.bytes + (at - copied.low), 8);
    return true;
}
