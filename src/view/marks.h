/* marks.h: marks and counters (model/marks.h) over time, in the steps of a timeline: events with a
 * time, which the samples do not show. Samples of tracepoints and probes
 * ("syscalls:sys_enter_fsync") are also marks, if another event is shown.
 *
 *   row      "GCMajor" of thread 7    [ 0 1 1 0 ]      the number of marks in each step
 *   mark     "GCMajor" at 1.5 s, for 20 ms             the longest, in the order of time
 *   counter  "malloc" of process 7    [ 4 9 9 2 ]      the sum of all changes up to each step's end
 */
#pragma once

#include "view/timeline.h"

typedef struct pt_mark {
    const char *name, *category; /* "" = none; texts of all structs are borrowed */
    const char *address;         /* of a resource that was loaded over the network; "" for all other
                                  * marks */
    uint32_t pid, tid;           /* PT_NONE = unknown */
    const char *comm;
    uint64_t since_ns, length_ns; /* since_ns: from the first time of the timeline; length_ns: 0 for
                                   * a moment */
    uint32_t sample;
} pt_mark;

/* All marks of a name and a thread. */
typedef struct pt_mark_row {
    const char *name, *category;
    uint32_t pid, tid;
    const char *comm;
    uint64_t count;
    uint64_t length_ns; /* of all together */
    int64_t *value;     /* [steps] */
} pt_mark_row;

typedef struct pt_counter {
    const char *name, *unit; /* unit: "bytes", "count" */
    uint32_t pid;
    const char *comm;
    int64_t least, most, last; /* of the sum */
    int64_t *value;            /* [steps] */
} pt_counter;

typedef struct pt_marks_request {
    uint32_t event;  /* the event that is shown, whose samples are never marks */
    uint32_t rows;   /* the most rows, and the most counters: first those with the most time, then
                      * those with the most marks */
    uint32_t listed; /* the number of single marks, the longest */
} pt_marks_request;

typedef struct pt_marks_view {
    pt_mark *mark;
    size_t mark_count;
    pt_mark_row *row;
    size_t row_count;
    pt_counter *counter;
    size_t counter_count;
    uint64_t more_marks, more_rows, more_counters; /* beyond the limits */
} pt_marks_view;

/* Has the profile marks or counters apart from the samples of the event? */
bool pt_marks_any(const pt_profile *profile, uint32_t event);
/* Collects the marks and counters. timeline: provides the steps and the first time. The caller
 * calls pt_marks_view_done. */
pt_marks_view pt_marks_view_of(const pt_profile *profile, const pt_timeline *timeline,
                               const pt_marks_request *request);
void pt_marks_view_done(pt_marks_view *view);
