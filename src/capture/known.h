/* known.h: the stacks that the kernel's walker has sent, so that it sends each once.
 *
 *   kernel, of a cpu   | key | key | ...
 *   here, of that cpu  | stack | stack | ...
 *
 * If the key's place (bpf/layout.h) has that key, the kernel sends only the key, else the whole
 * stack, which replaces that at its place on both sides. Both see the records of a cpu in one
 * order, so they have the same keys. Places of all cpus share one copy of a stack.
 */
#pragma once

#include "bpf/layout.h"
#include "capture/sink.h"

/* A stack without frames of the kernel, as the sink has it. */
typedef struct pt_known_stack {
    uint64_t key;        /* 0: the row is free */
    pt_bpf_stack *stack; /* owned; as long as its count says */
    pt_sink_mark mark;   /* its row; of no round: none yet */
    uint8_t end;         /* these four: as in pt_unwound */
    uint8_t language;
    bool has_frames, is_uncertain;
    uint32_t places; /* of cpus, that have it */
    uint32_t before; /* of a free row: the next free one + 1; 0: none */
} pt_known_stack;

typedef struct pt_known pt_known;

/* For cpus below cpu_limit. */
pt_known *pt_known_new(uint32_t cpu_limit);
void pt_known_free(pt_known *known); /* accepts NULL */

/* Keeps a copy of a walked stack of a sample, as cpu has it from now on, without a mark. NULL:
 * there is no such cpu. Valid until the next put. */
pt_known_stack *pt_known_put(pt_known *known, uint32_t cpu, const pt_bpf_stack *stack);
/* The stack with that key; NULL: none. Valid until the next put. */
pt_known_stack *pt_known_find(pt_known *known, uint32_t cpu, uint64_t key);
