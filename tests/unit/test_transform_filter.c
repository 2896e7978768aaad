/* test_transform_filter.c: which samples and frames a query leaves. Expected stacks are worked out
 * by hand from the rules in transform/filter.h. */
#include "profile_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "model/builder.h"
#include "transform/filter.h"
#include "transform/prune.h"

/* The samples as text again: "main;grow~alloc 2" a line. */
static char *text_of(const pt_profile *p)
{
    pt_buf text = PT_BUF_INIT;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t stack = p->sample->stack[i];
        for (uint32_t f = pt_stack_depth(p, stack); f-- > 0;) {
            const uint32_t location = pt_stack_frames(p, stack)[f];
            const uint32_t first = p->location->line_first[location];
            uint32_t line = p->location->line_first[location + 1];
            char unnamed[64];
            pt_location_text(p, location, true, unnamed, sizeof unnamed);
            if (line == first) pt_put_text(&text, unnamed);
            while (line-- > first)
                pt_putf(&text, "%s%s", pt_text(p, p->function->name[p->line->function[line]]),
                        line > first ? "~" : "");
            if (f > 0) pt_put_u8(&text, ';');
        }
        pt_putf(&text, " %lld\n", (long long)p->sample->value[0][i]);
    }
    return pt_buf_take(&text, NULL);
}

static const char profile_text[] = "main;parse@parse.c:1;read@io.c:3 3\n"
                                   "main;parse@parse.c:1 2\n"
                                   "main;grow~alloc~move 5\n"
                                   "main;emit;/lib/libz.so+0x10 7\n"
                                   "main;/lib/libz.so!deflate;emit 11\n"
                                   "main 13\n";

/* The query leaves exactly this; nothing is lost on the way. */
static pt_filtered expect_left(pt_query query, const char *expected)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", profile_text);
    pt_filtered f;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_filter(p, &query, &f, NULL, &error), PT_OK);
    if (pt_profile_check(f.profile, &error) != PT_OK) fail_msg("%s", error.message);
    PT_FREE char *text = text_of(f.profile);
    assert_string_equal(text, expected);
    assert_int_equal(f.profile->sample->t.count, f.kept);
    assert_int_equal(f.kept + f.ignored + f.unfocused + f.emptied, p->sample->t.count);
    const pt_filtered counts = f;
    pt_filtered_done(&f);
    return counts;
}

static void no_query_gives_the_profile_itself(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", profile_text);
    pt_filtered f;
    assert_int_equal(pt_filter(p, &(pt_query){0}, &f, NULL, NULL), PT_OK);
    assert_ptr_equal(f.profile, p);
    assert_int_equal(f.kept, 6);
    pt_filtered_done(&f);
}

static void focus_keeps_samples_with_a_matching_function_file_or_object(void **state)
{
    expect_left((pt_query){.focus = "^read$"}, "main;parse;read 3\n");
    expect_left((pt_query){.focus = "parse\\.c"}, "main;parse;read 3\nmain;parse 2\n");
    expect_left((pt_query){.focus = "libz"}, "main;emit;[libz.so+0x10] 7\nmain;deflate;emit 11\n");
}

static void focus_looks_into_inlined_frames(void **state)
{
    expect_left((pt_query){.focus = "alloc"}, "main;grow~alloc~move 5\n");
}

static void ignore_wins_over_focus(void **state)
{
    const pt_filtered f = expect_left((pt_query){.focus = "parse|grow", .ignore = "read"},
                                      "main;parse 2\nmain;grow~alloc~move 5\n");
    assert_int_equal(f.ignored, 1);
    assert_int_equal(f.unfocused, 3);
}

static void hide_takes_out_functions_and_drops_what_is_left_empty(void **state)
{
    const pt_filtered f =
        expect_left((pt_query){.hide = "main|^alloc"}, "parse;read 3\nparse 2\ngrow~move 5\n"
                                                       "emit;[libz.so+0x10] 7\ndeflate;emit 11\n");
    assert_int_equal(f.emptied, 1);
}

