/* gmon_write.c: writes profiles as gmon.out, in GNU's and the older layouts.
 *
 * A profile that was read from the requested layout, and not changed after that, is written by its
 * plan (gmon.h): the same records in the same order. A profile merged from such files keeps their
 * histograms (gmon_sum.h). Any other profile is written as leaf counts of the program's image, at
 * link-time addresses:
 *
 *   GNU   a histogram for each stretch of text with samples, with bins of 4 bytes. A bin has 16
 *         bits and never wraps: an address with more samples gets further histograms of a single
 *         bin, since readers add up histograms of the same range
 *   BSD   a single histogram; bins are clipped to 65,535, which is reported
 */
#include "formats/gmon.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "formats/gmon_sum.h"

#define GRANULE         4
#define BSD_BINS_MAX    ((uint64_t)1 << 22)
#define BSD_GRANULE_MAX 64
#define NS_PER_S        1000000000.0
#define FIXED_BELOW     ((uint64_t)1 << 32)
#define TIMELESS_HZ     1000 /* for times without a known clock */

/* A histogram may contain gaps, which are runs of empty bins, so that there are few histograms. The
 * limit of a gap, in bins, begins at GAP_MAX and is halved until all empty bins together take at
 * most EMPTY_BYTES plus EMPTY_FACTOR times the bytes of the counts, so that few counts do not
 * become a large file. The limit stays at least GAP_LEAST. */
enum { GAP_MAX = 1024, GAP_LEAST = 32, EMPTY_FACTOR = 16, EMPTY_BYTES = 4 << 20 };

/* Bytes that are 0, before byte `at` of the buffer. */
typedef struct {
    size_t at;
    uint64_t bytes;
} empty_run;

typedef struct {
    const pt_profile *p;
    const pt_write_options *options;
    unsigned word_bytes;
    bool big_endian;
    pt_buf buf; /* the file without the empty runs */
    PT_VECTOR(empty_run) empty;
    uint64_t further; /* records that may still be added for counts that exceed their field */
    /* The unit of the counts. */
    uint32_t event;
    uint32_t rate;
    double per_count; /* value of the event for each count */
    uint8_t dimension[PT_GMON_DIMENSION_BYTES + 1];
} writing;

static void put_number(writing *w, uint64_t value, unsigned bytes)
{
    if (w->big_endian)
        pt_put_be(&w->buf, value, bytes);
    else
        pt_put_le(&w->buf, value, bytes);
}

static void put_word(writing *w, uint64_t value)
{
    put_number(w, value, w->word_bytes);
}

/* Appends bins without samples. A long run, as between two counts that are far apart, takes no
 * memory: only its length is kept until the file is written. */
static void put_empty_bins(writing *w, uint64_t count)
{
    enum { MANY = 512 };
    const uint64_t bytes = PT_GMON_UNIT_BYTES * count;
    if (count < MANY)
        memset(pt_buf_extend(&w->buf, bytes), 0, bytes);
    else
        PT_PUSH(w->empty, (empty_run){.at = w->buf.size, .bytes = bytes});
}

/* Appends bin i of a histogram, and the empty bins before it. *next: the number of bins that the
 * histogram has so far. */
static void put_bin(writing *w, uint64_t *next, uint64_t i, uint64_t count)
{
    put_empty_bins(w, i - *next);
    put_number(w, count, PT_GMON_UNIT_BYTES);
    *next = i + 1;
}

static void put_histogram_head(writing *w, const pt_gmon_histogram *h)
{
    pt_put_u8(&w->buf, 0);
    put_word(w, h->low);
    put_word(w, h->high);
    put_number(w, h->bin_count, 4);
    put_number(w, h->rate, 4);
    pt_put(&w->buf, h->dimension, sizeof h->dimension);
}

