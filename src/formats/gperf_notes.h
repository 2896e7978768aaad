/* gperf_notes.h: what we note in the text of a gperftools file, in lines that other readers ignore
 * (wire/gperftools.h has their forms): figures of the recording, and why stacks ended.
 */
#ifndef PT_FORMATS_GPERF_NOTES_H
#define PT_FORMATS_GPERF_NOTES_H

#include "base/buf.h"
#include "base/reader.h"
#include "model/profile.h"
#include "wire/gperftools.h"

/* Records count from 0. end NULL: the file does not say. */
typedef struct {
    uint8_t *end; /* pt_stack_end of each record */
    uint64_t count;
} pt_gperf_notes;

/* Looks through the text behind the records, which the reader stands before and does not leave.
 * Figures go to *into. A line that is not as we write them is passed over. */
pt_gperf_notes pt_gperf_notes_read(const pt_reader *text, uint64_t records, pt_provenance *into);
void pt_gperf_notes_done(pt_gperf_notes *notes);
static inline pt_stack_end pt_gperf_notes_end(const pt_gperf_notes *notes, uint64_t record)
{
    return notes->end != NULL && record < notes->count ? (pt_stack_end)notes->end[record]
                                                       : PT_STACK_END_UNKNOWN;
}

/* The lines for a profile whose records, as written, have these ends. */
void pt_gperf_notes_write(pt_buf *to, const pt_profile *profile, const uint8_t *ends, size_t count);

#endif
