/* print_callgrind.c: -callgrind, and -topproto.
 *
 * Names are compressed: "(1) main" the first time, then "(1)". Files of functions and of callees
 * share a table of numbers, and so do their names. If several functions have the same name and
 * file, their names get numbers, "[1/2]", but only as callees, as in pprof. Addresses are written
 * relative to the node before if that is shorter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "base/units.h"
#include "model/builder.h"
#include "personality/pprof/print.h"

/* ---- Compressed names ---- */

typedef struct {
    const char **text; /* borrowed */
    size_t count, cap;
    pt_index index;
} name_table;

static void put_name(pt_buf *buf, name_table *names, const char *name)
{
    if (name[0] == '\0') return;
    const uint64_t hash = pt_hash_bytes(name, strlen(name));
    PT_INDEX_EACH (&names->index, hash, id) {
        if (strcmp(names->text[id], name) != 0) continue;
        pt_putf(buf, "(%u)", id + 1);
        return;
    }
    if (names->count == names->cap) {
        names->cap = names->cap > 0 ? 2 * names->cap : 64;
        names->text = pt_realloc(names->text, names->cap, sizeof *names->text);
    }
    names->text[names->count] = name;
    pt_index_add(&names->index, hash, (uint32_t)names->count++);
    pt_putf(buf, "(%zu) %s", names->count, name);
}

static void name_table_done(name_table *names)
{
    free(names->text);
    pt_index_done(&names->index);
}

typedef struct {
    pt_out *out;
    const pt_graph_report *report;
    const pt_graph *graph;
    name_table objects, files, names;
    bool *listed;  /* per node */
    char **callee; /* for each node: its numbered name as a callee, or NULL */
    pt_buf line;
} writing;

/* ---- Callees with numbers ---- */

/* A listed node. Nodes with the same file and name are neighbours, in the order of the list. */
typedef struct {
    const pt_node_info *info;
    uint32_t place, function, node;
    uint32_t number; /* the number of its function among functions of the same name */
} named;

PT_ORDER(compare_named, named, PT_TEXT_UP(info->file) ?: PT_TEXT_UP(info->name) ?: PT_UP(place));

static bool same_name(const named *a, const named *b)
{
    return strcmp(a->info->file, b->info->file) == 0 && strcmp(a->info->name, b->info->name) == 0;
}

/* Numbers the functions of one name from 1, by first appearance. Returns how many there are. */
static uint32_t number_functions(named *group, size_t count, uint32_t *number_of)
{
    uint32_t functions = 0;
    for (size_t i = 0; i < count; i++) {
        if (number_of[group[i].function] == 0) number_of[group[i].function] = ++functions;
        group[i].number = number_of[group[i].function];
    }
    for (size_t i = 0; i < count; i++)
        number_of[group[i].function] = 0;
    return functions;
}

static void name_callees(writing *w)
{
    const pt_graph *g = w->graph;
    PT_FREE named *nodes = pt_alloc(g->listed_count, sizeof *nodes);
    PT_FREE uint32_t *number_of = pt_alloc(g->node_count, sizeof *number_of);
    w->callee = pt_alloc(g->node_count, sizeof *w->callee);
    w->listed = pt_alloc(g->node_count, sizeof *w->listed);
    for (uint32_t i = 0; i < g->listed_count; i++) {
        const pt_graph_node *node = &g->node[g->listed[i]];
        w->listed[g->listed[i]] = true;
        nodes[i] = (named){
            .info = node->info, .place = i, .function = node->function, .node = g->listed[i]};
    }
    if (g->listed_count > 0) qsort(nodes, g->listed_count, sizeof *nodes, compare_named);
    for (size_t i = 0, next; i < g->listed_count; i = next) {
        for (next = i + 1; next < g->listed_count && same_name(&nodes[i], &nodes[next]); next++) {
        }
        const uint32_t functions = number_functions(&nodes[i], next - i, number_of);
        for (size_t k = i; k < next && functions > 1; k++)
            w->callee[nodes[k].node] =
                pt_strf("%s [%u/%u]", nodes[k].info->name, nodes[k].number, functions);
    }
}

/* ---- Lines ---- */

static void put_address(pt_buf *buf, const pt_node_info *before, uint64_t address)
{
    char absolute[24], relative[24];
    snprintf(absolute, sizeof absolute, "0x%" PRIx64, address);
    if (before == NULL) {
        pt_put_text(buf, absolute);
    } else if (before->address == address) {
        pt_put_u8(buf, '*');
    } else {
        snprintf(relative, sizeof relative, "%+" PRId64, (int64_t)(address - before->address));
        pt_put_text(buf, strlen(relative) < strlen(absolute) ? relative : absolute);
    }
}

static int64_t scaled_value(const pt_graph_report *r, int64_t value)
{
    const char *unit;
    return pt_whole_part(pt_unit_convert(value, r->sample_unit, r->unit, &unit));
}

