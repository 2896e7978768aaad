/* set.h: all events of a recording, and their rings.
 *
 *   of cpus      | one row a cpu, of no thread                  |  every thread, however short
 *   of threads   | one row a thread and cpu, opened when we hear of the thread
 *
 * The kernel allows events of cpus to root, to CAP_PERFMON, and at perf_event_paranoid 0. Those of
 * threads it allows for one's own processes. Since an inherited event gives each new thread a whole
 * period before its first sample, threads get events of their own, whose first period is a random
 * part of one: short threads are then seen in proportion to their time.
 */
#ifndef PT_CAPTURE_SET_H
#define PT_CAPTURE_SET_H

#include "capture/event.h"
#include "capture/mover.h"
#include "capture/spool.h"

/* An event that makes samples. Its clock, plus a random offset, passes a period's end: a sample is
 * due. What a sample weighs is how many passed since the last. */
typedef struct pt_event_row {
    int fd, switches_fd;         /* -1: none */
    uint64_t id, switches_id;    /* as samples have it */
    uint64_t former_switches_id; /* before it was opened again */
    uint64_t offset, taken;
    uint64_t period; /* of its ticks; its samples' weights are by that of the plan */
    bool is_first;   /* its period is still the random part */
    bool is_beside;  /* its samples still come into the side ring, where each wakes us */
} pt_event_row;

typedef struct pt_event_thread {
    pid_t pid, tid;       /* tid -1: of cpus */
    uint32_t stack_bytes; /* that its events copy */
    uint64_t former_ns;   /* that it ran before its present events were opened */
    uint64_t credit;    /* periods that had passed before it was opened, due with the next sample */
    pt_event_row *rows; /* one a cpu of the set */
} pt_event_thread;

typedef struct pt_event_fds {
    int *items;
    size_t count, cap;
} pt_event_fds;

typedef struct pt_ring_pair {
    int cpu;
    int samples_fd, side_fd;             /* owners of the kernel's rings */
    int walked_fd;                       /* of the plan's walker; -1: none */
    pt_ring kernel_samples, kernel_side; /* taken from by the spool */
    pt_ring samples, side;               /* what the spool has taken */
    uint64_t seen; /* of side: up to where it was looked through for what is urgent */
} pt_ring_pair;

typedef struct pt_event_set {
    pt_event_plan plan;
    pt_perf_layout layout;
    bool off_cpu, is_enabled;
    pt_ring_pair *pairs; /* one a cpu that is on */
    uint32_t pair_count;
    uint32_t *pair_of_cpu; /* PT_NONE: off when we began */
    uint32_t cpu_limit;
    struct {
        pt_event_thread **slots; /* open addressing by tid */
        size_t count, mask;
    } threads;
    pt_spool *spool;
    pt_mover *mover;        /* of rows that are no longer first, to the ring of samples */
    pt_event_fds reporters; /* of what happens to threads */
    pt_event_fds clocks;    /* that count CPU time */
    pt_event_fds counters;  /* that count the event, if it is no clock */
    int fd_limit;           /* above are those that are kept for opening programs */
    bool is_out_of_descriptors;
    uint64_t random;     /* state */
    uint64_t missed;     /* threads that were gone before an event could be opened */
    uint64_t max_memory; /* of a ring of samples */
} pt_event_set;

/* Opens the rings and, for events of cpus, all events. For events of threads, each is added. */
pt_status pt_event_set_open(pt_event_set *set, const pt_event_plan *plan, bool off_cpu,
                            const pid_t *tids, size_t tid_count, pt_error *reterr);
void pt_event_set_close(pt_event_set *set);

/* A thread that was there before, or a new one (is_new), of process pid (0: which it is). False:
 * gone, or refused (errno). Adding one twice does nothing. */
bool pt_event_set_add(pt_event_set *set, pid_t pid, pid_t tid, bool is_new);
/* Returns how long the thread ran, by its events; 0: it had none. */
uint64_t pt_event_set_remove(pt_event_set *set, pid_t tid);
/* A process has become another program. If another thread than its first did so, that one has the
 * number of the first now, which has been removed, and its events go on under it. */
void pt_event_set_exec(pt_event_set *set, pid_t pid);

void pt_event_set_enable(pt_event_set *set);
void pt_event_set_disable(pt_event_set *set);

/* What a sample weighs, in periods; 0: none was due. To be asked of each sample that is no switch,
 * in the order of time. */
uint64_t pt_event_set_weight(pt_event_set *set, const pt_perf_record *record);
/* Is it a sample of a switch? */
bool pt_event_set_is_switch(const pt_event_set *set, const pt_perf_record *record);
/* Gives the events of a thread (any, for events of cpus) their whole period, if they have not, and
 * those of one that lives for a while the ring of samples. */
void pt_event_set_settle(pt_event_set *set, const pt_perf_record *record);

/* Copies more of the stack from here on; the events of that thread are opened again. False if it
 * is at its largest, or at what the kernel's rings can hold for a while. */
bool pt_event_set_grow(pt_event_set *set, pid_t tid);

/* How much is copied of a thread's stack; 0: it has no events. */
uint32_t pt_event_set_stack_bytes(const pt_event_set *set, pid_t tid);

/* Counts the CPU time of a thread and of all it will start, and the plan's event if that is no
 * clock; that from the next exec on if awaits_exec. tid -1: only the event, of all cpus. */
void pt_event_set_count(pt_event_set *set, pid_t tid, bool awaits_exec);
/* What they have counted. */
uint64_t pt_event_set_used_ns(const pt_event_set *set);
uint64_t pt_event_set_events(const pt_event_set *set);

#endif
