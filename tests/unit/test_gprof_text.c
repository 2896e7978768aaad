/* test_gprof_text.c: the report that gprof prints. What the small texts mean follows from the gprof
 * manual; tests/cli/gprof_text.t.sh compares with the gmon.out that a report was made of. */
#include "formats_check.h"
#include "profile_lines.h"

static reading read_text(const char *text)
{
    return read_as("gprof-text", text, strlen(text));
}

#define EACH(what) "Each sample counts as " what ".\n"
#define FLAT_HEAD                                                                                  \
    "  %   cumulative   self              self     total           \n"                             \
    " time   seconds   seconds    calls  us/call  us/call  name    \n"
#define GRAPH_HEAD  "index % time    self  children    called     name\n"
#define SPONTANEOUS "                                                 <spontaneous>\n"
#define DASHES      "-----------------------------------------------\n"

static void a_row_of_the_flat_profile_is_a_sample(void **state)
{
    (void)state;
    reading r = read_text("Flat profile:\n\n" EACH("0.01 seconds") FLAT_HEAD
                          " 66.67      0.40     0.40     2200   181.82   181.82  leaf\n"
                          " 33.33      0.60     0.20                             main\n");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "calls/count samples/count cpu/nanoseconds");
    assert_int_equal(r.profile->event->row[2].period, 10000000);
    /* The profile has no callers. */
    ASSERT_LINES(r.profile, "leaf=2200,40,400000000\nmain=0,20,200000000\n"
                            "0x0>leaf calls=2200 cost=0 cost=0 cost=0\n");
    reading_done(&r);
}

static void an_arc_of_two_entries_is_one(void **state)
{
    (void)state;
    reading r = read_text(GRAPH_HEAD SPONTANEOUS
                          "[1]    100.0    0.20    0.40                 main [1]\n"
                          "                0.40    0.00    2200/2200        leaf [2]\n" DASHES
                          "                0.40    0.00    2200/2200        main [1]\n"
                          "[2]     66.7    0.40    0.00    2200         leaf [2]\n" DASHES);
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "calls/count cpu/nanoseconds"); /* the unit of a sample is not known */
    ASSERT_LINES(r.profile, "main=0,200000000\nleaf=2200,400000000\n"
                            "main>leaf calls=2200 cost=0 cost=400000000\n");
    reading_done(&r);
}

static void cycles_and_recursion_give_arcs_without_time(void **state)
{
    (void)state;
    reading r = read_text(
        GRAPH_HEAD "[1]     50.0    0.50    0.00       1+2       <cycle 1 as a whole> [1]\n"
                   "                0.30    0.00       2             even <cycle 1> [2]\n"
                   "                0.20    0.00       1+9           odd <cycle 1> [3]\n" DASHES
                   "                                   1             odd <cycle 1> [3]\n"
                   "                0.50    0.00       1/1           main [9]\n"
                   "[2]     30.0    0.30    0.00       2         even <cycle 1> [2]\n"
                   "                                   1             odd <cycle 1> [3]\n" DASHES
                   "                                   9             odd <cycle 1> [3]\n"
                   "                                   1             even <cycle 1> [2]\n"
                   "[3]     20.0    0.20    0.00       1+9       odd <cycle 1> [3]\n"
                   "                                   9             odd <cycle 1> [3]\n"
                   "                                   1             even <cycle 1> [2]\n" DASHES);
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile,
                 "odd=1,200000000\neven=2,300000000\n"
                 "odd>even calls=1 cost=0 cost=0\nmain>even calls=1 cost=0 cost=500000000\n"
                 "even>odd calls=1 cost=0 cost=0\nodd>odd calls=9 cost=0 cost=0\n");
    reading_done(&r);
}

