/* unwind_sample.c: stacks out of samples. See unwind_sample.h. */
#include "capture/unwind_sample.h"

#include <string.h>

#include "capture/event.h"
#include "model/profile.h"

enum { RED_ZONE_BYTES = PT_RED_ZONE_BYTES };

#if defined(__aarch64__)
enum { DWARF_FP = 29, DWARF_SP = 31, DWARF_PC = 32 };
#else
enum { DWARF_FP = 6, DWARF_SP = 7, DWARF_PC = 16 };
#endif

/* A stack whose frame pointer lies further out than this is not one. */
enum { STACK_SPAN_MAX = 64 << 20 };

static void user_registers(const pt_perf_sample *s, uint64_t *dwarf)
{
    for (unsigned i = 0; i < PT_EVENT_REGS; i++)
        dwarf[pt_event_reg_dwarf[i]] = s->regs[i];
}

uint64_t pt_sample_user_pc(const pt_perf_sample *s)
{
    uint64_t dwarf[PT_UNWIND_REGS] = {0};
    if (s->abi != PERF_SAMPLE_REGS_ABI_64 || s->regs == NULL) return 0;
    user_registers(s, dwarf);
    return dwarf[DWARF_PC];
}

/* The kernel marks where a chain changes sides with numbers near 2^64. */
static void add_kernel(const pt_perf_sample *s, pt_unwound *to)
{
    bool is_kernel = false;
    for (uint64_t i = 0; i < s->chain_count; i++) {
        const uint64_t pc = s->chain[i];
        if (pc >= PERF_CONTEXT_MAX)
            is_kernel = pc == (uint64_t)PERF_CONTEXT_KERNEL;
        else if (is_kernel && to->count < PT_SINK_DEPTH_MAX / 2)
            to->pcs[to->count++] = pc;
    }
    to->kernel_count = to->count;
}

/* Copied to its end, and the walk went off that end: by a rule, or along frame pointers. */
static bool went_off(const pt_perf_sample *s, const pt_unwind_state *at,
                     const pt_unwind_limits *limits, pt_unwind_end end)
{
    if (s->stack_bytes != s->stack_room) return false;
    if (end == PT_UNWIND_END_BAD_READ) return true;
    return end == PT_UNWIND_END_NO_RULE && at->fp + 16 > limits->limit &&
           at->fp - at->sp < STACK_SPAN_MAX;
}

/* The kernel copies from sp on, but rules may name what lies in the red zone below: right after
 * leave or pop, gcc's still say that the frame pointer is where it was saved. What was saved there
 * is what the register holds by then. */
static void copy_with_red_zone(const pt_perf_sample *s, uint64_t fp, uint8_t *to)
{
    for (int i = 0; i < RED_ZONE_BYTES; i += 8)
        memcpy(to + i, &fp, sizeof fp);
    memcpy(to + RED_ZONE_BYTES, s->stack, s->stack_bytes);
}

/* ---- a second opinion ---- */

/* Along the frame pointer, if what it points to looks like a frame: further out, and with a return
 * address in code. */
static bool step_by_fp(pt_unwind_state *state, const pt_unwind_modules *modules,
                       const pt_unwind_limits *limits)
{
    uint64_t words[2];
    if (state->is_fp_lost || state->fp % 8 != 0 || state->fp < state->sp ||
        state->fp < limits->low || limits->limit - limits->low < sizeof words ||
        state->fp > limits->limit - sizeof words)
        return false;
    memcpy(words, limits->copy + (state->fp - limits->low), sizeof words);
    if (words[1] == 0 || pt_unwind_module_at(modules, words[1] - 1) == NULL) return false;
    *state = (pt_unwind_state){.pc = words[1],
                               .sp = state->fp + sizeof words,
                               .fp = words[0],
                               .is_return = true,
                               .is_fp_walk = true};
    return true;
}

/* Interpreters and hand-written code keep frame pointers where they have no rules, or rules that
 * were guessed. So a walk that failed is done again, and where a rule leads out of all code the
 * frame pointer is followed. Believed only if it reaches the thread's start. */
