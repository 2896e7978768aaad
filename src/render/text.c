/* text.c: widths, safe text, colours, percentages. */
#include "render/text.h"

#include "render/brief.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "base/visible.h"

typedef struct {
    uint32_t first, last;
} range;

/* Marks that take no column of their own (Unicode 15: Mn, Me and zero-width format characters, the
 * common scripts). */
static const range zero_width[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},   {0x0610, 0x061a},   {0x064b, 0x065f},
    {0x06d6, 0x06dc}, {0x0900, 0x0902}, {0x093a, 0x093a},   {0x093c, 0x093c},   {0x0941, 0x0948},
    {0x094d, 0x094d}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a},   {0x0e47, 0x0e4e},   {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x2060, 0x2064},   {0x20d0, 0x20f0},   {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
};

/* East Asian Width W and F (Unicode 15), in broad ranges. */
static const range two_wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

#define IN(table, c) is_in(table, sizeof table / sizeof *table, c)

static bool is_in(const range *table, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count && table[i].first <= c; i++)
        if (c <= table[i].last) return true;
    return false;
}

static bool is_shown(uint32_t c, int valid)
{
    return valid && pt_is_visible(c);
}

/* The number of columns of the character c, which has `count` bytes. */
static size_t width_of(uint32_t c, int valid, const uint8_t *bytes, size_t count)
{
    char escape[PT_VISIBLE_MAX];
    if (!is_shown(c, valid)) return pt_visible_escape(bytes, count, escape);
    if (c < 0x300) return 1;
    if (IN(zero_width, c)) return 0;
    return IN(two_wide, c) ? 2 : 1;
}

size_t pt_text_width(const char *text)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t left = strlen(text), width = 0;
    while (left > 0) {
        const size_t plain = pt_visible_ascii(at, left, "");
        width += plain;
        at += plain;
        left -= plain;
        if (left == 0) break;
        uint32_t c;
        int valid;
        const size_t bytes = pt_utf8_decode(at, left, &c, &valid);
        width += width_of(c, valid, at, bytes);
        at += bytes;
        left -= bytes;
    }
    return width;
}

/* Puts those characters of the text that lie in its columns [from, to). */
static void put_columns(pt_out *out, const char *text, size_t from, size_t to)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t left = strlen(text), column = 0;
    while (left > 0 && column < to) {
        size_t plain = pt_visible_ascii(at, left, "");
        if (plain > to - column) plain = to - column;
        if (plain > 0) {
            const size_t hidden = column >= from          ? 0
                                  : from - column < plain ? from - column
                                                          : plain;
            pt_out_put(out, at + hidden, plain - hidden);
            column += plain;
            at += plain;
            left -= plain;
            continue;
        }
        uint32_t c;
        int valid;
        const size_t bytes = pt_utf8_decode(at, left, &c, &valid);
        const size_t width = width_of(c, valid, at, bytes);
        if (column >= from && column + width <= to) {
            char escape[PT_VISIBLE_MAX];
            if (is_shown(c, valid))
                pt_out_put(out, at, bytes);
            else
                pt_out_put(out, escape, pt_visible_escape(at, bytes, escape));
        }
        column += width;
        at += bytes;
        left -= bytes;
    }
}

void pt_text_put(pt_out *out, const char *text, size_t limit)
{
    static const char dots[] = "...";
    const size_t width = pt_text_width(text);
    if (limit == 0 || width <= limit || limit < 8) {
        put_columns(out, text, 0, SIZE_MAX);
        return;
    }
    const size_t shown = limit - (sizeof dots - 1);
    put_columns(out, text, 0, shown / 2);
    pt_out_text(out, dots);
    put_columns(out, text, width - (shown - shown / 2), SIZE_MAX);
}

void pt_text_put_name(pt_out *out, const pt_look *look, const char *name, size_t limit)
{
    if (look->long_names) {
        pt_text_put(out, name, limit);
        return;
    }
    PT_AUTO(pt_buf) brief = PT_BUF_INIT;
    pt_brief_name(name, &brief);
    pt_text_put(out, pt_buf_text(&brief), limit);
}

char *pt_where_text(const char *file, int64_t line)
{
    const char *const base = pt_base_name(file);
    return line > 0 && file[0] != '\0' ? pt_strf("%s:%lld", base, (long long)line)
                                       : pt_strdup(base);
}

static size_t name_width(const pt_look *look, const char *name)
{
    if (look->long_names) return pt_text_width(name);
    PT_AUTO(pt_buf) brief = PT_BUF_INIT;
    pt_brief_name(name, &brief);
    return pt_text_width(pt_buf_text(&brief));
}

