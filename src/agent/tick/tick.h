/* tick.h: the data that a tick needs, and the signal handler that takes a sample.
 *
 * Everything in this folder may run inside a signal handler, at any instruction of the host: no
 * lock, no memory allocation, no stdio. A tick makes few system calls: it reads CPU clocks; it
 * tests whether pages can be read (peek.h); it wakes a thread of the library that has work to do.
 * The first tick of a thread also arms the thread's timer. If pthread_create of the library has not
 * made the thread, the first tick finds the thread's slot by gettid. A test compares the archive's
 * undefined symbols with tests/abi/tick-undefined.txt.
 *
 *   signal -> this thread's pt_thread -> walk the stack into the thread's ring -> publish
 *
 * The thread that owns a ring is its only writer; the drain thread is its only reader.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "agent/tick/python.h"
#include "agent/tick/v8.h"
#include "base/plain/kernel_call.h"
#include "unwind/unwind.h"
#include "wire/journal.h"

/* Functions between the host and the function that the host called or installed: its signal
 * handler, libc's own function. They lie in one section, so that a return address shows whether it
 * is in one of these functions. */
#define PT_PASSING __attribute__((section("pt_passing")))

/* ---- system calls that glibc has in newer versions only, or not in libc.so.6 ---- */

/* Marks functions that every process and every child of fork runs. These functions lie together in
 * memory, since each 64 KB of code that a child runs cost the child a page fault. */
#define PT_NEAR __attribute__((section(".text.hot.near")))

/* The process id, by a system call: glibc before 2.25 caches it in memory that glibc sets up for
 * each thread, and the thread of own_threads.c has no such memory. */
static inline pid_t pt_tick_getpid(void)
{
    return (pid_t)PT_KERNEL(SYS_getpid);
}

static inline pid_t pt_tick_gettid(void)
{
    return (pid_t)PT_KERNEL(SYS_gettid);
}

/* Sets a POSIX timer. The first expiry in *times is relative to the present value of the timer's
 * clock. */
static inline bool pt_tick_timer_set(void *timer, const struct itimerspec *times)
{
    return PT_KERNEL(SYS_timer_settime, (int)(intptr_t)timer, 0, times, NULL) == 0;
}

/* ---- rings ---- */

/* Samples of one thread that are not yet folded into stacks, in private memory. The thread's
 * handler writes, fold.c reads. Words are numbered from the first word that was ever written; word
 * n lies at words[n % ring_words]. */
typedef struct {
    uint64_t ring_words; /* a power of two */
    uint64_t tid;        /* of the thread that fills it now; 0 = none */
    uint64_t head_words; /* published */
    uint64_t tail_words; /* folded */
    uint64_t ticks;      /* that took a sample, were dropped or filtered */
    uint64_t weight;     /* of the published samples, in periods */
    uint64_t dropped;    /* weight of ticks that found no room */
    uint64_t filtered;   /* weight of ticks that the program's filter refused */
    uint64_t kernel;     /* periods in the kernel that were counted by the CPU clock, because events
                          * do not tick there */
    uint64_t words[];
} pt_tick_ring;

/* A ring record's first word. depth words follow: first the words of the native stack, which are
 * addresses and frames of V8 and Java, then `frames` words of the frames of another interpreter
 * (language.h). weight is at least 1, so the word is never 0. */
static inline uint64_t pt_tick_ring_mixed_word(uint32_t weight, unsigned depth, unsigned frames,
                                               unsigned end)
{
    return (uint64_t)weight << 32 | (uint64_t)(frames & 0xfff) << 20 |
           (uint64_t)(depth & 0xfff) << 8 | (end & 0xff);
}
static inline uint64_t pt_tick_ring_word(uint32_t weight, unsigned depth, unsigned end)
{
    return pt_tick_ring_mixed_word(weight, depth, 0, end);
}
/* A record with one of these values as its end is a copy of a stack, which is walked later: its
 * `depth` words are PT_MACHINE_REGS_MAX registers by DWARF number and then the stack's words from
 * the stack pointer on. */
enum { PT_TICK_COPY = 0xfe, PT_TICK_CUT_COPY = 0xff /* the stack goes on after these words */ };

