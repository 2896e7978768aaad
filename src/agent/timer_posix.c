/* timer_posix.c: ticks from a POSIX timer on each thread's CPU clock.
 *
 * Counts user and system time. The kernel looks at such timers only on its own tick (HZ, 250 here),
 * so above that rate a signal stands for several periods: si_overrun says how many more, and the
 * sample's weight is 1 + si_overrun. The period stays exactly what was asked for.
 *
 * A thread's CPU clock as seen by other threads: Linux' clock ids for CPU clocks are
 * ~tid << 3 | 4 (per thread) | 2 (scheduler's clock), include/linux/posix-timers.h.
 */
#include "agent/agent.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static bool probe(uint64_t period_ns)
{
    (void)period_ns;
    return true;
}

static struct timespec span(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

static bool attach(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    const int tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
    const clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event.sigev_value.sival_ptr = thread;
    event.sigev_notify_thread_id = tid;
    timer_t timer;
    if (timer_create(clock, &event, &timer) != 0) return false;
    /* Relative to the clock's present value, as TIMER_ABSTIME is not given. */
    const struct itimerspec times = {.it_interval = span(period_ns), .it_value = span(first_ns)};
    if (timer_settime(timer, 0, &times, NULL) != 0) {
        timer_delete(timer);
        return false;
    }
    thread->timer = timer;
    return true;
}

static void detach(pt_thread *thread)
{
    timer_delete(thread->timer);
    thread->timer = NULL;
}

const pt_timer_engine pt_timer_posix = {
    .id = PT_JOURNAL_ENGINE_POSIX, .probe = probe, .attach = attach, .detach = detach};
