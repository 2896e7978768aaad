/* sums.h: sums of an event's values over all samples of a profile. Each sum is computed at the
 * first call that needs it, and kept with the profile, since every report of a served profile needs
 * it.
 */
#pragma once

#include "model/profile.h"

/* The value of 100 %: the sum of the magnitudes of the values; saturates. */
int64_t pt_profile_magnitude(const pt_profile *profile, uint32_t event);

/* Is any value of the event below 0? */
bool pt_profile_has_negative(const pt_profile *profile, uint32_t event);

/* For each distinct stack, the sum of the event's values: an array of [stack count]. Sums saturate.
 * The profile owns it. */
const int64_t *pt_profile_stack_values(const pt_profile *profile, uint32_t event);

/* Frees the sums of a profile that ends. */
void pt_sums_free(pt_event_sums *sums, uint32_t events);
