/* test_transform_tags.c: labels as filters and as frames, cut stacks, and one profile less another.
 * Expected stacks are worked out by hand from the rules in the headers of transform. */
#include "profile_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "personality/pprof/as_pprof.h"
#include "personality/pprof/merge.h"
#include "transform/aggregate.h"
#include "transform/filter.h"
#include "transform/merge.h"
#include "transform/scale.h"
#include "transform/tags.h"

static void put_labels(pt_buf *text, const pt_profile *p, uint32_t set)
{
    for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
        const pt_label *const label = &p->labels->row[l];
        pt_putf(text, " %s:", pt_text(p, label->key));
        if (label->kind == PT_LABEL_STRING)
            pt_put_text(text, pt_text(p, label->str));
        else
            pt_putf(text, "%lld/%s", (long long)label->num, pt_text(p, label->unit));
    }
}

/* "main;parse;read 3 thread:io" a line. */
static char *text_of(const pt_profile *p)
{
    pt_buf text = PT_BUF_INIT;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        for (uint32_t f = pt_stack_depth(p, stack); f-- > 0;) {
            const uint32_t location = pt_stack_frames(p, stack)[f];
            const uint32_t first = p->location->line_first[location];
            for (uint32_t line = p->location->line_first[location + 1]; line-- > first;)
                pt_putf(&text, "%s%s", pt_text(p, p->function->name[p->line->function[line]]),
                        line > first ? "~" : "");
            if (f > 0) pt_put_u8(&text, ';');
        }
        for (uint32_t e = 0; e < p->event->t.count; e++)
            pt_putf(&text, " %lld", (long long)p->sample->value[e][i]);
        put_labels(&text, p, p->sample->labels[i]);
        pt_put_u8(&text, '\n');
    }
    return pt_buf_take(&text, NULL);
}

static void expect_text(const pt_profile *p, const char *expected)
{
    pt_error error = PT_ERROR_INIT;
    if (pt_profile_check(p, &error) != PT_OK) fail_msg("%s", error.message);
    PT_FREE char *text = text_of(p);
    assert_string_equal(text, expected);
}

static const char labelled[] = "main;io 1 thread:io bytes:32/kb\n"
                               "main;net 2 thread:net bytes:2048/kb\n"
                               "main;io 4 thread:io request:7/\n"
                               "main 8\n";

/* Compares the samples that the query leaves; the dropped samples must be counted. */
static pt_filtered expect_left(const char *text, pt_query query, const char *expected)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", text);
    pt_filtered f;
    pt_error error = PT_ERROR_INIT;
    if (pt_filter(p, &query, &f, NULL, &error) != PT_OK) fail_msg("%s", error.message);
    expect_text(f.profile, expected);
    assert_int_equal(f.kept + f.ignored + f.unfocused + f.emptied + f.unshown + f.tag_dropped,
                     p->sample->t.count);
    const pt_filtered counts = f;
    pt_filtered_done(&f);
    return counts;
}

static void a_tag_pattern_is_matched_against_key_and_text(void **state)
{
    expect_left(labelled, (pt_query){.tag_focus = "thread:net"},
                "main;net 2 thread:net bytes:2048/kb\n");
    expect_left(labelled, (pt_query){.tag_ignore = "^thread"}, "main 8\n");
}

static void all_patterns_must_match_without_a_key_and_one_is_enough_with_it(void **state)
{
    assert_int_equal(expect_left(labelled, (pt_query){.tag_focus = "io,net"}, "").tag_dropped, 4);
    expect_left(labelled, (pt_query){.tag_ignore = "thread=^io$,net"}, "main 8\n");
}

static void a_range_matches_numbers_that_convert_to_its_unit(void **state)
{
    expect_left(labelled, (pt_query){.tag_focus = "2mb"}, "main;net 2 thread:net bytes:2048/kb\n");
    expect_left(labelled, (pt_query){.tag_focus = ":32768b"},
                "main;io 1 thread:io bytes:32/kb\nmain;io 4 thread:io request:7/\n");
    expect_left(labelled, (pt_query){.tag_focus = "bytes=1kb:1mb"},
                "main;io 1 thread:io bytes:32/kb\n");
    expect_left(labelled, (pt_query){.tag_focus = "1s:"}, "");
}

static void a_range_that_is_none_is_a_pattern(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", labelled);
    pt_filtered f;
    const pt_query query = {.tag_focus = "32kb", .tag_ignore = "a32kb"};
    assert_int_equal(pt_filter(p, &query, &f, NULL, NULL), PT_OK);
    assert_string_equal(f.range[PT_FILTER_TAG_FOCUS], "32kb");
    assert_null(f.range[PT_FILTER_TAG_IGNORE]);
    pt_filtered_done(&f);
}

static void labels_stay_by_their_keys(void **state)
{
    expect_left(labelled, (pt_query){.tag_show = "thread|request", .tag_hide = "^req"},
                "main;io 1 thread:io\nmain;net 2 thread:net\nmain;io 4 thread:io\nmain 8\n");
}

