/* copied.c: see copied.h. */
#include "unwind/copied.h"

#include <string.h>

/* Stacks are smaller than this: if fp is further above sp, its value is no frame pointer. */
enum { STACK_SPAN_MAX = 64 << 20 };

/* True if the walk, by a rule or by frame pointers, went past the end of the copy, and the copy
 * ends there because no more bytes of the stack were requested. */
static bool ran_off_copy(const pt_copied_stack *s, const pt_unwind_state *at,
                         const pt_unwind_limits *limits, pt_unwind_end end)
{
    if (s->byte_count != s->room) return false;
    if (end == PT_UNWIND_END_BAD_READ) return true;
    return end == PT_UNWIND_END_NO_RULE && at->fp + 16 > limits->limit &&
           at->fp - at->sp < STACK_SPAN_MAX;
}

/* ---- the second walk ---- */

/* Steps by frame pointer, if fp points to a plausible frame: above sp, with a return address in
 * code. */
static bool step_by_fp(pt_unwind_state *state, const pt_unwind_modules *modules,
                       const pt_unwind_limits *limits)
{
    uint64_t words[2];
    if (state->is_fp_lost || state->fp % 8 != 0 || state->fp < state->sp ||
        state->fp < limits->low || limits->limit - limits->low < sizeof words ||
        state->fp > limits->limit - sizeof words)
        return false;
    memcpy(words, limits->copy + (state->fp - limits->low), sizeof words);
    words[1] = pt_machine_plain_pc(pt_unwind_machine(modules), words[1]);
    if (words[1] == 0 || pt_unwind_module_at(modules, words[1] - 1) == NULL) return false;
    *state = (pt_unwind_state){.pc = words[1],
                               .sp = state->fp + sizeof words,
                               .fp = words[0],
                               .is_return = true,
                               .is_fp_walk = true,
                               .is_unchecked = true};
    return true;
}

static bool copied_word(const pt_unwind_limits *limits, uint64_t addr, uint64_t *ret_word)
{
    if (addr % sizeof *ret_word != 0 || addr < limits->low || addr >= limits->limit ||
        limits->limit - addr < sizeof *ret_word)
        return false;
    memcpy(ret_word, limits->copy + (addr - limits->low), sizeof *ret_word);
    return true;
}

/* Steps out of a trampoline in memory without a file that aligns the stack by one word and calls:
 * `sub $8, %rsp; call *%rcx; add $8, %rsp; ret`. CPython's -X perf makes such trampolines
 * (Python/asm_trampoline.S). The trampoline's caller must have a rule. */
static bool step_by_aligned_call(pt_unwind_state *state, const pt_unwind_modules *modules,
                                 const pt_unwind_limits *limits)
{
    const pt_unwind_module *const module = pt_unwind_module_at(modules, state->pc - 1);
    const uint64_t saved = state->sp + 8;
    uint64_t pc;
    if (pt_unwind_machine(modules)->has_link || !state->is_return || module == NULL ||
        module->table != NULL || !copied_word(limits, saved, &pc) || pc == 0 ||
        pt_unwind_rule_at(modules, pc - 1).cfa_kind == PT_CFA_NONE)
        return false;
    *state = (pt_unwind_state){.pc = pc,
                               .sp = saved + 8,
                               .fp = state->fp,
                               .is_return = true,
                               .is_fp_lost = state->is_fp_lost,
                               .is_unchecked = true};
    return true;
}

/* Repeats a failed walk. Where a step by rule fails or leads out of all code, this walk steps by
 * frame pointer, since interpreters and assembly keep frame pointers where rules are absent or
 * guessed. If there is no frame pointer, it steps out of a trampoline (step_by_aligned_call).
 * Returns the number of pcs if the walk reaches the thread's start, else 0. *state becomes the last
 * frame. */
static uint32_t walk_again(pt_unwind_state *state, const pt_unwind_modules *modules,
                           const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                           uint32_t cap)
{
    uint32_t count = 0;
    while (count < cap) {
        const pt_unwind_state at = *state;
        pcs[count] = at.pc + (count > 0 && !at.is_return);
        count++;
        const pt_unwind_end end = pt_unwind_step(state, modules, limits, cache);
        if (end == PT_UNWIND_END_ROOT) return count;
        if (end != PT_UNWIND_END_GOING_ON ||
            pt_unwind_module_at(modules, state->pc - state->is_return) == NULL) {
            *state = at;
            if (!step_by_fp(state, modules, limits) &&
                !step_by_aligned_call(state, modules, limits))
                return 0;
        }
    }
    return 0;
}

