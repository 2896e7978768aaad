/* peek.c: functions between their callers and callees.
 *
 *         total   total%  of it
 *             4             40%  start
 *             6             60%  main
 *            10   100.0%           parse          self 2 (20.0%)
 *             3             30%  read
 */
#include "render/graph_reports.h"
#include "render/text.h"
#include "render/value.h"

#include <math.h>

typedef struct {
    const pt_peek *peek;
    pt_out *out;
    const pt_look *look;
    const pt_summary *summary;
    const char *unit;
    int width, calls_width; /* calls: 0 = no such column */
} writing;

/* Whether totals, and what of them went to others, are known. */
static bool totals_known(const pt_peek *peek, const pt_summary *summary)
{
    return peek->from_calls ? peek->total_known : summary->has_stacks;
}

static void put_calls(const writing *w, const char *text)
{
    if (w->calls_width > 0) pt_outf(w->out, " %*s", w->calls_width, text);
}

/* Columns before a name; those of a function itself stand out by two. */
static size_t used_columns(const writing *w)
{
    return 20 + (size_t)w->width + (w->calls_width > 0 ? (size_t)w->calls_width + 1 : 0);
}

static void put_other(const writing *w, const pt_peek_other *other)
{
    const bool known = w->peek->total_known;
    pt_outf(w->out, "%*s %7s %7s", w->width, pt_known_value(w->unit, other->value, known).text, "",
            pt_known_share(other->share, known).text);
    put_calls(w, pt_calls_of(other->calls).text);
    pt_out_text(w->out, "    ");
    const char *const mark = other->inlined ? "  (inlined)" : "";
    const pt_text_fit fit = pt_text_fit_row(w->look, used_columns(w), other->name, "", mark);
    pt_text_put_name(w->out, w->look, other->name, fit.name);
    pt_outf(w->out, "%s\n", fit.has_mark ? mark : "");
}

static void put_rest(const writing *w, double share, const char *what)
{
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    pt_outf(w->out, "%*s %7s %7s    %s\n", w->width, "", "", pt_percent_of(share).text, what);
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
}

static void put_more(const writing *w, size_t more, const char *what)
{
    if (more == 0) return;
    pt_outf(w->out, "%*s %7s %7s", w->width, "", "", "");
    put_calls(w, "");
    pt_outf(w->out, "    %s more %s%s\n", pt_count_of(more).text, what, more == 1 ? "" : "s");
}

/* "  self 3.0ms (1%), 7 calls from itself"; the caller frees. */
static char *own_figures(const writing *w, const pt_peek_function *f)
{
    pt_buf text = PT_BUF_INIT;
    pt_putf(&text, "  self %s", pt_value_of(w->unit, f->self).text);
    pt_putf(&text, " (%s)", pt_percent_of(f->self_share).text);
    if (f->itself > 0) pt_putf(&text, ", %s calls from itself", pt_count_of(f->itself).text);
    return pt_buf_take(&text, NULL);
}

static void put_function(const writing *w, const pt_peek_function *f)
{
    for (size_t i = 0; i < f->caller_count; i++)
        put_other(w, &f->caller[i]);
    put_more(w, f->more_callers, "caller");
    if (f->rootless_share > 0.0005 && w->summary->has_stacks)
        put_rest(w, f->rootless_share, "(called by nothing known)");
    const bool known = totals_known(w->peek, w->summary);
    pt_outf(w->out, "%*s %7s %7s", w->width, pt_known_value(w->unit, f->total, known).text,
            pt_known_share(f->total_share, known).text, "");
    put_calls(w, f->called > 0 ? pt_count_of(f->called).text : "");
    pt_out_text(w->out, "  ");
    const pt_colour colour = pt_colour_of_share(f->total_share);
    pt_text_colour(w->out, w->look, colour);
    PT_FREE char *own = own_figures(w, f);
    const pt_text_fit fit = pt_text_fit_row(w->look, used_columns(w) - 2, f->name, "", own);
    pt_text_put_name(w->out, w->look, f->name, fit.name);
    pt_text_colour_end(w->out, w->look, colour);
    pt_outf(w->out, "%s\n", fit.has_mark ? own : "");
    for (size_t i = 0; i < f->callee_count; i++)
        put_other(w, &f->callee[i]);
    put_more(w, f->more_callees, "callee");
}

static void fit_columns(writing *w, const pt_peek_function *f)
{
    pt_value_fit(&w->width, w->unit, f->total);
    if (w->calls_width == 0) return;
    pt_calls_fit(&w->calls_width, f->called);
    for (size_t i = 0; i < f->caller_count; i++)
        pt_calls_fit(&w->calls_width, f->caller[i].calls);
    for (size_t i = 0; i < f->callee_count; i++)
        pt_calls_fit(&w->calls_width, f->callee[i].calls);
}