static uint32_t walk_again(const pt_unwind_state *first, const pt_unwind_modules *modules,
                           const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                           uint32_t cap, pt_unwind_end *ret_end)
{
    pt_unwind_state at = *first;
    uint32_t count = 0;
    while (count < cap) {
        pcs[count] = at.pc + (count > 0 && !at.is_return);
        count++;
        pt_unwind_state next = at;
        *ret_end = pt_unwind_step(&next, modules, limits, cache);
        if (*ret_end == PT_UNWIND_END_ROOT) return count;
        const bool is_code = *ret_end == PT_UNWIND_END_GOING_ON &&
                             pt_unwind_module_at(modules, next.pc - next.is_return) != NULL;
        if (!is_code) {
            next = at;
            if (!step_by_fp(&next, modules, limits)) return 0;
        }
        at = next;
    }
    return 0;
}

static pt_unwind_end add_user(const pt_perf_sample *s, const pt_unwind_modules *modules,
                              pt_unwind_cache *cache, pt_unwound *to)
{
    uint64_t dwarf[PT_UNWIND_REGS] = {0};
    user_registers(s, dwarf);
    if (s->stack == NULL || s->stack_bytes == 0) {
        to->pcs[to->count++] = dwarf[DWARF_PC];
        return PT_UNWIND_END_BAD_READ;
    }
    const uint64_t sp = dwarf[DWARF_SP];
    const pt_unwind_state first = {
        .pc = dwarf[DWARF_PC], .sp = sp, .fp = dwarf[DWARF_FP], .regs = dwarf};
    pt_unwind_limits limits = {.low = sp, .limit = sp + s->stack_bytes, .copy = s->stack};
    uint64_t *const pcs = to->pcs + to->count;
    const uint32_t cap = PT_SINK_DEPTH_MAX - to->count;
    pt_unwind_state state = first;
    pt_unwind_end end;
    uint32_t count = pt_unwind(&state, modules, &limits, cache, pcs, cap, &end);
    if (count == 1 && end == PT_UNWIND_END_BAD_READ && RED_ZONE_BYTES > 0) {
        copy_with_red_zone(s, dwarf[DWARF_FP], to->scratch);
        limits.low = sp - RED_ZONE_BYTES;
        limits.copy = to->scratch;
        state = first;
        count = pt_unwind(&state, modules, &limits, cache, pcs, cap, &end);
    }
    if (end == PT_UNWIND_END_NO_RULE || end == PT_UNWIND_END_BAD_READ) {
        pt_unwind_end again_end = end;
        const uint32_t again =
            walk_again(&first, modules, &limits, cache, to->again, cap, &again_end);
        if (again > 0) {
            memcpy(pcs, to->again, again * sizeof *pcs);
            count = again;
            end = again_end;
        }
    }
    to->count += count;
    to->is_copy_short = went_off(s, &state, &limits, end);
    return to->is_copy_short ? PT_UNWIND_END_TRUNCATED : end;
}

void pt_unwind_sample(const pt_perf_sample *s, const pt_unwind_modules *modules,
                      pt_unwind_cache *cache, pt_unwound *ret_stack)
{
    ret_stack->count = ret_stack->kernel_count = 0;
    ret_stack->is_copy_short = false;
    add_kernel(s, ret_stack);
    if (s->abi == PERF_SAMPLE_REGS_ABI_64 && s->regs != NULL) {
        ret_stack->end = (uint8_t)add_user(s, modules, cache, ret_stack);
    } else if (s->abi == PERF_SAMPLE_REGS_ABI_NONE && ret_stack->count > 0) {
        ret_stack->end = PT_STACK_END_ROOT; /* a thread of the kernel has nothing further out */
    } else {                                /* 32 bit */
        if (ret_stack->count == 0) ret_stack->pcs[ret_stack->count++] = s->ip;
        ret_stack->end = PT_STACK_END_NO_RULE;
    }
}
