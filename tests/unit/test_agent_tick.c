/* test_agent_tick.c: the signal handler on stacks and signals made here. It is called as a
 * function: the thread, its stack's bounds, the interrupted registers and the ring are all the
 * test's.
 */
#include "base_check.h"

#include "agent/tick/peek.h"
#include "agent/tick/tick.h"
#include "base/plain/tick.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_WORDS = 4096, RING_WORDS = 1024 };

static uintptr_t stack[STACK_WORDS];
static uint64_t memory[sizeof(pt_tick_ring) / sizeof(uint64_t) + RING_WORDS];
static pt_tick_ring *const ring = (pt_tick_ring *)memory;
static pt_thread self;
static ucontext_t host;
static siginfo_t info;
static int host_calls, host_actions;

#if defined(__x86_64__)
static void interrupt_on(uintptr_t pc, const uint64_t *sp, uintptr_t fp)
{
    host.uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    host.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)sp;
    host.uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
}
#elif defined(__aarch64__)
static void interrupt_on(uintptr_t pc, const uint64_t *sp, uintptr_t fp)
{
    host.uc_mcontext.pc = pc;
    host.uc_mcontext.sp = (uintptr_t)sp;
    host.uc_mcontext.regs[29] = fp;
}
#endif

static void interrupt_at(uintptr_t pc, size_t sp_word, uintptr_t fp)
{
    interrupt_on(pc, &stack[sp_word], fp);
}

/* A frame record at that word: the caller's frame at `caller` (0: none), its return address. */
static uintptr_t frame(size_t word, size_t caller, uintptr_t return_addr)
{
    stack[word] = caller == 0 ? 0 : (uintptr_t)&stack[caller];
    stack[word + 1] = return_addr;
    return (uintptr_t)&stack[word];
}

static int setup(void **state)
{
    memset(&self, 0, sizeof self);
    memset(memory, 0, sizeof memory);
    memset(stack, 0, sizeof stack);
    ring->ring_words = RING_WORDS;
    self.stack = (pt_tick_stack){.low = (uintptr_t)stack, .limit = (uintptr_t)stack + sizeof stack};
    atomic_store(&self.ring, ring);
    atomic_store(&self.weighing, PT_TICK_BY_TIMER);
    pt_tick_self = &self;
    host_calls = host_actions = 0;
    pt_tick =
        (pt_tick_settings){.signo = SIGPROF, .period_ns = 1000000, .main_start = {0x7000, 0x7100}};
    info = (siginfo_t){.si_code = SI_TIMER};
    info.si_value.sival_ptr = &self;
    return 0;
}

/* The only sample in the ring. */
static void assert_sample(uint32_t weight, unsigned end, const uint64_t *pcs, uint32_t depth)
{
    const uint64_t word = ring->words[0];
    assert_int_equal(pt_tick_ring_weight(word), weight);
    assert_int_equal(pt_tick_ring_end(word), end);
    assert_int_equal(pt_tick_ring_depth(word), depth);
    assert_int_equal(ring->head_words, 1 + depth);
    for (uint32_t i = 0; i < depth; i++)
        assert_int_equal(ring->words[1 + i], pcs[i]);
}

static void chain_that_reaches_the_call_of_main_ends_there_unchecked(void **state)
{
    static const uint64_t pcs[] = {0x5000, 0x5100, 0x5200, 0x7010};
    frame(100, 200, 0x5200);
    frame(200, 0, 0x7010);
    interrupt_at(0x5000, 10, frame(50, 100, 0x5100));
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_UNCHECKED, pcs, 4);
}

static void thread_s_own_first_frame_is_the_root_and_our_function_is_left_out(void **state)
{
    static const uint64_t pcs[] = {0x5000, 0x5100, 0x9999};
    pt_tick.own_start = (pt_tick_code){0x6000, 0x6100};
    self.stack.root_fp = frame(300, 0, 0x9999); /* libc's function that starts threads */
    frame(100, 300, 0x6020);                    /* the start routine returns to ours */
    interrupt_at(0x5000, 10, frame(50, 100, 0x5100));
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_UNCHECKED, pcs, 3);
}

static void start_routine_without_a_frame_keeps_its_place(void **state)
{
    static const uint64_t pcs[] = {0x5000, 0x5300, 0x9999};
    pt_tick.own_start = (pt_tick_code){0x6000, 0x6100};
    self.stack.root_fp = frame(300, 0, 0x9999);
    interrupt_at(0x5000, 10, frame(50, 300, 0x5300)); /* called by a routine that left fp alone */
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_UNCHECKED, pcs, 3);
}

static void chain_is_believed_only_while_it_climbs_aligned_inside_the_stack(void **state)
{
    const uintptr_t bad[] = {
        0,                                    /* no caller */
        (uintptr_t)&stack[9],                 /* below the stack pointer */
        (uintptr_t)&stack[50] + 1,            /* not aligned */
        (uintptr_t)&stack[STACK_WORDS - 1],   /* a record over the end */
        (uintptr_t)stack + sizeof stack + 64, /* outside */
        UINTPTR_MAX - 7,
    };
    static const uint64_t leaf[] = {0x5000};
    frame(50, 0, 0x5100);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ring->head_words = 0;
        interrupt_at(0x5000, 10, bad[i]);
        pt_tick_handler(SIGPROF, &info, &host);
        assert_sample(1, PT_JOURNAL_END_NO_RULE, leaf, 1);
    }
}

