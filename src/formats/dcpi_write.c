/* dcpi_write.c: writes the leaf counts of a profile as DCPI profiles 0.06 and 0.07, a file for each
 * image and event. formats/dcpi.c draws the layout. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "formats/dcpi.h"

#define GAP_WORTH_A_CHUNK                                                                          \
    2 /* number of zero counts that take as much room as the head of a chunk */

typedef struct {
    const pt_profile *p;
    const pt_output *output;
    pt_diag *diag;
    uint64_t repeated; /* header lines left out as duplicates */
    uint64_t replaced; /* number of header lines of a later version that a new header replaces */
    pt_dcpi_counts counts;
    pt_dcpi_lines lines;
} writing;

typedef struct {
    uint64_t address;
    int64_t value;
} address_count;

/* The counts of one mapping and event; the caller frees. */
static address_count *counts_of(const writing *w, uint32_t mapping, uint32_t column, size_t *ret_n)
{
    const pt_dcpi_counts *const c = &w->counts;
    const size_t first = c->first[mapping], limit = c->first[mapping + 1];
    address_count *const counts = pt_alloc(limit - first + 1, sizeof *counts);
    size_t n = 0;
    for (size_t i = first; i < limit; i++) {
        const int64_t value = c->value[i * c->event_count + column];
        if (value > 0) counts[n++] = (address_count){c->address[i], value};
    }
    *ret_n = n;
    return counts;
}

/* Does the file keep the header of the source? */
static bool keeps_header(const writing *w, uint32_t mapping)
{
    return pt_dcpi_kept_lines(&w->lines, mapping) > 0;
}

/* 4 if every address is a multiple of Alpha's step, else 1. */
static uint64_t choose_granule(const writing *w, uint32_t mapping, const address_count *counts,
                               size_t n)
{
    const uint64_t start = w->p->mapping->row[mapping].start;
    uint64_t value;
    pt_span keyword, rest;
    const char *line = pt_dcpi_kept_line(&w->lines, mapping, "granule");
    if (line != NULL && pt_dcpi_split(pt_span_of(line), &keyword, &rest) &&
        pt_dcpi_granule(rest, &value))
        return value;
    if (!keeps_header(w, mapping)) return 1;
    for (size_t i = 0; i < n; i++) {
        if ((counts[i].address - start) % PT_DCPI_ALPHA_GRANULE != 0) return 1;
    }
    return PT_DCPI_ALPHA_GRANULE;
}

/* ---- Header ---- */

/* Length of the part of a line that identifies it: the line's keyword if a header has this keyword
 * only once; else the whole line. */
static size_t identity_bytes(const char *line)
{
    static const char *const once[] = {"version",  "image",    "epoch",   "platform",  "event",
                                       "period",   "tsize",    "tstart",  "cpuspeed",  "cpuamask",
                                       "cpuimplv", "cpucount", "granule", "fileoffset"};
    pt_span keyword, rest;
    pt_dcpi_split(pt_span_of(line), &keyword, &rest);
    for (size_t i = 0; i < PT_COUNT(once); i++) {
        if (pt_span_is(keyword, once[i])) return keyword.size;
    }
    return strlen(line);
}

/* Was an equal header line written before? This happens if files of the same image were merged,
 * each with its header. If the line is new, adds it to `put`, an index of extras. */
static bool is_repeated(const pt_profile *p, uint32_t extra, pt_index *put)
{
    const char *const line = pt_text(p, p->extra->value[extra]);
    const size_t bytes = identity_bytes(line);
    const uint64_t hash = pt_hash_bytes(line, bytes);
    PT_INDEX_EACH (put, hash, i) {
        const char *const other = pt_text(p, p->extra->value[i]);
        if (identity_bytes(other) == bytes && memcmp(line, other, bytes) == 0) return true;
    }
    pt_index_add(put, hash, extra);
    return false;
}

