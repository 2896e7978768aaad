/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* aarch64.h: 64-bit ARM. DWARF numbers: DWARF for the Arm 64-bit Architecture, 4.1, which has no
 * number for pc: pc takes the number after sp. */
#pragma once

#include "machine/machine.h"

static const pt_machine pt_machine_aarch64 = {
    .elf_machine = 183, /* EM_AARCH64 */
    .kernel_name = "aarch64",
    .sp = 31,
    .fp = 29,
    .pc = 32,
    .base = PT_MACHINE_NO_REG,
    .return_addr = 30,
    .has_link = true,
    .pc_mask = (UINT64_C(1) << 48) - 1,
    .last_user_addr = UINT64_MAX,
    .stack_limit = UINT64_C(1) << 48,
    /* x0..x30, sp, pc (the kernel's arch/arm64/include/uapi/asm/perf_regs.h). */
    .perf_mask = (UINT64_C(1) << 33) - 1,
    .perf_reg = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32},
    .pending_result = PT_MACHINE_NO_REG,
};
