/* listing.c: prints a row for each function, then a row for each source line or instruction of the
 * function. */
#include "render/listing.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/units.h"
#include "render/column.h"
#include "render/text.h"
#include "render/value.h"
#include "view/table.h"

#define TAB 8

void pt_put_source(pt_buf *buf, const char *text, size_t size)
{
    size_t column = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '\t') {
            pt_put_u8(buf, (uint8_t)text[i]);
            column += ((unsigned char)text[i] & 0xc0) != 0x80; /* the first byte of a character */
            continue;
        }
        do {
            pt_put_u8(buf, ' ');
        } while (++column % TAB != 0);
    }
}

void pt_put_row_source(pt_buf *buf, const pt_code_row *row)
{
    if (row->source == NULL) return;
    size_t skip = 0;
    while (skip < row->source_size && (row->source[skip] == ' ' || row->source[skip] == '\t'))
        skip++;
    pt_put_text(buf, "  ");
    pt_put_source(buf, row->source + skip, row->source_size - skip);
}

int pt_listing_width(const pt_summary *summary, const pt_code_function *function, size_t count)
{
    int width = 6;
    for (const pt_code_function *f = function; f < function + count; f++) {
        pt_value_fit(&width, summary->unit, f->total);
        pt_value_fit(&width, summary->unit, f->self);
        for (size_t i = 0; i < f->row_count; i++) {
            pt_value_fit(&width, summary->unit, f->row[i].total);
            pt_value_fit(&width, summary->unit, f->row[i].self);
        }
    }
    return width;
}

int pt_listing_digits(const pt_code_function *function)
{
    int digits = 1;
    if (function->row_count > 0) /* numbers ascend */
        for (uint64_t n = function->row[function->row_count - 1].at; n > 9; n /= 10)
            digits++;
    return digits < 4 ? 4 : digits;
}

void pt_listing_put_values(pt_out *out, const pt_summary *summary, int width, int64_t whole,
                           int64_t self, int64_t total)
{
    if (self != 0)
        pt_outf(out, "%*s %7s ", width, pt_value_of(summary->unit, self).text,
                pt_percent_of(pt_share(self, whole)).text);
    else
        pt_outf(out, "%*s ", width + 8, "");
    if (total != 0)
        pt_outf(out, "%*s %7s  ", width, pt_total_of(summary, total).text,
                pt_total_share_of(summary, pt_share(total, whole)).text);
    else
        pt_outf(out, "%*s  ", width + 8, "");
}

/* ---- Text ---- */

typedef struct {
    pt_out *out;
    const pt_look *look;
    const pt_summary *summary;
    const pt_listing *list;
    bool is_code;    /* rows are instructions */
    bool with_calls; /* below each line */
    int width;       /* width of a column of values */
    int digits;      /* width of a line number or an address */
    pt_buf text;
} writer;

/* The number of columns before the text of a row, without the columns of its line number or
 * address. */
static size_t columns_before(const writer *w)
{
    return 2 * ((size_t)w->width + 8) + 3;
}

/* The columns of the terminal that are left for a text after `used` columns; 0 = no limit. */
static size_t room_behind(const writer *w, size_t used)
{
    if (w->look->width == 0) return 0;
    return w->look->width > used + 8 ? w->look->width - used : 8;
}

/* Puts w->text, cut to the columns that the terminal has left after `used` columns. */
static void put_cut_text(writer *w, size_t used, pt_colour colour)
{
    pt_text_colour(w->out, w->look, colour);
    pt_text_put(w->out, pt_buf_text(&w->text), room_behind(w, used));
    pt_text_colour_end(w->out, w->look, colour);
}

static void put_values(writer *w, int64_t self, int64_t total)
{
    pt_listing_put_values(w->out, w->summary, w->width, w->list->whole, self, total);
}

static void put_calls(writer *w, const pt_code_row *row)
{
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    for (size_t i = 0; i < row->call_count; i++) {
        const pt_listing_call *call = &w->list->call[row->call_first + i];
        pt_outf(w->out, "%*s %*s %7s  %*s    -> ", w->width + 8, "", w->width,
                pt_value_of(w->summary->unit, call->value).text, "", w->digits, "");
        const pt_text_fit fit =
            pt_text_fit_row(w->look, columns_before(w) + (size_t)w->digits + 4 + 3, call->name, "",
                            call->inlined ? "  (inlined)" : "");
        pt_text_put_name(w->out, w->look, call->name, fit.name);
        pt_out_text(w->out, call->inlined && fit.has_mark ? "  (inlined)\n" : "\n");
    }
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
}

