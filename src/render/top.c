/* top.c: the flat table. */
#include <math.h>

#include "render/column.h"
#include "render/markdown.h"
#include "render/parts.h"
#include "render/report.h"

#define MOSTLY 0.95 /* a larger share of an own caller is not shown as a number */

/* The place of a row, "util.h:12", without its folders, which JSON and CSV have; "" if the place is
 * unknown, or is a part of the row's name. */
static char *place_of(const pt_top *top, const pt_top_row *row)
{
    const bool is_beside = top->by == PT_BY_FUNCTION || top->by == PT_BY_ADDRESS;
    if (!is_beside || row->unnamed) return pt_strdup("");
    return pt_where_text(row->file, row->line);
}

/* The text about the function of the program that called the row: "<- Ledger::append  ledger.cc:88
 * 62%". has_file: there is room for the file. */
static char *caller_of(const pt_own_caller *caller, bool has_file)
{
    pt_buf text = PT_BUF_INIT;
    pt_putf(&text, "<- %s", caller->name);
    PT_FREE char *place = pt_where_text(caller->file, caller->line);
    if (has_file && place[0] != '\0') pt_putf(&text, "  %s", place);
    if (caller->share < MOSTLY) pt_putf(&text, " %.0f%%", 100 * caller->share);
    return pt_buf_take(&text, NULL);
}

enum { VALUES = 1, HALVES }; /* widths: of self and total, of half of their intervals */

/* Makes the cell: half of the interval. The column's title states the confidence. */
static pt_value_text half_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    if (row == NULL) return pt_half_title(PT_CONFIDENCE);
    const pt_interval *const in = (const void *)((const char *)row + column->offset);
    if (column->is_known != NULL && !column->is_known(columns, row)) return (pt_value_text){"-"};
    if (isnan(in->low)) return (pt_value_text){"?"};
    return pt_value_of(columns->unit, llround(fmin((in->high - in->low) / 2, 0x1p62)));
}

static bool end_known(const pt_columns *columns, const void *interval)
{
    return !isnan(((const pt_interval *)interval)->low);
}

static const pt_column interval_columns[] = {
    PT_COLUMN("low", NULL, BOUND, pt_interval, low, .is_known = end_known),
    PT_COLUMN("high", NULL, BOUND, pt_interval, high, .is_known = end_known),
    {0},
};

static bool has_caller(const pt_columns *columns, const void *row)
{
    return ((const pt_top_row *)row)->caller.name != NULL;
}

static const pt_column caller_columns[] = {
    PT_COLUMN("name", NULL, TEXT, pt_own_caller, name),
    PT_COLUMN("file", NULL, TEXT, pt_own_caller, file),
    PT_COLUMN("line", NULL, NUMBER, pt_own_caller, line),
    PT_COLUMN("share", NULL, SHARE, pt_own_caller, share),
    {0},
};

static const pt_column columns[] = {
    PT_COLUMN("self", "self", VALUE, pt_top_row, self, .width = VALUES),
    PT_COLUMN(NULL, NULL, GROUP, pt_top_row, self_interval, .width = HALVES, .text = half_text),
    PT_COLUMN("self_share", "self%", SHARE, pt_top_row, self_share),
    PT_COLUMN("total", "total", VALUE, pt_top_row, total, .width = VALUES,
              .is_known = pt_totals_known),
    PT_COLUMN(NULL, NULL, GROUP, pt_top_row, total_interval, .width = HALVES, .text = half_text,
              .is_known = pt_totals_known),
    PT_COLUMN("total_share", "total%", SHARE, pt_top_row, total_share, .is_known = pt_totals_known),
    PT_COLUMN("name", "function", NAME, pt_top_row, name, .marks = PT_JSON_FIRST, .gap = 2),
    PT_COLUMN("file", "where", FILE, pt_top_row, file, .marks = PT_JSON_FIRST),
    PT_COLUMN("line", NULL, NUMBER, pt_top_row, line, .marks = PT_JSON_FIRST),
    PT_COLUMN("inlined", NULL, FLAG, pt_top_row, inlined),
    PT_COLUMN("unnamed", NULL, FLAG, pt_top_row, unnamed),
    PT_COLUMN("caller", NULL, GROUP, pt_top_row, caller, .members = caller_columns,
              .is_known = has_caller, .in_json = has_caller),
    PT_COLUMN("self_interval", NULL, GROUP, pt_top_row, self_interval, .members = interval_columns),
    PT_COLUMN("total_interval", NULL, GROUP, pt_top_row, total_interval,
              .members = interval_columns, .is_known = pt_totals_known),
};

