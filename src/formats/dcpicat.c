/* dcpicat.c: reads and writes the text that DCPI's dcpicat prints: one image and any number of
 * events.
 *
 *   name        libc.so                      header: keyword, blanks, value
 *   image       1b2c3d4e5f
 *   label       run-7                        optional
 *   path        /usr/shlib/libc.so           any number
 *   epoch       9705221030
 *   platform    a.host
 *   text_start  0x120000000
 *   text_size   0x1000
 *   event       1234 cycles:62000:10000      samples, name[:counter], period, and the share of the
 *   event       99 imiss:4096:5000           time it was counted, in 1/10000
 *   0x120000010 1 0                          an address, and a count for each event; ascending
 *
 * Rule: dcpicat(1) of DCPI and HPCToolkit's reader of it. In addition, a header after rows begins
 * another image, so that a profile of several images is a single text. Header lines of the binary
 * format for which the text has no keyword (version, cpuspeed, granule, unknown lines) precede the
 * rows unchanged. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/saturate.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/dcpi.h"

#define EVENTS_MAX      64 /* limit of events: each row has a value for each event; DCPI had 16 */
#define FRACTION_ONE    10000
#define LINE_BYTES_MAX  65536
#define KEYWORD_COLUMNS 11

/* ---- Lines ---- */

static bool is_row(pt_span line)
{
    return line.size > 2 && line.at[0] == '0' && (line.at[1] | 0x20) == 'x';
}

/* An event line such as "cycles:62000:10000", or with a counter: "attr^attr:counter:62000:10000".
 */
typedef struct {
    int64_t samples, period, fraction;
    pt_span name; /* with the counter */
    uint32_t column;
    uint32_t nth; /* number of earlier events with the same name */
} event_line;

/* Parses the number after the last colon and removes colon and number. */
static bool take_last(pt_span *s, int64_t *ret)
{
    const char *const colon = s->size > 0 ? memrchr(s->at, ':', s->size) : NULL;
    uint64_t value;
    if (colon == NULL || !pt_dcpi_number(pt_span_from(*s, colon + 1), 10, &value) ||
        value > INT64_MAX)
        return false;
    *ret = (int64_t)value;
    *s = pt_span_upto(*s, colon);
    return true;
}

static bool parse_event(pt_span rest, event_line *ret)
{
    pt_span total;
    uint64_t samples;
    *ret = (event_line){0};
    if (!pt_span_word(&rest, &total) || !pt_span_word(&rest, &ret->name) ||
        !pt_dcpi_number(total, 10, &samples) || samples > INT64_MAX)
        return false;
    ret->samples = (int64_t)samples;
    return take_last(&ret->name, &ret->fraction) && ret->fraction <= FRACTION_ONE &&
           take_last(&ret->name, &ret->period) && ret->name.size > 0;
}

static int probe_dcpicat(const pt_probe_input *in)
{
    pt_reader r;
    pt_reader_init(&r, in->head, in->head_bytes, NULL);
    bool start = false, event = false;
    for (pt_span line; pt_span_line(&r, &line) && line.size < 1000;) {
        pt_span keyword, rest;
        if (is_row(line)) break;
        if (!pt_dcpi_split(line, &keyword, &rest)) continue;
        event_line e;
        start = start || (pt_span_is(keyword, "text_start") && is_row(rest));
        event = event || (pt_span_is(keyword, "event") && parse_event(rest, &e));
    }
    return start && event ? 95 : 0;
}

/* ---- Reading ---- */

typedef struct {
    pt_builder *b;
    pt_diag *diag;
    struct {
        event_line *items; /* of all images; names point into the input */
        size_t count, cap;
    } event; /* events of the profile */
    struct {
        uint32_t column[EVENTS_MAX]; /* the profile's column of each of this image's counts */
        int64_t stated[EVENTS_MAX], sum[EVENTS_MAX];
        size_t count;
        pt_dcpi_header header;
        pt_string_id name;
        pt_mapping_id mapping;
        uint64_t last;
        bool has_rows;
    } image;
    int64_t *values;               /* [event.count] */
    PT_VECTOR(pt_string_id) lines; /* lines of this header, until their image is known */
    uint32_t images;
    uint64_t malformed, disordered, outside;
} reading;