static void put_whole(const writing *w, pt_out *out)
{
    static const uint8_t zeros[16 << 10];
    size_t from = 0;
    for (size_t i = 0; i < w->empty.count; i++) {
        const empty_run *const run = &w->empty.items[i];
        pt_out_put(out, w->buf.data + from, run->at - from);
        from = run->at;
        for (uint64_t left = run->bytes, part; left > 0; left -= part) {
            part = left < sizeof zeros ? left : sizeof zeros;
            pt_out_put(out, zeros, part);
        }
    }
    pt_out_put(out, w->buf.data + from, w->buf.size - from);
}

/* Sends the file to the output, unless status is an error, and frees the buffers. */
static pt_status end_writing(writing *w, pt_status status, const pt_output *output,
                             pt_error *reterr)
{
    pt_out *const out = status == PT_OK ? output->open(output->context, "", reterr) : NULL;
    if (status == PT_OK && out == NULL) status = reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    if (out != NULL) {
        put_whole(w, out);
        status = pt_out_flush(out, reterr);
    }
    pt_buf_done(&w->buf);
    free(w->empty.items);
    return status;
}

/* ---- By the plan ---- */

/* The profile's plan, if it is of this layout and the tables still match it (the number of rows is
 * the same, and the samples add up to the bins); else NULL. */
static const char *usable_plan(const pt_profile *p, const char *layout)
{
    const char *const plan = pt_gmon_plan(p);
    if (plan == NULL || !pt_begins(plan, layout) || p->event->t.count == 0) return NULL;
    uint64_t bins = 0, arcs = 0, blocks = 0, counted = 0;
    const char *line = strchr(plan, '\n');
    pt_gmon_step s;
    for (line = line != NULL ? line + 1 : ""; pt_gmon_next_step(&line, &s);) {
        if (s.kind == 0) return NULL;
        *(s.kind == 'h' ? &bins : s.kind == 'a' ? &arcs : &blocks) += s.rows;
    }
    for (uint32_t i = 0; i < p->bin->t.count; i++) {
        if (p->bin->row[i].count > PT_GMON_BIN_MAX) return NULL;
        counted += p->bin->row[i].count;
    }
    const uint64_t calls_max =
        plan[0] == 'g' || pt_profile_provenance(p)->word_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    for (uint32_t i = 0; i < p->arc->t.count; i++)
        if (p->arc->calls[i] > calls_max) return NULL; /* a sum */
    return bins == p->bin->t.count && arcs == p->arc->t.count && blocks == p->block->t.count &&
                   counted == (uint64_t)pt_profile_total(p, 0)
               ? plan
               : NULL;
}

static void put_planned_bins(writing *w, const pt_gmon_step *s, uint64_t first_row)
{
    const pt_gmon_histogram *const h = &s->histogram;
    const pt_bin *const row = w->p->bin->row + first_row;
    uint64_t k = 0, next = 0;
    for (uint64_t i = 0; i < h->bin_count && k < s->rows; i++)
        if (pt_gmon_edge(h, i) == row[k].low && pt_gmon_edge(h, i + 1) == row[k].high)
            put_bin(w, &next, i, row[k++].count);
    put_empty_bins(w, h->bin_count - next);
}

static void put_planned(writing *w, const char *plan, bool is_bsd)
{
    const pt_profile *const p = w->p;
    uint64_t bin = 0, arc = 0, block = 0;
    const char *line = strchr(plan, '\n') + 1;
    const unsigned call_bytes = is_bsd ? w->word_bytes : 4;
    for (pt_gmon_step s; pt_gmon_next_step(&line, &s);) {
        if (s.kind == 'h') {
            if (!is_bsd) put_histogram_head(w, &s.histogram);
            put_planned_bins(w, &s, bin);
            bin += s.rows;
        } else if (s.kind == 'a') {
            for (uint64_t i = 0; i < s.rows; i++, arc++) {
                if (!is_bsd) pt_put_u8(&w->buf, PT_GMON_ARC);
                put_word(w, p->location->address[p->arc->from[arc]]);
                put_word(w, p->location->address[p->arc->to[arc]]);
                put_number(w, p->arc->calls[arc], call_bytes);
            }
        } else {
            pt_put_u8(&w->buf, PT_GMON_BLOCKS);
            put_number(w, s.rows, s.length_bytes);
            for (uint64_t i = 0; i < s.rows; i++, block++) {
                put_word(w, p->block->row[block].address);
                put_word(w, p->block->row[block].count);
            }
        }
    }
}