static void the_flat_profile_counts_before_the_graph(void **state)
{
    (void)state;
    reading r = read_text(EACH("0.01 seconds") FLAT_HEAD
                          "100.00      0.41     0.41                             main\n\n"
                          "granularity: each sample hit covers 2 byte(s) for 2% of 0.41 seconds\n"
                          "\n" GRAPH_HEAD SPONTANEOUS
                          "[1]    100.0    0.40    0.02                 main [1]\n"
                          "                0.02    0.00       1/1           f [2]\n" DASHES
                          "                0.02    0.00       1/1           main [1]\n"
                          "[2]      4.0    0.02    0.00       1         f [2]\n" DASHES);
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "main=0,41,410000000\nf=1,2,20000000\n"
                            "main>f calls=1 cost=0 cost=2 cost=20000000\n");
    reading_done(&r);
}

static void names_are_told_apart_by_their_number_and_keep_their_blanks(void **state)
{
    (void)state;
    reading r = read_text(
        GRAPH_HEAD SPONTANEOUS
        "[10000  50.0    0.00    0.00                 operator new[](unsigned long) [10000]\n"
        "                0.00    0.00       1/1           (anonymous namespace)::f(int) [7]\n"
        "                0.00    0.00       2/2           (anonymous namespace)::f(int) (8)\n"
        "                0.00    0.00       0/0           never [11]\n" DASHES);
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(
        r.profile,
        "operator new[](unsigned long)>(anonymous namespace)::f(int) calls=1 cost=0 cost=0\n"
        "operator new[](unsigned long)>(anonymous namespace)::f(int) calls=2 cost=0 cost=0\n");
    assert_int_equal(fact(&r.diag, "with a count of 0"), 1);
    reading_done(&r);
}

static void lines_and_addresses_of_gprof_l_are_kept(void **state)
{
    (void)state;
    reading r =
        read_text(EACH("0.01 seconds") FLAT_HEAD
                  " 50.00      0.10     0.10                             f(int) (a b.c:11 @ 11dd)\n"
                  " 50.00      0.20     0.10                             f(int) (a b.c:12)\n");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "f(int)@a b.c:11=0,10,100000000\nf(int)@a b.c:12=0,10,100000000\n");
    assert_int_equal(r.profile->location->address[0], 0x11dd);
    reading_done(&r);
}

static void the_columns_of_bsd_are_read(void **state)
{
    (void)state;
    reading r =
        read_text("granularity: each sample hit covers 4 byte(s) for 1.92% of 0.52 seconds\n\n"
                  "                                  called/total       parents \n"
                  "index  %time    self descendents  called+self    name    \tindex\n"
                  "                                  called/total       children\n\n"
                  "                                                     <spontaneous>\n"
                  "[1]    100.0    0.12        0.40                 main [1]\n"
                  "                0.40        0.00       3/3           f [2]\n\n" DASHES "\n\f\n"
                  "  %   cumulative   self              self     total           \n"
                  " time   seconds   seconds    calls  ms/call  ms/call  name    \n"
                  " 76.9       0.40     0.40        3   133.33   133.33  f [2]\n"
                  " 23.1       0.52     0.12                             main [1]\n");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "main=0,120000000\nf=3,400000000\n"
                            "main>f calls=3 cost=0 cost=400000000\n");
    reading_done(&r);
}

/* Units are the histogram's: the gprof manual, "Profiling Data File Format". */
static void other_dimensions_and_rates_are_those_of_gmon(void **state)
{
    (void)state;
    reading r = read_text(EACH("0.001 widgets") FLAT_HEAD
                          "100.00      0.40     0.40                             f\n");
    ASSERT_EVENTS(r.profile, "calls/count samples/1/1000 widgets");
    ASSERT_LINES(r.profile, "f=0,400\n");
    reading_done(&r);
    r = read_text(EACH("1 milliseconds") FLAT_HEAD
                  "100.00     40.00    40.00                             f\n");
    ASSERT_EVENTS(r.profile, "calls/count samples/count cpu/nanoseconds");
    ASSERT_LINES(r.profile, "f=0,40,40000000\n");
    reading_done(&r);
    r = read_text(EACH("0.01 seconds") " no time accumulated\n\n" FLAT_HEAD
                                       "  0.00      0.00     0.00        9     0.00     0.00  f\n");
    ASSERT_LINES(r.profile, "f=9,0,0\n0x0>f calls=9 cost=0 cost=0 cost=0\n");
    reading_done(&r);
}

