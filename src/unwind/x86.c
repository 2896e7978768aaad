/* x86.c: lengths by table, meanings of the few instructions that matter. */
#include "unwind/x86.h"

#include <string.h>

enum { SP = 4, FP = 5 };

/* What follows an opcode. */
enum {
    BAD = 0x80,
    MODRM = 0x10,
    NONE = 0,
    IMM8 = 1,
    IMM16 = 2,
    IMMZ = 3,  /* 4 bytes, 2 with an operand size prefix */
    IMM24 = 4, /* enter: 16 + 8 bits */
    MOFFS = 5,
    IMMV = 6, /* as IMMZ; 8 bytes with REX.W */
    REL32 = 7,
    M8 = MODRM | IMM8,
    MZ = MODRM | IMMZ,
    SIZE = 0xf,
};

static const uint8_t one_byte[256] = {
#define ALU      MODRM, MODRM, MODRM, MODRM, IMM8, IMMZ, BAD, BAD
#define EIGHT(x) x, x, x, x, x, x, x, x
    /* 00 */ ALU,
    ALU,
    ALU,
    ALU,
    ALU,
    ALU,
    ALU,
    ALU,
    /* 40 */ EIGHT(BAD),
    EIGHT(BAD),
    EIGHT(NONE),
    EIGHT(NONE),
    /* 60 */ BAD,
    BAD,
    BAD,
    MODRM,
    BAD,
    BAD,
    BAD,
    BAD,
    /* 68 */ IMMZ,
    MZ,
    IMM8,
    M8,
    NONE,
    NONE,
    NONE,
    NONE,
    /* 70 */ EIGHT(IMM8),
    EIGHT(IMM8),
    /* 80 */ M8,
    MZ,
    BAD,
    M8,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    /* 88 */ EIGHT(MODRM),
    /* 90 */ EIGHT(NONE),
    NONE,
    NONE,
    BAD,
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    /* a0 */ MOFFS,
    MOFFS,
    MOFFS,
    MOFFS,
    NONE,
    NONE,
    NONE,
    NONE,
    /* a8 */ IMM8,
    IMMZ,
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    /* b0 */ EIGHT(IMM8),
    EIGHT(IMMV),
    /* c0 */ M8,
    M8,
    IMM16,
    NONE,
    BAD,
    BAD,
    M8,
    MZ,
    /* c8 */ IMM24,
    NONE,
    IMM16,
    NONE,
    NONE,
    IMM8,
    BAD,
    NONE,
    /* d0 */ MODRM,
    MODRM,
    MODRM,
    MODRM,
    BAD,
    BAD,
    BAD,
    NONE,
    EIGHT(MODRM),
    /* e0 */ EIGHT(IMM8),
    /* e8 */ REL32,
    REL32,
    BAD,
    IMM8,
    NONE,
    NONE,
    NONE,
    NONE,
    /* f0 */ BAD,
    NONE,
    BAD,
    BAD,
    NONE,
    NONE,
    MODRM,
    MODRM,
    /* f8 */ NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    MODRM,
    MODRM,
};

/* The 0F map: what is not named here has a ModRM byte and no immediate. */
static uint8_t shape_0f(uint8_t op)
{
    if (op >= 0x80 && op <= 0x8f) return REL32;
    if (op >= 0xc8 && op <= 0xcf) return NONE;
    if (op >= 0x30 && op <= 0x37) return NONE;
    if (op >= 0x70 && op <= 0x73) return M8;
    switch (op) {
    case 0x05:
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0b:
    case 0x0e:
    case 0x77:
    case 0xa0:
    case 0xa1:
    case 0xa2:
    case 0xa8:
    case 0xa9:
    case 0xaa: return NONE;
    case 0x0f:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4:
    case 0xc5:
    case 0xc6: return M8;
    case 0x04:
    case 0x0a:
    case 0x0c:
    case 0x24:
    case 0x25:
    case 0x26:
    case 0x27: return BAD;
    default: return MODRM;
    }
}

