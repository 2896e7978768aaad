/* filter_time.c: selects samples by time.
 *
 *   12.5,13.75        from 12.5 s to 13.75 s of the profile's own clock, both included; if both
 *                     are before the first sample, they count from the first sample
 *   12.5,  ,13.75     from a time on; up to a time
 *   1,2 5,6           several ranges, separated by blanks
 *   10%-20%           of the time between the first sample and the last
 *   10%  10%/3        the first tenth; the third tenth
 *   0%-5%,95%-100%    several
 *
 * This is the syntax of --time in perf script and perf report (perf-script(1);
 * tools/perf/util/time-utils.c of Linux 6.1): a percentage range ends a nanosecond before the next
 * one. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/saturate.h"
#include "base/units.h"
#include "model/marks.h"
#include "transform/filter_int.h"

#define NS_PER_S  INT64_C(1000000000)
#define DECIMALS  9
#define PARTS_MAX 1e6

typedef struct {
    int64_t first, last; /* both included */
} time_range;

typedef struct {
    const char *text; /* the whole option; borrowed */
    int64_t first, last;
    PT_VECTOR(time_range) range;
} time_choice;

/* ---- times of samples ---- */

/* The time of a label set, for samples without a time column: label "time", in a unit of time. */
static bool time_of_set(const pt_profile *p, uint32_t set, int64_t *ret_ns)
{
    for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
        const pt_label *const label = &p->labels->row[l];
        if (label->kind != PT_LABEL_NUMBER || strcmp(pt_text(p, label->key), "time") != 0) continue;
        const pt_unit *const unit = pt_unit_parse(pt_text(p, label->unit));
        if (unit == NULL || unit->family != PT_FAMILY_TIME) continue;
        const double ns = (double)label->num * unit->factor;
        if (!(fabs(ns) < 0x1p63)) continue;
        *ret_ns = unit->factor == 1 ? label->num : (int64_t)ns;
        return true;
    }
    return false;
}

bool pt_sample_time(const pt_profile *p, uint32_t sample, int64_t *ret_ns)
{
    const int64_t *const column = p->sample->time_ns;
    if (column == NULL) return time_of_set(p, p->sample->labels[sample], ret_ns);
    *ret_ns = column[sample];
    return column[sample] != 0;
}

bool pt_has_times(const pt_profile *p)
{
    int64_t ns;
    bool may_have = p->sample->time_ns != NULL;
    for (uint32_t set = 0; set < p->labels->t.count && !may_have; set++)
        may_have = time_of_set(p, set, &ns);
    for (uint32_t i = 0; i < p->sample->t.count && may_have; i++)
        if (pt_sample_time(p, i, &ns)) return true;
    return false;
}

static uint32_t number_of_label(const pt_profile *p, uint32_t set, const char *key)
{
    for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
        const pt_label *const label = &p->labels->row[l];
        if (label->kind == PT_LABEL_NUMBER && label->num >= 0 && label->num < PT_NONE &&
            strcmp(pt_text(p, label->key), key) == 0)
            return (uint32_t)label->num;
    }
    return PT_NONE;
}

void pt_sample_thread(const pt_profile *p, uint32_t sample, uint32_t *ret_pid, uint32_t *ret_tid)
{
    const pt_samples *const s = p->sample;
    *ret_pid = s->pid != NULL ? s->pid[sample] : number_of_label(p, s->labels[sample], "pid");
    *ret_tid = s->tid != NULL ? s->tid[sample] : number_of_label(p, s->labels[sample], "tid");
}

const char *pt_sample_comm(const pt_profile *p, uint32_t sample)
{
    const uint32_t *const column = p->sample->comm;
    return pt_text(p, column != NULL ? column[sample] : pt_sample_label_text(p, sample, "comm"));
}

/* ---- parsing ---- */

static pt_status set_bad_time(const time_choice *c, pt_error *reterr)
{
    return pt_error_set(
        reterr, PT_ERR_USAGE,
        "--time=%s is not a range such as 12.5,13.75 (seconds; either end may be left "
        "out) or 10%%-20%%",
        c->text);
}

/* Parses seconds with up to nine decimals; uses all of [at, end). */
static bool parse_seconds(const char *at, const char *end, int64_t *ret_ns)
{
    int64_t ns = 0;
    size_t digits = 0, decimals = 0;
    for (bool in_fraction = false; at < end; at++) {
        if (*at == '.' && !in_fraction) {
            in_fraction = true;
            continue;
        }
        if (*at < '0' || *at > '9' || (in_fraction && decimals == DECIMALS)) return false;
        if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, *at - '0', &ns))
            return false;
        digits++;
        decimals += in_fraction;
    }
    for (; decimals < DECIMALS; decimals++)
        if (__builtin_mul_overflow(ns, 10, &ns)) return false;
    *ret_ns = ns;
    return digits > 0;
}

static bool parse_number(const char *at, const char *end, double *ret)
{
    PT_FREE char *text = pt_strndup(at, (size_t)(end - at));
    return pt_parse_double(text, ret, NULL) == PT_OK && *ret >= 0;
}

/* Parses "START,STOP". */
static bool parse_clock(const char *at, const char *end, time_range *ret)
{
    const char *const comma = memchr(at, ',', (size_t)(end - at));
    if (comma == NULL || end - at == 1) return false;
    *ret = (time_range){INT64_MIN, INT64_MAX};
    return (comma == at || parse_seconds(at, comma, &ret->first)) &&
           (comma + 1 == end || parse_seconds(comma + 1, end, &ret->last)) &&
           ret->first <= ret->last;
}

