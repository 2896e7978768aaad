/* between.h: samples in the middle of execve, which have no user stack.
 *
 *   execve ---> the old program's memory is freed ---> COMM ---> the new program is mapped
 *               | a sample still has its registers      | the old mappings are dropped
 *
 * A sample in that gap has registers of the old program but no stack. Only the thread's next record
 * distinguishes such a sample from one whose stack was unreadable for another reason. So the sample
 * is held until that record comes. If the next record is COMM with the new program's name, the
 * kernel's part was the whole stack, and the sample is complete. Any other record leaves the sample
 * as it is.
 */
#pragma once

#include "base/grow.h"
#include "capture/sink.h"

enum { PT_BETWEEN_MAX = 256 }; /* samples held at once; a thread in execve has few */

/* All zero is empty. */
typedef struct pt_between {
    PT_VECTOR(pt_sink_sample) held; /* with pcs of their own, ordered by time */
} pt_between;

/* Frees the held samples. */
void pt_between_done(pt_between *between);

/* Might the sample lie in that gap? Such a sample has one user frame under the kernel's frames, is
 * in a system call, and has no byte of the user stack. */
bool pt_between_might_be(const pt_sink_sample *sample, const pt_perf_sample *raw);

/* Holds a copy of the sample. If the list is full, the oldest goes to the sink unchanged. */
void pt_between_hold(pt_between *between, pt_sink *sink, const pt_sink_sample *sample);

/* Sends the held samples of a thread to the sink; as complete samples if the thread now runs
 * another program (is_exec). Returns the weight (first value) of samples that became complete. */
uint64_t pt_between_release(pt_between *between, pt_sink *sink, uint32_t tid, bool is_exec);
/* Sends the held samples of a process to the sink, before the process is freed. */
void pt_between_forget(pt_between *between, pt_sink *sink, const pt_proc *proc);
/* Sends all held samples to the sink, at the end of the recording. */
void pt_between_end(pt_between *between, pt_sink *sink);
