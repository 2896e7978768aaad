/* print_procedure_diff.h: the comparison of a procedure in two sets, in the layout of dcpidiff. */
#pragma once

#include "base/buf.h"
#include "personality/dcpi/procedure_diff.h"
#include "render/look.h"

/* Puts the head, then a line for each place. what: the word for the compared value, which the head
 * has before "by". */
void pt_procedure_diff_text(pt_out *out, const pt_look *look, const pt_procedure *procedure,
                            const char *what, const pt_procedure_diff *diff);
/* head: put the line of column names first. */
void pt_procedure_diff_csv(pt_out *out, const pt_procedure *procedure,
                           const pt_procedure_diff *diff, bool head);
