/* weblist.c: the page. Its rows are text that lines up, as the terminal's, in elements that open.
 */
#include "render/weblist.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/xml.h"
#include "render/embed.h"
#include "render/listing.h"
#include "render/policy.h"
#include "render/text.h"
#include "render/value.h"

typedef struct {
    pt_out *out;
    const pt_weblist *list;
    const pt_summary *summary;
    const char *unit;
    int width;  /* of a value's column */
    int digits; /* of a line number's */
    size_t next_piece;
    pt_buf text;
} writer;

static void put_escaped(pt_out *out, const char *text)
{
    pt_xml_text(out, text, strlen(text));
}

/* What stands in w->text, escaped. */
static void flush_text(writer *w)
{
    pt_xml_text(w->out, pt_buf_text(&w->text), w->text.size);
    pt_buf_clear(&w->text);
}

static void add_values(writer *w, const pt_listing_values *v)
{
    pt_out to;
    pt_out_to_buf(&to, &w->text);
    pt_listing_put_values(&to, w->summary, w->width, v);
    pt_out_done(&to, NULL);
}

static int heat_of(double share)
{
    const double x = share < 0 ? -share : share;
    return x >= 0.2 ? 4 : x >= 0.08 ? 3 : x >= 0.02 ? 2 : x > 0 ? 1 : 0;
}

/* ---- Instructions of a line ---- */

static const pt_disasm_line *instruction_of(const writer *w, const pt_weblist_piece *piece)
{
    return &w->list->code.function[piece->symbol].line[piece->at];
}

static bool same_frame(const pt_code_frame *a, const pt_code_frame *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           strcmp(a->linkage_name, b->linkage_name) == 0;
}

/* How many of what is inlined at a piece, from the outermost on, is so at the one before, too. */
static uint32_t shared_depth(const writer *w, const pt_weblist_piece *piece,
                             const pt_weblist_piece *before)
{
    if (before == NULL || before->symbol != piece->symbol) return 0;
    const pt_disasm_line *a = instruction_of(w, piece), *b = instruction_of(w, before);
    uint32_t depth = 0;
    while (depth < piece->frame && depth < before->frame &&
           same_frame(&a->frame[piece->frame - 1 - depth], &b->frame[before->frame - 1 - depth]))
        depth++;
    return depth;
}

#define INDENT 2

/* "> square shapes.hh:7": calls that are inlined here, each deeper than the one before. */
static void put_inlined(writer *w, const pt_weblist_piece *piece, uint32_t depth)
{
    const pt_disasm_line *in = instruction_of(w, piece);
    for (; depth < piece->frame; depth++) {
        const pt_code_frame *f = &in->frame[piece->frame - 1 - depth];
        pt_putf(&w->text, "%*s", 2 * (w->width + 8) + 3 + w->digits + 2 + INDENT * (int)depth, "");
        pt_putf(&w->text, "> %s  %s:%u", f->brief, pt_base_name(f->file), f->line);
        if (depth + 1 == piece->frame && in->source != NULL) {
            size_t skip = 0;
            while (skip < in->source_size && (in->source[skip] == ' ' || in->source[skip] == '\t'))
                skip++;
            pt_put_text(&w->text, "  ");
            pt_put_source(&w->text, in->source + skip, in->source_size - skip);
        }
        pt_out_text(w->out, "<div class=\"a c\">");
        flush_text(w);
        pt_out_text(w->out, "</div>\n");
    }
}

static void put_instruction(writer *w, const pt_weblist_piece *piece,
                            const pt_weblist_piece *before)
{
    const pt_disasm_line *in = instruction_of(w, piece);
    if (before != NULL) {
        const pt_disasm_line *last = instruction_of(w, before);
        const bool follows =
            before->symbol == piece->symbol && last->addr + last->size_bytes == in->addr;
        if (!follows)
            pt_outf(w->out, "<div class=\"a q\">%*s</div>\n", 2 * (w->width + 8) + 3 + w->digits,
                    "...");
    }
    put_inlined(w, piece, shared_depth(w, piece, before));
    add_values(w, &(pt_listing_values){in->self, in->total, in->self_share, in->total_share});
    pt_putf(&w->text, "%*s%*s%6" PRIx64 "  ", w->digits + 2, "", INDENT * (int)piece->frame, "",
            in->addr);
    pt_put_source(&w->text, in->text, strlen(in->text));
    pt_outf(w->out, "<div class=\"a h%d\">", heat_of(in->self_share));
    flush_text(w);
    pt_out_text(w->out, "</div>\n");
}

