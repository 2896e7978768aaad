/* aarch64.c: see aarch64.h. All instructions have four bytes. */
#include "unwind/aarch64.h"

enum { FP = 29, LINK = 30, SP = 31 /* in the operands of address arithmetic; elsewhere zero */ };

/* The bits [low, low + count) of an instruction. */
static uint32_t read_bits(uint32_t insn, unsigned low, unsigned count)
{
    return insn >> low & ((UINT32_C(1) << count) - 1);
}

static int32_t signed_bits(uint32_t insn, unsigned low, unsigned count)
{
    const int32_t sign = INT32_C(1) << (count - 1);
    return ((int32_t)read_bits(insn, low, count) ^ sign) - sign;
}

static unsigned destination_of(uint32_t insn)
{
    return read_bits(insn, 0, 5);
}

static unsigned base_of(uint32_t insn)
{
    return read_bits(insn, 5, 5);
}

/* An instruction that writes an unknown value to a register. */
static pt_insn write_register(unsigned reg)
{
    return (pt_insn){.kind = reg == FP     ? PT_INSN_WRITES_FP
                             : reg == LINK ? PT_INSN_WRITES_LINK
                                           : PT_INSN_OTHER};
}

/* ---- arithmetic ---- */

/* to = from + value, where each may be sp. */
static pt_insn add_to_register(unsigned to, unsigned from, int32_t value)
{
    if (to == SP && from == SP) return (pt_insn){.kind = PT_INSN_ADD_SP, .value = value};
    if (to == SP && from == FP) return (pt_insn){.kind = PT_INSN_SP_FROM_FP, .value = value};
    if (to == FP && from == SP) return (pt_insn){.kind = PT_INSN_FP_FROM_SP, .value = value};
    if (to == SP) return (pt_insn){.kind = PT_INSN_WRITES_SP};
    return write_register(to);
}

/* Finds the constant that a mov, or a mov and a movk, before the instruction put into a register,
 * as for frames whose size is too large for an operand. Returns false if the register has another
 * value. */
static bool constant_before(const uint8_t *code, size_t at, unsigned reg, int32_t *ret_value)
{
    enum { MOVZ = 0xd2800000, MOVK_HIGH = 0xf2a00000, OPERATION = 0xffe00000, HALF = 16 };
    uint32_t high = 0;
    for (unsigned back = 1; back <= 2 && at >= back * PT_A64_BYTES; back++) {
        const uint32_t insn = pt_a64_word(code + at - back * PT_A64_BYTES);
        if (destination_of(insn) != reg) return false;
        if ((insn & OPERATION) == MOVZ) {
            const uint32_t value = high << HALF | read_bits(insn, 5, HALF);
            *ret_value = (int32_t)value;
            return high < 1 << (HALF - 4);
        }
        if ((insn & OPERATION) != MOVK_HIGH) return false;
        high = read_bits(insn, 5, HALF);
    }
    return false;
}

static pt_insn decode_immediate(uint32_t insn)
{
    enum { SET_FLAGS = 1 << 29, SUBTRACT = 1 << 30 };
    const unsigned to = destination_of(insn);
    if ((insn & 0x1f000000) == 0x11000000 || (insn & 0x1f800000) == 0x11800000) {
        const bool is_add = (insn & 0x1f800000) != 0x11800000 && insn >> 31 != 0;
        int32_t value = (int32_t)read_bits(insn, 10, 12);
        if (read_bits(insn, 22, 1) != 0) value <<= 12;
        if ((insn & SET_FLAGS) != 0) return write_register(to == SP ? 0 : to);
        if (!is_add) return to == SP ? (pt_insn){.kind = PT_INSN_WRITES_SP} : write_register(to);
        return add_to_register(to, base_of(insn), (insn & SUBTRACT) != 0 ? -value : value);
    }
    if ((insn & 0x1f800000) == 0x12000000 && to == SP && read_bits(insn, 29, 2) != 3)
        return (pt_insn){.kind = PT_INSN_WRITES_SP};   /* and, orr, eor */
    if ((insn & 0xffffffe0) == 0xd2800000 && to == FP) /* mov x29, 0 */
        return (pt_insn){.kind = PT_INSN_ZEROES_FP};
    return write_register(to);
}

static pt_insn decode_registers(const uint8_t *code, size_t at, uint32_t insn)
{
    enum { SUBTRACT = 1 << 30, ZERO = 31 };
    const unsigned to = destination_of(insn);
    int32_t value;
    if ((insn & 0x1fe00000) == 0x0b200000 && read_bits(insn, 29, 1) == 0) { /* add, sub, extended */
        const bool is_plain = read_bits(insn, 31, 1) != 0 && read_bits(insn, 13, 3) == 3 &&
                              read_bits(insn, 10, 3) == 0; /* uxtx 0 */
        if (is_plain && constant_before(code, at, read_bits(insn, 16, 5), &value))
            return add_to_register(to, base_of(insn), (insn & SUBTRACT) != 0 ? -value : value);
        return to == SP ? (pt_insn){.kind = PT_INSN_WRITES_SP} : write_register(to);
    }
    if ((insn & 0xffe0ffe0) == 0xaa0003e0 && read_bits(insn, 16, 5) == ZERO && to == FP)
        return (pt_insn){.kind = PT_INSN_ZEROES_FP}; /* mov x29, xzr */
    return write_register(to);
}

