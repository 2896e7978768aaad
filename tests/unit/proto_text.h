/* proto_text.h: protobuf bytes from readable text, for tests.
 *
 *   3:150        field 3, varint 150 (also negative, also 0x...)
 *   3[1 2 150]   field 3, packed varints
 *   3{1:7 2"x"}  field 3, a message
 *   3"text"      field 3, bytes, as they stand (\0 is a NUL)
 *   3=4:99       field 3, fixed32 with value 99; 3=8:99 fixed64
 *   3(1:7)       field 3, a group
 *   ~2 3:1       the next field's tag is written with 2 bytes too many
 *
 * Spaces and line breaks separate. It shares no code with the reader or the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROTO_TEXT_MAX ((size_t)1 << 16)

typedef struct {
    uint8_t *data;
    size_t size;
} proto_bytes;

static void proto_varint(proto_bytes *into, uint64_t value, unsigned padding)
{
    while (value >= 0x80 || padding > 0) {
        if (value < 0x80) padding--;
        into->data[into->size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    into->data[into->size++] = (uint8_t)value;
}

static uint64_t proto_number(const char **text)
{
    char *end;
    const uint64_t value =
        **text == '-' ? (uint64_t)strtoll(*text, &end, 0) : strtoull(*text, &end, 0);
    *text = end;
    return value;
}

static void proto_spaces(const char **text)
{
    while (**text == ' ' || **text == '\n')
        ++*text;
}

/* A length is not known before its inside is: puts the inside behind, then moves it. */
static void proto_length(proto_bytes *into, size_t begin)
{
    uint8_t copy[PROTO_TEXT_MAX];
    const size_t size = into->size - begin;
    memcpy(copy, into->data + begin, size);
    into->size = begin;
    proto_varint(into, size, 0);
    memcpy(into->data + into->size, copy, size);
    into->size += size;
}

static const char *proto_string(proto_bytes *into, const char *text)
{
    for (; *text != '"'; text++) {
        const bool nul = text[0] == '\\' && text[1] == '0';
        text += nul;
        into->data[into->size++] = nul ? 0 : (uint8_t)*text;
    }
    return text + 1;
}

static const char *proto_fixed(proto_bytes *into, const char *text)
{
    const int bytes = *text - '0';
    text += 2;
    const uint64_t value = proto_number(&text);
    for (int i = 0; i < bytes; i++)
        into->data[into->size++] = (uint8_t)(value >> (8 * i));
    return text;
}

static const char *proto_packed(proto_bytes *into, const char *text)
{
    for (proto_spaces(&text); *text != ']'; proto_spaces(&text))
        proto_varint(into, proto_number(&text), 0);
    return text + 1;
}

/* A message or group that is not closed yet. */
typedef struct {
    size_t begin;
    uint64_t group; /* its number; 0 for a message */
} proto_open;

static const char *proto_field(proto_bytes *into, const char *text, proto_open *ret_open)
{
    unsigned padding = 0;
    if (*text == '~') {
        text++;
        padding = (unsigned)proto_number(&text);
        proto_spaces(&text);
    }
    const uint64_t number = proto_number(&text);
    const char kind = *text++;
    const unsigned wire = kind == ':'    ? 0
                          : kind == '('  ? 3
                          : kind != '='  ? 2
                          : *text == '8' ? 1
                                         : 5;
    proto_varint(into, number << 3 | wire, padding);
    const size_t begin = into->size;
    if (kind == ':') {
        proto_varint(into, proto_number(&text), 0);
    } else if (kind == '=') {
        text = proto_fixed(into, text);
    } else if (kind == '(' || kind == '{') {
        *ret_open = (proto_open){begin, kind == '(' ? number : 0};
    } else {
        text = kind == '[' ? proto_packed(into, text) : proto_string(into, text);
        proto_length(into, begin);
    }
    return text;
}

/* Caller frees data. */
static inline proto_bytes proto_text(const char *text)
{
    proto_bytes bytes = {.data = malloc(PROTO_TEXT_MAX)};
    proto_open open[16] = {0};
    size_t depth = 0;
    for (proto_spaces(&text); *text != '\0'; proto_spaces(&text)) {
        if (*text == '}' || *text == ')') {
            depth--;
            if (open[depth].group)
                proto_varint(&bytes, open[depth].group << 3 | 4, 0);
            else
                proto_length(&bytes, open[depth].begin);
            text++;
            continue;
        }
        open[depth].begin = SIZE_MAX;
        text = proto_field(&bytes, text, &open[depth]);
        depth += open[depth].begin != SIZE_MAX;
    }
    return bytes;
}
