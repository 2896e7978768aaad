/* test_capture_ledger.c: what samples weigh by threads' own clocks. Known answers are arithmetic:
 * the clocks are the test's, in periods of 1 ms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/ledger.h"

#define MS UINT64_C(1000000)

enum { PID = 9, USER_PC = 0x1000, KERNEL_PC = 0x2000 };

typedef struct {
    pt_procs procs;
    pt_builder *builder;
    pt_sink *sink;
    pt_ledger *ledger;
    pt_thread_clock clock; /* of every thread */
    uint64_t now_ns;
    bool is_gone;
    bool sends_clock; /* with each sample */
    int looks;
} fixture;

static bool look(void *arg, uint32_t pid, uint32_t tid, pt_thread_clock *ret_clock)
{
    fixture *const f = arg;
    f->looks++;
    *ret_clock = f->clock;
    return !f->is_gone;
}

static uint64_t now(void *arg)
{
    return ((const fixture *)arg)->now_ns;
}

static void begin_with(fixture *f, bool is_each_thread, bool has_kernel)
{
    const pt_event event = {0};
    *f = (fixture){.builder = pt_builder_new()};
    for (int i = 0; i < PT_SINK_VALUES; i++)
        pt_builder_event(f->builder, &event);
    pt_procs_init(&f->procs, "/nowhere");
    f->sink = pt_sink_new(f->builder, &f->procs, NULL, false);
    const pt_ledger_options options = {.period_ns = MS,
                                       .is_each_thread = is_each_thread,
                                       .has_kernel = has_kernel,
                                       .look = look,
                                       .now_ns = now,
                                       .arg = f};
    f->ledger = pt_ledger_new(&options, f->sink);
}

static void begin(fixture *f, bool is_each_thread)
{
    begin_with(f, is_each_thread, true);
}

/* A sample each millisecond, of one period. */
static void sample(fixture *f, uint32_t tid, uint64_t pc)
{
    f->now_ns += MS;
    const pt_sink_sample s = {.proc = pt_procs_get(&f->procs, PID),
                              .tid = tid,
                              .pcs = &pc,
                              .count = 1,
                              .values = {1, (int64_t)MS}};
    const uint32_t row = pt_sink_add(f->sink, &s);
    pt_ledger_add(f->ledger, PID, tid, f->now_ns, row, MS, MS, pc == KERNEL_PC,
                  f->sends_clock ? &f->clock : NULL);
}

static void samples(fixture *f, uint32_t tid, uint64_t pc, int count)
{
    for (int i = 0; i < count; i++)
        sample(f, tid, pc);
}

/* Nanoseconds of all stacks whose pc that is. */
static int64_t time_of(const pt_profile *p, uint64_t pc)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        if (p->location->address[pt_stack_frames(p, p->sample->stack[i])[0]] == pc)
            sum += p->sample->value[1][i];
    return sum;
}

static const pt_ledger_parts all_brief = {.brief = 1};

static const pt_profile *end_with(fixture *f, uint64_t used_ns, int64_t *ret_moved_ns)
{
    const pt_profile *profile;
    pt_ledger_finish(f->ledger, used_ns, &all_brief, 60 * MS); /* 60 samples, where it is used */
    *ret_moved_ns = pt_ledger_moved_ns(f->ledger);
    pt_sink_finish(f->sink);
    assert_int_equal(pt_builder_freeze(f->builder, &profile, NULL), PT_OK);
    pt_ledger_free(f->ledger);
    pt_sink_free(f->sink);
    pt_procs_done(&f->procs);
    return profile;
}

static const pt_profile *end(fixture *f, int64_t *ret_moved_ns)
{
    return end_with(f, 0, ret_moved_ns);
}

