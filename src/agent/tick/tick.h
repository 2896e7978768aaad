/* tick.h: what a tick needs to know, and the signal handler that takes a sample.
 *
 * Everything in this folder may run inside a signal handler, at any instruction of the host: no
 * lock, no memory allocation, no stdio, no system call but a look at the thread's CPU clock and,
 * once in a thread's life, those that arm its own event (perf engine only), or one gettid in a
 * thread that the library has never met. The archive's undefined symbols are compared with
 * tests/abi/tick-undefined.txt.
 *
 *   signal -> this thread's pt_thread -> walk the stack into its ring -> publish
 *
 * The ring lies in the journal (wire/journal.h). The thread that owns it is its only writer; the
 * drain thread is its only reader.
 */
#ifndef PT_AGENT_TICK_H
#define PT_AGENT_TICK_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "wire/journal.h"

/* Where a thread's stack may be read: from its stack pointer, if that lies in [low, limit), up to
 * limit. All of that is mapped while the thread runs on it. low == limit: not known. */
typedef struct {
    uintptr_t low, limit;
    uintptr_t root_fp; /* the frame of our own function below the thread's start routine, or 0 */
} pt_tick_stack;

/* A thread of the host. Slots are never unmapped; `live` says whether one is in use. */
typedef struct pt_thread {
    _Atomic(pt_journal_ring *) ring; /* NULL: not sampled now */
    _Atomic(uintptr_t) wants_stack;  /* a stack pointer whose bounds the drain should find, or 0 */
    _Atomic(int) busy;               /* its handler is running */
    _Atomic(int) live;
    _Atomic(int) tid;
    pt_tick_stack stack;
    pt_unwind_cache *unwind_cache; /* or NULL; stays with the slot */
    /* Perf engine: of the thread's CPU clock, so much is accounted for. by_clock: it is in use. */
    int64_t clock_seen_ns; /* negative: less than a period before a thread's birth */
    _Atomic(int) by_clock;
    void *first_event; /* to be removed by the first tick, which enables the thread's other event */
    size_t first_event_bytes;

    /* Not touched by the handler. */
    const struct pt_timer_engine *engine; /* that made its timer; NULL = has none */
    void *timer;                          /* the engine's */
    bool is_foreign;                      /* found in the task list */
    struct pt_thread *next_free;
    void *(*start_routine)(void *);
    void *start_arg;
    size_t stack_bytes;
} pt_thread;

/* Code from which threads start, so that a return address there ends a stack. */
typedef struct {
    uintptr_t low, limit;
} pt_tick_code;

/* Set before the first timer is armed. */
typedef struct {
    uint64_t period_ns;
    int (*filter)(void *arg); /* NULL = every tick is taken; else runs in the handler */
    void *filter_arg;
    pt_tick_code main_start;   /* around the call of main in libc */
    pt_tick_code thread_start; /* around the call of a start routine in libc */
    pt_tick_code own_start;    /* our thread function, which stands between those two */
    /* The host's own handler for the signal, for signals that are not ticks: at most one is set. */
    _Atomic(void (*)(int)) host_handler;
    _Atomic(void (*)(int, siginfo_t *, void *)) host_action;
    /* Finds the slot of a thread that has never been told its own: by kernel thread id. */
    pt_thread *(*find)(int tid);
    /* Tables of all code, or NULL. One that was replaced is freed when no handler is running. */
    _Atomic(const pt_unwind_modules *) modules;
} pt_tick_settings;

extern pt_tick_settings pt_tick;

/* The calling thread's slot; NULL in threads that were not started through our pthread_create. */
extern _Thread_local pt_thread *pt_tick_self;

/* The handler. Saves errno. Signals that are not ours go to the host's own. */
void pt_tick_handler(int signo, siginfo_t *info, void *context);

/* ---- unwinding ---- */

typedef struct {
    uintptr_t pc, sp, fp;
} pt_tick_regs;

/* What a step came to: a caller's frame in *regs, or why there is none (PT_JOURNAL_END_X). */
enum { PT_TICK_FRAME = -1, PT_TICK_LAST_FRAME = -2 /* a caller, and it is the root */ };

void pt_tick_regs_of(const void *context, pt_tick_regs *ret_regs);

/* One frame outwards by the frame pointer. Reads nothing outside [regs->sp, stack->limit), and each
 * step moves sp up. */
int pt_tick_step(pt_tick_regs *regs, const pt_tick_stack *stack);

/* A walk by unwind tables, and by frame pointers where there are none. */
typedef struct {
    pt_unwind_state state;
    const pt_unwind_modules *modules;
    uint64_t pc; /* of the frame at hand; if not the innermost: of a call, or of an interrupted
                    instruction, the address after its first byte */
    uint64_t regs[PT_UNWIND_REGS];
} pt_tick_walk;

void pt_tick_walk_begin(pt_tick_walk *walk, const void *context);
/* One frame outwards; as pt_tick_step. */
int pt_tick_walk_step(pt_tick_walk *walk, const pt_thread *thread);
/* The code that a thread's outermost frame shown is in. */
bool pt_tick_is_start(uint64_t pc);

#endif
