/* listing.c: one row a source line, under a row for its function. */
#include "render/listing.h"

#include <string.h>

#include "render/text.h"
#include "render/value.h"

#define TAB 8

void pt_put_source(pt_buf *buf, const char *text, size_t size)
{
    size_t column = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\t') {
            pt_put_u8(buf, (uint8_t)text[i]);
            column += ((unsigned char)text[i] & 0xc0) != 0x80; /* not inside a character */
            continue;
        }
        do {
            pt_put_u8(buf, ' ');
        } while (++column % TAB != 0);
    }
}

/* ---- Text ---- */

typedef struct {
    pt_out *out;
    const pt_look *look;
    const pt_summary *summary;
    const char *unit;
    int width;  /* of a value's column */
    int digits; /* of a line number's */
    pt_buf text;
} writer;

void pt_listing_put_values(pt_out *out, const pt_summary *summary, int width,
                           const pt_listing_values *v)
{
    if (v->self != 0)
        pt_outf(out, "%*s %7s ", width, pt_value_of(summary->unit, v->self).text,
                pt_percent_of(v->self_share).text);
    else
        pt_outf(out, "%*s ", width + 8, "");
    if (v->total != 0)
        pt_outf(out, "%*s %7s  ", width, pt_total_of(summary, v->total).text,
                pt_total_share_of(summary, v->total_share).text);
    else
        pt_outf(out, "%*s  ", width + 8, "");
}

void pt_listing_put_heading(pt_out *out, const pt_look *look, int width, const char *last)
{
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%*s %7s %*s %7s  %s\n", width, "self", "self%", width, "total", "total%", last);
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
}

static size_t room_left(const writer *w, size_t used)
{
    return w->look->width > used + 20 ? w->look->width - used : 0;
}

static void put_calls(writer *w, const pt_listing *l, const pt_listing_line *line)
{
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    for (size_t i = 0; i < line->call_count; i++) {
        const pt_listing_call *call = &l->call[line->call_first + i];
        pt_outf(w->out, "%*s %*s %7s  %*s    -> ", w->width + 8, "", w->width,
                pt_value_of(w->unit, call->value).text, "", w->digits, "");
        pt_text_put_name(w->out, w->look, call->name, 0);
        pt_out_text(w->out, call->inlined ? "  (inlined)\n" : "\n");
    }
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
}

static void put_line(writer *w, const pt_listing_line *line)
{
    const size_t before = 2 * ((size_t)w->width + 8) + 3 + (size_t)w->digits + 2;
    const pt_colour colour =
        line->total == 0 && line->self == 0 ? PT_COLOUR_NONE : pt_colour_of_share(line->self_share);
    if (line->after_gap) {
        pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
        pt_outf(w->out, "%*s\n", (int)before - 2, "...");
        pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
    }
    pt_listing_put_values(
        w->out, w->summary, w->width,
        &(pt_listing_values){line->self, line->total, line->self_share, line->total_share});
    if (line->number > 0)
        pt_outf(w->out, "%*lld", w->digits, (long long)line->number);
    else
        pt_outf(w->out, "%*s", w->digits, "?");
    if (line->text != NULL && line->text_size > 0) {
        pt_buf_clear(&w->text);
        pt_put_source(&w->text, line->text, line->text_size);
        pt_out_text(w->out, "  ");
        pt_text_colour(w->out, w->look, colour);
        pt_text_put(w->out, pt_buf_text(&w->text), room_left(w, before));
        pt_text_colour_end(w->out, w->look, colour);
    } else if (line->number == 0) {
        pt_out_text(w->out, "  (no line is known)");
    }
    pt_out_char(w->out, '\n');
}

static void put_function(writer *w, const pt_listing *l, const pt_listing_function *f, bool calls)
{
    pt_listing_put_values(w->out, w->summary, w->width,
                          &(pt_listing_values){f->self, f->total, f->self_share, f->total_share});
    pt_text_colour(w->out, w->look, PT_COLOUR_STRONG);
    pt_text_put_name(w->out, w->look, f->name, 0);
    pt_text_colour_end(w->out, w->look, PT_COLOUR_STRONG);
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    if (f->file[0] != '\0') {
        pt_out_text(w->out, "  ");
        pt_text_put(w->out, f->path != NULL ? f->path : f->file, 0);
    }
    if (f->source_is_newer) pt_out_text(w->out, "  (changed since: lines may have moved)");
    if (f->error != NULL) {
        pt_outf(w->out, "\n%*s  no source: ", 2 * (w->width + 8) + 1, "");
        pt_text_put(w->out, f->error, 0);
    }
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
    pt_out_char(w->out, '\n');
    w->digits = 4;
    for (size_t i = 0; i < f->line_count; i++) {
        int digits = 1;
        for (int64_t n = f->line[i].number; n > 9; n /= 10)
            digits++;
        w->digits = digits > w->digits ? digits : w->digits;
    }
    for (size_t i = 0; i < f->line_count && pt_out_ok(w->out); i++) {
        put_line(w, &f->line[i]);
        if (calls) put_calls(w, l, &f->line[i]);
    }
}