void pt_peek_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_peek *peek)
{
    pt_report_head_text(out, look, head);
    writing w = {.peek = peek,
                 .out = out,
                 .summary = &head->summary,
                 .look = look,
                 .unit = head->summary.unit,
                 .width = 6};
    if (peek->from_calls) w.calls_width = 5;
    for (size_t i = 0; i < peek->count; i++)
        fit_columns(&w, &peek->function[i]);
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%*s %7s %7s", w.width, "total", "total%", "of it");
    put_calls(&w, "calls");
    pt_out_text(out, "  function, its callers above and its callees below\n");
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++) {
        if (i > 0) pt_out_char(out, '\n');
        put_function(&w, &peek->function[i]);
    }
    if (peek->more > 0)
        pt_outf(out, "\n%s more function%s (-n 0)\n", pt_count_of(peek->more).text,
                peek->more == 1 ? "" : "s");
}

static void json_calls(pt_json_w *w, const char *key, uint64_t calls)
{
    pt_json_key(w, key);
    if (calls > 0)
        pt_json_uint(w, calls);
    else
        pt_json_null(w);
}

static void json_others(pt_json_w *w, const pt_peek *peek, const char *key,
                        const pt_peek_other *other, size_t count)
{
    pt_json_key_array(w, key);
    for (size_t i = 0; i < count; i++) {
        pt_json_object(w);
        pt_json_key_text(w, "name", other[i].name);
        pt_json_key_int_or_null(w, "value", other[i].value, peek->total_known);
        pt_json_key_double(w, "share", peek->total_known ? other[i].share : NAN);
        pt_json_key_bool(w, "inlined", other[i].inlined);
        if (peek->from_calls) json_calls(w, "calls", other[i].calls);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void json_function(pt_json_w *w, const pt_summary *summary, const pt_peek *peek,
                          const pt_peek_function *f)
{
    pt_json_object(w);
    pt_json_key_text(w, "name", f->name);
    pt_json_key_int(w, "self", f->self);
    pt_json_key_double(w, "self_share", f->self_share);
    pt_json_known(w, "total", f->total, f->total_share, totals_known(peek, summary));
    if (peek->from_calls) {
        json_calls(w, "calls", f->called);
        json_calls(w, "calls_from_itself", f->itself);
    }
    json_others(w, peek, "callers", f->caller, f->caller_count);
    pt_json_key_uint(w, "more_callers", f->more_callers);
    json_others(w, peek, "callees", f->callee, f->callee_count);
    pt_json_key_uint(w, "more_callees", f->more_callees);
    pt_json_object_end(w);
}

void pt_peek_json(pt_out *out, const pt_report_head *head, const pt_peek *peek)
{
    pt_json_w w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "peek", head);
    pt_json_key_array(&w, "functions");
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++)
        json_function(&w, &head->summary, peek, &peek->function[i]);
    pt_json_array_end(&w);
    pt_json_key_uint(&w, "more", peek->more);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}

/* What a row of CSV says: a figure of the function, or of one of its callers or callees. */
typedef struct {
    const char *role, *name;
    int64_t value;
    double share;
    bool known, inlined;
    uint64_t calls;
} csv_row;

static void csv_put(pt_out *out, const char *function, bool has_calls, const csv_row *row)
{
    pt_csv_put(out, function);
    pt_outf(out, ",%s,", row->role);
    pt_csv_put(out, row->name);
    pt_out_char(out, ',');
    pt_csv_known(out, row->value, row->share, row->known);
    pt_out_text(out, row->inlined ? ",true" : ",false");
    if (has_calls) pt_out_char(out, ',');
    if (has_calls && row->calls > 0) pt_outf(out, "%llu", (unsigned long long)row->calls);
    pt_out_char(out, '\n');
}

static void csv_others(pt_out *out, const pt_peek *peek, const char *function, const char *role,
                       const pt_peek_other *other, size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_put(out, function, peek->from_calls,
                &(csv_row){.role = role,
                           .name = other[i].name,
                           .value = other[i].value,
                           .share = other[i].share,
                           .known = peek->total_known,
                           .inlined = other[i].inlined,
                           .calls = other[i].calls});
}

void pt_peek_csv(pt_out *out, const pt_report_head *head, const pt_peek *peek)
{
    pt_out_text(out, "function,role,name,value,share_of_function,inlined");
    pt_out_text(out, peek->from_calls ? ",calls\n" : "\n");
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++) {
        const pt_peek_function *f = &peek->function[i];
        csv_others(out, peek, f->name, "caller", f->caller, f->caller_count);
        csv_put(out, f->name, peek->from_calls,
                &(csv_row){.role = "self",
                           .name = f->name,
                           .value = f->self,
                           .share = f->total != 0 ? (double)f->self / (double)f->total : 0,
                           .known = true});
        csv_put(out, f->name, peek->from_calls,
                &(csv_row){.role = "total",
                           .name = f->name,
                           .value = f->total,
                           .share = 1,
                           .known = totals_known(peek, &head->summary),
                           .calls = f->called});
        csv_others(out, peek, f->name, "callee", f->callee, f->callee_count);
    }
}
