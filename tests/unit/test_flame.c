/* test_flame.c: the boxes of a flame graph, and the page and the picture that show them. Known
 * answers are arithmetic on the stacks above each test; JSON is judged by jansson, XML by xmllint.
 */
#include "profile_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/xml.h"
#include "render/flame_html.h"
#include "render/flame_svg.h"
#include "view/flame.h"

static pt_flame *flame_of(const pt_profile *p, uint32_t width_px, uint32_t max_nodes)
{
    const pt_flame_request request = {.width_px = width_px, .max_nodes = max_nodes};
    pt_flame *flame = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_flame_new(p, &request, &flame, &error) != PT_OK) fail_msg("%s", error.message);
    return flame;
}

static const char *name_of(const pt_flame *f, uint32_t node)
{
    return pt_flame_text(f, f->frame[f->node_frame[node]].name);
}

/* The nodes as lines "  name self total", indented by depth. */
static char *drawn(const pt_flame *f)
{
    pt_buf text = PT_BUF_INIT;
    for (uint32_t i = 0; i < f->node_count; i++)
        pt_putf(&text, "%*s%s %lld %lld\n", (int)f->depth[i], "", name_of(f, i),
                (long long)f->self[i], (long long)f->node_total[i]);
    return pt_buf_take(&text, NULL);
}

static void assert_drawn(const pt_flame *f, const char *expected)
{
    PT_FREE char *text = drawn(f);
    assert_string_equal(text, expected);
}

/* Asserts the promises of flame.h for every flame graph. */
static void assert_conserved(const pt_flame *f)
{
    int64_t self = 0;
    PT_FREE int64_t *rest = pt_alloc(f->node_count, sizeof *rest);
    for (uint32_t i = 0; i < f->node_count; i++) {
        self += f->self[i];
        rest[i] = f->node_total[i] - f->self[i];
        assert_true(i == 0 ? f->parent[0] == 0 : f->parent[i] < i);
        assert_int_equal(f->depth[i], i == 0 ? 0 : f->depth[f->parent[i]] + 1);
        assert_true(f->depth[i] < f->rows);
        assert_true(f->node_frame[i] < f->frame_count);
        if (i > 0) rest[f->parent[i]] -= f->node_total[i];
    }
    int64_t cut = 0;
    for (uint32_t i = 0; i < f->node_count; i++) {
        assert_true(rest[i] >= 0);
        cut += rest[i];
    }
    assert_int_equal(f->node_total[0], f->total);
    assert_int_equal(cut, f->cut_total);
    assert_int_equal(self + f->cut_total, f->total);
}

typedef struct {
    const char *name;
    int64_t self, total;
} function_row;

static void assert_functions(const pt_flame *f, const function_row *rows, size_t count)
{
    assert_int_equal(f->function_count, count);
    assert_int_equal(f->more_functions, 0);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(pt_flame_text(f, f->function[i].name), rows[i].name);
        assert_int_equal(f->function[i].self, rows[i].self);
        assert_int_equal(f->function[i].total, rows[i].total);
    }
}

/* ---- the view ---- */

