/* unwind_fp.c: one step to the next outer frame, along the chain of frame pointers.
 *
 *   fp -> | caller's fp | return address | caller's frame ...        higher addresses
 *
 * (System V ABI, AMD64 3.2.2; the AArch64 procedure call standard 6.4.6 has the same record.)
 *
 * A step is made only if the chain ascends, is aligned and stays on the thread's own stack. The
 * stack is complete when the chain reaches code from which threads start: the library's thread
 * function, whose frame is known exactly, or the few instructions of libc that call main or a start
 * routine. Code without frame pointers uses the register for other values. A stack whose chain ends
 * elsewhere is not complete. */
#include "agent/tick/tick.h"

#include "machine/context.h"

void pt_tick_regs_of(const void *context, pt_tick_regs *ret_regs)
{
    ret_regs->pc = pt_machine_context_pc(context);
    ret_regs->sp = pt_machine_context_sp(context);
    ret_regs->fp = pt_machine_context_fp(context);
}

/* The first page has no code. */
#define FIRST_CODE 4096
#define LAST_CODE  ((uintptr_t)PT_MACHINE_HOST->last_user_addr)

static bool lies_within(pt_tick_code code, uintptr_t addr)
{
    return addr - code.low < code.limit - code.low;
}

int pt_tick_step(pt_tick_regs *regs, const pt_tick_stack *stack)
{
    enum { WORD = sizeof(uintptr_t), RECORD = 2 * WORD };
    if (regs->sp < stack->low || regs->sp >= stack->limit) return PT_JOURNAL_END_BAD_READ;
    const uintptr_t fp = regs->fp;
    if (fp < regs->sp || fp > stack->limit - RECORD || fp % WORD != 0)
        return PT_JOURNAL_END_NO_RULE;
    const uintptr_t *const record = (const uintptr_t *)fp;
    const uintptr_t pc = (uintptr_t)pt_machine_plain_pc(PT_MACHINE_HOST, record[1]);
    if (pc < FIRST_CODE || pc > LAST_CODE) return PT_JOURNAL_END_NO_RULE;
    if (fp == stack->root_fp) return regs->pc = pc, PT_TICK_LAST_FRAME;
    regs->fp = record[0];
    regs->pc = pc;
    regs->sp = fp + RECORD;
    if (lies_within(pt_tick.own_start, regs->pc) && regs->fp == stack->root_fp) {
        /* The caller is the library's thread function: the caller of that function is shown in its
         * place. */
        regs->pc =
            (uintptr_t)pt_machine_plain_pc(PT_MACHINE_HOST, ((const uintptr_t *)stack->root_fp)[1]);
        return PT_TICK_LAST_FRAME;
    }
    return pt_tick_is_start(regs->pc) ? PT_TICK_LAST_FRAME : PT_TICK_FRAME;
}

bool pt_tick_is_start(uint64_t pc)
{
    return lies_within(pt_tick.main_start, (uintptr_t)pc) ||
           lies_within(pt_tick.thread_start, (uintptr_t)pc);
}
