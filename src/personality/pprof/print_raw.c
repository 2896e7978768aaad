/* print_raw.c: -raw and -comments. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "personality/pprof/print.h"
#include "personality/pprof/print_labels.h"

void pt_pprof_comments(pt_out *out, const pt_profile *profile)
{
    const pt_provenance *source = pt_profile_provenance(profile);
    for (uint32_t i = 0; i < source->comment_count; i++)
        pt_outf(out, "%s\n", pt_text(profile, source->comments[i]));
}

/* ---- Header ---- */

/* Puts a time as Go prints it: "2026-01-02 03:04:05.678 +0000 UTC". */
static void put_time(pt_out *out, int64_t ns)
{
    const int64_t below = ns % 1000000000 < 0;
    const time_t seconds = (time_t)(ns / 1000000000 - below);
    int64_t rest = ns - (int64_t)seconds * 1000000000;
    struct tm tm;
    char date[64] = "", zone[64] = "", fraction[16] = "";
    if (localtime_r(&seconds, &tm) != NULL) {
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm);
        strftime(zone, sizeof zone, "%z %Z", &tm);
    }
    if (rest != 0) {
        size_t length = (size_t)snprintf(fraction, sizeof fraction, ".%09" PRId64, rest);
        while (fraction[length - 1] == '0')
            fraction[--length] = '\0';
    }
    pt_outf(out, "Time: %s%s %s\n", date, fraction, zone);
}

/* Puts value / 10^digits without trailing zeros: "1.5". */
static void put_decimal(pt_buf *buf, uint64_t value, unsigned digits)
{
    uint64_t unit = 1;
    for (unsigned i = 0; i < digits; i++)
        unit *= 10;
    pt_putf(buf, "%" PRIu64, value / unit);
    uint64_t rest = value % unit;
    if (rest == 0) return;
    while (rest % 10 == 0)
        rest /= 10, digits--;
    pt_putf(buf, ".%0*" PRIu64, (int)digits, rest);
}

/* Puts a duration as Go prints it: "1h2m3.5s", "2.5ms", "0s". */
static void put_duration(pt_buf *buf, int64_t ns)
{
    const uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0) pt_put_u8(buf, '-');
    if (magnitude < 1000) {
        pt_putf(buf, magnitude == 0 ? "0s" : "%" PRIu64 "ns", magnitude);
    } else if (magnitude < 1000000) {
        put_decimal(buf, magnitude, 3);
        pt_put_text(buf, "\u00b5s");
    } else if (magnitude < 1000000000) {
        put_decimal(buf, magnitude, 6);
        pt_put_text(buf, "ms");
    } else {
        const uint64_t minutes = magnitude / 60000000000u;
        if (minutes >= 60) pt_putf(buf, "%" PRIu64 "h", minutes / 60);
        if (minutes > 0) pt_putf(buf, "%" PRIu64 "m", minutes % 60);
        put_decimal(buf, magnitude % 60000000000u, 9);
        pt_put_u8(buf, 's');
    }
}

/* Puts the first four characters of a duration, as pprof's format string requires. */
static void put_short_duration(pt_out *out, int64_t ns)
{
    PT_AUTO(pt_buf) buf = PT_BUF_INIT;
    put_duration(&buf, ns);
    const char *text = pt_buf_text(&buf), *end = text;
    for (int i = 0; i < 4 && *end != '\0'; i++) {
        end++;
        while ((*(const uint8_t *)end & 0xc0) == 0x80)
            end++;
    }
    pt_outf(out, "Duration: %.*s\n", (int)(end - text), text);
}

static void put_header(pt_out *out, const pt_profile *p)
{
    const pt_provenance *source = pt_profile_provenance(p);
    for (uint32_t i = 0; i < source->comment_count; i++)
        pt_outf(out, "Comment: %s\n", pt_text(p, source->comments[i]));
    if (source->doc_url != 0) pt_outf(out, "Doc: %s\n", pt_text(p, source->doc_url));
    pt_outf(out, "PeriodType: %s %s\n", pt_text(p, source->period_type),
            pt_text(p, source->period_unit));
    pt_outf(out, "Period: %" PRId64 "\n", source->period);
    if (source->start_ns != 0) put_time(out, source->start_ns);
    if (source->duration_ns != 0) put_short_duration(out, source->duration_ns);
    pt_out_text(out, "Samples:\n");
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        const char *type = pt_text(p, p->event->row[e].type);
        const bool chosen = strcmp(type, pt_text(p, source->default_event)) == 0;
        pt_outf(out, "%s%s/%s%s", e > 0 ? " " : "", type, pt_text(p, p->event->row[e].unit),
                chosen ? "[dflt]" : "");
    }
    pt_out_char(out, '\n');
}

/* ---- Samples ---- */

static void put_texts(pt_buf *buf, const pt_profile *p, const pt_label *const *labels, size_t count,
                      const void *context)
{
    (void)context;
    pt_putf(buf, "%s:", pt_text(p, labels[0]->key));
    for (size_t i = 0; i < count; i++)
        pt_putf(buf, "%c%s", i == 0 ? '[' : ' ', pt_text(p, labels[i]->str));
    pt_put_u8(buf, ']');
}

