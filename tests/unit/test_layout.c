/* test_layout.c: properties that every laid-out graph has: nothing overlaps, arrows point down
 * unless they close a cycle, all is on the page. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "picture/layout.h"
#include "picture/picture.h"

static uint64_t seed;

static unsigned below(unsigned limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % limit;
}

static pt_drawing laid_out(const char *dot)
{
    pt_drawing d;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_drawing_read(dot, strlen(dot), &d, &error), PT_OK);
    assert_int_equal(pt_layout(&d, &error), PT_OK);
    return d;
}

/* Boxes as [left, right) x [top, bottom). */
static bool overlap(double ax, double ay, double aw, double ah, double bx, double by, double bw,
                    double bh)
{
    return fabs(ax - bx) < (aw + bw) / 2 - 0.01 && fabs(ay - by) < (ah + bh) / 2 - 0.01;
}

static void check(const pt_drawing *d)
{
    for (size_t i = 0; i < d->node_count; i++) {
        const pt_drawing_node *a = &d->node[i];
        assert_true(a->x - a->width / 2 >= 0 && a->x + a->width / 2 <= d->width);
        assert_true(a->y - a->height / 2 >= 0 && a->y + a->height / 2 <= d->height);
        for (size_t k = 0; k < i; k++) {
            const pt_drawing_node *b = &d->node[k];
            assert_false(overlap(a->x, a->y, a->width, a->height, b->x, b->y, b->width, b->height));
        }
    }
    for (size_t i = 0; i < d->edge_count; i++) {
        const pt_drawing_edge *e = &d->edge[i];
        const pt_drawing_node *to = &d->node[e->to];
        assert_true(e->curve_count >= 4 && e->curve_count % 3 == 1);
        /* The tip touches the box. */
        assert_true(fabs(e->tip.x - to->x) <= to->width / 2 + 0.1);
        assert_true(fabs(e->tip.y - to->y) <= to->height / 2 + 0.1);
        for (size_t k = 0; e->label.count > 0 && e->from != e->to && k < d->node_count; k++) {
            const pt_drawing_node *b = &d->node[k];
            assert_false(overlap(e->label_at.x, e->label_at.y, e->label.width, e->label.height,
                                 b->x, b->y, b->width, b->height));
        }
    }
}

static void a_chain_is_a_straight_line_down(void **state)
{
    pt_drawing d = laid_out("digraph \"t\" {\n"
                            "N1 [label=\"a\" shape=box]\nN2 [label=\"bb\" shape=box]\n"
                            "N3 [label=\"ccc\" shape=box]\n"
                            "N1 -> N2 [label=\" 7\"]\nN2 -> N3 [label=\" 7\"]\n}\n");
    check(&d);
    assert_string_equal(d.title, "t");
    assert_true(d.node[0].y < d.node[1].y && d.node[1].y < d.node[2].y);
    assert_true(fabs(d.node[0].x - d.node[1].x) < 0.1 && fabs(d.node[1].x - d.node[2].x) < 0.1);
    pt_drawing_done(&d);
}

static void the_lightest_arrow_of_a_cycle_points_up(void **state)
{
    pt_drawing d = laid_out("digraph \"t\" {\n"
                            "N1 [label=\"a\"]\nN2 [label=\"b\"]\nN3 [label=\"c\"]\n"
                            "N1 -> N2 [label=\" 1\" weight=50]\nN2 -> N3 [label=\" 1\" weight=50]\n"
                            "N3 -> N1 [label=\" 1\"]\n}\n");
    check(&d);
    assert_true(d.node[0].y < d.node[1].y && d.node[1].y < d.node[2].y);
    pt_drawing_done(&d);
}

static void two_arrows_without_crossing_do_not_cross(void **state)
{
    /* a -> x, b -> y, listed so that the first order has them crossed. */
    pt_drawing d = laid_out("digraph \"t\" {\nN1 [label=\"r\"]\nN2 [label=\"a\"]\n"
                            "N3 [label=\"b\"]\nN4 [label=\"x\"]\nN5 [label=\"y\"]\n"
                            "N1 -> N2 [label=\"\"]\nN1 -> N3 [label=\"\"]\n"
                            "N3 -> N4 [label=\"\"]\nN2 -> N5 [label=\"\"]\n}\n");
    check(&d);
    assert_true((d.node[1].x < d.node[2].x) == (d.node[4].x < d.node[3].x));
    pt_drawing_done(&d);
}

static void a_box_that_calls_itself_has_a_loop_beside_it(void **state)
{
    pt_drawing d = laid_out("digraph \"t\" {\nN1 [label=\"a\"]\nN1 -> N1 [label=3]\n}\n");
    check(&d);
    assert_true(d.edge[0].label_at.x > d.node[0].x + d.node[0].width / 2);
    pt_drawing_done(&d);
}

