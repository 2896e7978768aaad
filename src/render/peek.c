/* peek.c: functions between their callers and callees.
 *
 *         total   total%  of it
 *             4             40%  start
 *             6             60%  main
 *            10   100.0%           parse          self 2 (20.0%)
 *             3             30%  read
 */
#include <stdlib.h>
#include <string.h>

#include "render/graph_reports.h"
#include "render/text.h"
#include "render/value.h"

char *pt_own_name(const char *text)
{
    const size_t length = strlen(text);
    if (strcmp(text, "<unknown>") == 0) return pt_strdup("[unknown]");
    if (length > 4 && strncmp(text, "[[", 2) == 0 && strcmp(text + length - 2, "]]") == 0)
        return pt_strndup(text + 1, length - 2);
    return pt_strdup(text);
}

typedef struct {
    pt_out *out;
    const pt_look *look;
    const pt_summary *summary;
    const char *unit;
    int width;
} writing;

static void put_other(const writing *w, const pt_peek_other *other)
{
    PT_FREE char *name = pt_own_name(other->name);
    pt_outf(w->out, "%*s %7s %7s    ", w->width, pt_value_of(w->unit, other->value).text, "",
            pt_percent_of(other->share).text);
    const size_t before = 20 + (size_t)w->width;
    pt_text_put_name(w->out, w->look, name,
                     w->look->width > before + 20 ? w->look->width - before : 0);
    pt_out_text(w->out, other->inlined ? "  (inlined)\n" : "\n");
}

static void put_rest(const writing *w, double share, const char *what)
{
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    pt_outf(w->out, "%*s %7s %7s    %s\n", w->width, "", "", pt_percent_of(share).text, what);
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
}

static void put_more(const writing *w, size_t more, const char *what)
{
    if (more > 0)
        pt_outf(w->out, "%*s %7s %7s    %s more %s%s\n", w->width, "", "", "",
                pt_count_of(more).text, what, more == 1 ? "" : "s");
}

static void put_function(const writing *w, const pt_peek_function *f)
{
    PT_FREE char *name = pt_own_name(f->name);
    for (size_t i = 0; i < f->caller_count; i++)
        put_other(w, &f->caller[i]);
    put_more(w, f->more_callers, "caller");
    if (f->rootless_share > 0.0005 && w->summary->has_stacks)
        put_rest(w, f->rootless_share, "(called by nothing known)");
    pt_outf(w->out, "%*s %7s %7s  ", w->width, pt_total_of(w->summary, f->total).text,
            pt_total_share_of(w->summary, f->total_share).text, "");
    const pt_colour colour = pt_colour_of_share(f->total_share);
    pt_text_colour(w->out, w->look, colour);
    pt_text_put_name(w->out, w->look, name, 0);
    pt_text_colour_end(w->out, w->look, colour);
    pt_outf(w->out, "  self %s", pt_value_of(w->unit, f->self).text);
    pt_outf(w->out, " (%s)\n", pt_percent_of(f->self_share).text);
    for (size_t i = 0; i < f->callee_count; i++)
        put_other(w, &f->callee[i]);
    put_more(w, f->more_callees, "callee");
}

void pt_peek_text(pt_out *out, const pt_look *look, const pt_report_head *head, const pt_peek *peek)
{
    pt_report_head_text(out, look, head);
    writing w = {.out = out,
                 .summary = &head->summary,
                 .look = look,
                 .unit = head->summary.unit,
                 .width = 6};
    for (size_t i = 0; i < peek->count; i++)
        pt_value_fit(&w.width, w.unit, peek->function[i].total);
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%*s %7s %7s  function, its callers above and its callees below\n", w.width,
            "total", "total%", "of it");
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++) {
        if (i > 0) pt_out_char(out, '\n');
        put_function(&w, &peek->function[i]);
    }
    if (peek->more > 0)
        pt_outf(out, "\n%s more function%s (-n 0)\n", pt_count_of(peek->more).text,
                peek->more == 1 ? "" : "s");
}

static void json_others(pt_json_w *w, const char *key, const pt_peek_other *other, size_t count)
{
    pt_json_key(w, key);
    pt_json_array(w);
    for (size_t i = 0; i < count; i++) {
        PT_FREE char *name = pt_own_name(other[i].name);
        pt_json_object(w);
        pt_json_key(w, "name");
        pt_json_text(w, name);
        pt_json_key(w, "value");
        pt_json_int(w, other[i].value);
        pt_json_key(w, "share");
        pt_json_double(w, other[i].share);
        pt_json_key(w, "inlined");
        pt_json_bool(w, other[i].inlined);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
}

static void json_function(pt_json_w *w, const pt_summary *summary, const pt_peek_function *f)
{
    PT_FREE char *name = pt_own_name(f->name);
    pt_json_object(w);
    pt_json_key(w, "name");
    pt_json_text(w, name);
    pt_json_key(w, "self");
    pt_json_int(w, f->self);
    pt_json_key(w, "self_share");
    pt_json_double(w, f->self_share);
    pt_json_totals(w, summary, f->total, f->total_share);
    json_others(w, "callers", f->caller, f->caller_count);
    pt_json_key(w, "more_callers");
    pt_json_uint(w, f->more_callers);
    json_others(w, "callees", f->callee, f->callee_count);
    pt_json_key(w, "more_callees");
    pt_json_uint(w, f->more_callees);
    pt_json_object_end(w);
}

void pt_peek_json(pt_out *out, const pt_report_head *head, const pt_peek *peek)
{
    pt_json_w w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "peek", head);
    pt_json_key(&w, "functions");
    pt_json_array(&w);
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++)
        json_function(&w, &head->summary, &peek->function[i]);
    pt_json_array_end(&w);
    pt_json_key(&w, "more");
    pt_json_uint(&w, peek->more);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}

static void csv_others(pt_out *out, const char *function, const char *role,
                       const pt_peek_other *other, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        PT_FREE char *name = pt_own_name(other[i].name);
        pt_csv_put(out, function);
        pt_outf(out, ",%s,", role);
        pt_csv_put(out, name);
        pt_outf(out, ",%lld,%.6g,%s\n", (long long)other[i].value, other[i].share,
                other[i].inlined ? "true" : "false");
    }
}

void pt_peek_csv(pt_out *out, const pt_peek *peek)
{
    pt_out_text(out, "function,role,name,value,share_of_function,inlined\n");
    for (size_t i = 0; i < peek->count && pt_out_ok(out); i++) {
        const pt_peek_function *f = &peek->function[i];
        PT_FREE char *name = pt_own_name(f->name);
        const pt_peek_other self = {.name = f->name,
                                    .value = f->self,
                                    .share =
                                        f->total != 0 ? (double)f->self / (double)f->total : 0};
        const pt_peek_other total = {.name = f->name, .value = f->total, .share = 1};
        csv_others(out, name, "caller", f->caller, f->caller_count);
        csv_others(out, name, "self", &self, 1);
        csv_others(out, name, "total", &total, 1);
        csv_others(out, name, "callee", f->callee, f->callee_count);
    }
}
