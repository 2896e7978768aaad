/* protobuf.h: reads protobuf's wire format field by field from memory.
 *
 *   field = tag varint (number << 3 | wire) + value       protobuf.dev, "Encoding"
 *   wire 0 varint | 1 eight bytes | 2 length + bytes | 3, 4 group begin and end | 5 four bytes
 *
 * A cursor walks a message. An invalid field stops the cursor with ok = false, and `bad` points to
 * that field; the fields before it remain valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PB_VARINT = 0,
    PB_FIXED64 = 1,
    PB_BYTES = 2,
    PB_GROUP = 3,
    PB_GROUP_END = 4,
    PB_FIXED32 = 5
};

#define PB_NUMBER_MAX      ((1u << 29) - 1)
#define PB_GROUP_DEPTH_MAX 64

typedef struct pb_cursor {
    const uint8_t *pos, *end;
    bool ok;
    const uint8_t *bad; /* start of the invalid field, when !ok */
} pb_cursor;

typedef struct pb_field {
    uint32_t number, wire;
    uint64_t value;       /* PB_VARINT, PB_FIXED32, PB_FIXED64 */
    const uint8_t *data;  /* PB_BYTES */
    size_t size;          /* PB_BYTES */
    const uint8_t *start; /* the whole field is [start, cursor.pos) */
} pb_field;

/* A cursor over a message. */
static inline pb_cursor pb_open(const uint8_t *data, size_t size)
{
    return (pb_cursor){.pos = data, .end = data + size, .ok = true};
}

/* Reads a varint at *pos (at most ten bytes, bits above the 64th dropped). Returns false if the
 * varint does not end before `end`. */
static inline bool pb_varint(const uint8_t **pos, const uint8_t *end, uint64_t *ret_value)
{
    const uint8_t *p = *pos;
    if (__builtin_expect(p < end && *p < 0x80, 1)) {
        *ret_value = *p;
        *pos = p + 1;
        return true;
    }
    uint64_t value = 0;
    for (unsigned shift = 0; p < end && shift < 70; shift += 7) {
        const uint8_t byte = *p++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            *pos = p;
            return true;
        }
    }
    return false;
}

/* pb_next for fields of any form. */
bool pb_next_slow(pb_cursor *cursor, pb_field *ret_field);

/* Reads a field. Returns false at the end of the message (cursor->ok is true) and at the first
 * invalid field (ok is false). The fast path covers nearly all fields: a tag of one byte, and a
 * varint, or bytes whose length takes one byte. */
static inline bool pb_next(pb_cursor *cursor, pb_field *ret_field)
{
    const uint8_t *pos = cursor->pos;
    if (__builtin_expect(cursor->end - pos >= 2 && *pos >= 8 && *pos < 0x80, 1)) {
        ret_field->start = pos;
        ret_field->number = *pos >> 3;
        ret_field->wire = *pos & 7;
        pos++;
        if (ret_field->wire == PB_VARINT && pb_varint(&pos, cursor->end, &ret_field->value)) {
            cursor->pos = pos;
            return true;
        }
        if (ret_field->wire == PB_BYTES && *pos < 0x80 && *pos < cursor->end - pos) {
            ret_field->size = *pos;
            ret_field->data = pos + 1;
            cursor->pos = pos + 1 + *pos;
            return true;
        }
    }
    return pb_next_slow(cursor, ret_field);
}
