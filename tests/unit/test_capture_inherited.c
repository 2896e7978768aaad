/* Ticks of inherited events: over all periods they stand for each part of a thread's time alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/plain/tick.h"
#include "capture/inherited.h"

enum { PERIOD_MIN_NS = 50000, BINS = 40, RUNS = 200000 };

/* The mean time for which ticks in each bin of a thread's time stand. Threads live until end_ns. */
static void sum_ticks(uint64_t most_ns, uint64_t end_ns, double *ret_bins)
{
    uint64_t state = 20261128;
    for (size_t i = 0; i < BINS; i++)
        ret_bins[i] = 0;
    for (int run = 0; run < RUNS; run++) {
        const uint64_t period_ns = PERIOD_MIN_NS + pt_random_below(&state, most_ns - PERIOD_MIN_NS);
        for (uint64_t ran_ns = period_ns; ran_ns < end_ns; ran_ns += period_ns)
            ret_bins[ran_ns * BINS / end_ns] +=
                (double)pt_inherited_tick_ns(ran_ns, most_ns) / RUNS;
    }
}

/* The bound is 8 deviations of the bins with the fewest ticks: one thread in 40 has a tick there,
 * which stands for at most 10 ms. */
static void ticks_stand_for_each_part_of_a_threads_time(void **state)
{
    (void)state;
    static const uint64_t most_ns[] = {250000, 1000000, 4000000, 10000000};
    for (size_t k = 0; k < sizeof most_ns / sizeof *most_ns; k++) {
        double bins[BINS];
        const uint64_t end_ns = most_ns[k] > 4000000 ? 20000000 : 4 * most_ns[k];
        sum_ticks(most_ns[k], end_ns, bins);
        for (size_t i = 0; i < BINS; i++) {
            const double part = bins[i] / ((double)end_ns / BINS);
            /* The first bins share the time in which no tick falls. */
            if (i * end_ns / BINS >= 2 * PERIOD_MIN_NS) assert_true(part > 0.93 && part < 1.07);
        }
        double all = 0;
        for (size_t i = 0; i < BINS; i++)
            all += bins[i];
        assert_true(all > 0.99 * (double)end_ns && all < 1.01 * (double)end_ns);
    }
}

static void what_is_no_tick_of_these_events_stands_for_nothing(void **state)
{
    (void)state;
    assert_int_equal(pt_inherited_tick_ns(0, 1000000), 0);
    assert_int_equal(pt_inherited_tick_ns(PERIOD_MIN_NS - 1, 1000000), 0);
    assert_int_equal(pt_inherited_tick_ns(200000000, 1000000), 0);
    /* With a period as short as this all threads have their ticks at the same times. */
    assert_int_equal(pt_inherited_tick_ns(80000, 40000), 40000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_stand_for_each_part_of_a_threads_time),
        cmocka_unit_test(what_is_no_tick_of_these_events_stands_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