/* The profile's column of an event: the nth with that name in an image. EVENTS_MAX if there are too
 * many events. */
static uint32_t column_of(reading *s, const event_line *e)
{
    for (uint32_t i = 0; i < s->event.count; i++) {
        const event_line *const other = &s->event.items[i];
        if (other->nth == e->nth && pt_span_equals(other->name, e->name)) return i;
    }
    if (s->event.count == EVENTS_MAX) return EVENTS_MAX;
    PT_GROW(s->event, s->event.count + 1);
    s->event.items[s->event.count] = *e;
    return (uint32_t)s->event.count++;
}

/* Number of the image's events so far with that name. */
static uint32_t same_names(const reading *s, pt_span name)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->image.count; i++)
        n += pt_span_equals(s->event.items[s->image.column[i]].name, name);
    return n;
}

static void take_event(reading *s, pt_span rest)
{
    event_line e;
    if (!parse_event(rest, &e) || s->image.count == EVENTS_MAX) {
        s->malformed++;
        return;
    }
    e.nth = same_names(s, e.name);
    const uint32_t column = column_of(s, &e);
    if (column == EVENTS_MAX) {
        s->malformed++;
        return;
    }
    s->image.stated[s->image.count] = e.samples;
    s->image.sum[s->image.count] = 0;
    s->image.column[s->image.count++] = column;
}

/* First pass: finds the events, since columns are defined before samples. */
static void find_events(reading *s, pt_reader r)
{
    bool in_rows = false;
    r.error = NULL;
    r.parent = NULL;
    for (pt_span line; pt_span_line(&r, &line);) {
        pt_span keyword, rest;
        if (is_row(line)) {
            in_rows = true;
        } else if (pt_dcpi_split(line, &keyword, &rest)) {
            if (in_rows) s->image.count = 0;
            in_rows = false;
            if (pt_span_is(keyword, "event")) take_event(s, rest);
        }
    }
    for (size_t i = 0; i < s->event.count; i++) {
        const event_line *const e = &s->event.items[i];
        pt_builder_event(
            s->b,
            &(pt_event){.type = pt_builder_string(s->b, e->name.at, e->name.size).v,
                        .unit = pt_builder_text(s->b, "samples").v,
                        .period = e->period,
                        .monitored_fraction =
                            e->fraction == FRACTION_ONE ? 0 : (double)e->fraction / FRACTION_ONE});
    }
    s->image.count = 0;
    s->malformed = 0;
    s->values = pt_alloc(s->event.count + 1, sizeof *s->values);
}

static void begin_image(reading *s)
{
    s->image.count = 0;
    s->image.has_rows = false;
    s->image.header = (pt_dcpi_header){0};
    s->image.name = (pt_string_id){0};
    s->images++;
}

/* Stores a header line in the model, or keeps it as a line to reproduce. */
static void take_line(reading *s, pt_span line)
{
    pt_dcpi_header *const h = &s->image.header;
    pt_span keyword, rest;
    if (!pt_dcpi_split(line, &keyword, &rest)) return;
    rest = pt_span_trim(rest);
    const pt_string_id text = pt_builder_string(s->b, rest.at, rest.size);
    bool understood = true;
    if (pt_span_is(keyword, "event")) {
        take_event(s, rest);
    } else if (pt_span_is(keyword, "image")) {
        h->image = text;
    } else if (pt_span_is(keyword, "platform")) {
        h->platform = text;
    } else if (pt_span_is(keyword, "epoch")) {
        understood = pt_dcpi_parse_time(rest, &h->start_ns);
    } else if (pt_span_is(keyword, "text_start")) {
        understood = pt_dcpi_number(rest, 16, &h->tstart);
    } else if (pt_span_is(keyword, "text_size")) {
        understood = pt_dcpi_number(rest, 16, &h->tsize);
    } else if (pt_span_is(keyword, "path") && h->path.v == 0) {
        h->path = text;
    } else if (pt_span_is(keyword, "name")) {
        s->image.name = text;
    } else if (pt_span_is(keyword, "fileoffset")) {
        understood = pt_dcpi_number(rest, 16, &h->file_offset);
    } else if (!pt_span_is(keyword, "path") || h->path.v != text.v) {
        /* label, further paths, version, unknown keywords */
        PT_PUSH(s->lines, pt_builder_string(s->b, line.at, line.size));
    }
    s->malformed += !understood;
}

