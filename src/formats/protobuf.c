/* protobuf.c: see protobuf.h. */
#include "formats/protobuf.h"

/* Skips a group. Nested groups are counted, not recursed into. */
static bool skip_group(const uint8_t **pos, const uint8_t *end, uint32_t number)
{
    uint32_t open[PB_GROUP_DEPTH_MAX];
    unsigned depth = 0;
    open[depth++] = number;
    while (depth > 0) {
        uint64_t tag, value;
        if (!pb_varint(pos, end, &tag)) return false;
        const uint32_t inner = (uint32_t)(tag >> 3);
        switch (tag & 7) {
        case PB_VARINT:
            if (!pb_varint(pos, end, &value)) return false;
            break;
        case PB_FIXED64:
        case PB_FIXED32:
            value = (tag & 7) == PB_FIXED64 ? 8 : 4;
            if ((size_t)(end - *pos) < value) return false;
            *pos += value;
            break;
        case PB_BYTES:
            if (!pb_varint(pos, end, &value) || value > (size_t)(end - *pos)) return false;
            *pos += value;
            break;
        case PB_GROUP:
            if (depth == PB_GROUP_DEPTH_MAX) return false;
            open[depth++] = inner;
            break;
        case PB_GROUP_END:
            if (open[--depth] != inner) return false;
            break;
        default: return false;
        }
    }
    return true;
}

static bool read_value(const uint8_t **pos, const uint8_t *end, pb_field *field)
{
    switch (field->wire) {
    case PB_VARINT: return pb_varint(pos, end, &field->value);
    case PB_FIXED64:
    case PB_FIXED32: {
        const size_t size = field->wire == PB_FIXED64 ? 8 : 4;
        if ((size_t)(end - *pos) < size) return false;
        for (size_t i = size; i > 0; i--)
            field->value = field->value << 8 | (*pos)[i - 1];
        *pos += size;
        return true;
    }
    case PB_BYTES: {
        uint64_t size;
        if (!pb_varint(pos, end, &size) || size > (size_t)(end - *pos)) return false;
        field->data = *pos;
        field->size = (size_t)size;
        *pos += size;
        return true;
    }
    case PB_GROUP: return skip_group(pos, end, field->number);
    default: return false;
    }
}

bool pb_next_slow(pb_cursor *cursor, pb_field *ret_field)
{
    const uint8_t *pos = cursor->pos;
    if (pos >= cursor->end) return false;
    pb_field field = {.start = pos};
    uint64_t tag;
    if (pb_varint(&pos, cursor->end, &tag) && tag >> 3 >= 1 && tag >> 3 <= PB_NUMBER_MAX) {
        field.number = (uint32_t)(tag >> 3);
        field.wire = (uint32_t)(tag & 7);
        if (read_value(&pos, cursor->end, &field)) {
            cursor->pos = pos;
            *ret_field = field;
            return true;
        }
    }
    cursor->ok = false;
    cursor->bad = field.start;
    cursor->pos = cursor->end;
    return false;
}