static void hide_by_mapped_file_takes_out_all_of_the_frame(void **state)
{
    expect_left((pt_query){.hide = "libz", .focus = "emit"}, "main;emit 7\nmain;emit 11\n");
}

static void show_keeps_only_matching_functions(void **state)
{
    expect_left((pt_query){.show = "parse|move|libz"},
                "parse 3\nparse 2\nmove 5\n[libz.so+0x10] 7\ndeflate 11\n");
}

static void focus_is_decided_before_frames_are_hidden(void **state)
{
    expect_left((pt_query){.focus = "read", .hide = "read"}, "main;parse 3\n");
}

static void stacks_that_become_equal_are_one_but_samples_stay(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count", "main;a;x 1\nmain;a;y 2\nmain;a 4\n");
    pt_filtered f;
    assert_int_equal(pt_filter(p, &(pt_query){.hide = "x|y"}, &f, NULL, NULL), PT_OK);
    assert_int_equal(f.profile->stack->t.count, 1);
    assert_int_equal(f.profile->sample->t.count, 3);
    assert_int_equal(total_of(f.profile, 0), 7);
    pt_filtered_done(&f);
}

static void tables_that_do_not_change_are_shared(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", profile_text);
    pt_filtered f;
    assert_int_equal(pt_filter(p, &(pt_query){.focus = "read"}, &f, NULL, NULL), PT_OK);
    assert_ptr_equal(f.profile->stack, p->stack);
    assert_ptr_equal(f.profile->location, p->location);
    assert_ptr_equal(f.profile->string, p->string);
    pt_filtered_done(&f);
    assert_int_equal(pt_filter(p, &(pt_query){.hide = "main"}, &f, NULL, NULL), PT_OK);
    assert_ptr_equal(f.profile->location, p->location);
    assert_ptr_not_equal(f.profile->stack, p->stack);
    pt_filtered_done(&f);
}

static void a_pattern_says_whether_anything_matched(void **state)
{
    const pt_filtered f =
        expect_left((pt_query){.focus = "nowhere", .ignore = "parse", .hide = "nothing"}, "");
    assert_true(f.asked[PT_FILTER_FOCUS] && !f.matched[PT_FILTER_FOCUS]);
    assert_true(f.asked[PT_FILTER_IGNORE] && f.matched[PT_FILTER_IGNORE]);
    assert_true(f.asked[PT_FILTER_HIDE] && !f.matched[PT_FILTER_HIDE]);
    assert_false(f.asked[PT_FILTER_SHOW]);
}

static void a_pattern_matches_even_what_another_took_away(void **state)
{
    pt_filtered f = expect_left((pt_query){.focus = "read", .ignore = "main"}, "");
    assert_true(f.matched[PT_FILTER_FOCUS] && f.matched[PT_FILTER_IGNORE]);
    f = expect_left((pt_query){.hide = ".", .show = "read"}, "");
    assert_true(f.matched[PT_FILTER_HIDE] && f.matched[PT_FILTER_SHOW]);
}

static void a_bad_pattern_is_named_with_its_option(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", profile_text);
    pt_filtered f;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_filter(p, &(pt_query){.hide = "a("}, &f, NULL, &error), PT_ERR_USAGE);
    assert_non_null(strstr(error.message, "--hide=a("));
}

static void a_sample_without_frames_goes_with_the_first_filter(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", "- 4\nmain 1\n");
    pt_filtered f;
    assert_int_equal(pt_filter(p, &(pt_query){.ignore = "other"}, &f, NULL, NULL), PT_OK);
    assert_int_equal(total_of(f.profile, 0), 1);
    assert_int_equal(f.unfocused, 1);
    pt_filtered_done(&f);
}

/* A linear congruential generator (Knuth's MMIX constants); the upper bits are the random ones. */
static unsigned random_below(uint64_t *seed, unsigned limit)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % limit;
}

/* Random stacks over few names, random patterns: whatever is asked, per event what is kept and what
 * is dropped add up to the whole, and asking again changes nothing. */
