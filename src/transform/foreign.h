/* foreign.h: removes the frames that are not the program's own, so that the time of these frames
 * counts for the program's function that called them.
 *
 *   memmove < vector::vector < Ledger::append < main      ->   Ledger::append < main
 *   gc_worker < start_thread                              ->   [not the program's code]
 */
#pragma once

#include "model/profile.h"

#define PT_FOREIGN_NAME "[not the program's code]"

/* own_line: per line of the profile; own_nameless: per mapping, for locations without lines
 * (view/own_code.h finds both). Samples keep their values: a stack without an own frame becomes one
 * frame PT_FOREIGN_NAME, and an empty stack stays empty. Call arcs stay only if both ends are own
 * functions; diag gets the number of dropped arcs with an own caller, whose total becomes smaller.
 * *ret_profile is a new reference. Fails if the profile has no room for one more function. */
pt_status pt_fold_foreign(const pt_profile *profile, const bool *own_line, const bool *own_nameless,
                          const pt_profile **ret_profile, pt_diag *diag, pt_error *reterr);
