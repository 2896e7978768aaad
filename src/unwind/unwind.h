/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* unwind.h: computes return addresses from registers and a stack, without frame pointers.
 *
 *   pc ---> cache (one slot per pc) ---> rule ---> CFA, caller's pc and fp ---> the same again
 *             | not there
 *             v
 *           modules (sorted) ---> table (table.h) ---> rule
 *
 * All functions are async-signal-safe: no lock, no allocation, no system call, no recursion; the
 * requested depth bounds the work. Memory is read only inside the given limits, in aligned 8-byte
 * words, and each frame must lie above the previous frame. An implausible value ends the walk with
 * a reason.
 */
#pragma once

#include "machine/machine.h"
#include "unwind/table.h"

/* Why a walk ended. The numbers are those of pt_stack_end (model/profile.h). */
typedef enum {
    PT_UNWIND_END_GOING_ON = 0, /* result of a step only: the walk continues */
    PT_UNWIND_END_ROOT,         /* reached the start of the thread */
    PT_UNWIND_END_TRUNCATED,    /* the stack has more frames than the caller has room for */
    PT_UNWIND_END_NO_RULE,      /* the code has no rule, or an unusable one */
    PT_UNWIND_END_BAD_READ, /* the stack contradicts the rule, or lies outside the readable range */
} pt_unwind_end;

/* A mapping of code. */
typedef struct {
    uint64_t start, limit;
    uint64_t bias; /* load bias: run-time address minus linked address */
    /* NULL if the module has no rules; then the walk follows frame pointers. */
    const pt_unwind_table *table;
    /* NULL, or the table of the places that hold the base register: few modules need it. */
    const pt_unwind_table *base_table;
    bool has_runtime; /* the module may have code of a runtime that keeps frames in its own way
                       * (copied.h) */
} pt_unwind_module;

/* All code of a process at one time. Immutable: each change of the code makes a new value. */
typedef struct {
    const pt_unwind_module *modules; /* ascending, without overlaps */
    uint32_t count;
    uint32_t generation;       /* changes whenever the modules change; never 0 */
    const pt_machine *machine; /* of the process; NULL means the machine of this program, the
                                * fastest case */
} pt_unwind_modules;

static inline const pt_machine *pt_unwind_machine(const pt_unwind_modules *modules)
{
    return modules->machine != NULL ? modules->machine : PT_MACHINE_HOST;
}

/* The readable part of the stack: [low, limit). If a frame's sp lies in it, reads start in the
 * red zone below sp. */
typedef struct {
    uint64_t low, limit;
    const uint8_t *copy; /* NULL: read this process's memory. Else: the bytes of [low, limit) */
} pt_unwind_limits;

/* The kinds of rule in a cache slot. */
enum {
    PT_SLOT_RULE, /* number: index of the rule in its table */
    PT_SLOT_NO_RULE,
    PT_SLOT_FRAME_POINTER, /* the module has no rules */
    PT_SLOT_ROOT,
    /* The usual frame: CFA = sp or fp + 8 * number, the return address just below the CFA, the
     * caller's fp saved at CFA + 8 * fp_off, or unchanged if fp_off is 0. */
    PT_SLOT_BY_SP,
    PT_SLOT_BY_FP,
};

/* The cached rule of one pc. */
typedef struct {
    uint64_t pc;
    uint32_t generation; /* 0: the slot is empty */
    uint16_t number;
    int8_t fp_off;
    uint8_t kind; /* PT_SLOT_X, as above */
} pt_unwind_slot;

_Static_assert(sizeof(pt_unwind_slot) == 16, "none lies in two lines of the processor's cache");

enum { PT_UNWIND_CACHE_SLOTS = 4096 };

/* One thread's cache; a cache of zeros is empty. While a function uses the cache, no signal handler
 * that uses the same cache may interrupt it. */
typedef struct {
    pt_unwind_slot slots[PT_UNWIND_CACHE_SLOTS];
} pt_unwind_cache;

/* A frame. The caller sets pc, sp, fp and regs from the interrupted context, and all other fields
 * to zero. */
typedef struct {
    uint64_t pc, sp, fp;
    /* PT_MACHINE_REGS_MAX words by DWARF number; known for the innermost frame, and (has_link) for
     * a frame that a signal interrupted; else NULL. */
    const uint64_t *regs;
    uint64_t base;     /* the base register (pt_machine.base), with has_base */
    bool has_base;     /* base is known: in the innermost frame by regs; in other frames only if the
                        * code of all frames inside them is of modules with a base_table */
    bool is_return;    /* pc is a return address, so the call is before it; else pc is the current
                          instruction */
    bool is_fp_lost;   /* fp is not known */
    bool is_fp_walk;   /* a frame pointer led to this frame */
    bool is_unchecked; /* a frame pointer without a rule led to this frame or to a frame inside it,
                        * or ended the stack: functions that keep no frame pointer may be missing */
} pt_unwind_state;

/* Steps to the next outer frame. If it returns PT_UNWIND_END_GOING_ON, *state is the caller's
 * frame. Else *state is unchanged, except that is_unchecked may become true. cache may be NULL. */
pt_unwind_end pt_unwind_step(pt_unwind_state *state, const pt_unwind_modules *modules,
                             const pt_unwind_limits *limits, pt_unwind_cache *cache);

/* Writes pcs, innermost first: state->pc, then return addresses. The pc of a frame that a signal
 * interrupted is written + 1, so that a look-up at pc - 1 is right for all pcs but the first.
 * Returns the number of pcs, at most cap; *ret_end is why the walk ended. *state becomes the last
 * frame; if the stack has more than cap frames, the first frame that was not written. cache may be
 * NULL. */
uint32_t pt_unwind(pt_unwind_state *state, const pt_unwind_modules *modules,
                   const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                   uint32_t cap, pt_unwind_end *ret_end);

/* cfa_kind of code in a module without rules. No table contains it. */
enum { PT_CFA_FRAME_POINTER = PT_CFA_COUNT };

/* The module that contains pc, or NULL. */
const pt_unwind_module *pt_unwind_module_at(const pt_unwind_modules *modules, uint64_t pc);

/* The rule at a pc of the process; its cfa_kind is PT_CFA_NONE outside all modules. */
pt_unwind_rule pt_unwind_rule_at(const pt_unwind_modules *modules, uint64_t pc);
