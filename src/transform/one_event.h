/* one_event.h: a profile with one of its events alone, for who asked for no other. */
#ifndef PT_TRANSFORM_ONE_EVENT_H
#define PT_TRANSFORM_ONE_EVENT_H

#include "model/profile.h"

/* Of the events only this one stays, of the samples those with a value of it, of the bins those of
 * its histograms; arcs keep their calls, and blocks have no event. The tables that do not change
 * are shared. Unknown fields of events and samples are dropped and told to diag (may be NULL).
 * Caller unrefs. */
const pt_profile *pt_one_event(const pt_profile *profile, uint32_t event, pt_diag *diag);

#endif