/* An instruction that is being read. */
typedef struct {
    const uint8_t *bytes;
    size_t size, at;
    uint8_t map; /* 0: one byte, 1: 0F, 2: 0F38, 3: 0F3A, 4 and more: of EVEX */
    uint8_t op, modrm;
    uint8_t rex; /* also of VEX, as far as it has these bits */
    bool operand16, address32, is_vector;
    int32_t disp, imm;
    bool has_sib, bad;
    uint8_t sib;
} reading;

static uint8_t take(reading *r)
{
    if (r->at >= r->size || r->at >= 15) {
        r->bad = true;
        return 0;
    }
    return r->bytes[r->at++];
}

static int32_t take_signed(reading *r, unsigned count)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++) {
        const uint32_t byte = take(r);
        if (i < 4) value |= byte << 8 * i;
    }
    if (count == 1) return (int8_t)value;
    return count == 2 ? (int16_t)value : (int32_t)value;
}

/* Prefixes, REX, escapes; leaves r->op and r->map. Returns the shape. */
static uint8_t take_opcode(reading *r)
{
    uint8_t byte;
    for (;;) {
        byte = take(r);
        if (byte == 0x66)
            r->operand16 = true;
        else if (byte == 0x67)
            r->address32 = true;
        else if (byte != 0xf0 && byte != 0xf2 && byte != 0xf3 && byte != 0x2e && byte != 0x36 &&
                 byte != 0x3e && byte != 0x26 && byte != 0x64 && byte != 0x65)
            break;
        if (r->bad) return BAD;
    }
    if ((byte & 0xf0) == 0x40) {
        r->rex = byte;
        byte = take(r);
    }
    if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) {
        const uint8_t first = take(r);
        r->is_vector = true;
        r->rex = 0x40 | ((first & 0x80) == 0 ? 4 : 0);
        r->map = byte == 0xc5 ? 1 : byte == 0xc4 ? first & 0x1f : first & 7;
        if (byte != 0xc5) take(r);
        if (byte == 0x62) take(r);
        r->op = take(r);
        if (r->map == 1) return r->op == 0x77 ? NONE : shape_0f(r->op) == M8 ? M8 : MODRM;
        return r->map == 3 ? M8 : r->map == 0 || r->map > 6 ? BAD : MODRM;
    }
    r->op = byte;
    if (byte != 0x0f) return one_byte[byte];
    r->op = take(r);
    r->map = 1;
    if (r->op != 0x38 && r->op != 0x3a) return shape_0f(r->op);
    r->map = r->op == 0x38 ? 2 : 3;
    r->op = take(r);
    return r->map == 2 ? MODRM : M8;
}

static void take_modrm(reading *r)
{
    r->modrm = take(r);
    const unsigned mod = r->modrm >> 6, rm = r->modrm & 7;
    if (mod == 3) return;
    unsigned disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
        r->has_sib = true;
        r->sib = take(r);
        if (mod == 0 && (r->sib & 7) == 5) disp = 4;
    } else if (mod == 0 && rm == 5) {
        disp = 4; /* from rip */
    }
    if (disp > 0) r->disp = take_signed(r, disp);
}

static void take_immediate(reading *r, uint8_t shape)
{
    const unsigned z = r->operand16 ? 2 : 4;
    switch (shape & SIZE) {
    case IMM8: r->imm = take_signed(r, 1); break;
    case IMM16: r->imm = take_signed(r, 2); break;
    case IMMZ: r->imm = take_signed(r, z); break;
    case IMM24: take_signed(r, 3); break;
    case MOFFS: take_signed(r, r->address32 ? 4 : 8); break;
    case IMMV: r->imm = take_signed(r, r->rex & 8 ? 8 : z); break;
    case REL32: r->imm = take_signed(r, 4); break;
    default: break;
    }
    /* The group of test, not, neg, mul, div: only test has an immediate. */
    if (r->map == 0 && (r->op == 0xf6 || r->op == 0xf7) && (r->modrm >> 3 & 7) < 2)
        r->imm = take_signed(r, r->op == 0xf6 ? 1 : z);
}

/* ---- what it does to rsp and rbp ---- */

