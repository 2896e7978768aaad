/* x86.c: decodes instruction lengths by table, and the meaning of the few instructions that matter.
 */
#include "unwind/x86.h"

#include <string.h>

#include "unwind/x86_plain.h"

enum { SP = 4, FP = 5 };

/* The operands that follow an opcode. */
enum {
    BAD = 0x80,
    PLAIN = PT_X86_PLAIN,
    GROUP = PT_X86_GROUP,
    MODRM = PT_X86_HAS_MODRM,
    NONE = 0,
    IMM8 = PT_X86_IMM8,
    IMM16 = 2,
    IMMZ = PT_X86_IMMZ,
    IMM24 = 4, /* enter: 16 + 8 bits */
    MOFFS = 5,
    IMMV = 6, /* as IMMZ; 8 bytes with REX.W */
    REL32 = 7,
    SIZE = PT_X86_SIZE,
    M8 = MODRM | IMM8,
    PM = PLAIN | MODRM,
    PM8 = PM | IMM8,
    PMZ = PM | IMMZ,
    PG = PM | GROUP,
    PG8 = PM8 | GROUP,
    PGZ = PMZ | GROUP,
};

/* clang-format off */
#define ALU      PM, PM, PM, PM, PLAIN | IMM8, PLAIN | IMMZ, BAD, BAD
#define FOUR(x)  x, x, x, x
#define EIGHT(x) FOUR(x), FOUR(x)
const uint8_t pt_x86_one_byte[256] = {
    /* 00 */ ALU, ALU, ALU, ALU, ALU, ALU, ALU, ALU,
    /* 40 */ EIGHT(BAD), EIGHT(BAD),
    /* 50 */ EIGHT(NONE), EIGHT(NONE),
    /* 60 */ BAD, BAD, BAD, PM, FOUR(BAD), IMMZ, PMZ, IMM8, PM8, FOUR(NONE),
    /* 70 */ EIGHT(IMM8), EIGHT(IMM8),
    /* 80 */ PG8, PGZ, BAD, PG8, FOUR(PM), FOUR(PM), MODRM, PM, MODRM, MODRM,
    /* 90 */ PLAIN | NONE, NONE, NONE, NONE, FOUR(NONE), NONE, NONE, BAD, NONE, FOUR(NONE),
    /* a0 */ FOUR(MOFFS), FOUR(NONE), PLAIN | IMM8, PLAIN | IMMZ, NONE, NONE, FOUR(NONE),
    /* b0 */ EIGHT(PLAIN | IMM8), EIGHT(IMMV),
    /* c0 */ PG8, PG8, IMM16, NONE, BAD, BAD, PG8, PGZ, IMM24, NONE, IMM16, NONE, NONE, IMM8, BAD, NONE,
    /* d0 */ FOUR(PG), BAD, BAD, BAD, NONE, EIGHT(MODRM),
    /* e0 */ EIGHT(IMM8), REL32, REL32, BAD, IMM8, FOUR(NONE),
    /* f0 */ BAD, NONE, BAD, BAD, NONE, NONE, MODRM, MODRM, FOUR(NONE), NONE, NONE, MODRM, MODRM,
};

/* The 0F map; 0F38 and 0F3A lead to other maps. */
const uint8_t pt_x86_two_byte[256] = {
    /* 00 */ FOUR(PM), BAD, NONE, NONE, NONE, NONE, NONE, BAD, NONE, BAD, PM, NONE, PM8,
    /* 10 */ EIGHT(PM), EIGHT(PM),
    /* 20 */ FOUR(PM), FOUR(BAD), EIGHT(PM),
    /* 30 */ EIGHT(NONE), BAD, PM, BAD, PM, FOUR(PM),
    /* 40 */ EIGHT(PM), EIGHT(PM), EIGHT(PM), EIGHT(PM), EIGHT(PM), EIGHT(PM),
    /* 70 */ FOUR(PM8), PM, PM, PM, NONE, EIGHT(PM),
    /* 80 */ EIGHT(REL32), EIGHT(REL32),
    /* 90 */ EIGHT(PM), EIGHT(PM),
    /* a0 */ NONE, NONE, NONE, PM, PM8, PM, PM, PM, NONE, NONE, NONE, PM, PM8, PM, PM, PM,
    /* b0 */ EIGHT(PM), PM, PM, PM8, PM, FOUR(PM),
    /* c0 */ PM, PM, PM8, PM, PM8, PM8, PM8, PM, EIGHT(NONE),
    /* d0 */ EIGHT(PM), EIGHT(PM), EIGHT(PM), EIGHT(PM), EIGHT(PM), EIGHT(PM),
};
/* clang-format on */

