/* ledger.h: corrects the weights of samples by each thread's own CPU clock.
 *
 *   sample --> weight of one period --> held in its thread's account --> a clock reading: all held
 *   samples together get the time that the clock has advanced since the last reading
 *
 * The kernel's timer is late or lost while a thread cannot be interrupted, mostly during switches;
 * virtual machines lose more ticks. So one period per sample is right for the machine as a whole,
 * but wrong for a thread that switches often. The difference between a thread's samples and its
 * clock is distributed over its own samples. The part that switches may account for goes to its
 * samples in the kernel, the remaining part to all its samples in proportion.
 *
 * With events per cpu the clock is that of schedstat (proc(5)). The kernel's walker sends its value
 * with each sample; without a walker the recorder reads it after each 32 samples of the thread, and
 * at the end. Samples after the last reading are scaled like those before it.
 *
 * With events per thread each sample weighs the advance of the event's own clock. Consecutive
 * samples weigh the same, and the last ones get the time after the last tick.
 *
 * Threads with few samples cannot be corrected alone. If their clocks are known, the short threads
 * of a process are corrected together; else those of all processes, by the CPU time of all targets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/sink.h"

typedef struct pt_ledger pt_ledger;

/* The CPU clock of a thread. */
typedef struct pt_thread_clock {
    uint64_t ran_ns;
    uint64_t switches; /* times that the thread was given a cpu */
} pt_thread_clock;

/* Reads ROOT/PID/task/TID/schedstat (proc(5)). False: the thread is gone, or the kernel has no
 * schedstat. */
bool pt_thread_clock_read(const char *root, uint32_t pid, uint32_t tid, pt_thread_clock *ret_clock);

typedef struct pt_ledger_options {
    uint64_t period_ns;
    bool is_each_thread; /* weights follow the clocks, which are reported at the end of a thread */
    /* Samples show time in the kernel, too; else the clocks have time that no sample shows. */
    bool has_kernel;
    /* Reads a thread's clock. False: the thread is gone, or has no clock. */
    bool (*look)(void *arg, uint32_t pid, uint32_t tid, pt_thread_clock *ret_clock);
    uint64_t (*now_ns)(void *arg); /* on the clock of the records */
    void *arg;
} pt_ledger_options;

/* Parts of a time, each from 0 to 1; what they leave is that of threads that the kernel refused
 * events. */
typedef struct pt_ledger_parts {
    double brief; /* of short threads */
    double early; /* of threads that pt_ledger_early was told of */
} pt_ledger_parts;

/* Makes a ledger. Corrections go to the sink, which must outlive it. */
pt_ledger *pt_ledger_new(const pt_ledger_options *options, pt_sink *sink);
void pt_ledger_free(pt_ledger *ledger); /* accepts NULL */

/* Call these in the order of time; time_ns is on the clock of the records. */

/* A thread started: its clock is 0. */
void pt_ledger_begin(pt_ledger *ledger, uint32_t tid);
/* A thread runs another program. It has the tid of its process's first thread, which may have ended
 * before. */
void pt_ledger_exec(pt_ledger *ledger, uint32_t tid);
/* Holds a sample that was added to a row of the sink with this weight. Corrections divide time
 * among samples by their shares. A sample that comes after its thread's end keeps its weight.
 * clock: the thread's clock at the sample; NULL: the ledger reads the clock when it needs it. */
void pt_ledger_add(pt_ledger *ledger, uint32_t pid, uint32_t tid, uint64_t time_ns, uint32_t row,
                   uint64_t weight_ns, uint64_t share_ns, bool is_kernel,
                   const pt_thread_clock *clock);
/* Notes that beside a sample of share_ns an unknown time passed in the kernel, which may not be
 * sampled. At the end this row of the sink gets a part of the CPU time that no sample shows, in
 * proportion to the sum of its shares. */
void pt_ledger_beside(pt_ledger *ledger, uint32_t row, uint64_t share_ns);
/* Notes that a thread ended before any event could count it. At the end this row of the sink gets
 * an equal part of the CPU time of such threads. */
void pt_ledger_early(pt_ledger *ledger, uint32_t row);
/* A thread ended. ran_ns: the final value of its clock (events per thread), else 0. */
void pt_ledger_end(pt_ledger *ledger, uint32_t pid, uint32_t tid, uint64_t time_ns,
                   uint64_t ran_ns);
/* Samples were lost: other samples must not take over their weight. */
void pt_ledger_lost(pt_ledger *ledger);
/* Sampling has ended: reads the clocks of threads that still run. */
void pt_ledger_look_at_all(pt_ledger *ledger);
/* Corrects all remaining samples. used_ns: the CPU time of all recorded threads; 0: unknown.
 * added_ns: the weight of all samples before corrections. parts: who gets the CPU time that no
 * other thread has. Returns the time that rows of pt_ledger_beside and pt_ledger_early got. */
uint64_t pt_ledger_finish(pt_ledger *ledger, uint64_t used_ns, const pt_ledger_parts *parts,
                          uint64_t added_ns);

/* The change of the sum of all weights. */
int64_t pt_ledger_moved_ns(const pt_ledger *ledger);
