/* cfi.c: entries of .eh_frame and .debug_frame (DWARF 5, 6.4; LSB core, "Exception Frames"). */
#include "unwind/cfi.h"

#include <elf.h>
#include <string.h>

/* ---- reading bytes ---- */

uint64_t pt_cursor_fixed(pt_cursor *c, unsigned bytes)
{
    if (c->bad || (uint64_t)(c->end - c->at) < bytes) {
        c->bad = true;
        return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)c->at[i] << (8 * i);
    c->at += bytes;
    return value;
}

uint64_t pt_cursor_uleb(pt_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        if (c->bad || c->at == c->end) {
            c->bad = true;
            return 0;
        }
        const uint8_t byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

int64_t pt_cursor_sleb(pt_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        if (c->bad || c->at == c->end) {
            c->bad = true;
            return 0;
        }
        const uint8_t byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80) continue;
        if ((byte & 0x40) && shift < 64) value |= ~(uint64_t)0 << shift;
        return (int64_t)value;
    }
}

void pt_cursor_skip(pt_cursor *c, uint64_t bytes)
{
    if (c->bad || (uint64_t)(c->end - c->at) < bytes)
        c->bad = true;
    else
        c->at += bytes;
}

/* DW_EH_PE_X. */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128,
    PE_UDATA2,
    PE_UDATA4,
    PE_UDATA8,
    PE_SLEB128 = 0x09,
    PE_SDATA2,
    PE_SDATA4,
    PE_SDATA8,
    PE_PCREL = 0x10,
    PE_TEXTREL = 0x20,
    PE_DATAREL = 0x30,
    PE_ALIGNED = 0x50,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

bool pt_cfi_pointer(pt_cursor *c, uint8_t encoding, uint64_t at_addr,
                    const pt_unwind_frames *frames, uint64_t *ret_value)
{
    if (encoding == PE_OMIT) return false;
    if (encoding == PE_ALIGNED) {
        const uint64_t padding = -at_addr & 7;
        pt_cursor_skip(c, padding);
        *ret_value = pt_cursor_fixed(c, 8);
        return !c->bad;
    }
    uint64_t value;
    switch (encoding & 0x0f) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: value = pt_cursor_fixed(c, 8); break;
    case PE_ULEB128: value = pt_cursor_uleb(c); break;
    case PE_SLEB128: value = (uint64_t)pt_cursor_sleb(c); break;
    case PE_UDATA2: value = pt_cursor_fixed(c, 2); break;
    case PE_SDATA2: value = (uint64_t)(int64_t)(int16_t)pt_cursor_fixed(c, 2); break;
    case PE_UDATA4: value = pt_cursor_fixed(c, 4); break;
    case PE_SDATA4: value = (uint64_t)(int64_t)(int32_t)pt_cursor_fixed(c, 4); break;
    default: c->bad = true; return false;
    }
    switch (encoding & 0x70) {
    case 0: break;
    case PE_PCREL: value += at_addr; break;
    case PE_TEXTREL: value += frames->text_addr; break;
    case PE_DATAREL: value += frames->data_addr; break;
    default: return false; /* relative to a function: not in these sections */
    }
    *ret_value = value;
    return !c->bad && !(encoding & PE_INDIRECT);
}

/* ---- entries ---- */

const pt_cfi_machine *pt_cfi_machine_of(uint16_t machine)
{
    /* System V ABI, AMD64, figure 3.36; DWARF for the Arm 64-bit Architecture, 4.1. */
    static const pt_cfi_machine known[] = {
        {.machine = EM_X86_64, .sp = 7, .fp = 6, .pc = 16},
        {.machine = EM_AARCH64, .sp = 31, .fp = 29, .pc = 30, .has_link = true},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].machine == machine) return &known[i];
    }
    return NULL;
}

/* The head of an entry. */
typedef struct {
    pt_cursor rest; /* what follows the id, to the entry's end */
    uint64_t id, id_off;
    bool is_64, is_cie;
} entry;