/* ---- From any profile ---- */

typedef struct {
    uint64_t at, count; /* at: address / granule */
} leaf_count;

typedef PT_VECTOR(leaf_count) leaf_counts;

/* The rate of the event's clock; 0 = unknown. */
static double clock_hz(const pt_profile *p, const pt_event *e)
{
    const pt_provenance *const s = pt_profile_provenance(p);
    if (e->rate_hz > 0) return e->rate_hz;
    if (e->period > 0 && strcmp(pt_text(p, e->unit), "nanoseconds") == 0)
        return NS_PER_S / (double)e->period;
    if (s->period > 0 && strcmp(pt_text(p, s->period_unit), "nanoseconds") == 0)
        return NS_PER_S / (double)s->period;
    return 0;
}

static double ns_per_unit(const char *unit)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {
        {"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};
    for (size_t i = 0; i < PT_COUNT(units); i++) {
        if (strcmp(units[i].unit, unit) == 0) return units[i].ns;
    }
    return 0;
}

static void set_dimension(writing *w, const char *name, char abbreviation)
{
    const size_t n = strlen(name);
    pt_diag_add(w->options->diag, n > PT_GMON_DIMENSION_BYTES,
                "name of the dimension cut to %d bytes", PT_GMON_DIMENSION_BYTES);
    memset(w->dimension, 0, sizeof w->dimension);
    memcpy(w->dimension, name, n < PT_GMON_DIMENSION_BYTES ? n : PT_GMON_DIMENSION_BYTES);
    w->dimension[PT_GMON_DIMENSION_BYTES] = (uint8_t)abbreviation;
}

static void set_rate(writing *w, double hz)
{
    const double whole = hz < 1 ? 1 : hz > UINT32_MAX ? UINT32_MAX : round(hz);
    w->rate = (uint32_t)whole;
    pt_diag_add(w->options->diag, fabs(whole - hz) > 1e-6 * hz, "clock's rate rounded to %u Hz",
                w->rate);
}

/* Chooses the event and the value of a count. */
static void choose_event(writing *w)
{
    const pt_profile *const p = w->p;
    w->event = pt_profile_default_event(p);
    w->per_count = 1;
    w->rate = 1;
    set_dimension(w, "samples", '1');
    if (w->event == PT_NONE) return;
    const pt_event *const e = &p->event->row[w->event];
    const char *const unit = pt_text(p, e->unit), *const type = pt_text(p, e->type);
    const double hz = clock_hz(p, e), ns = ns_per_unit(unit);
    const bool is_plain = strcmp(unit, "count") == 0 || strcmp(unit, "samples") == 0;
    unsigned rate;
    int used = 0;
    if (ns > 0) {
        set_dimension(w, "seconds", 's');
        set_rate(w, hz > 0 ? hz : TIMELESS_HZ);
        w->per_count = NS_PER_S / ns / w->rate;
    } else if (is_plain && strcmp(type, "samples") == 0) {
        pt_diag_add(w->options->diag, hz <= 0,
                    "samples without a known clock rate; the unit becomes samples");
        if (hz <= 0) return;
        set_dimension(w, "seconds", 's');
        set_rate(w, hz);
    } else if (sscanf(unit, "1/%u %n", &rate, &used) == 1 && used > 0 && unit[used] != '\0') {
        set_dimension(w, unit + used, '1');
        w->rate = rate;
    } else {
        set_dimension(w, is_plain ? type : unit, '1');
    }
}

static bool is_of_program(const pt_profile *p, uint32_t mapping)
{
    if (mapping == PT_NONE) return p->mapping->t.count == 0;
    const pt_mapping *const row = p->mapping->row;
    return mapping == 0 || (row[mapping].file == row[0].file && row[0].file != 0);
}

/* The link-time address of a location. If the image was never read, a program that is mapped below
 * 4 GiB counts as mapped at its link-time address, since all other programs are loaded far above.
 * Returns false for a location outside the program, or with an address that the file cannot
 * hold. */
static bool linked_address(const writing *w, uint32_t location, uint64_t *ret)
{
    const pt_profile *const p = w->p;
    const uint32_t mapping = p->location->mapping[location];
    uint64_t address = p->location->address[location];
    if (!is_of_program(p, mapping)) return false;
    if (mapping != PT_NONE) {
        const pt_mapping *const m = &p->mapping->row[mapping];
        if ((m->flags & PT_MAPPING_HAS_BIAS) != 0)
            address -= m->bias;
        else if (m->start - m->file_offset >= FIXED_BELOW)
            address -= m->start - m->file_offset;
    } else if (address == 0) {
        return false;
    }
    *ret = address;
    const uint64_t most = w->word_bytes == 4 ? UINT32_MAX : (uint64_t)INT64_MAX;
    return address < most - BSD_GRANULE_MAX * PT_GMON_BSD_BINS_MIN;
}

PT_ORDER(by_place, leaf_count, PT_UP(at));

static uint64_t add_up(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Sorts the counts and adds up equal addresses. */
static void fold_counts(leaf_counts *c)
{
    size_t n = 0;
    if (c->count > 0) qsort(c->items, c->count, sizeof *c->items, by_place);
    for (size_t i = 0; i < c->count; i++) {
        if (n > 0 && c->items[n - 1].at == c->items[i].at)
            c->items[n - 1].count = add_up(c->items[n - 1].count, c->items[i].count);
        else
            c->items[n++] = c->items[i];
    }
    c->count = n;
}

/* The program's leaf counts. Values are summed first and rounded afterwards. */
static leaf_counts count_leaves(writing *w)
{
    const pt_profile *const p = w->p;
    pt_diag *const diag = w->options->diag;
    leaf_counts c = {0};
    uint64_t outside = 0, negative = 0, rounded = 0;
    for (uint32_t i = 0; w->event != PT_NONE && i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        const int64_t value = p->sample->value[w->event][i];
        uint64_t address;
        if (value == 0) continue;
        if (value < 0)
            negative++;
        else if (pt_stack_depth(p, stack) == 0 ||
                 !linked_address(w, pt_stack_frames(p, stack)[0], &address))
            outside++;
        else {
            PT_PUSH(c, (leaf_count){address / GRANULE, (uint64_t)value});
        }
    }
    fold_counts(&c);
    for (size_t i = 0; i < c.count && w->per_count != 1; i++) {
        const double count = (double)c.items[i].count / w->per_count;
        rounded += fabs(count - round(count)) > 0.001;
        c.items[i].count = (uint64_t)round(count);
    }
    pt_diag_add(diag, outside, "samples outside the program's image left out");
    pt_diag_add(diag, negative, "samples with negative values left out");
    pt_diag_add(diag, rounded, "addresses with a time rounded to ticks of the clock");
    return c;
}

static void put_stretch(writing *w, const leaf_count *items, size_t n)
{
    pt_gmon_histogram h = {.low = items[0].at * GRANULE,
                           .high = (items[n - 1].at + 1) * GRANULE,
                           .bin_count = items[n - 1].at + 1 - items[0].at,
                           .rate = w->rate};
    memcpy(h.dimension, w->dimension, sizeof h.dimension);
    uint64_t next = 0, left = items[0].count; /* left: of a single bin */
    if (n > 1) {
        put_histogram_head(w, &h);
        for (size_t i = 0; i < n; i++)
            put_bin(w, &next, items[i].at - items[0].at, items[i].count);
        return;
    }
    do {
        const uint64_t part = left < PT_GMON_BIN_MAX ? left : PT_GMON_BIN_MAX;
        put_histogram_head(w, &h);
        put_number(w, part, PT_GMON_UNIT_BYTES);
        left -= part;
    } while (left > 0 && w->further > 0 && w->further--);
    pt_diag_add(w->options->diag, left, "samples left out at addresses with too many for the file");
}

/* May `count` be in the same histogram as the count before it? */
static bool is_near(const leaf_count *before, const leaf_count *count, uint64_t gap)
{
    return before->count <= PT_GMON_BIN_MAX && count->count <= PT_GMON_BIN_MAX &&
           count->at - before->at <= gap;
}

/* The longest gap in a histogram. */
static uint64_t choose_gap(const leaf_counts *c)
{
    const uint64_t most = EMPTY_BYTES / PT_GMON_UNIT_BYTES + EMPTY_FACTOR * c->count;
    for (uint64_t gap = GAP_MAX; gap > GAP_LEAST; gap /= 2) {
        uint64_t empty = 0;
        for (size_t i = 1; i < c->count; i++)
            if (is_near(&c->items[i - 1], &c->items[i], gap))
                empty += c->items[i].at - c->items[i - 1].at - 1;
        if (empty <= most) return gap;
    }
    return GAP_LEAST;
}

static void put_stretches(writing *w, const leaf_counts *c)
{
    const uint64_t gap = choose_gap(c);
    for (size_t i = 0; i < c->count;) {
        size_t end = i + 1;
        while (end < c->count && is_near(&c->items[end - 1], &c->items[end], gap))
            end++;
        put_stretch(w, c->items + i, end - i);
        i = end;
    }
}

static void put_arcs(writing *w, bool is_bsd)
{
    const pt_arcs *const a = w->p->arc;
    const unsigned call_bytes = is_bsd ? w->word_bytes : 4;
    const uint64_t most = call_bytes == 8 ? UINT64_MAX : UINT32_MAX;
    uint64_t outside = 0, held = 0;
    for (uint32_t i = 0; i < a->t.count; i++) {
        uint64_t from, to, left = a->calls[i];
        if (!linked_address(w, a->from[i], &from) || !linked_address(w, a->to[i], &to)) {
            outside++;
            continue;
        }
        do {
            const uint64_t part = left < most ? left : most;
            if (!is_bsd) pt_put_u8(&w->buf, PT_GMON_ARC);
            put_word(w, from);
            put_word(w, to);
            put_number(w, part, call_bytes);
            left -= part;
        } while (left > 0 && w->further > 0 && w->further--);
        held += left > 0;
    }
    pt_diag_add(w->options->diag, outside, "call arcs outside the program's image left out");
    pt_diag_add(w->options->diag, held, "call arcs held at the most that can be written");
}

static void put_blocks(writing *w)
{
    const pt_blocks *const b = w->p->block;
    const uint64_t most = w->word_bytes == 8 ? UINT64_MAX : UINT32_MAX;
    uint64_t kept = 0, outside = 0, held = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            if (kept == 0) break;
            pt_put_u8(&w->buf, PT_GMON_BLOCKS);
            put_number(w, kept, 4);
        }
        for (uint32_t i = 0; i < b->t.count; i++) {
            const pt_block *const x = &b->row[i];
            const bool fits = is_of_program(w->p, x->mapping) && x->address <= most;
            kept += fits && pass == 0;
            outside += !fits && pass == 0;
            if (!fits || pass == 0) continue;
            put_word(w, x->address);
            put_word(w, x->count < most ? x->count : most);
            held += x->count > most;
        }
    }
    pt_diag_add(w->options->diag, outside, "basic blocks outside the program's image left out");
    pt_diag_add(w->options->diag, held,
                "counts of basic blocks above 4294967295 set to that number");
}

