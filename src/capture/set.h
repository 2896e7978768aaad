/* set.h: all events of a recording, and their rings.
 *
 *   per cpu      up to 8 rows for each cpu; they sample every thread, however short (rhythm.h)
 *   per thread   one row for each thread and cpu, opened when the kernel reports the thread
 *
 * A row is a pt_event_row. The kernel allows events per cpu to root, to CAP_PERFMON, and at
 * perf_event_paranoid 0; events per thread it allows for one's own processes. A new thread gets
 * events of its own, whose first period is a random part of a period: so short threads are sampled
 * in proportion to their time. inherited.h makes the samples of a thread's time before its events
 * are open.
 */
#pragma once

#include "capture/event.h"
#include "capture/inherited.h"
#include "capture/mover.h"
#include "capture/rhythm.h"
#include "capture/spool.h"

/* An event that makes samples. A sample is due when the event's clock + `offset` (random) passes
 * the end of a period. The sample's weight is the number of periods that ended since the last
 * sample; `taken` is the number of periods that samples have counted. */
typedef struct pt_event_row {
    int fd, switches_fd;         /* -1: none */
    uint64_t id, switches_id;    /* the ids in samples */
    uint64_t former_switches_id; /* of the switches event before it was opened again */
    uint64_t offset, taken;
    uint64_t passed; /* clock + offset at the last sample */
    uint64_t period; /* between its ticks; weights count periods of the plan */
    bool is_first;   /* its period is still the first one, a random part of a period */
    bool is_beside;  /* its samples still go to the side ring, where each wakes the recorder */
    bool has_ticked; /* with events per cpu, while is_first: it has ticked */
    bool is_led;     /* the first timer of its cpu starts and stops this row's event */
    uint64_t first, opened_ns; /* the first period, and when it began */
    uint64_t settled_ns;       /* when it got this period; UINT64_MAX: it has its first one */
    uint64_t former;           /* the period before settled_ns */
    uint32_t fresh;            /* samples since then */
} pt_event_row;

/* The time of a new thread before its events were open. */
typedef struct pt_event_before {
    uint64_t ran_ns;    /* CPU time */
    uint64_t opened_ns; /* when its events were open, on the clock of the records; 0: not known */
} pt_event_before;

typedef struct pt_event_thread {
    pid_t pid, tid;       /* tid -1: per cpu */
    uint32_t stack_bytes; /* size of its stack copies */
    uint64_t former_ns;   /* CPU time before its present events were opened */
    pt_event_before before;
    /* Periods that passed before its events were opened and have no samples; added to the next
     * sample. */
    uint64_t credit;
    pt_inherited_birth birth;
    bool is_missed;     /* it is alive, but its events could not be opened */
    pt_event_row *rows; /* one for each cpu of the set, then the second timer of each, ... */
} pt_event_thread;

enum { PT_EVENT_EARLY_TIDS = 4096 };

typedef struct pt_event_fds {
    int *items;
    size_t count, cap;
} pt_event_fds;

typedef struct pt_ring_pair {
    int cpu;
    int samples_fd, side_fd;             /* events that own the kernel's rings */
    int output_fds[PT_BPF_OUTPUTS];      /* the events of the plan's walker; -1: none */
    pt_ring kernel_samples, kernel_side; /* the spool reads these */
    pt_ring samples, side;               /* the spool copies to these */
    uint64_t seen; /* of side: up to where it was searched for urgent records */
    pt_rhythm rhythm;
    uint64_t stirred_ns; /* when parts of the rhythm were drawn last */
    uint32_t fresh;      /* samples since then */
} pt_ring_pair;

typedef struct pt_event_set {
    pt_event_plan plan;
    pt_perf_layout layout;
    bool off_cpu, is_enabled;
    pt_ring_pair *pairs; /* one for each online cpu */
    uint32_t pair_count;
    uint32_t timers;       /* of each cpu; 1 with events per thread, and if the event is no clock */
    uint32_t *pair_of_cpu; /* PT_NONE: the cpu was offline at the start */
    uint32_t cpu_limit;
    struct {
        pt_event_thread **slots; /* open addressing by tid */
        size_t count, mask;
    } threads;
    pt_spool *spool;
    pt_first *first;         /* rows that have their first period (events per thread); or NULL */
    pt_inherited *inherited; /* events of new threads (events per thread, a clock); or NULL */
    pt_mover *mover;         /* moves rows after their first period to the ring of samples */
    pt_event_fds reporters;  /* dummy events that report fork, exec, exit, mappings */
    pt_event_fds clocks;     /* events that count CPU time */
    pt_event_fds counters;   /* events that count the plan's event, if it is no clock */
    int fd_limit;            /* descriptors above are reserved for reading files of programs */
    bool is_out_of_descriptors;
    uint64_t random; /* state of the random generator */
    uint64_t missed; /* threads without any event: they ended too early, or were refused */
    uint64_t early;  /* those of them that ended too early */
    uint64_t brief;  /* threads that ended with inherited events only */
    /* The last threads that ended too early, by tid modulo; 0: none. */
    pid_t early_tids[PT_EVENT_EARLY_TIDS];
    uint64_t max_memory; /* of one ring of samples */
} pt_event_set;

