/* code.c: derives rules from the code itself, for functions without call frame information (musl's,
 * assembly, stubs for calls of other files, aarch64's vDSO).
 *
 * The analysis follows a function from its first instruction along all jumps, on x86-64 also those
 * through a table of addresses. Its state before each instruction is the distance of sp, or fp,
 * from the CFA, and the places where fp and the link register were saved. When two paths to an
 * instruction disagree, the facts that differ are dropped; without them the instruction has no
 * rule. Unreached code has no rule. On aarch64, code that is reached by no path has the state of
 * the jump that computes its target: compilers' tables there have many forms.
 *
 * Three idioms have a fixed meaning. `xor ebp, ebp` in a function that has not saved rbp marks the
 * outermost frame (System V ABI, AMD64, 3.4.1), and so does `mov x29, 0`. The entry point has no
 * caller. `mov rax, 15; syscall` and `mov x8, 139; svc 0` are the trampolines to which a signal
 * handler returns.
 */
#include "unwind/sources.h"

#include <elf.h>
#include <string.h>

#include "unwind/aarch64.h"
#include "unwind/x86.h"
#include "unwind/x86_plain.h"

enum { WORD = 8, FP = 5 };
enum { LENGTH_AT = 16, NUMBER_BITS = 0xffff }; /* layout of an element of pt_code_room.places */