static void assert_damaged_at(const char *text, const char *line)
{
    reading r = read_text(text);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    if (strstr(r.error.message, line) == NULL) fail_msg("%s: not %s", r.error.message, line);
    reading_done(&r);
}

static void what_is_cut_or_changed_is_damage_and_said_where(void **state)
{
    (void)state;
    assert_damaged_at(EACH("0.01 seconds") FLAT_HEAD " 66.67      0.40     0.40  f\n x y\n",
                      "the first is line 4)");
    assert_damaged_at(GRAPH_HEAD SPONTANEOUS "[1]    100.0    0.12    0.40       main [1]\n",
                      "the first is line 3)"); /* no line of dashes: the file ends too early */
    assert_damaged_at(GRAPH_HEAD SPONTANEOUS
                      "[1]    100.0    0.12    0.40       main [1]\n"
                      "                0.40    0.00     x/y     f [2]\n" DASHES,
                      "the first is line 4)");
    assert_damaged_at(GRAPH_HEAD "                0.40    0.00       1/1           f [2]\n" DASHES,
                      "the first is line 3)"); /* a caller of nobody */
    assert_damaged_at(GRAPH_HEAD "damage\n" SPONTANEOUS "[1]  1.0  0.1  0.2     main [1]\n" DASHES,
                      "the first is line 5)");
    reading r = read_text("no report\n");
    assert_int_equal(r.status, PT_ERR_FORMAT);
    reading_done(&r);
}

/* Calls of an unreadable entry do not belong to the entry before it. */
static void calls_of_an_entry_without_a_number_are_nobodys(void **state)
{
    (void)state;
    reading r =
        read_text(GRAPH_HEAD SPONTANEOUS
                  "[1]    100.0    0.20    0.40                 main [1]\n" DASHES SPONTANEOUS
                  "[2]    100.0    0.20    0.40                 other\n"
                  "                0.40    0.00    2200/2200        leaf [3]\n" DASHES);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    ASSERT_LINES(r.profile, "main=0,200000000\n");
    reading_done(&r);
}

static int probed(const char *text, size_t size)
{
    const pt_probe_input input = {
        .head = (const uint8_t *)text, .head_bytes = size, .file_bytes = size};
    return pt_format_find("gprof-text")->probe(&input);
}

/* Tables in what is no text are somebody else's, as in a dump of a terminal or a profile. */
static void tables_are_looked_for_in_text_only(void **state)
{
    (void)state;
    static const char flat[] = "Flat profile:\r\n\f\n" FLAT_HEAD,
                      graph[] = "caf\303\251\n" GRAPH_HEAD;
    static const char binary[] = "\12\4\10\1\20\2\n" FLAT_HEAD GRAPH_HEAD;
    assert_int_equal(probed(flat, sizeof flat - 1), 90);
    assert_int_equal(probed(graph, sizeof graph - 1), 90);
    assert_int_equal(probed(binary, sizeof binary - 1), 0);
    assert_int_equal(probed("", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_the_flat_profile_is_a_sample),
        cmocka_unit_test(an_arc_of_two_entries_is_one),
        cmocka_unit_test(cycles_and_recursion_give_arcs_without_time),
        cmocka_unit_test(the_flat_profile_counts_before_the_graph),
        cmocka_unit_test(names_are_told_apart_by_their_number_and_keep_their_blanks),
        cmocka_unit_test(lines_and_addresses_of_gprof_l_are_kept),
        cmocka_unit_test(the_columns_of_bsd_are_read),
        cmocka_unit_test(other_dimensions_and_rates_are_those_of_gmon),
        cmocka_unit_test(what_is_cut_or_changed_is_damage_and_said_where),
        cmocka_unit_test(calls_of_an_entry_without_a_number_are_nobodys),
        cmocka_unit_test(tables_are_looked_for_in_text_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
