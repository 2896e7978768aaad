/* visible.c: see visible.h. */
#include "base/visible.h"

#include <string.h>

#include "base/error.h"

bool pt_is_visible(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},
        {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && hidden[i].first <= c; i++)
        if (c <= hidden[i].last) return false;
    return true;
}

#define BLOCK_BYTES 16

static inline bool is_block_plain(const uint8_t *bytes, const char *but)
{
    typedef int8_t block __attribute__((vector_size(BLOCK_BYTES)));
    typedef uint64_t halves __attribute__((vector_size(BLOCK_BYTES)));
    block text;
    memcpy(&text, bytes, sizeof text);
    block other = (text < 0x20) | (text == 0x7f); /* bytes above 0x7f are negative */
    for (; *but != '\0'; but++)
        other |= text == (int8_t)*but;
    halves any;
    memcpy(&any, &other, sizeof any);
    return (any[0] | any[1]) == 0;
}

size_t pt_visible_ascii(const void *text, size_t size, const char *but)
{
    const uint8_t *const bytes = text;
    const char *const excepted = but;
    uint64_t is_in_run[4] = {~UINT64_C(0) << 0x20, ~UINT64_C(0) >> 1, 0, 0}; /* a bit per byte */
    for (; *but != '\0'; but++)
        is_in_run[(uint8_t)*but >> 6] &= ~(UINT64_C(1) << (*but & 63));
    size_t run = 0;
    while (size - run >= BLOCK_BYTES && is_block_plain(bytes + run, excepted))
        run += BLOCK_BYTES;
    while (run < size && (is_in_run[bytes[run] >> 6] >> (bytes[run] & 63) & 1) != 0)
        run++;
    return run;
}

size_t pt_visible_escape(const uint8_t *bytes, size_t count, char to[PT_VISIBLE_MAX])
{
    static const char digits[] = "0123456789abcdef";
    size_t length = 0;
    for (size_t i = 0; i < count && i < 4; i++) {
        if (bytes[i] < 0x20 || bytes[i] == 0x7f) {
            to[length++] = '^';
            to[length++] = (char)(bytes[i] ^ 0x40);
            continue;
        }
        to[length++] = '\\';
        to[length++] = 'x';
        to[length++] = digits[bytes[i] >> 4];
        to[length++] = digits[bytes[i] & 15];
    }
    return length;
}

bool pt_has_newline_or_tab(const char *text, size_t size)
{
    return memchr(text, '\n', size) != NULL || memchr(text, '\t', size) != NULL;
}

char *pt_on_one_line(const char *text, size_t size, size_t *ret_size)
{
    char *const line = pt_alloc(2 * size + 1, 1), *to = line;
    for (size_t i = 0; i < size; i++) {
        if (pt_has_newline_or_tab(text + i, 1)) {
            *to++ = '^';
            *to++ = (char)(text[i] ^ 0x40);
        } else {
            *to++ = text[i];
        }
    }
    *to = '\0';
    if (ret_size != NULL) *ret_size = (size_t)(to - line);
    return line;
}
