/* code.c: derives rules from the code itself, for functions without call frame information (musl's,
 * assembly). x86-64.
 *
 * The analysis follows a function from its first instruction along all jumps, also those through a
 * table of addresses. Its state before each instruction is the distance of rsp, or rbp, from the
 * CFA, and the place where rbp was saved. When two paths to an instruction disagree, the facts that
 * differ are dropped; without them the instruction has no rule. Unreached code has no rule.
 *
 * Three idioms have a fixed meaning. `xor ebp, ebp` in a function that has not saved rbp marks the
 * outermost frame (System V ABI, AMD64, 3.4.1). The entry point has no caller. `mov rax, 15;
 * syscall` is the trampoline to which a signal handler returns.
 */
#include "unwind/sources.h"

#include <string.h>

#include "unwind/x86.h"
#include "unwind/x86_plain.h"

enum { WORD = 8, FP = 5 };
enum { LENGTH_AT = 16, NUMBER_BITS = 0xffff }; /* layout of a word of pt_code_room.places */

typedef struct {
    const pt_elf *elf;
    const uint8_t *bytes;
    uint64_t addr;
    uint32_t size;
    const pt_code_hooks *hooks;
    pt_code_room room;
    uint32_t lowest; /* no offset below it is pending */
    bool returns;
} following;

enum { WORD_BITS = 64 };

static uint64_t words_of(uint32_t size_bytes)
{
    return ((uint64_t)size_bytes + WORD_BITS - 1) / WORD_BITS;
}

size_t pt_code_room_bytes(uint32_t size_bytes)
{
    return (size_t)(words_of(size_bytes) * sizeof(uint64_t) +
                    (uint64_t)size_bytes * sizeof(uint32_t));
}

pt_code_room pt_code_room_in(uint64_t *words, uint32_t size_bytes, pt_dictionary *all_states)
{
    return (pt_code_room){.places = (uint32_t *)(words + words_of(size_bytes)),
                          .pending = words,
                          .all_states = all_states};
}

static inline bool has_bit(const uint64_t *bits, uint32_t at)
{
    return bits[at / WORD_BITS] >> at % WORD_BITS & 1;
}

