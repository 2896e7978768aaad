/* tick.c: the signal handler. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "agent/tick/java.h"
#include "agent/tick/tick_int.h"

pt_tick_settings pt_tick;
_Thread_local pt_thread *pt_tick_self;

/* The room that a sample needs in the ring: with less, nearly every stack would be cut. */
enum { ROOM_WORDS = 128 };

typedef enum { NO_TICK, TIMER_TICK, EVENT_TICK } tick_kind;

/* The data of an event's SIGTRAP. glibc 2.36 has no name for the field, which follows si_addr
 * (asm-generic/siginfo.h). */
static uint64_t trap_data(const siginfo_t *info)
{
    unsigned long data;
    memcpy(&data, (const char *)&info->si_addr + sizeof info->si_addr, sizeof data);
    return data;
}

/* Is the value of a timer's signal a slot? The value of each timer of the library is its thread's
 * slot. Late ticks of another thread's timer also count. */
static bool is_our_timer(const void *said)
{
    const bool is_own = said != NULL && said == pt_tick_self;
    return is_own || pt_tick.is_slot == NULL || pt_tick.is_slot(said);
}

/* The kind of the library's signal, for any thread. The kernel sends POLL_IN and its like for an
 * event's descriptor, TRAP_PERF for an event without one, SI_KERNEL for an interval timer. Other
 * codes come from processes that raise the signal, from breakpoints, or from other timers. */
static tick_kind kind_of(int signo, const siginfo_t *info)
{
    if (signo != pt_tick.signo)
        return info->si_code == TRAP_PERF && PT_TICK_IS_TRAP_DATA(trap_data(info)) ? EVENT_TICK
                                                                                   : NO_TICK;
    if (info->si_code == SI_TIMER)
        return is_our_timer(info->si_value.sival_ptr) ? TIMER_TICK : NO_TICK;
    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == pt_tick_self) return EVENT_TICK;
    if (info->si_code == SI_KERNEL && pt_tick.has_itimer) return EVENT_TICK;
    return info->si_code >= POLL_IN && info->si_code <= POLL_HUP ? EVENT_TICK : NO_TICK;
}

bool pt_tick_is_tick(int signo, const siginfo_t *info)
{
    return kind_of(signo, info) != NO_TICK;
}

/* The weight of the signal, in periods. */
static uint32_t weight_of(pt_thread *self, pt_tick_ring *ring, tick_kind kind,
                          const siginfo_t *info, const void *context)
{
    if (kind == TIMER_TICK && info->si_value.sival_ptr != self) return 0;
    switch (atomic_load(&self->weighing)) {
    case PT_TICK_BY_TIMER: return kind == TIMER_TICK ? pt_tick_weight_by_timer(info) : 0;
    case PT_TICK_BY_CLOCK: return pt_tick_weight_by_clock(self);
    case PT_TICK_BY_LOOKS: return kind == TIMER_TICK ? pt_tick_weight_by_looks(self) : 0;
    case PT_TICK_BY_PROCESS: return pt_tick_weight_by_process();
    case PT_TICK_BY_USER_MODE:
        return kind == EVENT_TICK ? pt_tick_weight_of_user_tick(self, ring) : 0;
    case PT_TICK_BY_MODE:
        return kind == TIMER_TICK ? pt_tick_weight_of_kernel_time(self, context)
                                  : pt_tick_weight_of_user_time(self);
    default: return 0;
    }
}

static void add_count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED); /* one writer */
}

/* Writes the record's first word, then the head, so that the drain thread sees the sample. */
static void publish_sample(pt_thread *self, pt_tick_ring *ring, unsigned words, uint64_t word)
{
    const uint64_t head = ring->head_words;
    ring->words[head & (ring->ring_words - 1)] = word;
    self->last_words = head + 1;
    add_count(&ring->weight, pt_tick_ring_weight(word));
    __atomic_store_n(&ring->head_words, head + 1 + words, __ATOMIC_RELEASE);
}

