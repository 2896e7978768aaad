/* walk.c: one frame outwards, and all of them. Runs in signal handlers: see unwind.h. */
#include "unwind/unwind.h"

#include <string.h>

enum { WORD = 8 };

/* ---- rules of the process ---- */

const pt_unwind_module *pt_unwind_module_at(const pt_unwind_modules *modules, uint64_t pc)
{
    uint32_t low = 0, n = modules->count;
    while (n > 0) {
        const uint32_t half = n / 2;
        if (modules->modules[low + half].start <= pc) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    if (low == 0 || pc >= modules->modules[low - 1].limit) return NULL;
    return &modules->modules[low - 1];
}

/* The rule at pc; cfa_kind PT_CFA_NONE or PT_CFA_FRAME_POINTER if there is none. *last: the module
 * of the frame before, or NULL; callers are often in the same. It becomes that of pc. */
static const pt_unwind_rule *rule_at(const pt_unwind_modules *modules,
                                     const pt_unwind_module **last, uint64_t pc)
{
    static const pt_unwind_rule none = {.cfa_kind = PT_CFA_NONE},
                                fp_walk = {.cfa_kind = PT_CFA_FRAME_POINTER};
    const pt_unwind_module *module = *last;
    if (module == NULL || pc - module->start >= module->limit - module->start)
        *last = module = pt_unwind_module_at(modules, pc);
    if (module == NULL) return &none;
    return module->table == NULL ? &fp_walk
                                 : pt_unwind_table_rule(module->table, pc - module->bias);
}

pt_unwind_rule pt_unwind_rule_at(const pt_unwind_modules *modules, uint64_t pc)
{
    const pt_unwind_module *last = NULL;
    return *rule_at(modules, &last, pc);
}

enum { WORDS_MAX = UINT16_MAX };

static bool is_usual(const pt_unwind_rule *rule)
{
#if defined(__aarch64__)
    return false; /* return addresses are elsewhere, and may be signed */
#endif
    return (rule->cfa_kind == PT_CFA_SP || rule->cfa_kind == PT_CFA_FP) &&
           rule->pc_slot == PT_SLOT_AT_CFA && rule->pc_off == -1 && !rule->is_signal &&
           (rule->fp_slot == PT_SLOT_SAME ||
            (rule->fp_slot == PT_SLOT_AT_CFA && rule->fp_off != 0 &&
             rule->fp_off == (int8_t)rule->fp_off)) &&
           rule->cfa_off > 0 && rule->cfa_off % WORD == 0 && rule->cfa_off / WORD <= WORDS_MAX;
}

static inline pt_unwind_slot slot_of(const pt_unwind_modules *modules,
                                     const pt_unwind_module **last, uint64_t pc)
{
    const pt_unwind_rule *const rule = rule_at(modules, last, pc);
    pt_unwind_slot slot = {.pc = pc, .generation = modules->generation};
    if (__builtin_expect(is_usual(rule), 1)) {
        slot.kind = rule->cfa_kind == PT_CFA_SP ? PT_SLOT_BY_SP : PT_SLOT_BY_FP;
        slot.number = (uint16_t)(rule->cfa_off / WORD);
        slot.fp_off = (int8_t)(rule->fp_slot == PT_SLOT_AT_CFA ? rule->fp_off : 0);
    } else if (rule->pc_slot == PT_SLOT_UNDEFINED) {
        slot.kind = PT_SLOT_ROOT;
    } else if (rule->cfa_kind == PT_CFA_FRAME_POINTER) {
        slot.kind = PT_SLOT_FRAME_POINTER;
    } else if (rule->cfa_kind == PT_CFA_NONE) {
        slot.kind = PT_SLOT_NO_RULE;
    } else {
        slot.kind = PT_SLOT_RULE;
        slot.number = (uint16_t)(rule - (*last)->table->rules);
    }
    return slot;
}

/* The same for who keeps slots. */
static __attribute__((noinline)) void fill(pt_unwind_slot *slot, const pt_unwind_modules *modules,
                                           const pt_unwind_module **last, uint64_t pc)
{
    *slot = slot_of(modules, last, pc);
}

static inline pt_unwind_slot *slot_in(pt_unwind_cache *cache, uint64_t pc)
{
    _Static_assert(PT_UNWIND_CACHE_SLOTS == 1 << 12, "the index is the top 12 bits of a product");
    return &cache->slots[pc * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

static inline bool is_of(const pt_unwind_slot *slot, const pt_unwind_modules *modules, uint64_t pc)
{
    return slot->pc == pc && slot->generation == modules->generation;
}

/* The rule that a slot numbers. */
static const pt_unwind_rule *rule_of(const pt_unwind_slot *slot, const pt_unwind_modules *modules,
                                     const pt_unwind_module **last, uint64_t pc)
{
    const pt_unwind_module *module = *last;
    if (slot->kind != PT_SLOT_RULE) return rule_at(modules, last, pc);
    if (module == NULL || pc - module->start >= module->limit - module->start)
        *last = module = pt_unwind_module_at(modules, pc);
    return module != NULL && module->table != NULL && slot->number < module->table->rule_count
               ? &module->table->rules[slot->number]
               : rule_at(modules, last, pc);
}

/* ---- the stack ---- */

/* Below sp nothing is kept, and it may not even be mapped, but for the red zone: after leave or pop
 * gcc's entries still say that rbp is where it was saved (System V ABI, AMD64, 3.2.2). sp is in the
 * limits. */
#if defined(__x86_64__)
enum { RED_ZONE_BYTES = 128 };
#else
enum { RED_ZONE_BYTES = 0 };
#endif

static inline bool read_word(const pt_unwind_limits *limits, uint64_t sp, uint64_t addr,
                             uint64_t *ret_word)
{
    if (addr < limits->low || (addr < sp && sp - addr > RED_ZONE_BYTES) || addr >= limits->limit ||
        limits->limit - addr < WORD || addr % WORD != 0)
        return false;
    if (limits->copy == NULL)
        *ret_word = *(const uint64_t *)(uintptr_t)addr;
    else
        memcpy(ret_word, limits->copy + (addr - limits->low), WORD);
    return true;
}

/* Numbers of sp and fp on the machine that this is compiled for. */
#if defined(__aarch64__)
enum { SP = 31, FP = 29 };
#else
enum { SP = 7, FP = 6 };
#endif

/* Register reg of DWARF, if this is the innermost frame and they were given. */
static bool register_of(const pt_unwind_state *state, unsigned reg, uint64_t *ret_value)
{
    if (state->regs == NULL || reg >= PT_UNWIND_REGS) return false;
    *ret_value = state->regs[reg];
    return true;
}

static bool register_value(const pt_unwind_state *state, unsigned reg, uint64_t *ret_value)
{
    if (reg == SP) {
        *ret_value = state->sp;
        return true;
    }
    if (reg == FP) {
        *ret_value = state->fp;
        return !state->is_fp_lost;
    }
    return register_of(state, reg, ret_value);
}

static inline pt_unwind_end cfa_of(const pt_unwind_state *state, const pt_unwind_rule *rule,
                                   const pt_unwind_limits *limits, uint64_t *ret_cfa)
{
    const uint64_t off = (uint64_t)(int64_t)rule->cfa_off;
    uint64_t value;
    switch (rule->cfa_kind) {
    case PT_CFA_SP: *ret_cfa = state->sp + off; return PT_UNWIND_END_GOING_ON;
    case PT_CFA_FP:
        *ret_cfa = state->fp + off;
        return state->is_fp_lost ? PT_UNWIND_END_NO_RULE : PT_UNWIND_END_GOING_ON;
    case PT_CFA_REG:
        if (!register_value(state, rule->cfa_reg, &value)) return PT_UNWIND_END_NO_RULE;
        *ret_cfa = value + off;
        return PT_UNWIND_END_GOING_ON;
    case PT_CFA_DEREF:
        if (!register_value(state, rule->cfa_reg, &value)) return PT_UNWIND_END_NO_RULE;
        return read_word(limits, state->sp, value + off, ret_cfa) ? PT_UNWIND_END_GOING_ON
                                                                  : PT_UNWIND_END_BAD_READ;
    case PT_CFA_PLT:
        *ret_cfa = state->sp + off + ((state->pc & 15) >= rule->cfa_reg ? WORD : 0);
        return PT_UNWIND_END_GOING_ON;
    default: return PT_UNWIND_END_NO_RULE;
    }
}

static inline uint64_t slot_addr(const pt_unwind_state *state, uint64_t cfa, unsigned slot,
                                 int16_t off)
{
    const uint64_t base = slot == PT_SLOT_AT_CFA  ? cfa
                          : slot == PT_SLOT_AT_SP ? state->sp
                                                  : state->fp;
    return base + (uint64_t)((int64_t)off * WORD);
}

/* ---- steps ---- */

/* caller's fp | return address, at fp (System V ABI, AMD64, 3.2.2; AAPCS64 6.4.6 has the same). */
static pt_unwind_end step_fp(pt_unwind_state *state, const pt_unwind_modules *modules,
                             const pt_unwind_limits *limits)
{
    const uint64_t fp = state->fp;
    if (state->is_fp_lost) return PT_UNWIND_END_NO_RULE;
    /* The ABI asks for a zero in the outermost frame; in the innermost one it may be anything. */
    if (fp == 0 && state->is_fp_walk) return PT_UNWIND_END_ROOT;
    uint64_t pc, caller_fp;
    if (fp < state->sp || !read_word(limits, state->sp, fp, &caller_fp) ||
        !read_word(limits, state->sp, fp + WORD, &pc))
        return PT_UNWIND_END_NO_RULE;
    pc = pt_unwind_plain_pc(pc);
    if (pc == 0) {
        state->is_unchecked = true;
        return PT_UNWIND_END_ROOT;
    }
    if (pt_unwind_module_at(modules, pc - 1) == NULL) return PT_UNWIND_END_NO_RULE;
    *state = (pt_unwind_state){.pc = pc,
                               .sp = fp + 2 * WORD,
                               .fp = caller_fp,
                               .is_return = true,
                               .is_fp_walk = true,
                               .is_unchecked = true};
    return PT_UNWIND_END_GOING_ON;
}

/* Registers of what a signal interrupted, by DWARF number; NULL where they cannot be read.
 * aarch64's lie in that order in the signal's frame, with pc last: a leaf needs the link register.
 */
static const uint64_t *interrupted_regs(const pt_unwind_state *state, const pt_unwind_rule *rule,
                                        const pt_unwind_limits *limits)
{
#if defined(__aarch64__)
    enum { BYTES = PT_UNWIND_REGS * WORD };
    const uint64_t addr = slot_addr(state, 0, rule->pc_slot, rule->pc_off) + WORD - BYTES;
    if (!rule->is_signal || rule->pc_slot != PT_SLOT_AT_SP || addr % WORD != 0 ||
        addr < state->sp || addr >= limits->limit || limits->limit - addr < BYTES)
        return NULL;
    const uint8_t *const at = limits->copy != NULL ? limits->copy + (addr - limits->low)
                                                   : (const uint8_t *)(uintptr_t)addr;
    return (uintptr_t)at % WORD == 0 ? (const uint64_t *)(const void *)at : NULL;
#else
    (void)state;
    (void)rule;
    (void)limits;
    return NULL;
#endif
}

static inline pt_unwind_end step_rule(pt_unwind_state *state, const pt_unwind_rule *rule,
                                      const pt_unwind_limits *limits)
{
    uint64_t cfa, pc, fp = state->fp;
    bool is_fp_lost = state->is_fp_lost;
    if (rule->pc_slot == PT_SLOT_UNDEFINED) return PT_UNWIND_END_ROOT;
    const pt_unwind_end end = cfa_of(state, rule, limits, &cfa);
    if (end != PT_UNWIND_END_GOING_ON) return end;
    if (cfa % WORD != 0 || cfa < state->sp || cfa > limits->limit) return PT_UNWIND_END_BAD_READ;

    switch (rule->pc_slot) {
    case PT_SLOT_AT_FP:
    case PT_SLOT_AT_CFA:
    case PT_SLOT_AT_SP:
        if (rule->pc_slot == PT_SLOT_AT_FP && state->is_fp_lost) return PT_UNWIND_END_NO_RULE;
        if (cfa == state->sp) return PT_UNWIND_END_BAD_READ; /* a saved pc takes room */
        if (!read_word(limits, state->sp, slot_addr(state, cfa, rule->pc_slot, rule->pc_off), &pc))
            return PT_UNWIND_END_BAD_READ;
        break;
    case PT_SLOT_SAME: /* in a link register, which only the innermost frame still has */
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
        if (!read_word(limits, state->sp, slot_addr(state, cfa, rule->fp_slot, rule->fp_off), &fp))
            return PT_UNWIND_END_BAD_READ;
        is_fp_lost = false;
        break;
    default: is_fp_lost = true;
    }
    pc = pt_unwind_plain_pc(pc);
    if (pc == 0) return PT_UNWIND_END_ROOT; /* the ABI's other way to say it; libgcc reads it so */
    if (pc < 4096) return PT_UNWIND_END_BAD_READ;
    *state = (pt_unwind_state){.pc = pc,
                               .sp = cfa,
                               .fp = fp,
                               .regs = interrupted_regs(state, rule, limits),
                               .is_return = !rule->is_signal,
                               .is_fp_lost = is_fp_lost,
                               .is_unchecked = state->is_unchecked};
    return PT_UNWIND_END_GOING_ON;
}

/* Registers of a frame that are gone on from. */
typedef struct {
    uint64_t pc, sp, fp;
    bool is_fp_lost;
} registers;

/* By a slot of kind PT_SLOT_BY_SP or _FP; sp is in the limits. False, and nothing is changed:
 * something is wrong. */
static inline bool step_usual(registers *at, const pt_unwind_slot *slot,
                              const pt_unwind_limits *limits)
{
    uint64_t cfa = at->sp + (uint64_t)slot->number * WORD, pc, fp = at->fp;
    if (slot->kind == PT_SLOT_BY_FP) {
        if (at->is_fp_lost) return false;
        cfa = at->fp + (uint64_t)slot->number * WORD;
    }
    if (cfa % WORD != 0 || cfa <= at->sp || cfa > limits->limit) return false;
    if (!read_word(limits, at->sp, cfa - WORD, &pc) || pc < 4096) return false;
    if (slot->fp_off != 0) {
        const uint64_t addr = cfa + (uint64_t)((int64_t)slot->fp_off * WORD);
        if (!read_word(limits, at->sp, addr, &fp)) return false;
        at->is_fp_lost = false;
    }
    at->pc = pc;
    at->sp = cfa;
    at->fp = fp;
    return true;
}

static registers registers_of(const pt_unwind_state *state)
{
    return (registers){state->pc, state->sp, state->fp, state->is_fp_lost};
}

/* The state after steps by slots. */
static void set_registers(pt_unwind_state *state, const registers *at)
{
    state->pc = at->pc;
    state->sp = at->sp;
    state->fp = at->fp;
    state->regs = NULL;
    state->is_return = true;
    state->is_fp_lost = at->is_fp_lost;
    state->is_fp_walk = false;
}

static bool is_sp_good(const pt_unwind_state *state, const pt_unwind_limits *limits)
{
    return state->sp >= limits->low && state->sp <= limits->limit && state->sp % WORD == 0;
}

static inline pt_unwind_end step(pt_unwind_state *state, const pt_unwind_modules *modules,
                                 const pt_unwind_module **last, const pt_unwind_limits *limits,
                                 pt_unwind_cache *cache)
{
    const uint64_t pc = state->pc - state->is_return;
    pt_unwind_slot slot;
    if (!is_sp_good(state, limits)) return PT_UNWIND_END_BAD_READ;
    if (cache == NULL) {
        slot = slot_of(modules, last, pc);
    } else {
        pt_unwind_slot *const kept = slot_in(cache, pc);
        if (__builtin_expect(!is_of(kept, modules, pc), 0)) fill(kept, modules, last, pc);
        slot = *kept;
    }
    if (__builtin_expect(slot.kind >= PT_SLOT_BY_SP, 1)) {
        registers at = registers_of(state);
        if (step_usual(&at, &slot, limits)) {
            set_registers(state, &at);
            return PT_UNWIND_END_GOING_ON;
        }
    }
    if (slot.kind == PT_SLOT_ROOT) return PT_UNWIND_END_ROOT;
    if (slot.kind == PT_SLOT_FRAME_POINTER) return step_fp(state, modules, limits);
    return step_rule(state, rule_of(&slot, modules, last, pc), limits);
}

pt_unwind_end pt_unwind_step(pt_unwind_state *state, const pt_unwind_modules *modules,
                             const pt_unwind_limits *limits, pt_unwind_cache *cache)
{
    const pt_unwind_module *last = NULL;
    return step(state, modules, &last, limits, cache);
}

/* Takes usual steps, in registers, as far as slots are there and all is well; returns the depth. */
static uint32_t walk_usual(pt_unwind_state *state, const pt_unwind_modules *modules,
                           const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                           uint32_t depth, uint32_t cap)
{
    registers at = registers_of(state);
    const uint32_t first = depth;
    uint64_t pc = at.pc - state->is_return;
    if (!is_sp_good(state, limits)) return depth;
    while (depth < cap) {
        const pt_unwind_slot *const slot = slot_in(cache, pc);
        if (!is_of(slot, modules, pc) || slot->kind < PT_SLOT_BY_SP ||
            !step_usual(&at, slot, limits))
            break;
        pcs[depth++] = at.pc;
        pc = at.pc - 1;
    }
    if (depth > first) set_registers(state, &at);
    return depth;
}

uint32_t pt_unwind(pt_unwind_state *state, const pt_unwind_modules *modules,
                   const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                   uint32_t cap, pt_unwind_end *ret_end)
{
    pt_unwind_state at = *state;
    const pt_unwind_module *last = NULL;
    pt_unwind_end end = PT_UNWIND_END_TRUNCATED;
    uint32_t depth = 0;
    if (cap > 0) pcs[depth++] = at.pc;
    while (depth > 0) {
        if (cache != NULL) depth = walk_usual(&at, modules, limits, cache, pcs, depth, cap);
        end = step(&at, modules, &last, limits, cache);
        if (end != PT_UNWIND_END_GOING_ON) break;
        if (depth == cap) {
            end = PT_UNWIND_END_TRUNCATED;
            break;
        }
        pcs[depth++] = at.pc + !at.is_return;
    }
    *state = at;
    *ret_end = end;
    return depth;
}
