/* tick.c: the signal handler. */
#include "agent/tick/tick.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

pt_tick_settings pt_tick;
_Thread_local pt_thread *pt_tick_self;

/* Room that a sample must find in the ring: less would cut nearly every stack. */
enum { ROOM_WORDS = 128 };

/* How many periods of the thread's CPU clock went by since the last tick; what is over or short of
 * whole ones is carried to the next. */
static uint32_t periods_by_clock(pt_thread *self)
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

/* The kernel sends POLL_IN and its like for an event's descriptor; other codes are of processes
 * that raise the signal, or of timers, ours among them. */
static bool is_timer(const pt_thread *self, const siginfo_t *info)
{
    return info->si_code == SI_TIMER && info->si_value.sival_ptr == self;
}

static bool is_event(const siginfo_t *info)
{
    return info->si_code >= POLL_IN && info->si_code <= POLL_HUP;
}

/* How many periods this signal stands for. */
static uint32_t weight_of(pt_thread *self, const siginfo_t *info)
{
    if (is_timer(self, info)) return 1 + (info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
    return atomic_load(&self->by_clock) ? periods_by_clock(self) : 0;
}

/* The thread's first tick came at a random time; from here on they come each period. */
static void arm_for_good(pt_thread *self)
{
    munmap(self->first_event, self->first_event_bytes);
    self->first_event = NULL;
    prctl(PR_TASK_PERF_EVENTS_ENABLE);
}

static void add(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED); /* one writer */
}

static void sample(pt_thread *self, pt_journal_ring *ring, uint32_t weight, const void *context)
{
    const uint64_t mask = ring->ring_words - 1;
    const uint64_t head = ring->head_words;
    const uint64_t tail = __atomic_load_n(&ring->tail_words, __ATOMIC_ACQUIRE);
    const uint64_t room = ring->ring_words - (head - tail);
    if (room < ROOM_WORDS) {
        add(&ring->dropped, weight);
        return;
    }
    const uint64_t most = room - 1 < PT_JOURNAL_DEPTH_MAX ? room - 1 : PT_JOURNAL_DEPTH_MAX;

    pt_tick_walk walk;
    pt_tick_walk_begin(&walk, context);
    if (self->stack.low == self->stack.limit)
        atomic_store_explicit(&self->wants_stack, (uintptr_t)walk.state.sp, memory_order_relaxed);
    unsigned depth = 0;
    int step;
    ring->words[(head + ++depth) & mask] = walk.pc != 0 ? walk.pc : 1;
    while ((step = pt_tick_walk_step(&walk, self)) < 0) {
        if (depth == most) {
            step = PT_JOURNAL_END_TRUNCATED;
            break;
        }
        ring->words[(head + ++depth) & mask] = walk.pc;
        if (step == PT_TICK_LAST_FRAME) {
            step = PT_JOURNAL_END_ROOT;
            break;
        }
    }
    ring->words[head & mask] = pt_journal_ring_word(weight, depth, (unsigned)step);
    add(&ring->weight, weight);
    __atomic_store_n(&ring->head_words, head + 1 + depth, __ATOMIC_RELEASE);
}

static void tick(pt_thread *self, const siginfo_t *info, const void *context)
{
    pt_journal_ring *const ring = atomic_load(&self->ring);
    if (ring == NULL) return;
    const uint32_t weight = weight_of(self, info);
    if (self->first_event != NULL) arm_for_good(self);
    if (weight == 0) return;
    add(&ring->ticks, 1);
    if (pt_tick.filter != NULL && !pt_tick.filter(pt_tick.filter_arg))
        add(&ring->filtered, weight);
    else
        sample(self, ring, weight, context);
}

/* A program that profiles itself with the same signal goes on doing so. */
static void pass_to_host(int signo, siginfo_t *info, void *context)
{
    void (*const action)(int, siginfo_t *, void *) = atomic_load(&pt_tick.host_action);
    void (*const handler)(int) = atomic_load(&pt_tick.host_handler);
    if (action != NULL)
        action(signo, info, context);
    else if (handler != NULL)
        handler(signo);
}

void pt_tick_handler(int signo, siginfo_t *info, void *context)
{
    const int saved_errno = errno;
    if (pt_tick_self == NULL && pt_tick.find != NULL) pt_tick_self = pt_tick.find(gettid());
    pt_thread *const self = pt_tick_self;
    if (self != NULL && (is_timer(self, info) || is_event(info))) {
        atomic_store(&self->busy, 1);
        tick(self, info, context);
        atomic_store(&self->busy, 0);
    } else if (info->si_code != SI_TIMER && !is_event(info)) {
        pass_to_host(signo, info, context);
    }
    errno = saved_errno;
}
