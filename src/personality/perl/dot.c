/* dot.c: the call graph as the Perl pprof writes it for Graphviz. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "personality/perl/perl.h"
#include "render/graph_report.h"

/* ---- The choice of nodes ---- */

typedef struct {
    const pt_perl_session *session;
    const pt_perl_reduced *reduced;
} sorting;

static int by_cum_then_name(const void *a, const void *b, void *context)
{
    const sorting *s = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const double p = fabs(s->reduced->cum[x]), q = fabs(s->reduced->cum[y]);
    if (p != q) return p > q ? -1 : 1;
    return strcmp(pt_perl_text_of(s->session, s->reduced->node[x]),
                  pt_perl_text_of(s->session, s->reduced->node[y]));
}

/* Rows of the nodes to draw, the greatest first; the caller frees. */
static uint32_t *choose_nodes(const pt_perl_session *s, const pt_perl_reduced *reduced,
                              double limit, size_t *ret_count)
{
    uint32_t *order = pt_alloc_numbers(reduced->count);
    sorting by = {.session = s, .reduced = reduced};
    qsort_r(order, reduced->count, sizeof *order, by_cum_then_name, &by);
    const int64_t wanted = s->settings->node_count;
    size_t count = reduced->count;
    if (wanted < (int64_t)count) count = wanted > 0 ? (size_t)wanted : 0;
    while (count > 0 && fabs(reduced->cum[order[count - 1]]) <= limit)
        count--;
    *ret_count = count;
    return order;
}

/* ---- Nodes ---- */

static void put_quoted(pt_out *out, const char *text)
{
    PT_AUTO(pt_buf) quoted = PT_BUF_INIT;
    pt_put_dot_text(&quoted, text);
    pt_out_put(out, quoted.data, quoted.size);
}

/* Puts a name with line breaks at spaces and "::". */
static void put_label(pt_out *out, const char *name)
{
    for (const char *p = name; *p != '\0';) {
        if (pt_is_space(*p)) {
            while (pt_is_space(*p))
                p++;
            pt_out_text(out, "\\n");
        } else if (p[0] == ':' && p[1] == ':') {
            p += 2;
            pt_out_text(out, "\\n");
        } else {
            const char one[] = {*p++, '\0'};
            put_quoted(out, one);
        }
    }
}

static void put_node(pt_perl_session *s, pt_out *out, size_t number, const char *name, double flat,
                     double cum, double total)
{
    const double size = total > 0 ? 8 + 50.0 * sqrt(fabs(flat / total)) : 8;
    pt_outf(out, "N%zu [label=\"", number);
    put_label(out, name);
    pt_outf(out, "\\n%s (%s)", pt_perl_unparse(s, flat).text, pt_perl_percent(flat, total).text);
    if (flat != cum)
        pt_outf(out, "\\rof %s (%s)", pt_perl_unparse(s, cum).text,
                pt_perl_percent(cum, total).text);
    const char *style = "";
    if (s->settings->heapcheck && flat > 0) style = ",style=filled,fillcolor=gray";
    if (s->settings->heapcheck && flat < 0) style = ",peripheries=3";
    pt_outf(out, "\\r\",shape=box,fontsize=%.1f%s];\n", size, style);
}

/* ---- Edges ---- */

typedef struct {
    uint32_t from, to; /* numbers of drawn nodes, from 1 */
    uint32_t order;
    double value;
} edge;

typedef struct {
    const pt_perl_reduced *reduced;
    const uint32_t *number; /* by row: 0 = not drawn */
    edge *items;
    size_t count, cap;
    pt_index index;
} edges;

static uint32_t drawn_node(const edges *e, uint32_t word)
{
    const uint32_t row = word < e->reduced->row_count ? e->reduced->row[word] : PT_NONE;
    return row != PT_NONE ? e->number[row] : 0;
}

static void add_edge(edges *e, uint32_t from, uint32_t to, double value)
{
    const uint64_t hash = pt_hash_u32_pair(from, to);
    PT_INDEX_EACH (&e->index, hash, id) {
        if (e->items[id].from != from || e->items[id].to != to) continue;
        e->items[id].value += value;
        return;
    }
    PT_INDEX_PUSH(&e->index, hash, *e,
                  (edge){.from = from, .to = to, .value = value, .order = (uint32_t)e->count});
}

static void add_edges_of_stack(void *context, const uint32_t *nodes, size_t count, double value)
{
    edges *e = context;
    for (size_t i = 1; i < count; i++) {
        const uint32_t from = drawn_node(e, nodes[i]), to = drawn_node(e, nodes[i - 1]);
        if (from > 0 && to > 0) add_edge(e, from, to, value);
    }
}

