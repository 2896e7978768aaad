/* progress.h: a line on the terminal of standard error that says how far long work is. It comes
 * after a second without messages, and goes before anything else is written and at the end.
 */
#ifndef PT_TERMINAL_PROGRESS_H
#define PT_TERMINAL_PROGRESS_H

#include "base/progress.h"

/* The silence before the line, in milliseconds; 1000 without it. */
#define PT_PROGRESS_VARIABLE "PITOT_PROGRESS_MS"

/* NULL, with which nothing is shown, if standard error is no terminal or one that cannot erase a
 * line. */
pt_progress *pt_progress_line_new(void);

#endif
