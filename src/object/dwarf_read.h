/* dwarf_read.h: reads DWARF's numbers, fast, from untrusted bytes.
 *
 * A read past the end returns zero and moves the cursor to the end, so a loop over entries ends by
 * itself. (base/reader.h does the same with error messages; no user needs a message about one of
 * thirty million entries.) */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *pos, *end;
    bool swap; /* the file's byte order differs from the host's */
} pt_dwarf_cursor;

/* A cursor without bytes. Its pointers are not NULL, since arithmetic on NULL is undefined. */
static inline pt_dwarf_cursor pt_dwarf_no_bytes(bool swap)
{
    static const uint8_t none;
    return (pt_dwarf_cursor){&none, &none, swap};
}

static inline uint64_t pt_dwarf_left(const pt_dwarf_cursor *c)
{
    return (uint64_t)(c->end - c->pos);
}

static inline void pt_dwarf_advance(pt_dwarf_cursor *c, uint64_t size_bytes)
{
    c->pos = __builtin_expect(size_bytes <= pt_dwarf_left(c), 1) ? c->pos + size_bytes : c->end;
}

static inline uint8_t pt_dwarf_u8(pt_dwarf_cursor *c)
{
    return __builtin_expect(c->pos < c->end, 1) ? *c->pos++ : 0;
}

#define PT_DWARF_FIXED(bits)                                                                       \
    static inline uint##bits##_t pt_dwarf_u##bits(pt_dwarf_cursor *c)                              \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        if (__builtin_expect(pt_dwarf_left(c) < sizeof value, 0)) {                                \
            c->pos = c->end;                                                                       \
            return 0;                                                                              \
        }                                                                                          \
        memcpy(&value, c->pos, sizeof value);                                                      \
        c->pos += sizeof value;                                                                    \
        return c->swap ? (uint##bits##_t)__builtin_bswap##bits(value) : value;                     \
    }
PT_DWARF_FIXED(16)
PT_DWARF_FIXED(32)
PT_DWARF_FIXED(64)
#undef PT_DWARF_FIXED

static inline uint32_t pt_dwarf_u24(pt_dwarf_cursor *c)
{
    if (pt_dwarf_left(c) < 3) {
        c->pos = c->end;
        return 0;
    }
    const uint8_t *p = c->pos;
    const bool is_little = (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) != c->swap;
    c->pos += 3;
    return is_little ? p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16
                     : p[2] | (uint32_t)p[1] << 8 | (uint32_t)p[0] << 16;
}

/* A number of 1, 2, 3, 4 or 8 bytes; any other size fails. */
static inline uint64_t pt_dwarf_sized(pt_dwarf_cursor *c, unsigned bytes)
{
    switch (bytes) {
    case 1: return pt_dwarf_u8(c);
    case 2: return pt_dwarf_u16(c);
    case 3: return pt_dwarf_u24(c);
    case 4: return pt_dwarf_u32(c);
    case 8: return pt_dwarf_u64(c);
    default: c->pos = c->end; return 0;
    }
}

/* Reads a LEB128 number (DWARF 5 section 7.6). Drops bits above the 64th; in padded numbers they
 * are zero. */
static inline uint64_t pt_dwarf_uleb(pt_dwarf_cursor *c)
{
    if (__builtin_expect(c->pos < c->end && *c->pos < 0x80, 1)) return *c->pos++;
    uint64_t value = 0;
    for (unsigned shift = 0; c->pos < c->end; shift += 7) {
        const uint8_t byte = *c->pos++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    return 0;
}

static inline int64_t pt_dwarf_sleb(pt_dwarf_cursor *c)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (c->pos < c->end) {
        const uint8_t byte = *c->pos++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80) continue;
        if ((byte & 0x40) != 0 && shift < 64) value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
    return 0;
}

static inline void pt_dwarf_skip_leb(pt_dwarf_cursor *c)
{
    while (c->pos < c->end && *c->pos++ >= 0x80) {
    }
}

/* Reads a terminated string; NULL when no terminator follows. */
static inline const char *pt_dwarf_cstring(pt_dwarf_cursor *c)
{
    const uint8_t *zero = memchr(c->pos, 0, pt_dwarf_left(c));
    const char *text = (const char *)c->pos;
    c->pos = zero != NULL ? zero + 1 : c->end;
    return zero != NULL ? text : NULL;
}

/* Reads the length that begins a unit, table or list (section 7.4), cut to the bytes left.
 * *ret_offset_bytes: the size of offsets in the unit, 4 or 8. */
static inline uint64_t pt_dwarf_initial_length(pt_dwarf_cursor *c, uint8_t *ret_offset_bytes)
{
    uint64_t length = pt_dwarf_u32(c);
    *ret_offset_bytes = 4;
    if (length == UINT32_MAX) {
        length = pt_dwarf_u64(c);
        *ret_offset_bytes = 8;
    }
    return length < pt_dwarf_left(c) ? length : pt_dwarf_left(c);
}
