/* picture_svg.c: a drawing as SVG, and the script that zooms and moves it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/picture.h"
#include "render/xml.h"

/* The matrix of the group "viewport" is all there is to change. In the page of `pitot serve` a
 * click tells which box was meant, by the name that its title begins with. */
static const char script[] =
    "<script type=\"text/ecmascript\"><![CDATA[\n"
    "(function () {\n"
    "  var svg = document.documentElement, view = document.getElementById('viewport');\n"
    "  var scale = 1, dx = 0, dy = 0, held = null, moved = false;\n"
    "  function apply() {\n"
    "    view.setAttribute('transform', 'matrix(' + [scale, 0, 0, scale, dx, dy].join(' ') + "
    "')');\n"
    "  }\n"
    "  function point(event) {\n"
    "    var p = svg.createSVGPoint();\n"
    "    p.x = event.clientX;\n"
    "    p.y = event.clientY;\n"
    "    return p.matrixTransform(svg.getScreenCTM().inverse());\n"
    "  }\n"
    "  svg.addEventListener('wheel', function (event) {\n"
    "    var p = point(event), factor = Math.pow(1.0015, -event.deltaY);\n"
    "    factor = Math.min(Math.max(scale * factor, 0.05), 50) / scale;\n"
    "    dx = p.x - (p.x - dx) * factor;\n"
    "    dy = p.y - (p.y - dy) * factor;\n"
    "    scale *= factor;\n"
    "    apply();\n"
    "    event.preventDefault();\n"
    "  }, { passive: false });\n"
    "  function nameOf(element) {\n"
    "    var node = element.closest('.node');\n"
    "    if (node === null) return '';\n"
    "    var link = node.querySelector('a'), title = node.querySelector('title');\n"
    "    var text = link ? link.getAttributeNS('http://www.w3.org/1999/xlink', 'title')\n"
    "                    : title ? title.textContent : '';\n"
    "    var name = /^(.*) \\([^()]*\\)$/.exec(text || '');\n"
    "    return name === null ? '' : name[1];\n"
    "  }\n"
    "  if (window.parent !== window)\n"
    "    svg.addEventListener('click', function (event) {\n"
    "      if (moved) return;\n"
    "      window.parent.postMessage({ pitotFunction: nameOf(event.target) },\n"
    "                                window.location.origin);\n"
    "    });\n"
    "  svg.addEventListener('mousedown', function (event) {\n"
    "    if (event.button !== 0) return;\n"
    "    moved = false;\n"
    "    var p = point(event);\n"
    "    held = { x: p.x - dx, y: p.y - dy };\n"
    "    event.preventDefault();\n"
    "  });\n"
    "  svg.addEventListener('mousemove', function (event) {\n"
    "    if (held === null) return;\n"
    "    var p = point(event);\n"
    "    moved = moved || Math.abs(p.x - dx - held.x) + Math.abs(p.y - dy - held.y) > 4;\n"
    "    dx = p.x - held.x;\n"
    "    dy = p.y - held.y;\n"
    "    apply();\n"
    "  });\n"
    "  svg.addEventListener('mouseup', function () { held = null; });\n"
    "  svg.addEventListener('mouseleave', function () { held = null; });\n"
    "  svg.addEventListener('dblclick', function () {\n"
    "    scale = 1;\n"
    "    dx = dy = 0;\n"
    "    apply();\n"
    "  });\n"
    "})();\n"
    "]]></script>\n";

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

/* A label whose middle is at (x, y), in a box of that width. */
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
    const pt_point end = edge->curve[edge->curve_count - 1], tip = edge->tip;
    const double half = 2.6 + 0.5 * edge->pen_width;
    const double dx = tip.x - end.x, dy = tip.y - end.y;
    const double length = dx * dx + dy * dy > 0.01 ? __builtin_sqrt(dx * dx + dy * dy) : 1;
    const double ax = -dy / length * half, ay = dx / length * half;
    pt_outf(out, "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"", tip.x, tip.y,
            end.x + ax, end.y + ay, end.x - ax, end.y - ay);
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
    pt_out_text(out, script);
    pt_out_text(out, "</svg>\n");
}

/* ---- Graphviz's ---- */

static const char *find(const char *text, size_t size, const char *what)
{
    return memmem(text, size, what, strlen(what));
}

/* Puts a tag with its width and height made 100%. */
static void put_window_tag(pt_out *out, const char *tag, const char *end)
{
    while (tag < end) {
        const bool wide = (size_t)(end - tag) > 7 && memcmp(tag, " width=", 7) == 0;
        const bool high = (size_t)(end - tag) > 8 && memcmp(tag, " height=", 8) == 0;
        if (!wide && !high) {
            pt_out_char(out, *tag++);
            continue;
        }
        pt_out_text(out, wide ? " width=\"100%\"" : " height=\"100%\"");
        const char *open = memchr(tag, '"', (size_t)(end - tag));
        const char *close = open != NULL ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
        if (close == NULL) return;
        tag = close + 1;
    }
}

void pt_picture_svg_of_dot(pt_out *out, const char *svg, size_t size)
{
    const char *end = svg + size;
    const char *open = find(svg, size, "<svg ");
    const char *open_end = open != NULL ? memchr(open, '>', (size_t)(end - open)) : NULL;
    const char *graph =
        open_end != NULL ? find(open_end, (size_t)(end - open_end), "<g id=\"graph0\"") : NULL;
    const char *close = graph != NULL ? memrchr(graph, '<', (size_t)(end - graph)) : NULL;
    if (close == NULL || strncmp(close, "</svg>", 6) != 0) {
        pt_out_put(out, svg, size);
        return;
    }
    pt_out_put(out, svg, (size_t)(open - svg));
    put_window_tag(out, open, open_end);
    pt_out_put(out, open_end, (size_t)(graph - open_end));
    pt_out_text(out, "<g id=\"viewport\">\n");
    pt_out_put(out, graph, (size_t)(close - graph));
    pt_out_text(out, "</g>\n");
    pt_out_text(out, script);
    pt_out_put(out, close, (size_t)(end - close));
}
