/* The events of a recording by threads: of a child whose events cannot be opened at first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "capture/set.h"

enum { MS = 1000000 };

/* Records this process by its threads, and starts a child of it, which waits and inherits events.
 * Skips the test where the kernel gives no events. */
static pid_t begin_set(pt_event_set *set)
{
    const pid_t self = getpid();
    const struct timespec pause_ms = {.tv_nsec = 3 * MS};
    const pt_event_plan plan = {.source = pt_event_source_named("cpu-clock"),
                                .hz = 1000,
                                .period = MS,
                                .user = true,
                                .is_each_thread = true,
                                .has_user_stack = true,
                                .stack_bytes = PT_STACK_BYTES_FIRST};
    pt_file_allow_most(); /* each cpu needs some descriptors */
    if (pt_event_set_open(set, &plan, false, &self, 1, NULL) != PT_OK) {
        pt_event_set_close(set);
        skip();
    }
    pt_event_set_enable(set);
    pt_event_set_await(set, self);
    nanosleep(&pause_ms, NULL);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the test fails */
        while (true)
            pause();
    }
    return child;
}

static void end_set(pt_event_set *set, pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    pt_event_set_close(set);
}

static void add_child(pt_event_set *set, pid_t child)
{
    const uint32_t self = (uint32_t)getpid(), own = (uint32_t)child;
    const pt_perf_record record = {.type = PERF_RECORD_FORK,
                                   .time_ns = (uint64_t)pt_clock_ns(CLOCK_MONOTONIC),
                                   .task = {.pid = own, .ppid = self, .tid = own, .ptid = self}};
    pt_event_set_fork(set, &record);
}

/* Adds a child while the set may open no events. */
static pid_t begin_with_refused(pt_event_set *set)
{
    const pid_t child = begin_set(set);
    const int limit = set->fd_limit;
    set->fd_limit = 0;
    add_child(set, child);
    set->fd_limit = limit;
    return child;
}

static void events_that_were_refused_are_tried_again_at_exec(void **state)
{
    (void)state;
    pt_event_set set;
    const pid_t child = begin_with_refused(&set);
    const int limit = set.fd_limit;
    assert_int_equal(set.missed, 1);
    assert_true(pt_event_set_before(&set, child).opened_ns == 0);
    set.fd_limit = 0;
    pt_event_set_exec(&set, child); /* refused again */
    assert_int_equal(set.missed, 1);
    set.fd_limit = limit;
    pt_event_set_exec(&set, child);
    assert_int_equal(set.missed, 0);
    assert_true(pt_event_set_before(&set, child).opened_ns != 0);
    pt_event_set_exec(&set, child); /* has its events already */
    assert_int_equal(set.missed, 0);
    end_set(&set, child);
}

/* With own events beside inherited ones, its time would count twice. */
static void copies_do_not_grow_for_a_thread_without_own_events(void **state)
{
    (void)state;
    pt_event_set set;
    const pid_t child = begin_with_refused(&set);
    assert_false(pt_event_set_grow(&set, child));
    pt_event_set_exec(&set, child);
    assert_true(pt_event_set_grow(&set, child));
    end_set(&set, child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_that_were_refused_are_tried_again_at_exec),
        cmocka_unit_test(copies_do_not_grow_for_a_thread_without_own_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
