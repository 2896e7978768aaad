/* gperf_notes.h: pitot's notes in the text of a gperftools file: numbers about the recording
 * (facts.h), and the ends of stacks. Other readers ignore these lines; wire/gperftools.h defines
 * their forms.
 */
#pragma once

#include "base/buf.h"
#include "base/reader.h"
#include "model/profile.h"
#include "wire/gperftools.h"

/* The stack ends of the records. end is NULL if the file states none. */
typedef struct {
    uint8_t *end; /* pt_stack_end of each record, in their order */
    uint64_t count;
} pt_gperf_notes;

/* Searches the text after the records for notes. The reader is at the beginning of this text, and
 * its position does not change. Numbers about the recording go to *into. Lines in another form are
 * ignored. */
pt_gperf_notes pt_gperf_notes_read(const pt_reader *text, uint64_t records, pt_provenance *into);
void pt_gperf_notes_done(pt_gperf_notes *notes);
/* The end of a record's stack. */
static inline pt_stack_end pt_gperf_notes_end(const pt_gperf_notes *notes, uint64_t record)
{
    return notes->end != NULL && record < notes->count ? (pt_stack_end)notes->end[record]
                                                       : PT_STACK_END_UNKNOWN;
}

/* Appends the notes of a profile whose records, in their written order, have these ends. */
void pt_gperf_notes_write(pt_buf *to, const pt_profile *profile, const uint8_t *ends, size_t count);