static unsigned reg_of(const reading *r)
{
    return (r->modrm >> 3 & 7) | (r->rex & 4 ? 8 : 0);
}

/* The register that rm names; 16 if it is memory. */
static unsigned rm_of(const reading *r)
{
    return r->modrm >> 6 == 3 ? (unsigned)(r->modrm & 7) | (r->rex & 1 ? 8 : 0) : 16;
}

/* Is the address rsp + disp, or rbp + disp? */
static bool is_sp_based(const reading *r)
{
    return r->has_sib && r->sib == 0x24 && !(r->rex & 3);
}

static bool is_fp_based(const reading *r)
{
    return r->modrm >> 6 != 0 && (r->modrm & 7) == 5 && !(r->rex & 1);
}

static void set(pt_x86_insn *insn, pt_x86_kind kind, int32_t value)
{
    insn->kind = (uint8_t)kind;
    insn->value = value;
}

static void write_register(pt_x86_insn *insn, unsigned number)
{
    if (number == SP) set(insn, PT_X86_WRITES_SP, 0);
    if (number == FP) set(insn, PT_X86_WRITES_FP, 0);
}

/* Opcodes of the one-byte map whose result goes to the register of the reg field. */
static bool writes_reg(uint8_t op)
{
    if (op < 0x38) return (op & 6) == 2;
    return op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8a || op == 0x8b || op == 0x8d;
}

/* ... to the register or memory of rm. group: the reg field, for groups. */
static bool writes_rm(uint8_t op, unsigned group)
{
    if (op < 0x38) return (op & 6) == 0;
    if (op >= 0x80 && op <= 0x83) return group != 7; /* not cmp */
    if (op == 0x86 || op == 0x87 || op == 0x88 || op == 0x89 || op == 0xc6 || op == 0xc7)
        return true;
    if (op == 0xc0 || op == 0xc1 || (op >= 0xd0 && op <= 0xd3)) return true;
    if (op == 0xf6 || op == 0xf7) return group == 2 || group == 3;
    return (op == 0xfe || op == 0xff) && group < 2;
}

/* Opcodes of the 0F map whose result goes to a general register of the reg field. */
static bool writes_reg_0f(uint8_t op)
{
    return (op >= 0x40 && op <= 0x4f) || op == 0x02 || op == 0x03 || op == 0xaf || op == 0xb6 ||
           op == 0xb7 || op == 0xb8 || (op >= 0xbc && op <= 0xbf) || op == 0x2c || op == 0x2d ||
           op == 0x50 || op == 0xd7;
}

static void jump(pt_x86_insn *insn, pt_x86_kind kind, bool is_direct, int32_t value)
{
    set(insn, kind, value);
    insn->is_direct = is_direct;
}

/* add, sub, lea and mov of rsp and rbp. False: it is none of them. */
static bool moves_stack(const reading *r, pt_x86_insn *insn)
{
    const unsigned reg = reg_of(r), rm = rm_of(r);
    const bool wide = r->rex & 8;
    const unsigned group = r->modrm >> 3 & 7;
    if (!wide) return false;
    if ((r->op == 0x81 || r->op == 0x83) && rm == SP && (group == 0 || group == 5)) {
        set(insn, PT_X86_ADD_SP, group == 0 ? r->imm : -r->imm);
        return r->imm != INT32_MIN;
    }
    if (r->op == 0x8d && rm == 16 && (reg == SP || reg == FP)) {
        if (is_sp_based(r)) {
            set(insn, reg == SP ? PT_X86_ADD_SP : PT_X86_FP_FROM_SP, r->disp);
            return true;
        }
        if (is_fp_based(r) && reg == SP) {
            set(insn, PT_X86_SP_FROM_FP, r->disp);
            return true;
        }
    }
    const bool to_rm = r->op == 0x89, to_reg = r->op == 0x8b;
    if (!to_rm && !to_reg) return false;
    const unsigned to = to_rm ? rm : reg, from = to_rm ? reg : rm;
    if (to == FP && from == SP)
        set(insn, PT_X86_FP_FROM_SP, 0);
    else if (to == SP && from == FP)
        set(insn, PT_X86_SP_FROM_FP, 0);
    else
        return false;
    return true;
}

