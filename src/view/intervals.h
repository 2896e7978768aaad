/* intervals.h: the interval that contains the true value of each row of a table.
 *
 * A profile is one random draw of a program's behaviour. In 95 of 100 profiles, the interval of a
 * row contains the value that the mean of many such profiles would have:
 *
 *   clocks, counters   the whole is known, but not the row's share: binomial (Wilson's score)
 *   waits, heaps       the number of draws is also random: Poisson
 *   unequal weights    as for as many equal draws as would vary as much (draws.h) */
#pragma once

#include "view/table.h"

/* Fills in the intervals of the rows of a table that pt_top_init made of this profile and request.
 * confidence: 0.95. *ret_known is true if the profile shows the number of draws. If it is false,
 * and on an error, both ends of each interval are NAN. */
pt_status pt_top_intervals(pt_top *top, const pt_profile *profile, const pt_top_request *request,
                           double confidence, bool *ret_known, pt_error *reterr);
