/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* step.h: steps from a frame to its caller, by the frame's registers and the rule of its code.
 *
 * The machine is a parameter. For PT_MACHINE_HOST the compiler folds its fields into constants,
 * which the signal handler needs. The same text unwinds copied stacks of other machines, and is
 * compiled into the kernel program of src/bpf. Reading memory differs between kernel and user
 * space, so hooks do it: step_memory.h has those of user space, src/bpf/walk.bpf.h those of the
 * kernel. Include one of these two instead of this file.
 *
 *   pt_step_stack    the readable part of the stack: has low and limit
 *   pt_step_code     the code of the process
 *   load_word        reads a word of the stack, between low and limit, at a multiple of 8
 *   register_of      reads a register of the innermost frame
 *   is_code          whether an address lies in code of the process
 *   load_regs        reads PT_MACHINE_REGS_MAX words of the stack; used if the machine has_link
 */
#pragma once

#include "unwind/unwind.h"

enum { WORD = 8 };

/* ---- the stack ---- */

/* Reads a word of the stack. Memory below sp is undefined, and maybe unmapped, except for the red
 * zone. Rules may refer to the red zone: after leave or pop, gcc's still locate rbp at its old
 * place (System V ABI, AMD64, 3.2.2). sp must be in the limits. */
static inline bool read_word(const pt_machine *machine, pt_step_stack *limits, uint64_t sp,
                             uint64_t addr, uint64_t *ret_word)
{
    if (addr < limits->low || (addr < sp && sp - addr > machine->red_zone_bytes) ||
        addr >= limits->limit || limits->limit - addr < WORD || addr % WORD != 0)
        return false;
    return load_word(limits, addr, ret_word);
}

/* The value of a DWARF register in this frame. False: unknown. */
static inline bool register_value(const pt_machine *machine, const pt_unwind_state *state,
                                  unsigned reg, uint64_t *ret_value)
{
    if (reg == machine->sp) {
        *ret_value = state->sp;
        return true;
    }
    if (reg == machine->fp) {
        *ret_value = state->fp;
        return !state->is_fp_lost;
    }
    if (reg == machine->base && state->has_base) {
        *ret_value = state->base;
        return true;
    }
    return register_of(state, reg, ret_value);
}

/* The canonical frame address (CFA) of a frame. */
static inline pt_unwind_end cfa_of(const pt_machine *machine, const pt_unwind_state *state,
                                   const pt_unwind_rule *rule, pt_step_stack *limits,
                                   uint64_t *ret_cfa)
{
    const uint64_t off = (uint64_t)(int64_t)rule->cfa_off;
    uint64_t value;
    switch (rule->cfa_kind) {
    case PT_CFA_SP: *ret_cfa = state->sp + off; return PT_UNWIND_END_GOING_ON;
    case PT_CFA_FP:
        *ret_cfa = state->fp + off;
        return state->is_fp_lost ? PT_UNWIND_END_NO_RULE : PT_UNWIND_END_GOING_ON;
    case PT_CFA_REG:
        if (!register_value(machine, state, rule->cfa_reg, &value)) return PT_UNWIND_END_NO_RULE;
        *ret_cfa = value + off;
        return PT_UNWIND_END_GOING_ON;
    case PT_CFA_DEREF:
        if (!register_value(machine, state, rule->cfa_reg, &value)) return PT_UNWIND_END_NO_RULE;
        return read_word(machine, limits, state->sp, value + off, ret_cfa) ? PT_UNWIND_END_GOING_ON
                                                                           : PT_UNWIND_END_BAD_READ;
    case PT_CFA_PLT:
        *ret_cfa = state->sp + off + ((state->pc & 15) >= rule->cfa_reg ? WORD : 0);
        return PT_UNWIND_END_GOING_ON;
    default: return PT_UNWIND_END_NO_RULE;
    }
}

/* The address of a saved register. */
static inline uint64_t slot_addr(const pt_unwind_state *state, uint64_t cfa, unsigned slot,
                                 int16_t off)
{
    const uint64_t base = slot == PT_SLOT_AT_CFA  ? cfa
                          : slot == PT_SLOT_AT_SP ? state->sp
                                                  : state->fp;
    return base + (uint64_t)((int64_t)off * WORD);
}

/* Is the place of a saved register in the red zone of the innermost frame? Right after leave or
 * pop, gcc's rules still locate the register there. By then the register has its value again, which
 * helps where the red zone cannot be read: the kernel copies a stack from sp on. */
static inline bool is_popped(const pt_machine *machine, const pt_unwind_state *state, uint64_t addr)
{
    return !state->is_return && addr < state->sp && state->sp - addr <= machine->red_zone_bytes;
}

/* The registers of the code that a signal interrupted, by DWARF number; NULL where they are
 * unreadable. Needed only on machines with a link register, where an interrupted leaf function has
 * its return address there. aarch64 stores the registers in DWARF order in the signal's frame, with
 * pc last. */
