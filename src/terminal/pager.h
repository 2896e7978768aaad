/* pager.h: a report on a terminal: shown at once if it fits on the screen, by a pager if not.
 *
 *   pt_pager_begin -> puts to out -> pt_pager_end
 *
 * The report is held until its end, or up to a megabyte; then it is known whether it fits. The
 * pager is the one of PITOT_PAGER, else of PAGER, else less. An empty variable and `cat` mean none.
 * A program is started with words, never through sh.
 */
#ifndef PT_TERMINAL_PAGER_H
#define PT_TERMINAL_PAGER_H

#include "base/buf.h"

#define PT_PAGER_VARIABLE "PITOT_PAGER"

typedef struct pt_pager pt_pager;

/* True if a report on standard output may need a pager: standard output is a terminal that this
 * process may use, whose size is known and which obeys control sequences. */
bool pt_pager_is_due(void);
/* Initialises out as a stream to standard output. out is treated as a terminal: control characters
 * are put in visible form, whoever shows them. */
pt_pager *pt_pager_begin(pt_out *out);
/* Shows what is left, waits for the pager's end, and says the messages that came meanwhile. Frees
 * the pager. out stays the caller's; it is flushed. A pager that was ended early is a broken pipe
 * of out. */
void pt_pager_end(pt_pager *pager);

#endif
