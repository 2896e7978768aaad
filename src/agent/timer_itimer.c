/* timer_itimer.c: the engine of last resort: one interval timer for the whole process, ITIMER_PROF,
 * which gperftools uses by default. Used if neither perf_event_open nor timer_create is allowed.
 *
 * The kernel checks the timer on the kernel's own tick (HZ), so the period is at least as long as
 * that tick, and the file states this period. The kernel sends the signal to a thread that runs;
 * while the signal is pending no other signal comes. So the weight of a tick is the time by which
 * the CPU clock of the process has advanced: the sum is right, and short threads have their share.
 *
 * Unlike other timers, this one survives exec; its signal would end the new program. */
#include "agent/agent.h"

#include <stdatomic.h>
#include <sys/time.h>

static bool arm_timer(uint64_t first_ns, uint64_t period_ns)
{
    const struct itimerval times = {
        .it_interval = {.tv_sec = (time_t)(period_ns / 1000000000),
                        .tv_usec = (suseconds_t)(period_ns / 1000 % 1000000)},
        .it_value = {.tv_sec = (time_t)(first_ns / 1000000000),
                     .tv_usec = (suseconds_t)(first_ns / 1000 % 1000000)}};
    return setitimer(ITIMER_PROF, &times, NULL) == 0;
}

/* ITIMER_PROF sends SIGPROF only, and the host may use the timer itself. */
static bool probe_itimer(uint64_t period_ns)
{
    struct itimerval now;
    (void)period_ns;
    return pt_tick.signo == SIGPROF && getitimer(ITIMER_PROF, &now) == 0 &&
           now.it_value.tv_sec == 0 && now.it_value.tv_usec == 0;
}

static bool start_itimer(void)
{
    pt_tick.has_itimer = true;
    atomic_store(&pt_tick.process_seen_ns, pt_agent_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    return arm_timer(1000 + pt_agent_random(pt_agent.period_ns), pt_agent.period_ns);
}

static void stop_itimer(bool is_last)
{
    (void)is_last;
    arm_timer(0, 0);
    pt_tick.has_itimer = false;
}

static bool attach_itimer(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    (void)period_ns;
    (void)first_ns;
    atomic_store(&thread->weighing, PT_TICK_BY_PROCESS);
    return true;
}

static void detach_itimer(pt_thread *thread)
{
    atomic_store(&thread->weighing, PT_TICK_BY_NOTHING);
}

const pt_timer_engine pt_timer_itimer = {.id = PT_JOURNAL_ENGINE_ITIMER,
                                         .is_tick_bound = true,
                                         .is_for_all = true,
                                         .probe = probe_itimer,
                                         .start = start_itimer,
                                         .stop = stop_itimer,
                                         .attach = attach_itimer,
                                         .detach = detach_itimer};
