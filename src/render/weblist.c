/* weblist.c: writes the page. A row is text in columns, as on a terminal. A source line with
 * instructions is an element that opens to show them. */
#include "render/weblist.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/units.h"
#include "base/xml.h"
#include "render/embed.h"
#include "render/listing.h"
#include "render/policy.h"
#include "view/table.h"

typedef struct {
    pt_out *out;
    const pt_listing *list;
    const pt_summary *summary;
    int width;  /* of a value's column */
    int digits; /* of a line number's */
    pt_buf text;
} writer;

static void put_escaped(pt_out *out, const char *text)
{
    pt_xml_text(out, text, strlen(text));
}

/* Puts w->text, escaped, and empties it. */
static void flush_text(writer *w)
{
    pt_xml_text(w->out, pt_buf_text(&w->text), w->text.size);
    pt_buf_clear(&w->text);
}

static void add_values(writer *w, int64_t self, int64_t total)
{
    pt_out to;
    pt_out_to_buf(&to, &w->text);
    pt_listing_put_values(&to, w->summary, w->width, w->list->whole, self, total);
    pt_out_done(&to, NULL);
}

/* The class of a row's colour: 0 cold to 4 hot. */
static int heat_of(const writer *w, int64_t self)
{
    const double share = pt_share(self, w->list->whole), x = share < 0 ? -share : share;
    return x >= 0.2 ? 4 : x >= 0.08 ? 3 : x >= 0.02 ? 2 : x > 0 ? 1 : 0;
}

/* The number of columns before a line's text, without the columns of the line's number. */
static int columns_before(const writer *w)
{
    return 2 * (w->width + 8) + 3;
}

/* ---- Instructions of a line ---- */

static const pt_code_row *instruction_of(const writer *w, const pt_listing_piece *piece)
{
    return &w->list->symbol[piece->symbol].row[piece->at];
}

static bool is_same_frame(const pt_code_frame *a, const pt_code_frame *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->linkage_name, b->linkage_name) == 0;
}

/* The number of inlined calls, from the outermost on, that a piece shares with the piece before. */
static uint32_t shared_depth(const writer *w, const pt_listing_piece *piece,
                             const pt_listing_piece *before)
{
    if (before == NULL || before->symbol != piece->symbol) return 0;
    const pt_code_row *a = instruction_of(w, piece), *b = instruction_of(w, before);
    uint32_t depth = 0;
    while (depth < piece->frame && depth < before->frame &&
           is_same_frame(&a->frame[piece->frame - 1 - depth], &b->frame[before->frame - 1 - depth]))
        depth++;
    return depth;
}

#define INDENT 2

/* Puts "> square shapes.hh:7": the inlined calls from `depth` on, each indented more than its
 * caller. */
static void put_inlined(writer *w, const pt_listing_piece *piece, uint32_t depth)
{
    const pt_code_row *in = instruction_of(w, piece);
    for (; depth < piece->frame; depth++) {
        const pt_code_frame *f = &in->frame[piece->frame - 1 - depth];
        pt_putf(&w->text, "%*s", columns_before(w) + w->digits + 2 + INDENT * (int)depth, "");
        pt_putf(&w->text, "> %s  %s:%" PRId64, f->brief, pt_base_name(f->file), f->line);
        if (depth + 1 == piece->frame) pt_put_row_source(&w->text, in);
        pt_out_text(w->out, "<div class=\"a c\">");
        flush_text(w);
        pt_out_text(w->out, "</div>\n");
    }
}

static void put_instruction(writer *w, const pt_listing_piece *piece,
                            const pt_listing_piece *before)
{
    const pt_code_row *in = instruction_of(w, piece);
    if (before != NULL) {
        const pt_code_row *last = instruction_of(w, before);
        const bool follows =
            before->symbol == piece->symbol && last->at + last->size_bytes == in->at;
        if (!follows)
            pt_outf(w->out, "<div class=\"a q\">%*s</div>\n", columns_before(w) + w->digits, "...");
    }
    put_inlined(w, piece, shared_depth(w, piece, before));
    add_values(w, in->self, in->total);
    pt_putf(&w->text, "%*s%*s%6" PRIx64 "  ", w->digits + 2, "", INDENT * (int)piece->frame, "",
            in->at);
    pt_put_source(&w->text, in->text, in->text_size);
    pt_outf(w->out, "<div class=\"a h%d\">", heat_of(w, in->self));
    flush_text(w);
    pt_out_text(w->out, "</div>\n");
}

/* ---- Lines ---- */

static void add_line(writer *w, const pt_code_row *line)
{
    add_values(w, line->self, line->total);
    if (line->at > 0)
        pt_putf(&w->text, "%*" PRIu64 "  ", w->digits, line->at);
    else
        pt_putf(&w->text, "%*s  (no line is known)", w->digits, "?");
    if (line->text != NULL) pt_put_source(&w->text, line->text, line->text_size);
}

