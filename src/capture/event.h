/* event.h: the perf events of a recording, and how to open them.
 *
 *   ring of a cpu, samples   <--- sampling events: one per cpu, or one per thread and cpu
 *                            <--- context-switch events (off-cpu time), likewise
 *   side ring of a cpu       <--- a dummy event that reports fork, exit, exec, names, mappings
 *
 * Each cpu has two rings, so that a new thread wakes the recorder at once, while a sample does
 * not.
 */
#pragma once

#include <sys/types.h>

#include "bpf/engine.h"
#include "capture/ring.h"

/* An event that can make samples. */
typedef struct pt_event_source {
    const char *name; /* "cpu-clock" */
    uint64_t config;
    uint32_t type;    /* PERF_TYPE_x */
    bool is_clock;    /* its period is in nanoseconds of CPU time */
    bool is_hardware; /* its count is not proportional to time: the kernel adjusts the period to
                         reach a rate */
} pt_event_source;

/* The event of a name, or NULL. pt_event_sources ends with name == NULL. */
extern const pt_event_source pt_event_sources[];
const pt_event_source *pt_event_source_named(const char *name);

/* The parameters of all events of a recording. */
typedef struct pt_event_plan {
    const pt_event_source *source;
    uint64_t period; /* in the source's units; 0 if the kernel adjusts the period to hz (hardware
                      * events) */
    uint64_t hz;
    bool user, kernel;    /* sample time in user mode, in the kernel */
    bool is_each_thread;  /* events per thread instead of per cpu */
    bool has_user_stack;  /* samples have registers and stack bytes of user space */
    bool has_group;       /* events per cpu count only while a thread of a control group runs; */
    int group_fd;         /* the open folder of that group */
    uint32_t stack_bytes; /* bytes of the user stack to copy; grows during the recording */
    bool may_walk;    /* samples have room for the stacks that a walker sends, now or later; this
                       * needs events per cpu */
    bool walks_waits; /* the walker also sees switches of threads */
    pt_bpf_engine *walker; /* walks stacks in the kernel; NULL if there is no walker, or not yet */
} pt_event_plan;

/* The shortest first period of a new thread's event, about 5 times the shortest period of the
 * kernel's timers: the event repeats this period until the recorder has noticed the first sample.
 */
enum { PT_FIRST_PERIOD_MIN_NS = 50000 };

/* Sizes of the stack copy: at the start, at the start with few samples and large rings, the largest
 * (the size must fit 16 bits). */
enum {
    PT_STACK_BYTES_FIRST = 8 << 10,
    PT_STACK_BYTES_ROOMY = 32 << 10,
    PT_STACK_BYTES_MAX = 65528
};

/* The layout of the records of these events. */
pt_perf_layout pt_event_layout(const pt_event_plan *plan);

/* Each pt_event_open_* returns a descriptor, or -1 with errno. tid -1: all threads of the cpu; cpu
 * -1: the thread on every cpu. */
/* Opens the event that makes samples. leader_fd: a sampling event of the same cpu; when the leader
 * starts or stops, so does this event. -1 if the event has no leader. */
int pt_event_open_sampling(const pt_event_plan *plan, pid_t tid, int cpu, uint64_t period,
                           int leader_fd);
/* Opens such an event for tid, for the threads and processes that tid starts from now on, and for
 * those that these start. Before Linux 6.13 the kernel cannot read an inherited event:
 * *ret_has_clock is false, and pt_perf_sample.count is the period instead of the thread's clock. */
int pt_event_open_inherited(const pt_event_plan *plan, pid_t tid, int cpu, uint64_t period,
                            bool *ret_has_clock);
/* An event with a sample at each switch away from a thread, and a record at each switch away and
 * back. */
int pt_event_open_switches(const pt_event_plan *plan, pid_t tid, int cpu);
/* Opens an event without samples that owns a ring. is_reporting: the event also reports fork, exec,
 * exit and mappings. The ring wakes the reader after wakeup_bytes; if that is 0, when the ring is
 * half full. */
int pt_event_open_dummy(const pt_event_plan *plan, pid_t tid, int cpu, bool is_reporting,
                        uint32_t wakeup_bytes);
/* The event through which the plan's walker writes an output into a ring. */
int pt_event_open_output(const pt_event_plan *plan, pt_bpf_output output, int cpu);
/* Attaches the plan's walker to an event: at each sample the walker runs first, and may drop the
 * sample. Returns false with errno if the kernel refuses. */
bool pt_event_walk(const pt_event_plan *plan, int fd);
/* Opens an event that counts the CPU time of a thread and of all threads that it starts. Read it
 * with pt_event_read. */
int pt_event_open_clock(pid_t tid);
/* Opens an event that counts the plan's event for a thread and all threads that it starts, or for a
 * cpu. awaits_exec: counting starts at the next exec. */
int pt_event_open_count(const pt_event_plan *plan, pid_t tid, int cpu, bool awaits_exec);
/* The count of an event, and its id in samples; 0 on failure. */
uint64_t pt_event_read(int fd);
uint64_t pt_event_id(int fd);
/* Closes an event, and sets *fd to -1; an event that is not open (-1) stays so. */
void pt_event_close(int *fd);