static void without_switches_all_samples_get_what_the_clock_moved(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, false);
    pt_ledger_begin(f.ledger, 1);
    f.clock = (pt_thread_clock){.ran_ns = 64 * MS};
    samples(&f, 1, USER_PC, 24);
    samples(&f, 1, KERNEL_PC, 8); /* the clock is looked at */
    f.clock.ran_ns = 64 * MS;
    pt_ledger_look_at_all(f.ledger);
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 48 * MS);
    assert_int_equal(time_of(profile, KERNEL_PC), 16 * MS);
    assert_int_equal(moved_ns, 32 * MS);
}

/* User code can always be interrupted: what switches took is the kernel's. */
static void time_that_switches_may_have_taken_goes_to_samples_in_the_kernel(void **state)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        fixture f;
        int64_t moved_ns;
        begin(&f, false);
        pt_ledger_begin(f.ledger, 1);
        f.clock = (pt_thread_clock){.ran_ns = (uint64_t)(32 + sign * 10) * MS, .switches = 10000};
        samples(&f, 1, USER_PC, 16);
        samples(&f, 1, KERNEL_PC, 16);
        PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
        assert_int_equal(time_of(profile, USER_PC), 16 * MS);
        assert_int_equal(time_of(profile, KERNEL_PC), (16 + sign * 10) * (int64_t)MS);
        assert_int_equal(moved_ns, sign * 10 * (int64_t)MS);
    }
}

/* As when it is looked for, without looking. */
static void a_clock_that_comes_with_the_samples_is_not_looked_for(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, false);
    f.sends_clock = true;
    pt_ledger_begin(f.ledger, 1);
    for (int i = 1; i <= 33; i++) { /* each millisecond of samples is 2 of the clock */
        f.clock = (pt_thread_clock){.ran_ns = (uint64_t)i * 2 * MS, .switches = 1};
        sample(&f, 1, USER_PC);
    }
    assert_int_equal(f.looks, 0);
    f.clock.ran_ns = 66 * MS;
    pt_ledger_look_at_all(f.ledger);
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 66 * MS);
    assert_int_equal(moved_ns, 33 * MS);
}

static void the_last_samples_of_a_thread_that_is_gone_weigh_as_those_before(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, false);
    pt_ledger_begin(f.ledger, 1);
    f.clock = (pt_thread_clock){.ran_ns = 48 * MS};
    samples(&f, 1, USER_PC, 32);
    f.is_gone = true;
    samples(&f, 1, USER_PC, 10);
    pt_ledger_end(f.ledger, PID, 1, f.now_ns, 0);
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 63 * MS); /* 42 of 1.5 ms */
}

static void samples_from_before_a_clock_was_first_looked_at_keep_their_weight(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, false);
    f.clock = (pt_thread_clock){.ran_ns = 1000 * MS}; /* it ran long before */
    samples(&f, 1, USER_PC, 33);
    f.clock.ran_ns += 64 * MS;
    pt_ledger_look_at_all(f.ledger);
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 65 * MS);
}

static void samples_that_were_lost_have_no_other_stand_for_them(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, false);
    pt_ledger_begin(f.ledger, 1);
    samples(&f, 1, USER_PC, 10);
    pt_ledger_lost(f.ledger);
    f.clock = (pt_thread_clock){.ran_ns = 5000 * MS};
    samples(&f, 1, USER_PC, 40);
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 50 * MS);
}

static void a_threads_samples_have_the_time_of_its_events(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, true);
    pt_ledger_begin(f.ledger, 1);
    samples(&f, 1, USER_PC, 40);
    pt_ledger_end(f.ledger, PID, 1, f.now_ns, 42 * MS); /* two after the last tick */
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 42 * MS);
}

/* Each thread runs 1.5 ms; every second thread gets one tick. */
static void short_threads_of_a_process_are_settled_together(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, true);
    for (uint32_t tid = 100; tid < 300; tid++) {
        pt_ledger_begin(f.ledger, tid);
        if (tid % 2 == 0) sample(&f, tid, USER_PC);
        pt_ledger_end(f.ledger, PID, tid, f.now_ns, 3 * MS / 2);
    }
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 300 * MS);
    assert_int_equal(moved_ns, 200 * MS);
}