/* The instruction being read. */
typedef struct {
    const uint8_t *bytes;
    size_t size, at;
    uint8_t map; /* 0: one byte, 1: 0F, 2: 0F38, 3: 0F3A, 4 and more: of EVEX */
    uint8_t op, modrm;
    uint8_t rex; /* also the REX bits of VEX */
    bool operand16, address32, is_vector;
    int32_t disp, imm;
    bool has_sib, bad;
    uint8_t sib;
} reading;

static uint8_t take_byte(reading *r)
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
        const uint32_t byte = take_byte(r);
        if (i < 4) value |= byte << 8 * i;
    }
    if (count == 1) return (int8_t)value;
    return count == 2 ? (int16_t)value : (int32_t)value;
}

/* Reads prefixes, REX and escapes into r->op and r->map. Returns the shape of the operands. */
static uint8_t take_opcode(reading *r)
{
    uint8_t byte;
    for (;;) {
        byte = take_byte(r);
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
        byte = take_byte(r);
    }
    if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) {
        const uint8_t first = take_byte(r);
        r->is_vector = true;
        r->rex = 0x40 | ((first & 0x80) == 0 ? 4 : 0);
        r->map = byte == 0xc5 ? 1 : byte == 0xc4 ? first & 0x1f : first & 7;
        if (byte != 0xc5) take_byte(r);
        if (byte == 0x62) take_byte(r);
        r->op = take_byte(r);
        if (r->map == 1) return r->op == 0x77 ? NONE : pt_x86_two_byte[r->op] == PM8 ? M8 : MODRM;
        return r->map == 3 ? M8 : r->map == 0 || r->map > 6 ? BAD : MODRM;
    }
    r->op = byte;
    if (byte != 0x0f) return pt_x86_one_byte[byte];
    r->op = take_byte(r);
    r->map = 1;
    if (r->op != 0x38 && r->op != 0x3a) return pt_x86_two_byte[r->op];
    r->map = r->op == 0x38 ? 2 : 3;
    r->op = take_byte(r);
    return r->map == 2 ? MODRM : M8;
}

static void take_modrm(reading *r)
{
    r->modrm = take_byte(r);
    const unsigned mod = r->modrm >> 6, rm = r->modrm & 7;
    if (mod == 3) return;
    unsigned disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
        r->has_sib = true;
        r->sib = take_byte(r);
        if (mod == 0 && (r->sib & 7) == 5) disp = 4;
    } else if (mod == 0 && rm == 5) {
        disp = 4; /* relative to rip */
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
    /* In the group of test, not, neg, mul and div, only test has an immediate. */
    if (r->map == 0 && (r->op == 0xf6 || r->op == 0xf7) && (r->modrm >> 3 & 7) < 2)
        r->imm = take_signed(r, r->op == 0xf6 ? 1 : z);
}

/* ---- effects on rsp and rbp ---- */

static unsigned reg_of(const reading *r)
{
    return (r->modrm >> 3 & 7) | (r->rex & 4 ? 8 : 0);
}

/* The register in rm; 16 if rm is memory. */
static unsigned rm_of(const reading *r)
{
    return r->modrm >> 6 == 3 ? (unsigned)(r->modrm & 7) | (r->rex & 1 ? 8 : 0) : 16;
}

/* True if the memory operand is at rsp + disp (is_fp_based: rbp + disp). */
static bool is_sp_based(const reading *r)
{
    return r->has_sib && r->sib == 0x24 && !(r->rex & 3);
}

static bool is_fp_based(const reading *r)
{
    return r->modrm >> 6 != 0 && (r->modrm & 7) == 5 && !(r->rex & 1);
}