static void stacks_are_merged_from_the_root_widest_first(void **state)
{
    const pt_profile *p = profile_of("cpu/nanoseconds", "main;emit 1\n"
                                                        "main;parse;read 3\n"
                                                        "main;parse 2\n"
                                                        "idle 4\n"
                                                        "main;parse;read 1\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 4000, 0);
    assert_drawn(f, "all 0 11\n"
                    " main 0 7\n"
                    "  parse 2 6\n"
                    "   read 4 4\n"
                    "  emit 1 1\n"
                    " idle 4 4\n");
    assert_conserved(f);
    assert_int_equal(f->cut_nodes, 0);
    assert_string_equal(pt_flame_text(f, f->event_type), "cpu");
    assert_string_equal(pt_flame_text(f, f->event_unit), "nanoseconds");
    pt_profile_unref(p);
}

static void children_of_one_width_stand_by_name(void **state)
{
    const pt_profile *p = profile_of("n/count", "c 1\na 1\nb 1\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 0);
    assert_drawn(f, "all 0 3\n a 1 1\n b 1 1\n c 1 1\n");
    pt_profile_unref(p);
}

static void recursion_is_a_box_a_level(void **state)
{
    const pt_profile *p = profile_of("n/count", "f;f;f 2\nf;g;f 1\nf 5\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 0);
    assert_drawn(f, "all 0 8\n f 5 8\n  f 0 2\n   f 2 2\n  g 0 1\n   f 1 1\n");
    assert_conserved(f);
    assert_int_equal(f->frame_count, 3); /* the root's, f, g */
    pt_profile_unref(p);
}

static pt_flame_kind kind_of(const pt_flame *f, const char *name)
{
    for (uint32_t i = 0; i < f->node_count; i++)
        if (strcmp(name_of(f, i), name) == 0) return f->frame[f->node_frame[i]].kind;
    fail_msg("no box is named %s", name);
    return PT_FLAME_FUNCTION;
}

static void boxes_say_what_is_inlined_kernel_or_nameless(void **state)
{
    const pt_profile *p = profile_of("n/count", "main;grow~alloc 2\n"
                                                "main;[kernel.kallsyms]!do_read 1\n"
                                                "main;lib.so+0x1234 1\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 0);
    assert_int_equal(kind_of(f, "main"), PT_FLAME_FUNCTION);
    assert_int_equal(kind_of(f, "grow"), PT_FLAME_FUNCTION);
    assert_int_equal(kind_of(f, "alloc"), PT_FLAME_INLINED);
    assert_int_equal(kind_of(f, "do_read"), PT_FLAME_KERNEL);
    assert_int_equal(kind_of(f, "[lib.so+0x1234]"), PT_FLAME_UNRESOLVED);
    assert_conserved(f);
    pt_profile_unref(p);
}

static void a_box_knows_the_file_of_its_own_function(void **state)
{
    const pt_profile *p = profile_of("n/count", "main@main.c:3;grow@vec.h:40~alloc@heap.c:7 2\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 0);
    const char *const files[] = {"", "main.c", "vec.h", "heap.c"};
    assert_int_equal(f->node_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(pt_flame_text(f, f->frame[f->node_frame[i]].file), files[i]);
    pt_profile_unref(p);
}

/* 1000 wide at 10 px: half a pixel is 50. */
static void what_is_narrower_than_half_a_pixel_is_cut_and_counted(void **state)
{
    const pt_profile *p = profile_of("n/count", "wide 851\nwide;deep 50\nsmall;x;y 49\n"
                                                "small2;x 49\nwide;tiny 1\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 10, 0);
    assert_drawn(f, "all 0 1000\n wide 851 902\n  deep 50 50\n");
    assert_int_equal(f->cut_nodes, 3);
    assert_int_equal(f->cut_total, 49 + 49 + 1);
    assert_conserved(f);
    pt_profile_unref(p);
}

/* c is narrow twice, and wide in all. */
static void functions_are_counted_before_anything_is_cut(void **state)
{
    const pt_profile *p = profile_of("n/count", "a 900\na;c 45\nb;c 45\nd 10\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 10, 0);
    assert_drawn(f, "all 0 1000\n a 900 945\n");
    assert_functions(
        f, (const function_row[]){{"a", 900, 945}, {"c", 90, 90}, {"d", 10, 10}, {"b", 0, 45}}, 4);
    PT_FREE_FLAME pt_flame *whole = flame_of(p, 0, 0);
    assert_int_equal(whole->function_count, 0);
    pt_profile_unref(p);
}

/* 30 functions lead by self, one of depth 1 by total. */
static void functions_lead_by_self_or_by_total(void **state)
{
    pt_buf text = PT_BUF_INIT;
    for (unsigned i = 0; i < 30; i++)
        pt_putf(&text, "main;f%02u %u\n", i, 1000 - i);
    const pt_profile *p = profile_of("n/count", pt_buf_text(&text));
    pt_buf_done(&text);
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 2);
    assert_int_equal(f->function_count, PT_FLAME_FUNCTIONS + 1);
    assert_int_equal(f->more_functions, 30 - PT_FLAME_FUNCTIONS);
    assert_string_equal(pt_flame_text(f, f->function[0].name), "f00");
    assert_string_equal(pt_flame_text(f, f->function[PT_FLAME_FUNCTIONS].name), "main");
    pt_profile_unref(p);
}

static void of_too_many_boxes_the_widest_are_kept(void **state)
{
    const pt_profile *p = profile_of("n/count", "a;b;c 5\nd 3\ne 2\nf 1\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 5);
    assert_drawn(f, "all 0 11\n a 0 5\n  b 0 5\n   c 5 5\n d 3 3\n");
    assert_conserved(f);
    PT_FREE_FLAME pt_flame *fewer = flame_of(p, 0, 3);
    assert_drawn(fewer, "all 0 11\n a 0 5\n  b 0 5\n");
    assert_conserved(fewer);
    assert_int_equal(fewer->cut_nodes, 4);
    pt_profile_unref(p);
}

/* At 10 px half a pixel is 20 of 400: 30 children of 10 are folded, and take no box's place. */
static void what_is_cut_takes_no_place_among_the_widest(void **state)
{
    pt_buf text = PT_BUF_INIT;
    for (unsigned i = 0; i < 30; i++)
        pt_putf(&text, "a;f%02u 10\n", i);
    pt_put_text(&text, "b 50\nc 50\n");
    const pt_profile *p = profile_of("n/count", pt_buf_text(&text));
    pt_buf_done(&text);
    PT_FREE_FLAME pt_flame *f = flame_of(p, 10, 4);
    assert_drawn(f, "all 0 400\n a 0 300\n b 50 50\n c 50 50\n");
    assert_int_equal(f->cut_nodes, 30);
    assert_conserved(f);
    pt_profile_unref(p);
}

static void a_profile_without_samples_is_an_empty_root(void **state)
{
    const pt_profile *p = profile_of("n/count", "");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 4000, 60000);
    assert_drawn(f, "all 0 0\n");
    assert_conserved(f);
    pt_profile_unref(p);
}

static void samples_without_a_stack_are_the_roots_own(void **state)
{
    const pt_profile *p = profile_of("n/count", "- 5\nmain 2\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 0);
    assert_drawn(f, "all 5 7\n main 2 2\n");
    assert_conserved(f);
    pt_profile_unref(p);
}

/* Negative values are those of a difference's base: widths are sums of both sides. */
static void a_difference_keeps_both_sides(void **state)
{
    const pt_profile *p = profile_of("n/count", "main 5\nmain;f -2\nmain;f 9\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 0);
    assert_drawn(f, "all 0 16\n main 5 16\n  f 11 11\n");
    assert_int_equal(f->base, 2);
    assert_int_equal(f->total_base[1], 2);
    assert_int_equal(f->self_base[1], 0);
    assert_int_equal(f->self_base[2], 2);
    assert_int_equal(pt_flame_change(f, 2), 7);
    assert_int_equal(f->most_change, 7);
    pt_profile_unref(p);
    /* twice 5 * 10^18 is more than 2^63 */
    p = profile_of("n/count", "f -5000000000000000000\nf 3\n");
    PT_FREE_FLAME pt_flame *large = flame_of(p, 0, 0);
    assert_int_equal(pt_flame_change(large, 1), -4999999999999999997);
    pt_profile_unref(p);
}

static pt_flame *flame_with(const pt_profile *p, const pt_flame_request *request)
{
    pt_flame *f = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_flame_new(p, request, &f, &error), PT_OK);
    return f;
}

static void an_inverted_graph_has_callers_below(void **state)
{
    const pt_profile *p = profile_of("n/count", "main;f;g 3\nmain;g 2\nmain 1\n");
    PT_FREE_FLAME pt_flame *f = flame_with(p, &(pt_flame_request){.inverted = true});
    assert_drawn(f, "all 0 6\n g 0 5\n  f 0 3\n   main 3 3\n  main 2 2\n main 1 1\n");
    pt_profile_unref(p);
}

static void a_path_leads_to_the_box_that_is_drawn(void **state)
{
    const pt_profile *p = profile_of("n/count", "a;b;c 3\na;b 2\na;x;c 5\nb;c 7\n");
    PT_FREE_FLAME pt_flame *f = flame_with(p, &(pt_flame_request){.under = "a;b"});
    assert_drawn(f, "all 2 5\n c 3 3\n");
    pt_flame *none = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_flame_new(p, &(pt_flame_request){.under = "a;c"}, &none, &error),
                     PT_ERR_NOTFOUND);
    pt_profile_unref(p);
}

static void boxes_too_narrow_in_the_whole_are_wide_enough_below_a_path(void **state)
{
    const pt_profile *p = profile_of("n/count", "big 100000\na;b;c 3\na;b;d 2\n");
    PT_FREE_FLAME pt_flame *all = flame_with(p, &(pt_flame_request){.width_px = 100});
    assert_drawn(all, "all 0 100005\n big 100000 100000\n");
    PT_FREE_FLAME pt_flame *f = flame_with(p, &(pt_flame_request){.width_px = 100, .under = "a;b"});
    assert_drawn(f, "all 0 5\n c 3 3\n d 2 2\n");
    pt_profile_unref(p);
}

/* c is narrow twice below m, b calls itself, and what c costs elsewhere does not count. */
static void functions_below_a_path_are_counted_before_anything_is_cut(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("n/count", "m;a 900\nm;a;c 45\nm;b;c;b 45\nm;d 10\nelse;c 77\nelse;m 7\n");
    const pt_flame_request request = {.width_px = 10, .under = "m"};
    PT_FREE_FLAME pt_flame *f = flame_with(p, &request);
    assert_drawn(f, "all 0 1000\n a 900 945\n");
    assert_functions(
        f,
        (const function_row[]){
            {"a", 900, 945}, {"c", 45, 90}, {"b", 45, 45}, {"d", 10, 10}, {"m", 0, 1000}},
        5);
    PT_UNREF_PROFILE const pt_profile *difference =
        profile_of("n/count", "m;a 900\nm;a -100\nm;d -10\nm;d 4\nelse -3\n");
    PT_FREE_FLAME pt_flame *changes = flame_with(difference, &request);
    assert_functions(changes, (const function_row[]){{"a", 800, 800}, {"d", -6, -6}, {"m", 0, 794}},
                     3);
}

/* ---- in order of time ---- */

static pt_flame *flame_in_order(const pt_profile *p, pt_flame_request request)
{
    request.in_order = true;
    pt_flame *flame = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_flame_new(p, &request, &flame, &error) != PT_OK) fail_msg("%s", error.message);
    return flame;
}

/* The nodes as lines "  name start self total", indented by depth. */
static void assert_drawn_in_order(const pt_flame *f, const char *expected)
{
    pt_buf text = PT_BUF_INIT;
    for (uint32_t i = 0; i < f->node_count; i++)
        pt_putf(&text, "%*s%s %llu %lld %lld\n", (int)f->depth[i], "", name_of(f, i),
                (unsigned long long)f->start[i], (long long)f->self[i],
                (long long)f->node_total[i]);
    PT_FREE char *drawn = pt_buf_take(&text, NULL);
    assert_string_equal(drawn, expected);
}

static void in_order_of_time_a_box_is_a_run_of_samples_of_a_thread(void **state)
{
    const pt_profile *p = profile_of("n/count", "main;emit 1 time:3/ns tid:1/n\n"
                                                "main;parse 1 time:1/ns tid:1/n\n"
                                                "main;parse 2 time:1/ns tid:2/n\n"
                                                "main;parse;read 1 time:2/ns tid:1/n\n"
                                                "main;parse 1 time:4/ns tid:1/n\n");
    PT_FREE_FLAME pt_flame *f = flame_in_order(p, (pt_flame_request){0});
    assert_drawn_in_order(f, "all 0 0 6\n"
                             " main 0 0 4\n"
                             "  parse 0 1 2\n"
                             "   read 1 1 1\n"
                             "  emit 2 1 1\n"
                             "  parse 3 1 1\n"
                             " main 4 0 2\n"
                             "  parse 4 2 2\n");
    assert_conserved(f);
    PT_FREE_FLAME pt_flame *part = flame_in_order(
        p, (pt_flame_request){.under = "main;parse", .part_start = 3, .part_end = 4});
    assert_drawn_in_order(part, "all 3 1 1\n");
    /* Boxes of a path that are apart in the whole stand side by side, each by itself. */
    PT_FREE_FLAME pt_flame *under = flame_in_order(p, (pt_flame_request){.under = "main;parse"});
    assert_drawn_in_order(under, "all 0 4 5\n read 1 1 1\n");
    PT_FREE_FLAME pt_flame *inverted =
        flame_in_order(p, (pt_flame_request){.under = "parse", .inverted = true});
    assert_drawn_in_order(inverted, "all 0 0 4\n main 0 1 1\n main 1 1 1\n main 2 2 2\n");
    assert_conserved(inverted);
    const pt_flame_request nothing = {.in_order = true, .part_start = 90, .part_end = 91};
    pt_flame *none = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_flame_new(p, &nothing, &none, &error), PT_ERR_NOTFOUND);
    pt_profile_unref(p);
}

static void an_order_needs_times_and_one_side(void **state)
{
    static const char *const texts[] = {"main 1\n", "main 1 time:1/ns\nmain -1 time:2/ns\n"};
    for (size_t i = 0; i < 2; i++) {
        const pt_profile *p = profile_of("n/count", texts[i]);
        const pt_flame_request request = {.in_order = true};
        pt_flame *f = NULL;
        pt_error error = PT_ERROR_INIT;
        assert_int_equal(pt_flame_new(p, &request, &f, &error), PT_ERR_USAGE);
        assert_null(f);
        pt_profile_unref(p);
    }
}

/* 3,000 samples of two threads at random times, in stacks of up to 6 of 3 functions. */
static const pt_profile *random_times(void)
{
    pt_buf text = PT_BUF_INIT;
    srand48(24);
    for (int i = 0; i < 3000; i++) {
        pt_put_text(&text, "r");
        for (long depth = lrand48() % 6; depth > 0; depth--)
            pt_putf(&text, ";%c", 'a' + (char)(lrand48() % 3));
        pt_putf(&text, " %ld time:%ld/ns tid:%ld/n\n", 1 + lrand48() % 4, 1 + lrand48() % 100000,
                lrand48() % 2);
    }
    const pt_profile *p = profile_of("n/count", pt_buf_text(&text));
    pt_buf_done(&text);
    return p;
}

/* Boxes and narrow places of a parent lie within it, and none covers another's. */
static void assert_places(const pt_flame *f)
{
    PT_FREE uint64_t *free_from = pt_alloc(f->node_count, sizeof *free_from);
    uint32_t k = 0;
    for (uint32_t i = 0; i <= f->node_count; i++) {
        for (; k < f->narrow_count && (i == f->node_count || f->narrow[k].start < f->start[i]);
             k++) {
            const pt_flame_narrow *const n = &f->narrow[k];
            assert_true(n->start >= free_from[n->parent]);
            free_from[n->parent] = n->start + n->width;
            assert_true(free_from[n->parent] <=
                        f->start[n->parent] + (uint64_t)f->node_total[n->parent]);
        }
        if (i == f->node_count) break;
        if (i > 0) {
            assert_true(f->start[i] >= free_from[f->parent[i]]);
            free_from[f->parent[i]] = f->start[i] + (uint64_t)f->node_total[i];
            assert_true(free_from[f->parent[i]] <=
                        f->start[f->parent[i]] + (uint64_t)f->node_total[f->parent[i]]);
        }
        free_from[i] = f->start[i];
    }
}

static int64_t self_of(const pt_flame *f, const char *name)
{
    int64_t self = 0;
    for (uint32_t i = 0; i < f->node_count; i++)
        if (strcmp(name_of(f, i), name) == 0) self += f->self[i];
    return self;
}

static void in_order_nothing_is_lost_and_nothing_lies_upon_another(void **state)
{
    const pt_profile *p = random_times();
    PT_FREE_FLAME pt_flame *merged = flame_of(p, 0, 0);
    static const uint32_t widths[] = {0, 4000, 200, 10}, most[] = {0, 500, 20};
    for (size_t w = 0; w < 4; w++)
        for (size_t m = 0; m < 3; m++) {
            PT_FREE_FLAME pt_flame *f =
                flame_in_order(p, (pt_flame_request){.width_px = widths[w], .max_nodes = most[m]});
            assert_conserved(f);
            assert_places(f);
            assert_int_equal(f->total, merged->total);
            assert_true((f->cut_nodes > 0) == (f->narrow_count > 0));
            if (f->cut_nodes > 0) continue;
            for (const char *name = "a\0b\0c\0r\0"; *name != '\0'; name += 2)
                assert_int_equal(self_of(f, name), self_of(merged, name));
        }
    pt_profile_unref(p);
}

static void in_order_a_part_has_the_boxes_of_the_whole(void **state)
{
    const pt_profile *p = random_times();
    PT_FREE_FLAME pt_flame *whole = flame_in_order(p, (pt_flame_request){0});
    for (uint32_t i = 1; i < whole->node_count; i += 97) {
        char path[64] = "";
        for (uint32_t at = i; at > 0; at = whole->parent[at]) {
            char longer[80];
            snprintf(longer, sizeof longer, "%s%s%s", name_of(whole, at), *path ? ";" : "", path);
            memcpy(path, longer, strlen(longer) + 1);
        }
        const uint64_t end = whole->start[i] + (uint64_t)whole->node_total[i];
        PT_FREE_FLAME pt_flame *f = flame_in_order(
            p, (pt_flame_request){.under = path, .part_start = whole->start[i], .part_end = end});
        for (uint32_t k = 0; k < f->node_count; k++) {
            assert_int_equal(f->start[k], whole->start[i + k]);
            assert_int_equal(f->node_total[k], whole->node_total[i + k]);
            assert_int_equal(f->self[k], whole->self[i + k]);
            assert_int_equal(f->depth[k], whole->depth[i + k] - whole->depth[i]);
        }
        assert_true(i + f->node_count == whole->node_count ||
                    whole->depth[i + f->node_count] <= whole->depth[i]);
    }
    pt_profile_unref(p);
}

static void values_that_add_up_to_2_63_are_refused(void **state)
{
    const pt_profile *p = profile_of("n/count", "main 9223372036854775807\nmain;f 1\n");
    pt_flame *f = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_flame_new(p, &(pt_flame_request){0}, &f, &error), PT_ERR_LIMIT);
    pt_profile_unref(p);
}

static void packages_are_read_from_names(void **state)
{
    static const char *const cases[][2] = {
        {"std::vector<int, std::allocator<int>>::push_back(int const&)", "std"},
        {"void std::sort<int*>(int*, int*)", "std"},
        {"unsigned long const& ns::C<a::B>::get()", "ns"},
        {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc"},
        {"<&mut serde::de::D as T>::f", "serde"},
        {"core::fmt::write", "core"},
        {"net/http.(*conn).serve", "net/http"},
        {"github.com/foo/bar.(*T).Method", "github.com/foo/bar"},
        {"runtime.mallocgc", "runtime"},
        {"main.main.func1", "main"},
        {"java.util.HashMap.get", "java.util"},
        {"memcpy", ""},
        {"parse.part.0", ""},
        {"hash.constprop.0.cold", ""},
        {"bool operator<(a, b)", ""},
        {"(anonymous namespace)::run()", ""},
        {"", ""},
        {"::", ""},
        {"<", ""},
        {"<<<<mut", ""},
        {"<&mut mutable::C>::f", "mutable"},
        {")>)>", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        const char *at = pt_flame_package(cases[i][0], &bytes);
        PT_FREE char *package = pt_strndup(at, bytes);
        if (strcmp(package, cases[i][1]) != 0)
            fail_msg("%s is of '%s', not of '%s'", cases[i][0], package, cases[i][1]);
    }
}

static void the_last_part_of_a_name_stands_for_it(void **state)
{
    static const char *const cases[][2] = {
        {"std::vector<int, std::allocator<int>>::push_back(int const&)", "push_back"},
        {"void std::sort<int*>(int*, int*)", "sort"},
        {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", "drop"},
        {"net/http.(*conn).serve", "http.(*conn).serve"},
        {"memcpy", "memcpy"},
        {"main(int, char**)", "main"},
        {"(anonymous namespace)::run()", "run"},
        {"[libfoo/bar.so+0x1234]", "[libfoo/bar.so+0x1234]"},
        {"", ""},
        {"::", "::"},
        {"a::", "a::"},
        {"<<<(", "<<<("},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes;
        const char *at = pt_flame_short_name(cases[i][0], &bytes);
        PT_FREE char *part = pt_strndup(at, bytes);
        assert_string_equal(part, cases[i][1]);
    }
}

/* ---- text ---- */

static void xml_text_is_escaped_and_well_formed_utf_8(void **state)
{
    static const struct {
        const char *text, *xml;
    } cases[] = {
        {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff", "\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong "/" */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xe2\x82", "\xef\xbf\xbd"}, /* cut short: one maximal subpart */
        {"\xe2\x82x", "\xef\xbf\xbdx"},
        {"\xef\xbf\xbe", "\xef\xbf\xbd"}, /* U+FFFE is no character of XML */
        {"\x01\x1b", "\xef\xbf\xbd\xef\xbf\xbd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pt_buf buf = PT_BUF_INIT;
        pt_out out;
        pt_out_to_buf(&out, &buf);
        pt_xml_text(&out, cases[i].text, strlen(cases[i].text));
        assert_int_equal(pt_out_done(&out, NULL), PT_OK);
        assert_string_equal(pt_buf_text(&buf), cases[i].xml);
        pt_buf_done(&buf);
    }
}

/* ---- the page and the picture ---- */

typedef void render_fn(pt_out *out, const pt_flame *flame, const pt_report_head *head);

static char *rendered(render_fn *render, const pt_flame *f, const char *title, size_t *ret_bytes)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    const pt_report_head head = {
        .title = title, .summary = {.type = "", .unit = "", .has_stacks = true}, .query = ""};
    render(&out, f, &head);
    assert_int_equal(pt_out_done(&out, NULL), PT_OK);
    return pt_buf_take(&buf, ret_bytes);
}

/* A profile of functions with names that are out to harm the page. */
static const char *const hostile[] = {
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "]]></style><img src=x onerror=alert(1)>",
    "quote\" apostrophe' amp& back\\slash",
    "line\u2028and\u2029paragraph",
    "not \xff utf-8 \xc0\xaf at \xed\xa0\x80 all \xe2\x82",
    "control\x01\x1f\nnew line\ttab\x7f",
    "@@DATA@@ $& $1",
    "\xf0\x9f\x98\x80 \xe6\xbc\xa2\xe5\xad\x97",
};
#define HOSTILE_COUNT (sizeof hostile / sizeof *hostile)

static const pt_profile *hostile_profile(void)
{
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "<b>cpu").v,
                                    .unit = pt_builder_text(b, "\"units\"").v});
    for (size_t i = 0; i < HOSTILE_COUNT; i++) {
        const uint32_t name = pt_builder_text(b, hostile[i]).v;
        const pt_function f = {.name = name, .system_name = name, .file = name, .start_line = 3};
        const pt_line line = {.function = pt_builder_function(b, &f).v, .line = 4};
        const uint32_t frame =
            pt_builder_location(b, &(pt_location){.mapping = PT_NONE}, &line, 1).v;
        const int64_t value = (int64_t)(10 + i);
        pt_builder_sample(b, pt_builder_stack(b, &frame, 1, PT_STACK_END_ROOT), PT_NO_LABELS,
                          &value);
    }
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        count++;
    return count;
}

static void no_name_ends_the_pages_script(void **state)
{
    const pt_profile *p = hostile_profile();
    PT_FREE_FLAME pt_flame *f = flame_of(p, 4000, 60000);
    const pt_profile *tame_profile = profile_of("n/count", "main 1\n");
    PT_FREE_FLAME pt_flame *tame = flame_of(tame_profile, 4000, 60000);
    PT_FREE char *page = rendered(pt_render_flame_html, f, "</script><!--", NULL);
    PT_FREE char *tame_page = rendered(pt_render_flame_html, tame, "tame", NULL);
    assert_int_equal(count_of(page, "<"), count_of(tame_page, "<"));
    assert_int_equal(count_of(page, "alert(1)"), 2); /* in two names, each put once */
    pt_profile_unref(p);
    pt_profile_unref(tame_profile);
}

static char *data_of(const char *page)
{
    const char *begin = strstr(page, "type=\"application/json\">");
    assert_non_null(begin);
    begin = strchr(begin, '>') + 1;
    return pt_strndup(begin, (size_t)(strstr(begin, "</script>") - begin));
}

static json_t *parsed(const char *page)
{
    PT_FREE char *data = data_of(page);
    json_error_t error;
    json_t *json = json_loads(data, 0, &error);
    if (json == NULL) fail_msg("%s at byte %d", error.text, error.position);
    return json;
}

static int64_t number(const json_t *json, const char *table, const char *column, size_t row)
{
    const json_t *item = json_array_get(json_object_get(json_object_get(json, table), column), row);
    assert_true(json_is_integer(item));
    return json_integer_value(item);
}

static void another_json_reader_finds_the_same_boxes(void **state)
{
    const pt_profile *p = profile_of("cpu/nanoseconds", "main@m.c;grow~alloc 2\nmain@m.c 5\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 4000, 60000);
    PT_FREE char *page = rendered(pt_render_flame_html, f, "a \"title\"", NULL);
    json_t *json = parsed(page);
    assert_int_equal(json_integer_value(json_object_get(json, "schema")), 1);
    assert_int_equal(json_integer_value(json_object_get(json, "total")), 7);
    assert_string_equal(json_string_value(json_object_get(json, "title")), "a \"title\"");
    static const struct {
        const char *name, *file;
        int64_t parent, self, total, kind;
    } boxes[] = {
        {"all", "", 0, 0, 7, 0},
        {"main", "m.c", 0, 5, 7, 0},
        {"grow", "", 1, 0, 2, 0},
        {"alloc", "", 2, 2, 2, 1},
    };
    const json_t *strings = json_object_get(json, "strings");
    for (size_t i = 0; i < 4; i++) {
        const size_t frame = (size_t)number(json, "nodes", "frame", i);
        const size_t name = (size_t)number(json, "frames", "name", frame);
        const size_t file = (size_t)number(json, "frames", "file", frame);
        assert_string_equal(json_string_value(json_array_get(strings, name)), boxes[i].name);
        assert_string_equal(json_string_value(json_array_get(strings, file)), boxes[i].file);
        assert_int_equal(number(json, "nodes", "parent", i), boxes[i].parent);
        assert_int_equal(number(json, "nodes", "self", i), boxes[i].self);
        assert_int_equal(number(json, "nodes", "total", i), boxes[i].total);
        assert_int_equal(number(json, "frames", "kind", frame), boxes[i].kind);
    }
    json_decref(json);
    pt_profile_unref(p);
}

static void hostile_names_come_back_as_they_were_but_for_bad_utf_8(void **state)
{
    const pt_profile *p = hostile_profile();
    PT_FREE_FLAME pt_flame *f = flame_of(p, 4000, 60000);
    PT_FREE char *page = rendered(pt_render_flame_html, f, "\xff", NULL);
    json_t *json = parsed(page);
    assert_string_equal(json_string_value(json_object_get(json, "title")), "\xef\xbf\xbd");
    const json_t *strings = json_object_get(json, "strings");
    for (size_t h = 0; h < HOSTILE_COUNT; h++) {
        const bool bad = strchr(hostile[h], '\xff') != NULL;
        bool found = false;
        for (size_t i = 0; i < json_array_size(strings); i++) {
            const char *text = json_string_value(json_array_get(strings, i));
            found |= strcmp(text, hostile[h]) == 0;
        }
        assert_int_equal(found, !bad);
    }
    json_decref(json);
    pt_profile_unref(p);
}

/* Whether xmllint takes the text; -1 when it is not installed. */
static int xmllint_takes(const char *text, size_t bytes)
{
    if (system("command -v xmllint >/dev/null 2>&1") != 0) return -1;
    char path[] = "/tmp/pitot-flame.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
    PT_FREE char *command = pt_strf("xmllint --nonet --noout %s", path);
    const int status = system(command);
    unlink(path);
    return status == 0;
}

/* 1 if xmllint takes the picture of the hostile profile, 0 if not, -1 if it is not installed. */
static int check_hostile_picture(void)
{
    const pt_profile *p = hostile_profile();
    PT_FREE_FLAME pt_flame *f = flame_of(p, 4000, 60000);
    size_t bytes;
    PT_FREE char *svg = rendered(pt_render_flame_svg, f, "]]>\x02<svg>&\xff", &bytes);
    assert_int_equal(count_of(svg, "<script"), 1);
    assert_int_equal(count_of(svg, "<g class=\"b"), 1 + HOSTILE_COUNT);
    const int taken = xmllint_takes(svg, bytes);
    pt_profile_unref(p);
    return taken;
}

static void the_picture_is_well_formed_whatever_the_names(void **state)
{
    const int taken = check_hostile_picture(); /* skip() runs no cleanup of its caller */
    if (taken < 0) {
        print_message("# skip: xmllint is not installed\n");
        skip();
    }
    assert_int_equal(taken, 1);
}

/* 1200 px less two margins of 10: all is 1180 wide, and main takes 3/4 of it. */
static void the_pictures_boxes_are_as_wide_as_their_share(void **state)
{
    const pt_profile *p = profile_of("n/count", "main;f 3\nidle 1\n");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 0, 0);
    PT_FREE char *svg = rendered(pt_render_flame_svg, f, "t", NULL);
    assert_non_null(strstr(svg, "<title>all\ntotal 4 (100.00%)\nself 0 (0.00%)</title>"));
    assert_non_null(strstr(svg, "<title>main\ntotal 3 (75.00%)\nself 0 (0.00%)</title>"));
    const char *main_box = strstr(svg, "<title>main\n");
    const char *idle_box = strstr(svg, "<title>idle\n");
    assert_non_null(main_box);
    assert_non_null(idle_box);
    assert_non_null(strstr(strstr(main_box, "<rect"), "x=\"10.00\" y=\"94\" width=\"885.00\""));
    assert_non_null(strstr(strstr(idle_box, "<rect"), "x=\"895.00\" y=\"94\" width=\"295.00\""));
    pt_profile_unref(p);
}

static void an_empty_profile_makes_a_page_and_a_picture(void **state)
{
    const pt_profile *p = profile_of("n/count", "");
    PT_FREE_FLAME pt_flame *f = flame_of(p, 4000, 60000);
    PT_FREE char *page = rendered(pt_render_flame_html, f, "", NULL);
    PT_FREE char *svg = rendered(pt_render_flame_svg, f, "", NULL);
    assert_non_null(strstr(page, "\"total\":0"));
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf"));
    pt_profile_unref(p);
}

/* ---- large ---- */

/* Stacks of depth 40 that part near the root: 50,000 of them have more than 1.7 M tree nodes. */
static const pt_profile *large_profile(uint32_t stacks)
{
    enum { FUNCTIONS = 20000, DEPTH = 40, SHARED = 5 };
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "cpu").v,
                                    .unit = pt_builder_text(b, "nanoseconds").v});
    uint32_t *location = pt_alloc(FUNCTIONS, sizeof *location);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        PT_FREE char *text = pt_strf("package%u::Class%u::method(int)", i % 50, i);
        const uint32_t name = pt_builder_text(b, text).v;
        const pt_function f = {.name = name, .system_name = name};
        const pt_line line = {.function = pt_builder_function(b, &f).v};
        location[i] = pt_builder_location(b, &(pt_location){.mapping = PT_NONE}, &line, 1).v;
    }
    uint64_t random = 12345;
    uint32_t frames[DEPTH];
    for (uint32_t s = 0; s < stacks; s++) {
        for (uint32_t d = 0; d < DEPTH; d++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const uint32_t draw = (uint32_t)(random >> 40);
            frames[DEPTH - 1 - d] = location[d < SHARED ? draw % 3 : draw % FUNCTIONS];
        }
        pt_builder_sample(b, pt_builder_stack(b, frames, DEPTH, PT_STACK_END_ROOT), PT_NO_LABELS,
                          &(int64_t){1000000});
    }
    free(location);
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static void two_million_tree_nodes_make_a_small_page(void **state)
{
    const pt_profile *p = large_profile(50000);
    PT_FREE_FLAME pt_flame *whole = flame_of(p, 0, 0);
    assert_true(whole->node_count > 1700000);
    assert_conserved(whole);
    PT_FREE_FLAME pt_flame *f = flame_of(p, PT_FLAME_HTML_WIDTH_PX, PT_FLAME_HTML_MAX_NODES);
    assert_conserved(f);
    assert_true(f->node_count > 300); /* three ways at each of five levels, at least */
    assert_true(f->node_count <= PT_FLAME_HTML_MAX_NODES);
    PT_FREE_FLAME pt_flame *most = flame_of(p, 0, PT_FLAME_HTML_MAX_NODES);
    assert_int_equal(most->node_count, PT_FLAME_HTML_MAX_NODES);
    assert_conserved(most);
    size_t bytes;
    PT_FREE char *page = rendered(pt_render_flame_html, most, "large", &bytes);
    assert_true(bytes < 5000000);
    pt_profile_unref(p);
}

/* Deeper than any box is wide: the widest of equals are those next to the root. */
static void a_very_deep_recursion_is_kept_from_the_root_down(void **state)
{
    enum { DEPTH = 300000 };
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){0});
    const uint32_t name = pt_builder_text(b, "f").v;
    const pt_line line = {
        .function = pt_builder_function(b, &(pt_function){.name = name, .system_name = name}).v};
    const uint32_t location =
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE}, &line, 1).v;
    uint32_t *frames = pt_alloc(DEPTH, sizeof *frames);
    for (uint32_t i = 0; i < DEPTH; i++)
        frames[i] = location;
    pt_builder_sample(b, pt_builder_stack(b, frames, DEPTH, PT_STACK_END_ROOT), PT_NO_LABELS,
                      &(int64_t){9});
    free(frames);
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    PT_FREE_FLAME pt_flame *f = flame_of(p, PT_FLAME_HTML_WIDTH_PX, PT_FLAME_HTML_MAX_NODES);
    assert_int_equal(f->node_count, PT_FLAME_HTML_MAX_NODES);
    assert_int_equal(f->rows, PT_FLAME_HTML_MAX_NODES);
    assert_conserved(f);
    pt_profile_unref(p);
}

