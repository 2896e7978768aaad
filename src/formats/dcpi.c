/* dcpi.c: the DCPI profile of versions 0.06 and 0.07, one image and one event a file.
 *
 *   version pdb-0.07            header: lines of keyword and rest, the last one "samples"
 *   image 1b2c3d...
 *   tstart 120000000
 *   ...
 *   samples
 *   | offset | number >= 1 | count[number] |   chunks, ascending, u32 little endian; count i
 * belongs to the address tstart + offset + i * granule | total_offsets | total_samples | the last
 * eight bytes of the file
 *
 * Rule: the page "DCPI profile format". Where it contradicts itself this reader does as follows.
 *   - `version` and `tstart` are lines of their own, though the page's grammar has lost both:
 * written always, missed with a fact.
 *   - `period` stands under both required and optional: it may be absent, then the period is
 * unknown.
 *   - `path` may occur several times.
 *   - <number> is the number of counts. A granule is 4, an Alpha instruction, unless a line
 *     `granule N` says otherwise, which only we write.
 * Version 1 and above: the header is shown; what follows was never documented.
 */
#include "formats/dcpi.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#define CHUNK_HEAD_BYTES  8
#define FOOTER_BYTES      8
#define GAP_WORTH_A_CHUNK 2 /* zero counts; a chunk's head takes as much */
#define GRANULE_MAX       4096
#define HEADER_BYTES_MAX  65536 /* real ones have a few hundred */
#define NS_PER_S          1000000000
#define UNKNOWN_TEXT      "-" /* a line may not be empty */

/* ---- Header lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool pt_dcpi_split(const char *line, size_t length, size_t *ret_keyword_bytes,
                   const char **ret_rest, size_t *ret_rest_bytes)
{
    size_t k = 0;
    while (k < length && !is_blank(line[k]))
        k++;
    size_t r = k;
    while (r < length && is_blank(line[r]))
        r++;
    *ret_keyword_bytes = k;
    *ret_rest = line + r;
    *ret_rest_bytes = length - r;
    return k > 0;
}

static bool keyword_is(const char *line, size_t keyword_bytes, const char *keyword)
{
    return strlen(keyword) == keyword_bytes && memcmp(line, keyword, keyword_bytes) == 0;
}

/* Digits of a base up to the end or the first blank. */
static bool number(const char *text, size_t length, int base, uint64_t *ret)
{
    char digits[24];
    if (length > 2 && base == 16 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
        length -= 2;
    }
    size_t n = 0;
    while (n < length && n < sizeof digits - 1 && !is_blank(text[n])) {
        digits[n] = text[n];
        if (base == 16 ? !isxdigit((unsigned char)text[n]) : !isdigit((unsigned char)text[n]))
            return false;
        n++;
    }
    digits[n] = '\0';
    if (n == 0 || n > (base == 16 ? 16 : 19)) return false;
    *ret = strtoull(digits, NULL, base);
    return true;
}

/* What a granule line says; false, and no change, if that cannot be. Bytes from 1 to 4096. */
static bool granule_of(const char *text, size_t length, uint64_t *ret)
{
    uint64_t value;
    if (!number(text, length, 10, &value) || value == 0 || value > GRANULE_MAX) return false;
    *ret = value;
    return true;
}

static bool two_digits(const char *text, int *ret)
{
    if (!isdigit((unsigned char)text[0]) || !isdigit((unsigned char)text[1])) return false;
    *ret = (text[0] - '0') * 10 + (text[1] - '0');
    return true;
}