PT_ORDER(by_value, edge, PT_DOWN(value) ?: PT_UP(order));

static void put_edge(pt_perl_session *s, pt_out *out, const edge *e, const char *to, double total)
{
    double fraction = total != 0 ? fabs(3 * (e->value / total)) : 0;
    if (fraction > 1) fraction = 1;
    double width = fraction * 2;
    if (width < 1 && (s->mode == PT_PERL_WEB || s->mode == PT_PERL_SVG)) width = 1;
    double weight = pow(fabs(e->value), 0.7);
    if (weight > 100000) weight = 100000;
    pt_outf(out, "N%u -> N%u [label=%s, weight=%d, style=\"setlinewidth(%f)%s\"];\n", e->from,
            e->to, pt_perl_unparse(s, e->value).text, (int)weight, width,
            strstr(to, "(inline)") != NULL ? ",dashed" : "");
}

/* Keeps the heaviest edge into each node. Keeps another edge when it is above the limit and both of
 * its nodes have fewer than --maxdegree edges. */
static void put_edges(pt_perl_session *s, pt_out *out, edges *e, const uint32_t *order,
                      size_t node_count, double limit)
{
    if (e->count > 0) qsort(e->items, e->count, sizeof *e->items, by_value);
    PT_FREE int64_t *in = pt_alloc(node_count + 1, sizeof *in);
    PT_FREE int64_t *out_of = pt_alloc(node_count + 1, sizeof *out_of);
    const int64_t most = s->settings->max_degree;
    for (size_t i = 0; i < e->count; i++) {
        const edge *it = &e->items[i];
        const bool keep = in[it->to] == 0 ||
                          (fabs(it->value) > limit && in[it->to] < most && out_of[it->from] < most);
        if (!keep) continue;
        in[it->to]++;
        out_of[it->from]++;
        const uint32_t row = order[it->to - 1];
        put_edge(s, out, it, pt_perl_text_of(s, e->reduced->node[row]), e->reduced->total);
    }
}

/* ---- The whole ---- */

static void put_head(pt_perl_session *s, pt_out *out, double overall, double total,
                     double node_limit, double edge_limit)
{
    const char *units = pt_perl_units(s);
    pt_out_text(out, "digraph \"");
    put_quoted(out, s->program);
    pt_outf(out, "; %s %s\" {\n", pt_perl_unparse(s, overall).text, units);
    if (s->mode == PT_PERL_PDF) pt_out_text(out, "size=\"8,11\"\n");
    pt_out_text(out, "node [width=0.375,height=0.25];\n"
                     "Legend [shape=box,fontsize=24,shape=plaintext,label=\"");
    put_quoted(out, s->program);
    pt_outf(out,
            "\\lTotal %s: %s\\lFocusing on: %s\\lDropped nodes with <= %s abs(%s)\\l"
            "Dropped edges with <= %s %s\\l\"];\n",
            units, pt_perl_unparse(s, overall).text, pt_perl_unparse(s, total).text,
            pt_perl_unparse(s, node_limit).text, units, pt_perl_unparse(s, edge_limit).text, units);
}

bool pt_perl_print_dot(pt_perl_session *session, pt_out *out, const pt_perl_profile *profile,
                       const pt_perl_reduced *reduced, double overall_total)
{
    const double total = reduced->total;
    const double node_limit = trunc(session->settings->node_fraction * total);
    const double edge_limit = trunc(session->settings->edge_fraction * total);
    size_t count;
    PT_FREE uint32_t *order = choose_nodes(session, reduced, node_limit, &count);
    if (count == 0) {
        pt_perl_say("No nodes to print\n");
        return false;
    }
    const char *units = pt_perl_units(session);
    if (node_limit > 0 || edge_limit > 0)
        pt_perl_say("Dropping nodes with <= %s %s; edges with <= %s abs(%s)\n",
                    pt_perl_unparse(session, node_limit).text, units,
                    pt_perl_unparse(session, edge_limit).text, units);
    put_head(session, out, overall_total, total, node_limit, edge_limit);
    PT_FREE uint32_t *number = pt_alloc(reduced->count + 1, sizeof *number);
    for (size_t i = 0; i < count; i++) {
        number[order[i]] = (uint32_t)i + 1;
        put_node(session, out, i + 1, pt_perl_text_of(session, reduced->node[order[i]]),
                 reduced->flat[order[i]], reduced->cum[order[i]], total);
    }
    edges e = {.reduced = reduced, .number = number};
    pt_perl_each_stack(session, profile, add_edges_of_stack, &e);
    put_edges(session, out, &e, order, count, edge_limit);
    pt_out_text(out, "}\n");
    free(e.items);
    pt_index_done(&e.index);
    return true;
}
