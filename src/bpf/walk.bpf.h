/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* walk.bpf.h: walks a stack in the kernel: the hooks of unwind/step.h, and one step.
 *
 * The includer defines the access to map elements: pool_chunk, read_stack, and the functions below
 * (sample.bpf.c; a test in user space).
 *
 * The step and both searches are global functions with integer arguments, so the verifier checks
 * each once, whatever calls it; a loop of a thousand steps adds only the loop to its work.
 */
#pragma once

#include "bpf/layout.h"

/* The machine whose stacks are walked; a test in user space sets another. */
#if !defined(PT_BPF_MACHINE)
#define PT_BPF_MACHINE PT_MACHINE_HOST
#endif

/* search_mapping and search_rule (below) for the state of a cpu. */
int pt_bpf_search_mapping(uint32_t cpu, uint64_t addr);
int pt_bpf_search_rule(uint32_t cpu, uint64_t addr);

#define inline inline __attribute__((always_inline))

/* Hides a value from the compiler's optimiser, which could otherwise remove checks that the
 * verifier needs. */
#define BARRIER(value) __asm__ volatile("" : "+r"(value))

/* ---- hooks of step.h ---- */

typedef pt_bpf_cpu pt_step_stack;
typedef pt_bpf_cpu pt_step_code;

/* Reads a word of the stack. Reads whole windows, since neighbouring words are usually needed too.
 */
static inline bool load_word(pt_bpf_cpu *c, uint64_t addr, uint64_t *ret_word)
{
    const uint64_t start = addr & ~(uint64_t)(PT_BPF_WINDOW_BYTES - 1);
    if (c->window_start != start) {
        c->window_start = 1;
        if (!read_stack(c->window, sizeof c->window, start)) return false;
        c->window_start = start;
    }
    uint64_t word = addr / 8;
    BARRIER(word);
    *ret_word = c->window[word & (PT_BPF_WINDOW_BYTES / 8 - 1)];
    return true;
}

static inline bool register_of(const pt_unwind_state *state, unsigned reg, uint64_t *ret_value)
{
    const pt_bpf_cpu *const c = (const pt_bpf_cpu *)(const void *)state->regs;
    uint64_t at = reg;
    if (c == NULL) return false;
    BARRIER(at);
    if (at >= PT_MACHINE_REGS_MAX) return false;
    *ret_value = c->regs[at];
    return true;
}

/* Reads the registers that the stack has at addr into c->regs, in place of those of the innermost
 * frame. NULL: unreadable. */
static inline const uint64_t *load_regs(pt_bpf_cpu *c, uint64_t addr)
{
    return read_stack(c->regs, sizeof c->regs, addr) ? (const uint64_t *)(const void *)c : NULL;
}

/* ---- the pool ---- */

/* The bytes at a place in the pool. NULL: there is no such place, or the bytes cross the end of
 * their chunk. */
static inline const void *pool_at(uint32_t word, uint32_t bytes)
{
    const uint8_t *const chunk = pool_chunk(word >> PT_BPF_CHUNK_BITS);
    uint64_t at = (uint64_t)word * 4;
    if (chunk == NULL) return NULL;
    BARRIER(at);
    at &= PT_BPF_CHUNK_BYTES - 1;
    return at <= PT_BPF_CHUNK_BYTES - bytes ? chunk + at : NULL;
}

/* ---- rules ---- */

enum { SEARCH_STEPS = 16 }; /* enough for PT_BPF_MAPPINGS_MAX and for the rows of a page */
enum { MAPPING_WORDS = sizeof(pt_bpf_mapping) / 4 };

