/* test_base_options.c: one table, four syntaxes, and everything that is printed from it. */
#include "base_check.h"

#include "../check/options_check.h"
#include "base/options.h"

#include <stdio.h>

#include <stdlib.h>
#include <string.h>

typedef struct {
    int64_t rows;
    uint64_t limit;
    double scale, cut;
    const char *focus;
    pt_option_list tags;
    int format, colour;
    int64_t wait;
    bool verbose, quiet, trim;
} settings;

enum { TEXT, JSON, CSV };

#define AT(field) .offset = offsetof(settings, field)
static const pt_option rows[] = {
    {.name = "rows",
     .letter = 'n',
     .type = PT_OPT_INT,
     AT(rows),
     .initial = "20",
     .max = 1000,
     .aliases = "nodecount top-rows",
     .help = "show this many rows",
     .group = "What is shown"},
    {.name = "focus",
     .letter = 'f',
     .type = PT_OPT_STRING,
     AT(focus),
     .flags = PT_OPT_NEGATABLE,
     .metavar = "REGEX",
     .help = "keep samples with a frame that matches",
     .details = "A sample stays when one of its frames does.\n.Dots at a line's start are text."},
    {.name = "cut", .type = PT_OPT_PERCENT, AT(cut), .initial = "0.5%", .help = "hide less"},
    {.name = "scale", .type = PT_OPT_DOUBLE, AT(scale), .initial = "1", .help = "divide by"},
    {.name = "trim",
     .type = PT_OPT_FLAG,
     AT(trim),
     .flags = PT_OPT_NEGATABLE,
     .initial = "true",
     .help = "drop what is small"},
    {.name = "tag", .letter = 't', .type = PT_OPT_LIST, AT(tags), .help = "add a tag"},
    {.name = "format",
     .type = PT_OPT_CHOICE,
     AT(format),
     .choices = "text json csv",
     .initial = "text",
     .help = "how it is written",
     .group = "How"},
    {.name = "json", .type = PT_OPT_SET, AT(format), .min = JSON, .help = "same as --format=json"},
    {.name = "color",
     .letter = 'c',
     .type = PT_OPT_CHOICE,
     AT(colour),
     .aliases = "colour",
     .choices = "auto always never",
     .initial = "auto",
     .bare = "always",
     .metavar = "WHEN",
     .help = "colour"},
};
static const pt_option more_rows[] = {
    {.name = "max-memory",
     .type = PT_OPT_SIZE,
     AT(limit),
     .initial = "1G",
     .help = "use no more than this"},
    {.name = "wait", .letter = 'w', .type = PT_OPT_DURATION, AT(wait), .help = "wait"},
    {.name = "verbose", .letter = 'v', .type = PT_OPT_FLAG, AT(verbose), .help = "say more"},
    {.name = "quiet", .letter = 'q', .type = PT_OPT_FLAG, AT(quiet), .help = "say less"},
    {.name = "secret", .type = PT_OPT_FLAG, AT(quiet), .flags = PT_OPT_HIDDEN, .help = "hush"},
};
static const pt_option_table table = PT_OPTION_TABLE(rows);
static const pt_option_table more_table = PT_OPTION_TABLE(more_rows);

static settings got;
static pt_option_list operands;
static pt_error error;

#define OPTIONS(how, stops)                                                                        \
    (&(pt_options){.parts =                                                                        \
                       (const pt_option_part[]){{&table, &got, NULL}, {&more_table, &got, NULL}},  \
                   .part_count = 2,                                                                \
                   .syntax = how,                                                                  \
                   .stop_at_operand = stops})

/* Parses the words of line, which are separated by single spaces. */
static pt_status parse_with(const pt_options *options, const char *line)
{
    static char words[1000];
    static const char *args[100];
    size_t count = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        args[count++] = word;
    error = PT_ERROR_INIT;
    pt_options_init(options);
    const pt_status status = pt_options_parse(options, args, count, &operands, &error);
    if (status == PT_OK) {
        free(operands.items);
    } else {
        assert_int_equal(status, PT_ERR_USAGE);
    }
    return status;
}

static void good(pt_option_syntax syntax, const char *line)
{
    pt_options_done(OPTIONS(syntax, false));
    if (parse_with(OPTIONS(syntax, false), line) != PT_OK) fail_msg("%s: %s", line, error.message);
}

