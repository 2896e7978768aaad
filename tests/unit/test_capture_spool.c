/* test_capture_spool.c: what a kernel would write comes to a slow reader whole and in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/spool.h"

static const pt_perf_layout layout = {0}; /* records as they are */
static const pt_perf_layout with_stacks = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_STACK_USER};

enum { KERNEL_BYTES = 4096, RECORDS = 20000 };

typedef struct {
    struct perf_event_mmap_page page;
    _Alignas(8) uint8_t data[KERNEL_BYTES];
} kernel_ring;

/* A header, then the number of the record in each of its 1 to 40 words. */
static size_t words_of(uint64_t number)
{
    return 1 + (number * 7919) % 40;
}

/* False: the ring is full, where the kernel would lose it. */
static bool kernel_writes(kernel_ring *k, uint64_t number)
{
    uint64_t record[41];
    const size_t bytes = 8 + 8 * words_of(number);
    const struct perf_event_header head = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)bytes};
    const uint64_t at = k->page.data_head;
    if (at + bytes - __atomic_load_n(&k->page.data_tail, __ATOMIC_ACQUIRE) > KERNEL_BYTES)
        return false;
    memcpy(record, &head, sizeof head);
    for (size_t i = 0; i < words_of(number); i++)
        record[1 + i] = number;
    for (size_t i = 0; i < bytes; i++)
        k->data[(at + i) % KERNEL_BYTES] = ((const uint8_t *)record)[i];
    __atomic_store_n(&k->page.data_head, at + bytes, __ATOMIC_RELEASE);
    return true;
}

/* Reads at most so many records; the next one expected is *next. */
static void reader_reads(pt_ring *ring, int most, uint64_t *next)
{
    const struct perf_event_header *record;
    pt_ring_look(ring);
    while (most-- > 0 && (record = pt_ring_peek(ring)) != NULL) {
        const uint64_t *const words = (const uint64_t *)(record + 1);
        const struct perf_event_header head = *record;
        assert_int_equal(head.size, 8 + 8 * words_of(*next));
        for (size_t i = 0; i < words_of(*next); i++)
            assert_int_equal(words[i], *next);
        (*next)++;
        pt_ring_next(ring, &head);
    }
    pt_ring_release(ring);
}

/* A ring of the kernel's and the one that its records are moved to. */
typedef struct {
    kernel_ring *kernel;
    pt_ring from, to;
    int never; /* polled, and never ready */
    pt_spool *spool;
} spooled;

static void spooled_open_as(spooled *s, size_t bytes, const pt_perf_layout *records)
{
    *s = (spooled){.kernel = calloc(1, sizeof *s->kernel), .never = eventfd(0, EFD_CLOEXEC)};
    pt_ring_borrow(&s->kernel->page, s->kernel->data, KERNEL_BYTES, &s->from);
    assert_int_equal(pt_spool_ring_open(bytes, &s->to, NULL), PT_OK);
    const pt_spool_ring rings[] = {
        {.fd = s->never, .from = &s->from, .to = &s->to, .has_forks = true}};
    s->spool = pt_spool_new(records, rings, 1);
}

static void spooled_open(spooled *s, size_t bytes)
{
    spooled_open_as(s, bytes, &layout);
}

static void spooled_close(spooled *s)
{
    pt_spool_free(s->spool);
    close(s->never);
    pt_ring_close(&s->to);
    pt_ring_close(&s->from);
    free(s->kernel);
}

/* The spool's thread writes there, too. */
static uint64_t shared(const volatile __u64 *position)
{
    return __atomic_load_n(position, __ATOMIC_ACQUIRE);
}

