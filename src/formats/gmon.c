/* gmon.c: reads GNU's gmon.out, of both word sizes and byte orders.
 *
 *   header  | "gmon" | u32 version 1 | 12 spare bytes |
 *   records | 0 | low P | high P | bins u32 | rate u32 | dimension [15] | abbreviation | u16 ... |
 *           | 1 | from P | self P | calls u32 |
 *           | 2 | n u32, or a size_t as glibc writes it | n times: address P, count P |
 *
 * P is a pointer of the profiled program; there is no padding or alignment. Rule: the GNU gprof
 * manual, "Profiling Data File Format", and gmon_out.h.
 *
 * The file states neither its word size nor the length of n in a record of type 2. The reader
 * parses the records in each variant, beginning with the program's word size (hooks), and chooses
 * the variant whose records end where the file ends, else the variant that parses the most bytes.
 */
#include "formats/gmon.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define HEADER_BYTES   20
#define VERSION_SHARED 0x1ffff /* LD_PROFILE's: a shared object, in another layout */
#define NS_PER_S       1000000000u

static const uint8_t cookie[4] = {'g', 'm', 'o', 'n'};

uint64_t pt_gmon_edge(const pt_gmon_histogram *h, uint64_t i)
{
    const uint64_t units = (h->high - h->low) / PT_GMON_UNIT_BYTES;
    const double scale = (double)units / (double)(h->bin_count | !h->bin_count);
    const uint64_t edge = (uint64_t)(scale * (double)(i < h->bin_count ? i : h->bin_count));
    return edge >= units && i >= h->bin_count ? h->high : h->low + PT_GMON_UNIT_BYTES * edge;
}

void pt_gmon_put_hex(pt_buf *buf, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pt_putf(buf, "%02x", bytes[i]);
}

/* ---- Into the model ---- */

/* Length of the dimension's name without its padding. */
static size_t dimension_length(const pt_gmon_histogram *h)
{
    size_t n = 0;
    while (n < PT_GMON_DIMENSION_BYTES && h->dimension[n] != '\0')
        n++;
    while (n > 0 && h->dimension[n - 1] == ' ')
        n--;
    return n;
}

/* Copies the dimension's name with unprintable bytes replaced: at most 15 bytes and a NUL. */
static void dimension_text(const pt_gmon_histogram *h, char *buf)
{
    const size_t n = dimension_length(h);
    for (size_t i = 0; i < n; i++)
        buf[i] = (char)(isprint(h->dimension[i]) ? h->dimension[i] : '?');
    buf[n] = '\0';
}

/* The unit of a bin's count: 1/rate of the dimension. */
static pt_string_id unit_of(pt_builder *b, const pt_gmon_histogram *h)
{
    char text[PT_GMON_DIMENSION_BYTES + 1];
    dimension_text(h, text);
    if (text[0] == '\0') return pt_builder_text(b, "count");
    if (h->rate <= 1) return pt_builder_text(b, text);
    PT_FREE char *unit = pt_strf("1/%u %s", h->rate, text);
    return pt_builder_text(b, unit);
}

void pt_gmon_begin(pt_gmon_reading *s, pt_builder *b, const pt_read_hooks *hooks,
                   const char *format, const pt_gmon_histogram *first, unsigned word_bytes,
                   bool big_endian)
{
    static const char seconds[] = "seconds";
    *s = (pt_gmon_reading){.b = b, .diag = hooks->diag, .bins_only = hooks->bins_only};
    const bool has_name = first != NULL && dimension_length(first) == sizeof seconds - 1 &&
                          memcmp(first->dimension, seconds, sizeof seconds - 1) == 0;
    s->in_seconds = has_name && first->rate > 0;
    s->rate = first != NULL ? first->rate : 0;
    pt_builder_event(b,
                     &(pt_event){.type = pt_builder_text(b, "samples").v,
                                 .unit = first == NULL || has_name ? pt_builder_text(b, "count").v
                                                                   : unit_of(b, first).v,
                                 .rate_hz = s->rate});
    pt_provenance *const p = pt_builder_provenance(b);
    p->source_format = pt_builder_text(b, format).v;
    p->word_bytes = word_bytes;
    p->big_endian = big_endian;
    if (s->in_seconds) {
        const int64_t period = NS_PER_S / s->rate;
        pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "cpu").v,
                                        .unit = pt_builder_text(b, "nanoseconds").v,
                                        .period = period,
                                        .rate_hz = s->rate});
        p->period_type = pt_builder_text(b, "cpu").v;
        p->period_unit = pt_builder_text(b, "nanoseconds").v;
        p->has_period_type = true;
        p->period = period;
    }
    s->event_count = pt_builder_event_count(b);
    s->mapping = pt_builder_append_mapping(b, &(pt_mapping){.flags = PT_MAPPING_HAS_BIAS});
}