static void set_insn(pt_insn *insn, pt_insn_kind kind, int32_t value)
{
    insn->kind = (uint8_t)kind;
    insn->value = value;
}

static void write_register(pt_insn *insn, unsigned number)
{
    if (number == SP) set_insn(insn, PT_INSN_WRITES_SP, 0);
    if (number == FP) set_insn(insn, PT_INSN_WRITES_FP, 0);
}

/* Opcodes of the one-byte map that write the register of the reg field. */
static bool writes_reg(uint8_t op)
{
    if (op < 0x38) return (op & 6) == 2;
    return op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8a || op == 0x8b || op == 0x8d;
}

/* Opcodes of the one-byte map that write the register or memory of rm. group: the reg field, for
 * groups. */
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

/* Opcodes of the 0F map that write a general register of the reg field. */
static bool writes_reg_0f(uint8_t op)
{
    return (op >= 0x40 && op <= 0x4f) || op == 0x02 || op == 0x03 || op == 0xaf || op == 0xb6 ||
           op == 0xb7 || op == 0xb8 || (op >= 0xbc && op <= 0xbf) || op == 0x2c || op == 0x2d ||
           op == 0x50 || op == 0xd7;
}

static void set_jump(pt_insn *insn, pt_insn_kind kind, bool is_direct, int32_t value)
{
    set_insn(insn, kind, value);
    insn->is_direct = is_direct;
}

/* Decodes add, sub, lea and mov of rsp and rbp. False: another instruction. */
static bool moves_stack(const reading *r, pt_insn *insn)
{
    const unsigned reg = reg_of(r), rm = rm_of(r);
    const bool wide = r->rex & 8;
    const unsigned group = r->modrm >> 3 & 7;
    if (!wide) return false;
    if ((r->op == 0x81 || r->op == 0x83) && rm == SP && (group == 0 || group == 5)) {
        set_insn(insn, PT_INSN_ADD_SP, group == 0 ? r->imm : -r->imm);
        return r->imm != INT32_MIN;
    }
    if (r->op == 0x8d && rm == 16 && (reg == SP || reg == FP)) {
        if (is_sp_based(r)) {
            set_insn(insn, reg == SP ? PT_INSN_ADD_SP : PT_INSN_FP_FROM_SP, r->disp);
            return true;
        }
        if (is_fp_based(r) && reg == SP) {
            set_insn(insn, PT_INSN_SP_FROM_FP, r->disp);
            return true;
        }
    }
    const bool to_rm = r->op == 0x89, to_reg = r->op == 0x8b;
    if (!to_rm && !to_reg) return false;
    const unsigned to = to_rm ? rm : reg, from = to_rm ? reg : rm;
    if (to == FP && from == SP)
        set_insn(insn, PT_INSN_FP_FROM_SP, 0);
    else if (to == SP && from == FP)
        set_insn(insn, PT_INSN_SP_FROM_FP, 0);
    else
        return false;
    return true;
}

static void classify_group5(const reading *r, pt_insn *insn)
{
    switch (r->modrm >> 3 & 7) {
    case 2:
    case 3: set_jump(insn, PT_INSN_CALL, false, 0); break;
    case 4: {
        /* jmp [table + register * 8] */
        const bool by_table = r->has_sib && r->modrm >> 6 == 0 && (r->sib & 0xc7) == 0xc5;
        set_jump(insn, PT_INSN_JUMP, false, by_table ? r->disp : 0);
        break;
    }
    case 5: set_jump(insn, PT_INSN_JUMP, false, 0); break;
    case 6: set_insn(insn, PT_INSN_PUSH, -1); break;
    default: write_register(insn, rm_of(r)); break;
    }
}

