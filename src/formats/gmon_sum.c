/* gmon_sum.c: see gmon_sum.h. */
#include "formats/gmon_sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/plain/ascending.h"

#define BINS_MAX ((uint64_t)1 << 28) /* bins in a merged profile's plans */

typedef struct {
    pt_gmon_histogram h;
    uint64_t *bins;
} summed_histogram;

typedef struct {
    uint64_t from, to, count; /* for blocks, to is 0 */
} summed_pair;

typedef struct {
    summed_pair *items; /* in order of first appearance */
    size_t count, cap;
    pt_index index;
} pairs;

typedef struct {
    PT_VECTOR(summed_histogram) histograms;
    pt_index histogram_index;
    pairs arcs, blocks;
    uint64_t bins_claimed; /* bins of a merged profile's histograms */
    uint64_t further;      /* records that may still be added for sums that exceed their field */
    unsigned word_bytes;
    bool big_endian;
    pt_buf *out;
    pt_diag *diag;
} sum;

static void add_pair(pairs *list, uint64_t from, uint64_t to, uint64_t count)
{
    const uint64_t hash = pt_hash_mix(from, to);
    PT_INDEX_EACH (&list->index, hash, i) {
        summed_pair *const earlier = &list->items[i];
        if (earlier->from != from || earlier->to != to) continue;
        if (__builtin_add_overflow(earlier->count, count, &earlier->count))
            earlier->count = UINT64_MAX;
        return;
    }
    PT_INDEX_PUSH(&list->index, hash, *list, (summed_pair){from, to, count});
}

static summed_histogram *histogram_like(sum *s, const pt_gmon_histogram *h)
{
    const uint64_t hash = pt_hash_mix(pt_hash_mix(h->low, h->high), h->bin_count);
    PT_INDEX_EACH (&s->histogram_index, hash, i) {
        const pt_gmon_histogram *const earlier = &s->histograms.items[i].h;
        if (earlier->low == h->low && earlier->high == h->high &&
            earlier->bin_count == h->bin_count)
            return &s->histograms.items[i];
    }
    pt_index_add(&s->histogram_index, hash, (uint32_t)s->histograms.count);
    PT_GROW(s->histograms, s->histograms.count + 1);
    summed_histogram *const added = &s->histograms.items[s->histograms.count++];
    *added = (summed_histogram){.h = *h, .bins = pt_alloc(h->bin_count + 1, sizeof(uint64_t))};
    return added;
}

/* Does the histogram have the unit and rate of the first? */
static bool fits_first(const sum *s, const pt_gmon_histogram *h)
{
    if (s->histograms.count == 0) return true;
    const pt_gmon_histogram *const first = &s->histograms.items[0].h;
    return first->rate == h->rate &&
           memcmp(first->dimension, h->dimension, sizeof h->dimension) == 0;
}

PT_ORDER(by_range, summed_histogram, PT_UP(h.low) ?: PT_UP(h.high));

/* Fails if ranges overlap, since a file cannot hold them. */
static pt_status check_ranges(const sum *s, pt_error *reterr)
{
    const size_t count = s->histograms.count;
    PT_FREE summed_histogram *sorted = pt_alloc(count + 1, sizeof *sorted);
    if (count > 0) memcpy(sorted, s->histograms.items, count * sizeof *sorted);
    if (count > 0) qsort(sorted, count, sizeof *sorted, by_range);
    for (size_t i = 1; i < count; i++)
        if (sorted[i].h.low < sorted[i - 1].h.high)
            return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                                "the histograms of 0x%" PRIx64 " to 0x%" PRIx64 " and 0x%" PRIx64
                                " to 0x%" PRIx64 " overlap",
                                sorted[i - 1].h.low, sorted[i - 1].h.high, sorted[i].h.low,
                                sorted[i].h.high);
    return PT_OK;
}

