/* peek.c: functions between their callers and callees.
 *
 *         total   total%  of it
 *             4             40%  start
 *             6             60%  main
 *            10   100.0%           parse          self 2 (20.0%)
 *             3             30%  read
 */
#include <string.h>

#include "base/units.h"
#include "render/column.h"
#include "render/graph_reports.h"

/* A row of text and of CSV: a function's self or total, or a caller or callee of the function. */
typedef struct {
    const char *function, *role;
    pt_peek_other of;
    double total_share; /* share of the whole; only of role "total" */
    bool known;
} shown_row;

enum { VALUES = 1, CALLS }; /* widths */

static bool row_known(const pt_columns *columns, const void *row)
{
    return ((const shown_row *)row)->known;
}

static bool is_of_total(const void *row)
{
    return strcmp(((const shown_row *)row)->role, "total") == 0;
}

/* The share of the whole; empty for callers and callees. */
static pt_value_text total_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    return is_of_total(row) ? pt_cell_text(columns, column, row) : (pt_value_text){""};
}

/* The share of the function's total; only of callers and callees. */
static pt_value_text part_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    return is_of_total(row) ? (pt_value_text){""} : pt_cell_text(columns, column, row);
}

/* The number of calls. It is not known for a function whose only known caller is itself. */
static pt_value_text calls_text(const pt_columns *columns, const pt_column *column, const void *row)
{
    const bool is_none = is_of_total(row) && ((const shown_row *)row)->of.calls == 0;
    return is_none ? (pt_value_text){""} : pt_cell_text(columns, column, row);
}

/* Columns of callers and callees; the last is shown for call arcs. */
static const pt_column other_columns[] = {
    PT_COLUMN("function", NULL, TEXT, shown_row, function, .marks = PT_CSV_ONLY),
    PT_COLUMN("role", NULL, TEXT, shown_row, role, .marks = PT_CSV_ONLY),
    PT_COLUMN("name", "function", NAME, shown_row, of.name, .gap = 2, .place = 4),
    PT_COLUMN("value", "total", VALUE, shown_row, of.value, .width = VALUES, .is_known = row_known),
    PT_COLUMN(NULL, "total%", SHARE, shown_row, total_share, .is_known = row_known,
              .text = total_text, .place = 1),
    PT_COLUMN("share", "of it", SHARE, shown_row, of.share, .csv_key = "share_of_function",
              .is_known = row_known, .text = part_text, .place = 2),
    PT_COLUMN("inlined", NULL, FLAG, shown_row, of.inlined),
    PT_COLUMN("calls", "calls", CALLS, shown_row, of.calls, .width = CALLS, .text = calls_text,
              .place = 3),
};

/* Columns of a function; the last two are shown for call arcs. */
static const pt_column function_columns[] = {
    PT_COLUMN("name", NULL, NAME, pt_peek_function, name),
    PT_COLUMN("self", NULL, VALUE, pt_peek_function, self),
    PT_COLUMN("self_share", NULL, SHARE, pt_peek_function, self_share),
    PT_COLUMN("total", NULL, VALUE, pt_peek_function, total, .is_known = pt_totals_known),
    PT_COLUMN("total_share", NULL, SHARE, pt_peek_function, total_share,
              .is_known = pt_totals_known),
    PT_COLUMN("calls", NULL, CALLS, pt_peek_function, called),
    PT_COLUMN("calls_from_itself", NULL, CALLS, pt_peek_function, itself),
};

static pt_columns columns_of(const pt_report_head *head, const pt_peek *peek)
{
    pt_columns c = {PT_COLUMNS(other_columns), .unit = head->summary.unit,
                    .totals_known = peek->from_calls ? peek->total_known : head->summary.has_stacks,
                    .width = {[VALUES] = 6, [CALLS] = peek->from_calls ? 5 : 0}};
    if (!peek->from_calls) c.count--;
    return c;
}

/* The rows of a function: callers, self, total, callees. The caller frees. */
static shown_row *rows_of(const pt_columns *c, const pt_peek *peek, const pt_peek_function *f)
{
    const size_t count = f->caller_count + 2 + f->callee_count;
    shown_row *const rows = pt_alloc(count, sizeof *rows), *const self = rows + f->caller_count;
    for (size_t i = 0; i < count; i++)
        rows[i] = (shown_row){.function = f->name, .role = "callee", .known = peek->total_known};
    for (size_t i = 0; i < f->caller_count; i++) {
        rows[i].role = "caller";
        rows[i].of = f->caller[i];
    }
    for (size_t i = 0; i < f->callee_count; i++)
        self[2 + i].of = f->callee[i];
    self[0].role = "self";
    self[0].known = true;
    self[0].of =
        (pt_peek_other){.name = f->name, .value = f->self, .share = pt_share(f->self, f->total)};
    self[1].role = "total";
    self[1].known = c->totals_known;
    self[1].total_share = f->total_share;
    self[1].of =
        (pt_peek_other){.name = f->name, .value = f->total, .share = 1, .calls = f->called};
    return rows;
}

/* ---- Text ---- */

typedef struct {
    const pt_peek *peek;
    pt_out *out;
    const pt_look *look;
    const pt_summary *summary;
    pt_columns columns;
} writing;

