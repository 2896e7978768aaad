/* weight.c: the weight of a tick in periods, and the work of a thread's first tick.
 *
 * A look is the kernel's check whether a timer of a CPU clock has expired. The kernel looks on its
 * own tick only: once in look_ns of CPU time if each tick finds the thread running, less often if
 * other threads share the thread's processor. Threads shorter than that, or than a period, need
 * their share of samples. So the first look always raises a signal and has the weight of look_ns,
 * however early the look comes. Later ticks count the periods that ended since the previous tick.
 *
 *   thread    |-----x---------------+---------  x: the first look, for look_ns; +: the next look
 *   periods   ..|........|........|........|..  those that ended in the look_ns before x count
 *
 * The CPU time of a thread is known at its end. The difference between that time and the time that
 * its samples stand for is owed: it is added to the first look of the next thread with the same
 * start function. By chance the difference is positive as often as negative; if looks were few, or
 * none found the thread, the difference is the time that the looks missed. So the sum over all
 * threads is right, and looks at random moments divide the sum among the stacks.
 */
#include "agent/tick/tick_int.h"

#include <stdatomic.h>
#include <time.h>

#include "base/plain/tick.h"
#include "machine/context.h"

static int64_t thread_clock_ns(void)
{
    return pt_tick_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* The number of periods in ns of CPU time. The part of a period that is left counts as one period
 * with a probability equal to that part: rounded weights would follow a rhythm, and a program could
 * keep step with that rhythm. *ret_ns: the time of the returned number of periods. The caller
 * carries the difference from ns to the next tick. */
static uint32_t periods_in(pt_thread *self, int64_t ns, int64_t *ret_ns)
{
    const int64_t period_ns = (int64_t)pt_tick.period_ns;
    const int64_t whole = ns > 0 ? ns / period_ns : 0, rest_ns = ns > 0 ? ns % period_ns : 0;
    const bool is_one_more = (int64_t)pt_random_below(&self->random, pt_tick.period_ns) < rest_ns;
    const int64_t periods = whole + is_one_more;
    *ret_ns = periods * period_ns;
    return periods > UINT32_MAX ? UINT32_MAX : (uint32_t)periods;
}

static uint32_t account_time(pt_thread *self, int64_t ns)
{
    int64_t counted_ns;
    const uint32_t periods = periods_in(self, ns, &counted_ns);
    self->clock_seen_ns += counted_ns;
    return periods;
}

/* The same for time of the thread in one mode (user or kernel). *part_ns is the time in that mode
 * that is not counted yet. */
static uint32_t account_part(pt_thread *self, int64_t *part_ns, int64_t ns)
{
    int64_t counted_ns;
    *part_ns += ns;
    const uint32_t periods = periods_in(self, *part_ns, &counted_ns);
    *part_ns -= counted_ns;
    return periods;
}

uint32_t pt_tick_weight_by_clock(pt_thread *self)
{
    self->ticked_ns = thread_clock_ns();
    return account_time(self, self->ticked_ns - self->clock_seen_ns);
}

/* The same for the process's clock: each part of its time belongs to one tick of any thread. */
uint32_t pt_tick_weight_by_process(void)
{
    const uint64_t period_ns = pt_tick.period_ns;
    const uint64_t now_ns = (uint64_t)pt_tick_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t seen_ns = atomic_load(&pt_tick.process_seen_ns), periods;
    do {
        periods = now_ns > seen_ns ? (now_ns - seen_ns + period_ns / 2) / period_ns : 0;
    } while (periods > 0 && !atomic_compare_exchange_weak(&pt_tick.process_seen_ns, &seen_ns,
                                                          seen_ns + periods * period_ns));
    return periods > UINT32_MAX ? UINT32_MAX : (uint32_t)periods;
}

/* ---- by mode ---- */

static void add_kernel(pt_tick_ring *ring, uint64_t periods)
{
    __atomic_store_n(&ring->kernel, ring->kernel + periods, __ATOMIC_RELAXED);
}

/* The event's timer also runs while the thread is in the kernel, but such ticks are dropped. So the
 * ticks that were due since the last tick and did not come fell into the kernel. */
uint32_t pt_tick_weight_of_user_tick(pt_thread *self, pt_tick_ring *ring)
{
    const int64_t now_ns = thread_clock_ns(), since_ns = now_ns - self->ticked_ns;
    const int64_t kernel_ns =
        pt_dropped_ns((int64_t)self->event_ns, now_ns - self->event_from_ns, since_ns);
    self->ticked_ns = self->event_from_ns = now_ns;
    if (kernel_ns > 0) add_kernel(ring, account_part(self, &self->kernel_ns, kernel_ns));
    return account_part(self, &self->user_ns, since_ns - kernel_ns);
}

/* The first tick stands for a whole period, however early it comes, so part_ns is counted in
 * advance at a thread's beginning. On average part_ns is as long as the time after a thread's last
 * tick, but not for each thread, and not if ticks were dropped. So kernel_owed_ns carries the
 * difference from thread to thread. */
PT_NEAR void pt_tick_settle_kernel(pt_thread *thread, pt_tick_ring *ring, uint64_t clock_ns)
{
    const int64_t period_ns = (int64_t)pt_tick.period_ns;
    const int64_t left_ns = (int64_t)clock_ns - thread->ticked_ns - thread->part_ns +
                            thread->user_ns + thread->kernel_ns;
    const int64_t since_ns = (int64_t)clock_ns - thread->event_from_ns;
    const int64_t owed_ns = atomic_exchange(&pt_tick.kernel_owed_ns, 0) + left_ns;
    const bool was_due = since_ns > (int64_t)thread->event_ns;
    const int64_t periods = was_due && owed_ns > 0 ? owed_ns / period_ns : 0;
    add_kernel(ring, (uint64_t)periods);
    atomic_fetch_add(&pt_tick.kernel_owed_ns, owed_ns - periods * period_ns);
}

uint32_t pt_tick_weight_of_user_time(pt_thread *self)
{
    const int64_t period_ns = (int64_t)pt_tick.period_ns;
    if (self->clock_seen_ns > thread_clock_ns() + period_ns) return 0; /* more ticks than time */
    const bool is_first = self->first_event != NULL; /* stands for a period, however early it is */
    const uint32_t periods =
        account_part(self, &self->user_ns, is_first ? period_ns : (int64_t)self->event_ns);
    self->clock_seen_ns += periods * period_ns;
    self->ticked_ns = self->clock_seen_ns; /* pt_tick_settle counts all time after this */
    return periods;
}

/* A look comes at a random moment of the thread's time. A look in a system call has the weight of
 * the kernel time since the previous look: the time on the clock that events have not counted, but
 * at most the time of two looks, because page faults are no system calls, and the time of page
 * faults must not count for a system call. A thread without a look in a system call for MANY_LOOKS
 * makes few calls: the time that is left was lost by events (a virtual machine's interrupts). */
uint32_t pt_tick_weight_of_kernel_time(pt_thread *self, const void *context)
{
    enum { MANY_LOOKS = 32 };
    const int64_t now_ns = thread_clock_ns(), look_ns = (int64_t)pt_tick.look_ns;
    const bool in_call = pt_machine_context_is_in_call(context), is_first = self->look_seen_ns < 0;
    const int64_t since_ns = is_first ? now_ns - self->look_start_ns : now_ns - self->look_seen_ns;
    self->look_seen_ns = now_ns;
    if (!in_call && ++self->user_looks < MANY_LOOKS) return 0;
    self->user_looks = 0;
    const int64_t left_ns = now_ns - self->clock_seen_ns;
    const int64_t most_ns = 2 * (since_ns > look_ns ? since_ns : look_ns);
    const uint32_t periods = account_time(self, in_call && left_ns > most_ns ? most_ns : left_ns);
    self->ticked_ns = self->clock_seen_ns;
    return periods;
}

/* ---- by looks ---- */

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
                             .tv_nsec = (long)(ns % 1000000000)};
}

