/* prune.h: removes the frames that a profile itself marks as uninteresting (drop_frames and
 * keep_frames of profile.proto): allocators in a heap profile, the profiler's handler in a CPU
 * profile.
 *
 * The rules are those of google/pprof (profile/prune.go). From the root, the first function whose
 * complete simplified name matches drop_frames, and not keep_frames, is removed with all its
 * callees, but only if a frame nearer to the root does not match.
 */
#pragma once

#include "model/profile.h"

/* The pruned profile, or a new reference to the same profile if nothing is pruned. A pattern that
 * is invalid or takes too long prunes nothing and is reported to diag (may be NULL). */
const pt_profile *pt_prune(const pt_profile *profile, pt_diag *diag);