/* ---- memory ---- */

/* A load or store at the base register + value. sp_addend: what the instruction then adds to the
 * base register, if that is sp. */
static pt_insn access_memory(uint32_t insn, bool is_load, int32_t value, int32_t sp_addend)
{
    return (pt_insn){.kind = is_load ? PT_INSN_LOAD : PT_INSN_STORE,
                     .value = value,
                     .access = {.is_by_fp = base_of(insn) == FP,
                                .is_by_other = base_of(insn) != FP && base_of(insn) != SP,
                                .fp_at = PT_INSN_NOT_THERE,
                                .link_at = PT_INSN_NOT_THERE,
                                .sp_addend = base_of(insn) == SP ? sp_addend : 0}};
}

static void note_register(pt_insn *i, unsigned reg, int8_t at)
{
    if (reg == FP) i->access.fp_at = at;
    if (reg == LINK) i->access.link_at = at;
}

static pt_insn simplify_access(pt_insn i)
{
    const pt_insn_access *const a = &i.access;
    const bool has_register = a->fp_at != PT_INSN_NOT_THERE || a->link_at != PT_INSN_NOT_THERE;
    if (has_register && !(i.kind == PT_INSN_STORE && a->is_by_other)) return i;
    if (a->sp_addend != 0) return (pt_insn){.kind = PT_INSN_ADD_SP, .value = a->sp_addend};
    return (pt_insn){.kind = PT_INSN_OTHER};
}

enum { POST_INDEX = 1, OFFSET = 2, PRE_INDEX = 3 };

static pt_insn decode_pair(uint32_t insn)
{
    enum { WIDE = 2 };
    const bool is_vector = read_bits(insn, 26, 1) != 0;
    const unsigned size = read_bits(insn, 30, 2), mode = read_bits(insn, 23, 2);
    const int32_t unit = is_vector ? 4 << size : size == WIDE ? 8 : 4;
    const int32_t off = signed_bits(insn, 15, 7) * unit;
    const bool moves = mode == POST_INDEX || mode == PRE_INDEX;
    pt_insn i = access_memory(insn, read_bits(insn, 22, 1) != 0, mode == POST_INDEX ? 0 : off,
                              moves ? off : 0);
    if (!is_vector) {
        note_register(&i, destination_of(insn), 0);
        note_register(&i, read_bits(insn, 10, 5), 8);
    }
    return simplify_access(i);
}

static pt_insn decode_single(uint32_t insn)
{
    enum { STORE = 0, LOAD = 1, WIDE = 3 };
    const bool is_vector = read_bits(insn, 26, 1) != 0;
    const unsigned size = read_bits(insn, 30, 2), operation = read_bits(insn, 22, 2);
    const bool is_scaled = read_bits(insn, 24, 1) != 0;
    const unsigned mode = read_bits(insn, 10, 2); /* if not scaled; 0: an offset */
    const bool is_prefetch = !is_vector && size == WIDE && operation >= 2;
    int32_t off = is_scaled ? (int32_t)(read_bits(insn, 10, 12) << size) : signed_bits(insn, 12, 9);
    if (!is_scaled && read_bits(insn, 21, 1) != 0) { /* by a register, or atomic */
        if (is_vector || is_prefetch) return (pt_insn){.kind = PT_INSN_OTHER};
        return operation == STORE && mode == OFFSET ? (pt_insn){.kind = PT_INSN_OTHER}
                                                    : write_register(destination_of(insn));
    }
    const bool moves = !is_scaled && (mode == POST_INDEX || mode == PRE_INDEX);
    pt_insn i = access_memory(insn, operation != STORE, !is_scaled && mode == POST_INDEX ? 0 : off,
                              moves ? off : 0);
    if (!is_vector && !is_prefetch && (size == WIDE || operation != STORE))
        note_register(&i, destination_of(insn), 0);
    return simplify_access(i);
}

/* Loads and stores of vectors, tags and authenticated pointers that change the stack pointer. */
static bool is_rare_writeback(uint32_t insn)
{
    return base_of(insn) == SP &&
           ((insn & 0xbfa00000) == 0x0c800000 || (insn & 0xbf800000) == 0x0d800000 ||
            ((insn & 0xff200000) == 0xd9200000 && (insn & 0x400) != 0) ||
            (insn & 0xff200c00) == 0xf8200c00 || (insn & 0xfe400000) == 0x68000000);
}

static pt_insn decode_memory(uint32_t insn)
{
    if (is_rare_writeback(insn)) return (pt_insn){.kind = PT_INSN_WRITES_SP};
    if ((insn & 0x3a000000) == 0x28000000) return decode_pair(insn);
    if ((insn & 0x3a000000) == 0x38000000) return decode_single(insn);
    if ((insn & 0x3f000000) == 0x18000000)
        return write_register(destination_of(insn)); /* literal */
    return (pt_insn){.kind = PT_INSN_OTHER};
}