bool pt_dcpi_parse_time(const char *text, size_t length, int64_t *ret_ns)
{
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    if (length != 10 && length != 12 && length != 14) return false;
    int part[7] = {0}; /* century, year, month, day, hour, minute, second */
    const size_t skip = length == 10 ? 1 : 0;
    for (size_t i = 0; i < length / 2; i++) {
        if (!two_digits(text + 2 * i, &part[i + skip])) return false;
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
    *ret_ns = (int64_t)timegm(&tm) * NS_PER_S;
    return true;
}

void pt_dcpi_format_time(int64_t ns, char *buf)
{
    const time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    const int year = tm.tm_year + 1900;
    const bool short_year = year >= 1970 && year < 2070;
    snprintf(buf, 15, "%0*u%02u%02u%02u%02u", short_year ? 2 : 4,
             (unsigned)(short_year ? year % 100 : year) % 10000, (unsigned)tm.tm_mon % 100 + 1,
             (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100, (unsigned)tm.tm_min % 100);
}

typedef struct {
    pt_builder *b;
    pt_diag *diag;
    pt_dcpi_header h;
    pt_error *error;
} header_reading;

static void take_version(header_reading *s, const char *rest, size_t bytes)
{
    uint64_t major = 0, minor = 0;
    static const char head[] = "pdb-";
    const size_t skip = sizeof head - 1;
    const char *dot = bytes > skip ? memchr(rest, '.', bytes) : NULL;
    if (dot == NULL || memcmp(rest, head, skip) != 0 ||
        !number(rest + skip, (size_t)(dot - rest) - skip, 10, &major) ||
        !number(dot + 1, bytes - (size_t)(dot + 1 - rest), 10, &minor))
        pt_diag_add(s->diag, 1, "version line not understood, read as 0.07");
    else {
        s->h.major = (uint32_t)major;
        s->h.minor = (uint32_t)minor;
    }
    s->h.has_version = true;
}

/* A number of the header; one that cannot be read is told and stays 0. */
static bool take_number(header_reading *s, const char *keyword, const char *rest, size_t bytes,
                        int base, uint64_t *ret)
{
    if (number(rest, bytes, base, ret)) return true;
    pt_diag_add(s->diag, 1, "%s line of the header not understood", keyword);
    return false;
}

static void take_line(header_reading *s, const char *line, size_t length)
{
    size_t k, bytes;
    const char *rest;
    if (!pt_dcpi_split(line, length, &k, &rest, &bytes)) return;
    pt_builder_extra(s->b, pt_builder_text(s->b, PT_DCPI_LINE),
                     pt_builder_string(s->b, line, length));
    uint64_t value;
    const pt_string_id text = pt_builder_string(s->b, rest, bytes);
    if (keyword_is(line, k, "version"))
        take_version(s, rest, bytes);
    else if (keyword_is(line, k, "image"))
        s->h.image = text;
    else if (keyword_is(line, k, "platform"))
        s->h.platform = text;
    else if (keyword_is(line, k, "event"))
        s->h.event = text;
    else if (keyword_is(line, k, "path") && s->h.path.v == 0)
        s->h.path = text;
    else if (keyword_is(line, k, "epoch")) {
        if (!pt_dcpi_parse_time(rest, bytes, &s->h.start_ns))
            pt_diag_add(s->diag, 1, "epoch line of the header not understood");
    } else if (keyword_is(line, k, "tstart")) {
        s->h.has_tstart = take_number(s, "tstart", rest, bytes, 16, &s->h.tstart);
    } else if (keyword_is(line, k, "tsize")) {
        take_number(s, "tsize", rest, bytes, 10, &s->h.tsize);
    } else if (keyword_is(line, k, "granule")) {
        if (!granule_of(rest, bytes, &s->h.granule))
            pt_diag_add(s->diag, 1, "granule line of the header not understood");
    } else if (keyword_is(line, k, "period")) {
        if (s->h.has_period)
            pt_error_set(s->error, PT_ERR_DAMAGED, "two period lines in the header");
        else if (take_number(s, "period", rest, bytes, 10, &value))
            s->h.period = value <= INT64_MAX ? (int64_t)value : 0;
        s->h.has_period = true;
    }
}

/* "samples" with nothing but blanks behind it. */
static bool is_last_line(const char *line, size_t length)
{
    static const char word[] = "samples";
    const size_t n = sizeof word - 1;
    if (length < n || memcmp(line, word, n) != 0) return false;
    for (size_t i = n; i < length; i++) {
        if (!is_blank(line[i])) return false;
    }
    return true;
}

static int probe(const pt_probe_input *in)
{
    pt_reader r;
    pt_reader_init(&r, in->head, in->head_bytes, NULL);
    size_t length;
    int known = 0;
    bool version = false;
    for (const char *line; (line = pt_read_line(&r, &length)) != NULL;) {
        if (is_last_line(line, length)) return version ? 95 : known >= 3 ? 70 : 0;
        size_t k, bytes;
        const char *rest;
        if (length > 1000 || !pt_dcpi_split(line, length, &k, &rest, &bytes)) return 0;
        static const char *const words[] = {"image",  "epoch", "platform", "event",
                                            "period", "tsize", "tstart",   "cpuspeed"};
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            known += keyword_is(line, k, words[i]);
        version = version ||
                  (keyword_is(line, k, "version") && bytes > 4 && memcmp(rest, "pdb-", 4) == 0);
    }
    return 0;
}

static bool read_header(pt_reader *r, header_reading *s)
{
    size_t length;
    const uint64_t begin = pt_reader_offset(r);
    for (const char *line; (line = pt_read_line(r, &length)) != NULL;) {
        if (pt_reader_offset(r) - begin > HEADER_BYTES_MAX) {
            pt_error_set(s->error, PT_ERR_DAMAGED, "has a header of more than %d bytes",
                         HEADER_BYTES_MAX);
            return false;
        }
        if (is_last_line(line, length)) return true;
        take_line(s, line, length);
    }
    pt_error_set(s->error, PT_ERR_DAMAGED, "has no samples line: the header never ends");
    return false;
}

/* ---- Samples ---- */

pt_mapping_id pt_dcpi_mapping(pt_builder *b, const pt_dcpi_header *h)
{
    /* Copies, since the builder's texts move when one is added. */
    PT_FREE char *image = pt_strdup(pt_builder_get_text(b, h->image));
    PT_FREE char *foreign = pt_strf("dcpi:%s", image);
    const bool is_build_id = strlen(image) == 40; /* SHA-1, as our writer puts it */
    const uint64_t limit = h->tsize > UINT64_MAX - h->tstart ? UINT64_MAX : h->tstart + h->tsize;
    const pt_mapping m = {.start = h->tstart,
                          .limit = limit,
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

/* The chunks of a reader that ends where the footer begins. */
static void read_chunks(pt_reader *r, pt_builder *b, const pt_dcpi_header *h, pt_mapping_id mapping,
                        chunk_facts *facts)
{
    uint64_t next = 0; /* the first offset that a chunk may begin with */
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

static void describe(pt_builder *b, const pt_dcpi_header *h)
{
    pt_builder_event(
        b, &(pt_event){.type = h->event.v != 0 ? h->event.v : pt_builder_text(b, "samples").v,
                       .unit = pt_builder_text(b, "samples").v,
                       .period = h->period});
    pt_provenance *p = pt_builder_provenance(b);
    p->start_ns = h->start_ns;
    if (strcmp(pt_builder_get_text(b, h->platform), UNKNOWN_TEXT) != 0) p->host = h->platform.v;
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
    if (offsets != (uint32_t)facts.offsets || samples != (uint32_t)facts.samples)
        pt_diag_add(s->diag, 1,
                    "footer says %u samples at %u addresses, the chunks hold %" PRIu64
                    " at %" PRIu64,
                    samples, offsets, facts.samples, facts.offsets);
    return pt_builder_status(s->b, s->error);
}

static pt_status read_profile(pt_reader *r, pt_builder *b, const pt_read_hooks *hooks,
                              pt_error *reterr)
{
    if (r->error == NULL) r->error = reterr; /* somebody has to keep the message */
    pt_error error = PT_ERROR_INIT;
    header_reading s = {.b = b,
                        .diag = hooks->diag,
                        .h = {.minor = 7, .granule = PT_DCPI_ALPHA_GRANULE},
                        .error = &error};
    const bool whole = read_header(r, &s);
    describe(b, &s.h);
    const pt_mapping_id mapping = pt_dcpi_mapping(b, &s.h);
    pt_diag_add(hooks->diag, !s.h.has_version, "missing version line, read as 0.07");
    pt_diag_add(hooks->diag, !s.h.has_tstart, "missing tstart line, so addresses are offsets");
    if (whole && error.status == PT_OK) {
        if (s.h.major >= 1)
            return pt_error_set(reterr, PT_ERR_DAMAGED,
                                "version %u.%02u: only the header can be read; what follows it "
                                "was never documented (dcpicat's text can be)",
                                s.h.major, s.h.minor);
        const pt_status status = read_samples(r, &s, mapping);
        if (status != PT_OK && r->error != NULL && r->error != reterr && reterr != NULL)
            *reterr = *r->error;
        return status;
    }
    if (reterr != NULL) *reterr = error;
    return error.status;
}

/* ---- Counts of a profile ---- */

static int by_address(const void *a, const void *b)
{
    const pt_dcpi_count *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

size_t pt_dcpi_counts(const pt_profile *p, uint32_t mapping, uint32_t event, int64_t per_sample,
                      pt_dcpi_count **ret_counts)
{
    struct {
        pt_dcpi_count *items;
        size_t count, cap;
    } all = {0};
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        if (pt_stack_depth(p, stack) == 0) continue;
        const uint32_t leaf = pt_stack_frames(p, stack)[0];
        const int64_t value = p->sample->value[event][i] / per_sample;
        if (p->location->mapping[leaf] != mapping || value <= 0) continue;
        PT_GROW(all, all.count + 1);
        all.items[all.count++] = (pt_dcpi_count){p->location->address[leaf], value};
    }
    if (all.count > 0) qsort(all.items, all.count, sizeof *all.items, by_address);
    size_t n = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (n > 0 && all.items[n - 1].address == all.items[i].address) {
            pt_saturating_into(&all.items[n - 1].value, all.items[i].value);
        } else {
            all.items[n++] = all.items[i];
        }
    }
    *ret_counts = all.items;
    return n;
}

uint32_t pt_dcpi_events(const pt_profile *p, const pt_write_options *options, uint32_t *ret_events,
                        int64_t *ret_per_sample)
{
    *ret_per_sample = 1;
    uint32_t n = 0;
    const uint32_t one = options->event;
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        if (one != PT_NONE && e != one) continue;
        if (p->event->row[e].kind == PT_EVENT_COUNT) ret_events[n++] = e;
    }
    const int64_t period = pt_profile_provenance(p)->period;
    for (uint32_t e = 0; n == 0 && period > 0 && e < p->event->t.count; e++) {
        if (one != PT_NONE && e != one) continue;
        if (strcmp(pt_text(p, p->event->row[e].unit), "nanoseconds") == 0) {
            ret_events[n++] = e;
            *ret_per_sample = period;
        }
    }
    return n;
}

const char *pt_dcpi_image_text(const pt_profile *p, const pt_mapping *m)
{
    const char *foreign = pt_text(p, m->foreign_id);
    if (strncmp(foreign, "dcpi:", 5) == 0 && foreign[5] != '\0') return foreign + 5;
    const char *build_id = pt_text(p, m->build_id);
    if (build_id[0] != '\0' && build_id[strspn(build_id, "0123456789abcdefABCDEF")] == '\0')
        return build_id;
    return "0";
}

/* ---- Writing ---- */

typedef struct {
    const pt_profile *p;
    const pt_output *output;
    pt_diag *diag;
    int64_t per_sample;
} writing;

/* How many header lines the profile came with; 0 if it came from elsewhere, or from a version whose
 * samples look otherwise. */
static uint32_t kept_lines(const pt_profile *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        const char *line = pt_text(p, p->extra->value[i]);
        if (strcmp(pt_text(p, p->extra->key[i]), PT_DCPI_LINE) != 0) continue;
        if (strncmp(line, "version pdb-", 12) == 0 && strtoul(line + 12, NULL, 10) >= 1) return 0;
        n++;
    }
    return n;
}

/* 4 when every address fits Alpha's step, else 1. */
static uint64_t choose_granule(const pt_profile *p, uint64_t start, const pt_dcpi_count *counts,
                               size_t n)
{
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        uint64_t value;
        size_t k, bytes;
        const char *rest, *line = pt_text(p, p->extra->value[i]);
        if (strcmp(pt_text(p, p->extra->key[i]), PT_DCPI_LINE) == 0 &&
            pt_dcpi_split(line, strlen(line), &k, &rest, &bytes) &&
            keyword_is(line, k, "granule") && granule_of(rest, bytes, &value))
            return value;
    }
    if (kept_lines(p) == 0) return 1;
    for (size_t i = 0; i < n; i++) {
        if ((counts[i].address - start) % PT_DCPI_ALPHA_GRANULE != 0) return 1;
    }
    return PT_DCPI_ALPHA_GRANULE;
}

/* What of a line tells whether it was put before: its keyword if that is told once, else the whole
 * line. Returns how many bytes from its beginning. */
static size_t identity_bytes(const char *line)
{
    static const char *const once[] = {"version",  "image",    "epoch",  "platform", "event",
                                       "period",   "tsize",    "tstart", "cpuspeed", "cpuamask",
                                       "cpuimplv", "cpucount", "granule"};
    size_t k, bytes;
    const char *rest;
    const size_t length = strlen(line);
    pt_dcpi_split(line, length, &k, &rest, &bytes);
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        if (keyword_is(line, k, once[i])) return k;
    }
    return length;
}

