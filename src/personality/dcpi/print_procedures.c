/* print_procedures.c: prints a column for each event, then the instruction or the source line. */
#include "personality/dcpi/print_procedures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/saturate.h"
#include "personality/dcpi/print_counts.h"
#include "render/report.h"
#include "render/text.h"

typedef struct {
    pt_out *out;
    const pt_look *look;
    const pt_procedure_list *list;
    const pt_counts *counts;
    int *width; /* of each event's column */
} writer;

static void fit_columns(writer *w)
{
    for (uint32_t e = 0; e < w->counts->event_count; e++) {
        w->width[e] = (int)pt_text_width(w->counts->event[e].name);
        if (w->width[e] < 8) w->width[e] = 8;
        const int used = snprintf(NULL, 0, "%" PRId64, w->counts->event[e].total);
        if (used > w->width[e]) w->width[e] = used;
    }
}

static void put_values(const writer *w, const int64_t *value)
{
    for (uint32_t e = 0; e < w->counts->event_count; e++) {
        if (value[e] != 0)
            pt_outf(w->out, "%*" PRId64 " ", w->width[e], value[e]);
        else
            pt_outf(w->out, "%*s ", w->width[e], ".");
    }
}

/* Puts how often an instruction ran, in all or for each call of the procedure, and its cycles. */
static void put_estimate(const writer *w, const pt_procedure *p, size_t i)
{
    const pt_flow_report *const r = w->list->flow;
    const pt_flow *const f = r->flow[p - r->procedures->items];
    const double rate = f != NULL ? pt_flow_class_at(f, i)->rate : 0;
    const double entry = f != NULL ? pt_flow_class_at(f, 0)->rate : 0;
    if (rate > 0 && r->cycles_per_sample > 0)
        pt_outf(w->out, "%9.3g ", rate * r->cycles_per_sample);
    else if (rate > 0 && entry > 0)
        pt_outf(w->out, "%8.3gx ", rate / entry);
    else
        pt_outf(w->out, "%9s ", "-");
    if (rate > 0)
        pt_outf(w->out, "%6.2f ",
                (double)pt_procedure_value(r->procedures, p, i, r->column) / rate);
    else
        pt_outf(w->out, "%6s ", "-");
}

static void put_titles(const writer *w, const char *what)
{
    for (uint32_t e = 0; e < w->counts->event_count; e++) {
        pt_text_pad(w->out, (size_t)w->width[e] - pt_text_width(w->counts->event[e].name));
        pt_text_put(w->out, w->counts->event[e].name, 0);
        pt_out_char(w->out, ' ');
    }
    pt_outf(w->out, " %s\n", what);
}

/* Puts the columns of values without values. */
static void put_blanks(const writer *w)
{
    for (uint32_t e = 0; e < w->counts->event_count; e++)
        pt_outf(w->out, "%*s ", w->width[e], "");
}

/* Flags the rows to show: all rows near a row that has a count of any event. The caller frees the
 * array.
 */
static bool *shown_rows(const writer *w, const int64_t *value, size_t count)
{
    const uint32_t n = w->counts->event_count;
    PT_FREE bool *has_value = pt_alloc(count + 1, sizeof *has_value);
    for (size_t i = 0; i < count * n; i++)
        has_value[i / n] |= value[i] != 0;
    return pt_code_rows_near(has_value, count, w->list->context, false);
}

/* Is row i left out? Puts "..." for the first of several rows that are left out. */
static bool skip_row(const writer *w, const bool *shown, size_t i)
{
    if (!shown[i] && (i == 0 || shown[i - 1])) {
        put_blanks(w);
        pt_out_text(w->out, " ...\n");
    }
    return !shown[i];
}

/* ---- Instructions ---- */

/* Puts the text of a source line after the text `before`, if the line's text is known. */
static void put_line_text(const writer *w, const pt_procedure *p, const char *file, int64_t number,
                          const char *before, bool with_indent)
{
    const char *text;
    size_t size;
    if (!pt_procedure_source_line(w->list->texts, p, file, number, &text, &size)) return;
    PT_FREE char *line = pt_strndup(text, size);
    pt_out_text(w->out, before);
    pt_text_put(w->out, with_indent ? line : line + strspn(line, " \t"), 0);
}

static void put_place(const writer *w, const pt_procedure *p, const pt_code_frame *f)
{
    put_blanks(w);
    pt_text_pad(w->out, 17);
    pt_outf(w->out, " ; %s:%" PRId64, pt_base_name(f->file), f->line);
    put_line_text(w, p, f->file, f->line, "  ", false);
    pt_out_char(w->out, '\n');
}

static void put_instructions(const writer *w, const pt_procedure *p)
{
    PT_FREE bool *shown = shown_rows(w, p->value, p->code.row_count);
    put_titles(w, "    freq    cpi       address  instruction");
    const pt_code_frame *last = NULL;
    for (size_t i = 0; i < p->code.row_count && pt_out_ok(w->out); i++) {
        if (skip_row(w, shown, i)) continue;
        const pt_code_row *const row = &p->code.row[i];
        const pt_code_frame *const f = pt_code_innermost(row);
        const bool same =
            last != NULL && f != NULL && f->line == last->line && strcmp(f->file, last->file) == 0;
        if (w->list->kind == PT_LIST_BOTH && f != NULL && !same && f->line > 0 &&
            f->file[0] != '\0')
            put_place(w, p, f);
        last = f;
        put_values(w, p->value + i * w->counts->event_count);
        put_estimate(w, p, i);
        pt_outf(w->out, " %12" PRIx64 "  ", row->at);
        pt_text_put(w->out, row->text, 0);
        pt_out_char(w->out, '\n');
    }
}

