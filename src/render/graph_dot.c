/* graph_dot.c: the graph in the language of Graphviz.
 *
 *   N1        a node: font by its share of the largest flat, colour by its share of the whole
 *   N1_0      a nodelet: a label of N1's samples; NN1_0 and NN1_0_0 are numeric labels
 *   N1 -> N2  an edge: weight, width and colour by its share of the whole, dotted if residual
 *
 * The rules are those of google/pprof, internal/graph/dotgraph.go.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/saturate.h"
#include "base/text.h"
#include "base/units.h"
#include "render/graph_report.h"

typedef struct {
    const pt_graph_report *report;
    const pt_graph *graph;
    uint32_t *number;  /* per node: the node's place in the list, from 1; 0 = not listed */
    bool *has_nodelet; /* per node */
    uint64_t most_flat;
    pt_buf buf;
} drawing;

static void put_share(drawing *d, int64_t value)
{
    PT_AUTO(pt_buf) buf = PT_BUF_INIT;
    pt_put_percent(&buf, value, d->report->total);
    const char *text = pt_buf_text(&buf);
    pt_put_text(&d->buf, text + strspn(text, " "));
}

void pt_put_dot_text(pt_buf *buf, const char *text)
{
    for (;; text++) {
        const size_t plain = strcspn(text, "\n\\\"");
        pt_put(buf, text, plain);
        text += plain;
        if (*text == '\0') return;
        if (*text == '\n')
            pt_put_text(buf, "\\l");
        else
            pt_putf(buf, "\\%c", *text);
    }
}

/* The bytes of a name that pitot's own graphs show; "…" stands for the other bytes. The limit is
 * needed because dot text has a name at its node, and twice at each of the node's edges. */
enum { NAME_BYTES = 1000 };

static void put_name(const drawing *d, pt_buf *buf, const char *name)
{
    size_t bytes = strlen(name);
    if (d->graph->is_pprof || bytes <= NAME_BYTES) {
        pt_put_dot_text(buf, name);
        return;
    }
    for (bytes = NAME_BYTES; bytes > 0 && ((uint8_t)name[bytes] & 0xc0) == 0x80;)
        bytes--; /* not in the middle of a character */
    PT_FREE char *part = pt_strndup(name, bytes);
    pt_put_dot_text(buf, part);
    pt_put_text(buf, "…");
}

/* Puts the name of a tag. google/pprof joins several labels by "\\n"; these two characters are not
 * escaped. */
static void put_tag_name(const drawing *d, pt_buf *buf, const char *name)
{
    const char *join;
    for (; (join = strstr(name, "\\n")) != NULL; name = join + 2) {
        PT_FREE char *part = pt_strndup(name, (size_t)(join - name));
        put_name(d, buf, part);
        pt_put_text(buf, "\\n");
    }
    put_name(d, buf, name);
}

/* A value with its unit, escaped because the unit is a text of the profile. The caller frees the
 * text. */
static char *value_text(const drawing *d, int64_t value)
{
    pt_buf buf = PT_BUF_INIT, escaped = PT_BUF_INIT;
    pt_graph_put_value(&buf, d->report, value);
    pt_put_dot_text(&escaped, pt_buf_text(&buf));
    pt_buf_done(&buf);
    return pt_buf_take(&escaped, NULL);
}

/* ---- Colours ---- */

static unsigned byte_of(double x)
{
    return x * 255 >= 0 && x * 255 < 256 ? (unsigned)(x * 255) : 0; /* NaN is 0 */
}

/* Puts the colour of a share: -1 is green, 0 grey, 1 red. The power makes the shares between these
 * less grey. */
static void put_colour(drawing *d, double share, bool background)
{
    double saturation = background ? 0.1 : 1.0;
    const double value = background ? 0.93 : 0.7;
    const double exponent = 1.0 - 0.7;
    if (share > 1) share = 1;
    if (share < -1) share = -1;
    if (fabs(share) < 0.2) saturation *= fabs(share) / 0.2;
    if (share > 0) share = pow(share, exponent);
    if (share < 0) share = -pow(-share, exponent);
    const double red = share < 0 ? value * (1 + saturation * share) : value;
    const double green = share < 0 ? value : value * (1 - saturation * share);
    pt_putf(&d->buf, "#%02x%02x%02x", byte_of(red), byte_of(green),
            byte_of(value * (1 - saturation)));
}