static void kept_and_dropped_add_up_to_the_whole(void **state)
{
    static const char *const patterns[] = {NULL, "a", "b|c", "^d$", "f.c", "lib", "zz"};
    uint64_t seed = 42;
    pt_buf text = PT_BUF_INIT;
    for (int i = 0; i < 300; i++) {
        const unsigned depth = 1 + random_below(&seed, 6);
        for (unsigned d = 0; d < depth; d++) {
            static const char *const frames[] = {"a",       "b",           "c~a",
                                                 "d@f.c:2", "/lib.so+0x8", "e~d~b"};
            pt_putf(&text, "%s%s", d > 0 ? ";" : "", frames[random_below(&seed, 6)]);
        }
        pt_putf(&text, " %u %u\n", random_below(&seed, 100), random_below(&seed, 1000));
    }
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count cpu/nanoseconds", pt_buf_text(&text));
    pt_buf_done(&text);
    for (int round = 0; round < 200; round++) {
        const pt_query query = {.focus = patterns[random_below(&seed, 7)],
                                .ignore = patterns[random_below(&seed, 7)],
                                .hide = patterns[random_below(&seed, 7)],
                                .show = patterns[random_below(&seed, 7)]};
        pt_filtered f, again;
        assert_int_equal(pt_filter(p, &query, &f, NULL, NULL), PT_OK);
        assert_int_equal(pt_profile_check(f.profile, NULL), PT_OK);
        assert_int_equal(f.kept + f.ignored + f.unfocused + f.emptied, p->sample->t.count);
        /* Values are untouched, so a kept sample is found in order among the old ones. */
        for (uint32_t e = 0; e < 2; e++) {
            int64_t dropped = 0;
            uint32_t kept = 0;
            for (uint32_t i = 0; i < p->sample->t.count; i++) {
                if (kept < f.kept && f.profile->sample->value[0][kept] == p->sample->value[0][i] &&
                    f.profile->sample->value[1][kept] == p->sample->value[1][i])
                    kept++;
                else
                    dropped += p->sample->value[e][i];
            }
            assert_int_equal(kept, f.kept);
            assert_int_equal(total_of(f.profile, e) + dropped, total_of(p, e));
        }
        const pt_query frames_only = {.hide = query.hide, .show = query.show};
        assert_int_equal(pt_filter(f.profile, &frames_only, &again, NULL, NULL), PT_OK);
        assert_int_equal(total_of(again.profile, 1), total_of(f.profile, 1));
        pt_filtered_done(&again);
        pt_filtered_done(&f);
    }
}

/* ---- Frames that the profile itself drops ---- */

/* The stacks after the profile's patterns for frames to drop and to keep; rules of google/pprof's
 * Prune. */
static void expect_pruned(const char *stacks, const char *drop, const char *keep,
                          const char *expected)
{
    PT_UNREF_PROFILE const pt_profile *plain = profile_of("samples/count", stacks);
    pt_builder *b = pt_builder_extend(plain);
    pt_builder_provenance(b)->drop_frames = pt_builder_text(b, drop).v;
    pt_builder_provenance(b)->keep_frames = pt_builder_text(b, keep).v;
    const pt_profile *profile;
    assert_int_equal(pt_builder_freeze(b, &profile, NULL), PT_OK);
    const pt_profile *pruned = pt_prune(profile, NULL);
    assert_int_equal(pt_profile_check(pruned, NULL), PT_OK);
    PT_FREE char *text = text_of(pruned);
    assert_string_equal(text, expected);
    pt_profile_unref(pruned);
    pt_profile_unref(profile);
}

static void dropped_frames_go_with_all_they_called(void **state)
{
    expect_pruned("main;grow;malloc;lock 3\nmain;lock 1\n", "malloc|free", "",
                  "main;grow 3\nmain;lock 1\n");
}

static void the_pattern_must_match_the_whole_simple_name(void **state)
{
    expect_pruned("main;malloc_usable;x 3\nmain;malloc(unsigned);x 1\n"
                  "main;.malloc;x 2\nmain;a::operator()(int);x 4\n",
                  "malloc|a::operator..", "", "main;malloc_usable;x 3\nmain 1\nmain 2\nmain 4\n");
}