static void note_limit(pt_gmon_reading *s, uint64_t limit)
{
    if (limit > s->limit) s->limit = limit;
}

static pt_location_id location_of(pt_gmon_reading *s, uint64_t address)
{
    note_limit(s, address == UINT64_MAX ? address : address + 1);
    const pt_location at = {.mapping = s->mapping.v, .address = address};
    /* With bins_only, the caller adds up arcs by function, so it does no harm if an address has
     * several locations. */
    return s->bins_only ? pt_builder_append_location(s->b, &at, NULL, 0)
                        : pt_builder_location(s->b, &at, NULL, 0);
}

static void add_sample(pt_gmon_reading *s, uint64_t address, uint64_t count)
{
    const pt_location_id at = location_of(s, address);
    int64_t values[2] = {(int64_t)count, 0};
    if (s->in_seconds) values[1] = (int64_t)((count * NS_PER_S + s->rate / 2) / s->rate);
    pt_builder_add(s->b, pt_builder_stack(s->b, &at.v, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                   values);
}

/* Skips empty bins in groups of four, at most `most` bins: in large programs nearly all are empty.
 * Returns the number of skipped bins. */
static uint64_t skip_empty(pt_reader *r, uint64_t most)
{
    uint64_t count = 0, several;
    enum { AT_ONCE = sizeof several / PT_GMON_UNIT_BYTES };
    while (most - count >= AT_ONCE && pt_reader_left(r) >= sizeof several) {
        memcpy(&several, r->pos, sizeof several);
        if (several != 0) break;
        pt_skip(r, sizeof several);
        count += AT_ONCE;
    }
    return count;
}

/* Adds the arcs counted so far to the plan. */
static void end_arcs(pt_gmon_reading *s)
{
    if (s->arc_run > 0) pt_putf(&s->plan, "a %" PRIu64 "\n", s->arc_run);
    s->arc_run = 0;
}

void pt_gmon_add_bins(pt_gmon_reading *s, pt_reader *r, const pt_gmon_histogram *h,
                      uint64_t present)
{
    const uint64_t units = (h->high - h->low) / PT_GMON_UNIT_BYTES;
    /* In a crowded histogram several bins have the same edges. So a bin is identified only by its
     * place in the complete list, and empty bins also get rows. */
    const bool crowded = units < h->bin_count;
    const double scale =
        (double)units * PT_GMON_UNIT_BYTES / (double)(h->bin_count | !h->bin_count);
    uint64_t rows = 0;
    for (uint64_t i = 0; i < present; i++) {
        if (!crowded) i += skip_empty(r, present - 1 - i);
        const uint16_t count = pt_read_u16(r);
        if (count == 0 && !crowded) continue;
        const uint64_t low = pt_gmon_edge(h, i), high = pt_gmon_edge(h, i + 1);
        pt_builder_bin(
            s->b,
            &(pt_bin){
                .low = low, .high = high, .count = count, .scale = scale, .mapping = s->mapping.v});
        rows++;
        /* The middle of a bin, at an address that may begin an instruction on machines with an
         * alignment of two bytes. */
        if (count > 0 && !s->bins_only)
            add_sample(s, low + (high - low) / 2 / PT_GMON_UNIT_BYTES * PT_GMON_UNIT_BYTES, count);
    }
    note_limit(s, h->high);
    end_arcs(s);
    pt_putf(&s->plan, "h %" PRIx64 " %" PRIx64 " %" PRIu64 " %" PRIu64 " %u ", h->low, h->high,
            h->bin_count, rows, h->rate);
    pt_gmon_put_hex(&s->plan, h->dimension, sizeof h->dimension);
    pt_put_text(&s->plan, "\n");
}

void pt_gmon_add_arc(pt_gmon_reading *s, uint64_t from, uint64_t to, uint64_t calls)
{
    const pt_location_id caller = location_of(s, from);
    pt_builder_arc(s->b, caller, location_of(s, to), calls, NULL);
    s->arc_run++;
}

void pt_gmon_end(pt_gmon_reading *s, bool whole)
{
    end_arcs(s);
    pt_builder_mapping_at(s->b, s->mapping)->limit = s->limit;
    if (whole && s->plan.size > 0)
        pt_builder_extra(s->b, pt_builder_text(s->b, PT_GMON_PLAN),
                         pt_builder_string(s->b, (const char *)s->plan.data, s->plan.size));
    pt_buf_done(&s->plan);
}

/* ---- Records ---- */

typedef struct {
    bool big_endian;
    uint8_t word_bytes, length_bytes; /* length_bytes: of n in a record of type 2 */
    uint32_t version;
} variant;

typedef struct {
    uint8_t tag;
    uint64_t offset;
    pt_gmon_histogram histogram;
    uint64_t count, present; /* number of items that the record states, and that are present */
    pt_reader items;
} record;

static void read_histogram_head(pt_reader *r, record *rec)
{
    pt_gmon_histogram *const h = &rec->histogram;
    h->low = pt_read_word(r);
    h->high = pt_read_word(r);
    h->bin_count = pt_read_u32(r);
    h->rate = pt_read_u32(r);
    const uint8_t *const dimension = pt_read_bytes(r, sizeof h->dimension);
    if (dimension != NULL) memcpy(h->dimension, dimension, sizeof h->dimension);
    rec->count = h->bin_count;
    if (pt_reader_ok(r) && (h->low > h->high || (h->low == h->high && h->bin_count > 0)))
        pt_reader_fail_at(r, rec->offset, PT_ERR_DAMAGED,
                          "histogram at byte %" PRIu64 " covers no text: 0x%" PRIx64
                          " to 0x%" PRIx64,
                          rec->offset, h->low, h->high);
}

/* Reads a record. Returns false at the end, or if the head of the record is invalid. If items of
 * the record are missing, the record has those that are present, and the reader has failed. */
static bool next_record(pt_reader *r, const variant *v, record *ret)
{
    static const char *const names[] = {"bins", "arc", "basic blocks"};
    if (!pt_reader_ok(r) || pt_reader_left(r) == 0) return false;
    *ret = (record){.offset = pt_reader_offset(r)};
    ret->tag = pt_read_u8(r);
    uint64_t item_bytes = PT_GMON_UNIT_BYTES;
    if (ret->tag == 0) {
        read_histogram_head(r, ret);
    } else if (ret->tag == PT_GMON_ARC) {
        ret->count = 1;
        item_bytes = 2u * v->word_bytes + 4u;
    } else if (ret->tag == PT_GMON_BLOCKS && v->version == 0) {
        pt_reader_fail_at(r, ret->offset, PT_ERR_DAMAGED,
                          "basic blocks at byte %" PRIu64 " are of version 0, which names source "
                          "lines between them, and cannot be read, nor what follows",
                          ret->offset);
    } else if (ret->tag == PT_GMON_BLOCKS) {
        ret->count = v->length_bytes == 8 ? pt_read_u64(r) : pt_read_u32(r);
        item_bytes = 2u * v->word_bytes;
    } else {
        pt_reader_fail_at(r, ret->offset, PT_ERR_DAMAGED,
                          "byte %" PRIu64 " begins a record of unknown type %u", ret->offset,
                          ret->tag);
    }
    if (!pt_reader_ok(r)) return false;
    const uint64_t left = pt_reader_left(r) / item_bytes;
    ret->present = ret->count < left ? ret->count : left;
    ret->items = pt_reader_sub(r, ret->present * item_bytes);
    ret->items.parent = NULL;
    if (ret->present < ret->count)
        pt_reader_fail_at(r, ret->offset, PT_ERR_DAMAGED,
                          "record at byte %" PRIu64 " claims %" PRIu64 " %s, %" PRIu64 " are left",
                          ret->offset, ret->count, names[ret->tag], ret->present);
    return true;
}

static pt_reader records_of(const uint8_t *data, size_t size, const variant *v, pt_error *error)
{
    pt_reader r;
    pt_reader_init(&r, data, size, error);
    pt_reader_set_order(&r, v->big_endian);
    pt_reader_set_word(&r, v->word_bytes);
    pt_reader_seek(&r, HEADER_BYTES);
    return r;
}

/* The number of bytes, from the file's start, that are plausible records in this variant; `size` if
 * all are. The count ends at an invalid record, or at a dimension with unprintable bytes. */
static uint64_t plausible_bytes(const uint8_t *data, size_t size, const variant *v)
{
    pt_reader r = records_of(data, size, v, NULL);
    record rec;
    uint64_t good = HEADER_BYTES;
    while (next_record(&r, v, &rec)) {
        for (size_t i = 0; rec.tag == 0 && i < sizeof rec.histogram.dimension; i++) {
            const uint8_t c = rec.histogram.dimension[i];
            if (c != 0 && !isprint(c)) return good;
        }
        if (!pt_reader_ok(&r)) return rec.offset + 1;
        good = pt_reader_offset(&r);
    }
    return good;
}

static variant choose_variant(const uint8_t *data, size_t size, bool little, bool big,
                              uint32_t version, uint32_t hint)
{
    static const struct {
        uint8_t word_bytes, length_bytes;
    } ways[] = {{8, 4}, {8, 8}, {4, 4}};
    variant best = {.word_bytes = hint == 4 ? 4 : 8, .length_bytes = 4, .version = version};
    best.big_endian = !little;
    uint64_t best_reach = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned order = 0; order < 2; order++) {
            if (!(order == 0 ? little : big)) continue;
            for (size_t i = 0; i < PT_COUNT(ways); i++) {
                const bool is_hinted = hint == 0 || hint == ways[i].word_bytes;
                if (is_hinted != (pass == 0)) continue;
                const variant v = {.big_endian = order == 1,
                                   .word_bytes = ways[i].word_bytes,
                                   .length_bytes = ways[i].length_bytes,
                                   .version = version};
                const uint64_t far = plausible_bytes(data, size, &v);
                if (far <= best_reach) continue;
                best = v;
                best_reach = far;
                if (far == size) return best;
            }
        }
    }
    return best;
}

