/* signals.c: see signals.h. */
#include "capture/signals.h"

#include <errno.h>
#include <stddef.h>

volatile sig_atomic_t pt_record_stop;
volatile sig_atomic_t pt_record_end_signal;

static volatile sig_atomic_t command_pid;
static volatile sig_atomic_t is_interrupt_ignored; /* the recorder started with SIGINT ignored, and
                                                    * so did the command */

static const struct {
    int signo;
    bool is_of_keyboard, ends_recording;
} rows[PT_RECORD_SIGNALS] = {
    {SIGINT, true, true},  {SIGQUIT, true, true},   {SIGTERM, false, true},
    {SIGHUP, false, true}, {SIGUSR1, false, false}, {SIGUSR2, false, false},
};

static void stop_recording(int signo)
{
    pt_record_stop = signo;
}

/* Passes a signal to the command. A signal of the terminal's driver (SI_KERNEL) has reached the
 * whole foreground group, and so the command, already. A shell makes a background job ignore
 * SIGINT; then SIGTERM ends the command instead. */
static void pass_on(int signo, siginfo_t *info, void *context)
{
    const int error = errno;
    const bool is_of_keyboard = signo == SIGINT || signo == SIGQUIT;
    (void)context;
    if (signo != SIGUSR1 && signo != SIGUSR2) pt_record_end_signal = signo;
    if (is_of_keyboard && info->si_code == SI_KERNEL) return;
    if (signo == SIGINT && is_interrupt_ignored != 0) signo = SIGTERM;
    if (command_pid > 0) kill((pid_t)command_pid, signo);
    errno = error;
}

void pt_record_signals_take(bool has_command, pt_record_signals *ret_before)
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    if (has_command) {
        action.sa_flags |= SA_SIGINFO;
        action.sa_sigaction = pass_on;
    } else {
        action.sa_handler = stop_recording;
    }
    for (size_t i = 0; i < PT_RECORD_SIGNALS; i++) {
        struct sigaction *const before = &ret_before->before[i];
        sigaction(rows[i].signo, NULL, before);
        /* If a signal is ignored, that is respected, for example with nohup; but not for the
         * keyboard's signals, which a shell makes every background job ignore. */
        const bool is_meant = before->sa_handler == SIG_IGN && !rows[i].is_of_keyboard &&
                              (has_command || rows[i].signo == SIGHUP);
        if (rows[i].signo == SIGINT) is_interrupt_ignored = before->sa_handler == SIG_IGN;
        if (is_meant || (!has_command && !rows[i].ends_recording)) continue;
        sigaction(rows[i].signo, &action, NULL);
    }
}

void pt_record_signals_pass_to(pid_t pid)
{
    command_pid = pid;
}

void pt_record_signals_give_back(const pt_record_signals *before)
{
    for (size_t i = 0; i < PT_RECORD_SIGNALS; i++)
        sigaction(rows[i].signo, &before->before[i], NULL);
}
