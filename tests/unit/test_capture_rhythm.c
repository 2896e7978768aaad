/* Timers of a cpu, simulated: their ticks have the rate, and no round of a program meets them in
 * step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/plain/tick.h"
#include "capture/rhythm.h"

enum { PERIOD = 1000000 };

typedef struct {
    pt_rhythm rhythm;
    uint64_t state;
    uint64_t next[PT_RHYTHM_TIMERS], period[PT_RHYTHM_TIMERS];
    uint64_t redrawn_ns, redraw_ns; /* the last time, and the next */
} cpu;

static void start_cpu(cpu *c, uint32_t timers, uint64_t seed)
{
    *c = (cpu){.state = seed, .redraw_ns = PT_RHYTHM_TICKS * PERIOD};
    pt_rhythm_begin(&c->rhythm, timers, &c->state);
    for (uint32_t i = 0; i < timers; i++) {
        c->period[i] = pt_rhythm_period(&c->rhythm, i, PERIOD);
        c->next[i] = pt_rhythm_first(&c->state, i, PERIOD);
    }
}

/* Draws two periods anew. A timer begins a new period at once, as the kernel's does. */
static void redraw(cpu *c, uint64_t now_ns)
{
    uint32_t drawn[2];
    pt_rhythm_redraw(&c->rhythm, &c->state, (now_ns - c->redrawn_ns) / PERIOD, drawn);
    for (uint32_t i = 0; i < 2; i++) {
        c->period[drawn[i]] = pt_rhythm_period(&c->rhythm, drawn[i], PERIOD);
        c->next[drawn[i]] = now_ns + c->period[drawn[i]];
    }
    c->redrawn_ns = now_ns;
    c->redraw_ns = now_ns + PT_RHYTHM_TICKS * PERIOD + pt_random_below(&c->state, 2 * PERIOD);
}

/* The next tick of the cpu. */
static uint64_t take_tick(cpu *c)
{
    for (;;) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < c->rhythm.timers; i++)
            if (c->next[i] < c->next[first]) first = i;
        const uint64_t now_ns = c->next[first];
        if (now_ns >= c->redraw_ns) {
            redraw(c, c->redraw_ns);
            continue;
        }
        c->next[first] += c->period[first];
        return now_ns;
    }
}

static void test_rate(void **state)
{
    enum { TICKS = 200000, TIMERS_LEAST = 2 };
    (void)state;
    for (uint32_t timers = TIMERS_LEAST; timers <= PT_RHYTHM_TIMERS; timers *= 2) {
        cpu c;
        start_cpu(&c, timers, timers);
        uint64_t at_ns = 0;
        for (int i = 0; i < TICKS; i++)
            at_ns = take_tick(&c);
        const double rate = (double)TICKS * PERIOD / (double)at_ns;
        assert_true(rate > 0.99 && rate < 1.01);
    }
}

static void test_first_ticks(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        cpu c;
        start_cpu(&c, PT_RHYTHM_TIMERS, seed);
        for (uint32_t i = 0; i < PT_RHYTHM_TIMERS; i++) {
            const uint64_t at_ns = take_tick(&c);
            if (i < 4) assert_int_equal(at_ns / PERIOD, i); /* no timer is back so soon */
        }
    }
}

/* Each timer is given its period eight periods after its first tick, as on a busy machine at 4000
 * Hz. Arithmetic: without compensation, eight of 320 ticks are missing. */
static void test_late(void **state)
{
    enum { LATE = 8 * PERIOD, TIME = 320 * PERIOD, RUNS = 400 };
    uint64_t ticks = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        cpu c;
        start_cpu(&c, PT_RHYTHM_TIMERS, seed);
        for (uint32_t i = 0; i < PT_RHYTHM_TIMERS; i++) {
            ticks++; /* the first one */
            c.next[i] += LATE + c.period[i];
            pt_rhythm_late(&c.rhythm, (double)LATE / (double)c.period[i]);
        }
        while (take_tick(&c) < TIME)
            ticks++;
    }
    const double part = (double)ticks * PERIOD / TIME / RUNS;
    assert_true(part > 0.992 && part < 1.008);
}

/* 30 % of a round, as runs of 600 samples see it. A timer alone that is in step with the round is
 * off by 16 to 37 deviations in each run. */
static void test_rounds(void **state)
{
    enum { RUNS = 100, SAMPLES = 600 };
    static const double rounds[] = {0.123, 0.25, 0.5, 0.8,    0.9910, 1,     1.0001, 1.5,
                                    2,     3,    4,   5.3333, 8,      8.001, 10};
    int far = 0;
    (void)state;
    for (size_t r = 0; r < sizeof rounds / sizeof rounds[0]; r++) {
        const uint64_t round_ns = (uint64_t)(rounds[r] * PERIOD);
        double sum = 0, squares = 0;
        for (uint64_t run = 0; run < RUNS; run++) {
            cpu c;
            start_cpu(&c, PT_RHYTHM_TIMERS, 1000 * r + run + 1);
            int hits = 0;
            for (int i = 0; i < SAMPLES; i++)
                hits += (take_tick(&c) + round_ns * run / RUNS) % round_ns < round_ns * 3 / 10;
            const double z = (hits - 0.3 * SAMPLES) / sqrt(0.3 * 0.7 * SAMPLES);
            assert_true(fabs(z) < 6);
            far += fabs(z) > 4;
            sum += z;
            squares += z * z;
        }
        assert_true(fabs(sum) < 3 * sqrt(RUNS));
        assert_true(squares < 1.6 * RUNS);
    }
    assert_in_range(far, 0, 3);
}

static void test_alone(void **state)
{
    enum { DRAWS = 10000 };
    uint64_t seed = 1;
    double passed = 0;
    (void)state;
    for (int i = 0; i < DRAWS; i++) {
        const uint64_t period = pt_random_period(&seed, PERIOD);
        assert_in_range(period, PERIOD / 2, PERIOD * 3 / 2);
        passed += (double)period / PERIOD;
    }
    assert_true(fabs(passed / DRAWS - 1) < 0.01);
}

/* Ticks that were due and did not come, of a timer of 10 us. */
static void test_dropped(void **state)
{
    (void)state;
    assert_int_equal(pt_dropped_ns(10000000, 10000000, 10000000), 0);
    assert_int_equal(pt_dropped_ns(10000000, 16000000, 16000000), 0); /* late */
    assert_int_equal(pt_dropped_ns(10000000, 20000000, 20000000), 10000000);
    assert_int_equal(pt_dropped_ns(10000000, 51000000, 51000000), 41000000);
    /* The timer has its period for a part of the time only. */
    assert_int_equal(pt_dropped_ns(10000000, 11000000, 25000000), 0);
    assert_int_equal(pt_dropped_ns(10000000, 21000000, 25000000), 15000000);
    /* A tick may come 50 us late, however short the period is. */
    assert_int_equal(pt_dropped_ns(20000, 60000, 60000), 0);
    assert_int_equal(pt_dropped_ns(20000, 80000, 80000), 60000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rate),   cmocka_unit_test(test_first_ticks),
        cmocka_unit_test(test_rounds), cmocka_unit_test(test_late),
        cmocka_unit_test(test_alone),  cmocka_unit_test(test_dropped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
