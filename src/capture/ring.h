/* ring.h: what the kernel writes into a perf ring, one record after the other.
 *
 *   mmap(fd)  | control page: head (kernel), tail (ours) | data, a power of two, wraps around |
 *   record    | type u32 | misc u16 | size u16 | body ... | (all but samples:) tid time cpu id |
 *
 * Every event of a recording has the same sample_type (event.h), so that one parser reads them all.
 * The layouts are those of linux/perf_event.h and perf_event_open(2). A sample has room for as much
 * stack as was asked for, however little was copied; without the rest it is compact:
 *
 *   kernel's  | ... | room | bytes[room] | copied |        compact  | ... | room | copied |
 * bytes[copied] |
 */
#ifndef PT_CAPTURE_RING_H
#define PT_CAPTURE_RING_H

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
    uint64_t bytes;      /* of data, a power of two */
    uint64_t head, tail; /* head: up to where the kernel had written when it was looked at */
    uint8_t *scratch;    /* a record that wraps around, in one piece: 64 KiB */
    size_t mapped_bytes; /* from the page on, to be unmapped; 0 = borrowed */
} pt_ring;

/* Maps the ring of an event. bytes is rounded down to a power of two. PT_ERR_NOMEM if the kernel
 * does not let us lock so much. */
pt_status pt_ring_open(int fd, size_t bytes, pt_ring *ret_ring, pt_error *reterr);
/* Takes over a mapping: a page of page_bytes, then data of that many bytes, a power of two. */
void pt_ring_take(void *mapping, size_t page_bytes, uint64_t bytes, pt_ring *ret_ring);
/* A ring over memory that stays the caller's, for tests: data is of that many bytes, a power of
 * two. */
void pt_ring_borrow(struct perf_event_mmap_page *page, uint8_t *data, uint64_t bytes,
                    pt_ring *ret_ring);
/* Unmaps what was opened or taken over. */
void pt_ring_close(pt_ring *ring);

/* Notices what the kernel has written since. */
void pt_ring_look(pt_ring *ring);
/* The record at the tail in one piece, or NULL if there is none up to the head looked at, or what
 * is there is no record (then all up to the head is skipped). Valid until pt_ring_release or the
 * next peek. The kernel maps the data for reading only. */
const struct perf_event_header *pt_ring_peek(pt_ring *ring);
/* Goes on behind the record that was peeked at. */
void pt_ring_next(pt_ring *ring, const struct perf_event_header *record);
/* Lets the kernel have what we went over. */
void pt_ring_release(pt_ring *ring);

/* ---- records ---- */

/* Registers of a sample, in the kernel's order: event.h names them. */
enum { PT_PERF_REGS_MAX = 33 };

typedef struct pt_perf_sample {
    uint64_t ip, period;
    uint64_t count; /* the event's own clock or counter, if it is read; else 0 */
    const uint64_t *chain;
    uint64_t chain_count;
    const pt_bpf_stack *walked; /* user space's part of the stack, by src/bpf; or NULL */
    uint64_t abi;               /* PERF_SAMPLE_REGS_ABI_x; _NONE: no user registers */
    const uint64_t *regs;       /* as many as were asked for */
    const uint8_t *stack;       /* from sp on */
    uint64_t stack_bytes;       /* that were copied */
    uint64_t stack_room;        /* that were asked for */
} pt_perf_sample;

/* In misc: a compact sample. The kernel keeps the bit for what never came. */
#define PT_PERF_MISC_COMPACT PERF_RECORD_MISC_EXT_RESERVED

typedef struct pt_perf_mmap {
    uint64_t start, bytes, file_offset;
    uint64_t inode;
    uint32_t major, minor;
    const uint8_t *build_id; /* NULL: none */
    uint32_t build_id_bytes;
    uint32_t protection; /* PROT_x */
    const char *path;
} pt_perf_mmap;

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
            bool is_preempted; /* out, though it could go on (Linux 4.17) */
        } sched;
    };
} pt_perf_record;

/* What of a sample's body depends on how the events were opened. */
typedef struct pt_perf_layout {
    uint64_t sample_type;
    unsigned regs_count;
} pt_perf_layout;

/* When it was written; 0 if it is too short to tell. */
uint64_t pt_perf_record_time(const pt_perf_layout *layout, const struct perf_event_header *record);

/* Reads a record. Pointers point into it. False if it is of no kind that is known, or shorter than
 * its kind is. */
bool pt_perf_record_read(const pt_perf_layout *layout, const struct perf_event_header *record,
                         pt_perf_record *ret_record);

/* The record without the room that no stack was copied to: its header, with the size it will have,
 * and the two pieces that follow, body and stack. False if there is nothing to be saved. */
typedef struct pt_perf_compact {
    struct perf_event_header header;
    const uint64_t *body; /* up to and with the stack's room */
    size_t body_bytes;
    uint64_t copied;
    const uint8_t *stack;
    size_t stack_bytes; /* copied, rounded up to 8 */
} pt_perf_compact;
bool pt_perf_record_compact(const pt_perf_layout *layout, const struct perf_event_header *record,
                            pt_perf_compact *ret_compact);

#endif
