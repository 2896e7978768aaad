/* reader.h: reads numbers, slices and lines from untrusted bytes.
 *
 *   start ........ pos ........ end          offset = position of start in the file
 *
 * The error is sticky: the first read beyond the end records offset and message and moves pos to
 * end. From then on every read returns zero or NULL, so a parser needs no branch after each read. A
 * parser checks pt_reader_ok() once per record, and before it uses a count as a size.
 *
 * A child reader (pt_reader_sub) covers a slice of its parent, such as a nested protobuf message. A
 * failure of a child also fails its parents. Readers own no memory and need no cleanup.
 */
#pragma once

#include "base/error.h"

#include <endian.h>
#include <string.h>

typedef struct pt_reader {
    const uint8_t *pos, *end, *start;
    uint64_t offset;          /* offset of start in the file, for messages */
    struct pt_reader *parent; /* NULL at the top; must outlive the child */
    pt_error *error;    /* receives the first failure; NULL if the caller needs only the status */
    pt_status status;   /* PT_OK until the first failure */
    bool swap;          /* the file's byte order differs from the host's */
    uint8_t word_bytes; /* 4 or 8: size of the target's long */
} pt_reader;

/* Begins to read data[0, size), as little endian with 8-byte words until set otherwise. error (may
 * be NULL) receives the first failure: PT_ERR_DAMAGED, message and offset. */
void pt_reader_init(pt_reader *r, const void *data, size_t size, pt_error *error);

/* Sets the byte order of the data. */
void pt_reader_set_order(pt_reader *r, bool big_endian);
/* Sets the word size of the target: 4 or 8 bytes. */
void pt_reader_set_word(pt_reader *r, unsigned bytes);

static inline bool pt_reader_ok(const pt_reader *r)
{
    return r->status == PT_OK;
}

/* The number of bytes that are left. */
static inline size_t pt_reader_left(const pt_reader *r)
{
    return (size_t)(r->end - r->pos);
}

/* True when all bytes were read, and after any failure. */
static inline bool pt_reader_at_end(const pt_reader *r)
{
    return r->pos == r->end;
}

/* Position in the file, also for a child. */
static inline uint64_t pt_reader_offset(const pt_reader *r)
{
    return r->offset + (uint64_t)(r->pos - r->start);
}

/* Fails the reader with the caller's message, at the present offset or at a given one. Later
 * failures are ignored. Returns the reader's status, for `return`. */
pt_status pt_reader_fail(pt_reader *r, pt_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
pt_status pt_reader_fail_at(pt_reader *r, uint64_t offset, pt_status status, const char *format,
                            ...) __attribute__((format(printf, 4, 5), cold));
/* Fails the reader with "N bytes wanted, M are left". Always returns false. */
bool pt_reader_short(pt_reader *r, uint64_t wanted) __attribute__((cold));

/* Moves to data[offset] of this reader; fails if offset is past the end. */
void pt_reader_seek(pt_reader *r, uint64_t offset);

/* Are at least count items of item_bytes (>= 1) left? If not, the reader fails. Call this before a
 * count from the file sizes an allocation or a loop. */
static inline bool pt_reader_has(pt_reader *r, uint64_t count, uint64_t item_bytes)
{
    if (__builtin_expect(count > pt_reader_left(r) / item_bytes, 0)) {
        uint64_t wanted;
        if (__builtin_mul_overflow(count, item_bytes, &wanted)) wanted = UINT64_MAX;
        return pt_reader_short(r, wanted);
    }
    return true;
}

/* Returns the next size bytes, inside the reader's data; NULL after a failure or if fewer are left.
 * If size is 0, the pointer must not be dereferenced. */
static inline const uint8_t *pt_read_bytes(pt_reader *r, uint64_t size)
{
    if (__builtin_expect(size > pt_reader_left(r) || r->status != PT_OK, 0)) {
        pt_reader_short(r, size);
        return NULL;
    }
    const uint8_t *const at = r->pos;
    r->pos += size;
    return at;
}

/* Skips size bytes; fails if fewer are left. */
static inline void pt_skip(pt_reader *r, uint64_t size)
{
    (void)pt_read_bytes(r, size);
}

/* Reads a byte. */
static inline uint8_t pt_read_u8(pt_reader *r)
{
    return __builtin_expect(r->pos < r->end, 1) ? *r->pos++ : pt_reader_short(r, 1);
}

#define PT_READ_FIXED(bits)                                                                        \
    static inline uint##bits##_t pt_read_u##bits(pt_reader *r)                                     \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        if (__builtin_expect(pt_reader_left(r) < sizeof value, 0))                                 \
            return pt_reader_short(r, sizeof value);                                               \
        memcpy(&value, r->pos, sizeof value);                                                      \
        r->pos += sizeof value;                                                                    \
        return r->swap ? (uint##bits##_t)__builtin_bswap##bits(value) : value;                     \
    }
PT_READ_FIXED(16)
PT_READ_FIXED(32)
PT_READ_FIXED(64)
#undef PT_READ_FIXED

/* Reads a word of the target (4 or 8 bytes), zero extended. */
static inline uint64_t pt_read_word(pt_reader *r)
{
    return r->word_bytes == 8 ? pt_read_u64(r) : pt_read_u32(r);
}

/* Reads a line of text and returns it without its "\n" or "\r\n"; the last line may lack both.
 * Lines may hold NUL bytes, so use *ret_length. Returns NULL at the end, which is not a failure. */
const char *pt_read_line(pt_reader *r, size_t *ret_length);

/* A child reader of the next size bytes, which the parent skips. The child inherits byte order and
 * word size. If fewer bytes are left, both fail and the child is empty. */
static inline pt_reader pt_reader_sub(pt_reader *parent, uint64_t size)
{
    pt_reader sub = *parent;
    sub.parent = parent;
    sub.offset = pt_reader_offset(parent);
    sub.start = sub.pos = parent->pos;
    if (__builtin_expect(size > pt_reader_left(parent), 0)) {
        pt_reader_short(parent, size);
        sub.status = parent->status;
        sub.end = sub.pos;
        return sub;
    }
    parent->pos += size;
    sub.end = parent->pos;
    return sub;
}
