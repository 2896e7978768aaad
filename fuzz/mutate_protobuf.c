/* mutate_protobuf.c: see mutate_protobuf.h. */
#include "mutate_protobuf.h"

#include <string.h>

#include "base/buf.h"
#include "formats/protobuf.h"

enum {
    FIELDS_MAX = 512, /* of one message; those behind them stay as they are */
    DEPTH_MAX = 6,
    NUMBER_MAX = 20, /* of new fields: the largest that profile.proto and OTLP use, and one more */
    PAYLOAD_MAX = 256,
};

typedef struct {
    uint32_t state;
} random_numbers;

/* xorshift32 (Marsaglia 2003). */
static uint32_t next_below(random_numbers *random, uint32_t limit)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 17;
    random->state ^= random->state << 5;
    return random->state % limit;
}

static uint64_t odd_value(random_numbers *random)
{
    static const uint64_t values[] = {
        0,         1,          2,        127,  128, INT32_MAX, UINT32_MAX, UINT64_MAX,
        INT64_MAX, 1000000000, 0x400000, 4096, 63,  64,        1u << 16,   UINT64_MAX - 1};
    const uint32_t which = next_below(random, 24);
    if (which < sizeof values / sizeof values[0]) return values[which];
    return next_below(random, 32);
}

static void put_tag(pt_buf *to, uint32_t number, uint32_t wire)
{
    pt_put_varint(to, (uint64_t)number << 3 | wire);
}

static void put_field(pt_buf *to, const pb_field *field, const uint8_t *end)
{
    pt_put(to, field->start, (size_t)(end - field->start));
}

static void put_scalar(pt_buf *to, uint32_t number, uint32_t wire, uint64_t value)
{
    put_tag(to, number, wire);
    if (wire == PB_VARINT)
        pt_put_varint(to, value);
    else
        pt_put_le(to, value, wire == PB_FIXED64 ? 8 : 4);
}

static void put_bytes(pt_buf *to, uint32_t number, const void *bytes, size_t size)
{
    put_tag(to, number, PB_BYTES);
    pt_put_varint(to, size);
    pt_put(to, bytes, size);
}

/* A field that was not there. */
static void put_new_field(pt_buf *to, random_numbers *random)
{
    const uint32_t number = 1 + next_below(random, NUMBER_MAX);
    if (next_below(random, 2) == 0) {
        put_scalar(to, number, PB_VARINT, odd_value(random));
        return;
    }
    uint8_t packed[4 * PT_VARINT_MAX];
    pt_buf values = PT_BUF_INIT;
    for (uint32_t left = next_below(random, 4); left > 0; left--)
        pt_put_varint(&values, odd_value(random));
    if (values.size > 0) memcpy(packed, values.data, values.size);
    put_bytes(to, number, packed, values.size);
    pt_buf_done(&values);
}

static bool is_message(const uint8_t *data, size_t size)
{
    pb_cursor cursor = pb_open(data, size);
    pb_field field;
    while (pb_next(&cursor, &field))
        continue;
    return size > 0 && cursor.ok;
}

/* Numbers one behind the other, as in a packed field: one of them becomes another. */
static void put_packed(pt_buf *to, const pb_field *field, random_numbers *random)
{
    pt_buf values = PT_BUF_INIT;
    const uint8_t *at = field->data, *const end = at + field->size;
    const uint32_t changed = next_below(random, (uint32_t)field->size + 1);
    uint64_t value;
    for (uint32_t i = 0; at < end && pb_varint(&at, end, &value); i++)
        pt_put_varint(&values, i == changed ? odd_value(random) : value);
    if (changed == field->size) pt_put_varint(&values, odd_value(random));
    put_bytes(to, field->number, values.data, values.size);
    pt_buf_done(&values);
}

