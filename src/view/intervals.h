/* intervals.h: the interval in which the true value behind each row of a table lies.
 *
 * A profile is one draw of what the program does. The interval of a row holds, in 95 of 100
 * profiles, the value that the mean of many such profiles would have:
 *
 *   clocks, counters   the whole is known, the row's share of it is not: binomial (Wilson's score)
 *   waits, heaps       how many draws come is chance, too: Poisson
 *   unequal weights    as so many draws of equal weight as vary as much (draws.h)
 */
#pragma once

#include "view/table.h"

/* Fills in the intervals of the rows of a table that pt_top_init made of this profile and request.
 * confidence: 0.95. *ret_known: the profile tells how many draws its values stand for; else, and
 * on an error, each end is NAN. */
pt_status pt_top_intervals(pt_top *top, const pt_profile *profile, const pt_top_request *request,
                           double confidence, bool *ret_known, pt_error *reterr);