/* Writes a single histogram over [low, high), with the smallest granule that keeps the number of
 * bins in bounds. */
static pt_status put_bsd(writing *w, const leaf_counts *c, pt_error *reterr)
{
    uint64_t low = UINT64_MAX, high = 0, saturated = 0, granule = GRANULE, from, to;
    for (size_t i = 0; i < c->count; i++) {
        low = c->items[i].at * GRANULE < low ? c->items[i].at * GRANULE : low;
        high = (c->items[i].at + 1) * GRANULE > high ? (c->items[i].at + 1) * GRANULE : high;
    }
    for (uint32_t i = 0; i < w->p->arc->t.count; i++) {
        if (!linked_address(w, w->p->arc->from[i], &from) ||
            !linked_address(w, w->p->arc->to[i], &to))
            continue;
        const uint64_t least = from < to ? from : to, most = from < to ? to : from;
        low = least < low ? least / GRANULE * GRANULE : low;
        high = most >= high ? (most / GRANULE + 1) * GRANULE : high;
    }
    if (high == 0) low = 0;
    while ((high - low) / granule >= BSD_BINS_MAX && granule <= BSD_GRANULE_MAX)
        granule *= 2;
    if (granule > BSD_GRANULE_MAX)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "0x%" PRIx64 " and 0x%" PRIx64 " are too far apart for one histogram; "
                            "--to=gmon holds several",
                            low, high);
    uint64_t bins = (high - low + granule - 1) / granule;
    if (bins < PT_GMON_BSD_BINS_MIN) bins = PT_GMON_BSD_BINS_MIN;
    const unsigned header_bytes = w->word_bytes == 8 ? 40 : 32;
    put_word(w, low);
    put_word(w, low + bins * granule);
    put_number(w, header_bytes + 2 * bins, 4);
    put_number(w, PT_GMON_BSD44_VERSION, 4);
    put_number(w, w->rate, 4);
    put_number(w, 0, 4);
    put_number(w, 0, 8);
    uint64_t next = 0;
    for (size_t i = 0; i < c->count;) {
        const uint64_t bin = (c->items[i].at * GRANULE - low) / granule;
        uint64_t count = 0;
        for (; i < c->count && (c->items[i].at * GRANULE - low) / granule == bin; i++)
            count = add_up(count, c->items[i].count);
        saturated += count > PT_GMON_BIN_MAX;
        put_bin(w, &next, bin, count < PT_GMON_BIN_MAX ? count : PT_GMON_BIN_MAX);
    }
    put_empty_bins(w, bins - next);
    pt_diag_add(w->options->diag, saturated,
                "bins above 65535 set to 65535 (--to=gmon has no such limit)");
    pt_diag_add(w->options->diag, granule > GRANULE, "bins cover %" PRIu64 " bytes of text each",
                granule);
    pt_diag_add(w->options->diag, w->dimension[PT_GMON_DIMENSION_BYTES] != 's',
                "counts of another unit than seconds, which this layout implies");
    return PT_OK;
}

