/* Ticks of inherited events: over all periods they stand for each part of a thread's time alike.
 * Events of this thread: which of them a child inherited, and how long they stay. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/plain/tick.h"
#include "capture/inherited.h"
#include "capture/ring.h"

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

/* ---- events of this thread ---- */

enum { ME = 4321, RING_BYTES = 64 << 10, MS = 1000000, LIFE_NS = 100 * MS };

typedef struct {
    pt_event_plan plan;
    pt_ring ring;
    int samples_fd;
    uint64_t first_id, random;
    pt_inherited *all;
} fixture;

static uint64_t now_ns(void)
{
    return (uint64_t)pt_clock_ns(CLOCK_MONOTONIC);
}

static void wait_ms(long ms)
{
    const struct timespec pause = {.tv_nsec = ms * MS};
    nanosleep(&pause, NULL);
}

/* A recording of this thread on one cpu. Skips the test where the kernel gives no events. */
static fixture begin_events(void)
{
    static const int cpu = 0;
    fixture f = {.plan = {.source = pt_event_source_named("cpu-clock"),
                          .hz = 1000,
                          .period = MS,
                          .user = true,
                          .is_each_thread = true},
                 .random = 7};
    f.samples_fd = pt_event_open_dummy(&f.plan, 0, cpu, false, 0);
    if (f.samples_fd < 0 || pt_ring_open(f.samples_fd, RING_BYTES, &f.ring, NULL) != PT_OK) skip();
    f.first_id = pt_event_id(f.samples_fd);
    return f;
}

static void make_inherited(fixture *f)
{
    static const int cpu = 0;
    f->all = pt_inherited_new(&(pt_inherited_options){.plan = &f->plan,
                                                      .cpus = &cpu,
                                                      .samples_fds = &f->samples_fd,
                                                      .cpu_count = 1,
                                                      .fd_limit = 1 << 20});
}

static void end_events(fixture *f)
{
    pt_inherited_free(f->all);
    pt_ring_close(&f->ring);
    pt_event_close(&f->samples_fd);
}

static pt_inherited_birth birth_at(const fixture *f, uint64_t time_ns)
{
    const pt_inherited_birth parent = {.cover = 0};
    return pt_inherited_at_birth(f->all, 0, &parent, time_ns);
}

/* A sample of the first event that was opened since, after that CPU time; the kernel numbers
 * events. */
static pt_perf_record sample_of(const fixture *f, uint64_t ran_ns)
{
    enum { IDS = 1 << 16 }; /* of other programs, in between */
    pt_perf_record record = {.type = PERF_RECORD_SAMPLE, .tid = ME, .pid = ME, .time_ns = 1};
    record.sample.count = ran_ns;
    for (record.id = f->first_id + 1; record.id < f->first_id + IDS; record.id++)
        if (pt_inherited_has_made(f->all, &record)) return record;
    fail();
    return record;
}

static void a_child_has_inherited_events_that_were_closed_since(void **state)
{
    (void)state;
    fixture f = begin_events();
    make_inherited(&f);
    const uint64_t early_ns = now_ns();
    pt_inherited_begin(f.all, 0);
    wait_ms(3);
    const uint64_t born_ns = now_ns();
    assert_int_equal(birth_at(&f, born_ns).cover, 1);
    assert_int_equal(birth_at(&f, early_ns).cover, 0);
    wait_ms(1);
    pt_inherited_stop(f.all);
    assert_int_equal(birth_at(&f, born_ns).cover, 1);
    assert_int_equal(birth_at(&f, now_ns()).cover, 0);
    end_events(&f);
}

static void a_tick_before_the_first_draw_stands_for_the_whole_period(void **state)
{
    (void)state;
    fixture f = begin_events();
    make_inherited(&f);
    pt_inherited_begin(f.all, 0);
    wait_ms(3);
    const pt_inherited_birth before = birth_at(&f, now_ns());
    pt_inherited_fork(f.all, 0, 0, &f.random);
    const pt_inherited_birth after = birth_at(&f, now_ns());
    assert_int_equal(before.cover, 1);
    assert_int_equal(after.cover, 1);
    assert_true(before.has_whole_period);
    assert_false(after.has_whole_period);
    /* So does a child of the first child that begins now. */
    assert_false(pt_inherited_at_birth(f.all, ME, &before, now_ns()).has_whole_period);
    const pt_perf_record tick = sample_of(&f, MS);
    assert_int_equal(pt_inherited_share(f.all, &tick, &before, UINT64_MAX), MS);
    assert_int_equal(pt_inherited_share(f.all, &tick, &after, UINT64_MAX),
                     pt_inherited_tick_ns(MS, MS));
    assert_true(pt_inherited_tick_ns(MS, MS) < MS / 2);
    end_events(&f);
}

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *const dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* However long it takes: a recorder that has not seen the forks up to a time leaves the events of
 * that time open. */
static void events_stay_open_until_the_forks_of_their_time_are_seen(void **state)
{
    (void)state;
    fixture f = begin_events();
    make_inherited(&f);
    pt_inherited_begin(f.all, 0);
    const uint64_t seen_ns = now_ns();
    const size_t count = count_descriptors();
    wait_ms(110);
    pt_inherited_fork(f.all, 0, 0, &f.random);
    pt_inherited_renew(f.all, seen_ns, &f.random);
    assert_int_equal(count_descriptors(), count);
    const uint64_t before_others_ns = now_ns();
    pt_inherited_renew(f.all, seen_ns + LIFE_NS, &f.random); /* opens others beside */
    assert_int_equal(count_descriptors(), count + 1);
    wait_ms(20);
    pt_inherited_renew(f.all, before_others_ns, &f.random);
    assert_int_equal(count_descriptors(), count + 1);
    pt_inherited_renew(f.all, now_ns(), &f.random);
    assert_int_equal(count_descriptors(), count);
    assert_int_equal(birth_at(&f, before_others_ns).cover, 1);
    assert_int_equal(birth_at(&f, now_ns()).cover, 2);
    end_events(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_stand_for_each_part_of_a_threads_time),
        cmocka_unit_test(what_is_no_tick_of_these_events_stands_for_nothing),
        cmocka_unit_test(a_child_has_inherited_events_that_were_closed_since),
        cmocka_unit_test(a_tick_before_the_first_draw_stands_for_the_whole_period),
        cmocka_unit_test(events_stay_open_until_the_forks_of_their_time_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
