/* merge.h: merges profiles by content. The rules are those of google/pprof's profile.Merge, so that
 * results agree. Rows are equal if these are equal:
 *
 *   mapping   size rounded up to 4 KiB, file offset, build id, else the source's own id, else file
 *   location  mapping, address relative to it, lines with columns, flags
 *   function  name, system name, file, start line
 *   sample    stack, labels (texts before numbers, each by key)
 *   arc       caller, callee (pprof has no rules for arcs, bins and blocks)
 *
 * Lines that only the source's own format understands (extras) are kept; lines of later profiles
 * are kept if they are new. Rows keep the order of first use by a sample. Unused rows, samples with
 * only zero values, and unknown protobuf fields are dropped. Memory grows with the distinct stacks
 * of the result, not with the number of profiles.
 */
#pragma once

#include "base/error.h"
#include "model/profile.h"

typedef struct pt_merge pt_merge;

/* Starts a merge; pt_merge_finish or pt_merge_free ends it. diag (may be NULL) must outlive the
 * merge. */
pt_merge *pt_merge_new(pt_diag *diag);
/* Like pt_merge_new, but exactly as google/pprof (profile/merge.go), so that the written result has
 * the same bytes. For profiles with equal events. Differences:
 *
 *   mapping   build id or else file; the source's own id does not count
 *   location  only the column of the last line counts
 *   header    period types must agree; a start time of 0 clears earlier start times
 */
pt_merge *pt_merge_new_to_the_letter(pt_diag *diag);

/* Rules of another module, which may combine several merges. begin returns a state; add and finish
 * receive it; finish returns the result with one reference. end frees the state, whether finish was
 * called or not. */
typedef struct pt_merge_rules {
    void *(*begin)(pt_diag *diag);
    pt_status (*add)(void *merging, const pt_profile *profile, pt_error *reterr);
    pt_status (*finish)(void *merging, const pt_profile **ret_profile, pt_error *reterr);
    void (*end)(void *merging);
} pt_merge_rules;
/* Starts a merge by these rules; if rules is NULL, like pt_merge_new. */
pt_merge *pt_merge_new_by(const pt_merge_rules *rules, pt_diag *diag);
void pt_merge_free(pt_merge *merge); /* accepts NULL */
/* Call before the first add, for sums that are differences: data that only counts upwards (arcs,
 * bins, blocks) is dropped, and the drop is reported. */
void pt_merge_samples_only(pt_merge *merge);

/* Adds a profile; the caller keeps its reference. Events are matched by type and unit; events that
 * some profile lacks are dropped from the result, and the drop is reported. Thread and CPU columns
 * become labels, as in profile.proto; times are dropped. Fails with PT_ERR_USAGE if the profile has
 * no event in common with the earlier profiles. Arcs with equal ends, bins with equal ranges and
 * blocks with equal addresses are added up; arcs keep only the costs that every profile with arcs
 * has. */
pt_status pt_merge_add(pt_merge *merge, const pt_profile *profile, pt_error *reterr);

/* Merges count profiles (at least one) with the union of their events; missing values are 0. Fails
 * like pt_merge_add. */
pt_status pt_merge_all_events(const pt_profile *const *profiles, size_t count, pt_diag *diag,
                              const pt_profile **ret_profile, pt_error *reterr);

/* Frees the merge and returns its result with one reference. The header has the earliest start, the
 * sum of durations and of lost samples, each distinct comment once, and drop_frames and keep_frames
 * of the first profile. If periods differ, it has the longest, and the event's period is marked as
 * varying. Other facts stay only if all profiles agree. Fails with PT_ERR_USAGE if no profile was
 * added. */
pt_status pt_merge_finish(pt_merge *merge, const pt_profile **ret_profile, pt_error *reterr);
