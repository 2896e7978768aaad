/* test_render.c: how numbers, names and reports look. Widths are those of Unicode's
 * EastAsianWidth.txt; quoting is RFC 4180's. */
#include "profile_text.h"

#include <string.h>

#include "base/buf.h"
#include "render/dump.h"
#include "render/report.h"
#include "render/text.h"
#include "render/value.h"

static void shares_are_percentages_that_say_when_they_are_small(void **state)
{
    assert_string_equal(pt_percent_of(0).text, "0%");
    assert_string_equal(pt_percent_of(1).text, "100.0%");
    assert_string_equal(pt_percent_of(0.4521).text, "45.2%");
    assert_string_equal(pt_percent_of(0.0004).text, "0.04%");
    assert_string_equal(pt_percent_of(0.00001).text, "<0.01%");
    assert_string_equal(pt_percent_of(-0.031).text, "-3.1%");
    assert_string_equal(pt_percent_of(-0.00001).text, "-<0.01%");
    assert_string_equal(pt_percent_of(1e30).text, ">999999%");
}

static void counts_have_thousands_separated(void **state)
{
    assert_string_equal(pt_count_of(0).text, "0");
    assert_string_equal(pt_count_of(999).text, "999");
    assert_string_equal(pt_count_of(1000).text, "1,000");
    assert_string_equal(pt_count_of(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void widths_are_columns_of_a_terminal(void **state)
{
    assert_int_equal(pt_text_width(""), 0);
    assert_int_equal(pt_text_width("main"), 4);
    assert_int_equal(pt_text_width("caf\u00e9"), 4);
    assert_int_equal(pt_text_width("cafe\u0301"), 4); /* a combining accent */
    assert_int_equal(pt_text_width("\u95a2\u6570"), 4);
    assert_int_equal(pt_text_width("\uff46"), 2);
    assert_int_equal(pt_text_width("\U0001f525"), 2);
    assert_int_equal(pt_text_width("a\xff\xfe"), 9);
}

static char *put(const char *text, size_t limit)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_text_put(&out, text, limit);
    pt_out_done(&out, NULL);
    return pt_buf_take(&buf, NULL);
}

static void expect_put(const char *text, size_t limit, const char *expected)
{
    PT_FREE char *got = put(text, limit);
    assert_string_equal(got, expected);
}

static void what_a_terminal_would_obey_is_shown(void **state)
{
    expect_put("a\033[2Jb", 0, "a^[[2Jb");
    expect_put("a\rb\nc\td\177", 0, "a^Mb^Jc^Id^?");
    expect_put("a\xc2\x9b;b", 0, "a\\xc2\\x9b;b"); /* CSI of eight bits */
    /* marks that turn the direction of writing */
    expect_put("a\u202eb\u2066c", 0, "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c");
    expect_put("a\xff"
               "b\xc3",
               0, "a\\xffb\\xc3");
    assert_int_equal(pt_text_width("\033\177\u202e\xff"), 2 + 2 + 12 + 4);
    expect_put("\u95a2\u6570", 0, "\u95a2\u6570");
}

static void a_long_name_loses_its_middle_and_keeps_both_ends(void **state)
{
    expect_put("abcdefghijklmnopqrstuvwxyz", 26, "abcdefghijklmnopqrstuvwxyz");
    expect_put("abcdefghijklmnopqrstuvwxyz", 13, "abcde...vwxyz");
    expect_put("abcdefghijklmnopqrstuvwxyz", 0, "abcdefghijklmnopqrstuvwxyz");
    PT_FREE char *wide = put("\u95a2\u95a2\u95a2\u95a2\u95a2\u95a2\u95a2\u95a2\u95a2\u95a2", 12);
    assert_true(pt_text_width(wide) <= 12);
}

static void fields_of_csv_are_quoted_and_never_computed(void **state)
{
    static const struct {
        const char *text, *field;
    } rows[] = {{"plain", "plain"},
                {"a,b", "\"a,b\""},
                {"say \"x\"", "\"say \"\"x\"\"\""},
                {"two\nlines", "\"two\nlines\""},
                {"a;b", "a;b"},
                {"a;=b", "\"a;=b\""}, /* where cells end at semicolons */
                {"=1+1", "'=1+1"},
                {"@a,b", "\"'@a,b\""},
                {"-[NSView draw]", "'-[NSView draw]"},
                {"\t+x", "\"'\t+x\""},
                {"'=x", "''=x"},
                {"'", "'"},
                {"a=b", "a=b"},
                {"", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pt_buf buf = PT_BUF_INIT;
        pt_out out;
        pt_out_to_buf(&out, &buf);
        pt_csv_put(&out, rows[i].text);
        pt_out_done(&out, NULL);
        assert_string_equal(pt_buf_text(&buf), rows[i].field);
        pt_buf_done(&buf);
    }
}

/* ---- Reports ---- */

static pt_report_head head_of(const pt_profile *p)
{
    return (pt_report_head){.title = "a.pb.gz",
                            .summary = pt_summary_of(p, 0),
                            .query = "",
                            .kept = p->sample->t.count,
                            .kept_share = 1};
}

typedef void put_report(pt_out *out, const pt_look *look, const pt_profile *p);

static char *report(put_report *put_it, pt_look look, const pt_profile *p)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    put_it(&out, &look, p);
    assert_int_equal(pt_out_done(&out, NULL), PT_OK);
    return pt_buf_take(&buf, NULL);
}

static void put_top(pt_out *out, const pt_look *look, const pt_profile *p)
{
    const pt_report_head head = head_of(p);
    const pt_top_request request = {.whole = head.summary.total};
    pt_top top;
    assert_int_equal(pt_top_init(&top, p, &request, NULL), PT_OK);
    pt_top_text(out, look, &head, &top);
    pt_top_done(&top);
}

static void put_tree(pt_out *out, const pt_look *look, const pt_profile *p)
{
    const pt_report_head head = head_of(p);
    const pt_tree_request request = {.whole = head.summary.total};
    pt_tree tree;
    assert_int_equal(pt_tree_init(&tree, p, &request, NULL), PT_OK);
    pt_tree_text(out, look, &head, &tree);
    pt_tree_done(&tree);
}

static void a_table_lines_up_values_with_units_and_names_lines(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("cpu/nanoseconds", "main@/src/m.c:3;hot@/src/h.c:12 1500000000\n"
                                      "main@/src/m.c:4;in@/src/h.c:20~cold@/src/h.c:7 500000\n");
    PT_FREE char *text = report(put_top, (pt_look){0}, p);
    assert_string_equal(text, "a.pb.gz: cpu, 1.50s, 2 samples\n"
                              "unnamed 0%\n"
                              "\n"
                              "  self   self%  total  total%  function\n"
                              " 1.50s  100.0%  1.50s  100.0%  hot  h.c:12\n"
                              " 500us   0.03%  500us   0.03%  cold  h.c:7  (inlined)\n"
                              "     0      0%  1.50s  100.0%  main  m.c\n"
                              "     0      0%  500us   0.03%  in  h.c\n");
}

static void nothing_is_cut_without_a_terminal_and_lines_fit_with_one(void **state)
{
    char stack[512];
    memset(stack, 'x', 300);
    memcpy(stack + 300, ";leaf 1\n", sizeof ";leaf 1\n");
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", stack);
    PT_FREE char *whole = report(put_top, (pt_look){0}, p);
    stack[300] = '\0';
    assert_non_null(strstr(whole, stack));
    put_report *const reports[] = {put_top, put_tree};
    for (size_t i = 0; i < 2; i++) {
        PT_FREE char *cut = report(reports[i], (pt_look){.width = 80}, p);
        for (char *line = strtok(cut, "\n"); line != NULL; line = strtok(NULL, "\n"))
            assert_true(pt_text_width(line) <= 80);
    }
}

static void colour_changes_nothing_but_colour(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count", "main;a 90\nmain;b 3\nm 1\n");
    put_report *const reports[] = {put_top, put_tree};
    for (size_t i = 0; i < 2; i++) {
        PT_FREE char *plain = report(reports[i], (pt_look){0}, p);
        PT_FREE char *coloured = report(reports[i], (pt_look){.colour = true}, p);
        assert_null(strchr(plain, '\033'));
        assert_non_null(strchr(coloured, '\033'));
        char *to = coloured;
        for (const char *from = coloured; *from != '\0';) {
            if (*from == '\033')
                from += strcspn(from, "m") + 1;
            else
                *to++ = *from++;
        }
        *to = '\0';
        assert_string_equal(coloured, plain);
    }
}

/* ---- Heads ---- */

static void a_head_says_what_is_known_and_nothing_else(void **state)
{
    pt_report_head head = {
        .title = "p",
        .query = "--focus=x",
        .relative = true,
        .summary = {.type = "cpu",
                    .unit = "nanoseconds",
                    .kind = PT_EVENT_TIME,
                    .samples = 12340,
                    .total = 12340000000,
                    .duration_ns = 3100000000,
                    .rate_hz = 1000,
                    .lost = 12,
                    .cpu_used_ns = 13000000000,
                    .cpu_seen_ns = 12340000000,
                    .ends_known = true,
                    .complete_share = 0.9,
                    .unchecked_share = 0.098,
                    .unnamed_share = 0.003,
                    .damaged = true},
        .kept = 1,
        .kept_total = 1000000,
        .kept_share = 0.5,
    };
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_report_head_text(&out, &(pt_look){0}, &head);
    pt_out_done(&out, NULL);
    assert_string_equal(pt_buf_text(&buf),
                        "p: cpu, 12.3s in 3.10s, 12,340 samples at 1000 Hz\n"
                        "complete stacks 90.0%, unchecked 9.8%, unnamed 0.3%, CPU time seen 12.3s "
                        "of 13.0s, 12 samples lost, damaged file: only a part of it was read\n"
                        "--focus=x: 1.00ms of it, 50.0% (1 sample); percentages are of these\n"
                        "\n");
    pt_buf_done(&buf);
}

static void a_rate_follows_from_a_period_that_is_a_time(void **state)
{
    PT_UNREF_PROFILE const pt_profile *plain = profile_of("cpu/nanoseconds", "main 5\n");
    assert_true(pt_summary_of(plain, 0).rate_hz == 0);
    pt_builder *b = pt_builder_extend(plain);
    pt_builder_provenance(b)->period_unit = pt_builder_text(b, "microseconds").v;
    pt_builder_provenance(b)->period = 10000;
    const pt_profile *p;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    assert_true(pt_summary_of(p, 0).rate_hz == 100);
    pt_profile_unref(p);
}

static void samples_are_counted_by_the_event_of_that_name(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count cpu/nanoseconds", "a 3 30\nb 4 40\n");
    assert_int_equal(pt_summary_of(p, 1).samples, 7);
    assert_int_equal(pt_summary_of(p, 1).rows, 2);
    PT_UNREF_PROFILE const pt_profile *q = profile_of("space/bytes", "a 3\nb 4\n");
    assert_int_equal(pt_summary_of(q, 0).samples, 2);
}

static void unnamed_is_the_share_of_samples_that_end_in_no_name(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", "main;/l.so+0x10 1\n"
                                                                       "/l.so+0x10;main 2\n- 1\n");
    assert_true(pt_summary_of(p, 0).unnamed_share == 0.5);
    assert_false(pt_summary_of(p, 0).ends_known);
}

/* ---- Dumps ---- */

static void a_dump_shows_frames_as_they_are(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        profile_of("samples/count", "main@m.c:3;grow@v.c:8~move@u.h:2;/l.so+0x10 5\n");
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_dump_samples_text(&out, &(pt_look){0}, p, 0);
    pt_out_done(&out, NULL);
    assert_string_equal(pt_buf_text(&buf), "sample 0  samples=5 count\n"
                                           "    [l.so+0x10]\n"
                                           "    move  u.h:2  inlined\n"
                                           "    grow  v.c:8\n"
                                           "    main  m.c:3\n"
                                           "\n");
    pt_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_percentages_that_say_when_they_are_small),
        cmocka_unit_test(counts_have_thousands_separated),
        cmocka_unit_test(widths_are_columns_of_a_terminal),
        cmocka_unit_test(what_a_terminal_would_obey_is_shown),
        cmocka_unit_test(a_long_name_loses_its_middle_and_keeps_both_ends),
        cmocka_unit_test(fields_of_csv_are_quoted_and_never_computed),
        cmocka_unit_test(a_table_lines_up_values_with_units_and_names_lines),
        cmocka_unit_test(nothing_is_cut_without_a_terminal_and_lines_fit_with_one),
        cmocka_unit_test(colour_changes_nothing_but_colour),
        cmocka_unit_test(a_head_says_what_is_known_and_nothing_else),
        cmocka_unit_test(a_rate_follows_from_a_period_that_is_a_time),
        cmocka_unit_test(samples_are_counted_by_the_event_of_that_name),
        cmocka_unit_test(unnamed_is_the_share_of_samples_that_end_in_no_name),
        cmocka_unit_test(a_dump_shows_frames_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