static void bad(pt_option_syntax syntax, const char *line, const char *message)
{
    assert_int_equal(parse_with(OPTIONS(syntax, false), line), PT_ERR_USAGE);
    assert_string_equal(error.message, message);
    pt_options_done(OPTIONS(syntax, false));
}

static void without_arguments_all_is_initial(void **state)
{
    good(PT_SYNTAX_OWN, "");
    assert_int_equal(got.rows, 20);
    assert_int_equal(got.limit, 1 << 30);
    assert_true(got.cut == 0.005 && got.scale == 1);
    assert_null(got.focus);
    assert_int_equal(got.tags.count, 0);
    assert_true(got.trim && !got.verbose);
    assert_int_equal(got.format, TEXT);
}

static void own_syntax_is_that_of_gnu_without_guessing(void **state)
{
    good(PT_SYNTAX_OWN, "a --rows=7 b --focus main -vq -- --rows c");
    assert_int_equal(got.rows, 7);
    assert_string_equal(got.focus, "main");
    assert_true(got.verbose && got.quiet);
    assert_int_equal(operands.count, 4);
    good(PT_SYNTAX_OWN, "-n20 -n 30 -t x -ty --tag=z");
    assert_int_equal(got.rows, 30);
    assert_int_equal(got.tags.count, 3);
    assert_string_equal(got.tags.items[1], "y");
    good(PT_SYNTAX_OWN, "-vn5 - --no-trim --json --color --nodecount 9");
    assert_int_equal(got.rows, 9);
    assert_int_equal(operands.count, 1);
    assert_false(got.trim);
    assert_int_equal(got.format, JSON);
    assert_int_equal(got.colour, 1);
    good(PT_SYNTAX_OWN, "--color never --color=never --cut=2% --max-memory=64k --wait=1.5s");
    assert_int_equal(got.colour, 2);
    assert_int_equal(operands.count, 1); /* an optional argument is never the next word */
    assert_true(got.cut == 0.02 && got.limit == 65536 && got.wait == 1500000000);
    good(PT_SYNTAX_OWN, "--focus=x --no-focus --focus= --format=csv");
    assert_string_equal(got.focus, "");
    assert_int_equal(got.format, CSV);
    pt_options_done(OPTIONS(PT_SYNTAX_OWN, false));
}

static void what_is_wrong_is_told_with_what_would_be_right(void **state)
{
    bad(PT_SYNTAX_OWN, "--foucs=x", "unknown option --foucs; did you mean --focus");
    bad(PT_SYNTAX_OWN, "--row 5", "unknown option --row; did you mean --rows");
    bad(PT_SYNTAX_OWN, "--no-quite", "unknown option --no-quite");
    bad(PT_SYNTAX_OWN, "--no-tirm", "unknown option --no-tirm; did you mean --no-trim");
    bad(PT_SYNTAX_OWN, "--no-verbose", "unknown option --no-verbose; did you mean --verbose");
    bad(PT_SYNTAX_OWN, "--xyzzy", "unknown option --xyzzy");
    bad(PT_SYNTAX_OWN, "-vz", "unknown option -z");
    bad(PT_SYNTAX_OWN, "--rows=x", "--rows=x: 'x' is not a whole number such as 20");
    bad(PT_SYNTAX_OWN, "-n x", "-n x: 'x' is not a whole number such as 20");
    bad(PT_SYNTAX_OWN, "--rows=1001", "--rows=1001: 1001 is not from 0 to 1000");
    bad(PT_SYNTAX_OWN, "--focus", "--focus needs an argument: --focus=REGEX");
    bad(PT_SYNTAX_OWN, "-n", "-n needs an argument: -n VALUE");
    bad(PT_SYNTAX_OWN, "--verbose=1", "--verbose takes no argument");
    bad(PT_SYNTAX_OWN, "--no-trim=1", "--no-trim takes no argument");
    bad(PT_SYNTAX_OWN, "--format=jsn",
        "--format=jsn: 'jsn' is not text, json or csv; did you mean json");
    bad(PT_SYNTAX_OWN, "--wait=soon",
        "--wait=soon: 'soon' is not a duration such as 10s, 500ms or 2m");
    bad(PT_SYNTAX_OWN, "--max-memory=lots",
        "--max-memory=lots: 'lots' is not a size such as 4096, 64k or 1.5G");
}

