/* buf.h: a writer into the caller's bytes. It allocates nothing. When the room ends, the buffer
 * is full: later puts store nothing, but `need_bytes` goes on counting. So a caller can measure
 * with no room (base NULL, cap 0) and then write with enough room.
 *
 * Freestanding (libc headers only): the in-process library uses it inside its host.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint8_t *base;     /* the caller's; may be NULL when cap_bytes is 0 */
    size_t cap_bytes;  /* room at base */
    size_t need_bytes; /* bytes put so far, whether they fitted or not */
} pt_wire_buf;

static inline pt_wire_buf pt_wire_buf_init(void *base, size_t cap_bytes)
{
    return (pt_wire_buf){.base = base, .cap_bytes = cap_bytes};
}

/* True while every byte that was put fitted. */
static inline bool pt_wire_buf_ok(const pt_wire_buf *buf)
{
    return buf->need_bytes <= buf->cap_bytes;
}

/* Appends size bytes. When they do not fit completely, none is stored. */
static inline void pt_wire_put(pt_wire_buf *buf, const void *bytes, size_t size)
{
    if (buf->need_bytes <= buf->cap_bytes && size <= buf->cap_bytes - buf->need_bytes && size > 0)
        memcpy(buf->base + buf->need_bytes, bytes, size);
    buf->need_bytes += size;
}

static inline void pt_wire_put_byte(pt_wire_buf *buf, uint8_t byte)
{
    pt_wire_put(buf, &byte, 1);
}

/* The `width` low bytes of value, 1 to 8, least or most significant first. */
static inline void pt_wire_put_uint(pt_wire_buf *buf, uint64_t value, unsigned width,
                                    bool big_endian)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < width; i++)
        bytes[big_endian ? width - 1 - i : i] = (uint8_t)(value >> (8 * i));
    pt_wire_put(buf, bytes, width);
}