static void labels_keep_their_lines_and_where_they_stand(void **state)
{
    pt_drawing d;
    const char *dot =
        "digraph \"p; 5 samples\" {\n"
        "N1 [label=\"ns\\nf\\n1 (2.0%)\\rof 3 \\\"x\\\"\\r\",shape=box,fontsize=9.5];\n}\n";
    assert_int_equal(pt_drawing_read(dot, strlen(dot), &d, NULL), PT_OK);
    assert_int_equal(d.node[0].label.count, 4);
    assert_string_equal(d.node[0].label.line[3].text, "of 3 \"x\"");
    assert_int_equal(d.node[0].label.line[0].align, PT_ALIGN_CENTRE);
    assert_int_equal(d.node[0].label.line[2].align, PT_ALIGN_RIGHT);
    /* Helvetica's metrics: n and s are 556 and 500 thousandths wide. */
    assert_true(fabs(d.node[0].label.line[0].width - 9.5 * 1.056) < 1e-9);
    pt_drawing_done(&d);
}

static void a_label_of_many_lines_ends_with_dots(void **state)
{
    for (unsigned lines = 99; lines <= 102; lines++) {
        pt_drawing d;
        pt_buf dot = PT_BUF_INIT;
        pt_put_text(&dot, "digraph \"t\" {\nN1 [label=\"");
        for (unsigned i = 0; i < lines; i++)
            pt_put_text(&dot, i % 2 == 0 ? "a\\n" : "b\\l");
        pt_put_text(&dot, "\" tooltip=\"whole\"]\n}\n");
        assert_int_equal(pt_drawing_read((const char *)dot.data, dot.size, &d, NULL), PT_OK);
        assert_int_equal(d.node[0].label.count, lines < 100 ? lines : 100);
        if (lines > 99)
            assert_string_equal(d.node[0].label.line[99].text, lines == 100 ? "b" : "...");
        assert_true(d.node[0].height < 100 * 14 * 1.2 + 9);
        pt_drawing_done(&d);
        pt_buf_done(&dot);
    }
}

static void nothing_overlaps_in_random_graphs(void **state)
{
    for (seed = 1; seed < 60; seed++) {
        const uint64_t kept = seed;
        const unsigned nodes = 1 + below(60), edges = below(3 * nodes);
        pt_buf dot = PT_BUF_INIT;
        pt_put_text(&dot, "digraph \"r\" {\nsubgraph cluster_L { \"x\" [shape=box fontsize=16 "
                          "label=\"first\\lsecond line\\l\"] }\n");
        for (unsigned i = 1; i <= nodes; i++)
            pt_putf(&dot, "N%u [label=\"%.*s\\n%u\" fontsize=%u shape=box]\n", i,
                    (int)(1 + below(24)), "a_name_of_some_length_xx", i, 8 + below(17));
        for (unsigned i = 0; i < edges; i++)
            pt_putf(&dot, "N%u -> N%u [label=\" %u\" weight=%u minlen=%u]\n", 1 + below(nodes),
                    1 + below(nodes), below(10000), 1 + below(100), 1 + below(2));
        pt_put_text(&dot, "}\n");
        pt_drawing d = laid_out(pt_buf_text(&dot)), again = laid_out(pt_buf_text(&dot));
        check(&d);
        for (size_t i = 0; i < d.node_count; i++)
            assert_true(d.node[i].x == again.node[i].x && d.node[i].y == again.node[i].y);
        pt_drawing_done(&again);
        pt_drawing_done(&d);
        pt_buf_done(&dot);
        seed = kept;
    }
}

static void graphviz_pictures_fill_the_window_and_move(void **state)
{
    static const char svg[] = "<?xml version=\"1.0\"?>\n<svg width=\"62pt\" height=\"44pt\"\n "
                              "viewBox=\"0 0 62 44\">\n<g id=\"graph0\">\n</g>\n</svg>\n";
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    assert_int_equal(pt_picture_svg_of_dot(&out, svg, sizeof svg - 1, NULL), PT_OK);
    pt_out_done(&out, NULL);
    const char *text = pt_buf_text(&buf);
    assert_non_null(strstr(text, "<svg width=\"100%\" height=\"100%\" "));
    assert_non_null(strstr(text, " viewBox=\"0 0 62 44\">"));
    assert_non_null(strstr(text, "<g id=\"viewport\">\n<g id=\"graph0\">\n</g>\n</g>\n<script"));
    assert_non_null(strstr(text, "</script>\n</svg>\n"));
    pt_buf_done(&buf);
}

/* The filtered SVG; NULL when it is refused. The caller frees. */
static char *filtered(const char *svg)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    const pt_status status = pt_picture_svg_of_dot(&out, svg, strlen(svg), NULL);
    pt_out_done(&out, NULL);
    char *text = pt_buf_take(&buf, NULL);
    if (status == PT_OK) return text;
    assert_int_equal(status, PT_ERR_FORMAT);
    free(text);
    return NULL;
}

