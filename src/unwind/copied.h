/* copied.h: walking a copy of a stack, as the kernel takes one with each sample: from the stack
 * pointer on, so many bytes as were asked for and are there.
 *
 * A copy has no red zone and may be too short, and some code has rules that were guessed or none:
 * what the plain walk cannot finish is tried again with what else is known.
 */
#ifndef PT_UNWIND_COPIED_H
#define PT_UNWIND_COPIED_H

#include "unwind/unwind.h"

enum { PT_COPIED_DEPTH_MAX = 1024, PT_COPIED_BYTES_MAX = 1 << 16 };

typedef struct pt_copied_stack {
    const uint64_t *regs;      /* PT_MACHINE_REGS_MAX, by DWARF number */
    const uint8_t *bytes;      /* from sp on; NULL = none */
    uint64_t byte_count, room; /* copied, at most PT_COPIED_BYTES_MAX; and asked for */
} pt_copied_stack;

typedef struct pt_copied_scratch {
    uint64_t again[PT_COPIED_DEPTH_MAX];
    uint8_t bytes[PT_MACHINE_RED_ZONE_MAX + PT_COPIED_BYTES_MAX];
} pt_copied_scratch;

typedef struct pt_copied_end {
    pt_unwind_end why; /* TRUNCATED: the stack goes on behind the copy, or is deeper than cap */
    bool is_short;     /* it goes on behind the copy */
    bool is_unchecked; /* as pt_unwind_state says: frames may be missing, whatever the end */
} pt_copied_end;

/* Writes pcs as pt_unwind does, at most cap. */
uint32_t pt_unwind_copied(const pt_copied_stack *stack, const pt_unwind_modules *modules,
                          pt_unwind_cache *cache, pt_copied_scratch *scratch, uint64_t *pcs,
                          uint32_t cap, pt_copied_end *ret_end);

#endif
