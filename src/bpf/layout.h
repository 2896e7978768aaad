/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* layout.h: what the program in the kernel (sample.bpf.c) and user space (engine.c) share.
 *
 *   processes   pid -> pt_bpf_process ---> its mappings, a run of the pool, ascending
 *                                          mapping ---> its file's table, in the pool
 *   pool        4 MB each, written by user space through a mapping of its own:
 *               | mappings | pages | rows | rules | mappings | ...
 *   cpus        what a walk knows, one a cpu; and the rules that it has met
 *   output      one event a cpu: bytes put to it appear in the ring of that cpu's samples
 *
 * Places in the pool are counted in words of 4 bytes from the first chunk's beginning.
 */
#ifndef PT_BPF_LAYOUT_H
#define PT_BPF_LAYOUT_H

#include "unwind/unwind.h"

enum {
    PT_BPF_CHUNK_BYTES = 4 << 20, /* the most that an array's element may have before Linux 5.11 */
    PT_BPF_CHUNK_WORDS = PT_BPF_CHUNK_BYTES / 4,
    PT_BPF_CHUNK_BITS = 20, /* of a place: its word in the chunk */
    PT_BPF_CHUNKS_MAX = 128,
    PT_BPF_PROCESSES_MAX = 8192,
    PT_BPF_MAPPINGS_MAX = 32768, /* of a process */
    PT_BPF_DEPTH_MAX = 1024,
    PT_BPF_WINDOW_BYTES = 1024, /* of the stack, that are read at a time */
};

_Static_assert(PT_BPF_CHUNK_WORDS == 1 << PT_BPF_CHUNK_BITS, "a word's number has so many bits");

/* What is known of a mapping. */
enum {
    PT_BPF_TABLE,
    PT_BPF_NO_TABLE, /* there are no rules at all: frame pointers are followed */
    PT_BPF_LATER,    /* there was no room for its table: user space has to walk */
};

/* Neither it nor pages nor rules lie in two chunks; rows may. */
typedef struct pt_bpf_mapping {
    uint64_t start, limit;
    uint64_t base; /* what the table's pages are counted from, in the process */
    uint32_t kind; /* PT_BPF_TABLE, ... */
    uint32_t pages, page_count;
    uint32_t rows, row_count;
    uint32_t rules, rule_count;
    uint32_t unused;
} pt_bpf_mapping;

typedef struct pt_bpf_process {
    uint64_t mm; /* the address space that the mappings are of: put there by the first sample; 0 */
    uint32_t generation; /* of the mappings; pt_unwind_modules.generation */
    uint32_t mappings, mapping_count;
    uint32_t is_wanted; /* 0: its samples are dropped */
} pt_bpf_process;

/* A stack, as it comes in PERF_SAMPLE_RAW. The kernel writes bytes: how many follow it. */
typedef struct pt_bpf_stack {
    uint32_t bytes;
    uint32_t generation; /* of the mappings that it was walked by */
    uint32_t count;
    uint8_t end; /* pt_unwind_end */
    uint8_t is_unchecked;
    uint8_t unused[2];
    uint64_t period; /* of the event at this sample */
    uint64_t pcs[PT_BPF_DEPTH_MAX];
} pt_bpf_stack;

enum {
    PT_BPF_STACK_HEAD_BYTES = 20, /* from generation to pcs */
};

_Static_assert(offsetof(pt_bpf_stack, pcs) == 4 + PT_BPF_STACK_HEAD_BYTES, "the record's layout");

/* A walk. */
typedef struct pt_bpf_cpu {
    uint64_t pc, sp, fp;
    uint64_t low, limit; /* of what may be a stack */
    uint8_t is_return, is_fp_lost, is_fp_walk, is_unchecked;
    uint8_t has_regs;   /* it is at the innermost frame */
    uint8_t follows_fp; /* through code without a rule in a file that has a table */
    uint8_t unused[2];
    uint32_t generation, mappings, mapping_count, rule;
    pt_bpf_mapping last; /* of the frame before */
    uint64_t regs[PT_MACHINE_REGS_MAX];
    uint64_t window_start; /* of the stack; 1: nothing was read */
    uint64_t window[PT_BPF_WINDOW_BYTES / 8];
    pt_bpf_stack stack;
    pt_unwind_slot slots[PT_UNWIND_CACHE_SLOTS];
} pt_bpf_cpu;

#endif
