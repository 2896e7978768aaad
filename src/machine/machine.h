/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* machine.h: the facts in which one architecture differs from another. Each architecture has a file
 * of its own here (x86_64.h, aarch64.h) and a row in machine.c; a new architecture is those two.
 *
 * Registers have their DWARF numbers, except where a field says otherwise. All code outside the
 * signal handler takes the machine as a value, so that a recording is read on any machine. Code
 * that looks at its own process uses PT_MACHINE_HOST, whose fields the compiler folds into the
 * code.
 */
#ifndef PT_MACHINE_MACHINE_H
#define PT_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PT_MACHINE_REGS_MAX = 33, /* registers that a stack is unwound from: the most of any machine */
    PT_MACHINE_PERF_REGS_MAX = 64, /* bits of perf's register mask */
    PT_MACHINE_RED_ZONE_MAX = 128, /* bytes; the most of any machine */
    PT_MACHINE_NO_REG = 255,
};

typedef struct pt_machine {
    uint16_t elf_machine;    /* EM_X */
    const char *kernel_name; /* as uname -m prints it, and perf.data's header holds it */

    uint8_t sp, fp, pc;
    uint8_t base; /* keeps a frame's place where code realigns the stack; PT_MACHINE_NO_REG */
    uint8_t return_addr; /* the column of a CIE that stands for the return address */
    bool has_link; /* the return address is in register return_addr at first, not on the stack */
    uint8_t red_zone_bytes; /* below the stack pointer, in use all the same */
    uint64_t pc_mask; /* bits of a return address that are no signature (pointer authentication) */
    uint64_t last_user_addr; /* of code in user space; tags, where addresses bear any, included */

    /* perf's registers of user mode: bit i of a mask is DWARF register perf_reg[i], or
     * PT_MACHINE_NO_REG. perf_mask: the bits with a register, which is what a recording asks for.
     */
    uint64_t perf_mask;
    uint8_t perf_reg[PT_MACHINE_PERF_REGS_MAX];
    /* The register that the kernel's entry sets to -ENOSYS until a system call has its result;
     * PT_MACHINE_NO_REG: there is none. */
    uint8_t pending_result;
} pt_machine;

/* The machine of an ELF file's e_machine, or with the kernel's name; NULL: none that is known. */
const pt_machine *pt_machine_of_elf(uint16_t elf_machine);
const pt_machine *pt_machine_named(const char *kernel_name);

/* A return address as it lies on the stack, without its signature. */
static inline uint64_t pt_machine_plain_pc(const pt_machine *machine, uint64_t pc)
{
    return pc & machine->pc_mask;
}

/* Registers as perf records them, 8 bytes for each bit of the mask in ascending order (at any
 * alignment, in the host's byte order) -> by DWARF number. ret_regs has PT_MACHINE_REGS_MAX words;
 * those of registers that the mask lacks stay as they are. */
void pt_machine_perf_regs(const pt_machine *machine, uint64_t mask, const void *values,
                          uint64_t *ret_regs);

/* The place of a DWARF register among the values of perf_mask; PT_MACHINE_NO_REG: perf has none. */
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

#endif
