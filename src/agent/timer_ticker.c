/* timer_ticker.c: ticks above the kernel's own rate without perf events: a thread of the library
 * checks at random times, once per period on average, which threads run, and sends the signal to
 * these threads.
 *
 * A thread gets the signal if its CPU clock has moved since the last check, and, by /proc, it runs
 * or waits for a processor. So a sleeping thread is not woken, unless it falls asleep between
 * the check and the signal. The other way to reach such rates, a monotonic timer for each thread,
 * wakes every sleeping thread each period and ends its system call with EINTR. A tick's weight is
 * read from the thread's clock: if the ticker gets no processor in time, ticks become fewer and
 * heavier, and no time is lost.
 *
 * A POSIX timer of each thread, at the kernel's tick, finds the threads that use CPU time; the
 * signals of these timers are also ticks. While no thread uses CPU time, the ticker waits for such
 * a signal. The ticker has a table of descriptors of its own, so that the host does not see its
 * descriptors. */
#include "agent/agent.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/plain/tick.h"

enum {
    STACK_BYTES = 64 << 10,
    IDLE_LOOKS = 8, /* kernel ticks without CPU time after which a thread is no longer checked */
};

static struct {
    pt_own_thread thread;
    bool runs;
    _Atomic(int) quit;
    _Atomic(pt_thread *) looks_at; /* the thread to which the ticker may send the signal now; NULL
                                    * if there is none */
} ticker;

static void send_tick(pt_thread *slot, int tid)
{
    siginfo_t info = {.si_signo = pt_tick.signo, .si_code = SI_QUEUE};
    info.si_pid = pt_tick_getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = slot;
    syscall(SYS_rt_tgsigqueueinfo, pt_tick_getpid(), tid, pt_tick.signo, &info);
}

/* Does the thread run, or wait only for a processor? /proc then has "TID (name) R ..." (proc(5)); a
 * name has at most 15 bytes. */
static bool is_running(pt_thread *slot, int tid)
{
    char text[64], path[64];
    if (slot->ticker_tid != tid) {
        if (slot->ticker_tid != 0) close(slot->ticker_fd);
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
        slot->ticker_fd = open(path, O_RDONLY | O_CLOEXEC);
        slot->ticker_tid = slot->ticker_fd >= 0 ? tid : 0;
    }
    const ssize_t got =
        slot->ticker_tid != 0 ? pread(slot->ticker_fd, text, sizeof text - 1, 0) : 0;
    text[got > 0 ? got : 0] = '\0';
    const char *const end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' && end[2] == 'R';
}

/* Checks a thread and sends the signal if it runs. detach_ticker waits until this function has
 * ended, so that no signal comes later. Returns false if the thread is not checked any more. */
static bool look_at(pt_thread *slot, uint64_t now_ns)
{
    const int tid = atomic_load(&slot->tid);
    if (!atomic_load(&slot->is_active) || atomic_load(&slot->ring) == NULL) return false;
    const uint64_t clock_ns = pt_agent_clock_ns(pt_timer_cpu_clock(tid));
    if (clock_ns != slot->ticker_clock_ns) {
        slot->ticker_clock_ns = clock_ns;
        slot->ticker_moved_ns = now_ns;
        if (is_running(slot, tid)) send_tick(slot, tid);
    } else if (now_ns - slot->ticker_moved_ns > IDLE_LOOKS * pt_tick.look_ns) {
        atomic_store(&slot->is_active, 0);
    }
    return true;
}

static void wait_for(_Atomic(int) *word, int value, uint64_t ns)
{
    const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                                  .tv_nsec = (long)(ns % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns != 0 ? &time : NULL, NULL, 0);
}

typedef struct {
    uint64_t now_ns;
    bool any;
} round;

static void look_at_thread(pt_thread *slot, void *arg)
{
    round *const this = arg;
    atomic_store(&ticker.looks_at, slot);
    this->any |= look_at(slot, this->now_ns);
    atomic_store(&ticker.looks_at, NULL);
}

/* Waits while no thread uses CPU time. A thread that begins to use CPU time sets is_active before
 * it reads pt_tick.ticker_waits. */
static void wait_for_work(void)
{
    round again = {.now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC)};
    atomic_store(&pt_tick.ticker_waits, 1);
    pt_threads_each(look_at_thread, &again);
    if (!again.any && !atomic_load(&ticker.quit)) wait_for(&pt_tick.ticker_waits, 1, 0);
    atomic_store(&pt_tick.ticker_waits, 0);
}

