/* test_cmd.c: the tables of the command line keep their promises; words that are near are found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/near.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/query.h"

static void every_command_has_all_that_help_needs(void **state)
{
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        assert_true((*c)->name[0] != '\0' && (*c)->summary[0] != '\0');
        assert_true(strlen((*c)->summary) <= 64 && strlen((*c)->name) <= 13);
        assert_true((*c)->summary[strlen((*c)->summary) - 1] != '.');
        assert_non_null((*c)->arguments);
        assert_true(strlen((*c)->description) > 10);
        assert_true((*c)->run != NULL || (*c)->personality != NULL);
        assert_true((unsigned)(*c)->group < PT_GROUP_COUNT);
    }
}

static void no_two_commands_share_a_name(void **state)
{
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        assert_ptr_equal(pt_command_find((*c)->name), *c);
        for (const char *const *a = (*c)->aliases; a != NULL && *a != NULL; a++)
            assert_ptr_equal(pt_command_find(*a), *c);
    }
}

/* Calls look for every row of every command. */
static void each_row(void (*look)(const pt_command *command, const pt_option *row))
{
    for (const pt_command *const *c = pt_commands; *c != NULL; c++) {
        pt_command_options o;
        pt_command_options_init(&o, *c, NULL, NULL);
        for (size_t p = 0; p < o.options.part_count; p++)
            for (size_t r = 0; r < o.parts[p].table->count; r++)
                look(*c, &o.parts[p].table->rows[r]);
    }
}

static unsigned without_paragraph;

static void has_texts(const pt_command *command, const pt_option *row)
{
    const char *name = row->name != NULL ? row->name : "(letter)";
    if (row->help == NULL || row->help[0] == '\0')
        fail_msg("%s --%s has no help", command->name, name);
    if (isupper((unsigned char)row->help[0]) && islower((unsigned char)row->help[1]))
        fail_msg("%s --%s: help begins with a capital", command->name, name);
    if (row->help[strlen(row->help) - 1] == '.')
        fail_msg("%s --%s: help ends with a full stop", command->name, name);
    if (row->details == NULL || row->details[0] == '\0') {
        print_error("%s --%s has no paragraph for the man page\n", command->name, name);
        without_paragraph++;
    }
}

static void every_option_has_a_help_line_and_a_paragraph(void **state)
{
    each_row(has_texts);
    assert_int_equal(without_paragraph, 0);
}

static void is_only_one(const pt_command *command, const pt_option *row)
{
    pt_command_options o;
    unsigned names = 0, letters = 0;
    pt_command_options_init(&o, command, NULL, NULL);
    for (size_t p = 0; p < o.options.part_count; p++) {
        for (size_t r = 0; r < o.parts[p].table->count; r++) {
            const pt_option *other = &o.parts[p].table->rows[r];
            names +=
                row->name != NULL && other->name != NULL && strcmp(row->name, other->name) == 0;
            letters += row->letter != 0 && row->letter == other->letter;
        }
    }
    if (names > 1 || letters > 1)
        fail_msg("%s: --%s or -%c is there twice", command->name, row->name,
                 row->letter != 0 ? row->letter : ' ');
}

static void no_command_has_an_option_twice(void **state)
{
    each_row(is_only_one);
}

static void a_query_prints_its_patterns_as_they_would_be_typed(void **state)
{
    const pt_query query = {
        .focus = "parse", .hide = "^std::|a b", .event = "cpu", .relative = true};
    PT_FREE char *text = pt_query_text(&query);
    assert_string_equal(text, "--focus=parse --hide='^std::|a b'");
    PT_FREE char *nothing = pt_query_text(&(pt_query){0});
    assert_string_equal(nothing, "");
}

/* The words that are near, in order. */
static void expect_near(const char *to, const char *expected)
{
    static const char *const words[] = {
        "parse", "prose", "parser", "sparse_matrix", "main", "std::vector<int>::push_back", "x"};
    pt_near near;
    pt_near_init(&near, to);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        pt_near_offer(&near, words[i]);
    char text[256] = "";
    for (size_t i = 0; i < near.count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "",
                 near.best[i].word);
    assert_string_equal(text, expected);
}

static void near_names_are_few_edits_away_or_contain_the_word(void **state)
{
    expect_near("prase", "parse prose parser");
    expect_near("PARSE", "parse parser prose");
    expect_near("vector", "std::vector<int>::push_back");
    expect_near("mian", "main");
    expect_near("completely_else", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_all_that_help_needs),
        cmocka_unit_test(no_two_commands_share_a_name),
        cmocka_unit_test(every_option_has_a_help_line_and_a_paragraph),
        cmocka_unit_test(no_command_has_an_option_twice),
        cmocka_unit_test(a_query_prints_its_patterns_as_they_would_be_typed),
        cmocka_unit_test(near_names_are_few_edits_away_or_contain_the_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
