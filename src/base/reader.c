/* reader.c: the functions of pt_reader that are not inline, and its failure path. */
#include "base/reader.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void pt_reader_init(pt_reader *r, const void *data, size_t size, pt_error *error)
{
    static const uint8_t nothing[1];
    const uint8_t *const start = data != NULL ? data : nothing;
    *r = (pt_reader){.pos = start, .end = start + size, .start = start, .error = error};
    pt_reader_set_order(r, false);
    pt_reader_set_word(r, 8);
}

void pt_reader_set_order(pt_reader *r, bool big_endian)
{
    r->swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void pt_reader_set_word(pt_reader *r, unsigned bytes)
{
    PT_BUG_IF(bytes != 4 && bytes != 8);
    r->word_bytes = (uint8_t)bytes;
}

__attribute__((format(printf, 4, 0))) static pt_status
fail_at(pt_reader *r, uint64_t offset, pt_status status, const char *format, va_list args)
{
    if (r->status != PT_OK) {
        r->pos = r->end;
        return r->status;
    }
    if (r->error != NULL) {
        char text[sizeof r->error->message];
        vsnprintf(text, sizeof text, format, args);
        pt_error_set(r->error, status, "%s", text);
        pt_error_where(r->error, NULL, NULL, (int64_t)offset);
    }
    for (pt_reader *up = r; up != NULL; up = up->parent) {
        up->status = status;
        up->pos = up->end;
    }
    return status;
}

pt_status pt_reader_fail(pt_reader *r, pt_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_at(r, pt_reader_offset(r), status, format, args);
    va_end(args);
    return r->status;
}

pt_status pt_reader_fail_at(pt_reader *r, uint64_t offset, pt_status status, const char *format,
                            ...)
{
    va_list args;
    va_start(args, format);
    fail_at(r, offset, status, format, args);
    va_end(args);
    return r->status;
}

bool pt_reader_short(pt_reader *r, uint64_t wanted)
{
    const size_t left = pt_reader_left(r);
    pt_reader_fail(r, PT_ERR_DAMAGED, "%s wanted at byte %" PRIu64 ", %zu %s left",
                   pt_count_noun(wanted, "bytes").text, pt_reader_offset(r), left,
                   left == 1 ? "is" : "are");
    return false;
}

void pt_reader_seek(pt_reader *r, uint64_t offset)
{
    if (r->status != PT_OK) return;
    const size_t size = (size_t)(r->end - r->start);
    if (offset > size) {
        pt_reader_fail(r, PT_ERR_DAMAGED,
                       "an offset of %" PRIu64 " is beyond the data's end at %" PRIu64,
                       r->offset + offset, r->offset + size);
        return;
    }
    r->pos = r->start + offset;
}

/* Packs eight groups of seven bits into 56 bits: first pairs, then quads, then all. */
static uint64_t squeeze_sevens(uint64_t x)
{
    x = (x & UINT64_C(0x007f007f007f007f)) | (x & UINT64_C(0x7f007f007f007f00)) >> 1;
    x = (x & UINT64_C(0x00003fff00003fff)) | (x & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (x & UINT64_C(0x000000000fffffff)) | (x & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Decodes a varint of two to eight bytes. Returns the byte after the varint, or NULL if it is
 * longer. At least eight bytes must be readable at p. */
static inline const uint8_t *short_varint(const uint8_t *p, uint64_t *ret_value)
{
    uint64_t bytes;
    memcpy(&bytes, p, 8);
    bytes = le64toh(bytes);
    const uint64_t last = ~bytes & UINT64_C(0x8080808080808080);
    if (last == 0) return NULL;
    /* Branches for the usual lengths are predicted, so that the CPU can begin the next varint
     * before this one is complete. */
    if (last & 0x8000) {
        *ret_value = (bytes & 0x7f) | (bytes & 0x7f00) >> 1;
        return p + 2;
    }
    if (last & 0x800000) {
        *ret_value = (bytes & 0x7f) | (bytes & 0x7f00) >> 1 | (bytes & 0x7f0000) >> 2;
        return p + 3;
    }
    const uint64_t upto_last = last ^ (last - 1); /* the bits up to the first end mark */
    *ret_value = squeeze_sevens(bytes & upto_last & UINT64_C(0x7f7f7f7f7f7f7f7f));
    return p + (__builtin_ctzll(last) + 1) / 8;
}

uint64_t pt_read_varint_slow(pt_reader *r)
{
    const uint8_t *p = r->pos;
    const size_t left = pt_reader_left(r);
    uint64_t value = 0;
    const uint8_t *const next = left >= 8 ? short_varint(p, &value) : NULL;
    if (next != NULL) {
        r->pos = next;
        return value;
    }
    const unsigned most = left < 10 ? (unsigned)left : 10;
    for (unsigned i = 0; i < most; i++) {
        value |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (p[i] < 0x80) {
            r->pos = p + i + 1;
            return value;
        }
    }
    if (left >= 10)
        pt_reader_fail(r, PT_ERR_DAMAGED, "a varint at byte %" PRIu64 " is longer than ten bytes",
                       pt_reader_offset(r));
    else
        pt_reader_short(r, (uint64_t)left + 1);
    return 0;
}

const char *pt_read_line(pt_reader *r, size_t *ret_length)
{
    const size_t left = pt_reader_left(r);
    if (left == 0) return NULL;
    const uint8_t *const start = r->pos;
    const uint8_t *const newline = memchr(start, '\n', left);
    size_t length = newline != NULL ? (size_t)(newline - start) : left;
    r->pos = newline != NULL ? newline + 1 : r->end;
    if (newline != NULL && length > 0 && start[length - 1] == '\r') length--;
    *ret_length = length;
    return (const char *)start;
}
