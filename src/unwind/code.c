/* code.c: rules from the code itself, for functions that come without call frame information
 * (musl's, hand-written assembly). x86-64.
 *
 * A function is followed from its first instruction along jumps; before each instruction it is
 * known how far rsp, or rbp, lies below the CFA, and where rbp was saved. Two ways to an
 * instruction that disagree: the second is not believed where it differs in what matters, and the
 * instruction has no rule. Where a jump goes through a table, what lies behind it unreached begins
 * with what was true at the jump.
 *
 * Three idioms are known: `xor ebp, ebp` in a function that has not saved rbp marks the outermost
 * frame (System V ABI, AMD64, 3.4.1); the entry point has no caller; `mov rax, 15; syscall` is the
 * trampoline that a signal handler returns to.
 */
#include "unwind/sources.h"

#include <string.h>

#include "unwind/x86.h"

enum { WORD = 8, FP = 5 };

typedef struct {
    const pt_elf *elf;
    const uint8_t *bytes;
    uint64_t addr;
    uint32_t size;
    const pt_code_hooks *hooks;
    pt_code_state *states;
    uint32_t frontier; /* the lowest place that is to be followed, or size */
    bool returns;
} following;

/* ---- one instruction ---- */

static void push(pt_code_state *s, int reg)
{
    s->sp_off += WORD;
    if (reg == FP && s->has_sp && s->saved == 0 && !s->is_fp_lost && s->sp_off / WORD < 4096)
        s->saved = (int16_t)(-s->sp_off / WORD);
}

static void lose_fp(pt_code_state *s)
{
    s->has_fp = false;
    if (s->saved == 0) s->is_fp_lost = true;
}

static void pop(pt_code_state *s, int reg)
{
    const bool is_saved_one = s->has_sp && s->saved != 0 && s->sp_off == -s->saved * WORD;
    s->sp_off -= WORD;
    if (reg == 4) s->has_sp = false;
    if (reg != FP) return;
    lose_fp(s);
    if (is_saved_one) s->saved = 0, s->is_fp_lost = false;
}

static void leave(pt_code_state *s)
{
    s->has_sp = s->has_fp;
    s->sp_off = s->fp_off;
    pop(s, FP);
}

/* What is true after it. */
static pt_code_state after(pt_code_state s, const pt_x86_insn *insn)
{
    s.is_start = false;
    s.length = 0;
    switch (insn->kind) {
    case PT_X86_PUSH: push(&s, insn->value); break;
    case PT_X86_POP: pop(&s, insn->value); break;
    case PT_X86_ADD_SP: s.sp_off -= insn->value; break;
    case PT_X86_FP_FROM_SP:
        lose_fp(&s);
        s.has_fp = s.has_sp;
        s.fp_off = s.sp_off - insn->value;
        break;
    case PT_X86_SP_FROM_FP:
        s.has_sp = s.has_fp;
        s.sp_off = s.fp_off - insn->value;
        break;
    case PT_X86_LEAVE: leave(&s); break;
    case PT_X86_WRITES_SP: s.has_sp = false; break;
    case PT_X86_WRITES_FP: lose_fp(&s); break;
    case PT_X86_ZEROES_FP:
        if (s.saved == 0) s.is_root = true;
        lose_fp(&s);
        break;
    case PT_X86_CALL: /* of the next instruction: to learn the pc */
        if (insn->is_direct && insn->value == 0) push(&s, -1);
        break;
    default: break;
    }
    if (s.sp_off < 0 || s.sp_off > 1 << 28) s.has_sp = false;
    if (s.fp_off < 0 || s.fp_off > 1 << 28) s.has_fp = false;
    return s;
}

/* ---- ways to an instruction ---- */

static bool agree(const pt_code_state *a, const pt_code_state *b)
{
    return a->has_sp == b->has_sp && (!a->has_sp || a->sp_off == b->sp_off) &&
           a->has_fp == b->has_fp && (!a->has_fp || a->fp_off == b->fp_off) &&
           a->saved == b->saved && a->is_fp_lost == b->is_fp_lost && a->is_root == b->is_root;
}

/* What holds whichever way was taken. */
static pt_code_state meet(const pt_code_state *a, const pt_code_state *b)
{
    pt_code_state m = *a;
    m.has_sp = a->has_sp && b->has_sp && a->sp_off == b->sp_off;
    m.has_fp = a->has_fp && b->has_fp && a->fp_off == b->fp_off;
    m.is_root = a->is_root && b->is_root;
    if (a->saved != b->saved || a->is_fp_lost != b->is_fp_lost) {
        m.saved = 0;
        m.is_fp_lost = true;
    }
    return m;
}

