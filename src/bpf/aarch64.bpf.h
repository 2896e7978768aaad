/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* aarch64.bpf.h: the program's facts about 64-bit ARM beside machine/aarch64.h: the registers as
 * the kernel stores them, and system calls. Part of kernel.bpf.h. */
#pragma once

struct thread_struct {
    struct {
        unsigned long tp_value;
    } uw;
} OF_KERNEL;

/* The field of task_struct with the thread pointer. For a running thread the value is that of its
 * last switch away. */
#define THREAD_POINTER thread.uw.tp_value

/* The registers at the end of a kernel stack: the beginning of struct pt_regs (asm/ptrace.h). */
struct user_regs {
    uint64_t regs[31], sp, pc, pstate, orig_x0;
    int32_t syscallno;
    uint32_t unused;
};

/* The registers in the program's context (uapi/asm/ptrace.h: struct user_pt_regs). */
typedef struct {
    uint64_t regs[31], sp, pc, pstate;
} context_regs;

struct pt_regs {
    uint64_t pc;
} OF_KERNEL;

/* The bytes from the registers to the end of the kernel's stack. */
#define USER_REGS_BYTES __builtin_preserve_type_info(*(struct pt_regs *)NULL, CORE_TYPE_SIZE)

enum { MODE_MASK = 0x0f, MODE_USER = 0, MODE_IS_32_BIT = 0x10 }; /* of pstate */

#define IS_USER_SPACE(regs) (((regs)->pstate & MODE_MASK) == MODE_USER)
/* Were the registers saved in user space, by 64-bit code? */
#define IS_64_BIT(regs) (((regs)->pstate & (MODE_MASK | MODE_IS_32_BIT)) == MODE_USER)

/* Copies registers by DWARF number. The verifier allows reading the context by whole fields only.
 */
#define COPY_REGS(c, from)                                                                         \
    do {                                                                                           \
        (c)->regs[0] = (from)->regs[0];                                                            \
        (c)->regs[1] = (from)->regs[1];                                                            \
        (c)->regs[2] = (from)->regs[2];                                                            \
        (c)->regs[3] = (from)->regs[3];                                                            \
        (c)->regs[4] = (from)->regs[4];                                                            \
        (c)->regs[5] = (from)->regs[5];                                                            \
        (c)->regs[6] = (from)->regs[6];                                                            \
        (c)->regs[7] = (from)->regs[7];                                                            \
        (c)->regs[8] = (from)->regs[8];                                                            \
        (c)->regs[9] = (from)->regs[9];                                                            \
        (c)->regs[10] = (from)->regs[10];                                                          \
        (c)->regs[11] = (from)->regs[11];                                                          \
        (c)->regs[12] = (from)->regs[12];                                                          \
        (c)->regs[13] = (from)->regs[13];                                                          \
        (c)->regs[14] = (from)->regs[14];                                                          \
        (c)->regs[15] = (from)->regs[15];                                                          \
        (c)->regs[16] = (from)->regs[16];                                                          \
        (c)->regs[17] = (from)->regs[17];                                                          \
        (c)->regs[18] = (from)->regs[18];                                                          \
        (c)->regs[19] = (from)->regs[19];                                                          \
        (c)->regs[20] = (from)->regs[20];                                                          \
        (c)->regs[21] = (from)->regs[21];                                                          \
        (c)->regs[22] = (from)->regs[22];                                                          \
        (c)->regs[23] = (from)->regs[23];                                                          \
        (c)->regs[24] = (from)->regs[24];                                                          \
        (c)->regs[25] = (from)->regs[25];                                                          \
        (c)->regs[26] = (from)->regs[26];                                                          \
        (c)->regs[27] = (from)->regs[27];                                                          \
        (c)->regs[28] = (from)->regs[28];                                                          \
        (c)->regs[29] = (c)->fp = (from)->regs[29];                                                \
        (c)->regs[30] = (from)->regs[30];                                                          \
        (c)->regs[31] = (c)->sp = (from)->sp;                                                      \
        (c)->regs[32] = (c)->pc = (from)->pc;                                                      \
    } while (0)

/* The system call that a thread is in; negative: none (NO_SYSCALL). */
static inline int32_t number_of_call(const struct user_regs *regs)
{
    return regs->syscallno;
}

/* Numbers of system calls (asm-generic/unistd.h), and the register of their first argument, x0. */
enum { CALL_READ = 63, CALL_WRITE = 64, CALL_READV = 65, CALL_WRITEV = 66, FIRST_ARGUMENT = 0 };
