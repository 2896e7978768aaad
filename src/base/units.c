/* units.c: the table of units, and parsing and printing with it. */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct named_unit {
    pt_unit unit;
    const char *aliases[3]; /* lower case, without the plural s */
};

static const struct named_unit units[] = {
    {{"B", PT_FAMILY_BYTES, 1}, {"b", "byte"}},
    {{"kB", PT_FAMILY_BYTES, 1024}, {"kb", "kbyte", "kilobyte"}},
    {{"MB", PT_FAMILY_BYTES, 1048576}, {"mb", "mbyte", "megabyte"}},
    {{"GB", PT_FAMILY_BYTES, 1073741824}, {"gb", "gbyte", "gigabyte"}},
    {{"TB", PT_FAMILY_BYTES, 1099511627776}, {"tb", "tbyte", "terabyte"}},
    {{"PB", PT_FAMILY_BYTES, 1125899906842624}, {"pb", "pbyte", "petabyte"}},
    {{"ns", PT_FAMILY_TIME, 1}, {"ns", "nanosecond"}},
    {{"us", PT_FAMILY_TIME, 1e3}, {"us", "\u03bcs", "microsecond"}},
    {{"ms", PT_FAMILY_TIME, 1e6}, {"ms", "millisecond"}},
    {{"s", PT_FAMILY_TIME, 1e9}, {"s", "sec", "second"}},
    {{"hrs", PT_FAMILY_TIME, 3600e9}, {"hour", "hr"}},
    {{"n*GCU", PT_FAMILY_GCU, 1e-9}, {"nanogcu"}},
    {{"u*GCU", PT_FAMILY_GCU, 1e-6}, {"microgcu"}},
    {{"m*GCU", PT_FAMILY_GCU, 1e-3}, {"milligcu"}},
    {{"GCU", PT_FAMILY_GCU, 1}, {"gcu"}},
    {{"k*GCU", PT_FAMILY_GCU, 1e3}, {"kilogcu"}},
    {{"M*GCU", PT_FAMILY_GCU, 1e6}, {"megagcu"}},
    {{"G*GCU", PT_FAMILY_GCU, 1e9}, {"gigagcu"}},
    {{"T*GCU", PT_FAMILY_GCU, 1e12}, {"teragcu"}},
    {{"P*GCU", PT_FAMILY_GCU, 1e15}, {"petagcu"}},
    /* Units, and names of units, that pprof does not have: parsed, but never chosen by auto_unit.
     */
    {{"min", PT_FAMILY_TIME, 60e9}, {"min", "minute"}},
    {{"day", PT_FAMILY_TIME, 86400e9}, {"day"}},
    {{"kB", PT_FAMILY_BYTES, 1024}, {"kib"}},
    {{"MB", PT_FAMILY_BYTES, 1048576}, {"mib"}},
    {{"GB", PT_FAMILY_BYTES, 1073741824}, {"gib"}},
    {{"TB", PT_FAMILY_BYTES, 1099511627776}, {"tib"}},
    {{"PB", PT_FAMILY_BYTES, 1125899906842624}, {"pib"}},
};
enum { UNIT_COUNT = sizeof units / sizeof units[0], CHOSEN_COUNT = UNIT_COUNT - 7 };

static const char *const default_units[] = {
    [PT_FAMILY_TIME] = "s", [PT_FAMILY_BYTES] = "B", [PT_FAMILY_GCU] = "GCU"};

static bool is_named(const char *alias, const char *name, size_t length)
{
    return alias != NULL && strlen(alias) == length && strncasecmp(alias, name, length) == 0;
}

/* The unit of a name; NULL if no unit has this name. with_own: also the units that pprof does not
 * have. */
static const pt_unit *parse_unit(const char *name, bool with_own)
{
    size_t length = strlen(name);
    if (length > 2 && tolower((unsigned char)name[length - 1]) == 's') length--;
    for (size_t i = 0; i < (with_own ? UNIT_COUNT : CHOSEN_COUNT); i++) {
        for (size_t k = 0; k < sizeof units[i].aliases / sizeof units[i].aliases[0]; k++)
            if (is_named(units[i].aliases[k], name, length)) return &units[i].unit;
    }
    return NULL;
}

