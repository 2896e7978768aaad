/* step_memory.h: the hooks of step.h for a stack in memory: the process's own, or a copy. */
#pragma once

#include <string.h>

#include "unwind/unwind.h"

typedef const pt_unwind_limits pt_step_stack;
typedef const pt_unwind_modules pt_step_code;

static inline bool load_word(pt_step_stack *limits, uint64_t addr, uint64_t *ret_word)
{
    if (limits->copy == NULL)
        *ret_word = *(const uint64_t *)(uintptr_t)addr;
    else
        memcpy(ret_word, limits->copy + (addr - limits->low), sizeof *ret_word);
    return true;
}

/* The value of DWARF register reg in a frame. False if the frame's registers are not known. */
static inline bool register_of(const pt_unwind_state *state, unsigned reg, uint64_t *ret_value)
{
    if (state->regs == NULL || reg >= PT_MACHINE_REGS_MAX) return false;
    *ret_value = state->regs[reg];
    return true;
}

static inline bool is_code(pt_step_code *modules, uint64_t addr)
{
    return pt_unwind_module_at(modules, addr) != NULL;
}

static inline const uint64_t *load_regs(pt_step_stack *limits, uint64_t addr)
{
    const uint8_t *const at = limits->copy != NULL ? limits->copy + (addr - limits->low)
                                                   : (const uint8_t *)(uintptr_t)addr;
    return (uintptr_t)at % sizeof(uint64_t) == 0 ? (const uint64_t *)(const void *)at : NULL;
}

#include "unwind/step.h"
