/* test_base_units.c: figures as pprof prints them, and what people type. */
#include "base_check.h"

#include "base/units.h"

#include <string.h>

static void check_value(int64_t value, const char *unit, const char *to, pt_style style,
                        const char *expected)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_value(&buf, value, unit, to, style);
    assert_string_equal(pt_buf_text(&buf), expected);
    pt_buf_done(&buf);
}

static void unit_names_are_known_by_any_alias(void **state)
{
    assert_string_equal(pt_unit_parse("Nanoseconds")->name, "ns");
    assert_string_equal(pt_unit_parse("sec")->name, "s");
    assert_string_equal(pt_unit_parse("s")->name, "s");
    assert_string_equal(pt_unit_parse("us")->name, "us");
    assert_string_equal(pt_unit_parse("KILOBYTES")->name, "kB");
    assert_string_equal(pt_unit_parse("hrs")->name, "hrs");
    assert_string_equal(pt_unit_parse("gcus")->name, "GCU");
    assert_null(pt_unit_parse("samples"));
    assert_null(pt_unit_parse(""));
}

/* By arithmetic from pprof's rules (two decimals, .00 dropped). */
static void pprof_style_has_two_decimals_or_none(void **state)
{
    check_value(1100000000, "nanoseconds", "auto", PT_STYLE_PPROF, "1.10s");
    check_value(-1100000000, "nanoseconds", "auto", PT_STYLE_PPROF, "-1.10s");
    check_value(2097152, "bytes", "auto", PT_STYLE_PPROF, "2MB");
    check_value(0, "nanoseconds", "ms", PT_STYLE_PPROF, "0");
    check_value(-1, "nanoseconds", "s", PT_STYLE_PPROF, "0");
    check_value(12, "count", "auto", PT_STYLE_PPROF, "12");
    check_value(12, "count", "frob", PT_STYLE_PPROF, "12frob");
    check_value(7200, "seconds", "auto", PT_STYLE_PPROF, "2hrs");
    check_value(90, "seconds", "auto", PT_STYLE_PPROF, "90s");
    check_value(1536, "kb", "MB", PT_STYLE_PPROF, "1.50MB");
    check_value(5, "ms", "MB", PT_STYLE_PPROF, "0.01s"); /* another family: its default */
}

static void short_style_has_three_digits(void **state)
{
    check_value(1234567890, "ns", NULL, PT_STYLE_SHORT, "1.23s");
    check_value(45600000, "ns", NULL, PT_STYLE_SHORT, "45.6ms");
    check_value(999600, "ns", NULL, PT_STYLE_SHORT, "1,000us");
    check_value(150, "s", NULL, PT_STYLE_SHORT, "2.50min");
    check_value(5400, "s", NULL, PT_STYLE_SHORT, "1.50h");
    check_value(1023, "bytes", NULL, PT_STYLE_SHORT, "1,023B");
    check_value(1536, "bytes", NULL, PT_STYLE_SHORT, "1.50kB");
    check_value(1234567, "samples", NULL, PT_STYLE_SHORT, "1,234,567");
    check_value(0, "ns", NULL, PT_STYLE_SHORT, "0");
}

static void exact_style_loses_nothing(void **state)
{
    check_value(1234567, "nanoseconds", NULL, PT_STYLE_EXACT, "1,234,567 ns");
    check_value(INT64_MIN, "count", NULL, PT_STYLE_EXACT, "-9,223,372,036,854,775,808");
    check_value(1500, "ms", "s", PT_STYLE_EXACT, "1.5 s");
    check_value(123, "count", NULL, PT_STYLE_EXACT, "123");
}

static void check_percent(int64_t part, int64_t total, const char *expected)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_percent(&buf, part, total);
    assert_string_equal(pt_buf_text(&buf), expected);
    pt_buf_done(&buf);
}

static void percentages_are_pprofs(void **state)
{
    check_percent(1, 1, "  100%");
    check_percent(99951, 100000, "  100%");
    check_percent(9994, 10000, "99.94%");
    check_percent(123, 10000, " 1.23%");
    check_percent(-123, 10000, " 1.23%");
    check_percent(12, 10000, " 0.12%");
    check_percent(19, 100000000000, "1.9e-08%");
    check_percent(3, 0, "    0%");
    check_percent(250, 100, "250.00%");
}

#define CHECK_PARSE(type, parse, text, expected)                                                   \
    do {                                                                                           \
        type value = 0;                                                                            \
        assert_int_equal(parse(text, &value, NULL), PT_OK);                                        \
        assert_true(value == (expected));                                                          \
    } while (0)

#define CHECK_REFUSED(type, parse, text, expected)                                                 \
    do {                                                                                           \
        type value = 77;                                                                           \
        pt_error error = PT_ERROR_INIT;                                                            \
        assert_int_equal(parse(text, &value, &error), PT_ERR_USAGE);                               \
        assert_true(value == 77);                                                                  \
        assert_string_equal(error.message, expected);                                              \
    } while (0)

static void whole_numbers_and_others(void **state)
{
    CHECK_PARSE(int64_t, pt_parse_int, "20", 20);
    CHECK_PARSE(int64_t, pt_parse_int, "-0x10", -16);
    CHECK_PARSE(int64_t, pt_parse_int, "010", 10); /* never octal */
    CHECK_PARSE(int64_t, pt_parse_int, "-9223372036854775808", INT64_MIN);
    CHECK_REFUSED(int64_t, pt_parse_int, "9223372036854775808",
                  "9223372036854775808 does not fit 64 bits");
    const char *const bad[] = {"", "x", "1x", " 1", "0x", "--1", "1 ", "-"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t value;
        assert_int_equal(pt_parse_int(bad[i], &value, NULL), PT_ERR_USAGE);
    }
    CHECK_PARSE(double, pt_parse_double, "-1.5e3", -1500);
    CHECK_PARSE(double, pt_parse_double, ".5", 0.5);
    CHECK_REFUSED(double, pt_parse_double, "nan", "'nan' is not a number such as 0.5");
    CHECK_REFUSED(double, pt_parse_double, "1e999", "'1e999' is not a number such as 0.5");
}

