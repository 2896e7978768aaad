/* fuzz_graph.c: bytes taken for profile.proto, as pprof's graph, whole and cut, and in all reports
 * on it: flat of all nodes is what samples with a frame add up to. */
#include "formats_fuzz.h"
#include "personality/pprof/as_pprof.h"
#include "personality/pprof/print.h"

#include <string.h>

static uint64_t value_of_stacks(const pt_profile *p, uint32_t event)
{
    uint64_t sum = 0; /* as the graph adds: without an end */
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        if (pt_stack_depth(p, p->sample->stack[i]) > 0) sum += (uint64_t)p->sample->value[event][i];
    return sum;
}

static void check_graph(const pt_graph *g, const pt_graph_request *request, uint64_t expected)
{
    uint64_t flat = 0;
    for (uint32_t n = 0; n < g->node_count; n++)
        flat += (uint64_t)g->node[n].flat;
    if (request->node_fraction == 0 && flat != expected) fuzz_fail("graph", "flat is lost");
    for (uint32_t i = 0; i < g->listed_count; i++)
        if (g->node[g->listed[i]].text == NULL) fuzz_fail("graph", "a node has no text");
    if (g->listed_count > g->original_count) fuzz_fail("graph", "more nodes after a cut");
}

static void put_reports(const pt_graph_report *report, const pt_graph *graph, bool visual)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_pprof_text(&out, report, graph);
    if (pt_pprof_tree(&out, report, graph, NULL, NULL, NULL) != PT_OK)
        fuzz_fail("tree", "it failed");
    pt_pprof_callgrind(&out, report, graph);
    if (visual) pt_graph_dot(&out, report, graph);
    pt_out_done(&out, NULL);
    pt_buf_done(&buf);
}

static void ask(const pt_profile *p, uint32_t event, pt_graph_request request)
{
    pt_graph graph;
    pt_error error = PT_ERROR_INIT;
    request.event = event;
    request.edges = PT_EDGES_ALL;
    request.unit = "minimum";
    if (pt_graph_init(&graph, p, &request, &error) != PT_OK) fuzz_fail("graph", error.message);
    check_graph(&graph, &request, value_of_stacks(p, event));
    pt_graph_report report = {
        .profile = p,
        .event = event,
        .mean = request.mean,
        .total = pt_graph_total(p, event, request.mean),
        .type = "type",
        .sample_unit = pt_text(p, p->event->row[event].unit),
        .ratio = request.mean ? 0.5 : 1,
    };
    report.unit =
        pt_graph_unit(&graph, report.total, "minimum", report.sample_unit, report.ratio, false);
    put_reports(&report, &graph, request.visual);
    pt_graph_done(&graph);
}

static void ask_all(const pt_profile *p, uint32_t event)
{
    ask(p, event, (pt_graph_request){.by_cum = true, .fold = {.pprof = true}});
    ask(p, event, (pt_graph_request){.by_cum = true});
    ask(p, event, (pt_graph_request){.fold = {.by = PT_BY_LINE, .pprof = true}, .node_count = 3});
    ask(p, event,
        (pt_graph_request){.visual = true,
                           .node_count = 5,
                           .node_fraction = 0.01,
                           .edge_fraction = 0.01,
                           .mean = true});
    ask(p, event,
        (pt_graph_request){.visual = true,
                           .call_tree = true,
                           .node_count = 5,
                           .node_fraction = 0.1,
                           .drop_negative = true});
    ask(p, event,
        (pt_graph_request){.call_tree = true,
                           .fold = {.by = PT_BY_ADDRESS, .object_names = true, .pprof = true}});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_status status;
    const pt_profile *read = fuzz_read(pt_format_find("pprof"), data, size, &status);
    if (!read) return 0;
    const pt_profile *p = pt_as_pprof(read);
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_pprof_raw(&out, p);
    pt_out_done(&out, NULL);
    pt_buf_done(&buf);
    if (p->event->t.count > 0) ask_all(p, 0);
    if (p->event->t.count > 1) ask_all(p, p->event->t.count - 1);
    pt_profile_unref(p);
    pt_profile_unref(read);
    return 0;
}
