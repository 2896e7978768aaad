/* prune.h: takes out the frames that a profile itself calls uninteresting: allocators in a heap
 * profile, the profiler's own handler in a CPU profile (drop_frames and keep_frames of
 * profile.proto).
 *
 * The rules are those of google/pprof (profile/prune.go): seen from the root, the first function
 * whose simplified name matches drop_frames as a whole, and not keep_frames, goes, and everything
 * it called with it; but not before some frame that does not match.
 */
#ifndef PT_TRANSFORM_PRUNE_H
#define PT_TRANSFORM_PRUNE_H

#include "model/profile.h"

/* The pruned profile, or a reference to the same one when there is nothing to prune. A pattern of
 * the profile that is no regular expression, or that takes too long, prunes nothing and is told to
 * diag (may be NULL). */
const pt_profile *pt_prune(const pt_profile *profile, pt_diag *diag);

#endif
