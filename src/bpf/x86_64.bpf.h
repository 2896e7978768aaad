/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* x86_64.bpf.h: the program's facts about x86-64 beside machine/x86_64.h: the registers as the
 * kernel stores them, and system calls. Part of kernel.bpf.h. */
#pragma once

struct thread_struct {
    unsigned long fsbase;
} OF_KERNEL;

/* The field of task_struct with the thread pointer. */
#define THREAD_POINTER thread.fsbase

/* The registers at the end of a kernel stack, and in the program's context (uapi/asm/ptrace.h). */
struct user_regs {
    uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
        flags, sp, ss;
};

typedef struct user_regs context_regs;

/* The bytes from the registers to the end of the kernel's stack. */
#define USER_REGS_BYTES sizeof(struct user_regs)

enum { USER_CODE_SEGMENT = 0x33 /* of 64-bit code */, PRIVILEGE_MASK = 3 };

#define IS_USER_SPACE(regs) (((regs)->cs & PRIVILEGE_MASK) != 0)
/* Were the registers saved in user space, by 64-bit code? */
#define IS_64_BIT(regs) ((regs)->cs == USER_CODE_SEGMENT)

/* Copies registers by DWARF number (System V ABI, AMD64, figure 3.36). The verifier allows reading
 * the context by whole fields only.
 */
#define COPY_REGS(c, from)                                                                         \
    do {                                                                                           \
        (c)->regs[0] = (from)->ax;                                                                 \
        (c)->regs[1] = (from)->dx;                                                                 \
        (c)->regs[2] = (from)->cx;                                                                 \
        (c)->regs[3] = (from)->bx;                                                                 \
        (c)->regs[4] = (from)->si;                                                                 \
        (c)->regs[5] = (from)->di;                                                                 \
        (c)->regs[6] = (c)->fp = (from)->bp;                                                       \
        (c)->regs[7] = (c)->sp = (from)->sp;                                                       \
        (c)->regs[8] = (from)->r8;                                                                 \
        (c)->regs[9] = (from)->r9;                                                                 \
        (c)->regs[10] = (from)->r10;                                                               \
        (c)->regs[11] = (from)->r11;                                                               \
        (c)->regs[12] = (from)->r12;                                                               \
        (c)->regs[13] = (from)->r13;                                                               \
        (c)->regs[14] = (from)->r14;                                                               \
        (c)->regs[15] = (from)->r15;                                                               \
        (c)->regs[16] = (c)->pc = (from)->ip;                                                      \
    } while (0)

/* The system call that a thread is in; negative: none. The instruction syscall leaves the address
 * after it in rcx and the flags in r11; an exception does not change these. */
static inline int32_t number_of_call(const struct user_regs *regs)
{
    const bool is_call = regs->cx == regs->ip && regs->r11 == regs->flags;
    return is_call ? (int32_t)regs->orig_ax : -1;
}

/* Numbers of system calls (asm/unistd_64.h), and the register of their first argument, rdi. */
enum { CALL_READ = 0, CALL_WRITE = 1, CALL_READV = 19, CALL_WRITEV = 20, FIRST_ARGUMENT = 5 };
