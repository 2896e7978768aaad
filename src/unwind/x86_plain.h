/* x86_plain.h: the length of plain instructions. Plain instructions are most of all code: they
 * neither jump nor move rsp or rbp. For x86.c, and for code.c, which decodes millions of them. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Properties of an opcode: its operands. A plain opcode has either no immediate, or IMM8, or IMMZ.
 */
enum {
    PT_X86_SIZE = 0x0f,
    PT_X86_IMM8 = 1,
    PT_X86_IMMZ = 3, /* 4 bytes; 2 with an operand size prefix */
    PT_X86_HAS_MODRM = 0x10,
    PT_X86_GROUP = 0x20, /* the reg field is part of the opcode */
    PT_X86_PLAIN = 0x40, /* if ModRM names neither rsp nor rbp, and no address relative to rip */
};

/* Properties of a ModRM byte: the length of ModRM, SIB and displacement, and the registers that
 * it names. */
enum {
    PT_X86_BYTES = 0x07,
    PT_X86_NAMES_BY_REG = 0x10, /* rsp or rbp, if not REX.R */
    PT_X86_NAMES_BY_RM = 0x20,  /* rsp or rbp, if not REX.B */
    PT_X86_FROM_RIP = 0x40,
    PT_X86_HAS_BARE_SIB = 0x80, /* 4 bytes more if the SIB byte has no base */
};

/* Indexed by opcode, by the opcode after 0F, and by the ModRM byte. */
extern const uint8_t pt_x86_one_byte[256], pt_x86_two_byte[256],
    pt_x86_modrm[256] __attribute__((visibility("hidden")));

enum {
    PT_X86_PLAIN_LOOKS_AT = 8,
    PT_X86_PLAIN_MOST = 12
}; /* bytes that the decoder reads; bytes of the longest plain instruction */

/* The number of bytes of ModRM, SIB, displacement and immediate. The lowest byte of `word` is the
 * first of these bytes. 0 if there are none, or ModRM names a register that excludes plain
 * instructions. */
static inline unsigned pt_x86_operand_bytes(uint64_t word, uint8_t shape, uint8_t rex)
{
    unsigned bytes = (shape & 1) + 3 * (shape >> 1 & 1); /* of IMM8 and IMMZ */
    if (!(shape & PT_X86_HAS_MODRM)) return bytes;
    const uint8_t modrm = pt_x86_modrm[word & 0xff];
    const unsigned is_other = rex | (shape & PT_X86_GROUP) >> 3; /* as REX.R */
    const unsigned special = PT_X86_FROM_RIP | (~is_other & 4) << 2 | (~is_other & 1) << 5;
    if (modrm & special) return 0;
    if (modrm & PT_X86_HAS_BARE_SIB && (word >> 8 & 7) == 5) bytes += 4;
    return bytes + (modrm & PT_X86_BYTES);
}

/* The length of a plain instruction, or 0 if it may not be plain. `at` has PT_X86_PLAIN_LOOKS_AT
 * bytes. These are decoded in one register, since the place of each byte depends on all bytes
 * before it. */
static inline unsigned pt_x86_plain_length(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, PT_X86_PLAIN_LOOKS_AT);
    const unsigned has_rex = (word & 0xf0) == 0x40;
    const uint8_t rex = has_rex ? (uint8_t)word : 0;
    word >>= 8 * has_rex;
    const uint8_t shape = pt_x86_one_byte[word & 0xff];
    word >>= 8;
    if ((shape & PT_X86_PLAIN) == 0) return 0;
    const unsigned bytes = pt_x86_operand_bytes(word, shape, rex);
    return bytes > 0 ? 1 + has_rex + bytes : 0;
}
