/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* unwind.h: from registers and a stack to return addresses, without frame pointers.
 *
 *   pc ---> cache (a slot a pc) ---> rule ---> CFA, caller's pc, caller's fp ---> the same again
 *             | not there
 *             v
 *           modules (sorted) ---> table (table.h) ---> rule
 *
 * All of it is async-signal-safe: no lock, no allocation, no system call, no recursion; the work is
 * bounded by the depth asked for. Memory is read only inside the limits given, in aligned words,
 * and each frame must lie above the one before. What cannot be believed ends the walk, and says so.
 */
#ifndef PT_UNWIND_UNWIND_H
#define PT_UNWIND_UNWIND_H

#include "machine/machine.h"
#include "unwind/table.h"

/* Why a walk ended. The numbers are those of pt_stack_end (model/profile.h). */
typedef enum {
    PT_UNWIND_END_GOING_ON = 0, /* of a step: it did not */
    PT_UNWIND_END_ROOT,         /* where the thread started */
    PT_UNWIND_END_TRUNCATED,    /* more frames than were asked for */
    PT_UNWIND_END_NO_RULE,      /* code of which nothing is known, or nothing usable */
    PT_UNWIND_END_BAD_READ, /* the stack is not what the rule says, or not where it may be read */
} pt_unwind_end;

/* A mapping of code. */
typedef struct {
    uint64_t start, limit;
    uint64_t bias;                /* what the loader added to addresses as linked */
    const pt_unwind_table *table; /* NULL: no rules at all, so frame pointers are followed */
    /* NULL, or where the machine's base register is saved: needed by few modules, and asked by
     * walks outside of handlers only (copied.h). */
    const pt_unwind_table *base_table;
} pt_unwind_module;

/* All code of a process at one time; never changed, only replaced. */
typedef struct {
    const pt_unwind_module *modules; /* ascending, not overlapping */
    uint32_t count;
    uint32_t generation;       /* another one whenever the modules are others; never 0 */
    const pt_machine *machine; /* of the process; NULL: the host's, which costs nothing */
} pt_unwind_modules;

static inline const pt_machine *pt_unwind_machine(const pt_unwind_modules *modules)
{
    return modules->machine != NULL ? modules->machine : PT_MACHINE_HOST;
}

/* Where the stack may be read: from the red zone below a frame's sp, if sp is in [low, limit), up
 * to limit. */
typedef struct {
    uint64_t low, limit;
    const uint8_t *copy; /* NULL: the process is our own. Else the bytes of [low, limit) */
} pt_unwind_limits;

/* What a frame's rule is, in short. */
enum {
    PT_SLOT_RULE, /* number: of the rule in its table */
    PT_SLOT_NO_RULE,
    PT_SLOT_FRAME_POINTER, /* a module without rules */
    PT_SLOT_ROOT,
    /* What nearly all frames are: CFA = sp or fp + 8 * number, the return address just below it,
     * fp saved at CFA + 8 * fp_off, or untouched if that is 0. */
    PT_SLOT_BY_SP,
    PT_SLOT_BY_FP,
};

typedef struct {
    uint64_t pc;
    uint32_t generation; /* 0 = empty */
    uint16_t number;
    int8_t fp_off;
    uint8_t kind; /* PT_SLOT_X, of the above */
} pt_unwind_slot;

_Static_assert(sizeof(pt_unwind_slot) == 16, "none lies in two lines of the processor's cache");

enum { PT_UNWIND_CACHE_SLOTS = 4096 };

/* A thread's own; all zero is empty. The handler that uses it must not be interrupted by another
 * that does. */
typedef struct {
    pt_unwind_slot slots[PT_UNWIND_CACHE_SLOTS];
} pt_unwind_cache;

/* A frame. The caller sets pc, sp, fp and regs from the interrupted context, the rest to zero. */
typedef struct {
    uint64_t pc, sp, fp;
    const uint64_t *regs; /* PT_MACHINE_REGS_MAX words by DWARF number, of the innermost frame, or
                             (has_link) of a frame that a signal interrupted; or NULL */
    bool is_return;       /* pc is a return address: the call is before it. Else the pc itself */
    bool is_fp_lost;      /* fp is not known */
    bool is_fp_walk;      /* it was reached by a frame pointer */
    bool
        is_unchecked; /* a frame pointer that no rule vouches for led here, or to one further in, or
                         says that it is the last: a function that keeps none hides its caller */
} pt_unwind_state;

/* One frame outwards. PT_UNWIND_END_GOING_ON: *state is the caller's; else it is as before, but
 * that is_unchecked may come to be true. cache may be NULL. */
pt_unwind_end pt_unwind_step(pt_unwind_state *state, const pt_unwind_modules *modules,
                             const pt_unwind_limits *limits, pt_unwind_cache *cache);

/* Writes pcs, innermost first: state->pc, then return addresses. A pc that was interrupted by a
 * signal further in is written + 1, so that all but the first are to be looked up at pc - 1.
 * Returns how many, at most cap; *ret_end says why no more. *state is left at the last frame. */
uint32_t pt_unwind(pt_unwind_state *state, const pt_unwind_modules *modules,
                   const pt_unwind_limits *limits, pt_unwind_cache *cache, uint64_t *pcs,
                   uint32_t cap, pt_unwind_end *ret_end);

/* In a module without rules. Never in a table. */
enum { PT_CFA_FRAME_POINTER = PT_CFA_COUNT };

/* The module that pc lies in, or NULL. */
const pt_unwind_module *pt_unwind_module_at(const pt_unwind_modules *modules, uint64_t pc);

/* The rule that is used at a pc of the process; cfa_kind PT_CFA_NONE where no module is. */
pt_unwind_rule pt_unwind_rule_at(const pt_unwind_modules *modules, uint64_t pc);

#endif
