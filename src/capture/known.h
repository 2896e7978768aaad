/* known.h: the stacks that the kernel's walker has sent, so that it sends each stack once.
 *
 *   kernel, of a cpu   | key | key | ...
 *   here, of that cpu  | stack | stack | ...
 *
 * A key has one place in the table of a cpu (bpf/layout.h). If the place has that key, the kernel
 * sends only the key; otherwise it sends the whole stack, which replaces the former stack of that
 * place on both sides. Both sides process the records of a cpu in the same order, so they have the
 * same keys. The places of all cpus share one copy of a stack. */
#pragma once

#include "bpf/layout.h"
#include "capture/sink.h"

/* A stack without frames of the kernel, as the sink has it. */
typedef struct pt_known_stack {
    uint64_t key;        /* 0: the row is free */
    pt_bpf_stack *stack; /* owned; as long as its count says */
    pt_sink_mark mark;   /* its row in the sink; round 0: none yet */
    uint8_t end;         /* these four: as in pt_unwound */
    uint8_t language;
    bool has_frames, is_uncertain;
    uint32_t places; /* number of cpus whose tables have it */
    uint32_t before; /* of a free row: the next free one + 1; 0: none */
} pt_known_stack;

typedef struct pt_known pt_known;

/* For cpus below cpu_limit. */
pt_known *pt_known_new(uint32_t cpu_limit);
void pt_known_free(pt_known *known); /* accepts NULL */

/* Copies a sample's walked stack to its place in the table of that cpu, without a mark. NULL: there
 * is no such cpu. Valid until the next pt_known_put. */
pt_known_stack *pt_known_put(pt_known *known, uint32_t cpu, const pt_bpf_stack *stack);
/* The stack with that key; NULL if there is none. Valid until the next pt_known_put. */
pt_known_stack *pt_known_find(pt_known *known, uint32_t cpu, uint64_t key);
