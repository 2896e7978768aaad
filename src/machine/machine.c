/* machine.c: the table of machines; see machine.h. */
#include "machine/machine.h"

#include <stddef.h>
#include <string.h>

static const pt_machine *const machines[] = {&pt_machine_x86_64, &pt_machine_aarch64};

enum { MACHINES = sizeof machines / sizeof *machines };

const pt_machine *pt_machine_of_elf(uint16_t elf_machine)
{
    for (size_t i = 0; i < MACHINES; i++)
        if (machines[i]->elf_machine == elf_machine) return machines[i];
    return NULL;
}

const pt_machine *pt_machine_named(const char *kernel_name)
{
    for (size_t i = 0; i < MACHINES; i++)
        if (strcmp(machines[i]->kernel_name, kernel_name) == 0) return machines[i];
    return NULL;
}

void pt_machine_perf_regs(const pt_machine *machine, uint64_t mask, const void *values,
                          uint64_t *ret_regs)
{
    const uint8_t *at = values;
    for (unsigned bit = 0; bit < PT_MACHINE_PERF_REGS_MAX; bit++) {
        if ((mask >> bit & 1) == 0) continue;
        if ((machine->perf_mask >> bit & 1) != 0)
            memcpy(&ret_regs[machine->perf_reg[bit]], at, sizeof *ret_regs);
        at += sizeof *ret_regs;
    }
}