/* Can a reader of the file compute event e from the event that is written? It can if e counts the
 * written ticks, or is their time. */
static bool is_same_event(const writing *w, uint32_t e)
{
    const pt_profile *const p = w->p;
    const double ns = ns_per_unit(pt_text(p, p->event->row[e].unit));
    if (w->event == PT_NONE ||
        (ns <= 0 && strcmp(pt_text(p, p->event->row[e].type), "samples") != 0))
        return false;
    const double ticks = (double)pt_profile_total(p, w->event) / w->per_count;
    const double expected = ns > 0 ? ticks * NS_PER_S / ns / w->rate : ticks;
    return fabs((double)pt_profile_total(p, e) - expected) <= 0.01 * expected;
}

/* Reports the losses that pt_format_losses does not find, since gmon has the capability for the
 * kind of data, but not for all of the data. */
static void report_left_out(const writing *w)
{
    const pt_profile *const p = w->p;
    const pt_provenance *const s = pt_profile_provenance(p);
    uint64_t others = 0, foreign = 0;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        others += e != w->event && !is_same_event(w, e);
    for (uint32_t i = 0; i < p->extra->t.count; i++)
        foreign += strcmp(pt_text(p, p->extra->key[i]), PT_GMON_PLAN) != 0;
    pt_diag_add(w->options->diag, others, "other values of each sample left out");
    pt_diag_add(w->options->diag, foreign, "header lines of another format left out");
    pt_diag_add(w->options->diag, (s->start_ns != 0) + (s->duration_ns != 0),
                "facts about start and duration left out");
}