static inline const uint64_t *interrupted_regs(const pt_machine *machine,
                                               const pt_unwind_state *state,
                                               const pt_unwind_rule *rule, pt_step_stack *limits)
{
    enum { BYTES = PT_MACHINE_REGS_MAX * WORD };
    if (!machine->has_link || !rule->is_signal || rule->pc_slot != PT_SLOT_AT_SP) return NULL;
    const uint64_t addr = slot_addr(state, 0, PT_SLOT_AT_SP, rule->pc_off) + WORD - BYTES;
    if (addr % WORD != 0 || addr < state->sp || addr >= limits->limit ||
        limits->limit - addr < BYTES)
        return NULL;
    return load_regs(limits, addr);
}

/* ---- steps ---- */

/* Steps by frame pointer. At fp lie the caller's fp and the return address (System V ABI, AMD64,
 * 3.2.2; AAPCS64 6.4.6 agrees). */
static inline pt_unwind_end step_fp(const pt_machine *machine, pt_unwind_state *state,
                                    pt_step_code *modules, pt_step_stack *limits)
{
    const uint64_t fp = state->fp;
    if (state->is_fp_lost) return PT_UNWIND_END_NO_RULE;
    /* The ABI requires fp 0 in the outermost frame; in the innermost frame fp may have any value.
     */
    if (fp == 0 && state->is_fp_walk) return PT_UNWIND_END_ROOT;
    uint64_t pc, caller_fp;
    if (fp < state->sp || !read_word(machine, limits, state->sp, fp, &caller_fp) ||
        !read_word(machine, limits, state->sp, fp + WORD, &pc))
        return PT_UNWIND_END_NO_RULE;
    pc = pt_machine_plain_pc(machine, pc);
    if (pc == 0) {
        state->is_unchecked = true;
        return PT_UNWIND_END_ROOT;
    }
    if (!is_code(modules, pc - 1)) return PT_UNWIND_END_NO_RULE;
    *state = (pt_unwind_state){.pc = pc,
                               .sp = fp + 2 * WORD,
                               .fp = caller_fp,
                               .is_return = true,
                               .is_fp_walk = true,
                               .is_unchecked = true};
    return PT_UNWIND_END_GOING_ON;
}

/* Steps by a rule. */
static inline pt_unwind_end step_rule(const pt_machine *machine, pt_unwind_state *state,
                                      const pt_unwind_rule *rule, pt_step_stack *limits)
{
    uint64_t cfa, pc, addr, fp = state->fp;
    bool is_fp_lost = state->is_fp_lost;
    if (rule->pc_slot == PT_SLOT_UNDEFINED) return PT_UNWIND_END_ROOT;
    const pt_unwind_end end = cfa_of(machine, state, rule, limits, &cfa);
    if (end != PT_UNWIND_END_GOING_ON) return end;
    /* A signal's handler may run on another stack than the code that it interrupted. */
    const bool is_on_stack = cfa >= state->sp && cfa <= limits->limit;
    if (cfa % WORD != 0 || (!is_on_stack && !rule->is_signal)) return PT_UNWIND_END_BAD_READ;

    switch (rule->pc_slot) {
    case PT_SLOT_AT_FP:
    case PT_SLOT_AT_CFA:
    case PT_SLOT_AT_SP:
        if (rule->pc_slot == PT_SLOT_AT_FP && state->is_fp_lost) return PT_UNWIND_END_NO_RULE;
        /* A saved pc takes room on the stack. */
        if (cfa == state->sp) return PT_UNWIND_END_BAD_READ;
        if (!read_word(machine, limits, state->sp,
                       slot_addr(state, cfa, rule->pc_slot, rule->pc_off), &pc))
            return PT_UNWIND_END_BAD_READ;
        break;
    case PT_SLOT_SAME: /* in a link register, which is known in the innermost frame only */
        if (!register_of(state, (unsigned)rule->pc_off, &pc)) return PT_UNWIND_END_NO_RULE;
        break;
    default: return PT_UNWIND_END_NO_RULE;
    }
    switch (rule->fp_slot) {
    case PT_SLOT_SAME: break;
    case PT_SLOT_AT_FP:
    case PT_SLOT_AT_CFA:
    case PT_SLOT_AT_SP:
        if (rule->fp_slot == PT_SLOT_AT_FP && state->is_fp_lost) break;
        addr = slot_addr(state, cfa, rule->fp_slot, rule->fp_off);
        if (read_word(machine, limits, state->sp, addr, &fp))
            is_fp_lost = false;
        else if (!is_popped(machine, state, addr))
            return PT_UNWIND_END_BAD_READ;
        break;
    default: is_fp_lost = true;
    }
    pc = pt_machine_plain_pc(machine, pc);
    if (pc == 0) return PT_UNWIND_END_ROOT; /* another form of "no caller"; libgcc reads it so */
    if (pc < 4096) return PT_UNWIND_END_BAD_READ;
    *state = (pt_unwind_state){.pc = pc,
                               .sp = cfa,
                               .fp = fp,
                               .regs = interrupted_regs(machine, state, rule, limits),
                               .is_return = !rule->is_signal,
                               .is_fp_lost = is_fp_lost,
                               .is_unchecked = state->is_unchecked};
    return PT_UNWIND_END_GOING_ON;
}