static void go_syntax_takes_one_dash_or_two_and_exact_names(void **state)
{
    good(PT_SYNTAX_GO, "-rows=3 --focus main -trim=false -verbose prof -quiet");
    assert_int_equal(got.rows, 3);
    assert_string_equal(got.focus, "main");
    assert_true(!got.trim && got.verbose && !got.quiet);
    assert_int_equal(operands.count, 2); /* the first operand ends the flags */
    good(PT_SYNTAX_GO, "-n 4 -verbose=T -- -quiet");
    assert_int_equal(got.rows, 4);
    assert_int_equal(operands.count, 1);
    bad(PT_SYNTAX_GO, "-vq", "unknown option -vq");
    bad(PT_SYNTAX_GO, "-no-trim", "unknown option -no-trim");
}

static void getopt_syntax_bundles_and_takes_beginnings(void **state)
{
    good(PT_SYNTAX_GETOPT, "prof -vqn6 --foc=x --verb --max 1k");
    assert_int_equal(got.rows, 6);
    assert_string_equal(got.focus, "x");
    assert_true(got.verbose && got.limit == 1024);
    bad(PT_SYNTAX_GETOPT, "--fo=x", "--fo may be --focus or --format");
}

static void perl_syntax_takes_unique_beginnings_and_nox(void **state)
{
    good(PT_SYNTAX_PERL, "-rows=2 --notrim prof -FOC main --no-focus -verb");
    assert_int_equal(got.rows, 2);
    assert_true(!got.trim && got.verbose);
    assert_null(got.focus);
    assert_int_equal(operands.count, 1);
    bad(PT_SYNTAX_PERL, "--co --fo x", "--fo may be --focus or --format");
}

static void options_may_end_at_the_first_operand(void **state)
{
    assert_int_equal(parse_with(OPTIONS(PT_SYNTAX_OWN, true), "-v ls -q --rows"), PT_OK);
    assert_true(got.verbose && !got.quiet);
    assert_int_equal(operands.count, 3);
}

static void given_says_what_was_asked(void **state)
{
    bool given[sizeof rows / sizeof rows[0]];
    const pt_option_part part = {&table, &got, given};
    const pt_options options = {.parts = &part, .part_count = 1};
    assert_int_equal(parse_with(&options, "--rows=20 --no-trim"), PT_OK);
    assert_true(given[0] && given[4]);
    assert_false(given[1] || given[6]);
}

static void one_option_can_be_set_by_name(void **state)
{
    const pt_options *const options = OPTIONS(PT_SYNTAX_OWN, false);
    pt_options_init(options);
    assert_int_equal(pt_options_set(options, "rows", "11", &error), PT_OK);
    assert_int_equal(pt_options_set(options, "trim", "false", &error), PT_OK);
    assert_int_equal(pt_options_set(options, "verbose", NULL, &error), PT_OK);
    assert_int_equal(pt_options_set(options, "color", NULL, &error), PT_OK);
    assert_true(got.rows == 11 && !got.trim && got.verbose && got.colour == 1);
    assert_int_equal(pt_options_set(options, "focus", NULL, &error), PT_ERR_USAGE);
    assert_string_equal(error.message, "focus needs a value");
    assert_int_equal(pt_options_set(options, "rows", "many", &error), PT_ERR_USAGE);
    assert_string_equal(error.message, "rows=many: 'many' is not a whole number such as 20");
}

static const char *printed(pt_buf *buf)
{
    pt_buf_clear(buf);
    pt_options_print(OPTIONS(PT_SYNTAX_OWN, false), buf);
    return pt_buf_text(buf);
}

static void only_what_is_not_initial_is_printed_back(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    good(PT_SYNTAX_OWN, "");
    assert_string_equal(printed(&buf), "");
    good(PT_SYNTAX_OWN, "--rows=20 --rows=5 --no-trim --json --tag=a --tag=b --cut=0.1% -w 1500ms "
                        "--max-memory=3M --scale=0.1 --focus=^a|b's$ -v --color");
    assert_string_equal(printed(&buf),
                        "--rows=5 --focus='^a|b'\\''s$' --cut=0.1% --scale=0.1 --no-trim --tag=a "
                        "--tag=b --format=json --color=always --max-memory=3M --wait=1500ms "
                        "--verbose");
    pt_options_done(OPTIONS(PT_SYNTAX_OWN, false));
    pt_buf_done(&buf);
}

/* Random settings, printed, parsed and printed again. (Values without spaces or quotes, so that
 * words can be told apart by the spaces.) */