static void sizes_step_by_1024(void **state)
{
    CHECK_PARSE(uint64_t, pt_parse_size, "4096", 4096);
    CHECK_PARSE(uint64_t, pt_parse_size, "64k", 65536);
    CHECK_PARSE(uint64_t, pt_parse_size, "64KB", 65536);
    CHECK_PARSE(uint64_t, pt_parse_size, "64KiB", 65536);
    CHECK_PARSE(uint64_t, pt_parse_size, "1.5G", UINT64_C(1610612736));
    CHECK_PARSE(uint64_t, pt_parse_size, "7B", 7);
    CHECK_REFUSED(uint64_t, pt_parse_size, "-1", "'-1' is not a size such as 4096, 64k or 1.5G");
    CHECK_REFUSED(uint64_t, pt_parse_size, "5kk", "'5kk' is not a size such as 4096, 64k or 1.5G");
    CHECK_REFUSED(uint64_t, pt_parse_size, "8192P", "8192P does not fit 63 bits");
}

static void durations_and_percentages(void **state)
{
    CHECK_PARSE(int64_t, pt_parse_duration, "10", INT64_C(10000000000));
    CHECK_PARSE(int64_t, pt_parse_duration, "1.5s", INT64_C(1500000000));
    CHECK_PARSE(int64_t, pt_parse_duration, "500ms", 500000000);
    CHECK_PARSE(int64_t, pt_parse_duration, "1h30m", INT64_C(5400000000000));
    CHECK_PARSE(int64_t, pt_parse_duration, "2min", INT64_C(120000000000));
    CHECK_PARSE(int64_t, pt_parse_duration, "20us", 20000);
    CHECK_REFUSED(int64_t, pt_parse_duration, "1h30",
                  "'1h30' is not a duration such as 10s, 500ms or 2m");
    CHECK_REFUSED(int64_t, pt_parse_duration, "", "'' is not a duration such as 10s, 500ms or 2m");
    CHECK_REFUSED(int64_t, pt_parse_duration, "99999999999h",
                  "99999999999h is longer than 292 years");
    CHECK_PARSE(double, pt_parse_percent, "50%", 0.5);
    CHECK_PARSE(double, pt_parse_percent, "25", 0.25);
    CHECK_REFUSED(double, pt_parse_percent, "101%", "101% is more than 100%");
    CHECK_REFUSED(double, pt_parse_percent, "x", "'x' is not a percentage such as 0.5%");
}

static void units_that_pprof_has_not_are_read_but_not_chosen(void **state)
{
    const char *unit;
    assert_true(pt_unit_convert(2, "minutes", "s", &unit) == 120);
    assert_true(pt_unit_convert(2, "days", "hrs", &unit) == 48);
    assert_true(pt_unit_convert(3, "MiB", "kB", &unit) == 3072);
    /* go tool pprof -unit=MiB prints bytes, -unit=min seconds. */
    assert_true(pt_unit_convert(3145728, "bytes", "MiB", &unit) == 3145728);
    assert_string_equal(unit, "B");
    assert_true(pt_unit_convert(120, "s", "min", &unit) == 120);
    assert_true(pt_unit_convert_any(120, "s", "min", &unit) == 2);
    assert_true(pt_unit_convert_any(3145728, "bytes", "MiB", &unit) == 3);
    assert_true(pt_unit_convert(90, "s", "auto", &unit) == 90);
    assert_string_equal(unit, "s");
    assert_true(pt_unit_convert(48, "hours", "auto", &unit) == 48);
}

static void a_count_of_one_has_a_singular(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        const char *nouns, *expected;
    } cases[] = {
        {0, "samples", "0 samples"},
        {1, "samples", "1 sample"},
        {1234, "samples", "1,234 samples"},
        {1, "addresses without a name: no symbol of libs",
         "1 address without a name: no symbol of libs"},
        {1, "processes", "1 process"},
        {1, "entries left out", "1 entry left out"},
        {1, "boxes", "1 box"},
        {1, "call arcs, histogram bins", "1 call arc, histogram bins"},
        {1, "other values of each sample", "1 other value of each sample"},
        {1, "missing version line, read as 0.07", "1 missing version line, read as 0.07"},
        {1, "sampling period left out: the figures are scaled",
         "1 sampling period left out: the figures are scaled"},
        {1, "pattern of the profile's drop_frames", "1 pattern of the profile's drop_frames"},
        {1, "", "1 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(pt_count_noun(cases[i].count, cases[i].nouns).text, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unit_names_are_known_by_any_alias),
        cmocka_unit_test(pprof_style_has_two_decimals_or_none),
        cmocka_unit_test(short_style_has_three_digits),
        cmocka_unit_test(exact_style_loses_nothing),
        cmocka_unit_test(percentages_are_pprofs),
        cmocka_unit_test(whole_numbers_and_others),
        cmocka_unit_test(sizes_step_by_1024),
        cmocka_unit_test(durations_and_percentages),
        cmocka_unit_test(a_count_of_one_has_a_singular),
        cmocka_unit_test(units_that_pprof_has_not_are_read_but_not_chosen),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
