/* test_capture_mover.c: a thread that gives events another ring: what it was given is closed
 * whatever comes of it, it takes only so much, and where the kernel allows events they write to the
 * new ring.
 *
 * To it a plain descriptor is an event whose move fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/mover.h"

/* ---- descriptors ---- */

enum { MOST = 16 }; /* that wait at a time */

/* The descriptors of this process, plus one for the folder. */
static int count_fds(void)
{
    DIR *const dir = opendir("/proc/self/fd");
    int count = 0;
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

/* A pipe whose reader sees the end when nobody has its other end any more. */
static int give_pipe(pt_mover *mover, bool *ret_is_taken)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    *ret_is_taken = pt_mover_add(mover, ends[1], STDIN_FILENO);
    close(ends[1]);
    return ends[0];
}

static void wait_until_closed(int fd)
{
    char byte;
    assert_int_equal(read(fd, &byte, 1), 0);
    close(fd);
}

/* A job that takes until the test lets it go. */
typedef struct {
    int ends[2]; /* of a pipe; a byte in it is the word to go on */
} held;

static _Atomic int gate = -1; /* the reading end */

/* In the place of libc's, for this program: where events are to go to the gate's ring. */
int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    const long arg = va_arg(list, long);
    va_end(list);
    char byte;
    if (request == PERF_EVENT_IOC_SET_OUTPUT && (int)arg == gate)
        return read(gate, &byte, 1) == 1 ? 0 : -1;
    return (int)syscall(SYS_ioctl, fd, request, arg);
}

static held hold(pt_mover *mover)
{
    held h;
    assert_int_equal(pipe(h.ends), 0);
    gate = h.ends[0];
    assert_true(pt_mover_add(mover, h.ends[0], h.ends[0]));
    return h;
}

static void let_go(const held *h)
{
    assert_int_equal(write(h->ends[1], "", 1), 1);
}

static void held_done(const held *h)
{
    gate = -1;
    close(h->ends[0]);
    close(h->ends[1]);
}

/* ---- without events ---- */

/* The mover holds one back: counts from 1. */
static void give_as_many_as_wait(pt_mover *mover, int *ret_ends)
{
    bool is_taken;
    for (int i = 1; i < MOST; i++) {
        ret_ends[i] = give_pipe(mover, &is_taken);
        assert_true(is_taken);
    }
}

static void what_is_no_event_is_closed_and_no_longer_waits(void **state)
{
    (void)state;
    const int before = count_fds();
    pt_mover *const mover = pt_mover_new();
    assert_non_null(mover);
    for (int i = 0; i < 20 * MOST; i++) {
        bool is_taken;
        const int end = give_pipe(mover, &is_taken);
        assert_true(is_taken);
        wait_until_closed(end);
    }
    pt_mover_free(mover);
    assert_int_equal(count_fds(), before);
}

static void no_more_than_sixteen_wait(void **state)
{
    (void)state;
    const int before = count_fds();
    pt_mover *const mover = pt_mover_new();
    const held h = hold(mover);
    int ends[MOST];
    bool is_taken;
    give_as_many_as_wait(mover, ends);
    for (int i = 0; i < 3; i++) {
        const int refused = give_pipe(mover, &is_taken);
        assert_false(is_taken);
        wait_until_closed(refused); /* nothing of it is kept */
    }
    let_go(&h);
    for (int i = 1; i < MOST; i++)
        wait_until_closed(ends[i]);
    const int after = give_pipe(mover, &is_taken);
    assert_true(is_taken);
    wait_until_closed(after);
    pt_mover_free(mover);
    held_done(&h);
    assert_int_equal(count_fds(), before);
}

static void what_cannot_be_taken_is_refused(void **state)
{
    (void)state;
    pt_mover *const mover = pt_mover_new();
    assert_false(pt_mover_add(mover, -1, STDIN_FILENO));
    assert_false(pt_mover_add(NULL, STDIN_FILENO, STDIN_FILENO));
    pt_mover_free(mover);
    pt_mover_free(NULL);
}

/* Lets go when the mover has begun to end: it has closed its pipe then, one descriptor fewer. */
typedef struct {
    const held *h;
    int before;
} later;

static void *let_go_at_the_end(void *arg)
{
    const later *const at = arg;
    while (count_fds() >= at->before)
        sched_yield();
    let_go(at->h);
    return NULL;
}

static void free_while_held(pt_mover *mover, const held *h)
{
    pthread_t thread;
    later at = {h, count_fds()};
    assert_int_equal(pthread_create(&thread, NULL, let_go_at_the_end, &at), 0);
    pt_mover_free(mover);
    pthread_join(thread, NULL);
    held_done(h);
}

