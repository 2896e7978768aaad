/* timeline.h: an event over time: by process, by thread and by cpu, in equal steps; and a heat map
 * with a row for each second, in which work that repeats every second is seen as a column.
 *
 *   track "all"            [ 9 8 0 9 ]    sums of the event in each step
 *   track "process 7"      [ 9 8 0 9 ]
 *   track "thread 8 of 7"  [ 4 0 0 9 ]
 *   heat                   second 0: [ 0 3 1 ... ]  PT_TIMELINE_OFFSETS parts of the second
 *
 * Times are counted from the first sample of the whole profile. Samples without a time are in no
 * track. */
#pragma once

#include "base/saturate.h"
#include "model/profile.h"

#define PT_TIMELINE_OFFSETS 50      /* a part of a second is 20 ms */
#define PT_TIMELINE_SECONDS 3600    /* a longer profile has no heat map */
#define PT_TIMELINE_VALUES  4000000 /* of all tracks together; more steps leave fewer tracks */

typedef enum { PT_TRACK_ALL, PT_TRACK_PROCESS, PT_TRACK_THREAD, PT_TRACK_CPU } pt_track_kind;

typedef struct pt_timeline_request {
    uint32_t event;
    uint32_t steps;          /* at least 1 */
    uint32_t tracks;         /* the most tracks of each kind, the heaviest first; the other tracks
                              * are only counted */
    const pt_profile *whole; /* the profile of which `profile` is a part; the timeline goes from its
                              * first to its last time */
} pt_timeline_request;

typedef struct pt_track {
    pt_track_kind kind;
    uint32_t pid, tid, cpu; /* PT_NONE if the track is not of this kind, or if the number is
                             * unknown */
    const char *comm;       /* of the process or thread; "" = unknown; borrowed */
    int64_t total;
    int64_t *value; /* [steps] */
} pt_track;

typedef struct pt_timeline {
    bool has_times;
    int64_t first_ns, last_ns; /* times of the clock of the source of the samples */
    uint64_t step_ns;
    uint32_t steps;  /* 0 without times */
    pt_track *track; /* all, then processes, threads, cpus */
    size_t count;
    uint64_t more;    /* tracks beyond the limit */
    bool is_full;     /* the number of tracks was limited by PT_TIMELINE_VALUES, not by the
                       * request */
    uint64_t untimed; /* samples without a time */
    uint32_t seconds; /* of the heat map; 0 = none */
    int64_t *heat;    /* [seconds * PT_TIMELINE_OFFSETS] */
} pt_timeline;

/* From the first time to the last, in nanoseconds. */
static inline uint64_t pt_timeline_span(const pt_timeline *timeline)
{
    return pt_distance(timeline->first_ns, timeline->last_ns);
}

/* Makes the tracks and the heat map. Borrows texts of the profile; the caller calls
 * pt_timeline_done. */
pt_timeline pt_timeline_of(const pt_profile *profile, const pt_timeline_request *request);
void pt_timeline_done(pt_timeline *timeline);