/* Copies registers and stack. The copied stack takes at most a part of the ring's room, so that
 * other samples also fit. The end of a coroutine's stack is not known, so less of such a stack is
 * copied.
 */
static void copy_stack(pt_thread *self, pt_tick_ring *ring, uint32_t weight, pt_tick_walk *walk,
                       uint64_t room)
{
    enum { PARTS = 4, UNBOUNDED_PARTS = 24, WORD = sizeof(uint64_t) };
    const uint64_t mask = ring->ring_words - 1, from = ring->head_words + 1;
    const bool is_bounded = walk->stack.limit == walk->own_stack.limit;
    const uint64_t most =
        (room - PT_MACHINE_REGS_MAX) / (is_bounded ? (uint64_t)PARTS : UNBOUNDED_PARTS);
    const uintptr_t sp = (uintptr_t)walk->state.sp;
    if (!is_bounded && sp < walk->stack.limit) pt_tick_walk_see_stack(walk, sp + most * WORD);
    const bool is_known = sp >= walk->stack.low && sp < walk->stack.limit && sp % WORD == 0;
    const uint64_t there = is_known ? (walk->stack.limit - sp) / WORD : 0;
    const uint64_t count = there < most ? there : most;
    for (unsigned i = 0; i < PT_MACHINE_REGS_MAX; i++)
        ring->words[(from + i) & mask] = walk->regs[i];
    ring->words[(from + PT_MACHINE_HOST->pc) & mask] = walk->pc;
    for (uint64_t i = 0; i < count; i++)
        ring->words[(from + PT_MACHINE_REGS_MAX + i) & mask] = ((const uint64_t *)sp)[i];
    const unsigned words = (unsigned)(PT_MACHINE_REGS_MAX + count);
    publish_sample(
        self, ring, words,
        pt_tick_ring_word(weight, words, count < there ? PT_TICK_CUT_COPY : PT_TICK_COPY));
}

/* Steps to the next outer frame. *ret_word is the frame word (language.h) of the frame that the
 * step left, if that was a frame of JavaScript; else 0. */
static int step_out(pt_tick_walk *walk, pt_tick_v8_walk *v8, uint64_t *ret_word)
{
    enum { RECORD = 2 * sizeof(uintptr_t) }; /* the caller's frame pointer, the return address */
    *ret_word = 0;
    if (v8->facts == NULL) return pt_tick_walk_step(walk);
    v8->pc = walk->state.pc;
    v8->sp = walk->state.sp;
    v8->fp = walk->state.fp;
    v8->has_fp = !walk->state.is_fp_lost;
    const int step = pt_tick_walk_step(walk);
    /* The step has read the return address, which lies just above the frame pointer: so the frame
     * pointer is on the stack. */
    const bool is_checked = walk->state.is_return && walk->state.sp == v8->fp + RECORD;
    if (step < 0 && is_checked) *ret_word = pt_tick_v8_word(v8);
    return step;
}

/* Steps out of a frame of Java's code. The words of the frame's functions replace the frame's pc,
 * which is the last word written after the ring's head. */
static int step_out_of_java(pt_tick_java_walk *java, pt_tick_ring *ring, uint64_t most,
                            unsigned *depth)
{
    const uint64_t mask = ring->ring_words - 1, head = ring->head_words;
    uint32_t count;
    const int step = pt_tick_java_step(java, &count);
    if (count == 0) return step;
    if (*depth + count - 1 > most) return PT_JOURNAL_END_TRUNCATED;
    for (uint32_t i = 0; i < count; i++)
        ring->words[(head + *depth + i) & mask] = java->cache->words[i];
    *depth += count - 1;
    return step;
}

/* Writes the words of a stack, at most `most`, after the ring's head. Returns why the stack ends
 * there (PT_JOURNAL_END_X). *ret_is_native: no word is of an interpreter's function, and Java's
 * code did not run. */
