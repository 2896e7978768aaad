/* json_read.c: the JSON pull reader. Its state is `expect` and a bit for each open level. */
#include "base/json.h"

#include "base/text.h"
#include "base/utf8.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EXPECT_VALUE,        /* at the top level, after a comma in an array, after a colon */
    EXPECT_VALUE_OR_END, /* just inside [ */
    EXPECT_KEY,          /* after a comma in an object */
    EXPECT_KEY_OR_END,   /* just inside { */
    EXPECT_COMMA_OR_END, /* after a member */
    EXPECT_EOF,          /* after the top-level value */
};

void pt_json_r_init(pt_json_r *r, const void *data, size_t size, pt_error *error)
{
    *r = (pt_json_r){.start = data != NULL ? data : (const uint8_t *)"",
                     .error = error,
                     .token = PT_JSON_NULL,
                     .expect = EXPECT_VALUE};
    r->pos = r->start;
    r->end = r->start + size;
}

void pt_json_r_done(pt_json_r *r)
{
    pt_buf_done(&r->scratch);
}

__attribute__((format(printf, 2, 3), cold)) static pt_json_token fail(pt_json_r *r,
                                                                      const char *format, ...)
{
    const bool at_end = r->pos >= r->end;
    if (r->error != NULL && r->error->status == PT_OK) {
        char text[200];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        pt_error_set(r->error, at_end ? PT_ERR_DAMAGED : PT_ERR_FORMAT, "JSON %s at byte %zu, %s",
                     at_end ? "ends" : "is wrong", pt_json_offset(r), text);
        pt_error_where(r->error, NULL, NULL, (int64_t)pt_json_offset(r));
    }
    r->pos = r->end;
    return r->token = PT_JSON_ERROR;
}

static void skip_space(pt_json_r *r)
{
    while (r->pos < r->end &&
           (*r->pos == ' ' || *r->pos == '\n' || *r->pos == '\t' || *r->pos == '\r'))
        r->pos++;
}

static bool in_object(const pt_json_r *r)
{
    return r->depth > 0 && r->in_object[(r->depth - 1) / 8] >> (r->depth - 1) % 8 & 1;
}

static void after_value(pt_json_r *r)
{
    r->expect = r->depth > 0 ? EXPECT_COMMA_OR_END : EXPECT_EOF;
}

/* --- strings --- */

/* The address of the first byte in [p, end) that is not plain: a quote, a backslash, a control
 * character or non-ASCII. */