static inline bool pt_tick_is_copy(unsigned end)
{
    return end >= PT_TICK_COPY;
}
static inline uint32_t pt_tick_ring_weight(uint64_t word)
{
    return (uint32_t)(word >> 32);
}
static inline uint32_t pt_tick_ring_depth(uint64_t word)
{
    return (uint32_t)(word >> 8) & 0xfff;
}
static inline uint32_t pt_tick_ring_frames(uint64_t word)
{
    return (uint32_t)(word >> 20) & 0xfff;
}
static inline unsigned pt_tick_ring_end(uint64_t word)
{
    return (unsigned)(word & 0xff);
}

/* ---- threads ---- */

/* The part of a thread's stack that may be read: from the stack pointer, if that lies in [low,
 * limit), up to limit. All of [low, limit) is mapped while the thread runs on this stack. low ==
 * limit: the bounds are not known. */
typedef struct {
    uintptr_t low, limit;
    uintptr_t root_fp; /* frame pointer of the library's function that calls the thread's start
                          routine; 0: there is none */
} pt_tick_stack;

/* The source of the weight, in periods, of a thread's ticks: */
enum {
    PT_TICK_BY_NOTHING = 0, /* the thread has no timer: a tick that comes is late */
    PT_TICK_BY_TIMER,       /* from a timer's overruns: wall time */
    PT_TICK_BY_CLOCK,       /* from the progress of the thread's CPU clock */
    PT_TICK_BY_LOOKS,       /* the same; the timer expires on the kernel's tick only (weight.c) */
    PT_TICK_BY_PROCESS,     /* from the progress of the process's CPU clock */
    PT_TICK_BY_MODE,        /* ticks of an event stand for time in user mode; ticks of a POSIX timer
                             * that find the thread in a system call stand for its time in the
                             * kernel */
    PT_TICK_BY_USER_MODE,   /* ticks of an event stand for time in user mode; the rest of the
                               thread's time is counted for the kernel */
};

/* A thread's clocks, and how often it went to sleep and was driven off its CPU. */
typedef struct {
    int64_t wall_ns, cpu_ns;
    long sleeps, preemptions;
} pt_tick_moment;

/* The last wait with a time limit that a tick of the wall clock interrupted. */
typedef struct {
    pt_tick_moment now; /* of that tick */
    int64_t slept_ns;   /* how long the wait had lasted at that tick, at least */
    int64_t deadline_ns;
    /* A call whose beginning the library saw: when it began, 0 = there is no such call; its time
     * limit; and an address on the stack above the call's frame. */
    int64_t begun_ns, begun_limit_ns;
    uintptr_t begun_at;
    int32_t left_ms;      /* the time that is left of the wait's limit is in this field or in the
                           * next */
    struct timespec left; /* the kernel reads it here */
} pt_tick_wait;