/* Was the line put before? A merge of files of one image brings each of their headers. If not, it
 * is noted in `put`, an index of extras. */
static bool is_repeated(const pt_profile *p, uint32_t extra, pt_index *put)
{
    const char *const line = pt_text(p, p->extra->value[extra]);
    const size_t bytes = identity_bytes(line);
    const uint64_t hash = pt_hash_bytes(line, bytes);
    pt_probe probe;
    for (uint32_t i = pt_index_first(put, hash, &probe); i != PT_NONE;
         i = pt_index_next(put, &probe)) {
        const char *const other = pt_text(p, p->extra->value[i]);
        if (identity_bytes(other) == bytes && memcmp(line, other, bytes) == 0) return true;
    }
    pt_index_add(put, hash, extra);
    return false;
}

/* The profile's start and period, if they are no longer what the line says: after a merge. */
static bool put_changed_line(const pt_profile *p, uint32_t event, const char *line, pt_buf *buf)
{
    size_t k, bytes;
    const char *rest;
    pt_dcpi_split(line, strlen(line), &k, &rest, &bytes);
    const int64_t start_ns = pt_profile_provenance(p)->start_ns;
    const int64_t period = p->event->row[event].period;
    int64_t said_ns;
    uint64_t said;
    if (keyword_is(line, k, "epoch") && start_ns != 0 &&
        pt_dcpi_parse_time(rest, bytes, &said_ns) && said_ns != start_ns) {
        char epoch[16];
        pt_dcpi_format_time(start_ns, epoch);
        pt_putf(buf, "epoch %s\n", epoch);
        return true;
    }
    if (keyword_is(line, k, "period") && period > 0 && number(rest, bytes, 10, &said) &&
        said != (uint64_t)period) {
        pt_putf(buf, "period %" PRId64 "\n", period);
        return true;
    }
    return false;
}