pt_text_fit pt_text_fit_row(const pt_look *look, size_t used, const char *name, const char *place,
                            const char *mark)
{
    enum { LIMIT_MIN = 8, BOTH_MIN = 24 };
    pt_text_fit fit = {.has_place = place[0] != '\0', .has_mark = true};
    if (look->width == 0) return fit;
    size_t room = look->width > used ? look->width - used : 0;
    const size_t wanted = name_width(look, name);
    size_t place_width = fit.has_place ? pt_text_width(place) + 2 : 0;
    const size_t beside = pt_text_width(mark);
    fit.has_mark = room >= beside + (fit.has_place ? wanted + place_width : LIMIT_MIN);
    if (fit.has_mark) room -= beside;
    if (wanted + place_width <= room) return fit;
    if (room < BOTH_MIN) {
        fit.has_place = false;
        place_width = 0;
    }
    const size_t half = room / 2;
    if (place_width > half) {
        const size_t left = wanted < half ? room - wanted : half;
        if (place_width > left) {
            fit.place = left - 2;
            place_width = left;
        }
    }
    fit.name = room > place_width + LIMIT_MIN ? room - place_width : LIMIT_MIN;
    return fit;
}

void pt_text_pad(pt_out *out, size_t n)
{
    static const char spaces[] = "                                ";
    for (; n >= sizeof spaces - 1; n -= sizeof spaces - 1)
        pt_out_put(out, spaces, sizeof spaces - 1);
    pt_out_put(out, spaces, n);
}

static const char *const sequences[] = {
    [PT_COLOUR_NONE] = "",         [PT_COLOUR_STRONG] = "\033[1m", [PT_COLOUR_HOT] = "\033[1;31m",
    [PT_COLOUR_WARM] = "\033[33m", [PT_COLOUR_QUIET] = "\033[2m",
};

void pt_text_colour(pt_out *out, const pt_look *look, pt_colour colour)
{
    if (look->colour) pt_out_sequence(out, sequences[colour]);
}

void pt_text_colour_end(pt_out *out, const pt_look *look, pt_colour colour)
{
    if (look->colour && colour != PT_COLOUR_NONE) pt_out_sequence(out, "\033[0m");
}

pt_percent pt_percent_of(double share)
{
    pt_percent p;
    const double percent = share * 100, size = fabs(percent);
    if (size == 0)
        snprintf(p.text, sizeof p.text, "0%%");
    else if (size < 0.01)
        snprintf(p.text, sizeof p.text, "%s<0.01%%", percent < 0 ? "-" : "");
    else if (size < 0.1)
        snprintf(p.text, sizeof p.text, "%.2f%%", percent);
    else if (size >= 1e6)
        snprintf(p.text, sizeof p.text, "%s>999999%%", percent < 0 ? "-" : "");
    else
        snprintf(p.text, sizeof p.text, "%.1f%%", percent);
    return p;
}

void pt_text_put_wrapped(pt_out *out, const pt_look *look, size_t used, size_t indent,
                         const char *text)
{
    const size_t least = indent + 8; /* columns, below which nothing is wrapped */
    size_t column = used;
    bool first = true;
    for (const char *at = text; *at != '\0';) {
        const size_t size = strcspn(at, " ");
        PT_FREE char *word = pt_strf("%.*s", (int)size, at);
        const size_t width = pt_text_width(word);
        if (!first && look->width > least && column + 1 + width > look->width) {
            pt_out_char(out, '\n');
            pt_text_pad(out, indent);
            column = indent;
        } else if (!first) {
            pt_out_char(out, ' ');
            column++;
        }
        pt_text_put(out, word, look->width > least ? look->width - indent : 0);
        column += width;
        first = false;
        at += size;
        while (*at == ' ')
            at++;
    }
    pt_out_char(out, '\n');
}

void pt_text_put_lines(pt_out *out, const pt_look *look, size_t indent, const pt_buf *text)
{
    if (look->width == 0) {
        pt_out_put(out, text->data, text->size);
        return;
    }
    for (size_t at = 0; at < text->size;) {
        const char *const line = (const char *)text->data + at;
        const char *const end = memchr(line, '\n', text->size - at);
        const size_t size = end != NULL ? (size_t)(end - line) : text->size - at;
        PT_FREE char *copy = pt_strndup(line, size);
        if (pt_text_width(copy) <= look->width) {
            pt_outf(out, "%s\n", copy);
        } else {
            const size_t skip = strspn(copy, " ");
            pt_text_pad(out, skip);
            pt_text_put_wrapped(out, look, skip, indent, copy + skip);
        }
        at += size + 1;
    }
}
