/* print_text.c: -text (-top), -tree and -peek. */
#include <string.h>

#include "base/saturate.h"
#include "base/units.h"
#include "personality/pprof/print.h"

/* The number of characters of UTF-8; a byte that is not UTF-8 counts as one. */
static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (const uint8_t *c = (const uint8_t *)text; *c != 0; count++) {
        size_t more = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc2 ? 1 : 0;
        c++;
        for (const uint8_t *next = c; more > 0 && (*next & 0xc0) == 0x80; next++)
            if (--more == 0) c = next + 1;
    }
    return count;
}

void pt_pprof_put_right(pt_buf *buf, const char *text, unsigned width)
{
    for (size_t have = count_characters(text); have < width; have++)
        pt_put_u8(buf, ' ');
    pt_put_text(buf, text);
}

/* A line of output, sent when it is complete. */
typedef struct {
    pt_out *out;
    const pt_graph_report *report;
    pt_buf line, value;
} writing;

static void put_value(writing *w, int64_t value, unsigned width)
{
    pt_buf_clear(&w->value);
    pt_graph_put_value(&w->value, w->report, value);
    pt_pprof_put_right(&w->line, pt_buf_text(&w->value), width);
    pt_put_u8(&w->line, ' ');
}

static void put_percent(writing *w, int64_t part, int64_t total)
{
    pt_put_percent(&w->line, part, total);
    pt_put_u8(&w->line, ' ');
}

static void end_line(writing *w)
{
    pt_put_u8(&w->line, '\n');
    pt_out_put(w->out, w->line.data, w->line.size);
    pt_buf_clear(&w->line);
}

static void writing_done(writing *w)
{
    pt_buf_done(&w->line);
    pt_buf_done(&w->value);
}

static void put_labels(pt_out *out, const pt_graph_report *report, const pt_graph *graph)
{
    PT_AUTO(pt_legend) labels = pt_graph_legend(report, graph, false);
    for (size_t i = 0; i < labels.count; i++)
        pt_outf(out, "%s\n", labels.line[i]);
}

/* Puts flat, its share, the share of *flat_sum (the sum of flat so far), cum, and the share of cum;
 * each is followed by a space. */
static void put_figures(writing *w, const pt_graph_node *node, int64_t *flat_sum)
{
    const int64_t total = w->report->total;
    const int64_t flat = pt_graph_mean(node->flat, node->flat_div);
    const int64_t cum = pt_graph_mean(node->cum, node->cum_div);
    pt_wrapping_into(flat_sum, flat);
    put_value(w, flat, 10);
    put_percent(w, flat, total);
    put_percent(w, *flat_sum, total);
    put_value(w, cum, 10);
    put_percent(w, cum, total);
}

void pt_pprof_text(pt_out *out, const pt_graph_report *report, const pt_graph *graph)
{
    put_labels(out, report, graph);
    pt_out_text(out, "      flat  flat%   sum%        cum   cum%\n");
    PT_AUTO(writing) w = {.out = out, .report = report};
    int64_t flat_sum = 0;
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const pt_graph_node *node = &graph->node[graph->listed[i]];
        put_figures(&w, node, &flat_sum);
        pt_putf(&w.line, " %s%s", node->text,
                !node->inlined ? ""
                : node->called ? " (partial-inline)"
                               : " (inline)");
        end_line(&w);
    }
}

/* ---- Callers and callees ---- */

#define SEPARATOR "----------------------------------------------------------+-------------\n"

static void put_edge(writing *w, const pt_graph *graph, const pt_graph_edge *edge, uint32_t other,
                     int64_t cum)
{
    put_value(w, edge->weight, 50);
    put_percent(w, edge->weight, cum);
    pt_putf(&w->line, "|   %s%s", graph->node[other].text, edge->inlined ? " (inline)" : "");
    end_line(w);
}

static void put_block(writing *w, const pt_graph *graph, const pt_graph_node *node,
                      int64_t *flat_sum)
{
    const int64_t cum = pt_graph_mean(node->cum, node->cum_div);
    pt_out_text(w->out, SEPARATOR);
    for (uint32_t i = 0; i < node->in_count; i++)
        put_edge(w, graph, &graph->edge[node->in[i]], graph->edge[node->in[i]].from, cum);
    put_figures(w, node, flat_sum);
    pt_putf(&w->line, "               | %s", node->text);
    end_line(w);
    for (uint32_t i = 0; i < node->out_count; i++)
        put_edge(w, graph, &graph->edge[node->out[i]], graph->edge[node->out[i]].to, cum);
}

pt_status pt_pprof_tree(pt_out *out, const pt_graph_report *report, const pt_graph *graph,
                        const pt_regex *pattern, const char *pattern_text, pt_error *reterr)
{
    put_labels(out, report, graph);
    pt_out_text(out, SEPARATOR);
    pt_out_text(out,
                "      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n");
    writing w = {.out = out, .report = report};
    pt_status status = PT_OK;
    bool any = pattern == NULL;
    int64_t flat_sum = 0;
    for (uint32_t i = 0; i < graph->listed_count && status == PT_OK; i++) {
        const pt_graph_node *node = &graph->node[graph->listed[i]];
        bool match = true;
        if (pattern != NULL)
            status = pt_regex_match(pattern, node->text, strlen(node->text), &match, reterr);
        if (status != PT_OK || !match) continue;
        any = true;
        put_block(&w, graph, node, &flat_sum);
    }
    writing_done(&w);
    if (status != PT_OK) return status;
    if (graph->listed_count > 0) pt_out_text(out, SEPARATOR);
    if (any) return PT_OK;
    return pt_error_set(reterr, PT_ERR_NOTFOUND, "no matches found for regexp: %s", pattern_text);
}