/* ---- Source lines ---- */

typedef struct {
    const char *file;
    uint32_t line;
    size_t instruction;
} line_key;

PT_ORDER(by_line, line_key, PT_TEXT_UP(file) ?: PT_UP(line) ?: PT_UP(instruction));

/* Puts the lines of one file, from the first to the last that has code. */
static void put_file(const writer *w, const pt_procedure *p, const line_key *key, size_t count)
{
    const uint32_t n = w->counts->event_count;
    const uint32_t first = key[0].line, last = key[count - 1].line;
    const size_t lines = (size_t)(last - first) + 1;
    PT_FREE int64_t *value = pt_alloc(lines * n + 1, sizeof *value);
    for (size_t i = 0; i < count; i++)
        for (uint32_t e = 0; e < n; e++)
            pt_saturating_into(&value[(key[i].line - first) * n + e],
                               p->value[key[i].instruction * n + e]);
    PT_FREE bool *shown = shown_rows(w, value, lines);
    pt_outf(w->out, "%s\n", key[0].file);
    for (size_t i = 0; i < lines && pt_out_ok(w->out); i++) {
        if (skip_row(w, shown, i)) continue;
        put_values(w, value + i * n);
        pt_outf(w->out, " %6zu  ", first + i);
        put_line_text(w, p, key[0].file, (int64_t)(first + i), "", true);
        pt_out_char(w->out, '\n');
    }
}

#define LINES_MAX 1000000 /* larger line numbers are errors of the line table */

static void put_sources(const writer *w, const pt_procedure *p)
{
    PT_FREE line_key *key = pt_alloc(p->code.row_count + 1, sizeof *key);
    size_t n = 0, without = 0;
    for (size_t i = 0; i < p->code.row_count; i++) {
        const pt_code_frame *const f = pt_code_innermost(&p->code.row[i]);
        if (f != NULL && f->file[0] != '\0' && f->line > 0 && f->line < LINES_MAX)
            key[n++] = (line_key){f->file, (uint32_t)f->line, i};
        else
            without++;
    }
    if (n > 0) qsort(key, n, sizeof *key, by_line);
    put_titles(w, "  line  source");
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && strcmp(key[end].file, key[i].file) == 0;)
            end++;
        put_file(w, p, key + i, end - i);
    }
    if (without > 0)
        pt_outf(w->out, "%zu instruction%s without a line\n", without, without == 1 ? "" : "s");
}

/* ---- Whole lists ---- */

static void put_procedure(const writer *w, const pt_procedure *p)
{
    pt_text_put_name(w->out, w->look, p->code.name, 0);
    pt_outf(w->out, "  %s  0x%" PRIx64 "-0x%" PRIx64 "\n", p->code.path, p->code.start,
            p->code.end);
    if (p->code.error != NULL)
        pt_outf(w->out, "not disassembled: %s\n", p->code.error);
    else if (w->list->kind == PT_LIST_SOURCE)
        put_sources(w, p);
    else
        put_instructions(w, p);
}

void pt_procedure_list_text(pt_out *out, const pt_look *look, const pt_procedure_list *list)
{
    const pt_counts *const c = list->flow->procedures->counts;
    PT_FREE int *width = pt_alloc((size_t)c->event_count + 1, sizeof *width);
    writer w = {.out = out, .look = look, .list = list, .counts = c, .width = width};
    fit_columns(&w);
    pt_counts_head(out, c);
    for (size_t i = 0; i < list->flow->procedures->count && pt_out_ok(out); i++) {
        pt_out_char(out, '\n');
        put_procedure(&w, &list->flow->procedures->items[i]);
    }
    if (list->flow->procedures->more > 0)
        pt_outf(out, "\n%s more procedures (-n 0)\n",
                pt_count_of(list->flow->procedures->more).text);
}

static void put_json(pt_json_w *w, const pt_procedures *all, const pt_procedure *p)
{
    const uint32_t n = all->counts->event_count;
    pt_json_object(w);
    pt_json_key_text(w, "procedure", p->code.name);
    pt_json_key_text(w, "image", p->code.path);
    pt_json_key_uint(w, "start", p->code.start);
    pt_json_key_uint(w, "end", p->code.end);
    if (p->code.error != NULL) pt_json_key_text(w, "error", p->code.error);
    PT_JSON_OBJECTS (w, "instructions", i, p->code.row_count) {
        const pt_code_frame *const f = pt_code_innermost(&p->code.row[i]);
        pt_json_key_uint(w, "address", p->code.row[i].at);
        pt_json_key_text(w, "text", p->code.row[i].text);
        pt_json_key_array(w, "values");
        for (uint32_t e = 0; e < n; e++)
            pt_json_int(w, p->value[i * n + e]);
        pt_json_array_end(w);
        pt_json_key_text(w, "file", f != NULL ? f->file : "");
        pt_json_key_int(w, "line", f != NULL ? f->line : 0);
    }
    pt_json_object_end(w);
}

void pt_procedure_list_json(pt_out *out, const pt_procedure_list *list)
{
    const pt_procedures *const all = list->flow->procedures;
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "dcpilist");
    pt_json_key_text(&w, "profile", list->flow->title);
    PT_JSON_EACH (&w, "events", e, all->counts->event_count)
        pt_json_text(&w, all->counts->event[e].name);
    PT_JSON_EACH (&w, "procedures", i, all->count)
        put_json(&w, all, &all->items[i]);
    pt_json_object_end(&w);
}