static double share_of(const drawing *d, int64_t value)
{
    return (double)value / (double)pt_magnitude(d->report->total);
}

/* ---- Nodes ---- */

static void put_replaced(pt_buf *buf, const char *text)
{
    while (*text != '\0') {
        if (pt_begins(text, "::")) {
            pt_put_text(buf, "\\n");
            text += 2;
        } else if (pt_begins(text, "[...]")) {
            pt_put_text(buf, "[\u2026]");
            text += 5;
        } else if (*text == '.') {
            pt_put_text(buf, "\\n");
            text++;
        } else {
            pt_put_u8(buf, (uint8_t)*text++);
        }
    }
}

static void put_address(drawing *d, const pt_node_info *info)
{
    char place[512];
    if (d->graph->is_pprof) {
        pt_putf(&d->buf, "%016llx\\n", (unsigned long long)info->address);
        return;
    }
    pt_place_text(info->object, info->address, info->whole_code, place, sizeof place);
    pt_put_dot_text(&d->buf, place);
    pt_put_text(&d->buf, "\\n");
}

/* Puts each part of a node's text on its own line. */
static void put_lines(drawing *d, const pt_graph_node *node)
{
    const pt_node_info *info = node->info;
    PT_FREE char *brief = pt_short_name(info->name);
    PT_AUTO(pt_buf) name = PT_BUF_INIT, escaped = PT_BUF_INIT;
    put_name(d, &escaped, brief);
    put_replaced(&name, pt_buf_text(&escaped));
    const char *file = pt_base_name(info->file);
    if (info->address != 0) put_address(d, info);
    if (name.size > 0) pt_putf(&d->buf, "%s\\n", pt_buf_text(&name));
    if (info->line != 0) {
        put_name(d, &d->buf, file);
        pt_putf(&d->buf, ":%lld", (long long)info->line);
        if (info->column != 0) pt_putf(&d->buf, ":%lld", (long long)info->column);
        pt_put_text(&d->buf, "\\n");
    } else if (file[0] != '\0') {
        put_name(d, &d->buf, file);
        pt_put_text(&d->buf, "\\n");
    } else if (name.size == 0) {
        const pt_node_info rest = {.name = "", .file = "", .object = info->object};
        PT_FREE char *text = d->graph->is_pprof ? pt_node_text(&rest) : pt_strdup(node->text);
        if (d->graph->is_pprof || info->address == 0) {
            put_name(d, &d->buf, text);
            pt_put_text(&d->buf, "\\n");
        }
    }
}

static int font_of(const drawing *d, int64_t flat)
{
    const double growth = 16.0;
    if (d->most_flat == 0 || flat == 0) return 8;
    return 8 + (int)ceil(growth * sqrt((double)pt_magnitude(flat) / (double)d->most_flat));
}

static void put_node(drawing *d, const pt_graph_node *node, uint32_t number)
{
    const int64_t flat = pt_graph_mean(node->flat, node->flat_div);
    const int64_t cum = pt_graph_mean(node->cum, node->cum_div);
    PT_FREE char *flat_text = value_text(d, flat);
    PT_FREE char *cum_text = value_text(d, cum);
    pt_putf(&d->buf, "N%u [label=\"", number);
    put_lines(d, node);
    if (flat != 0) {
        pt_putf(&d->buf, "%s (", flat_text);
        put_share(d, flat);
        pt_put_u8(&d->buf, ')');
    } else {
        pt_put_u8(&d->buf, '0');
    }
    if (cum != flat) {
        pt_putf(&d->buf, "%sof %s (", flat != 0 ? "\\n" : " ", cum_text);
        put_share(d, cum);
        pt_put_u8(&d->buf, ')');
    }
    pt_putf(&d->buf, "\" id=\"node%u\" fontsize=%d shape=box tooltip=\"", number, font_of(d, flat));
    put_name(d, &d->buf, node->text);
    pt_putf(&d->buf, " (%s)\" color=\"", cum_text);
    put_colour(d, share_of(d, cum), false);
    pt_put_text(&d->buf, "\" fillcolor=\"");
    put_colour(d, share_of(d, cum), true);
    pt_put_text(&d->buf, "\"]\n");
}

/* ---- Nodelets ---- */

