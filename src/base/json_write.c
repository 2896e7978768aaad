/* json_write.c: see json.h. */
#include "base/json.h"

#include "base/utf8.h"
#include "base/visible.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole numbers below this limit have at most 15 digits, so they are written as "%.15g" would. */
#define EXACT_BELOW 1e15

enum { LEVEL_ARRAY = 1, LEVEL_OBJECT = 2, LEVEL_HAS_MEMBER = 4 };

void pt_json_w_init(pt_json_w *w, pt_out *out, pt_json_flags flags)
{
    *w = (pt_json_w){.out = out, .flags = flags & ~(out->is_compact ? PT_JSON_INDENT : 0)};
}

void pt_json_w_done(pt_json_w *w)
{
    if (w->flags & PT_JSON_INDENT) pt_out_char(w->out, '\n');
    pt_buf_done(&w->levels);
}

static uint8_t *top_level(pt_json_w *w)
{
    return w->levels.size > 0 ? &w->levels.data[w->levels.size - 1] : NULL;
}

static void new_line(pt_json_w *w)
{
    if (!(w->flags & PT_JSON_INDENT)) return;
    pt_out_char(w->out, '\n');
    for (size_t i = 0; i < w->levels.size; i++)
        pt_out_put(w->out, "  ", 2);
}

/* Puts the separator between the previous member and this one. */
static void begin_member(pt_json_w *w, uint8_t *at)
{
    if (*at & LEVEL_HAS_MEMBER) pt_out_char(w->out, ',');
    *at |= LEVEL_HAS_MEMBER;
    new_line(w);
}

static void begin_value(pt_json_w *w)
{
    uint8_t *const at = top_level(w);
    if (at == NULL) {
        PT_BUG_IF(w->complete);
        w->complete = true;
    } else if (*at & LEVEL_OBJECT) {
        PT_BUG_IF(!w->after_key);
        w->after_key = false;
    } else {
        begin_member(w, at);
    }
}

static void open_level(pt_json_w *w, uint8_t kind, char bracket)
{
    begin_value(w);
    pt_out_char(w->out, bracket);
    pt_put_u8(&w->levels, kind);
}

static void close_level(pt_json_w *w, uint8_t kind, char bracket)
{
    const uint8_t *const at = top_level(w);
    PT_BUG_IF(at == NULL || !(*at & kind) || w->after_key);
    const bool has_member = *at & LEVEL_HAS_MEMBER;
    w->levels.size--;
    if (has_member) new_line(w);
    pt_out_char(w->out, bracket);
}

void pt_json_object(pt_json_w *w)
{
    open_level(w, LEVEL_OBJECT, '{');
}

void pt_json_object_end(pt_json_w *w)
{
    close_level(w, LEVEL_OBJECT, '}');
}

void pt_json_array(pt_json_w *w)
{
    open_level(w, LEVEL_ARRAY, '[');
}

void pt_json_array_end(pt_json_w *w)
{
    close_level(w, LEVEL_ARRAY, ']');
}

/* Puts the escape for the byte at text[0], if it needs one, and returns the number of bytes that
 * the escape replaces; else returns 0. */
static size_t put_escape(pt_json_w *w, const uint8_t *text, size_t left)
{
    static const char short_escapes[32] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    const uint8_t byte = text[0];
    if (byte == '"' || byte == '\\') {
        const char escape[2] = {'\\', (char)byte};
        pt_out_put(w->out, escape, 2);
        return 1;
    }
    if (byte < 0x20 && short_escapes[byte] != 0) {
        const char escape[2] = {'\\', short_escapes[byte]};
        pt_out_put(w->out, escape, 2);
        return 1;
    }
    if (byte < 0x20 || byte == 0x7f || (byte == '<' && (w->flags & PT_JSON_IN_HTML))) {
        pt_outf(w->out, "\\u%04x", byte);
        return 1;
    }
    if (byte < 0x80) return 0;
    uint32_t character;
    int valid;
    const size_t length = pt_utf8_decode(text, left, &character, &valid);
    if (valid && !pt_is_visible(character))
        pt_outf(w->out, "\\u%04x", character);
    else if (valid)
        pt_out_put(w->out, text, length);
    else
        pt_out_text(w->out, "\xef\xbf\xbd"); /* U+FFFD */
    return length;
}

static void put_string(pt_json_w *w, const char *string, size_t length)
{
    const uint8_t *const text = (const uint8_t *)string;
    if (!pt_out_ok(w->out)) return;
    pt_out_char(w->out, '"');
    size_t plain = 0; /* start of the run that needs no escape */
    for (size_t i = 0;;) {
        i += pt_visible_ascii(text + i, length - i, "\"\\<");
        if (i == length) break;
        pt_out_put(w->out, text + plain, i - plain);
        const size_t taken = put_escape(w, text + i, length - i);
        plain = i + taken;
        i += taken > 0 ? taken : 1;
    }
    pt_out_put(w->out, text + plain, length - plain);
    pt_out_char(w->out, '"');
}