/* ---- with a runtime ---- */

/* Walks a stack that has frames of a runtime. Writes pcs and words as pt_unwind_copied does. */
static uint32_t walk_with_runtime(pt_unwind_state *state, const pt_unwind_modules *modules,
                                  const pt_copied_runtime *runtime, const pt_unwind_limits *limits,
                                  pt_unwind_cache *cache, uint64_t *pcs, uint32_t cap,
                                  pt_unwind_end *ret_end)
{
    uint32_t count = 0;
    bool has_pc = false;
    pt_unwind_end end = PT_UNWIND_END_GOING_ON;
    while (end == PT_UNWIND_END_GOING_ON && count < cap) {
        if (runtime->has_code(runtime->arg, state->pc - state->is_return)) {
            const uint64_t pc = state->pc;
            count += runtime->step(runtime->arg, state, limits, pcs + count, cap - count, &end);
            if (count > 0) continue;
            pcs[count++] = pc & ~PT_COPIED_WORD; /* no word: the innermost pc itself */
            has_pc = true;
            continue;
        }
        if ((state->pc & PT_COPIED_WORD) != 0) {
            end = PT_UNWIND_END_BAD_READ;
            break;
        }
        if (has_pc)
            pcs[count++] = state->pc + !state->is_return;
        else
            pcs[count++] = state->pc - state->is_return;
        has_pc = true;
        end = pt_unwind_step(state, modules, limits, cache);
        if (end == PT_UNWIND_END_NO_RULE && step_by_fp(state, modules, limits))
            end = PT_UNWIND_END_GOING_ON;
    }
    *ret_end = end == PT_UNWIND_END_GOING_ON ? PT_UNWIND_END_TRUNCATED : end;
    return count;
}

/* ---- a walk ---- */

static uint32_t walk_stack(pt_unwind_state *state, const pt_unwind_modules *modules,
                           const pt_copied_runtime *runtime, const pt_unwind_limits *limits,
                           pt_unwind_cache *cache, uint64_t *pcs, uint32_t cap,
                           pt_unwind_end *ret_end)
{
    return runtime != NULL
               ? walk_with_runtime(state, modules, runtime, limits, cache, pcs, cap, ret_end)
               : pt_unwind(state, modules, limits, cache, pcs, cap, ret_end);
}

uint32_t pt_unwind_copied(const pt_copied_stack *s, const pt_unwind_modules *modules,
                          pt_unwind_cache *cache, pt_copied_scratch *scratch, uint64_t *pcs,
                          uint32_t cap, pt_copied_end *ret_end)
{
    const pt_machine *const machine = pt_unwind_machine(modules);
    const uint64_t sp = s->regs[machine->sp];
    *ret_end = (pt_copied_end){.why = PT_UNWIND_END_BAD_READ};
    if (s->bytes == NULL || s->byte_count == 0 || s->byte_count > PT_COPIED_BYTES_MAX ||
        s->byte_count > UINT64_MAX - sp) {
        pcs[0] = s->regs[machine->pc];
        return 1;
    }
    const pt_unwind_state first = {
        .pc = s->regs[machine->pc], .sp = sp, .fp = s->regs[machine->fp], .regs = s->regs};
    const pt_unwind_limits limits = {.low = sp, .limit = sp + s->byte_count, .copy = s->bytes};
    if (cap > PT_COPIED_DEPTH_MAX) cap = PT_COPIED_DEPTH_MAX;
    pt_unwind_state state = first;
    pt_unwind_end why;
    uint32_t count = walk_stack(&state, modules, s->runtime, &limits, cache, pcs, cap, &why);
    if (s->runtime == NULL && (why == PT_UNWIND_END_NO_RULE || why == PT_UNWIND_END_BAD_READ)) {
        pt_unwind_state again_state = first;
        const uint32_t again =
            walk_again(&again_state, modules, &limits, cache, scratch->again, cap);
        if (again > 0) {
            memcpy(pcs, scratch->again, again * sizeof *pcs);
            count = again;
            state = again_state;
            why = PT_UNWIND_END_ROOT;
        } else {
            ret_end->stuck_pc = again_state.pc - again_state.is_return;
        }
    }
    ret_end->is_short = ran_off_copy(s, &state, &limits, why);
    ret_end->why = ret_end->is_short ? PT_UNWIND_END_TRUNCATED : why;
    ret_end->is_unchecked = state.is_unchecked;
    return count;
}