/* Do two instructions have the same lines in all their frames? */
static bool is_same_place(const pt_code_row *a, const pt_code_row *b)
{
    if (a->frame_count != b->frame_count) return false;
    return !PT_ANY(i, a->frame_count,
                   a->frame[i].line != b->frame[i].line ||
                       strcmp(a->frame[i].file, b->frame[i].file) != 0);
}

/* The middle of a chain of more inlined calls is left out. */
#define LONG_CHAIN 4

/* Puts "; app.cc:28 > square shapes.hh:7  y += x * i;": the symbol's line, then each inlined
 * function and its line, then the innermost source line. */
static void put_place(writer *w, const pt_code_row *row)
{
    if (row->frame_count == 0) return;
    pt_buf_clear(&w->text);
    pt_put_text(&w->text, "; ");
    for (uint32_t i = row->frame_count; i-- > 0;) {
        const pt_code_frame *f = &row->frame[i];
        if (row->frame_count > LONG_CHAIN && i > 1 && i + 1 < row->frame_count) {
            pt_put_text(&w->text, " > ...");
            i = 2;
            continue;
        }
        if (i + 1 < row->frame_count) pt_putf(&w->text, " > %s ", f->brief);
        if (f->file[0] == '\0')
            pt_put_text(&w->text, "?");
        else if (f->line == 0)
            pt_put_text(&w->text, pt_base_name(f->file));
        else
            pt_putf(&w->text, "%s:%" PRId64, pt_base_name(f->file), f->line);
    }
    pt_put_row_source(&w->text, row);
    pt_text_pad(w->out, columns_before(w));
    put_cut_text(w, columns_before(w), PT_COLOUR_QUIET);
    pt_out_char(w->out, '\n');
}

/* Puts a row. before: the row above it, or NULL. */
static void put_row(writer *w, const pt_code_row *row, const pt_code_row *before)
{
    const size_t used = columns_before(w) + (size_t)w->digits + 2;
    const pt_colour colour = row->total == 0 && row->self == 0
                                 ? PT_COLOUR_NONE
                                 : pt_colour_of_share(pt_share(row->self, w->list->whole));
    if (row->after_gap) {
        pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
        pt_outf(w->out, "%*s\n", (int)used - 2, "...");
        pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
    }
    if (w->is_code && (before == NULL || row->after_gap || !is_same_place(row, before)))
        put_place(w, row);
    put_values(w, row->self, row->total);
    if (w->is_code)
        pt_outf(w->out, "%*" PRIx64 "  ", w->digits, row->at);
    else if (row->at > 0)
        pt_outf(w->out, "%*" PRIu64 "%s", w->digits, row->at, row->text_size > 0 ? "  " : "");
    else
        pt_outf(w->out, "%*s  (no line is known)", w->digits, "?");
    if (w->is_code || row->text_size > 0) {
        pt_buf_clear(&w->text);
        pt_put_source(&w->text, row->text, row->text_size);
        put_cut_text(w, used, colour);
    }
    pt_out_char(w->out, '\n');
}

/* Puts a line about a function below its name. */
static void put_remark(writer *w, const char *text)
{
    const size_t indent = w->look->width >= 2 * columns_before(w) ? columns_before(w) : 2;
    pt_text_pad(w->out, indent);
    pt_text_put_wrapped(w->out, w->look, indent, indent, text);
}

