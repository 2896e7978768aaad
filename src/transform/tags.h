/* tags.h: makes frames of labels, and finds the units of numeric labels.
 *
 * The rules are those of google/pprof (internal/driver/tagroot.go; NumLabelUnits of
 * profile/profile.go). Sample columns (pid, tid, cpu, comm) count as labels too.
 */
#pragma once

#include "model/profile.h"
#include "transform/query.h"

typedef struct pt_tagged {
    /* One reference; the same profile if the query has neither tag_root nor tag_leaf. */
    const pt_profile *profile;
    bool root_matched, leaf_matched; /* some sample has a label of a key of tag_root, tag_leaf */
} pt_tagged;

/* Adds a frame for each key of query->tag_root above the stacks' roots, the first key as the new
 * root, and for each key of tag_leaf below their leaves, the last key as the new leaf. The frame's
 * function is the label's values, joined by commas, with numbers in query->tag_unit; its file is
 * the key. A sample without the label gets the function "". Call it before pt_filter, so that
 * patterns see the new frames. */
pt_status pt_tag_frames(const pt_profile *profile, const pt_query *query, pt_tagged *ret_tagged,
                        pt_diag *diag, pt_error *reterr);

/* The unit of a key's numbers, and the other units that occur with this key. */
typedef struct pt_tag_unit {
    uint32_t key;     /* a string of the profile */
    const char *unit; /* the first unit in the samples; without any, "bytes" for the keys alignment
                         and request, else the key itself. Points into the profile, or static */
    char *others;     /* "kilobytes, megabytes", sorted; owned; NULL = none */
} pt_tag_unit;

typedef struct pt_tag_units {
    pt_tag_unit *items; /* in the order of first use */
    size_t count;
} pt_tag_units;

/* The units of all numeric labels in samples. pprof: if true, a number 0 without a unit is not a
 * label. */
pt_tag_units pt_tag_units_of(const pt_profile *profile, bool pprof);
void pt_tag_units_done(pt_tag_units *units);
/* The unit of a key (a string of the profile); NULL if no sample has a number with this key. */
const char *pt_tag_unit_of(const pt_tag_units *units, uint32_t key);

/* Converts the columns pid, tid, cpu and comm to labels; if with_time, also the column of times, as
 * the time since the start of the recording. Returns a new reference, to the same profile if it has
 * no such column. */
const pt_profile *pt_columns_to_labels(const pt_profile *profile, bool with_time);

/* Does a label count? With pprof, a number 0 without a unit does not, as in google/pprof. */
static inline bool pt_label_counts(const pt_label *label, bool pprof)
{
    return !pprof || label->kind == PT_LABEL_STRING || label->num != 0 || label->unit != 0;
}
