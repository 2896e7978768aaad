/* demangle.h: names as a linker knows them -> names as their author wrote them.
 *
 * C++ (Itanium ABI), Rust (legacy _ZN...17h<hash>E and v0 _R...) and D (_D...). What is dropped:
 *
 *                _ZN2ns3mapIiE3getERKi.cold        _RINvCs1234_3lib4sortmE
 *   FULL         ns::map<int>::get(int const&)     lib::sort::<u32>
 *   TEMPLATES    ns::map<int>::get                 lib::sort::<u32>
 *   SIMPLE       ns::map::get                      lib::sort
 *
 * TEMPLATES is what our own reports show: overloads fall together, as their file and line tell them
 * apart, but which instance of a template is hot is what one wants to know. SIMPLE is the default
 * of google/pprof. No mode shows clone suffixes (.cold, .part.0, ...) of mangled names, nor Rust's
 * hashes, nor symbol versions (@GLIBC_2.17): the system name keeps them. Stubs keep their @plt.
 * Names that are not mangled (foo.isra.0 of C) stay as they are.
 */
#ifndef PT_OBJECT_DEMANGLE_H
#define PT_OBJECT_DEMANGLE_H

#include <stdbool.h>

typedef enum {
    PT_DEMANGLE_TEMPLATES = 0, /* no parameters of functions and of those that enclose them */
    PT_DEMANGLE_SIMPLE,        /* no template arguments either */
    PT_DEMANGLE_FULL,          /* with parameters */
    PT_DEMANGLE_NONE,          /* as the linker knows it */
    PT_DEMANGLE_BINUTILS,      /* full, with clone suffixes: "f(int) [clone .cold]"; as nm has it */
    /* What google/pprof makes of names (ianlancetaylor/demangle): by default, with
     * demangle=templates, with demangle=full. Enclosing functions keep empty parentheses
     * ("f()::{lambda(int)#1}::operator()"), Rust's generic arguments empty angles. */
    PT_DEMANGLE_PPROF,
    PT_DEMANGLE_PPROF_TEMPLATES,
    PT_DEMANGLE_PPROF_FULL,
} pt_demangle_mode;

/* The mode called "templates", "simple", "full" or "none". */
bool pt_demangle_mode_named(const char *text, pt_demangle_mode *ret_mode);

/* The readable name (free it), or NULL when `name` is not mangled, is damaged, is longer than 16
 * KiB (the demanglers recurse), or would become longer than 64 KiB (substitutions can repeat each
 * other without bound). Thread-safe. */
char *pt_demangle(const char *name, pt_demangle_mode mode);

/* A name that a profile brings, as google/pprof shows it: demangled, or, if it looks like a
 * demangled name of C++, without the parentheses and angles that the mode drops (internal/
 * symbolizer: demangleSingleFunction). Free it. Modes other than PPROF's only demangle. */
char *pt_demangle_pprof(const char *name, pt_demangle_mode mode);

/* A name as debug information has it, for functions whose mangled name is not known, in that mode
 * (free it): SIMPLE takes the template arguments away. */
char *pt_demangle_source_name(const char *name, pt_demangle_mode mode);

/* The part of a readable name that follows its last "::" outside any brackets. */
const char *pt_name_unscoped(const char *name);

#endif
