/* journal.h: reads crash journals of libprofiler.so.0 (wire/journal.h) into a builder: a single
 * journal, for the format "journal", or the journals of many processes, for `pitot record`.
 *
 * If several processes mapped a file at different addresses (as address randomisation causes), the
 * builder has one mapping for the file, at its address in the first process. Addresses of the other
 * processes are moved accordingly.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/reader.h"
#include "formats/format.h"
#include "model/builder.h"
#include "wire/journal.h"

/* Parts of the weight of a journal. all: weight of the stacks with frames of a language. uncertain:
 * weight of those of these stacks in which the language's frames may be at wrong places between the
 * native frames. */
typedef struct {
    uint64_t all, uncertain;
} pt_journal_frames;

/* The facts of a journal apart from its stacks. */
typedef struct pt_journal_facts {
    uint32_t pid, ppid, sequence;
    uint32_t engine; /* PT_JOURNAL_ENGINE_X */
    uint32_t end;    /* PT_JOURNAL_RUNNING ... */
    uint32_t asked_hz, tick_hz;
    uint64_t period_ns;
    int64_t start_realtime_ns;
    uint64_t start_monotonic_ns, last_monotonic_ns;
    uint64_t cpu_before_ns, cpu_used_ns, cpu_own_ns;
    uint64_t own_ns;        /* CPU time of the library itself, as far as it is known; a part of the
                             * sum of the three fields above */
    uint64_t own_copied_ns; /* CPU time of the library itself in samples with copied stacks; known
                             * after the stacks are unwound */
    uint64_t threads_seen, threads_unsampled;
    uint64_t ticks;    /* signals received */
    uint64_t weight;   /* periods that the ticks stand for, without dropped and filtered ticks */
    uint64_t complete; /* part of weight: stacks that reached the thread's start */
    uint64_t
        unchecked; /* part of weight: stacks that reached the start by unchecked frame pointers */
    uint64_t truncated; /* part of weight: stacks that were longer than the kept part */
    uint64_t kernel;    /* part of weight: in the kernel, not sampled */
    pt_journal_frames frames[PT_JOURNAL_LANGUAGES]; /* parts of weight */
    uint64_t dropped, filtered;
    uint64_t impossible; /* rows that were left out, or shortened: see pt_journal_reading_bound */
    char comm[PT_JOURNAL_COMM_BYTES];
    char exe[PT_JOURNAL_EXE_BYTES + 1];
    char command[PT_JOURNAL_COMMAND_BYTES + 1]; /* arguments, separated by spaces */
} pt_journal_facts;

/* Facts of a recording that limit the CPU time and the weight of its journals. */
typedef struct pt_journal_bounds {
    uint64_t duration_ns; /* duration of the recording; 0 = unknown: every value is possible */
    uint32_t cpus;
    uint64_t period_ns; /* period of the requested rate; 0 = unknown */
} pt_journal_bounds;

/* Are the CPU time that the facts claim, the library's part of it, and the period possible for a
 * process of the recording? */
bool pt_journal_is_possible(const pt_journal_facts *facts, const pt_journal_bounds *bounds);
/* The largest number of periods that samples of the process can stand for in its lifetime. */
uint64_t pt_journal_most_weight(const pt_journal_facts *facts, const pt_journal_bounds *bounds);

/* A journal in the file of short journals; borrows the file's bytes. */
typedef struct pt_journal_short_at {
    const uint8_t *record;
    size_t bytes;
} pt_journal_short_at;

/* Finds the next whole journal at or after *at, and sets *at to the byte after this journal.
 * Returns false if there is none. */
bool pt_journal_next_short(const uint8_t *bytes, size_t size, size_t *at, pt_journal_short_at *ret);
/* Replaces the buffer's content by the short journal, converted to the ordinary form. */
void pt_journal_unfold_short(const pt_journal_short_at *from, pt_buf *journal);

/* Reads the header only: weight, complete, unchecked and truncated stay 0. PT_ERR_FORMAT if the
 * file is not a journal or of another version. */
pt_status pt_journal_read_facts(pt_reader *reader, pt_journal_facts *ret_facts, pt_error *reterr);

typedef struct pt_journal_reading pt_journal_reading;

/* Begins to add journals to an empty builder, which stays the caller's. Defines the events
 * samples/count and cpu/nanoseconds. label_processes: samples get the labels pid and comm.
 * hooks->unwind walks copied stacks; if hooks or unwind is NULL, copied stacks have a single
 * frame. */
pt_journal_reading *pt_journal_reading_new(pt_builder *builder, bool label_processes,
                                           const pt_read_hooks *hooks);
void pt_journal_reading_free(pt_journal_reading *reading);
/* From now on the samples of a journal beyond pt_journal_most_weight are left out. */
void pt_journal_reading_bound(pt_journal_reading *reading, const pt_journal_bounds *bounds);

/* Adds a journal. Fails with PT_ERR_DAMAGED if only a part of the journal could be read; the
 * builder has that part. ret_facts (may be NULL) is filled in both cases. */
pt_status pt_journal_reading_add(pt_journal_reading *reading, pt_reader *reader,
                                 pt_journal_facts *ret_facts, pt_error *reterr);
/* Changes the builder's events from CPU time to wall time (PT_JOURNAL_ENGINE_REAL). Called after
 * pt_builder_provenance is filled. */
void pt_journal_count_wall(pt_builder *builder);

/* Calls `use` for each pt_journal_brief record of the file, in the host's byte order. */
void pt_journal_each_brief(const uint8_t *bytes, size_t size,
                           void (*use)(const pt_journal_brief *brief, void *arg), void *arg);
