/* info.c: the contents of a profile as text: a heading word, then its lines:
 *
 *     file       cpu.pb.gz: pprof, gzip, 599 B (864 B inside)
 *     events     samples (count): 25 in 10 samples
 *                cpu (nanoseconds): 250ms in 10 samples, shown by default
 */
#include "render/info.h"

#include "base/units.h"
#include "render/value.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define HEADING_COLUMNS 11
#define MAPPINGS_SHOWN  20
#define LABELS_SHOWN    20

typedef struct {
    pt_out *out;  /* to text */
    pt_buf *text; /* text of the line that was begun, without the line's heading */
    pt_out *page;
    const pt_look *look;
    const pt_profile *p;
    const pt_info *info;
} info_page;

/* Puts the line that was begun, wrapped to the terminal. */
static void end_line(const info_page *page)
{
    if (page->text->size > 0) page->text->size--; /* removes the newline */
    if (page->look->width > 0)
        pt_text_put_wrapped(page->page, page->look, HEADING_COLUMNS, HEADING_COLUMNS,
                            pt_buf_text(page->text));
    else
        pt_outf(page->page, "%s\n", pt_buf_text(page->text));
    pt_buf_clear(page->text);
}

/* Begins a line. heading: NULL for all lines of a heading except the first. */
static void begin_line(const info_page *page, const char *heading)
{
    const char *const word = heading ? heading : "";
    if (page->text->size > 0) end_line(page);
    pt_text_colour(page->page, page->look, PT_COLOUR_QUIET);
    pt_out_text(page->page, word);
    pt_text_colour_end(page->page, page->look, PT_COLOUR_QUIET);
    pt_text_pad(page->page, HEADING_COLUMNS - strlen(word));
}

static void put_files(const info_page *page, const pt_info_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        begin_line(page, i == 0 ? "file" : NULL);
        pt_text_put(page->out, files[i].name, 0);
        pt_outf(page->out, ": %s", files[i].format);
        if (strcmp(files[i].compression, "none") != 0)
            pt_outf(page->out, ", %s", files[i].compression);
        pt_outf(page->out, ", %s bytes", pt_count_of(files[i].bytes).text);
        if (files[i].peeled_bytes != files[i].bytes)
            pt_outf(page->out, " (%s inside)", pt_count_of(files[i].peeled_bytes).text);
        pt_out_text(page->out, files[i].damage ? ", damaged\n" : "\n");
    }
}

static void put_events(const info_page *page)
{
    for (uint32_t e = 0; e < page->info->event_count; e++) {
        const pt_info_event *const event = &page->info->events[e];
        begin_line(page, e == 0 ? "events" : NULL);
        pt_text_put(page->out, event->type, 0);
        pt_out_text(page->out, event->unit[0] ? " (" : "");
        pt_text_put(page->out, event->unit, 0);
        pt_outf(page->out, "%s: ", event->unit[0] ? ")" : "");
        pt_text_put(page->out, pt_value_of(event->unit, event->total).text, 0);
        pt_outf(page->out, " in %s", pt_count_noun(event->samples, "samples").text);
        if (event->period != 0)
            pt_outf(page->out, ", period %s", pt_value_of(event->unit, event->period).text);
        pt_out_text(page->out, event->is_default ? ", shown by default\n" : "\n");
    }
}

static void put_period(const info_page *page)
{
    const pt_provenance *const from = page->info->from;
    if (from->period == 0 && from->asked_hz == 0 && from->true_hz == 0) return;
    const char *const unit = pt_text(page->p, from->period_unit);
    begin_line(page, "period");
    pt_text_put(page->out, from->period ? pt_value_of(unit, from->period).text : "not told", 0);
    if (from->period_type != 0) {
        pt_out_text(page->out, " of ");
        pt_text_put(page->out, pt_text(page->p, from->period_type), 0);
    }
    if (from->asked_hz > 0) pt_outf(page->out, ", %.4g Hz asked", from->asked_hz);
    if (from->true_hz > 0) pt_outf(page->out, ", %.4g Hz got", from->true_hz);
    pt_out_char(page->out, '\n');
}

static void put_time(pt_out *out, int64_t time_ns)
{
    char text[64];
    struct tm tm;
    const time_t seconds = (time_t)(time_ns / 1000000000);
    if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm))
        pt_outf(out, "%" PRId64 " ns", time_ns);
    else
        pt_out_text(out, text);
}