/* ---- Consistent histograms ---- */

typedef struct {
    uint64_t low, high, offset;
    bool is_bad;
} range;

typedef struct {
    PT_VECTOR(range) ranges; /* in file order */
    pt_gmon_histogram first; /* if ranges.count > 0 */
} histograms;

static int by_place(const void *a, const void *b, void *context)
{
    const range *const all = context;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    if (all[i].low != all[k].low) return all[i].low < all[k].low ? -1 : 1;
    if (all[i].high != all[k].high) return all[i].high < all[k].high ? -1 : 1;
    return (i > k) - (i < k);
}

static void set_first_error(pt_error *error, uint64_t offset, const char *text)
{
    if (error->status != PT_OK) return;
    pt_error_set(error, PT_ERR_DAMAGED, "%s", text);
    error->offset = (int64_t)offset;
}

/* Marks each range that overlaps an earlier range as bad: two ranges must be equal or disjoint. */
static void check_ranges(histograms *all, pt_error *error)
{
    PT_FREE uint32_t *order = pt_alloc_numbers(all->ranges.count);
    range *const items = all->ranges.items;
    qsort_r(order, all->ranges.count, sizeof *order, by_place, items);
    const range *last = NULL;
    for (size_t i = 0; i < all->ranges.count; i++) {
        range *const x = &items[order[i]];
        if (x->is_bad) continue;
        if (last == NULL || x->low >= last->high ||
            (x->low == last->low && x->high == last->high)) {
            last = x;
            continue;
        }
        x->is_bad = true;
        PT_FREE char *text = pt_strf(
            "histogram at byte %" PRIu64 " (0x%" PRIx64 " to 0x%" PRIx64 ") overlaps the one at "
            "byte %" PRIu64 " (0x%" PRIx64 " to 0x%" PRIx64 "); left it out",
            x->offset, x->low, x->high, last->offset, last->low, last->high);
        set_first_error(error, x->offset, text);
    }
}

