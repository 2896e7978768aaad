/* program.c: runs the programs of call frame information.
 *
 * Nearly all operations that compilers use are of a few kinds: these work on the two 64-bit words
 * of a rule, in registers. Other operations, and long operands, work on the pt_unwind_rule.
 */
#include "unwind/cfi.h"

#include <elf.h>
#include <string.h>

/* DW_CFA_X. The high two bits select one of three operations with an operand in the low six bits.
 */
enum {
    CFA_NOP,
    CFA_SET_LOC,
    CFA_ADVANCE_LOC1,
    CFA_ADVANCE_LOC2,
    CFA_ADVANCE_LOC4,
    CFA_OFFSET_EXTENDED,
    CFA_RESTORE_EXTENDED,
    CFA_UNDEFINED,
    CFA_SAME_VALUE,
    CFA_REGISTER,
    CFA_REMEMBER_STATE,
    CFA_RESTORE_STATE,
    CFA_DEF_CFA,
    CFA_DEF_CFA_REGISTER,
    CFA_DEF_CFA_OFFSET,
    CFA_DEF_CFA_EXPRESSION,
    CFA_EXPRESSION,
    CFA_OFFSET_EXTENDED_SF,
    CFA_DEF_CFA_SF,
    CFA_DEF_CFA_OFFSET_SF,
    CFA_VAL_OFFSET,
    CFA_VAL_OFFSET_SF,
    CFA_VAL_EXPRESSION,
    CFA_MIPS_ADVANCE_LOC8 = 0x1d,
    CFA_GNU_WINDOW_SAVE = 0x2d, /* aarch64: negate_ra_state */
    CFA_GNU_ARGS_SIZE = 0x2e,
    CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    CFA_ADVANCE_LOC = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

enum { OP_DEREF = 0x06, OP_BREG0 = 0x70, OP_BREG31 = 0x8f };

enum { REMEMBER_MAX = 16 };

typedef struct {
    const pt_machine *machine;
    const pt_cfi_cie *cie;
    pt_unwind_rule *rule;
    const pt_unwind_rule *first; /* the rules that DW_CFA_restore restores */
    pt_cursor c;
} program;

/* Records where the caller's value of a register is, if the register is pc or fp. */
static void set_slot(program *p, uint64_t reg, unsigned slot, int64_t bytes)
{
    if (slot != PT_SLOT_SAME && (bytes % 8 != 0 || bytes / 8 != (int16_t)(bytes / 8))) {
        slot = PT_SLOT_UNKNOWN;
    }
    if (slot < PT_SLOT_AT_CFA && slot != PT_SLOT_SAME) bytes = 0;
    const int16_t off = (int16_t)(slot == PT_SLOT_SAME ? bytes : bytes / 8);
    if (reg == p->machine->return_addr) {
        p->rule->pc_slot = slot & 15;
        p->rule->pc_off = off;
    } else if (reg == p->machine->fp) {
        p->rule->fp_slot = slot & 15;
        p->rule->fp_off = slot == PT_SLOT_SAME ? 0 : off;
    }
}

static void set_same(program *p, uint64_t reg)
{
    /* The pc is in the register of its column, if the machine has a link register. */
    if (reg == p->machine->return_addr && !p->machine->has_link)
        set_slot(p, reg, PT_SLOT_UNKNOWN, 0);
    else
        set_slot(p, reg, PT_SLOT_SAME, (int64_t)reg);
}

static void restore_register(program *p, uint64_t reg)
{
    if (reg == p->machine->return_addr) {
        p->rule->pc_slot = p->first->pc_slot;
        p->rule->pc_off = p->first->pc_off;
    } else if (reg == p->machine->fp) {
        p->rule->fp_slot = p->first->fp_slot;
        p->rule->fp_off = p->first->fp_off;
    }
}

static void set_cfa(program *p, unsigned kind, uint64_t reg, int64_t off)
{
    const bool fits = reg < PT_CFI_REGS && off == (int32_t)off;
    p->rule->cfa_kind = fits ? (uint8_t)kind : PT_CFA_NONE;
    p->rule->cfa_reg = fits ? (uint8_t)reg : 0;
    p->rule->cfa_off = fits ? (int32_t)off : 0;
}

/* The bytes of an expression; moves the program past it. */
static pt_cursor read_expression(program *p)
{
    const uint64_t size_bytes = pt_cursor_uleb(&p->c);
    pt_cursor e = p->c;
    pt_cursor_skip(&p->c, size_bytes);
    e.end = p->c.at;
    e.bad = p->c.bad;
    return e;
}

/* Evaluates the CFA expressions that known tools write; any other expression gives no rule. */
static void cfa_expression(program *p)
{
    /* In a PLT entry of 16 bytes, the stack has one word more from byte 10 or 11 on. ld writes:
     * breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus. */
    static const uint8_t plt[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};
    pt_cursor e = read_expression(p);
    set_cfa(p, PT_CFA_NONE, 0, 0);
    if (e.bad) return;
    const size_t size = (size_t)(e.end - e.at);
    if (p->machine->elf_machine == EM_X86_64 && size == sizeof plt && memcmp(e.at, plt, 6) == 0 &&
        e.at[6] >= plt[6] && e.at[6] < plt[6] + 16 && memcmp(e.at + 7, plt + 7, size - 7) == 0) {
        set_cfa(p, PT_CFA_PLT, (uint64_t)(e.at[6] - plt[6]), 8);
        return;
    }
    const uint64_t op = pt_cursor_fixed(&e, 1);
    if (op < OP_BREG0 || op > OP_BREG31) return;
    const int64_t off = pt_cursor_sleb(&e);
    if (pt_cursor_fixed(&e, 1) == OP_DEREF && !e.bad && e.at == e.end)
        set_cfa(p, PT_CFA_DEREF, op - OP_BREG0, off);
}

/* Records that a register is saved at the address of an expression: sp or fp plus an offset.
 * is_value: the expression is the register's value itself, for which no slot has a form. */
static void slot_expression(program *p, uint64_t reg, bool is_value)
{
    pt_cursor e = read_expression(p);
    const uint64_t op = pt_cursor_fixed(&e, 1);
    const int64_t off = pt_cursor_sleb(&e);
    unsigned slot = PT_SLOT_UNKNOWN;
    if (!is_value && !e.bad && e.at == e.end) {
        if (op == OP_BREG0 + (uint64_t)p->machine->sp) slot = PT_SLOT_AT_SP;
        if (op == OP_BREG0 + (uint64_t)p->machine->fp) slot = PT_SLOT_AT_FP;
    }
    set_slot(p, reg, slot, slot == PT_SLOT_UNKNOWN ? 0 : off);
}

static int64_t scaled_operand(const program *p, uint64_t factor)
{
    return (int64_t)(factor * (uint64_t)p->cie->data_align);
}

static void define_cfa_off(program *p, int64_t off)
{
    if (p->rule->cfa_kind == PT_CFA_REG)
        set_cfa(p, PT_CFA_REG, p->rule->cfa_reg, off);
    else
        set_cfa(p, PT_CFA_NONE, 0, 0);
}

/* Runs an operation that neither moves the address nor uses the stack of states. Returns false if
 * the operation is unknown. */
static bool define_rule(program *p, uint8_t op)
{
    pt_cursor *const c = &p->c;
    uint64_t reg;
    switch (op) {
    case CFA_NOP:
    case CFA_GNU_WINDOW_SAVE: return true;
    case CFA_GNU_ARGS_SIZE: pt_cursor_uleb(c); return true;
    case CFA_OFFSET_EXTENDED:
        reg = pt_cursor_uleb(c);
        set_slot(p, reg, PT_SLOT_AT_CFA, scaled_operand(p, pt_cursor_uleb(c)));
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        reg = pt_cursor_uleb(c);
        set_slot(p, reg, PT_SLOT_AT_CFA, scaled_operand(p, (uint64_t)pt_cursor_sleb(c)));
        return true;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        reg = pt_cursor_uleb(c);
        set_slot(p, reg, PT_SLOT_AT_CFA, scaled_operand(p, -pt_cursor_uleb(c)));
        return true;
    case CFA_RESTORE_EXTENDED: restore_register(p, pt_cursor_uleb(c)); return true;
    case CFA_UNDEFINED: set_slot(p, pt_cursor_uleb(c), PT_SLOT_UNDEFINED, 0); return true;
    case CFA_SAME_VALUE: set_same(p, pt_cursor_uleb(c)); return true;
    case CFA_REGISTER: {
        reg = pt_cursor_uleb(c);
        const uint64_t in = pt_cursor_uleb(c);
        const bool is_pc = reg == p->machine->return_addr && in < PT_CFI_REGS;
        set_slot(p, reg, is_pc ? PT_SLOT_SAME : PT_SLOT_UNKNOWN, is_pc ? (int64_t)in : 0);
        return true;
    }
    case CFA_DEF_CFA:
        reg = pt_cursor_uleb(c);
        set_cfa(p, PT_CFA_REG, reg, (int64_t)pt_cursor_uleb(c));
        return true;
    case CFA_DEF_CFA_SF:
        reg = pt_cursor_uleb(c);
        set_cfa(p, PT_CFA_REG, reg, scaled_operand(p, (uint64_t)pt_cursor_sleb(c)));
        return true;
    case CFA_DEF_CFA_REGISTER:
        reg = pt_cursor_uleb(c);
        set_cfa(p, p->rule->cfa_kind == PT_CFA_REG ? PT_CFA_REG : PT_CFA_NONE, reg,
                p->rule->cfa_off);
        return true;
    case CFA_DEF_CFA_OFFSET: define_cfa_off(p, (int64_t)pt_cursor_uleb(c)); return true;
    case CFA_DEF_CFA_OFFSET_SF:
        define_cfa_off(p, scaled_operand(p, (uint64_t)pt_cursor_sleb(c)));
        return true;
    case CFA_DEF_CFA_EXPRESSION: cfa_expression(p); return true;
    case CFA_EXPRESSION: slot_expression(p, pt_cursor_uleb(c), false); return true;
    case CFA_VAL_EXPRESSION: slot_expression(p, pt_cursor_uleb(c), true); return true;
    case CFA_VAL_OFFSET:
        reg = pt_cursor_uleb(c);
        pt_cursor_uleb(c);
        set_slot(p, reg, PT_SLOT_UNKNOWN, 0);
        return true;
    case CFA_VAL_OFFSET_SF:
        reg = pt_cursor_uleb(c);
        pt_cursor_sleb(c);
        set_slot(p, reg, PT_SLOT_UNKNOWN, 0);
        return true;
    default: return false;
    }
}

/* Reads the address increment of op. False: op does not move the address. */
static bool advance_address(program *p, uint8_t op, uint64_t *ret_bytes)
{
    switch (op) {
    case CFA_ADVANCE_LOC1: *ret_bytes = pt_cursor_fixed(&p->c, 1); break;
    case CFA_ADVANCE_LOC2: *ret_bytes = pt_cursor_fixed(&p->c, 2); break;
    case CFA_ADVANCE_LOC4: *ret_bytes = pt_cursor_fixed(&p->c, 4); break;
    case CFA_MIPS_ADVANCE_LOC8: *ret_bytes = pt_cursor_fixed(&p->c, 8); break;
    default:
        if ((op & 0xc0) != CFA_ADVANCE_LOC) return false;
        *ret_bytes = op & 0x3f;
    }
    *ret_bytes *= p->cie->code_align;
    return true;
}

/* Runs an operation that run_program does not handle itself. False: unknown or damaged. *ret_bytes:
 * the address increment. */
static bool run_other(program *p, uint8_t op, const pt_cfi_reader *reader, uint64_t addr,
                      uint64_t *ret_bytes)
{
    const pt_unwind_frames *const frames = reader->frames;
    *ret_bytes = 0;
    if ((op & 0xc0) == CFA_OFFSET) {
        set_slot(p, op & 0x3f, PT_SLOT_AT_CFA, scaled_operand(p, pt_cursor_uleb(&p->c)));
    } else if (op == CFA_SET_LOC) {
        uint64_t to;
        const uint64_t at_addr = frames->addr + (uint64_t)(p->c.at - frames->bytes);
        if (!pt_cfi_pointer(&p->c, p->cie->address_encoding, at_addr, frames, &to) || to < addr)
            return false;
        *ret_bytes = to - addr;
    } else if (!advance_address(p, op, ret_bytes) && !define_rule(p, op)) {
        return false;
    }
    return !p->c.bad;
}

static bool is_advance(uint8_t op)
{
    return (op & 0xc0) == CFA_ADVANCE_LOC || (op >= CFA_SET_LOC && op <= CFA_ADVANCE_LOC4) ||
           op == CFA_MIPS_ADVANCE_LOC8;
}

/* ---- on the words of a rule ---- */

/* The layout of pt_unwind_rule in two words, little-endian. */
#define CFA_BITS     UINT64_C(0xffffffff0000ffff) /* kind, register, offset */
#define PC_SLOT_BITS UINT64_C(0x000f0000)
#define FP_SLOT_BITS UINT64_C(0x00f00000)
enum { CFA_REG_AT = 8, PC_SLOT_AT = 16, FP_SLOT_AT = 20, CFA_OFF_AT = 32, FP_OFF_AT = 16 };
#define PC_OFF_BITS UINT64_C(0x0000ffff)
#define FP_OFF_BITS UINT64_C(0xffff0000)
_Static_assert(offsetof(pt_unwind_rule, cfa_reg) * 8 == CFA_REG_AT &&
                   offsetof(pt_unwind_rule, cfa_off) * 8 == CFA_OFF_AT &&
                   offsetof(pt_unwind_rule, pc_off) == 8 && offsetof(pt_unwind_rule, fp_off) == 10,
               "the words of a rule");

static inline bool has_cfa_reg(pt_cfi_words rule)
{
    return (rule.head & 0xff) == PT_CFA_REG;
}

/* The bits of a register's slot; none for registers other than pc and fp. */
static inline pt_cfi_words bits_of(const pt_machine *machine, unsigned reg)
{
    if (reg == machine->fp) return (pt_cfi_words){FP_SLOT_BITS, FP_OFF_BITS};
    if (reg == machine->return_addr) return (pt_cfi_words){PC_SLOT_BITS, PC_OFF_BITS};
    return (pt_cfi_words){0};
}

static inline void set_bits(pt_cfi_words *rule, pt_cfi_words bits, uint64_t head, uint64_t tail)
{
    rule->head = (rule->head & ~bits.head) | (head & bits.head);
    rule->tail = (rule->tail & ~bits.tail) | (tail & bits.tail);
}

/* Sets a slot to "saved at CFA + 8 * off". */
static inline void set_at_cfa(pt_cfi_words *rule, pt_cfi_words bits, int off)
{
    const uint64_t slot = PT_SLOT_AT_CFA;
    const uint64_t off_bits = (uint16_t)off;
    set_bits(rule, bits, slot << PC_SLOT_AT | slot << FP_SLOT_AT, off_bits | off_bits << FP_OFF_AT);
}

/* Reads a number of one or two bytes. */
static inline bool short_uleb(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
    const uint8_t *const c = *at;
    if (c < end && c[0] < 0x80) {
        *ret_value = c[0];
        *at = c + 1;
        return true;
    }
    if (end - c < 2 || c[1] >= 0x80) return false;
    *ret_value = (c[0] & 0x7f) | (uint64_t)c[1] << 7;
    *at = c + 2;
    return true;
}

/* Runs the program of a CIE (row NULL) or of an FDE, for code from *ret_addr on. *ret_addr becomes
 * the address of the last row. *rule: before, the rule that DW_CFA_restore restores; after, the
 * rule at the end. */
static bool run_program(const pt_cfi_reader *reader, const pt_cfi_cie *cie, pt_cursor c,
                        uint64_t *ret_addr, pt_cfi_words *rule, pt_cfi_row *row, void *arg)
{
    const pt_machine *const machine = reader->machine;
    const pt_cfi_words first = *rule;
    pt_cfi_words now = first, delivered = {~first.head, 0}, remembered[REMEMBER_MAX];
    const int step = cie->data_align == -8 ? -1 : cie->data_align == 8 ? 1 : 0;
    unsigned depth = 0;
    uint64_t addr = *ret_addr;
    const uint8_t *at = c.at, *const end = c.end;
    while (at < end) {
        const uint8_t op = *at++;
        const unsigned low = op & 0x3f;
        uint64_t bytes = 0, n;
        if ((op & 0xc0) == CFA_ADVANCE_LOC) {
            bytes = low * cie->code_align;
        } else if ((op & 0xc0) == CFA_OFFSET && step != 0 && short_uleb(&at, end, &n)) {
            const pt_cfi_words bits = bits_of(machine, low);
            if (bits.head != 0) set_at_cfa(&now, bits, (int)n * step);
            continue;
        } else if ((op & 0xc0) == CFA_RESTORE) {
            set_bits(&now, bits_of(machine, low), first.head, first.tail);
            continue;
        } else if (op == CFA_DEF_CFA_OFFSET && has_cfa_reg(now) && short_uleb(&at, end, &n)) {
            now.head = (uint32_t)now.head | n << CFA_OFF_AT;
            continue;
        } else if (op == CFA_ADVANCE_LOC1 && at < end) {
            bytes = *at++ * cie->code_align;
        } else if (op == CFA_NOP) { /* padding of the entry */
            while (at < end && *at == CFA_NOP)
                at++;
            continue;
        } else if (op == CFA_REMEMBER_STATE) {
            if (depth == REMEMBER_MAX) return false;
            remembered[depth++] = now;
            continue;
        } else if (op == CFA_RESTORE_STATE) {
            if (depth == 0) return false;
            now = remembered[--depth];
            continue;
        } else if (op == CFA_DEF_CFA_REGISTER && has_cfa_reg(now) && at < end &&
                   *at < PT_CFI_REGS) {
            now.head = (now.head & ~(uint64_t)0xff00) | (uint64_t)*at++ << CFA_REG_AT;
            continue;
        } else if (op == CFA_DEF_CFA && end - at >= 2 && at[0] < PT_CFI_REGS && at[1] < 0x80) {
            now.head = (now.head & ~CFA_BITS) | PT_CFA_REG | (uint64_t)at[0] << CFA_REG_AT |
                       (uint64_t)at[1] << CFA_OFF_AT;
            at += 2;
            continue;
        } else {
            pt_unwind_rule whole = pt_cfi_rule_of(now);
            const pt_unwind_rule whole_first = pt_cfi_rule_of(first);
            program p = {machine, cie, &whole, &whole_first, {at, end, false}};
            if (!run_other(&p, op, reader, addr, &bytes)) return false;
            at = p.c.at;
            now = pt_cfi_words_of(&whole);
            if (!is_advance(op)) continue;
        }
        if (row == NULL || addr + bytes < addr) return false;
        if (bytes == 0) continue;
        if (now.head != delivered.head || now.tail != delivered.tail) row(arg, addr, now);
        delivered = now;
        *ret_addr = addr += bytes;
    }
    if (row != NULL) row(arg, addr, now);
    *rule = now;
    return true;
}

bool pt_cfi_run_first(const pt_cfi_reader *reader, pt_cfi_cie *cie, pt_cursor c)
{
    uint64_t addr = 0;
    return run_program(reader, cie, c, &addr, &cie->first, NULL, NULL);
}

bool pt_cfi_run(const pt_cfi_reader *reader, const pt_cfi_fde *fde, pt_cfi_row *row, void *arg)
{
    static const pt_cfi_words none;
    pt_cfi_words rule = fde->cie->first;
    uint64_t addr = fde->start_addr;
    if (run_program(reader, fde->cie, fde->program, &addr, &rule, row, arg)) return true;
    row(arg, addr, none);
    return false;
}

/* A function saves registers below its CFA. But the FDE of glibc's _dl_runtime_resolve on aarch64
 * leaves out two words that the PLT stub has pushed, so the return address lies above the CFA of
 * the FDE. The true CFA is two words higher. Once the words are popped, the return address is in
 * the link register. */
static void correct_cfa(const pt_machine *machine, pt_unwind_rule *r)
{
    enum { WORDS = 2 };
    if (r->cfa_kind != PT_CFA_SP || r->pc_slot != PT_SLOT_AT_CFA || r->pc_off < 0 ||
        r->pc_off >= WORDS || r->cfa_off > INT32_MAX - WORDS * 8)
        return;
    r->cfa_off += WORDS * 8;
    r->pc_off = (int16_t)(r->pc_off - WORDS);
    if (r->cfa_off + r->pc_off * 8 < 0) {
        r->pc_slot = PT_SLOT_SAME;
        r->pc_off = machine->return_addr;
    }
    if (r->fp_slot == PT_SLOT_AT_CFA && r->fp_off >= INT16_MIN + WORDS)
        r->fp_off = (int16_t)(r->fp_off - WORDS);
}

pt_unwind_rule pt_cfi_rule_stored(const pt_machine *machine, const pt_unwind_rule *rule)
{
    pt_unwind_rule r = *rule;
    if (r.cfa_kind == PT_CFA_REG && r.cfa_reg == machine->sp) r.cfa_kind = PT_CFA_SP;
    if (r.cfa_kind == PT_CFA_REG && r.cfa_reg == machine->fp) r.cfa_kind = PT_CFA_FP;
    if (r.cfa_kind == PT_CFA_SP || r.cfa_kind == PT_CFA_FP) r.cfa_reg = 0;
    /* At the thread's start nothing else matters; a rule without a CFA or a pc is useless. */
    if (r.pc_slot == PT_SLOT_UNDEFINED)
        return (pt_unwind_rule){.cfa_kind = PT_CFA_SP, .pc_slot = PT_SLOT_UNDEFINED};
    if (r.cfa_kind == PT_CFA_NONE || r.pc_slot == PT_SLOT_UNKNOWN) return (pt_unwind_rule){0};
    if (machine->has_link) correct_cfa(machine, &r);
    return r;
}
