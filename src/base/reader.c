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
