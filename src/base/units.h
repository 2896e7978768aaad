/* units.h: formats and parses numbers with units.
 *
 * Unit names and conversions follow pprof's measurement package, so that pitot and pprof show the
 * same numbers for a profile: names ignore case, a plural s is dropped from names of more than two
 * letters, and memory steps are 1024. Units that pprof does not have (minutes, days, KiB) are also
 * parsed. Features of pitot's own reports (minutes, three significant digits, thousands separators)
 * are a pt_style.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

typedef enum { PT_FAMILY_TIME, PT_FAMILY_BYTES, PT_FAMILY_GCU } pt_unit_family;

typedef struct pt_unit {
    const char *name; /* as printed: ns us ms s hrs, B kB MB GB TB PB, n*GCU ... P*GCU */
    pt_unit_family family;
    double factor; /* value of the unit in nanoseconds, bytes or GCUs */
} pt_unit;

/* The unit with that name or alias ("Seconds", "sec", "kilobyte"). NULL for other units (counts,
 * samples, cycles). The unit is static. */
const pt_unit *pt_unit_parse(const char *name);

/* Converts value from unit `from` to unit `to`. "auto" and "minimum" choose the largest unit in
 * which the value is at least 1. If `to` is unknown or of another family, the family's default (s,
 * B, GCU) is used. If `from` is unknown, the value is not converted, and the unit is `to`, or ""
 * when `to` is count, sample, unit, auto or minimum. *ret_unit is static, or `to`. */
double pt_unit_convert(int64_t value, const char *from, const char *to, const char **ret_unit);
/* Like pt_unit_convert, but also knows the units and names that pprof does not know: min, day, KiB,
 * MiB. */
double pt_unit_convert_any(int64_t value, const char *from, const char *to, const char **ret_unit);

typedef enum {
    PT_STYLE_PPROF, /* two decimals, unless both are 0; "0" without unit: 1.10s 2MB 12 */
    PT_STYLE_SHORT, /* three significant digits, also minutes and hours: 1.23s 45.6ms 2.5min 890 */
    PT_STYLE_EXACT, /* exact: 1,234,567 ns; 1,024 B; 12 */
} pt_style;

/* Appends value, whose unit is `unit` (any text), in unit `to` (see pt_unit_convert).
 * PT_STYLE_SHORT chooses and PT_STYLE_EXACT keeps the unit when `to` is NULL or "auto". */
void pt_put_value(pt_buf *buf, int64_t value, const char *unit, const char *to, pt_style style);

/* Appends nanoseconds as seconds, "12.500000000", which --time parses. */
void pt_put_seconds(pt_buf *buf, int64_t ns);

/* A count with thousands separated: "1,234,567". */
typedef struct {
    char text[32];
} pt_count_text;
pt_count_text pt_count_of(uint64_t count);
/* A count with its noun: "1 sample lost", "1,234 samples lost". nouns begins with the plural, with
 * or without adjectives before it; if the count is 1, the first word that ends in -s becomes a
 * singular. A text that is longer than the field is cut; pt_put_count_noun cuts no text. */
typedef struct {
    char text[64];
} pt_noun_text;
pt_noun_text pt_count_noun(uint64_t count, const char *nouns);
void pt_put_count_noun(pt_buf *buf, uint64_t count, const char *nouns);
/* Appends a count with thousands separated, even a negative one: "-1,234". */
void pt_put_count(pt_buf *buf, int64_t value);

/* Appends part/total as pprof does, in about six characters: "  100%" from 99.95 to 100.05, "
 * 1.23%", two significant digits for less than one percent. A total of 0 gives 0 %. */
void pt_put_percent(pt_buf *buf, int64_t part, int64_t total);

/* --- parsing --- */

/* These functions parse the whole text. They fail with PT_ERR_USAGE and a message that states the
 * expected form, with an example; the output is then untouched. */

/* An integer: decimal, or hexadecimal with 0x. */
pt_status pt_parse_int(const char *text, int64_t *ret_value, pt_error *reterr);
/* A finite decimal number. */
pt_status pt_parse_double(const char *text, double *ret_value, pt_error *reterr);
/* Bytes: 4096, 64k, 64kB, 64KiB, 1.5G (all steps are 1024). */
pt_status pt_parse_size(const char *text, uint64_t *ret_bytes, pt_error *reterr);
/* Nanoseconds: 10 (seconds), 1.5s, 500ms, 20us, 100ns, 2m or 2min, 1h, 1h30m. */
pt_status pt_parse_duration(const char *text, int64_t *ret_ns, pt_error *reterr);
/* A share from 0 to 1: "5%" and "5" are both 0.05. */
pt_status pt_parse_percent(const char *text, double *ret_share, pt_error *reterr);