static void put_kept_header(const pt_profile *p, uint32_t event, pt_buf *buf)
{
    pt_index put;
    pt_index_init(&put);
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        if (strcmp(pt_text(p, p->extra->key[i]), PT_DCPI_LINE) != 0 || is_repeated(p, i, &put))
            continue;
        if (put_changed_line(p, event, pt_text(p, p->extra->value[i]), buf)) continue;
        pt_put(buf, pt_text(p, p->extra->value[i]), pt_text_bytes(p, p->extra->value[i]));
        pt_put_u8(buf, '\n');
    }
    pt_index_done(&put);
}

/* A name made of what the header's line may hold: neither empty nor with a line end in it. */
static void put_text_line(pt_buf *buf, const char *keyword, const char *text)
{
    pt_putf(buf, "%s ", keyword);
    if (text[0] == '\0') pt_put_text(buf, UNKNOWN_TEXT);
    for (; *text != '\0'; text++)
        pt_put_u8(buf, (uint8_t)(*text == '\n' ? ' ' : *text));
    pt_put_u8(buf, '\n');
}

static void put_new_header(const writing *w, const pt_mapping *m, uint32_t event, uint64_t granule,
                           pt_buf *buf)
{
    const pt_profile *p = w->p;
    const pt_provenance *s = pt_profile_provenance(p);
    const pt_event *e = &p->event->row[event];
    char epoch[16];
    pt_dcpi_format_time(s->start_ns, epoch);
    pt_diag_add(w->diag, s->start_ns % (60 * (int64_t)NS_PER_S) != 0,
                "start time cut to the minute");
    pt_put_text(buf, "version pdb-0.07\n");
    put_text_line(buf, "image", pt_dcpi_image_text(p, m));
    pt_putf(buf, "epoch %s\n", epoch);
    put_text_line(buf, "platform", pt_text(p, s->host));
    /* "samples" says nothing; what lies between two of them does. */
    const bool generic = strcmp(pt_text(p, e->type), "samples") == 0 && s->period_type != 0;
    put_text_line(buf, "event", pt_text(p, generic ? s->period_type : e->type));
    pt_putf(buf, "period %" PRId64 "\n", e->period != 0 ? e->period : s->period);
    pt_putf(buf, "tsize %" PRIu64 "\n", m->limit - m->start);
    pt_putf(buf, "tstart %" PRIx64 "\n", m->start);
    pt_put_text(buf, "cpuspeed 0\n");
    if (pt_text(p, m->file)[0] != '\0') put_text_line(buf, "path", pt_text(p, m->file));
    pt_putf(buf, "granule %" PRIu64 "\n", granule);
}