static bool has_addresses(const pt_profile *p)
{
    if (p->sample->t.count == 0) return true;
    return PT_ANY(i, p->location->t.count, p->location->address[i] != 0);
}

static pt_status write_any(writing *w, bool is_bsd, pt_error *reterr)
{
    if (!has_addresses(w->p))
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "holds counts by address, and the profile has only names");
    choose_event(w);
    report_left_out(w);
    leaf_counts c = count_leaves(w);
    pt_status status = PT_OK;
    w->further = PT_GMON_FURTHER(c.count + w->p->arc->t.count);
    if (is_bsd) {
        status = put_bsd(w, &c, reterr);
    } else {
        put_stretches(w, &c);
    }
    if (status == PT_OK) put_arcs(w, is_bsd);
    if (status == PT_OK && !is_bsd) put_blocks(w);
    free(c.items);
    return status;
}

static writing begin_writing(const pt_profile *p, const pt_write_options *options)
{
    const pt_provenance *const s = pt_profile_provenance(p);
    return (writing){.p = p,
                     .options = options,
                     .word_bytes = s->word_bytes == 4 ? 4 : 8,
                     .big_endian = s->big_endian};
}

pt_status pt_gmon_write(const pt_profile *p, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr)
{
    writing w = begin_writing(p, options);
    unsigned version = 1, big;
    uint8_t spare[PT_GMON_SPARE_BYTES] = {0};
    char hex[2 * PT_GMON_SPARE_BYTES + 1] = "";
    const char *const plan = usable_plan(p, "gnu ");
    if (plan != NULL &&
        sscanf(plan, "gnu %u %u %u %24[0-9a-f]", &w.word_bytes, &big, &version, hex) == 4) {
        w.big_endian = big != 0;
        pt_gmon_from_hex(hex, spare, sizeof spare);
    }
    if (plan == NULL && pt_gmon_put_merged(p, false, &w.buf, options->diag))
        return end_writing(&w, PT_OK, output, reterr);
    pt_put_text(&w.buf, "gmon");
    put_number(&w, version, 4);
    pt_put(&w.buf, spare, sizeof spare);
    pt_status status = PT_OK;
    if (plan != NULL)
        put_planned(&w, plan, false);
    else
        status = write_any(&w, false, reterr);
    return end_writing(&w, status, output, reterr);
}

