/* unwind_sample.c: unwinds samples. See unwind_sample.h. */
#include "capture/unwind_sample.h"

#include <errno.h>
#include <string.h>

#include "capture/event.h"
#include "model/profile.h"

/* A register by DWARF number; 0 if the sample has none. */
static uint64_t user_register(const pt_perf_sample *s, unsigned reg)
{
    if (s->abi != PERF_SAMPLE_REGS_ABI_64 || s->regs == NULL) return 0;
    return s->regs[pt_machine_perf_place(PT_MACHINE_HOST, reg)];
}

uint64_t pt_sample_user_pc(const pt_perf_sample *s)
{
    return user_register(s, PT_MACHINE_HOST->pc);
}

uint64_t pt_sample_user_sp(const pt_perf_sample *s)
{
    return user_register(s, PT_MACHINE_HOST->sp);
}

/* The kernel sets the result register of a system call to -ENOSYS at its entry, until the call has
 * a result. On a machine without such a register, any sample with user registers may be in a call.
 */
bool pt_sample_is_in_call(const pt_perf_sample *s)
{
    const unsigned reg = PT_MACHINE_HOST->pending_result;
    if (reg == PT_MACHINE_NO_REG) return s->regs != NULL;
    return (int64_t)user_register(s, reg) == -ENOSYS;
}

/* In the chain, values near 2^64 (PERF_CONTEXT_x) say whether kernel or user addresses follow. */
void pt_unwind_kernel(const pt_perf_sample *s, pt_unwound *to)
{
    bool is_kernel = false;
    to->count = to->kernel_count = 0;
    to->stuck_pc = 0;
    to->is_copy_short = to->is_unchecked = to->has_frames = to->has_words = to->is_uncertain =
        false;
    for (uint64_t i = 0; i < s->chain_count; i++) {
        const uint64_t pc = s->chain[i];
        if (pc >= PERF_CONTEXT_MAX)
            is_kernel = pc == (uint64_t)PERF_CONTEXT_KERNEL;
        else if (is_kernel && to->count < PT_SINK_DEPTH_MAX / 2)
            to->pcs[to->count++] = pc;
    }
    to->kernel_count = to->count;
}

void pt_unwound_set_root(pt_unwound *stack)
{
    stack->end = stack->is_unchecked ? PT_STACK_END_UNCHECKED : PT_STACK_END_ROOT;
    stack->is_copy_short = false;
}

static void add_user(const pt_perf_sample *s, const pt_unwind_modules *modules,
                     const pt_copied_runtime *runtime, pt_unwind_cache *cache, pt_unwound *to)
{
    uint64_t dwarf[PT_MACHINE_REGS_MAX] = {0};
    pt_machine_perf_regs(PT_MACHINE_HOST, PT_MACHINE_HOST->perf_mask, s->regs, dwarf);
    const pt_copied_stack stack = {.regs = dwarf,
                                   .bytes = s->stack,
                                   .byte_count = s->stack_bytes,
                                   .room = s->stack_room,
                                   .runtime = runtime};
    pt_copied_end end;
    to->count += pt_unwind_copied(&stack, modules, cache, &to->scratch, to->pcs + to->count,
                                  PT_SINK_DEPTH_MAX - to->count, &end);
    for (uint32_t i = to->kernel_count; runtime != NULL && i < to->count; i++)
        to->has_words |= (to->pcs[i] & PT_COPIED_WORD) != 0;
    to->end = (uint8_t)end.why;
    to->is_copy_short = end.is_short;
    to->is_unchecked = end.is_unchecked;
    to->stuck_pc = end.stuck_pc;
    if (end.why == PT_UNWIND_END_ROOT) pt_unwound_set_root(to);
}

void pt_unwind_sample(const pt_perf_sample *s, const pt_unwind_modules *modules,
                      const pt_copied_runtime *runtime, pt_unwind_cache *cache,
                      pt_unwound *ret_stack)
{
    pt_unwind_kernel(s, ret_stack);
    if (s->abi == PERF_SAMPLE_REGS_ABI_64 && s->regs != NULL) {
        add_user(s, modules, runtime, cache, ret_stack);
    } else if (s->abi == PERF_SAMPLE_REGS_ABI_NONE && ret_stack->count > 0) {
        ret_stack->end = PT_STACK_END_ROOT; /* a kernel thread has no frames further out */
    } else {                                /* 32 bit */
        if (ret_stack->count == 0) ret_stack->pcs[ret_stack->count++] = s->ip;
        ret_stack->end = PT_STACK_END_NO_RULE;
    }
}