/* Opens the rings and, with events per cpu, all events. With events per thread it adds each of
 * tids. */
pt_status pt_event_set_open(pt_event_set *set, const pt_event_plan *plan, bool off_cpu,
                            const pid_t *tids, size_t tid_count, pt_error *reterr);
void pt_event_set_close(pt_event_set *set);

/* Adds a thread that runs already. False: the thread is gone, or the kernel refused (errno). Adding
 * a thread again does nothing. */
bool pt_event_set_add(pt_event_set *set, pid_t tid);
/* Adds the new thread of a PERF_RECORD_FORK, unless it is there. */
void pt_event_set_fork(pt_event_set *set, const pt_perf_record *fork);
/* Samples the first thread or process that thread tid starts in the next 0.1 s, from that start on.
 */
void pt_event_set_await(pt_event_set *set, pid_t tid);
/* Adds an existing thread, and lets the kernel report the threads and processes that it starts.
 * With events per cpu nothing is to be done: they sample and report all threads. False: the thread
 * is gone, or the kernel refused (errno). */
bool pt_event_set_follow(pt_event_set *set, pid_t tid);
/* The time of a new thread before its events were open; zeros if the thread is not new, or is gone.
 */
pt_event_before pt_event_set_before(const pt_event_set *set, pid_t tid);
/* Had the thread ended before any event of its own could be opened, without inherited events? True
 * once for each such thread. */
bool pt_event_set_was_early(pt_event_set *set, pid_t tid);
/* Removes a thread. Returns its CPU time by its events; 0: it had none. */
uint64_t pt_event_set_remove(pt_event_set *set, pid_t tid);
/* Notes that a process runs another program. If a thread other than the first called exec, it now
 * has the first thread's tid; the first has been removed already, and the events continue under
 * that tid. Events that could not be opened are tried again. */
void pt_event_set_exec(pt_event_set *set, pid_t pid);

/* From now on the walker, which the plan borrows, walks the stacks of all samples; the plan must
 * have may_walk. Fails with PT_ERR_SYSTEM if the kernel refuses; nothing has changed then. */
pt_status pt_event_set_walk(pt_event_set *set, pt_bpf_engine *walker, pt_error *reterr);

/* Starts and stops all events. */
void pt_event_set_enable(pt_event_set *set);
void pt_event_set_disable(pt_event_set *set);

/* Is the sample to be counted? Called for each sample that is not of a switch, in the order of
 * time. A timer repeats its first period until pt_event_set_stir gives it its lasting one. Of the
 * ticks by the first period a random choice counts: as many as the lasting period would have
 * made. */
bool pt_event_set_counts(pt_event_set *set, const pt_perf_record *record);
/* Gives each timer of a cpu its lasting period after its first tick, and draws new periods when
 * they are due. Called often. seen_ns: all threads that began before then have been added. */
void pt_event_set_stir(pt_event_set *set, uint64_t now_ns, uint64_t seen_ns);

/* Parts of a thread's time, in the source's units. */
typedef struct pt_event_shares {
    uint64_t sample; /* for which the sample stands: the time since the last sample. Whole periods
                        could keep step with a program that works in rounds */
    uint64_t kernel; /* in the kernel before the sample, if the kernel may not be sampled */
    uint64_t start;  /* of the thread's life before its events were open */
    /* The sample is of an inherited event, and the kernel may not be sampled: the thread's time in
     * the kernel is not known. */
    bool is_of_start;
} pt_event_shares;

/* The weight of a sample in periods; 0: no sample was due. Call it for each sample that is not of a
 * switch, in the order of time. */
uint64_t pt_event_set_weight(pt_event_set *set, const pt_perf_record *record,
                             pt_event_shares *ret_shares);
/* True for a sample of a context switch. */
bool pt_event_set_is_switch(const pt_event_set *set, const pt_perf_record *record);
/* Gives the events of a thread their whole period, if they still have the random first part, and
 * moves the events of a thread that lives longer to the ring of samples. With events per cpu the
 * record may be of any thread. */
void pt_event_set_settle(pt_event_set *set, const pt_perf_record *record);

/* Increases the size of stack copies, and opens the events of the thread tid again. False: the size
 * is at its maximum, a larger copy would fill the kernel's rings too fast, or the thread has no
 * events of its own. */
bool pt_event_set_grow(pt_event_set *set, pid_t tid);

/* The size of the stack copies of a thread; 0: it has no events. */
uint32_t pt_event_set_stack_bytes(const pt_event_set *set, pid_t tid);

/* Counts the CPU time of a thread and all that it starts, and the plan's event if that is no clock
 * (from the next exec on if awaits_exec). tid -1: only the event, of all cpus. */
void pt_event_set_count(pt_event_set *set, pid_t tid, bool awaits_exec);
/* What pt_event_set_count has counted so far: CPU time in ns; counts of the plan's event. */
uint64_t pt_event_set_used_ns(const pt_event_set *set);
uint64_t pt_event_set_events(const pt_event_set *set);
