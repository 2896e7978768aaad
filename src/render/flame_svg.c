/* flame_svg.c: the boxes as SVG.
 *
 *   <svg>  style  background  title  facts
 *     <g class="b KIND"><title>name, numbers, place</title><rect class="cN"/><text>label</text></g>
 * ... script </svg>
 *
 * Labels have a monospaced font. They are cut by a width of characters that is larger than in any
 * common font, so that labels fit whatever font the viewer has. Colours are classes of
 * flame_svg.css.
 */
#include "render/flame_svg.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"
#include "base/xml.h"
#include "render/embed.h"

#define MARGIN_PX     10
#define INSIDE_PX     (PT_FLAME_SVG_WIDTH_PX - 2 * MARGIN_PX)
#define ROW_PX        18
#define HEADER_PX     76
#define CONTROLS_Y    64 /* baseline of the line where the script puts its controls */
#define BASELINE_PX   12.5
#define CHARACTER_PX  6.75 /* a little more than 0.602 em of a font of 11 px */
#define PADDING_PX    4
#define LEAST_PX      0.25
#define CHANGE_STEPS  8 /* as in web/src/palette.ts */
#define NARROW_BAR_PX 4
#define NARROW_PX     3 /* narrower boxes have no edge, since an edge would cover them */

typedef struct {
    pt_out *out;
    const pt_flame *flame;
    const pt_report_head *head;
    double scale; /* pixels per unit */
} drawing;

static const char *const kind_class[] = {
    [PT_FLAME_FUNCTION] = "b",
    [PT_FLAME_INLINED] = "b inlined",
    [PT_FLAME_KERNEL] = "b kernel",
    [PT_FLAME_UNRESOLVED] = "b unresolved",
};

/* ---- text ---- */

/* The number of columns of the character at text[*at]; *at moves to the next character. East Asian
 * scripts and most symbols take two columns. */
static unsigned next_columns(const char *text, size_t bytes, size_t *at)
{
    uint32_t code;
    int valid;
    *at += pt_utf8_decode((const uint8_t *)text + *at, bytes - *at, &code, &valid);
    return code >= 0x1100 ? 2 : 1;
}

static bool fits_columns(const char *text, size_t bytes, unsigned room)
{
    unsigned columns = 0;
    for (size_t at = 0; at < bytes && columns <= room;)
        columns += next_columns(text, bytes, &at);
    return columns <= room;
}

/* Puts as much of the text as fits in `room` columns, with "…" where the text is cut. Puts nothing
 * if fewer than three characters fit. */
static void put_fitting(pt_out *out, const char *text, size_t bytes, unsigned room)
{
    if (fits_columns(text, bytes, room)) {
        pt_xml_text(out, text, bytes);
        return;
    }
    unsigned columns = 0, count = 0;
    size_t kept = 0;
    for (size_t at = 0; at < bytes; count++) {
        columns += next_columns(text, bytes, &at);
        if (columns >= room) break;
        kept = at;
    }
    if (count < 3) return;
    pt_xml_text(out, text, kept);
    pt_out_text(out, "…");
}

static unsigned columns_in(double px)
{
    return px > 0 ? (unsigned)(px / CHARACTER_PX) : 0;
}

/* Puts a name as one line, since the script reads it from the first line of a box's title. */
static void put_name(const drawing *d, uint32_t string)
{
    const char *text = pt_flame_text(d->flame, string);
    const size_t bytes = pt_flame_text_bytes(d->flame, string);
    for (size_t from = 0; from < bytes;) {
        size_t to = from;
        while (to < bytes && text[to] != '\n' && text[to] != '\r')
            to++;
        pt_xml_text(d->out, text + from, to - from);
        if (to < bytes) pt_out_char(d->out, ' ');
        from = to + 1;
    }
}

/* ---- boxes ---- */

static void put_numbers(const drawing *d, const char *what, int64_t value)
{
    const pt_flame *f = d->flame;
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_put_value(&text, value, pt_flame_text(f, f->event_unit), NULL, PT_STYLE_SHORT);
    pt_outf(d->out, "\n%s ", what);
    pt_xml_text(d->out, (const char *)text.data, text.size);
    pt_outf(d->out, " (%.2f%%)", f->whole > 0 ? 100.0 * (double)value / (double)f->whole : 0);
}

/* For a difference: puts the values of both sides. both: the sum of the two values; before: the
 * base's value. */
