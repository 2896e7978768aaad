/* top.c: the flat table. */
#include <stdlib.h>
#include <string.h>

#include "render/report.h"
#include "render/text.h"
#include "render/value.h"

#define MOSTLY                                                                                     \
    0.95 /* of a row's time is called from one function: that share is not worth a word */

/* "util.h:12", without the folders (JSON and CSV have them); "" = unknown, or in the row's name. */
static char *place_of(const pt_top *top, const pt_top_row *row)
{
    const bool is_beside = top->by == PT_BY_FUNCTION || top->by == PT_BY_ADDRESS;
    if (!is_beside || row->unnamed || row->file[0] == '\0') return pt_strdup("");
    const char *slash = strrchr(row->file, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : row->file;
    return row->line > 0 ? pt_strf("%s:%lld", base, (long long)row->line) : pt_strdup(base);
}

/* "<- Ledger::append  ledger.cc:88 62%"; without the file where there is no room for it. */
static char *caller_of(const pt_own_caller *caller, bool has_file)
{
    pt_buf text = PT_BUF_INIT;
    pt_putf(&text, "<- %s", caller->name);
    const char *slash = strrchr(caller->file, '/');
    if (has_file && caller->file[0] != '\0') {
        pt_putf(&text, "  %s", slash != NULL && slash[1] != '\0' ? slash + 1 : caller->file);
        if (caller->line > 0) pt_putf(&text, ":%lld", (long long)caller->line);
    }
    if (caller->share < MOSTLY) pt_putf(&text, " %.0f%%", 100 * caller->share);
    return pt_buf_take(&text, NULL);
}

static void put_row(pt_out *out, const pt_look *look, const pt_summary *summary, int width,
                    const pt_top *top, const pt_top_row *row, const pt_own_caller *caller)
{
    const pt_colour colour = pt_colour_of_share(row->self_share);
    const char *inlined = row->inlined ? "  (inlined)" : "";
    const bool is_called = caller != NULL && caller->name != NULL;
    PT_FREE char *place = is_called ? caller_of(caller, true) : place_of(top, row);
    pt_outf(out, "%*s %7s %*s %7s  ", width, pt_value_of(summary->unit, row->self).text,
            pt_percent_of(row->self_share).text, width, pt_total_of(summary, row->total).text,
            pt_total_share_of(summary, row->total_share).text);
    const size_t used = 19 + 2 * (size_t)width;
    pt_text_fit fit = pt_text_fit_row(look, used, row->name, place, inlined);
    if (is_called && (fit.name != 0 || fit.place != 0)) {
        pt_freep(&place);
        place = caller_of(caller, false);
        fit = pt_text_fit_row(look, used, row->name, place, inlined);
    }
    pt_text_colour(out, look, colour);
    pt_text_put_name(out, look, row->name, fit.name);
    pt_text_colour_end(out, look, colour);
    pt_text_colour(out, look, PT_COLOUR_QUIET);
    if (fit.has_place) pt_out_text(out, "  ");
    if (fit.has_place) pt_text_put(out, place, fit.place);
    if (fit.has_mark) pt_out_text(out, inlined);
    pt_text_colour_end(out, look, PT_COLOUR_QUIET);
    pt_out_char(out, '\n');
}

void pt_top_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_top *top,
                 const pt_own_caller *callers)
{
    pt_report_head_text(out, look, head);
    const char *unit = head->summary.unit;
    int width = 6;
    for (size_t i = 0; i < top->count; i++) {
        pt_value_fit(&width, unit, top->row[i].total);
        pt_value_fit(&width, unit, top->row[i].self);
    }
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%*s %7s %*s %7s  function\n", width, "self", "self%", width, "total", "total%");
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    for (size_t i = 0; i < top->count && pt_out_ok(out); i++)
        put_row(out, look, &head->summary, width, top, &top->row[i],
                callers != NULL ? &callers[i] : NULL);
    if (top->more > 0) pt_outf(out, "%s more (-n 0)\n", pt_count_of(top->more).text);
}

static void put_caller_json(pt_json_w *w, const pt_own_caller *caller)
{
    if (caller == NULL || caller->name == NULL) return;
    pt_json_key_object(w, "caller");
    pt_json_key_text(w, "name", caller->name);
    pt_json_key_text(w, "file", caller->file);
    pt_json_key_int(w, "line", caller->line);
    pt_json_key_double(w, "share", caller->share);
    pt_json_object_end(w);
}

void pt_top_json(pt_out *out, const pt_report_head *head, const pt_top *top,
                 const pt_own_caller *callers)
{
    pt_json_w w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "top", head);
    pt_json_key_array(&w, "rows");
    for (size_t i = 0; i < top->count && pt_out_ok(out); i++) {
        const pt_top_row *row = &top->row[i];
        pt_json_object(&w);
        pt_json_key_text(&w, "name", row->name);
        pt_json_key_text(&w, "file", row->file);
        pt_json_key_int(&w, "line", row->line);
        pt_json_key_int(&w, "self", row->self);
        pt_json_key_double(&w, "self_share", row->self_share);
        pt_json_totals(&w, &head->summary, row->total, row->total_share);
        pt_json_key_bool(&w, "inlined", row->inlined);
        pt_json_key_bool(&w, "unnamed", row->unnamed);
        put_caller_json(&w, callers != NULL ? &callers[i] : NULL);
        pt_json_object_end(&w);
    }
    pt_json_array_end(&w);
    pt_json_key_uint(&w, "more", top->more);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}

void pt_top_csv(pt_out *out, const pt_report_head *head, const pt_top *top)
{
    pt_out_text(out, "self,self_share,total,total_share,name,file,line,inlined\n");
    for (size_t i = 0; i < top->count && pt_out_ok(out); i++) {
        const pt_top_row *row = &top->row[i];
        pt_outf(out, "%lld,%.6g,", (long long)row->self, row->self_share);
        pt_csv_totals(out, &head->summary, row->total, row->total_share);
        pt_out_char(out, ',');
        pt_csv_put(out, row->name);
        pt_out_char(out, ',');
        pt_csv_put(out, row->file);
        pt_outf(out, ",%lld,%s\n", (long long)row->line, row->inlined ? "true" : "false");
    }
}
