/* stats.c: distributions, by libm and a continued fraction. */
#include "base/stats.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

double pt_normal_below(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

/* Finds the x in [low, high] at which a rising function reaches p, by bisection. */
static double find_where(double (*below)(double x, double parameter), double parameter, double p,
                         double low, double high)
{
    for (int i = 0; i < 200 && high - low > 1e-12 * (fabs(low) + fabs(high) + 1e-12); i++) {
        const double middle = low + (high - low) / 2;
        if (below(middle, parameter) < p)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

static double normal_below(double z, double unused)
{
    (void)unused;
    return pt_normal_below(z);
}

double pt_normal_quantile(double p)
{
    return find_where(normal_below, 0, p, -40, 40);
}

/* The continued fraction of DLMF 8.17.22, evaluated from the front by Lentz's method (Thompson and
 * Barnett 1986). It converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < 100000; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int half = 0; half < 2; half++) {
            const double term = half == 0 ? even : odd;
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            if (fabs(c) < tiny) c = tiny;
            f *= c * d;
        }
        if (fabs(c * d - 1) < 4 * DBL_EPSILON) break;
    }
    return f;
}

double pt_beta_below(double x, double a, double b)
{
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    /* The fraction converges fast only below this limit. Above it, the complement 1 - I_(1-x)(b, a)
     * is computed. */
    const bool swap = x > (a + 1) / (a + b + 2);
    const double at = swap ? 1 - x : x, p = swap ? b : a, q = swap ? a : b;
    int sign;
    const double ln = lgamma_r(p + q, &sign) - lgamma_r(p, &sign) - lgamma_r(q, &sign) +
                      p * log(at) + q * log1p(-at);
    const double below = exp(ln) * beta_fraction(at, p, q) / p;
    return swap ? 1 - below : below;
}

double pt_student_beyond(double t, double df)
{
    return pt_beta_below(df / (df + t * t), df / 2, 0.5);
}

static double student_within(double t, double df)
{
    return 1 - pt_student_beyond(t, df);
}

double pt_student_quantile(double p, double df)
{
    double high = 1;
    while (student_within(high, df) < 1 - p && high < 1e12)
        high *= 2;
    return find_where(student_within, df, 1 - p, 0, high);
}

double pt_poisson_differ(double a, double b, double ratio)
{
    if (a + b <= 0) return 1;
    const double share =
        ratio / (1 + ratio); /* the expected share of b in a + b under the hypothesis */
    const double at_most = pt_beta_below(1 - share, a > 0 ? a : DBL_MIN, b + 1);
    const double at_least = b > 0 ? pt_beta_below(share, b, a + 1) : 1;
    const double less = a > 0 ? at_most : 1;
    return fmin(1, 2 * fmin(less, at_least));
}

pt_interval pt_poisson_interval(double count, double z)
{
    const double middle = count + z * z / 2, half = z * sqrt(count + z * z / 4);
    return (pt_interval){fmax(0, middle - half), middle + half};
}

pt_interval pt_binomial_interval(double share, double n, double z)
{
    if (n <= 0) return (pt_interval){0, 1};
    const double z2 = z * z, middle = share + z2 / (2 * n);
    const double half = z * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
    return (pt_interval){(middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)};
}

pt_interval pt_poisson_difference(double a, double weight_a, double b, double weight_b, double z)
{
    const pt_interval of_a = pt_poisson_interval(a, z), of_b = pt_poisson_interval(b, z);
    const double d = weight_b * b - weight_a * a;
    return (pt_interval){
        d - hypot(weight_b * (b - of_b.low), weight_a * (of_a.high - a)),
        d + hypot(weight_b * (of_b.high - b), weight_a * (a - of_a.low)),
    };
}
