/* draws.h: how much chance there is in an event's values.
 *
 * Each value of a sample is a sum of so many draws: hits of a clock, waits, sampled allocations.
 * Draws come independently, so that a sum of them has a variance of the sum of their squares
 * (compound Poisson). For draws of equal weight w that is w times the value; for waits, which last
 * from a microsecond to a second, it is more than the mean weight tells.
 *
 *   value 60 ms, 20 draws of 3 ms            squares 20 * 9 ms^2
 *   value 60 ms, 19 draws of 1 ms, 1 of 41   squares 19 + 1,681 ms^2: as good as 2.1 equal draws
 */
#ifndef PT_VIEW_DRAWS_H
#define PT_VIEW_DRAWS_H

#include "model/profile.h"

typedef struct pt_draws {
    const char *name; /* "samples", "waits", "contentions"; borrowed */
    double value;     /* the event's values added up, as magnitudes */
    double count;     /* draws */
    double squares;   /* of their weights, added up */
    double weight;    /* of every draw; 0: they differ */
    bool is_regular;  /* a clock or a counter draws at equal distances, so that the number of draws
                         of the whole is no chance, only whose they are */
} pt_draws;

/* Fills *ret_draws, and for each sample ret_squares and, if it is not NULL, ret_counts (its draws).
 * False: it is not known how many draws the values
 * stand for, or some are below 0, as of a profile less another. In order, what is known is taken
 * from
 *
 * 1. an event that counts draws: "samples", "waits", "preemptions", "contentions", "allocations",
 * where nearly all samples that have a value have some. Weights within a sample are taken to vary
 * as those between samples do.
 *
 * 2. for bytes and objects of a heap, the sampling period and the size of the objects: one of s
 * bytes is drawn with a chance of 1 - exp(-s / period).
 *
 * 3. the event's period, or the profile's if it is in the event's unit.
 *
 * 4. the event itself, if it is the only one and counts. */
bool pt_draws_of(const pt_profile *profile, uint32_t event, double *ret_squares, double *ret_counts,
                 pt_draws *ret_draws);

/* The profile with one event, whose values are these (0 or more, one for each sample; sum is their
 * sum) as whole numbers of *ret_unit. */
const pt_profile *pt_draws_profile(const pt_profile *profile, const double *values, double sum,
                                   double *ret_unit);

#endif
