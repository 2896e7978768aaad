/* x86.h: decodes the x86-64 instructions that move the stack pointer or rbp.
 *
 * For code without call frame information: see code.c. Decodes the length of every instruction
 * of the one-byte, 0F, 0F38 and 0F3A maps, VEX and EVEX (Intel SDM volume 2, chapter 2 and
 * appendix A). For use inside the layer.
 */
#pragma once

#include "unwind/insn.h"

/* Decodes the instruction at `bytes`. Returns false if the bytes are no instruction, or the
 * instruction is longer than size. */
bool pt_x86_decode(const uint8_t *bytes, size_t size, pt_insn *ret_insn);
