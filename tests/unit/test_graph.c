/* test_graph.c: pprof's graph, its cuts and its names, by arithmetic on small profiles. */
#include "profile_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "render/graph_report.h"
#include "view/graph.h"
#include "view/labels.h"
#include "view/traces.h"

#define SAMPLES "samples/count"

static pt_graph graph_of(const pt_profile *p, pt_graph_request request)
{
    pt_graph graph;
    pt_error error = PT_ERROR_INIT;
    request.fold.pprof = true;
    if (request.edges == PT_EDGES_NONE) request.edges = PT_EDGES_ALL;
    if (request.unit == NULL) request.unit = "auto";
    assert_int_equal(pt_graph_init(&graph, p, &request, &error), PT_OK);
    return graph;
}

/* One listed node a line: "name flat cum", then " -> name weight" for each edge, "..." if residual,
 * "~" before the name if inlined; tags in brackets. */
static void put_node(pt_buf *text, const pt_graph *g, const pt_graph_node *n)
{
    pt_putf(text, "%s %lld %lld", n->text, (long long)n->flat, (long long)n->cum);
    for (size_t i = 0; i < n->texts.count; i++)
        pt_putf(text, " [%s %lld]", n->texts.tag[i].name, (long long)n->texts.tag[i].flat);
    for (uint32_t i = 0; i < n->out_count; i++) {
        const pt_graph_edge *e = &g->edge[n->out[i]];
        pt_putf(text, " %s %s%s %lld", e->residual ? "..." : "->", e->inlined ? "~" : "",
                g->node[e->to].text, (long long)e->weight);
    }
    pt_put_u8(text, '\n');
}

static void expect_graph(const pt_profile *p, pt_graph_request request, const char *expected)
{
    pt_graph g = graph_of(p, request);
    pt_buf text = PT_BUF_INIT;
    for (uint32_t i = 0; i < g.listed_count; i++)
        put_node(&text, &g, &g.node[g.listed[i]]);
    if (g.dropped_nodes > 0) pt_putf(&text, "%u nodes dropped\n", g.dropped_nodes);
    if (g.dropped_edges > 0) pt_putf(&text, "%u edges dropped\n", g.dropped_edges);
    assert_string_equal(pt_buf_text(&text), expected);
    pt_buf_done(&text);
    pt_graph_done(&g);
}

static void edges_have_what_goes_through_them(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;parse;read 3\n"
                                                               "main;parse 2\n"
                                                               "start;main;emit 4\n");
    expect_graph(p, (pt_graph_request){0},
                 "emit 4 4\n"
                 "read 3 3\n"
                 "parse 2 5 -> read 3\n"
                 "main 0 9 -> parse 5 -> emit 4\n"
                 "start 0 4 -> main 4\n");
}

static void an_edge_counts_a_stack_once_and_none_leads_to_itself(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "f;g;f;g;g 5\n");
    expect_graph(p, (pt_graph_request){0},
                 "g 5 5 -> f 5\n"
                 "f 0 5 -> g 5\n");
}

static void an_edge_is_inlined_only_if_all_its_calls_are(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "a~b 1\n"
                                                               "a;b 1\n"
                                                               "a~c 1\n");
    expect_graph(p, (pt_graph_request){.by_cum = true},
                 "a 0 3 -> b 2 -> ~c 1\n"
                 "b 2 2\n"
                 "c 1 1\n");
}

static void without_inlined_frames_the_outermost_function_has_it_all(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "a~b~c 2\n");
    expect_graph(p, (pt_graph_request){.fold = {.no_inlines = true}}, "a 2 2\n");
}

/* Total flat is 100: at a share of 0.1 nodes below 10 go. light has 9, and heavy, which it called,
 * hangs on main by a residual edge; what light had itself is nobody's. */