static void chain_that_turns_back_ends(void **state)
{
    static const uint64_t pcs[] = {0x5000, 0x5100, 0x5200};
    frame(100, 50, 0x5200);
    interrupt_at(0x5000, 10, frame(50, 100, 0x5100));
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_NO_RULE, pcs, 3);
}

/* The program is on a coroutine's stack. */
static void stack_that_is_not_the_thread_s_is_read_as_far_as_it_is_there(void **state)
{
    enum { PAGE_WORDS = 4096 / sizeof(uint64_t), PAGES = 3 };
    uint64_t *const pages = mmap(NULL, (size_t)PAGES * 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    uint64_t *const end = &pages[(PAGES - 1) * PAGE_WORDS];
    assert_int_equal(mprotect(end, 4096, PROT_NONE), 0);
    assert_int_equal(mprotect(pages, 4096, PROT_NONE), 0);
    uint64_t *const middle = end - PAGE_WORDS;
    static const uint64_t chain[] = {0x5000, 0x5100, 0x5200};
    middle[50] = (uintptr_t)&middle[60];
    middle[51] = 0x5100;
    middle[60] = (uintptr_t)(end - 1); /* a record there would cross the end */
    middle[61] = 0x5200;
    interrupt_on(0x5000, &middle[10], (uintptr_t)&middle[50]);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_NO_RULE, chain, 3);
    ring->head_words = 0;
    interrupt_on(0x5000, &pages[10], (uintptr_t)&middle[50]); /* no page */
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_BAD_READ, chain, 1);
    munmap(pages, (size_t)PAGES * 4096);
}

static void page_that_a_walk_does_not_need_is_not_read(void **state)
{
    static const uint64_t chain[] = {0x5000, 0x5100};
    unsigned char is_there[2];
    uint64_t *const pages =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    pages[50] = 0;
    pages[51] = 0x5100;
    interrupt_on(0x5000, &pages[10], (uintptr_t)&pages[50]);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_NO_RULE, chain, 2);
    assert_int_equal(mincore(pages, 8192, is_there), 0);
    assert_int_equal(is_there[0] & 1, 1);
    assert_int_equal(is_there[1] & 1, 0);
    munmap(pages, 8192);
}

static void thread_whose_stack_is_unknown_asks_for_it(void **state)
{
    self.stack = (pt_tick_stack){0};
    interrupt_at(0x5000, 10, 0);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(atomic_load(&self.wants_stack), (uintptr_t)&stack[10]);
}

static void stack_deeper_than_the_most_is_cut_and_said_to_be(void **state)
{
    for (size_t i = 0; i < 1000; i++)
        frame(20 + 2 * i, 22 + 2 * i, 0x5000 + i);
    interrupt_at(0x4000, 10, (uintptr_t)&stack[20]);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(pt_tick_ring_depth(ring->words[0]), PT_JOURNAL_DEPTH_MAX);
    assert_int_equal(pt_tick_ring_end(ring->words[0]), PT_JOURNAL_END_TRUNCATED);
}

static void overruns_are_weight(void **state)
{
    static const uint64_t leaf[] = {0x5000};
    info.si_overrun = 3;
    interrupt_at(0x5000, 10, 0);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(4, PT_JOURNAL_END_NO_RULE, leaf, 1);
    assert_int_equal(ring->weight, 4);
    assert_int_equal(ring->ticks, 1);
}

/* ---- by looks ----
 *
 * Threads whose clocks are moved here: a microsecond of theirs is a millisecond of ours, so that
 * what the test itself uses is next to nothing. */
enum { OURS_NS = 1000000 };

static int64_t period_us, look_every_us; /* every so often the kernel looks at the thread's timer */
static _Atomic(int64_t) owed_ns;
static uint64_t early_pc_weight, weight_in_all;

static int64_t own_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void clock_moves(int64_t us)
{
    self.clock_seen_ns -= us * OURS_NS;
}

static void add_weight(bool is_early)
{
    early_pc_weight += is_early ? ring->weight : 0;
    weight_in_all += ring->weight;
    ring->weight = 0;
    ring->tail_words = ring->head_words; /* the drain was here */
}

/* A thread that lives for so long, the first early_us of that in one function, with the kernel's
 * first look so long after its begin. */
static void thread_lives(int64_t life_us, int64_t early_us, int64_t look_us)
{
    int64_t clock_us = 0, ends_us = 0; /* of the timer */
    bool is_early = false;
    self.clock_seen_ns = own_clock_ns();
    self.is_unmet = true;
    self.before_ns = 0;
    self.last_words = 0;
    for (int64_t at_us = look_us; at_us < life_us; at_us += look_every_us) {
        if (ends_us > at_us) continue;
        const bool is_first = self.is_unmet;
        clock_moves(at_us - clock_us);
        clock_us = at_us;
        is_early = at_us < early_us;
        interrupt_at(is_early ? 0x5000 : 0x6000, 10, 0);
        pt_tick_handler(SIGPROF, &info, &host);
        add_weight(is_early);
        if (is_first) {
            struct itimerspec armed;
            timer_gettime((timer_t)self.timer, &armed);
            ends_us = at_us + armed.it_value.tv_sec * 1000 + armed.it_value.tv_nsec / OURS_NS;
        }
        while (ends_us <= at_us)
            ends_us += period_us;
    }
    clock_moves(life_us - clock_us);
    pt_tick_settle_looks(&self, ring, (uint64_t)own_clock_ns(),
                         (int64_t)(2 * pt_tick.period_ns + pt_tick.look_ns));
    add_weight(is_early);
}

