/* toggle.c: CPUPROFILESIGNAL: a signal starts a profile, the next one ends it.
 *
 *   kill -USR2 PID ... kill -USR2 PID      CPUPROFILE.0, then CPUPROFILE.1, ...
 *
 * The handler only counts and wakes a thread of the library, which starts and stops the profile: a
 * handler may neither create a thread nor wait for a thread.
 */
#include "agent/agent.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10 };

static struct {
    int signo;          /* 0 = CPUPROFILESIGNAL is not set */
    atomic_int presses; /* signals that have come */
    atomic_int done;    /* presses that the thread has handled */
    atomic_int changes; /* the futex at which the thread waits for the signal, or for the request to
                         * end */
    atomic_int is_over;
    pt_own_thread thread;
    bool runs;
    uint32_t number; /* of the next profile */
} toggle;

static PT_FAR struct {
    char name[PATH_MAX]; /* that numbers are added to */
    char base[PATH_MAX]; /* that children add their process ids to */
} toggled;

static void wake_toggle(void)
{
    atomic_fetch_add(&toggle.changes, 1);
    syscall(SYS_futex, &toggle.changes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void on_press(int signo)
{
    (void)signo;
    const int saved_errno = errno;
    atomic_fetch_add(&toggle.presses, 1);
    wake_toggle();
    errno = saved_errno;
}

static void start_toggle(void)
{
    char suffix[16], name[PATH_MAX];
    snprintf(suffix, sizeof suffix, ".%u", (unsigned)toggle.number);
    if (!pt_agent_join(name, sizeof name, toggled.name, suffix)) return;
    if (pt_session_start(name, NULL, NULL)) toggle.number++;
}

static void press_toggle(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    if (pt_agent.on && !pt_agent.recording && !pt_agent.served) {
        pt_session_stop(PT_JOURNAL_STOPPED, &caller);
        return;
    }
    if (!pt_agent.on && !pt_agent.leaving) start_toggle();
    pt_agent_unlock(&caller);
}

static void *toggle_main(void *arg)
{
    (void)arg;
    while (!atomic_load(&toggle.is_over)) {
        const int seen = atomic_load(&toggle.changes);
        if (atomic_load(&toggle.presses) != atomic_load(&toggle.done)) {
            press_toggle();
            pt_own_exit_if_last();
            atomic_fetch_add(&toggle.done, 1);
        } else if (!atomic_load(&toggle.is_over)) {
            syscall(SYS_futex, &toggle.changes, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        }
    }
    return NULL;
}

static void make_thread(void)
{
    atomic_store(&toggle.is_over, 0);
    toggle.runs = pt_own_begin(&toggle.thread, STACK_BYTES, toggle_main, NULL);
    if (!toggle.runs) pt_agent_say("CPUPROFILESIGNAL: no thread could be started");
}

bool pt_toggle_rest(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    const bool runs = toggle.runs;
    const pt_own_thread thread = toggle.thread;
    toggle.runs = false; /* so another caller of this function finds no thread to wait for */
    if (runs) {
        pt_own_end_begins();
        atomic_store(&toggle.is_over, 1);
    }
    pt_agent_unlock(&caller);
    if (!runs) return false;
    wake_toggle();
    pt_own_end(&thread);
    return true;
}

void pt_toggle_go_on(void)
{
    pt_caller caller;
    pt_agent_lock(&caller);
    make_thread();
    pt_agent_unlock(&caller);
}

void pt_toggle_start(const char *signal_text, const char *name, const char *base)
{
    const uint64_t signo = pt_agent_number(signal_text, 0);
    struct sigaction ours = {.sa_flags = SA_RESTART | SA_ONSTACK}, there;
    ours.sa_handler = on_press;
    sigfillset(&ours.sa_mask);
    if (signo == 0 || signo > 64 || signo == SIGPROF || sigaction((int)signo, NULL, &there) != 0) {
        pt_agent_say(
            "CPUPROFILESIGNAL=%s: must be a number from 1 to 64, and not SIGPROF or a signal "
            "of the C library; not profiling",
            signal_text);
        return;
    }
    if (there.sa_handler != SIG_DFL && there.sa_handler != SIG_IGN) {
        pt_agent_say("CPUPROFILESIGNAL=%s: the program has its own handler for it; not profiling",
                     signal_text);
        return;
    }
    if (sigaction((int)signo, &ours, NULL) != 0) { /* fails for SIGKILL and SIGSTOP */
        pt_agent_say("CPUPROFILESIGNAL=%s: %s; not profiling", signal_text, strerror(errno));
        return;
    }
    pt_caller caller;
    pt_agent_lock(&caller);
    pt_agent_join(toggled.name, sizeof toggled.name, name, "");
    pt_agent_join(toggled.base, sizeof toggled.base, base, "");
    toggle.signo = (int)signo;
    make_thread(); /* the new thread handles the signals that came in between */
    pt_agent_unlock(&caller);
}

PT_NEAR void pt_toggle_after_fork(void)
{
    if (toggle.signo == 0) return;
    toggle.runs = false;
    atomic_store(&toggle.presses, 0);
    atomic_store(&toggle.done, 0);
    toggle.number = 0;
    pt_agent_join(toggled.name, sizeof toggled.name, toggled.base, "");
    pt_name_add_pid(toggled.name);
    make_thread();
}
