/* between.h: samples in the middle of execve, which has no user stack.
 *
 *   execve ---> the old program's memory goes ---> COMM ---> the new one's is mapped
 *               | its registers are still there    | its mappings are forgotten
 *
 * A sample there has registers of the old program and nothing of its stack. Only what comes next of
 * the thread tells it from one whose stack could not be read for another reason, so it is held
 * until then: the new program's name, and the stack was the kernel's, whole; anything else, and it
 * is what it seemed.
 */
#ifndef PT_CAPTURE_BETWEEN_H
#define PT_CAPTURE_BETWEEN_H

#include "capture/sink.h"

enum { PT_BETWEEN_MAX = 256 }; /* held at a time: a thread that becomes a program has few */

/* All zero is empty. */
typedef struct pt_between {
    struct {
        pt_sink_sample *items; /* their pcs are ours; in the order of time */
        size_t count, cap;
    } held;
} pt_between;

void pt_between_done(pt_between *between);

/* Might that sample be of such a moment: a frame of user space under the kernel's, in a system
 * call, without a byte of the stack? */
bool pt_between_might_be(const pt_sink_sample *sample, const pt_perf_sample *raw);

/* Keeps a copy of the sample; where too many are held, the oldest goes to the sink as it is. */
void pt_between_hold(pt_between *between, pt_sink *sink, const pt_sink_sample *sample);

/* What is held of a thread goes to the sink; whole if it has become another program. Returns how
 * much those samples weigh (their first value) that were not whole before. */
uint64_t pt_between_release(pt_between *between, pt_sink *sink, uint32_t tid, bool is_exec);
/* All that is held, since nothing follows. */
void pt_between_end(pt_between *between, pt_sink *sink);

#endif