static void show_from_makes_the_outermost_match_the_root(void **state)
{
    static const char text[] = "main;run;work;run;leaf 1\nmain;idle 2\nmain;outer~run~in;leaf 4\n";
    const pt_filtered f =
        expect_left(text, (pt_query){.show_from = "run"}, "run;work;run;leaf 1\nrun~in;leaf 4\n");
    assert_int_equal(f.unshown, 1);
}

static void prune_from_makes_the_innermost_match_the_leaf(void **state)
{
    static const char text[] = "main;run;work;run;leaf 1\nmain;idle 2\nmain;outer~run~in;leaf 4\n";
    expect_left(text, (pt_query){.prune_from = "run"},
                "main;run;work;run 1\nmain;idle 2\nmain;outer~run 4\n");
    expect_left("main;f(run);g 1\n", (pt_query){.prune_from = "run"}, "main;f(run);g 1\n");
}

static pt_tagged expect_tagged(pt_query query, const char *expected)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", labelled);
    pt_tagged tagged;
    assert_int_equal(pt_tag_frames(p, &query, &tagged, NULL, NULL), PT_OK);
    const pt_query hide = {.tag_hide = "."}; /* labels stay; they are not what is looked at */
    pt_filtered f;
    assert_int_equal(pt_filter(tagged.profile, &hide, &f, NULL, NULL), PT_OK);
    expect_text(f.profile, expected);
    assert_int_equal(total_of(f.profile, 0), total_of(p, 0));
    pt_filtered_done(&f);
    pt_profile_unref(tagged.profile);
    return tagged;
}

static void labels_become_roots_and_leaves(void **state)
{
    const pt_tagged t = expect_tagged((pt_query){.tag_root = "thread,bytes", .tag_leaf = "request"},
                                      "io;32kB;main;io; 1\nnet;2MB;main;net; 2\n"
                                      "io;;main;io;7 4\n;;main; 8\n");
    assert_true(t.root_matched);
    assert_true(t.leaf_matched);
    assert_false(expect_tagged((pt_query){.tag_leaf = "nope"},
                               "main;io; 1\nmain;net; 2\nmain;io; 4\nmain; 8\n")
                     .leaf_matched);
}

static void numbers_in_tag_frames_have_the_unit_that_was_asked_for(void **state)
{
    expect_tagged((pt_query){.tag_root = "bytes", .tag_unit = "b"},
                  "32768B;main;io 1\n2097152B;main;net 2\n;main;io 4\n;main 8\n");
}

static void the_unit_of_a_key_is_the_first_and_others_are_told(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count", "a 1 size:1/kb\na 1 size:2/mb request:3/\na 1 size:4/b\n"
                                    "a 1 size:5/mb other:1/\n");
    pt_tag_units units = pt_tag_units_of(p, true);
    assert_int_equal(units.count, 3);
    assert_string_equal(units.items[0].unit, "kb");
    assert_string_equal(units.items[0].others, "b, mb");
    assert_string_equal(units.items[1].unit, "bytes");
    assert_string_equal(units.items[2].unit, "other");
    pt_tag_units_done(&units);
}

static const pt_profile *less(const char *a, const char *b, pt_subtract_options options)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", a);
    PT_UNREF_PROFILE const pt_profile *base = profile_of("samples/count", b);
    const pt_profile *result = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_subtract(p, base, &options, &result, NULL, &error) != PT_OK)
        fail_msg("%s", error.message);
    return result;
}

static void the_base_is_taken_off_and_what_is_equal_is_gone(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        less("main;a 5\nmain;b 2\nmain;c 3\n", "main;b 2\nmain;a 1\nmain;d 4\n",
             (pt_subtract_options){0});
    expect_text(p, "main;a 4\nmain;c 3\nmain;d -4\n");
    assert_int_equal(pt_whole(p, 0), 11);
}

static void a_marked_base_stays_apart_and_is_the_whole(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        less("main;a 5\n", "main;a 1\n", (pt_subtract_options){.marks_base = true});
    expect_text(p, "main;a 5\nmain;a -1 pprof::base:true\n");
    assert_int_equal(pt_whole(p, 0), 1);
}

static void normalizing_gives_both_the_same_total(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = less("main;a 3\nmain;b 1\n", "main;a 4\nmain;c 4\n",
                                                (pt_subtract_options){.normalizes = true});
    expect_text(p, "main;a 2\nmain;b 2\nmain;c -4\n");
    assert_int_equal(total_of(p, 0), 0);
}

static void scaled_values_are_rounded_and_zeros_dropped(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count cpu/ns", "a 3 10\nb 1 1\nc -5 3\n");
    PT_UNREF_PROFILE const pt_profile *scaled = pt_scale(p, (double[]){0.5, 0.1});
    expect_text(scaled, "a 2 1\nb 1 0\nc -3 0\n");
    PT_UNREF_PROFILE const pt_profile *second = pt_scale(p, (double[]){1, 0.1});
    expect_text(second, "a 3 1\n"); /* only what is multiplied counts */
    PT_UNREF_PROFILE const pt_profile *same = pt_scale(p, (double[]){1, 1});
    assert_ptr_equal(same, p);
}