static void a_slow_reader_gets_all_records_in_order(void **state)
{
    spooled s;
    spooled_open(&s, 10000);
    assert_int_equal(s.to.bytes, 16384);
    uint64_t written = 0, read = 0;
    bool was_full = false;
    for (int turn = 0; read < RECORDS; turn++) {
        while (written < RECORDS && kernel_writes(s.kernel, written))
            written++;
        was_full |= !pt_spool_take(s.spool);
        /* Nothing, or all, or a little: whatever the ring holds then. */
        reader_reads(&s.to, turn % 8 == 0 ? 200 : 7, &read);
    }
    assert_true(was_full); /* whole records only were taken then, and the rest later */
    assert_true(pt_spool_take(s.spool));
    assert_int_equal(shared(&s.kernel->page.data_tail), shared(&s.kernel->page.data_head));
    assert_true(pt_spool_upto_ns(s.spool) > 0);
    spooled_close(&s);
}

/* Bytes of a ring that are memory now. */
static size_t resident(const pt_ring *ring)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t count = (size_t)ring->bytes / page_bytes;
    unsigned char *const is_there = calloc(count, 1);
    size_t bytes = 0;
    assert_int_equal(mincore(ring->data, (size_t)ring->bytes, is_there), 0);
    for (size_t i = 0; i < count; i++)
        bytes += is_there[i] & 1 ? page_bytes : 0;
    free(is_there);
    return bytes;
}

static void a_ring_takes_memory_for_what_waits_in_it(void **state)
{
    enum { RING_BYTES = 16 << 20, WAITS_BYTES = 6 << 20, GRAIN_BYTES = 2 << 20 };
    spooled s;
    spooled_open(&s, RING_BYTES);
    uint64_t written = 0, read = 0;
    size_t most = 0;
    while (shared(&s.to.page->data_head) < 3 * (uint64_t)RING_BYTES) {
        while (kernel_writes(s.kernel, written))
            written++;
        assert_true(pt_spool_take(s.spool));
        reader_reads(&s.to, 1000, &read);
        if (shared(&s.to.page->data_head) % (1 << 20) < KERNEL_BYTES && resident(&s.to) > most)
            most = resident(&s.to);
    }
    assert_true(most > 0 && most <= 3 * GRAIN_BYTES);
    while (shared(&s.to.page->data_head) - shared(&s.to.page->data_tail) < WAITS_BYTES) {
        while (kernel_writes(s.kernel, written))
            written++;
        assert_true(pt_spool_take(s.spool));
    }
    assert_true(resident(&s.to) >= WAITS_BYTES);
    while (read < written)
        reader_reads(&s.to, 1000, &read);
    assert_true(pt_spool_take(s.spool));
    assert_true(resident(&s.to) <= 3 * GRAIN_BYTES);
    spooled_close(&s);
}

/* Its reader takes megabytes at once, and the first bytes of them are written again at once. */
static void a_ring_that_was_full_loses_nothing_when_it_gives_memory_back(void **state)
{
    enum { RING_BYTES = 8 << 20, ROUNDS = 5 };
    spooled s;
    spooled_open(&s, RING_BYTES);
    uint64_t written = 0, read = 0;
    for (int round = 0; round < ROUNDS; round++) {
        do {
            while (kernel_writes(s.kernel, written))
                written++;
        } while (pt_spool_take(s.spool));
        reader_reads(&s.to, 20000 + 7000 * round, &read);
    }
    do {
        pt_spool_take(s.spool);
        reader_reads(&s.to, 1000, &read);
    } while (shared(&s.to.page->data_tail) != shared(&s.to.page->data_head) ||
             shared(&s.kernel->page.data_tail) != shared(&s.kernel->page.data_head));
    assert_int_equal(read, written);
    spooled_close(&s);
}

static void a_ring_that_makes_no_sense_ends_nothing(void **state)
{
    spooled s;
    spooled_open(&s, 4096);
    __atomic_store_n(&s.kernel->page.data_head, 64,
                     __ATOMIC_RELEASE); /* zeros: records of no size */
    assert_true(pt_spool_take(s.spool));
    pt_ring_look(&s.to);
    assert_null(pt_ring_peek(&s.to));
    assert_int_equal(s.to.tail, s.to.head);
    spooled_close(&s);
}

