/* own_code.h: which functions are the program's own, and who among them called the others.
 *
 * What is not: the kernel, shared libraries of the system, runtimes (view/runtimes.h) with what
 * they bring along, and the standard libraries that compilers put into a program: by the mapped
 * file, the source file, and the function's name. To change what counts as the program's own, open
 * own_code.c: each rule is a row of a table.
 *
 *   main -> Ledger::append (ledger.cc:88) -> std::vector::vector -> __memcpy_avx
 *           the own caller of __memcpy_avx, which is what its author can change
 */
#ifndef PT_VIEW_OWN_CODE_H
#define PT_VIEW_OWN_CODE_H

#include "view/fold.h"

/* Per line of the line table: is the function the program's own? The caller frees. */
bool *pt_own_lines(const pt_profile *profile);

/* The own function that most of a row's self was called from. */
typedef struct pt_own_caller {
    char *name;       /* NULL: the row is the program's own, or nothing of it was called by that */
    const char *file; /* of the profile; "" = unknown */
    int64_t line;     /* from where it calls; 0 = unknown */
    double share;     /* of the row's self */
} pt_own_caller;

/* Of each of these rows of the fold, by one event's values. The caller frees with
 * pt_own_callers_free. */
pt_own_caller *pt_own_callers(const pt_fold *fold, uint32_t event, const uint32_t *rows,
                              size_t count);
void pt_own_callers_free(pt_own_caller *callers, size_t count);

#endif
