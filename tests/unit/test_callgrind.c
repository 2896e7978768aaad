/* test_callgrind.c: callgrind's format. What the small files mean follows from the specification
 * (valgrind's manual, cl-format); tests/cli/callgrind.t.sh compares with callgrind_annotate. */
#include "formats_check.h"
#include "profile_lines.h"

static reading read_text(const char *text)
{
    return read_as("callgrind", text, strlen(text));
}

#define EXAMPLE                                                                                    \
    "# callgrind format\nevents: Instructions\n\nfl=file1.c\nfn=main\n16 20\ncfn=func1\n"          \
    "calls=1 50\n16 400\ncfi=file2.c\ncfn=func2\ncalls=3 20\n16 400\n\nfn=func1\n51 100\n"         \
    "cfi=file2.c\ncfn=func2\ncalls=2 20\n51 300\n\nfl=file2.c\nfn=func2\n20 700\n"
#define EXAMPLE_LINES                                                                              \
    "main@file1.c:16=20\nfunc1@file1.c:51=100\nfunc2@file2.c:20=700\n"                             \
    "main@file1.c:16>func1@file1.c:50 calls=1 cost=400\n"                                          \
    "main@file1.c:16>func2@file2.c:20 calls=3 cost=400\n"                                          \
    "func1@file1.c:51>func2@file2.c:20 calls=2 cost=300\n"

static void reads_the_example_of_the_manual(void **state)
{
    (void)state;
    reading r = read_text(EXAMPLE);
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "Instructions/count");
    ASSERT_LINES(r.profile, EXAMPLE_LINES);
    reading_done(&r);
}

static void compressed_names_and_positions_are_the_same(void **state)
{
    (void)state;
    reading names = read_text(
        "events: Instructions\nfl=(1) file1.c\nfn=(1) main\n16 20\ncfn=(2) func1\ncalls=1 50\n"
        "16 400\ncfi=(2) file2.c\ncfn=(3) func2\ncalls=3 20\n16 400\nfn=(2)\n51 100\ncfi=(2)\n"
        "cfn=(3)\ncalls=2 20\n51 300\nfl=(2)\nfn=(3)\n20 700\n");
    ASSERT_LINES(names.profile, EXAMPLE_LINES);
    reading_done(&names);
    reading positions = read_text(
        "events: Instructions\nfl=file1.c\nfn=main\n16 20\ncfn=func1\ncalls=1 +34\n* 400\n"
        "cfi=file2.c\ncfn=func2\ncalls=3 +4\n* 400\nfn=func1\n+35 100\ncfi=file2.c\ncfn=func2\n"
        "calls=2 -31\n* 300\nfl=file2.c\nfn=func2\n-31 700\n");
    ASSERT_LINES(positions.profile, EXAMPLE_LINES);
    reading_done(&positions);
}

static void a_name_counts_whatever_its_number_is(void **state)
{
    (void)state;
    reading r = read_text("events: Ir\nfl=a.c\nfn=(140234567890123) f\n1 5\n");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "f@a.c:1=5\n");
    reading_done(&r);
}

static void a_part_with_other_events_is_damage(void **state)
{
    (void)state;
    reading r = read_text("events: Ir Dr\nfl=a.c\nfn=f\n1 5 7\npart: 2\nevents: Dr Ir\n1 100 1\n");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_string_equal(r.error.message,
                        "line 6 begins a part with other events than the first part; this part and "
                        "all after it are left out; kept 1 cost");
    assert_int_equal(pt_profile_total(r.profile, 0), 5);
    reading_done(&r);
}

static void a_name_may_be_used_before_it_is_defined(void **state)
{
    (void)state;
    reading r = read_text("events: Ir\nfl=(1)\nfn=(7)\n1 2\nfl=(1) a.c\nfn=(7) late\n3 4\n");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "late@a.c:1=2\nlate@a.c:3=4\n");
    reading_done(&r);
    r = read_text("events: Ir\nfn=(7)\n1 2\n");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "does not define"), 1);
    ASSERT_LINES(r.profile, "[unknown]:1=2\n");
    reading_done(&r);
}

static void tables_of_names_are_apart_and_fl_fi_cfi_share_one(void **state)
{
    (void)state;
    reading r = read_text("events: Ir\nob=(1) lib\nfl=(1) a.c\nfn=(1) f\n1 1\nfi=(2) b.h\n2 2\n"
                          "fe=(1)\n3 3\ncob=(1)\ncfi=(2)\ncfn=(2) g\ncalls=1 9\n3 5\n");
    ASSERT_LINES(r.profile, "f@a.c:1=1\nf@b.h:2=2\nf@a.c:3=3\nf@a.c:3>g@b.h:9 calls=1 cost=5\n");
    assert_int_equal(r.profile->mapping->t.count, 1);
    assert_string_equal(pt_text(r.profile, r.profile->mapping->row[0].file), "lib");
    reading_done(&r);
}

static void jumps_and_their_positions_cost_nothing(void **state)
{
    (void)state;
    reading r = read_text("events: Ir\nfn=f\n5 10\njump=3 +4\n*\njcnd=1/2 9\n+1\n+0 7\n");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "f:5=10\nf:6=7\n");
    assert_int_equal(fact(&r.diag, "jumps"), 2);
    reading_done(&r);
}

