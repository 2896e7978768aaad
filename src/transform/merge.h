/* merge.h: several profiles as one, by content: what google/pprof's profile.Merge does (pprof's own
 * rules, so that results agree):
 *
 *   mapping   size rounded up to 4 KiB, file offset, build id, else the source's own id, else file
 *   location  mapping, address relative to it, lines with columns, flags
 *   function  name, system name, file, start line
 *   sample    stack, labels (texts before numbers, each by key)
 *   arc       caller, callee (not of pprof's rules: it has none; nor bins or blocks)
 *
 * Lines that only the source's own format understands (extras) are kept, those of later profiles if
 * they are new. Rows keep the order of first use by a sample; unused rows, samples whose values are
 * all 0, and unknown protobuf fields are dropped. Memory follows the distinct stacks of the result,
 * not the number of profiles.
 */
#ifndef PT_TRANSFORM_MERGE_H
#define PT_TRANSFORM_MERGE_H

#include "base/error.h"
#include "model/profile.h"

typedef struct pt_merge pt_merge;

/* diag (may be NULL) must outlive the merge. */
pt_merge *pt_merge_new(pt_diag *diag);
/* The same to the letter of google/pprof (profile/merge.go), so that the result is written with the
 * same bytes; for profiles of the same events:
 *
 *   mapping   build id or else file; of the source's own id nothing is known
 *   location  of the lines only the last one's column counts
 *   header    period types must agree; a start of 0 forgets the earlier ones
 */
pt_merge *pt_merge_new_to_the_letter(pt_diag *diag);

/* Rules of somebody else, who may put them together from merges: what is added to such a merge goes
 * to `add`, with what `begin` gave; `finish` gives the result with one reference; then comes `end`,
 * or without a result. */
typedef struct pt_merge_rules {
    void *(*begin)(pt_diag *diag);
    pt_status (*add)(void *merging, const pt_profile *profile, pt_error *reterr);
    pt_status (*finish)(void *merging, const pt_profile **ret_profile, pt_error *reterr);
    void (*end)(void *merging);
} pt_merge_rules;
/* rules NULL: pt_merge_new. */
pt_merge *pt_merge_new_by(const pt_merge_rules *rules, pt_diag *diag);
void pt_merge_free(pt_merge *merge); /* accepts NULL */
/* For sums that are differences, before anything is added: what only counts up (arcs, bins, blocks)
 * is left out, and counted. */
void pt_merge_samples_only(pt_merge *merge);

/* Adds a profile, which may be let go afterwards. Events are matched by type and unit; those that
 * not every profile has are left out of the result, and counted. Thread and CPU columns become
 * labels, as in profile.proto; times are dropped. PT_ERR_USAGE if the profile has no event in
 * common with those before it. Arcs of equal ends, bins of equal ranges and blocks of equal
 * addresses are added up; of arcs only those costs that every profile with arcs has. */
pt_status pt_merge_add(pt_merge *merge, const pt_profile *profile, pt_error *reterr);

/* Merges count profiles (at least one) with the events of all: where one has not measured an event
 * its values are 0. Fails as pt_merge_add. */
pt_status pt_merge_all_events(const pt_profile *const *profiles, size_t count, pt_diag *diag,
                              const pt_profile **ret_profile, pt_error *reterr);

/* Frees the merge and gives its result with one reference. Header: the earliest start, the sum of
 * durations and of lost samples, the longest period (an event's too, and it is said to vary), all
 * comments once; drop_frames and keep_frames of the first; other facts only if all agree.
 * PT_ERR_USAGE if nothing was added. */
pt_status pt_merge_finish(pt_merge *merge, const pt_profile **ret_profile, pt_error *reterr);

#endif
