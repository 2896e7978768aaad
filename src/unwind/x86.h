/* x86.h: decodes the x86-64 instructions that move the stack pointer or rbp.
 *
 * For code without call frame information: see code.c. Decodes the length of every instruction
 * of the one-byte, 0F, 0F38 and 0F3A maps, VEX and EVEX (Intel SDM volume 2, chapter 2 and
 * appendix A). For use inside the layer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    PT_X86_OTHER,
    PT_X86_PUSH,       /* value: the register, or -1 if not a register */
    PT_X86_POP,        /* value: the register, or -1 if not a register */
    PT_X86_ADD_SP,     /* value: the addend */
    PT_X86_FP_FROM_SP, /* rbp = rsp + value */
    PT_X86_SP_FROM_FP, /* rsp = rbp + value */
    PT_X86_WRITES_SP,  /* to an unknown value */
    PT_X86_WRITES_FP,  /* to an unknown value */
    PT_X86_ZEROES_FP,  /* xor ebp, ebp */
    PT_X86_LEAVE,      /* rsp = rbp, pop rbp */
    PT_X86_CALL,       /* value: the target minus the next instruction, if is_direct */
    PT_X86_JUMP,       /* value as for CALL; of an indirect jump: the address of its table, or 0 */
    PT_X86_BRANCH,     /* value as for CALL; execution may also fall through */
    PT_X86_ADDRESS,    /* lea with rip: value: the distance from the next instruction */
    PT_X86_RETURN,     /* or iret */
    PT_X86_STOP,       /* ud2, hlt, int3: execution ends */
} pt_x86_kind;

/* A decoded instruction. */
typedef struct {
    uint8_t length;
    uint8_t kind; /* pt_x86_kind */
    bool is_direct;
    int32_t value;
} pt_x86_insn;

/* Decodes the instruction at bytes. False if the bytes are no instruction, or it is longer than
 * size. */
bool pt_x86_decode(const uint8_t *bytes, size_t size, pt_x86_insn *ret_insn);