static void put_others(const writing *w, const shown_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const pt_peek_other *const other = &rows[i].of;
        pt_columns_text(w->out, &w->columns, &rows[i]);
        pt_out_text(w->out, "  "); /* names of functions begin two columns to the left */
        const char *const mark = other->inlined ? "  (inlined)" : "";
        const size_t used = pt_columns_used(&w->columns) + 2;
        const pt_text_fit fit = pt_text_fit_row(w->look, used, other->name, "", mark);
        pt_text_put_name(w->out, w->look, other->name, fit.name);
        pt_outf(w->out, "%s\n", fit.has_mark ? mark : "");
    }
}

static void put_more(const writing *w, size_t more, const char *what)
{
    if (more == 0) return;
    pt_text_pad(w->out, pt_columns_used(&w->columns) + 2);
    pt_outf(w->out, "%s\n", pt_count_noun(more, what).text);
}

static void put_function(const writing *w, const pt_peek_function *f)
{
    PT_FREE shown_row *rows = rows_of(&w->columns, w->peek, f);
    put_others(w, rows, f->caller_count);
    put_more(w, f->more_callers, "more callers");
    if (f->rootless_share > 0.0005 && w->summary->has_stacks) {
        pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
        pt_outf(w->out, "%*s %7s %7s    %s\n", w->columns.width[VALUES], "", "",
                pt_percent_of(f->rootless_share).text, "(called by nothing known)");
        pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
    }
    pt_columns_text(w->out, &w->columns, &rows[f->caller_count + 1]);
    const pt_colour colour = pt_colour_of_share(f->total_share);
    pt_text_colour(w->out, w->look, colour);
    /* "  self 3.0ms (1%), 7 calls from itself". */
    pt_buf text = PT_BUF_INIT;
    pt_putf(&text, "  self %s", pt_value_of(w->columns.unit, f->self).text);
    pt_putf(&text, " (%s)", pt_percent_of(f->self_share).text);
    if (f->itself > 0) pt_putf(&text, ", %s calls from itself", pt_count_of(f->itself).text);
    PT_FREE char *own = pt_buf_take(&text, NULL);
    const pt_text_fit fit =
        pt_text_fit_row(w->look, pt_columns_used(&w->columns), f->name, "", own);
    pt_text_put_name(w->out, w->look, f->name, fit.name);
    pt_text_colour_end(w->out, w->look, colour);
    pt_outf(w->out, "%s\n", fit.has_mark ? own : "");
    put_others(w, rows + f->caller_count + 2, f->callee_count);
    put_more(w, f->more_callees, "more callees");
}

static void fit_columns(pt_columns *c, const pt_peek *peek, const pt_peek_function *f)
{
    PT_FREE shown_row *rows = rows_of(c, peek, f);
    for (size_t i = 0; i < f->caller_count + 2 + f->callee_count; i++)
        pt_columns_fit(c, &rows[i]);
}

void pt_peek_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_peek *peek)
{
    writing w = {.peek = peek,
                 .out = out,
                 .summary = &head->summary,
                 .look = look,
                 .columns = columns_of(head, peek)};
    for (size_t i = 0; i < peek->count; i++)
        fit_columns(&w.columns, peek, &peek->function[i]);
    pt_report_head_text(out, look, head);
    static const char rest[] = ", its callers above and its callees below";
    const size_t wanted = pt_columns_used(&w.columns) + sizeof "function" + sizeof rest - 2;
    pt_columns_head(out, look, &w.columns, look->width == 0 || wanted <= look->width ? rest : "");
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++) {
        if (i > 0) pt_out_char(out, '\n');
        put_function(&w, &peek->function[i]);
    }
    if (peek->more > 0)
        pt_outf(out, "\n%s (-n 0)\n", pt_count_noun(peek->more, "more functions").text);
}

/* ---- JSON and CSV ---- */

void pt_peek_json(pt_out *out, const pt_report_head *head, const pt_peek *peek)
{
    const pt_columns others = columns_of(head, peek);
    pt_columns functions = {PT_COLUMNS(function_columns), .totals_known = others.totals_known};
    if (!peek->from_calls) functions.count -= 2;
    PT_AUTO(pt_json_w) w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "peek", head);
    PT_JSON_OBJECTS (&w, "functions", i, peek->count) {
        const pt_peek_function *f = &peek->function[i];
        PT_FREE shown_row *rows = rows_of(&others, peek, f);
        pt_columns_json(&w, &functions, f);
        pt_columns_json_rows(&w, "callers", &others, rows, f->caller_count, sizeof *rows);
        pt_json_key_uint(&w, "more_callers", f->more_callers);
        pt_columns_json_rows(&w, "callees", &others, rows + f->caller_count + 2, f->callee_count,
                             sizeof *rows);
        pt_json_key_uint(&w, "more_callees", f->more_callees);
    }
    pt_json_key_uint(&w, "more", peek->more);
    pt_json_object_end(&w);
}

void pt_peek_csv(pt_out *out, const pt_report_head *head, const pt_peek *peek)
{
    const pt_columns c = columns_of(head, peek);
    pt_columns_csv_head(out, &c);
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++) {
        const pt_peek_function *f = &peek->function[i];
        PT_FREE shown_row *rows = rows_of(&c, peek, f);
        for (size_t r = 0; r < f->caller_count + 2 + f->callee_count; r++)
            pt_columns_csv(out, &c, &rows[r]);
    }
}