/* Adds the rows of a histogram's bins; only bins with a count have a row. */
static void add_bins(sum *s, const pt_gmon_step *step, const pt_bin *rows)
{
    const pt_gmon_histogram *const h = &step->histogram;
    summed_histogram *const into = histogram_like(s, h);
    uint64_t next = 0;
    for (uint64_t i = 0; i < h->bin_count && next < step->rows; i++) {
        if (pt_gmon_edge(h, i) != rows[next].low || pt_gmon_edge(h, i + 1) != rows[next].high)
            continue;
        into->bins[i] += rows[next++].count;
    }
}

static void add_calls(sum *s, const pt_profile *p)
{
    for (uint32_t i = 0; i < p->arc->t.count; i++)
        add_pair(&s->arcs, p->location->address[p->arc->from[i]],
                 p->location->address[p->arc->to[i]], p->arc->calls[i]);
    for (uint32_t i = 0; i < p->block->t.count; i++)
        add_pair(&s->blocks, p->block->row[i].address, 0, p->block->row[i].count);
}

static pt_status add_profile(sum *s, const pt_profile *p, pt_error *reterr)
{
    const char *line = pt_gmon_plan(p);
    if (line == NULL)
        return pt_error_set(
            reterr, PT_ERR_UNSUPPORTED,
            "only profiles that were read completely from a gmon.out can be added up");
    const char *const end = strchr(line, '\n');
    line = end != NULL ? end + 1 : "";
    uint64_t row = 0;
    for (pt_gmon_step step; pt_gmon_next_step(&line, &step);) {
        if (step.kind != 'h') continue;
        if (row + step.rows > p->bin->t.count || !fits_first(s, &step.histogram))
            return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                                "the histogram of 0x%" PRIx64 " to 0x%" PRIx64
                                " counts in another unit than the first one; add up files of one "
                                "program and one rate",
                                step.histogram.low, step.histogram.high);
        add_bins(s, &step, p->bin->row + row);
        row += step.rows;
    }
    add_calls(s, p);
    return PT_OK;
}

/* ---- Merged profiles ---- */

/* Adds the histograms of a plan. */
static bool add_plan(sum *s, const char *line)
{
    unsigned word_bytes, big_endian;
    if (sscanf(line, "gnu %u %u", &word_bytes, &big_endian) != 2 &&
        sscanf(line, "bsd %u %u", &word_bytes, &big_endian) != 2)
        return false;
    s->word_bytes = word_bytes == 4 ? 4 : 8;
    s->big_endian = big_endian != 0;
    const char *const end = strchr(line, '\n');
    line = end != NULL ? end + 1 : "";
    for (pt_gmon_step step; pt_gmon_next_step(&line, &step);) {
        if (step.kind != 'h') continue;
        if (step.histogram.bin_count > BINS_MAX - s->bins_claimed ||
            !fits_first(s, &step.histogram))
            return false;
        const size_t before = s->histograms.count;
        histogram_like(s, &step.histogram);
        if (s->histograms.count > before) s->bins_claimed += step.histogram.bin_count;
    }
    return true;
}

static bool add_plans(sum *s, const pt_profile *p)
{
    bool any = false;
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        if (strcmp(pt_text(p, p->extra->key[i]), PT_GMON_PLAN) != 0) continue;
        if (!add_plan(s, pt_text(p, p->extra->value[i]))) return false;
        any = true;
    }
    return any && check_ranges(s, NULL) == PT_OK;
}

/* Index of the bin with these edges; bin_count = none. */
static uint64_t bin_with_edges(const pt_gmon_histogram *h, uint64_t low, uint64_t high)
{
    const uint64_t units = (h->high - h->low) / PT_GMON_UNIT_BYTES;
    const uint64_t unit = (low - h->low) / PT_GMON_UNIT_BYTES;
    const double at = (double)unit * (double)h->bin_count / (units > 0 ? (double)units : 1);
    if (at >= (double)h->bin_count + 2) return h->bin_count; /* after the last bin */
    const uint64_t guess = at < 2 ? 0 : (uint64_t)at - 2;
    for (uint64_t i = guess; i < h->bin_count && pt_gmon_edge(h, i) <= low; i++)
        if (pt_gmon_edge(h, i) == low && pt_gmon_edge(h, i + 1) == high) return i;
    return h->bin_count;
}