static void what_keep_frames_matches_stays(void **state)
{
    expect_pruned("main;alloc_a;x 3\nmain;alloc_b;x 1\n", "alloc_.*", "alloc_b",
                  "main 3\nmain;alloc_b;x 1\n");
}

static void nothing_is_dropped_before_some_frame_that_stays(void **state)
{
    expect_pruned("malloc;malloc;f;malloc;g 3\n", "malloc", "", "malloc;malloc;f 3\n");
}

static void an_inlined_match_takes_what_is_inside_it(void **state)
{
    expect_pruned("main;grow~alloc~lock;x 3\n", "alloc", "", "main;grow 3\n");
}

/* ---- Time ---- */

/* Samples of the values 1, 2, 4 ... at these times (0 = unknown), as a column or as labels. */
static const pt_profile *timed(const int64_t *times, uint32_t count, bool as_labels)
{
    pt_builder *const b = pt_builder_new();
    const pt_event event = {.type = pt_builder_text(b, "samples").v,
                            .unit = pt_builder_text(b, "count").v};
    pt_builder_event(b, &event);
    const uint32_t frame =
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE, .address = 1}, NULL, 0).v;
    const pt_stack_id stack = pt_builder_stack(b, &frame, 1, PT_STACK_END_UNKNOWN);
    for (uint32_t i = 0; i < count; i++) {
        const int64_t value = (int64_t)1 << i;
        const pt_label label = {.key = pt_builder_text(b, "time").v,
                                .kind = PT_LABEL_NUMBER,
                                .unit = pt_builder_text(b, "nanoseconds").v,
                                .num = times[i]};
        if (as_labels)
            pt_builder_sample(b, stack, pt_builder_labels(b, &label, times[i] != 0), &value);
        else
            pt_builder_timed_sample(b, &(pt_sample){.stack = stack.v,
                                                    .values = &value,
                                                    .time_ns = times[i],
                                                    .pid = PT_NONE,
                                                    .tid = PT_NONE,
                                                    .cpu = PT_NONE});
    }
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static void assert_time_leaves(const char *time, int64_t values)
{
    /* 100 s and 100 s in percent; the last has no duration. */
    static const int64_t times[] = {
        100000000000, 110000000000, 119999999999, 120000000000, 150000000000, 200000000000, 0};
    for (int as_labels = 0; as_labels < 2; as_labels++) {
        PT_UNREF_PROFILE const pt_profile *p = timed(times, 7, as_labels);
        pt_filtered f;
        pt_error error = PT_ERROR_INIT;
        if (pt_filter(p, &(pt_query){.time = time}, &f, NULL, &error) != PT_OK)
            fail_msg("%s", error.message);
        if (pt_profile_check(f.profile, &error) != PT_OK) fail_msg("%s", error.message);
        if (pt_profile_total(f.profile, 0) != values)
            fail_msg("--time=%s: %lld", time, (long long)pt_profile_total(f.profile, 0));
        assert_int_equal(f.kept + f.untimely, 7);
        assert_int_equal(f.matched[PT_FILTER_TIME], values != 0);
        assert_true(f.has_times);
        assert_int_equal(f.first_ns, 100000000000);
        assert_int_equal(f.last_ns, 200000000000);
        pt_filtered_done(&f);
    }
}

/* perf-script(1), --time; the ends of parts are those of Linux' tools/perf/util/time-utils.c. */
static void time_takes_what_perf_does(void **state)
{
    (void)state;
    assert_time_leaves("110,120", 2 + 4 + 8);
    assert_time_leaves("110.000000001,119.999999999", 4);
    assert_time_leaves("150,", 16 + 32);
    assert_time_leaves(",110", 1 + 2);
    assert_time_leaves(",100 200,", 1 + 32);
    assert_time_leaves("300,400", 0);
    assert_time_leaves("10,20", 2 + 4 + 8); /* before the first sample: counted from it */
    assert_time_leaves(",10", 1 + 2);
    assert_time_leaves("50,", 16 + 32);
    assert_time_leaves("10%-20%", 2 + 4);
    assert_time_leaves("20%-100%", 8 + 16 + 32);
    assert_time_leaves("10%", 1);
    assert_time_leaves("10%/2", 2 + 4);
    assert_time_leaves("10%/2,10%/3", 2 + 4 + 8);
    assert_time_leaves("0%-5%,95%-100%", 1 + 32);
    assert_time_leaves("100%-100%", 32);
}

