/* gperftools.h: writes the gperftools binary CPU profile.
 *
 *   header   | 0 | 3 | 0 | period_us | 0 |            slots are words of the profiled program,
 *   record   | count >= 1 | depth >= 1 | pc0 ... |    in its byte order; pc0 is the leaf
 *   trailer  | 0 | 1 | 0 |
 *   text     a line a mapping, as in /proc/PID/maps; readers ignore other lines
 *
 * Source: "Google CPU Profiler Binary Data File Format" of gperftools, last modified 2007-08-27.
 */
#pragma once

#include "wire/buf.h"

/* The profiled program's words. */
typedef struct {
    unsigned word_bytes; /* 4 or 8 */
    bool big_endian;
} pt_gperf_target;

#define PT_GPERF_NATIVE                                                                            \
    ((pt_gperf_target){.word_bytes = sizeof(void *),                                               \
                       .big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__})

/* Writes one slot. False, with nothing written, if the value does not fit the target's word. */
bool pt_gperf_word(pt_wire_buf *buf, pt_gperf_target target, uint64_t value);

/* Writes the five slots of the header. False if the period does not fit a word. */
bool pt_gperf_header(pt_wire_buf *buf, pt_gperf_target target, uint64_t period_us);

/* Writes one record; pcs has depth words, leaf first. False, with nothing written, when count or
 * depth is 0 or a value does not fit a word. A leaf of 0 is written as 1, an address without
 * code as well: some tools end reading at a leaf of 0 (the specification warns of it). */
bool pt_gperf_record(pt_wire_buf *buf, pt_gperf_target target, uint64_t count, const uint64_t *pcs,
                     size_t depth);

/* Writes the three slots that end the records. */
void pt_gperf_trailer(pt_wire_buf *buf, pt_gperf_target target);

/* One mapping of the text. */
typedef struct {
    uint64_t start, limit, file_offset;
    uint64_t inode;
    uint32_t device_major, device_minor;
    unsigned prot;    /* PT_GPERF_READ | ... */
    const char *path; /* "" when the mapping has none; a newline in it is written as \012 */
    size_t path_bytes;
} pt_gperf_mapping;

enum { PT_GPERF_READ = 4, PT_GPERF_WRITE = 2, PT_GPERF_EXEC = 1 };

/* "40000000-40015000 r-xp 00000000 03:01 12845071   /lib/ld-2.3.2.so\n" */
void pt_gperf_mapping_line(pt_wire_buf *buf, const pt_gperf_mapping *mapping);

/* Writes "# build-id 40000000-40015000 HEX PATH\n": the build id of the mapped file. The line is
 * pitot's own; other readers ignore it. */
void pt_gperf_build_id_line(pt_wire_buf *buf, const pt_gperf_mapping *mapping,
                            const uint8_t *build_id, size_t build_id_bytes);

/* Writes the lines that give the reason why stacks ended; such lines are pitot's own. A line has
 * one reason and the numbers of the records that share it. Records are counted from 1:
 *
 *   "# pitot stack_end no rule: 3 17-20\n"
 *
 * For each reason: set the name, zero the other fields. Call pt_gperf_ends_take for each record
 * with this reason, in ascending order, then pt_gperf_ends_done once. */
typedef struct {
    const char *name;     /* the reason, terminated, borrowed */
    uint64_t first, last; /* the pending run of records; 0: none */
    unsigned in_line;     /* runs in the current line */
} pt_gperf_ends;

#define PT_GPERF_END_LINE "# pitot stack_end "

/* record: the number of a record whose stack ended for this reason. Either it continues the pending
 * run, or the pending run is written and a new run begins. pt_gperf_ends_done writes the pending
 * run and ends the line. */
void pt_gperf_ends_take(pt_wire_buf *buf, pt_gperf_ends *ends, uint64_t record);
void pt_gperf_ends_done(pt_wire_buf *buf, pt_gperf_ends *ends);

/* A line of pitot's own with figures of the whole recording, "name=value" each:
 *
 *   "# pitot facts asked_hz=1000 cpu_used_ns=4610000000 stack_end=root\n"
 *
 * stack_end=root: records without a stack_end line of their own reached their thread's start. */
#define PT_GPERF_FACTS_LINE "# pitot facts "
