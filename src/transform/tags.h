/* tags.h: labels of samples as frames, and the units of numeric labels.
 *
 * The rules are those of google/pprof (internal/driver/tagroot.go; NumLabelUnits of
 * profile/profile.go). Columns that a sample may have beside its labels (pid, tid, cpu, comm) are
 * labels here, too.
 */
#ifndef PT_TRANSFORM_TAGS_H
#define PT_TRANSFORM_TAGS_H

#include "model/profile.h"
#include "transform/query.h"

typedef struct pt_tagged {
    const pt_profile *profile;       /* one reference; the given one itself if nothing was asked */
    bool root_matched, leaf_matched; /* some sample has such a label */
} pt_tagged;

/* Puts a frame for each key of query->tag_root before the stacks' roots, the first key the new
 * root, and for each of tag_leaf behind their leaves, the last key the new leaf. The frame's
 * function is the label's values joined by commas, numbers shown in query->tag_unit, and its file
 * is the key; a sample without such a label has the function "". To be asked before pt_filter, so
 * that patterns see the new frames. */
pt_status pt_tag_frames(const pt_profile *profile, const pt_query *query, pt_tagged *ret_tagged,
                        pt_diag *diag, pt_error *reterr);

/* The unit in which numbers of a key are understood, and others that occur for it. */
typedef struct pt_tag_unit {
    uint32_t key;     /* string */
    const char *unit; /* the first that a sample tells; without any "bytes" for the keys alignment
                         and request, and the key itself for all others. The profile's, or static */
    char *others;     /* "kilobytes, megabytes": in order; NULL = none */
} pt_tag_unit;

typedef struct pt_tag_units {
    pt_tag_unit *items; /* in order of first use */
    size_t count;
} pt_tag_units;

/* Of all numeric labels that samples have. pprof: a number 0 without a unit is no label. */
pt_tag_units pt_tag_units_of(const pt_profile *profile, bool pprof);
void pt_tag_units_done(pt_tag_units *units);
/* NULL if no sample has a number of that key (a string of the profile). */
const char *pt_tag_unit_of(const pt_tag_units *units, uint32_t key);

/* The profile with its samples' columns pid, tid, cpu and comm made labels, and with_time the time
 * since the beginning of the recording; the same one (a new reference) if there are none. */
const pt_profile *pt_columns_to_labels(const pt_profile *profile, bool with_time);

/* pprof: a number 0 without a unit is no label, as google/pprof reads it. */
static inline bool pt_label_counts(const pt_label *label, bool pprof)
{
    return !pprof || label->kind == PT_LABEL_STRING || label->num != 0 || label->unit != 0;
}

#endif
