/* progress.h: how far long work is, for someone who waits.
 *
 *   work, on any thread: begin -> add ... -> end
 *                              `--> show: after quiet_ms, then at most ten times in quiet_ms,
 *                                         one call at a time
 *
 * Work is shown when something is added, and by a thread that looks ten times a second, since some
 * work adds nothing for seconds. All functions accept NULL: nobody waits.
 */
#pragma once

#include <stdint.h>

typedef enum {
    PT_PROGRESS_TIME, /* how far it is is unknown */
    PT_PROGRESS_BYTES,
    PT_PROGRESS_ADDRESSES,
} pt_progress_unit;

typedef struct pt_progress_state {
    const char *doing; /* "reading FILE"; may have control characters of the file's name */
    pt_progress_unit unit;
    uint64_t done, total; /* in that unit; total 0: unknown */
    uint64_t stacks;      /* copied stacks that were unwound meanwhile */
    int64_t elapsed_ms;   /* since the work began */
} pt_progress_state;

/* state: valid during the call; NULL: the work is over. */
typedef void pt_progress_show(void *context, const pt_progress_state *state);

typedef struct pt_progress pt_progress;

/* quiet_ms: the silence before the first show, from now on. */
pt_progress *pt_progress_new(int64_t quiet_ms, pt_progress_show *show, void *context);
void pt_progress_free(pt_progress *p);
/* Names what is done between the pieces of work that begin and end; NULL: nothing is shown there,
 * as at first. Ends the work. doing: borrowed. */
void pt_progress_between(pt_progress *p, const char *doing);

/* Begins work, and shows it if it is time. total: in the unit; 0: unknown. */
void pt_progress_begin(pt_progress *p, pt_progress_unit unit, uint64_t total, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
/* Says what is done now, within the same work. */
void pt_progress_rename(pt_progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds what was done, and shows it if it is time. */
void pt_progress_add(pt_progress *p, uint64_t amount);
/* Counts copied stacks that were unwound, likewise. */
void pt_progress_add_stacks(pt_progress *p, uint64_t count);
/* Ends the work: show gets NULL if it was shown. */
void pt_progress_end(pt_progress *p);
