/* capture_int.h: a recording; for use inside the layer.
 *
 *   capture.c   opens, waits, ends
 *   feed.c      records, in the order of time -> processes, samples
 *   waits.c     switches of threads -> waits
 */
#pragma once

#include "base/grow.h"
#include "capture/between.h"
#include "capture/capture.h"
#include "capture/interp.h"
#include "capture/known.h"
#include "capture/ledger.h"
#include "capture/loader.h"
#include "capture/pids.h"
#include "capture/procs.h"
#include "capture/set.h"
#include "capture/sink.h"
#include "capture/unwind_sample.h"

enum { PT_WAITING_BUCKETS = 1024, PT_WAITING_GONE = 4096 };

/* A waiting thread: its stack, and the time when its wait began. */
typedef struct pt_waiting {
    struct pt_waiting *next; /* of the same bucket */
    uint32_t tid;
    uint64_t since_ns;   /* 0: the thread runs */
    uint64_t born_ns;    /* of a new thread without a record of a switch; else 0 */
    bool is_ready;       /* the thread waits for a cpu only, since it was preempted */
    bool is_gone;        /* the thread has ended; the record of its last switch is still to come */
    uint32_t pid, start; /* of the thread's process (pt_proc) */
    uint8_t end;
    bool has_words; /* as in pt_unwound */
    uint32_t kernel_count, count, room;
    uint64_t *pcs;
} pt_waiting;

/* A stack of waits that the kernel's walker has sent. */
typedef struct pt_wait_stack {
    uint64_t key;
    uint32_t pid, row;         /* row: of the sink */
    bool is_for_lock;          /* threads wait at this stack for the lock of their interpreter */
    char waker[PT_COMM_BYTES]; /* of a stack from which a thread was woken: the name of the waker's
                                * process */
} pt_wait_stack;

/* The kernel's sum of the waits at a stack, as it was last read. */
typedef struct pt_wait_sum {
    uint64_t key;
    uint32_t row; /* of the sink, with the waker; PT_NONE: not yet */
    pt_bpf_count before;
} pt_wait_sum;

enum { PT_WAIT_VALUES = 4 };

/* The difference between the kernel's sums of a process and the rows of its stacks, for each of:
 * off-CPU time, ready time, waits, preemptions. A difference may be negative. */
typedef struct pt_wait_owed {
    uint32_t pid;
    int64_t values[PT_WAIT_VALUES];
} pt_wait_owed;

typedef struct pt_kernel_waits {
    PT_VECTOR(pt_wait_stack) stack;
    pt_index of_key;
    PT_VECTOR(pt_wait_sum) sum;
    pt_index sum_of;
    PT_VECTOR(pt_wait_owed) owed; /* at the end */
    pt_index owed_of;             /* pid -> row of owed */
    uint64_t end_ns;              /* of the recording, monotonic */
} pt_kernel_waits;

/* Threads, by tid modulo. */
typedef struct pt_waiting_threads {
    pt_waiting *of_tid[PT_WAITING_BUCKETS];
    uint32_t gone[PT_WAITING_GONE]; /* the last threads that have ended, a ring; earlier ones are
                                     * forgotten */
    uint32_t gone_count;
} pt_waiting_threads;

/* A process whose end the recording waits for. */
typedef struct pt_watched {
    pid_t pid;
    int fd; /* a pidfd; -1: none, so /proc is read */
    bool has_ended;
} pt_watched;