/* The same contents under another number. */
static void put_renumbered(pt_buf *to, const pb_field *field, const uint8_t *end,
                           random_numbers *random)
{
    const uint32_t number = 1 + next_below(random, NUMBER_MAX);
    if (field->wire == PB_BYTES)
        put_bytes(to, number, field->data, field->size);
    else if (field->wire == PB_GROUP || field->wire == PB_GROUP_END)
        put_field(to, field, end);
    else
        put_scalar(to, number, field->wire, field->value);
}

/* The contents as libFuzzer changes them. */
static void put_mutated(pt_buf *to, const pb_field *field)
{
    uint8_t payload[PAYLOAD_MAX];
    size_t size = field->size < PAYLOAD_MAX ? field->size : PAYLOAD_MAX;
    if (size > 0) memcpy(payload, field->data, size);
    size = LLVMFuzzerMutate(payload, size, PAYLOAD_MAX);
    put_bytes(to, field->number, payload, size);
}

static void put_mutated_message(pt_buf *to, const uint8_t *data, size_t size,
                                random_numbers *random, int depth);

/* NOLINTNEXTLINE(misc-no-recursion): messages hold messages, DEPTH_MAX deep at most */
static void put_changed(pt_buf *to, const pb_field *field, const uint8_t *end,
                        random_numbers *random, int depth)
{
    if (field->wire == PB_GROUP || field->wire == PB_GROUP_END) {
        put_field(to, field, end);
    } else if (field->wire != PB_BYTES) {
        put_scalar(to, field->number, field->wire, odd_value(random));
    } else if (depth < DEPTH_MAX && is_message(field->data, field->size) &&
               next_below(random, 4) != 0) {
        pt_buf inner = PT_BUF_INIT;
        put_mutated_message(&inner, field->data, field->size, random, depth + 1);
        put_bytes(to, field->number, inner.data, inner.size);
        pt_buf_done(&inner);
    } else if (next_below(random, 2) == 0) {
        put_packed(to, field, random);
    } else {
        put_mutated(to, field);
    }
}

/* One field is changed (mostly), dropped, doubled, given another number, or moved to the end; or
 * one is added before it. */
/* NOLINTNEXTLINE(misc-no-recursion): messages hold messages, DEPTH_MAX deep at most */
static void put_mutated_message(pt_buf *to, const uint8_t *data, size_t size,
                                random_numbers *random, int depth)
{
    pb_field fields[FIELDS_MAX];
    const uint8_t *ends[FIELDS_MAX];
    uint32_t count = 0;
    pb_cursor cursor = pb_open(data, size);
    const uint8_t *rest = data;
    while (count < FIELDS_MAX && pb_next(&cursor, &fields[count])) {
        ends[count++] = cursor.pos;
        rest = cursor.pos;
    }
    const uint32_t chosen = next_below(random, count + 1);
    const uint32_t what = chosen == count ? 5 : next_below(random, 12);
    for (uint32_t i = 0; i < count; i++) {
        if (i != chosen) {
            put_field(to, &fields[i], ends[i]);
            continue;
        }
        switch (what) {
        case 0: break;
        case 1:
            put_field(to, &fields[i], ends[i]);
            put_field(to, &fields[i], ends[i]);
            break;
        case 2: put_renumbered(to, &fields[i], ends[i], random); break;
        case 3: break; /* it comes last */
        case 4:
            put_new_field(to, random);
            put_field(to, &fields[i], ends[i]);
            break;
        default: put_changed(to, &fields[i], ends[i], random, depth);
        }
    }
    if (what == 3) put_field(to, &fields[chosen], ends[chosen]);
    if (chosen == count) put_new_field(to, random);
    pt_put(to, rest, (size_t)(data + size - rest));
}

size_t mutate_protobuf(uint8_t *data, size_t size, size_t max_size, uint32_t seed)
{
    random_numbers random = {seed * 2654435761u | 1}; /* xorshift has no 0 */
    pt_buf changed = PT_BUF_INIT;
    put_mutated_message(&changed, data, size, &random, 0);
    if (changed.size <= max_size) {
        if (changed.size > 0) memcpy(data, changed.data, changed.size);
        size = changed.size;
    }
    pt_buf_done(&changed);
    return size;
}