static pt_columns columns_of(const pt_report_head *head, const pt_top *top,
                             pt_part_columns *ret_parts)
{
    pt_columns c = {PT_COLUMNS(columns), .unit = head->summary.unit,
                    .totals_known = head->summary.has_stacks,
                    .width = {[VALUES] = 6, [HALVES] = top->has_intervals ? 6 : 0}};
    pt_part_columns_init(ret_parts, &c, &head->summary, offsetof(pt_top_row, part_self),
                         offsetof(pt_top_row, part_total), 0);
    return c;
}

static void put_row(pt_out *out, const pt_look *look, const pt_columns *c, const pt_top *top,
                    const pt_top_row *row)
{
    const pt_colour colour = pt_colour_of_share(row->self_share);
    const char *inlined = row->inlined ? "  (inlined)" : "";
    const bool is_called = has_caller(c, row);
    PT_FREE char *place = is_called ? caller_of(&row->caller, true) : place_of(top, row);
    pt_columns_text(out, c, row);
    const size_t used = pt_columns_used(c);
    pt_text_fit fit = pt_text_fit_row(look, used, row->name, place, inlined);
    if (is_called && (fit.name != 0 || fit.place != 0)) {
        pt_freep(&place);
        place = caller_of(&row->caller, false);
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

void pt_top_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_top *top)
{
    PT_AUTO(pt_part_columns) parts = {0};
    pt_columns c = columns_of(head, top, &parts);
    for (size_t i = 0; i < top->count; i++)
        pt_columns_fit(&c, &top->row[i]);
    pt_report_head_text(out, look, head);
    pt_columns_head(out, look, &c, "");
    for (size_t i = 0; i < top->count && pt_out_ok(out); i++)
        put_row(out, look, &c, top, &top->row[i]);
    if (top->more > 0) pt_outf(out, "%s more (-n 0)\n", pt_count_of(top->more).text);
}

void pt_top_json(pt_out *out, const pt_report_head *head, const pt_top *top)
{
    PT_AUTO(pt_part_columns) parts = {0};
    const pt_columns c = columns_of(head, top, &parts);
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "top", head);
    pt_columns_json_schema(&w, &c);
    pt_columns_json_rows(&w, "rows", &c, top->row, top->count, sizeof *top->row);
    pt_json_key_uint(&w, "more", top->more);
    pt_json_object_end(&w);
}

void pt_top_csv(pt_out *out, const pt_report_head *head, const pt_top *top)
{
    PT_AUTO(pt_part_columns) parts = {0};
    const pt_columns c = columns_of(head, top, &parts);
    pt_columns_csv_rows(out, &c, top->row, top->count, sizeof *top->row);
}

static char *place_beside(const void *context, const void *row)
{
    const pt_top_row *const r = row;
    return r->caller.name != NULL ? caller_of(&r->caller, true) : place_of(context, r);
}

void pt_top_markdown(pt_out *out, const pt_report_head *head, const pt_top *top)
{
    PT_AUTO(pt_part_columns) parts = {0};
    const pt_columns c = columns_of(head, top, &parts);
    pt_markdown_lines(out);
    pt_report_facts_text(out, head);
    pt_markdown_lines(out);
    pt_out_char(out, '\n');
    pt_markdown_table(out, &c, top->row, top->count, sizeof *top->row, place_beside, top);
    if (top->more > 0) pt_outf(out, "\n%s more\n", pt_count_of(top->more).text);
}