/* Facts for the file of an image: the profile's. If the profile has several images, facts in the
 * image's kept header lines take precedence: the earliest start, and the period if all lines state
 * the same. */
typedef struct {
    int64_t start_ns, period; /* 0 = unknown */
} image_facts;

static image_facts facts_of(const pt_dcpi_lines *lines, uint32_t mapping, uint32_t event)
{
    const pt_profile *const p = lines->p;
    image_facts facts = {pt_profile_provenance(p)->start_ns, p->event->row[event].period};
    if (p->mapping->t.count == 1) return facts;
    image_facts own = {0};
    bool agree = true;
    for (uint32_t i = lines->first[mapping]; i < lines->first[mapping + 1]; i++) {
        const char *line = pt_text(p, p->extra->value[lines->extra[i]]);
        pt_span keyword, rest;
        int64_t start_ns;
        uint64_t period;
        pt_dcpi_split(pt_span_of(line), &keyword, &rest);
        if (pt_span_is(keyword, "epoch") && pt_dcpi_parse_time(rest, &start_ns) &&
            (own.start_ns == 0 || start_ns < own.start_ns))
            own.start_ns = start_ns;
        if (!pt_span_is(keyword, "period") || !pt_dcpi_number(rest, 10, &period) ||
            period > INT64_MAX)
            continue;
        agree &= own.period == 0 || own.period == (int64_t)period;
        own.period = (int64_t)period;
    }
    if (own.start_ns != 0) facts.start_ns = own.start_ns;
    if (own.period != 0 && agree) facts.period = own.period;
    return facts;
}

/* Writes a new line in place of the kept line if the profile's start, period or event differs from
 * the kept line, as after a merge. Returns false, and writes nothing, if the kept line is right. */
static bool put_changed_line(const pt_profile *p, const image_facts *facts, uint32_t event,
                             const char *line, pt_buf *buf)
{
    pt_span keyword, rest;
    pt_dcpi_split(pt_span_of(line), &keyword, &rest);
    const int64_t start_ns = facts->start_ns, period = facts->period;
    int64_t said_ns;
    uint64_t stated;
    if (pt_span_is(keyword, "epoch") && start_ns != 0 && pt_dcpi_parse_time(rest, &said_ns) &&
        said_ns != start_ns) {
        char epoch[16];
        pt_dcpi_format_time(start_ns, epoch);
        pt_putf(buf, "epoch %s\n", epoch);
        return true;
    }
    if (pt_span_is(keyword, "period") && period > 0 && pt_dcpi_number(rest, 10, &stated) &&
        stated != (uint64_t)period) {
        pt_putf(buf, "period %" PRId64 "\n", period);
        return true;
    }
    const char *const event_name = pt_text(p, p->event->row[event].type);
    if (pt_span_is(keyword, "event") && !pt_span_is(rest, event_name)) {
        pt_putf(buf, "event %s\n", event_name);
        return true;
    }
    return false;
}

/* Writes the kept header lines; *repeated counts the duplicates left out. */
static void put_kept_header(const pt_dcpi_lines *lines, uint32_t mapping, uint32_t event,
                            pt_buf *buf, uint64_t *repeated)
{
    const pt_profile *const p = lines->p;
    const image_facts facts = facts_of(lines, mapping, event);
    PT_AUTO(pt_index) put;
    pt_index_init(&put);
    for (uint32_t k = lines->first[mapping]; k < lines->first[mapping + 1]; k++) {
        const uint32_t i = lines->extra[k];
        if (pt_dcpi_is_of_text(p, i)) continue;
        if (is_repeated(p, i, &put)) {
            ++*repeated;
            continue;
        }
        if (put_changed_line(p, &facts, event, pt_text(p, p->extra->value[i]), buf)) continue;
        pt_put(buf, pt_text(p, p->extra->value[i]), pt_text_bytes(p, p->extra->value[i]));
        pt_put_u8(buf, '\n');
    }
}