/* The kernel reports an exec of a process. */
static void kernel_reports(kernel_ring *k, uint64_t pid)
{
    const struct perf_event_header head = {.type = PERF_RECORD_COMM, .size = 40};
    uint64_t record[] = {0, pid, 0, 0, 0}; /* pid, time, cpu, id */
    const uint64_t at = k->page.data_head;
    memcpy(record, &head, sizeof head);
    for (size_t i = 0; i < sizeof record; i++)
        k->data[(at + i) % KERNEL_BYTES] = ((const uint8_t *)record)[i];
    __atomic_store_n(&k->page.data_head, at + sizeof record, __ATOMIC_RELEASE);
}

/* True if a record of the process, which `put` writes, makes a pass urgent. The spool's thread may
 * make the pass, and another after it, so that one of a hundred must show it. */
static bool makes_urgent(spooled *s, void (*put)(kernel_ring *, uint64_t), uint64_t pid)
{
    bool is_calm = true;
    for (int i = 0; i < 100 && is_calm; i++) {
        put(s->kernel, pid);
        assert_true(pt_spool_take(s->spool));
        is_calm = pt_spool_is_calm(s->spool);
        pt_ring_look(&s->to);
        s->to.tail = s->to.head;
        pt_ring_release(&s->to);
    }
    return !is_calm;
}

static bool is_urgent(spooled *s, uint64_t pid)
{
    return makes_urgent(s, kernel_reports, pid);
}

static void reports_of_processes_that_are_not_heeded_are_not_urgent(void **state)
{
    spooled s;
    spooled_open(&s, 16384);
    assert_true(is_urgent(&s, 7));
    pt_spool_heed(s.spool, 5);
    assert_true(is_urgent(&s, 5));
    assert_false(is_urgent(&s, 7));
    pt_spool_heed(s.spool, 7);
    assert_true(is_urgent(&s, 7));
    pt_spool_heed(s.spool, 7 + (1 << 15)); /* shares its count */
    pt_spool_ignore(s.spool, 7);
    assert_true(is_urgent(&s, 7));
    pt_spool_ignore(s.spool, 7 + (1 << 15));
    assert_false(is_urgent(&s, 7));
    spooled_close(&s);
}

/* The kernel writes a sample whose copy of the stack fills its room. */
static void kernel_samples(kernel_ring *k, uint64_t pid)
{
    enum { STACK_BYTES = 64, WORDS = 12 };
    const struct perf_event_header head = {.type = PERF_RECORD_SAMPLE, .size = 8 * WORDS};
    uint64_t record[WORDS] = {0, pid, STACK_BYTES, [WORDS - 1] = STACK_BYTES};
    const uint64_t at = k->page.data_head;
    memcpy(record, &head, sizeof head);
    for (size_t i = 0; i < sizeof record; i++)
        k->data[(at + i) % KERNEL_BYTES] = ((const uint8_t *)record)[i];
    __atomic_store_n(&k->page.data_head, at + sizeof record, __ATOMIC_RELEASE);
}

static void samples_of_hurried_processes_are_urgent(void **state)
{
    spooled s;
    spooled_open_as(&s, 16384, &with_stacks);
    assert_false(makes_urgent(&s, kernel_samples, 7));
    pt_spool_hurry(s.spool, 7, true);
    assert_false(makes_urgent(&s, kernel_samples, 8));
    assert_true(makes_urgent(&s, kernel_samples, 7));
    pt_spool_hurry(s.spool, 7, false);
    assert_false(makes_urgent(&s, kernel_samples, 7));
    spooled_close(&s);
}

static uint64_t stack_bytes_of_next(spooled *s, uint64_t pid)
{
    pt_perf_record r;
    kernel_samples(s->kernel, pid);
    assert_true(pt_spool_take(s->spool));
    pt_ring_look(&s->to);
    const struct perf_event_header *const record = pt_ring_peek(&s->to);
    assert_non_null(record);
    assert_true(pt_perf_record_read(&with_stacks, record, &r));
    assert_int_equal(r.pid, pid);
    const struct perf_event_header head = *record;
    pt_ring_next(&s->to, &head);
    pt_ring_release(&s->to);
    return r.sample.stack_bytes;
}

