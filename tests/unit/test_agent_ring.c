/* test_agent_ring.c: threads come, tick and go while a drain thread folds their rings into the
 * journal, under the thread sanitizer, too. tsan puts signals off and calls its run-time from
 * handlers, so the handler of the library is never instrumented; here the same sources are compiled
 * once more with what the test has, and ordinary threads call it, with registers and a stack of
 * their own making.
 *
 *   thread    begin (slot, ring) -> handler, handler, ... -> end (settled, ring given back)
 *   drainer   under the lock: fold all rings, find stacks, meet and leave threads
 *
 * Whatever comes between what: ticks' weight = folded + dropped, and each stack is one that a
 * thread had.
 */
#include "base_check.h"

#include "agent/agent.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { WORKERS = 6, LIVES = 12, TICKS = 1000, STACKS = 29, DEPTH_MAX = 23, WORDS = 8192 };

static _Atomic(uint64_t) asked; /* weight of all ticks that were made */

/* ---- the parts of the library that threads.c and fold.c need ---- */

pt_session pt_agent;

bool pt_maps_known(uint64_t addr)
{
    return true;
}

bool pt_maps_lasts(uint64_t addr)
{
    return false;
}

void pt_maps_learn(void)
{
}

bool pt_maps_are_expired(void)
{
    return false;
}

uint16_t pt_maps_epoch_of(const uint64_t *pcs, uint32_t depth)
{
    return 0;
}

uint32_t pt_languages_merge(const uint64_t *words, uint32_t native, uint32_t frames, bool is_whole,
                            uint64_t *ret_chain, bool *ret_certain)
{
    memcpy(ret_chain, words, (native + frames) * sizeof words[0]);
    *ret_certain = true;
    return native + frames;
}

void pt_languages_want_caches(pt_thread *slot)
{
}

void pt_languages_forget_pages(pt_thread *slot)
{
}

bool pt_own_is(pid_t tid)
{
    return false;
}

bool pt_own_first_thread_is_dead(void)
{
    return false;
}

void pt_ticker_after_fork(void)
{
}
void pt_signals_allow(void)
{
}

clockid_t pt_timer_cpu_clock(int tid)
{
    return CLOCK_MONOTONIC;
}

static bool is_refused; /* the kernel gives no timer */

/* Ticks by timer, none of which the kernel makes. */
static bool attach(pt_thread *thread, uint64_t period_ns, uint64_t first_ns)
{
    if (is_refused) return false;
    atomic_store(&thread->weighing, PT_TICK_BY_TIMER);
    return true;
}

static void detach(pt_thread *thread)
{
    atomic_store(&thread->weighing, PT_TICK_BY_NOTHING);
    atomic_store(&thread->wants_timer, 0);
}

const pt_timer_engine pt_timer_posix = {.attach = attach, .detach = detach};

/* ---- threads ---- */

static uint32_t depth_of(unsigned stack)
{
    return 1 + stack % DEPTH_MAX;
}

static uint64_t pc_of(unsigned stack, uint32_t frame)
{
    return 0x100000 * (stack + 1) + frame;
}

/* A chain of frame records, as code with frame pointers leaves it; the last one is the root. */
typedef struct {
    uintptr_t words[WORDS];
    ucontext_t context;
} host_thread;

static _Atomic(host_thread *) hosts[WORKERS];

bool pt_maps_around(uint64_t addr, uint64_t *ret_low, uint64_t *ret_limit)
{
    for (int i = 0; i < WORKERS; i++) {
        host_thread *const host = atomic_load(&hosts[i]);
        *ret_low = (uintptr_t)host;
        *ret_limit = *ret_low + sizeof host->words;
        if (host != NULL && addr - *ret_low < sizeof host->words) return true;
    }
    return false;
}