static bool add_merged_bins(sum *s, const pt_profile *p)
{
    uint64_t counted = 0;
    PT_SORT(s->histograms, by_range);
    for (uint32_t i = 0; i < p->bin->t.count; i++) {
        const pt_bin *const bin = &p->bin->row[i];
        if (bin->count == 0) continue;
        /* The histogram that covers the address. Histograms are sorted and disjoint. */
        const size_t after =
            PT_FIRST_AFTER(s->histograms.items, s->histograms.count, h.low, bin->low);
        summed_histogram *const into = after > 0 ? &s->histograms.items[after - 1] : NULL;
        if (into == NULL) return false;
        const uint64_t at = bin_with_edges(&into->h, bin->low, bin->high);
        if (at == into->h.bin_count) return false;
        into->bins[at] += bin->count;
        counted += bin->count;
    }
    return counted == (uint64_t)(p->event->t.count > 0 ? pt_profile_total(p, 0) : 0);
}

/* ---- Writing ---- */

static void put_number(const sum *s, uint64_t value, unsigned bytes)
{
    if (s->big_endian)
        pt_put_be(s->out, value, bytes);
    else
        pt_put_le(s->out, value, bytes);
}

/* Subtracts up to `most` from *left, and returns the subtracted number. */
static uint64_t part_of(uint64_t *left, uint64_t most)
{
    const uint64_t part = *left < most ? *left : most;
    *left -= part;
    return part;
}

static void put_histogram(sum *s, summed_histogram *x)
{
    const pt_gmon_histogram *const h = &x->h;
    bool more;
    do {
        pt_put_u8(s->out, 0);
        put_number(s, h->low, s->word_bytes);
        put_number(s, h->high, s->word_bytes);
        put_number(s, h->bin_count, 4);
        put_number(s, h->rate, 4);
        pt_put(s->out, h->dimension, sizeof h->dimension);
        more = false;
        for (uint64_t i = 0; i < h->bin_count; i++) {
            put_number(s, part_of(&x->bins[i], PT_GMON_BIN_MAX), 2);
            more |= x->bins[i] > 0;
        }
    } while (more && s->further > 0 && s->further--);
    pt_diag_add(s->diag, more, "histograms clipped to the largest count that can be written");
}

static void put_arc(sum *s, const summed_pair *arc, bool bsd)
{
    const unsigned count_bytes = bsd ? s->word_bytes : 4;
    uint64_t left = arc->count;
    do {
        if (!bsd) pt_put_u8(s->out, PT_GMON_ARC);
        put_number(s, arc->from, s->word_bytes);
        put_number(s, arc->to, s->word_bytes);
        put_number(s, part_of(&left, count_bytes == 8 ? UINT64_MAX : UINT32_MAX), count_bytes);
    } while (left > 0 && s->further > 0 && s->further--);
    pt_diag_add(s->diag, left > 0, "call arcs clipped to the largest count that can be written");
}

static void put_gnu(sum *s)
{
    s->further = PT_GMON_FURTHER(s->histograms.count + s->arcs.count);
    pt_put_text(s->out, "gmon");
    put_number(s, 1, 4);
    for (unsigned i = 0; i < PT_GMON_SPARE_BYTES; i++)
        pt_put_u8(s->out, 0);
    for (size_t i = 0; i < s->histograms.count; i++)
        put_histogram(s, &s->histograms.items[i]);
    for (size_t i = 0; i < s->arcs.count; i++)
        put_arc(s, &s->arcs.items[i], false);
    if (s->blocks.count == 0) return;
    pt_put_u8(s->out, PT_GMON_BLOCKS);
    put_number(s, s->blocks.count, 4);
    for (size_t i = 0; i < s->blocks.count; i++) {
        const uint64_t most = s->word_bytes == 8 ? UINT64_MAX : UINT32_MAX;
        uint64_t left = s->blocks.items[i].count;
        put_number(s, s->blocks.items[i].from, s->word_bytes);
        put_number(s, part_of(&left, most), s->word_bytes);
        pt_diag_add(s->diag, left > 0,
                    "counts of basic blocks set to the largest that the file can hold");
    }
}

