/* firefox_int.h: shared by the readers of Firefox's samples (firefox.c) and of its markers and
 * counters (firefox_marks.c): the tables of a file as columns of cells. */
#pragma once

#include "base/grow.h"
#include "formats/json_profile.h"
#include "formats/marks.h"

#define NULL_CELL INT64_MIN /* no number */

typedef enum {
    SAMPLE_STACK,
    SAMPLE_TIME,
    SAMPLE_DELTA,
    STACK_PREFIX,
    STACK_OFFSET,
    STACK_FRAME,
    FRAME_FUNC,
    FRAME_ADDRESS,
    FRAME_LINE,
    FRAME_COLUMN,
    FRAME_TEXT,
    FUNC_NAME,
    FUNC_FILE,
    FUNC_SOURCE,
    FUNC_LINE,
    FUNC_RESOURCE,
    RESOURCE_LIB,
    SOURCE_FILE,
    MARKER_NAME,
    MARKER_START,
    MARKER_END,
    MARKER_TIME, /* of the oldest form */
    MARKER_PHASE,
    MARKER_CATEGORY,
    MARKER_DATA, /* where the object is in the document, in bytes */
    COUNTER_TIME,
    COUNTER_DELTA,
    COUNTER_CHANGE,
    STRINGS, /* string ids of the builder */
    COLUMNS,
} column_id;

typedef struct {
    PT_VECTOR(int64_t) column[COLUMNS];
    PT_VECTOR(pt_json_num) weight;
    char *weight_type;
    uint32_t *location; /* location + 1 of each frame; 0 = none yet */
    uint32_t *stack;    /* stack + 1 of each stack; 0 = none yet */
} fx_tables;

typedef struct {
    fx_tables tables;
    uint32_t name; /* string */
    uint32_t pid, tid;
    int64_t start_ns;            /* start of the thread's process */
    size_t range_from, range_to; /* in the raw form: the range of the libraries of the thread's
                                  * process */
} fx_thread;

/* A counter of a process: its changes over time. */
typedef struct {
    fx_tables tables;
    uint32_t name, category; /* strings */
    uint32_t pid;
    int64_t start_ns; /* start of the counter's process */
} fx_counter;

/* The addresses of a library in its process. */
typedef struct {
    uint64_t start, end;
    uint32_t lib;
} lib_range;

typedef struct {
    pt_json_r json;
    pt_builder *builder;
    fx_tables shared;
    const uint8_t *document;
    PT_VECTOR(fx_counter *) counter;
    PT_VECTOR(uint32_t) category;  /* strings */
    PT_VECTOR(fx_thread *) thread; /* each allocated by itself: pointers to tables stay valid */
    PT_VECTOR(pt_mapping) lib;     /* libraries; added to the profile when a frame is in one */
    PT_VECTOR(lib_range) range;    /* of each process, ascending */
    PT_VECTOR(uint32_t) frame;
    pt_json_scale scale;
    int64_t start_ns;
    uint64_t dangling, rounded;
    uint64_t endless, beginless; /* markers without an end; markers without a beginning */
    bool has_threads;            /* the list of threads exists, possibly empty */
} fx_reader;

/* A cell of a column; NULL_CELL if the row is missing. */
int64_t pt_firefox_cell(fx_reader *x, fx_thread *thread, column_id id, int64_t row);
/* The builder's string for a cell that holds a string number of the file; 0 = none. */
uint32_t pt_firefox_text(fx_reader *x, fx_thread *thread, column_id id, int64_t row);
/* The builder's stack for a row of the stack table; for NULL_CELL, the stack without frames. */
uint32_t pt_firefox_stack(fx_reader *x, fx_thread *thread, int64_t stack);
/* The id in the latest token, which is a number or a text of digits; PT_NONE for another token. */
uint32_t pt_firefox_id(const pt_json_r *r);
/* Reads a table whose opening brace was read. table: the name of the table in the rows of columns
 * in firefox.c. */
void pt_firefox_read_table(fx_reader *x, fx_tables *t, const char *table);
void pt_firefox_tables_done(fx_tables *t);

/* Reads the list of counters whose opening bracket was read. */
void pt_firefox_read_counters(fx_reader *x);
/* The events (bits PT_MARKS_x of marks.h) that the markers and counters of the file need. */
unsigned pt_firefox_marks_needed(const fx_reader *x);
/* pt_firefox_put_markers adds a sample for each marker of a thread; pt_firefox_put_counters adds a
 * sample for each change of each counter. */
void pt_firefox_put_markers(fx_reader *x, pt_marks *marks, fx_thread *thread);
void pt_firefox_put_counters(fx_reader *x, pt_marks *marks);