/* Ends a header: adds its mapping and the facts of the whole profile. */
static void end_header(reading *s)
{
    pt_dcpi_header *const h = &s->image.header;
    pt_provenance *const p = pt_builder_provenance(s->b);
    if (h->path.v == 0 && strcmp(pt_builder_get_text(s->b, s->image.name), PT_DCPI_UNKNOWN) != 0)
        h->path = s->image.name;
    if (h->start_ns != 0 && (p->start_ns == 0 || h->start_ns < p->start_ns))
        p->start_ns = h->start_ns;
    if (p->host == 0 && strcmp(pt_builder_get_text(s->b, h->platform), PT_DCPI_UNKNOWN) != 0)
        p->host = h->platform.v;
    PT_FREE char *image = pt_strdup(pt_builder_get_text(s->b, h->image));
    const pt_string_id key = pt_dcpi_line_key(s->b, PT_DCPI_TEXT_LINE, image);
    for (size_t i = 0; i < s->lines.count; i++)
        pt_builder_extra(s->b, key, s->lines.items[i]);
    s->lines.count = 0;
    s->image.mapping = pt_dcpi_mapping(s->b, h);
    s->image.has_rows = true;
    s->image.last = 0;
}

static void take_row(reading *s, pt_span line)
{
    pt_span word;
    uint64_t address;
    if (!pt_span_word(&line, &word) || !pt_dcpi_number(word, 16, &address)) {
        s->malformed++;
        return;
    }
    memset(s->values, 0, s->event.count * sizeof *s->values);
    bool whole = s->image.count > 0, any = false;
    for (size_t i = 0; i < s->image.count && whole; i++) {
        uint64_t value;
        whole =
            pt_span_word(&line, &word) && pt_dcpi_number(word, 10, &value) && value <= INT64_MAX;
        if (!whole) break;
        s->values[s->image.column[i]] = (int64_t)value;
        any |= value != 0;
        pt_saturating_into(&s->image.sum[i], (int64_t)value);
    }
    if (!whole || pt_span_word(&line, &word)) {
        s->malformed++;
        return;
    }
    const pt_dcpi_header *const h = &s->image.header;
    s->disordered += address <= s->image.last && s->image.last != 0;
    s->outside += h->tsize > 0 && (address < h->tstart || address - h->tstart >= h->tsize);
    s->image.last = address;
    if (any) pt_dcpi_add(s->b, s->image.mapping, address, s->values);
}

static void end_image(reading *s)
{
    if (s->images == 0) return;
    if (!s->image.has_rows) end_header(s);
    for (size_t i = 0; i < s->image.count; i++) {
        if (s->image.stated[i] == s->image.sum[i]) continue;
        const pt_span name = s->event.items[s->image.column[i]].name;
        pt_diag_add(s->diag, 1, "event line with %" PRId64 " %.*s, the rows hold %" PRId64,
                    s->image.stated[i], (int)(name.size < 60 ? name.size : 60), name.at,
                    s->image.sum[i]);
    }
}

static void read_lines(reading *s, pt_reader *r)
{
    for (pt_span line; pt_span_line(r, &line);) {
        pt_span keyword, rest;
        if (is_row(line)) {
            if (s->images == 0) begin_image(s);
            if (!s->image.has_rows) end_header(s);
            take_row(s, line);
        } else if (line.size > LINE_BYTES_MAX ||
                   (line.size > 0 && memchr(line.at, '\0', line.size) != NULL)) {
            s->malformed++;
        } else if (pt_dcpi_split(line, &keyword, &rest)) {
            if (s->images == 0 || s->image.has_rows) {
                end_image(s);
                begin_image(s);
            }
            take_line(s, line);
        }
    }
    end_image(s);
}