static void classify_one_byte(const reading *r, pt_insn *insn)
{
    const uint8_t op = r->op;
    const int number = (op & 7) | (r->rex & 1 ? 8 : 0);
    if (op >= 0x50 && op <= 0x57) return set_insn(insn, PT_INSN_PUSH, number);
    if (op >= 0x58 && op <= 0x5f) return set_insn(insn, PT_INSN_POP, number);
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
        return set_jump(insn, PT_INSN_BRANCH, true, r->imm);
    if (op >= 0xb8 && op <= 0xbf) return write_register(insn, (unsigned)number);
    switch (op) {
    case 0x68:
    case 0x6a:
    case 0x9c: return set_insn(insn, PT_INSN_PUSH, -1);
    case 0x8f:
    case 0x9d: return set_insn(insn, PT_INSN_POP, rm_of(r) < 16 && op == 0x8f ? (int)rm_of(r) : -1);
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf: return set_insn(insn, PT_INSN_RETURN, 0);
    case 0xc8: return set_insn(insn, PT_INSN_WRITES_SP, 0);
    case 0xc9: return set_insn(insn, PT_INSN_LEAVE, 0);
    case 0xcc:
    case 0xf4: return set_insn(insn, PT_INSN_STOP, 0);
    case 0xe8: return set_jump(insn, PT_INSN_CALL, true, r->imm);
    case 0xe9:
    case 0xeb: return set_jump(insn, PT_INSN_JUMP, true, r->imm);
    case 0xff: return classify_group5(r, insn);
    default: break;
    }
    if ((op == 0x31 || op == 0x33) && rm_of(r) == FP && reg_of(r) == FP)
        return set_insn(insn, PT_INSN_ZEROES_FP, 0);
    if (op == 0x8d && r->modrm >> 6 == 0 && (r->modrm & 7) == 5 && reg_of(r) != SP &&
        reg_of(r) != FP)
        return set_insn(insn, PT_INSN_ADDRESS, r->disp);
    if (moves_stack(r, insn)) return;
    if ((op & 1) == 0 && r->rex == 0) return; /* byte registers 4 and 5 are ah and ch */
    if (writes_rm(op, r->modrm >> 3 & 7)) write_register(insn, rm_of(r));
    if (writes_reg(op)) write_register(insn, reg_of(r));
    if (op == 0x86 || op == 0x87) write_register(insn, reg_of(r)); /* xchg */
}

static void classify_0f(const reading *r, pt_insn *insn)
{
    const uint8_t op = r->op;
    if (op >= 0x80 && op <= 0x8f) return set_jump(insn, PT_INSN_BRANCH, true, r->imm);
    if (op == 0x0b) return set_insn(insn, PT_INSN_STOP, 0);
    if (op == 0xa0 || op == 0xa8) return set_insn(insn, PT_INSN_PUSH, -1);
    if (op == 0xa1 || op == 0xa9) return set_insn(insn, PT_INSN_POP, -1);
    if (op >= 0xc8) return write_register(insn, (unsigned)(op & 7) | (r->rex & 1 ? 8 : 0));
    if (writes_reg_0f(op) && reg_of(r) == FP) write_register(insn, FP);
}

/* ---- common instructions ---- */

/* clang-format off */
/* r: the properties of the reg field. rm 4 means a SIB byte; rm 5 without displacement is relative
 * to rip. */
#define MEMORY(n, sib, five) n, n, n, n, sib, five, n, n
#define MOD0(r)   MEMORY(1 | (r), 2 | PT_X86_HAS_BARE_SIB | (r), 5 | PT_X86_FROM_RIP | (r))
#define MOD1(r)   MEMORY(2 | (r), 3 | (r), 2 | (r))
#define MOD2(r)   MEMORY(5 | (r), 6 | (r), 5 | (r))
#define MOD3(r)   MEMORY(1 | (r), 1 | PT_X86_NAMES_BY_RM | (r), 1 | PT_X86_NAMES_BY_RM | (r))
#define REGS(mod) FOUR(mod(0)), mod(PT_X86_NAMES_BY_REG), mod(PT_X86_NAMES_BY_REG), mod(0), mod(0)
const uint8_t pt_x86_modrm[256] = {REGS(MOD0), REGS(MOD1), REGS(MOD2), REGS(MOD3)};
/* clang-format on */

static inline bool set_found(pt_insn *ret_insn, unsigned length, pt_insn_kind kind, bool is_direct,
                             int32_t value)
{
    *ret_insn = (pt_insn){
        .length = (uint8_t)length, .kind = (uint8_t)kind, .is_direct = is_direct, .value = value};
    return true;
}

