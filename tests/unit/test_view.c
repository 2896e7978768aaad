/* test_view.c: tables and trees, by arithmetic on small profiles. */
#include "profile_text.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/sums.h"
#include "transform/frames.h"
#include "view/calltree.h"
#include "view/info.h"
#include "view/table.h"

#define SAMPLES "samples/count"

/* One row a line: "name self total". */
static void expect_top(const pt_profile *profile, pt_top_request request, const char *expected)
{
    request.whole = pt_profile_magnitude(profile, request.event);
    pt_top top;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_top_init(&top, profile, &request, &error), PT_OK);
    pt_buf text = PT_BUF_INIT;
    for (size_t i = 0; i < top.count; i++)
        pt_putf(&text, "%s %lld %lld\n", top.row[i].name, (long long)top.row[i].self,
                (long long)top.row[i].total);
    if (top.more > 0) pt_putf(&text, "%zu more\n", top.more);
    assert_string_equal(pt_buf_text(&text), expected);
    pt_buf_done(&text);
    pt_top_done(&top);
}

static void self_is_the_leaf_and_total_every_frame(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;parse;read 3\n"
                                                               "main;parse 2\n"
                                                               "main;emit 1\n");
    expect_top(p, (pt_top_request){0}, "read 3 3\nparse 2 5\nemit 1 1\nmain 0 6\n");
}

static void recursion_counts_a_stack_once(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;f;g;f;g;f 7\n"
                                                               "main;f;f 2\n");
    expect_top(p, (pt_top_request){0}, "f 9 9\nmain 0 9\ng 0 7\n");
}

static void inlined_frames_are_rows_and_self_is_the_innermost(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;grow~copy~move 4\n"
                                                               "main;grow;leaf 1\n");
    expect_top(p, (pt_top_request){0}, "move 4 4\nleaf 1 1\ngrow 0 5\nmain 0 5\ncopy 0 4\n");
}

static void a_function_called_and_inlined_into_itself_counts_once(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;f~f;f 4\n");
    expect_top(p, (pt_top_request){0}, "f 4 4\nmain 0 4\n");
}

static void functions_of_one_name_are_one_row(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;read@a.c:1 4\n"
                                                               "main;read@b.c:9 5\n");
    expect_top(p, (pt_top_request){0}, "read 9 9\nmain 0 9\n");
}

static void unnamed_frames_are_their_address_or_their_file(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "main;/lib/x.so+0x10 4\n"
                            "main;/lib/x.so+0x20;/lib/x.so+0x10 2\n"
                            "main;/lib/y.so+0x10 1\n");
    expect_top(p, (pt_top_request){0},
               "[x.so+0x10] 6 6\n[y.so+0x10] 1 1\nmain 0 7\n[x.so+0x20] 0 2\n");
    expect_top(p, (pt_top_request){.fold = {.unnamed = PT_UNNAMED_OBJECT}},
               "[x.so] 6 6\n[y.so] 1 1\nmain 0 7\n");
}

static void rows_sort_by_self_or_total_then_name_and_the_rest_is_counted(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;b 1\nmain;a 1\nmain;c 5\n");
    expect_top(p, (pt_top_request){.limit = 2}, "c 5 5\na 1 1\n2 more\n");
    expect_top(p, (pt_top_request){.limit = 2, .sort = PT_SORT_TOTAL}, "main 0 7\nc 5 5\n2 more\n");
    expect_top(p, (pt_top_request){.limit = 4}, "c 5 5\na 1 1\nb 1 1\nmain 0 7\n");
}

static void a_short_table_is_the_beginning_of_the_whole_one(void **state)
{
    pt_buf text = PT_BUF_INIT;
    for (unsigned i = 0; i < 500; i++)
        pt_putf(&text, "f%u;g%u %u\n", i * 7919 % 83, i * 104729 % 97, i * 31 % 11);
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, pt_buf_text(&text));
    pt_buf_done(&text);
    for (int sort = 0; sort < 2; sort++) {
        pt_top whole, part;
        const pt_top_request all = {.whole = 1, .sort = (pt_sort)sort};
        assert_int_equal(pt_top_init(&whole, p, &all, NULL), PT_OK);
        for (size_t limit = 1; limit < whole.count + 3; limit += 6) {
            const pt_top_request some = {.whole = 1, .sort = (pt_sort)sort, .limit = limit};
            assert_int_equal(pt_top_init(&part, p, &some, NULL), PT_OK);
            assert_int_equal(part.count + part.more, whole.count);
            for (size_t i = 0; i < part.count; i++)
                assert_string_equal(part.row[i].name, whole.row[i].name);
            pt_top_done(&part);
        }
        pt_top_done(&whole);
    }
}