/* Times may be 2^64 nanoseconds apart, more than a signed number holds. */
static void shares_of_the_widest_time_are_taken(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN, -1, 1, INT64_MAX};
    static const struct {
        const char *time;
        int64_t values;
    } rows[] = {{"0%-100%", 15},  {"0%-50%", 1 + 2}, {"50%-100%", 4 + 8}, {"100%", 15},
                {"100%-100%", 8}, {"0%-25%", 1},     {"75%-100%", 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        PT_UNREF_PROFILE const pt_profile *p = timed(times, 4, false);
        pt_filtered f;
        assert_int_equal(pt_filter(p, &(pt_query){.time = rows[i].time}, &f, NULL, NULL), PT_OK);
        if (pt_profile_total(f.profile, 0) != rows[i].values)
            fail_msg("--time=%s: %lld", rows[i].time, (long long)pt_profile_total(f.profile, 0));
        pt_filtered_done(&f);
    }
}

static void a_time_that_is_none_is_refused(void **state)
{
    (void)state;
    static const int64_t times[] = {5};
    static const char *const none[] = {
        "5",    ",",    "2,1",  "a,b",    "1,2,3", "1..2,3",  "1.0000000001,2", "10%-5%", "10%/0",
        "5%/x", "101%", "%-5%", "5%-",    "-1,2",  "1e3,2",   "99999999999,",   "1, 2",   "10%/1.5",
        "5%-6", "5%6",  "nan%", "10%-x%", " ",     "1,2  3,4"};
    PT_UNREF_PROFILE const pt_profile *p = timed(times, 1, false);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        pt_filtered f;
        pt_error error = PT_ERROR_INIT;
        if (pt_filter(p, &(pt_query){.time = none[i]}, &f, NULL, &error) != PT_ERR_USAGE)
            fail_msg("%s is taken", none[i]);
        assert_non_null(strstr(error.message, "--time="));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_takes_what_perf_does),
        cmocka_unit_test(shares_of_the_widest_time_are_taken),
        cmocka_unit_test(a_time_that_is_none_is_refused),
        cmocka_unit_test(no_query_gives_the_profile_itself),
        cmocka_unit_test(focus_keeps_samples_with_a_matching_function_file_or_object),
        cmocka_unit_test(focus_looks_into_inlined_frames),
        cmocka_unit_test(ignore_wins_over_focus),
        cmocka_unit_test(hide_takes_out_functions_and_drops_what_is_left_empty),
        cmocka_unit_test(hide_by_mapped_file_takes_out_all_of_the_frame),
        cmocka_unit_test(show_keeps_only_matching_functions),
        cmocka_unit_test(focus_is_decided_before_frames_are_hidden),
        cmocka_unit_test(stacks_that_become_equal_are_one_but_samples_stay),
        cmocka_unit_test(tables_that_do_not_change_are_shared),
        cmocka_unit_test(a_pattern_says_whether_anything_matched),
        cmocka_unit_test(a_pattern_matches_even_what_another_took_away),
        cmocka_unit_test(a_bad_pattern_is_named_with_its_option),
        cmocka_unit_test(a_sample_without_frames_goes_with_the_first_filter),
        cmocka_unit_test(kept_and_dropped_add_up_to_the_whole),
        cmocka_unit_test(dropped_frames_go_with_all_they_called),
        cmocka_unit_test(the_pattern_must_match_the_whole_simple_name),
        cmocka_unit_test(what_keep_frames_matches_stays),
        cmocka_unit_test(nothing_is_dropped_before_some_frame_that_stays),
        cmocka_unit_test(an_inlined_match_takes_what_is_inside_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
