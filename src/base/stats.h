/* stats.h: statistics that separate a difference of two counts from chance.
 *
 * The model: samples of a profile arrive independently, so the number of samples of a function is a
 * Poisson variable. Counts may be fractions here: a value divided by the weight of a sample.
 */
#pragma once

#define PT_CONFIDENCE 0.95 /* of intervals and marks, unless another is asked for */

typedef struct pt_interval {
    double low, high;
} pt_interval;

/* The probability that a standard normal variable is below z, and its inverse for p in (0, 1). */
double pt_normal_below(double z);
double pt_normal_quantile(double p);

/* The regularized incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1] (NIST Digital
 * Library of Mathematical Functions, 8.17). */
double pt_beta_below(double x, double a, double b);

/* For Student's T with df > 0 degrees of freedom: pt_student_beyond gives the probability that |T|
 * exceeds |t|; pt_student_quantile gives the t that |T| exceeds with probability p in (0, 1). */
double pt_student_beyond(double t, double df);
double pt_student_quantile(double p, double df);

/* The two-sided p-value of the hypothesis that the rate of count b is `ratio` times the rate of
 * count a, by the conditional binomial test (Przyborowski and Wilenski 1940): twice the smaller
 * tail, at most 1. Counts >= 0; ratio > 0. */
double pt_poisson_differ(double a, double b, double ratio);

/* The confidence interval of the rate of which a count was drawn, by the score of the normal
 * approximation (the Poisson form of Wilson's interval), z standard deviations wide on each
 * side. */
pt_interval pt_poisson_interval(double count, double z);

/* The confidence interval of the probability of an event that happened in `share` (0 to 1) of n
 * draws (Wilson's score, 1927), z standard deviations wide on each side; [0, 1] without draws. */
pt_interval pt_binomial_interval(double share, double n, double z);

/* The confidence interval of weight_b * rate_b - weight_a * rate_a, where rate_a and rate_b are the
 * rates of the counts a and b. It is computed from the intervals of the two rates (the "method of
 * variance estimates recovery": Zou and Donner 2008), z standard deviations wide on each side. */
pt_interval pt_poisson_difference(double a, double weight_a, double b, double weight_b, double z);