static void put_sides(const drawing *d, const char *what, int64_t both, int64_t before)
{
    const char *const unit = pt_flame_text(d->flame, d->flame->event_unit);
    const int64_t after = both - before;
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_putf(&text, "\n%s ", what);
    pt_put_value(&text, before, unit, NULL, PT_STYLE_SHORT);
    pt_put_text(&text, " -> ");
    pt_put_value(&text, after, unit, NULL, PT_STYLE_SHORT);
    pt_put_text(&text, after > before ? " (+" : " (");
    pt_put_value(&text, after - before, unit, NULL, PT_STYLE_SHORT);
    pt_put_u8(&text, ')');
    pt_xml_text(d->out, (const char *)text.data, text.size);
}

static void put_totals(const drawing *d, uint32_t node)
{
    const pt_flame *f = d->flame;
    const bool is_known = d->head->summary.has_stacks || node == 0;
    if (f->total_base != NULL) {
        if (is_known) put_sides(d, "total", f->node_total[node], f->total_base[node]);
        put_sides(d, "self", f->self[node], f->self_base[node]);
        return;
    }
    if (is_known)
        put_numbers(d, "total", f->node_total[node]);
    else
        pt_out_text(d->out, "\ntotal -");
    put_numbers(d, "self", f->self[node]);
}

static void put_hover(const drawing *d, uint32_t node)
{
    const pt_flame *f = d->flame;
    const pt_flame_frame *frame = &f->frame[f->node_frame[node]];
    pt_out_text(d->out, "<title>");
    put_name(d, frame->name);
    put_totals(d, node);
    if (frame->file != 0) {
        pt_out_char(d->out, '\n');
        pt_xml_text(d->out, pt_flame_text(d->flame, frame->file),
                    pt_flame_text_bytes(d->flame, frame->file));
        if (frame->line > 0) pt_outf(d->out, ":%lld", (long long)frame->line);
    }
    if (frame->kind == PT_FLAME_INLINED) pt_out_text(d->out, "\ninlined");
    pt_out_text(d->out, "</title>");
}

/* Puts the name or, if the name is too long, its last part. */
static void put_label(const drawing *d, uint32_t string, unsigned room)
{
    const char *text = pt_flame_text(d->flame, string);
    size_t bytes = pt_flame_text_bytes(d->flame, string);
    if (!fits_columns(text, bytes, room)) text = pt_flame_short_name(text, &bytes);
    put_fitting(d->out, text, bytes, room);
}

/* The class of a difference's box: 0 = the largest decrease, CHANGE_STEPS = no change, 2 *
 * CHANGE_STEPS = the largest increase. */
static unsigned change_step(const pt_flame *f, uint32_t node)
{
    const int64_t change = pt_flame_change(f, node);
    const double part = f->most_change > 0 ? (double)change / (double)f->most_change : 0;
    return (unsigned)lround(CHANGE_STEPS * (1 + copysign(sqrt(fabs(part)), part)));
}

static void put_box(const drawing *d, uint32_t node, double x, double width)
{
    const pt_flame *f = d->flame;
    const pt_flame_frame *frame = &f->frame[f->node_frame[node]];
    const double y = HEADER_PX + (double)f->depth[node] * ROW_PX;
    const unsigned room = columns_in(width - 2 * PADDING_PX);
    pt_outf(d->out, "<g class=\"%s\">", node == 0 ? "b unresolved" : kind_class[frame->kind]);
    put_hover(d, node);
    pt_outf(d->out, "<rect class=\"%c%u%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"/>",
            f->self_base != NULL ? 'd' : 'c',
            f->self_base != NULL ? change_step(f, node)
                                 : f->group[frame->group].hue * PT_FLAME_SHADES + frame->shade,
            width < NARROW_PX ? " n" : "", x, y, width, ROW_PX - 1);
    if (room >= 3) {
        pt_outf(d->out, "<text x=\"%.2f\" y=\"%.1f\">", x + PADDING_PX, y + BASELINE_PX);
        put_label(d, frame->name, room);
        pt_out_text(d->out, "</text>");
    }
    pt_out_text(d->out, "</g>\n");
}

