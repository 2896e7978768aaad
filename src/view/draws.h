/* draws.h: the variance of an event's values, from the number and weights of their draws.
 *
 * The value of a sample is a sum of draws: hits of a clock, waits, sampled allocations. Draws come
 * independently, so the variance of a sum of draws is the sum of the squares of their weights
 * (compound Poisson). For draws of equal weight w the variance is w times the value. Waits last
 * from a microsecond to a second: their variance is larger than the variance of as many draws that
 * all have the mean weight.
 *
 *   value 60 ms, 20 draws of 3 ms            squares 20 * 9 ms^2
 *   value 60 ms, 19 draws of 1 ms, 1 of 41   squares 19 + 1,681 ms^2: as good as 2.1 equal draws
 */
#pragma once

#include "model/profile.h"

typedef struct pt_draws {
    const char *name; /* "samples", "waits", "contentions"; borrowed */
    double value;     /* the sum of the magnitudes of the event's values */
    double count;     /* the number of draws */
    double squares;   /* the sum of the squares of their weights */
    double weight;    /* the weight of each draw; 0 if the weights differ */
    bool is_regular;  /* a clock or a counter draws at equal distances: chance decides to which rows
                       * the draws belong, but the number of all draws does not depend on chance */
} pt_draws;

/* Fills *ret_draws, and for each sample an item of ret_squares (the sum of the squares of its
 * draws) and of ret_counts (the number of its draws; ret_counts may be NULL). Returns false if the
 * number of draws is unknown, or a value is negative, as in a difference of two profiles. The
 * number of draws comes from the first of these that the profile has:
 *
 * 1. an event that counts draws: "samples", "waits", "preemptions", "contentions", "allocations",
 *    if nearly all samples with a value have a count. Weights within a sample are assumed to vary
 *    like those between samples.
 * 2. for bytes and objects of a heap, the sampling period and the size of the objects: an object of
 *    s bytes is drawn with a probability of 1 - exp(-s / period).
 * 3. the event's period, or the profile's if it is in the event's unit.
 * 4. the event itself, if it is the only one and is a count.
 *
 * The draws of a sum of events are the draws of all its events. */
bool pt_draws_of(const pt_profile *profile, uint32_t event, double *ret_squares, double *ret_counts,
                 pt_draws *ret_draws);

/* A copy of the profile with one event that has these values (one for each sample, 0 or more; `sum`
 * is their sum), as whole multiples of *ret_unit. */
const pt_profile *pt_draws_profile(const pt_profile *profile, const double *values, double sum,
                                   double *ret_unit);
