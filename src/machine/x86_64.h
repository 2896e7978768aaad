/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* x86_64.h: 64-bit x86. DWARF numbers: System V ABI, AMD64, figure 3.36. */
#pragma once

#include "machine/machine.h"

static const pt_machine pt_machine_x86_64 = {
    .elf_machine = 62, /* EM_X86_64 */
    .kernel_name = "x86_64",
    .sp = 7,
    .fp = 6,
    .pc = 16,
    .base = 3, /* rbx */
    .return_addr = 16,
    .red_zone_bytes = 128, /* System V ABI, AMD64, 3.2.2 */
    .pc_mask = UINT64_MAX,
    .last_user_addr = (UINT64_C(1) << 56) - 1,
    .stack_limit = UINT64_C(1) << 47,
    /* ax bx cx dx si di bp sp ip, then flags and six segment registers, then r8..r15 (the
     * kernel's arch/x86/include/uapi/asm/perf_regs.h). */
    .perf_mask = 0xff01ff,
    .perf_reg = {0,
                 3,
                 2,
                 1,
                 4,
                 5,
                 6,
                 7,
                 16,
                 PT_MACHINE_NO_REG,
                 PT_MACHINE_NO_REG,
                 PT_MACHINE_NO_REG,
                 PT_MACHINE_NO_REG,
                 PT_MACHINE_NO_REG,
                 PT_MACHINE_NO_REG,
                 PT_MACHINE_NO_REG,
                 8,
                 9,
                 10,
                 11,
                 12,
                 13,
                 14,
                 15},
    .pending_result = 0, /* ax: entry_64.S, pt_regs->ax */
};