enum { MANY_THREADS = 5000 };

/* As many threads, at all phases of the kernel's ticks, which come every tick_us: the sum is theirs
 * but for what is still owed, to the last microsecond. */
static void many_threads_live(int64_t life_us, int64_t early_us, int64_t tick_us)
{
    uint64_t chance = 20261122; /* a linear congruential generator's */
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    timer_t timer;
    assert_int_equal(timer_create(CLOCK_THREAD_CPUTIME_ID, &none, &timer), 0);
    self.timer = timer;
    self.owed_ns = &owed_ns;
    atomic_store(&self.weighing, PT_TICK_BY_LOOKS);
    atomic_store(&owed_ns, 0);
    pt_tick.look_ns = UINT64_C(4000) * OURS_NS;
    pt_tick.period_ns = (uint64_t)(period_us * OURS_NS);
    look_every_us = tick_us;
    early_pc_weight = weight_in_all = 0;
    for (int64_t i = 0; i < MANY_THREADS; i++) {
        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        self.part_ns = (int64_t)((chance >> 20) % pt_tick.period_ns);
        chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        thread_lives(life_us, early_us, 1 + (int64_t)((chance >> 33) % (uint64_t)tick_us));
    }
    pt_tick_settle_owed(&owed_ns, (void *(*)(void *))(uintptr_t)0x7000, ring);
    add_weight(false);
    const int64_t seen_us = (int64_t)weight_in_all * period_us + atomic_load(&owed_ns) / OURS_NS;
    assert_in_range(seen_us, MANY_THREADS * life_us, MANY_THREADS * life_us + MANY_THREADS / 10);
    timer_delete(timer);
}

static void assert_about(double is, double should_be, double share)
{
    if (is > (1 - share) * should_be && is < (1 + share) * should_be) return;
    print_message("%g, not %g\n", is, should_be);
    fail();
}

/* All the time that the threads used, and of that the quarter that is theirs in the first function,
 * within four standard deviations: of the looks that meet it, or of the periods that they count. */
static void sum_and_share_are_right(int64_t life_us)
{
    const double used_us = (double)(MANY_THREADS * life_us);
    const int64_t each_us = period_us > look_every_us ? period_us : look_every_us;
    assert_about((double)((int64_t)weight_in_all * period_us), used_us, 0.002);
    if (life_us < look_every_us || look_every_us == 4000)
        assert_about((double)((int64_t)early_pc_weight * period_us), used_us / 4,
                     4 / sqrt(used_us / 4 / (double)each_us));
}

static void threads_shorter_than_the_kernel_s_tick_are_seen_in_proportion(void **state)
{
    static const int64_t lives_us[] = {500, 2000, 7000, 35000};
    static const int64_t periods_us[] = {10000, 4000, 1000};
    for (size_t p = 0; p < sizeof periods_us / sizeof periods_us[0]; p++) {
        period_us = periods_us[p];
        for (size_t l = 0; l < sizeof lives_us / sizeof lives_us[0]; l++) {
            many_threads_live(lives_us[l], lives_us[l] / 4, 4000);
            sum_and_share_are_right(lives_us[l]);
        }
    }
}

/* On a full machine the kernel's tick meets a thread once in many. What a look stands for is then
 * much of a long thread's time, which was not all spent in one place: only the sum stays. */
static void
threads_that_the_kernel_s_tick_seldom_meets_are_seen_for_as_long_as_they_are(void **state)
{
    static const int64_t lives_us[] = {500, 2000, 7000, 35000, 250000};
    static const int64_t periods_us[] = {10000, 1000};
    for (size_t p = 0; p < sizeof periods_us / sizeof periods_us[0]; p++) {
        period_us = periods_us[p];
        for (size_t l = 0; l < sizeof lives_us / sizeof lives_us[0]; l++) {
            many_threads_live(lives_us[l], lives_us[l] / 4, 30000);
            sum_and_share_are_right(lives_us[l]);
        }
    }
}

static void threads_that_no_look_met_are_where_they_began(void **state)
{
    static const uint64_t start[] = {0x5500};
    pt_tick.period_ns = 1000;
    atomic_store(&owed_ns, 3999);
    pt_tick_settle_owed(&owed_ns, (void *(*)(void *))(uintptr_t)start[0], ring);
    assert_sample(3, PT_JOURNAL_END_NO_RULE, start, 1);
    assert_int_equal(atomic_load(&owed_ns), 999);
    atomic_store(&owed_ns,
                 -5000); /* samples stand for more than there was: nothing is taken back */
    pt_tick_settle_owed(&owed_ns, (void *(*)(void *))(uintptr_t)start[0], ring);
    assert_int_equal(ring->weight, 3);
}

static void tick_without_room_is_counted_and_the_ring_stays_whole(void **state)
{
    interrupt_at(0x5000, 10, 0);
    for (int i = 0; i < RING_WORDS; i++)
        pt_tick_handler(SIGPROF, &info, &host);
    assert_true(ring->head_words <= RING_WORDS);
    assert_int_equal(ring->ticks, RING_WORDS);
    assert_int_equal(ring->weight + ring->dropped, RING_WORDS);
    assert_true(ring->dropped > 0);
    ring->tail_words = ring->head_words; /* the drain was here */
    const uint64_t before = ring->dropped;
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(ring->dropped, before);
}

/* ---- copies ---- */

