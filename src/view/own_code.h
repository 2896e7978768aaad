/* own_code.h: decides which functions are the program's own, and finds the own function from which
 * another function was called.
 *
 * Not the program's own are the kernel, shared libraries of the system, runtimes (view/runtimes.h)
 * with their own libraries, and the standard libraries that compilers put into a program. Such code
 * is recognized by the mapped file, the source file, and the function's name. To change this, open
 * own_code.c: each rule is a row of a table.
 *
 *   main -> Ledger::append (ledger.cc:88) -> std::vector::vector -> __memcpy_avx
 *           the own caller of __memcpy_avx, which its author can change */
#pragma once

#include "view/table.h"

/* The name of a C++ function without its return type: "std::sort<...>" for "void std::sort<...>".
 * Returns a pointer into name. */
const char *pt_without_return_type(const char *name);

/* Begins at the dot a suffix that gcc and clang give to pieces of one C function, such as
 * ".part.0"? */
bool pt_is_compilers_suffix(const char *dot);

/* Is the location in the kernel, by its flag or by its mapping? */
bool pt_is_kernel_code(const pt_profile *profile, uint32_t location);

/* Per mapping: is its code without names the program's own? The caller frees the flags. */
bool *pt_own_nameless(const pt_profile *profile);

/* Per line of the line table: is the function the program's own? A frame that stands for a label is
 * the program's own. by_names: where no system library is known by its mapped file (a static
 * program, a profile of names only), a function without a known source file is not the program's if
 * its name shows a cause (view/why_causes.h), such as memcpy. The caller frees the flags. */
bool *pt_own_lines(const pt_profile *profile, bool by_names);

/* Fills in the own callers of the table's rows, which must be functions, by the values of that
 * event. */
pt_status pt_own_callers(pt_top *top, const pt_profile *profile, uint32_t event,
                         const pt_fold_rule *rule, pt_error *reterr);
