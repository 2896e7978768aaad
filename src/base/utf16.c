/* utf16.c: see utf16.h. */
#include "base/utf16.h"

#include "base/utf8.h"

#define LOOK_BYTES 512 /* number of leading bytes examined */

typedef struct {
    const uint8_t *at, *end;
    unsigned low; /* offset of the low byte in a unit: 0 or 1 */
} units;

static bool open_units(const uint8_t *data, size_t size, units *ret)
{
    if (size < 2 || data[0] + data[1] != 0xff + 0xfe || data[0] < 0xfe || data[1] < 0xfe)
        return false;
    *ret = (units){.at = data + 2, .end = data + size - size % 2, .low = data[0] == 0xff ? 0 : 1};
    return true;
}

static uint32_t unit_at(const units *u, const uint8_t *at)
{
    return at[u->low] | (uint32_t)at[1 - u->low] << 8;
}

static bool is_surrogate(uint32_t unit, uint32_t first)
{
    return unit >= first && unit < first + 0x400;
}

static uint32_t next_character(units *u)
{
    const uint32_t unit = unit_at(u, u->at);
    u->at += 2;
    if (!is_surrogate(unit, 0xd800)) return is_surrogate(unit, 0xdc00) ? PT_UTF8_REPLACEMENT : unit;
    const uint32_t second = u->at < u->end ? unit_at(u, u->at) : 0;
    if (!is_surrogate(second, 0xdc00)) return PT_UTF8_REPLACEMENT;
    u->at += 2;
    return 0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00);
}

bool pt_is_utf16(const void *data, size_t size)
{
    units u;
    if (!open_units(data, size < LOOK_BYTES ? size : LOOK_BYTES, &u) || u.at == u.end) return false;
    while (u.at < u.end) {
        const uint32_t c = next_character(&u);
        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') return false;
    }
    return true;
}

pt_status pt_blob_to_utf8(pt_blob *blob, pt_error *reterr)
{
    units u;
    pt_blob text;
    if (!open_units(blob->data, blob->size, &u)) return PT_OK;
    /* A unit becomes at most three bytes of UTF-8. */
    const pt_status status = pt_blob_new((size_t)(u.end - u.at) / 2 * 3 + 4, &text, reterr);
    if (status != PT_OK) return status;
    uint8_t *const to = pt_blob_bytes(&text);
    size_t size = 0;
    while (u.at < u.end)
        size += pt_utf8_encode(next_character(&u), to + size);
    const pt_status cut = pt_blob_resize(&text, size, reterr);
    if (cut != PT_OK) {
        pt_blob_done(&text);
        return cut;
    }
    pt_blob_done(blob);
    *blob = text;
    return PT_OK;
}
