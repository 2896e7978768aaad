/* print_counts.c: prints a row for each image, procedure or address. */
#include "personality/dcpi/print_counts.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "base/saturate.h"
#include "render/report.h"
#include "render/text.h"

#define RULE_COLUMNS 78

const char *pt_counts_name(const char *name)
{
    return name[0] != '\0' ? name : "[unknown]";
}

static double share_of(const pt_counts *c, uint32_t column, int64_t value)
{
    const int64_t total = c->event[column].total;
    return total == 0 ? 0 : (double)value / (double)total;
}

static int64_t value_of(const pt_counts_table *t, size_t i, uint32_t column)
{
    return pt_counts_value(t->counts, t->level, t->rows[i], column);
}

/* ---- The image, procedure or address of a row ---- */

static const pt_counts_image *image_of(const pt_counts_table *t, size_t i)
{
    return &t->counts->image[pt_counts_image_of(t->counts, t->level, t->rows[i])];
}

static const pt_counts_procedure *procedure_of(const pt_counts_table *t, size_t i)
{
    const uint32_t row = t->rows[i];
    return &t->counts->procedure[t->level == PT_COUNTS_ADDRESSES ? t->counts->address[row].procedure
                                                                 : row];
}

/* The source file and line of row i: the procedure's own, not those of inlined functions. */
static const char *source_of(const pt_counts_table *t, size_t i, int64_t *ret_line)
{
    const pt_profile *const p = t->counts->profile;
    const uint32_t l = t->counts->address[t->rows[i]].location;
    const uint32_t first = p->location->line_first[l], end = p->location->line_first[l + 1];
    *ret_line = 0;
    if (first == end || p->line->function[first] == PT_NONE) return "";
    *ret_line = p->line->line[first];
    return pt_text(p, p->function->file[p->line->function[first]]);
}

/* ---- Text ---- */

void pt_counts_head(pt_out *out, const pt_counts *c)
{
    int width = 6;
    for (uint32_t e = 0; e < c->event_count; e++) {
        const int used = (int)pt_text_width(c->event[e].name);
        if (used > width) width = used;
    }
    pt_outf(out, "%-*s  %14s  %10s  counted\n", width, "event", "total", "period");
    for (uint32_t e = 0; e < c->event_count; e++) {
        const pt_counts_event *const event = &c->event[e];
        pt_text_put(out, event->name, 0);
        pt_text_pad(out, (size_t)width - pt_text_width(event->name));
        pt_outf(out, "  %14" PRId64 "  ", event->total);
        if (event->period > 0)
            pt_outf(out, "%10" PRId64, event->period);
        else
            pt_outf(out, "%10s", "unknown");
        pt_outf(out, "  %s of the time\n", pt_percent_of(event->fraction).text);
    }
}

static void put_rule(pt_out *out)
{
    for (int i = 0; i < RULE_COLUMNS; i++)
        pt_out_char(out, '=');
    pt_out_char(out, '\n');
}

static int column_width(const pt_counts_table *t, uint32_t column)
{
    int width = (int)pt_text_width(t->counts->event[column].name);
    if (width < 8) width = 8;
    for (size_t i = 0; i < t->row_count; i++) {
        const int used = snprintf(NULL, 0, "%" PRId64, value_of(t, i, column));
        if (used > width) width = used;
    }
    return width;
}

/* The column that is printed as the n-th: the column by which rows are sorted comes first. */
static uint32_t nth_column(const pt_counts_table *t, uint32_t n)
{
    return n == 0 ? t->column : n <= t->column ? n - 1 : n;
}

static void put_titles(pt_out *out, const pt_counts_table *t, const int *width)
{
    for (uint32_t n = 0; n < t->counts->event_count; n++) {
        const uint32_t e = nth_column(t, n);
        pt_text_pad(out, (size_t)width[e] - pt_text_width(t->counts->event[e].name));
        pt_text_put(out, t->counts->event[e].name, 0);
        pt_outf(out, " %7s ", "%");
        if (n == 0) pt_outf(out, "%7s ", "cum%");
    }
    static const char *const what[] = {
        [PT_COUNTS_IMAGES] = "",
        [PT_COUNTS_PROCEDURES] = " procedure                   ",
        [PT_COUNTS_ADDRESSES] =
            " procedure                              pc  instruction                     ",
    };
    const bool has_source = t->level == PT_COUNTS_ADDRESSES;
    pt_outf(out, "%s image%s\n", what[t->level], has_source ? "  source" : "");
}

static void put_name(pt_out *out, const pt_look *look, const char *name, size_t width)
{
    const char *const text = pt_counts_name(name);
    pt_text_put_name(out, look, text, look->long_names ? 0 : 60);
    const size_t used = pt_text_width(text);
    if (used < width) pt_text_pad(out, width - used);
}

static void put_subject(pt_out *out, const pt_look *look, const pt_counts_table *t, size_t i)
{
    pt_out_char(out, ' ');
    if (t->level != PT_COUNTS_IMAGES) {
        put_name(out, look, procedure_of(t, i)->name, 28);
        pt_out_char(out, ' ');
    }
    if (t->level == PT_COUNTS_ADDRESSES) {
        const char *const text = t->instruction != NULL ? t->instruction[i] : NULL;
        pt_outf(out, "%12" PRIx64 "  ", t->counts->address[t->rows[i]].address);
        pt_text_put(out, text != NULL ? text : "-", 0);
        const size_t used = text != NULL ? pt_text_width(text) : 1;
        if (used < 32) pt_text_pad(out, 32 - used);
        pt_out_char(out, ' ');
    }
    const char *const path = pt_counts_name(image_of(t, i)->path);
    pt_text_put(out, t->level == PT_COUNTS_ADDRESSES ? pt_base_name(path) : path, 0);
    if (t->level == PT_COUNTS_ADDRESSES) {
        int64_t line;
        const char *const file = source_of(t, i, &line);
        if (file[0] != '\0') {
            pt_out_text(out, "  ");
            pt_text_put(out, pt_base_name(file), 0);
            if (line > 0) pt_outf(out, ":%" PRId64, line);
        }
    }
}