static void what_is_printed_parses_to_the_same(void **state)
{
    uint64_t seed = 9;
    static const char *const texts[] = {NULL, "x", "-1", "--rows", "a=b", "\xc3\xa9t"};
    for (int i = 0; i < 3000; i++) {
        pt_options_init(OPTIONS(PT_SYNTAX_OWN, false));
        got.rows = (int64_t)(next_random(&seed) % 1001);
        got.limit = random_of_any_size(&seed) >> 2;
        got.wait = (int64_t)(random_of_any_size(&seed) >> 2);
        got.scale = (double)random_of_any_size(&seed) / 977;
        got.cut = (double)(next_random(&seed) % 100001) / 100000;
        got.focus = texts[next_random(&seed) % 5];
        got.format = (int)(next_random(&seed) % 3);
        got.trim = next_random(&seed) % 2;
        got.verbose = next_random(&seed) % 2;
        const settings before = got;
        pt_buf buf = PT_BUF_INIT;
        good(PT_SYNTAX_OWN, printed(&buf));
        assert_true(got.rows == before.rows && got.format == before.format);
        assert_true(got.scale == before.scale && got.cut == before.cut);
        assert_true(got.trim == before.trim && got.verbose == before.verbose);
        /* sizes and times go through a double, which holds 53 bits */
        assert_true(got.wait == before.wait || before.wait >> 53 != 0);
        assert_true(got.limit == before.limit || before.limit >> 53 != 0);
        assert_true((got.focus == NULL) == (before.focus == NULL));
        if (got.focus != NULL) assert_string_equal(got.focus, before.focus);
        pt_buf_done(&buf);
    }
}

static const char *text_of(void (*writes)(pt_out *), pt_buf *buf)
{
    pt_out out;
    pt_buf_clear(buf);
    pt_out_to_buf(&out, buf);
    writes(&out);
    pt_out_done(&out, NULL);
    return pt_buf_text(buf);
}

static void write_help(pt_out *out)
{
    pt_options_help(OPTIONS(PT_SYNTAX_OWN, false), 60, out);
}

static void help_lists_every_option_wrapped(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    assert_string_equal(text_of(write_help, &buf),
                        "What is shown:\n"
                        "  -n, --rows=N            show this many rows (default 20)\n"
                        "  -f, --[no-]focus=REGEX  keep samples with a frame that\n"
                        "                          matches\n"
                        "      --cut=PERCENT       hide less (default 0.5%)\n"
                        "      --scale=NUMBER      divide by (default 1)\n"
                        "      --[no-]trim         drop what is small (default on)\n"
                        "  -t, --tag=TEXT          add a tag\n"
                        "\n"
                        "How:\n"
                        "      --format=WHICH      how it is written: text, json, csv\n"
                        "                          (default text)\n"
                        "      --json              same as --format=json\n"
                        "  -c, --color[=WHEN]      colour: auto, always, never\n"
                        "                          (default auto)\n"
                        "      --max-memory=SIZE   use no more than this (default 1G)\n"
                        "  -w, --wait=TIME         wait\n"
                        "  -v, --verbose           say more\n"
                        "  -q, --quiet             say less\n");
    pt_buf_done(&buf);
}

static void write_man(pt_out *out)
{
    pt_options_man(OPTIONS(PT_SYNTAX_OWN, false), out);
}

static void the_man_page_has_details_and_escapes(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    const char *const man = text_of(write_man, &buf);
    assert_non_null(strstr(man, ".SS \"What is shown\"\n.TP\n\\fB\\-n\\fR, \\fB\\-\\-rows\\fR=\\fIN"
                                "\\fR, \\fB\\-\\-nodecount\\fR=\\fIN\\fR, \\fB\\-\\-top\\-rows"
                                "\\fR=\\fIN\\fR\nShow this many rows (default 20).\n"));
    assert_non_null(strstr(man, "one of its frames does.\n\\&.Dots at a line's start are text.\n"));
    assert_null(strstr(man, "secret"));
    pt_buf_done(&buf);
}

static void write_completion(pt_out *out)
{
    pt_options_complete(OPTIONS(PT_SYNTAX_OWN, false), out);
}

static void completion_has_a_line_a_spelling(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    const char *const lines = text_of(write_completion, &buf);
    assert_non_null(strstr(lines, "-n\tvalue\tN\tshow this many rows\n--rows\tvalue\tN\tshow"));
    assert_non_null(strstr(lines, "--format\tchoice\ttext json csv\thow it is written\n"));
    assert_non_null(strstr(lines, "--no-trim\tflag\t\tnot: drop what is small\n"));
    pt_buf_done(&buf);
}