/* Each has a sample of 1 ms, and used 1.5 ms: the rest may be time in the kernel. */
static void short_threads_do_not_get_time_in_a_kernel_that_may_not_be_sampled(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin_with(&f, true, false);
    for (uint32_t tid = 100; tid < 300; tid++) {
        pt_ledger_begin(f.ledger, tid);
        sample(&f, tid, USER_PC);
        pt_ledger_end(f.ledger, PID, tid, f.now_ns, 3 * MS / 2);
    }
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 200 * MS);
    assert_int_equal(moved_ns, 0);
}

static void a_thread_that_outlives_the_recording_keeps_its_last_samples(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, true);
    pt_ledger_begin(f.ledger, 1);
    samples(&f, 1, USER_PC, 40); /* 32 are settled, 8 are held at the end */
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 40 * MS);
    assert_int_equal(moved_ns, 0);
}

/* Ticks that come after 0.5 and 1.5 periods: whole periods would be 0 and 2, or 1 and 1. */
static void samples_of_a_thread_have_the_time_since_the_one_before(void **state)
{
    enum { ROWS = 2, SAMPLES = 64 };
    static const uint64_t pcs[ROWS] = {USER_PC, KERNEL_PC}, shares_ns[ROWS] = {MS / 2, MS * 3 / 2};
    fixture f;
    int64_t moved_ns;
    begin(&f, true);
    pt_ledger_begin(f.ledger, 1);
    for (int i = 0; i < SAMPLES; i++) {
        const pt_sink_sample s = {.proc = pt_procs_get(&f.procs, PID),
                                  .tid = 1,
                                  .pcs = &pcs[i % ROWS],
                                  .count = 1,
                                  .values = {1, (int64_t)MS}};
        const uint32_t row = pt_sink_add(f.sink, &s);
        f.now_ns += MS;
        pt_ledger_add(f.ledger, PID, 1, f.now_ns, row, MS, shares_ns[i % ROWS], false, NULL);
    }
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), SAMPLES / 2 * MS / 2);
    assert_int_equal(time_of(profile, KERNEL_PC), SAMPLES / 2 * MS * 3 / 2);
    assert_int_equal(moved_ns, 0);
}

/* The kernel reports a thread's end before its last samples. An account that these made would stay
 * until the recording ends: the account of a thread that is not known looks at its clock at once.
 */
static void samples_after_the_end_of_a_thread_make_no_account(void **state)
{
    fixture f;
    int64_t moved_ns;
    begin(&f, false);
    pt_ledger_begin(f.ledger, 1);
    sample(&f, 1, USER_PC);
    pt_ledger_end(f.ledger, PID, 1, f.now_ns, 0);
    samples(&f, 1, KERNEL_PC, 2);
    assert_int_equal(f.looks, 0);
    pt_ledger_exec(f.ledger, 1); /* another thread of the process has its number now */
    sample(&f, 1, USER_PC);
    assert_int_equal(f.looks, 1);
    PT_UNREF_PROFILE const pt_profile *profile = end(&f, &moved_ns);
    assert_int_equal(time_of(profile, USER_PC), 2 * MS);
    assert_int_equal(time_of(profile, KERNEL_PC), 2 * MS);
    assert_int_equal(moved_ns, 0);
}

