/* disasm.h: disassembles machine code. Needs a build with capstone.
 *
 *   bytes of [start, end) in the image -> one call of the sink for each instruction
 *
 * x86 (32 and 64 bit, not 16), ARM, AArch64, PowerPC, MIPS, s390x, SPARC. Undecodable bytes become
 * ".byte 0x..", so the instructions cover the range without a gap.
 */
#pragma once

#include "base/error.h"
#include "elf/image.h"

/* The syntax of x86; each other machine has a single syntax. */
typedef enum { PT_SYNTAX_ATT, PT_SYNTAX_INTEL } pt_syntax;

/* A decoded instruction. */
typedef struct pt_instruction {
    uint64_t addr; /* as linked */
    uint32_t size_bytes;
    const char *mnemonic, *operands; /* valid during the call */
    bool has_target;                 /* it jumps to or calls a fixed address */
    bool has_reference;              /* the instruction refers to data relative to its own address
                                      * (x86-64) */
    uint64_t target;                 /* address of the target or of the data */
} pt_instruction;

typedef void pt_instruction_sink(void *context, const pt_instruction *instruction);

/* True if pt_disasm supports the image's machine; always false without capstone. */
bool pt_disasm_knows(const pt_elf *elf);

/* Decodes the code in the range of linked addresses. PT_ERR_UNSUPPORTED: no capstone, or another
 * machine. PT_ERR_NOTFOUND: the image has no bytes there. Decoding ends with the bytes of the
 * segment. */
pt_status pt_disasm(const pt_elf *elf, uint64_t start, uint64_t end, pt_syntax syntax,
                    pt_instruction_sink *sink, void *context, pt_error *reterr);

/* "capstone 4.0.2"; NULL in a build without capstone. Static. */
const char *pt_disasm_version(void);
