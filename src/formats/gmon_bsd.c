/* gmon_bsd.c: reads gmon.out without a magic number: old BSD's and 4.4BSD's.
 *
 *   old     | low P | high P | bytes u32 |                                       then
 *   4.4BSD  | low P | high P | bytes u32 | version 0x51879 | rate u32 | 3 spare u32 |
 *           u16 bins, then arcs up to the end: from P, self P, calls P
 *
 * `bytes` counts the header and the bins. Alpha's old header is padded to 24 bytes. Rule: the GNU
 * gprof manual, "Profiling Data File Format", on the old format; gmon.h of 4.4BSD.
 *
 * Only consistency identifies such a file: the bins end where the arcs begin, the arcs fill the
 * file from there on, a bin covers 2, 4, 8 ... bytes of text, and arcs lead into the text.
 */
#include "formats/gmon.h"

#include <inttypes.h>
#include <string.h>

#define SPARE_BYTES   12
#define BIN_BYTES_MAX 64 /* bytes of text */
#define SPAN_SLACK    16 /* bytes by which the last bin may reach beyond the text */
#define TEXT_MAX      ((uint64_t)1 << 48)

/* A layout of the header; is_44: 4.4BSD's, with version and rate. */
typedef struct {
    uint8_t word_bytes, header_bytes;
    bool is_44;
} layout;

static const layout layouts[] = {
    {8, 40, true}, {4, 32, true}, {8, 20, false}, {8, 24, false}, {4, 12, false}};

typedef struct {
    layout l;
    bool big_endian;
    uint64_t low, high, bytes;
    uint32_t rate;
    const uint8_t *spare;
} header;

/* Parses the header; false if it is invalid. */
static bool read_header(const uint8_t *data, size_t size, const layout *l, bool big_endian,
                        header *ret)
{
    pt_reader r;
    pt_reader_init(&r, data, size, NULL);
    pt_reader_set_order(&r, big_endian);
    pt_reader_set_word(&r, l->word_bytes);
    *ret = (header){.l = *l, .big_endian = big_endian};
    ret->low = pt_read_word(&r);
    ret->high = pt_read_word(&r);
    ret->bytes = pt_read_u32(&r);
    if (l->is_44) {
        if (pt_read_u32(&r) != PT_GMON_BSD44_VERSION) return false;
        ret->rate = pt_read_u32(&r);
        ret->spare = pt_read_bytes(&r, SPARE_BYTES);
    } else if (l->header_bytes == 24) {
        ret->spare = pt_read_bytes(&r, 4);
    }
    return pt_reader_ok(&r) && ret->low < ret->high && ret->bytes > l->header_bytes &&
           (ret->bytes - l->header_bytes) % 2 == 0;
}

/* Do the arcs in the head lead from the text into the text? */
static bool arcs_fit(const header *h, const uint8_t *data, size_t size)
{
    pt_reader r;
    pt_reader_init(&r, data, size, NULL);
    pt_reader_set_order(&r, h->big_endian);
    pt_reader_set_word(&r, h->l.word_bytes);
    if (h->bytes >= size) return true;
    pt_reader_seek(&r, h->bytes);
    while (pt_reader_left(&r) >= 3u * h->l.word_bytes) {
        const uint64_t from = pt_read_word(&r), to = pt_read_word(&r);
        (void)pt_read_word(&r);
        if (from < h->low || from > h->high || to < h->low || to >= h->high) return false;
    }
    return true;
}

/* Are all sizes consistent, to the last byte of the file? */
static bool fits_tightly(const header *h, const uint8_t *data, size_t size, uint64_t file_bytes)
{
    const uint64_t bins = (h->bytes - h->l.header_bytes) / 2, span = h->high - h->low;
    if (bins < PT_GMON_BSD_BINS_MIN || h->high > TEXT_MAX || h->bytes > file_bytes ||
        (file_bytes - h->bytes) % (3u * h->l.word_bytes) != 0)
        return false;
    for (uint64_t width = 2; width <= BIN_BYTES_MAX; width *= 2) {
        const uint64_t covered = bins * width;
        if (covered >= span && covered - span <= SPAN_SLACK) return arcs_fit(h, data, size);
    }
    return false;
}

/* Finds the matching layout. Layouts with the hinted word size are tried first. */
static bool find_layout(const uint8_t *data, size_t size, uint64_t file_bytes, uint32_t hint,
                        bool loose, header *ret)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < PT_COUNT(layouts); i++) {
            const bool is_hinted = hint == 0 || hint == layouts[i].word_bytes;
            if (is_hinted != (pass == 0)) continue;
            for (unsigned order = 0; order < 2; order++) {
                if (read_header(data, size, &layouts[i], order == 1, ret) &&
                    (loose ? ret->high <= TEXT_MAX : fits_tightly(ret, data, size, file_bytes)))
                    return true;
            }
        }
    }
    return false;
}