static void division_cuts_off_and_drops_nothing(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", "a 5\nb -5\nc 1\n");
    PT_UNREF_PROFILE const pt_profile *divided = pt_divide(p, 2);
    expect_text(divided, "a 2\nb -2\nc 0\n");
}

static const pt_profile *merged_as_pprof(const char *events_a, const char *a, const char *events_b,
                                         const char *b, pt_error *error)
{
    PT_UNREF_PROFILE const pt_profile *first = profile_of(events_a, a);
    PT_UNREF_PROFILE const pt_profile *second = profile_of(events_b, b);
    pt_merge *merge = pt_merge_new_by(&pt_pprof_merge_rules, NULL);
    assert_int_equal(pt_merge_add(merge, first, error), PT_OK);
    assert_int_equal(pt_merge_add(merge, second, error), PT_OK);
    const pt_profile *result = NULL;
    return pt_merge_finish(merge, &result, error) == PT_OK ? result : NULL;
}

static void unlike_profiles_keep_common_types_in_the_smaller_unit(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = merged_as_pprof("samples/count cpu/ms", "a 1 2\nb 1 1\n",
                                                           "cpu/us other/count", "a 5 9\n", NULL);
    expect_text(p, "a 2005\nb 1000\n");
    assert_string_equal(pt_text(p, p->event->row[0].unit), "us");
}

static void profiles_without_a_common_type_are_refused(void **state)
{
    pt_error error = PT_ERROR_INIT;
    assert_null(merged_as_pprof("samples/count", "a 1\n", "cpu/ms", "a 1\n", &error));
    assert_string_equal(error.message, "profiles have empty common sample type list");
    error = (pt_error)PT_ERROR_INIT;
    assert_null(merged_as_pprof("v/count", "a 1\n", "v/ms", "a 1\n", &error));
    assert_string_equal(error.message,
                        "sample types: incompatible types: {v count 0 0} {v ms 0 0}");
}

static void a_single_profile_is_merged_as_it_is(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", "a 1\na 1\nb 0\n");
    pt_merge *merge = pt_merge_new_by(&pt_pprof_merge_rules, NULL);
    assert_int_equal(pt_merge_add(merge, p, NULL), PT_OK);
    PT_UNREF_PROFILE const pt_profile *result = NULL;
    assert_int_equal(pt_merge_finish(merge, &result, NULL), PT_OK);
    assert_ptr_equal(result, p);
}

static void without_inlines_the_outermost_function_stays(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", "main;a~b~c 1\n");
    PT_UNREF_PROFILE const pt_profile *coarse =
        pt_aggregate(p, (pt_keep){.functions = true, .files = true, .lines = true});
    expect_text(coarse, "main;a 1\n");
}

static void the_event_is_named_as_sample_index_names_it(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("objects/count space/bytes", "a 1 2\n");
    uint32_t event = 9;
    assert_int_equal(pt_pprof_event(p, "", &event, NULL), PT_OK);
    assert_int_equal(event, 1);
    assert_int_equal(pt_pprof_event(p, "inuse_objects", &event, NULL), PT_OK);
    assert_int_equal(event, 0);
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_pprof_event(p, "2", &event, &error), PT_ERR_USAGE);
    assert_string_equal(error.message, "sample_index 2 is outside the range [0..1]");
    error = (pt_error)PT_ERROR_INIT;
    assert_int_equal(pt_pprof_event(p, "cpu", &event, &error), PT_ERR_USAGE);
    assert_string_equal(error.message, "sample_index \"cpu\" must be one of: [objects space]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_pattern_is_matched_against_key_and_text),
        cmocka_unit_test(all_patterns_must_match_without_a_key_and_one_is_enough_with_it),
        cmocka_unit_test(a_range_matches_numbers_that_convert_to_its_unit),
        cmocka_unit_test(a_range_that_is_none_is_a_pattern),
        cmocka_unit_test(labels_stay_by_their_keys),
        cmocka_unit_test(show_from_makes_the_outermost_match_the_root),
        cmocka_unit_test(prune_from_makes_the_innermost_match_the_leaf),
        cmocka_unit_test(labels_become_roots_and_leaves),
        cmocka_unit_test(numbers_in_tag_frames_have_the_unit_that_was_asked_for),
        cmocka_unit_test(the_unit_of_a_key_is_the_first_and_others_are_told),
        cmocka_unit_test(the_base_is_taken_off_and_what_is_equal_is_gone),
        cmocka_unit_test(a_marked_base_stays_apart_and_is_the_whole),
        cmocka_unit_test(normalizing_gives_both_the_same_total),
        cmocka_unit_test(scaled_values_are_rounded_and_zeros_dropped),
        cmocka_unit_test(division_cuts_off_and_drops_nothing),
        cmocka_unit_test(unlike_profiles_keep_common_types_in_the_smaller_unit),
        cmocka_unit_test(profiles_without_a_common_type_are_refused),
        cmocka_unit_test(a_single_profile_is_merged_as_it_is),
        cmocka_unit_test(without_inlines_the_outermost_function_stays),
        cmocka_unit_test(the_event_is_named_as_sample_index_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