typedef struct {
    const pt_elf *elf;
    const uint8_t *bytes;
    uint64_t addr;
    uint32_t size;
    const pt_code_hooks *hooks;
    pt_code_room room;
    uint32_t lowest; /* no offset below it is pending */
    bool returns;
    bool has_link;
    bool has_frame; /* it moves the stack pointer */
    /* The numbers of the states at jumps to computed addresses: of such jumps in a frame, and of
     * those without a frame. 0 if there is no such jump. */
    uint16_t computed, computed_first;
    uint32_t unreached; /* an offset: all code below it was reached */
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

static bool is_fp_saved(const pt_code_state *s)
{
    return s->saved != 0 && s->link != PT_LINK_ALONE;
}

static void lose_fp(pt_code_state *s)
{
    s->has_fp = false;
    if (!is_fp_saved(s)) s->is_fp_lost = true;
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

/* ---- the link register ---- */

/* The place of an access, in 8-byte words from the CFA; 0 if the place is unknown, or outside the
 * frame. */
static int16_t place_of(const pt_code_state *s, const pt_insn *insn, int8_t at)
{
    const bool is_known = insn->access.is_by_fp ? s->has_fp : s->has_sp;
    const int64_t off = (int64_t)insn->value + at - (insn->access.is_by_fp ? s->fp_off : s->sp_off);
    if (at == PT_INSN_NOT_THERE || insn->access.is_by_other || !is_known || off >= 0 ||
        off % WORD != 0 || off / WORD < INT16_MIN)
        return 0;
    return (int16_t)(off / WORD);
}

static void lose_link(pt_code_state *s)
{
    if (s->link == PT_LINK_KEPT) s->link = PT_LINK_LOST;
}

static void store_registers(pt_code_state *s, const pt_insn *insn)
{
    const int16_t fp = place_of(s, insn, insn->access.fp_at);
    const int16_t link = place_of(s, insn, insn->access.link_at);
    if (fp != 0 && !is_fp_saved(s) && !s->is_fp_lost) {
        const int16_t link_place = link != 0 && s->link == PT_LINK_KEPT ? link : s->saved;
        if (link_place == 0)
            s->saved = fp;
        else if (link_place == fp + 1)
            s->saved = fp, s->link = PT_LINK_ABOVE;
    }
    if (link == 0 || s->link != PT_LINK_KEPT) return;
    if (s->saved == 0)
        s->saved = link, s->link = PT_LINK_ALONE;
    else if (link == s->saved + 1)
        s->link = PT_LINK_ABOVE;
}

static void load_link(pt_code_state *s, int16_t from)
{
    if (from == 0)
        s->link = s->link == PT_LINK_KEPT ? PT_LINK_LOST : s->link;
    else if (s->link == PT_LINK_ABOVE && from == s->saved + 1)
        s->link = PT_LINK_KEPT;
    else if (s->link == PT_LINK_ALONE && from == s->saved)
        s->saved = 0, s->link = PT_LINK_KEPT;
}

static void load_fp(pt_code_state *s, int16_t from)
{
    const bool is_saved_one = from != 0 && is_fp_saved(s) && from == s->saved;
    lose_fp(s);
    if (!is_saved_one) return;
    s->is_fp_lost = false;
    s->saved = s->link == PT_LINK_ABOVE ? (int16_t)(s->saved + 1) : 0;
    if (s->link == PT_LINK_ABOVE) s->link = PT_LINK_ALONE;
}

static void access_stack(pt_code_state *s, const pt_insn *insn)
{
    if (insn->kind == PT_INSN_STORE) {
        store_registers(s, insn);
    } else {
        const int16_t link = place_of(s, insn, insn->access.link_at);
        const int16_t fp = place_of(s, insn, insn->access.fp_at);
        if (insn->access.link_at != PT_INSN_NOT_THERE) load_link(s, link);
        if (insn->access.fp_at != PT_INSN_NOT_THERE) load_fp(s, fp);
    }
    s->sp_off -= insn->access.sp_addend;
}

/* ---- any instruction ---- */

static bool moves_stack(const pt_insn *insn, bool has_link)
{
    return insn->kind < PT_INSN_CALL ||
           (insn->kind == PT_INSN_CALL && (insn->value == 0 || has_link));
}

/* Subtracts with wrap-around: state_after drops an offset that is out of range. */
static int32_t wrap_difference(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* The state after an instruction. */
static pt_code_state state_after(pt_code_state s, const pt_insn *insn, bool has_link)
{
    switch (insn->kind) {
    case PT_INSN_PUSH: push_register(&s, insn->value); break;
    case PT_INSN_POP: pop_register(&s, insn->value); break;
    case PT_INSN_ADD_SP: s.sp_off = wrap_difference(s.sp_off, insn->value); break;
    case PT_INSN_FP_FROM_SP:
        lose_fp(&s);
        s.has_fp = s.has_sp;
        s.fp_off = wrap_difference(s.sp_off, insn->value);
        break;
    case PT_INSN_SP_FROM_FP:
        s.has_sp = s.has_fp;
        s.sp_off = wrap_difference(s.fp_off, insn->value);
        break;
    case PT_INSN_LEAVE: leave_frame(&s); break;
    case PT_INSN_WRITES_SP: s.has_sp = false; break;
    case PT_INSN_WRITES_FP: lose_fp(&s); break;
    case PT_INSN_ZEROES_FP:
        if (!is_fp_saved(&s) && (!has_link || s.link == PT_LINK_KEPT)) s.is_root = true;
        lose_fp(&s);
        break;
    case PT_INSN_WRITES_LINK: lose_link(&s); break;
    case PT_INSN_STORE:
    case PT_INSN_LOAD: access_stack(&s, insn); break;
    case PT_INSN_CALL: /* a call of the next instruction reads the pc */
        if (has_link)
            lose_link(&s);
        else if (insn->is_direct && insn->value == 0)
            push_register(&s, -1);
        break;
    default: break;
    }
    if (s.sp_off < 0 || s.sp_off > 1 << 28) s.has_sp = false, s.sp_off = 0;
    if (s.fp_off < 0 || s.fp_off > 1 << 28) s.has_fp = false, s.fp_off = 0;
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
    if (a->link != b->link || (a->saved != b->saved && a->link != PT_LINK_KEPT)) {
        m.link = PT_LINK_LOST;
        m.is_fp_lost |= m.saved != 0;
        m.saved = 0;
    }
    if (m.saved == 0 && m.link != PT_LINK_KEPT) m.link = PT_LINK_LOST;
    return m;
}

/* The state without any fact. Where paths with this state and any other state meet, the result is
 * this state. */
static const pt_code_state lost = {.is_set = 1, .is_fp_lost = true, .link = PT_LINK_LOST};
enum { LOST = 1 }; /* the number of this state in the dictionary */

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
 * facts, so the analysis ends. Returns true if the code from `to` on must be followed with its new
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

/* Reads a number of `bytes` bytes at a linked address of the file. */
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
    uint64_t taken; /* the last address that the code computed; 0 if none */
} path;

/* The distance of sp from the CFA where a function begins. */
static int32_t first_off(const following *f)
{
    return f->has_link ? 0 : WORD;
}

/* Notes a jump to a computed address. */
static void note_computed(following *f, const path *w)
{
    uint16_t *const noted =
        w->state.has_sp && w->state.sp_off == 0 ? &f->computed_first : &f->computed;
    if (*noted != 0 && *noted != w->number) {
        const pt_code_state a = state_of(&f->room, *noted), both = meet_of(&a, &w->state);
        *noted = number_of(f, &both);
    } else {
        *noted = w->number;
    }
}

/* Records a jump. If the jump leads out of the function, this function may return if the target
 * may. Such a jump with the initial stack pointer is a tail call, whose target is reported. */
static void arrive_or_leave(following *f, int64_t to, const path *w)
{
    record_arrival(f, to, w->number);
    if (to >= 0 && to < f->size) return;
    const uint64_t target = f->addr + (uint64_t)to;
    f->returns |= f->hooks->returns(f->hooks->arg, target);
    if (w->state.has_sp && w->state.sp_off == first_off(f) && f->hooks->leaves != NULL)
        f->hooks->leaves(f->hooks->arg, target);
}

/* Records the targets of the instruction before w->at. Returns whether execution continues after
 * it.
 */
static bool follow_targets(following *f, path *w, const pt_insn *insn)
{
    const int64_t target = (int64_t)w->at + insn->value;
    switch (insn->kind) {
    case PT_INSN_ADDRESS: w->taken = f->addr + (uint64_t)target; break;
    case PT_INSN_BRANCH: arrive_or_leave(f, target, w); break;
    case PT_INSN_JUMP:
        f->returns |= !insn->is_direct;
        if (insn->is_direct)
            arrive_or_leave(f, target, w);
        else if (insn->value != 0)
            arrive_by_table(f, (uint64_t)(int64_t)insn->value, false, w->number);
        else if (w->taken != 0)
            arrive_by_table(f, w->taken, true, w->number);
        else if (f->has_link)
            note_computed(f, w);
        return false;
    case PT_INSN_RETURN: f->returns = true; return false;
    case PT_INSN_STOP: return false;
    case PT_INSN_CALL:
        if (insn->is_direct && insn->value != 0 &&
            !f->hooks->returns(f->hooks->arg, f->addr + (uint64_t)target))
            return false;
        break;
    default: break;
    }
    return true;
}

/* Skips plain instructions (x86_plain.h), up to an instruction that a path has reached or that is
 * not plain. */
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

static inline bool decode_at(const following *f, uint32_t at, pt_insn *ret_insn)
{
    return f->has_link ? pt_a64_decode(f->bytes, at, f->size, ret_insn)
                       : pt_x86_decode(f->bytes + at, f->size - at, ret_insn);
}

/* Follows the path that begins at a pending offset. */
static void follow_from(following *f, uint32_t at)
{
    path w = {.number = number_at(&f->room, at), .at = at};
    clear_bit(f->room.pending, at);
    w.state = state_of(&f->room, w.number);
    for (;;) {
        pt_insn insn;
        if (!f->has_link) skip_plain(f, &w);
        if (!decode_at(f, w.at, &insn)) {
            w.state.has_sp = w.state.has_fp = false;
            put_place(f, w.at, number_of(f, &w.state), 1);
            return;
        }
        put_place(f, w.at, w.number, insn.length);
        w.at += insn.length;
        if (insn.kind != PT_INSN_OTHER) {
            if (moves_stack(&insn, f->has_link)) {
                w.state = state_after(w.state, &insn, f->has_link);
                w.number = number_of(f, &w.state);
                f->has_frame |= w.state.sp_off != 0;
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

/* Takes the first code that no path has reached as a target of the jumps to computed addresses, and
 * gives that code the state of these jumps. Returns false if the function has no such jump, or all
 * code is reached. If the function makes a frame, a jump to a computed address without a frame is a
 * tail call, and does not count.
 */
static bool arrive_by_computed_jump(following *f)
{
    const uint16_t state = f->has_frame ? f->computed : f->computed_first;
    if (state == 0) return false;
    for (; f->size - f->unreached >= PT_A64_BYTES; f->unreached += PT_A64_BYTES) {
        const uint32_t insn = pt_a64_word(f->bytes + f->unreached);
        if (number_at(&f->room, f->unreached) != 0 || insn == PT_A64_NOP || insn == 0) continue;
        record_arrival(f, f->unreached, state);
        return true;
    }
    return false;
}

static void follow_code(following *f)
{
    /* A state loses facts a few times at most; the bound is for damaged code. */
    for (uint64_t steps = 0; steps < 64 * (uint64_t)f->size; steps++) {
        const uint32_t from = next_bit(f->room.pending, f->lowest, f->size);
        if (from == f->size && !arrive_by_computed_jump(f)) return;
        if (from == f->size) continue;
        f->lowest = from;
        follow_from(f, from);
    }
}

/* ---- rules ---- */

/* The rule of a state, on machines with a link register. */
static pt_unwind_rule linked_rule_of(const pt_code_state *s)
{
    const pt_unwind_rule none = {.cfa_kind = PT_CFA_NONE};
    pt_unwind_rule rule = {.fp_slot = PT_SLOT_SAME, .pc_slot = PT_SLOT_AT_CFA};
    if (s->is_root) return (pt_unwind_rule){.cfa_kind = PT_CFA_SP, .pc_slot = PT_SLOT_UNDEFINED};
    rule.cfa_kind = s->has_sp ? PT_CFA_SP : PT_CFA_FP;
    rule.cfa_off = s->has_sp ? s->sp_off : s->fp_off;
    if (!s->has_sp && !s->has_fp) return none;
    switch (s->link) {
    case PT_LINK_KEPT:
        rule.pc_slot = PT_SLOT_SAME;
        rule.pc_off = (int16_t)pt_machine_aarch64.return_addr;
        break;
    case PT_LINK_ABOVE: rule.pc_off = (int16_t)(s->saved + 1); break;
    case PT_LINK_ALONE: rule.pc_off = s->saved; break;
    default: return none;
    }
    if (is_fp_saved(s)) {
        rule.fp_slot = PT_SLOT_AT_CFA;
        rule.fp_off = s->saved;
    } else if (s->is_fp_lost) {
        rule.fp_slot = PT_SLOT_UNKNOWN;
    }
    return rule;
}

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

bool pt_code_is_signal_trampoline(const pt_elf *elf, const uint8_t *bytes, uint64_t size)
{
    static const uint8_t a64[PT_CODE_TRAMPOLINE_A64_BYTES] = {0x68, 0x11, 0x80, 0xd2,
                                                              0x01, 0x00, 0x00, 0xd4};
    static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
    static const uint8_t narrow[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
    if (elf->machine == EM_AARCH64)
        return size >= sizeof a64 && memcmp(bytes, a64, sizeof a64) == 0;
    return (size >= sizeof wide && memcmp(bytes, wide, sizeof wide) == 0) ||
           (size >= sizeof narrow && memcmp(bytes, narrow, sizeof narrow) == 0);
}

bool pt_code_is_fiber_start(const pt_elf *elf, const uint8_t *bytes, uint64_t size)
{
    static const uint8_t start[] = {0x55, 0xff, 0xe3, 0x48, 0x31, 0xff, 0xe8};
    return elf->machine == EM_X86_64 && size >= sizeof start &&
           memcmp(bytes, start, sizeof start) == 0;
}

/* The rule of the trampoline "mov rax, 15; syscall". rsp points to a ucontext_t, whose registers
 * begin at byte 40: rbp is the 11th, rsp the 16th, rip the 17th (sys/ucontext.h). */
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

/* The rule of the trampoline "mov x8, 139; svc 0". sp points to struct rt_sigframe: a siginfo_t of
 * 128 bytes, then a ucontext_t, whose registers begin at byte 184: x0 to x30, sp, pc
 * (asm/sigcontext.h of arm64). */
enum { SAVED_WORD = (128 + 184) / 8 };
static const pt_unwind_rule aarch64_signal_rule = {
    .cfa_kind = PT_CFA_DEREF,
    .cfa_reg = 31,
    .cfa_off = (SAVED_WORD + 31) * WORD,
    .pc_slot = PT_SLOT_AT_SP,
    .pc_off = SAVED_WORD + 32,
    .fp_slot = PT_SLOT_AT_SP,
    .fp_off = SAVED_WORD + 29,
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
                   .room = *room,
                   .has_link = elf->machine == EM_AARCH64};
    if (f.bytes == NULL) return true;
    memset(room->places, 0, size * sizeof *room->places);
    memset(room->pending, 0, words_of(size) * sizeof *room->pending);
    const pt_code_state first = {.sp_off = first_off(&f),
                                 .has_sp = true,
                                 .is_root = function->start_addr == elf->entry_addr ||
                                            pt_code_is_fiber_start(elf, f.bytes, size)};
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
    const bool has_link = elf->machine == EM_AARCH64;
    const unsigned early = has_link ? PT_A64_BYTES : 1;
    if (bytes == NULL) return;
    /* The function may begin one instruction early: return addresses are looked up at pc - 1, but a
     * handler returns to the first instruction. */
    if (pt_code_is_signal_trampoline(elf, bytes, size) ||
        (size > early && pt_code_is_signal_trampoline(elf, bytes + early, size - early))) {
        row(arg, function->start_addr, has_link ? &aarch64_signal_rule : &signal_rule);
        return;
    }
    uint32_t last = UINT32_MAX;
    for (uint32_t at = 0; at < size;) {
        const uint32_t place = room->places[at], number = place & NUMBER_BITS;
        if (number != last) {
            const pt_code_state here = state_of(room, (uint16_t)number);
            const pt_unwind_rule rule = number == 0 ? none
                                        : has_link  ? linked_rule_of(&here)
                                                    : rule_of(&here);
            row(arg, function->start_addr + at, &rule);
        }
        last = number;
        at += place >> LENGTH_AT > 0 ? place >> LENGTH_AT : 1;
    }
}