/* "samples" and blanks, so that what follows begins at a multiple of four. */
static void end_header(pt_buf *buf)
{
    static const char word[] = "samples";
    pt_put_text(buf, word);
    while ((buf->size + 1) % 4 != 0)
        pt_put_u8(buf, ' ');
    pt_put_u8(buf, '\n');
}

/* The runs of counts: a gap of few zeros is cheaper than another chunk. */
static void put_chunks(writing *w, uint64_t start, uint64_t granule, const pt_dcpi_count *counts,
                       size_t n, pt_buf *buf)
{
    uint64_t samples = 0, saturated = 0, offsets = 0;
    for (size_t i = 0; i < n;) {
        size_t last = i;
        while (last + 1 < n &&
               (counts[last + 1].address - counts[last].address) / granule <= GAP_WORTH_A_CHUNK + 1)
            last++;
        const uint64_t number = (counts[last].address - counts[i].address) / granule + 1;
        pt_put_le(buf, counts[i].address - start, 4);
        pt_put_le(buf, number, 4);
        uint64_t at = counts[i].address;
        for (; i <= last; at += granule) {
            uint64_t value = 0;
            if (at == counts[i].address) {
                value = (uint64_t)counts[i++].value;
                offsets++;
            }
            saturated += value > UINT32_MAX;
            value = value > UINT32_MAX ? UINT32_MAX : value;
            samples += value;
            pt_put_le(buf, value, 4);
        }
    }
    pt_put_le(buf, offsets, 4);
    pt_put_le(buf, samples > UINT32_MAX ? UINT32_MAX : samples, 4);
    pt_diag_add(w->diag, saturated, "counts beyond 32 bits held at the limit");
    pt_diag_add(w->diag, samples > UINT32_MAX, "totals beyond 32 bits held at the limit");
}