/* Writes a name as a header line: not empty, and without line ends. */
static void put_text_line(pt_buf *buf, const char *keyword, const char *text)
{
    pt_putf(buf, "%s ", keyword);
    if (text[0] == '\0') pt_put_text(buf, PT_DCPI_UNKNOWN);
    for (; *text != '\0'; text++)
        pt_put_u8(buf, (uint8_t)(*text == '\n' ? ' ' : *text));
    pt_put_u8(buf, '\n');
}

/* Writes, unchanged, the header lines of a dcpicat text for which the model has no field. */
static void put_other_lines(const pt_dcpi_lines *lines, uint32_t mapping, pt_buf *buf)
{
    const pt_profile *const p = lines->p;
    for (uint32_t i = lines->first[mapping]; i < lines->first[mapping + 1]; i++) {
        if (!pt_dcpi_is_of_text(p, lines->extra[i])) continue;
        const char *const line = pt_text(p, p->extra->value[lines->extra[i]]);
        pt_span keyword, rest;
        if (!pt_dcpi_split(pt_span_of(line), &keyword, &rest) || pt_span_is(keyword, "version") ||
            pt_span_is(keyword, "cpuspeed") || pt_span_is(keyword, "granule"))
            continue;
        pt_put(buf, line, strlen(line));
        pt_put_u8(buf, '\n');
    }
}

/* Writes the kept header line with that keyword; if there is none, the line `otherwise`. */
static void put_line_or(const pt_dcpi_lines *lines, uint32_t mapping, const char *keyword,
                        const char *otherwise, pt_buf *buf)
{
    const char *const kept = pt_dcpi_kept_line(lines, mapping, keyword);
    pt_putf(buf, "%s\n", kept != NULL ? kept : otherwise);
}

static void put_new_header(const writing *w, uint32_t mapping, uint32_t event, uint64_t granule,
                           pt_buf *buf)
{
    const pt_profile *p = w->p;
    const pt_mapping *const m = &p->mapping->row[mapping];
    const pt_provenance *s = pt_profile_provenance(p);
    const pt_event *e = &p->event->row[event];
    char epoch[16];
    pt_dcpi_format_time(s->start_ns, epoch);
    pt_diag_add(w->diag, s->start_ns % (60 * (int64_t)PT_DCPI_NS_PER_S) != 0,
                "start time cut to the minute");
    put_line_or(&w->lines, mapping, "version", "version pdb-0.07", buf);
    put_text_line(buf, "image", pt_dcpi_image_text(p, m));
    pt_putf(buf, "epoch %s\n", epoch);
    put_text_line(buf, "platform", pt_text(p, s->host));
    put_text_line(buf, "event", pt_dcpi_event_name(p, event));
    pt_putf(buf, "period %" PRId64 "\n", e->period != 0 ? e->period : s->period);
    pt_putf(buf, "tsize %" PRIu64 "\n", m->limit - m->start);
    pt_putf(buf, "tstart %" PRIx64 "\n", m->start);
    put_line_or(&w->lines, mapping, "cpuspeed", "cpuspeed 0", buf);
    if (pt_text(p, m->file)[0] != '\0') put_text_line(buf, "path", pt_text(p, m->file));
    if (granule != PT_DCPI_ALPHA_GRANULE ||
        pt_dcpi_kept_line(&w->lines, mapping, "granule") != NULL)
        pt_putf(buf, "granule %" PRIu64 "\n", granule);
    if (m->file_offset != 0) pt_putf(buf, "fileoffset %" PRIx64 "\n", m->file_offset);
    put_other_lines(&w->lines, mapping, buf);
}

/* Writes the runs of counts as chunks. A gap of a few zeros is smaller than the head of another
 * chunk. */
static void put_chunks(writing *w, uint64_t start, uint64_t granule, const address_count *counts,
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
    pt_diag_add(w->diag, saturated, "counts above 4294967295 set to that number");
    pt_diag_add(w->diag, samples > UINT32_MAX, "totals above 4294967295 set to that number");
}