static void assert_copy(size_t words, unsigned end)
{
    const uint64_t *const copied = ring->words + 1 + PT_MACHINE_REGS_MAX;
    assert_int_equal(pt_tick_ring_end(ring->words[0]), end);
    assert_int_equal(pt_tick_ring_depth(ring->words[0]), PT_MACHINE_REGS_MAX + words);
    assert_int_equal(ring->head_words, 1 + PT_MACHINE_REGS_MAX + words);
    assert_int_equal(ring->words[1 + PT_MACHINE_HOST->pc], 0x5000);
    assert_memory_equal(copied, &stack[10], words * sizeof *copied);
}

static void stack_is_copied_while_there_are_no_tables(void **state)
{
    /* A fourth of the room that is left behind the registers: the stack has more. */
    const size_t most = (RING_WORDS - PT_MACHINE_REGS_MAX) / 4;
    for (size_t i = 0; i < STACK_WORDS; i++)
        stack[i] = 0x100 + i;
    atomic_store(&pt_tick.copies_stacks, 1);
    interrupt_at(0x5000, 10, 0);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_copy(most, PT_TICK_CUT_COPY);
    assert_int_equal(ring->weight, 1);
    /* Later periods are added to the record until it is folded. */
    self.clock_seen_ns = 0;
    pt_tick_settle(&self, ring, 3 * pt_tick.period_ns);
    assert_int_equal(pt_tick_ring_weight(ring->words[0]), 4);
    assert_int_equal(ring->weight, 4);
    assert_copy(most, PT_TICK_CUT_COPY);
    ring->head_words = 0;
    self.stack.limit = (uintptr_t)&stack[14];
    pt_tick_handler(SIGPROF, &info, &host);
    assert_copy(4, PT_TICK_COPY);
    ring->head_words = 0;
    self.stack = (pt_tick_stack){0}; /* little is read of a stack whose end is not known */
    pt_tick_handler(SIGPROF, &info, &host);
    assert_copy((RING_WORDS - PT_MACHINE_REGS_MAX) / 24, PT_TICK_CUT_COPY);
}

static int times_told;

static void count_telling(void)
{
    times_told++;
}

static void third_sample_tells_the_drain_thread_once(void **state)
{
    atomic_store(&pt_tick.on_samples, count_telling);
    interrupt_at(0x5000, 10, 0);
    for (int i = 0; i < 2; i++)
        pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(times_told, 0);
    for (int i = 0; i < 3; i++)
        pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(times_told, 1);
    assert_null(atomic_load(&pt_tick.on_samples));
}

static int refuse(void *calls)
{
    ++*(int *)calls;
    return 0;
}

static void filter_that_refuses_leaves_no_sample(void **state)
{
    int calls = 0;
    pt_tick.filter = refuse;
    pt_tick.filter_arg = &calls;
    interrupt_at(0x5000, 10, 0);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(calls, 1);
    assert_int_equal(ring->filtered, 1);
    assert_int_equal(ring->head_words, 0);
    /* Nor when it ends, a hundred periods later. */
    self.start_routine = (void *(*)(void *))(uintptr_t)0x5000;
    pt_tick_settle(&self, ring, (uint64_t)self.clock_seen_ns + 100 * pt_tick.period_ns);
    assert_int_equal(ring->head_words, 0);
}

static void host_handler(int signo)
{
    host_calls += signo == SIGPROF;
}

static void host_action(int signo, siginfo_t *raised, void *context)
{
    host_actions += signo == SIGTRAP;
}

static void signal_of_somebody_else_goes_to_the_host_and_is_no_tick(void **state)
{
    atomic_store(&pt_tick.host[0].handler, host_handler);
    interrupt_at(0x5000, 10, 0);
    info.si_code = SI_USER;
    pt_tick_handler(SIGPROF, &info, &host);
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = &host; /* a timer of a thread that has ended */
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(host_calls, 1);
    assert_int_equal(ring->ticks, 0);
}

static void trap_of_an_event_is_a_tick_and_other_traps_are_not(void **state)
{
    const uint64_t data = PT_TICK_TRAP_DATA(&self);
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    pt_tick.period_ns = UINT64_C(1000000000000);
    atomic_store(&self.weighing, PT_TICK_BY_CLOCK);
    self.clock_seen_ns =
        (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - 2 * (int64_t)pt_tick.period_ns;
    atomic_store(&pt_tick.host[1].action, host_action);
    interrupt_at(0x5000, 10, 0);
    info = (siginfo_t){.si_code = TRAP_PERF};
    memcpy((char *)&info.si_addr + sizeof info.si_addr, &data, sizeof data);
    pt_tick_handler(SIGTRAP, &info, &host);
    assert_int_equal(ring->weight, 2);
    assert_int_equal(host_actions, 0);
    memset((char *)&info.si_addr + sizeof info.si_addr, 1,
           sizeof data); /* an event of the host's */
    pt_tick_handler(SIGTRAP, &info, &host);
    info.si_code = 1; /* TRAP_BRKPT */
    pt_tick_handler(SIGTRAP, &info, &host);
    assert_int_equal(host_actions, 2);
    assert_int_equal(ring->ticks, 1);
}

static void handler_for_one_signal_is_called_once(void **state)
{
    atomic_store(&pt_tick.host[0].handler, host_handler);
    atomic_store(&pt_tick.host[0].is_once, 1); /* System V's signal() */
    info.si_code = SI_USER;
    pt_tick_handler(SIGPROF, &info, &host);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(host_calls, 1);
}

static void tick_of_an_event_is_as_many_periods_as_the_thread_s_clock_says(void **state)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    /* A period of 1,000 s: what this test itself uses is nothing. */
    pt_tick.period_ns = UINT64_C(1000000000000);
    atomic_store(&self.weighing, PT_TICK_BY_CLOCK);
    self.clock_seen_ns = now_ns - 3 * (int64_t)pt_tick.period_ns;
    info.si_code = 1; /* POLL_IN, as the kernel sends for a descriptor */
    interrupt_at(0x5000, 10, 0);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(ring->weight, 3);
    assert_int_equal(self.clock_seen_ns, now_ns);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(ring->weight, 3); /* nothing has gone by since */
}

