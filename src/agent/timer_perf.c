/* timer_perf.c: ticks from a perf event of each thread that counts the CPU clock; tick/event.c
 * opens and closes the event.
 *
 * The event has a high-resolution timer, so its rate can be above the rate of the kernel's tick.
 * The handler reads a tick's weight from the thread's CPU clock: the event's own timer runs on
 * while a virtual machine's processor is taken away, is late after the whole machine was stopped,
 * and raises no second signal while one is pending.
 *
 * Kernel time is sampled as well. Where that is not allowed (perf_event_paranoid above 1 without
 * CAP_PERFMON) the event counts time in user mode. A recording then counts the thread's other CPU
 * time for the kernel. Otherwise a POSIX timer of the thread finds the time in system calls, at the
 * kernel's own tick: tick/weight.c. */
#include "agent/agent.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/plain/tick.h"

/* ---- is SIGTRAP harmless here? ---- */

enum {
    TRIAL_PERIOD_NS = 20000,
    TRIAL_TICKS = 3,
    TRIAL_MOST_NS = 20000000, /* of CPU time, for each part of the trial */
    TRIAL_STACK_BYTES = 64 << 10,
};

static _Atomic(int) trial_ticks;
static PT_FAR pt_thread trial_thread;
static void *trial_event; /* in memory that this process and the trial share */

static void on_trial_tick(int signo, siginfo_t *info, void *context)
{
    (void)context;
    if (signo == SIGTRAP && info->si_code == TRAP_PERF) atomic_fetch_add(&trial_ticks, 1);
}

/* Uses CPU time until `ticks` ticks have come, but at most most_ns. */
static bool trial_wait(int ticks, uint64_t most_ns)
{
    const uint64_t end_ns = pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID) + most_ns;
    while (atomic_load(&trial_ticks) < ticks) {
        if (pt_agent_clock_ns(CLOCK_THREAD_CPUTIME_ID) > end_ns) return false;
    }
    return true;
}

/* The trial: a process of its own in this memory, like a child of vfork, so that the trial's
 * signals and its death do not reach the host. Ticks must come; while the signal is blocked or
 * ignored, they must do nothing. Kernels before 5.18 end the process then. */
static int try_ticks(void *unused)
{
    (void)unused;
    struct sigaction act = {.sa_flags = SA_SIGINFO};
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    act.sa_sigaction = on_trial_tick;
    if (pt_real_sigaction(SIGTRAP, &act, NULL) != 0) return 1;
    trial_event = pt_tick_event_open(&trial_thread, pt_tick_gettid(), TRIAL_PERIOD_NS);
    if (trial_event == NULL) return 1;
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
    if (!trial_wait(TRIAL_TICKS, TRIAL_MOST_NS)) return 1;
    sigprocmask(SIG_BLOCK, &trap, NULL);
    trial_wait(INT_MAX, 4 * TRIAL_PERIOD_NS);
    sigprocmask(SIG_UNBLOCK, &trap, NULL);
    act = (struct sigaction){.sa_handler = SIG_IGN};
    if (pt_real_sigaction(SIGTRAP, &act, NULL) != 0) return 1;
    trial_wait(INT_MAX, 4 * TRIAL_PERIOD_NS);
    return 0;
}

/* The result of a trial depends on the kernel, so it is the same for each process of a recording.
 * The first process writes the result to a file in the recording's folder. The other processes use
 * it if this user or root owns the file. */
static bool name_result(char *ret_path)
{
    return pt_agent.recording && pt_agent_join(ret_path, PATH_MAX, pt_agent.base_path, "/trial");
}

/* The result in the file, 0 or 1; -1 if there is no such file. */
static int find_result(void)
{
    char path[PATH_MAX], text = 0;
    struct stat st;
    if (!name_result(path)) return -1;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    const bool is_believed = pt_libc_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                             (st.st_uid == geteuid() || st.st_uid == 0) && read(fd, &text, 1) == 1;
    close(fd);
    return is_believed && (text == '0' || text == '1') ? text - '0' : -1;
}

static void leave_result(int result)
{
    char path[PATH_MAX];
    if (!name_result(path)) return;
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) return;
    pt_agent_write(fd, result != 0 ? "1" : "0", 1);
    close(fd);
}

/* Runs the trial. Returns 1 if SIGTRAP is harmless. *ret_is_told: the trial had a result: its ticks
 * came, or a SIGTRAP ended the trial. */
static int run_trial(bool *ret_is_told)
{
    void *const stack = pt_agent_map(TRIAL_STACK_BYTES);
    int status = -1;
    *ret_is_told = false;
    if (stack == NULL) return 0;
    /* No exit signal, so that the host's SIGCHLD handlers and waits do not see the child. */
    const pid_t child =
        clone(try_ticks, (char *)stack + TRIAL_STACK_BYTES, CLONE_VM | CLONE_VFORK, NULL);
    if (child > 0 && waitpid(child, &status, __WCLONE) != child) status = -1;
    if (trial_event != NULL) pt_tick_event_close(trial_event);
    munmap(stack, TRIAL_STACK_BYTES);
    *ret_is_told =
        child > 0 && (status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP));
    return child > 0 && status == 0;
}

