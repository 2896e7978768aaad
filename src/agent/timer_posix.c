/* timer_posix.c: ticks from a POSIX timer of each thread, on the thread's CPU clock or on the wall
 * clock.
 *
 * A CPU clock counts user and system time. The kernel checks such timers only on the kernel's own
 * tick (HZ), when that tick finds the thread running, so a signal may have the weight of several
 * periods; the thread's clock gives their number. The period is exactly the requested one. The
 * first tick handles the first period (tick/weight.c).
 *
 * CLOCK_MONOTONIC is not bound to the kernel's tick, and ticks while a thread waits, as
 * CPUPROFILE_REALTIME requests. si_overrun is the number of further periods of a signal.
 *
 * A thread's CPU clock as seen by other threads: Linux' clock ids for CPU clocks are ~tid << 3 | 4
 * (per thread) | 2 (scheduler's clock), include/linux/posix-timers.h. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Makes a timer without libc's functions, which glibc before 2.34 keeps in librt. As in glibc, the
 * kernel's number represents the timer. */
static bool make_kernel_timer(clockid_t clock, struct sigevent *event, void **ret_timer)
{
    int number;
    if (syscall(SYS_timer_create, clock, event, &number) != 0) return false;
    *ret_timer = (void *)(intptr_t)number; /* NOLINT(performance-no-int-to-ptr) */
    return true;
}

static bool delete_kernel_timer(void *timer)
{
    return syscall(SYS_timer_delete, (int)(intptr_t)timer) == 0;
}

static bool probe_posix(uint64_t period_ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    void *timer;
    (void)period_ns;
    return make_kernel_timer(CLOCK_THREAD_CPUTIME_ID, &event, &timer) && delete_kernel_timer(timer);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/* Makes a timer that is not armed. */
static bool make_timer(pt_thread *thread, clockid_t clock)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = pt_tick.signo};
    event.sigev_value.sival_ptr = thread;
    event.sigev_notify_thread_id = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    return make_kernel_timer(clock, &event, &thread->timer);
}

/* Arms the timer: it expires first_ns from now, then each period. */
static bool arm_timer(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    /* Relative to the clock's present value, as TIMER_ABSTIME is not given. */
    const struct itimerspec times = {.it_interval = timespec_of(period_ns),
                                     .it_value = timespec_of(first_ns)};
    if (pt_tick_timer_set(thread->timer, &times)) return true;
    pt_timer_looks_stop(thread);
    return false;
}

static bool attach_timer(pt_thread *thread, int weighing, clockid_t clock, uint64_t period_ns,
                         uint64_t first_ns)
{
    if (!make_timer(thread, clock)) return false;
    /* From now on any tick arms the timer. Before Linux 6.13 that tick may come from a deleted
     * timer whose signal was pending, and may come at once. */
    atomic_store(&thread->weighing, weighing);
    if (arm_timer(thread, period_ns, first_ns)) return true;
    atomic_store(&thread->weighing, PT_TICK_BY_NOTHING);
    return false;
}

static bool attach_posix(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    const clockid_t clock = pt_timer_cpu_clock(tid);
    thread->part_ns = (int64_t)(period_ns - first_ns);
    thread->is_unmet = true;
    thread->before_ns = 0;
    thread->owed_ns = pt_threads_owed(thread->start_routine);
    thread->clock_seen_ns = (int64_t)pt_agent_clock_ns(clock);
    return attach_timer(thread, PT_TICK_BY_LOOKS, clock, period_ns, 1);
}

/* Do select and ppoll leave their time limits unchanged (STICKY_TIMEOUTS)? /proc/self/personality
 * then has "04000000". Returns true if that file cannot be read. */
static bool has_sticky_limits(void)
{
    char text[16] = "";
    const int saved_errno = errno;
    const int fd = open("/proc/self/personality", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    errno = saved_errno;
    return bytes <= 0 || (strtoul(text, NULL, 16) & STICKY_TIMEOUTS) != 0;
}

static bool start_real(void)
{
    pt_tick.has_sticky_limits = has_sticky_limits();
    pt_signals_free_ticks();
    return true;
}

static bool attach_real(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    return attach_timer(thread, PT_TICK_BY_TIMER, CLOCK_MONOTONIC, period_ns, first_ns);
}

/* Starts a timer that expires at each kernel tick that finds the thread running, or each period if
 * that is longer. */
bool pt_timer_looks_start(pt_thread *thread)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    const uint64_t every_ns =
        pt_tick.period_ns > pt_tick.look_ns ? pt_tick.period_ns : pt_tick.look_ns;
    return make_timer(thread, pt_timer_cpu_clock(tid)) && arm_timer(thread, every_ns, 1);
}

void pt_timer_looks_stop(pt_thread *thread)
{
    delete_kernel_timer(thread->timer);
    thread->timer = NULL;
}

static void detach_posix(pt_thread *thread)
{
    atomic_store(&thread->weighing, PT_TICK_BY_NOTHING);
    pt_timer_looks_stop(thread);
}

const pt_timer_engine pt_timer_posix = {.id = PT_JOURNAL_ENGINE_POSIX,
                                        .is_tick_bound = true,
                                        .probe = probe_posix,
                                        .attach = attach_posix,
                                        .detach = detach_posix};
const pt_timer_engine pt_timer_real = {.id = PT_JOURNAL_ENGINE_REAL,
                                       .probe = probe_posix,
                                       .start = start_real,
                                       .attach = attach_real,
                                       .detach = detach_posix};
