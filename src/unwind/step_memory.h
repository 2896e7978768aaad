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

/* The DWARF register reg. False if this is not the innermost frame, or the registers were not
 * given. */
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

/* The registers of the code that a signal interrupted, by DWARF number; NULL where they are
 * unreadable. Needed only on machines with a link register, where an interrupted leaf function
 * has its return address there. aarch64 stores the registers in DWARF order in the signal's
 * frame, with pc last. */
static inline const uint64_t *interrupted_regs(const pt_machine *machine,
                                               const pt_unwind_state *state,
                                               const pt_unwind_rule *rule, pt_step_stack *limits)
{
    enum { WORD_BYTES = sizeof(uint64_t), BYTES = PT_MACHINE_REGS_MAX * WORD_BYTES };
    if (!machine->has_link) return NULL;
    const uint64_t addr =
        state->sp + (uint64_t)((int64_t)rule->pc_off * WORD_BYTES) + WORD_BYTES - BYTES;
    if (!rule->is_signal || rule->pc_slot != PT_SLOT_AT_SP || addr % WORD_BYTES != 0 ||
        addr < state->sp || addr >= limits->limit || limits->limit - addr < BYTES)
        return NULL;
    const uint8_t *const at = limits->copy != NULL ? limits->copy + (addr - limits->low)
                                                   : (const uint8_t *)(uintptr_t)addr;
    return (uintptr_t)at % WORD_BYTES == 0 ? (const uint64_t *)(const void *)at : NULL;
}

#include "unwind/step.h"
