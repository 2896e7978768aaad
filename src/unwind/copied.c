/* copied.c: see copied.h. */
#include "unwind/copied.h"

#include <string.h>

/* No stack is larger: a frame pointer further than this above sp is no frame pointer. */
enum { STACK_SPAN_MAX = 64 << 20 };

/* True if the walk ran past the end of a copy that the requested size cut off, by a rule or by
 * frame pointers. */
static bool ran_off_copy(const pt_copied_stack *s, const pt_unwind_state *at,
                         const pt_unwind_limits *limits, pt_unwind_end end)
{
    if (s->byte_count != s->room) return false;
    if (end == PT_UNWIND_END_BAD_READ) return true;
    return end == PT_UNWIND_END_NO_RULE && at->fp + 16 > limits->limit &&
           at->fp - at->sp < STACK_SPAN_MAX;
}

/* Copies the stack and puts a red zone before it. The kernel copies from sp on, but rules may refer
 * to the red zone: right after leave or pop, gcc's still locate the frame pointer at its old place.
 * By then the register has that value, so each word of the red zone gets it. */
static void copy_with_red_zone(const pt_copied_stack *s, unsigned red_zone_bytes, uint64_t fp,
                               uint8_t *to)
{
    for (unsigned i = 0; i < red_zone_bytes; i += 8)
        memcpy(to + i, &fp, sizeof fp);
    memcpy(to + red_zone_bytes, s->bytes, s->byte_count);
}

/* ---- the second walk ---- */

/* Steps by frame pointer, if it points to a plausible frame: above sp, with a return address in
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
 * `sub $8, %rsp; call *%rcx; add $8, %rsp; ret`. CPython's -X perf makes such ones
 * (Python/asm_trampoline.S). Its caller must have a rule. */
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

/* A frame and the value of the base register (pt_machine.base) in it, if known. */
typedef struct {
    pt_unwind_state at;
    uint64_t base;
    bool has_base;
} based_frame;

/* Steps out of a frame whose CFA is computed from the base register. The loader has such a
 * function: when it binds a symbol lazily, it realigns the stack and keeps the old stack pointer
 * there. */
static bool step_by_base(const based_frame *frame, const pt_unwind_modules *modules,
                         const pt_unwind_limits *limits, pt_unwind_state *ret_next)
{
    const pt_unwind_state *const at = &frame->at;
    const pt_unwind_rule rule = pt_unwind_rule_at(modules, at->pc - at->is_return);
    const uint64_t cfa = frame->base + (uint64_t)(int64_t)rule.cfa_off;
    if (!frame->has_base || rule.cfa_kind != PT_CFA_REG ||
        rule.cfa_reg != pt_unwind_machine(modules)->base || rule.pc_slot != PT_SLOT_AT_CFA ||
        cfa <= at->sp || cfa > limits->limit)
        return false;
    pt_unwind_state next = {.sp = cfa,
                            .fp = at->fp,
                            .is_return = !rule.is_signal,
                            .is_fp_lost = at->is_fp_lost,
                            .is_unchecked = at->is_unchecked};
    if (rule.fp_slot == PT_SLOT_AT_CFA)
        next.is_fp_lost = !copied_word(limits, cfa + (uint64_t)(rule.fp_off * 8), &next.fp);
    else if (rule.fp_slot != PT_SLOT_SAME)
        next.is_fp_lost = true;
    if (!copied_word(limits, cfa + (uint64_t)(rule.pc_off * 8), &next.pc)) return false;
    *ret_next = next;
    return true;
}

/* Moves the frame to its caller, `next`, and restores the caller's base register. The CFA is next's
 * sp. */
static void step_base(based_frame *frame, const pt_unwind_modules *modules,
                      const pt_unwind_limits *limits, const pt_unwind_state *next)
{
    const uint64_t pc = frame->at.pc - frame->at.is_return;
    const pt_unwind_module *const module = pt_unwind_module_at(modules, pc);
    const pt_unwind_rule *const rule =
        module != NULL && module->base_table != NULL
            ? pt_unwind_table_rule(module->base_table, pc - module->bias)
            : NULL;
    if (rule == NULL || rule->cfa_kind == PT_CFA_NONE)
        frame->has_base = false;
    else if (rule->fp_slot == PT_SLOT_AT_CFA)
        frame->has_base =
            copied_word(limits, next->sp + (uint64_t)(rule->fp_off * 8), &frame->base);
    else if (rule->fp_slot != PT_SLOT_SAME)
        frame->has_base = false;
    frame->at = *next;
}

/* Repeats a failed walk with more means. Interpreters and assembly keep frame pointers where rules
 * are absent or guessed. So where a rule leads out of all code, this walk steps by base register or
 * frame pointer. Returns the number of pcs if it reaches the thread's start, else 0. *state becomes
 * the last frame. */
static uint32_t walk_again(pt_unwind_state *state, const pt_unwind_modules *modules,
                           const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                           uint32_t cap)
{
    const uint8_t base = pt_unwind_machine(modules)->base;
    based_frame frame = {.at = *state, .has_base = base != PT_MACHINE_NO_REG};
    if (frame.has_base) frame.base = state->regs[base];
    uint32_t count = 0;
    while (count < cap) {
        const pt_unwind_state at = frame.at;
        pcs[count] = at.pc + (count > 0 && !at.is_return);
        count++;
        *state = at;
        const pt_unwind_end end = pt_unwind_step(state, modules, limits, cache);
        if (end == PT_UNWIND_END_ROOT) return count;
        bool is_step = end == PT_UNWIND_END_GOING_ON;
        if (end == PT_UNWIND_END_NO_RULE) is_step = step_by_base(&frame, modules, limits, state);
        if (!is_step || pt_unwind_module_at(modules, state->pc - state->is_return) == NULL) {
            *state = at;
            if (!step_by_fp(state, modules, limits) &&
                !step_by_aligned_call(state, modules, limits))
                return 0;
        }
        step_base(&frame, modules, limits, state);
    }
    return 0;
}

/* ---- with a runtime ---- */

/* Walks through code of the runtime, too. */
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
            pcs[count++] = pc & ~PT_COPIED_WORD; /* so that the stack has its innermost pc */
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
        s->byte_count > UINT64_MAX - sp || sp <= machine->red_zone_bytes) {
        pcs[0] = s->regs[machine->pc];
        return 1;
    }
    const pt_unwind_state first = {
        .pc = s->regs[machine->pc], .sp = sp, .fp = s->regs[machine->fp], .regs = s->regs};
    pt_unwind_limits limits = {.low = sp, .limit = sp + s->byte_count, .copy = s->bytes};
    if (cap > PT_COPIED_DEPTH_MAX) cap = PT_COPIED_DEPTH_MAX;
    pt_unwind_state state = first;
    pt_unwind_end why;
    uint32_t count = walk_stack(&state, modules, s->runtime, &limits, cache, pcs, cap, &why);
    if (count == 1 && why == PT_UNWIND_END_BAD_READ && machine->red_zone_bytes > 0) {
        copy_with_red_zone(s, machine->red_zone_bytes, first.fp, scratch->bytes);
        limits.low = sp - machine->red_zone_bytes;
        limits.copy = scratch->bytes;
        state = first;
        count = walk_stack(&state, modules, s->runtime, &limits, cache, pcs, cap, &why);
    }
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
