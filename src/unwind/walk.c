/* walk.c: steps of a frame, and walks of a stack. Runs in signal handlers: see unwind.h. */
#include "unwind/step_memory.h"

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

/* The rule at pc; its cfa_kind is PT_CFA_NONE or PT_CFA_FRAME_POINTER if the table has none. *last:
 * the module of the previous frame (callers are often in the same module), or NULL. *last becomes
 * pc's module. */
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

static inline pt_unwind_slot slot_of(const pt_machine *machine, const pt_unwind_modules *modules,
                                     const pt_unwind_module **last, uint64_t pc)
{
    const pt_unwind_rule *const rule = rule_at(modules, last, pc);
    pt_unwind_slot slot = {.pc = pc, .generation = modules->generation};
    put_rule(&slot, machine, rule, *last != NULL && (*last)->base_table != NULL);
    if (slot.kind == PT_SLOT_RULE) slot.number = (uint16_t)(rule - (*last)->table->rules);
    return slot;
}

/* Fills a slot of the cache. */
static __attribute__((noinline)) void fill_slot(const pt_machine *machine, pt_unwind_slot *slot,
                                                const pt_unwind_modules *modules,
                                                const pt_unwind_module **last, uint64_t pc)
{
    *slot = slot_of(machine, modules, last, pc);
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

/* The rule of a slot. */
static const pt_unwind_rule *rule_of(const pt_unwind_slot *slot, const pt_unwind_modules *modules,
                                     const pt_unwind_module **last)
{
    const uint64_t pc = slot->pc;
    const pt_unwind_module *module = *last;
    if (slot->kind != PT_SLOT_RULE) return rule_at(modules, last, pc);
    if (module == NULL || pc - module->start >= module->limit - module->start)
        *last = module = pt_unwind_module_at(modules, pc);
    return module != NULL && module->table != NULL && slot->number < module->table->rule_count
               ? &module->table->rules[slot->number]
               : rule_at(modules, last, pc);
}

static registers registers_of(const pt_unwind_state *state)
{
    return (registers){state->pc, state->sp, state->fp, state->is_fp_lost};
}

/* Sets the state after a series of steps by slots. */
static void set_registers(pt_unwind_state *state, const registers *at)
{
    state->pc = at->pc;
    state->sp = at->sp;
    state->fp = at->fp;
    state->regs = NULL;
    state->has_base = false;
    state->is_return = true;
    state->is_fp_lost = at->is_fp_lost;
    state->is_fp_walk = false;
}

/* Steps by the rule of a slot; follows the base register in modules that need it. */
static inline pt_unwind_end step_slot(const pt_machine *machine, pt_unwind_state *state,
                                      const pt_unwind_slot *slot, const pt_unwind_modules *modules,
                                      const pt_unwind_module **last, const pt_unwind_limits *limits)
{
    const pt_unwind_state from = *state;
    const pt_unwind_rule *const rule = rule_of(slot, modules, last);
    const pt_unwind_table *const base_table = *last != NULL ? (*last)->base_table : NULL;
    const pt_unwind_end end = step_rule(machine, state, rule, limits);
    if (end == PT_UNWIND_END_GOING_ON && base_table != NULL && knows_base(&from))
        step_base(machine, &from, pt_unwind_table_rule(base_table, slot->pc - (*last)->bias),
                  limits, state);
    return end;
}

static bool is_sp_good(const pt_unwind_state *state, const pt_unwind_limits *limits)
{
    return state->sp >= limits->low && state->sp <= limits->limit && state->sp % WORD == 0;
}

static inline __attribute__((always_inline)) pt_unwind_end
step_frame(const pt_machine *machine, pt_unwind_state *state, const pt_unwind_modules *modules,
           const pt_unwind_module **last, const pt_unwind_limits *limits, pt_unwind_cache *cache)
{
    const uint64_t pc = state->pc - state->is_return;
    pt_unwind_slot slot;
    if (!is_sp_good(state, limits)) return PT_UNWIND_END_BAD_READ;
    if (cache == NULL) {
        slot = slot_of(machine, modules, last, pc);
    } else {
        pt_unwind_slot *const kept = slot_in(cache, pc);
        if (__builtin_expect(!is_of(kept, modules, pc), 0))
            fill_slot(machine, kept, modules, last, pc);
        slot = *kept;
    }
    if (__builtin_expect(slot.kind >= PT_SLOT_BY_SP, 1)) {
        registers at = registers_of(state);
        if (step_usual(machine, &at, &slot, limits)) {
            set_registers(state, &at);
            return PT_UNWIND_END_GOING_ON;
        }
    }
    if (slot.kind == PT_SLOT_ROOT) return PT_UNWIND_END_ROOT;
    if (slot.kind == PT_SLOT_FRAME_POINTER) return step_fp(machine, state, modules, limits);
    return step_slot(machine, state, &slot, modules, last, limits);
}

/* Takes usual steps (PT_SLOT_BY_SP, PT_SLOT_BY_FP), in registers, while slots are cached and values
 * plausible. Returns the depth. */
static inline uint32_t walk_usual(const pt_machine *machine, pt_unwind_state *state,
                                  const pt_unwind_modules *modules, const pt_unwind_limits *limits,
                                  pt_unwind_cache *cache, uint64_t *pcs, uint32_t depth,
                                  uint32_t cap)
{
    registers at = registers_of(state);
    const uint32_t first = depth;
    uint64_t pc = at.pc - state->is_return;
    if (!is_sp_good(state, limits)) return depth;
    while (depth < cap) {
        const pt_unwind_slot *const slot = slot_in(cache, pc);
        if (!is_of(slot, modules, pc) || slot->kind < PT_SLOT_BY_SP ||
            !step_usual(machine, &at, slot, limits))
            break;
        pcs[depth++] = at.pc;
        pc = at.pc - 1;
    }
    if (depth > first) set_registers(state, &at);
    return depth;
}

static inline __attribute__((always_inline)) uint32_t
walk_stack(const pt_machine *machine, pt_unwind_state *state, const pt_unwind_modules *modules,
           const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs, uint32_t cap,
           pt_unwind_end *ret_end)
{
    pt_unwind_state at = *state;
    const pt_unwind_module *last = NULL;
    pt_unwind_end end = PT_UNWIND_END_TRUNCATED;
    uint32_t depth = 0;
    if (cap > 0) pcs[depth++] = at.pc;
    while (depth > 0) {
        if (cache != NULL)
            depth = walk_usual(machine, &at, modules, limits, cache, pcs, depth, cap);
        end = step_frame(machine, &at, modules, &last, limits, cache);
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

/* ---- for the host, and for other machines ---- */

static __attribute__((noinline)) pt_unwind_end step_foreign(pt_unwind_state *state,
                                                            const pt_unwind_modules *modules,
                                                            const pt_unwind_limits *limits,
                                                            pt_unwind_cache *cache)
{
    const pt_unwind_module *last = NULL;
    return step_frame(modules->machine, state, modules, &last, limits, cache);
}

pt_unwind_end pt_unwind_step(pt_unwind_state *state, const pt_unwind_modules *modules,
                             const pt_unwind_limits *limits, pt_unwind_cache *cache)
{
    const pt_unwind_module *last = NULL;
    return modules->machine == NULL
               ? step_frame(PT_MACHINE_HOST, state, modules, &last, limits, cache)
               : step_foreign(state, modules, limits, cache);
}

static __attribute__((noinline)) uint32_t walk_foreign(pt_unwind_state *state,
                                                       const pt_unwind_modules *modules,
                                                       const pt_unwind_limits *limits,
                                                       pt_unwind_cache *cache, uint64_t *pcs,
                                                       uint32_t cap, pt_unwind_end *ret_end)
{
    return walk_stack(modules->machine, state, modules, limits, cache, pcs, cap, ret_end);
}

uint32_t pt_unwind(pt_unwind_state *state, const pt_unwind_modules *modules,
                   const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                   uint32_t cap, pt_unwind_end *ret_end)
{
    return modules->machine == NULL
               ? walk_stack(PT_MACHINE_HOST, state, modules, limits, cache, pcs, cap, ret_end)
               : walk_foreign(state, modules, limits, cache, pcs, cap, ret_end);
}