static inline void set_bit(uint64_t *bits, uint32_t at)
{
    bits[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

static inline void clear_bit(uint64_t *bits, uint32_t at)
{
    bits[at / WORD_BITS] &= ~(UINT64_C(1) << at % WORD_BITS);
}

/* The first set bit from `at` on; size if there is none. */
static uint32_t next_bit(const uint64_t *bits, uint32_t at, uint32_t size)
{
    uint64_t word = at < size ? bits[at / WORD_BITS] & ~UINT64_C(0) << at % WORD_BITS : 0;
    for (; at < size; word = bits[at / WORD_BITS]) {
        if (word != 0) return at / WORD_BITS * WORD_BITS + (uint32_t)__builtin_ctzll(word);
        at = (at / WORD_BITS + 1) * WORD_BITS;
        if (at >= size) break;
    }
    return size;
}

/* ---- one instruction ---- */

static void push_register(pt_code_state *s, int reg)
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

static void pop_register(pt_code_state *s, int reg)
{
    const bool is_saved_one = s->has_sp && s->saved != 0 && s->sp_off == -s->saved * WORD;
    s->sp_off -= WORD;
    if (reg == 4) s->has_sp = false;
    if (reg != FP) return;
    lose_fp(s);
    if (is_saved_one) s->saved = 0, s->is_fp_lost = false;
}

static void leave_frame(pt_code_state *s)
{
    s->has_sp = s->has_fp;
    s->sp_off = s->fp_off;
    pop_register(s, FP);
}

static bool moves_stack(const pt_x86_insn *insn)
{
    return insn->kind < PT_X86_CALL || (insn->kind == PT_X86_CALL && insn->value == 0);
}

/* The state after an instruction. */
static pt_code_state state_after(pt_code_state s, const pt_x86_insn *insn)
{
    switch (insn->kind) {
    case PT_X86_PUSH: push_register(&s, insn->value); break;
    case PT_X86_POP: pop_register(&s, insn->value); break;
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
    case PT_X86_LEAVE: leave_frame(&s); break;
    case PT_X86_WRITES_SP: s.has_sp = false; break;
    case PT_X86_WRITES_FP: lose_fp(&s); break;
    case PT_X86_ZEROES_FP:
        if (s.saved == 0) s.is_root = true;
        lose_fp(&s);
        break;
    case PT_X86_CALL: /* a call of the next instruction reads the pc */
        if (insn->is_direct && insn->value == 0) push_register(&s, -1);
        break;
    default: break;
    }
    if (s.sp_off < 0 || s.sp_off > 1 << 28) s.has_sp = false;
    if (s.fp_off < 0 || s.fp_off > 1 << 28) s.has_fp = false;
    return s;
}

/* ---- paths to an instruction ---- */

/* The meet of two states: the facts that hold on both paths. */
static pt_code_state meet_of(const pt_code_state *a, const pt_code_state *b)
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

/* The state without any fact. Its meet with any state is itself. */
static const pt_code_state lost = {.is_set = 1, .is_fp_lost = true};
enum { LOST = 1 }; /* its number in the dictionary */

bool pt_code_states_init(pt_dictionary *all_states, const pt_unwind_memory *memory)
{
    return pt_dictionary_init(all_states, memory, 256) &&
           pt_dictionary_number(all_states, &lost) == LOST;
}

/* The number of a state. Equal states have equal numbers. */
static uint16_t number_of(const following *f, const pt_code_state *s)
{
    pt_code_state known = *s;
    known.is_set = 1;
    if (!known.has_sp) known.sp_off = 0;
    if (!known.has_fp) known.fp_off = 0;
    const uint16_t number = pt_dictionary_number(f->room.all_states, &known);
    return number != 0 ? number : LOST;
}

static pt_code_state state_of(const pt_code_room *room, uint16_t number)
{
    pt_code_state s;
    _Static_assert(sizeof s == PT_DICTIONARY_VALUE_BYTES, "states are kept in a dictionary");
    memcpy(&s, pt_dictionary_value(room->all_states, number), sizeof s);
    return s;
}

static uint16_t number_at(const pt_code_room *room, uint32_t at)
{
    return (uint16_t)room->places[at];
}

static inline void put_place(following *f, uint32_t at, uint16_t number, unsigned length)
{
    f->room.places[at] = number | (uint32_t)length << LENGTH_AT;
}

/* Records that a path with a state reaches offset `to`, inside the function. States only lose
 * facts, so the analysis ends. Returns true if the code from there must be followed with its new
 * state. */
static inline bool arrive_at(following *f, uint32_t to, uint16_t state)
{
    const uint16_t there = number_at(&f->room, to);
    uint16_t next = state;
    if (there != state && there != 0) {
        const pt_code_state a = state_of(&f->room, there), b = state_of(&f->room, state);
        const pt_code_state both = meet_of(&a, &b);
        next = number_of(f, &both);
    }
    if (there == next) return has_bit(f->room.pending, to);
    put_place(f, to, next, 0);
    return true;
}

static void record_arrival(following *f, int64_t to, uint16_t state)
{
    if (to < 0 || to >= f->size || !arrive_at(f, (uint32_t)to, state)) return;
    set_bit(f->room.pending, (uint32_t)to);
    if (to < f->lowest) f->lowest = (uint32_t)to;
}

/* Reads a word of `bytes` bytes at an address of the file. */
static bool word_at(const pt_elf *elf, uint64_t addr, unsigned bytes, int64_t *ret_value)
{
    uint64_t off;
    /* A segment may reach past the end of the file. */
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

/* Records the targets of a jump through a table: entries up to the first outside the function. */
static void arrive_by_table(following *f, uint64_t table, bool is_relative, uint16_t state)
{
    const unsigned bytes = is_relative ? 4 : 8;
    for (uint32_t i = 0; i < TABLE_MAX; i++) {
        int64_t entry;
        if (!word_at(f->elf, table + (uint64_t)i * bytes, bytes, &entry)) return;
        const int64_t to = (int64_t)((is_relative ? table : 0) + (uint64_t)entry - f->addr);
        if (to < 0 || to >= f->size) return;
        record_arrival(f, to, state);
    }
}

/* A path that is being followed. */
typedef struct {
    pt_code_state state;
    uint16_t number; /* of the state */
    uint32_t at;
    uint64_t taken; /* the last address that the code computed; 0: none */
} path;

/* Records a jump. A jump out of the function with the initial stack pointer is a tail call: the
 * function returns if its target does. */
static void arrive_or_leave(following *f, int64_t to, const path *w)
{
    record_arrival(f, to, w->number);
    if (to >= 0 && to < f->size) return;
    const uint64_t target = f->addr + (uint64_t)to;
    f->returns |= f->hooks->returns(f->hooks->arg, target);
    if (w->state.has_sp && w->state.sp_off == WORD && f->hooks->leaves != NULL)
        f->hooks->leaves(f->hooks->arg, target);
}

/* Records the targets of the instruction before w->at. Returns whether execution continues after
 * it.
 */
static bool follow_targets(following *f, path *w, const pt_x86_insn *insn)
{
    const int64_t target = (int64_t)w->at + insn->value;
    switch (insn->kind) {
    case PT_X86_ADDRESS: w->taken = f->addr + (uint64_t)target; break;
    case PT_X86_BRANCH: arrive_or_leave(f, target, w); break;
    case PT_X86_JUMP:
        f->returns |= !insn->is_direct;
        if (insn->is_direct)
            arrive_or_leave(f, target, w);
        else if (insn->value != 0)
            arrive_by_table(f, (uint64_t)(int64_t)insn->value, false, w->number);
        else if (w->taken != 0)
            arrive_by_table(f, w->taken, true, w->number);
        return false;
    case PT_X86_RETURN: f->returns = true; return false;
    case PT_X86_STOP: return false;
    case PT_X86_CALL:
        if (insn->is_direct && insn->value != 0 &&
            !f->hooks->returns(f->hooks->arg, f->addr + (uint64_t)target))
            return false;
        break;
    default: break;
    }
    return true;
}

/* Skips plain instructions, up to an instruction that a path has reached or one that is not plain.
 */
static inline void skip_plain(following *f, path *w)
{
    uint32_t *const places = f->room.places;
    for (uint32_t at = w->at; f->size - at > PT_X86_PLAIN_MOST; w->at = at) {
        const unsigned length = pt_x86_plain_length(f->bytes + at);
        if (length == 0 || places[at + length] != 0) return;
        put_place(f, at, w->number, length);
        at += length;
    }
}

/* Follows the path that begins at a pending offset. */
static void follow_from(following *f, uint32_t at)
{
    path w = {.number = number_at(&f->room, at), .at = at};
    clear_bit(f->room.pending, at);
    w.state = state_of(&f->room, w.number);
    for (;;) {
        pt_x86_insn insn;
        skip_plain(f, &w);
        if (!pt_x86_decode(f->bytes + w.at, f->size - w.at, &insn)) {
            w.state.has_sp = w.state.has_fp = false;
            put_place(f, w.at, number_of(f, &w.state), 1);
            return;
        }
        put_place(f, w.at, w.number, insn.length);
        w.at += insn.length;
        if (insn.kind != PT_X86_OTHER) {
            if (moves_stack(&insn)) {
                w.state = state_after(w.state, &insn);
                w.number = number_of(f, &w.state);
            }
            if (!follow_targets(f, &w, &insn)) return;
        }
        if (w.at >= f->size) return;
        if (f->room.places[w.at] == 0) continue;
        if (!arrive_at(f, w.at, w.number)) return;
        clear_bit(f->room.pending, w.at);
        if (number_at(&f->room, w.at) == w.number) continue;
        w.number = number_at(&f->room, w.at);
        w.state = state_of(&f->room, w.number);
    }
}

static void follow_code(following *f)
{
    /* A state loses facts a few times at most; the bound is for damaged code. */
    for (uint64_t steps = 0; steps < 64 * (uint64_t)f->size; steps++) {
        const uint32_t from = next_bit(f->room.pending, f->lowest, f->size);
        if (from == f->size) return;
        f->lowest = from;
        follow_from(f, from);
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

/* The caller's registers behind "mov rax, 15; syscall": rsp points to a ucontext_t, whose registers
 * begin at 40. rbp is the 11th, rsp the 16th, rip the 17th (sys/ucontext.h). */
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

/* The function's bytes; NULL if the file lacks them. */
static const uint8_t *bytes_of(const pt_elf *elf, const pt_unwind_function *function)
{
    uint64_t off;
    if (!pt_elf_offset_of_addr(elf, function->start_addr, &off) || off > elf->size_bytes ||
        elf->size_bytes - off < function->size_bytes)
        return NULL;
    return elf->bytes + off;
}

bool pt_code_follow(const pt_elf *elf, const pt_unwind_function *function,
                    const pt_code_hooks *hooks, const pt_code_room *room)
{
    const uint32_t size = function->size_bytes;
    following f = {.elf = elf,
                   .bytes = bytes_of(elf, function),
                   .addr = function->start_addr,
                   .size = size,
                   .hooks = hooks,
                   .room = *room};
    if (f.bytes == NULL) return true;
    memset(room->places, 0, size * sizeof *room->places);
    memset(room->pending, 0, words_of(size) * sizeof *room->pending);
    const pt_code_state first = {
        .sp_off = WORD, .has_sp = true, .is_root = function->start_addr == elf->entry_addr};
    record_arrival(&f, 0, number_of(&f, &first));
    follow_code(&f);
    return f.returns;
}

void pt_code_rows(const pt_elf *elf, const pt_unwind_function *function, const pt_code_room *room,
                  pt_unwind_row *row, void *arg)
{
    const pt_unwind_rule none = {.cfa_kind = PT_CFA_NONE};
    const uint8_t *const bytes = bytes_of(elf, function);
    const uint32_t size = function->size_bytes;
    if (bytes == NULL) return;
    /* The function may begin one byte early: return addresses are looked up at pc - 1, but a
     * handler returns to the first instruction. */
    if (pt_code_is_signal_trampoline(bytes, size) ||
        (size > 1 && pt_code_is_signal_trampoline(bytes + 1, size - 1))) {
        row(arg, function->start_addr, &signal_rule);
        return;
    }
    uint32_t last = UINT32_MAX;
    for (uint32_t at = 0; at < size;) {
        const uint32_t place = room->places[at], number = place & NUMBER_BITS;
        if (number != last) {
            const pt_code_state here = state_of(room, (uint16_t)number);
            const pt_unwind_rule rule = number == 0 ? none : rule_of(&here);
            row(arg, function->start_addr + at, &rule);
        }
        last = number;
        at += place >> LENGTH_AT > 0 ? place >> LENGTH_AT : 1;
    }
}