static int walk_stack(pt_thread *self, pt_tick_walk *walk, pt_tick_ring *ring, uint64_t most,
                      unsigned *ret_depth, bool *ret_is_native)
{
    const uint64_t mask = ring->ring_words - 1, head = ring->head_words;
    unsigned depth = 0, native = 1;
    bool has_java = false;
    uint64_t word;
    int step;
    pt_tick_v8_walk v8;
    pt_tick_java_walk java;
    pt_tick_v8_begin(&v8, atomic_load(&self->interp_cache[PT_JOURNAL_LANGUAGE_JAVASCRIPT]));
    pt_tick_java_begin(&java, atomic_load(&self->interp_cache[PT_JOURNAL_LANGUAGE_JAVA]), walk);
    ring->words[(head + ++depth) & mask] = walk->pc != 0 ? walk->pc : 1;
    for (;;) {
        if (java.facts != NULL && pt_tick_java_has_frame(&java)) {
            step = step_out_of_java(&java, ring, most, &depth);
            has_java = true;
            word = 0;
        } else {
            step = step_out(walk, &v8, &word);
        }
        if (step >= 0) break;
        if (native == PT_JOURNAL_DEPTH_MAX || depth + (word != 0) >= most) {
            step = PT_JOURNAL_END_TRUNCATED;
            break;
        }
        if (word != 0) ring->words[(head + ++depth) & mask] = word;
        ring->words[(head + ++depth) & mask] = walk->pc;
        native++;
        if (step == PT_TICK_LAST_FRAME) {
            step = PT_JOURNAL_END_ROOT;
            break;
        }
    }
    *ret_depth = depth;
    *ret_is_native = depth == native && !has_java;
    return step == PT_JOURNAL_END_ROOT && walk->state.is_unchecked ? PT_JOURNAL_END_UNCHECKED
                                                                   : step;
}

/* Wakes the drain thread, which makes the table, if the sample was not copied: it lost its outer
 * frames. A copied sample can wait for the next round, unless copies fill the ring. */
static void want_table_now(const pt_tick_ring *ring, bool is_copied)
{
    enum { PARTS = 8 };
    const uint64_t tail = __atomic_load_n(&ring->tail_words, __ATOMIC_ACQUIRE);
    if (is_copied && ring->head_words - tail < ring->ring_words / PARTS) return;
    if (pt_tick.on_wanted_table != NULL) pt_tick.on_wanted_table();
}

/* Not inlined: its callers also run where the host's stack has no room for a sample. */
static __attribute__((noinline)) void take_sample(pt_thread *self, pt_tick_ring *ring,
                                                  uint32_t weight, const void *context)
{
    const uint64_t mask = ring->ring_words - 1;
    const uint64_t head = ring->head_words;
    const uint64_t tail = __atomic_load_n(&ring->tail_words, __ATOMIC_ACQUIRE);
    const uint64_t room = ring->ring_words - (head - tail);
    if (room < ROOM_WORDS) {
        add_count(&ring->dropped, weight);
        return;
    }
    pt_tick_walk walk;
    pt_tick_walk_begin(&walk, self, context);
    if (walk.own_stack.low == walk.own_stack.limit)
        atomic_store_explicit(&self->wants_stack, (uintptr_t)walk.state.sp, memory_order_relaxed);
    const bool copies = atomic_load_explicit(&pt_tick.copies_stacks, memory_order_relaxed) != 0;
    if (walk.modules == NULL && copies) {
        copy_stack(self, ring, weight, &walk, room);
        return;
    }
    unsigned depth = 0;
    bool is_native;
    const uint64_t most = room - 1 < PT_JOURNAL_CHAIN_MAX ? room - 1 : PT_JOURNAL_CHAIN_MAX;
    const int end = walk_stack(self, &walk, ring, most, &depth, &is_native);
    const pt_tick_frames room_for = {.words = ring->words,
                                     .mask = mask,
                                     .at = head + 1 + depth,
                                     .most = (uint32_t)(most - depth),
                                     .native = depth,
                                     .is_whole = end == PT_JOURNAL_END_ROOT ||
                                                 end == PT_JOURNAL_END_UNCHECKED,
                                     .regs = walk.regs};
    const uint32_t frames = pt_tick_read_frames(self->interp_cache, &room_for);
    const bool needs_table = walk.needs_table;
    const bool is_copied = needs_table && copies && is_native && frames == 0;
    if (is_copied) {
        pt_tick_walk_begin(&walk, self, context);
        copy_stack(self, ring, weight, &walk, room);
    } else {
        publish_sample(self, ring, depth + frames,
                       pt_tick_ring_mixed_word(weight, depth + frames, frames, (unsigned)end));
    }
    if (needs_table) want_table_now(ring, is_copied);
}