static histograms collect_histograms(const uint8_t *data, size_t size, const variant *v,
                                     pt_error *error)
{
    histograms all = {0};
    pt_reader r = records_of(data, size, v, NULL);
    record rec;
    while (next_record(&r, v, &rec)) {
        if (rec.tag != 0) continue;
        const pt_gmon_histogram *const h = &rec.histogram;
        if (all.ranges.count == 0) all.first = *h;
        const bool fits = h->rate == all.first.rate &&
                          memcmp(h->dimension, all.first.dimension, sizeof h->dimension) == 0;
        PT_PUSH(all.ranges, (range){h->low, h->high, rec.offset, !fits});
        if (fits) continue;
        char its[PT_GMON_DIMENSION_BYTES + 1], wanted[PT_GMON_DIMENSION_BYTES + 1];
        dimension_text(h, its);
        dimension_text(&all.first, wanted);
        PT_FREE char *text = pt_strf("histogram at byte %" PRIu64 " has another unit (%s at "
                                     "rate %u) than the first (%s at rate %u); left it out",
                                     rec.offset, its, h->rate, wanted, all.first.rate);
        set_first_error(error, rec.offset, text);
    }
    check_ranges(&all, error);
    return all;
}

/* ---- Reading ---- */

static void add_blocks(pt_gmon_reading *s, record *rec, const variant *v)
{
    end_arcs(s);
    for (uint64_t i = 0; i < rec->present; i++) {
        const uint64_t address = pt_read_word(&rec->items);
        const uint64_t count = pt_read_word(&rec->items);
        note_limit(s, address == UINT64_MAX ? address : address + 1);
        pt_builder_block(s->b, &(pt_block){address, count, s->mapping.v});
    }
    pt_putf(&s->plan, "b %" PRIu64 " %u\n", rec->present, v->length_bytes);
}

