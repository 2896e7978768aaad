/* test_base_stats.c: distributions against published tables and by counting. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/stats.h"

static void expect_near(double got, double wanted, double error)
{
    if (fabs(got - wanted) > error) fail_msg("%.12g is not %.12g", got, wanted);
}

/* Abramowitz and Stegun, tables 26.1 and 26.5. */
static void the_normal_distribution_is_that_of_the_tables(void **state)
{
    expect_near(pt_normal_below(0), 0.5, 1e-15);
    expect_near(pt_normal_below(1), 0.841344746068543, 1e-14);
    expect_near(pt_normal_below(-2), 0.022750131948179, 1e-14);
    expect_near(pt_normal_quantile(0.975), 1.959963984540054, 1e-10);
    expect_near(pt_normal_quantile(0.9995), 3.290526731491926, 1e-10);
}

/* Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20. */
static void the_binomial_interval_is_that_of_the_table(void **state)
{
    static const struct {
        double x, n, low, high;
    } known[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const pt_interval got =
            pt_binomial_interval(known[i].x / known[i].n, known[i].n, 1.959963984540054);
        expect_near(got.low, known[i].low, 5e-5);
        expect_near(got.high, known[i].high, 5e-5);
    }
    expect_near(pt_binomial_interval(0, 0, 2).high, 1, 0);
}

/* I_x(a, b) for whole numbers is a sum of binomial probabilities (DLMF 8.17.5). */
static double binomial_at_least(int n, int k, double p)
{
    double sum = 0;
    for (int i = k; i <= n; i++)
        sum +=
            exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1)) * pow(p, i) * pow(1 - p, n - i);
    return sum;
}

static void the_beta_function_is_a_sum_of_binomial_probabilities(void **state)
{
    for (int n = 1; n < 40; n += 3)
        for (int k = 1; k <= n; k++)
            for (double p = 0.05; p < 1; p += 0.15)
                expect_near(pt_beta_below(p, k, n - k + 1), binomial_at_least(n, k, p), 1e-12);
    expect_near(pt_beta_below(0.5, 1e7, 1e7), 0.5, 1e-6);
}

/* Fisher and Yates' table of t. */
static void student_is_that_of_the_tables(void **state)
{
    expect_near(pt_student_quantile(0.05, 1), 12.706, 5e-4);
    expect_near(pt_student_quantile(0.05, 4), 2.776, 5e-4);
    expect_near(pt_student_quantile(0.01, 10), 3.169, 5e-4);
    expect_near(pt_student_quantile(0.05, 1e9), 1.960, 5e-4);
    expect_near(pt_student_beyond(2.776445, 4), 0.05, 1e-6);
}

static void equal_counts_do_not_differ_and_far_ones_do(void **state)
{
    expect_near(pt_poisson_differ(0, 0, 1), 1, 0);
    expect_near(pt_poisson_differ(10, 10, 1), 1, 0);
    /* all of 10 events on one side: 2 * 0.5^10 */
    expect_near(pt_poisson_differ(10, 0, 1), 2 * pow(0.5, 10), 1e-12);
    expect_near(pt_poisson_differ(0, 10, 1), 2 * pow(0.5, 10), 1e-12);
    /* at a rate four times as high: at most 1 of 6 on the second, with 0.8 each */
    expect_near(pt_poisson_differ(5, 1, 4), 2 * (1 - binomial_at_least(6, 2, 0.8)), 1e-12);
    assert_true(pt_poisson_differ(1000000, 1010000, 1) < 1e-10);
}

/* Knuth's way, with a fixed seed. */
static double poisson_draw(double rate)
{
    const double limit = exp(-rate);
    double product = 1;
    int n = -1;
    do {
        product *= drand48();
        n++;
    } while (product > limit);
    return n;
}

static void intervals_of_95_percent_hold_the_truth_in_93_to_97_of_100(void **state)
{
    static const double rates[][2] = {{10, 10}, {30, 45}, {200, 180}, {400, 400}};
    srand48(7);
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        const double z = pt_normal_quantile(0.975), truth = 3 * rates[r][1] - 2 * rates[r][0];
        int held = 0;
        const int repeats = 4000;
        for (int i = 0; i < repeats; i++) {
            const pt_interval d = pt_poisson_difference(poisson_draw(rates[r][0]), 2,
                                                        poisson_draw(rates[r][1]), 3, z);
            held += d.low <= truth && truth <= d.high;
        }
        if (held < 0.93 * repeats || held > 0.97 * repeats)
            fail_msg("rates %g and %g: %d of %d", rates[r][0], rates[r][1], held, repeats);
    }
}

static void a_true_rate_is_called_different_in_at_most_5_of_100(void **state)
{
    srand48(11);
    for (double rate = 2; rate < 500; rate *= 3) {
        int wrong = 0;
        for (int i = 0; i < 2000; i++)
            wrong += pt_poisson_differ(poisson_draw(rate), poisson_draw(rate), 1) < 0.05;
        assert_true(wrong <= 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_normal_distribution_is_that_of_the_tables),
        cmocka_unit_test(the_binomial_interval_is_that_of_the_table),
        cmocka_unit_test(the_beta_function_is_a_sum_of_binomial_probabilities),
        cmocka_unit_test(student_is_that_of_the_tables),
        cmocka_unit_test(equal_counts_do_not_differ_and_far_ones_do),
        cmocka_unit_test(intervals_of_95_percent_hold_the_truth_in_93_to_97_of_100),
        cmocka_unit_test(a_true_rate_is_called_different_in_at_most_5_of_100),
    };
    return cmocka_run_group_tests_name("base_stats", tests, NULL, NULL);
}
