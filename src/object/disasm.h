/* disasm.h: machine code as text, through capstone where pitot was built with it.
 *
 *   bytes of [start, end) in the image -> one call of the sink an instruction
 *
 * x86 (16 is not, 32 and 64 bit are), ARM, AArch64, PowerPC, MIPS, s390x, SPARC. What cannot be
 * decoded is given as ".byte 0x..", so that the instructions cover the range without a hole.
 */
#ifndef PT_OBJECT_DISASM_H
#define PT_OBJECT_DISASM_H

#include "base/error.h"
#include "elf/image.h"

typedef enum { PT_SYNTAX_ATT, PT_SYNTAX_INTEL } pt_syntax; /* of x86; others have one */

typedef struct pt_instruction {
    uint64_t addr; /* as linked */
    uint32_t size_bytes;
    const char *mnemonic, *operands; /* valid during the call */
    bool has_target;                 /* it jumps to or calls a fixed address */
    bool has_reference;              /* it names data relative to itself (x86-64) */
    uint64_t target;                 /* of either */
} pt_instruction;

typedef void pt_instruction_sink(void *context, const pt_instruction *instruction);

/* True if pt_disasm knows that machine (EM_x of <elf.h>); never without capstone. */
bool pt_disasm_knows(const pt_elf *elf);

/* Decodes the code at the addresses as linked. PT_ERR_UNSUPPORTED without capstone or for another
 * machine; PT_ERR_NOTFOUND when the image has no bytes there. A range that leaves its segment's
 * bytes ends with them. */
pt_status pt_disasm(const pt_elf *elf, uint64_t start, uint64_t end, pt_syntax syntax,
                    pt_instruction_sink *sink, void *context, pt_error *reterr);

/* "capstone 4.0.2", or NULL when built without. Static. */
const char *pt_disasm_version(void);

#endif