/* If the range lies before the first sample, no sample is in it by the profile's clock: in this
 * case the seconds of the range count from the first sample. */
static void count_from_first(const time_choice *c, time_range *range)
{
    const int64_t named = range->last != INT64_MAX ? range->last : range->first;
    if (named >= c->first) return;
    if (range->first != INT64_MIN) pt_saturating_into(&range->first, c->first);
    if (range->last != INT64_MAX) pt_saturating_into(&range->last, c->first);
}

/* Parses "A%", "A%/N" or "A%-B%" into shares of the whole. */
static bool parse_shares(const char *at, const char *end, double *ret_from, double *ret_to)
{
    const char *const percent = memchr(at, '%', (size_t)(end - at));
    double n;
    if (percent == NULL || !parse_number(at, percent, ret_to)) return false;
    *ret_to /= 100;
    *ret_from = 0;
    if (percent + 1 == end) return *ret_to <= 1;
    if (percent[1] == '/') {
        if (!parse_number(percent + 2, end, &n) || n < 1 || n > PARTS_MAX || n != floor(n))
            return false;
        *ret_from = *ret_to * (n - 1);
        *ret_to *= n;
    } else {
        if (percent[1] != '-' || end[-1] != '%' || end - 1 <= percent + 2) return false;
        *ret_from = *ret_to;
        if (!parse_number(percent + 2, end - 1, ret_to)) return false;
        *ret_to /= 100;
    }
    return *ret_from <= *ret_to && *ret_from <= 1;
}

/* The time at a share of the span. The span may be too large for a signed number; the result is
 * never after the last time. */
static int64_t share_of(const time_choice *c, double share)
{
    const uint64_t span = (uint64_t)c->last - (uint64_t)c->first;
    const double at = round(share * (double)span);
    return share >= 1 || at >= (double)span ? c->last
                                            : (int64_t)((uint64_t)c->first + (uint64_t)at);
}

static bool parse_percent(const time_choice *c, const char *at, const char *end, time_range *ret)
{
    double from, to;
    if (!parse_shares(at, end, &from, &to)) return false;
    ret->first = share_of(c, from);
    ret->last = share_of(c, to);
    if (ret->last > ret->first && ret->last != c->last) ret->last--;
    return true;
}

static pt_status parse_times(time_choice *c, pt_error *reterr)
{
    const bool in_percent = strchr(c->text, '%') != NULL;
    const char *const between = in_percent ? " ," : " ";
    for (const char *at = c->text; *at != '\0';) {
        const char *const end = at + strcspn(at, between);
        time_range range;
        if (!(in_percent ? parse_percent(c, at, end, &range) : parse_clock(at, end, &range)))
            return set_bad_time(c, reterr);
        if (!in_percent) count_from_first(c, &range);
        PT_PUSH(c->range, range);
        at = end + (*end != '\0');
    }
    return c->range.count > 0 ? PT_OK : set_bad_time(c, reterr);
}

/* ---- Choosing ---- */

/* The part of the span that the ranges choose. */
static int64_t chosen_ns(const time_choice *c)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->range.count; i++) {
        const time_range *const r = &c->range.items[i];
        const int64_t first = r->first > c->first ? r->first : c->first;
        const int64_t last = r->last < c->last ? r->last : c->last;
        if (last > first) pt_saturating_into(&sum, (int64_t)((uint64_t)last - (uint64_t)first));
    }
    return sum;
}

/* The times of the first and the last sample; false if no sample has a time. */
static bool find_span(const pt_profile *p, int64_t *ret_first, int64_t *ret_last)
{
    bool any = false;
    int64_t ns;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        if (!pt_sample_time(p, i, &ns)) continue;
        if (!any || ns < *ret_first) *ret_first = ns;
        if (!any || ns > *ret_last) *ret_last = ns;
        any = true;
    }
    return any;
}

pt_status pt_filter_by_time(pt_filter_step *step, pt_error *reterr)
{
    pt_filtered *const result = step->result;
    const pt_profile *const p = result->profile;
    time_choice c = {.text = pt_filter_pattern(step->query, PT_FILTER_TIME)};
    result->has_times = find_span(p, &c.first, &c.last);
    result->first_ns = c.first;
    result->last_ns = c.last;
    const pt_status status = parse_times(&c, reterr);
    if (status == PT_OK) {
        result->range_ns = chosen_ns(&c);
        PT_FREE uint32_t *rows = pt_alloc(p->sample->t.count, sizeof *rows);
        uint32_t count = 0;
        int64_t ns;
        for (uint32_t i = 0; i < p->sample->t.count; i++)
            if (pt_sample_time(p, i, &ns) &&
                PT_ANY(r, c.range.count,
                       ns >= c.range.items[r].first && ns <= c.range.items[r].last))
                rows[count++] = i;
        result->untimely = p->sample->t.count - count;
        result->matched[PT_FILTER_TIME] = count > 0;
        const pt_profile_tables tables = {
            .sample = pt_samples_pick(p->sample, rows, count),
            .unknown = pt_unknowns_without(p->unknown, 1u << PT_IN_SAMPLE, step->diag),
        };
        pt_filter_replace(step, pt_profile_derive(p, &tables));
        pt_filter_drop_arcs(step);
    }
    free(c.range.items);
    return status;
}