/* Drops counts at addresses that a 32-bit offset in whole granules cannot express. Returns the
 * number of kept counts. */
static size_t drop_unreachable(writing *w, uint64_t start, uint64_t granule, address_count *counts,
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
    pt_diag_add(w->diag, between,
                "samples whose offset is no multiple of the granule (%" PRIu64 " bytes) left out",
                granule);
    pt_diag_add(w->diag, far, "samples more than 4 GiB from their image's start left out");
    return kept;
}

static pt_status write_file(writing *w, uint32_t mapping, uint32_t column, const char *suffix,
                            pt_error *reterr)
{
    const pt_profile *p = w->p;
    const pt_mapping *m = &p->mapping->row[mapping];
    const uint32_t event = w->counts.event[column];
    size_t n;
    PT_FREE address_count *counts = counts_of(w, mapping, column, &n);
    const uint64_t granule = choose_granule(w, mapping, counts, n);
    n = drop_unreachable(w, m->start, granule, counts, n);
    pt_out *out = w->output->open(w->output->context, suffix, reterr);
    if (out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    PT_AUTO(pt_buf) buf = PT_BUF_INIT;
    if (keeps_header(w, mapping))
        put_kept_header(&w->lines, mapping, event, &buf, &w->repeated);
    else {
        w->replaced += pt_dcpi_later_lines(&w->lines, mapping);
        put_new_header(w, mapping, event, granule, &buf);
    }
    /* Writes "samples" and blanks up to a multiple of four bytes. */
    static const char word[] = "samples";
    pt_put_text(&buf, word);
    while ((buf.size + 1) % 4 != 0)
        pt_put_u8(&buf, ' ');
    pt_put_u8(&buf, '\n');
    put_chunks(w, m->start, granule, counts, n, &buf);
    pt_out_put(out, buf.data, buf.size);
    return pt_out_flush(out, reterr);
}

/* Does the mapping get a file? Of a profile without samples, the first mapping gets an empty
 * file. */
static bool is_written(const writing *w, uint32_t mapping)
{
    return w->counts.first[mapping + 1] > w->counts.first[mapping] ||
           (w->counts.count == 0 && mapping == 0);
}

static pt_status write_files(writing *w, pt_error *reterr)
{
    const pt_profile *p = w->p;
    uint32_t images = 0, unwritten = 0;
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        images += is_written(w, m);
        unwritten += !is_written(w, m);
    }
    pt_diag_add(w->diag, unwritten, "images without samples left out, with their header lines");
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        for (uint32_t c = 0; is_written(w, m) && c < w->counts.event_count; c++) {
            PT_FREE char *suffix =
                images * w->counts.event_count == 1
                    ? pt_strdup("")
                    : pt_strf(".%s-%u.%s", pt_base_name(pt_text(p, p->mapping->row[m].file)), m,
                              pt_text(p, p->event->row[w->counts.event[c]].type));
            const pt_status status = write_file(w, m, c, suffix, reterr);
            if (status != PT_OK) return status;
        }
    }
    return PT_OK;
}

pt_status pt_dcpi_write(const pt_profile *p, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr)
{
    writing w = {.p = p, .output = output, .diag = options->diag};
    pt_status status = pt_dcpi_counts_init(&w.counts, p, options->diag, reterr);
    if (status != PT_OK) return status;
    pt_dcpi_lines_init(&w.lines, p);
    pt_diag_add(options->diag, w.lines.lost,
                "header lines of the source replaced, since their image is unknown");
    status = write_files(&w, reterr);
    pt_diag_add(options->diag, w.repeated, "repeated header lines left out");
    pt_diag_add(options->diag, w.replaced,
                "header lines of a later version replaced by those of version 0.07");
    pt_dcpi_lines_done(&w.lines);
    pt_dcpi_counts_done(&w.counts);
    return status;
}