static void interrupt(host_thread *host, unsigned stack, pt_tick_stack *ret_bounds)
{
    const uint32_t depth = depth_of(stack);
    for (uint32_t i = 0; i < depth; i++) {
        host->words[8 + 4 * i] = (uintptr_t)&host->words[8 + 4 * (i + 1)];
        host->words[8 + 4 * i + 1] = (uintptr_t)pc_of(stack, i + 1);
    }
#if defined(__x86_64__)
    host->context.uc_mcontext.gregs[REG_RIP] = (greg_t)pc_of(stack, 0);
    host->context.uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)host->words;
    host->context.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)&host->words[8];
#elif defined(__aarch64__)
    host->context.uc_mcontext.pc = pc_of(stack, 0);
    host->context.uc_mcontext.sp = (uintptr_t)host->words;
    host->context.uc_mcontext.regs[29] = (uintptr_t)&host->words[8];
#endif
    *ret_bounds = (pt_tick_stack){.low = (uintptr_t)host->words,
                                  .limit = (uintptr_t)&host->words[WORDS],
                                  .root_fp = (uintptr_t)&host->words[8 + 4 * (depth - 1)]};
}

static void *work(void *arg)
{
    unsigned stack = (unsigned)(uintptr_t)arg;
    host_thread *const host = calloc(1, sizeof *host);
    atomic_store(&hosts[stack - 1], host);
    for (int life = 0; life < LIVES; life++) {
        pt_tick_stack bounds;
        interrupt(host, stack % STACKS, &bounds);
        pt_thread *const slot = pt_thread_new();
        if (life % 2 != 0) bounds.limit = bounds.low = 0; /* the drainer is to find them */
        pt_thread_begin(slot, &bounds);
        siginfo_t info = {.si_signo = pt_tick.signo, .si_code = SI_TIMER};
        info.si_value.sival_ptr = slot;
        for (int i = 0; i < TICKS; i++) {
            stack = stack * 1103515245u + 12345u;
            interrupt(host, stack / 65536 % STACKS, &bounds);
            slot->stack.root_fp = bounds.root_fp; /* its own: only its handler looks at it */
            info.si_overrun = (int)(stack >> 8 & 3);
            atomic_fetch_add(&asked, 1 + (uint64_t)info.si_overrun);
            pt_tick_handler(pt_tick.signo, &info, &host->context);
            if (i % 64 == 0) sched_yield();
        }
        pt_thread_end(slot);
    }
    return NULL; /* the drainer may be looking at host */
}

/* ---- the drain ---- */

static atomic_bool over;

static void *drain(void *arg)
{
    while (!atomic_load(&over)) {
        pt_caller caller;
        pt_agent_lock(&caller);
        pt_fold_rings();
        pt_threads_find_stacks();
        pt_threads_wait_for_handlers();
        pt_agent_unlock(&caller);
        sched_yield();
    }
    return NULL;
}

static void take(const pt_journal_stack *record, void *arg)
{
    const uint64_t *const pcs = (const uint64_t *)(record + 1);
    const unsigned stack = (unsigned)(pcs[0] / 0x100000 - 1);
    assert_true(stack < STACKS);
    const bool is_whole = record->end == PT_JOURNAL_END_UNCHECKED; /* there are no tables here */
    if (!is_whole) assert_int_equal(record->end, PT_JOURNAL_END_BAD_READ);
    assert_int_equal(record->depth, is_whole ? depth_of(stack) + 1 : 1);
    for (uint32_t i = 0; i < record->depth; i++)
        assert_int_equal(pcs[i], pc_of(stack, i));
    *(uint64_t *)arg += record->count;
}

typedef struct {
    uint64_t weight, dropped, left;
} counted;

static void count(pt_tick_ring *ring, void *arg)
{
    counted *const sum = arg;
    sum->weight += ring->weight;
    sum->dropped += ring->dropped;
    sum->left += ring->head_words - ring->tail_words;
}

