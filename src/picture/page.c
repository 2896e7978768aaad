/* page.c: a drawing as a page of PostScript or PDF. Both languages get the operators of PDF, which
 * the PostScript file defines at its beginning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "picture/picture.h"

typedef struct {
    pt_buf *buf;
    bool pdf;
    double height; /* height of the page. On the page y grows upwards, in a drawing downwards */
} page;

/* ---- Colours and lines ---- */

/* Puts the colour, "#rrggbb" or "gray", as three shares from 0 to 1, and the operator. Any other
 * text is black. */
static void put_colour(const page *p, const char *colour, const char *operator)
{
    unsigned rgb = 0;
    if (colour != NULL && colour[0] == '#' && strlen(colour) == 7)
        rgb = (unsigned)strtoul(colour + 1, NULL, 16);
    else if (colour != NULL && strcmp(colour, "gray") == 0)
        rgb = 0xc0c0c0;
    pt_putf(p->buf, "%.3f %.3f %.3f %s\n", (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
            (rgb & 255) / 255.0, operator);
}

static void put_point(const page *p, double x, double y, const char *operator)
{
    pt_putf(p->buf, "%.2f %.2f %s\n", x, p->height - y, operator);
}

static void put_rectangle(const page *p, double left, double top, double width, double height)
{
    put_point(p, left, top, "m");
    put_point(p, left + width, top, "l");
    put_point(p, left + width, top + height, "l");
    put_point(p, left, top + height, "l");
    pt_put_text(p->buf, "h\n");
}

/* ---- Text ---- */

/* Puts the UTF-8 text as a string with one byte for each character: Latin-1, and in PDF the
 * ellipsis of WinAnsi. */
static void put_string(const page *p, const char *text)
{
    pt_put_u8(p->buf, '(');
    for (const uint8_t *c = (const uint8_t *)text; *c != 0;) {
        unsigned code = *c++;
        if (code >= 0xc0) {
            const unsigned more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : 1;
            code &= 0x3fu >> more;
            for (unsigned i = 0; i < more && (*c & 0xc0) == 0x80; i++)
                code = code << 6 | (*c++ & 0x3f);
        }
        if (code == 0x2026 && p->pdf) {
            pt_put_text(p->buf, "\\205");
        } else if (code == '(' || code == ')' || code == '\\') {
            pt_putf(p->buf, "\\%c", (char)code);
        } else if (code >= ' ' && code <= '~') {
            pt_put_u8(p->buf, (uint8_t)code);
        } else if (code >= 0xa0 && code <= 0xff) {
            pt_putf(p->buf, "\\%03o", code);
        } else {
            pt_put_u8(p->buf, '?');
        }
    }
    pt_put_u8(p->buf, ')');
}

static void put_text(const page *p, const char *text, double size, double x, double y)
{
    if (p->pdf) {
        pt_putf(p->buf, "BT /F1 %.2f Tf %.2f %.2f Td ", size, x, p->height - y);
        put_string(p, text);
        pt_put_text(p->buf, " Tj ET\n");
    } else {
        pt_putf(p->buf, "%.2f %.2f %.2f ", x, p->height - y, size);
        put_string(p, text);
        pt_put_text(p->buf, " T\n");
    }
}

static void put_label(const page *p, const pt_drawing_label *label, double x, double y,
                      double width)
{
    if (label->count == 0) return;
    put_colour(p, NULL, "rg");
    const double step = label->height / (double)label->count;
    double base = y - label->height / 2 + step / 2 + label->font_size * 0.34;
    for (size_t i = 0; i < label->count; i++, base += step) {
        const pt_drawing_line *line = &label->line[i];
        const double left = line->align == PT_ALIGN_CENTRE ? x - line->width / 2
                            : line->align == PT_ALIGN_LEFT ? x - width / 2
                                                           : x + width / 2 - line->width;
        put_text(p, line->text, label->font_size, left, base);
    }
}

/* ---- Boxes and arrows ---- */

static void put_box(const page *p, const pt_drawing_node *node)
{
    const double fold = node->shape == PT_SHAPE_BOX_3D ? 4 : 0;
    const double left = node->x - node->width / 2, top = node->y - node->height / 2;
    pt_put_text(p->buf, "1 w\n");
    put_colour(p, node->colour, "RG");
    if (node->fill != NULL) {
        put_colour(p, node->fill, "rg");
        put_rectangle(p, left, top + fold, node->width - fold, node->height - fold);
        pt_put_text(p->buf, "f\n");
    }
    for (unsigned i = 0; i < node->peripheries; i++) {
        put_rectangle(p, left + 4.0 * i, top + fold + 4.0 * i, node->width - fold - 8.0 * i,
                      node->height - fold - 8.0 * i);
        pt_put_text(p->buf, "S\n");
    }
    if (fold == 0) return;
    const double right = left + node->width, bottom = top + node->height;
    put_point(p, left, top + fold, "m");
    put_point(p, left + fold, top, "l");
    put_point(p, right, top, "l");
    put_point(p, right, bottom - fold, "l");
    put_point(p, right - fold, bottom, "l");
    put_point(p, right - fold, top + fold, "m");
    put_point(p, right, top, "l");
    pt_put_text(p->buf, "S\n");
}

static void put_arrow(const page *p, const pt_drawing_edge *edge)
{
    pt_point corner[3];
    pt_drawing_arrowhead(edge, corner);
    put_colour(p, edge->colour, "rg");
    put_point(p, corner[0].x, corner[0].y, "m");
    put_point(p, corner[1].x, corner[1].y, "l");
    put_point(p, corner[2].x, corner[2].y, "l");
    pt_put_text(p->buf, "h\nf\n");
}

static void put_edge(const page *p, const pt_drawing_edge *edge)
{
    if (edge->curve_count < 4) return;
    const char *dash = edge->style == PT_LINE_DASHED   ? "[5 2] 0 d\n"
                       : edge->style == PT_LINE_DOTTED ? "[1.5 3] 0 d\n"
                                                       : "[] 0 d\n";
    pt_putf(p->buf, "%.1f w\n%s", edge->pen_width, dash);
    put_colour(p, edge->colour, "RG");
    put_point(p, edge->curve[0].x, edge->curve[0].y, "m");
    for (size_t i = 1; i + 2 < edge->curve_count; i += 3) {
        const pt_point *c = edge->curve + i;
        pt_putf(p->buf, "%.2f %.2f %.2f %.2f %.2f %.2f c\n", c[0].x, p->height - c[0].y, c[1].x,
                p->height - c[1].y, c[2].x, p->height - c[2].y);
    }
    pt_put_text(p->buf, "S\n[] 0 d\n");
    put_arrow(p, edge);
}

static void put_drawing(const page *p, const pt_drawing *drawing)
{
    for (size_t i = 0; i < drawing->edge_count; i++)
        put_edge(p, &drawing->edge[i]);
    for (size_t i = 0; i < drawing->node_count; i++) {
        const pt_drawing_node *node = &drawing->node[i];
        const double down = node->shape == PT_SHAPE_BOX_3D ? 2 : 0;
        if (node->shape != PT_SHAPE_NONE) put_box(p, node);
        put_label(p, &node->label, node->x - down, node->y + down, node->width - 12);
    }
    for (size_t i = 0; i < drawing->edge_count; i++) {
        const pt_drawing_edge *edge = &drawing->edge[i];
        put_label(p, &edge->label, edge->label_at.x, edge->label_at.y, edge->label.width);
    }
}

/* ---- Files ---- */

/* PDF's operators in PostScript, and text: x y size (text) T. */
static const char prolog[] =
    "/m{moveto}bind def/l{lineto}bind def/c{curveto}bind def/h{closepath}bind def\n"
    "/S{stroke}bind def/f{fill}bind def/w{setlinewidth}bind def/d{setdash}bind def\n"
    "/RG{/strokeb exch def/strokeg exch def/stroker exch def}bind def\n"
    "/rg{setrgbcolor}bind def\n"
    "/S{gsave stroker strokeg strokeb setrgbcolor stroke grestore newpath}bind def\n"
    "/Helvetica findfont dup length dict begin{1 index/FID ne{def}{pop pop}ifelse}forall\n"
    "/Encoding ISOLatin1Encoding def currentdict end/F1 exch definefont pop\n"
    "/T{4 1 roll/F1 findfont exch scalefont setfont m show}bind def\n";

void pt_picture_ps(pt_out *out, const pt_drawing *drawing)
{
    PT_AUTO(pt_buf) content = PT_BUF_INIT;
    const page p = {.buf = &content, .height = drawing->height};
    put_drawing(&p, drawing);
    pt_outf(out, "%%!PS-Adobe-3.0\n%%%%BoundingBox: 0 0 %.0f %.0f\n%%%%Pages: 1\n%%%%EndComments\n",
            ceil(drawing->width), ceil(drawing->height));
    pt_out_text(out, prolog);
    pt_outf(out, "%%%%Page: 1 1\n<</PageSize[%.0f %.0f]>>setpagedevice\n0 0 0 RG\n",
            ceil(drawing->width), ceil(drawing->height));
    pt_out_put(out, content.data, content.size);
    pt_out_text(out, "showpage\n%%Trailer\n%%EOF\n");
}

void pt_picture_pdf(pt_out *out, const pt_drawing *drawing)
{
    PT_AUTO(pt_buf) content = PT_BUF_INIT, file = PT_BUF_INIT;
    const page p = {.buf = &content, .pdf = true, .height = drawing->height};
    put_drawing(&p, drawing);
    size_t object[6];
    pt_put_text(&file, "%PDF-1.4\n");
    object[1] = file.size;
    pt_put_text(&file, "1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n");
    object[2] = file.size;
    pt_put_text(&file, "2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n");
    object[3] = file.size;
    pt_putf(&file,
            "3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 %.2f %.2f]/Contents 4 0 R"
            "/Resources<</Font<</F1 5 0 R>>>>>>\nendobj\n",
            drawing->width, drawing->height);
    object[4] = file.size;
    pt_putf(&file, "4 0 obj\n<</Length %zu>>\nstream\n", content.size);
    pt_put(&file, content.data, content.size);
    pt_put_text(&file, "\nendstream\nendobj\n");
    object[5] = file.size;
    pt_put_text(&file, "5 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica"
                       "/Encoding/WinAnsiEncoding>>\nendobj\n");
    const size_t table = file.size;
    pt_put_text(&file, "xref\n0 6\n0000000000 65535 f \n");
    for (int i = 1; i <= 5; i++)
        pt_putf(&file, "%010zu 00000 n \n", object[i]);
    pt_putf(&file, "trailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%zu\n%%%%EOF\n", table);
    pt_out_put(out, file.data, file.size);
}
