/* test_why.c: which cause each function shows, and that the table of causes is whole. */
#include "base_check.h"

#include <string.h>

#include "view/why_causes.h"

static const char *cause_id(const char *name, const char *linkage, const char *file,
                            pt_why_origin origin)
{
    return pt_why_causes[pt_why_cause_of(name, linkage, file, origin)].id;
}

static void functions_show_causes(void **state)
{
    static const struct {
        const char *name, *cause;
    } known[] = {
        {"__memmove_avx_unaligned_erms", "copying-memory"},
        {"__memcpy_evex_unaligned_erms", "copying-memory"},
        {"memcpy@plt", "copying-memory"},
        {"__GI___libc_write", "system-calls-write"},
        {"__strlen_avx2", "lengths-of-strings"},
        {"__GI___strlen_sse2", "lengths-of-strings"},
        {"_int_malloc", "allocating"},
        {"operator new", "allocating"},
        {"std::vector<int>::_M_realloc_insert<int const&>", "growing-arrays"},
        {"void std::__introsort_loop<int*, long>", "sorting"},
        {"std::ostream::flush", "flushing-lines"},
        {"std::basic_ostream<char, std::char_traits<char> >& std::endl<char>", "flushing-lines"},
        {"std::_Rb_tree<int, int>::find", "tables-by-order"},
        {"_Unwind_RaiseException", "exceptions"},
        {"runtime.gcBgMarkWorker.func2", "collecting-garbage"},
        {"fmt.Sprintf", "formatting-text"},
        {"<alloc::vec::Vec<T,A> as core::clone::Clone>::clone", "copying-objects"},
        {"list_contains", "searching-lists"},
        {"_PyEval_EvalFrameDefault", "interpreter"},
        {"clear_page_erms", "page-faults"},
        {"__x64_sys_execve", "starting-programs"},
        {"_start", "interpreter"},
        {"_find_and_load", "importing"},
        {"sqlite3_step", "queries"},
        {"__sched_yield", "yielding"},
        {"__x64_sys_sched_yield", "yielding"},
        {"[not sampled: fork, exec, loader]", "starting-programs"},
        {"___dlopen", "loading-libraries"},
        {"_dl_runtime_resolve_xsavec", "own-code"},
        {"_dl_fixup", "own-code"},
        {"filemap_fault", "file-pages"},
        {"__libc_start_call_main", "interpreter"},
        {"__libc_pread64", "system-calls-read"},
        {"__libc_fork", "starting-programs"},
        {"PyErr_Format", "exceptions"},
        {"Builtins_GrowFastSmiOrObjectElements", "growing-arrays"},
        {"Builtin:GrowFastSmiOrObjectElements", "growing-arrays"},
        {"Builtins_ArrayIncludesPackedDoubles", "searching-lists"},
        {"alloc::raw_vec::RawVec<T,A>::grow_one", "growing-arrays"},
        {"<alloc::raw_vec::RawVec<T,A> as core::ops::drop::Drop>::drop", "allocating"},
        {"std::shared_ptr<Node>::~shared_ptr", "counting-references"},
        {"Perl_pp_sort", "sorting"},
        {"PHP_MD5Final", "digests"},
        {"libdeflate_gzip_decompress_ex", "compressing"},
        {"std::map<int, int>::~map", "destroying-objects"},
        {"std::_Rb_tree<int, int>::_M_erase", "destroying-objects"},
        {"std::_Rb_tree<int, int>::_M_erase_aux", "tables-by-order"},
        {"std::_Rb_tree<int, int>::_M_copy<false>", "copying-objects"},
        {"core::ptr::drop_in_place<alloc::string::String>", "destroying-objects"},
        {"std::shared_ptr<Node>::~shared_ptr", "counting-references"},
        {"std::vector<long>::erase", "moving-elements"},
        {"std::vector<long>::insert", "own-code"}, /* it may append */
        {"alloc::vec::Vec<T,A>::remove", "moving-elements"},
        {"list_ass_slice", "moving-elements"},
        {"list_ass_subscript", "own-code"},
        {"Builtins_ArrayPrototypeShift", "moving-elements"},
        {"std::__cxx11::basic_istringstream<char>::basic_istringstream", "making-streams"},
        {"std::__push_heap<int*>", "heaps"},
        {"void std::__pop_heap<int*>", "heaps"},
        {"heapq_heappop", "heaps"},
        {"icu_78::DecimalFormatSymbols::initialize", "languages-and-countries"},
        {"v8::internal::Builtin_NumberPrototypeToLocaleString", "languages-and-countries"},
        {"v8::internal::Builtin_NumberPrototypeToFixed", "formatting-text"},
        {"v8::internal::PreParser::ParseStatement", "compiling-code"},
        {"getaddrinfo", "finding-hosts"},
        {"__libc_connect", "opening-connections"},
        {"pthread_create@@GLIBC_2.34", "starting-threads"},
        {"Reader_iternext", "csv"},
        {"xmlParseChunk", "xml"},
        {"list_concat", "copying-objects"},
        {"unicode_replace", "changing-text"},
        {"strings.ToLower", "changing-text"},
        {"<core::str::iter::Chars as core::iter::traits::iterator::Iterator>::advance_by",
         "decoding-text"},
        {"unicode_decode_utf8.part.0", "decoding-text"},
        {"_int_free.isra.0", "allocating"},
        {"list_sort_impl.constprop.0", "sorting"},
        {"reflect.Value.Field", "reflection"},
        {"_io_open", "whole-files"},
        {"node::fs::ReadFileUtf8", "whole-files"},
        {"node::fs::InternalModuleStat", "system-calls-files"},
        {"os.ReadFile", "whole-files"},
        {"__wait4", "waiting-for-processes"},
        {"k_mul", "large-numbers"},
        {"math/big.nat.mul", "large-numbers"},
        {"math.Sqrt", "mathematics"},
        {"runtime.chansend1", "switching-tasks"},
        {"runtime.findRunnable", "switching-tasks"},
        {"sync.(*Mutex).Lock", "locks"},
        {"pthread_cond_wait@@GLIBC_2.3.2", "waiting-for-threads"},
        {"__clock_nanosleep", "sleeping"},
        {"__usleep", "sleeping"},
        {"epoll_wait", "system-calls-wait"},
        {"_IO_getc", "reading-pieces"},
        {"getcwd", "own-code"},
        {"fputs", "writing-pieces"},
        {"__GI___libc_read", "system-calls-read"},
        {"std::chrono::_V2::steady_clock::now", "clock"},
        {"std::chrono::duration<long>::count", "own-code"},
        {"runtime.duffcopy", "copying-memory"},
        {"Thread.join", "waiting-for-threads"},
        {"compile_file", "own-code"}, /* a function of a script, or of PHP */
        {"__bsd_signal", "signals"},
        {"node::InitializeOncePerProcessInternal", "starting-programs"},
        {"node::crypto::Hash::HashUpdate", "digests"},
        {"cfunction_vectorcall_FASTCALL_KEYWORDS", "interpreter"},
        {"<core::str::iter::Bytes as core::iter::traits::iterator::Iterator>::next", "own-code"},
        {"Builtins_RunMicrotasks", "own-code"}, /* all code of JavaScript may run in it */
        {"uv__io_poll", "own-code"},            /* it calls the program */
        {"unlinkat", "changing-folders"},
        {"__GI_symlinkat", "changing-folders"},
        {"Perl_pp_match", "matching-expressions"},
        {"Perl_hv_common", "tables-by-hash"},
        {"concat_function", "joining-text"},
        {"__pthread_clockjoin_ex", "waiting-for-threads"},
        {"my_strlen", "own-code"},
        {"parse_and_sort", "own-code"},
        {"Reader::read", "own-code"},
        {"", "own-code"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_string_equal(cause_id(known[i].name, "", "", PT_WHY_OF_LIBRARY), known[i].cause);
}

/* Itanium C++ ABI, 5.1.4.4: C1, C2 and C3 are constructors; RKS1_ is a reference to the const class
 * itself. */
static void copy_constructors_are_known_by_their_linkage_names(void **state)
{
    const char *const name = "std::vector<long>::vector";
    assert_string_equal(cause_id(name, "_ZNSt6vectorIlSaIlEEC2ERKS1_", "", PT_WHY_OF_LIBRARY),
                        "copying-objects");
    assert_string_equal(cause_id(name, "_ZNSt6vectorIlSaIlEEC2EmRKS0_", "", PT_WHY_OF_LIBRARY),
                        "own-code");
    assert_string_equal(cause_id("std::vector<int>::operator=", "_ZNSt6vectorIiSaIiEEaSERKS1_", "",
                                 PT_WHY_OF_LIBRARY),
                        "copying-objects");
    assert_string_equal(cause_id("std::vector<int>::operator=", "_ZNSt6vectorIiSaIiEEaSEOS1_", "",
                                 PT_WHY_OF_LIBRARY),
                        "own-code");
    assert_string_equal(cause_id("std::shared_ptr<Node>::shared_ptr",
                                 "_ZNSt10shared_ptrI4NodeEC2ERKS1_", "", PT_WHY_OF_LIBRARY),
                        "counting-references");
    assert_string_equal(cause_id(name, "_ZNSt6vectorIlSaIlEEC2EOS1_", "", PT_WHY_OF_LIBRARY),
                        "own-code");
}

static void the_programs_own_functions_show_a_librarys_causes_by_namespace_only(void **state)
{
    assert_string_equal(cause_id("inflate", "", "/home/me/inflate.c", PT_WHY_OF_PROGRAM),
                        "own-code");
    assert_string_equal(cause_id("inflate", "", "", PT_WHY_OF_LIBRARY), "compressing");
    assert_string_equal(
        cause_id("Doc::Doc", "_ZN3DocC2ERKS_", "/home/me/doc.cc", PT_WHY_OF_PROGRAM),
        "copying-objects");
    assert_string_equal(cause_id("Doc::Doc", "_ZN3DocC2Ev", "/home/me/doc.cc", PT_WHY_OF_PROGRAM),
                        "own-code");
    assert_string_equal(
        cause_id("nlohmann::json::parse", "", "/home/me/json.hpp", PT_WHY_OF_PROGRAM), "json");
}

/* The kernel makes the text of /proc files with a vsnprintf of its own. */
static void the_kernels_functions_show_causes_of_the_system_only(void **state)
{
    assert_string_equal(cause_id("vsnprintf", "", "", PT_WHY_OF_LIBRARY), "formatting-text");
    assert_string_equal(cause_id("vsnprintf", "", "", PT_WHY_OF_KERNEL), "own-code");
    assert_string_equal(cause_id("ksys_read", "", "", PT_WHY_OF_KERNEL), "system-calls-read");
    assert_string_equal(cause_id("do_fsync", "", "", PT_WHY_OF_KERNEL), "waiting-for-disk");
    assert_string_equal(cause_id("filemap_fault", "", "", PT_WHY_OF_KERNEL), "file-pages");
}

static void source_files_show_causes(void **state)
{
    assert_string_equal(cause_id("deepcopy", "", "/usr/lib/python3.11/copy.py", PT_WHY_OF_LIBRARY),
                        "serializing");
    assert_string_equal(
        cause_id("_compile", "", "/opt/lib/python3.11/re/_compiler.py", PT_WHY_OF_LIBRARY),
        "compiling-expressions");
}

static void each_cause_has_all_that_a_finding_says(void **state)
{
    for (size_t i = PT_WHY_FIRST_CAUSE; i < pt_why_cause_count; i++) {
        const pt_why_cause *const cause = &pt_why_causes[i];
        assert_non_null(cause->id);
        assert_non_null(cause->doing);
        assert_non_null(cause->advice);
        assert_true(cause->rank > 0);
        assert_non_null(cause->functions[0]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(pt_why_causes[k].id, cause->id);
    }
    assert_true(pt_why_cause_count <= UINT8_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_show_causes),
        cmocka_unit_test(copy_constructors_are_known_by_their_linkage_names),
        cmocka_unit_test(the_programs_own_functions_show_a_librarys_causes_by_namespace_only),
        cmocka_unit_test(the_kernels_functions_show_causes_of_the_system_only),
        cmocka_unit_test(source_files_show_causes),
        cmocka_unit_test(each_cause_has_all_that_a_finding_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