/* ---- Lines ---- */

static void add_line(writer *w, const pt_listing_line *line)
{
    add_values(w,
               &(pt_listing_values){line->self, line->total, line->self_share, line->total_share});
    if (line->number > 0)
        pt_putf(&w->text, "%*" PRId64 "  ", w->digits, line->number);
    else
        pt_putf(&w->text, "%*s  (no line is known)", w->digits, "?");
    if (line->text != NULL) pt_put_source(&w->text, line->text, line->text_size);
}

/* The pieces of a line are the next ones, in the order of the lines. */
static void put_line(writer *w, uint32_t function, uint32_t at)
{
    const pt_listing_line *line = &w->list->listing.function[function].line[at];
    const pt_weblist_piece *pieces = w->list->piece;
    const size_t first = w->next_piece;
    while (w->next_piece < w->list->piece_count && pieces[w->next_piece].function == function &&
           pieces[w->next_piece].line == at)
        w->next_piece++;
    const bool has_value = line->self != 0 || line->total != 0;
    const int heat = heat_of(line->self_share);
    if (line->after_gap)
        pt_outf(w->out, "<div class=\"r q\">%*s</div>\n", 2 * (w->width + 8) + 3 + w->digits,
                "...");
    add_line(w, line);
    if (w->next_piece == first) {
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
    for (size_t i = first; i < w->next_piece && pt_out_ok(w->out); i++)
        put_instruction(w, &pieces[i], i > first ? &pieces[i - 1] : NULL);
    pt_out_text(w->out, "</details>\n");
}

static void put_function(writer *w, uint32_t function)
{
    const pt_listing_function *f = &w->list->listing.function[function];
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
    w->digits = 4;
    for (size_t i = 0; i < f->line_count; i++) {
        int digits = 1;
        for (int64_t n = f->line[i].number; n > 9; n /= 10)
            digits++;
        w->digits = digits > w->digits ? digits : w->digits;
    }
    pt_out_text(w->out, "<div class=\"code\">\n");
    for (size_t i = 0; i < f->line_count && pt_out_ok(w->out); i++)
        put_line(w, function, (uint32_t)i);
    pt_out_text(w->out, "</div></section>\n");
}

/* ---- The page ---- */

/* A link a function, with its values. */
static void put_contents(writer *w)
{
    const pt_listing *l = &w->list->listing;
    pt_outf(w->out,
            "<nav aria-label=\"functions\"><div class=\"r q\">%*s %7s %*s %7s  function</div>",
            w->width, "self", "self%", w->width, "total", "total%");
    for (size_t i = 0; i < l->count; i++) {
        const pt_listing_function *f = &l->function[i];
        add_values(w, &(pt_listing_values){f->self, f->total, f->self_share, f->total_share});
        pt_put_text(&w->text, f->name);
        if (f->file[0] != '\0') pt_putf(&w->text, "  %s", pt_base_name(f->file));
        pt_outf(w->out, "<a class=\"r h%d\" href=\"#f%zu\">", heat_of(f->self_share), i);
        flush_text(w);
        pt_out_text(w->out, "</a>\n");
    }
    if (l->more > 0)
        pt_outf(w->out, "<p class=\"note\">%s more function%s: --functions=0 shows all</p>\n",
                pt_count_of(l->more).text, l->more == 1 ? "" : "s");
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

void pt_weblist_html(pt_out *out, const pt_report_head *head, const pt_weblist *list)
{
    writer w = {.out = out,
                .list = list,
                .summary = &head->summary,
                .unit = head->summary.unit,
                .width = 6,
                .text = PT_BUF_INIT};
    const pt_listing *l = &list->listing;
    for (size_t i = 0; i < l->count; i++) {
        pt_value_fit(&w.width, w.unit, l->function[i].total);
        pt_value_fit(&w.width, w.unit, l->function[i].self);
        for (size_t k = 0; k < l->function[i].line_count; k++)
            pt_value_fit(&w.width, w.unit, l->function[i].line[k].total);
    }
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
