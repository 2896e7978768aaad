/* scale.h: changes values or labels but not stacks; subtracts profiles.
 *
 * The rules are those of google/pprof: Normalize of profile/merge.go, ScaleN and SetLabel of
 * profile/profile.go, fetchProfiles of internal/driver/fetch.go, printProto of
 * internal/report/report.go.
 */
#pragma once

#include "model/profile.h"
#include "transform/merge.h"

/* Multiplies each event's values by its ratio and rounds to the nearest, halves away from zero.
 * Drops samples whose multiplied values (those with a ratio other than 1) all became 0. Results
 * beyond 63 bits saturate. The caller unrefs the result. */
const pt_profile *pt_scale(const pt_profile *profile, const double *ratios);

/* Divides all values and truncates; drops nothing. For writing; reports divide when they print. by
 * must not be 0; a negative one changes nothing, as in pprof. The caller unrefs the result. */
const pt_profile *pt_divide(const pt_profile *profile, double by);

/* This label marks the samples of the base in a difference. If there are any, the base's values
 * alone are 100 %. */
#define PT_BASE_KEY  "pprof::base"
#define PT_BASE_TEXT "true"

typedef struct pt_subtract_options {
    bool marks_base;             /* -diff_base: labels the base's samples with PT_BASE_KEY */
    bool normalizes;             /* first scales profile to the base's totals */
    const pt_merge_rules *rules; /* rules of merging; NULL: those of pt_merge_new */
} pt_subtract_options;

/* profile minus base: negates base's values, then merges both (merge.h). */
pt_status pt_subtract(const pt_profile *profile, const pt_profile *base,
                      const pt_subtract_options *options, const pt_profile **ret_profile,
                      pt_diag *diag, pt_error *reterr);

/* The value of 100 %: the sum of |values| over the samples marked by PT_BASE_KEY if any has a
 * value, else over all samples; saturates. */
int64_t pt_whole(const pt_profile *profile, uint32_t event);