static void what_a_dropped_node_called_hangs_on_its_caller(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;light 1\n"
                                                               "main;light;heavy 8\n"
                                                               "main;heavy 91\n");
    expect_graph(p, (pt_graph_request){.node_fraction = 0.1},
                 "heavy 99 99\n"
                 "main 0 100 ... heavy 99\n"
                 "1 nodes dropped\n");
    PT_UNREF_PROFILE const pt_profile *only = profile_of(SAMPLES, "main;light;heavy 8\n"
                                                                  "other 92\n"
                                                                  "main 2\n");
    expect_graph(only, (pt_graph_request){.node_fraction = 0.08},
                 "other 92 92\n"
                 "heavy 8 8\n"
                 "main 2 10 -> light 8\n"
                 "light 0 8 -> heavy 8\n");
}

/* int(100 * 0.1) = 10: what is exactly at the cutoff stays. */
static void a_node_at_the_cutoff_stays(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "a 90\nb 10\n");
    expect_graph(p, (pt_graph_request){.node_fraction = 0.1}, "a 90 90\nb 10 10\n");
}

static void light_edges_go_and_are_counted(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;a 95\nmain;b;a 5\n");
    expect_graph(p, (pt_graph_request){.edge_fraction = 0.06},
                 "a 100 100\n"
                 "b 0 5\n"
                 "main 0 100 -> a 95\n"
                 "2 edges dropped\n");
}

static void beyond_the_node_count_nodes_go_in_the_order_of_the_report(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "m;a 5\nm;b 3\nm;c;d 2\n");
    expect_graph(p, (pt_graph_request){.node_count = 2}, "a 5 5\nb 3 3\n");
    expect_graph(p, (pt_graph_request){.node_count = 2, .by_cum = true}, "m 0 10 -> a 5\na 5 5\n");
}

static void equal_values_are_ordered_by_name(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "z 1\nb 1\na 1\n");
    expect_graph(p, (pt_graph_request){0}, "a 1 1\nb 1 1\nz 1 1\n");
}

static void values_that_cancel_out_leave_no_node_but_an_edge(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "m;a 5\nm;a;x -5\nm 3\n");
    expect_graph(p, (pt_graph_request){0},
                 "a 5 0 -> x -5\n"
                 "x -5 -5\n"
                 "m 3 3 -> a 0\n");
    expect_graph(p, (pt_graph_request){.drop_negative = true},
                 "a 5 0 -> x -5\n"
                 "m 3 3 -> a 0\n");
}

static void a_call_tree_has_a_node_for_every_path(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "a;x;y 2\nb;x;y 3\n");
    expect_graph(p, (pt_graph_request){.call_tree = true, .by_cum = true},
                 "b 0 3 -> x 3\n"
                 "x 0 3 -> y 3\n"
                 "y 3 3\n"
                 "a 0 2 -> x 2\n"
                 "x 0 2 -> y 2\n"
                 "y 2 2\n");
}

/* light goes from the tree: heavy, below it, hangs on main. */
static void a_cut_tree_hangs_what_was_called_on_the_nearest_caller_left(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;light;heavy 60\n"
                                                               "main 40\n");
    expect_graph(p, (pt_graph_request){.call_tree = true, .node_count = 2},
                 "heavy 60 60\n"
                 "main 40 100 ... heavy 60\n");
}

/* Entropy: main, of no caller, has 1 + H(50, 50) = 2 of 100; a and b have H(one caller) = 0 and 1
 * for being leaves: 50 + 50; pass has neither: 0 + 0. */
static void a_picture_lists_first_what_tells_most(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;pass;a 50\nmain;b 50\n");
    expect_graph(p, (pt_graph_request){.visual = true},
                 "main 0 100 -> b 50 -> pass 50\n"
                 "a 50 50\n"
                 "b 50 50\n"
                 "pass 0 50 -> a 50\n");
}

static void tags_are_what_samples_at_a_node_carry(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "m;a 2 thread:io\nm;a 3 thread:ui\nm 1 thread:ui\n");
    expect_graph(p, (pt_graph_request){.tags = true},
                 "a 5 5 [thread:io 2] [thread:ui 3]\n"
                 "m 1 6 [thread:io 0] [thread:ui 1] -> a 5\n");
}

