/* progress.h: the line on the terminal of standard error that says how far long work is. It appears
 * after a second without messages, and disappears before other output and at the end of the work.
 */
#pragma once

#include "base/progress.h"

/* The variable that has the silence before the line, in milliseconds; 1000 if it is not set. */
#define PT_PROGRESS_VARIABLE "PITOT_PROGRESS_MS"

/* NULL if standard error is no terminal, or a terminal that cannot erase a line: functions that
 * take a pt_progress then show nothing. */
pt_progress *pt_progress_line_new(void);