static int probe_gmon_bsd(const pt_probe_input *in)
{
    header h;
    if (in->file_bytes == UINT64_MAX ||
        !find_layout(in->head, in->head_bytes, in->file_bytes, 0, false, &h))
        return 0;
    return h.l.is_44 ? 90 : 60;
}

static void read_arcs(pt_gmon_reading *s, pt_reader *r, unsigned word_bytes)
{
    while (pt_reader_left(r) > 0) {
        const uint64_t at = pt_reader_offset(r);
        if (pt_reader_left(r) < 3u * word_bytes) {
            pt_reader_fail_at(r, at, PT_ERR_DAMAGED,
                              "arc at byte %" PRIu64 " is cut: %u bytes wanted, %zu are left", at,
                              3u * word_bytes, pt_reader_left(r));
            return;
        }
        const uint64_t from = pt_read_word(r), to = pt_read_word(r);
        pt_gmon_add_arc(s, from, to, pt_read_word(r));
    }
}

static void begin_plan(pt_gmon_reading *s, const header *h)
{
    pt_putf(&s->plan, "bsd %u %d %u ", h->l.word_bytes, h->big_endian, h->l.header_bytes);
    const size_t spare = h->l.is_44 ? SPARE_BYTES : h->spare != NULL ? 4 : 0;
    if (spare > 0)
        pt_gmon_put_hex(&s->plan, h->spare, spare);
    else
        pt_put_text(&s->plan, "-");
    pt_put_text(&s->plan, "\n");
}

static pt_status read_profile(pt_reader *given, pt_builder *b, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    const uint8_t *const data = given->pos;
    const size_t size = pt_reader_left(given);
    header h;
    if (!find_layout(data, size, size, hooks->word_bytes, false, &h) &&
        !find_layout(data, size, size, hooks->word_bytes, true, &h))
        return pt_error_set(reterr, PT_ERR_FORMAT,
                            "has no header of old BSD or 4.4BSD: text range, size of the "
                            "histogram%s",
                            size >= 4 && memcmp(data, "gmon", 4) == 0 ? "; --from=gmon reads it"
                                                                      : "");
    pt_gmon_histogram histogram = {.low = h.low,
                                   .high = h.high,
                                   .bin_count = (h.bytes - h.l.header_bytes) / 2,
                                   .rate = h.rate};
    memcpy(histogram.dimension, "seconds", 7);
    histogram.dimension[PT_GMON_DIMENSION_BYTES] = 's';
    pt_error error = PT_ERROR_INIT;
    pt_reader r;
    pt_reader_init(&r, data, size, &error);
    pt_reader_set_order(&r, h.big_endian);
    pt_reader_set_word(&r, h.l.word_bytes);
    pt_reader_seek(&r, h.l.header_bytes);
    pt_gmon_reading s;
    pt_gmon_begin(&s, b, hooks, "gmon-bsd", &histogram, h.l.word_bytes, h.big_endian);
    pt_diag_add(hooks->diag, h.rate == 0,
                "rate of the clock is not in the file: samples have no time");
    begin_plan(&s, &h);
    const uint64_t left = pt_reader_left(&r) / 2;
    const uint64_t present = histogram.bin_count < left ? histogram.bin_count : left;
    pt_gmon_add_bins(&s, &r, &histogram, present);
    if (present < histogram.bin_count)
        pt_reader_fail(&r, PT_ERR_DAMAGED,
                       "histogram claims %" PRIu64 " bins, %" PRIu64 " are left",
                       histogram.bin_count, present);
    read_arcs(&s, &r, h.l.word_bytes);
    pt_gmon_end(&s, error.status == PT_OK);
    if (error.status != PT_OK && reterr != NULL) *reterr = error;
    return error.status;
}

const pt_format pt_format_gmon_bsd = {
    .name = "gmon-bsd",
    .aliases = "bsd 4.4bsd",
    .extensions = ".bsd",
    .summary = "gmon.out of old BSD and 4.4BSD: one histogram, then call arcs",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_ARCS | PT_CAN_BINS | PT_CAN_EVENTS |
                    PT_CAN_UNITS | PT_CAN_HEADER | PT_CAN_EXTRA,
    .held_events = "samples/* cpu/nanoseconds",
    .probe = probe_gmon_bsd,
    .read = read_profile,
    .write = pt_gmon_write_bsd,
};
