/* journal.h: crash journals of libprofiler.so.0 (wire/journal.h) into a builder: one, as the format
 * "journal" does, or those of many processes together, as `pitot record` does.
 *
 * In a builder of many, a file that several processes had mapped at different addresses (every
 * process, with address randomisation) is one mapping: where the first of them had it. Addresses
 * are moved along.
 */
#ifndef PT_FORMATS_JOURNAL_H
#define PT_FORMATS_JOURNAL_H

#include "base/error.h"
#include "base/reader.h"
#include "formats/format.h"
#include "model/builder.h"
#include "wire/journal.h"

/* What a journal says besides its stacks. */
typedef struct pt_journal_facts {
    uint32_t pid, ppid, sequence;
    uint32_t engine; /* PT_JOURNAL_ENGINE_X */
    uint32_t end;    /* PT_JOURNAL_RUNNING ... */
    uint32_t asked_hz, tick_hz;
    uint64_t period_ns;
    int64_t start_realtime_ns;
    uint64_t start_monotonic_ns, last_monotonic_ns;
    uint64_t cpu_before_ns, cpu_used_ns, cpu_own_ns;
    uint64_t own_ns;        /* of all three: what the library took, as far as it knows */
    uint64_t own_copied_ns; /* the same, of copied stacks: known when they have been walked */
    uint64_t threads_seen, threads_unsampled;
    uint64_t ticks;     /* signals taken */
    uint64_t weight;    /* periods they stand for, without dropped and filtered */
    uint64_t complete;  /* of weight: stacks that reached where their thread began */
    uint64_t unchecked; /* the same, but by frame pointers that no rule vouches for */
    /* Of weight: stacks with frames of Python, joined with native ones for certain, and not. */
    uint64_t merged, uncertain;
    uint64_t dropped, filtered;
    char comm[PT_JOURNAL_COMM_BYTES];
    char exe[PT_JOURNAL_EXE_BYTES + 1];
    char command[PT_JOURNAL_COMMAND_BYTES + 1]; /* arguments separated by spaces */
} pt_journal_facts;

/* Whether these bytes begin a journal. */
bool pt_journal_is(const uint8_t *head, size_t head_bytes);

/* The header only: weight, complete and unchecked stay 0. PT_ERR_FORMAT if it is no journal or of
 * another version. */
pt_status pt_journal_read_facts(pt_reader *reader, pt_journal_facts *ret_facts, pt_error *reterr);

typedef struct pt_journal_reading pt_journal_reading;

/* Journals will be added to this builder, which is empty and stays the caller's. Defines the events
 * samples/count and cpu/nanoseconds. label_processes: samples get the labels pid and comm. hooks:
 * who walks copied stacks (unwind); NULL, or without it: they have one frame. */
pt_journal_reading *pt_journal_reading_new(pt_builder *builder, bool label_processes,
                                           const pt_read_hooks *hooks);
void pt_journal_reading_free(pt_journal_reading *reading);

/* Adds one journal. PT_ERR_DAMAGED if only part of it could be read (that part is in the builder);
 * ret_facts (may be NULL) is filled then too. */
pt_status pt_journal_reading_add(pt_journal_reading *reading, pt_reader *reader,
                                 pt_journal_facts *ret_facts, pt_error *reterr);

/* Calls use for each record of a file of pt_journal_brief, of this machine's byte order. */
void pt_journal_each_brief(const uint8_t *bytes, size_t size,
                           void (*use)(const pt_journal_brief *brief, void *arg), void *arg);

#endif
