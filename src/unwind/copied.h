/* copied.h: unwinds a copy of a stack. The kernel makes such a copy with each sample: of the bytes
 * from the stack pointer on, as many as the recorder requested, or fewer if the stack ends.
 *
 * A copy has no red zone and may be too short, and some code has guessed rules or none. When the
 * plain walk fails, a second walk also uses frame pointers and a known trampoline.
 */
#pragma once

#include "unwind/unwind.h"

/* The bit that marks a runtime's word (a number that stands for a function's frame) among pcs; no
 * address of code has this bit. */
#define PT_COPIED_WORD (UINT64_C(1) << 63)

enum { PT_COPIED_DEPTH_MAX = 1024, PT_COPIED_BYTES_MAX = 1 << 16 };

/* A runtime whose code keeps frames in its own way, as Java's. */
typedef struct pt_copied_runtime {
    void *arg; /* the first argument of both functions */
    bool (*has_code)(void *arg, uint64_t pc);
    /* Steps from a frame in such code to its caller. Writes a word for each function of the frame,
     * innermost first, in place of its pc; the words have the bit PT_COPIED_WORD. Returns the
     * number of words. *ret_end: as the result of pt_unwind_step. */
    uint32_t (*step)(void *arg, pt_unwind_state *state, const pt_unwind_limits *limits,
                     uint64_t *words, uint32_t cap, pt_unwind_end *ret_end);
} pt_copied_runtime;

typedef struct pt_copied_stack {
    const uint64_t *regs;      /* PT_MACHINE_REGS_MAX words, by DWARF number */
    const uint8_t *bytes;      /* from the stack pointer on; NULL if there are none */
    uint64_t byte_count, room; /* bytes copied, at most PT_COPIED_BYTES_MAX; bytes requested */
    const pt_copied_runtime *runtime; /* or NULL */
} pt_copied_stack;

/* Working memory of one call; contents need not be kept. */
typedef struct pt_copied_scratch {
    uint64_t again[PT_COPIED_DEPTH_MAX];
} pt_copied_scratch;

typedef struct pt_copied_end {
    pt_unwind_end why; /* TRUNCATED: the stack continues beyond the copy, or is deeper than cap */
    bool is_short;     /* the stack continues beyond the copy */
    bool is_unchecked; /* as in pt_unwind_state: frames may be missing, whatever `why` is */
    uint64_t stuck_pc; /* a pc in the code where the second walk also failed; 0 if it did not
                        * fail */
} pt_copied_end;

/* Writes pcs as pt_unwind does, at most cap. Returns their number. cache may be NULL.
 *
 * With a runtime, the runtime's words stand among the pcs; only these words have the bit
 * PT_COPIED_WORD. If the stack begins with words, the first pc after them is a return address, and
 * is written minus 1. If the innermost frame is the runtime's, and the runtime has no word for that
 * frame, the frame's pc is written. */
uint32_t pt_unwind_copied(const pt_copied_stack *stack, const pt_unwind_modules *modules,
                          pt_unwind_cache *cache, pt_copied_scratch *scratch, uint64_t *pcs,
                          uint32_t cap, pt_copied_end *ret_end);