/* Every stack below main is a number of 12 bits: the letter says which bit, the digit what it is.
 */
static const pt_profile *profile_of_bits(int64_t value)
{
    pt_buf text = PT_BUF_INIT;
    for (unsigned i = 0; i < 4096; i++) {
        pt_putf(&text, "main");
        for (unsigned bit = 0; bit < 12; bit++)
            pt_putf(&text, ";%c%u", 'a' + bit, i >> bit & 1);
        pt_putf(&text, " %lld\n", (long long)value);
    }
    const pt_profile *const p = profile_of(SAMPLES, pt_buf_text(&text));
    pt_buf_done(&text);
    return p;
}

static void expect_top_of_bits(int64_t value, int64_t half, int64_t all)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of_bits(value);
    pt_buf text = PT_BUF_INIT;
    pt_putf(&text, "l0 %lld %lld\nl1 %lld %lld\n", (long long)half, (long long)half,
            (long long)half, (long long)half);
    if (all > half) pt_putf(&text, "main 0 %lld\n", (long long)all);
    for (int bit = 'a'; bit < 'l'; bit++)
        pt_putf(&text, "%c0 0 %lld\n%c1 0 %lld\n", bit, (long long)half, bit, (long long)half);
    if (all == half) pt_putf(&text, "main 0 %lld\n", (long long)all);
    for (unsigned threads = 1; threads <= 8; threads += 3) {
        pt_pool *const pool = pt_pool_new(threads);
        expect_top(p, (pt_top_request){.pool = pool}, pt_buf_text(&text));
        pt_pool_free(pool);
    }
    pt_buf_done(&text);
}

static void many_threads_count_what_one_does(void **state)
{
    expect_top_of_bits(1, 2048, 4096);
    expect_top_of_bits(INT64_MAX / 4096, INT64_MAX / 4096 * 2048, INT64_MAX / 4096 * 4096);
    expect_top_of_bits(INT64_MAX / 1000, INT64_MAX, INT64_MAX);
}

static void each_event_has_its_own_numbers(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count cpu/nanoseconds", "main;a 1 500\nmain;b 2 100\n");
    expect_top(p, (pt_top_request){.event = 0}, "b 2 2\na 1 1\nmain 0 3\n");
    expect_top(p, (pt_top_request){.event = 1}, "a 500 500\nb 100 100\nmain 0 600\n");
}

static void a_row_without_any_value_is_not_shown(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;a 1\nmain;b 0\n- 3\n");
    expect_top(p, (pt_top_request){0}, "a 1 1\nmain 0 1\n");
    assert_int_equal(pt_profile_magnitude(p, 0), 4);
}

static void negative_values_sort_by_magnitude(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;a 3\nmain;b -5\n");
    expect_top(p, (pt_top_request){0}, "b -5 -5\na 3 3\nmain 0 -2\n");
    assert_int_equal(pt_profile_magnitude(p, 0), 8);
}

static void stacks_have_the_sums_of_their_samples(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count cpu/nanoseconds", "main;a 1 500\nmain;b 2 -100\nmain;a 3 7\n");
    const int64_t *const samples = pt_profile_stack_values(p, 0);
    const int64_t *const ns = pt_profile_stack_values(p, 1);
    const uint32_t a = p->sample->stack[0], b = p->sample->stack[1];
    assert_int_equal(samples[a], 4);
    assert_int_equal(samples[b], 2);
    assert_int_equal(ns[a], 507);
    assert_int_equal(ns[b], -100);
    assert_ptr_equal(pt_profile_stack_values(p, 1), ns); /* computed once */
    assert_int_equal(pt_profile_magnitude(p, 1), 607);
    assert_false(pt_profile_has_negative(p, 0));
    assert_true(pt_profile_has_negative(p, 1));
    /* A profile with other samples has other sums. */
    PT_UNREF_PROFILE const pt_profile *fewer = pt_profile_derive(
        p, &(pt_profile_tables){.sample = pt_samples_pick(p->sample, (uint32_t[]){0}, 1)});
    assert_int_equal(pt_profile_magnitude(fewer, 1), fewer->sample->value[1][0]);
    assert_int_equal(pt_profile_stack_values(fewer, 1)[b], 0);
}

static void sums_beyond_63_bits_saturate(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of(SAMPLES, "main;a 9223372036854775807\nmain;b 9223372036854775807\n");
    expect_top(p, (pt_top_request){0},
               "a 9223372036854775807 9223372036854775807\n"
               "b 9223372036854775807 9223372036854775807\n"
               "main 0 9223372036854775807\n");
    assert_int_equal(pt_profile_magnitude(p, 0), INT64_MAX);
}