static void put_numbers(pt_buf *buf, const pt_profile *p, const pt_label *const *labels,
                        size_t count, const void *context)
{
    (void)context;
    bool units = false;
    for (size_t i = 0; i < count; i++)
        units |= pt_text_bytes(p, labels[i]->unit) > 0;
    pt_putf(buf, "%s:", pt_text(p, labels[0]->key));
    for (size_t i = 0; i < count; i++) {
        pt_putf(buf, "%c%" PRId64, i == 0 ? '[' : ' ', labels[i]->num);
        if (units) pt_putf(buf, " %s", pt_text(p, labels[i]->unit));
    }
    pt_put_u8(buf, ']');
}

static void put_groups(pt_out *out, pt_pprof_groups groups)
{
    for (size_t i = 0; i < groups.count; i++)
        pt_outf(out, "%s%s", i == 0 ? "                " : " ", groups.text[i]);
    if (groups.count > 0) pt_out_char(out, '\n');
    pt_pprof_groups_done(&groups);
}

static uint64_t id_of(const uint64_t *ids, uint32_t row)
{
    return ids != NULL && ids[row] != 0 ? ids[row] : (uint64_t)row + 1;
}

/* Appends "17 ". */
static void put_id(pt_buf *buf, uint64_t id)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = ' ';
    do {
        digits[--at] = (char)('0' + id % 10);
        id /= 10;
    } while (id > 0);
    pt_put(buf, digits + at, sizeof digits - at);
}

static void put_sample(pt_out *out, pt_buf *line, const pt_profile *p, uint32_t sample)
{
    const pt_samples *samples = p->sample;
    pt_buf_clear(line);
    for (uint32_t e = 0; e < samples->event_count; e++)
        pt_putf(line, " %10" PRId64, samples->value[e][sample]);
    pt_put_text(line, ": ");
    const uint32_t stack = samples->stack[sample], *frames = pt_stack_frames(p, stack);
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++)
        put_id(line, id_of(p->location->source_id, frames[i]));
    pt_put_u8(line, '\n');
    pt_out_put(out, line->data, line->size);
    const uint32_t set = samples->labels[sample];
    if (set == 0) return;
    put_groups(out, pt_pprof_group_labels(p, set, PT_LABEL_STRING, put_texts, NULL));
    put_groups(out, pt_pprof_group_labels(p, set, PT_LABEL_NUMBER, put_numbers, NULL));
}

/* ---- Tables ---- */

static uint64_t mapping_id(const pt_profile *p, uint32_t mapping)
{
    const uint64_t id = p->mapping->row[mapping].source_id;
    return id != 0 ? id : (uint64_t)mapping + 1;
}

static void put_line(pt_out *out, const pt_profile *p, uint32_t line)
{
    const uint32_t function = p->line->function[line];
    if (function == PT_NONE) {
        pt_out_text(out, "??\n");
        return;
    }
    const char *name = pt_text(p, p->function->name[function]);
    const char *system_name = pt_text(p, p->function->system_name[function]);
    pt_outf(out, "%s %s:%" PRId64 ":%" PRId64 " s=%" PRId64, name,
            pt_text(p, p->function->file[function]), p->line->line[line],
            p->line->column != NULL ? p->line->column[line] : 0, p->function->start_line[function]);
    if (strcmp(name, system_name) != 0) pt_outf(out, "(%s)", system_name);
    pt_out_char(out, '\n');
}

static void put_location(pt_out *out, const pt_profile *p, uint32_t location)
{
    const pt_locations *l = p->location;
    pt_outf(out, "%6" PRIu64 ": 0x%" PRIx64 " ", id_of(l->source_id, location),
            l->address[location]);
    if (l->mapping[location] != PT_NONE)
        pt_outf(out, "M=%" PRIu64 " ", mapping_id(p, l->mapping[location]));
    if (l->flags[location] & PT_LOCATION_FOLDED) pt_out_text(out, "[F] ");
    const uint32_t first = l->line_first[location], end = l->line_first[location + 1];
    if (first == end) pt_out_char(out, '\n');
    for (uint32_t line = first; line < end; line++) {
        if (line > first) pt_out_text(out, "             ");
        put_line(out, p, line);
    }
}

static void put_mapping(pt_out *out, const pt_profile *p, uint32_t mapping)
{
    const pt_mapping *m = &p->mapping->row[mapping];
    pt_outf(out, "%" PRIu64 ": 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " %s %s %s%s%s%s\n",
            mapping_id(p, mapping), m->start, m->limit, m->file_offset, pt_text(p, m->file),
            pt_text(p, m->build_id), m->flags & PT_MAPPING_HAS_FUNCTIONS ? "[FN]" : "",
            m->flags & PT_MAPPING_HAS_FILENAMES ? "[FL]" : "",
            m->flags & PT_MAPPING_HAS_LINES ? "[LN]" : "",
            m->flags & PT_MAPPING_HAS_INLINES ? "[IN]" : "");
}

void pt_pprof_raw(pt_out *out, const pt_profile *profile)
{
    put_header(out, profile);
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    for (uint32_t i = 0; i < profile->sample->t.count; i++)
        put_sample(out, &line, profile, i);
    pt_out_text(out, "Locations\n");
    for (uint32_t i = 0; i < profile->location->t.count; i++)
        put_location(out, profile, i);
    pt_out_text(out, "Mappings\n");
    for (uint32_t i = 0; i < profile->mapping->t.count; i++)
        put_mapping(out, profile, i);
}
