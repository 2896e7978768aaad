/* unwind_sample.h: the kernel's copy of registers and stack -> addresses. */
#ifndef PT_CAPTURE_UNWIND_SAMPLE_H
#define PT_CAPTURE_UNWIND_SAMPLE_H

#include "capture/procs.h"
#include "capture/sink.h"
#include "unwind/copied.h"

typedef struct pt_unwound {
    uint64_t pcs[PT_SINK_DEPTH_MAX]; /* innermost first: kernel, then user */
    uint32_t kernel_count, count;
    uint8_t end;        /* pt_stack_end */
    bool is_copy_short; /* the stack went on beyond the copy */
    bool is_unchecked;  /* frame pointers that no rule vouches for were followed */
    pt_copied_scratch scratch;
} pt_unwound;

/* The stack of a sample of that process, whose modules these are. */
void pt_unwind_sample(const pt_perf_sample *sample, const pt_unwind_modules *modules,
                      pt_unwind_cache *cache, pt_unwound *ret_stack);

/* Of it the kernel's part alone, and no end. */
void pt_unwind_kernel(const pt_perf_sample *sample, pt_unwound *ret_stack);

/* It did reach where its thread began: whole, or unchecked. */
void pt_unwound_set_root(pt_unwound *stack);

/* Where the sample was in user space; 0 if it has no user registers. */
uint64_t pt_sample_user_pc(const pt_perf_sample *sample);
/* Its stack pointer, likewise. */
uint64_t pt_sample_user_sp(const pt_perf_sample *sample);
/* Was the thread in a system call, not at a fault or an interrupt? True on machines where that
 * cannot be told. */
bool pt_sample_is_in_call(const pt_perf_sample *sample);

#endif
