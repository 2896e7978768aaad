/* print_list.c: the lines of google/pprof's printSource and printAssembly. */
#include "personality/pprof/print_list.h"

#include <inttypes.h>

#include "base/units.h"
#include "base/utf8.h"

/* The column of an instruction's place, if the place is on a line of its own. */
#define PLACE_COLUMN 74
/* The length from which an instruction has its place on a line of its own. */
#define LONG_INSTRUCTION 40

typedef struct {
    pt_out *out;
    const pt_graph_report *report;
    pt_buf text;
} writer;

/* The value as text, valid until the next call. */
static const char *value_of(writer *w, int64_t value)
{
    pt_buf_clear(&w->text);
    pt_graph_put_value(&w->text, w->report, value);
    return pt_buf_text(&w->text);
}

static void put_value(writer *w, int64_t value)
{
    pt_outf(w->out, "%10s ", value_of(w, value));
}

static void put_value_or_dot(writer *w, int64_t value)
{
    pt_outf(w->out, "%10s ", value == 0 ? "." : value_of(w, value));
}

static void put_total(writer *w)
{
    pt_outf(w->out, "Total: %s\n", value_of(w, w->report->total));
}

static void put_sums(writer *w, int64_t flat, int64_t cum)
{
    put_value(w, flat);
    put_value(w, cum);
    pt_buf_clear(&w->text);
    pt_put_percent(&w->text, cum, w->report->total);
    pt_outf(w->out, "(flat, cum) %s of Total\n", pt_buf_text(&w->text));
}

static void put_lines(writer *w, const pt_code_function *f)
{
    if (f->file == NULL) {
        pt_outf(w->out, "No source information for %s\n", f->name);
        return;
    }
    pt_outf(w->out, "ROUTINE ======================== %s in %s\n", f->name, f->file);
    put_sums(w, f->self, f->total);
    if (f->error != NULL) {
        pt_outf(w->out, " Error: %s\n", f->error);
        return;
    }
    for (size_t i = 0; i < f->row_count; i++) {
        put_value_or_dot(w, f->row[i].self);
        put_value_or_dot(w, f->row[i].total);
        PT_FREE char *text = pt_strndup(f->row[i].text, f->row[i].text_size);
        pt_outf(w->out, "%6" PRIu64 ":%s\n", f->row[i].at, text);
    }
}

void pt_pprof_list_text(pt_out *out, const pt_graph_report *report, const pt_pprof_listing *listing)
{
    writer w = {.out = out, .report = report, .text = PT_BUF_INIT};
    put_total(&w);
    for (size_t i = 0; i < listing->count && pt_out_ok(out); i++)
        put_lines(&w, &listing->routine[i].code);
    pt_buf_done(&w.text);
}

/* ---- Disassembly ---- */

/* The place of instruction i, "main x.c:12"; "" if it is unknown, or if the instruction before has
 * the same place. The caller frees the text. */
static char *place_text(const pt_code_frame *i, const pt_code_frame *before)
{
    const bool same = strcmp(i->function, before->function) == 0 &&
                      strcmp(i->file, before->file) == 0 && i->line == before->line;
    pt_buf place = PT_BUF_INIT;
    if (!same && i->function[0] != '\0') pt_putf(&place, "%s ", i->function);
    if (!same && i->file[0] != '\0') {
        pt_put_text(&place, i->file);
        if (i->line != 0) pt_putf(&place, ":%" PRId64, i->line);
    }
    return pt_buf_take(&place, NULL);
}

/* The number of characters, as Go counts them for padding: a byte that is not UTF-8 is one
 * character. */
static size_t character_count(const char *text)
{
    size_t count = 0, left = strlen(text);
    const uint8_t *at = (const uint8_t *)text;
    while (left > 0) {
        uint32_t c;
        int valid;
        const size_t bytes = pt_utf8_decode(at, left, &c, &valid);
        at += bytes;
        left -= bytes;
        count++;
    }
    return count;
}

static void put_instruction(writer *w, const pt_code_row *row, const pt_code_frame *before)
{
    PT_FREE char *place = place_text(row->frame, before);
    const bool beside = place[0] != '\0' && row->text_size < LONG_INSTRUCTION;
    if (place[0] != '\0' && !beside) pt_outf(w->out, "%*s;%s\n", PLACE_COLUMN, "", place);
    put_value_or_dot(w, row->self);
    put_value_or_dot(w, row->total);
    pt_outf(w->out, "%10" PRIx64 ": %s", row->at, row->text);
    for (size_t n = character_count(row->text); beside && n < LONG_INSTRUCTION; n++)
        pt_out_char(w->out, ' ');
    if (beside) pt_outf(w->out, ";%s", place);
    pt_out_char(w->out, '\n');
}

static void put_symbol(writer *w, const pt_pprof_routine *r)
{
    static const pt_code_frame none = {.function = "", .file = ""};
    const pt_code_function *f = &r->code;
    pt_outf(w->out, "ROUTINE ======================== %s\n", f->name);
    for (size_t i = 0; i < r->alias_count; i++)
        pt_outf(w->out, "    AKA ======================== %s\n", r->alias[i]);
    put_sums(w, f->self, f->total);
    for (size_t i = 0; i < f->row_count && pt_out_ok(w->out); i++)
        put_instruction(w, &f->row[i], i > 0 ? f->row[i - 1].frame : &none);
}

void pt_pprof_disasm_text(pt_out *out, const pt_graph_report *report,
                          const pt_pprof_listing *listing)
{
    writer w = {.out = out, .report = report, .text = PT_BUF_INIT};
    put_total(&w);
    for (size_t i = 0; i < listing->count; i++)
        put_symbol(&w, &listing->routine[i]);
    pt_buf_done(&w.text);
}