/* Adds periods to the thread's last stack, or, if there is none, to its start function. last_words:
 * as in pt_thread. start: the start function's address; if it is 0, periods without a stack are not
 * counted. */
static void repeat_stack(uint64_t last_words, uint64_t start, pt_tick_ring *ring, uint32_t weight)
{
    const uint64_t mask = ring->ring_words - 1, head = ring->head_words;
    const uint64_t tail = __atomic_load_n(&ring->tail_words, __ATOMIC_ACQUIRE);
    const bool has_last = last_words != 0;
    const uint64_t last = has_last ? last_words - 1 : 0;
    const uint64_t word =
        has_last ? ring->words[last & mask] : pt_tick_ring_word(1, 1, PT_JOURNAL_END_NO_RULE);
    const uint32_t depth = pt_tick_ring_depth(word);
    if (!has_last && start == 0) return;
    if (has_last && last >= tail) { /* fold.c has not read the stack yet: the stack's weight
                                     * grows */
        const uint64_t sum = (uint64_t)pt_tick_ring_weight(word) + weight;
        if (sum > UINT32_MAX) return;
        ring->words[last & mask] = word + ((uint64_t)weight << 32);
        add_count(&ring->weight, weight);
        return;
    }
    if (ring->ring_words - (head - tail) < depth + 1) {
        add_count(&ring->dropped, weight);
        return;
    }
    for (uint32_t i = 1; i <= depth; i++)
        ring->words[(head + i) & mask] = has_last ? ring->words[(last + i) & mask] : start;
    ring->words[head & mask] =
        pt_tick_ring_mixed_word(weight, depth, pt_tick_ring_frames(word), pt_tick_ring_end(word));
    add_count(&ring->weight, weight);
    __atomic_store_n(&ring->head_words, head + 1 + depth, __ATOMIC_RELEASE);
}

PT_NEAR void pt_tick_settle(pt_thread *thread, pt_tick_ring *ring, uint64_t clock_ns)
{
    const int64_t left_ns = (int64_t)clock_ns - thread->ticked_ns;
    const int64_t weight = left_ns / (int64_t)pt_tick.period_ns;
    if (left_ns <= (int64_t)thread->event_ns || weight <= 0 || weight > UINT32_MAX) return;
    if (pt_tick.filter != NULL) return; /* only the thread itself could call the filter */
    repeat_stack(thread->last_words, (uint64_t)(uintptr_t)thread->start_routine, ring,
                 (uint32_t)weight);
}

PT_NEAR void pt_tick_settle_kept(pt_thread *thread, pt_tick_ring *ring)
{
    if (thread->kept == 0) return;
    const bool has_stack = thread->last_words != 0 || thread->start_routine != NULL;
    if (pt_tick.filter != NULL || !has_stack) /* only the thread itself could call the filter */
        add_count(&ring->dropped, thread->kept);
    else
        repeat_stack(thread->last_words, (uint64_t)(uintptr_t)thread->start_routine, ring,
                     thread->kept);
    thread->kept = 0;
}

