/* dcpi.c: reads DCPI profiles of versions 0.06 and 0.07. A file has one image and one event.
 *
 *   version pdb-0.07            header: lines of keyword and rest, the last one "samples"
 *   image 1b2c3d...
 *   tstart 120000000
 *   ...
 *   samples
 *   | offset | number >= 1 | count[number] |   chunks, ascending, u32 little endian;
 *                                              count i is at tstart + offset + i * granule
 *   | total_offsets | total_samples |          the last eight bytes of the file
 *
 * Source: the page "DCPI profile format". The reader resolves the contradictions of that page as
 * follows:
 * - `version` and `tstart` have lines of their own, although the page's grammar lacks them. Both
 *   are always written; the reader reports a missing line.
 * - `period` is listed both as required and as optional: the reader treats it as optional; a
 *   missing period is unknown.
 * - `path` may occur several times.
 * - <number> is the number of counts. A granule is 4 bytes, an Alpha instruction, unless a line
 *   `granule N`, which only pitot writes, sets another.
 * A line `fileoffset HEX`, which only pitot writes, is the offset of tstart in the image's file,
 * since today's images are mapped in parts. Of version 1 and above only the header is read; the
 * rest was never documented.
 */
#include "formats/dcpi.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "base/text.h"

#define FOOTER_BYTES     8
#define GRANULE_MAX      4096
#define HEADER_BYTES_MAX 65536 /* real headers have a few hundred */

/* ---- Header lines ---- */

bool pt_dcpi_split(pt_span line, pt_span *ret_keyword, pt_span *ret_rest)
{
    *ret_keyword = (pt_span){line.at, 0};
    while (line.size > 0 && !pt_is_blank(*line.at)) {
        pt_span_drop(&line, 1);
        ret_keyword->size++;
    }
    while (line.size > 0 && pt_is_blank(*line.at))
        pt_span_drop(&line, 1);
    *ret_rest = line;
    return ret_keyword->size > 0;
}

bool pt_dcpi_number(pt_span text, int base, uint64_t *ret)
{
    char digits[24];
    if (text.size > 2 && base == 16 && text.at[0] == '0' && (text.at[1] | 0x20) == 'x')
        pt_span_drop(&text, 2);
    size_t n = 0;
    while (n < text.size && n < sizeof digits - 1 && !pt_is_blank(text.at[n])) {
        digits[n] = text.at[n];
        if (base == 16 ? pt_hex_digit(digits[n]) < 0 : !pt_is_digit(digits[n])) return false;
        n++;
    }
    digits[n] = '\0';
    if (n == 0 || n > (base == 16 ? 16 : 19)) return false;
    *ret = strtoull(digits, NULL, base);
    return true;
}

bool pt_dcpi_granule(pt_span text, uint64_t *ret)
{
    uint64_t value;
    if (!pt_dcpi_number(text, 10, &value) || value == 0 || value > GRANULE_MAX) return false;
    *ret = value;
    return true;
}

static bool two_digits(const char *text, int *ret)
{
    if (!isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1])) return false;
    *ret = (text[0] - '0') * 10 + (text[1] - '0');
    return true;
}

bool pt_dcpi_parse_time(pt_span text, int64_t *ret_ns)
{
    while (text.size > 0 && pt_is_blank(text.at[text.size - 1]))
        text.size--;
    if (text.size != 10 && text.size != 12 && text.size != 14) return false;
    int part[7] = {0}; /* century, year, month, day, hour, minute, second */
    const size_t skip = text.size == 10 ? 1 : 0;
    for (size_t i = 0; i < text.size / 2; i++) {
        if (!two_digits(text.at + 2 * i, &part[i + skip])) return false;
    }
    const int year = skip ? part[1] + (part[1] >= 70 ? 1900 : 2000) : part[0] * 100 + part[1];
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = part[2] - 1,
                    .tm_mday = part[3],
                    .tm_hour = part[4],
                    .tm_min = part[5],
                    .tm_sec = part[6]};
    if (part[2] < 1 || part[2] > 12 || part[3] < 1 || part[3] > 31 || part[4] > 23 ||
        part[5] > 59 || part[6] > 60)
        return false;
    int64_t ns; /* holds the years 1678 to 2261 */
    if (__builtin_mul_overflow((int64_t)timegm(&tm), PT_DCPI_NS_PER_S, &ns)) return false;
    *ret_ns = ns;
    return true;
}