/* 3,000 stacks without a common frame, 3,000 deep: 9 M tree nodes. Only nodes that may be kept are
 * made. */
static void many_very_deep_stacks_are_cut_from_below(void **state)
{
    enum { STACKS = 3000, DEPTH = 3000 };
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){0});
    uint32_t *frames = pt_alloc(DEPTH, sizeof *frames);
    for (uint32_t s = 0; s < STACKS; s++) {
        PT_FREE char *text = pt_strf("f%u", s);
        const uint32_t name = pt_builder_text(b, text).v;
        const pt_function f = {.name = name, .system_name = name};
        const pt_line line = {.function = pt_builder_function(b, &f).v};
        frames[0] = pt_builder_location(b, &(pt_location){.mapping = PT_NONE}, &line, 1).v;
        for (uint32_t i = 1; i < DEPTH; i++)
            frames[i] = frames[0];
        pt_builder_sample(b, pt_builder_stack(b, frames, DEPTH, PT_STACK_END_ROOT), PT_NO_LABELS,
                          &(int64_t){1});
    }
    free(frames);
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    PT_FREE_FLAME pt_flame *f = flame_of(p, PT_FLAME_HTML_WIDTH_PX, PT_FLAME_HTML_MAX_NODES);
    assert_int_equal(f->node_count, PT_FLAME_HTML_MAX_NODES);
    assert_int_equal(f->rows, 21); /* the root's, 19 whole ones of 3,000, and what is left */
    assert_conserved(f);
    pt_profile_unref(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_are_merged_from_the_root_widest_first),
        cmocka_unit_test(children_of_one_width_stand_by_name),
        cmocka_unit_test(recursion_is_a_box_a_level),
        cmocka_unit_test(boxes_say_what_is_inlined_kernel_or_nameless),
        cmocka_unit_test(a_box_knows_the_file_of_its_own_function),
        cmocka_unit_test(what_is_narrower_than_half_a_pixel_is_cut_and_counted),
        cmocka_unit_test(functions_are_counted_before_anything_is_cut),
        cmocka_unit_test(functions_lead_by_self_or_by_total),
        cmocka_unit_test(of_too_many_boxes_the_widest_are_kept),
        cmocka_unit_test(what_is_cut_takes_no_place_among_the_widest),
        cmocka_unit_test(a_profile_without_samples_is_an_empty_root),
        cmocka_unit_test(samples_without_a_stack_are_the_roots_own),
        cmocka_unit_test(a_difference_keeps_both_sides),
        cmocka_unit_test(an_inverted_graph_has_callers_below),
        cmocka_unit_test(a_path_leads_to_the_box_that_is_drawn),
        cmocka_unit_test(boxes_too_narrow_in_the_whole_are_wide_enough_below_a_path),
        cmocka_unit_test(functions_below_a_path_are_counted_before_anything_is_cut),
        cmocka_unit_test(in_order_of_time_a_box_is_a_run_of_samples_of_a_thread),
        cmocka_unit_test(an_order_needs_times_and_one_side),
        cmocka_unit_test(in_order_nothing_is_lost_and_nothing_lies_upon_another),
        cmocka_unit_test(in_order_a_part_has_the_boxes_of_the_whole),
        cmocka_unit_test(values_that_add_up_to_2_63_are_refused),
        cmocka_unit_test(packages_are_read_from_names),
        cmocka_unit_test(the_last_part_of_a_name_stands_for_it),
        cmocka_unit_test(xml_text_is_escaped_and_well_formed_utf_8),
        cmocka_unit_test(no_name_ends_the_pages_script),
        cmocka_unit_test(another_json_reader_finds_the_same_boxes),
        cmocka_unit_test(hostile_names_come_back_as_they_were_but_for_bad_utf_8),
        cmocka_unit_test(the_picture_is_well_formed_whatever_the_names),
        cmocka_unit_test(the_pictures_boxes_are_as_wide_as_their_share),
        cmocka_unit_test(an_empty_profile_makes_a_page_and_a_picture),
        cmocka_unit_test(two_million_tree_nodes_make_a_small_page),
        cmocka_unit_test(a_very_deep_recursion_is_kept_from_the_root_down),
        cmocka_unit_test(many_very_deep_stacks_are_cut_from_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
