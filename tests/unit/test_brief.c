/* test_brief.c: names short enough to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "render/brief.h"

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define WIDE   "a_name_of_its_own_that_alone_is_wider_than_the_column_of_sixty"

static void is(const char *name, const char *brief)
{
    pt_buf buf = PT_BUF_INIT;
    pt_brief_name(name, &buf);
    assert_string_equal(pt_buf_text(&buf), brief);
    pt_buf_done(&buf);
}

static void short_names_keep_their_template_arguments(void **state)
{
    is("substitution_cost<char>", "substitution_cost<char>");
    is("std::vector<int>::push_back", "std::vector<int>::push_back");
    is("", "");
}

static void strings_have_the_name_that_people_write(void **state)
{
    is(STRING "::compare", "std::string::compare");
    is("std::vector<" STRING ", int>::at", "std::vector<std::string, int>::at");
    is("std::__cxx11::regex_traits<char>::isctype", "std::regex_traits<char>::isctype");
}

static void long_names_lose_their_template_arguments(void **state)
{
    is("std::_Hashtable<std::pair<int, unsigned>, std::allocator<std::pair<int, unsigned> >, "
       "std::__detail::_Select1st>::_M_find_before_node",
       "std::_Hashtable<...>::_M_find_before_node");
    is("boost::outer<" WIDE ">::inner<short, long, int>::run",
       "boost::outer<...>::inner<...>::run");
}

static void operators_keep_their_brackets(void **state)
{
    is("ns::" WIDE "::operator<< <std::char_traits<char> >",
       "ns::" WIDE "::operator<< <std::char_traits<...> >");
    is("ns::" WIDE "<std::char_traits<char>>::operator->", "ns::" WIDE "<...>::operator->");
    is("ns::" WIDE "<std::char_traits<char>>::operator<", "ns::" WIDE "<...>::operator<");
    is(WIDE "::operators<std::char_traits<char>>", WIDE "::operators<...>");
}

static void a_rust_path_keeps_what_it_begins_with(void **state)
{
    is("<alloc::vec::Vec<alloc::string::String, alloc::alloc::Global> as core::ops::Drop>::drop",
       "<alloc::vec::Vec<...> as core::ops::Drop>::drop");
}

static void brackets_that_never_close_are_left_alone(void **state)
{
    is(WIDE "<char, int", WIDE "<char, int");
    is(WIDE ">char, int>", WIDE ">char, int>");
    is(WIDE "->x<", WIDE "->x<");
}

/* A search for the end of each bracket would take minutes here: time would grow as the square. */
static void a_name_of_a_megabyte_takes_no_longer_than_to_read_it(void **state)
{
    enum { BYTES = 1 << 20 };
    char *const name = malloc(BYTES + 1);
    assert_non_null(name);
    for (size_t i = 0; i < BYTES; i += 2)
        memcpy(name + i, "a<", 2);
    name[BYTES] = '\0';
    const clock_t began = clock();
    is(name, name);
    assert_true(clock() - began < 5 * CLOCKS_PER_SEC);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_names_keep_their_template_arguments),
        cmocka_unit_test(strings_have_the_name_that_people_write),
        cmocka_unit_test(long_names_lose_their_template_arguments),
        cmocka_unit_test(operators_keep_their_brackets),
        cmocka_unit_test(a_rust_path_keeps_what_it_begins_with),
        cmocka_unit_test(brackets_that_never_close_are_left_alone),
        cmocka_unit_test(a_name_of_a_megabyte_takes_no_longer_than_to_read_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
