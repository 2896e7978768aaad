/* weight.c: how many periods a tick stands for, and what a thread's first tick does besides.
 *
 * Timers of CPU clocks are looked at on the kernel's own tick only, once in look_ns of CPU time.
 * A thread that is shorter than that, or than its period, must be seen in proportion, so the first
 * look counts as one at any time of the thread's life: it always raises a signal, stands for
 * look_ns, and from there on the periods begin at a random place.
 *
 *   thread    |-----x---------------+---------  x: the first look, at which first_ns is applied
 *   periods   ..|........|........|........|..  those that ended in the look_ns before x count
 */
#include "agent/tick/tick_int.h"

#include <stdatomic.h>
#include <time.h>

uint32_t pt_tick_weight_by_clock(pt_thread *self)
{
    struct timespec now;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 1;
    const int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    const int64_t period_ns = (int64_t)pt_tick.period_ns;
    const int64_t periods = (now_ns + period_ns / 2 - self->clock_seen_ns) / period_ns;
    if (periods <= 0) return 0;
    self->clock_seen_ns += periods * period_ns;
    return periods > UINT32_MAX ? UINT32_MAX : (uint32_t)periods;
}

static struct timespec span(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/* Of the first look; arms the timer for the periods that follow. It was armed to end at once and
 * each period from then on: overruns beyond look_ns say that the signal was blocked meanwhile. */
static uint32_t first_look(pt_thread *self, uint64_t overruns)
{
    const uint64_t period_ns = pt_tick.period_ns, look_ns = pt_tick.look_ns;
    const uint64_t first_ns = self->first_ns;
    const uint64_t weight = first_ns > look_ns ? 0 : (look_ns - first_ns) / period_ns + 1;
    const struct itimerspec times = {.it_interval = span(period_ns),
                                     .it_value = span(first_ns + weight * period_ns - look_ns)};
    const uint64_t late_ns = overruns * period_ns;
    self->first_ns = 0;
    timer_settime((timer_t)self->timer, 0, &times, NULL);
    return (uint32_t)(weight + (late_ns > look_ns ? (late_ns - look_ns) / period_ns : 0));
}

uint32_t pt_tick_weight_by_timer(pt_thread *self, const siginfo_t *info)
{
    const uint32_t overruns = info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0;
    return self->first_ns != 0 ? first_look(self, overruns) : 1 + overruns;
}