static void put_head(writing *w, const pt_node_info *info)
{
    pt_put_text(&w->line, "\nob=");
    put_name(&w->line, &w->objects, info->object);
    pt_put_text(&w->line, "\nfl=");
    put_name(&w->line, &w->files, info->file);
    pt_put_text(&w->line, "\nfn=");
    put_name(&w->line, &w->names, info->name);
    pt_put_u8(&w->line, '\n');
}

static void put_call(writing *w, const pt_graph_edge *edge, const pt_node_info *before)
{
    const pt_node_info *callee = w->graph->node[edge->to].info;
    const char *name = w->callee[edge->to] != NULL ? w->callee[edge->to] : callee->name;
    pt_put_text(&w->line, "cfl=");
    put_name(&w->line, &w->files, callee->file);
    pt_put_text(&w->line, "\ncfn=");
    put_name(&w->line, &w->names, w->listed[edge->to] ? name : ""); /* as in pprof */
    pt_put_text(&w->line, "\ncalls=0 ");
    put_address(&w->line, before, callee->address);
    pt_putf(&w->line, " %" PRId64 "\n* * %" PRId64 "\n", callee->line,
            scaled_value(w->report, edge->weight));
}

static bool same_head(const pt_node_info *a, const pt_node_info *b)
{
    return strcmp(a->object, b->object) == 0 && strcmp(a->file, b->file) == 0 &&
           strcmp(a->name, b->name) == 0;
}

void pt_pprof_callgrind(pt_out *out, const pt_graph_report *report, const pt_graph *graph)
{
    writing w = {.out = out, .report = report, .graph = graph};
    pt_index_init(&w.objects.index);
    pt_index_init(&w.files.index);
    pt_index_init(&w.names.index);
    name_callees(&w);
    pt_outf(out, "positions: instr line\nevents: %s(%s)\n", report->type, report->unit);
    const pt_node_info *before = NULL;
    for (uint32_t i = 0; i < graph->listed_count; i++) {
        const pt_graph_node *node = &graph->node[graph->listed[i]];
        if (before == NULL || !same_head(node->info, before)) put_head(&w, node->info);
        put_address(&w.line, before, node->info->address);
        pt_putf(&w.line, " %" PRId64 " %" PRId64 "\n", node->info->line,
                scaled_value(report, pt_graph_mean(node->flat, node->flat_div)));
        for (uint32_t k = 0; k < node->out_count; k++)
            put_call(&w, &graph->edge[node->out[k]], before);
        pt_out_put(out, w.line.data, w.line.size);
        pt_buf_clear(&w.line);
        before = node->info;
    }
    for (uint32_t n = 0; n < graph->node_count; n++)
        free(w.callee[n]);
    PT_FREE_ALL(w.callee, w.listed);
    name_table_done(&w.objects);
    name_table_done(&w.files);
    name_table_done(&w.names);
    pt_buf_done(&w.line);
}

/* ---- -topproto ---- */

static void add_node(pt_builder *b, const pt_graph_report *report, const pt_graph_node *node)
{
    const pt_function function = {
        .name = pt_builder_text(b, node->info->name).v,
        .file = pt_builder_text(b, node->info->file).v,
        .start_line = node->info->start_line,
    };
    const pt_line line = {.function = pt_builder_function(b, &function).v,
                          .line = node->info->line,
                          .column = node->info->column};
    const pt_location location = {.mapping = PT_NONE, .address = node->info->address};
    const uint32_t frame = pt_builder_append_location(b, &location, &line, 1).v;
    const int64_t values[2] = {
        scaled_value(report, pt_graph_mean(node->cum, node->cum_div)),
        scaled_value(report, pt_graph_mean(node->flat, node->flat_div)),
    };
    pt_builder_sample(b, pt_builder_stack(b, &frame, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                      values);
}

pt_status pt_pprof_top_profile(const pt_graph_report *report, const pt_graph *graph,
                               const pt_profile **ret_profile, pt_error *reterr)
{
    const pt_provenance *from = pt_profile_provenance(report->profile);
    pt_builder *b = pt_builder_new();
    const uint32_t unit = pt_builder_text(b, report->unit).v;
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "cum").v, .unit = unit});
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "flat").v, .unit = unit});
    const uint32_t type = pt_builder_text(b, pt_text(report->profile, from->period_type)).v;
    const uint32_t period_unit = pt_builder_text(b, pt_text(report->profile, from->period_unit)).v;
    pt_provenance *source = pt_builder_provenance(b);
    source->start_ns = from->start_ns;
    source->duration_ns = from->duration_ns;
    source->has_period_type = from->has_period_type;
    source->period_type = type;
    source->period_unit = period_unit;
    source->period = from->period;
    for (uint32_t i = 0; i < graph->listed_count; i++)
        add_node(b, report, &graph->node[graph->listed[i]]);
    return pt_builder_freeze(b, ret_profile, reterr);
}
