/* utf8.h: writes characters as UTF-8. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Writes a character and returns its length in bytes. An invalid character becomes U+FFFD. */
static inline size_t pt_interp_put_character(uint32_t c, char to[4])
{
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    const size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = bytes; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)((0xf00 >> bytes & 0xff) | c);
    return bytes;
}