/* Writes the header from the plan: its first line has the layout, its second the histogram. */
static void put_planned_bsd_header(writing *w, const char *plan, unsigned header_bytes,
                                   const char *hex)
{
    uint8_t spare[PT_GMON_SPARE_BYTES] = {0};
    const size_t spare_bytes = pt_gmon_from_hex(hex, spare, sizeof spare);
    const char *line = strchr(plan, '\n') + 1;
    pt_gmon_step s;
    pt_gmon_next_step(&line, &s);
    put_word(w, s.histogram.low);
    put_word(w, s.histogram.high);
    put_number(w, header_bytes + 2 * s.histogram.bin_count, 4);
    if (header_bytes == 32 || header_bytes == 40) {
        put_number(w, PT_GMON_BSD44_VERSION, 4);
        put_number(w, s.histogram.rate, 4);
    }
    pt_put(&w->buf, spare, spare_bytes);
}

pt_status pt_gmon_write_bsd(const pt_profile *p, const pt_output *output,
                            const pt_write_options *options, pt_error *reterr)
{
    writing w = begin_writing(p, options);
    unsigned header_bytes = 0, big;
    char hex[2 * PT_GMON_SPARE_BYTES + 1] = "";
    const char *const plan = usable_plan(p, "bsd ");
    pt_status status = PT_OK;
    if (plan != NULL &&
        sscanf(plan, "bsd %u %u %u %24[-0-9a-f]", &w.word_bytes, &big, &header_bytes, hex) == 4) {
        w.big_endian = big != 0;
        put_planned_bsd_header(&w, plan, header_bytes, hex);
        put_planned(&w, plan, true);
    } else if (!pt_gmon_put_merged(p, true, &w.buf, options->diag)) {
        status = write_any(&w, true, reterr);
    }
    return end_writing(&w, status, output, reterr);
}
