/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* machine.h: the facts in which one architecture differs from another. Each architecture has its
 * own file here (x86_64.h, aarch64.h) and a row in machine.c. A new architecture needs those
 * two.
 *
 * Registers have their DWARF numbers, except where a field says otherwise. Code outside the
 * signal handler takes the machine as a parameter, so that any machine can read a recording of
 * another. Code that inspects its own process uses PT_MACHINE_HOST, whose fields the compiler
 * folds into constants.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Registers that the unwinder reads; the largest count of any machine. */
    PT_MACHINE_REGS_MAX = 33,
    PT_MACHINE_PERF_REGS_MAX = 64, /* bits of perf's register mask */
    PT_MACHINE_NO_REG = 255,       /* "the machine has no such register" */
};

typedef struct pt_machine {
    uint16_t elf_machine;    /* EM_X of <elf.h> */
    const char *kernel_name; /* as uname -m prints it and as perf.data's header holds it */

    uint8_t sp, fp, pc;  /* stack pointer, frame pointer, program counter */
    uint8_t base;        /* holds the frame's place in functions that realign the stack; or
                            PT_MACHINE_NO_REG */
    uint8_t return_addr; /* the column of a CIE that means the return address */
    bool has_link; /* a call puts the return address into register return_addr, not on the stack */
    uint8_t red_zone_bytes;  /* bytes below the stack pointer that a function may use */
    uint64_t pc_mask;        /* the bits of a return address that are not a signature (pointer
                                authentication) */
    uint64_t last_user_addr; /* the highest address of user-space code; includes address tags where
                                the machine has them */
    uint64_t stack_limit;    /* stacks lie below this address, unless a program asks for more */

    /* The user-mode registers of perf: bit i of a perf register mask is DWARF register
     * perf_reg[i], or PT_MACHINE_NO_REG. perf_mask has every bit that has a register; a
     * recording requests it.
     */
    uint64_t perf_mask;
    uint8_t perf_reg[PT_MACHINE_PERF_REGS_MAX];
    /* The register that the kernel sets to -ENOSYS at the entry of a system call, until the call
     * has a result. PT_MACHINE_NO_REG: the machine has none. */
    uint8_t pending_result;
} pt_machine;

/* The machine by an ELF file's e_machine, or by the kernel's name for it. NULL: unknown. Static. */
const pt_machine *pt_machine_of_elf(uint16_t elf_machine);
const pt_machine *pt_machine_named(const char *kernel_name);

/* Removes the signature (pointer authentication) from a return address. */
static inline uint64_t pt_machine_plain_pc(const pt_machine *machine, uint64_t pc)
{
    return pc & machine->pc_mask;
}

/* Converts registers from perf's order to DWARF numbers. values: 8 bytes for each bit of the
 * mask, in ascending order, at any alignment, in the host's byte order. ret_regs has
 * PT_MACHINE_REGS_MAX words; registers that the mask lacks keep their values. */
void pt_machine_perf_regs(const pt_machine *machine, uint64_t mask, const void *values,
                          uint64_t *ret_regs);

/* The index of a DWARF register among the values that perf_mask selects; PT_MACHINE_NO_REG when
 * perf does not record the register. */
static inline unsigned pt_machine_perf_place(const pt_machine *machine, unsigned reg)
{
    for (unsigned bit = 0; bit < PT_MACHINE_PERF_REGS_MAX; bit++)
        if ((machine->perf_mask >> bit & 1) != 0 && machine->perf_reg[bit] == reg)
            return (unsigned)__builtin_popcountll(machine->perf_mask & ((UINT64_C(1) << bit) - 1));
    return PT_MACHINE_NO_REG;
}

#include "machine/aarch64.h"
#include "machine/x86_64.h"

#if defined(__x86_64__)
#define PT_MACHINE_HOST (&pt_machine_x86_64)
#elif defined(__aarch64__)
#define PT_MACHINE_HOST (&pt_machine_aarch64)
#else
#error "this machine has no file in src/machine yet"
#endif
