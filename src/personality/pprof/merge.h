/* merge.h: several profiles as one, to the letter of google/pprof (profile/merge.go,
 * CompatibilizeSampleTypes, and measurement.ScaleProfiles): beside what pt_merge_new_to_the_letter
 * does, events are matched by type alone, and of units that convert the smallest wins, the period's
 * too.
 *
 * Profiles of the same events are added up as they come; where events or units change, what was
 * added up so far is kept apart until the end. A single profile passes as it is. */
#pragma once

#include "transform/merge.h"

extern const pt_merge_rules pt_pprof_merge_rules;
