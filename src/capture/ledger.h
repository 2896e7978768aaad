/* ledger.h: what samples weigh, settled with each thread's own clock.
 *
 *   sample --> its weight, one period --> held in its thread's account --> the clock is looked at:
 *   all samples held get together what the clock has moved since the last look
 *
 * The kernel's timer is late or lost where a thread cannot be interrupted, mostly in switches, and
 * a virtual machine loses more of them. So a period a sample is right for a machine, and wrong for
 * a thread that switches all the time. What a thread's samples and its clock differ by belongs to
 * its own samples: as far as switches may have taken it, to those in the kernel; else to all, in
 * proportion.
 *
 * With events of cpus the clock is schedstat's (proc(5)), read each 32 samples and at the end;
 * samples after the last reading weigh as those before it.
 *
 * With events of threads each sample weighs what the event's own clock has moved. Samples in a row
 * weigh the same, and those at the end get what no tick has met.
 *
 * Threads of a few samples have too few to be settled alone. Where their clocks are known they are
 * settled with others of their process.
 */
#ifndef PT_CAPTURE_LEDGER_H
#define PT_CAPTURE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/sink.h"

typedef struct pt_ledger pt_ledger;

/* A thread's clock. */
typedef struct pt_thread_clock {
    uint64_t ran_ns;
    uint64_t switches; /* times that it was given a cpu */
} pt_thread_clock;

/* From ROOT/PID/task/TID/schedstat (proc(5)); false: it is gone, or the kernel keeps none. */
bool pt_thread_clock_read(const char *root, uint32_t pid, uint32_t tid, pt_thread_clock *ret_clock);

typedef struct pt_ledger_options {
    uint64_t period_ns;
    bool is_each_thread; /* weights follow the clocks, and those are told at the end */
    /* Looks at a thread's clock; false: it is gone, or has none. */
    bool (*look)(void *arg, uint32_t pid, uint32_t tid, pt_thread_clock *ret_clock);
    uint64_t (*now_ns)(void *arg); /* as records have it */
    void *arg;
} pt_ledger_options;

/* What is settled goes to the sink, which must stay. */
pt_ledger *pt_ledger_new(const pt_ledger_options *options, pt_sink *sink);
void pt_ledger_free(pt_ledger *ledger); /* accepts NULL */

/* All in the order of time; time_ns as records have it. */

/* A thread begins: its clock is at 0. */
void pt_ledger_begin(pt_ledger *ledger, uint32_t tid);
/* The sink's row got a sample that weighs so much. */
void pt_ledger_add(pt_ledger *ledger, uint32_t pid, uint32_t tid, uint64_t time_ns, uint32_t row,
                   uint64_t weight_ns, bool is_kernel);
/* A thread has ended; ran_ns: its clock's last word, of events of threads, else 0. */
void pt_ledger_end(pt_ledger *ledger, uint32_t pid, uint32_t tid, uint64_t time_ns,
                   uint64_t ran_ns);
/* Samples were lost: no other sample is to stand for them. */
void pt_ledger_lost(pt_ledger *ledger);
/* No more will be sampled: looks at the clocks of those that still run. */
void pt_ledger_look_at_all(pt_ledger *ledger);
/* No more will be told: settles all. */
void pt_ledger_finish(pt_ledger *ledger);

/* By how much the sum of all weights has changed. */
int64_t pt_ledger_moved_ns(const pt_ledger *ledger);

#endif