static void put_line(writer *w, const pt_code_row *line)
{
    const pt_listing_piece *piece = w->list->piece + line->piece_first;
    const bool has_value = line->self != 0 || line->total != 0;
    const int heat = heat_of(w, line->self);
    if (line->after_gap)
        pt_outf(w->out, "<div class=\"r q\">%*s</div>\n", columns_before(w) + w->digits, "...");
    add_line(w, line);
    if (line->piece_count == 0) {
        pt_outf(w->out, "<div class=\"r h%d%s\"%s>", heat, has_value ? "" : " q",
                has_value ? " data-hot tabindex=\"0\"" : "");
        flush_text(w);
        pt_out_text(w->out, "</div>\n");
        return;
    }
    pt_outf(w->out, "<details%s><summary class=\"h%d%s\">", has_value ? " data-hot" : "", heat,
            has_value ? "" : " q");
    flush_text(w);
    pt_out_text(w->out, "</summary>\n");
    for (size_t i = 0; i < line->piece_count && pt_out_ok(w->out); i++)
        put_instruction(w, &piece[i], i > 0 ? &piece[i - 1] : NULL);
    pt_out_text(w->out, "</details>\n");
}

static void put_function(writer *w, uint32_t function)
{
    const pt_code_function *f = &w->list->function[function];
    pt_outf(w->out, "<section id=\"f%u\"><h2>", function);
    put_escaped(w->out, f->name);
    pt_out_text(w->out, " <span>");
    put_escaped(w->out, f->path != NULL ? f->path : f->file);
    pt_out_text(w->out, "</span></h2>\n");
    if (f->error != NULL) {
        pt_out_text(w->out, "<p class=\"note\">no source: ");
        put_escaped(w->out, f->error);
        pt_out_text(w->out, "</p>\n");
    }
    if (f->source_is_newer)
        pt_out_text(w->out, "<p class=\"note\">The source was changed after the profile was "
                            "taken: lines may have moved.</p>\n");
    w->digits = pt_listing_digits(f);
    pt_out_text(w->out, "<div class=\"code\">\n");
    for (size_t i = 0; i < f->row_count && pt_out_ok(w->out); i++)
        put_line(w, &f->row[i]);
    pt_out_text(w->out, "</div></section>\n");
}

/* ---- The page ---- */

/* Puts a link for each function, with its values. */
static void put_contents(writer *w)
{
    const pt_listing *l = w->list;
    pt_outf(w->out,
            "<nav aria-label=\"functions\"><div class=\"r q\">%*s %7s %*s %7s  function</div>",
            w->width, "self", "self%", w->width, "total", "total%");
    for (size_t i = 0; i < l->count; i++) {
        const pt_code_function *f = &l->function[i];
        add_values(w, f->self, f->total);
        pt_put_text(&w->text, f->name);
        if (f->file[0] != '\0') pt_putf(&w->text, "  %s", pt_base_name(f->file));
        pt_outf(w->out, "<a class=\"r h%d\" href=\"#f%zu\">", heat_of(w, f->self), i);
        flush_text(w);
        pt_out_text(w->out, "</a>\n");
    }
    if (l->more > 0)
        pt_outf(w->out, "<p class=\"note\">%s: --functions=0 shows all</p>\n",
                pt_count_noun(l->more, "more functions").text);
    pt_out_text(w->out, "</nav>\n");
}

static void put_head(writer *w, const pt_report_head *head)
{
    static const pt_look plain = {0};
    pt_out_text(w->out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    pt_out_text(w->out, pt_policy_weblist);
    pt_out_text(w->out, "\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    put_escaped(w->out, head->title);
    pt_out_text(w->out, " - pitot weblist</title>\n<style>");
    pt_out_put(w->out, pt_embed_weblist_css,
               (size_t)(pt_embed_weblist_css_end - pt_embed_weblist_css));
    pt_out_text(w->out, "</style></head>\n<body><header><h1>");
    put_escaped(w->out, head->title);
    pt_out_text(w->out, "</h1>\n<pre>");
    pt_out to;
    pt_out_to_buf(&to, &w->text);
    pt_report_head_text(&to, &plain, head);
    pt_out_done(&to, NULL);
    while (w->text.size > 0 && w->text.data[w->text.size - 1] == '\n')
        w->text.size--;
    flush_text(w);
    pt_out_text(w->out, "</pre>\n<p class=\"note\"><kbd>Enter</kbd> opens a line's instructions, "
                        "<kbd>n</kbd> <kbd>p</kbd> go to the next and previous line with "
                        "samples, <kbd>e</kbd> <kbd>c</kbd> open and close all.</p></header>\n");
}

void pt_weblist_html(pt_out *out, const pt_report_head *head, const pt_listing *l)
{
    writer w = {.out = out,
                .list = l,
                .summary = &head->summary,
                .width = pt_listing_width(&head->summary, l->function, l->count)};
    put_head(&w, head);
    put_contents(&w);
    pt_out_text(out, "<main>\n");
    for (size_t i = 0; i < l->count && pt_out_ok(out); i++)
        put_function(&w, (uint32_t)i);
    pt_out_text(out, "</main>\n<script>");
    pt_out_put(out, pt_embed_weblist_js, (size_t)(pt_embed_weblist_js_end - pt_embed_weblist_js));
    pt_out_text(out, "</script></body></html>\n");
    pt_buf_done(&w.text);
}
