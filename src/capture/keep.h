/* keep.h: writes a recording to files while it runs, so that a killed recorder loses its last
 * second at most.
 *
 *   recording.journal   grows: mappings, locations, stacks, rows, samples of a timeline
 *   recording.values    the values of each row (an int64 an event), in place; a timeline has its
 *                       values in the journal
 *
 * A row is a stack of a process, as sink.h counts it.
 *
 * A record of the journal is its kind and the number of bytes that follow, both 32 bits,
 * little-endian, and these bytes. An incomplete record at the end does not count. Mappings,
 * locations, stacks, rows and samples are each numbered from 0 in the order of addition. Values are
 * written after the rows they belong to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/builder.h"

#define PT_KEEP_JOURNAL "recording.journal"
#define PT_KEEP_VALUES  "recording.values"

/* The event of waits for CPython's lock, which a profile without such waits does not have. */
#define PT_WAITS_GIL "gil"

enum { PT_KEEP_EVENTS_MAX = 8, PT_KEEP_COMM_BYTES = 16, PT_KEEP_DEPTH_MAX = 1024 };

/* Facts that are known at the start. */
typedef struct pt_keep_head {
    bool is_timeline, is_clock, has_waits;
    uint64_t period, hz;
    int64_t start_ns;  /* Unix time */
    const char *typed; /* the command line */
} pt_keep_head;

/* Facts that change; each record replaces the one before. */
typedef struct pt_keep_facts {
    int64_t duration_ns;
    uint64_t used_ns, seen_ns, lost;
} pt_keep_facts;

/* The owner of a row's samples. */
typedef struct pt_keep_who {
    uint32_t stack; /* its number among pt_keep_stack calls */
    uint32_t pid;   /* this and comm are unused in a timeline: each sample has its own */
    const char *comm;
    const char *wait, *waker; /* labels; "": none */
    bool is_uncertain;        /* label `merge` */
    uint8_t tier;             /* label `tier`: pt_v8_tier */
} pt_keep_who;

/* ---- writing ---- */

typedef struct pt_keep pt_keep;

/* Makes the files, mode 0600, in an existing folder. They may grow to half of the disk space that
 * is free now. builder: provides the events. PT_ERR_SYSTEM: the files cannot be made. The caller
 * frees *ret_keep. */
pt_status pt_keep_new(const char *folder, const pt_keep_head *head, pt_builder *builder,
                      pt_keep **ret_keep, pt_error *reterr);
void pt_keep_free(pt_keep *keep); /* accepts NULL; the files stay */

/* Each function below adds one row, as the builder has it. */
void pt_keep_mapping(pt_keep *keep, const pt_mapping *mapping, const pt_builder *builder);
void pt_keep_build_id(pt_keep *keep, uint32_t mapping, const char *hex);
void pt_keep_location(pt_keep *keep, const pt_location *location);
/* A location with a line of a function, as frames of interpreters have. */
void pt_keep_code(pt_keep *keep, const pt_location *location, const pt_line *line,
                  const pt_function *function, const pt_builder *builder);
/* frames: numbers of locations. */
void pt_keep_stack(pt_keep *keep, const uint32_t *frames, uint32_t depth, uint8_t end);
void pt_keep_row(pt_keep *keep, const pt_keep_who *who);
/* The user id of a process. */
void pt_keep_user(pt_keep *keep, uint32_t pid, uint32_t user);
/* Adds a sample of a timeline. row: of its stack; sample->stack and sample->comm are ignored. */
void pt_keep_sample(pt_keep *keep, uint32_t row, const pt_sample *sample, const char *comm);
/* Adds `more` to a value of a timeline's sample, or of a row from before the last
 * pt_keep_begin_anew. */
void pt_keep_more(pt_keep *keep, uint32_t row, uint32_t event, int64_t more);
/* Marks the values of a row as changed. */
void pt_keep_changed(pt_keep *keep, uint32_t row);

/* True if rows or values are not written yet. */
bool pt_keep_is_behind(const pt_keep *keep);
/* Writes the new rows and changed values. values: returns the values of a row, one for each event.
 * Returns false after a failed write; no later call writes anything. */
bool pt_keep_write(pt_keep *keep, const pt_keep_facts *facts,
                   const int64_t *(*values)(const void *arg, uint32_t row), const void *arg);
/* Called after a write, when the builder has forgotten its locations (pt_builder_forget_code):
 * numbers of locations and stacks begin at 0 again, those of rows go on. The values of the rows so
 * far are not read again. */
void pt_keep_begin_anew(pt_keep *keep);
/* Has the file system room for this many more bytes? */
bool pt_keep_has_room(const pt_keep *keep, uint64_t bytes);

/* ---- reading ---- */

/* True if the file begins like the journal of a recording. */
bool pt_keep_is(const char *path);
/* Reads the recording of a recorder that was killed. path: the file PT_KEEP_JOURNAL in its folder.
 * The caller unrefs the profile. Fails with PT_ERR_FORMAT if the file is no such journal. Records
 * after a damaged one are dropped. */
pt_status pt_keep_read(const char *path, const pt_profile **ret_profile, pt_error *reterr);
/* Reads the files that this recorder has written so far into a builder, which the caller frees. The
 * builder has no provenance, and no comments on the recording. */
pt_status pt_keep_restore(const char *folder, pt_builder **ret_builder, pt_error *reterr);