/* 1: an entry, 0: a zero length (*ret_next is behind it), -1: nothing more. */
static int entry_at(const pt_unwind_frames *frames, uint64_t off, entry *ret_entry,
                    uint64_t *ret_next)
{
    if (off > frames->size_bytes) return -1;
    pt_cursor c = {frames->bytes + off, frames->bytes + frames->size_bytes, false};
    uint64_t length = pt_cursor_fixed(&c, 4);
    if (c.bad) return -1;
    if (length == 0) {
        *ret_next = off + 4;
        return 0;
    }
    const bool is_64 = length == 0xffffffff;
    if (is_64) length = pt_cursor_fixed(&c, 8);
    if (c.bad || length > (uint64_t)(c.end - c.at)) return -1;
    c.end = c.at + length;
    *ret_next = (uint64_t)(c.end - frames->bytes);
    /* .eh_frame has ids of 4 bytes even then (as binutils and gcc read it). */
    const bool is_wide_id = is_64 && frames->is_debug_frame;
    ret_entry->id_off = (uint64_t)(c.at - frames->bytes);
    ret_entry->id = pt_cursor_fixed(&c, is_wide_id ? 8 : 4);
    ret_entry->is_64 = is_64;
    ret_entry->is_cie = ret_entry->id == (!frames->is_debug_frame ? 0
                                          : is_wide_id            ? UINT64_MAX
                                                                  : UINT32_MAX);
    ret_entry->rest = c;
    return 1;
}

bool pt_cfi_next(const pt_unwind_frames *frames, uint64_t *off, bool *ret_is_fde)
{
    entry e;
    const int found = entry_at(frames, *off, &e, off);
    if (found < 0 || (found == 0 && !frames->is_whole_section)) return false;
    *ret_is_fde = found == 1 && !e.is_cie && !e.rest.bad;
    return true;
}

static uint64_t addr_of(const pt_unwind_frames *frames, const uint8_t *at)
{
    return frames->addr + (uint64_t)(at - frames->bytes);
}

/* The letters of a CIE's augmentation, and their data. False if some are unknown and in the way. */
static bool read_augmentation(pt_cfi_reader *reader, pt_cfi_cie *cie, const char *letters,
                              pt_cursor *c)
{
    if (*letters != 'z') return *letters == '\0';
    cie->has_data = true;
    const uint64_t size_bytes = pt_cursor_uleb(c);
    pt_cursor data = *c;
    pt_cursor_skip(c, size_bytes);
    if (c->bad) return false;
    data.end = c->at;
    for (letters++; *letters != '\0' && !data.bad; letters++) {
        uint64_t ignored;
        switch (*letters) {
        case 'R': cie->address_encoding = (uint8_t)pt_cursor_fixed(&data, 1); break;
        case 'L': pt_cursor_fixed(&data, 1); break;
        case 'P': {
            const uint8_t encoding = (uint8_t)pt_cursor_fixed(&data, 1);
            pt_cfi_pointer(&data, encoding, addr_of(reader->frames, data.at), reader->frames,
                           &ignored);
            break;
        }
        case 'S': cie->is_signal = true; break;
        case 'B': break;      /* aarch64: return addresses are signed with key B */
        case 'G': break;      /* aarch64: memory tagging of the frame */
        default: return true; /* its data is skipped by its size; the rest may be R, by then read */
        }
    }
    return !data.bad;
}

static bool run(const pt_cfi_machine *machine, const pt_cfi_cie *cie, pt_cursor c, uint64_t *addr,
                const pt_unwind_frames *frames, pt_unwind_rule *rule, const pt_unwind_rule *first,
                void (*row)(void *arg, uint64_t addr, const pt_unwind_rule *rule), void *arg);

/* Tools make a dozen bytes. Entries may be forgotten and read again for every FDE, so a long
 * program would cost its length times the FDEs that name it. */
enum { CIE_PROGRAM_MAX_BYTES = 4096 };