const pt_unit *pt_unit_parse(const char *name)
{
    return parse_unit(name, true);
}

/* The largest unit of the family in which |value| is at least 1, else the default. */
static const pt_unit *auto_unit(double value, pt_unit_family family)
{
    const pt_unit *best = NULL;
    for (size_t i = 0; i < CHOSEN_COUNT; i++) {
        const pt_unit *const unit = &units[i].unit;
        if (unit->family == family && fabs(value) / unit->factor >= 1) best = unit;
    }
    return best != NULL ? best : pt_unit_parse(default_units[family]);
}

static bool is_auto(const char *to)
{
    return strcmp(to, "auto") == 0 || strcmp(to, "minimum") == 0;
}

static double convert_value(int64_t value, const char *from, const char *to, bool with_own,
                            const char **ret_unit)
{
    const pt_unit *const source = pt_unit_parse(from);
    if (source == NULL) {
        const bool plain = is_auto(to) || strcmp(to, "count") == 0 || strcmp(to, "sample") == 0 ||
                           strcmp(to, "unit") == 0;
        *ret_unit = plain ? "" : to;
        return (double)value;
    }
    const double base = (double)value * source->factor;
    const pt_unit *target =
        is_auto(to) ? auto_unit(base, source->family) : parse_unit(to, with_own);
    if (target == NULL || target->family != source->family)
        target = pt_unit_parse(default_units[source->family]);
    *ret_unit = target->name;
    return base / target->factor;
}

double pt_unit_convert(int64_t value, const char *from, const char *to, const char **ret_unit)
{
    return convert_value(value, from, to, false, ret_unit);
}

double pt_unit_convert_any(int64_t value, const char *from, const char *to, const char **ret_unit)
{
    return convert_value(value, from, to, true, ret_unit);
}

void pt_put_seconds(pt_buf *buf, int64_t ns)
{
    const uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    pt_putf(buf, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", magnitude / 1000000000u,
            magnitude % 1000000000u);
}

pt_count_text pt_count_of(uint64_t count)
{
    char digits[24];
    pt_count_text c;
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t to = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) c.text[to++] = ',';
        c.text[to++] = digits[i];
    }
    c.text[to] = '\0';
    return c;
}

/* Finds the plural noun of a phrase: its first word in -s before a word such as "of" or "that". */
static bool find_plural(const char *nouns, const char **ret_word, size_t *ret_bytes)
{
    static const char ends[] = " of without with that which whose in at left has is are was ";
    while (*nouns != '\0') {
        char word[16];
        const size_t bytes = strcspn(nouns, " ,:;(");
        snprintf(word, sizeof word, " %.*s ", (int)(bytes < 12 ? bytes : 12), nouns);
        if (bytes == 0 || strstr(ends, word) != NULL) return false;
        *ret_word = nouns;
        *ret_bytes = bytes;
        if (bytes > 3 && nouns[bytes - 1] == 's' && strchr("s'", nouns[bytes - 2]) == NULL)
            return true;
        if (nouns[bytes] != ' ') return false;
        nouns += bytes + 1;
    }
    return false;
}

/* The ends of plurals, and the ends of their singulars. The first end that matches is replaced. */
static const struct {
    const char *plural, *singular;
} plurals[] = {{"ies", "y"}, {"sses", "ss"}, {"xes", "x"}, {"ches", "ch"}, {"s", ""}};

void pt_put_count_noun(pt_buf *buf, uint64_t count, const char *nouns)
{
    const char *word;
    size_t bytes;
    pt_putf(buf, "%s ", pt_count_of(count).text);
    if (count != 1 || !find_plural(nouns, &word, &bytes)) {
        pt_putf(buf, "%s", nouns);
        return;
    }
    for (size_t i = 0; i < sizeof plurals / sizeof plurals[0]; i++) {
        const size_t end = strlen(plurals[i].plural);
        if (bytes < end || memcmp(word + bytes - end, plurals[i].plural, end) != 0) continue;
        pt_putf(buf, "%.*s%s%s", (int)(word + bytes - end - nouns), nouns, plurals[i].singular,
                word + bytes);
        return;
    }
}