struct pt_capture {
    pt_capture_options options;
    pt_pid_list pids;      /* has options.targets.pids, if started processes were added to the
                            * caller's */
    pt_bpf_engine *walker; /* walks stacks in the kernel; NULL if there is no walker, or not yet */
    pt_known *known;       /* the stacks that the walker has sent; NULL if walker is NULL */
    pt_loader *loader;     /* loads the walker; NULL if no walker is being loaded */
    pt_event_set set;
    pt_procs procs;
    pt_builder *builder;
    pt_sink *sink;
    pt_named *named;       /* functions of interpreters */
    pt_named_chain joined; /* of the current sample */
    pt_keep *keep;         /* NULL: the recording is not kept */
    int64_t weighed_ns;    /* time of the last reading of the memory that is held */
    uint64_t held_before;  /* private memory of the process before the first sample */
    int64_t kept_ns;       /* time of the last write to keep */
    pt_ledger *ledger;     /* NULL: samples keep their weights */
    pt_unwind_cache *cache;
    pt_unwound stack; /* of the current sample */
    pt_capture_facts facts;
    uint64_t settled_ns; /* the CPU time that samples and rows get at the end */
    uint64_t cut_window; /* samples since the copy size last grew */
    uint64_t cut_count;  /* of them: with too short a copy */
    pt_waiting_threads waiting;
    pt_kernel_waits kernel_waits;
    pt_between between;
    PT_VECTOR(pt_watched) target;
    int group_fd;           /* folder of the control group of the events; -1: none */
    int64_t start_ns;       /* monotonic */
    int64_t unix_offset_ns; /* Unix time - monotonic */
    int64_t grown_ns;       /* when the copy size last grew */
    /* When the kernel's walker began to adopt new processes. 0 if it does not adopt them, or has by
     * now begun to drop the samples of unknown processes. */
    uint64_t followed_ns;
    bool is_narrow;  /* the spool drops the records of processes that are not recorded */
    int64_t said_ns; /* time of the last progress report */
    int priority;    /* of this process before the recording, if has_priority */
    bool has_priority;
    uint64_t used_before_ns; /* CPU time of the targets before the recording */
    uint64_t own_before_ns;  /* CPU time of this process, all threads, before the recording */
    uint64_t events_before;  /* event count before the recording */
};

/* Processes the records in the rings up to a time (monotonic). */
void pt_feed_upto(pt_capture *capture, uint64_t limit_ns);
/* Processes new records that must not wait: records of new threads, and first samples. */
void pt_feed_urgent(pt_capture *capture);
/* Makes the records of a process urgent (pt_spool_heed), if the targets were given by pid. */
void pt_feed_heed(pt_capture *capture, pt_proc *proc);
/* Makes the kernel's walker adopt the recorded processes, and from now on also their children. */
void pt_feed_follow(pt_capture *capture);
/* Sends the modules of a process to the kernel's walker, if there is one, which then walks the
 * stacks of the process. */
void pt_feed_walker(pt_capture *capture, pt_proc *proc, const pt_unwind_modules *modules);
/* With events of switches: the record's thread is switched out; its stack is capture->stack. */
void pt_waits_begin(pt_capture *capture, pt_proc *proc, const pt_perf_record *record);
/* The record of a switch follows the switch's sample and shows whether the thread was preempted. */
void pt_waits_on_switch(pt_capture *capture, const pt_perf_record *record);
/* Forgets the wait of a thread that ended (is_gone) or begins, since tids are reused. Events per
 * cpu report a switch of a thread after its end, which is no wait. */
void pt_waits_reset(pt_capture *capture, uint32_t tid, bool is_gone);
/* A thread of proc begins. The waits of this thread before its events are open have a row of their
 * own. */
void pt_waits_born(pt_capture *capture, const pt_proc *proc, uint32_t tid, uint64_t now_ns);
/* With the kernel's walker. pt_waits_stack: capture->stack is a stack at which threads wait, or
 * from which a thread was woken. pt_waits_ended: a single wait has ended. pt_waits_read: reads the
 * walker's sums of waits. */
void pt_waits_stack(pt_capture *capture, pt_proc *proc, const pt_perf_record *record);
void pt_waits_ended(pt_capture *capture, const pt_bpf_wait_end *ended);
void pt_waits_read(pt_capture *capture);
/* At the end of the recording: counts the time that threads have waited up to now. */
void pt_waits_finish(pt_capture *capture, uint64_t now_ns);
void pt_waits_done(pt_capture *capture);
/* Makes a sample of each thread that waits when the recording begins. */
void pt_feed_resting(pt_capture *capture);
/* At the end of the recording: counts the time that threads have waited up to now, and releases
 * held samples. */
void pt_feed_end(pt_capture *capture, uint64_t now_ns);