/* A program that works in rounds meets ticks of any period at the same places of its rounds, if the
 * weights of the ticks have a rhythm of their own: a part of a period counts by chance. */
static void weights_of_parts_of_a_period_add_up_and_have_no_rhythm(void **state)
{
    enum { TICKS = 4000, OF_EACH = 4 };
    uint64_t by_place[OF_EACH] = {0}, before = 0;
    pt_tick.period_ns = UINT64_C(1000000000000);
    atomic_store(&self.weighing, PT_TICK_BY_CLOCK);
    self.clock_seen_ns = own_clock_ns();
    self.random = 1;
    info.si_code = 1; /* POLL_IN */
    interrupt_at(0x5000, 10, 0);
    for (size_t i = 0; i < TICKS; i++) { /* three quarters of a period each */
        self.clock_seen_ns -= (int64_t)pt_tick.period_ns / 4 * 3;
        ring->tail_words = ring->head_words;
        pt_tick_handler(SIGPROF, &info, &host);
        by_place[i % OF_EACH] += ring->weight - before;
        before = ring->weight;
        const double passed = 0.75 * (double)(i + 1);
        assert_true(fabs((double)ring->weight - passed) <= 1.01);
    }
    for (size_t i = 0; i < OF_EACH; i++) /* nine standard deviations of independent weights */
        assert_true(fabs((double)by_place[i] - 0.75 * TICKS / OF_EACH) < 9 * 13.7);
}

/* An event for user mode: its timer runs in the kernel, too, and ticks there are dropped. */
static void ticks_that_were_due_and_did_not_come_were_in_the_kernel(void **state)
{
    const int64_t period_ns = INT64_C(1000000000000);
    pt_tick.period_ns = (uint64_t)period_ns;
    atomic_store(&self.weighing, PT_TICK_BY_USER_MODE);
    self.event_ns = pt_tick.period_ns;
    info.si_code = 1; /* POLL_IN */
    interrupt_at(0x5000, 10, 0);
    self.ticked_ns = self.event_from_ns = own_clock_ns() - 3 * period_ns;
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(ring->weight, 1);
    assert_int_equal(ring->kernel, 2);
    self.ticked_ns -= period_ns; /* the tick is on time */
    self.event_from_ns -= period_ns;
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(ring->weight, 2);
    assert_int_equal(ring->kernel, 2);
    self.ticked_ns -= 2 * period_ns; /* the event has this period for a part of the time only */
    self.event_from_ns -= period_ns;
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(ring->weight, 4);
    assert_int_equal(ring->kernel, 2);
    /* At the end no tick was due, or it was dropped. */
    self.user_ns = self.kernel_ns = 0;
    pt_tick_settle_kernel(&self, ring, (uint64_t)(self.ticked_ns + period_ns - 1));
    assert_int_equal(ring->kernel, 2);
    pt_tick_settle_kernel(&self, ring, (uint64_t)(self.ticked_ns + 2 * period_ns + 1));
    assert_int_equal(ring->kernel, 5);
    assert_int_equal(ring->weight, 4);
}

/* Threads of this length, of which the kernel sees no tick, or only those in user mode. */
static double seen_of_threads(int64_t life_ns, int64_t user_ns)
{
    enum { THREADS = 5000 };
    const int64_t period_ns = INT64_C(1000000000000);
    uint64_t random = 1;
    setup(NULL);
    pt_tick.period_ns = (uint64_t)period_ns;
    atomic_store(&self.weighing, PT_TICK_BY_USER_MODE);
    info.si_code = 1; /* POLL_IN */
    interrupt_at(0x5000, 10, 0);
    for (int i = 0; i < THREADS; i++) {
        const int64_t first_ns = 1 + (int64_t)pt_random_below(&random, pt_tick.period_ns);
        self.event_ns = (uint64_t)first_ns;
        self.part_ns = period_ns - first_ns;
        self.user_ns = self.kernel_ns = 0;
        self.event_from_ns = own_clock_ns();
        if (first_ns < user_ns) { /* the first tick comes then; the event has a period from there */
            self.event_from_ns -= first_ns;
            self.ticked_ns = self.event_from_ns - self.part_ns;
            pt_tick_handler(SIGPROF, &info, &host);
            ring->tail_words = ring->head_words;
            self.event_ns = (uint64_t)period_ns;
            pt_tick_settle_kernel(&self, ring, (uint64_t)(self.ticked_ns + life_ns - first_ns));
        } else {
            self.ticked_ns = self.event_from_ns - self.part_ns;
            pt_tick_settle_kernel(&self, ring, (uint64_t)(self.event_from_ns + life_ns));
        }
    }
    const double used = (double)life_ns / (double)period_ns * THREADS;
    return (double)(ring->weight + ring->kernel) / used;
}

