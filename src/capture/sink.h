/* sink.h: samples become a profile.
 *
 *   process, kernel pcs, user pcs ---> known stack? count it : make locations, intern the stack
 *
 * A stack is looked up by its bytes first; only a new one costs more than its hash. The same file
 * mapped at several addresses (every process, with address randomisation) is one mapping of the
 * profile, where it was first seen.
 */
#ifndef PT_CAPTURE_SINK_H
#define PT_CAPTURE_SINK_H

#include "capture/keep.h"
#include "capture/procs.h"
#include "model/builder.h"

enum { PT_SINK_DEPTH_MAX = 1024, PT_SINK_VALUES = 6 };

/* A sample, unwound. */
typedef struct pt_sink_sample {
    pt_proc *proc;
    uint32_t tid, cpu;
    int64_t time_ns;     /* Unix time */
    const uint64_t *pcs; /* innermost first: kernel, then user */
    uint32_t kernel_count, count;
    uint8_t end;                    /* pt_stack_end */
    int64_t values[PT_SINK_VALUES]; /* one an event */
} pt_sink_sample;

typedef struct pt_sink pt_sink;

/* The builder must be empty and stays the caller's; the events are defined by the caller before
 * the first sample. is_timeline: each sample is kept with its time, thread and cpu, in the order in
 * which they are added. kernel: the mapping that kernel addresses are in (pt_kernel_mapping). */
pt_sink *pt_sink_new(pt_builder *builder, const pt_procs *procs, const pt_mapping *kernel,
                     bool is_timeline);
void pt_sink_free(pt_sink *sink);

/* Before the first sample: all rows go to the keep, too, which stays the caller's. */
void pt_sink_keep_in(pt_sink *sink, pt_keep *keep);
/* Writes to the keep the rows that are new, or whose values have changed, since the last call. */
void pt_sink_write_kept(pt_sink *sink, const pt_keep_facts *facts);

/* The row that got it. */
uint32_t pt_sink_add(pt_sink *sink, const pt_sink_sample *sample);
/* Adds to the second value of a row. */
void pt_sink_more(pt_sink *sink, uint32_t row, int64_t more);

/* Of the process no samples follow that are like those it had: what they are compared by goes. */
void pt_sink_forget(pt_sink *sink, pt_proc *proc);

/* Puts what was counted into the builder. Build ids that were found since are filled in. */
void pt_sink_finish(pt_sink *sink);

#endif