/* A slot: a thread of the host, if `live`. Slots are never unmapped. */
typedef struct pt_thread {
    _Atomic(pt_tick_ring *) ring;   /* NULL: not sampled now */
    _Atomic(uintptr_t) wants_stack; /* a stack pointer on a stack whose bounds the drain thread
                                     * should find, or 0 */
    _Atomic(int) busy;              /* its handler is running */
    _Atomic(int) live;
    /* One bit for each signal of pt_tick.host: the thread had blocked the signal before the library
     * removed it from the thread's mask. */
    _Atomic(unsigned) was_blocked;
    _Atomic(int) tid;
    pt_tick_stack stack;
    pt_unwind_cache *unwind_cache; /* or NULL; stays with the slot */
    /* The thread's caches by language, each of its own type; NULL while no interpreter of that
     * language is known. The caches stay with the slot. */
    _Atomic(void *) interp_cache[PT_JOURNAL_LANGUAGES];
    _Atomic(int) weighing; /* PT_TICK_BY_X */
    unsigned
        user_looks; /* by mode: the POSIX timer's last ticks in a row outside of system calls */
    /* By clock: the part of the thread's CPU time that samples account for. Negative: a part of a
     * period is counted in advance. */
    int64_t clock_seen_ns;
    /* By clock: when the thread's last tick came. By mode, and before the first tick:
     * clock_seen_ns. */
    int64_t ticked_ns;
    /* By user mode: when the event began to count, or last ticked; and the time in user mode and in
     * the kernel for which no period was counted yet. */
    int64_t event_from_ns, user_ns, kernel_ns;
    uint64_t event_ns; /* the longest period of the thread's event, or of the ticks that the ticker
                        * sends */
    uint32_t event_ticks;      /* of the event, since the handler last requested another period */
    _Atomic(int) wants_period; /* the handler requests another period for the event */
    uint64_t random;           /* the state of pt_random_below */
    /* If weighing is PT_TICK_BY_MODE: when the POSIX timer was armed and when it expired, by the
     * thread's CPU clock; -1 if it has not expired yet. */
    int64_t look_start_ns, look_seen_ns;
    /* By looks: the CPU time of threads with the same start function that no sample stands for yet;
     * negative: samples stand for CPU time that is still to come. */
    _Atomic(int64_t) *owed_ns;
    /* A random part of a period. The thread's first period counts as begun so long before the
     * thread began, so that a thread may begin anywhere in a period. */
    int64_t part_ns;
    int64_t before_ns;   /* by looks: the CPU time before the first tick that is not accounted for,
                          * less part_ns */
    uint64_t last_words; /* the number of the word in the ring where its last sample begins, plus 1;
                          * 0 = it has no sample */
    int64_t debt_ns;     /* the time of ticks that must pass before samples have again taken no more
                          * than their permitted part of the thread's time (tick.c) */
    uint32_t kept;       /* periods of ticks without a sample: the next sample also counts for these
                          * periods */
    bool was_long;       /* its last sample took a long time by the wall clock */
    void *timer;         /* a POSIX timer, or NULL */
    void *event;         /* an event's page, which keeps the event alive, or NULL */
    void *first_event;   /* an event that the first tick removes when it arms the other event */
    _Atomic(int) is_active;   /* with the ticker: the thread used CPU time not long ago */
    _Atomic(int) wants_timer; /* its event could not be opened: the thread needs a POSIX timer */
    bool is_unmet;            /* with looks (weight.c): the thread's first look has not come yet */
    bool has_changed;         /* the thread has requested another period before */
    /* Not touched by the handler: */
    bool is_foreign;   /* found in the task list */
    bool is_paused;    /* becomes another program: gets no timer */
    bool is_unsampled; /* the journal counts it as a thread without a timer */
    pt_tick_wait wait; /* by timer */

    /* Not touched by the handler. */
    uint64_t begun_ns; /* the thread's CPU clock when its ticks began to count, if its ticks count
                        * by that clock */
    uint64_t ticker_clock_ns, ticker_moved_ns; /* the thread's CPU clock as the ticker last read it,
                                                * and when the ticker last found that this clock had
                                                * moved */
    int ticker_fd, ticker_tid;                 /* the ticker's file about the thread and the
                                                * thread's id; fd 0 = no file is open */
    const struct pt_timer_engine *engine;      /* the engine that made the thread's timer; NULL =
                                                * the thread has no timer */
    struct pt_thread *next_free;
    void *(*start_routine)(void *);
    void *start_arg;
    size_t stack_bytes;
} pt_thread;

/* A range of code, or of a stack. */
typedef struct {
    uintptr_t low, limit;
} pt_tick_code;

/* The host's disposition of a signal that the library uses: at most one of the first three is set.
 */
typedef struct {
    _Atomic(void (*)(int)) handler;
    _Atomic(void (*)(int, siginfo_t *, void *)) action;
    _Atomic(int) is_ignored;
    _Atomic(int) is_once;   /* the handler is for one signal only, SA_RESETHAND */
    _Atomic(uint64_t) mask; /* signals that the handler blocks in addition to the thread's mask; bit
                             * 0 is signal 1 */
} pt_tick_host;

/* The unwind table of a module. */
enum {
    PT_TICK_TABLE_SETTLED, /* it is there, or there will be none */
    PT_TICK_TABLE_UNMADE,  /* no sample has needed it */
    PT_TICK_TABLE_WANTED,  /* a sample needs it; set by the handler */
};

/* All code of the process with its unwind tables. */
typedef struct {
    pt_unwind_modules all;
    _Atomic(uint8_t) *state; /* PT_TICK_TABLE_X of each module */
} pt_tick_tables;