/* The whole periods of the time that is not accounted for. */
static uint32_t whole_periods(pt_thread *self, int64_t now_ns)
{
    const int64_t period_ns = (int64_t)pt_tick.period_ns;
    const int64_t periods = (now_ns - self->clock_seen_ns) / period_ns;
    if (periods <= 0) return 0;
    self->clock_seen_ns += periods * period_ns;
    return periods > UINT32_MAX ? UINT32_MAX : (uint32_t)periods;
}

/* Takes the owed time and returns it. The result is not below -ns; what a negative balance has
 * beyond -ns stays owed. */
static int64_t take_owed(_Atomic(int64_t) *owed_ns, int64_t ns)
{
    int64_t there = atomic_load(owed_ns), taken;
    do {
        taken = there < -ns ? -ns : there;
    } while (!atomic_compare_exchange_weak(owed_ns, &there, there - taken));
    return taken;
}

/* The weight of the first look. If each kernel tick finds the thread running, no look is later than
 * look_ns; a later look has the weight of all time so far. The timer was armed to expire at once;
 * from now on the timer expires with the periods. */
static uint32_t first_look(pt_thread *self, int64_t now_ns)
{
    const int64_t period_ns = (int64_t)pt_tick.period_ns, look_ns = (int64_t)pt_tick.look_ns;
    const int64_t age_ns = now_ns - self->clock_seen_ns;
    const int64_t for_ns = age_ns > look_ns ? age_ns : look_ns;
    self->is_unmet = false;
    self->before_ns = age_ns - for_ns - self->part_ns;
    self->clock_seen_ns = now_ns - for_ns - self->part_ns - take_owed(self->owed_ns, for_ns);
    const uint32_t weight = whole_periods(self, now_ns);
    const struct itimerspec times = {
        .it_interval = timespec_of(pt_tick.period_ns),
        .it_value = timespec_of((uint64_t)(self->clock_seen_ns + period_ns - now_ns))};
    (void)pt_tick_timer_set(self->timer, &times);
    return weight;
}

uint32_t pt_tick_weight_by_looks(pt_thread *self)
{
    const int64_t now_ns = thread_clock_ns();
    return self->is_unmet ? first_look(self, now_ns) : whole_periods(self, now_ns);
}

/* ---- by timer ---- */

uint32_t pt_tick_weight_by_timer(const siginfo_t *info)
{
    return 1 + (info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
}