/* Drops counts that no 32-bit offset, in whole granules, can reach. Returns how many stay. */
static size_t drop_unreachable(writing *w, uint64_t start, uint64_t granule, pt_dcpi_count *counts,
                               size_t n)
{
    size_t kept = 0;
    uint64_t far = 0, between = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t offset = counts[i].address - start, value = (uint64_t)counts[i].value;
        if (counts[i].address < start || offset > UINT32_MAX)
            far = pt_saturating_count(far, value);
        else if (offset % granule != 0)
            between = pt_saturating_count(between, value);
        else
            counts[kept++] = counts[i];
    }
    pt_diag_add(w->diag, between, "samples between two steps of %" PRIu64 " bytes left out",
                granule);
    pt_diag_add(w->diag, far, "samples more than 4 GiB from their image's start left out");
    return kept;
}

static pt_status write_file(writing *w, uint32_t mapping, uint32_t event, const char *suffix,
                            pt_error *reterr)
{
    const pt_profile *p = w->p;
    const pt_mapping *m = &p->mapping->row[mapping];
    PT_FREE pt_dcpi_count *counts = NULL;
    size_t n = pt_dcpi_counts(p, mapping, event, w->per_sample, &counts);
    const bool kept = kept_lines(p) > 0 && p->mapping->t.count == 1;
    const uint64_t granule = choose_granule(p, m->start, counts, n);
    n = drop_unreachable(w, m->start, granule, counts, n);
    pt_out *out = w->output->open(w->output->context, suffix, reterr);
    if (out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    pt_buf buf = PT_BUF_INIT;
    if (kept)
        put_kept_header(p, event, &buf);
    else
        put_new_header(w, m, event, granule, &buf);
    end_header(&buf);
    put_chunks(w, m->start, granule, counts, n, &buf);
    pt_out_put(out, buf.data, buf.size);
    pt_buf_done(&buf);
    return pt_out_flush(out, reterr);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Does any sample end in the mapping? */
static bool *sampled_mappings(const pt_profile *p, uint64_t *ret_outside)
{
    bool *sampled = pt_alloc(p->mapping->t.count, sizeof *sampled);
    *ret_outside = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        const uint32_t mapping = pt_stack_depth(p, stack) > 0
                                     ? p->location->mapping[pt_stack_frames(p, stack)[0]]
                                     : PT_NONE;
        if (mapping == PT_NONE)
            ++*ret_outside;
        else
            sampled[mapping] = true;
    }
    return sampled;
}

static pt_status write_profile(const pt_profile *p, const pt_output *output,
                               const pt_write_options *options, pt_error *reterr)
{
    writing w = {.p = p, .output = output, .diag = options->diag};
    PT_FREE uint32_t *events = pt_alloc(p->event->t.count, sizeof *events);
    const uint32_t event_count = pt_dcpi_events(p, options, events, &w.per_sample);
    if (event_count == 0 && options->event != PT_NONE) {
        const pt_event *const e = &p->event->row[options->event];
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "holds counts of samples, not %s/%s; choose another with --event",
                            pt_text(p, e->type), pt_text(p, e->unit));
    }
    if (event_count == 0)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "holds counts of samples, and the profile has none");
    uint64_t outside;
    PT_FREE bool *sampled = sampled_mappings(p, &outside);
    if (p->mapping->t.count == 0)
        return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                            "holds addresses of one image, and the profile has no mappings");
    pt_diag_add(options->diag, outside, "samples outside any image left out");
    pt_diag_add(options->diag, p->mapping->t.count > 1 ? kept_lines(p) : 0,
                "header lines of the source replaced, since there are several images");
    uint32_t images = 0;
    for (uint32_t m = 0; m < p->mapping->t.count; m++)
        images += sampled[m];
    if (images == 0) { /* an empty profile is a file too */
        sampled[0] = true;
        images = 1;
    }
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        for (uint32_t e = 0; sampled[m] && e < event_count; e++) {
            PT_FREE char *suffix =
                images * event_count == 1
                    ? pt_strdup("")
                    : pt_strf(".%s-%u.%s", base_name(pt_text(p, p->mapping->row[m].file)), m,
                              pt_text(p, p->event->row[events[e]].type));
            const pt_status status = write_file(&w, m, events[e], suffix, reterr);
            if (status != PT_OK) return status;
        }
    }
    return PT_OK;
}

static const char *const aliases[] = {"pdb", NULL};
static const char *const extensions[] = {".dcpi", NULL};

const pt_format pt_format_dcpi = {
    .name = "dcpi",
    .aliases = aliases,
    .extensions = extensions,
    .summary = "DCPI profile 0.06 and 0.07: counts by address, an image and an event a file",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_HEADER | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_EVENTS |
                    PT_CAN_UNITS | PT_CAN_EXTRA,
    .probe = probe,
    .read = read_profile,
    .write = write_profile,
};
