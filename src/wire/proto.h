/* proto.h: encodes the primitives of the protocol buffer wire format that profile.proto needs.
 * Source: the "Encoding" page of Protocol Buffers:
 *
 *   field   | tag = number << 3 | wire type | value |
 *   varint  (type 0)   7 bits a byte, least significant group first, top bit = more follow
 *   bytes   (type 2)   | varint length | bytes |          strings, messages, packed numbers
 *
 * int64 is written as the varint of its two's complement, so a negative number takes ten bytes.
 * Proto3 leaves out scalar fields of value 0; the functions named _nonzero do so.
 */
#pragma once

#include "wire/buf.h"

enum {
    PT_PROTO_VARINT = 0,
    PT_PROTO_FIXED64 = 1,
    PT_PROTO_BYTES = 2,
    PT_PROTO_FIXED32 = 5,
    PT_PROTO_VARINT_BYTES_MAX = 10,
};

/* The length of the varint of value, 1 to 10 bytes. */
static inline size_t pt_proto_varint_bytes(uint64_t value)
{
    return (size_t)(9 * (64 - __builtin_clzll(value | 1)) + 64) / 64;
}

static inline void pt_proto_varint(pt_wire_buf *buf, uint64_t value)
{
    uint8_t bytes[PT_PROTO_VARINT_BYTES_MAX];
    size_t count = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[count++] = (uint8_t)(value | 0x80);
    bytes[count++] = (uint8_t)value;
    pt_wire_put(buf, bytes, count);
}

static inline void pt_proto_tag(pt_wire_buf *buf, uint32_t field, unsigned wire_type)
{
    pt_proto_varint(buf, (uint64_t)field << 3 | wire_type);
}

/* A number field, written even when 0 (elements of an unpacked repeated field must be). */
static inline void pt_proto_uint(pt_wire_buf *buf, uint32_t field, uint64_t value)
{
    pt_proto_tag(buf, field, PT_PROTO_VARINT);
    pt_proto_varint(buf, value);
}

static inline void pt_proto_uint_nonzero(pt_wire_buf *buf, uint32_t field, uint64_t value)
{
    if (value != 0) pt_proto_uint(buf, field, value);
}

/* A string, an encoded message, or packed numbers; written even when empty. */
void pt_proto_bytes(pt_wire_buf *buf, uint32_t field, const void *bytes, size_t size);

/* A repeated number field in its packed form; writes nothing when count is 0. */
void pt_proto_packed(pt_wire_buf *buf, uint32_t field, const uint64_t *values, size_t count);

/* A message or packed field of unknown length. Write its content between the two calls, and pass
 * the result of open to close. close writes the length and moves the content up if the length
 * takes more than one byte. Such fields nest. */
size_t pt_proto_open(pt_wire_buf *buf, uint32_t field);
void pt_proto_close(pt_wire_buf *buf, size_t opened);
