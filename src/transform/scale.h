/* scale.h: changes values or labels, but not stacks, and subtracts profiles.
 *
 * The rules are those of google/pprof: Normalize of profile/merge.go, ScaleN and SetLabel of
 * profile/profile.go, fetchProfiles of internal/driver/fetch.go, printProto of
 * internal/report/report.go.
 */
#pragma once

#include "model/profile.h"
#include "transform/merge.h"

/* Multiplies each event's values by its ratio and rounds to the nearest whole number, halves away
 * from zero. Drops samples whose multiplied values (those with a ratio other than 1) all became 0.
 * Results beyond 63 bits saturate. The caller unrefs the result. */
const pt_profile *pt_scale(const pt_profile *profile, const double *ratios);

/* Divides all values by `by` and truncates; drops no samples. Use it for written profiles; reports
 * divide when they print. `by` must not be 0; a negative `by` changes nothing, as in pprof. The
 * caller unrefs the result. */
const pt_profile *pt_divide(const pt_profile *profile, double by);

/* This label marks the samples of the base in a difference. If a profile has such samples, their
 * values alone are 100 %. */
#define PT_BASE_KEY  "pprof::base"
#define PT_BASE_TEXT "true"

typedef struct pt_subtract_options {
    bool marks_base;             /* -diff_base: labels the base's samples with PT_BASE_KEY */
    bool normalizes;             /* first scales profile to the base's totals */
    const pt_merge_rules *rules; /* rules of merging; NULL = the rules of pt_merge_new */
} pt_subtract_options;

/* profile minus base: negates base's values, then merges both (merge.h). */
pt_status pt_subtract(const pt_profile *profile, const pt_profile *base,
                      const pt_subtract_options *options, const pt_profile **ret_profile,
                      pt_diag *diag, pt_error *reterr);

/* The value of 100 %: the sum of |values| over the samples marked by PT_BASE_KEY if any has a
 * value, else over all samples; saturates. */
int64_t pt_whole(const pt_profile *profile, uint32_t event);
