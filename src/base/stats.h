/* stats.h: what is needed to tell a difference of two counts from chance.
 *
 * Samples of a profile arrive, for all that is known, independently: the number that falls on a
 * function is a Poisson variable. Counts may be fractions here (a value divided by what one sample
 * stands for).
 */
#ifndef PT_BASE_STATS_H
#define PT_BASE_STATS_H

typedef struct pt_interval {
    double low, high;
} pt_interval;

/* The probability that a standard normal variable is below z, and its inverse for p in (0, 1). */
double pt_normal_below(double z);
double pt_normal_quantile(double p);

/* The regularized incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1] (NIST Digital
 * Library of Mathematical Functions, 8.17). */
double pt_beta_below(double x, double a, double b);

/* The probability that |T| exceeds |t|, for Student's T with df > 0 degrees of freedom, and the t
 * that it exceeds with probability p in (0, 1). */
double pt_student_beyond(double t, double df);
double pt_student_quantile(double p, double df);

/* Whether counts a and b come from rates of which the second is `ratio` times the first: the
 * two-sided p-value of the conditional binomial test (Przyborowski and Wilenski 1940), the smaller
 * tail twice, at most 1. Counts >= 0; ratio > 0. */
double pt_poisson_differ(double a, double b, double ratio);

/* The rates that a count may come from, by the score of the normal approximation (the Poisson form
 * of Wilson's interval), for z standard deviations. */
pt_interval pt_poisson_interval(double count, double z);

/* The interval of weight_b * rate_b - weight_a * rate_a, by the intervals of the two rates (the
 * "method of variance estimates recovery": Zou and Donner 2008). */
pt_interval pt_poisson_difference(double a, double weight_a, double b, double weight_b, double z);

#endif