/* A thread stands for whole periods. What its clock says beside goes to the next thread. */
static void threads_that_end_in_the_kernel_have_their_cpu_time(void **state)
{
    static const double lives[] = {0.3, 0.7, 3, 3.5};
    for (size_t i = 0; i < sizeof lives / sizeof lives[0]; i++) {
        const int64_t life_ns = (int64_t)(lives[i] * 1e12);
        assert_true(fabs(seen_of_threads(life_ns, 0) - 1) < 0.001);
        assert_true(fabs(seen_of_threads(life_ns, life_ns / 2) - 1) < 0.03);
    }
}

static void random_periods_have_the_period_in_the_mean(void **state)
{
    enum { DRAWS = 10000, PERIOD_NS = 1000000 };
    uint64_t random = 1, least = UINT64_MAX, most = 0;
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        const uint64_t period_ns = pt_random_period(&random, PERIOD_NS);
        sum += (double)period_ns;
        if (period_ns < least) least = period_ns;
        if (period_ns > most) most = period_ns;
    }
    /* Of a uniform distribution: sigma of the mean is 1 / sqrt(12 * DRAWS). */
    assert_true(fabs(sum / DRAWS / PERIOD_NS - 1) < 5 / sqrt(12.0 * DRAWS));
    assert_in_range(least, PERIOD_NS / 2, PERIOD_NS / 2 + PERIOD_NS / 100);
    assert_in_range(most, PERIOD_NS * 3 / 2 - PERIOD_NS / 100, PERIOD_NS * 3 / 2);
}

static void event_asks_for_another_period_after_some_ticks(void **state)
{
    static _Atomic(int) bell;
    static const struct {
        uint64_t period_ns;
        int first, then;
    } cases[] = {{10000000, 4, 4}, {1000000, 4, 16}, {250000, 4, 32}};
    info.si_code = 1; /* POLL_IN */
    interrupt_at(0x5000, 10, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setup(state);
        info.si_code = 1;
        pt_tick.period_ns = cases[i].period_ns;
        self.event = stack;
        pt_tick_handler(SIGPROF, &info, &host);
        assert_int_equal(self.event_ticks, 0); /* nobody could open events yet */
        atomic_store(&pt_tick.keeper_bell, &bell);
        for (int tick = 1; tick <= cases[i].first + cases[i].then; tick++) {
            pt_tick_handler(SIGPROF, &info, &host);
            const bool is_due = tick == cases[i].first || tick == cases[i].first + cases[i].then;
            assert_int_equal(atomic_exchange(&self.wants_period, 0), is_due);
            assert_int_equal(atomic_exchange(&pt_tick.wants_periods, 0), is_due);
        }
    }
}

/* What went by since the last tick is no tick that was missed before the event's period is over. */
static void end_of_a_thread_is_counted_only_if_a_tick_was_due(void **state)
{
    interrupt_at(0x5000, 10, 0);
    pt_tick_handler(SIGPROF, &info, &host);
    self.ticked_ns = 5000000;
    self.event_ns = 1400000;
    pt_tick_settle(&self, ring, 6400000);
    assert_int_equal(ring->weight, 1);
    pt_tick_settle(&self, ring, 7500000);
    assert_int_equal(ring->weight, 3);
}

static void leaf_at_address_zero_is_not_written(void **state)
{
    static const uint64_t leaf[] = {1};
    interrupt_at(0, 10, 0);
    pt_tick_handler(SIGPROF, &info, &host);
    assert_sample(1, PT_JOURNAL_END_NO_RULE, leaf, 1);
}

static void errno_is_as_it_was(void **state)
{
    interrupt_at(0x5000, 10, 0);
    errno = 4711;
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(errno, 4711);
}

#if defined(__x86_64__)

static uint8_t page[4096] __attribute__((aligned(4096))); /* of code */

/* A limit that does not end while a machine stands still. */
enum { LIMIT_MS = 1000000 };

/* A tick in a wait for that in r10, behind that code. Returns the number of the call that begins
 * anew, or -EINTR, and the rest of the limit in ret_ms. */
static long wait_again(const void *code, size_t size, greg_t limit, int32_t *ret_ms)
{
    greg_t *const regs = host.uc_mcontext.gregs;
    memcpy(page + 64, code, size);
    pt_tick.libc_code[0] = (pt_tick_code){(uintptr_t)page, (uintptr_t)page + sizeof page};
    interrupt_at((uintptr_t)page + 64 + size, 10, 0);
    regs[REG_RAX] = -EINTR;
    regs[REG_RCX] = regs[REG_RIP];
    regs[REG_R10] = limit;
    pt_tick_handler(SIGPROF, &info, &host);
    *ret_ms = (int32_t)regs[REG_R10];
    assert_int_equal(regs[REG_RIP],
                     (uintptr_t)page + 64 + size - (regs[REG_RAX] == -EINTR ? 0 : 2));
    return regs[REG_RAX];
}

static void limit_of_a_wait_is_shortened_only_while_it_is_the_same_wait(void **state)
{
    static const uint8_t code[] = {0xb8, SYS_epoll_wait, 0, 0, 0, 0x0f, 0x05};
    int32_t ms;
    assert_int_equal(wait_again(code, sizeof code, LIMIT_MS, &ms), SYS_epoll_wait);
    assert_int_equal(ms, LIMIT_MS);
    usleep(2500);
    assert_int_equal(wait_again(code, sizeof code, host.uc_mcontext.gregs[REG_R10], &ms),
                     SYS_epoll_wait);
    assert_true(ms <= LIMIT_MS - 2);
    /* The same call of the same place, with the limit that is left. */
    self.wait.now = (pt_tick_moment){0};
    const int32_t left_ms = ms;
    usleep(1500);
    assert_int_equal(wait_again(code, sizeof code, left_ms, &ms), SYS_epoll_wait);
    assert_int_equal(ms, left_ms);
}