/* Sets c->last to the mapping that contains addr. Returns 0 if there is none. */
static inline int search_mapping(pt_bpf_cpu *c, uint64_t addr)
{
    uint32_t low = 0, n = c->mapping_count;
    for (int i = 0; i < SEARCH_STEPS && n > 0; i++) {
        const uint32_t half = n / 2;
        const pt_bpf_mapping *const m =
            pool_at(c->mappings + (low + half) * MAPPING_WORDS, sizeof *m);
        if (m == NULL) return 0;
        if (m->start <= addr) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    if (low == 0) return 0;
    const pt_bpf_mapping *const m = pool_at(c->mappings + (low - 1) * MAPPING_WORDS, sizeof *m);
    if (m == NULL || addr >= m->limit) return 0;
    c->last = *m;
    return 1;
}

static inline bool find_mapping(pt_bpf_cpu *c, uint64_t addr)
{
    return addr - c->last.start < c->last.limit - c->last.start ||
           pt_bpf_search_mapping(c->cpu, addr) != 0;
}

static inline bool is_code(pt_bpf_cpu *c, uint64_t addr)
{
    return find_mapping(c, addr);
}

/* The number of the rule at addr in c->last; 0: none. */
static inline uint32_t search_rule(pt_bpf_cpu *c, uint64_t addr)
{
    const uint64_t at = addr - c->last.base;
    const uint64_t page = at >> PT_UNWIND_PAGE_BITS;
    const uint32_t key = (uint32_t)at & ((1 << PT_UNWIND_PAGE_BITS) - 1);
    if (page >= c->last.page_count) return 0;
    const uint32_t *const pages = pool_at(c->last.pages + (uint32_t)page, 2 * sizeof *pages);
    if (pages == NULL) return 0;
    uint32_t low = pages[0], n = pages[1], rule = 0;
    if (low >= n || n > c->last.row_count) return 0;
    n -= low;
    for (int i = 0; i < SEARCH_STEPS && n > 0; i++) {
        const uint32_t half = n / 2;
        const uint32_t *const row = pool_at(c->last.rows + low + half, sizeof *row);
        if (row == NULL) return 0;
        if ((*row & 0xffff) <= key) {
            rule = *row >> 16;
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return rule;
}

static inline uint32_t rule_number(pt_bpf_cpu *c, uint64_t addr)
{
    return (uint32_t)pt_bpf_search_rule(c->cpu, addr);
}

static inline void read_rule(pt_bpf_cpu *c, uint32_t number, pt_unwind_rule *ret_rule)
{
    const pt_unwind_rule *rule = NULL;
    if (number < c->last.rule_count) rule = pool_at(c->last.rules + number * 3, sizeof *rule);
    *ret_rule = rule != NULL ? *rule : (pt_unwind_rule){.cfa_kind = PT_CFA_NONE};
}

#include "unwind/step.h"

/* ---- a step ---- */

static inline uint64_t mix_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Makes a slot for the rule at pc. Returns false if user space must walk. */
static inline bool fill_slot(pt_bpf_cpu *c, uint64_t pc, pt_unwind_slot *ret_slot)
{
    pt_unwind_slot slot = {.pc = pc, .generation = c->generation};
    pt_unwind_rule rule = {.cfa_kind = PT_CFA_NONE};
    uint32_t number = 0;
    bool has_base_table = false;
    if (find_mapping(c, pc)) {
        if (c->last.kind == PT_BPF_LATER) return false;
        rule.cfa_kind = PT_CFA_FRAME_POINTER;
        if (c->last.kind == PT_BPF_TABLE) {
            number = rule_number(c, pc);
            read_rule(c, number, &rule);
        }
        has_base_table = c->last.base_table != 0;
    }
    put_rule(&slot, PT_BPF_MACHINE, &rule, has_base_table);
    if (slot.kind == PT_SLOT_RULE) slot.number = (uint16_t)number;
    *ret_slot = slot;
    return true;
}

/* Steps by frame pointer through code without a rule: interpreters and assembly keep frame
 * pointers. This equals step_by_fp of the second walk in user space (unwind/copied.c) and is marked
 * in the same way: the stack counts only if it reaches the thread's start. */
static inline pt_unwind_end step_without_rule(pt_bpf_cpu *c, pt_unwind_state *at, uint64_t pc)
{
    uint64_t fp, caller;
    if (!c->follows_fp || !find_mapping(c, pc) || at->is_fp_lost || at->fp < at->sp ||
        !read_word(PT_BPF_MACHINE, c, at->sp, at->fp, &fp) ||
        !read_word(PT_BPF_MACHINE, c, at->sp, at->fp + WORD, &caller))
        return PT_UNWIND_END_NO_RULE;
    caller = pt_machine_plain_pc(PT_BPF_MACHINE, caller);
    if (caller == 0 || !is_code(c, caller - 1)) return PT_UNWIND_END_NO_RULE;
    *at = (pt_unwind_state){.pc = caller,
                            .sp = at->fp + 2 * WORD,
                            .fp = fp,
                            .is_return = true,
                            .is_fp_walk = true,
                            .is_unchecked = true};
    return PT_UNWIND_END_GOING_ON;
}

/* Finds the base register of a frame's caller. Leaves no mapping in c->last, so that the next step
 * searches its own. */
static inline void follow_base(pt_bpf_cpu *c, const pt_unwind_state *from, uint64_t pc,
                               pt_unwind_state *to)
{
    pt_unwind_rule rule;
    const pt_bpf_mapping *const table =
        pool_at(c->mappings + c->last.base_table * MAPPING_WORDS, sizeof *table);
    if (table == NULL) return;
    c->last = *table;
    read_rule(c, rule_number(c, pc), &rule);
    step_base(PT_BPF_MACHINE, from, &rule, c, to);
}

static inline pt_unwind_end step_by_slot(pt_bpf_cpu *c, pt_unwind_state *at,
                                         const pt_unwind_slot *slot, uint64_t pc)
{
    pt_unwind_rule rule = {.cfa_kind = PT_CFA_NONE};
    const pt_unwind_state from = *at;
    bool has_base_table = false;
    if (slot->kind == PT_SLOT_ROOT) return PT_UNWIND_END_ROOT;
    if (slot->kind == PT_SLOT_NO_RULE) return step_without_rule(c, at, pc);
    if (slot->kind == PT_SLOT_FRAME_POINTER) return step_fp(PT_BPF_MACHINE, at, c, c);
    if (find_mapping(c, pc)) {
        read_rule(c, slot->kind == PT_SLOT_RULE ? slot->number : rule_number(c, pc), &rule);
        has_base_table = c->last.base_table != 0;
    }
    const pt_unwind_end end = step_rule(PT_BPF_MACHINE, at, &rule, c);
    if (end == PT_UNWIND_END_GOING_ON && has_base_table && knows_base(&from))
        follow_base(c, &from, pc, at);
    return end;
}

/* Notes the function of V8 of the frame that a step by frame pointer has just left. */
static inline void note_v8_frame(pt_bpf_cpu *c, uint64_t pc, uint64_t fp)
{
    uint64_t below[2] = {0, 0}, at = c->v8.count; /* the function, the context */
    if (fp % WORD != 0 || !load_word(c, fp - 2 * WORD, &below[0]) ||
        !load_word(c, fp - WORD, &below[1]) || !pt_v8_is_tagged(below[0]) ||
        !pt_v8_is_tagged(below[1]))
        return;
    BARRIER(at);
    if (at >= PT_BPF_FRAMES_MAX) return;
    if (at == 0) {
        c->v8.is_in_file =
            c->last.kind == PT_BPF_TABLE && pc >= c->last.start && pc < c->last.limit;
        if (!load_word(c, fp - 4 * WORD, &c->v8.bytecode)) c->v8.bytecode = 0;
        if (!load_word(c, fp - 5 * WORD, &c->v8.position)) c->v8.bytecode = 0;
    }
    c->v8.frames[at].function = below[0];
    c->v8.frames[at].place = c->stack.count - 1;
    c->v8.count = (uint32_t)at + 1;
}

/* Steps one frame outwards and appends it. Returns GOING_ON, or why the walk ends. */
static inline pt_unwind_end step_frame(pt_bpf_cpu *c)
{
    pt_unwind_state at = {.pc = c->pc,
                          .sp = c->sp,
                          .fp = c->fp,
                          .regs = c->has_regs != 0 ? (const uint64_t *)(const void *)c : NULL,
                          .base = c->base,
                          .has_base = c->has_base & 1,
                          .is_return = c->is_return & 1,
                          .is_fp_lost = c->is_fp_lost & 1,
                          .is_fp_walk = c->is_fp_walk & 1,
                          .is_unchecked = c->is_unchecked & 1};
    const uint64_t pc = at.pc - at.is_return, fp = at.fp, sp = at.sp;
    const bool has_fp = !at.is_fp_lost;
    if (at.sp < c->low || at.sp > c->limit || at.sp % WORD != 0) return PT_UNWIND_END_BAD_READ;
    pt_unwind_slot *const kept = &c->slots[pc * UINT64_C(0x9e3779b97f4a7c15) >> 52];
    if (kept->pc != pc || kept->generation != c->generation) {
        pt_unwind_slot slot;
        if (!fill_slot(c, pc, &slot)) return PT_UNWIND_END_NO_RULE;
        *kept = slot;
    }
    pt_unwind_end end = PT_UNWIND_END_NO_RULE;
    registers usual = {at.pc, at.sp, at.fp, at.is_fp_lost};
    if (kept->kind >= PT_SLOT_BY_SP && step_usual(PT_BPF_MACHINE, &usual, kept, c)) {
        c->pc = usual.pc;
        c->sp = usual.sp;
        c->fp = usual.fp;
        c->is_fp_lost = usual.is_fp_lost;
        c->is_return = true;
        c->is_fp_walk = c->has_regs = c->has_base = false;
    } else {
        end = step_by_slot(c, &at, kept, pc);
        c->is_unchecked = at.is_unchecked;
        if (end != PT_UNWIND_END_GOING_ON) return end;
        c->pc = at.pc;
        c->sp = at.sp;
        c->fp = at.fp;
        c->base = at.base;
        c->has_base = at.has_base;
        c->is_fp_lost = at.is_fp_lost;
        c->is_return = at.is_return;
        c->is_fp_walk = at.is_fp_walk;
        c->has_regs = at.regs != NULL;
    }
    /* V8's code has no rules. The step has read the return address just above the frame pointer, so
     * the frame pointer is on the stack. The innermost frame has its function only if the stack
     * pointer is below. */
    if (c->v8.is_wanted != 0 && has_fp && c->is_fp_walk && c->sp == fp + 2 * WORD && fp >= sp &&
        fp - sp >= 2 * WORD)
        note_v8_frame(c, pc, fp);
    uint64_t count = c->stack.count;
    BARRIER(count);
    if (count >= PT_BPF_DEPTH_MAX) return PT_UNWIND_END_TRUNCATED;
    c->stack.pcs[count] = c->pc + !c->is_return;
    c->hash = mix_hash(c->hash, c->stack.pcs[count]);
    c->stack.count = (uint32_t)count + 1;
    return PT_UNWIND_END_GOING_ON;
}

/* Starts a walk at the innermost frame; pc, sp, fp and regs are set. */
static inline void begin_walk(pt_bpf_cpu *c, const pt_bpf_process *process)
{
    c->generation = process->generation;
    c->mappings = process->mappings;
    c->mapping_count = process->mapping_count;
    c->low = 0;
    c->limit = PT_BPF_MACHINE->stack_limit;
    c->is_return = c->is_fp_lost = c->is_fp_walk = c->is_unchecked = c->has_base = false;
    c->has_regs = c->follows_fp = true;
    c->window_start = 1;
    c->v8.count = 0;
    c->last.start = c->last.limit = 0;
    c->stack.pcs[0] = c->pc;
    c->stack.count = 1;
    c->hash = mix_hash(0, c->pc);
}