static const uint8_t *end_of_plain(const uint8_t *p, const uint8_t *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    while (end - p >= 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        x = le64toh(x);
        const uint64_t quote = x ^ (ones * '"'), slash = x ^ (ones * '\\');
        /* A borrow can mark a wrong byte only above a byte that is marked rightly, so the lowest
         * marked byte is right. */
        const uint64_t marks =
            ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | (x - ones * 0x20) | x;
        if (marks & highs) return p + __builtin_ctzll(marks & highs) / 8;
        p += 8;
    }
    while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Four hexadecimal digits at p, or -1. */
static int32_t read_hex4(const uint8_t *p, const uint8_t *end)
{
    if (end - p < 4) return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = pt_hex_digit((char)p[i]);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

static void put_char(pt_json_r *r, uint32_t character)
{
    uint8_t utf8[4];
    const size_t length = pt_utf8_encode(character, utf8);
    pt_put(&r->scratch, utf8, length);
}

/* Decodes \uXXXX, with pos at the u. A surrogate pair is one character; a lone surrogate becomes
 * U+FFFD. */
static bool unescape_unicode(pt_json_r *r)
{
    const int32_t first = read_hex4(r->pos + 1, r->end);
    if (first < 0) {
        if (r->end - r->pos < 5) r->pos = r->end;
        return false;
    }
    r->pos += 5;
    if (first < 0xd800 || first > 0xdfff) {
        put_char(r, (uint32_t)first);
        return true;
    }
    if (first < 0xdc00 && r->end - r->pos >= 2 && r->pos[0] == '\\' && r->pos[1] == 'u') {
        const int32_t second = read_hex4(r->pos + 2, r->end);
        if (second >= 0xdc00 && second <= 0xdfff) {
            r->pos += 6;
            put_char(r,
                     0x10000u + ((uint32_t)(first - 0xd800) << 10) + (uint32_t)(second - 0xdc00));
            return true;
        }
    }
    r->replaced++;
    put_char(r, PT_UTF8_REPLACEMENT);
    return true;
}

static bool unescape_text(pt_json_r *r)
{
    static const char plain[128] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                    ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    r->pos++;
    if (r->pos == r->end) return false;
    const uint8_t c = *r->pos;
    if (c == 'u') return unescape_unicode(r);
    if (c >= 128 || plain[c] == 0) return false;
    pt_put_u8(&r->scratch, (uint8_t)plain[c]);
    r->pos++;
    return true;
}

/* Reads the string whose opening quote is at pos. The text is a slice of the data, or a copy in
 * scratch if the string has an escape or invalid UTF-8. */
static bool read_string(pt_json_r *r)
{
    const uint8_t *run = ++r->pos; /* start of the run not copied yet */
    bool copied = false;
    pt_buf_clear(&r->scratch);
    while (true) {
        r->pos = end_of_plain(r->pos, r->end);
        if (r->pos == r->end) return fail(r, "inside a string"), false;
        const uint8_t c = *r->pos;
        if (c == '"') break;
        if (c < 0x20) return fail(r, "a control character inside a string"), false;
        uint32_t character = 0;
        int valid = 0;
        size_t length = 0;
        if (c >= 0x80) {
            length = pt_utf8_decode(r->pos, (size_t)(r->end - r->pos), &character, &valid);
            if (valid) {
                r->pos += length;
                continue;
            }
        }
        pt_put(&r->scratch, run, (size_t)(r->pos - run));
        copied = true;
        if (c == '\\') {
            if (!unescape_text(r)) return fail(r, "unknown escape in a string"), false;
        } else {
            put_char(r, PT_UTF8_REPLACEMENT);
            r->replaced++;
            r->pos += length;
        }
        run = r->pos;
    }
    if (copied) pt_put(&r->scratch, run, (size_t)(r->pos - run));
    r->text = copied ? pt_buf_text(&r->scratch) : (const char *)run;
    r->length = copied ? r->scratch.size : (size_t)(r->pos - run);
    r->pos++;
    return true;
}

/* --- numbers --- */

static const uint8_t *skip_digits(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Converts a spelling that was checked already. The result is exact without libc when mantissa and
 * power of ten are both doubles (Clinger 1990); else strtod converts. */
static double to_double(pt_json_r *r, const uint8_t *from, const uint8_t *to)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = *from == '-';
    uint64_t mantissa = 0;
    int64_t power = 0;
    bool after_point = false;
    const uint8_t *p = from + negative;
    for (; p < to && *p != 'e' && *p != 'E' && mantissa < (UINT64_C(1) << 53) / 10; p++) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        mantissa = mantissa * 10 + (uint64_t)(*p - '0');
        power -= after_point;
    }
    if (p == to && power >= -22) {
        const double value = (double)mantissa / tens[-power];
        return negative ? -value : value;
    }
    pt_buf_clear(&r->scratch);
    pt_put(&r->scratch, from, (size_t)(to - from));
    return strtod(pt_buf_text(&r->scratch), NULL);
}

static pt_json_token read_number(pt_json_r *r)
{
    const uint8_t *const from = r->pos;
    const bool negative = *from == '-';
    const uint8_t *const whole = from + negative;
    const uint8_t *p = skip_digits(whole, r->end);
    r->pos = p;
    if (p == whole) return fail(r, "a number without digits");
    if (*whole == '0' && p - whole > 1) {
        r->pos = whole;
        return fail(r, "a number that begins with 0");
    }
    const size_t whole_digits = (size_t)(p - whole);
    bool integer = true;
    if (p < r->end && *p == '.') {
        integer = false;
        const uint8_t *const fraction = p + 1;
        r->pos = p = skip_digits(fraction, r->end);
        if (p == fraction) return fail(r, "a number without digits after its point");
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        integer = false;
        p++;
        if (p < r->end && (*p == '+' || *p == '-')) p++;
        const uint8_t *const exponent = p;
        r->pos = p = skip_digits(exponent, r->end);
        if (p == exponent) return fail(r, "a number without digits in its exponent");
    }
    r->text = (const char *)from;
    r->length = (size_t)(p - from);
    after_value(r);
    if (integer && whole_digits <= 19) {
        uint64_t value = 0; /* 19 digits are less than 2^64 */
        for (const uint8_t *d = whole; d < p; d++)
            value = value * 10 + (uint64_t)(*d - '0');
        if (value <= (uint64_t)INT64_MAX + negative) {
            r->integer = (int64_t)(negative ? 0 - value : value);
            r->number = (double)r->integer;
            if (negative && value == 0) r->number = -0.0;
            return r->token = PT_JSON_INT;
        }
    }
    r->number = to_double(r, from, p);
    return r->token = PT_JSON_NUMBER;
}

/* --- structure --- */

static pt_json_token read_word(pt_json_r *r, const char *word, pt_json_token token)
{
    const size_t length = strlen(word), left = (size_t)(r->end - r->pos);
    if (left < length && memcmp(r->pos, word, left) == 0) {
        r->pos = r->end;
        return fail(r, "inside a word");
    }
    if (left < length || memcmp(r->pos, word, length) != 0) return fail(r, "unknown word");
    r->pos += length;
    r->boolean = *word == 't';
    after_value(r);
    return r->token = token;
}

static pt_json_token open_level(pt_json_r *r, bool object)
{
    if (r->depth == PT_JSON_DEPTH_MAX)
        return fail(r, "nested deeper than %d levels", PT_JSON_DEPTH_MAX);
    uint8_t *const byte = &r->in_object[r->depth / 8];
    const uint8_t bit = (uint8_t)(1u << r->depth % 8);
    *byte = object ? *byte | bit : *byte & (uint8_t)~bit;
    r->depth++;
    r->pos++;
    r->expect = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    return r->token = object ? PT_JSON_OBJECT : PT_JSON_ARRAY;
}

static pt_json_token close_level(pt_json_r *r)
{
    const bool object = in_object(r);
    r->pos++;
    r->depth--;
    after_value(r);
    return r->token = object ? PT_JSON_OBJECT_END : PT_JSON_ARRAY_END;
}

static pt_json_token read_value(pt_json_r *r)
{
    switch (*r->pos) {
    case '{': return open_level(r, true);
    case '[': return open_level(r, false);
    case '"':
        if (!read_string(r)) return PT_JSON_ERROR;
        after_value(r);
        return r->token = PT_JSON_STRING;
    case 't': return read_word(r, "true", PT_JSON_BOOL);
    case 'f': return read_word(r, "false", PT_JSON_BOOL);
    case 'n': return read_word(r, "null", PT_JSON_NULL);
    case '-':
    case '0' ... '9': return read_number(r);
    default: return fail(r, "a value was expected");
    }
}

static pt_json_token read_key(pt_json_r *r)
{
    if (*r->pos != '"') return fail(r, "a key in quotes was expected");
    if (!read_string(r)) return PT_JSON_ERROR;
    skip_space(r);
    if (r->pos == r->end || *r->pos != ':') return fail(r, "a colon was expected");
    r->pos++;
    r->expect = EXPECT_VALUE;
    return r->token = PT_JSON_KEY;
}

pt_json_token pt_json_next(pt_json_r *r)
{
    if (r->token == PT_JSON_ERROR || r->token == PT_JSON_EOF) return r->token;
    skip_space(r);
    if (r->expect == EXPECT_EOF) {
        if (r->pos == r->end) return r->token = PT_JSON_EOF;
        return fail(r, "data follows the value");
    }
    if (r->pos == r->end) return fail(r, "before it is complete");
    const uint8_t close = in_object(r) ? '}' : ']';
    if (r->expect == EXPECT_COMMA_OR_END) {
        if (*r->pos == close) return close_level(r);
        if (*r->pos != ',') return fail(r, "a comma or %c was expected", close);
        r->pos++;
        skip_space(r);
        if (r->pos == r->end) return fail(r, "after a comma");
        r->expect = in_object(r) ? EXPECT_KEY : EXPECT_VALUE;
    } else if (r->expect == EXPECT_VALUE_OR_END || r->expect == EXPECT_KEY_OR_END) {
        if (*r->pos == close) return close_level(r);
        r->expect = r->expect == EXPECT_KEY_OR_END ? EXPECT_KEY : EXPECT_VALUE;
    }
    return r->expect == EXPECT_KEY ? read_key(r) : read_value(r);
}

pt_json_token pt_json_skip(pt_json_r *r)
{
    if (r->token == PT_JSON_KEY) pt_json_next(r);
    if (r->token != PT_JSON_OBJECT && r->token != PT_JSON_ARRAY) return r->token;
    const unsigned outside = r->depth - 1;
    while (r->depth > outside && r->token != PT_JSON_ERROR)
        pt_json_next(r);
    return r->token;
}

bool pt_json_is(const pt_json_r *r, const char *text)
{
    return strlen(text) == r->length && memcmp(text, r->text, r->length) == 0;
}
