/* visible.c: see visible.h. */
#include "base/visible.h"

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