static int begin(void **state)
{
    assert_true(pt_journal_open(&pt_agent.journal));
    pt_publish_begin("");
    pt_fold_reset();
    pt_tick.signo = SIGPROF;
    pt_tick.period_ns = 1000000;
    pt_agent.period_ns = pt_tick.period_ns;
    pt_agent.engine = &pt_timer_posix;
    pt_agent.pid = getpid();
    pt_agent.on = true;
    atomic_store(&asked, 0);
    atomic_store(&over, false);
    return 0;
}

static int end(void **state)
{
    pt_agent.on = false;
    pt_threads_detach_all();
    pt_threads_free_rings(false);
    pt_journal_close(&pt_agent.journal, false);
    return 0;
}

static void run(bool drains)
{
    pthread_t workers[WORKERS], drainer;
    if (drains) pthread_create(&drainer, NULL, drain, NULL);
    for (uintptr_t i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    atomic_store(&over, true);
    if (drains) pthread_join(drainer, NULL);
    for (int i = 0; i < WORKERS; i++)
        free(atomic_exchange(&hosts[i], NULL));
    counted rings = {0};
    uint64_t folded = 0;
    pt_fold_rings();
    pt_threads_each_ring(count, &rings);
    pt_fold_each(take, &folded);
    assert_int_equal(rings.left, 0);
    assert_int_equal(folded, rings.weight);
    assert_int_equal(folded + rings.dropped, atomic_load(&asked));
    assert_int_equal(pt_agent.journal.header->fold_dropped, 0);
    assert_int_equal(pt_agent.journal.header->threads_seen, WORKERS * LIVES);
    if (!drains) assert_true(rings.dropped > 0);
}

static void ticks_are_recorded_or_counted_as_dropped_while_threads_come_and_go(void **state)
{
    run(true);
}

static void the_same_when_nobody_drains_and_rings_are_full(void **state)
{
    run(false);
}

static void count_taken(pt_tick_ring *ring, void *arg)
{
    *(uint64_t *)arg += ring->tid != 0;
}

static void count_thread(pt_thread *slot, void *arg)
{
    *(uint64_t *)arg += 1;
}

/* The threads for which no timer could be made, and the rings that threads have, after a few rounds
 * of the drain thread. Returns the number of threads, which has the sanitizer's, too. */
static uint64_t meet(uint64_t *ret_unsampled, uint64_t *ret_rings)
{
    enum { ROUNDS = 5 };
    uint64_t threads = 0;
    pt_caller caller;
    pt_agent_lock(&caller);
    for (int i = 0; i < ROUNDS; i++)
        pt_threads_meet();
    pt_agent_unlock(&caller);
    *ret_rings = 0;
    *ret_unsampled = pt_agent.journal.header->threads_unsampled;
    pt_threads_each_ring(count_taken, ret_rings);
    pt_threads_each(count_thread, &threads);
    return threads;
}

static void a_thread_that_gets_no_timer_counts_once_and_has_no_ring(void **state)
{
    uint64_t unsampled, rings;
    is_refused = true;
    pt_thread_register_self();
    uint64_t threads = meet(&unsampled, &rings);
    assert_int_equal(unsampled, threads);
    assert_int_equal(rings, 0);
    is_refused = false; /* now there are timers */
    threads = meet(&unsampled, &rings);
    assert_int_equal(unsampled, 0);
    assert_int_equal(rings, threads);
    is_refused = true; /* a first tick cannot arm the timer for the others */
    atomic_store(&pt_tick_self->wants_timer, 1);
    threads = meet(&unsampled, &rings);
    assert_int_equal(unsampled, 1);
    assert_int_equal(rings, threads - 1);
    is_refused = false;
    pt_thread_end(pt_tick_self);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, begin, end)
        ROW(ticks_are_recorded_or_counted_as_dropped_while_threads_come_and_go),
        ROW(the_same_when_nobody_drains_and_rings_are_full),
        ROW(a_thread_that_gets_no_timer_counts_once_and_has_no_ring),
    };
    if (!pt_threads_init()) return 1;
    return cmocka_run_group_tests_name("agent_ring", tests, NULL, NULL);
}
