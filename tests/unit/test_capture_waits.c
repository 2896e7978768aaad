/* test_capture_waits.c: waits by the kernel's records of switches: until when a thread waits, and
 * what is known of threads that have ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/capture_int.h"
#include "capture/kernel.h"

enum { OFF_CPU = 2, EVENTS = 6, PID = 9 };

static void begin_recording(pt_capture *c)
{
    *c = (pt_capture){.options.off_cpu = true};
    c->builder = pt_builder_new();
    const pt_event event = {.type = pt_builder_text(c->builder, "event").v,
                            .unit = pt_builder_text(c->builder, "count").v};
    for (int i = 0; i < EVENTS; i++)
        pt_builder_event(c->builder, &event);
    pt_procs_init(&c->procs, "/nowhere");
    c->sink = pt_sink_new(c->builder, &c->procs, NULL, false);
}

/* Ends it, and returns the sum of the waits. */
static int64_t end_recording(pt_capture *c, uint64_t now_ns)
{
    const pt_profile *p;
    pt_waits_finish(c, now_ns);
    pt_waits_done(c);
    pt_sink_finish(c->sink);
    pt_sink_free(c->sink);
    pt_procs_done(&c->procs);
    assert_int_equal(pt_builder_freeze(c->builder, &p, NULL), PT_OK);
    const int64_t sum = pt_profile_total(p, OFF_CPU);
    assert_int_equal(sum, c->facts.off_cpu_ns);
    pt_profile_unref(p);
    return sum;
}

/* The thread is switched away from at pc of the kernel. */
static void switch_away(pt_capture *c, uint32_t tid, uint64_t pc, uint64_t now_ns)
{
    const pt_perf_record r = {.pid = PID, .tid = tid, .time_ns = now_ns};
    c->stack.pcs[0] = pc;
    c->stack.count = c->stack.kernel_count = 1;
    pt_waits_begin(c, pt_procs_get(&c->procs, PID), &r);
    const pt_perf_record out = {.pid = PID, .tid = tid, .time_ns = now_ns, .sched.is_out = true};
    pt_waits_on_switch(c, &out);
}

static void switch_to(pt_capture *c, uint32_t tid, uint64_t now_ns)
{
    const pt_perf_record r = {.pid = PID, .tid = tid, .time_ns = now_ns};
    pt_waits_on_switch(c, &r);
}

static void a_wait_lasts_until_the_thread_runs_or_the_recording_ends(void **state)
{
    enum { SOMEWHERE = 0x1000 };
    static pt_capture c;
    begin_recording(&c);
    switch_away(&c, 10, SOMEWHERE, 100);
    switch_away(&c, 11, SOMEWHERE, 1000);
    switch_to(&c, 10, 150);
    switch_to(&c, 12, 160); /* it was never switched away from */
    assert_int_equal(end_recording(&c, 3000), 50 + 2000);
}

static void a_thread_that_has_ended_does_not_wait(void **state)
{
    enum { SOMEWHERE = 0x1000 };
    static pt_capture c;
    uint64_t start, limit;
    begin_recording(&c);
    pt_waits_reset(&c, 10, true); /* the record of its end comes before its last switch */
    switch_away(&c, 10, SOMEWHERE, 100);
    pt_waits_reset(&c, 10, false); /* another thread of that number */
    switch_away(&c, 10, SOMEWHERE, 1000);
    switch_to(&c, 10, 1010);
    const bool sees_kernel = pt_kernel_function("do_task_dead", &start, &limit);
    if (sees_kernel) switch_away(&c, 11, limit - 1, 100); /* the record of its end was lost */
    if (sees_kernel) switch_away(&c, 12, limit + 1, 2900);
    assert_int_equal(end_recording(&c, 3000), 10 + (sees_kernel ? 100 : 0));
}

static void of_threads_that_ended_long_ago_nothing_is_kept(void **state)
{
    enum { THREADS = 3 * PT_WAITING_GONE };
    static pt_capture c;
    size_t count = 0;
    begin_recording(&c);
    for (uint32_t tid = 1; tid <= THREADS; tid++)
        pt_waits_reset(&c, tid, true);
    for (size_t i = 0; i < PT_WAITING_BUCKETS; i++)
        for (const pt_waiting *w = c.waiting.of_tid[i]; w != NULL; w = w->next)
            count++;
    assert_int_equal(count, PT_WAITING_GONE);
    assert_int_equal(end_recording(&c, 3000), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_lasts_until_the_thread_runs_or_the_recording_ends),
        cmocka_unit_test(a_thread_that_has_ended_does_not_wait),
        cmocka_unit_test(of_threads_that_ended_long_ago_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("capture_waits", tests, NULL, NULL);
}
