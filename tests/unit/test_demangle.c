/* test_demangle.c: mangled names from the documents of C++ and Rust, and from gcc 12 by way of
 * c++filt 2.40 (binutils); what hostile names may cost. */
#include "base_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "object/demangle.h"

static void check(const char *mangled, pt_demangle_mode mode, const char *expected)
{
    char *text = pt_demangle(mangled, mode);
    if (expected == NULL) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void names_keep_template_arguments_and_lose_parameters(void **state)
{
    /* Itanium C++ ABI, 5.1.3 and 5.1.5: f(int), a nested name, a template with its return type. */
    check("_Z1fi", PT_DEMANGLE_TEMPLATES, "f");
    check("_ZN5StackIiiE5levelE", PT_DEMANGLE_TEMPLATES, "Stack<int, int>::level");
    check("_Z5firstI3DuoEvS0_", PT_DEMANGLE_TEMPLATES, "first<Duo>");
    /* c++filt --no-params, and the enclosing function without its parameters. */
    check("_ZNSt6vectorIiSaIiEE9push_backEOi", PT_DEMANGLE_TEMPLATES,
          "std::vector<int, std::allocator<int> >::push_back");
    check("_ZZ4mainENKUliE_clEi", PT_DEMANGLE_TEMPLATES, "main::{lambda(int)#1}::operator()");
    check("_ZZN1AIiE3fooIcEEvT_ENKUlS2_E_clEc", PT_DEMANGLE_TEMPLATES,
          "A<int>::foo<char>::{lambda(auto:1)#1}::operator()");
}

static void simple_names_lose_template_arguments_too(void **state)
{
    check("_ZN5StackIiiE5levelE", PT_DEMANGLE_SIMPLE, "Stack::level");
    check("_Z5firstI3DuoEvS0_", PT_DEMANGLE_SIMPLE, "first");
    check("_ZNSt6vectorIiSaIiEE9push_backEOi", PT_DEMANGLE_SIMPLE, "std::vector::push_back");
    check("_ZNSsC1EPKcRKSaIcE", PT_DEMANGLE_SIMPLE, "std::basic_string::basic_string");
    check("_ZZN1AIiE3fooIcEEvT_ENKUlS2_E_clEc", PT_DEMANGLE_SIMPLE,
          "A::foo::{lambda(auto:1)#1}::operator()");
    /* Angle brackets that are no arguments. */
    check("_ZltRK1AS1_", PT_DEMANGLE_SIMPLE, "operator<");
    check("_ZN1AptEv", PT_DEMANGLE_SIMPLE, "A::operator->");
    check("_ZlsIiERSoS0_RKT_", PT_DEMANGLE_SIMPLE, "operator<<");
}

static void full_names_are_those_of_cxxfilt(void **state)
{
    check("_Z1fi", PT_DEMANGLE_FULL, "f(int)");
    check("_Z5firstI3DuoEvS0_", PT_DEMANGLE_FULL, "void first<Duo>(Duo)");
    check("_ZZ4mainENKUliE_clEi", PT_DEMANGLE_FULL, "main::{lambda(int)#1}::operator()(int) const");
}

/* By ianlancetaylor/demangle as it comes with Go 1.23 (demangle.Filter with the options that
 * google/pprof gives it for each mode). */
static void names_for_pprof_are_those_that_it_shows(void **state)
{
    static const char *const cases[][4] = {
        {"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector::push_back",
         "std::vector<int, std::allocator<int> >::push_back",
         "std::vector<int, std::allocator<int> >::push_back(int&&)"},
        {"_ZN4llvm11PassManagerINS_6ModuleENS_15AnalysisManagerIS1_JEEEJEE3runERS1_RS3_",
         "llvm::PassManager::run",
         "llvm::PassManager<llvm::Module, llvm::AnalysisManager<llvm::Module> >::run",
         "llvm::PassManager<llvm::Module, llvm::AnalysisManager<llvm::Module> "
         ">::run(llvm::Module&, "
         "llvm::AnalysisManager<llvm::Module>&)"},
        {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()",
         "main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()(int) const"},
        {"_ZZN10PgScrubber12select_rangeEvE15assert_data_ctx_2",
         "PgScrubber::select_range()::assert_data_ctx",
         "PgScrubber::select_range()::assert_data_ctx",
         "PgScrubber::select_range()::assert_data_ctx"},
        {"_ZZNK1A3fooEiENKUlRSt6vectorIiSaIiEEE_clES3_",
         "A::foo() const::{lambda(std::vector&)#1}::operator()",
         "A::foo() const::{lambda(std::vector<int, std::allocator<int> >&)#1}::operator()",
         "A::foo(int) const::{lambda(std::vector<int, std::allocator<int> "
         ">&)#1}::operator()(std::vector<int, std::allocator<int> >&) const"},
        {"_ZN13LambdaContextIZN3OSD11do_recoveryEP2PGjEUliE_E6finishEi.cold",
         "LambdaContext::finish", "LambdaContext<OSD::do_recovery()::{lambda(int)#1}>::finish",
         "LambdaContext<OSD::do_recovery(PG*, unsigned int)::{lambda(int)#1}>::finish(int)"},
        {"_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVechE8grow_one",
         "<alloc::raw_vec::RawVec<>>::grow_one", "<alloc::raw_vec::RawVec<u8>>::grow_one",
         "<alloc::raw_vec::RawVec<u8>>::grow_one"},
        {"_ZN2h24Recv4open10__CALLSITE17h041cedec1251bd62E", "h2::Recv::open::_CALLSITE",
         "h2::Recv::open::_CALLSITE", "h2::Recv::open::_CALLSITE"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(cases[i][0], PT_DEMANGLE_PPROF, cases[i][1]);
        check(cases[i][0], PT_DEMANGLE_PPROF_TEMPLATES, cases[i][2]);
        check(cases[i][0], PT_DEMANGLE_PPROF_FULL, cases[i][3]);
    }
}

static void names_that_are_readable_already_are_cut_as_pprof_cuts_them(void **state)
{
    static const char *const cases[][3] = {
        {"ns::f(int, std::vector<int>)", "ns::f", "ns::f"},
        {"ns::map<int, vector<int>>::get(int)", "ns::map::get", "ns::map<int, vector<int>>::get"},
        {"java.util.List.<init>", "java.util.List.<init>", "java.util.List.<init>"},
        {"main.(*Tree[...]).Walk", "main.(*Tree[...]).Walk", "main.(*Tree[...]).Walk"},
        {"main.main", "main.main", "main.main"},
        {"f(int)", "f(int)", "f(int)"},
        {"a::b)c(d)", "a::b)c(d)", "a::b)c(d)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PT_FREE char *simple = pt_demangle_pprof(cases[i][0], PT_DEMANGLE_PPROF);
        PT_FREE char *templates = pt_demangle_pprof(cases[i][0], PT_DEMANGLE_PPROF_TEMPLATES);
        PT_FREE char *full = pt_demangle_pprof(cases[i][0], PT_DEMANGLE_PPROF_FULL);
        assert_string_equal(simple, cases[i][1]);
        assert_string_equal(templates, cases[i][2]);
        assert_string_equal(full, cases[i][0]);
    }
}

/* The D ABI's own examples, and c++filt -s dlang 2.40. */
static void names_of_d_are_read_too(void **state)
{
    check("_D3foo3barFiZv", PT_DEMANGLE_FULL, "foo.bar(int)");
    check("_D3foo3barFiZv", PT_DEMANGLE_TEMPLATES, "foo.bar");
    check("_D8demangle13__T4testTaTaZ4testFaaZv", PT_DEMANGLE_FULL,
          "demangle.test!(char, char).test(char, char)");
    check("_D8demangle13__T4testTaTaZ4testFaaZv", PT_DEMANGLE_TEMPLATES,
          "demangle.test!(char, char).test");
    check("_D8demangle13__T4testTaTaZ4testFaaZv", PT_DEMANGLE_SIMPLE, "demangle.test.test");
    check("_Dmain", PT_DEMANGLE_FULL, "D main");
    check("_Data", PT_DEMANGLE_FULL, NULL);
}

static void clone_suffixes_of_mangled_names_are_not_shown(void **state)
{
    check("_ZN2ns3mapIiE3getERKi.cold", PT_DEMANGLE_TEMPLATES, "ns::map<int>::get");
    check("_ZN2ns3mapIiE3getERKi.isra.0.cold", PT_DEMANGLE_FULL, "ns::map<int>::get(int const&)");
    check("_Z3fooi.constprop.0", PT_DEMANGLE_SIMPLE, "foo");
    /* A name of C: the suffix is part of its only name. */
    check("foo.isra.0", PT_DEMANGLE_TEMPLATES, NULL);
}

/* As gcc 12 writes DW_AT_name. */
static void names_of_the_source_lose_template_arguments_only_when_simple(void **state)
{
    static const char *const cases[][2] = {
        {"std::sort<int*, main(int, char**)::<lambda(int, int)> >", "std::sort"},
        {"ns::map<int, vector<int> >::get<3>", "ns::map::get"},
        {"operator<", "operator<"},
        {"operator<< <char>", "operator<< <char>"},
        {"A<int>::operator-><long int>", "A::operator-><long int>"},
        {"<lambda(int)>::operator()", "<lambda(int)>::operator()"},
        {"broken<int", "broken<int"},
        {"plain", "plain"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *simple = pt_demangle_source_name(cases[i][0], PT_DEMANGLE_SIMPLE);
        char *whole = pt_demangle_source_name(cases[i][0], PT_DEMANGLE_TEMPLATES);
        assert_string_equal(simple, cases[i][1]);
        assert_string_equal(whole, cases[i][0]);
        free(simple);
        free(whole);
    }
}

static void a_stub_keeps_its_mark_and_a_version_goes(void **state)
{
    check("_ZNSt6vectorIiSaIiEE9push_backEOi@plt", PT_DEMANGLE_SIMPLE,
          "std::vector::push_back@plt");
    check("_Z1fi@plt", PT_DEMANGLE_FULL, "f(int)@plt");
    check("_Z1fi@@VERSION_1", PT_DEMANGLE_FULL, "f(int)");
    check("puts@plt", PT_DEMANGLE_FULL, NULL);
}

static void rust_names_lose_their_hash(void **state)
{
    /* rustc book, "Symbol Mangling": what rustfilt prints. */
    check("_RNvCskwGfYPst2Cb_3foo16example_function", PT_DEMANGLE_TEMPLATES,
          "foo::example_function");
    /* Documentation of the crate rustc-demangle, "Without hash". */
    check("_ZN3foo17h05af221e174051e9E", PT_DEMANGLE_TEMPLATES, "foo");
    /* By the grammar of the v0 symbol format: I = generic arguments, m = u32. */
    check("_RINvCs1234_3lib4sortmE", PT_DEMANGLE_TEMPLATES, "lib::sort::<u32>");
    check("_RINvCs1234_3lib4sortmE", PT_DEMANGLE_SIMPLE, "lib::sort");
    /* Escapes as tools of the kernel list them: $LT$ is <, $u20$ a space, .. is ::. */
    check("_ZN49_$LT$lib..Fd$u20$as$u20$core..ops..drop..Drop$GT$4drop17h05af221e174051e9E",
          PT_DEMANGLE_TEMPLATES, "<lib::Fd as core::ops::drop::Drop>::drop");
}

static void what_is_not_mangled_has_no_other_name(void **state)
{
    const char *const names[] = {"main", "",           "_",     "_Z",           "_R",     "_start",
                                 "_ZN",  "_Znonsense", "Zebra", "runtime.main", "_Z3foo_"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int mode = PT_DEMANGLE_TEMPLATES; mode <= PT_DEMANGLE_NONE; mode++) {
            char *text = pt_demangle(names[i], (pt_demangle_mode)mode);
            if (text != NULL && strcmp(names[i], "_Z3foo_") != 0)
                fail_msg("%s became %s", names[i], text);
            free(text);
        }
    check("_Z1fi", PT_DEMANGLE_NONE, NULL);
}

/* Pointers to pointers to ...: as deep as the name is long. */
static void a_name_as_deep_as_it_is_long_does_not_exhaust_the_stack(void **state)
{
    enum { SIZE = 16384 };
    static const char openers[] = "PKNIXLFAM";
    for (size_t k = 0; openers[k] != '\0'; k++) {
        char *name = calloc(SIZE + 2, 1);
        memset(name, openers[k], SIZE - 1);
        memcpy(name, "_Z1f", 4);
        name[SIZE - 1] = 'i';
        for (int mode = PT_DEMANGLE_TEMPLATES; mode < PT_DEMANGLE_NONE; mode++)
            free(pt_demangle(name, (pt_demangle_mode)mode));
        memcpy(name, "_RNvC3", 6);
        free(pt_demangle(name, PT_DEMANGLE_FULL));
        name[SIZE] = 'i'; /* one byte too long: not tried */
        memcpy(name, "_Z1f", 4);
        assert_null(pt_demangle(name, PT_DEMANGLE_FULL));
        free(name);
    }
}

/* Each substitution stands for a pair of the one before: the text doubles with every step. */
static void a_name_that_would_become_huge_is_given_up(void **state)
{
    pt_buf name = PT_BUF_INIT;
    pt_put_text(&name, "_Z1f1AIiiE");
    const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    /* S_ = A, S0_ = A<i,i>, then A<S0_,S0_> = S1_, A<S1_,S1_> = S2_ ... */
    for (int i = 0; i < 34; i++)
        pt_putf(&name, "S_IS%c_S%c_E", digits[i], digits[i]);
    assert_null(pt_demangle(pt_buf_text(&name), PT_DEMANGLE_FULL));
    char *text = pt_demangle(pt_buf_text(&name), PT_DEMANGLE_TEMPLATES);
    assert_string_equal(text, "f"); /* without its parameters it is short */
    free(text);
    pt_buf_done(&name);
}

static void every_shortened_and_altered_name_is_survived(void **state)
{
    static const char *const names[] = {
        "_ZNSt8__detail9_ExecutorIPKcSaINSt7__cxx119sub_matchIS2_EEENS3_12regex_traitsIcEELb0EE",
        "_ZZN1AIiE3fooIcEEvT_ENKUlS2_E_clEc", "_RINvNtCs1234_3lib3modINtC1b1SmE4sortRLeEB2_",
        "_ZNK1BcvSt6vectorIT_SaIS1_EEIiEEv"};
    uint64_t random = 2;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const size_t n = strlen(names[k]);
        for (size_t i = 0; i < n * 200; i++) {
            char copy[256];
            memcpy(copy, names[k], n + 1);
            if (i < n)
                copy[i] = '\0';
            else
                copy[3 + next_random(&random) % (n - 3)] = (char)(33 + next_random(&random) % 94);
            for (int mode = PT_DEMANGLE_TEMPLATES; mode < PT_DEMANGLE_NONE; mode++)
                free(pt_demangle(copy, (pt_demangle_mode)mode));
        }
    }
}

/* c++filt 2.40 prints the first; it takes the others for hours. */
static void a_rust_name_may_bind_lifetimes_but_not_billions(void **state)
{
    (void)state;
    check("_RINvC1a1fFG_RL0_hEuE", PT_DEMANGLE_FULL, "a::f::<for<'a> fn(&'a u8)>");
    assert_null(pt_demangle("_RMFGzzzzzzzz_EuC1aC1b", PT_DEMANGLE_FULL));
    assert_null(pt_demangle("_RYYXYFGFFFFFYYYYYYYYNtCs1_0_", PT_DEMANGLE_FULL));
    assert_null(pt_demangle("_RINvC1a1fDGzzzzzzzz_EL_E", PT_DEMANGLE_FULL));
    /* The same letters in an identifier bind nothing. */
    check("_RNvC1a12Gzzzzzzzzzz_", PT_DEMANGLE_FULL, "a::Gzzzzzzzzzz_");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rust_name_may_bind_lifetimes_but_not_billions),
        cmocka_unit_test(names_keep_template_arguments_and_lose_parameters),
        cmocka_unit_test(simple_names_lose_template_arguments_too),
        cmocka_unit_test(full_names_are_those_of_cxxfilt),
        cmocka_unit_test(names_for_pprof_are_those_that_it_shows),
        cmocka_unit_test(names_that_are_readable_already_are_cut_as_pprof_cuts_them),
        cmocka_unit_test(names_of_d_are_read_too),
        cmocka_unit_test(clone_suffixes_of_mangled_names_are_not_shown),
        cmocka_unit_test(names_of_the_source_lose_template_arguments_only_when_simple),
        cmocka_unit_test(a_stub_keeps_its_mark_and_a_version_goes),
        cmocka_unit_test(rust_names_lose_their_hash),
        cmocka_unit_test(what_is_not_mangled_has_no_other_name),
        cmocka_unit_test(a_name_as_deep_as_it_is_long_does_not_exhaust_the_stack),
        cmocka_unit_test(a_name_that_would_become_huge_is_given_up),
        cmocka_unit_test(every_shortened_and_altered_name_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
