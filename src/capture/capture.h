/* capture.h: recording any process from outside, through the kernel's perf events.
 *
 *   pt_capture_new     who, what, how: opens the events, reads what is mapped already
 *   pt_capture_run     samples until told to stop, or the time or all that was recorded is over
 *   pt_capture_finish  the profile, and how much of it to believe
 *
 *   kernel ring a cpu -> records in the order of time -> processes and mappings (procs.h)
 *                                                     -> stacks, unwound by tables -> sink (sink.h)
 *
 * The target is only looked at: nothing is loaded into it, stopped or changed. Stacks of user space
 * are copied by the kernel, unwound at once, and never stored.
 */
#ifndef PT_CAPTURE_CAPTURE_H
#define PT_CAPTURE_CAPTURE_H

#include <signal.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/tables.h"
#include "model/builder.h"

typedef struct pt_capture pt_capture;

/* Numbers while it runs, and at its end. */
typedef struct pt_capture_facts {
    uint64_t samples;              /* that were kept, as periods */
    uint64_t complete;             /* of them: the stack reached where its thread began */
    uint64_t unchecked;            /* the same, but by frame pointers that no rule vouches for */
    uint64_t stacks;               /* samples taken, whatever they weigh */
    uint64_t walked;               /* of them: in the kernel */
    uint64_t lost;                 /* the ring was full */
    uint64_t throttled;            /* times that the kernel paused an event */
    uint64_t short_copy;           /* the copy of the stack was too short */
    uint64_t period_ns;            /* of clocks; else 0 */
    uint64_t period;               /* of other events; 0: varies */
    uint64_t seen_ns;              /* CPU time that the samples stand for; 0 if it is no clock */
    uint64_t used_ns;              /* CPU time of what was recorded; 0: not known */
    uint64_t own_ns;               /* CPU time of recording itself, of which used_ns has none */
    uint64_t events_seen;          /* that the samples stand for, if it is no clock */
    uint64_t events;               /* if it is no clock: how many there were; 0: not known */
    uint64_t off_cpu_ns, ready_ns; /* threads waited; waited for nothing but a cpu */
    uint64_t missed_threads;       /* ended before an event could be opened for them */
    int64_t start_ns;              /* Unix time */
    int64_t duration_ns;
    uint32_t processes;         /* with samples */
    uint32_t unreadable;        /* of them: their mappings could not be read */
    uint32_t stack_bytes;       /* that were copied at last */
    bool is_out_of_descriptors; /* then threads were missed for want of them */
    bool is_each_thread;        /* by an event for each thread, not for each cpu */
    bool has_kernel;            /* time in the kernel was sampled */
} pt_capture_facts;

/* Who is recorded. */
typedef struct pt_capture_targets {
    const pid_t *pids; /* these, and what they start; NULL and 0: see below */
    size_t pid_count;
    bool all; /* every process */
    const char
        *cgroup; /* of them: those in this control group or below it (pt_cgroup_find); or NULL */
} pt_capture_targets;

typedef struct pt_capture_options {
    pt_capture_targets targets;
    const char *event;     /* of pt_event_sources */
    uint64_t hz;           /* for clocks and hardware */
    uint64_t period;       /* for others: a sample every so many */
    bool user, kernel;     /* time in which is sampled */
    bool off_cpu;          /* the time that threads wait, too */
    bool timeline;         /* each sample with its time, thread and cpu */
    bool walks_in_kernel;  /* by src/bpf; then not each_thread */
    bool each_thread;      /* events of threads, even where those of cpus are allowed */
    int64_t duration_ns;   /* 0: until stopped */
    pid_t until;           /* not 0: until this process ends; else until all of targets.pids have */
    bool awaits_exec;      /* targets.pids are a child of ours that will run a command */
    pt_table_cache tables; /* where unwind tables are kept */
    const char
        *keep_folder;  /* here, what is recorded is kept (keep.h) as it comes; NULL: nowhere */
    const char *typed; /* for it: the command line */
    const volatile sig_atomic_t *stop;                          /* not 0: stop */
    void (*progress)(void *arg, const pt_capture_facts *facts); /* now and then; or NULL */
    void *progress_arg;
    /* At the end: what only the caller knows, into the builder's provenance and comments. */
    void (*describe)(void *arg, pt_builder *builder, const pt_capture_facts *facts);
    void *describe_arg;
} pt_capture_options;

/* Opens everything; samples are taken from pt_capture_run on. options is copied, what it points to
 * must stay. PT_ERR_SYSTEM if the kernel refuses (see permission.h for what to say),
 * PT_ERR_NOTFOUND if no target is there any more. */
pt_status pt_capture_new(const pt_capture_options *options, pt_capture **ret_capture,
                         pt_error *reterr);
void pt_capture_free(pt_capture *capture); /* accepts NULL */

/* Starts the events; a command that waits may be let go afterwards. */
void pt_capture_start(pt_capture *capture);
/* Returns when it is over. */
void pt_capture_run(pt_capture *capture);

/* Ends it. The profile has events samples/count, then cpu/nanoseconds or the event's count, then
 * off-cpu/nanoseconds, ready/nanoseconds and how often, waits/count and preemptions/count, if that
 * was asked for. Caller unrefs. */
pt_status pt_capture_finish(pt_capture *capture, pt_capture_facts *ret_facts,
                            const pt_profile **ret_profile, pt_error *reterr);

#endif