/* A way leads to offset `to` with the state s. States only lose what they know, so that this ends.
 * True: it is to be followed from there. */
static bool arrive_at(following *f, int64_t to, const pt_code_state *s)
{
    if (to < 0 || to >= f->size) return false;
    pt_code_state *const there = &f->states[to];
    pt_code_state next = *s;
    if (there->is_known) {
        next = meet(there, s);
        if (agree(there, &next)) return !there->is_start;
    }
    next.is_known = true;
    next.is_start = false; /* to be followed */
    *there = next;
    return true;
}

static void arrive(following *f, int64_t to, const pt_code_state *s)
{
    if (arrive_at(f, to, s) && to < f->frontier) f->frontier = (uint32_t)to;
}

/* The word of `bytes` bytes at an address of the file. */
static bool word_at(const pt_elf *elf, uint64_t addr, unsigned bytes, int64_t *ret_value)
{
    uint64_t off;
    /* A segment may end behind the file. */
    if (!pt_elf_offset_of_addr(elf, addr, &off) || off > elf->size_bytes ||
        elf->size_bytes - off < bytes)
        return false;
    if (bytes == 4) {
        int32_t value;
        memcpy(&value, elf->bytes + off, 4);
        *ret_value = value;
    } else {
        memcpy(ret_value, elf->bytes + off, 8);
    }
    return true;
}

enum { TABLE_MAX = 4096 };

/* The targets of a jump through a table: entries up to the first that leads out of the function. */
static void arrive_by_table(following *f, uint64_t table, bool is_relative, const pt_code_state *s)
{
    const unsigned bytes = is_relative ? 4 : 8;
    for (uint32_t i = 0; i < TABLE_MAX; i++) {
        int64_t entry;
        if (!word_at(f->elf, table + (uint64_t)i * bytes, bytes, &entry)) return;
        const int64_t to = (int64_t)((is_relative ? table : 0) + (uint64_t)entry - f->addr);
        if (to < 0 || to >= f->size) return;
        arrive(f, to, s);
    }
}

/* A jump with the stack as it was at first, out of the function: the other one returns for it. */
static void arrive_or_leave(following *f, int64_t to, const pt_code_state *s)
{
    arrive(f, to, s);
    if (to >= 0 && to < f->size) return;
    const uint64_t target = f->addr + (uint64_t)to;
    f->returns |= f->hooks->returns(f->hooks->arg, target);
    if (s->has_sp && s->sp_off == WORD && f->hooks->leaves != NULL)
        f->hooks->leaves(f->hooks->arg, target);
}

static bool is_answered(const following *f)
{
    return f->returns && f->hooks->asks_only_returns;
}

/* Follows what is to be followed, straight on from a place. */
static void follow_from(following *f, uint32_t at)
{
    uint64_t taken = 0; /* the address that was taken last */
    while (at < f->size) {
        pt_code_state *const here = &f->states[at];
        pt_x86_insn insn;
        if (!here->is_known || here->is_start) return;
        here->is_start = true;
        if (!pt_x86_decode(f->bytes + at, f->size - at, &insn)) {
            here->has_sp = here->has_fp = false;
            return;
        }
        here->length = insn.length;
        const pt_code_state next = after(*here, &insn);
        const int64_t target = (int64_t)at + insn.length + insn.value;
        if (insn.kind == PT_X86_ADDRESS) taken = f->addr + (uint64_t)target;
        if ((insn.kind == PT_X86_JUMP || insn.kind == PT_X86_BRANCH) && insn.is_direct)
            arrive_or_leave(f, target, &next);
        else if (insn.kind == PT_X86_JUMP && insn.value != 0)
            arrive_by_table(f, (uint64_t)(int64_t)insn.value, false, &next);
        else if (insn.kind == PT_X86_JUMP && taken != 0)
            arrive_by_table(f, taken, true, &next);
        f->returns |= insn.kind == PT_X86_RETURN || (insn.kind == PT_X86_JUMP && !insn.is_direct);
        if (insn.kind == PT_X86_JUMP || insn.kind == PT_X86_RETURN || insn.kind == PT_X86_STOP)
            return;
        if (insn.kind == PT_X86_CALL && insn.is_direct && insn.value != 0 &&
            !f->hooks->returns(f->hooks->arg, f->addr + (uint64_t)target))
            return;
        if (is_answered(f)) return;
        at += insn.length;
        if (!arrive_at(f, at, &next)) return;
    }
}

