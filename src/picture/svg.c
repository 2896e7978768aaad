/* svg.c: writes a drawing as SVG, with the script that zooms and moves the picture. */
#include <string.h>

#include "base/xml.h"
#include "picture/picture.h"
#include "picture/script.h"

void pt_picture_script(pt_out *out)
{
    pt_out_text(out, "<script><![CDATA[");
    pt_out_put(out, pt_picture_js, (size_t)(pt_picture_js_end - pt_picture_js));
    pt_out_text(out, "]]></script>\n");
}

static void put_text(pt_out *out, const char *text)
{
    pt_xml_text(out, text, strlen(text));
}

static void put_title(pt_out *out, const char *text)
{
    if (text == NULL || text[0] == '\0') return;
    pt_out_text(out, "<title>");
    put_text(out, text);
    pt_out_text(out, "</title>\n");
}

/* Puts a label with its centre at (x, y); its lines are aligned within the width. */
static void put_label(pt_out *out, const pt_drawing_label *label, double x, double y, double width)
{
    static const char *const anchors[] = {
        [PT_ALIGN_CENTRE] = "middle", [PT_ALIGN_LEFT] = "start", [PT_ALIGN_RIGHT] = "end"};
    if (label->count == 0) return;
    const double step = label->height / (double)label->count;
    double base = y - label->height / 2 + step / 2 + label->font_size * 0.34;
    for (size_t i = 0; i < label->count; i++, base += step) {
        const pt_drawing_line *line = &label->line[i];
        const double aside = line->align == PT_ALIGN_CENTRE ? 0
                             : line->align == PT_ALIGN_LEFT ? -width / 2
                                                            : width / 2;
        pt_outf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%.1f\">",
                x + aside, base, anchors[line->align], label->font_size);
        put_text(out, line->text);
        pt_out_text(out, "</text>\n");
    }
}

static void put_box(pt_out *out, const pt_drawing_node *node)
{
    const char *stroke = node->colour != NULL ? node->colour : "#000000";
    const char *fill = node->fill != NULL ? node->fill : "none";
    const double fold = node->shape == PT_SHAPE_BOX_3D ? 4 : 0;
    for (unsigned i = 0; i < node->peripheries; i++) {
        const double width = node->width - fold - 8.0 * i, height = node->height - fold - 8.0 * i;
        const double left = node->x - node->width / 2 + 4.0 * i;
        const double top = node->y - node->height / 2 + fold + 4.0 * i;
        pt_out_text(out, "<rect");
        pt_outf(out, " x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"", left, top,
                width, height);
        put_text(out, i == 0 ? fill : "none");
        pt_out_text(out, "\" stroke=\"");
        put_text(out, stroke);
        pt_out_text(out, "\"/>\n");
    }
    if (fold == 0) return;
    const double left = node->x - node->width / 2, right = node->x + node->width / 2;
    const double top = node->y - node->height / 2, bottom = node->y + node->height / 2;
    pt_outf(out, "<path fill=\"none\" stroke=\"");
    put_text(out, stroke);
    pt_outf(out,
            "\" d=\"M%.1f,%.1fL%.1f,%.1fL%.1f,%.1fL%.1f,%.1fL%.1f,%.1fM%.1f,%.1fL%.1f,%.1f\"/>\n",
            left, top + fold, left + fold, top, right, top, right, bottom - fold, right - fold,
            bottom, right - fold, top + fold, right, top);
}

static void put_node(pt_out *out, const pt_drawing_node *node)
{
    pt_out_text(out, "<g class=\"node\">\n");
    put_title(out, node->tooltip);
    if (node->shape != PT_SHAPE_NONE) put_box(out, node);
    const double down = node->shape == PT_SHAPE_BOX_3D ? 2 : 0;
    put_label(out, &node->label, node->x - down, node->y + down, node->width - 12);
    pt_out_text(out, "</g>\n");
}

static void put_arrow(pt_out *out, const pt_drawing_edge *edge, const char *colour)
{
    pt_point corner[3];
    pt_drawing_arrowhead(edge, corner);
    pt_outf(out, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"", corner[0].x,
            corner[0].y, corner[1].x, corner[1].y, corner[2].x, corner[2].y);
    put_text(out, colour);
    pt_out_text(out, "\"/>\n");
}

static void put_edge(pt_out *out, const pt_drawing_edge *edge)
{
    if (edge->curve_count < 4) return;
    const char *colour = edge->colour != NULL ? edge->colour : "#000000";
    pt_out_text(out, "<g class=\"edge\">\n");
    put_title(out, edge->tooltip);
    pt_outf(out, "<path fill=\"none\" stroke-width=\"%.1f\" stroke=\"", edge->pen_width);
    put_text(out, colour);
    pt_out_char(out, '"');
    if (edge->style == PT_LINE_DASHED) pt_out_text(out, " stroke-dasharray=\"5,2\"");
    if (edge->style == PT_LINE_DOTTED) pt_out_text(out, " stroke-dasharray=\"1.5,3\"");
    pt_outf(out, " d=\"M%.1f,%.1fC", edge->curve[0].x, edge->curve[0].y);
    for (size_t i = 1; i < edge->curve_count; i++)
        pt_outf(out, "%s%.1f,%.1f", i > 1 ? " " : "", edge->curve[i].x, edge->curve[i].y);
    pt_out_text(out, "\"/>\n");
    put_arrow(out, edge, colour);
    pt_out_text(out, "</g>\n");
}

static void put_edge_label(pt_out *out, const pt_drawing_edge *edge)
{
    put_label(out, &edge->label, edge->label_at.x, edge->label_at.y, edge->label.width);
}

void pt_picture_svg(pt_out *out, const pt_drawing *drawing)
{
    pt_outf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
            "<svg width=\"100%%\" height=\"100%%\" viewBox=\"0 0 %.0f %.0f\" "
            "preserveAspectRatio=\"xMidYMin meet\" xmlns=\"http://www.w3.org/2000/svg\" "
            "font-family=\"Helvetica,Arial,sans-serif\">\n",
            drawing->width, drawing->height);
    put_title(out, drawing->title);
    pt_outf(out,
            "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n"
            "<g id=\"viewport\">\n",
            drawing->width, drawing->height);
    for (size_t i = 0; i < drawing->edge_count; i++)
        put_edge(out, &drawing->edge[i]);
    for (size_t i = 0; i < drawing->node_count; i++)
        put_node(out, &drawing->node[i]);
    for (size_t i = 0; i < drawing->edge_count; i++)
        put_edge_label(out, &drawing->edge[i]);
    pt_out_text(out, "</g>\n");
    pt_picture_script(out);
    pt_out_text(out, "</svg>\n");
}
