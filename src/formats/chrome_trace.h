/* chrome_trace.h: shared by the readers of Chrome's trace events: functions (chrome_trace.c), and
 * marks and counters among them (chrome_marks.c). */
#pragma once

#include "formats/cpuprofile.h"
#include "formats/json_profile.h"
#include "formats/marks.h"
#include "formats/plain.h"

typedef struct {
    uint32_t pid, id; /* id: string */
    uint32_t tid;
    cpuprofile_reader profile;
} stream;

typedef struct {
    uint32_t pid, tid, name; /* name: string */
} track;

/* An event of the file. */
typedef struct {
    uint32_t name, category, id; /* strings */
    char phase;
    int64_t ts, length, pid, tid; /* nanoseconds; length -1 = none */
    size_t args, args_end;        /* where the event's "args" begin and end in the file; equal if it
                                   * has none */
    size_t at;                    /* the event's offset in the file */
} trace_event;

/* A function begins, or ends, on a track. */
typedef struct {
    int64_t ts, length; /* length: of an event with begin and end (X); else -1 until its end is
                         * found */
    uint32_t track, order, location; /* location: PT_NONE = the function ends */
} mark;

typedef struct {
    pt_json_r json;
    pt_builder *b;
    PT_VECTOR(stream) stream;
    PT_VECTOR(track) track;
    PT_VECTOR(trace_event) event; /* of functions, marks and counters */
    PT_VECTOR(mark) mark;
    pt_index tracks, streams;
    pt_plain_tree tree;
    PT_VECTOR(int64_t) until; /* ends of the open functions of a track */
    PT_VECTOR(size_t) open;   /* marks of a track that have no end yet */
    pt_json_scale scale;
    uint64_t unbalanced, endless, beginless;
} trace_reader;

/* Begins to read the event's args, after their opening brace. Returns false if there are none. The
 * caller calls pt_json_r_done on *ret in any case. */
bool pt_chrome_args(const trace_reader *t, const trace_event *e, pt_json_r *ret);
/* The thread of an event, made if it is new; valid until the next call. */
track *pt_chrome_track(trace_reader *t, const trace_event *e);
/* Has the event this name? */
bool pt_chrome_is(const trace_reader *t, const trace_event *e, const char *name);

/* Is the event a mark or a counter, in any file? */
bool pt_chrome_is_mark(const trace_reader *t, const trace_event *e);
/* The events (bits PT_MARKS_x of marks.h) that the file's marks and counters need. functions: the
 * functions of the file also become marks. */
unsigned pt_chrome_marks_needed(const trace_reader *t, bool functions);
/* Adds a sample for each mark and counter. */
void pt_chrome_put_marks(trace_reader *t, pt_marks *marks, bool functions);
