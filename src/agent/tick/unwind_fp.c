/* unwind_fp.c: one step outwards along the chain of frame pointers.
 *
 *   fp -> | caller's fp | return address | caller's frame ...        higher addresses
 *
 * (System V ABI, AMD64 3.2.2; the AArch64 procedure call standard 6.4.6 keeps the same record.)
 *
 * A chain is believed only while it climbs, is aligned and stays on the thread's own stack. It is
 * complete when it reaches code from which threads start: our own thread function, whose frame is
 * known exactly, or the few instructions of libc that call main or a start routine. Code without
 * frame pointers uses the register for anything; a chain that ends elsewhere is not complete.
 */
#include "agent/tick/tick.h"

#include <ucontext.h>

void pt_tick_regs_of(const void *context, pt_tick_regs *ret_regs)
{
    const ucontext_t *const host = context;
#if defined(__x86_64__)
    ret_regs->pc = (uintptr_t)host->uc_mcontext.gregs[REG_RIP];
    ret_regs->sp = (uintptr_t)host->uc_mcontext.gregs[REG_RSP];
    ret_regs->fp = (uintptr_t)host->uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
    ret_regs->pc = (uintptr_t)host->uc_mcontext.pc;
    ret_regs->sp = (uintptr_t)host->uc_mcontext.sp;
    ret_regs->fp = (uintptr_t)host->uc_mcontext.regs[29];
#else
#error "no register names for this machine yet"
#endif
}

/* Where code can be: not in the first page, and, where addresses carry no tags, in user space. */
#define FIRST_CODE 4096
#if defined(__x86_64__)
#define LAST_CODE (((uintptr_t)1 << 56) - 1)
#else
#define LAST_CODE UINTPTR_MAX
#endif

static bool within(pt_tick_code code, uintptr_t addr)
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
    const uintptr_t pc = (uintptr_t)pt_unwind_plain_pc(record[1]);
    if (pc < FIRST_CODE || pc > LAST_CODE) return PT_JOURNAL_END_NO_RULE;
    if (fp == stack->root_fp) return regs->pc = pc, PT_TICK_LAST_FRAME;
    regs->fp = record[0];
    regs->pc = pc;
    regs->sp = fp + RECORD;
    if (within(pt_tick.own_start, regs->pc) && regs->fp == stack->root_fp) {
        /* The caller is our own thread function: show the one that called it instead. */
        regs->pc = (uintptr_t)pt_unwind_plain_pc(((const uintptr_t *)stack->root_fp)[1]);
        return PT_TICK_LAST_FRAME;
    }
    return pt_tick_is_start(regs->pc) ? PT_TICK_LAST_FRAME : PT_TICK_FRAME;
}

bool pt_tick_is_start(uint64_t pc)
{
    return within(pt_tick.main_start, (uintptr_t)pc) || within(pt_tick.thread_start, (uintptr_t)pc);
}