static bool trial_passes(void)
{
    static int result = -1; /* not known yet */
    if (result < 0) result = find_result();
    if (result >= 0) return result;
    bool is_told;
    result = run_trial(&is_told);
    if (is_told) leave_result(result);
    return result;
}

/* ---- the engines ---- */

static bool can_open(bool with_trap, bool skip_kernel)
{
    pt_tick.events_trap = with_trap;
    pt_tick.events_skip_kernel = skip_kernel;
    void *const page = pt_tick_event_open(&trial_thread, pt_tick_gettid(), 1000000000);
    if (page != NULL) pt_tick_event_close(page);
    return page != NULL;
}

static bool trap_is_safe(void)
{
    return pt_signal_is_free(SIGTRAP) && trial_passes() && pt_signal_take(SIGTRAP);
}

static bool probe_trap(uint64_t period_ns)
{
    (void)period_ns;
    return can_open(true, false) && trap_is_safe();
}

static bool probe_signal(uint64_t period_ns)
{
    (void)period_ns;
    return can_open(false, false);
}

static bool probe_mode_trap(uint64_t period_ns)
{
    return can_open(true, true) && pt_timer_posix.probe(period_ns) && trap_is_safe();
}

static bool probe_mode_signal(uint64_t period_ns)
{
    return can_open(false, true) && pt_timer_posix.probe(period_ns);
}

PT_NEAR static void detach_perf(pt_thread *thread)
{
    atomic_store(&thread->weighing, PT_TICK_BY_NOTHING);
    if (thread->first_event != NULL) pt_tick_event_close(thread->first_event);
    if (thread->event != NULL) pt_tick_event_close(thread->event);
    thread->first_event = NULL;
    thread->event = NULL;
    atomic_store(&thread->wants_timer, 0);
}

PT_NEAR static bool attach_event(pt_thread *thread, int weighing, uint64_t period_ns,
                                 uint64_t first_ns)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    pt_timer_begin_clock(thread, period_ns, first_ns);
    thread->event_ns = first_ns;
    thread->part_ns = (int64_t)(period_ns - first_ns);
    thread->event_from_ns = thread->ticked_ns + thread->part_ns;
    thread->user_ns = thread->kernel_ns = 0;
    atomic_store(&thread->weighing, weighing);
    const bool is_started = pt_tick_event_open_first(thread, tid, first_ns);
    if (!is_started) detach_perf(thread);
    return is_started;
}

static void change_period(pt_thread *thread)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    uint64_t random = pt_agent_random(UINT64_MAX);
    if (thread->event == NULL) return;
    pt_tick_event_replace(thread, tid, pt_random_period(&random, pt_tick.period_ns));
    thread->event_from_ns = (int64_t)pt_agent_clock_ns(pt_timer_cpu_clock(tid));
}

PT_NEAR static bool attach_perf(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    return attach_event(thread, PT_TICK_BY_CLOCK, period_ns, first_ns);
}

/* A recording has a field for the time in the kernel. A gperftools file has none, so a POSIX timer
 * takes samples in system calls. */
PT_NEAR static bool attach_by_mode(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    if (pt_agent.recording) return attach_event(thread, PT_TICK_BY_USER_MODE, period_ns, first_ns);
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    thread->user_looks = 0;
    thread->look_seen_ns = -1;
    thread->look_start_ns = (int64_t)pt_agent_clock_ns(pt_timer_cpu_clock(tid));
    if (!attach_event(thread, PT_TICK_BY_MODE, period_ns, first_ns)) return false;
    if (pt_timer_looks_start(thread)) return true;
    detach_perf(thread);
    return false;
}

PT_NEAR static void detach_by_mode(pt_thread *thread)
{
    if (atomic_load(&thread->weighing) == PT_TICK_BY_MODE) pt_timer_looks_stop(thread);
    detach_perf(thread);
}

const pt_timer_engine pt_timer_trap = {.id = PT_JOURNAL_ENGINE_PERF,
                                       .probe = probe_trap,
                                       .attach = attach_perf,
                                       .detach = detach_perf,
                                       .change_period = change_period};
const pt_timer_engine pt_timer_perf = {.id = PT_JOURNAL_ENGINE_PERF,
                                       .probe = probe_signal,
                                       .attach = attach_perf,
                                       .detach = detach_perf,
                                       .change_period = change_period};
const pt_timer_engine pt_timer_mode_trap = {.id = PT_JOURNAL_ENGINE_MODE,
                                            .probe = probe_mode_trap,
                                            .attach = attach_by_mode,
                                            .detach = detach_by_mode,
                                            .change_period = change_period};
const pt_timer_engine pt_timer_mode = {.id = PT_JOURNAL_ENGINE_MODE,
                                       .probe = probe_mode_signal,
                                       .attach = attach_by_mode,
                                       .detach = detach_by_mode,
                                       .change_period = change_period};
