/* ring.h: reads the records that the kernel writes into a perf ring.
 *
 *   mmap(fd)  | control page: head (kernel), tail (ours) | data, a power of two, wraps around |
 *   record    | type u32 | misc u16 | size u16 | body ... | (all but samples:) tid time cpu id |
 *
 * Every event of a recording has the same sample_type (event.h), so one parser reads all records.
 * The layouts are those of linux/perf_event.h and perf_event_open(2). A sample always has room for
 * the requested stack size, however little was copied. A compact sample omits the unused room:
 *
 *   kernel's  | ... | room | bytes[room] | copied |
 *   compact   | ... | room | copied | bytes[copied] |
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/layout.h"

/* ---- the ring ---- */

typedef struct pt_ring {
    struct perf_event_mmap_page *page;
    uint8_t *data;
    uint64_t bytes;      /* size of data, a power of two */
    uint64_t head, tail; /* head: end of the written data at the last pt_ring_look */
    uint8_t *scratch;    /* 64 KiB; holds a record that wraps around */
    size_t mapped_bytes; /* page and data together, to unmap; 0: borrowed */
} pt_ring;

/* Maps the ring of an event. bytes is rounded down to a power of two. PT_ERR_NOMEM: the kernel does
 * not let this process lock so much memory. */
pt_status pt_ring_open(int fd, size_t bytes, pt_ring *ret_ring, pt_error *reterr);
/* Takes over a mapping: a page of page_bytes, then `bytes` of data, a power of two. */
void pt_ring_take(void *mapping, size_t page_bytes, uint64_t bytes, pt_ring *ret_ring);
/* Makes a ring over memory that stays the caller's, for tests. data has `bytes` bytes, a power of
 * two. */
void pt_ring_borrow(struct perf_event_mmap_page *page, uint8_t *data, uint64_t bytes,
                    pt_ring *ret_ring);
/* Unmaps the ring, unless it is borrowed. */
void pt_ring_close(pt_ring *ring);

/* Updates head: makes new records visible to pt_ring_peek. */
void pt_ring_look(pt_ring *ring);
/* The record at the tail, contiguous. NULL if there is no record before head, or if the record is
 * malformed (then everything up to head is skipped). Valid until pt_ring_release or the next peek.
 * The kernel maps the data read-only. */
const struct perf_event_header *pt_ring_peek(pt_ring *ring);
/* Moves the tail past the record. */
void pt_ring_next(pt_ring *ring, const struct perf_event_header *record);
/* Returns the space up to the tail to the kernel. */
void pt_ring_release(pt_ring *ring);

/* ---- records ---- */

/* The registers of a sample, in the kernel's order (pt_machine.perf_mask). */
enum { PT_PERF_REGS_MAX = 33 };

/* A sample. */
typedef struct pt_perf_sample {
    uint64_t ip, period;
    uint64_t count; /* the event's own clock or counter, if the plan reads it; else 0 */
    const uint64_t *chain;
    uint64_t chain_count;
    const pt_bpf_code *code;      /* the record is a code object; NULL: a sample */
    const pt_bpf_wait_end *ended; /* the record is the end of a wait; NULL: a sample */
    const pt_bpf_stack *wait;   /* the sample is a wait or waker, whether walked or copied; NULL: it
                                 * is one of CPU time */
    const pt_bpf_stack *walked; /* the user part of the stack, walked by src/bpf; or NULL */
    const pt_bpf_stack *known;  /* the head of a stack that was sent before (known.h); or NULL */
    uint64_t abi;               /* PERF_SAMPLE_REGS_ABI_x; _NONE: no user registers */
    const uint64_t *regs;       /* as many as were requested; NULL if walked */
    const uint8_t *stack;       /* from the stack pointer on */
    uint64_t stack_bytes;       /* bytes copied */
    uint64_t stack_room;        /* bytes requested */
} pt_perf_sample;

/* Flag in misc: a compact sample. The kernel reserves this bit and never sets it. */
#define PT_PERF_MISC_COMPACT PERF_RECORD_MISC_EXT_RESERVED

/* A new mapping. */
typedef struct pt_perf_mmap {
    uint64_t start, bytes, file_offset;
    uint64_t inode;
    uint32_t major, minor;
    const uint8_t *build_id; /* NULL: none */
    uint32_t build_id_bytes;
    uint32_t protection; /* PROT_x */
    const char *path;
} pt_perf_mmap;

/* A record, by its type. */
typedef struct pt_perf_record {
    uint32_t type; /* PERF_RECORD_x */
    uint16_t misc;
    uint32_t pid, tid, cpu;
    uint64_t time_ns, id;
    union {
        pt_perf_sample sample;
        pt_perf_mmap mmap;
        struct {
            const char *text;
            bool is_exec;
        } comm;
        struct {
            uint32_t pid, ppid, tid, ptid;
        } task; /* fork, exit */
        uint64_t lost;
        struct {
            bool is_out;
            bool is_preempted; /* switched out although it could have continued (Linux 4.17) */
        } sched;
    };
} pt_perf_record;

/* The layout of a sample's body, which depends on how the events were opened. */
typedef struct pt_perf_layout {
    uint64_t sample_type;
    unsigned regs_count;
} pt_perf_layout;

/* The process of a record; 0: the record does not contain it. */
uint32_t pt_perf_record_pid(const pt_perf_layout *layout, const struct perf_event_header *record);
/* The time of a record; 0 if the record is too short to have one. */
uint64_t pt_perf_record_time(const pt_perf_layout *layout, const struct perf_event_header *record);

/* Parses a record; pointers in *ret_record point into the record. Returns false if its type is
 * unknown, or if it is too short for its type. */
bool pt_perf_record_read(const pt_perf_layout *layout, const struct perf_event_header *record,
                         pt_perf_record *ret_record);

/* A sample without its unused stack room, in three pieces: the header with the new size, the body,
 * the stack. is_stackless: also without the stack, unless the sample is of a wait. Returns false if
 * nothing would be saved. */
typedef struct pt_perf_compact {
    struct perf_event_header header;
    const uint64_t *body; /* up to the stack's room, inclusive */
    size_t body_bytes;
    uint64_t copied;
    const uint8_t *stack;
    size_t stack_bytes; /* copied, rounded up to 8 */
} pt_perf_compact;
bool pt_perf_record_compact(const pt_perf_layout *layout, const struct perf_event_header *record,
                            bool is_stackless, pt_perf_compact *ret_compact);