/* Each node begins where its elder siblings end, or, in order of time, at its own place. */
static void put_boxes(const drawing *d)
{
    const pt_flame *f = d->flame;
    PT_FREE int64_t *left = pt_alloc(f->node_count, sizeof *left);
    PT_FREE int64_t *next = pt_alloc(f->node_count, sizeof *next);
    for (uint32_t i = 0; i < f->node_count; i++) {
        if (i > 0) {
            left[i] = next[i] = next[f->parent[i]];
            next[f->parent[i]] += f->node_total[i];
            if (f->start != NULL) left[i] = (int64_t)(f->start[i] - f->start[0]);
        }
        const double width = i == 0 ? INSIDE_PX : (double)f->node_total[i] * d->scale;
        if (width >= LEAST_PX) put_box(d, i, MARGIN_PX + (double)left[i] * d->scale, width);
    }
}

/* In order of time: a low bar at each place where boxes are too narrow to draw. */
static void put_narrow_places(const drawing *d)
{
    const pt_flame *f = d->flame;
    for (uint32_t i = 0; i < f->narrow_count; i++) {
        const pt_flame_narrow *const n = &f->narrow[i];
        const double width = (double)n->width * d->scale;
        if (width < LEAST_PX) continue;
        pt_outf(d->out,
                "<g class=\"b\"><title>too narrow to draw</title><rect class=\"n narrow\" "
                "x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\"/></g>\n",
                MARGIN_PX + (double)(n->start - f->start[0]) * d->scale,
                HEADER_PX + (double)(f->depth[n->parent] + 1) * ROW_PX, width, NARROW_BAR_PX);
    }
}

/* ---- the picture ---- */

static void put_head(const drawing *d)
{
    const char *const title = d->head->title;
    const pt_flame *f = d->flame;
    const unsigned height = HEADER_PX + f->rows * ROW_PX + MARGIN_PX;
    pt_outf(d->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
            "viewBox=\"0 0 %d %u\" data-character-width=\"%.2f\" data-baseline=\"%.1f\" "
            "data-controls-y=\"%d\">\n",
            PT_FLAME_SVG_WIDTH_PX, height, PT_FLAME_SVG_WIDTH_PX, height, CHARACTER_PX, BASELINE_PX,
            CONTROLS_Y);
    pt_out_text(d->out, "<title>");
    pt_xml_text(d->out, title, strlen(title));
    pt_out_text(d->out, "</title>\n<style><![CDATA[");
    pt_out_put(d->out, pt_embed_flame_svg_css,
               (size_t)(pt_embed_flame_svg_css_end - pt_embed_flame_svg_css));
    pt_out_text(d->out, "]]></style>\n");
    pt_outf(d->out, "<rect class=\"back\" width=\"%d\" height=\"%u\"/>\n", PT_FLAME_SVG_WIDTH_PX,
            height);
    pt_outf(d->out, "<text class=\"title\" x=\"%d\" y=\"24\">", MARGIN_PX);
    put_fitting(d->out, title, strlen(title), 120);
    pt_out_text(d->out, "</text>\n");
}

static void put_fact(void *context, const char *text)
{
    pt_putf(context, " · %s", text);
}

static void put_facts(const drawing *d)
{
    const pt_flame *f = d->flame;
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    pt_putf(&line, "%s: ", pt_flame_text(f, f->event_type));
    pt_put_value(&line, f->total, pt_flame_text(f, f->event_unit), NULL, PT_STYLE_SHORT);
    pt_report_facts(d->head, put_fact, &line);
    if (f->cut_nodes > 0) {
        pt_put_text(&line, " · ");
        pt_put_count(&line, (int64_t)f->cut_nodes);
        pt_putf(&line, " narrow %s left out (%.2f%%)", f->cut_nodes == 1 ? "branch" : "branches",
                100.0 * (double)f->cut_total / (double)f->whole);
    }
    pt_outf(d->out, "<text class=\"facts\" x=\"%d\" y=\"42\">", MARGIN_PX);
    put_fitting(d->out, (const char *)line.data, line.size, 170);
    pt_out_text(d->out, "</text>\n");
}

void pt_render_flame_svg(pt_out *out, const pt_flame *flame, const pt_report_head *head)
{
    const drawing d = {
        .out = out,
        .flame = flame,
        .head = head,
        .scale = flame->total > 0 ? INSIDE_PX / (double)flame->total : 0,
    };
    put_head(&d);
    put_facts(&d);
    put_boxes(&d);
    put_narrow_places(&d);
    pt_out_text(out, "<script><![CDATA[");
    pt_out_put(out, pt_embed_flame_svg_js,
               (size_t)(pt_embed_flame_svg_js_end - pt_embed_flame_svg_js));
    pt_out_text(out, "]]></script>\n</svg>\n");
}
