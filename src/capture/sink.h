/* sink.h: collects samples into a profile.
 *
 *   process, kernel pcs, user pcs ---> known stack? count it : make locations, intern the stack
 *
 * A stack is looked up by its bytes first; only a new stack costs more than its hash. When a
 * process is forgotten (pt_sink_forget), 24 bytes of each stack (with two events) and 20 of its
 * name stay in memory, until all rows are put away (pt_sink_put_away): then only the files of the
 * recording (keep.h) have them. Processes map one file at different addresses (address
 * randomisation). All these mappings are one mapping of the profile, at the first address.
 */
#pragma once

#include "capture/interp.h"
#include "capture/keep.h"
#include "capture/procs.h"
#include "model/builder.h"

enum {
    PT_SINK_DEPTH_MAX = 1024,
    PT_SINK_VALUES = PT_KEEP_EVENTS_MAX,
    PT_SINK_AWAY_BYTES = 1 << 20, /* rows of less memory are not put away */
};

/* Numbers in the place of a kernel pc, for time that no sample shows: time in the kernel where the
 * kernel may not be sampled, and a thread's time before its events were open. A stack with such a
 * number has no other frame, and the frame has a name only. */
enum { PT_SINK_KERNEL_NOT_SAMPLED = 1, PT_SINK_START_NOT_SAMPLED };

/* An unwound sample. */
typedef struct pt_sink_sample {
    pt_proc *proc;
    uint32_t tid, cpu;
    int64_t time_ns;     /* Unix time */
    const uint64_t *pcs; /* innermost first: kernel, then user */
    uint32_t kernel_count, count;
    uint8_t end; /* pt_stack_end */
    /* true: pcs may have words of an interpreter (interp.h); false: each of pcs is an address. */
    bool has_words;
    bool is_uncertain; /* pcs has words of an interpreter whose places among the pcs are
                        * uncertain */
    const char *wait;  /* the label `wait`; NULL: none */
    int64_t values[PT_SINK_VALUES]; /* one for each event */
} pt_sink_sample;

/* Values of a stack. */
typedef struct pt_sink_moment {
    uint32_t tid, cpu;
    int64_t time_ns;       /* Unix time */
    const int64_t *values; /* PT_SINK_VALUES */
} pt_sink_moment;

/* A row, with the state in which it was marked: the row counts the same stack as long as the
 * process has the same mappings and name. */
typedef struct pt_sink_mark {
    uint32_t row;
    uint32_t generation, who, round; /* private to the sink */
} pt_sink_mark;

typedef struct pt_sink pt_sink;

/* Makes a sink. The builder must be empty and stays the caller's; the caller defines the events
 * before the first sample. is_timeline: keeps each sample with its time, thread and cpu, in the
 * order of addition. kernel: the mapping of kernel addresses (pt_kernel_mapping). */
pt_sink *pt_sink_new(pt_builder *builder, const pt_procs *procs, const pt_mapping *kernel,
                     bool is_timeline);
/* Accepts NULL. */
void pt_sink_free(pt_sink *sink);

/* Called before the first sample with frames of an interpreter: `named` has their functions. */
void pt_sink_name_by(pt_sink *sink, const pt_named *named);
/* Call before the first sample: also writes all rows to the keep, which stays the caller's.
 * may_put_away: pt_sink_put_away may remove rows from memory; a row from before that may only be
 * given to pt_sink_more. */
void pt_sink_keep_in(pt_sink *sink, pt_keep *keep, bool may_put_away);
/* Writes rows to the keep that are new or changed since the last call. Returns false if this write
 * or an earlier one failed. */
bool pt_sink_write_kept(pt_sink *sink, const pt_keep_facts *facts);

/* True if rows may be put away, at least half of them are of forgotten processes, and all take
 * PT_SINK_AWAY_BYTES or more. */
bool pt_sink_should_put_away(const pt_sink *sink);
/* Writes all rows to the keep and removes them from memory. Returns false if the rows cannot be
 * written, so that they stay in memory. */
bool pt_sink_put_away(pt_sink *sink, const pt_keep_facts *facts);
/* True if rows were put away. Then all rows are in the keep, if the last write succeeded; the
 * caller reads them by pt_keep_restore, and does not call pt_sink_finish. */
bool pt_sink_has_put_away(const pt_sink *sink);
/* The periods of the samples added since the last successful write, which a failed write may have
 * lost. */
uint64_t pt_sink_unwritten(const pt_sink *sink);

/* Adds a sample; returns its row. */
uint32_t pt_sink_add(pt_sink *sink, const pt_sink_sample *sample);
/* The same in two steps: pt_sink_stack returns the row of the sample's stack, pt_sink_count adds
 * values to a row and returns the row (in a timeline that of the new sample). */
uint32_t pt_sink_stack(pt_sink *sink, const pt_sink_sample *sample);
uint32_t pt_sink_count(pt_sink *sink, uint32_t row, const pt_sink_moment *moment);
/* Marks the row of a sample that was just added. The sample is of proc, and its `wait` is NULL. */
pt_sink_mark pt_sink_mark_row(const pt_sink *sink, const pt_proc *proc, uint32_t row);
/* True if the row is still that of the stack, so that it need not be looked up. */
bool pt_sink_is_marked(const pt_sink *sink, const pt_proc *proc, const pt_sink_mark *mark);
/* Makes a new row of the same stack with a label `waker`, and returns it. */
uint32_t pt_sink_woken(pt_sink *sink, uint32_t row, const char *waker);
/* Adds to the second value of a row (CPU time, or the event's count). */
void pt_sink_more(pt_sink *sink, uint32_t row, int64_t more);

/* Frees the addresses of a process's stacks, with which its next samples would be compared. Call it
 * when the process has ended. */
void pt_sink_forget(pt_sink *sink, pt_proc *proc);

/* Moves all counts into the builder, and fills in build ids that were found since. */
void pt_sink_finish(pt_sink *sink);