static void follow(following *f)
{
    /* Each state can lose what it knows a few times only; the bound is for damaged code. */
    for (uint64_t steps = 0;
         f->frontier < f->size && steps < 64 * (uint64_t)f->size && !is_answered(f); steps++) {
        const uint32_t from = f->frontier;
        f->frontier = f->size;
        follow_from(f, from);
        /* What else was arrived at lies below, and then it is the frontier, or above. */
        for (uint32_t at = from; at < f->frontier; at++)
            if (f->states[at].is_known && !f->states[at].is_start) f->frontier = at;
    }
}

/* ---- rules ---- */

static pt_unwind_rule rule_of(const pt_code_state *s)
{
    pt_unwind_rule rule = {.pc_slot = PT_SLOT_AT_CFA, .pc_off = -1, .fp_slot = PT_SLOT_SAME};
    if (s->is_root)
        return (pt_unwind_rule){
            .cfa_kind = PT_CFA_SP, .cfa_off = WORD, .pc_slot = PT_SLOT_UNDEFINED};
    if (s->has_sp && s->sp_off >= WORD) {
        rule.cfa_kind = PT_CFA_SP;
        rule.cfa_off = s->sp_off;
    } else if (s->has_fp) {
        rule.cfa_kind = PT_CFA_FP;
        rule.cfa_off = s->fp_off;
    } else {
        return (pt_unwind_rule){.cfa_kind = PT_CFA_NONE};
    }
    if (s->saved != 0) {
        rule.fp_slot = PT_SLOT_AT_CFA;
        rule.fp_off = s->saved;
    } else if (s->is_fp_lost) {
        rule.fp_slot = PT_SLOT_UNKNOWN;
    }
    return rule;
}

/* mov rax, 15; syscall. rsp points to a ucontext_t, whose registers begin at 40: rbp is the 11th,
 * rsp the 16th, rip the 17th (bits/types of sys/ucontext.h). */
bool pt_code_is_signal_trampoline(const uint8_t *bytes, uint64_t size)
{
    static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t narrow[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
    return (size >= sizeof wide && memcmp(bytes, wide, sizeof wide) == 0) ||
           (size >= sizeof narrow && memcmp(bytes, narrow, sizeof narrow) == 0);
}

static const pt_unwind_rule signal_rule = {
    .cfa_kind = PT_CFA_DEREF,
    .cfa_reg = 7,
    .cfa_off = 40 + 15 * WORD,
    .pc_slot = PT_SLOT_AT_SP,
    .pc_off = 5 + 16,
    .fp_slot = PT_SLOT_AT_SP,
    .fp_off = 5 + 10,
    .is_signal = 1,
};

/* The function's bytes; NULL if the file does not have them. */
static const uint8_t *bytes_of(const pt_elf *elf, const pt_unwind_function *function)
{
    uint64_t off;
    if (!pt_elf_offset_of_addr(elf, function->start_addr, &off) || off > elf->size_bytes ||
        elf->size_bytes - off < function->size_bytes)
        return NULL;
    return elf->bytes + off;
}

bool pt_code_follow(const pt_elf *elf, const pt_unwind_function *function,
                    const pt_code_hooks *hooks, pt_code_state *states)
{
    const uint32_t size = function->size_bytes;
    following f = {.elf = elf,
                   .bytes = bytes_of(elf, function),
                   .addr = function->start_addr,
                   .size = size,
                   .hooks = hooks,
                   .states = states,
                   .frontier = size};
    if (f.bytes == NULL) return true;
    memset(states, 0, size * sizeof *states);
    const pt_code_state first = {
        .sp_off = WORD, .has_sp = true, .is_root = function->start_addr == elf->entry_addr};
    arrive(&f, 0, &first);
    follow(&f);
    return f.returns;
}

void pt_code_rows(const pt_elf *elf, const pt_unwind_function *function, const pt_code_hooks *hooks,
                  pt_code_state *states, pt_unwind_row *row, void *arg)
{
    const pt_unwind_rule none = {.cfa_kind = PT_CFA_NONE};
    const uint8_t *const bytes = bytes_of(elf, function);
    const uint32_t size = function->size_bytes;
    if (bytes == NULL) return;
    /* It may begin a byte early: a handler returns to the first instruction, and return addresses
     * are looked up before themselves. */
    if (pt_code_is_signal_trampoline(bytes, size) ||
        (size > 1 && pt_code_is_signal_trampoline(bytes + 1, size - 1))) {
        row(arg, function->start_addr, &signal_rule);
        return;
    }
    pt_code_follow(elf, function, hooks, states);
    for (uint32_t at = 0; at < size;) {
        const bool known = states[at].is_known;
        const pt_unwind_rule rule = known ? rule_of(&states[at]) : none;
        row(arg, function->start_addr + at, &rule);
        at += known && states[at].length > 0 ? states[at].length : 1;
    }
}