static void classify_group5(const reading *r, pt_x86_insn *insn)
{
    switch (r->modrm >> 3 & 7) {
    case 2:
    case 3: jump(insn, PT_X86_CALL, false, 0); break;
    case 4: {
        /* jmp [table + register * 8] */
        const bool by_table = r->has_sib && r->modrm >> 6 == 0 && (r->sib & 0xc7) == 0xc5;
        jump(insn, PT_X86_JUMP, false, by_table ? r->disp : 0);
        break;
    }
    case 5: jump(insn, PT_X86_JUMP, false, 0); break;
    case 6: set(insn, PT_X86_PUSH, -1); break;
    default: write_register(insn, rm_of(r)); break;
    }
}

static void classify_one_byte(const reading *r, pt_x86_insn *insn)
{
    const uint8_t op = r->op;
    const int number = (op & 7) | (r->rex & 1 ? 8 : 0);
    if (op >= 0x50 && op <= 0x57) return set(insn, PT_X86_PUSH, number);
    if (op >= 0x58 && op <= 0x5f) return set(insn, PT_X86_POP, number);
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
        return jump(insn, PT_X86_BRANCH, true, r->imm);
    if (op >= 0xb8 && op <= 0xbf) return write_register(insn, (unsigned)number);
    switch (op) {
    case 0x68:
    case 0x6a:
    case 0x9c: return set(insn, PT_X86_PUSH, -1);
    case 0x8f:
    case 0x9d: return set(insn, PT_X86_POP, rm_of(r) < 16 && op == 0x8f ? (int)rm_of(r) : -1);
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf: return set(insn, PT_X86_RETURN, 0);
    case 0xc8: return set(insn, PT_X86_WRITES_SP, 0);
    case 0xc9: return set(insn, PT_X86_LEAVE, 0);
    case 0xcc:
    case 0xf4: return set(insn, PT_X86_STOP, 0);
    case 0xe8: return jump(insn, PT_X86_CALL, true, r->imm);
    case 0xe9:
    case 0xeb: return jump(insn, PT_X86_JUMP, true, r->imm);
    case 0xff: return classify_group5(r, insn);
    default: break;
    }
    if ((op == 0x31 || op == 0x33) && rm_of(r) == FP && reg_of(r) == FP)
        return set(insn, PT_X86_ZEROES_FP, 0);
    if (op == 0x8d && r->modrm >> 6 == 0 && (r->modrm & 7) == 5 && reg_of(r) != SP &&
        reg_of(r) != FP)
        return set(insn, PT_X86_ADDRESS, r->disp);
    if (moves_stack(r, insn)) return;
    if ((op & 1) == 0 && r->rex == 0) return; /* bytes: 4 and 5 are ah and ch */
    if (writes_rm(op, r->modrm >> 3 & 7)) write_register(insn, rm_of(r));
    if (writes_reg(op)) write_register(insn, reg_of(r));
    if (op == 0x86 || op == 0x87) write_register(insn, reg_of(r)); /* xchg */
}

static void classify_0f(const reading *r, pt_x86_insn *insn)
{
    const uint8_t op = r->op;
    if (op >= 0x80 && op <= 0x8f) return jump(insn, PT_X86_BRANCH, true, r->imm);
    if (op == 0x0b) return set(insn, PT_X86_STOP, 0);
    if (op == 0xa0 || op == 0xa8) return set(insn, PT_X86_PUSH, -1);
    if (op == 0xa1 || op == 0xa9) return set(insn, PT_X86_POP, -1);
    if (op >= 0xc8) return write_register(insn, (unsigned)(op & 7) | (r->rex & 1 ? 8 : 0));
    if (writes_reg_0f(op) && reg_of(r) == FP) write_register(insn, FP);
}

/* ---- the most common ones ---- */

/* Opcodes without prefixes that do no more than write to the registers that ModRM names, or to
 * none that matters; their shape tells their length. */