static void wait_by_an_instruction_that_is_not_libc_s_ends(void **state)
{
    static const uint8_t code[] = {0xb8, SYS_epoll_wait, 0, 0, 0, 0x0f, 0x05};
    greg_t *const regs = host.uc_mcontext.gregs;
    int32_t ms;
    assert_int_equal(wait_again(code, sizeof code, LIMIT_MS, &ms), SYS_epoll_wait);
    pt_tick.libc_code[0] = (pt_tick_code){0};
    regs[REG_RIP] = regs[REG_RCX];
    regs[REG_RAX] = -EINTR;
    regs[REG_R10] = LIMIT_MS;
    pt_tick_handler(SIGPROF, &info, &host);
    assert_int_equal(regs[REG_RAX], -EINTR);
    assert_int_equal(regs[REG_R10], LIMIT_MS);
}

static void number_of_a_call_is_found_before_the_moves_of_its_arguments(void **state)
{
    enum { EPOLL_PWAIT = 0x119, OF_R8 = 0x41 };
    static const uint8_t plain[] = {0xb8, 0x19, 1, 0, 0, 0x0f, 0x05},
                         moved[] = {0xb8, 0x19, 1,    0,    0,    0x8b, 0x7c, 0x24,
                                    0x04, 0x4c, 0x89, 0xc6, 0x89, 0xd7, 0x0f, 0x05},
                         other[] = {OF_R8, 0xb8, 0x19, 1, 0, 0, 0x0f, 0x05},
                         computed[] = {0xb8, 0x19, 1, 0, 0, 0x31, 0xc0, 0x0f, 0x05};
    int32_t ms;
    _Static_assert(SYS_epoll_pwait == EPOLL_PWAIT, "number in the code");
    assert_int_equal(wait_again(plain, sizeof plain, LIMIT_MS, &ms), EPOLL_PWAIT);
    assert_int_equal(wait_again(moved, sizeof moved, LIMIT_MS, &ms), EPOLL_PWAIT);
    assert_int_equal(wait_again(other, sizeof other, LIMIT_MS, &ms), -EINTR);
    assert_int_equal(wait_again(computed, sizeof computed, LIMIT_MS, &ms), -EINTR);
}

/* glibc 2.41 and later: a function with seven arguments, and what it calls, which has the SYSCALL
 * instruction of all threads but the only one. */
static void number_of_a_call_is_found_on_the_stack(void **state)
{
    static const uint8_t only[] = {0x48, 0x8b, 0x44, 0x24, 0x10, 0x0f, 0x05},
                         other[] = {0x48, 0x89, 0xf0, 0x48, 0x89, 0xd7, 0x48, 0x89,
                                    0xce, 0x4c, 0x89, 0xc2, 0x4d, 0x89, 0xca, 0x4c,
                                    0x8b, 0x44, 0x24, 0x08, 0x4c, 0x8b, 0x4c, 0x24,
                                    0x10, 0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05};
    const uintptr_t function = (uintptr_t)page + 512, back = (uintptr_t)page + 1024;
    const int32_t distance = 512 - 1024;
    int32_t ms;
    stack[10 + 2] = SYS_epoll_wait;
    assert_int_equal(wait_again(only, sizeof only, LIMIT_MS, &ms), SYS_epoll_wait);
    page[1024 - 5] = 0xe8;
    memcpy(page + 1024 - 4, &distance, sizeof distance);
    stack[10] = function + 80;
    stack[10 + 3] = 4711; /* a register that the function keeps */
    stack[10 + 4] = back;
    stack[10 + 5] = SYS_epoll_pwait;
    assert_int_equal(wait_again(other, sizeof other, LIMIT_MS, &ms), SYS_epoll_pwait);
    page[1024 - 5] = 0xe9;
    assert_int_equal(wait_again(other, sizeof other, LIMIT_MS, &ms), -EINTR);
}

#endif

