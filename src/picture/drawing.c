/* drawing.c: reads dot text as pprof writes it: one statement per line, attributes as name=value or
 * name="value" with spaces or commas between them. */
#include "picture/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/text.h"
#include "base/visible.h"

#define LINE_HEIGHT 1.2 /* of the font's size */

/* Limit of a label's lines. A line takes a hundred times the memory of the newline that ends it,
 * and a name may consist of newlines only. The tooltip has the whole name. */
#define LABEL_LINES_MAX 100

/* ---- Text ---- */

/* Adobe's metrics of Helvetica: thousandths of the font's size, from space to tilde. */
static const uint16_t helvetica[95] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

/* The width in points of the text in Helvetica of the size 1 point. */
static double helvetica_width(const char *text)
{
    unsigned sum = 0;
    for (const uint8_t *c = (const uint8_t *)text; *c != 0; c++) {
        if (*c >= ' ' && *c <= '~')
            sum += helvetica[*c - ' '];
        else if ((*c & 0xc0) != 0x80) /* the first byte of a character of UTF-8 */
            sum += 600;
    }
    return sum / 1000.0;
}

/* ---- Attributes ---- */

typedef struct {
    const char *name;
    size_t name_length;
    char *value; /* without quotes, and with " for \"; other escapes, such as \n, stay */
} attribute;

typedef PT_VECTOR(attribute) attributes;

static void attributes_done(attributes *a)
{
    for (size_t i = 0; i < a->count; i++)
        free(a->items[i].value);
    free(a->items);
    *a = (attributes){0};
}

static const char *attribute_of(const attributes *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++)
        if (strlen(name) == a->items[i].name_length &&
            memcmp(a->items[i].name, name, a->items[i].name_length) == 0)
            return a->items[i].value;
    return NULL;
}

/* Reads a quoted text from its opening quote on; *p then points after the closing quote. The caller
 * frees the result. Only \" is decoded, because the meaning of other escapes depends on the
 * attribute. */
static char *read_quoted(const char **p, const char *end)
{
    pt_buf text = PT_BUF_INIT;
    const char *c = *p + 1;
    for (;;) {
        const size_t plain = pt_visible_ascii(c, (size_t)(end - c), "\\\"");
        pt_put(&text, c, plain);
        c += plain;
        if (c == end || *c == '"') break;
        if (*c == '\\' && c + 1 < end) {
            if (c[1] != '"') pt_put_u8(&text, '\\');
            c++;
        }
        pt_put_u8(&text, (uint8_t)*c++);
    }
    *p = c < end ? c + 1 : end;
    return pt_buf_take(&text, NULL);
}

static char *read_value(const char **p, const char *end)
{
    if (*p < end && **p == '"') return read_quoted(p, end);
    const char *start = *p;
    while (*p < end && strchr(" ,];\t", **p) == NULL)
        (*p)++;
    return pt_strndup(start, (size_t)(*p - start));
}

static const char *skip_blanks(const char *p, const char *end, const char *blanks)
{
    while (p < end && strchr(blanks, *p) != NULL && *p != '\0')
        p++;
    return p;
}

/* Reads [a=b c="d"]. */
static void read_attributes(const char *p, const char *end, attributes *ret)
{
    const char *open = memchr(p, '[', (size_t)(end - p));
    if (open == NULL) return;
    for (p = skip_blanks(open + 1, end, " ,\t"); p < end && *p != ']';
         p = skip_blanks(p, end, " ,\t")) {
        attribute one = {.name = p};
        while (p < end && strchr("= ,]", *p) == NULL)
            p++;
        one.name_length = (size_t)(p - one.name);
        p = skip_blanks(p, end, " ");
        if (p >= end || *p != '=' || one.name_length == 0) return;
        p = skip_blanks(p + 1, end, " ");
        one.value = read_value(&p, end);
        PT_PUSH(*ret, one);
    }
}

/* ---- Labels ---- */

static void add_line(pt_drawing_label *label, pt_buf *text, pt_align align)
{
    label->line = pt_realloc(label->line, label->count + 1, sizeof *label->line);
    pt_drawing_line *line = &label->line[label->count++];
    *line = (pt_drawing_line){.text = pt_strdup(pt_buf_text(text)), .align = align};
    pt_buf_clear(text);
    line->width = helvetica_width(line->text) * label->font_size;
    if (line->width > label->width) label->width = line->width;
    label->height += label->font_size * LINE_HEIGHT;
}

static void replace_last_line(pt_drawing_label *label, const char *text)
{
    pt_drawing_line *const line = &label->line[label->count - 1];
    free(line->text);
    line->text = pt_strdup(text);
}

/* Reads "first\nsecond\l": the escape that ends a line says how the line is aligned. The last of
 * LABEL_LINES_MAX lines is "..." when there are more. */
