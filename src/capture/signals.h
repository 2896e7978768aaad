/* signals.h: signals while a recording runs, the same for both engines.
 *
 *                     without a command    with a command
 *   SIGINT, SIGQUIT   end the recording    passed on, unless the keyboard sent them to both
 *   SIGTERM, SIGHUP   end the recording    passed on
 *   SIGUSR1, SIGUSR2  as before            passed on
 *
 * The end of the command ends its recording.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum { PT_RECORD_SIGNALS = 6 };

typedef struct pt_record_signals {
    struct sigaction before[PT_RECORD_SIGNALS];
} pt_record_signals;

/* Not 0: the signal that has ended the recording. */
extern volatile sig_atomic_t pt_record_stop;
/* With a command: the last signal that asks for the end, whether or not it was passed on; 0: none.
 */
extern volatile sig_atomic_t pt_record_end_signal;

/* Installs the handlers, and saves the former actions in *ret_before. Not called again before
 * pt_record_signals_give_back. */
void pt_record_signals_take(bool has_command, pt_record_signals *ret_before);
/* The process to which signals are passed on; 0: none. */
void pt_record_signals_pass_to(pid_t pid);
/* Restores the former actions; also called in a child before it becomes the command. */
void pt_record_signals_give_back(const pt_record_signals *before);