/* Puts the name of a function and where it is, and why rows or texts are missing. */
static void put_head(writer *w, const pt_code_function *f)
{
    const bool has_file = w->is_code || f->file[0] != '\0';
    const char *const file = !has_file ? "" : f->path != NULL ? f->path : f->file;
    PT_FREE char *range =
        w->is_code ? pt_strf("  0x%" PRIx64 "-0x%" PRIx64, f->start, f->end) : pt_strdup("");
    const pt_text_fit fit = pt_text_fit_row(w->look, columns_before(w), f->name, file, range);
    pt_text_colour(w->out, w->look, PT_COLOUR_STRONG);
    pt_text_put_name(w->out, w->look, f->name, fit.name);
    pt_text_colour_end(w->out, w->look, PT_COLOUR_STRONG);
    pt_text_colour(w->out, w->look, PT_COLOUR_QUIET);
    if (fit.has_place) pt_out_text(w->out, "  ");
    if (fit.has_place) pt_text_put(w->out, file, fit.place);
    if (fit.has_mark) pt_out_text(w->out, range);
    pt_out_char(w->out, '\n');
    if (f->source_is_newer)
        put_remark(w, "the file is newer than the profile: lines may have moved");
    PT_FREE char *error =
        f->error != NULL && !w->is_code ? pt_strf("no source: %s", f->error) : NULL;
    if (f->error != NULL) put_remark(w, error != NULL ? error : f->error);
    pt_text_colour_end(w->out, w->look, PT_COLOUR_QUIET);
}

static void put_function(writer *w, const pt_code_function *f)
{
    put_values(w, f->self, f->total);
    put_head(w, f);
    w->digits = pt_listing_digits(f);
    if (w->is_code) {
        w->digits = 4;
        for (uint64_t n = f->end >> 16; n > 0; n >>= 4)
            w->digits++;
    }
    for (size_t i = 0; i < f->row_count && pt_out_ok(w->out); i++) {
        put_row(w, &f->row[i], i > 0 ? &f->row[i - 1] : NULL);
        if (w->with_calls) put_calls(w, &f->row[i]);
    }
}

/* The functions that the text and JSON show. */
static const pt_code_function *shown_functions(const pt_listing *l, size_t *ret_count,
                                               size_t *ret_more)
{
    const bool is_code = l->count == 0;
    *ret_count = is_code ? l->symbol_count : l->count;
    *ret_more = is_code ? l->symbols_more : l->more;
    return is_code ? l->symbol : l->function;
}

void pt_listing_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                     const pt_listing *listing, bool with_calls)
{
    size_t count, more;
    const pt_code_function *const function = shown_functions(listing, &count, &more);
    writer w = {.out = out,
                .look = look,
                .summary = &head->summary,
                .list = listing,
                .is_code = listing->count == 0,
                .with_calls = with_calls,
                .width = pt_listing_width(&head->summary, function, count)};
    pt_report_head_text(out, look, head);
    pt_text_colour(out, look, PT_COLOUR_STRONG);
    pt_outf(out, "%*s %7s %*s %7s  %s\n", w.width, "self", "self%", w.width, "total", "total%",
            w.is_code ? "address and instruction" : "line and source");
    pt_text_colour_end(out, look, PT_COLOUR_STRONG);
    for (size_t i = 0; i < count && pt_out_ok(out); i++) {
        if (i > 0) pt_out_char(out, '\n');
        put_function(&w, &function[i]);
    }
    if (more > 0) pt_outf(out, "\n%s (-n 0)\n", pt_count_noun(more, "more functions").text);
    pt_buf_done(&w.text);
}

/* ---- JSON and CSV ---- */

/* A line, an instruction or a function with its values. Members that only one of these kinds has
 * are listed separately. */
typedef struct {
    const char *function, *file, *text;
    uint64_t line;
    int64_t self, total;
    double self_share, total_share;
} shown_row;

static const pt_column columns[] = {
    PT_COLUMN("function", NULL, TEXT, shown_row, function, .marks = PT_CSV_ONLY),
    PT_COLUMN("file", NULL, TEXT, shown_row, file, .marks = PT_CSV_ONLY),
    PT_COLUMN("line", NULL, COUNT, shown_row, line, .marks = PT_CSV_ONLY),
    PT_COLUMN("self", NULL, VALUE, shown_row, self),
    PT_COLUMN("self_share", NULL, SHARE, shown_row, self_share),
    PT_COLUMN("total", NULL, VALUE, shown_row, total, .is_known = pt_totals_known),
    PT_COLUMN("total_share", NULL, SHARE, shown_row, total_share, .is_known = pt_totals_known),
    PT_COLUMN("text", NULL, TEXT, shown_row, text, .marks = PT_CSV_ONLY),
};

static shown_row row_with(const pt_listing *l, int64_t self, int64_t total)
{
    return (shown_row){.self = self,
                       .total = total,
                       .self_share = pt_share(self, l->whole),
                       .total_share = pt_share(total, l->whole)};
}

