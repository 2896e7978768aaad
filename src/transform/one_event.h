/* one_event.h: reduces a profile to one of its events. */
#pragma once

#include "model/profile.h"

/* Keeps one event, the samples that have a value of this event, and the bins of its histograms.
 * Arcs keep their call counts; blocks have no event. Unchanged tables are shared. Unknown fields of
 * events and samples are dropped, and the drop is reported to diag (may be NULL). The caller unrefs
 * the result. */
const pt_profile *pt_one_event(const pt_profile *profile, uint32_t event, pt_diag *diag);