void pt_tick_settle_looks(pt_thread *thread, pt_tick_ring *ring, uint64_t clock_ns,
                          int64_t least_ns)
{
    const int64_t period_ns = (int64_t)pt_tick.period_ns;
    const int64_t rest_ns = (int64_t)clock_ns - thread->clock_seen_ns + thread->before_ns;
    if (pt_tick.filter != NULL) return;
    const int64_t owed_ns = atomic_fetch_add(thread->owed_ns, rest_ns) + rest_ns;
    const int64_t weight = owed_ns / period_ns;
    if (thread->last_words == 0 || owed_ns < least_ns || weight <= 0 || weight > UINT32_MAX) return;
    atomic_fetch_sub(thread->owed_ns, weight * period_ns);
    repeat_stack(thread->last_words, 0, ring, (uint32_t)weight);
}

void pt_tick_settle_owed(_Atomic(int64_t) *owed_ns, void *(*start_routine)(void *),
                         pt_tick_ring *ring)
{
    if (pt_tick.filter != NULL) return;
    const int64_t period_ns = (int64_t)pt_tick.period_ns;
    const int64_t weight = atomic_load(owed_ns) / period_ns;
    if (weight <= 0 || weight > UINT32_MAX) return;
    atomic_fetch_sub(owed_ns, weight * period_ns);
    repeat_stack(0, (uint64_t)(uintptr_t)start_routine, ring, (uint32_t)weight);
}

/* Notes that the thread uses CPU time: the ticker must send it more ticks than its own timer does.
 */