static void samples_of_shunned_processes_come_without_stacks(void **state)
{
    enum { SAME_PLACE = 1 << 12 }; /* process numbers with one remainder share a place */
    spooled s;
    spooled_open_as(&s, 16384, &with_stacks);
    assert_int_equal(stack_bytes_of_next(&s, 7), 64);
    pt_spool_shun(s.spool, 7, true);
    assert_int_equal(stack_bytes_of_next(&s, 7), 0);
    assert_int_equal(stack_bytes_of_next(&s, 8), 64);
    assert_int_equal(stack_bytes_of_next(&s, 7 + SAME_PLACE), 64);
    pt_spool_shun(s.spool, 7 + SAME_PLACE, false); /* it was not */
    assert_int_equal(stack_bytes_of_next(&s, 7), 0);
    pt_spool_shun(s.spool, 7 + SAME_PLACE, true); /* the older is forgotten */
    assert_int_equal(stack_bytes_of_next(&s, 7), 64);
    assert_int_equal(stack_bytes_of_next(&s, 7 + SAME_PLACE), 0);
    pt_spool_shun(s.spool, 7 + SAME_PLACE, false);
    assert_int_equal(stack_bytes_of_next(&s, 7 + SAME_PLACE), 64);
    spooled_close(&s);
}

/* The kernel writes a record of a type. first: the first word of its body; pid, time, cpu and id
 * follow. */
static void kernel_puts(kernel_ring *k, uint32_t type, uint64_t first, uint64_t pid)
{
    const uint64_t at = k->page.data_head;
    const struct perf_event_header head = {.type = type, .size = 48};
    uint64_t record[] = {0, first, pid, 0, 0, 0};
    memcpy(record, &head, sizeof head);
    for (size_t i = 0; i < sizeof record; i++)
        k->data[(at + i) % KERNEL_BYTES] = ((const uint8_t *)record)[i];
    __atomic_store_n(&k->page.data_head, at + sizeof record, __ATOMIC_RELEASE);
}

/* Expects that a pass brings so many records, each of the given type in turn, and reads them. */
static void expect_taken(pt_spool *spool, pt_ring *to, const uint32_t *types, size_t count)
{
    assert_true(pt_spool_take(spool));
    pt_ring_look(to);
    for (size_t i = 0; i < count; i++) {
        const struct perf_event_header *const record = pt_ring_peek(to);
        assert_non_null(record);
        const struct perf_event_header head = *record;
        assert_int_equal(head.type, types[i]);
        pt_ring_next(to, &head);
    }
    assert_null(pt_ring_peek(to));
    pt_ring_release(to);
}

static void records_of_processes_that_are_not_heeded_are_dropped(void **state)
{
    const uint32_t comm[] = {PERF_RECORD_COMM, PERF_RECORD_COMM};
    const uint32_t kept[] = {PERF_RECORD_FORK, PERF_RECORD_COMM, PERF_RECORD_LOST,
                             PERF_RECORD_FORK};
    spooled s;
    spooled_open(&s, 16384);
    pt_spool_heed(s.spool, 5);
    kernel_puts(s.kernel, PERF_RECORD_COMM, 0, 7);
    assert_true(pt_spool_take(s.spool));
    pt_spool_narrow(s.spool);
    assert_true(pt_spool_take(s.spool));
    kernel_puts(s.kernel, PERF_RECORD_COMM, 0, 7);
    expect_taken(s.spool, &s.to, comm, 2); /* the first was not read until now */
    expect_taken(s.spool, &s.to, NULL, 0);
    kernel_puts(s.kernel, PERF_RECORD_COMM, 0, 7);
    kernel_puts(s.kernel, PERF_RECORD_SAMPLE, 0, 7);
    kernel_puts(s.kernel, PERF_RECORD_FORK, 9, 5); /* process 5 starts 9 */
    kernel_puts(s.kernel, PERF_RECORD_FORK, 8, 7);
    kernel_puts(s.kernel, PERF_RECORD_COMM, 0, 8);
    kernel_puts(s.kernel, PERF_RECORD_COMM, 0, 9);
    kernel_puts(s.kernel, PERF_RECORD_EXIT, 7, 7);
    kernel_puts(s.kernel, PERF_RECORD_LOST, 1, 7);
    kernel_puts(s.kernel, PERF_RECORD_FORK, 5, 7); /* the number is used again */
    expect_taken(s.spool, &s.to, kept, 4);
    spooled_close(&s);
}

