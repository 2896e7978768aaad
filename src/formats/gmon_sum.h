/* gmon_sum.h: the sum of several gmon.out files as a gmon.out. */
#pragma once

#include "formats/gmon.h"

/* Appends a file with the sum of the profiles, each of which was read completely from a gmon.out of
 * either layout. Histograms of the same range are added up bin by bin, arcs by both addresses,
 * blocks by address. If the sum of a bin or an arc exceeds its field, further records of the same
 * range or arc follow, which readers add up. Sums of blocks, and sums for which too many further
 * records would be needed, are clipped to the field's limit and counted in diag (may be NULL).
 *
 * bsd: write 4.4BSD's layout, which has a single histogram and no blocks; sums of bins are clipped.
 * PT_ERR_UNSUPPORTED if the histograms of the profiles do not fit together (unit, rate, ranges), or
 * if the layout cannot hold the sum. */
pt_status pt_gmon_sum(const pt_profile *const *profiles, size_t count, bool bsd, pt_buf *out,
                      pt_diag *diag, pt_error *reterr);

/* Like pt_gmon_sum, for a profile that is already a sum, merged from files with their plans.
 * Returns false, with nothing appended, if the profile's bins do not match the histograms of the
 * plans or do not add up to its samples (because the profile was changed later), or if the layout
 * cannot hold the sum. */
bool pt_gmon_put_merged(const pt_profile *p, bool bsd, pt_buf *out, pt_diag *diag);
