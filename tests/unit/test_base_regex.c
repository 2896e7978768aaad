/* test_base_regex.c: matching names, honest limits, and the syntax of RE2's page. */
#include "base_check.h"

#include "base/regex.h"

#include <stdio.h>
#include <string.h>

static bool matches(const char *pattern, pt_regex_flags flags, const char *text, size_t size)
{
    pt_regex *regex = NULL;
    pt_error error = PT_ERROR_INIT;
    bool match = false;
    if (pt_regex_new(pattern, flags, &regex, &error) != PT_OK) fail_msg("%s", error.message);
    assert_int_equal(pt_regex_match(regex, text, size, &match, &error), PT_OK);
    pt_regex_free(regex);
    return match;
}

static bool finds(const char *pattern, const char *text)
{
    return matches(pattern, 0, text, strlen(text));
}

static void finds_a_pattern_anywhere(void **state)
{
    assert_true(finds("vector<int>", "std::vector<int>::push_back"));
    assert_false(finds("^vector", "std::vector<int>::push_back"));
    assert_true(finds("", ""));
    assert_true(matches("MALLOC", PT_REGEX_ICASE, "tc_malloc", 9));
    assert_true(matches("\xc3\x89", PT_REGEX_ICASE, "\xc3\xa9", 2)); /* É, é */
    assert_true(finds("caf.$", "caf\xc3\xa9"));
    pt_regex *regex = NULL;
    size_t start = 0, end = 0;
    bool match = false;
    assert_int_equal(pt_regex_new("b+", 0, &regex, NULL), PT_OK);
    assert_int_equal(pt_regex_find(regex, "abbbc", 5, &match, &start, &end, NULL), PT_OK);
    assert_true(match && start == 1 && end == 4);
    pt_regex_free(regex);
}

static void the_dollar_is_the_very_end(void **state)
{
    assert_true(finds("main$", "main"));
    assert_false(finds("main$", "main\n"));
}

static void bad_utf8_in_a_name_does_no_harm(void **state)
{
    assert_true(matches("main", 0, "\xff\xfe main", 7));
    assert_false(matches("^.main", 0, "\xffmain", 5));
    assert_true(matches("a\\x{0}b", 0, "a\0b", 3));
}

static void a_bad_pattern_is_shown_with_its_place(void **state)
{
    pt_regex *regex = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_regex_new("foo(bar", 0, &regex, &error), PT_ERR_USAGE);
    assert_string_equal(error.message, "missing closing parenthesis: foo(bar<here>");
    assert_int_equal(pt_regex_new("a**b[", 0, &regex, &error), PT_ERR_USAGE);
    assert_int_equal(pt_regex_new("+x", 0, &regex, &error), PT_ERR_USAGE);
    assert_string_equal(error.message, "quantifier does not follow a repeatable item: <here>+x");
    assert_null(regex);
}

static void a_search_that_takes_too_long_is_an_error(void **state)
{
    char text[5000];
    memset(text, 'a', sizeof text);
    pt_regex *regex = NULL;
    pt_error error = PT_ERROR_INIT;
    bool match = true;
    assert_int_equal(pt_regex_new("(a+)+$x", 0, &regex, NULL), PT_OK);
    const pt_status status = pt_regex_match(regex, text, sizeof text, &match, &error);
    if (status != PT_OK) { /* an engine clever enough to see there is no x may say so */
        assert_int_equal(status, PT_ERR_LIMIT);
        assert_true(match);
    }
    pt_regex_free(regex);
    assert_int_equal(pt_regex_new("^(a|a)*[bc]", 0, &regex, NULL), PT_OK);
    assert_int_equal(pt_regex_match(regex, text, sizeof text, &match, &error), PT_ERR_LIMIT);
    assert_non_null(strstr(error.message, "was given up"));
    pt_regex_free(regex);
}

/* A match that exceeds the small stack of the compiled matcher is done by the interpreter. */
static void a_long_name_is_searched_whatever_the_pattern_remembers(void **state)
{
    char text[20005];
    memset(text, 'a', 20000);
    snprintf(text + 20000, 5, "main");
    assert_true(matches("^(a|b)*main$", 0, text, strlen(text)));
}

static void check_re2_refuses(const char *pattern, const char *message)
{
    pt_regex *regex = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_regex_new(pattern, PT_REGEX_RE2, &regex, &error), PT_ERR_USAGE);
    assert_string_equal(error.message, message);
}

/* github.com/google/re2/wiki/Syntax lists each of these as not supported. */
static void re2_mode_refuses_what_re2_lacks(void **state)
{
    check_re2_refuses("a(?=b)", "look-ahead is not supported here: a<here>(?=b)");
    check_re2_refuses("a(?!b)", "look-ahead is not supported here: a<here>(?!b)");
    check_re2_refuses("(?<=a)b", "look-behind is not supported here: <here>(?<=a)b");
    check_re2_refuses("(?<!a)b", "look-behind is not supported here: <here>(?<!a)b");
    check_re2_refuses("(?>a)", "atomic groups are not supported here: <here>(?>a)");
    check_re2_refuses("a++", "possessive repeats are not supported here: a+<here>+");
    check_re2_refuses("a**", "a repeat of a repeat is not supported here: a*<here>*");
    check_re2_refuses("(a)\\1", "back references are not supported here: (a)<here>\\1");
    check_re2_refuses("(?|a|b)", "this kind of group is not supported here: <here>(?|a|b)");
    check_re2_refuses("(?P=n)", "references to groups are not supported here: <here>(?P=n)");
    check_re2_refuses("\\Kx", "this escape is not supported here: <here>\\Kx");
    check_re2_refuses("(*ACCEPT)", "verbs are not supported here: <here>(*ACCEPT)");
    check_re2_refuses("x{1001}", "repeats of more than 1000 are not supported here: x<here>{1001}");
}

static void re2_mode_accepts_what_re2_has(void **state)
{
    const char *const good[] = {
        "a+?b*?c??", "(?i)abc",       "(?i:abc)",       "(?P<n>x)",        "[[:alpha:]]+",
        "[]a]",      "[^]*+?(]",      "\\Qa++(?=\\E",   "x{2,3}?",         "\\bfoo\\B",
        "\\.\\(\\+", "^std::.*<.*>$", "\\pL\\p{Greek}", "\\x{10FFFF}\\x41"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        pt_regex *regex = NULL;
        pt_error error = PT_ERROR_INIT;
        if (pt_regex_new(good[i], PT_REGEX_RE2, &regex, &error) != PT_OK)
            fail_msg("%s: %s", good[i], error.message);
        pt_regex_free(regex);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_a_pattern_anywhere),
        cmocka_unit_test(the_dollar_is_the_very_end),
        cmocka_unit_test(bad_utf8_in_a_name_does_no_harm),
        cmocka_unit_test(a_bad_pattern_is_shown_with_its_place),
        cmocka_unit_test(a_search_that_takes_too_long_is_an_error),
        cmocka_unit_test(a_long_name_is_searched_whatever_the_pattern_remembers),
        cmocka_unit_test(re2_mode_refuses_what_re2_lacks),
        cmocka_unit_test(re2_mode_accepts_what_re2_has),
    };
    return cmocka_run_group_tests_name("regex", tests, NULL, NULL);
}
