/* copied.h: unwinds a copy of a stack. The kernel makes such a copy with each sample: from the
 * stack pointer on, as many bytes as were asked for and exist.
 *
 * A copy has no red zone and may be too short, and some code has guessed rules or none. When the
 * plain walk fails, a second one also uses the base register, frame pointers and a known
 * trampoline.
 */
#pragma once

#include "unwind/unwind.h"

enum { PT_COPIED_DEPTH_MAX = 1024, PT_COPIED_BYTES_MAX = 1 << 16 };

typedef struct pt_copied_stack {
    const uint64_t *regs;      /* PT_MACHINE_REGS_MAX words, by DWARF number */
    const uint8_t *bytes;      /* from the stack pointer on; NULL: none */
    uint64_t byte_count, room; /* bytes copied, at most PT_COPIED_BYTES_MAX; bytes asked for */
} pt_copied_stack;

/* Working memory of one call; contents need not be kept. */
typedef struct pt_copied_scratch {
    uint64_t again[PT_COPIED_DEPTH_MAX];
    uint8_t bytes[PT_MACHINE_RED_ZONE_MAX + PT_COPIED_BYTES_MAX];
} pt_copied_scratch;

typedef struct pt_copied_end {
    pt_unwind_end why; /* TRUNCATED: the stack continues beyond the copy, or is deeper than cap */
    bool is_short;     /* the stack continues beyond the copy */
    bool is_unchecked; /* as in pt_unwind_state: frames may be missing, whatever `why` is */
} pt_copied_end;

/* Writes pcs as pt_unwind does, at most cap. Returns how many. cache may be NULL. */
uint32_t pt_unwind_copied(const pt_copied_stack *stack, const pt_unwind_modules *modules,
                          pt_unwind_cache *cache, pt_copied_scratch *scratch, uint64_t *pcs,
                          uint32_t cap, pt_copied_end *ret_end);
