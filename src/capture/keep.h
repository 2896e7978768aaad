/* keep.h: what a recording holds, in files of a folder, so that a recorder that is killed loses its
 * last second at most.
 *
 *   recording.journal   grows: what is mapped, locations, stacks, samples of a timeline
 *   recording.values    the values of each stack (an int64 an event), at its place; of a timeline
 *                       they are in the journal
 *
 * A record of the journal is a kind and the bytes that follow, both 32 bits, little-endian; a
 * record that was not written to its end is none. Rows count from 0 in the order in which they were
 * added: mappings, locations, stacks and samples each their own. Values are written after the rows
 * that they belong to.
 */
#ifndef PT_CAPTURE_KEEP_H
#define PT_CAPTURE_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/builder.h"

#define PT_KEEP_JOURNAL "recording.journal"
#define PT_KEEP_VALUES  "recording.values"

enum { PT_KEEP_EVENTS_MAX = 8, PT_KEEP_COMM_BYTES = 16, PT_KEEP_DEPTH_MAX = 1024 };

/* What is known from the beginning. */
typedef struct pt_keep_head {
    bool is_timeline, is_clock, has_waits;
    uint64_t period, hz;
    int64_t start_ns;  /* Unix time */
    const char *typed; /* the command line */
} pt_keep_head;

/* And in the end; each replaces the one before. */
typedef struct pt_keep_facts {
    int64_t duration_ns;
    uint64_t used_ns, seen_ns, lost;
} pt_keep_facts;

/* ---- writing ---- */

typedef struct pt_keep pt_keep;

/* Makes the files, mode 0600, in an existing folder. They may take half of the room that is there
 * now. builder: has its events. PT_ERR_SYSTEM if they cannot be made. */
pt_status pt_keep_new(const char *folder, const pt_keep_head *head, pt_builder *builder,
                      pt_keep **ret_keep, pt_error *reterr);
void pt_keep_free(pt_keep *keep); /* accepts NULL; the files stay */

/* Rows, as the builder has them. */
void pt_keep_mapping(pt_keep *keep, const pt_mapping *mapping, const pt_builder *builder);
void pt_keep_build_id(pt_keep *keep, uint32_t mapping, const char *hex);
void pt_keep_location(pt_keep *keep, const pt_location *location);
/* frames: locations. pid and comm: of all its samples; of a timeline's they are the sample's. */
void pt_keep_stack(pt_keep *keep, const uint32_t *frames, uint32_t depth, uint8_t end, uint32_t pid,
                   const char *comm);
void pt_keep_user(pt_keep *keep, uint32_t pid, uint32_t user);
/* Of a timeline. stack: as pt_keep_stack has counted; sample->stack and ->comm are not looked at.
 */
void pt_keep_sample(pt_keep *keep, uint32_t stack, const pt_sample *sample, const char *comm);
void pt_keep_sample_more(pt_keep *keep, uint32_t sample, uint32_t event, int64_t more);
/* The stack's values have changed. */
void pt_keep_changed(pt_keep *keep, uint32_t stack);

/* Is there anything that was not written yet? */
bool pt_keep_is_behind(const pt_keep *keep);
/* Writes it. values gives those of a stack: one an event. A write that fails is the last one. */
void pt_keep_write(pt_keep *keep, const pt_keep_facts *facts,
                   const int64_t *(*values)(const void *arg, uint32_t stack), const void *arg);

/* ---- reading ---- */

/* Does this journal begin as one of a recording? */
bool pt_keep_is(const char *path);
/* Reads a recording that was cut off. path: of its journal. The caller unrefs the profile.
 * PT_ERR_FORMAT if the file is no such journal; records behind damage are left out. */
pt_status pt_keep_read(const char *path, const pt_profile **ret_profile, pt_error *reterr);

#endif
