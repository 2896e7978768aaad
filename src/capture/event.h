/* event.h: the events of a recording: opening them, what they are, what the kernel forbids.
 *
 *   ring of a cpu, samples   <--- sampling events: one a cpu, or one a thread and cpu
 *                            <--- context-switch events (off-cpu time), likewise
 *   ring of a cpu, the rest  <--- a dummy that reports fork, exit, exec, names, mappings
 *
 * Two rings a cpu, so that a new thread wakes us at once and a sample does not.
 */
#ifndef PT_CAPTURE_EVENT_H
#define PT_CAPTURE_EVENT_H

#include <sys/types.h>

#include "bpf/engine.h"
#include "capture/ring.h"

/* What makes samples. */
typedef struct pt_event_source {
    const char *name; /* "cpu-clock" */
    uint64_t config;
    uint32_t type;    /* PERF_TYPE_x */
    bool is_clock;    /* its period is nanoseconds of CPU time */
    bool is_hardware; /* counts differ from time: a rate is reached by the kernel's own search */
} pt_event_source;

/* By name; NULL: there is no such event. All of them: pt_event_sources, ended by name == NULL. */
extern const pt_event_source pt_event_sources[];
const pt_event_source *pt_event_source_named(const char *name);

/* How samples are taken; the same for all events of a recording. */
typedef struct pt_event_plan {
    const pt_event_source *source;
    uint64_t period; /* in the source's units; 0: hz decides, for hardware */
    uint64_t hz;
    bool user, kernel;    /* time in which is sampled */
    bool is_each_thread;  /* events of threads, not of cpus */
    bool has_user_stack;  /* registers and stack bytes of user space */
    bool has_group;       /* events of cpus count only while what runs is in a control group, */
    int group_fd;         /* whose folder this is, and which the kernel has events of */
    uint32_t stack_bytes; /* of the user's stack to copy; grows while it runs */
    pt_bpf_engine
        *walker; /* walks stacks in the kernel, where it can; NULL: none. Events of cpus */
} pt_event_plan;

/* The largest copy the kernel makes (the size must fit 16 bits), and the first; that where samples
 * are few and their rings large. */
enum {
    PT_STACK_BYTES_FIRST = 8 << 10,
    PT_STACK_BYTES_ROOMY = 32 << 10,
    PT_STACK_BYTES_MAX = 65528
};

/* How the records of such events are laid out. */
pt_perf_layout pt_event_layout(const pt_event_plan *plan);

/* All return a descriptor, or -1 with errno. tid -1: all of that cpu; cpu -1: wherever it runs. */
int pt_event_open_sampling(const pt_event_plan *plan, pid_t tid, int cpu, uint64_t period);
/* A sample at each switch away from a thread, and a record at each switch, away and back. */
int pt_event_open_switches(const pt_event_plan *plan, pid_t tid, int cpu);
/* No samples; reports what happens to processes, if is_reporting; else only owns a ring. Its ring
 * wakes us when so many bytes are in it; 0: when it is half full. */
int pt_event_open_dummy(const pt_event_plan *plan, pid_t tid, int cpu, bool is_reporting,
                        uint32_t wakeup_bytes);
/* By which the plan's walker puts stacks into a ring: samples with pt_perf_sample.walked. */
int pt_event_open_walked(const pt_event_plan *plan, int cpu);
/* Counts the CPU time of a thread and all it will start. Read with pt_event_read. */
int pt_event_open_clock(pid_t tid);
/* Counts the plan's event, of a thread and all it will start, or of a cpu; from the next exec on if
 * awaits_exec. */
int pt_event_open_count(const pt_event_plan *plan, pid_t tid, int cpu, bool awaits_exec);
uint64_t pt_event_read(int fd);
uint64_t pt_event_id(int fd);

#endif