/* Set before the first timer is armed. */
typedef struct {
    int signo;            /* of timers, and of events that do not trap */
    pt_tick_host host[2]; /* the host's handlers for signo and for SIGTRAP */
    bool has_itimer;      /* one timer of the process sends ticks to threads that run */
    bool has_ticker;      /* a thread of the library sends ticks to threads that use CPU time */
    bool events_trap;     /* events raise SIGTRAP */
    bool events_skip_kernel;
    size_t page_bytes;
    uint64_t period_ns;
    uint64_t look_ns; /* CPU time between two of the kernel's checks of timers of CPU clocks */
    int (*filter)(void *arg); /* NULL = every tick is taken; else runs in the handler */
    void *filter_arg;
    /* The code whose system calls tick/wait.c knows: that of libc, and before glibc 2.34 that of
     * libpthread. */
    pt_tick_code libc_code[2];
    bool has_sticky_limits;    /* select and ppoll leave their time limits unchanged */
    pt_tick_code main_start;   /* around the call of main in libc */
    pt_tick_code thread_start; /* around the call of a start routine in libc */
    pt_tick_code own_start;    /* the library's thread function, which libc calls, and which calls
                                * the host's start routine */
    /* Where the stack of the first thread may grow; all addresses where no limit is known. */
    pt_tick_code first_stack;
    /* Finds a thread's slot by the kernel's thread id, if pt_tick_self is NULL in the thread. */
    pt_thread *(*find)(int tid);
    /* Is `at` a slot of any thread? The value that a timer of the host carries is not. */
    bool (*is_slot)(const void *at);
    /* The part of the process's CPU clock that is accounted for, where ticks are weighed by that
     * clock. */
    _Atomic(uint64_t) process_seen_ns;
    /* With PT_TICK_BY_USER_MODE: the CPU time of threads that have ended, less the time of the
     * periods that were counted for these threads. */
    _Atomic(int64_t) kernel_owed_ns;
    /* The ticker waits at this word until a thread uses CPU time: 1 while it waits. */
    _Atomic(int) ticker_waits;
    /* A thread of the library waits until the number to which this pointer leads changes. If
     * wants_periods is not 0, that thread also wakes up without a change, and gives new periods to
     * the threads that have requested them. NULL: no thread of the library does so. */
    _Atomic(_Atomic(int) *) keeper_bell;
    _Atomic(int) wants_periods;
    /* Called once, when the process has FEW_SAMPLES or a part of a ring is full: begins or wakes
     * the drain thread. NULL: the drain thread is awake. */
    _Atomic(void (*)(void)) on_samples;
    _Atomic(uint32_t) early_samples; /* samples of all threads, counted while on_samples is set */
    /* Where a table is missing, the handler copies the stack, and the reader walks it. */
    _Atomic(int) copies_stacks;
    /* All code with its unwind tables, or NULL. A replaced set is freed when no handler is
     * running. */
    _Atomic(const pt_tick_tables *) tables;
    /* Wakes the thread that makes the tables. */
    void (*on_wanted_table)(void);
} pt_tick_settings;

extern pt_tick_settings pt_tick;

/* The calling thread's slot; NULL in threads that the library's pthread_create has not started. */
extern _Thread_local pt_thread *pt_tick_self;

/* The signal handler. Saves errno. A signal that is no tick of the library goes to the host's
 * handler. */
void pt_tick_handler(int signo, siginfo_t *info, void *context);
/* A function that makes a system call with a time limit of limit_ns calls pt_tick_wait_begins
 * before the system call and pt_tick_wait_ended after it, so that a tick finds out when the wait
 * began (wait.c). */
void pt_tick_wait_begins(int64_t limit_ns);
void pt_tick_wait_ended(void);
/* Is the signal a tick, and nothing that the host should see? */
bool pt_tick_is_tick(int signo, const siginfo_t *info);

/* For a thread that gets no more ticks and whose handler does not run; clock_ns: the thread's CPU
 * clock. If another tick was due since the last tick, counts the whole periods after the last tick
 * for the stack of that tick; without any tick, for the function that the thread began with. */
void pt_tick_settle(pt_thread *thread, pt_tick_ring *ring, uint64_t clock_ns);
/* Likewise, for such a thread, counts the periods of ticks that took no sample, because the thread
 * rested, for the stack of its last sample. */
void pt_tick_settle_kept(pt_thread *thread, pt_tick_ring *ring);
/* Like pt_tick_settle, for PT_TICK_BY_USER_MODE. Adds the part of the thread's time that is not
 * counted yet to pt_tick.kernel_owed_ns. If a tick was due and did not come, the thread was in the
 * kernel: then the whole periods of the owed time are counted for the kernel. */