static void put_numbers(drawing *d, pt_graph_tags *tags, bool by_flat, const char *source)
{
    pt_graph_tag_group groups[PT_GRAPH_NODELETS];
    const size_t count = pt_graph_group_tags(tags->tag, tags->count, by_flat, groups);
    for (size_t i = 0; i < count; i++) {
        const pt_graph_tag_group *g = &groups[i];
        const bool is_flat = by_flat || g->flat == g->cum;
        const int64_t weight = is_flat ? g->flat : g->cum;
        if (weight != 0) {
            PT_FREE char *text = value_text(d, weight);
            pt_putf(&d->buf, "N%s_%zu [label = \"", source, i);
            put_tag_name(d, &d->buf, g->name);
            pt_putf(&d->buf, "\" id=\"N%s_%zu\" fontsize=8 shape=box3d tooltip=\"%s\"]\n", source,
                    i, text);
            pt_putf(
                &d->buf,
                "%s -> N%s_%zu [label=\" %s\" weight=100 tooltip=\"%s\" labeltooltip=\"%s\"%s]\n",
                source, source, i, text, text, text, is_flat ? "" : " style=\"dotted\"");
        }
        free(g->name);
    }
}

static pt_graph_tags *numbers_of(const pt_graph_node *node, const char *text)
{
    for (size_t i = 0; i < node->number_count; i++)
        if (strcmp(node->numbers[i].of, text) == 0) return &node->numbers[i];
    return NULL;
}

/* Tags of a leaf show cum, which includes samples of callees that were cut. Tags of other nodes
 * show flat. */
static bool put_nodelets(drawing *d, const pt_graph_node *node, uint32_t number)
{
    const size_t before = d->buf.size;
    const bool by_flat = node->out_count > 0;
    pt_graph_sort_tags(node->texts.tag, node->texts.count, by_flat);
    for (size_t i = 0; i < node->texts.count && i < PT_GRAPH_NODELETS; i++) {
        const pt_graph_tag *t = &node->texts.tag[i];
        const int64_t weight =
            by_flat ? pt_graph_mean(t->flat, t->flat_div) : pt_graph_mean(t->cum, t->cum_div);
        if (weight == 0) continue;
        PT_FREE char *text = value_text(d, weight);
        pt_putf(&d->buf, "N%u_%zu [label = \"", number, i);
        put_tag_name(d, &d->buf, t->name);
        pt_putf(&d->buf, "\" id=\"N%u_%zu\" fontsize=8 shape=box3d tooltip=\"%s\"]\n", number, i,
                text);
        pt_putf(&d->buf,
                "N%u -> N%u_%zu [label=\" %s\" weight=100 tooltip=\"%s\" labeltooltip=\"%s\"]\n",
                number, number, i, text, text, text);
        pt_graph_tags *numbers = numbers_of(node, t->name);
        PT_FREE char *source = pt_strf("N%u_%zu", number, i);
        if (numbers != NULL) put_numbers(d, numbers, by_flat, source);
    }
    pt_graph_tags *numbers = numbers_of(node, "");
    PT_FREE char *source = pt_strf("N%u", number);
    if (numbers != NULL) put_numbers(d, numbers, by_flat, source);
    return d->buf.size > before;
}

/* ---- Edges ---- */

/* 1 + |value * parts / total|, at most 1 + parts, with products that wrap at 64 bits. */
static uint64_t scale_of(const drawing *d, int64_t value, int64_t parts)
{
    const int64_t product = (int64_t)((uint64_t)value * (uint64_t)parts);
    const uint64_t scaled = pt_magnitude(product) / pt_magnitude(d->report->total);
    return 1 + (scaled < (uint64_t)parts ? scaled : (uint64_t)parts);
}

static void put_tooltip(drawing *d, const pt_graph_edge *edge, const char *value)
{
    pt_put_u8(&d->buf, '"');
    put_name(d, &d->buf, d->graph->node[edge->from].text);
    pt_put_text(&d->buf, edge->residual ? " ... " : " -> ");
    put_name(d, &d->buf, d->graph->node[edge->to].text);
    pt_putf(&d->buf, " (%s)\"", value);
}

