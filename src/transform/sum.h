/* sum.h: an event that is the sum of other events of the same unit: "cpu+off-cpu" is the time that
 * a thread ran plus the time that it waited. */
#pragma once

#include "model/profile.h"

/* Does the text name a sum of events: names with "+" between them, and not a name of one event? */
bool pt_is_sum(const pt_profile *profile, const char *names);

/* Makes the profile with one more event at the end, whose values are the sums. names: names as for
 * pt_profile_find_event, joined by "+". Sums saturate. Fails with PT_ERR_USAGE if there is no such
 * event, an event is named twice, the units differ, or there are more than PT_EVENT_PARTS_MAX
 * names. The caller unrefs *ret_profile. */
pt_status pt_sum_events(const pt_profile *profile, const char *names,
                        const pt_profile **ret_profile, pt_error *reterr);