static void put_times(const info_page *page)
{
    const pt_info *const info = page->info;
    const bool has_start = info->from->start_ns != 0, has_span = info->first_sample_ns != 0;
    if (!has_start && info->from->duration_ns == 0 && !has_span) return;
    begin_line(page, "time");
    if (has_start) put_time(page->out, info->from->start_ns);
    if (info->from->duration_ns != 0)
        pt_outf(page->out, "%s%s", has_start ? ", for " : "for ",
                pt_value_of("nanoseconds", info->from->duration_ns).text);
    if (has_span) {
        PT_AUTO(pt_buf) span = PT_BUF_INIT;
        pt_put_seconds(&span, info->first_sample_ns);
        pt_put_u8(&span, ',');
        pt_put_seconds(&span, info->last_sample_ns);
        pt_outf(page->out, "%ssamples span %s: %s",
                has_start || info->from->duration_ns ? "; " : "",
                pt_value_of("nanoseconds", info->last_sample_ns - info->first_sample_ns).text,
                pt_buf_text(&span));
    }
    pt_out_char(page->out, '\n');
}

static void put_origin_part(const info_page *page, const char *heading, uint32_t string)
{
    if (string == 0) return;
    begin_line(page, heading);
    pt_text_put(page->out, pt_text(page->p, string), 0);
    pt_out_char(page->out, '\n');
}

static void put_origin(const info_page *page)
{
    const pt_provenance *const from = page->info->from;
    put_origin_part(page, "tool", from->tool);
    put_origin_part(page, "host", from->host);
    put_origin_part(page, "system", from->os);
    put_origin_part(page, "cpu", from->cpu_model);
    put_origin_part(page, "command", from->command_line);
    for (uint32_t i = 0; i < from->comment_count; i++)
        put_origin_part(page, i == 0 ? "comments" : NULL, from->comments[i]);
}

static void put_samples(const info_page *page)
{
    const pt_info *const info = page->info;
    begin_line(page, "samples");
    pt_outf(page->out, "%s, %s\n", pt_count_of(info->samples).text,
            pt_count_noun(info->stacks, "distinct stacks").text);
    if (info->samples == 0) return;
    begin_line(page, "depth");
    pt_outf(page->out, "%u to %u frames, median %u, mean %.1f, 99%% at most %u\n", info->depth_min,
            info->depth_max, info->depth_median, info->depth_mean, info->depth_p99);
    if (info->ends[PT_STACK_END_UNKNOWN] == info->samples) return;
    begin_line(page, "ends");
    bool is_first = true;
    for (int end = 0; end < PT_STACK_END_COUNT; end++) {
        if (info->ends[end] == 0) continue;
        pt_outf(page->out, "%s%s %s", is_first ? "" : ", ", pt_stack_end_name((pt_stack_end)end),
                pt_percent_of(info->end_share[end]).text);
        is_first = false;
    }
    pt_out_char(page->out, '\n');
}

static void put_code(const info_page *page)
{
    const pt_info *const info = page->info;
    begin_line(page, "code");
    pt_outf(page->out, "%s, %s of them named, %s with inlined frames; %s\n",
            pt_count_noun(info->locations, "locations").text,
            info->locations ? pt_percent_of((double)info->named_locations / info->locations).text
                            : "none",
            pt_count_of(info->inlined_locations).text,
            pt_count_noun(info->functions, "functions").text);
}

static void put_mappings(const info_page *page)
{
    const pt_info *const info = page->info;
    for (uint32_t m = 0; m < info->mapping_count && m < MAPPINGS_SHOWN; m++) {
        const pt_info_mapping *const row = &info->mappings[m];
        begin_line(page, m == 0 ? "mappings" : NULL);
        pt_outf(page->out, "%#" PRIx64 "-%#" PRIx64 " ", row->start, row->limit);
        pt_text_put(page->out, row->file[0] ? row->file : "(no name)", 0);
        pt_out_text(page->out, row->build_id[0] ? " " : ", no build id");
        pt_text_put(page->out, row->build_id, 0);
        pt_outf(page->out, ", self %s\n", pt_percent_of(row->self_share).text);
    }
    if (info->mapping_count <= MAPPINGS_SHOWN) return;
    begin_line(page, NULL);
    pt_outf(page->out, "%u more (--json lists all)\n", info->mapping_count - MAPPINGS_SHOWN);
}

