/* text.c: see text.h. */
#include "interp/text.h"

#include <string.h>

/* The length of the text without an incomplete last character of UTF-8. */
static size_t whole_characters(const uint8_t *text, size_t bytes)
{
    size_t start = bytes;
    while (start > 0 && bytes - start < 3 && (text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start == 0) return bytes;
    const uint8_t lead = text[start - 1];
    const size_t behind = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    return bytes - start < behind ? start - 1 : bytes;
}

bool pt_interp_copy_text(pt_interp_read *read, void *arg, uint64_t addr, uint64_t length, char *to,
                         size_t cap, size_t *ret_bytes)
{
    enum { PIECE = 64 };
    size_t held = 0;
    const bool is_cut = length > cap;
    if (is_cut) length = cap;
    while (held < length) {
        const size_t left = (size_t)length - held, to_end = PIECE - (addr + held) % PIECE;
        const size_t size = left < to_end ? left : to_end; /* within one page */
        if (!read(arg, addr + held, to + held, size)) return false;
        for (const size_t end = held + size; held < end; held++)
            if (to[held] == '\0') {
                *ret_bytes = held;
                return true;
            }
    }
    if (is_cut) held = whole_characters((const uint8_t *)to, held);
    *ret_bytes = held;
    return true;
}

size_t pt_interp_put_text(char *to, size_t cap, const char *text)
{
    const size_t bytes = strlen(text), held = bytes < cap ? bytes : cap;
    memcpy(to, text, held);
    return held;
}