/* Decodes common instructions that are not plain: calls, jumps, pushes, those with a prefix or 0F.
 * `at` has 15 bytes. Returns false for any other instruction. */
static inline bool decode_common(const uint8_t *at, pt_insn *ret_insn)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    const uint8_t first = (uint8_t)word;
    const unsigned has_prefix = first == 0xf2 || first == 0xf3 || first == 0x66;
    word >>= 8 * has_prefix;
    const unsigned has_rex = (word & 0xf0) == 0x40;
    const uint8_t rex = has_rex ? (uint8_t)word : 0;
    word >>= 8 * has_rex;
    const uint8_t op = (uint8_t)word;
    word >>= 8;
    unsigned length = has_prefix + has_rex + 1;
    if (op == 0x0f) {
        const uint8_t shape = pt_x86_two_byte[word & 0xff];
        word >>= 8;
        length++;
        if (shape == REL32 && !has_prefix)
            return set_found(ret_insn, length + 4, PT_INSN_BRANCH, true, (int32_t)(uint32_t)word);
        const unsigned bytes = shape & PLAIN ? pt_x86_operand_bytes(word, shape, rex) : 0;
        return bytes != 0 && set_found(ret_insn, length + bytes, PT_INSN_OTHER, false, 0);
    }
    if (has_prefix) return false;
    const int32_t value = (int32_t)(uint32_t)word;
    if (op >= 0x50 && op <= 0x5f)
        return set_found(ret_insn, length, op < 0x58 ? PT_INSN_PUSH : PT_INSN_POP, false,
                         (op & 7) | (rex & 1) << 3);
    if (op >= 0x70 && op <= 0x7f)
        return set_found(ret_insn, length + 1, PT_INSN_BRANCH, true, (int8_t)value);
    if (op >= 0xb8 && op <= 0xbf && ((op & 6) != 4 || rex & 1)) /* not rsp or rbp */
        return set_found(ret_insn, length + (rex & 8 ? 8 : 4), PT_INSN_OTHER, false, 0);
    switch (op) {
    case 0x6a: return set_found(ret_insn, length + 1, PT_INSN_PUSH, false, -1);
    case 0xcc: return set_found(ret_insn, length, PT_INSN_STOP, false, 0);
    case 0xc3: return set_found(ret_insn, length, PT_INSN_RETURN, false, 0);
    case 0xe8: return set_found(ret_insn, length + 4, PT_INSN_CALL, true, value);
    case 0xe9: return set_found(ret_insn, length + 4, PT_INSN_JUMP, true, value);
    case 0xeb: return set_found(ret_insn, length + 1, PT_INSN_JUMP, true, (int8_t)value);
    case 0xf6:
    case 0xf7: {
        const unsigned bytes = pt_x86_operand_bytes(word, PG, rex);
        const unsigned immediate = (word >> 3 & 7) >= 2 ? 0 : op == 0xf6 ? 1 : 4;
        return bytes != 0 &&
               set_found(ret_insn, length + bytes + immediate, PT_INSN_OTHER, false, 0);
    }
    default: return false;
    }
}

static __attribute__((noinline)) bool decode_any(const uint8_t *bytes, size_t size,
                                                 pt_insn *ret_insn)
{
    reading r = {.bytes = bytes, .size = size};
    const uint8_t shape = take_opcode(&r);
    if (shape & BAD || r.bad) return false;
    if (shape & MODRM) take_modrm(&r);
    take_immediate(&r, shape);
    if (r.bad) return false;
    *ret_insn = (pt_insn){.length = (uint8_t)r.at};
    if (r.map == 0 && !r.is_vector)
        classify_one_byte(&r, ret_insn);
    else if (r.map == 1 && !r.is_vector && r.op <= 0xcf)
        classify_0f(&r, ret_insn);
    return true;
}

bool pt_x86_decode(const uint8_t *bytes, size_t size, pt_insn *ret_insn)
{
    const unsigned plain = size >= 15 ? pt_x86_plain_length(bytes) : 0;
    if (plain > 0) return set_found(ret_insn, plain, PT_INSN_OTHER, false, 0);
    return (size >= 15 && decode_common(bytes, ret_insn)) || decode_any(bytes, size, ret_insn);
}