static void put_edge(drawing *d, const pt_graph_edge *edge)
{
    const int64_t value = pt_graph_mean(edge->weight, edge->weight_div);
    PT_FREE char *text = value_text(d, value);
    pt_putf(&d->buf, "N%u -> N%u [label=\" %s%s\"", d->number[edge->from], d->number[edge->to],
            text, edge->inlined ? "\\n (inline)" : "");
    if (d->report->total != 0) {
        const uint64_t weight = scale_of(d, value, 100), width = scale_of(d, value, 5);
        if (weight > 1) pt_putf(&d->buf, " weight=%llu", (unsigned long long)weight);
        if (width > 1) pt_putf(&d->buf, " penwidth=%llu", (unsigned long long)width);
        pt_put_text(&d->buf, " color=\"");
        put_colour(d, share_of(d, value), false);
        pt_put_u8(&d->buf, '"');
    }
    pt_put_text(&d->buf, " tooltip=");
    put_tooltip(d, edge, text);
    pt_put_text(&d->buf, " labeltooltip=");
    put_tooltip(d, edge, text);
    if (edge->residual) pt_put_text(&d->buf, " style=\"dotted\"");
    if (d->has_nodelet[edge->from]) pt_put_text(&d->buf, " minlen=2");
    pt_put_text(&d->buf, "]\n");
}

static void put_edges(drawing *d)
{
    const pt_graph *g = d->graph;
    PT_FREE uint32_t *edges = pt_alloc(g->edge_count, sizeof *edges);
    size_t count = 0;
    for (uint32_t i = 0; i < g->listed_count; i++) {
        const pt_graph_node *node = &g->node[g->listed[i]];
        for (uint32_t k = 0; k < node->out_count; k++)
            edges[count++] = node->out[k];
    }
    pt_graph_sort_edges(g, edges, count);
    PT_FREE int64_t *in = pt_alloc((size_t)g->node_count + 1, sizeof *in);
    PT_FREE int64_t *out = pt_alloc((size_t)g->node_count + 1, sizeof *out);
    const int64_t most = d->report->max_degree;
    for (size_t i = 0; i < count; i++) {
        const pt_graph_edge *edge = &g->edge[edges[i]];
        /* The heaviest edge into a node always stays, as in the Perl pprof. */
        const bool full =
            most > 0 && in[edge->to] > 0 && (in[edge->to] >= most || out[edge->from] >= most);
        if (full) continue;
        in[edge->to]++;
        out[edge->from]++;
        put_edge(d, edge);
    }
}

/* ---- All ---- */

static void put_legend(drawing *d)
{
    PT_AUTO(pt_legend) labels = pt_graph_legend(d->report, d->graph, true);
    pt_put_text(&d->buf, "subgraph cluster_L { \"");
    pt_put_dot_text(&d->buf, labels.line[0]);
    pt_put_text(&d->buf, "\" [shape=box fontsize=16 label=\"");
    for (size_t i = 0; i < labels.count; i++) {
        pt_put_dot_text(&d->buf, labels.line[i]);
        pt_put_text(&d->buf, "\\l");
    }
    pt_put_u8(&d->buf, '"');
    if (d->report->title != NULL) {
        pt_put_text(&d->buf, " tooltip=\"");
        pt_put_dot_text(&d->buf, d->report->title);
        pt_put_u8(&d->buf, '"');
    }
    pt_put_text(&d->buf, "] }\n");
}

void pt_graph_dot(pt_out *out, const pt_graph_report *report, const pt_graph *graph)
{
    drawing d = {.report = report, .graph = graph};
    d.number = pt_alloc(graph->node_count, sizeof *d.number);
    d.has_nodelet = pt_alloc(graph->node_count, sizeof *d.has_nodelet);
    pt_put_text(&d.buf, "digraph \"");
    pt_put_dot_text(&d.buf, report->title != NULL ? report->title : "unnamed");
    pt_put_text(&d.buf, "\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n");
    put_legend(&d);
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const pt_graph_node *node = &graph->node[graph->listed[i]];
        const uint64_t flat = pt_magnitude(pt_graph_mean(node->flat, node->flat_div));
        d.number[graph->listed[i]] = i + 1;
        if (flat > d.most_flat) d.most_flat = flat;
    }
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const uint32_t n = graph->listed[i];
        put_node(&d, &graph->node[n], i + 1);
        d.has_nodelet[n] = put_nodelets(&d, &graph->node[n], i + 1);
    }
    put_edges(&d);
    pt_put_text(&d.buf, "}\n");
    pt_out_put(out, d.buf.data, d.buf.size);
    pt_buf_done(&d.buf);
    PT_FREE_ALL(d.number, d.has_nodelet);
}
