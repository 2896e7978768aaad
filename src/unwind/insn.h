/* insn.h: what an instruction does with the stack pointer, the frame pointer and the link register,
 * and where execution goes on. x86.c and aarch64.c decode, code.c follows. For use inside the
 * layer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* sp and fp: rsp and rbp of x86-64, sp and x29 of aarch64. The link register is x30. */
typedef enum {
    PT_INSN_OTHER,
    PT_INSN_PUSH,        /* value: the register, or -1 if not a register */
    PT_INSN_POP,         /* value: the register, or -1 if not a register */
    PT_INSN_ADD_SP,      /* value: the addend */
    PT_INSN_FP_FROM_SP,  /* fp = sp + value */
    PT_INSN_SP_FROM_FP,  /* sp = fp + value */
    PT_INSN_WRITES_SP,   /* to an unknown value */
    PT_INSN_WRITES_FP,   /* to an unknown value */
    PT_INSN_ZEROES_FP,   /* fp = 0 */
    PT_INSN_LEAVE,       /* sp = fp, pop fp */
    PT_INSN_WRITES_LINK, /* the link register, to an unknown value */
    PT_INSN_STORE,       /* of registers: see pt_insn.access */
    PT_INSN_LOAD,
    PT_INSN_CALL,    /* value: the target minus the next instruction, if is_direct */
    PT_INSN_JUMP,    /* value as for CALL; of an indirect jump, the address of the jump's table, or
                      * 0 */
    PT_INSN_BRANCH,  /* value as for CALL; execution may also fall through */
    PT_INSN_ADDRESS, /* of code or data: value: the distance from the next instruction */
    PT_INSN_RETURN,  /* of a function, or of an interrupt */
    PT_INSN_STOP,    /* execution ends */
} pt_insn_kind;

enum { PT_INSN_NOT_THERE = -1 };

/* An access to the stack by STORE or LOAD: at sp + value, or fp + value. */
typedef struct {
    bool is_by_fp, is_by_other; /* by another register: the memory may be outside the stack */
    int8_t fp_at, link_at;      /* bytes from the address to the register's place, or
                                   PT_INSN_NOT_THERE */
    int32_t sp_addend;          /* added to sp after the access */
} pt_insn_access;

/* A decoded instruction. */
typedef struct {
    uint8_t length;
    uint8_t kind; /* pt_insn_kind */
    bool is_direct;
    int32_t value;
    pt_insn_access access; /* of STORE and LOAD */
} pt_insn;