void pt_tick_settle_kernel(pt_thread *thread, pt_tick_ring *ring, uint64_t clock_ns);
/* Like pt_tick_settle, for PT_TICK_BY_LOOKS. Adds the part of the thread's time that is not counted
 * yet to *thread->owed_ns. If that is then least_ns or more, its whole periods are counted for the
 * stack of the thread's last tick, if the thread had a tick. */
void pt_tick_settle_looks(pt_thread *thread, pt_tick_ring *ring, uint64_t clock_ns,
                          int64_t least_ns);
/* Counts the whole periods of the owed time for that start function. */
void pt_tick_settle_owed(_Atomic(int64_t) *owed_ns, void *(*start_routine)(void *),
                         pt_tick_ring *ring);

/* ---- events ---- */

/* asm-generic/siginfo.h; the headers of glibc 2.36 do not define it. */
#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

/* The data that an event passes in its SIGTRAP: this constant, and the low half of the slot's
 * address. */
#define PT_TICK_TRAP_DATA(thread)  (UINT64_C(0x5069746f) << 32 | (uint32_t)(uintptr_t)(thread))
#define PT_TICK_IS_TRAP_DATA(data) ((data) >> 32 == UINT64_C(0x5069746f))

/* Opens a CPU-clock event of a thread of this process; the event's signals go to that thread.
 * Returns a page: the event lives as long as the page is mapped, and no descriptor stays open.
 * Returns NULL if the event cannot be opened. */
void *pt_tick_event_open(const pt_thread *thread, int tid, uint64_t period_ns);
/* Ends an event. event: its page, not NULL. */
void pt_tick_event_close(void *event);
/* Likewise opens thread->first_event, which ticks once; the thread may be running. Returns false if
 * the event cannot be opened or started; the caller then ends the event that thread->first_event
 * may hold.
 */
bool pt_tick_event_open_first(pt_thread *thread, int tid, uint64_t first_ns);
/* Replaces a thread's event by an event with another period. If that event cannot be opened, the
 * former event stays. Called by the keeper. */
void pt_tick_event_replace(pt_thread *thread, int tid, uint64_t period_ns);

/* ---- unwinding ---- */

typedef struct {
    uintptr_t pc, sp, fp;
} pt_tick_regs;

/* The result of a step: a caller's frame in *regs, or the reason for the end (PT_JOURNAL_END_X). */
enum { PT_TICK_FRAME = -1, PT_TICK_LAST_FRAME = -2 /* a caller, and it is the root */ };

void pt_tick_regs_of(const void *context, pt_tick_regs *ret_regs);

/* The bounds of the thread's stack; low == limit if they are not known. */
pt_tick_stack pt_tick_stack_of(const pt_thread *self);

/* Steps to the next outer frame by the frame pointer. Reads nothing outside [regs->sp,
 * stack->limit), and each step moves sp up. */
int pt_tick_step(pt_tick_regs *regs, const pt_tick_stack *stack);

/* A walk by unwind tables, and by frame pointers where there are none. */
typedef struct pt_tick_walk {
    pt_unwind_state state;
    const pt_tick_tables *tables;     /* or NULL */
    const pt_unwind_modules *modules; /* of the tables, or NULL */
    bool needs_table;                 /* a frame lies in a module whose table is not made yet */
    pt_unwind_cache *cache;
    pt_tick_python_cache *python_cache; /* or NULL */
    pt_tick_stack own_stack;            /* the thread's own stack, with the bounds that were known
                                         * when the walk began */
    pt_tick_stack stack;                /* the stack that the walk is on */
    unsigned stack_changes;             /* how often the walk searched for the stack's bounds, or
                                         * extended them */
    uint64_t pc; /* of the present frame. In a frame that is not the innermost: the address of a
                  * call, or of an interrupted instruction, plus 1 */
    uint64_t regs[PT_MACHINE_REGS_MAX];
} pt_tick_walk;

/* Begins a walk of the calling thread. */
void pt_tick_walk_begin(pt_tick_walk *walk, const pt_thread *self, const void *context);
/* Steps to the next outer frame; returns as pt_tick_step. */
int pt_tick_walk_step(pt_tick_walk *walk);
/* Extends the known bounds of the walk's stack up to limit, as far as pages can be read. The bounds
 * of the thread's own stack are not extended. */
void pt_tick_walk_see_stack(pt_tick_walk *walk, uintptr_t limit);
/* Is pc in the code that calls main or a start routine, where a stack ends? */
bool pt_tick_is_start(uint64_t pc);
