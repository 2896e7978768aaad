/* aarch64.h: decodes the instructions of 64-bit ARM that move sp, x29 or x30, or go elsewhere (Arm
 * Architecture Reference Manual, DDI 0487, chapter C4). For use inside the layer.
 */
#pragma once

#include <string.h>

#include "unwind/insn.h"

enum {
    PT_A64_BYTES = 4, /* of an instruction */
    PT_A64_NOP = 0xd503201f,
};

static inline uint32_t pt_a64_word(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Decodes the instruction at code + at; the instructions before it may load its operand. Returns
 * false if the code, of `size` bytes, ends inside the instruction. */
bool pt_a64_decode(const uint8_t *code, size_t at, size_t size, pt_insn *ret_insn);

/* True if a function that makes a frame may begin with the instruction. */
bool pt_a64_makes_frame(uint32_t insn);

/* True if a function may begin at the second of two instructions: execution does not go on after
 * the first; or the first is padding; or the first is a call, which may not return, and the second
 * makes a frame. */
bool pt_a64_may_begin(uint32_t before, uint32_t insn);

/* Returns the address that an adrp and the add after it compute; 0 if the code does not begin with
 * these two instructions. addr: where the code lies. */
uint64_t pt_a64_address(const uint8_t *code, size_t size, uint64_t addr);