static void wake_ticker(pt_thread *self)
{
    atomic_store(&self->is_active, 1);
    if (atomic_exchange(&pt_tick.ticker_waits, 0))
        syscall(SYS_futex, &pt_tick.ticker_waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Requests another period from the keeper after enough ticks of the present period. The handler
 * cannot change the period, since the event's descriptor is closed; the keeper has a table of
 * descriptors of its own and opens another event. */
static void count_of_period(pt_thread *self)
{
    enum {
        TICKS_MIN = 4,
        TICKS_MAX = 32,
        KEPT_NS = 16000000
    }; /* the first period is kept for the least number of ticks */
    _Atomic(int) *const bell = atomic_load_explicit(&pt_tick.keeper_bell, memory_order_relaxed);
    if (bell == NULL || self->event == NULL) return;
    const uint64_t ticks = KEPT_NS / pt_tick.period_ns;
    const bool is_least = ticks < TICKS_MIN || !self->has_changed;
    const uint64_t most = is_least ? TICKS_MIN : ticks > TICKS_MAX ? TICKS_MAX : ticks;
    if (++self->event_ticks < most) return;
    self->event_ticks = 0;
    self->has_changed = true;
    atomic_store(&self->wants_period, 1);
    atomic_store(&pt_tick.wants_periods, 1);
    syscall(SYS_futex, bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Counts an early sample. After a few of them, or if a part of the ring is full, calls
 * pt_tick.on_samples, which begins or wakes the drain thread. A process that ends earlier needs no
 * drain thread: its rings are emptied at its end. */
static void tell_of_samples(const pt_tick_ring *ring)
{
    enum { FEW_SAMPLES = 3 };
    const uint64_t tail = __atomic_load_n(&ring->tail_words, __ATOMIC_ACQUIRE);
    const uint32_t samples = atomic_fetch_add(&pt_tick.early_samples, 1) + 1;
    if (samples < FEW_SAMPLES && ring->head_words - tail < ring->ring_words / 4) return;
    void (*const tell)(void) = atomic_exchange(&pt_tick.on_samples, NULL);
    if (tell != NULL) tell();
}

/* ---- rests ---- */

/* A sample may take longer than a period: a deep stack, frames of an interpreter that no cache has,
 * slow system calls. With a sample at each tick the thread would only take samples. So samples may
 * take 1 / PARTS of the thread's time. A sample makes a debt of PARTS times its own time, and each
 * tick pays the time of its periods. A thread whose debt is above ALLOWED_NS rests: its ticks take
 * no sample, and its next sample also stands for these ticks. A thread whose stack is full also
 * rests. */
enum { PARTS = 4, ALLOWED_NS = 50000000 };

static bool is_on_signal_stack(void)
{
    stack_t now;
    return syscall(SYS_sigaltstack, NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0;
}

/* Has the thread too little stack left for a sample? Ruby goes to the end of its first stack when
 * it begins, so that nothing else is mapped there. A stack whose end is not known yet counts as
 * ending where no page can be read. The answer is no on a signal stack, which is as large as the
 * program wants it to be. */
static bool is_stack_full(const pt_thread *self)
{
    enum { SAMPLE_BYTES = 4096 };
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const pt_tick_code first = pt_tick.first_stack;
    const pt_tick_stack own = pt_tick_stack_of(self);
    if (here >= first.low && here < first.limit) return here - first.low < SAMPLE_BYTES;
    if (here >= own.low && here < own.limit) return here - own.low < SAMPLE_BYTES;
    return pt_tick_lacks_page((here - SAMPLE_BYTES) / PT_TICK_PAGE_BYTES) && !is_on_signal_stack();
}

/* Adds the kept periods (self->kept) to the periods of a tick. If the thread rests, keeps all these
 * periods. */
static bool is_resting(pt_thread *self, uint32_t *weight)
{
    const int64_t paid_ns = (int64_t)(*weight * pt_tick.period_ns);
    self->debt_ns = self->debt_ns > paid_ns ? self->debt_ns - paid_ns : 0;
    const bool is_resting = self->debt_ns > ALLOWED_NS || is_stack_full(self);
    const bool is_too_much = __builtin_add_overflow(*weight, self->kept, weight);
    if (is_too_much) *weight = UINT32_MAX;
    self->kept = is_resting ? *weight : 0;
    return is_resting;
}

/* The wall clock is read without a system call, but by this clock a sample also seems long if the
 * thread was off its CPU during the sample. So a sample that is long by the wall clock makes no
 * debt, but the CPU clock measures the next sample. */
static void take_measured_sample(pt_thread *self, pt_tick_ring *ring, uint32_t weight,
                                 const void *context)
{
    const clockid_t clock = self->was_long ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    const int64_t begun_ns = pt_tick_clock_ns(clock);
    take_sample(self, ring, weight, context);
    const int64_t took_ns = pt_tick_clock_ns(clock) - begun_ns;
    const bool is_long = took_ns > (int64_t)pt_tick.period_ns / PARTS;
    if (is_long == self->was_long) self->debt_ns += PARTS * took_ns;
    self->was_long = is_long;
}

static void count_tick(pt_thread *self, tick_kind kind, const siginfo_t *info, const void *context)
{
    pt_tick_ring *const ring = atomic_load(&self->ring);
    if (ring == NULL) return;
    uint32_t weight = weight_of(self, ring, kind, info, context);
    if (self->first_event != NULL && kind == EVENT_TICK)
        pt_tick_event_arm(self);
    else if (kind == EVENT_TICK)
        count_of_period(self);
    if (kind == TIMER_TICK && pt_tick.has_ticker) wake_ticker(self);
    if (weight == 0) return;
    if (is_resting(self, &weight)) return;
    add_count(&ring->ticks, 1);
    if (pt_tick.filter != NULL && !pt_tick.filter(pt_tick.filter_arg))
        add_count(&ring->filtered, weight);
    else
        take_measured_sample(self, ring, weight, context);
    if (atomic_load_explicit(&pt_tick.on_samples, memory_order_relaxed) != NULL)
        tell_of_samples(ring);
}

/* Ends the host at a breakpoint that it does not handle, as would happen without the library: the
 * signal comes again when this handler returns, with its default action. */
static void end_the_host(int signo, siginfo_t *info)
{
    static const uint64_t default_action[4] = {0}; /* the kernel's struct sigaction */
    /* This function makes the system call itself: libc's sigaction and syscall lead to the
     * library's functions, which would keep the library's handler. */
#if defined(__x86_64__)
    register uint64_t mask_bytes __asm__("r10") = sizeof(uint64_t);
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(SYS_rt_sigaction), "D"(signo), "S"(default_action), "d"(NULL),
                       "r"(mask_bytes)
                     : "rcx", "r11", "memory");
    (void)result;
#else
    syscall(SYS_rt_sigaction, signo, default_action, NULL, sizeof(uint64_t));
#endif
    syscall(SYS_rt_tgsigqueueinfo, pt_tick_getpid(), pt_tick_gettid(), signo, info);
}

/* Gives back a signal that the host's thread had blocked: the signal is for another thread or for
 * sigwait. The signal becomes pending again and is blocked in this thread again. */
static bool give_back(int signo, siginfo_t *info, void *context)
{
    const unsigned bit = 1U << (signo != pt_tick.signo);
    if (pt_tick_self == NULL || info->si_code > 0 ||
        (atomic_load(&pt_tick_self->was_blocked) & bit) == 0)
        return false;
    ucontext_t *const interrupted = context;
    uint64_t mask;
    memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
    mask |= UINT64_C(1) << (signo - 1);
    memcpy(&interrupted->uc_sigmask, &mask, sizeof mask);
    if (info->si_code == SI_TKILL)
        syscall(SYS_rt_tgsigqueueinfo, pt_tick_getpid(), pt_tick_gettid(), signo, info);
    else if (syscall(SYS_rt_sigqueueinfo, pt_tick_getpid(), signo, info) != 0)
        syscall(SYS_kill, pt_tick_getpid(),
                signo); /* the kernel allows these data only to the process's first thread */
    return true;
}

/* Calls the host's handler: a program that profiles itself with the same signal still works. */
PT_PASSING static void pass_to_host(int signo, siginfo_t *info, void *context)
{
    pt_tick_host *const host = &pt_tick.host[signo != pt_tick.signo];
    void (*const action)(int, siginfo_t *, void *) = atomic_load(&host->action);
    void (*const handler)(int) = atomic_load(&host->handler);
    if (atomic_load(&host->is_once)) {
        atomic_store(&host->action, NULL);
        atomic_store(&host->handler, NULL);
    }
    /* The library's handler runs with all signals blocked, the host's with the signals of its own
     * mask. */
    const ucontext_t *const interrupted = context;
    uint64_t all, mask;
    memcpy(&mask, &interrupted->uc_sigmask, sizeof mask);
    mask |= atomic_load(&host->mask);
    const bool is_handled = action != NULL || handler != NULL;
    if (is_handled) syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &all, sizeof mask);
    if (action != NULL)
        action(signo, info, context);
    else if (handler != NULL)
        handler(signo);
    else if (give_back(signo, info, context))
        ;
    else if (signo != pt_tick.signo && (info->si_code > 0 || !atomic_load(&host->is_ignored)))
        end_the_host(signo, info);
    if (is_handled) syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
}

PT_PASSING void pt_tick_handler(int signo, siginfo_t *info, void *context)
{
    const int saved_errno = errno;
    if (pt_tick_self == NULL && pt_tick.find != NULL) pt_tick_self = pt_tick.find(pt_tick_gettid());
    const tick_kind kind = kind_of(signo, info);
    pt_thread *const self = pt_tick_self;
    if (kind == NO_TICK) {
        pass_to_host(signo, info, context);
    } else if (self != NULL) {
        atomic_store(&self->busy, 1);
        count_tick(self, kind, info, context);
        atomic_store(&self->busy, 0);
        errno = saved_errno;
        if (kind == TIMER_TICK && atomic_load(&self->weighing) == PT_TICK_BY_TIMER)
            pt_tick_wait_on(self, context);
    }
    errno = saved_errno;
}