void pt_json_key_n(pt_json_w *w, const char *key, size_t length)
{
    uint8_t *const at = top_level(w);
    PT_BUG_IF(at == NULL || !(*at & LEVEL_OBJECT) || w->after_key);
    begin_member(w, at);
    put_string(w, key, length);
    pt_out_text(w->out, w->flags & PT_JSON_INDENT ? ": " : ":");
    w->after_key = true;
}

void pt_json_key(pt_json_w *w, const char *key)
{
    pt_json_key_n(w, key, strlen(key));
}

void pt_json_text_n(pt_json_w *w, const char *text, size_t length)
{
    begin_value(w);
    put_string(w, text, length);
}

void pt_json_text(pt_json_w *w, const char *text)
{
    pt_json_text_n(w, text, strlen(text));
}

static void put_decimal(pt_json_w *w, uint64_t value, bool negative)
{
    char digits[21];
    char *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    if (negative) *--at = '-';
    pt_out_put(w->out, at, (size_t)(digits + sizeof digits - at));
}

void pt_json_int(pt_json_w *w, int64_t value)
{
    begin_value(w);
    put_decimal(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void pt_json_uint(pt_json_w *w, uint64_t value)
{
    begin_value(w);
    put_decimal(w, value, false);
}

void pt_json_double(pt_json_w *w, double value)
{
    begin_value(w);
    if (!isfinite(value)) {
        pt_out_text(w->out, "null");
        return;
    }
    if (fabs(value) < EXACT_BELOW && value == trunc(value) && !(value == 0 && signbit(value))) {
        put_decimal(w, (uint64_t)fabs(value), value < 0);
        return;
    }
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    pt_out_text(w->out, text);
}

void pt_json_bool(pt_json_w *w, bool value)
{
    begin_value(w);
    pt_out_text(w->out, value ? "true" : "false");
}

void pt_json_null(pt_json_w *w)
{
    begin_value(w);
    pt_out_text(w->out, "null");
}

void pt_json_int_or_null(pt_json_w *w, int64_t value, bool is_known)
{
    if (is_known)
        pt_json_int(w, value);
    else
        pt_json_null(w);
}

void pt_json_copy(pt_json_w *w, const void *json, size_t size)
{
    const char *at = json;
    const char *const end = at + size;
    begin_value(w);
    while (at < end) { /* in JSON, "<" occurs only in strings */
        const char *const mark =
            w->flags & PT_JSON_IN_HTML ? memchr(at, '<', (size_t)(end - at)) : NULL;
        pt_out_put(w->out, at, (size_t)((mark != NULL ? mark : end) - at));
        if (mark == NULL) return;
        pt_out_text(w->out, "\\u003c");
        at = mark + 1;
    }
}

void pt_json_key_text(pt_json_w *w, const char *key, const char *text)
{
    pt_json_key_text_n(w, key, text, text != NULL ? strlen(text) : 0);
}

void pt_json_key_text_n(pt_json_w *w, const char *key, const char *text, size_t length)
{
    pt_json_key(w, key);
    if (text != NULL)
        pt_json_text_n(w, text, length);
    else
        pt_json_null(w);
}

void pt_json_key_int(pt_json_w *w, const char *key, int64_t value)
{
    pt_json_key(w, key);
    pt_json_int(w, value);
}

void pt_json_key_int_or_null(pt_json_w *w, const char *key, int64_t value, bool is_known)
{
    pt_json_key(w, key);
    pt_json_int_or_null(w, value, is_known);
}

void pt_json_key_uint(pt_json_w *w, const char *key, uint64_t value)
{
    pt_json_key(w, key);
    pt_json_uint(w, value);
}

void pt_json_key_double(pt_json_w *w, const char *key, double value)
{
    pt_json_key(w, key);
    pt_json_double(w, value);
}

void pt_json_key_bool(pt_json_w *w, const char *key, bool value)
{
    pt_json_key(w, key);
    pt_json_bool(w, value);
}

void pt_json_key_null(pt_json_w *w, const char *key)
{
    pt_json_key(w, key);
    pt_json_null(w);
}

void pt_json_key_hex(pt_json_w *w, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    pt_json_key_text(w, key, text);
}

void pt_json_key_object(pt_json_w *w, const char *key)
{
    if (key != NULL) pt_json_key(w, key);
    pt_json_object(w);
}

void pt_json_key_array(pt_json_w *w, const char *key)
{
    if (key != NULL) pt_json_key(w, key);
    pt_json_array(w);
}
