/* weblist.c: the page. Its rows are text that lines up, as the terminal's, in elements that open.
 */
#include "render/weblist.h"

#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "render/listing.h"
#include "render/text.h"
#include "render/value.h"
#include "render/xml.h"

/* Light and dark, by what the reader's system says. --hot is mixed in by how much a line takes. */
static const char style[] =
    ":root{color-scheme:light dark;--fg:#1b1f24;--bg:#fff;--quiet:#6a737d;--line:#e3e6ea;"
    "--asm:#0b5a3c;--call:#1f4f9c;--hot:255,120,40}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#d8dce2;--bg:#15181c;--quiet:#8b949e;"
    "--line:#2a2f36;--asm:#7fd1a8;--call:#8db8ff;--hot:255,110,40}}\n"
    "body{margin:0;color:var(--fg);background:var(--bg);font:14px/1.45 system-ui,sans-serif}\n"
    "header,section,nav{padding:0 1.2em}\n"
    "header pre{color:var(--quiet);margin:.2em 0 1em}\n"
    "h1{font-size:1.3em;margin:.8em 0 .2em}\n"
    "h2{font-size:1.05em;margin:1.6em 0 .4em;padding-top:.6em;border-top:1px solid var(--line)}\n"
    "h2 span,.note{color:var(--quiet);font-weight:normal}\n"
    "pre,.r,summary,.a{font:12.5px/1.5 ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}\n"
    "nav a{color:inherit;text-decoration:none;display:block}\n"
    "nav a:hover,nav a:focus{background:var(--line)}\n"
    ".r,summary,.a{white-space:pre;min-width:max-content}\n"
    ".code{overflow-x:auto}\n"
    "summary{cursor:pointer;list-style:none}\n"
    "summary::-webkit-details-marker{display:none}\n"
    "summary::before,.r::before,.a::before{display:inline-block;width:2ch;content:''}\n"
    "summary::before{content:'\\25b8';color:var(--quiet)}\n"
    "details[open]>summary::before{content:'\\25be'}\n"
    "summary:hover,summary:focus-visible{background:var(--line)}\n"
    ".q{color:var(--quiet)}\n"
    ".a{color:var(--asm)}.a.c{color:var(--call)}\n"
    ".h1{background:rgba(var(--hot),.08)}.h2{background:rgba(var(--hot),.16)}\n"
    ".h3{background:rgba(var(--hot),.28)}.h4{background:rgba(var(--hot),.45)}\n"
    "kbd{border:1px solid var(--line);border-radius:3px;padding:0 .35em;font-size:.9em}\n"
    "@media print{details>*{display:block}}\n";

/* n and p: the next and the previous line with samples; e and c: open and close all. */
static const char script[] =
    "(function(){\n"
    "  var hot=[].slice.call(document.querySelectorAll('[data-hot]')),at=-1;\n"
    "  function go(step){\n"
    "    if(!hot.length)return;\n"
    "    at=(at+step+hot.length)%hot.length;\n"
    "    var row=hot[at];\n"
    "    (row.querySelector('summary')||row).focus({preventScroll:true});\n"
    "    row.scrollIntoView({block:'center'});\n"
    "  }\n"
    "  function all(open){\n"
    "    document.querySelectorAll('details').forEach(function(d){d.open=open;});\n"
    "  }\n"
    "  document.addEventListener('focusin',function(e){\n"
    "    var row=e.target.closest('[data-hot]');\n"
    "    if(row)at=hot.indexOf(row);\n"
    "  });\n"
    "  document.addEventListener('keydown',function(e){\n"
    "    if(e.ctrlKey||e.metaKey||e.altKey)return;\n"
    "    if(e.key==='n')go(1);\n"
    "    else if(e.key==='p')go(at<0?0:-1);\n"
    "    else if(e.key==='e')all(true);\n"
    "    else if(e.key==='c')all(false);\n"
    "  });\n"
    "})();\n";

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
                        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    put_escaped(w->out, head->title);
    pt_outf(w->out, " - pitot weblist</title>\n<style>\n%s</style></head>\n<body><header><h1>",
            style);
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
    pt_outf(out, "</main>\n<script>\n%s</script></body></html>\n", script);
    pt_buf_done(&w.text);
}
