/* capture.h: records any process from outside, through the kernel's perf events.
 *
 *   pt_capture_new     targets, event, options: opens the events, reads existing mappings
 *   pt_capture_run     samples until stopped, the time is over, or all targets have ended
 *   pt_capture_finish  the profile, and its completeness
 *
 *   ring per cpu -> records in the order of time -> processes and mappings (procs.h)
 *                                                -> stacks, unwound by tables -> sink (sink.h)
 *
 * The target is only observed: nothing is loaded into it, stopped or changed. The kernel copies
 * user stacks, which are unwound at once and never stored. Or a BPF program (src/bpf), called the
 * kernel's walker here, unwinds them in the kernel.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/tables.h"
#include "model/builder.h"
#include "wire/journal.h"

typedef struct pt_capture pt_capture;

/* Samples with functions of a language, in periods. */
typedef struct pt_capture_frames {
    uint64_t all, uncertain; /* uncertain: joined with native frames without certainty */
} pt_capture_frames;

/* Counts, times and sizes of a recording, while it runs and at its end. */
typedef struct pt_capture_facts {
    uint64_t samples;   /* kept samples, counted in periods */
    uint64_t complete;  /* of these: reached the start of the thread, by checked steps only */
    uint64_t unchecked; /* also reached it, but by frame pointers that no rule confirms */
    uint64_t stacks;    /* samples taken, regardless of weight */
    uint64_t walked;    /* of these stacks: unwound in the kernel */
    pt_capture_frames frames[PT_JOURNAL_LANGUAGES];
    uint64_t named_gone;     /* interpreted frames whose function was gone before it was named */
    uint64_t lost;           /* samples lost because the ring was full: see pt_capture_lost */
    uint64_t unwritten;      /* samples, at most, that are missing because a disk was full */
    uint64_t throttled;      /* times that the kernel throttled an event */
    uint64_t short_copy;     /* samples whose copy of the stack was too short */
    uint64_t period_ns;      /* of clock events; else 0 */
    uint64_t period;         /* of other events; 0 if the period varies */
    uint64_t seen_ns;        /* CPU time in all samples; 0 if the event is no clock */
    uint64_t not_sampled_ns; /* part of seen_ns that no sample shows; has rows of its own */
    uint64_t used_ns;        /* CPU time of the targets; 0 if unknown */
    uint64_t own_ns;         /* CPU time of the recorder itself, not in used_ns */
    uint64_t events_seen;    /* event count in all samples, if the event is no clock */
    uint64_t events;         /* total event count, if the event is no clock; 0 if unknown */
    /* off_cpu_ns: time that threads waited for something other than a cpu. ready_ns: time that
     * threads waited only for a cpu. */
    uint64_t off_cpu_ns, ready_ns;
    /* passed_waits: waits whose stacks were not taken because of switch_stacks; other waits stand
     * for these. wait_weight: the largest number of waits that one taken stack stands for. */
    uint64_t passed_waits, wait_weight;
    uint64_t lost_waits;     /* waits whose stacks were lost; their time is in no value */
    uint64_t missed_threads; /* threads that ended before an event could be opened for them */
    int64_t start_ns;        /* Unix time */
    int64_t duration_ns;
    uint32_t processes;         /* with samples */
    uint32_t unreadable;        /* of them: with unreadable mappings */
    uint32_t denied;            /* processes that targets started and that the kernel does not let
                                 * this process record */
    uint32_t stack_bytes;       /* size of stack copies at the end */
    bool is_out_of_descriptors; /* threads were missed because the process ran out of descriptors */
    bool is_each_thread;        /* one event per thread instead of one per cpu */
    bool is_beside_others;      /* the events also sample processes that are not recorded */
    bool is_full;               /* the recording ended because of memory_bytes */
    bool has_kernel;            /* time in the kernel was sampled */
    uint32_t left_out;          /* files whose tables the kernel's walker has no room for */
    uint32_t not_walked;        /* processes that the kernel's walker had no room for */
    bool has_walker;            /* stacks are walked in the kernel */
    char refused
        [2048]; /* lines: why frames of an interpreter, or memory of a process, were not read */
    char why_copied[512]; /* if has_walker is false but a walker was requested: the reason */
} pt_capture_facts;

/* An upper limit for the lost samples of recorded processes. The kernel does not say which process
 * a lost sample belongs to, and events per cpu sample all processes. So the limit is at most the
 * number of periods in used_ns that no sample has. used_ns: CPU time of the recorded processes; 0
 * if unknown.
 */