static void check_finds(const pt_option *bad_rows, size_t count, const char *expected)
{
    const pt_option_table bad_table = {bad_rows, count};
    const pt_option_part part = {&bad_table, NULL, NULL};
    pt_buf problems = PT_BUF_INIT;
    const size_t n = pt_options_check(&(pt_options){.parts = &part, .part_count = 1}, &problems);
    assert_string_equal(pt_buf_text(&problems), expected);
    assert_true((n == 0) == (expected[0] == '\0'));
    pt_buf_done(&problems);
}

static void a_bad_table_is_found_out(void **state)
{
    check_finds(rows, sizeof rows / sizeof rows[0], "");
    const pt_option twice[] = {
        {.name = "rows", .letter = 'n', .type = PT_OPT_INT, .help = "x", .aliases = "all more"},
        {.name = "more", .letter = 'n', .type = PT_OPT_FLAG, .help = "y"}};
    check_finds(twice, 2, "-n is there twice\n--more is there twice\n");
    const pt_option hidden_negation[] = {
        {.name = "trim", .type = PT_OPT_FLAG, .flags = PT_OPT_NEGATABLE, .help = "x"},
        {.name = "no-trim", .type = PT_OPT_FLAG, .help = "y"}};
    check_finds(hidden_negation, 2, "--no-trim is there twice\n");
    const pt_option careless[] = {
        {.name = "a", .type = PT_OPT_INT, .initial = "x", .help = "h"},
        {.name = "b", .type = PT_OPT_FLAG, .initial = "true", .help = "h"},
        {.name = "c", .type = PT_OPT_CHOICE, .help = "h"},
        {.name = "d", .type = PT_OPT_FLAG, .help = "Upper case."},
        {.name = "e", .type = PT_OPT_FLAG},
        {.type = PT_OPT_FLAG, .help = "h"},
        {.name = "g", .type = PT_OPT_SIZE, .bare = "lots", .help = "h"}};
    check_finds(careless, 7,
                "--a: default value: 'x' is not a whole number such as 20\n"
                "--b is on and cannot be turned off\n"
                "--c has no choices\n"
                "--d: help begins with a capital or ends with a full stop\n"
                "--e has no help\n"
                "-?: an option without a name and a letter\n"
                "--g: value without argument: 'lots' is not a size such as 4096, 64k or 1.5G\n");
}

static void the_nearest_word_is_a_few_edits_away(void **state)
{
    const char *const words[] = {"top", "tree", "peek", "list", "flame", "convert", "merge"};
    const struct {
        const char *typed, *meant;
    } cases[] = {
        {"tpo", "top"},         {"tre", "tree"},         {"flmae", "flame"}, {"conv", "convert"},
        {"CONVRET", "convert"}, {"merged", "merge"},     {"x", NULL},        {"", NULL},
        {"elephant", NULL},     {"profile.pb.gz", NULL}, {"t", NULL},        {"lst", "list"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const nearest = pt_nearest(cases[i].typed, words, 7);
        if (cases[i].meant == NULL) {
            assert_null(nearest);
        } else {
            assert_non_null(nearest);
            assert_string_equal(nearest, cases[i].meant);
        }
    }
    char endless[5000];
    memset(endless, 'a', sizeof endless);
    endless[4999] = '\0';
    assert_null(pt_nearest(endless, words, 7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_arguments_all_is_initial),
        cmocka_unit_test(own_syntax_is_that_of_gnu_without_guessing),
        cmocka_unit_test(what_is_wrong_is_told_with_what_would_be_right),
        cmocka_unit_test(go_syntax_takes_one_dash_or_two_and_exact_names),
        cmocka_unit_test(getopt_syntax_bundles_and_takes_beginnings),
        cmocka_unit_test(perl_syntax_takes_unique_beginnings_and_nox),
        cmocka_unit_test(options_may_end_at_the_first_operand),
        cmocka_unit_test(given_says_what_was_asked),
        cmocka_unit_test(one_option_can_be_set_by_name),
        cmocka_unit_test(only_what_is_not_initial_is_printed_back),
        cmocka_unit_test(what_is_printed_parses_to_the_same),
        cmocka_unit_test(help_lists_every_option_wrapped),
        cmocka_unit_test(the_man_page_has_details_and_escapes),
        cmocka_unit_test(completion_has_a_line_a_spelling),
        cmocka_unit_test(a_bad_table_is_found_out),
        cmocka_unit_test(the_nearest_word_is_a_few_edits_away),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