static bool read_cie(pt_cfi_reader *reader, uint64_t off, pt_cfi_cie *cie)
{
    const pt_unwind_frames *const frames = reader->frames;
    entry e;
    uint64_t next;
    if (entry_at(frames, off, &e, &next) != 1 || !e.is_cie) return false;
    pt_cursor c = e.rest;
    const uint64_t version = pt_cursor_fixed(&c, 1);
    if (version != 1 && version != 3 && version != 4) return false;
    const char *const letters = (const char *)c.at;
    while (!c.bad && pt_cursor_fixed(&c, 1) != 0)
        ;
    if (c.bad) return false;
    if (letters[0] == 'e' && letters[1] == 'h' && letters[2] == '\0') return false; /* gcc 2 */
    if (version == 4) {
        const uint64_t address_bytes = pt_cursor_fixed(&c, 1);
        const uint64_t segment_bytes = pt_cursor_fixed(&c, 1);
        if (address_bytes != 8 || segment_bytes != 0) return false;
    }
    cie->code_align = pt_cursor_uleb(&c);
    cie->data_align = pt_cursor_sleb(&c);
    const uint64_t pc_column = version == 1 ? pt_cursor_fixed(&c, 1) : pt_cursor_uleb(&c);
    cie->address_encoding = PE_ABSPTR;
    if (c.bad || pc_column != reader->machine->pc || !read_augmentation(reader, cie, letters, &c))
        return false;
    if (c.end - c.at > CIE_PROGRAM_MAX_BYTES) return false;
    cie->first = (pt_unwind_rule){
        .cfa_kind = PT_CFA_NONE,
        .pc_slot = reader->machine->has_link ? PT_SLOT_SAME : PT_SLOT_UNKNOWN,
        .pc_off = reader->machine->has_link ? reader->machine->pc : 0,
        .fp_slot = PT_SLOT_SAME,
        .is_signal = cie->is_signal,
    };
    const pt_unwind_rule none = cie->first;
    uint64_t addr = 0;
    return run(reader->machine, cie, c, &addr, frames, &cie->first, &none, NULL, NULL);
}

/* The CIE at off, from those remembered if it is there. Never NULL. */
static const pt_cfi_cie *cie_at(pt_cfi_reader *reader, uint64_t off)
{
    pt_cfi_cie *const cie = &reader->cies[(off >> 2 ^ off >> 6) % PT_CFI_CIES];
    if (cie->off != off + 1) {
        *cie = (pt_cfi_cie){.off = off + 1};
        cie->is_good = read_cie(reader, off, cie);
    }
    return cie;
}

bool pt_cfi_fde_at(pt_cfi_reader *reader, uint64_t off, pt_cfi_fde *ret_fde)
{
    const pt_unwind_frames *const frames = reader->frames;
    entry e;
    uint64_t next;
    if (entry_at(frames, off, &e, &next) != 1 || e.is_cie || e.rest.bad) return false;
    if (!frames->is_debug_frame && e.id > e.id_off) return false;
    const uint64_t cie_off = frames->is_debug_frame ? e.id : e.id_off - e.id;
    const pt_cfi_cie *const cie = cie_at(reader, cie_off);
    if (!cie->is_good) return false;
    pt_cursor c = e.rest;
    uint64_t start, size;
    if (!pt_cfi_pointer(&c, cie->address_encoding, addr_of(frames, c.at), frames, &start))
        return false;
    if (!pt_cfi_pointer(&c, cie->address_encoding & 0x0f, addr_of(frames, c.at), frames, &size))
        return false;
    if (cie->has_data) pt_cursor_skip(&c, pt_cursor_uleb(&c));
    if (c.bad || size == 0 || start + size < start) return false;
    *ret_fde = (pt_cfi_fde){.start_addr = start, .size_bytes = size, .cie = cie, .program = c};
    return true;
}

/* ---- programs ---- */

/* DW_CFA_X; the three that carry an operand in their low six bits are told by the high two. */
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
    const pt_cfi_machine *machine;
    const pt_cfi_cie *cie;
    pt_unwind_rule *rule;
    const pt_unwind_rule *first; /* what restore goes back to */
    pt_cursor c;
} program;

/* Says where the caller's value of a register is, if it is one of those that we follow. */
static void set_slot(program *p, uint64_t reg, unsigned slot, int64_t bytes)
{
    if (slot != PT_SLOT_SAME && (bytes % 8 != 0 || bytes / 8 != (int16_t)(bytes / 8))) {
        slot = PT_SLOT_UNKNOWN;
    }
    if (slot < PT_SLOT_AT_CFA && slot != PT_SLOT_SAME) bytes = 0;
    const int16_t off = (int16_t)(slot == PT_SLOT_SAME ? bytes : bytes / 8);
    if (reg == p->machine->pc) {
        p->rule->pc_slot = slot & 15;
        p->rule->pc_off = off;
    } else if (reg == p->machine->fp) {
        p->rule->fp_slot = slot & 15;
        p->rule->fp_off = slot == PT_SLOT_SAME ? 0 : off;
    }
}