uint64_t pt_capture_lost(const pt_capture_facts *facts, uint64_t used_ns);

/* The processes to record. */
typedef struct pt_capture_targets {
    const pid_t *pids; /* these processes and their children; if pids is NULL and pid_count 0, `all`
                        * or cgroup decides */
    size_t pid_count;
    bool with_started; /* also the running processes that pids have started before */
    bool all;          /* every process */
    /* Restricts the targets to this control group and the groups below it (pt_cgroup_find); or
     * NULL */
    const char *cgroup;
} pt_capture_targets;

/* When the kernel walks stacks by the BPF program (src/bpf) instead of copying them. */
typedef enum pt_walk_wish {
    PT_WALK_NEVER,
    PT_WALK_OR_FAIL, /* always: otherwise pt_capture_new fails */
    PT_WALK_FIRST,   /* from the first sample on, if possible: pt_capture_new loads the program,
                      * which takes 0.04 s */
    PT_WALK_SOON,    /* if possible, as soon as it is loaded; loading begins after the recording */
} pt_walk_wish;

typedef struct pt_capture_options {
    pt_capture_targets targets;
    const char *event; /* a name of pt_event_sources */
    uint64_t hz;       /* sampling rate, for clocks and hardware events */
    uint64_t period;   /* for other events: the count between samples */
    bool user, kernel; /* sample time in user mode, in the kernel */
    bool off_cpu;      /* also record the time that threads wait */
    bool wakers;       /* also record the stacks that end waits; needs off_cpu and walks */
    /* About how many stacks of waits a cpu takes in a second. If there are more switches, only the
     * stacks of some waits are taken. 0: the stacks of all waits. */
    uint64_t switch_stacks;
    bool expects_frames;   /* an interpreter will be recorded, whose frames the walker reads */
    bool timeline;         /* keep each sample with time, thread and cpu */
    pt_walk_wish walks;    /* in the kernel; PT_WALK_NEVER with each_thread */
    bool each_thread;      /* events per thread, even where events per cpu are allowed */
    int64_t duration_ns;   /* 0: until stopped */
    uint64_t memory_bytes; /* the recording ends when it holds more memory; 0: no limit */
    pid_t until; /* the recording ends with this process; 0: when all of targets.pids have ended */
    bool awaits_exec;      /* targets.pids is a child of this process that will run a command */
    pt_table_cache tables; /* the store of unwind tables */
    /* Folder in which the recording is kept (keep.h) as it grows; NULL if the recording is not
     * kept */
    const char *keep_folder;
    const char *typed;                 /* the command line, for the kept recording */
    const volatile sig_atomic_t *stop; /* the recording ends when it is not 0 */
    /* Called from time to time; or NULL. */
    void (*progress)(void *arg, const pt_capture_facts *facts);
    void *progress_arg;
    /* Called at the end: adds the caller's facts to the builder's provenance and comments. */
    void (*describe)(void *arg, pt_builder *builder, const pt_capture_facts *facts);
    void *describe_arg;
    /* Called when sampling ends: returns the CPU time of the process `until` and its children, as
     * the kernel reports it to the parent of the process; 0 if the process still runs. May be NULL
     * if nobody knows this time. The counters of events lack the time of a process before its first
     * and after its last event, and all time after the process has got more rights. */
    uint64_t (*reported_ns)(void *arg);
    void *reported_arg;
} pt_capture_options;

/* Opens all events; pt_capture_start begins sampling. Copies *options, but not the memory that its
 * fields point to. PT_ERR_SYSTEM: the kernel refuses (permission.h has the advice).
 * PT_ERR_NOTFOUND: no target exists any more. The caller frees *ret_capture. */
pt_status pt_capture_new(const pt_capture_options *options, pt_capture **ret_capture,
                         pt_error *reterr);
void pt_capture_free(pt_capture *capture); /* accepts NULL */

/* Starts the events. The caller may then release a waiting command. */
void pt_capture_start(pt_capture *capture);
/* Records until the end condition of the options holds. */
void pt_capture_run(pt_capture *capture);

/* Ends the recording. The profile has events samples/count, then cpu/nanoseconds or the event's
 * count; with off_cpu also off-cpu/nanoseconds, ready/nanoseconds, waits/count, preemptions/count;
 * gil/nanoseconds, if threads waited for CPython's lock; with wakers, woken/nanoseconds. The caller
 * unrefs the profile. */
pt_status pt_capture_finish(pt_capture *capture, pt_capture_facts *ret_facts,
                            const pt_profile **ret_profile, pt_error *reterr);