/* ---- branches ---- */

/* A jump, branch or call whose target is `words` words after the instruction. */
static pt_insn go_to(pt_insn_kind kind, int32_t words)
{
    return (pt_insn){.kind = (uint8_t)kind, .is_direct = true, .value = (words - 1) * PT_A64_BYTES};
}

static pt_insn decode_branch(uint32_t insn)
{
    enum { TO = 0, CALL = 1, RETURN = 2, FROM_EXCEPTION = 4 };
    if ((insn & 0xfc000000) == 0x14000000) return go_to(PT_INSN_JUMP, signed_bits(insn, 0, 26));
    if ((insn & 0xfc000000) == 0x94000000) return go_to(PT_INSN_CALL, signed_bits(insn, 0, 26));
    if ((insn & 0xff000000) == 0x54000000) return go_to(PT_INSN_BRANCH, signed_bits(insn, 5, 19));
    if ((insn & 0x7e000000) == 0x34000000) return go_to(PT_INSN_BRANCH, signed_bits(insn, 5, 19));
    if ((insn & 0x7e000000) == 0x36000000) return go_to(PT_INSN_BRANCH, signed_bits(insn, 5, 14));
    if ((insn & 0xfe000000) == 0xd6000000) {
        switch (read_bits(insn, 21, 3)) {
        case TO: return (pt_insn){.kind = PT_INSN_JUMP};
        case CALL: return (pt_insn){.kind = PT_INSN_CALL};
        case RETURN: return (pt_insn){.kind = PT_INSN_RETURN};
        default: return (pt_insn){.kind = PT_INSN_STOP};
        }
    }
    if ((insn & 0xffe0001f) == 0xd4200000) return (pt_insn){.kind = PT_INSN_STOP}; /* brk */
    return (pt_insn){.kind = PT_INSN_OTHER};
}

/* ---- all ---- */

bool pt_a64_decode(const uint8_t *code, size_t at, size_t size, pt_insn *ret_insn)
{
    if (at > size || size - at < PT_A64_BYTES) return false;
    const uint32_t insn = pt_a64_word(code + at);
    switch (read_bits(insn, 25, 4)) {
    case 0x0: /* udf, or SME */
        *ret_insn = (pt_insn){.kind = insn >> 16 == 0 ? PT_INSN_STOP : PT_INSN_OTHER};
        break;
    case 0x8:
    case 0x9: *ret_insn = decode_immediate(insn); break;
    case 0xa:
    case 0xb: *ret_insn = decode_branch(insn); break;
    case 0x4:
    case 0x6:
    case 0xc:
    case 0xe: *ret_insn = decode_memory(insn); break;
    case 0x5:
    case 0xd: *ret_insn = decode_registers(code, at, insn); break;
    case 0x2: /* SVE: addvl, addpl, addsvl, addspl */
        *ret_insn = (pt_insn){.kind = (insn & 0xffa0f01f) == 0x0420501f ? PT_INSN_WRITES_SP
                                                                        : PT_INSN_OTHER};
        break;
    default: *ret_insn = (pt_insn){.kind = PT_INSN_OTHER};
    }
    ret_insn->length = PT_A64_BYTES;
    return true;
}

static pt_insn decode_one(uint32_t insn)
{
    pt_insn i = {0};
    uint8_t bytes[PT_A64_BYTES];
    memcpy(bytes, &insn, sizeof bytes);
    pt_a64_decode(bytes, 0, sizeof bytes, &i);
    return i;
}

bool pt_a64_makes_frame(uint32_t insn)
{
    enum { PACIASP = 0xd503233f, PACIBSP = 0xd503237f, BTI_C = 0xd503245f };
    const pt_insn i = decode_one(insn);
    return insn == PACIASP || insn == PACIBSP || insn == BTI_C ||
           (i.kind == PT_INSN_ADD_SP && i.value < 0) ||
           (i.kind == PT_INSN_STORE && i.access.sp_addend < 0);
}

bool pt_a64_may_begin(uint32_t before, uint32_t insn)
{
    switch (decode_one(before).kind) {
    case PT_INSN_RETURN:
    case PT_INSN_JUMP:
    case PT_INSN_STOP: return true;
    case PT_INSN_CALL: return pt_a64_makes_frame(insn);
    default: return before == PT_A64_NOP;
    }
}

uint64_t pt_a64_address(const uint8_t *code, size_t size, uint64_t addr)
{
    enum { PAGE_BITS = 12 };
    if (size < 2 * PT_A64_BYTES) return 0;
    const uint32_t page = pt_a64_word(code), add = pt_a64_word(code + PT_A64_BYTES);
    if ((page & 0x9f000000) != 0x90000000 || (add & 0xffc00000) != 0x91000000 ||
        base_of(add) != destination_of(page))
        return 0;
    const int64_t pages = (int64_t)signed_bits(page, 5, 19) * 4 + (int64_t)read_bits(page, 29, 2);
    return (addr & ~UINT64_C(0xfff)) + ((uint64_t)pages << PAGE_BITS) + read_bits(add, 10, 12);
}