void pt_counts_text(pt_out *out, const pt_look *look, const pt_counts_table *t)
{
    const pt_counts *const c = t->counts;
    PT_FREE int *width = pt_alloc((size_t)c->event_count + 1, sizeof *width);
    for (uint32_t e = 0; e < c->event_count; e++)
        width[e] = column_width(t, e);
    if (!t->no_head) {
        pt_counts_head(out, c);
        put_rule(out);
        put_titles(out, t, width);
    }
    int64_t sum = 0;
    for (size_t i = 0; i < t->row_count && pt_out_ok(out); i++) {
        pt_saturating_into(&sum, value_of(t, i, t->column));
        for (uint32_t n = 0; n < c->event_count; n++) {
            const uint32_t e = nth_column(t, n);
            pt_outf(out, "%*" PRId64 " %6.2f%% ", width[e], value_of(t, i, e),
                    100 * share_of(c, e, value_of(t, i, e)));
            if (n == 0) pt_outf(out, "%6.2f%% ", 100 * share_of(c, e, sum));
        }
        put_subject(out, look, t, i);
        pt_out_char(out, '\n');
    }
    if (t->more > 0) pt_outf(out, "%s more (-n 0)\n", pt_count_of(t->more).text);
}

/* ---- CSV and JSON ---- */

void pt_counts_csv(pt_out *out, const pt_counts_table *t)
{
    const pt_counts *const c = t->counts;
    static const char *const what[] = {"image,id", "procedure,image,id",
                                       "procedure,address,instruction,file,line,image,id"};
    for (uint32_t e = 0; e < c->event_count; e++) {
        pt_csv_put(out, c->event[e].name);
        pt_out_char(out, ',');
    }
    pt_outf(out, "%s\n", what[t->level]);
    for (size_t i = 0; i < t->row_count && pt_out_ok(out); i++) {
        for (uint32_t e = 0; e < c->event_count; e++)
            pt_outf(out, "%" PRId64 ",", value_of(t, i, e));
        if (t->level != PT_COUNTS_IMAGES) {
            pt_csv_put(out, procedure_of(t, i)->name);
            pt_out_char(out, ',');
        }
        if (t->level == PT_COUNTS_ADDRESSES) {
            int64_t line;
            const char *const file = source_of(t, i, &line);
            const char *const text = t->instruction != NULL ? t->instruction[i] : NULL;
            pt_outf(out, "0x%" PRIx64 ",", t->counts->address[t->rows[i]].address);
            pt_csv_put(out, text != NULL ? text : "");
            pt_out_char(out, ',');
            pt_csv_put(out, file);
            pt_outf(out, ",%" PRId64 ",", line);
        }
        pt_csv_put(out, image_of(t, i)->path);
        pt_out_char(out, ',');
        pt_csv_put(out, image_of(t, i)->id);
        pt_out_char(out, '\n');
    }
}

static void put_events(pt_json_w *w, const pt_counts *c)
{
    PT_JSON_OBJECTS (w, "events", e, c->event_count) {
        const pt_counts_event *const event = &c->event[e];
        pt_json_key_text(w, "name", event->name);
        pt_json_key_text(w, "unit", event->unit);
        pt_json_key_int(w, "total", event->total);
        pt_json_key_int_or_null(w, "period", event->period, event->period > 0);
        pt_json_key_double(w, "counted_share", event->fraction);
    }
}

static void put_row(pt_json_w *w, const pt_counts_table *t, size_t i)
{
    pt_json_object(w);
    PT_JSON_EACH (w, "values", e, t->counts->event_count)
        pt_json_int(w, value_of(t, i, e));
    pt_json_key_double(w, "share", share_of(t->counts, t->column, value_of(t, i, t->column)));
    if (t->level != PT_COUNTS_IMAGES) pt_json_key_text(w, "procedure", procedure_of(t, i)->name);
    if (t->level == PT_COUNTS_ADDRESSES) {
        int64_t line;
        const char *const file = source_of(t, i, &line);
        pt_json_key_uint(w, "address", t->counts->address[t->rows[i]].address);
        if (t->instruction != NULL && t->instruction[i] != NULL)
            pt_json_key_text(w, "instruction", t->instruction[i]);
        pt_json_key_text(w, "file", file);
        pt_json_key_int(w, "line", line);
    }
    pt_json_key_text(w, "image", image_of(t, i)->path);
    pt_json_key_text(w, "id", image_of(t, i)->id);
    pt_json_object_end(w);
}

void pt_counts_json(pt_out *out, const pt_counts_table *t)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, t->report);
    pt_json_key_text(&w, "profile", t->title);
    put_events(&w, t->counts);
    pt_json_key_int(&w, "sorted_by", t->column);
    PT_JSON_EACH (&w, "rows", i, t->row_count)
        put_row(&w, t, i);
    pt_json_key_uint(&w, "more", t->more);
    pt_json_object_end(&w);
}