/* Finds the base register of the caller `to`, whose stack pointer is the CFA of the frame `from`.
 * rule: of the frame's code in its module's base_table. */
static inline void step_base(const pt_machine *machine, const pt_unwind_state *from,
                             const pt_unwind_rule *rule, pt_step_stack *limits, pt_unwind_state *to)
{
    if (rule->cfa_kind == PT_CFA_NONE) return;
    bool has_old = rule->fp_slot == PT_SLOT_SAME;
    if (rule->fp_slot == PT_SLOT_AT_CFA) {
        const uint64_t addr = slot_addr(from, to->sp, PT_SLOT_AT_CFA, rule->fp_off);
        to->has_base = read_word(machine, limits, from->sp, addr, &to->base);
        has_old = !to->has_base && is_popped(machine, from, addr);
    }
    if (has_old) to->has_base = register_value(machine, from, machine->base, &to->base);
}

/* Is the frame's base register known? */
static inline bool knows_base(const pt_unwind_state *state)
{
    return state->has_base || state->regs != NULL;
}

/* ---- slots ---- */

enum { WORDS_MAX = UINT16_MAX };

/* True if the rule fits into a slot as PT_SLOT_BY_SP or PT_SLOT_BY_FP. */
static inline bool is_usual(const pt_machine *machine, const pt_unwind_rule *rule)
{
    if (machine->has_link) return false; /* return addresses are elsewhere, and may be signed */
    return (rule->cfa_kind == PT_CFA_SP || rule->cfa_kind == PT_CFA_FP) &&
           rule->pc_slot == PT_SLOT_AT_CFA && rule->pc_off == -1 && !rule->is_signal &&
           (rule->fp_slot == PT_SLOT_SAME ||
            (rule->fp_slot == PT_SLOT_AT_CFA && rule->fp_off != 0 &&
             rule->fp_off == (int8_t)rule->fp_off)) &&
           rule->cfa_off > 0 && rule->cfa_off % WORD == 0 && rule->cfa_off / WORD <= WORDS_MAX;
}

/* Sets a slot, except pc, generation and (of PT_SLOT_RULE) number. has_base_table: the code's
 * module has a base_table, so the slot gets no usual rule: usual steps do not follow the base
 * register. */
static inline void put_rule(pt_unwind_slot *slot, const pt_machine *machine,
                            const pt_unwind_rule *rule, bool has_base_table)
{
    if (__builtin_expect(!has_base_table && is_usual(machine, rule), 1)) {
        slot->kind = rule->cfa_kind == PT_CFA_SP ? PT_SLOT_BY_SP : PT_SLOT_BY_FP;
        slot->number = (uint16_t)(rule->cfa_off / WORD);
        slot->fp_off = (int8_t)(rule->fp_slot == PT_SLOT_AT_CFA ? rule->fp_off : 0);
    } else if (rule->pc_slot == PT_SLOT_UNDEFINED) {
        slot->kind = PT_SLOT_ROOT;
    } else if (rule->cfa_kind == PT_CFA_FRAME_POINTER) {
        slot->kind = PT_SLOT_FRAME_POINTER;
    } else if (rule->cfa_kind == PT_CFA_NONE) {
        slot->kind = PT_SLOT_NO_RULE;
    } else {
        slot->kind = PT_SLOT_RULE;
    }
}

/* The registers during a series of steps. */
typedef struct {
    uint64_t pc, sp, fp;
    bool is_fp_lost;
} registers;

/* Steps by a slot of kind PT_SLOT_BY_SP or _FP; sp must be in the limits. False, with nothing
 * changed: an implausible value. */
static inline bool step_usual(const pt_machine *machine, registers *at, const pt_unwind_slot *slot,
                              pt_step_stack *limits)
{
    uint64_t cfa = at->sp + (uint64_t)slot->number * WORD, pc, fp = at->fp;
    if (slot->kind == PT_SLOT_BY_FP) {
        if (at->is_fp_lost) return false;
        cfa = at->fp + (uint64_t)slot->number * WORD;
    }
    if (cfa % WORD != 0 || cfa <= at->sp || cfa > limits->limit) return false;
    if (!read_word(machine, limits, at->sp, cfa - WORD, &pc) || pc < 4096) return false;
    if (slot->fp_off != 0) {
        const uint64_t addr = cfa + (uint64_t)((int64_t)slot->fp_off * WORD);
        if (!read_word(machine, limits, at->sp, addr, &fp)) return false;
        at->is_fp_lost = false;
    }
    at->pc = pc;
    at->sp = cfa;
    at->fp = fp;
    return true;
}