static void read_records(pt_gmon_reading *s, pt_reader *r, const variant *v, const histograms *all)
{
    record rec;
    size_t seen = 0;
    while (next_record(r, v, &rec)) {
        if (rec.tag == 0) {
            if (!all->ranges.items[seen++].is_bad)
                pt_gmon_add_bins(s, &rec.items, &rec.histogram, rec.present);
        } else if (rec.tag == PT_GMON_BLOCKS) {
            add_blocks(s, &rec, v);
        } else if (rec.present > 0) {
            const uint64_t from = pt_read_word(&rec.items), to = pt_read_word(&rec.items);
            pt_gmon_add_arc(s, from, to, pt_read_u32(&rec.items));
        }
    }
}

static pt_status refuse_version(uint32_t le, uint32_t be, pt_error *reterr)
{
    if (le == VERSION_SHARED || be == VERSION_SHARED)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "the profile of a shared object, as LD_PROFILE makes it (version "
                            "0x1ffff), has another layout and cannot be read; use sprof");
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "version %u of gmon.out is not supported",
                        le < be ? le : be);
}

static pt_status read_profile(pt_reader *given, pt_builder *b, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    const uint8_t *const data = given->pos;
    const size_t size = pt_reader_left(given);
    if (size < sizeof cookie || memcmp(data, cookie, sizeof cookie) != 0)
        return pt_error_set(reterr, PT_ERR_FORMAT,
                            "does not begin with \"gmon\"; --from=gmon-bsd reads the older layout");
    if (size < HEADER_BYTES)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "ends in its header: %zu bytes of %d", size,
                            HEADER_BYTES);
    uint32_t le, be;
    memcpy(&le, data + 4, 4);
    le = le32toh(le);
    be = __builtin_bswap32(le);
    if (le > 1 && be > 1) return refuse_version(le, be, reterr);
    const variant v =
        choose_variant(data, size, le <= 1, be <= 1, le < be ? le : be, hooks->word_bytes);
    if (hooks->word_bytes != 0 && hooks->word_bytes != v.word_bytes)
        pt_diag_add(hooks->diag, 1,
                    "the file is of a %u-bit program, but the program given has %u bits",
                    8u * v.word_bytes, 8 * hooks->word_bytes);
    pt_error error = PT_ERROR_INIT, reading = PT_ERROR_INIT;
    histograms all = collect_histograms(data, size, &v, &error);
    pt_gmon_reading s;
    pt_gmon_begin(&s, b, hooks, "gmon", all.ranges.count > 0 ? &all.first : NULL, v.word_bytes,
                  v.big_endian);
    pt_putf(&s.plan, "gnu %u %d %u ", v.word_bytes, v.big_endian, v.version);
    pt_gmon_put_hex(&s.plan, data + 8, PT_GMON_SPARE_BYTES);
    pt_put_text(&s.plan, "\n");
    pt_reader r = records_of(data, size, &v, &reading);
    read_records(&s, &r, &v, &all);
    free(all.ranges.items);
    if (error.status == PT_OK) error = reading;
    pt_gmon_end(&s, error.status == PT_OK);
    if (error.status != PT_OK && reterr != NULL) *reterr = error;
    return error.status;
}

static int probe_gmon(const pt_probe_input *in)
{
    return in->head_bytes >= 8 && memcmp(in->head, cookie, sizeof cookie) == 0 ? 100 : 0;
}

const pt_format pt_format_gmon = {
    .name = "gmon",
    .aliases = "gmon.out gprof",
    .extensions = ".gmon mon.out",
    .summary = "gmon.out of GNU: histograms, call arcs and basic blocks of one program",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_ARCS | PT_CAN_BINS | PT_CAN_BLOCKS |
                    PT_CAN_EVENTS | PT_CAN_UNITS | PT_CAN_HEADER | PT_CAN_EXTRA,
    .held_events = "samples/* cpu/nanoseconds",
    .probe = probe_gmon,
    .read = read_profile,
    .write = pt_gmon_write,
};