static void a_row_lies_on_its_hottest_line_and_is_inlined_if_all_of_it_is(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main@m.c:5;hot@h.c:10 3\n"
                                                               "main@m.c:5;hot@h.c:20 2\n"
                                                               "main@m.c:6;hot@h.c:20 2\n"
                                                               "main@m.c:5;o@o.c:1~in@i.c:7 1\n"
                                                               "main@m.c:5;o@o.c:2~hot@h.c:3 1\n");
    const pt_top_request request = {.whole = 9};
    pt_top top;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_top_init(&top, p, &request, &error), PT_OK);
    assert_string_equal(top.row[0].name, "hot");
    assert_string_equal(top.row[0].file, "h.c");
    assert_int_equal(top.row[0].line, 20);
    assert_false(top.row[0].inlined);
    assert_string_equal(top.row[1].name, "in");
    assert_true(top.row[1].inlined);
    assert_string_equal(top.row[2].name, "main");
    assert_string_equal(top.row[2].file, "m.c");
    pt_top_done(&top);
}

/* ---- Trees ---- */

/* One node a line, indented by depth: "name self total", "(N folded) total". */
static void expect_tree(const pt_profile *profile, pt_calltree_request request,
                        const char *expected)
{
    pt_fold fold;
    pt_calltree tree;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_fold_init(&fold, profile, &(pt_fold_rule){0}, &error), PT_OK);
    assert_int_equal(pt_calltree_init(&tree, &fold, &request, &error), PT_OK);
    pt_buf text = PT_BUF_INIT;
    for (uint32_t i = 0; i < tree.count; i++) {
        assert_true(i == 0 || tree.parent[i] < i);
        int64_t children = 0;
        for (uint32_t c = i + 1; c < tree.end[i]; c = tree.end[c]) {
            assert_int_equal(tree.parent[c], i);
            children += tree.total[c];
        }
        if (tree.folded[i] == 0) assert_int_equal(tree.total[i], tree.self[i] + children);
        pt_putf(&text, "%*s", (int)tree.depth[i], "");
        if (tree.folded[i] > 0) {
            pt_putf(&text, "(%u folded) %lld\n", tree.folded[i], (long long)tree.total[i]);
            continue;
        }
        PT_FREE char *name = i == 0 ? pt_strdup("all") : pt_fold_text(&fold, tree.name[i]);
        pt_putf(&text, "%s%s %lld %lld\n", name, tree.inlined[i] ? "~" : "",
                (long long)tree.self[i], (long long)tree.total[i]);
    }
    assert_string_equal(pt_buf_text(&text), expected);
    pt_buf_done(&text);
    pt_calltree_done(&tree);
    pt_fold_done(&fold);
}

static void a_tree_merges_stacks_from_the_root(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;parse;read 3\n"
                                                               "main;parse 2\n"
                                                               "main;emit 1\n"
                                                               "start;main;emit 4\n");
    expect_tree(p, (pt_calltree_request){0},
                "all 0 10\n main 0 6\n  parse 2 5\n   read 3 3\n  emit 1 1\n"
                " start 0 4\n  main 0 4\n   emit 4 4\n");
}

static void a_tree_expands_inlined_frames_from_the_outermost(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;grow~copy~move 4\n"
                                                               "main;grow;move 3\n"
                                                               "main;grow~copy;leaf 1\n");
    expect_tree(p, (pt_calltree_request){0},
                "all 0 8\n main 0 8\n  grow 0 8\n   copy~ 0 5\n    move~ 4 4\n    leaf 1 1\n"
                "   move 3 3\n");
}

static void light_subtrees_are_folded_into_one_node_that_counts_them(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;a;x 50\n"
                                                               "main;b;y;z 2\n"
                                                               "main;c 1\n"
                                                               "main 1\n");
    expect_tree(p, (pt_calltree_request){.min_weight = 3},
                "all 0 54\n main 1 54\n  a 0 50\n   x 50 50\n  (2 folded) 3\n");
}

static void a_depth_limit_folds_what_lies_below_it(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;a;x 5\nmain;a;y 2\nmain;a 1\n"
                                                               "main;b;z;u;v 1\n");
    expect_tree(p, (pt_calltree_request){.max_depth = 2},
                "all 0 9\n main 0 9\n  a 1 8\n   (2 folded) 7\n  b 0 1\n   (1 folded) 1\n");
    expect_tree(p, (pt_calltree_request){.max_depth = 1}, "all 0 9\n main 0 9\n  (2 folded) 9\n");
}