static pt_drawing_label read_label(const char *text, double font_size)
{
    pt_drawing_label label = {.font_size = font_size};
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    for (const char *c = text; *c != '\0'; c++) {
        if (label.count == LABEL_LINES_MAX) {
            replace_last_line(&label, "...");
            break;
        }
        if (c[0] != '\\' || c[1] == '\0') {
            pt_put_u8(&line, (uint8_t)*c);
            continue;
        }
        c++;
        switch (*c) {
        case 'n': add_line(&label, &line, PT_ALIGN_CENTRE); break;
        case 'l': add_line(&label, &line, PT_ALIGN_LEFT); break;
        case 'r': add_line(&label, &line, PT_ALIGN_RIGHT); break;
        default: pt_put_u8(&line, (uint8_t)*c); break;
        }
    }
    if (line.size > 0) add_line(&label, &line, PT_ALIGN_CENTRE);
    return label;
}

static void label_done(pt_drawing_label *label)
{
    for (size_t i = 0; i < label->count; i++)
        free(label->line[i].text);
    free(label->line);
}

/* ---- Nodes and edges ---- */

typedef struct {
    pt_drawing *drawing;
    pt_index ids;
} reading;

static char *copied_text(const char *text)
{
    return text != NULL ? pt_strdup(text) : NULL;
}

static double number_of(const char *text, double otherwise)
{
    const double value = text != NULL ? strtod(text, NULL) : otherwise;
    return isfinite(value) && value > 0 ? value : otherwise;
}

/* The text with each backslash removed that escapes a character; NULL if text is NULL. The caller
 * frees the result. */
static char *plain_text(const char *text)
{
    if (text == NULL) return NULL;
    char *plain = pt_strdup(text), *to = plain;
    for (const char *c = text; *c != '\0'; c++) {
        if (c[0] == '\\' && c[1] != '\0') c++;
        *to++ = *c;
    }
    *to = '\0';
    return plain;
}

/* The index of the node with the id, which is added if there is none. */
static uint32_t node_of(reading *r, const char *id, size_t length)
{
    pt_drawing *d = r->drawing;
    const uint64_t hash = pt_hash_bytes(id, length);
    const uint32_t known =
        PT_INDEX_FIND(&r->ids, hash, i,
                      strlen(d->node[i].id) == length && memcmp(d->node[i].id, id, length) == 0);
    if (known != PT_NONE) return known;
    d->node = pt_grow(d->node, &d->node_cap, d->node_count + 1, sizeof *d->node);
    d->node[d->node_count] = (pt_drawing_node){.id = pt_strndup(id, length), .peripheries = 1};
    pt_index_add(&r->ids, hash, (uint32_t)d->node_count);
    return (uint32_t)d->node_count++;
}

static void read_node(reading *r, const char *id, size_t length, const attributes *a, bool legend)
{
    const uint32_t index = node_of(r, id, length);
    pt_drawing_node *node = &r->drawing->node[index];
    if (node->label.line != NULL) return;
    const char *label = attribute_of(a, "label"), *shape = attribute_of(a, "shape");
    const double font_size = number_of(attribute_of(a, "fontsize"), 14);
    node->label = read_label(label != NULL ? label : node->id, font_size > 200 ? 200 : font_size);
    node->is_legend = legend;
    node->shape = shape != NULL && strcmp(shape, "box3d") == 0 ? PT_SHAPE_BOX_3D : PT_SHAPE_BOX;
    if (pt_equals_n(id, length, "Legend")) { /* in graphs of the Perl pprof the legend is a node
                                              * with this id */
        node->shape = PT_SHAPE_NONE;
        node->is_legend = true;
    }
    node->colour = copied_text(attribute_of(a, "color"));
    node->fill = copied_text(attribute_of(a, "fillcolor"));
    node->tooltip = plain_text(attribute_of(a, "tooltip"));
    node->peripheries = (unsigned)fmin(number_of(attribute_of(a, "peripheries"), 1), 3);
    if (node->peripheries == 0) node->peripheries = 1;
    const double extra = 4.0 * (node->peripheries - 1);
    node->width = fmax(node->label.width + 12, 27) + 2 * extra;
    node->height = fmax(node->label.height + 8, 18) + 2 * extra;
}

static void read_edge(reading *r, uint32_t from, uint32_t to, const attributes *a)
{
    pt_drawing *d = r->drawing;
    const char *style = attribute_of(a, "style"), *label = attribute_of(a, "label");
    const char *width = style != NULL ? strstr(style, "setlinewidth(") : NULL;
    d->edge = pt_grow(d->edge, &d->edge_cap, d->edge_count + 1, sizeof *d->edge);
    pt_drawing_edge *edge = &d->edge[d->edge_count++];
    *edge = (pt_drawing_edge){
        .from = from,
        .to = to,
        .label = read_label(label != NULL ? label : "", 11),
        .colour = copied_text(attribute_of(a, "color")),
        .tooltip = plain_text(attribute_of(a, "tooltip")),
        .weight = fmin(number_of(attribute_of(a, "weight"), 1), 1000),
        .min_ranks = (unsigned)fmin(number_of(attribute_of(a, "minlen"), 1), 8),
        .pen_width = fmin(
            number_of(attribute_of(a, "penwidth"), width != NULL ? number_of(width + 13, 0.5) : 1),
            8),
        .style = style == NULL                     ? PT_LINE_SOLID
                 : strstr(style, "dotted") != NULL ? PT_LINE_DOTTED
                 : strstr(style, "dashed") != NULL ? PT_LINE_DASHED
                                                   : PT_LINE_SOLID};
    if (edge->pen_width < 0.5) edge->pen_width = 0.5;
}