void pt_dcpi_format_time(int64_t ns, char *buf)
{
    const time_t seconds = (time_t)(ns / PT_DCPI_NS_PER_S);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    const int year = tm.tm_year + 1900;
    const bool short_year = year >= 1970 && year < 2070;
    snprintf(buf, 15, "%0*u%02u%02u%02u%02u", short_year ? 2 : 4,
             (unsigned)(short_year ? year % 100 : year) % 10000, (unsigned)tm.tm_mon % 100 + 1,
             (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100);
}

/* Keywords of lines that must occur exactly once. version, tstart and period are checked
 * separately. */
static const char *const required[] = {"image", "epoch", "platform", "event", "tsize", "cpuspeed"};
#define REQUIRED_COUNT PT_COUNT(required)

typedef struct {
    pt_builder *b;
    pt_diag *diag;
    pt_dcpi_header h;
    pt_error *error;
    uint32_t seen[REQUIRED_COUNT];
    PT_VECTOR(pt_string_id) lines; /* header lines, kept until their image is known */
} header_reading;

static void report_required(const header_reading *s)
{
    for (size_t i = 0; i < REQUIRED_COUNT; i++) {
        pt_diag_add(s->diag, s->seen[i] == 0, "missing %s line of the header", required[i]);
        pt_diag_add(s->diag, s->seen[i] > 1 ? s->seen[i] - 1 : 0,
                    "%s lines of the header beyond the first (the last counts)", required[i]);
    }
}

static void take_version(header_reading *s, pt_span rest)
{
    uint64_t major = 0, minor = 0;
    const char *const dot = pt_span_skip(&rest, "pdb-") ? memchr(rest.at, '.', rest.size) : NULL;
    if (dot == NULL || !pt_dcpi_number(pt_span_upto(rest, dot), 10, &major) ||
        !pt_dcpi_number(pt_span_from(rest, dot + 1), 10, &minor))
        pt_diag_add(s->diag, 1, "invalid version line, read as 0.07");
    else {
        s->h.major = major < UINT32_MAX ? (uint32_t)major : UINT32_MAX;
        s->h.minor = minor < UINT32_MAX ? (uint32_t)minor : UINT32_MAX;
    }
    s->h.has_version = true;
}

/* Parses a number of the header. An invalid number is reported and leaves *ret unchanged. */
static bool take_number(header_reading *s, const char *keyword, pt_span rest, int base,
                        uint64_t *ret)
{
    if (pt_dcpi_number(rest, base, ret)) return true;
    pt_diag_add(s->diag, 1, "%s line of the header not understood", keyword);
    return false;
}

static void take_line(header_reading *s, pt_span line)
{
    pt_span keyword, rest;
    if (!pt_dcpi_split(line, &keyword, &rest)) return;
    /* The texts of a profile end at a NUL byte: written again, the line would be another line. */
    if (memchr(line.at, '\0', line.size) != NULL) {
        pt_diag_add(s->diag, 1, "header lines with a NUL byte left out");
        return;
    }
    PT_PUSH(s->lines, pt_builder_string(s->b, line.at, line.size));
    uint64_t value;
    const pt_string_id text = pt_builder_string(s->b, rest.at, rest.size);
    for (size_t i = 0; i < REQUIRED_COUNT; i++)
        s->seen[i] += pt_span_is(keyword, required[i]);
    if (pt_span_is(keyword, "version"))
        take_version(s, rest);
    else if (pt_span_is(keyword, "image"))
        s->h.image = text;
    else if (pt_span_is(keyword, "platform"))
        s->h.platform = text;
    else if (pt_span_is(keyword, "event"))
        s->h.event = text;
    else if (pt_span_is(keyword, "path") && s->h.path.v == 0)
        s->h.path = text;
    else if (pt_span_is(keyword, "epoch")) {
        if (!pt_dcpi_parse_time(rest, &s->h.start_ns))
            pt_diag_add(s->diag, 1, "epoch line of the header not understood");
    } else if (pt_span_is(keyword, "tstart")) {
        s->h.has_tstart = take_number(s, "tstart", rest, 16, &s->h.tstart);
    } else if (pt_span_is(keyword, "tsize")) {
        take_number(s, "tsize", rest, 10, &s->h.tsize);
    } else if (pt_span_is(keyword, "fileoffset")) {
        take_number(s, "fileoffset", rest, 16, &s->h.file_offset);
    } else if (pt_span_is(keyword, "granule")) {
        if (!pt_dcpi_granule(rest, &s->h.granule))
            pt_diag_add(s->diag, 1, "granule line of the header not understood");
    } else if (pt_span_is(keyword, "period")) {
        if (s->h.has_period)
            pt_error_set(s->error, PT_ERR_DAMAGED, "period lines in the header beyond the first");
        else if (take_number(s, "period", rest, 10, &value))
            s->h.period = value <= INT64_MAX ? (int64_t)value : 0;
        s->h.has_period = true;
    }
}

/* Is the line "samples", perhaps followed by blanks? */
static bool is_last_line(pt_span line)
{
    pt_span word, rest;
    return pt_dcpi_split(line, &word, &rest) && pt_span_is(word, "samples") && rest.size == 0;
}

static int probe_dcpi(const pt_probe_input *in)
{
    pt_reader r;
    pt_reader_init(&r, in->head, in->head_bytes, NULL);
    int known = 0;
    bool version = false;
    for (pt_span line; pt_span_line(&r, &line);) {
        if (is_last_line(line)) return version ? 95 : known >= 3 ? 70 : 0;
        pt_span keyword, rest;
        if (line.size > 1000 || !pt_dcpi_split(line, &keyword, &rest)) return 0;
        static const char *const words[] = {"image",  "epoch", "platform", "event",
                                            "period", "tsize", "tstart",   "cpuspeed"};
        for (size_t i = 0; i < PT_COUNT(words); i++)
            known += pt_span_is(keyword, words[i]);
        version |= pt_span_is(keyword, "version") && rest.size > 4 && pt_span_begins(rest, "pdb-");
    }
    return 0;
}

static bool read_header(pt_reader *r, header_reading *s)
{
    const uint64_t begin = pt_reader_offset(r);
    for (pt_span line; pt_span_line(r, &line);) {
        if (pt_reader_offset(r) - begin > HEADER_BYTES_MAX) {
            pt_error_set(s->error, PT_ERR_DAMAGED, "has a header of more than %d bytes",
                         HEADER_BYTES_MAX);
            return false;
        }
        if (is_last_line(line)) return true;
        take_line(s, line);
    }
    pt_error_set(s->error, PT_ERR_DAMAGED, "has no samples line: the header never ends");
    return false;
}

/* ---- Samples ---- */

pt_mapping_id pt_dcpi_mapping(pt_builder *b, const pt_dcpi_header *h)
{
    /* Copied, since the builder's texts move when a text is added. */
    PT_FREE char *image = pt_strdup(pt_builder_get_text(b, h->image));
    const bool known = image[0] != '\0' && strcmp(image, PT_DCPI_NO_IMAGE) != 0;
    PT_FREE char *foreign = known ? pt_strf("dcpi:%s", image) : pt_strdup("");
    const bool is_build_id = strlen(image) == 40; /* SHA-1, as pitot's writer puts it */
    const uint64_t limit = h->tsize > UINT64_MAX - h->tstart ? UINT64_MAX : h->tstart + h->tsize;
    const pt_mapping m = {.start = h->tstart,
                          .limit = limit,
                          .file_offset = h->file_offset,
                          .file = h->path.v,
                          .build_id = is_build_id ? h->image.v : 0,
                          .foreign_id = pt_builder_text(b, foreign).v};
    return pt_builder_append_mapping(b, &m);
}

void pt_dcpi_add(pt_builder *b, pt_mapping_id mapping, uint64_t address, const int64_t *values)
{
    const pt_location_id location = pt_builder_append_location(
        b, &(pt_location){.mapping = mapping.v, .address = address}, NULL, 0);
    if (location.v == PT_NONE) return;
    pt_builder_sample(b, pt_builder_stack(b, &location.v, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                      values);
}

typedef struct {
    uint64_t outside, regressed, offsets, samples;
} chunk_facts;

/* Reads the chunks; the reader ends where the footer begins. */
static void read_chunks(pt_reader *r, pt_builder *b, const pt_dcpi_header *h, pt_mapping_id mapping,
                        chunk_facts *facts)
{
    uint64_t next = 0; /* the lowest offset that the next chunk may have */
    while (pt_reader_left(r) > 0) {
        const uint64_t at = pt_reader_offset(r);
        const uint32_t offset = pt_read_u32(r);
        const uint32_t count = pt_read_u32(r);
        if (!pt_reader_ok(r)) return;
        if (count == 0 || count > pt_reader_left(r) / 4) {
            pt_reader_fail_at(r, at, PT_ERR_DAMAGED,
                              "chunk at byte %" PRIu64 " claims %u counts, %zu are left", at, count,
                              pt_reader_left(r) / 4);
            return;
        }
        facts->regressed += offset < next;
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t value = pt_read_u32(r);
            if (value == 0) continue;
            const uint64_t place = offset + (uint64_t)i * h->granule;
            facts->outside += h->tsize > 0 && place >= h->tsize;
            facts->offsets++;
            facts->samples += value;
            pt_dcpi_add(b, mapping, h->tstart + place, (const int64_t[]){value});
        }
        next = offset + (uint64_t)count * h->granule;
    }
}

static void describe_profile(pt_builder *b, const pt_dcpi_header *h)
{
    pt_builder_event(
        b, &(pt_event){.type = h->event.v != 0 ? h->event.v : pt_builder_text(b, "samples").v,
                       .unit = pt_builder_text(b, "samples").v,
                       .period = h->period});
    pt_provenance *p = pt_builder_provenance(b);
    p->start_ns = h->start_ns;
    if (strcmp(pt_builder_get_text(b, h->platform), PT_DCPI_UNKNOWN) != 0) p->host = h->platform.v;
    p->period = h->period;
    p->period_type = h->event.v;
    p->period_unit = h->period > 0 ? pt_builder_text(b, "count").v : 0;
    p->has_period_type = h->event.v != 0;
}

static pt_status read_samples(pt_reader *r, header_reading *s, pt_mapping_id mapping)
{
    if (pt_reader_left(r) < FOOTER_BYTES)
        return pt_reader_fail(r, PT_ERR_DAMAGED, "ends without its footer");
    pt_reader chunks = pt_reader_sub(r, pt_reader_left(r) - FOOTER_BYTES);
    chunk_facts facts = {0};
    read_chunks(&chunks, s->b, &s->h, mapping, &facts);
    pt_diag_add(s->diag, facts.outside, "counts outside the text's size (kept)");
    pt_diag_add(s->diag, facts.regressed, "chunks out of order or overlapping (kept)");
    if (!pt_reader_ok(r)) return r->status;
    const uint32_t offsets = pt_read_u32(r), samples = pt_read_u32(r);
    const bool at_limit = samples == UINT32_MAX && facts.samples > UINT32_MAX;
    if (offsets != (uint32_t)facts.offsets || (samples != (uint32_t)facts.samples && !at_limit))
        pt_diag_add(s->diag, 1,
                    "footer with %u samples at %u addresses, the chunks hold %" PRIu64
                    " at %" PRIu64,
                    samples, offsets, facts.samples, facts.offsets);
    return pt_builder_status(s->b, s->error);
}

static pt_status read_profile(pt_reader *r, pt_builder *b, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    if (r->error == NULL) r->error = reterr; /* so that the message is kept */
    pt_error error = PT_ERROR_INIT;
    header_reading s = {.b = b,
                        .diag = hooks->diag,
                        .h = {.minor = 7, .granule = PT_DCPI_ALPHA_GRANULE},
                        .error = &error};
    const bool whole = read_header(r, &s);
    PT_FREE char *image = pt_strdup(pt_builder_get_text(s.b, s.h.image));
    const pt_string_id key = pt_dcpi_line_key(s.b, PT_DCPI_LINE, image);
    for (size_t i = 0; i < s.lines.count; i++)
        pt_builder_extra(s.b, key, s.lines.items[i]);
    free(s.lines.items);
    describe_profile(b, &s.h);
    const pt_mapping_id mapping = pt_dcpi_mapping(b, &s.h);
    pt_diag_add(hooks->diag, !s.h.has_version, "missing version line, read as 0.07");
    if (whole) report_required(&s);
    pt_diag_add(hooks->diag, !s.h.has_tstart, "missing tstart line, so addresses are offsets");
    if (whole && error.status == PT_OK) {
        if (s.h.major >= 1)
            return pt_error_set(reterr, PT_ERR_DAMAGED,
                                "version %u.%02u: only the header can be read; what follows it "
                                "was never documented (dcpicat's text can be read)",
                                s.h.major, s.h.minor);
        const pt_status status = read_samples(r, &s, mapping);
        if (status != PT_OK && r->error != NULL && r->error != reterr && reterr != NULL)
            *reterr = *r->error;
        return status;
    }
    if (reterr != NULL) *reterr = error;
    return error.status;
}

const pt_format pt_format_dcpi = {
    .name = "dcpi",
    .aliases = "pdb",
    .extensions = ".dcpi",
    .summary = "DCPI profile 0.06 and 0.07: counts by address, an image and an event a file",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_HEADER | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_EVENTS |
                    PT_CAN_UNITS | PT_CAN_EXTRA,
    .held_events = "*/samples",
    .probe = probe_dcpi,
    .read = read_profile,
    .write = pt_dcpi_write,
};
