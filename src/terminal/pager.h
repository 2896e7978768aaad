/* pager.h: shows a report on a terminal, in a pager if it does not fit on the screen.
 *
 *   pt_pager_begin -> puts to out -> pt_pager_end
 *
 * The report is kept in memory until it ends or has a megabyte, and then shown or handed to the
 * pager: the command of PITOT_PAGER, else of PAGER, else less. An empty variable and `cat` mean no
 * pager. The command is split into words and started without a shell.
 */
#pragma once

#include "base/buf.h"

#define PT_PAGER_VARIABLE "PITOT_PAGER"

typedef struct pt_pager pt_pager;

/* True if a report on standard output may need a pager: standard output is a terminal that this
 * process may use, whose size is known and which obeys control sequences. */
bool pt_pager_is_due(void);
/* Initialises out as a stream to standard output, in which control characters become visible, as on
 * a terminal, with and without a pager. */
pt_pager *pt_pager_begin(pt_out *out);
/* Shows the rest, waits for the pager's end, says the messages that were kept meanwhile, and frees
 * the pager. Flushes out, which stays the caller's; out has a broken pipe if the user left the
 * pager before it had the whole report. */
void pt_pager_end(pt_pager *pager);