static bool is_plain(uint8_t op)
{
    if (op < 0x40) return (op & 7) < 6; /* add, or, adc, sbb, and, sub, xor, cmp */
    switch (op) {
    case 0x63:
    case 0x69:
    case 0x6b:
    case 0x80:
    case 0x81:
    case 0x83:
    case 0x84:
    case 0x85:
    case 0x86:
    case 0x87:
    case 0x88:
    case 0x89:
    case 0x8a:
    case 0x8b:
    case 0x8d:
    case 0x90:
    case 0xa8:
    case 0xa9:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xc7:
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: return true;
    default: return false;
    }
}

/* The bytes of ModRM, SIB and displacement. */
static unsigned modrm_bytes(const uint8_t *at)
{
    const unsigned mod = at[0] >> 6, rm = at[0] & 7;
    if (mod == 3) return 1;
    const unsigned base = rm == 4 ? at[1] & 7u : rm;
    return 1 + (rm == 4) + (mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0);
}

/* Does ModRM name rsp or rbp, or an address from rip? */
static bool names_stack(uint8_t modrm, uint8_t rex)
{
    const bool by_reg = (modrm & 0x30) == 0x20 && !(rex & 4);
    const bool by_rm = modrm >> 6 == 3 && (modrm & 6) == 4 && !(rex & 1);
    return by_reg || by_rm || (modrm & 0xc7) == 5;
}

/* What most code is made of, without a look at all that may be; at has 15 bytes. False: it is
 * something else. */
static bool decode_common(const uint8_t *at, pt_x86_insn *ret_insn)
{
    const uint8_t *const start = at;
    const uint8_t rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
    const uint8_t op = *at++;
    pt_x86_insn insn = {.kind = PT_X86_OTHER};
    if (is_plain(op)) {
        const uint8_t shape = one_byte[op];
        if (shape & MODRM) {
            if (names_stack(*at, rex)) return false;
            at += modrm_bytes(at);
        }
        at += (shape & SIZE) == IMM8 ? 1 : (shape & SIZE) == IMMZ ? 4 : 0;
    } else if ((op >= 0x70 && op <= 0x7f) || op == 0xeb) {
        insn = (pt_x86_insn){.kind = op == 0xeb ? PT_X86_JUMP : PT_X86_BRANCH,
                             .is_direct = true,
                             .value = (int8_t)*at++};
    } else if (op == 0xe8 || op == 0xe9 || (op == 0x0f && *at >= 0x80 && *at <= 0x8f)) {
        insn.kind = op == 0xe8 ? PT_X86_CALL : op == 0xe9 ? PT_X86_JUMP : PT_X86_BRANCH;
        insn.is_direct = true;
        at += op == 0x0f;
        memcpy(&insn.value, at, 4);
        at += 4;
    } else if (op == 0x0f && *at != 0x38 && *at != 0x3a && shape_0f(*at) == MODRM) {
        if (names_stack(at[1], rex)) return false;
        at += 1 + modrm_bytes(at + 1);
    } else if (op >= 0x50 && op <= 0x5f) {
        insn.kind = op < 0x58 ? PT_X86_PUSH : PT_X86_POP;
        insn.value = (op & 7) | (rex & 1) << 3;
    } else {
        return false;
    }
    insn.length = (uint8_t)(at - start);
    *ret_insn = insn;
    return true;
}

bool pt_x86_decode(const uint8_t *bytes, size_t size, pt_x86_insn *ret_insn)
{
    if (size >= 15 && decode_common(bytes, ret_insn)) return true;
    reading r = {.bytes = bytes, .size = size};
    const uint8_t shape = take_opcode(&r);
    if (shape & BAD || r.bad) return false;
    if (shape & MODRM) take_modrm(&r);
    take_immediate(&r, shape);
    if (r.bad) return false;
    *ret_insn = (pt_x86_insn){.length = (uint8_t)r.at};
    if (r.map == 0 && !r.is_vector)
        classify_one_byte(&r, ret_insn);
    else if (r.map == 1 && !r.is_vector && r.op <= 0xcf)
        classify_0f(&r, ret_insn);
    return true;
}