pt_noun_text pt_count_noun(uint64_t count, const char *nouns)
{
    pt_noun_text counted;
    PT_AUTO(pt_buf) buf = PT_BUF_INIT;
    pt_put_count_noun(&buf, count, nouns);
    snprintf(counted.text, sizeof counted.text, "%s", pt_buf_text(&buf));
    return counted;
}

void pt_put_count(pt_buf *buf, int64_t value)
{
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    pt_putf(buf, "%s%s", value < 0 ? "-" : "", pt_count_of(magnitude).text);
}

/* Puts three significant digits, or all digits of the integer part: 1.23 12.3 123 1,235. */
static void put_three_digits(pt_buf *buf, double value)
{
    const double magnitude = fabs(value);
    const int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
    if (decimals == 0)
        pt_put_count(buf, (int64_t)llround(value));
    else
        pt_putf(buf, "%.*f", decimals, value);
}

static void put_short(pt_buf *buf, int64_t value, const char *unit, const char *to)
{
    const char *shown;
    double v = pt_unit_convert(value, unit, to, &shown);
    if (is_auto(to) && strcmp(shown, "hrs") == 0) shown = "h";
    if (is_auto(to) && strcmp(shown, "s") == 0 && fabs(v) >= 60) {
        v /= 60;
        shown = "min";
    }
    if (value == 0) {
        pt_put_u8(buf, '0');
    } else if (pt_unit_parse(unit) == NULL || strcmp(shown, "B") == 0) {
        pt_put_count(buf, value);
        pt_put_text(buf, shown);
    } else {
        put_three_digits(buf, v);
        pt_put_text(buf, shown);
    }
}

static void put_pprof(pt_buf *buf, int64_t value, const char *unit, const char *to)
{
    const char *shown;
    const double v = pt_unit_convert(value, unit, to, &shown);
    const size_t before = buf->size;
    pt_putf(buf, "%.2f", v);
    if (memcmp(buf->data + buf->size - 3, ".00", 3) == 0) buf->size -= 3;
    const char *const number = pt_buf_text(buf) + before;
    if (strcmp(number, "-0") == 0) {
        buf->size = before;
        pt_put_u8(buf, '0');
    } else if (strcmp(number, "0") != 0) {
        pt_put_text(buf, shown);
    }
}

void pt_put_value(pt_buf *buf, int64_t value, const char *unit, const char *to, pt_style style)
{
    if (style == PT_STYLE_PPROF) {
        put_pprof(buf, value, unit, to != NULL ? to : "auto");
        return;
    }
    if (style == PT_STYLE_SHORT) {
        put_short(buf, value, unit, to != NULL ? to : "auto");
        return;
    }
    const pt_unit *const known = pt_unit_parse(unit);
    const char *shown = known != NULL ? known->name : "";
    if (to == NULL || is_auto(to)) {
        pt_put_count(buf, value);
    } else {
        const double v = pt_unit_convert(value, unit, to, &shown);
        if (v == (double)(int64_t)v)
            pt_put_count(buf, (int64_t)v);
        else
            pt_putf(buf, "%.17g", v);
    }
    if (shown[0] != '\0') pt_putf(buf, " %s", shown);
}

void pt_put_percent(pt_buf *buf, int64_t part, int64_t total)
{
    const double percent = total != 0 ? fabs((double)part / (double)total) * 100 : 0;
    if (percent >= 99.95 && percent <= 100.05)
        pt_put_text(buf, "  100%");
    else if (percent >= 1)
        pt_putf(buf, "%5.2f%%", percent);
    else
        pt_putf(buf, "%5.2g%%", percent);
}

/* --- parsing --- */

pt_status pt_parse_int(const char *text, int64_t *ret_value, pt_error *reterr)
{
    const char *const digits = text + (*text == '-' || *text == '+');
    const bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, hex ? 16 : 10);
    const char first = hex ? digits[2] : digits[0];
    if (!isxdigit((unsigned char)first) || end == text || *end != '\0')
        return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not a whole number such as 20", text);
    if (errno == ERANGE) return pt_error_set(reterr, PT_ERR_USAGE, "%s does not fit 64 bits", text);
    *ret_value = value;
    return PT_OK;
}

/* Parses an unsigned decimal number such as 1.5 at the start of text and multiplies it by 10^power
 * (rounded once). Returns the end of the number, or NULL. */
