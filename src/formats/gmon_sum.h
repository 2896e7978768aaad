/* gmon_sum.h: several gmon.out added up to one. */
#ifndef PT_FORMATS_GMON_SUM_H
#define PT_FORMATS_GMON_SUM_H

#include "formats/gmon.h"

/* Puts the file that holds the sum of the profiles, each of which was read whole from a gmon.out of
 * either layout. Histograms of one range are added up bin by bin, arcs by both addresses, blocks by
 * theirs. Nothing wraps: where a number is too large for its field, records of the same range, or
 * of the same arc, follow, which readers add up.
 *
 * bsd: 4.4BSD's layout, which has one histogram only; what is too large there is held at the limit,
 * and a fact tells. PT_ERR_UNSUPPORTED when the profiles do not count the same in the same way, or
 * the layout cannot hold them. diag may be NULL. */
pt_status pt_gmon_sum(const pt_profile *const *profiles, size_t count, bool bsd, pt_buf *out,
                      pt_diag *diag, pt_error *reterr);

/* The same of a profile that is a sum already, merged from files whose plans are all with it: puts
 * the file. False, and nothing put, when its bins are not those of its plans' histograms, or do not
 * add up to its samples (the profile was changed since), or the layout cannot hold them. */
bool pt_gmon_put_merged(const pt_profile *p, bool bsd, pt_buf *out, pt_diag *diag);

#endif
