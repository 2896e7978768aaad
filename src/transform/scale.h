/* scale.h: other values, or other marks, on the same stacks; and one profile less another.
 *
 * The rules are those of google/pprof: Normalize of profile/merge.go, ScaleN and SetLabel of
 * profile/profile.go, fetchProfiles of internal/driver/fetch.go, printProto of
 * internal/report/report.go.
 */
#ifndef PT_TRANSFORM_SCALE_H
#define PT_TRANSFORM_SCALE_H

#include "model/profile.h"
#include "transform/merge.h"

/* Multiplies each event's values by its ratio and rounds to the nearest, halves away from zero.
 * Samples of which every value that was multiplied (its ratio is not 1) became 0 are dropped; with
 * all ratios 1 none. Results beyond 63 bits saturate. One reference. */
const pt_profile *pt_scale(const pt_profile *profile, const double *ratios);

/* One such value. */
int64_t pt_scaled(int64_t value, double ratio);

/* Divides all values, cutting off what is behind the point; drops nothing. For writing; reports
 * divide as they print. by must not be 0; a negative one changes nothing, as in pprof. */
const pt_profile *pt_divide(const pt_profile *profile, double by);

/* Scales each event of profile so that its sum is that of base's. PT_ERR_USAGE unless both have the
 * same events in the same order and the same period type. */
pt_status pt_normalize(const pt_profile *profile, const pt_profile *base,
                       const pt_profile **ret_profile, pt_error *reterr);

/* Gives each sample the one text label key=text, in place of other texts of that key. */
const pt_profile *pt_set_label(const pt_profile *profile, const char *key, const char *text);

/* What marks the samples of the base in a difference; 100 % are then the base's values alone. */
#define PT_BASE_KEY  "pprof::base"
#define PT_BASE_TEXT "true"

typedef struct pt_subtract_options {
    bool marks_base;             /* -diff_base: label the base's samples with PT_BASE_KEY */
    bool normalizes;             /* profile is scaled to the base's totals first */
    const pt_merge_rules *rules; /* how both are merged; NULL: as merge.h says */
} pt_subtract_options;

/* profile less base: base's values negated, then both merged (merge.h). */
pt_status pt_subtract(const pt_profile *profile, const pt_profile *base,
                      const pt_subtract_options *options, const pt_profile **ret_profile,
                      pt_diag *diag, pt_error *reterr);

/* What 100 % is: the sum of |values| over the samples that PT_BASE_KEY marks if there are any with
 * a value, else over all; saturates. */
int64_t pt_whole(const pt_profile *profile, uint32_t event);

#endif