static void of_a_mean_sums_and_divisors_are_kept(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count cpu/nanoseconds", "m;a 2 10\nm;a 3 40\n");
    pt_graph g = graph_of(p, (pt_graph_request){.event = 1, .mean = true});
    const pt_graph_node *a = &g.node[g.listed[0]];
    assert_string_equal(a->text, "a");
    assert_int_equal(pt_graph_mean(a->flat, a->flat_div), 10); /* 50 / 5 */
    pt_graph_done(&g);
    assert_int_equal(pt_graph_total(p, 1, true), 10);
    assert_int_equal(pt_graph_total(p, 1, false), 50);
}

static void the_whole_is_the_sum_of_magnitudes(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "a 7\nb -4\n");
    assert_int_equal(pt_graph_total(p, 0, false), 11);
}

static void granularities_fold_by_what_they_say(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "f@./x/../a.c:1 1\nf@a.c:2 2\nf@b.c:1 4\n");
    expect_graph(p, (pt_graph_request){0}, "f 7 7\n");
    expect_graph(p, (pt_graph_request){.fold = {.by = PT_BY_FILEFUNCTION}},
                 "f b.c 4 4\nf a.c 3 3\n");
    expect_graph(p, (pt_graph_request){.fold = {.by = PT_BY_FILE}}, "b.c 4 4\na.c 3 3\n");
    expect_graph(p, (pt_graph_request){.fold = {.by = PT_BY_LINE}},
                 "f b.c:1 4 4\nf a.c:2 2 2\nf a.c:1 1 1\n");
}

static void frames_without_a_name_are_their_file(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "lib.so+0x10 1\nlib.so+0x20 2\n");
    expect_graph(p, (pt_graph_request){0}, "[lib.so] 3 3\n");
}

/* minimum: 5 ns of 10 s; 100 times as much is still ns. 5 us of 10 us: one unit. */
static void the_unit_is_that_of_the_smallest_unless_too_small(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("cpu/nanoseconds", "a 5000\nb 10000000\n");
    pt_graph g = graph_of(p, (pt_graph_request){0});
    /* 5 us and 10 ms: 100 times 5 us is 500 us */
    assert_string_equal(pt_graph_unit(&g, 10005000, "minimum", "nanoseconds", 1, false), "us");
    assert_string_equal(pt_graph_unit(&g, 10005000, "ms", "nanoseconds", 1, false), "ms");
    pt_graph_done(&g);
    PT_UNREF_PROFILE const pt_profile *q =
        profile_of("cpu/nanoseconds", "a 20000000\nb 9000000000\n");
    g = graph_of(q, (pt_graph_request){0});
    /* 20 ms and 9 s: 2 s, so that 20 ms is 0.02 s; whole numbers cannot say that */
    assert_string_equal(pt_graph_unit(&g, 9020000000, "minimum", "nanoseconds", 1, false), "s");
    assert_string_equal(pt_graph_unit(&g, 9020000000, "minimum", "nanoseconds", 1, true), "ms");
    pt_graph_done(&g);
}

