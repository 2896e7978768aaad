/* test_perl_name.c: short names of functions. The answers are what Perl makes of the regular
 * expressions in google-pprof's ShortFunctionName. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "personality/perl/perl.h"

static void is(const char *name, const char *brief)
{
    char *got = pt_perl_short_name(name, false);
    assert_string_equal(got, brief);
    free(got);
}

static void parameters_arguments_addresses_and_leading_types_go(void **state)
{
    is("main", "main");
    is("ns::f(int, char const*)", "ns::f");
    is("ns::C::m(int) const", "ns::C::m");
    is("std::map<int, std::less<int> >::operator[](int const&)", "std::map::operator[]");
    is("void std::sort<int*>(int*, int*)", "std::sort");
    is("ns::(anonymous namespace)::g(void (*)(int))", "ns::::g");
    is("C::operator<(C const&) const", "C::operator<");
    is("C::operator->() const", "C::operator->");
    is("operator<< <char>(std::ostream&)", "operator<< ");
    is("f(int) [clone .cold]", "f [clone .cold]");
    is("main<0000000000001139>", "main");
    is("f(int)<00000000004011a0>", "f");
    is("std::vector<int>::push_back(int const&)<00000000004011a0>", "std::vector::push_back");
    is("long ns::h<int>(int)", "ns::h");
    is("g(a)(b) constant", "gant");
    is("unbalanced(((int)", "unbalanced((");
}

static void template_arguments_stay_if_asked(void **state)
{
    char *got = pt_perl_short_name("std::map<int, long>::find(int const&)<0000000000401136>", true);
    assert_string_equal(got, "std::map<int, long>::find");
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_arguments_addresses_and_leading_types_go),
        cmocka_unit_test(template_arguments_stay_if_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