/* Compares the content of the filtered SVG's movable group, and frees it. */
static void expect_inside(const char *inside, const char *expected)
{
    static const char group[] = "<g id=\"viewport\">\n";
    char *svg = pt_strf("<svg xmlns=\"http://www.w3.org/2000/svg\">%s</svg>", inside);
    char *got = filtered(svg);
    if (got == NULL) print_message("# refused: %s\n", inside);
    assert_non_null(got);
    char *begin = got != NULL ? strstr(got, group) : NULL;
    char *end = begin != NULL ? strstr(begin, "</g>\n<script>") : NULL;
    assert_non_null(end);
    if (end != NULL) {
        *end = '\0';
        assert_string_equal(begin + strlen(group), expected);
    }
    free(got);
    free(svg);
}

static void of_graphviz_pictures_only_what_draws_is_passed_on(void **state)
{
    expect_inside(
        "<script>alert(1)</script><style>*{}</style><foreignObject><p>x</p></foreignObject>", "");
    expect_inside(
        "<g onload=\"alert(1)\" style=\"x\" class=\"node\"><image href=\"http://x/\"/></g>",
        "<g class=\"node\">\n</g>\n");
    expect_inside("<script><g/></script><g/>", "<g>\n</g>\n");
    expect_inside("<?xml-stylesheet href=\"x\"?><!-- <script> --><g/>", "<g>\n</g>\n");
    expect_inside("<a xlink:href=\"javascript:alert(1)\" xlink:title=\"a&quot;&lt;\" href=\"#x\"/>",
                  "<a xlink:title=\"a&quot;&lt;\">\n</a>\n");
    expect_inside("<a xlink:href=\"#node1\"/><g xlink:href=\"#node1\"/>",
                  "<a xlink:href=\"#node1\">\n</a>\n<g>\n</g>\n");
    expect_inside("<polygon fill=\"url(http://x/)\" stroke='red' points=\"1,2 3,4\"/>",
                  "<polygon stroke=\"red\" points=\"1,2 3,4\">\n</polygon>\n");
    expect_inside("<text>a &amp;lt; &#60;b&#x3e; &foo; & \xff<b>bold</b></text>",
                  "<text>a &amp;lt; &lt;b&gt; &amp;foo; &amp; \xef\xbf\xbd</text>\n");
    expect_inside("<svg><script/></svg><SCRIPT/><svg:script/>", "");
}

static void what_is_no_whole_svg_is_not_passed_on(void **state)
{
    static const char *const odd[] = {
        "",
        "plain",
        "<g/>",
        "<svg>",
        "<svg></g></svg>",
        "<svg/><svg/>",
        "<svg/>text",
        "<svg x></svg>",
        "<svg x=y></svg>",
        "<svg x=\"<\"></svg>",
        "<svg a=\"b\"c=\"d\"></svg>",
        "<svg><![CDATA[x]]></svg>",
        "<svg><!ENTITY x \"y\"></svg>",
        "<!DOCTYPE svg [<!ENTITY x \"y\">]><svg/>",
        "<svg><!-- </svg>",
        "<svg><? </svg>",
        "<svg/",
        "<",
        "<svg><",
        "<svg></",
        "<svg a=",
        "<svg a=\"",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char *got = filtered(odd[i]);
        if (got != NULL) print_message("# passed on: %s\n", odd[i]);
        assert_null(got);
    }
    pt_buf deep = PT_BUF_INIT;
    pt_put_text(&deep, "<svg>");
    for (int i = 0; i < 100000; i++)
        pt_put_text(&deep, "<g>");
    assert_null(filtered(pt_buf_text(&deep)));
    pt_buf_done(&deep);
}

static void what_is_no_graph_is_refused_or_drawn_but_never_crashes(void **state)
{
    static const char *const odd[] = {"",
                                      "}",
                                      "N1 -> ",
                                      "N1 [",
                                      "N1 [label",
                                      "N1 [label=\"",
                                      "N1 -> N2 [label=\"\\",
                                      "-> [x=y]",
                                      "N1 -> N1 -> N1",
                                      "digraph",
                                      "subgraph x { \"",
                                      "N1 [fontsize=1e999 label=x]",
                                      "N1 [peripheries=99999999999999999999 label=x]",
                                      "N1 -> N2 [minlen=1e9 weight=-5 penwidth=x]"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        pt_drawing d;
        if (pt_drawing_read(odd[i], strlen(odd[i]), &d, NULL) != PT_OK) continue;
        assert_int_equal(pt_layout(&d, NULL), PT_OK);
        pt_drawing_done(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_a_straight_line_down),
        cmocka_unit_test(the_lightest_arrow_of_a_cycle_points_up),
        cmocka_unit_test(two_arrows_without_crossing_do_not_cross),
        cmocka_unit_test(a_box_that_calls_itself_has_a_loop_beside_it),
        cmocka_unit_test(labels_keep_their_lines_and_where_they_stand),
        cmocka_unit_test(a_label_of_many_lines_ends_with_dots),
        cmocka_unit_test(nothing_overlaps_in_random_graphs),
        cmocka_unit_test(graphviz_pictures_fill_the_window_and_move),
        cmocka_unit_test(of_graphviz_pictures_only_what_draws_is_passed_on),
        cmocka_unit_test(what_is_no_whole_svg_is_not_passed_on),
        cmocka_unit_test(what_is_no_graph_is_refused_or_drawn_but_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
