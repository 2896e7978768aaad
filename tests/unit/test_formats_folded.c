/* test_formats_folded.c: folded stacks. Expectations come from what FlameGraph's scripts print and
 * from arithmetic. */
#include "formats_check.h"

static reading read_lines(const char *text)
{
    return read_as("folded", text, strlen(text));
}

static const char *function_name(const pt_profile *p, uint32_t location)
{
    return pt_text(p, p->function->name[p->line->function[p->location->line_first[location]]]);
}

/* "leaf<caller<root=value" of a sample. */
static void describe(const pt_profile *p, uint32_t sample, char *buf, size_t size)
{
    size_t at = 0;
    const uint32_t stack = p->sample->stack[sample];
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? "<" : "",
                               function_name(p, pt_stack_frames(p, stack)[i]));
    for (uint32_t e = 0; e < p->event->t.count; e++)
        at += (size_t)snprintf(buf + at, size - at, "%s%lld", e ? "," : "=",
                               (long long)p->sample->value[e][sample]);
}

static void assert_samples(const pt_profile *p, const char *const *expected)
{
    uint32_t i = 0;
    for (; expected[i]; i++) {
        char text[256];
        assert_true(i < p->sample->t.count);
        describe(p, i, text, sizeof text);
        assert_string_equal(text, expected[i]);
    }
    assert_int_equal(p->sample->t.count, i);
}

static void assert_rewrites(const char *text, const char *expected)
{
    reading r = read_lines(text);
    assert_int_equal(r.status, PT_OK);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf got = written_as("folded", r.profile, &diag);
    assert_string_equal(pt_buf_text(&got), expected);
    assert_int_equal(diag.count, 0);
    pt_diag_done(&diag);
    pt_buf_done(&got);
    reading_done(&r);
}

static void reads_names_root_first_and_the_count_behind_the_last_space(void **state)
{
    (void)state;
    reading r = read_lines("main;run;parse 12\nmain;operator new(unsigned long) 3\nmain 1");
    assert_int_equal(r.status, PT_OK);
    assert_samples(r.profile,
                   (const char *[]){"parse<run<main=12", "operator new(unsigned long)<main=3",
                                    "main=1", NULL});
    assert_int_equal(r.profile->event->t.count, 1);
    assert_string_equal(pt_text(r.profile, r.profile->event->row[0].type), "samples");
    assert_string_equal(pt_text(r.profile, r.profile->event->row[0].unit), "count");
    reading_done(&r);
}

static void reads_crlf_tabs_and_a_last_line_without_end(void **state)
{
    (void)state;
    reading r = read_lines("a;b 1\r\n\r\na\t2\r\na;c   3 \t\r\n\n");
    assert_samples(r.profile, (const char *[]){"b<a=1", "a=2", "c<a=3", NULL});
    assert_int_equal(r.diag.count, 0);
    reading_done(&r);
}

static void skips_comments_silently_and_other_lines_as_damage_with_a_count(void **state)
{
    (void)state;
    reading r = read_lines("# made by hand\na;b 1\nno count here\n#root;x 2\n 7\nb;12\nc x9\n");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_samples(r.profile, (const char *[]){"b<a=1", "x<#root=2", NULL});
    assert_int_equal(fact(&r.diag, "without a folded stack"), 4);
    assert_int_equal(fact(&r.diag, "first is line 3"), 4);
    reading_done(&r);
}

static void what_is_no_stack_is_damage(void **state)
{
    (void)state;
    const char *text = "a;b 1\nno count here\n";
    reading r = read_as("folded", text, strlen(text));
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_string_equal(r.error.message, "line 2 is not a folded stack; kept 1 sample");
    reading_done(&r);
}

static void text_without_a_stack_is_refused(void **state)
{
    (void)state;
    reading r = read_lines("hello\nworld\n");
    assert_int_equal(r.status, PT_ERR_FORMAT);
    reading_done(&r);
}

static void two_counts_on_every_line_are_two_events(void **state)
{
    (void)state;
    reading r = read_lines("a;b 1 2\na;c 0 -3\n");
    assert_int_equal(r.profile->event->t.count, 2);
    assert_string_equal(pt_text(r.profile, r.profile->event->row[0].type), "before");
    assert_string_equal(pt_text(r.profile, r.profile->event->row[1].type), "after");
    assert_samples(r.profile, (const char *[]){"b<a=1,2", "c<a=0,-3", NULL});
    reading_done(&r);
    assert_rewrites("a;b 1 2\na;c 0 -3\n", "a;b 1 2\na;c 0 -3\n");
}

static void one_line_with_one_count_makes_numbers_part_of_names(void **state)
{
    (void)state;
    reading r = read_lines("a;thread 1 2\na;c 3\n");
    assert_samples(r.profile, (const char *[]){"thread 1<a=2", "c<a=3", NULL});
    reading_done(&r);
}

static void counts_may_be_negative_zero_or_fractions(void **state)
{
    (void)state;
    reading r = read_lines("a -4\nb 0\nc 2.5\nd -2.5\ne 1e+03\nf 7.0\ng 9223372036854775808\n"
                           "h 9223372036854775807\ni 1e99\n");
    assert_samples(r.profile, (const char *[]){"a=-4", "b=0", "c=3", "d=-3", "e=1000", "f=7",
                                               "h=9223372036854775807", NULL});
    assert_int_equal(fact(&r.diag, "fraction rounded"), 2);
    assert_int_equal(fact(&r.diag, "without a folded stack"), 2); /* do not fit 63 bits */
    reading_done(&r);
}