static void the_end_closes_what_still_waits(void **state)
{
    (void)state;
    const int before = count_fds();
    pt_mover *const mover = pt_mover_new();
    const held h = hold(mover);
    int ends[MOST];
    give_as_many_as_wait(mover, ends);
    free_while_held(mover, &h);
    for (int i = 1; i < MOST; i++)
        wait_until_closed(ends[i]);
    assert_int_equal(count_fds(), before);
}

/* ---- with events ---- */

/* A ring of our own, which the event that it was opened with does not write to; -1: not allowed. */
typedef struct {
    int fd;
    struct perf_event_mmap_page *page;
    size_t bytes;
} event_ring;

static int open_event(uint64_t config, uint64_t period)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = config,
                                   .sample_period = period,
                                   .sample_type = PERF_SAMPLE_IP,
                                   .exclude_kernel = 1, /* for paranoid 2 */
                                   .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static event_ring open_ring(void)
{
    event_ring r = {.fd = open_event(PERF_COUNT_SW_DUMMY, 0),
                    .bytes = 2 * (size_t)sysconf(_SC_PAGESIZE)};
    if (r.fd < 0) return r;
    void *const at = mmap(NULL, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);
    r.page = at;
    if (at == MAP_FAILED) {
        close(r.fd);
        r.fd = -1;
    }
    return r;
}

static void close_ring(const event_ring *r)
{
    if (r->fd < 0) return;
    munmap(r->page, r->bytes);
    close(r->fd);
}

/* Bytes that have ever been written to it; all are read now. */
static uint64_t written(const event_ring *r)
{
    const uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
    __atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
    return head;
}

/* CPU time of this thread: what the events go by, however busy the machine is. */
static double used_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs until something new is written there; false if that never happens. */
static bool runs_until_written(const event_ring *r)
{
    const uint64_t before = written(r);
    const double end = used_s() + 20;
    while (written(r) == before)
        if (used_s() > end) return false;
    return true;
}

/* Two rings, and an event that writes to the first. False, and why is said: events are forbidden.
 */
static bool open_rings(event_ring rings[2], int *ret_event)
{
    rings[0] = open_ring();
    rings[1] = open_ring();
    *ret_event = open_event(PERF_COUNT_SW_CPU_CLOCK, 1000000);
    const int error = errno;
    if (rings[0].fd >= 0 && rings[1].fd >= 0 && *ret_event >= 0 &&
        ioctl(*ret_event, PERF_EVENT_IOC_SET_OUTPUT, rings[0].fd) == 0)
        return true;
    printf("# skip: no perf events here: %s\n", strerror(error));
    close_ring(&rings[0]);
    close_ring(&rings[1]);
    if (*ret_event >= 0) close(*ret_event);
    return false;
}

static void an_event_writes_to_the_ring_it_was_moved_to(void **state)
{
    (void)state;
    event_ring rings[2];
    int event;
    const int before = count_fds();
    if (!open_rings(rings, &event)) skip();
    pt_mover *const mover = pt_mover_new();
    assert_true(runs_until_written(&rings[0]));
    assert_int_equal(written(&rings[1]), 0);
    assert_true(pt_mover_add(mover, event, rings[1].fd));
    assert_true(runs_until_written(&rings[1]));
    const uint64_t left_at = written(&rings[0]);
    for (int i = 0; i < 5; i++)
        assert_true(runs_until_written(&rings[1]));
    assert_int_equal(written(&rings[0]), left_at);
    pt_mover_free(mover);
    close(event);
    close_ring(&rings[0]);
    close_ring(&rings[1]);
    assert_int_equal(count_fds(), before);
}

static void an_event_that_still_waits_at_the_end_stays_where_it_is(void **state)
{
    (void)state;
    event_ring rings[2];
    int event;
    const int before = count_fds();
    if (!open_rings(rings, &event)) skip();
    pt_mover *const mover = pt_mover_new();
    const held h = hold(mover);
    assert_true(pt_mover_add(mover, event, rings[1].fd));
    free_while_held(mover, &h);
    for (int i = 0; i < 5; i++)
        assert_true(runs_until_written(&rings[0]));
    assert_int_equal(written(&rings[1]), 0);
    close(event);
    close_ring(&rings[0]);
    close_ring(&rings[1]);
    assert_int_equal(count_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_event_is_closed_and_no_longer_waits),
        cmocka_unit_test(no_more_than_sixteen_wait),
        cmocka_unit_test(what_cannot_be_taken_is_refused),
        cmocka_unit_test(the_end_closes_what_still_waits),
        cmocka_unit_test(an_event_writes_to_the_ring_it_was_moved_to),
        cmocka_unit_test(an_event_that_still_waits_at_the_end_stays_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