static pt_status put_bsd(sum *s, pt_error *reterr)
{
    if (s->histograms.count != 1)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "BSD's layout holds one histogram, not %zu",
                            s->histograms.count);
    const summed_histogram *const x = &s->histograms.items[0];
    s->further = PT_GMON_FURTHER(s->arcs.count);
    const unsigned header_bytes = s->word_bytes == 8 ? 40 : 32;
    put_number(s, x->h.low, s->word_bytes);
    put_number(s, x->h.high, s->word_bytes);
    put_number(s, header_bytes + 2 * x->h.bin_count, 4);
    put_number(s, PT_GMON_BSD44_VERSION, 4);
    put_number(s, x->h.rate, 4);
    for (unsigned i = 0; i < PT_GMON_SPARE_BYTES; i++)
        pt_put_u8(s->out, 0);
    for (uint64_t i = 0; i < x->h.bin_count; i++) {
        uint64_t left = x->bins[i];
        put_number(s, part_of(&left, PT_GMON_BIN_MAX), 2);
        pt_diag_add(s->diag, left > 0, "bins above 65535 set to 65535");
    }
    for (size_t i = 0; i < s->arcs.count; i++)
        put_arc(s, &s->arcs.items[i], true);
    pt_diag_add(s->diag, s->blocks.count, "basic blocks without a place in BSD's layout");
    return PT_OK;
}

static void begin_sum(sum *s, pt_buf *out, pt_diag *diag)
{
    *s = (sum){.out = out, .diag = diag, .word_bytes = 8};
    pt_index_init(&s->histogram_index);
    pt_index_init(&s->arcs.index);
    pt_index_init(&s->blocks.index);
}

static void end_sum(sum *s)
{
    for (size_t i = 0; i < s->histograms.count; i++)
        free(s->histograms.items[i].bins);
    PT_FREE_ALL(s->histograms.items, s->arcs.items, s->blocks.items);
    pt_index_done(&s->histogram_index);
    pt_index_done(&s->arcs.index);
    pt_index_done(&s->blocks.index);
}

/* Can BSD's layout hold the sum? It has a single histogram of time, and its readers do not
 * recognise a histogram with few bins. */
static bool fits_bsd(const sum *s)
{
    if (s->histograms.count != 1) return false;
    const pt_gmon_histogram *const h = &s->histograms.items[0].h;
    return h->bin_count >= PT_GMON_BSD_BINS_MIN && h->dimension[PT_GMON_DIMENSION_BYTES] == 's';
}

bool pt_gmon_put_merged(const pt_profile *p, bool bsd, pt_buf *out, pt_diag *diag)
{
    sum s;
    begin_sum(&s, out, diag);
    const bool fitting = add_plans(&s, p) && add_merged_bins(&s, p) && (!bsd || fits_bsd(&s));
    if (fitting) {
        add_calls(&s, p);
        if (bsd)
            put_bsd(&s, NULL);
        else
            put_gnu(&s);
    }
    end_sum(&s);
    return fitting;
}

pt_status pt_gmon_sum(const pt_profile *const *profiles, size_t count, bool bsd, pt_buf *out,
                      pt_diag *diag, pt_error *reterr)
{
    sum s;
    begin_sum(&s, out, diag);
    pt_status status = PT_OK;
    for (size_t i = 0; i < count && status == PT_OK; i++) {
        const pt_provenance *const from = pt_profile_provenance(profiles[i]);
        if (i == 0) {
            s.word_bytes = from->word_bytes == 4 ? 4 : 8;
            s.big_endian = from->big_endian;
        }
        status = add_profile(&s, profiles[i], reterr);
    }
    if (status == PT_OK) status = check_ranges(&s, reterr);
    if (status == PT_OK && bsd)
        status = put_bsd(&s, reterr);
    else if (status == PT_OK)
        put_gnu(&s);
    end_sum(&s);
    return status;
}