static void what_is_said_of_a_callee_is_for_one_call(void **state)
{
    (void)state;
    /* A call that cost nothing has a name and no line of its own. */
    reading r = read_text("events: Ir\nob=p\nfl=a.c\nfn=f\n1 1\ncob=q\ncfi=b.c\ncfn=g\ncfn=h\n"
                          "calls=2 7\n1 5\n");
    ASSERT_LINES(r.profile, "f@a.c:1=1\nf@a.c:1>h@a.c:7 calls=2 cost=5\n");
    reading_done(&r);
}

static void addresses_lines_and_missing_costs(void **state)
{
    (void)state;
    reading r =
        read_text("positions: instr line\nevents: Ir Dr\nfn=f\n0x10 3 4 5\n+3 * 6\n* +1 0x7 8\n");
    ASSERT_EVENTS(r.profile, "Ir/count Dr/count");
    ASSERT_LINES(r.profile, "f:3=4,5\nf:3=6,0\nf:4=7,8\n");
    assert_int_equal(r.profile->location->address[1], 0x13);
    reading_done(&r);
}

static void units_in_the_names_of_events(void **state)
{
    (void)state;
    reading r = read_text("events: Time_(10ns) Memory_(bytes) cpu(ms) odd(\nfn=f\n1 2 3 4 5\n");
    ASSERT_EVENTS(r.profile, "Time/nanoseconds Memory/bytes cpu/ms odd(/count");
    ASSERT_LINES(r.profile, "f:1=20,3,4,5\n");
    reading_done(&r);
}

static void the_sums_of_the_file_are_compared(void **state)
{
    (void)state;
    reading r = read_text("events: Ir Dr\nsummary: 3 1\nfn=f\n1 3\ntotals: 3 1\n");
    assert_int_equal(fact(&r.diag, "differ"), 1);
    reading_done(&r);
}

static void what_is_no_line_of_the_format_is_counted(void **state)
{
    (void)state;
    reading r = read_text("events: Ir\nfn=f\n1 3\nwhat is this\n2 4\n");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "line 4"));
    ASSERT_LINES(r.profile, "f:1=3\nf:2=4\n");
    reading_done(&r);
    r = read_text("fn=f\n1 3\n");
    assert_int_equal(r.status, PT_ERR_FORMAT);
    assert_non_null(strstr(r.error.message, "events:"));
    reading_done(&r);
    r = read_text("version: 2\nevents: Ir\nfn=f\n1 3\n");
    assert_int_equal(r.status, PT_ERR_UNSUPPORTED);
    reading_done(&r);
    r = read_text("events: Ir\nfn=f\n1 3\ncfn=g\ncalls=1 1\n");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    reading_done(&r);
}

/* f calls itself twice below main: what is counted once a stack is counted once a function. */
static void recursion_is_counted_once_a_stack(void **state)
{
    (void)state;
    reading folded = read_as("folded", "main;f;f;g;f 10\nmain;f 3\n", 25);
    pt_buf text = written_as("callgrind", folded.profile, NULL);
    reading r = read_as("callgrind", text.data, text.size);
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "f=3\nf'3=10\nmain>f calls=1 cost=13\nf>f'2 calls=1 cost=10\n"
                            "f'2>g calls=1 cost=10\ng>f'3 calls=1 cost=10\n");
    pt_buf_done(&text);
    reading_done(&r);
    reading_done(&folded);
}

static void names_that_are_no_line_are_changed_and_counted(void **state)
{
    (void)state;
    static const char json[] =
        "{\"shared\":{\"frames\":[{\"name\":\"a\\nb\"}]},\"profiles\":[{\"type\":\"sampled\","
        "\"unit\":\"none\",\"samples\":[[0]],\"weights\":[1]}]}";
    reading r = read_as("speedscope", json, sizeof json - 1);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf text = written_as("callgrind", r.profile, &diag);
    assert_int_equal(fact(&diag, "replaced"), 1);
    assert_non_null(strstr(pt_buf_text(&text), "fn=(1) a_b\n0 1\n"));
    pt_diag_done(&diag);
    pt_buf_done(&text);
    reading_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_example_of_the_manual),
        cmocka_unit_test(compressed_names_and_positions_are_the_same),
        cmocka_unit_test(a_name_counts_whatever_its_number_is),
        cmocka_unit_test(a_part_with_other_events_is_damage),
        cmocka_unit_test(a_name_may_be_used_before_it_is_defined),
        cmocka_unit_test(tables_of_names_are_apart_and_fl_fi_cfi_share_one),
        cmocka_unit_test(jumps_and_their_positions_cost_nothing),
        cmocka_unit_test(what_is_said_of_a_callee_is_for_one_call),
        cmocka_unit_test(addresses_lines_and_missing_costs),
        cmocka_unit_test(units_in_the_names_of_events),
        cmocka_unit_test(the_sums_of_the_file_are_compared),
        cmocka_unit_test(what_is_no_line_of_the_format_is_counted),
        cmocka_unit_test(recursion_is_counted_once_a_stack),
        cmocka_unit_test(names_that_are_no_line_are_changed_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