static const char *scaled_decimal(const char *text, int power, double *ret_value)
{
    const char *end = text + strspn(text, "0123456789");
    size_t digits = (size_t)(end - text);
    if (*end == '.') {
        const size_t fraction = strspn(end + 1, "0123456789");
        digits += fraction;
        end += 1 + fraction;
    }
    if (digits == 0 || digits > 60) return NULL;
    char copy[80];
    snprintf(copy, sizeof copy, "%.*se%d", (int)(end - text), text, power);
    *ret_value = strtod(copy, NULL);
    return end;
}

static const char *read_decimal(const char *text, double *ret_value)
{
    return scaled_decimal(text, 0, ret_value);
}

pt_status pt_parse_double(const char *text, double *ret_value, pt_error *reterr)
{
    char *end;
    const double value = strtod(text, &end);
    const char first = text[*text == '-' || *text == '+'];
    if (!(isdigit((unsigned char)first) || first == '.') || *end != '\0' || !isfinite(value))
        return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not a number such as 0.5", text);
    *ret_value = value;
    return PT_OK;
}

pt_status pt_parse_size(const char *text, uint64_t *ret_bytes, pt_error *reterr)
{
    static const char steps[] = "bkmgtp";
    double value = 0;
    const char *suffix = read_decimal(text, &value);
    if (suffix != NULL) {
        const char *const step =
            *suffix != '\0' ? strchr(steps, tolower((unsigned char)*suffix)) : steps;
        const char *const rest = *suffix != '\0' ? suffix + 1 : suffix;
        const bool known =
            step != NULL && (*rest == '\0' || (step > steps && (strcasecmp(rest, "b") == 0 ||
                                                                strcasecmp(rest, "ib") == 0)));
        if (known) {
            for (const char *s = steps; s < step; s++)
                value *= 1024;
            if (value >= 9.2e18)
                return pt_error_set(reterr, PT_ERR_USAGE, "%s does not fit 63 bits", text);
            *ret_bytes = (uint64_t)value;
            return PT_OK;
        }
    }
    return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not a size such as 4096, 64k or 1.5G", text);
}

pt_status pt_parse_duration(const char *text, int64_t *ret_ns, pt_error *reterr)
{
    static const struct {
        const char *suffix;
        double ns;
    } suffixes[] = {{"ns", 1},     {"us", 1e3}, {"ms", 1e6},     {"sec", 1e9}, {"s", 1e9},
                    {"min", 60e9}, {"m", 60e9}, {"hrs", 3600e9}, {"h", 3600e9}};
    double total = 0;
    const char *at = text;
    bool good = *text != '\0';
    while (good && *at != '\0') {
        double value = 0;
        const char *const suffix = read_decimal(at, &value);
        if (suffix != NULL && *suffix == '\0' && at == text) {
            total = value * 1e9; /* a bare number is seconds */
            break;
        }
        size_t i = 0;
        const size_t count = sizeof suffixes / sizeof suffixes[0];
        while (suffix != NULL && i < count &&
               strncmp(suffix, suffixes[i].suffix, strlen(suffixes[i].suffix)) != 0)
            i++;
        good = suffix != NULL && i < count;
        if (!good) break;
        total += value * suffixes[i].ns;
        at = suffix + strlen(suffixes[i].suffix);
    }
    if (!good)
        return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not a duration such as 10s, 500ms or 2m",
                            text);
    if (total >= 9.2e18)
        return pt_error_set(reterr, PT_ERR_USAGE, "%s is longer than 292 years", text);
    *ret_ns = (int64_t)llround(total);
    return PT_OK;
}

pt_status pt_parse_percent(const char *text, double *ret_share, pt_error *reterr)
{
    double share = 0;
    const char *const end = scaled_decimal(text, -2, &share);
    if (end == NULL || (*end != '\0' && strcmp(end, "%") != 0))
        return pt_error_set(reterr, PT_ERR_USAGE, "'%s' is not a percentage such as 0.5%%", text);
    if (share > 1) return pt_error_set(reterr, PT_ERR_USAGE, "%s is more than 100%%", text);
    *ret_share = share;
    return PT_OK;
}