static void set_same(program *p, uint64_t reg)
{
    /* Of pc: it is in its own column's register, if the machine has one. */
    if (reg == p->machine->pc && !p->machine->has_link)
        set_slot(p, reg, PT_SLOT_UNKNOWN, 0);
    else
        set_slot(p, reg, PT_SLOT_SAME, (int64_t)reg);
}

static void restore(program *p, uint64_t reg)
{
    if (reg == p->machine->pc) {
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

/* The bytes of an expression, which the program then is behind. */
static pt_cursor expression(program *p)
{
    const uint64_t size_bytes = pt_cursor_uleb(&p->c);
    pt_cursor e = p->c;
    pt_cursor_skip(&p->c, size_bytes);
    e.end = p->c.at;
    e.bad = p->c.bad;
    return e;
}

/* The expressions that tools make for the CFA; others are left without a rule. */
static void cfa_expression(program *p)
{
    /* A PLT entry: one word more is pushed from byte 10 or 11 of each 16 on (ld writes this):
     * breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus. */
    static const uint8_t plt[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x30, 0x2a, 0x33, 0x24, 0x22};
    pt_cursor e = expression(p);
    set_cfa(p, PT_CFA_NONE, 0, 0);
    if (e.bad) return;
    const size_t size = (size_t)(e.end - e.at);
    if (p->machine->machine == EM_X86_64 && size == sizeof plt && memcmp(e.at, plt, 6) == 0 &&
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

/* A register that is saved at what an expression gives: sp or fp and an offset. */
static void slot_expression(program *p, uint64_t reg, bool is_value)
{
    pt_cursor e = expression(p);
    const uint64_t op = pt_cursor_fixed(&e, 1);
    const int64_t off = pt_cursor_sleb(&e);
    unsigned slot = PT_SLOT_UNKNOWN;
    if (!is_value && !e.bad && e.at == e.end) {
        if (op == OP_BREG0 + (uint64_t)p->machine->sp) slot = PT_SLOT_AT_SP;
        if (op == OP_BREG0 + (uint64_t)p->machine->fp) slot = PT_SLOT_AT_FP;
    }
    set_slot(p, reg, slot, slot == PT_SLOT_UNKNOWN ? 0 : off);
}

static int64_t scaled(const program *p, uint64_t factor)
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

/* All that do not move the address or use the stack of states. False: unknown. */
static bool define(program *p, uint8_t op)
{
    pt_cursor *const c = &p->c;
    uint64_t reg;
    switch (op) {
    case CFA_NOP:
    case CFA_GNU_WINDOW_SAVE: return true;
    case CFA_GNU_ARGS_SIZE: pt_cursor_uleb(c); return true;
    case CFA_OFFSET_EXTENDED:
        reg = pt_cursor_uleb(c);
        set_slot(p, reg, PT_SLOT_AT_CFA, scaled(p, pt_cursor_uleb(c)));
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        reg = pt_cursor_uleb(c);
        set_slot(p, reg, PT_SLOT_AT_CFA, scaled(p, (uint64_t)pt_cursor_sleb(c)));
        return true;
    case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
        reg = pt_cursor_uleb(c);
        set_slot(p, reg, PT_SLOT_AT_CFA, scaled(p, -pt_cursor_uleb(c)));
        return true;
    case CFA_RESTORE_EXTENDED: restore(p, pt_cursor_uleb(c)); return true;
    case CFA_UNDEFINED: set_slot(p, pt_cursor_uleb(c), PT_SLOT_UNDEFINED, 0); return true;
    case CFA_SAME_VALUE: set_same(p, pt_cursor_uleb(c)); return true;
    case CFA_REGISTER: {
        reg = pt_cursor_uleb(c);
        const uint64_t in = pt_cursor_uleb(c);
        const bool is_pc = reg == p->machine->pc && in < PT_CFI_REGS;
        set_slot(p, reg, is_pc ? PT_SLOT_SAME : PT_SLOT_UNKNOWN, is_pc ? (int64_t)in : 0);
        return true;
    }
    case CFA_DEF_CFA:
        reg = pt_cursor_uleb(c);
        set_cfa(p, PT_CFA_REG, reg, (int64_t)pt_cursor_uleb(c));
        return true;
    case CFA_DEF_CFA_SF:
        reg = pt_cursor_uleb(c);
        set_cfa(p, PT_CFA_REG, reg, scaled(p, (uint64_t)pt_cursor_sleb(c)));
        return true;
    case CFA_DEF_CFA_REGISTER:
        reg = pt_cursor_uleb(c);
        set_cfa(p, p->rule->cfa_kind == PT_CFA_REG ? PT_CFA_REG : PT_CFA_NONE, reg,
                p->rule->cfa_off);
        return true;
    case CFA_DEF_CFA_OFFSET: define_cfa_off(p, (int64_t)pt_cursor_uleb(c)); return true;
    case CFA_DEF_CFA_OFFSET_SF:
        define_cfa_off(p, scaled(p, (uint64_t)pt_cursor_sleb(c)));
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

/* By how much op moves the address; false: it is none that does. */
static bool advance(program *p, uint8_t op, uint64_t *ret_bytes)
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

/* The program of a CIE (row NULL) or of an FDE. */
static bool run(const pt_cfi_machine *machine, const pt_cfi_cie *cie, pt_cursor c, uint64_t *addr,
                const pt_unwind_frames *frames, pt_unwind_rule *rule, const pt_unwind_rule *first,
                void (*row)(void *arg, uint64_t addr, const pt_unwind_rule *rule), void *arg)
{
    program p = {machine, cie, rule, first, c};
    pt_unwind_rule remembered[REMEMBER_MAX];
    unsigned depth = 0;
    while (p.c.at < p.c.end && !p.c.bad) {
        const uint8_t op = *p.c.at++;
        uint64_t bytes;
        if ((op & 0xc0) == CFA_OFFSET) {
            set_slot(&p, op & 0x3f, PT_SLOT_AT_CFA, scaled(&p, pt_cursor_uleb(&p.c)));
        } else if ((op & 0xc0) == CFA_RESTORE) {
            restore(&p, op & 0x3f);
        } else if (advance(&p, op, &bytes)) {
            if (p.c.bad || row == NULL || *addr + bytes < *addr) return false;
            if (bytes > 0) row(arg, *addr, rule);
            *addr += bytes;
        } else if (op == CFA_SET_LOC) {
            uint64_t to;
            if (!pt_cfi_pointer(&p.c, cie->address_encoding, addr_of(frames, p.c.at), frames,
                                &to) ||
                row == NULL || to < *addr)
                return false;
            if (to > *addr) row(arg, *addr, rule);
            *addr = to;
        } else if (op == CFA_REMEMBER_STATE) {
            if (depth == REMEMBER_MAX) return false;
            remembered[depth++] = *rule;
        } else if (op == CFA_RESTORE_STATE) {
            if (depth == 0) return false;
            *rule = remembered[--depth];
        } else if (!define(&p, op)) {
            return false;
        }
    }
    if (!p.c.bad && row != NULL) row(arg, *addr, rule);
    return !p.c.bad;
}

bool pt_cfi_run(const pt_cfi_reader *reader, const pt_cfi_fde *fde,
                void (*row)(void *arg, uint64_t addr, const pt_unwind_rule *rule), void *arg)
{
    pt_unwind_rule rule = fde->cie->first;
    uint64_t addr = fde->start_addr;
    if (run(reader->machine, fde->cie, fde->program, &addr, reader->frames, &rule, &fde->cie->first,
            row, arg))
        return true;
    static const pt_unwind_rule none;
    row(arg, addr, &none);
    return false;
}

pt_unwind_rule pt_cfi_rule_stored(const pt_cfi_machine *machine, const pt_unwind_rule *rule)
{
    pt_unwind_rule r = *rule;
    if (r.cfa_kind == PT_CFA_REG && r.cfa_reg == machine->sp) r.cfa_kind = PT_CFA_SP;
    if (r.cfa_kind == PT_CFA_REG && r.cfa_reg == machine->fp) r.cfa_kind = PT_CFA_FP;
    if (r.cfa_kind == PT_CFA_SP || r.cfa_kind == PT_CFA_FP) r.cfa_reg = 0;
    /* Where the thread started nothing else matters, and without a CFA or a pc nothing is left. */
    if (r.pc_slot == PT_SLOT_UNDEFINED)
        return (pt_unwind_rule){.cfa_kind = PT_CFA_SP, .pc_slot = PT_SLOT_UNDEFINED};
    if (r.cfa_kind == PT_CFA_NONE || r.pc_slot == PT_SLOT_UNKNOWN) return (pt_unwind_rule){0};
    return r;
}