static pt_status read_text(pt_reader *r, pt_builder *b, const pt_read_hooks *hooks,
                           pt_error *reterr)
{
    reading s = {.b = b, .diag = hooks->diag};
    find_events(&s, *r);
    if (s.event.count == 1) {
        pt_provenance *const p = pt_builder_provenance(b);
        p->has_period_type = true;
        p->period_type = pt_builder_event_at(b, 0)->type;
        p->period = pt_builder_event_at(b, 0)->period;
        p->period_unit = p->period > 0 ? pt_builder_text(b, "count").v : 0;
    }
    read_lines(&s, r);
    pt_diag_add(hooks->diag, s.disordered, "rows out of order (kept)");
    pt_diag_add(hooks->diag, s.outside, "counts outside the text's size (kept)");
    const bool empty = s.event.count == 0;
    PT_FREE_ALL(s.event.items, s.values, s.lines.items);
    const pt_status status = pt_builder_status(b, reterr);
    if (status != PT_OK) return status;
    if (empty) return pt_error_set(reterr, PT_ERR_DAMAGED, "has no event line");
    if (s.malformed == 0) return PT_OK;
    return pt_error_set(reterr, PT_ERR_DAMAGED, "%s not understood",
                        pt_count_noun(s.malformed, "lines").text);
}

/* ---- Writing ---- */

typedef struct {
    const pt_profile *p;
    pt_out *out;
    pt_dcpi_counts counts;
    pt_dcpi_lines lines;
    uint64_t changed, broken; /* names of events; fields with line breaks */
} writing;

static void put_field(writing *w, const char *keyword, const char *text)
{
    pt_outf(w->out, "%-*s ", KEYWORD_COLUMNS, keyword);
    if (text[0] == '\0') pt_out_text(w->out, PT_DCPI_UNKNOWN);
    w->broken += strpbrk(text, "\n\r") != NULL;
    for (; *text != '\0'; text++)
        pt_out_char(w->out, *text == '\n' || *text == '\r' ? ' ' : *text);
    pt_out_char(w->out, '\n');
}

/* Writes those kept header lines (of a binary profile or a text) that the keywords of the text do
 * not express. */
static void put_other_lines(pt_out *out, const pt_dcpi_lines *lines, uint32_t mapping)
{
    /* Keywords of the text; then those keywords of a binary header whose facts the text states by
     * its own keywords. */
    static const char *const stated[] = {"image",  "epoch", "platform", "event",
                                         "period", "tsize", "tstart",   "fileoffset"};
    enum { OF_TEXT = 4, OF_BOTH = PT_COUNT(stated) };
    const pt_profile *const p = lines->p;
    const char *const first_path = pt_text(p, p->mapping->row[mapping].file);
    for (uint32_t i = lines->first[mapping]; i < lines->first[mapping + 1]; i++) {
        const char *const line = pt_text(p, p->extra->value[lines->extra[i]]);
        pt_span keyword, rest;
        if (!pt_dcpi_split(pt_span_of(line), &keyword, &rest)) continue;
        bool is_said = pt_span_is(keyword, "path") && pt_span_is(rest, first_path);
        const size_t words = pt_dcpi_is_of_text(p, lines->extra[i]) ? OF_TEXT : OF_BOTH;
        for (size_t s = 0; s < words; s++)
            is_said |= pt_span_is(keyword, stated[s]);
        if (!is_said) pt_outf(out, "%s\n", line);
    }
}

/* Writes an event as a single word, since blanks and colons separate fields. */
static uint64_t put_event(pt_out *out, const pt_profile *p, uint32_t event, int64_t samples)
{
    const pt_event *const e = &p->event->row[event];
    const int64_t period = e->period != 0 ? e->period : pt_profile_provenance(p)->period;
    const double share =
        e->monitored_fraction > 0 && e->monitored_fraction < 1 ? e->monitored_fraction : 1;
    uint64_t changed = 0;
    pt_outf(out, "%-*s %" PRId64 " ", KEYWORD_COLUMNS, "event", samples);
    const char *name = pt_dcpi_event_name(p, event);
    if (name[0] == '\0') pt_out_text(out, PT_DCPI_UNKNOWN);
    for (; *name != '\0'; name++) {
        const bool space = isspace((unsigned char)*name);
        pt_out_char(out, space ? '_' : *name);
        changed += space;
    }
    pt_outf(out, ":%" PRId64 ":%d\n", period > 0 ? period : 0, (int)(share * FRACTION_ONE + 0.5));
    return changed > 0;
}

