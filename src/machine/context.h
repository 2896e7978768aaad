/* context.h: reads the registers of the host's machine from a signal handler's context. */
#pragma once

#include <ucontext.h>

#include "machine/machine.h"

#if defined(__x86_64__)

/* Program counter, stack pointer and frame pointer of the interrupted thread. */
static inline uintptr_t pt_machine_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline uintptr_t pt_machine_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline uintptr_t pt_machine_context_fp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
}

/* Writes all registers by DWARF number (machine.h). ret_regs has PT_MACHINE_REGS_MAX words;
 * unused ones become zero. */
static inline void pt_machine_context_regs(const ucontext_t *context, uint64_t *ret_regs)
{
    static const uint8_t order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                    REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    enum { COUNT = sizeof order / sizeof *order };
    for (unsigned i = 0; i < PT_MACHINE_REGS_MAX; i++)
        ret_regs[i] = i < COUNT ? (uint64_t)context->uc_mcontext.gregs[order[i]] : 0;
}

/* True if the thread was in a system call, or about to restart one. The SYSCALL instruction
 * leaves the address of the next instruction in rcx (AMD64 manual, SYSCALL). */
static inline bool pt_machine_context_is_in_call(const ucontext_t *context)
{
    const uint64_t behind = (uint64_t)context->uc_mcontext.gregs[REG_RCX];
    const uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    return behind == pc || behind == pc + 2;
}

#elif defined(__aarch64__)

static inline uintptr_t pt_machine_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.pc;
}

static inline uintptr_t pt_machine_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.sp;
}

static inline uintptr_t pt_machine_context_fp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.regs[29];
}

static inline void pt_machine_context_regs(const ucontext_t *context, uint64_t *ret_regs)
{
    for (unsigned i = 0; i < 31; i++)
        ret_regs[i] = context->uc_mcontext.regs[i];
    ret_regs[31] = context->uc_mcontext.sp;
    ret_regs[32] = 0;
}

/* Always false: no register of aarch64 shows whether the thread was in a system call. */
static inline bool pt_machine_context_is_in_call(const ucontext_t *context)
{
    (void)context;
    return false;
}

#endif
