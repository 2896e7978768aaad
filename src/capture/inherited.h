/* inherited.h: samples of a new thread from its start until its own events are open. Here a process
 * is its first thread; a short process ends before it has events of its own.
 *
 *   thread 7     its own events, and inherited events of period p, which is drawn anew at each fork
 *     |
 *     fork ----> thread 8   |...p...|...p...|    ticks of the inherited event
 *                           |---------|          until the recorder has opened events of thread 8
 *
 * The kernel gives each new thread a whole period of an inherited event before its first tick. The
 * period is random. Over all periods, ticks are likelier at some moments of a thread's life than at
 * others. A tick weighs less where ticks are likelier, so each part of the life gets its weight.
 * Samples of thread 7 by the inherited events do not count, nor do those of thread 8 after its own
 * events are open.
 *
 * Inherited events are closed after a tenth of a second or later, which stops them in all threads,
 * since the short periods cost CPU time. If the thread has started threads lately, other inherited
 * events are opened first. A new thread has samples by the last events that it inherited.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/event.h"

typedef struct pt_inherited pt_inherited;

typedef struct pt_inherited_options {
    const pt_event_plan *plan; /* events per thread; the source is a clock */
    const int *cpus;           /* all online cpus; copied */
    const int *samples_fds;    /* of each cpu, the event that owns its ring of samples; copied */
    uint32_t cpu_count;
    int fd_limit; /* descriptors from this number on are left to others */
} pt_inherited_options;

/* The plan must outlive the result. */
pt_inherited *pt_inherited_new(const pt_inherited_options *options);
void pt_inherited_free(pt_inherited *inherited); /* accepts NULL */

/* The events that a thread inherited at its birth. */
typedef struct pt_inherited_birth {
    uint32_t cover;        /* the number of their group, counted from 1; 0: none */
    bool has_whole_period; /* their period is that of the recording: no random one was drawn yet */
} pt_inherited_birth;

/* The events that a child of thread tid inherited if it began at that time (CLOCK_MONOTONIC); they
 * may be closed by now. parent: the birth of tid itself. */
pt_inherited_birth pt_inherited_at_birth(const pt_inherited *inherited, pid_t tid,
                                         const pt_inherited_birth *parent, uint64_t time_ns);
/* Opens events of thread tid that its first child inherits. They have the whole period, so they
 * cost little until pt_inherited_fork draws others. */
void pt_inherited_begin(pt_inherited *inherited, pid_t tid);
/* Call it when the recorder notices that thread tid has started another thread. Opens events of tid
 * unless its children inherit some already; of those it draws the periods anew. cover: of the birth
 * of tid. random: the state of a random generator. */
void pt_inherited_fork(pt_inherited *inherited, pid_t tid, uint32_t cover, uint64_t *random);
/* Closes the events that were opened a tenth of a second before seen_ns, and opens others for
 * threads that have started threads lately. seen_ns: the records of all forks up to then have been
 * passed on. So no events are closed before the threads that inherited them have their own. */
void pt_inherited_renew(pt_inherited *inherited, uint64_t seen_ns, uint64_t *random);
/* Closes all events. Their samples can still be read. */
void pt_inherited_stop(pt_inherited *inherited);

/* Is the record a sample of an inherited event, open or closed? */
bool pt_inherited_has_made(const pt_inherited *inherited, const pt_perf_record *record);
/* Returns the CPU time in ns that such a sample stands for; 0: it does not count. birth: of its
 * thread. own_ns: when the own events of its thread were opened (CLOCK_MONOTONIC); UINT64_MAX: they
 * are not open. Call it once for each sample, in the order of time. */
uint64_t pt_inherited_share(pt_inherited *inherited, const pt_perf_record *record,
                            const pt_inherited_birth *birth, uint64_t own_ns);
/* The CPU time in ns for which a tick of a new thread stands; 0: none. ran_ns: the CPU time of the
 * thread at the tick; most_ns: the period of the recording. In the mean over all periods of the
 * event, ticks in each part of a thread's time stand for as much time as the part has. */
uint64_t pt_inherited_tick_ns(uint64_t ran_ns, uint64_t most_ns);
/* Forgets the ticks of a thread that has ended: its number may belong to another thread later. */
void pt_inherited_end(pt_inherited *inherited, uint32_t tid);