/* Ten threads of three samples; a tenth of the ticks did not come. */
static void threads_that_ended_unread_have_the_time_that_the_others_leave(void **state)
{
    static const struct {
        uint64_t used_ns;
        bool has_lost;
        int64_t ns; /* of all ten */
    } rows[] = {
        {66 * MS, false, 33 * MS}, {60 * MS, false, 30 * MS},
        {54 * MS, false, 27 * MS}, {90 * MS, false, 30 * MS}, /* too much for late timers */
        {0, false, 30 * MS},       {66 * MS, true, 30 * MS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        int64_t moved_ns;
        begin(&f, false);
        pt_ledger_begin(f.ledger, 1);
        f.clock.ran_ns = rows[i].used_ns != 0 ? rows[i].used_ns / 2 : 30 * MS;
        if (rows[i].used_ns == 90 * MS) f.clock.ran_ns = 30 * MS;
        samples(&f, 1, USER_PC, 30);
        pt_ledger_look_at_all(f.ledger); /* a thread that is corrected by its own clock */
        for (uint32_t tid = 2; tid < 12; tid++) {
            pt_ledger_begin(f.ledger, tid);
            samples(&f, tid, KERNEL_PC, 3);
            pt_ledger_end(f.ledger, PID, tid, f.now_ns, 0);
        }
        if (rows[i].has_lost) pt_ledger_lost(f.ledger);
        PT_UNREF_PROFILE const pt_profile *profile = end_with(&f, rows[i].used_ns, &moved_ns);
        assert_in_range(time_of(profile, KERNEL_PC), rows[i].ns - 2, rows[i].ns + 2);
    }
}

/* 30 samples of 1 ms beside each of two rows that may not be sampled. */
static void time_that_no_sample_shows_goes_to_the_rows_beside_samples(void **state)
{
    static const struct {
        uint64_t used_ns;
        double part;
        bool has_lost;
        uint64_t ns; /* of both rows; a third of it of one */
    } rows[] = {
        {120 * MS, 1, false, 60 * MS}, {120 * MS, 0.5, false, 30 * MS}, {60 * MS, 1, false, 0},
        {54 * MS, 1, false, 0},        {120 * MS, 1, true, 0},          {0, 1, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        const uint64_t pcs[] = {PT_SINK_KERNEL_NOT_SAMPLED, KERNEL_PC};
        begin(&f, true);
        for (uint64_t k = 0; k < 2; k++) {
            const pt_sink_sample s = {
                .proc = pt_procs_get(&f.procs, PID), .pcs = &pcs[k], .kernel_count = 1, .count = 1};
            const uint32_t row = pt_sink_add(f.sink, &s);
            for (uint32_t n = 0; n < 30; n++)
                pt_ledger_beside(f.ledger, row, (k + 1) * MS);
        }
        samples(&f, 1, USER_PC, 60);
        if (rows[i].has_lost) pt_ledger_lost(f.ledger);
        const pt_ledger_parts parts = {.brief = rows[i].part};
        const uint64_t got_ns = pt_ledger_finish(f.ledger, rows[i].used_ns, &parts, 60 * MS);
        assert_in_range(got_ns + 2, rows[i].ns, rows[i].ns + 4);
        pt_sink_finish(f.sink);
        const pt_profile *profile;
        assert_int_equal(pt_builder_freeze(f.builder, &profile, NULL), PT_OK);
        assert_in_range(time_of(profile, KERNEL_PC) + 2, rows[i].ns / 3 * 2,
                        rows[i].ns / 3 * 2 + 4);
        pt_profile_unref(profile);
        pt_ledger_free(f.ledger);
        pt_sink_free(f.sink);
        pt_procs_done(&f.procs);
    }
}

/* 60 of 120 ms are in samples; a third of the other 60 is that of threads without events, of which
 * two have one row and one has another. */
static void time_of_threads_that_ended_before_any_event_stands_in_their_rows(void **state)
{
    for (int has_lost = 0; has_lost < 2; has_lost++) {
        fixture f;
        const uint64_t pcs[] = {PT_SINK_START_NOT_SAMPLED, KERNEL_PC, PT_SINK_START_NOT_SAMPLED};
        const pt_ledger_parts parts = {.brief = 0, .early = 1.0 / 3};
        const uint64_t whole_ns = has_lost ? 0 : 20 * MS;
        begin(&f, true);
        for (size_t i = 0; i < 3; i++) {
            const pt_sink_sample s = {
                .proc = pt_procs_get(&f.procs, PID), .pcs = &pcs[i], .kernel_count = 1, .count = 1};
            pt_ledger_early(f.ledger, pt_sink_add(f.sink, &s));
        }
        samples(&f, 1, USER_PC, 60);
        if (has_lost) pt_ledger_lost(f.ledger);
        const uint64_t got_ns = pt_ledger_finish(f.ledger, 120 * MS, &parts, 60 * MS);
        assert_in_range(got_ns + 2, whole_ns, whole_ns + 4);
        pt_sink_finish(f.sink);
        const pt_profile *profile;
        assert_int_equal(pt_builder_freeze(f.builder, &profile, NULL), PT_OK);
        assert_in_range(time_of(profile, KERNEL_PC) + 2, whole_ns / 3, whole_ns / 3 + 4);
        assert_in_range(time_of(profile, USER_PC), 60 * MS - 2, 60 * MS + 2);
        pt_profile_unref(profile);
        pt_ledger_free(f.ledger);
        pt_sink_free(f.sink);
        pt_procs_done(&f.procs);
    }
}

/* A row of a timeline beside each sample. */
static void rows_of_a_timeline_that_got_no_time_are_left_out(void **state)
{
    static const uint64_t used_ns[] = {60 * MS, 120 * MS};
    for (size_t i = 0; i < sizeof used_ns / sizeof used_ns[0]; i++) {
        fixture f;
        const uint64_t pc = PT_SINK_KERNEL_NOT_SAMPLED;
        begin(&f, true);
        pt_sink_free(f.sink);
        pt_ledger_free(f.ledger);
        f.sink = pt_sink_new(f.builder, &f.procs, NULL, true);
        f.ledger = pt_ledger_new(&(pt_ledger_options){.period_ns = MS,
                                                      .is_each_thread = true,
                                                      .has_kernel = true,
                                                      .look = look,
                                                      .now_ns = now,
                                                      .arg = &f},
                                 f.sink);
        for (uint32_t n = 0; n < 60; n++) {
            const pt_sink_sample s = {.proc = pt_procs_get(&f.procs, PID),
                                      .tid = 1,
                                      .time_ns = 1 + n,
                                      .pcs = &pc,
                                      .kernel_count = 1,
                                      .count = 1};
            pt_ledger_beside(f.ledger, pt_sink_add(f.sink, &s), MS);
            sample(&f, 1, USER_PC);
        }
        pt_ledger_finish(f.ledger, used_ns[i], &all_brief, 60 * MS);
        pt_sink_finish(f.sink);
        assert_int_equal(pt_builder_sample_count(f.builder), i == 0 ? 60 : 120);
        pt_ledger_free(f.ledger);
        pt_sink_free(f.sink);
        pt_builder_free(f.builder);
        pt_procs_done(&f.procs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_switches_all_samples_get_what_the_clock_moved),
        cmocka_unit_test(a_thread_that_outlives_the_recording_keeps_its_last_samples),
        cmocka_unit_test(time_that_switches_may_have_taken_goes_to_samples_in_the_kernel),
        cmocka_unit_test(a_clock_that_comes_with_the_samples_is_not_looked_for),
        cmocka_unit_test(the_last_samples_of_a_thread_that_is_gone_weigh_as_those_before),
        cmocka_unit_test(samples_from_before_a_clock_was_first_looked_at_keep_their_weight),
        cmocka_unit_test(samples_that_were_lost_have_no_other_stand_for_them),
        cmocka_unit_test(a_threads_samples_have_the_time_of_its_events),
        cmocka_unit_test(samples_of_a_thread_have_the_time_since_the_one_before),
        cmocka_unit_test(short_threads_of_a_process_are_settled_together),
        cmocka_unit_test(short_threads_do_not_get_time_in_a_kernel_that_may_not_be_sampled),
        cmocka_unit_test(threads_that_ended_unread_have_the_time_that_the_others_leave),
        cmocka_unit_test(samples_after_the_end_of_a_thread_make_no_account),
        cmocka_unit_test(time_that_no_sample_shows_goes_to_the_rows_beside_samples),
        cmocka_unit_test(time_of_threads_that_ended_before_any_event_stands_in_their_rows),
        cmocka_unit_test(rows_of_a_timeline_that_got_no_time_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