static void the_widest_nodes_alone_make_a_tree(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "main;a;x 50\n"
                                                               "main;b;y;z 2\n"
                                                               "main;b;w 2\n"
                                                               "main;c 2\n"
                                                               "main 1\n");
    expect_tree(p, (pt_calltree_request){.most_nodes = 5},
                "all 0 57\n main 1 57\n  a 0 50\n   x 50 50\n  b 0 4\n   (2 folded) 4\n"
                "  (1 folded) 2\n");
    /* c is nearer to the root than w and y, which are equal; z is below y. */
    expect_tree(p, (pt_calltree_request){.most_nodes = 7},
                "all 0 57\n main 1 57\n  a 0 50\n   x 50 50\n  b 0 4\n   w 2 2\n   y 0 2\n"
                "    (1 folded) 2\n  c 2 2\n");
}

static void a_tree_of_nothing_is_a_root(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of(SAMPLES, "");
    expect_tree(p, (pt_calltree_request){0}, "all 0 0\n");
    PT_UNREF_PROFILE const pt_profile *q = profile_of(SAMPLES, "- 3\n");
    expect_tree(q, (pt_calltree_request){0}, "all 3 3\n");
    expect_top(q, (pt_top_request){0}, "");
}

/* Three samples, of which one weighs nine times what another does and the last nothing. */
static void ends_are_shares_of_what_samples_stand_for(void **state)
{
    (void)state;
    static const pt_stack_end ends[] = {PT_STACK_END_ROOT, PT_STACK_END_NO_RULE,
                                        PT_STACK_END_BAD_READ};
    static const int64_t weights[] = {1, 9, 0};
    for (int is_zero = 0; is_zero < 2; is_zero++) {
        pt_builder *const b = pt_builder_new();
        pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "cpu").v,
                                        .unit = pt_builder_text(b, "nanoseconds").v});
        const pt_location_id l =
            pt_builder_location(b, &(pt_location){.mapping = PT_NONE, .address = 0x1234}, NULL, 0);
        for (size_t i = 0; i < 3; i++)
            pt_builder_sample(b, pt_builder_stack(b, &l.v, 1, ends[i]), PT_NO_LABELS,
                              (int64_t[]){is_zero ? 0 : weights[i]});
        const pt_profile *p = NULL;
        assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
        pt_info info = pt_info_of(p);
        for (size_t i = 0; i < 3; i++) {
            const double share = is_zero ? 1.0 / 3 : (double)weights[i] / 10;
            assert_int_equal(info.ends[ends[i]], 1);
            assert_float_equal(info.end_share[ends[i]], share, 1e-9);
        }
        pt_info_done(&info);
        pt_profile_unref(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(self_is_the_leaf_and_total_every_frame),
        cmocka_unit_test(recursion_counts_a_stack_once),
        cmocka_unit_test(inlined_frames_are_rows_and_self_is_the_innermost),
        cmocka_unit_test(a_function_called_and_inlined_into_itself_counts_once),
        cmocka_unit_test(functions_of_one_name_are_one_row),
        cmocka_unit_test(unnamed_frames_are_their_address_or_their_file),
        cmocka_unit_test(rows_sort_by_self_or_total_then_name_and_the_rest_is_counted),
        cmocka_unit_test(a_short_table_is_the_beginning_of_the_whole_one),
        cmocka_unit_test(many_threads_count_what_one_does),
        cmocka_unit_test(each_event_has_its_own_numbers),
        cmocka_unit_test(a_row_without_any_value_is_not_shown),
        cmocka_unit_test(negative_values_sort_by_magnitude),
        cmocka_unit_test(stacks_have_the_sums_of_their_samples),
        cmocka_unit_test(sums_beyond_63_bits_saturate),
        cmocka_unit_test(a_row_lies_on_its_hottest_line_and_is_inlined_if_all_of_it_is),
        cmocka_unit_test(a_tree_merges_stacks_from_the_root),
        cmocka_unit_test(a_tree_expands_inlined_frames_from_the_outermost),
        cmocka_unit_test(light_subtrees_are_folded_into_one_node_that_counts_them),
        cmocka_unit_test(a_depth_limit_folds_what_lies_below_it),
        cmocka_unit_test(the_widest_nodes_alone_make_a_tree),
        cmocka_unit_test(a_tree_of_nothing_is_a_root),
        cmocka_unit_test(ends_are_shares_of_what_samples_stand_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
