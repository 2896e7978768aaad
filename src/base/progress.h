/* progress.h: tells a user who is waiting how much of a long piece of work is done.
 *
 *   a piece of work, on any thread: begin -> add ... -> end
 *                                         `--> show: first quiet_ms after pt_progress_new, then at
 *                                                    most each quiet_ms / 10; one call at a time
 *
 * The work is shown when something is added, and by a thread of this file that wakes regularly,
 * since some work adds nothing for seconds. All functions accept NULL: then nothing is shown.
 */
#pragma once

#include <stdint.h>

typedef enum {
    PT_PROGRESS_TIME, /* only the elapsed time is known */
    PT_PROGRESS_BYTES,
    PT_PROGRESS_ADDRESSES,
} pt_progress_unit;

typedef struct pt_progress_state {
    const char *doing; /* "reading FILE"; may have control characters of the file's name */
    pt_progress_unit unit;
    uint64_t done, total; /* in the unit; a total of 0 is unknown */
    uint64_t stacks;      /* copied stacks that were unwound meanwhile */
    int64_t elapsed_ms;   /* since the work began */
} pt_progress_state;

/* Shows the state, which is valid during the call. state is NULL when the work that was shown is
 * over. */
typedef void pt_progress_show(void *context, const pt_progress_state *state);

typedef struct pt_progress pt_progress;

/* quiet_ms: the silence before the first show, from now on. */
pt_progress *pt_progress_new(int64_t quiet_ms, pt_progress_show *show, void *context);
void pt_progress_free(pt_progress *p);
/* Ends the current work. From now on the text (borrowed) is shown between two pieces of work. If it
 * is NULL, nothing is shown then, as before the first call. */
void pt_progress_set_idle_text(pt_progress *p, const char *text);

/* Begins work, and shows it if the next show is due. total: the amount of work in the unit; 0 if it
 * is not known. The format describes the work: "reading FILE". */
void pt_progress_begin(pt_progress *p, pt_progress_unit unit, uint64_t total, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
/* Changes the description of the current work. */
void pt_progress_rename(pt_progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds an amount that was done, in the unit, and shows the work if the next show is due. */
void pt_progress_add(pt_progress *p, uint64_t amount);
/* Adds a number of copied stacks that were unwound, and shows the work if the next show is due. */
void pt_progress_add_stacks(pt_progress *p, uint64_t count);
/* Ends the work. If it was shown, show is called with NULL. */
void pt_progress_end(pt_progress *p);