static void put_labels(const info_page *page)
{
    const pt_info *const info = page->info;
    for (uint32_t i = 0; i < info->label_count && i < LABELS_SHOWN; i++) {
        const pt_info_label *const label = &info->labels[i];
        const uint64_t values = (uint64_t)label->texts + label->numbers;
        begin_line(page, i == 0 ? "labels" : NULL);
        pt_text_put(page->out, label->key, 0);
        pt_outf(page->out, ": %s", pt_count_noun(values, "values").text);
        if (label->unit[0]) {
            pt_out_text(page->out, " in ");
            pt_text_put(page->out, label->unit, 0);
        }
        pt_outf(page->out, " on %s\n", pt_count_noun(label->samples, "samples").text);
    }
    if (info->label_count <= LABELS_SHOWN) return;
    begin_line(page, NULL);
    pt_outf(page->out, "%u more (--json lists all)\n", info->label_count - LABELS_SHOWN);
}

static void put_others(const info_page *page)
{
    const struct {
        uint32_t count;
        const char *what;
    } others[] = {
        {page->info->arcs, "call arcs"},
        {page->info->bins, "histogram bins"},
        {page->info->blocks, "basic blocks"},
        {page->info->extras, "header lines"},
        {page->info->unknown_fields, "unknown fields"},
    };
    bool is_first = true;
    for (size_t i = 0; i < PT_COUNT(others); i++) {
        if (others[i].count == 0) continue;
        begin_line(page, is_first ? "also" : NULL);
        pt_outf(page->out, "%s\n", pt_count_noun(others[i].count, others[i].what).text);
        is_first = false;
    }
}

static const char *const lack_text[] = {
    [PT_LACK_NAMES] = "locations have no function name in the file",
    [PT_LACK_LINES] = "named locations have no source line",
    [PT_LACK_BUILD_IDS] = "mapped files have no build id: names may come from another build",
    [PT_LACK_MAPPINGS] = "locations lie in no mapping",
    [PT_LACK_PERIOD] = "the file does not hold the sampling period",
    [PT_LACK_TIME] = "the file does not hold the date of the recording",
    [PT_LACK_DURATION] = "the file does not hold the duration of the recording",
    [PT_LACK_ENDS] = "samples have no mark that says whether their stack is whole",
    [PT_LACK_WHOLE] = "samples have a stack that is cut off",
    [PT_LACK_CHECKED] =
        "samples have a stack through code without unwind rules: frames may be missing",
    [PT_LACK_LOST] = "samples were lost while collecting",
    [PT_LACK_DAMAGED] = "part of the file could not be read",
};

static void put_lacks(const info_page *page)
{
    for (uint32_t i = 0; i < page->info->lack_count; i++) {
        const pt_lack *const lack = &page->info->lacks[i];
        begin_line(page, i == 0 ? "missing" : NULL);
        if (lack->count > 0) pt_outf(page->out, "%s ", pt_count_of(lack->count).text);
        if (lack->of > 0) pt_outf(page->out, "of %s ", pt_count_of(lack->of).text);
        /* A new recording holds no names, but reports find the names in the mapped files. */
        const bool can_find = lack->kind == PT_LACK_NAMES && page->info->mapping_count > 0;
        pt_outf(page->out, "%s%s\n", lack_text[lack->kind],
                can_find ? "; reports look for names in the mapped files" : "");
    }
    if (page->info->lack_count > 0) return;
    begin_line(page, "missing");
    pt_out_text(page->out, "nothing\n");
}

void pt_info_text(pt_out *out, const pt_look *look, const pt_profile *profile, const pt_info *info,
                  const pt_info_file *files, size_t file_count)
{
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_out to_text;
    pt_out_to_buf(&to_text, &text);
    const info_page page = {
        .out = &to_text, .text = &text, .page = out, .look = look, .p = profile, .info = info};
    put_files(&page, files, file_count);
    put_events(&page);
    put_period(&page);
    put_times(&page);
    put_origin(&page);
    put_samples(&page);
    put_code(&page);
    put_mappings(&page);
    put_labels(&page);
    put_others(&page);
    put_lacks(&page);
    end_line(&page);
    pt_out_done(&to_text, NULL);
}
