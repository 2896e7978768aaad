/* print_list.c: the lines of google/pprof's printSource and printAssembly. */
#include "personality/pprof/print_list.h"

#include <inttypes.h>

#include "base/units.h"
#include "base/utf8.h"

/* The column of an instruction's place when it stands on a line of its own. */
#define PLACE_COLUMN 74
/* An instruction of that many characters or more has its place on a line of its own. */
#define LONG_INSTRUCTION 40

typedef struct {
    pt_out *out;
    const pt_graph_report *report;
    pt_buf text;
} writer;

/* The value as text; valid till the next one. */
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

static void put_routine(writer *w, const pt_pprof_routine *r)
{
    if (r->file == NULL) {
        pt_outf(w->out, "No source information for %s\n", r->name);
        return;
    }
    pt_outf(w->out, "ROUTINE ======================== %s in %s\n", r->name, r->file);
    put_sums(w, r->flat, r->cum);
    if (r->error != NULL) {
        pt_outf(w->out, " Error: %s\n", r->error);
        return;
    }
    for (size_t i = 0; i < r->line_count; i++) {
        const pt_pprof_line *line = &r->line[i];
        put_value_or_dot(w, line->flat);
        put_value_or_dot(w, line->cum);
        pt_outf(w->out, "%6" PRId64 ":%s\n", line->line, line->text);
    }
}

void pt_pprof_list_text(pt_out *out, const pt_graph_report *report, const pt_pprof_list *list)
{
    writer w = {.out = out, .report = report, .text = PT_BUF_INIT};
    put_total(&w);
    for (size_t i = 0; i < list->count && pt_out_ok(out); i++)
        put_routine(&w, &list->routine[i]);
    pt_buf_done(&w.text);
}

/* ---- Disassembly ---- */

/* "main x.c:12"; "" when it is the one before, or unknown. */
static char *place_of(const pt_pprof_instruction *i, const pt_pprof_instruction *before)
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

/* Characters, as Go counts them for padding: wrong bytes are one each. */
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

static void put_instruction(writer *w, const pt_pprof_instruction *i,
                            const pt_pprof_instruction *before)
{
    PT_FREE char *place = place_of(i, before);
    const bool beside = place[0] != '\0' && strlen(i->text) < LONG_INSTRUCTION;
    if (place[0] != '\0' && !beside) pt_outf(w->out, "%*s;%s\n", PLACE_COLUMN, "", place);
    put_value_or_dot(w, i->flat);
    put_value_or_dot(w, i->cum);
    pt_outf(w->out, "%10" PRIx64 ": %s", i->addr, i->text);
    for (size_t n = character_count(i->text); beside && n < LONG_INSTRUCTION; n++)
        pt_out_char(w->out, ' ');
    if (beside) pt_outf(w->out, ";%s", place);
    pt_out_char(w->out, '\n');
}

static void put_symbol(writer *w, const pt_pprof_symbol *s)
{
    static const pt_pprof_instruction none = {.function = "", .file = ""};
    pt_outf(w->out, "ROUTINE ======================== %s\n", s->names[0]);
    for (size_t i = 1; i < s->name_count; i++)
        pt_outf(w->out, "    AKA ======================== %s\n", s->names[i]);
    put_sums(w, s->flat, s->cum);
    for (size_t i = 0; i < s->instruction_count && pt_out_ok(w->out); i++)
        put_instruction(w, &s->instruction[i], i > 0 ? &s->instruction[i - 1] : &none);
}

void pt_pprof_disasm_text(pt_out *out, const pt_graph_report *report, const pt_pprof_disasm *disasm)
{
    writer w = {.out = out, .report = report, .text = PT_BUF_INIT};
    put_total(&w);
    for (size_t i = 0; i < disasm->count; i++)
        put_symbol(&w, &disasm->symbol[i]);
    pt_buf_done(&w.text);
}