static void ring_word_gives_back_what_was_packed(void **state)
{
    const uint64_t word = pt_tick_ring_word(4000000000u, 512, PT_JOURNAL_END_NO_RULE);
    assert_int_equal(pt_tick_ring_weight(word), 4000000000u);
    assert_int_equal(pt_tick_ring_depth(word), 512);
    assert_int_equal(pt_tick_ring_end(word), PT_JOURNAL_END_NO_RULE);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

static void tick_with_overruns(int overruns)
{
    info.si_overrun = overruns;
    pt_tick_handler(SIGPROF, &info, &host);
}

static void thread_rests_after_long_samples_and_no_period_is_lost(void **state)
{
    enum { RESTS = 10, MANY = 200000000 };
    pt_tick.period_ns = 1; /* each sample is long */
    interrupt_at(0x5000, 10, 0);
    tick_with_overruns(0);
    assert_true(self.was_long);
    assert_int_equal(self.debt_ns, 0); /* the wall clock says nothing */
    tick_with_overruns(0);
    assert_true(self.debt_ns > 0);
    assert_int_equal(ring->weight, 2);
    self.debt_ns = 50000000 + 2 * RESTS;
    for (int i = 0; i < RESTS; i++)
        tick_with_overruns(0);
    assert_int_equal(ring->weight, 2);
    assert_int_equal(self.kept, RESTS);
    tick_with_overruns(MANY - 1);
    assert_int_equal(ring->weight, 2 + RESTS + MANY);
    assert_int_equal(self.kept, 0);
}

static void periods_that_a_resting_thread_keeps_go_to_its_last_stack_at_its_end(void **state)
{
    interrupt_at(0x5000, 10, 0);
    tick_with_overruns(0);
    self.debt_ns = 1000000000;
    tick_with_overruns(6);
    assert_int_equal(ring->weight, 1);
    pt_tick_settle_kept(&self, ring);
    assert_int_equal(ring->weight, 1 + 7);
    pt_tick_settle_kept(&self, ring);
    assert_int_equal(ring->weight, 1 + 7);
}

static void short_samples_need_no_rest(void **state)
{
    pt_tick.period_ns = 1000000000;
    interrupt_at(0x5000, 10, 0);
    for (int i = 0; i < 5; i++)
        tick_with_overruns(0);
    assert_int_equal(ring->weight, 5);
    assert_int_equal(self.kept, 0);
}

static void memory_is_copied_by_parts_and_what_is_unmapped_is_refused(void **state)
{
    static pt_tick_copies copies;
    enum { BYTES = 2 * PT_TICK_PAGE_BYTES };
    uint8_t found[1000];
    uint8_t *const bytes =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    assert_int_equal(munmap(bytes + PT_TICK_PAGE_BYTES, PT_TICK_PAGE_BYTES), 0);
    const uint64_t addr = (uint64_t)(uintptr_t)bytes;
    assert_true(pt_tick_copy_by_parts(&copies, addr + 100, found, sizeof found));
    assert_memory_equal(found, bytes + 100, sizeof found);
    assert_true(pt_tick_copy_by_parts(&copies, addr + PT_TICK_PAGE_BYTES - 3, found, 3));
    assert_memory_equal(found, bytes + PT_TICK_PAGE_BYTES - 3, 3);
    assert_false(pt_tick_copy_by_parts(&copies, addr + PT_TICK_PAGE_BYTES - 3, found, 4));
    bytes[300] ^= 1; /* a copy is kept until it is forgotten */
    assert_true(pt_tick_copy_by_parts(&copies, addr + 300, found, 1));
    assert_int_equal(found[0], bytes[300] ^ 1);
    pt_tick_forget_copies(&copies);
    assert_true(pt_tick_copy_by_parts(&copies, addr + 300, found, 1));
    assert_int_equal(found[0], bytes[300]);
    assert_false(pt_tick_copy_by_parts(&copies, UINT64_MAX - 1, found, 8));
    munmap(bytes, PT_TICK_PAGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_word_gives_back_what_was_packed),
#if defined(__x86_64__)
        TEST(limit_of_a_wait_is_shortened_only_while_it_is_the_same_wait),
        TEST(wait_by_an_instruction_that_is_not_libc_s_ends),
        TEST(number_of_a_call_is_found_before_the_moves_of_its_arguments),
        TEST(number_of_a_call_is_found_on_the_stack),
#endif
        TEST(chain_that_reaches_the_call_of_main_ends_there_unchecked),
        TEST(thread_s_own_first_frame_is_the_root_and_our_function_is_left_out),
        TEST(start_routine_without_a_frame_keeps_its_place),
        TEST(chain_is_believed_only_while_it_climbs_aligned_inside_the_stack),
        TEST(chain_that_turns_back_ends),
        TEST(stack_that_is_not_the_thread_s_is_read_as_far_as_it_is_there),
        TEST(page_that_a_walk_does_not_need_is_not_read),
        TEST(thread_whose_stack_is_unknown_asks_for_it),
        TEST(stack_deeper_than_the_most_is_cut_and_said_to_be),
        TEST(overruns_are_weight),
        TEST(thread_rests_after_long_samples_and_no_period_is_lost),
        TEST(periods_that_a_resting_thread_keeps_go_to_its_last_stack_at_its_end),
        TEST(short_samples_need_no_rest),
        TEST(memory_is_copied_by_parts_and_what_is_unmapped_is_refused),
        TEST(threads_shorter_than_the_kernel_s_tick_are_seen_in_proportion),
        TEST(threads_that_the_kernel_s_tick_seldom_meets_are_seen_for_as_long_as_they_are),
        TEST(threads_that_no_look_met_are_where_they_began),
        TEST(trap_of_an_event_is_a_tick_and_other_traps_are_not),
        TEST(handler_for_one_signal_is_called_once),
        TEST(tick_without_room_is_counted_and_the_ring_stays_whole),
        TEST(stack_is_copied_while_there_are_no_tables),
        TEST(third_sample_tells_the_drain_thread_once),
        TEST(filter_that_refuses_leaves_no_sample),
        TEST(signal_of_somebody_else_goes_to_the_host_and_is_no_tick),
        TEST(tick_of_an_event_is_as_many_periods_as_the_thread_s_clock_says),
        TEST(weights_of_parts_of_a_period_add_up_and_have_no_rhythm),
        TEST(ticks_that_were_due_and_did_not_come_were_in_the_kernel),
        TEST(threads_that_end_in_the_kernel_have_their_cpu_time),
        TEST(random_periods_have_the_period_in_the_mean),
        TEST(event_asks_for_another_period_after_some_ticks),
        TEST(end_of_a_thread_is_counted_only_if_a_tick_was_due),
        TEST(leaf_at_address_zero_is_not_written),
        TEST(errno_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
