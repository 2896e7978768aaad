/* known.h: the stacks that the kernel's walker has sent, so that it sends each once.
 *
 *   kernel, a cpu    | key | key | ... |   the key's place (bpf/layout.h) has that key: only the
 * key |                 is sent, else the whole stack here, that cpu   | stack | ... |       the
 * record of a whole stack replaces that at its place
 *
 * Both sides see the records of a cpu in one order, so they have the same keys.
 */
#ifndef PT_CAPTURE_KNOWN_H
#define PT_CAPTURE_KNOWN_H

#include "bpf/layout.h"
#include "capture/sink.h"

/* A stack without frames of the kernel, as the sink has it. */
typedef struct pt_known_stack {
    uint64_t key;        /* 0: the place is free */
    pt_bpf_stack *stack; /* owned; as long as its count says */
    pt_sink_mark mark;   /* its row; of no round: none yet */
    uint8_t end;         /* these four: as in pt_unwound */
    uint8_t language;
    bool has_frames, is_uncertain;
} pt_known_stack;

typedef struct pt_known pt_known;

/* For cpus below cpu_limit. */
pt_known *pt_known_new(uint32_t cpu_limit);
void pt_known_free(pt_known *known); /* accepts NULL */

/* Keeps a copy of a walked stack of a sample. Returns its place; NULL: there is none for this cpu.
 */
pt_known_stack *pt_known_put(pt_known *known, uint32_t cpu, const pt_bpf_stack *stack);
/* The stack with that key; NULL: none. Valid until the next put. */
pt_known_stack *pt_known_find(pt_known *known, uint32_t cpu, uint64_t key);

#endif
