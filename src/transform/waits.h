/* waits.h: leaves one frame of the kernel in stacks of waits: the frame that shows what the thread
 * waits for (do_nanosleep, futex_wait, pipe_read). The frames of the scheduler and of the entry
 * into the kernel are removed. */
#pragma once

#include "model/profile.h"

/* Stacks with CPU time keep their frames, and so do profiles without the event off-cpu. Returns a
 * new reference, to the same profile if nothing changes. *ret_shortened (may be NULL) is true if a
 * sample with a value of `event` has lost frames. */
const pt_profile *pt_fold_waits(const pt_profile *profile, uint32_t event, bool *ret_shortened,
                                pt_diag *diag);
