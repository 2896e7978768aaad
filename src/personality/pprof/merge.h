/* merge.h: merges profiles exactly as google/pprof does (profile/merge.go,
 * CompatibilizeSampleTypes, and measurement.ScaleProfiles). The rules are those of
 * pt_merge_new_to_the_letter, with two additions: events are matched by type alone, and values and
 * the period are converted to the smallest of their units.
 *
 * Neighbouring profiles with equal events are added up as they come; when events or units change,
 * the sum so far is kept until the end. A single profile is not changed. */
#pragma once

#include "transform/merge.h"

extern const pt_merge_rules pt_pprof_merge_rules;