/* A spool of two kernel's rings, which heeds process 5. */
typedef struct {
    kernel_ring *first, *second;
    pt_ring from[2], to[2];
    int never;
    pt_spool *spool;
} two_rings;

static void two_rings_open(two_rings *r)
{
    *r = (two_rings){.first = calloc(1, sizeof *r->first),
                     .second = calloc(1, sizeof *r->second),
                     .never = eventfd(0, EFD_CLOEXEC)};
    pt_ring_borrow(&r->first->page, r->first->data, KERNEL_BYTES, &r->from[0]);
    pt_ring_borrow(&r->second->page, r->second->data, KERNEL_BYTES, &r->from[1]);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pt_spool_ring_open(16384, &r->to[i], NULL), PT_OK);
    const pt_spool_ring rings[] = {{r->never, &r->from[0], &r->to[0], true, NULL},
                                   {r->never, &r->from[1], &r->to[1], true, NULL}};
    r->spool = pt_spool_new(&layout, rings, 2);
    pt_spool_heed(r->spool, 5);
}

static void two_rings_close(two_rings *r)
{
    pt_spool_free(r->spool);
    for (size_t i = 0; i < 2; i++)
        pt_ring_close(&r->to[i]), pt_ring_close(&r->from[i]);
    close(r->never);
    free(r->first);
    free(r->second);
}

static void a_child_is_heeded_whose_fork_is_in_another_ring(void **state)
{
    const uint32_t comm[] = {PERF_RECORD_COMM}, fork[] = {PERF_RECORD_FORK};
    two_rings r;
    two_rings_open(&r);
    pt_spool_narrow(r.spool);
    for (int i = 0; i < 2; i++)
        assert_true(pt_spool_take(r.spool));
    for (uint64_t child = 100; child < 120; child++) {
        kernel_puts(r.second, PERF_RECORD_FORK, child, 5);
        kernel_puts(r.first, PERF_RECORD_COMM, 0, child);
        kernel_puts(r.first, PERF_RECORD_COMM, 0, child + 100);
        expect_taken(r.spool, &r.to[0], comm, 1);
        expect_taken(r.spool, &r.to[1], fork, 1);
    }
    /* A grandchild's fork lies in the ring that is searched before its parent's. */
    for (uint64_t child = 300; child < 320; child += 2) {
        const uint32_t both[] = {PERF_RECORD_FORK, PERF_RECORD_COMM};
        kernel_puts(r.second, PERF_RECORD_FORK, child, 5);
        kernel_puts(r.first, PERF_RECORD_FORK, child + 1, child);
        kernel_puts(r.first, PERF_RECORD_COMM, 0, child + 1);
        expect_taken(r.spool, &r.to[0], both, 2);
        expect_taken(r.spool, &r.to[1], fork, 1);
    }
    two_rings_close(&r);
}

static void a_child_is_heeded_whose_parents_fork_is_not_read_when_dropping_begins(void **state)
{
    const uint32_t comm[] = {PERF_RECORD_COMM};
    two_rings r;
    two_rings_open(&r);
    kernel_puts(r.second, PERF_RECORD_FORK, 100, 5);
    assert_true(pt_spool_take(r.spool)); /* the reader has not come to this record yet */
    pt_spool_narrow(r.spool);
    kernel_puts(r.first, PERF_RECORD_FORK, 101, 100);
    assert_true(pt_spool_take(r.spool));
    expect_taken(r.spool, &r.to[1], (const uint32_t[]){PERF_RECORD_FORK}, 1);
    assert_true(pt_spool_take(r.spool));
    expect_taken(r.spool, &r.to[0], (const uint32_t[]){PERF_RECORD_FORK}, 1);
    kernel_puts(r.first, PERF_RECORD_COMM, 0, 101);
    expect_taken(r.spool, &r.to[0], comm, 1);
    two_rings_close(&r);
}

