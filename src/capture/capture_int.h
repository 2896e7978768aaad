/* capture_int.h: a recording, for use inside the layer.
 *
 *   capture.c   opens, waits, ends
 *   feed.c      records, in the order of time -> processes, samples
 */
#ifndef PT_CAPTURE_CAPTURE_INT_H
#define PT_CAPTURE_CAPTURE_INT_H

#include "capture/between.h"
#include "capture/capture.h"
#include "capture/ledger.h"
#include "capture/procs.h"
#include "capture/set.h"
#include "capture/sink.h"
#include "capture/unwind_sample.h"

/* A thread that waits: where, since when. */
typedef struct pt_waiting {
    uint32_t tid;
    uint64_t since_ns; /* 0: it runs */
    bool is_ready;     /* for a cpu only: another thread was given its own */
    bool is_gone;      /* its last switch is still to come */
    pt_proc *proc;
    uint8_t end;
    uint32_t kernel_count, count, room;
    uint64_t *pcs;
} pt_waiting;

/* A process whose end is waited for. */
typedef struct pt_watched {
    pid_t pid;
    int fd; /* a pidfd; -1: none, /proc is asked */
    bool has_ended;
} pt_watched;

struct pt_capture {
    pt_capture_options options;
    pt_bpf_engine *walker; /* of the set's plan; NULL: none */
    pt_event_set set;
    pt_procs procs;
    pt_builder *builder;
    pt_sink *sink;
    pt_keep *keep;     /* NULL: nothing is kept */
    int64_t kept_ns;   /* when it was written last */
    pt_ledger *ledger; /* NULL: samples weigh what they weigh */
    pt_unwind_cache *cache;
    pt_unwound stack; /* of the sample at hand */
    pt_capture_facts facts;
    uint64_t cut_window; /* samples since the copy grew */
    uint64_t cut_count;  /* of them: it was too short */
    struct {
        pt_waiting *items;
        size_t count, cap;
    } waiting;
    pt_index waiting_of; /* tid -> row */
    pt_between between;
    struct {
        pt_watched *items;
        size_t count, cap;
    } target;
    int group_fd;           /* the control group whose events these are; -1: none */
    int64_t start_ns;       /* monotonic */
    int64_t unix_offset_ns; /* Unix time - monotonic */
    int64_t grown_ns;       /* when copies of stacks last did */
    int64_t said_ns;        /* when progress was last told */
    int priority;           /* before it began, if has_priority */
    bool has_priority;
    uint64_t used_before_ns; /* CPU time that had been used when it began */
    uint64_t own_before_ns;  /* the same of this process, all threads */
    uint64_t events_before;  /* that had been counted */
};

/* Takes what is in the rings, up to that time (monotonic). */
void pt_feed_upto(pt_capture *capture, uint64_t limit_ns);
/* Looks at what has come since and must not wait: new threads, first samples. */
void pt_feed_urgent(pt_capture *capture);
/* Nothing follows: what threads that still wait have waited up to now is counted, and what was held
 * back. */
void pt_feed_end(pt_capture *capture, uint64_t now_ns);

#endif