static void put_header(writing *w, uint32_t mapping)
{
    const pt_profile *const p = w->p;
    const pt_mapping *const m = &p->mapping->row[mapping];
    const pt_dcpi_counts *const c = &w->counts;
    char number[32], epoch[16];
    put_field(w, "name", pt_base_name(pt_text(p, m->file)));
    put_field(w, "image", pt_dcpi_image_text(p, m));
    if (pt_text(p, m->file)[0] != '\0') put_field(w, "path", pt_text(p, m->file));
    pt_dcpi_format_time(pt_profile_provenance(p)->start_ns, epoch);
    put_field(w, "epoch", epoch);
    put_field(w, "platform", pt_text(p, pt_profile_provenance(p)->host));
    snprintf(number, sizeof number, "0x%" PRIx64, m->start);
    put_field(w, "text_start", number);
    snprintf(number, sizeof number, "0x%" PRIx64, m->limit - m->start);
    put_field(w, "text_size", number);
    if (m->file_offset != 0) {
        snprintf(number, sizeof number, "0x%" PRIx64, m->file_offset);
        put_field(w, "fileoffset", number);
    }
    put_other_lines(w->out, &w->lines, mapping);
    for (uint32_t e = 0; e < c->event_count; e++) {
        int64_t samples = 0;
        for (size_t i = c->first[mapping]; i < c->first[mapping + 1]; i++)
            pt_saturating_into(&samples, c->value[i * c->event_count + e]);
        w->changed += put_event(w->out, p, c->event[e], samples);
    }
}

static pt_status write_text(const pt_profile *p, const pt_output *output,
                            const pt_write_options *options, pt_error *reterr)
{
    writing w = {.p = p};
    pt_status status = pt_dcpi_counts_init(&w.counts, p, options->diag, reterr);
    if (status != PT_OK) return status;
    w.out = output->open(output->context, "", reterr);
    if (w.out == NULL) {
        pt_dcpi_counts_done(&w.counts);
        return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    }
    uint64_t unwritten = 0;
    pt_dcpi_lines_init(&w.lines, p);
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        const bool sampled = w.counts.first[m + 1] > w.counts.first[m];
        if (!sampled && (w.counts.count > 0 || m > 0)) {
            unwritten++;
            continue;
        }
        put_header(&w, m);
        const pt_dcpi_counts *const c = &w.counts;
        for (size_t i = c->first[m]; i < c->first[m + 1] && pt_out_ok(w.out); i++) {
            pt_outf(w.out, "0x%" PRIx64, c->address[i]);
            for (uint32_t e = 0; e < c->event_count; e++)
                pt_outf(w.out, " %" PRId64, c->value[i * c->event_count + e]);
            pt_out_char(w.out, '\n');
        }
    }
    pt_diag_add(options->diag, unwritten,
                "images without samples left out, with their header lines");
    pt_diag_add(options->diag, w.lines.lost,
                "header lines of the source left out, since their image is unknown");
    pt_diag_add(options->diag,
                pt_profile_provenance(p)->start_ns % (60 * (int64_t)PT_DCPI_NS_PER_S) != 0,
                "start time cut to the minute");
    pt_diag_add(options->diag, w.changed, "blanks in names of events changed");
    pt_diag_add(options->diag, w.broken, "fields with line breaks, which became blanks");
    pt_dcpi_lines_done(&w.lines);
    pt_dcpi_counts_done(&w.counts);
    return pt_out_flush(w.out, reterr);
}

const pt_format pt_format_dcpicat = {
    .name = "dcpicat",
    .extensions = ".dcpicat",
    .summary = "the text of DCPI's dcpicat: counts by address, several events",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_HEADER | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_EVENTS |
                    PT_CAN_UNITS | PT_CAN_EXTRA,
    .held_events = "*/samples",
    .probe = probe_dcpicat,
    .read = read_text,
    .write = write_text,
};
