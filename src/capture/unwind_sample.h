/* unwind_sample.h: unwinds a sample from the kernel's copy of registers and stack. */
#pragma once

#include "capture/procs.h"
#include "capture/sink.h"
#include "unwind/copied.h"

/* An unwound stack, and working memory. */
typedef struct pt_unwound {
    uint64_t pcs[PT_SINK_DEPTH_MAX]; /* innermost first: kernel, then user */
    uint32_t kernel_count, count;
    uint8_t end;                   /* pt_stack_end */
    bool is_copy_short;            /* the stack continues beyond the copy */
    bool has_frames, is_uncertain; /* the stack has frames of an interpreter; their places are
                                    * uncertain */
    bool has_words;                /* pcs has words of frames without addresses (interp.h) */
    uint8_t language;              /* of these frames: PT_JOURNAL_LANGUAGE_X */
    bool is_unchecked;             /* the walk used frame pointers that no rule confirms */
    uint64_t stuck_pc;             /* as in pt_copied_end */
    pt_copied_scratch scratch;
} pt_unwound;

/* Unwinds a sample. modules: of the sample's process. runtime: its Java (pt_java_runtime), or NULL.
 */
void pt_unwind_sample(const pt_perf_sample *sample, const pt_unwind_modules *modules,
                      const pt_copied_runtime *runtime, pt_unwind_cache *cache,
                      pt_unwound *ret_stack);

/* Sets the kernel's part only, without an end. */
void pt_unwind_kernel(const pt_perf_sample *sample, pt_unwound *ret_stack);

/* Sets the end of a stack that reached the start of its thread: complete, or by unchecked steps. */
void pt_unwound_set_root(pt_unwound *stack);

/* The user-space pc of a sample; 0 if it has no user registers. */
uint64_t pt_sample_user_pc(const pt_perf_sample *sample);
/* The user-space stack pointer of a sample; 0 if it has no user registers. */
uint64_t pt_sample_user_sp(const pt_perf_sample *sample);
/* True if the thread was in a system call rather than in a fault or an interrupt. Always true on
 * machines that do not show it. */
bool pt_sample_is_in_call(const pt_perf_sample *sample);
