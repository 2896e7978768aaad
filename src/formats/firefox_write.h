/* firefox_write.h: shared by the writers of Firefox's samples (firefox_write.c) and of its markers
 * and counters (firefox_marks_write.c). */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "formats/firefox.h"
#include "formats/json_profile.h"
#include "model/marks.h"

typedef struct {
    uint32_t pid, tid, comm; /* PT_NONE, PT_NONE, 0: unknown */
} thread_key;

typedef struct {
    uint32_t sample, thread;
    int64_t time; /* since `start` */
} moment;

/* A row of the stack table. */
typedef struct {
    uint32_t prefix, frame; /* rows in the thread; PT_NONE = none */
} stack_row;

typedef struct {
    const pt_profile *p;
    pt_json_w json;
    pt_named_frames frames;
    uint32_t event;
    const firefox_weight *weight;
    double factor; /* nanoseconds in a unit of time */
    int64_t start; /* ns, whole milliseconds */
    bool timed;
    uint64_t timeless;
    PT_VECTOR(thread_key) thread;
    moment *moment; /* of samples of the event; sorted by thread and time */
    uint32_t count;
    pt_mark_columns columns;
    moment *mark; /* of marks; sorted like samples */
    uint32_t mark_count;
    PT_VECTOR(uint32_t) category; /* strings; numbered from 1, since 0 is "Other" */
    uint32_t *category_number;    /* string -> number; 0 = none */
    /* Tables of the current thread: */
    PT_VECTOR(uint32_t) frame;   /* global frame of each row */
    PT_VECTOR(uint32_t) func_of; /* function of each frame */
    PT_VECTOR(uint32_t) func;    /* first global frame of each function */
    pt_index func_index;
    uint32_t *frame_number; /* global frame -> row + 1 */
    PT_VECTOR(stack_row) stack;
    pt_index stack_index;
    uint32_t *stack_number; /* profile's stack -> row + 2; 0 = not written yet, 1 = empty */
    PT_VECTOR(uint32_t) used_stack;
    PT_VECTOR(uint32_t) resource; /* mapping of each row */
    uint32_t *resource_number;    /* mapping -> row + 1 */
    PT_VECTOR(uint32_t) name;     /* strings: names of marks */
    uint32_t *name_number;        /* string -> row of names + 1 */
} fx_writer;

/* Writes nanoseconds as milliseconds. */
void pt_firefox_put_ms(pt_json_w *json, int64_t ns);
/* The row for a stack without its innermost `skip` frames; PT_NONE = no frames are left. */
uint32_t pt_firefox_stack_row(fx_writer *w, uint32_t stack, uint32_t skip);
/* The time of a sample since the start of the file. */
int64_t pt_firefox_since(const fx_writer *w, uint32_t sample);

/* Numbers the categories of all marks. */
void pt_firefox_find_categories(fx_writer *w);
/* Writes the markers of a thread; call it after the thread's samples and before its other tables.
 */
void pt_firefox_write_markers(fx_writer *w, const moment *from, size_t count);
/* Writes the names of the thread's markers, at the end of its strings. */
void pt_firefox_write_marker_names(fx_writer *w);
void pt_firefox_write_counters(fx_writer *w);