/* ---- Statements ---- */

/* Reads a bare id; *ret points to its *ret_length bytes. Returns false if there is no id. */
static bool read_id(const char **p, const char *end, const char **ret, size_t *ret_length)
{
    *p = skip_blanks(*p, end, " \t");
    const char *start = *p;
    while (*p < end && strchr(" \t[;{=", **p) == NULL)
        (*p)++;
    *ret = start;
    *ret_length = (size_t)(*p - start);
    return *ret_length > 0;
}

static void read_title(reading *r, const char *p, const char *end)
{
    const char *quote = memchr(p, '"', (size_t)(end - p));
    if (quote != NULL && r->drawing->title == NULL) r->drawing->title = read_quoted(&quote, end);
}

static void read_statement(reading *r, const char *line, const char *end)
{
    const char *p = line, *id, *other;
    size_t length, other_length;
    attributes a = {0};
    if (!read_id(&p, end, &id, &length)) return;
    if (pt_equals_n(id, length, "digraph")) {
        read_title(r, p, end);
        return;
    }
    if (pt_equals_n(id, length, "subgraph")) { /* the cluster that holds the legend */
        const char *open = memchr(p, '{', (size_t)(end - p));
        const char *quote = open != NULL ? memchr(open, '"', (size_t)(end - open)) : NULL;
        if (quote == NULL) return;
        free(read_quoted(&quote, end));
        read_attributes(quote, end, &a);
        read_node(r, "legend", 6, &a, true);
        attributes_done(&a);
        return;
    }
    const bool defaults = pt_equals_n(id, length, "node");
    if (defaults || *id == '}' || *id == '"') return;
    p = skip_blanks(p, end, " \t");
    if (end - p >= 2 && memcmp(p, "->", 2) == 0) {
        p += 2;
        if (read_id(&p, end, &other, &other_length)) {
            const uint32_t from = node_of(r, id, length);
            read_attributes(p, end, &a);
            read_edge(r, from, node_of(r, other, other_length), &a);
        }
    } else if (p < end && *p == '[') {
        read_attributes(p, end, &a);
        read_node(r, id, length, &a, false);
    }
    attributes_done(&a);
}

pt_status pt_drawing_read(const char *dot, size_t size, pt_drawing *ret_drawing, pt_error *reterr)
{
    *ret_drawing = (pt_drawing){0};
    reading r = {.drawing = ret_drawing};
    pt_index_init(&r.ids);
    const char *end = dot + size;
    for (const char *line = dot; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline != NULL ? newline : end;
        read_statement(&r, line, line_end);
        line = newline != NULL ? newline + 1 : end;
    }
    pt_index_done(&r.ids);
    for (size_t i = 0; i < ret_drawing->node_count; i++) {
        pt_drawing_node *node = &ret_drawing->node[i];
        if (node->label.line != NULL) continue;
        node->label = read_label(node->id, 14);
        node->width = node->label.width + 12;
        node->height = node->label.height + 8;
    }
    if (ret_drawing->title == NULL) ret_drawing->title = pt_strdup("");
    if (ret_drawing->node_count > 0) return PT_OK;
    pt_drawing_done(ret_drawing);
    return pt_error_set(reterr, PT_ERR_FORMAT,
                        "the graph is empty: no function is left after filters and cut-offs");
}

void pt_drawing_done(pt_drawing *drawing)
{
    for (size_t i = 0; i < drawing->node_count; i++) {
        pt_drawing_node *node = &drawing->node[i];
        free(node->id);
        label_done(&node->label);
        PT_FREE_ALL(node->colour, node->fill, node->tooltip);
    }
    for (size_t i = 0; i < drawing->edge_count; i++) {
        pt_drawing_edge *edge = &drawing->edge[i];
        label_done(&edge->label);
        PT_FREE_ALL(edge->colour, edge->tooltip, edge->curve);
    }
    PT_FREE_ALL(drawing->node, drawing->edge, drawing->title);
    *drawing = (pt_drawing){0};
}

void pt_drawing_arrowhead(const pt_drawing_edge *edge, pt_point ret_corner[3])
{
    const pt_point base = edge->curve[edge->curve_count - 1], tip = edge->tip;
    const double dx = tip.x - base.x, dy = tip.y - base.y, length = fmax(hypot(dx, dy), 0.1);
    const double half = 2.6 + 0.5 * edge->pen_width;
    const double aside_x = -dy / length * half, aside_y = dx / length * half;
    ret_corner[0] = tip;
    ret_corner[1] = (pt_point){base.x + aside_x, base.y + aside_y};
    ret_corner[2] = (pt_point){base.x - aside_x, base.y - aside_y};
}
