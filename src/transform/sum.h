/* sum.h: an event that adds up others of the same unit: "cpu+off-cpu" is the time that a thread ran
 * and the time that it waited. */
#pragma once

#include "model/profile.h"

/* Is it a sum of events: names with "+" between them, and not the name of an event itself? */
bool pt_is_sum(const pt_profile *profile, const char *names);

/* Makes the profile with one more event, the last, whose values are the sums. A name is as
 * pt_profile_find_event takes it. Sums saturate. PT_ERR_USAGE: there is no such event, a name is
 * there twice, the units differ, or there are more than PT_EVENT_PARTS_MAX names. The caller unrefs
 * *ret_profile. */
pt_status pt_sum_events(const pt_profile *profile, const char *names,
                        const pt_profile **ret_profile, pt_error *reterr);