/* The events that were given their periods, in the place of libc's function. */
static struct {
    int fd;
    uint64_t period;
} given[4];
static _Atomic size_t given_count;

int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    const uint64_t *const period = va_arg(list, const uint64_t *);
    va_end(list);
    assert_int_equal(request, PERF_EVENT_IOC_PERIOD);
    assert_true(given_count < 4);
    given[given_count].fd = fd;
    given[given_count].period = *period;
    given_count++;
    return 0;
}

/* The reader may be late: 2 MB of samples at 20 kHz are full in 3 ms. */
static void the_first_sample_of_an_event_gives_it_its_period_before_the_reader_comes(void **state)
{
    kernel_ring *const kernel = calloc(1, sizeof *kernel);
    pt_ring from, to;
    const int never = eventfd(0, EFD_CLOEXEC);
    pt_first *const first = pt_first_new();
    pt_ring_borrow(&kernel->page, kernel->data, KERNEL_BYTES, &from);
    assert_int_equal(pt_spool_ring_open(16384, &to, NULL), PT_OK);
    const pt_spool_ring rings[] = {
        {.fd = never, .from = &from, .to = &to, .has_forks = true, .first = first}};
    given_count = 0;
    pt_first_await(first, 21, 100, 1000000);
    pt_first_await(first, 22, 101, 2000000);
    pt_first_await(first, 23, 102, 3000000);
    pt_spool *const spool = pt_spool_new(&layout, rings, 1);
    kernel_puts(kernel, PERF_RECORD_COMM, 22, 7);
    kernel_puts(kernel, PERF_RECORD_SAMPLE, 21, 7);
    kernel_puts(kernel, PERF_RECORD_SAMPLE, 21, 7);
    assert_true(pt_spool_take(spool));
    kernel_puts(kernel, PERF_RECORD_SAMPLE, 21, 7);
    kernel_puts(kernel, PERF_RECORD_SAMPLE, 99, 7);
    assert_int_equal(pt_first_end(first, 23), 0);
    kernel_puts(kernel, PERF_RECORD_SAMPLE, 23, 7); /* its descriptor may be another's now */
    assert_true(pt_spool_take(spool));
    assert_int_equal(given_count, 1);
    assert_int_equal(given[0].fd, 100);
    assert_int_equal(given[0].period, 1000000);
    assert_true(pt_first_end(first, 21) > 0);
    assert_int_equal(pt_first_end(first, 22), 0);
    pt_spool_free(spool);
    pt_first_free(first);
    pt_ring_close(&to);
    pt_ring_close(&from);
    close(never);
    free(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_sample_of_an_event_gives_it_its_period_before_the_reader_comes),
        cmocka_unit_test(records_of_processes_that_are_not_heeded_are_dropped),
        cmocka_unit_test(a_child_is_heeded_whose_fork_is_in_another_ring),
        cmocka_unit_test(a_child_is_heeded_whose_parents_fork_is_not_read_when_dropping_begins),
        cmocka_unit_test(a_slow_reader_gets_all_records_in_order),
        cmocka_unit_test(a_ring_takes_memory_for_what_waits_in_it),
        cmocka_unit_test(a_ring_that_was_full_loses_nothing_when_it_gives_memory_back),
        cmocka_unit_test(a_ring_that_makes_no_sense_ends_nothing),
        cmocka_unit_test(reports_of_processes_that_are_not_heeded_are_not_urgent),
        cmocka_unit_test(samples_of_hurried_processes_are_urgent),
        cmocka_unit_test(samples_of_shunned_processes_come_without_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
