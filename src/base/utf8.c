/* utf8.c: see utf8.h. */
#include "base/utf8.h"

size_t pt_utf8_decode(const uint8_t *text, size_t size, uint32_t *ret_char, int *ret_valid)
{
    const uint8_t lead = text[0];
    *ret_valid = 1;
    *ret_char = lead;
    if (lead < 0x80) return 1;
    *ret_valid = 0;
    *ret_char = PT_UTF8_REPLACEMENT;
    if (lead < 0xc2 || lead > 0xf4) return 1;
    const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    /* The range of the second byte excludes overlong forms, surrogates and values above 10FFFF. */
    const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    uint32_t character = lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (i >= size) return i;
        if (text[i] < (i == 1 ? low : 0x80) || text[i] > (i == 1 ? high : 0xbf)) return i;
        character = character << 6 | (text[i] & 0x3f);
    }
    *ret_char = character;
    *ret_valid = 1;
    return length;
}

size_t pt_utf8_encode(uint32_t c, uint8_t text[4])
{
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) c = PT_UTF8_REPLACEMENT;
    if (c < 0x80) {
        text[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        text[0] = (uint8_t)(0xc0 | c >> 6);
        text[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        text[0] = (uint8_t)(0xe0 | c >> 12);
        text[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        text[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    text[0] = (uint8_t)(0xf0 | c >> 18);
    text[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    text[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    text[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}