static void marks_of_stackcollapse_stay_in_names(void **state)
{
    (void)state;
    const char *text = "java;read_[k] 1\njava;inlined_[i];jitted_[j] 2\n";
    reading r = read_lines(text);
    assert_samples(r.profile,
                   (const char *[]){"read_[k]<java=1", "jitted_[j]<inlined_[i]<java=2", NULL});
    assert_int_equal(r.profile->location->flags[1], PT_LOCATION_KERNEL);
    reading_done(&r);
    assert_rewrites(text, text);
}

static void a_mark_of_utf8_is_no_part_of_the_first_name(void **state)
{
    (void)state;
    reading r = read_lines("\xef\xbb\xbf"
                           "a;b 1\n");
    assert_samples(r.profile, (const char *[]){"b<a=1", NULL});
    reading_done(&r);
}

static void writes_each_stack_once_in_order_of_first_appearance(void **state)
{
    (void)state;
    assert_rewrites("b;c 1\na;b 2\nb;c 4\na 1\n", "b;c 5\na;b 2\na 1\n");
}

static void sums_that_do_not_fit_saturate_and_are_counted(void **state)
{
    (void)state;
    reading r = read_lines("a;b 9223372036854775807\na;b 1\n");
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf got = written_as("folded", r.profile, &diag);
    assert_string_equal(pt_buf_text(&got), "a;b 9223372036854775807\n");
    assert_int_equal(fact(&diag, "2^63"), 1);
    pt_diag_done(&diag);
    pt_buf_done(&got);
    reading_done(&r);
}

/* mapping /bin/prog at 0x1000 of file offset 0x200; an inlined pair; a name that cannot be. */
static void writes_inlined_frames_addresses_and_replaces_what_would_split_a_line(void **state)
{
    (void)state;
    proto_bytes bytes =
        proto_text("1{1:1 2:2} 1{1:3 2:2} 14:1 2{1[1 2 3] 2:5 2:50} 2{2:1 2:2} 3{1:1 2:0x1000 "
                   "3:0x9000 4:0x200 5:8} "
                   "4{1:1 2:1 3:0x1100 4{1:1} 4{1:2}} 4{1:2 2:1 3:0x1200} 4{1:3 4{1:3}} "
                   "5{1:1 2:4} 5{1:2 2:5} 5{1:3 2:6} "
                   "6\"\" 6\"first\" 6\"count\" 6\"second\" 6\"leaf\" 6\"outer\" 6\"a;b\n\" 6\"\" "
                   "6\"/bin/prog\"");
    reading r = read_as("pprof", bytes.data, bytes.size);
    assert_int_equal(r.status, PT_OK);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf got = written_as("folded", r.profile, &diag);
    assert_string_equal(pt_buf_text(&got), "a:b ;[prog+0x400];outer;leaf 5\n[no stack] 1\n");
    assert_int_equal(fact(&diag, "names changed"), 1);
    pt_diag_done(&diag);
    pt_diag_init(&diag);
    pt_format_losses(r.profile, pt_format_find("folded"), &diag);
    assert_int_equal(fact(&diag, "addresses"), 2);
    assert_int_equal(fact(&diag, "other values"), 1);
    assert_int_equal(fact(&diag, "inlined"), 1);
    assert_int_equal(fact(&diag, "mappings"), 1);
    pt_diag_done(&diag);
    pt_buf_done(&got);
    reading_done(&r);
    free(bytes.data);
}

static void names_that_end_in_numbers_are_not_taken_for_counts_again(void **state)
{
    (void)state;
    proto_bytes bytes =
        proto_text("1{1:1} 2{1:1 2:5} 4{1:1 4{1:1}} 5{1:1 2:1} 6\"\" 6\"thread 7\"");
    reading a = read_as("pprof", bytes.data, bytes.size);
    pt_buf text = written_as("folded", a.profile, NULL);
    reading b = read_as("folded", text.data, text.size);
    assert_int_equal(b.profile->event->t.count, 1);
    assert_int_equal(b.profile->sample->value[0][0], 5);
    pt_buf_done(&text);
    reading_done(&a);
    reading_done(&b);
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_names_root_first_and_the_count_behind_the_last_space),
        cmocka_unit_test(reads_crlf_tabs_and_a_last_line_without_end),
        cmocka_unit_test(skips_comments_silently_and_other_lines_as_damage_with_a_count),
        cmocka_unit_test(what_is_no_stack_is_damage),
        cmocka_unit_test(text_without_a_stack_is_refused),
        cmocka_unit_test(two_counts_on_every_line_are_two_events),
        cmocka_unit_test(one_line_with_one_count_makes_numbers_part_of_names),
        cmocka_unit_test(counts_may_be_negative_zero_or_fractions),
        cmocka_unit_test(marks_of_stackcollapse_stay_in_names),
        cmocka_unit_test(a_mark_of_utf8_is_no_part_of_the_first_name),
        cmocka_unit_test(writes_each_stack_once_in_order_of_first_appearance),
        cmocka_unit_test(sums_that_do_not_fit_saturate_and_are_counted),
        cmocka_unit_test(writes_inlined_frames_addresses_and_replaces_what_would_split_a_line),
        cmocka_unit_test(names_that_end_in_numbers_are_not_taken_for_counts_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
