/* units.h: numbers with units, as people write and read them.
 *
 * Unit names and conversions are those of pprof (its measurement rules: names without regard to
 * case, a plural s dropped from names of more than two letters; memory steps are 1024), so that the
 * same profile gives the same figures; units that pprof does not know (minutes, days, KiB) are read
 * too. What only our own reports do (minutes, three significant
 * digits, thousands separators) is a style.
 */
#ifndef PT_BASE_UNITS_H
#define PT_BASE_UNITS_H

#include "base/buf.h"
#include "base/error.h"

typedef enum { PT_FAMILY_TIME, PT_FAMILY_BYTES, PT_FAMILY_GCU } pt_unit_family;

typedef struct pt_unit {
    const char *name; /* as printed: ns us ms s hrs, B kB MB GB TB PB, n*GCU ... P*GCU */
    pt_unit_family family;
    double factor; /* in nanoseconds, bytes, GCUs */
} pt_unit;

/* The unit of that name or alias ("Seconds", "sec", "kilobyte"); NULL if it is none of ours
 * (counts, samples, cycles). Static. */
const pt_unit *pt_unit_parse(const char *name);

/* value in unit `from`, converted to unit `to`; "auto" and "minimum" choose the largest unit in
 * which it is at least 1. A target of another family or unknown gives the family's default (s, B,
 * GCU). A source that is none of ours is not converted; then the unit is `to`, or "" when that is
 * count, sample, unit, auto or minimum. *ret_unit is static, or `to`. */
double pt_unit_convert(int64_t value, const char *from, const char *to, const char **ret_unit);

typedef enum {
    PT_STYLE_PPROF, /* two decimals, none when they are 00; "0" without unit: 1.10s 2MB 12 */
    PT_STYLE_SHORT, /* three significant digits, with minutes and hours: 1.23s 45.6ms 2.5min 890 */
    PT_STYLE_EXACT, /* nothing lost: 1,234,567 ns; 1,024 B; 12 */
} pt_style;

/* Appends value (in `unit`, any text) shown in unit `to` (see pt_unit_convert). SHORT and EXACT
 * choose or keep the unit themselves and take to only when it is neither NULL nor "auto". */
void pt_put_value(pt_buf *buf, int64_t value, const char *unit, const char *to, pt_style style);

/* "12.500000000", of nanoseconds: what --time takes. */
void pt_put_seconds(pt_buf *buf, int64_t ns);

/* "1,234,567" */
void pt_put_count(pt_buf *buf, int64_t value);

/* part/total as pprof prints it, six characters or so: "  100%" from 99.95 to 100.05, " 1.23%",
 * below one percent with two significant digits. A total of 0 counts as 0 %. */
void pt_put_percent(pt_buf *buf, int64_t part, int64_t total);

/* --- reading what people type --- */

/* All fail with PT_ERR_USAGE and a message that says what was expected, with an example, and leave
 * the output alone. The whole text must be used. */

/* Decimal, or hexadecimal with 0x. */
pt_status pt_parse_int(const char *text, int64_t *ret_value, pt_error *reterr);
/* Finite, decimal. */
pt_status pt_parse_double(const char *text, double *ret_value, pt_error *reterr);
/* Bytes: 4096, 64k, 64kB, 64KiB, 1.5G (all steps are 1024). */
pt_status pt_parse_size(const char *text, uint64_t *ret_bytes, pt_error *reterr);
/* Nanoseconds: 10 (seconds), 1.5s, 500ms, 20us, 100ns, 2m or 2min, 1h, 1h30m. */
pt_status pt_parse_duration(const char *text, int64_t *ret_ns, pt_error *reterr);
/* A share from 0 to 1: "5%" and "5" are both 0.05. */
pt_status pt_parse_percent(const char *text, double *ret_share, pt_error *reterr);

#endif