typedef struct {
    pt_json_w json;
    pt_columns columns;
    const pt_listing *list;
} json_writer;

static void put_json_values(json_writer *w, int64_t self, int64_t total)
{
    const shown_row row = row_with(w->list, self, total);
    pt_columns_json(&w->json, &w->columns, &row);
}

static void put_json_line(json_writer *w, const pt_code_row *row)
{
    pt_json_w *const json = &w->json;
    pt_json_key_uint(json, "line", row->at);
    put_json_values(w, row->self, row->total);
    pt_json_key_text_n(json, "text", row->text, row->text_size);
    PT_JSON_OBJECTS (json, "calls", i, row->call_count) {
        const pt_listing_call *call = &w->list->call[row->call_first + i];
        pt_json_key_text(json, "name", call->name);
        pt_json_key_int(json, "value", call->value);
        pt_json_key_bool(json, "inlined", call->inlined);
    }
}

static void put_json_instruction(json_writer *w, const pt_code_row *row)
{
    pt_json_w *const json = &w->json;
    pt_json_key_hex(json, "address", row->at);
    pt_json_key_uint(json, "size", row->size_bytes);
    pt_json_key_text_n(json, "text", row->text, row->text_size);
    put_json_values(w, row->self, row->total);
    PT_JSON_OBJECTS (json, "frames", i, row->frame_count) {
        pt_json_key_text(json, "function", row->frame[i].function);
        pt_json_key_text(json, "file", row->frame[i].file);
        pt_json_key_int(json, "line", row->frame[i].line);
    }
}

static void put_json_function(json_writer *w, const pt_code_function *f)
{
    pt_json_w *const json = &w->json;
    const bool is_code = w->list->count == 0;
    pt_json_object(json);
    pt_json_key_text(json, "name", f->name);
    pt_json_key_text(json, is_code ? "linkage_name" : "file", is_code ? f->linkage_name : f->file);
    pt_json_key_text(json, "path", f->path);
    if (is_code) {
        pt_json_key_hex(json, "start", f->start);
        pt_json_key_hex(json, "end", f->end);
    }
    pt_json_key_text(json, "error", f->error);
    if (!is_code) {
        pt_json_key_bool(json, "source_is_newer", f->source_is_newer);
        pt_json_key_int(json, "start_line", f->start_line);
    }
    put_json_values(w, f->self, f->total);
    PT_JSON_OBJECTS (json, is_code ? "instructions" : "lines", i, f->row_count) {
        if (is_code)
            put_json_instruction(w, &f->row[i]);
        else
            put_json_line(w, &f->row[i]);
    }
    pt_json_object_end(json);
}

static pt_columns columns_of(const pt_report_head *head)
{
    return (pt_columns){PT_COLUMNS(columns), .unit = head->summary.unit,
                        .totals_known = head->summary.has_stacks};
}

void pt_listing_json(pt_out *out, const pt_report_head *head, const pt_listing *listing)
{
    size_t count, more;
    const pt_code_function *const function = shown_functions(listing, &count, &more);
    json_writer w = {.columns = columns_of(head), .list = listing};
    pt_json_w_init(&w.json, out, PT_JSON_INDENT);
    pt_report_head_json(&w.json, listing->count == 0 ? "disasm" : "list", head);
    PT_JSON_EACH (&w.json, "functions", i, count)
        put_json_function(&w, &function[i]);
    pt_json_key_uint(&w.json, "more", more);
    pt_json_object_end(&w.json);
    pt_json_w_done(&w.json);
}

void pt_listing_csv(pt_out *out, const pt_report_head *head, const pt_listing *listing)
{
    const pt_columns c = columns_of(head);
    pt_columns_csv_head(out, &c);
    for (size_t i = 0; i < listing->count && pt_out_ok(out); i++) {
        const pt_code_function *f = &listing->function[i];
        for (const pt_code_row *row = f->row; row < f->row + f->row_count; row++) {
            if (row->self == 0 && row->total == 0) continue;
            PT_FREE char *text = pt_strndup(row->text != NULL ? row->text : "", row->text_size);
            shown_row shown = row_with(listing, row->self, row->total);
            shown.function = f->name;
            shown.file = f->file;
            shown.line = row->at;
            shown.text = text;
            pt_columns_csv(out, &c, &shown);
        }
    }
}
