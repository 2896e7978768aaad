/* proto.c: the fields of a protocol buffer message that carry a length. */
#include "wire/proto.h"

void pt_proto_bytes(pt_wire_buf *buf, uint32_t field, const void *bytes, size_t size)
{
    pt_proto_tag(buf, field, PT_PROTO_BYTES);
    pt_proto_varint(buf, size);
    pt_wire_put(buf, bytes, size);
}

void pt_proto_packed(pt_wire_buf *buf, uint32_t field, const uint64_t *values, size_t count)
{
    if (count == 0) return;
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += pt_proto_varint_bytes(values[i]);
    pt_proto_tag(buf, field, PT_PROTO_BYTES);
    pt_proto_varint(buf, size);
    for (size_t i = 0; i < count; i++)
        pt_proto_varint(buf, values[i]);
}

size_t pt_proto_open(pt_wire_buf *buf, uint32_t field)
{
    pt_proto_tag(buf, field, PT_PROTO_BYTES);
    pt_wire_put_byte(buf, 0); /* most lengths fit here */
    return buf->need_bytes;
}

void pt_proto_close(pt_wire_buf *buf, size_t opened)
{
    const size_t size = buf->need_bytes - opened;
    const size_t more_bytes = pt_proto_varint_bytes(size) - 1;
    const bool fits =
        buf->need_bytes <= buf->cap_bytes && more_bytes <= buf->cap_bytes - buf->need_bytes;
    buf->need_bytes += more_bytes;
    if (!fits) return;
    if (more_bytes > 0) memmove(buf->base + opened + more_bytes, buf->base + opened, size);
    pt_wire_buf length = pt_wire_buf_init(buf->base + opened - 1, more_bytes + 1);
    pt_proto_varint(&length, size);
}