void pt_listing_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                     const pt_listing *listing, bool calls)
{
    pt_report_head_text(out, look, head);
    writer w = {.out = out,
                .summary = &head->summary,
                .look = look,
                .unit = head->summary.unit,
                .width = 6};
    for (size_t i = 0; i < listing->count; i++) {
        pt_value_fit(&w.width, w.unit, listing->function[i].total);
        pt_value_fit(&w.width, w.unit, listing->function[i].self);
        for (size_t k = 0; k < listing->function[i].line_count; k++) {
            pt_value_fit(&w.width, w.unit, listing->function[i].line[k].total);
            pt_value_fit(&w.width, w.unit, listing->function[i].line[k].self);
        }
    }
    pt_listing_put_heading(out, look, w.width, "line and source");
    for (size_t i = 0; i < listing->count && pt_out_ok(out); i++) {
        if (i > 0) pt_out_char(out, '\n');
        put_function(&w, listing, &listing->function[i], calls);
    }
    if (listing->more > 0)
        pt_outf(out, "\n%s more function%s (-n 0)\n", pt_count_of(listing->more).text,
                listing->more == 1 ? "" : "s");
    pt_buf_done(&w.text);
}

/* ---- JSON ---- */

void pt_listing_json_values(pt_json_w *w, const pt_summary *summary, const pt_listing_values *v)
{
    pt_json_key_int(w, "self", v->self);
    pt_json_key_double(w, "self_share", v->self_share);
    pt_json_totals(w, summary, v->total, v->total_share);
}

static void put_json_line(pt_json_w *w, const pt_summary *summary, const pt_listing *l,
                          const pt_listing_line *line)
{
    pt_json_object(w);
    pt_json_key_int(w, "line", line->number);
    pt_listing_json_values(
        w, summary,
        &(pt_listing_values){line->self, line->total, line->self_share, line->total_share});
    pt_json_key_text_n(w, "text", line->text, line->text_size);
    pt_json_key_array(w, "calls");
    for (size_t i = 0; i < line->call_count; i++) {
        const pt_listing_call *call = &l->call[line->call_first + i];
        pt_json_object(w);
        pt_json_key_text(w, "name", call->name);
        pt_json_key_int(w, "value", call->value);
        pt_json_key_bool(w, "inlined", call->inlined);
        pt_json_object_end(w);
    }
    pt_json_array_end(w);
    pt_json_object_end(w);
}

void pt_listing_json(pt_out *out, const pt_report_head *head, const pt_listing *listing)
{
    pt_json_w w;
    pt_json_w_init(&w, out, PT_JSON_INDENT);
    pt_report_head_json(&w, "list", head);
    pt_json_key_array(&w, "functions");
    for (size_t i = 0; i < listing->count && pt_out_ok(out); i++) {
        const pt_listing_function *f = &listing->function[i];
        pt_json_object(&w);
        pt_json_key_text(&w, "name", f->name);
        pt_json_key_text(&w, "file", f->file);
        pt_json_key_text(&w, "path", f->path);
        pt_json_key_text(&w, "error", f->error);
        pt_json_key_bool(&w, "source_is_newer", f->source_is_newer);
        pt_json_key_int(&w, "start_line", f->start_line);
        pt_listing_json_values(
            &w, &head->summary,
            &(pt_listing_values){f->self, f->total, f->self_share, f->total_share});
        pt_json_key_array(&w, "lines");
        for (size_t k = 0; k < f->line_count; k++)
            put_json_line(&w, &head->summary, listing, &f->line[k]);
        pt_json_array_end(&w);
        pt_json_object_end(&w);
    }
    pt_json_array_end(&w);
    pt_json_key_uint(&w, "more", listing->more);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
}

/* ---- CSV ---- */

void pt_listing_csv(pt_out *out, const pt_report_head *head, const pt_listing *listing)
{
    pt_out_text(out, "function,file,line,self,self_share,total,total_share,text\n");
    for (size_t i = 0; i < listing->count && pt_out_ok(out); i++) {
        const pt_listing_function *f = &listing->function[i];
        for (size_t k = 0; k < f->line_count; k++) {
            const pt_listing_line *line = &f->line[k];
            if (line->self == 0 && line->total == 0) continue;
            PT_FREE char *text = pt_strndup(line->text != NULL ? line->text : "", line->text_size);
            pt_csv_put(out, f->name);
            pt_out_char(out, ',');
            pt_csv_put(out, f->file);
            pt_outf(out, ",%lld,%lld,%.6g,", (long long)line->number, (long long)line->self,
                    line->self_share);
            pt_csv_totals(out, &head->summary, line->total, line->total_share);
            pt_out_char(out, ',');
            pt_csv_put(out, text);
            pt_out_char(out, '\n');
        }
    }
}