static void forget_file(pt_thread *slot, void *arg)
{
    (void)arg;
    slot->ticker_tid = 0;
}

static void *ticker_main(void *arg)
{
    (void)arg;
    if (syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE) != 0) return NULL;
    uint64_t next_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
    uint64_t random = pt_agent_random(UINT64_MAX);
    while (!atomic_load(&ticker.quit)) {
        round this = {.now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC)};
        pt_threads_each(look_at_thread, &this);
        if (!this.any) wait_for_work();
        const uint64_t now_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
        const uint64_t every_ns = pt_random_period(&random, pt_tick.period_ns);
        next_ns = next_ns + every_ns > now_ns ? next_ns + every_ns : now_ns + every_ns;
        wait_for(&ticker.quit, 0, next_ns - now_ns);
    }
    pt_threads_each(forget_file, NULL);
    return NULL;
}

static bool start_ticker(void)
{
    atomic_store(&ticker.quit, 0);
    atomic_store(&pt_tick.ticker_waits, 0);
    ticker.runs = pt_own_begin(&ticker.thread, STACK_BYTES, ticker_main, NULL);
    return pt_tick.has_ticker = ticker.runs;
}

static void stop_ticker(bool is_last)
{
    pt_tick.has_ticker = false;
    if (!ticker.runs) return;
    pt_own_end_begins();
    atomic_store(&ticker.quit, 1);
    atomic_store(&pt_tick.ticker_waits, 0);
    syscall(SYS_futex, &ticker.quit, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    syscall(SYS_futex, &pt_tick.ticker_waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (!is_last) pt_own_end(&ticker.thread);
    ticker.runs = false;
}

uint64_t pt_ticker_cpu_ns(void)
{
    return ticker.runs ? pt_agent_clock_ns(ticker.thread.clock) : 0;
}

PT_NEAR void pt_ticker_after_fork(void)
{
    if (ticker.runs) pt_threads_each(forget_file, NULL);
    if (ticker.runs) atomic_store(&ticker.looks_at, NULL);
    PT_SET(ticker.runs, false);
    PT_SET(pt_tick.has_ticker, false);
}

/* ---- the engine ---- */

static bool probe_ticker(uint64_t period_ns)
{
    return period_ns < pt_tick.look_ns && pt_timer_posix.probe(period_ns);
}

static bool attach_ticker(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    pt_timer_begin_clock(thread, period_ns, first_ns);
    thread->event_ns = period_ns / 2 * 3;
    thread->ticker_clock_ns = 0;
    thread->ticker_moved_ns = pt_agent_clock_ns(CLOCK_MONOTONIC);
    atomic_store(&thread->weighing, PT_TICK_BY_CLOCK);
    if (!pt_timer_looks_start(thread)) {
        atomic_store(&thread->weighing, PT_TICK_BY_NOTHING);
        return false;
    }
    atomic_store(&thread->is_active, 1);
    if (atomic_exchange(&pt_tick.ticker_waits, 0))
        syscall(SYS_futex, &pt_tick.ticker_waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return true;
}

/* Waits until the ticker has ended its check of this thread. The ticker may have found the thread
 * active just before, and may send the signal only when the ticker gets a processor again; after
 * exec that signal would end the new program. Waits at most about a second, since the host may have
 * ended the ticker. */
static void wait_for_look(const pt_thread *thread)
{
    enum { TRIES = 10000 };
    const struct timespec pause = {.tv_nsec = 100000};
    for (int i = 0; i < TRIES && atomic_load(&ticker.looks_at) == thread; i++)
        syscall(SYS_nanosleep, &pause, NULL);
}

static void detach_ticker(pt_thread *thread)
{
    atomic_store(&thread->is_active, 0);
    atomic_store(&thread->weighing, PT_TICK_BY_NOTHING);
    pt_timer_looks_stop(thread);
    wait_for_look(thread);
}

const pt_timer_engine pt_timer_ticker = {.id = PT_JOURNAL_ENGINE_TICKER,
                                         .probe = probe_ticker,
                                         .start = start_ticker,
                                         .stop = stop_ticker,
                                         .attach = attach_ticker,
                                         .detach = detach_ticker};
