/* demangle.h: converts linker names into the names of the source.
 *
 * C++ (Itanium ABI), Rust (legacy _ZN...17h<hash>E and v0 _R...) and D (_D...). The mode decides
 * which parts are dropped:
 *
 *                _ZN2ns3mapIiE3getERKi.cold        _RINvCs1234_3lib4sortmE
 *   FULL         ns::map<int>::get(int const&)     lib::sort::<u32>
 *   TEMPLATES    ns::map<int>::get                 lib::sort::<u32>
 *   SIMPLE       ns::map::get                      lib::sort
 *
 * pitot's own reports use TEMPLATES: overloads share a name (file and line tell them apart), but
 * each instance of a template has its own name. SIMPLE is the default of google/pprof. No mode
 * except BINUTILS shows clone suffixes (.cold, .part.0, ...) of mangled names, Rust's hashes or
 * symbol versions (@GLIBC_2.17); the system name keeps these. Stubs keep their @plt. Names that are
 * not mangled (foo.isra.0 of C) stay unchanged.
 */
#pragma once

#include <stdbool.h>

typedef enum {
    PT_DEMANGLE_TEMPLATES = 0, /* without parameters, of the function and of enclosing functions */
    PT_DEMANGLE_SIMPLE,        /* without template arguments too */
    PT_DEMANGLE_FULL,          /* with parameters */
    PT_DEMANGLE_NONE,          /* the linker's name */
    PT_DEMANGLE_BINUTILS, /* as nm prints it: full, with clone suffixes: "f(int) [clone .cold]" */
    /* As google/pprof prints names (ianlancetaylor/demangle): by default, with demangle=templates,
     * with demangle=full. Enclosing functions keep empty parentheses
     * ("f()::{lambda(int)#1}::operator()"), generic arguments of Rust keep empty angles. */
    PT_DEMANGLE_PPROF,
    PT_DEMANGLE_PPROF_TEMPLATES,
    PT_DEMANGLE_PPROF_FULL,
} pt_demangle_mode;

/* The readable name, which the caller frees. Returns NULL when `name` is not mangled, is damaged,
 * is longer than 16 KiB (the demanglers recurse), or would become longer than 64 KiB (substitutions
 * can repeat each other without bound). Thread-safe. */
char *pt_demangle(const char *name, pt_demangle_mode mode);

/* A function's name from a profile, in google/pprof's form: demangled, or, if it resembles a
 * demangled name of C++, without the parentheses and angles that the mode drops
 * (internal/symbolizer: demangleSingleFunction). The caller frees it. Modes other than PPROF's only
 * demangle. */
char *pt_demangle_pprof(const char *name, pt_demangle_mode mode);

/* The name in debug information, for a function without a mangled name, in the mode's form: SIMPLE
 * drops template arguments. The caller frees it. */
char *pt_demangle_source_name(const char *name, pt_demangle_mode mode);

/* The part of a readable name after its last "::" outside brackets. Points into name. */
const char *pt_name_unscoped(const char *name);