static void long_names_lose_what_the_picture_needs_not(void **state)
{
    static const char *const names[][2] = {
        {"main", "main"},
        {"(anonymous namespace)::helper", "helper"},
        {"ns::Widget::draw", "Widget::draw"},
        {"ns::sub::Table<int, a::B>::find", "ns::sub::Table<int, a::B>::find"},
        {"ns::Table::find<int>(int)", "Table::find<int>"},
        {"ns::_Impl::~Impl", "_Impl::~Impl"},
        {"ns::fn", "ns::fn"},
        {"github.com/foo/bar.Baz.Run", "bar.Baz.Run"},
        {"example.com/mod/v2/pkg.(*T).Do", "pkg.(*T).Do"},
        {"example.com/mod/v2.Do", "mod.Do"},
        {"example.com/mod/v1.Do", "v1.Do"},
        {"net/http.(*conn).serve", "http.(*conn).serve"},
        {"java.util.HashMap.get", "HashMap.get"},
        {"com.foo.Bar.<init>", "Bar.<init>"},
        {"com.foo.Bar$1.run(Thread.java)", "Bar$1.run"},
        {"com.foo.Bar.run more", "com.foo.Bar.run more"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        PT_FREE char *brief = pt_short_name(names[i][0]);
        assert_string_equal(brief, names[i][1]);
    }
}

static void stacks_that_read_alike_are_one_trace(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "m;a@a.c:1 2\nm;a@a.c:2 3\nm 4\n- 9\n");
    pt_traces traces;
    const pt_traces_request request = {.whole = 18};
    assert_int_equal(pt_traces_init(&traces, p, &request, NULL), PT_OK);
    assert_int_equal(traces.count, 2);
    assert_int_equal(traces.trace[0].value, 5);
    assert_int_equal(traces.trace[1].value, 4);
    pt_traces_done(&traces);
    const pt_traces_request apart = {.whole = 18, .fold = {.by = PT_BY_LINE}, .limit = 1};
    assert_int_equal(pt_traces_init(&traces, p, &apart, NULL), PT_OK);
    assert_int_equal(traces.count, 1);
    assert_int_equal(traces.more, 2);
    assert_int_equal(traces.trace[0].value, 4);
    pt_traces_done(&traces);
}

static void a_label_counts_each_sample_that_has_it_once(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "a 2 k:x k:x\nb 3 k:y\nb 4 k:x n:32/kb\nc 1\n");
    const pt_labels_request request = {.whole = 10};
    pt_labels_view view = pt_labels_view_of(p, &request);
    assert_int_equal(view.count, 2);
    assert_string_equal(view.key[0].key, "k");
    assert_int_equal(view.key[0].value, 9);
    assert_int_equal(view.key[0].count, 2);
    assert_string_equal(view.key[0].row[0].text, "x");
    assert_int_equal(view.key[0].row[0].value, 6);
    assert_null(view.key[1].row[0].text);
    assert_int_equal(view.key[1].row[0].number, 32);
    assert_string_equal(view.key[1].row[0].unit, "kb");
    pt_labels_view_done(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_have_what_goes_through_them),
        cmocka_unit_test(an_edge_counts_a_stack_once_and_none_leads_to_itself),
        cmocka_unit_test(an_edge_is_inlined_only_if_all_its_calls_are),
        cmocka_unit_test(without_inlined_frames_the_outermost_function_has_it_all),
        cmocka_unit_test(what_a_dropped_node_called_hangs_on_its_caller),
        cmocka_unit_test(a_node_at_the_cutoff_stays),
        cmocka_unit_test(light_edges_go_and_are_counted),
        cmocka_unit_test(beyond_the_node_count_nodes_go_in_the_order_of_the_report),
        cmocka_unit_test(equal_values_are_ordered_by_name),
        cmocka_unit_test(values_that_cancel_out_leave_no_node_but_an_edge),
        cmocka_unit_test(a_call_tree_has_a_node_for_every_path),
        cmocka_unit_test(a_cut_tree_hangs_what_was_called_on_the_nearest_caller_left),
        cmocka_unit_test(a_picture_lists_first_what_tells_most),
        cmocka_unit_test(tags_are_what_samples_at_a_node_carry),
        cmocka_unit_test(of_a_mean_sums_and_divisors_are_kept),
        cmocka_unit_test(the_whole_is_the_sum_of_magnitudes),
        cmocka_unit_test(granularities_fold_by_what_they_say),
        cmocka_unit_test(frames_without_a_name_are_their_file),
        cmocka_unit_test(the_unit_is_that_of_the_smallest_unless_too_small),
        cmocka_unit_test(long_names_lose_what_the_picture_needs_not),
        cmocka_unit_test(stacks_that_read_alike_are_one_trace),
        cmocka_unit_test(a_label_counts_each_sample_that_has_it_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
