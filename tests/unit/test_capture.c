/* test_capture.c: records of perf rings, laid out by hand after linux/perf_event.h; what is said
 * where the kernel forbids something; which processes are meant.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "capture/capture.h"
#include "capture/cgroup.h"
#include "capture/known.h"
#include "capture/permission.h"
#include "capture/pids.h"
#include "capture/procs.h"
#include "capture/set.h"
#include "capture/unwind_sample.h"
#include "capture/wait_kind.h"

/* ---- rings ---- */

enum { RING_BYTES = 4096 };

typedef struct {
    struct perf_event_mmap_page page;
    _Alignas(8) uint8_t data[RING_BYTES];
} memory_ring;

/* As the kernel does: at the head, wrapping around. */
static void kernel_writes(memory_ring *m, const void *record, size_t size)
{
    for (size_t i = 0; i < size; i++) /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
        m->data[(m->page.data_head + i) % RING_BYTES] = ((const uint8_t *)record)[i];
    m->page.data_head += size;
}

/* type, misc, then words. */
static void put_record(pt_buf *buf, uint32_t type, uint16_t misc, const uint64_t *words, size_t n)
{
    pt_buf_clear(buf);
    pt_put_le(buf, type, 4);
    pt_put_le(buf, misc, 2);
    pt_put_le(buf, 8 + 8 * n, 2);
    for (size_t i = 0; i < n; i++)
        pt_put_le(buf, words[i], 8);
}

static uint64_t pair(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

static void records_that_wrap_around_come_in_one_piece(void **state)
{
    memory_ring *const m = calloc(1, sizeof *m);
    pt_buf buf = PT_BUF_INIT;
    pt_ring ring;
    m->page.data_head = m->page.data_tail = RING_BYTES - 16;
    pt_ring_borrow(&m->page, m->data, RING_BYTES, &ring);
    put_record(&buf, PERF_RECORD_LOST, 0, (uint64_t[]){1, 42, pair(7, 8), 99, 3, 1}, 6);
    kernel_writes(m, buf.data, buf.size);
    pt_ring_look(&ring);
    const struct perf_event_header *const record = pt_ring_peek(&ring);
    assert_non_null(record);
    pt_perf_record r;
    const pt_perf_layout layout = {0};
    assert_true(pt_perf_record_read(&layout, record, &r));
    assert_int_equal(r.lost, 42);
    assert_int_equal(r.pid, 7);
    assert_int_equal(r.tid, 8);
    assert_int_equal(r.time_ns, 99);
    assert_int_equal(r.cpu, 3);
    pt_ring_next(&ring, record);
    assert_null(pt_ring_peek(&ring));
    assert_int_equal(m->page.data_tail, RING_BYTES - 16); /* ours until we give it back */
    pt_ring_release(&ring);
    assert_int_equal(m->page.data_tail, m->page.data_head);
    pt_ring_close(&ring);
    pt_buf_done(&buf);
    free(m);
}

static void a_ring_that_makes_no_sense_is_skipped(void **state)
{
    static const uint16_t sizes[] = {0, 7, 12, 65528};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memory_ring *const m = calloc(1, sizeof *m);
        const struct perf_event_header bad = {.type = PERF_RECORD_LOST, .size = sizes[i]};
        pt_ring ring;
        pt_ring_borrow(&m->page, m->data, RING_BYTES, &ring);
        kernel_writes(m, &bad, sizeof bad);
        pt_ring_look(&ring);
        assert_null(pt_ring_peek(&ring));
        assert_int_equal(ring.tail, ring.head);
        pt_ring_close(&ring);
        free(m);
    }
}

static const pt_perf_layout whole_sample = {
    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                   PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
                   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
    .regs_count = 2};

static const uint64_t sample_words[] = {11,   0x1000, (uint64_t)6 << 32 | 5,
                                        77,   2,      1000,
                                        5000,                 /* id ip tid time cpu period count */
                                        2,    0xfff0, 0xfff8, /* chain */
                                        2,    0xa,    0xb,    /* abi, regs */
                                        16,   0x1,    0x2,
                                        8}; /* stack: room, bytes, copied */

static void a_sample_has_what_was_asked_for_in_the_kernels_order(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    pt_perf_record r;
    put_record(&buf, PERF_RECORD_SAMPLE, 0, sample_words,
               sizeof sample_words / sizeof *sample_words);
    const struct perf_event_header *const record = (const void *)buf.data;
    assert_true(pt_perf_record_read(&whole_sample, record, &r));
    assert_int_equal(r.id, 11);
    assert_int_equal(r.sample.ip, 0x1000);
    assert_int_equal(r.pid, 5);
    assert_int_equal(r.tid, 6);
    assert_int_equal(r.time_ns, 77);
    assert_int_equal(pt_perf_record_time(&whole_sample, record), 77);
    assert_int_equal(pt_perf_record_pid(&whole_sample, record), 5);
    assert_int_equal(r.cpu, 2);
    assert_int_equal(r.sample.period, 1000);
    assert_int_equal(r.sample.count, 5000);
    assert_int_equal(r.sample.chain_count, 2);
    assert_int_equal(r.sample.chain[1], 0xfff8);
    assert_int_equal(r.sample.regs[1], 0xb);
    assert_int_equal(r.sample.stack_room, 16);
    assert_int_equal(r.sample.stack_bytes, 8);
    assert_int_equal(r.sample.stack[8], 2);
    pt_buf_done(&buf);
}

static void a_compact_sample_says_the_same(void **state)
{
    pt_buf buf = PT_BUF_INIT, small = PT_BUF_INIT;
    pt_perf_record r;
    pt_perf_compact c;
    put_record(&buf, PERF_RECORD_SAMPLE, 2, sample_words,
               sizeof sample_words / sizeof *sample_words);
    const struct perf_event_header *const record = (const void *)buf.data;
    assert_true(pt_perf_record_compact(&whole_sample, record, false, &c));
    pt_put(&small, &c.header, sizeof c.header);
    pt_put(&small, c.body, c.body_bytes);
    pt_put(&small, &c.copied, sizeof c.copied);
    pt_put(&small, c.stack, c.stack_bytes);
    assert_int_equal(small.size, c.header.size);
    assert_int_equal(small.size, buf.size - 8); /* 8 of the 16 bytes of room were used */
    const struct perf_event_header *const compact = (const void *)small.data;
    assert_true(pt_perf_record_read(&whole_sample, compact, &r));
    assert_int_equal(r.misc & 7, 2);
    assert_int_equal(r.time_ns, 77);
    assert_int_equal(r.sample.regs[1], 0xb);
    assert_int_equal(r.sample.stack_room, 16);
    assert_int_equal(r.sample.stack_bytes, 8);
    assert_int_equal(r.sample.stack[0], 1);
    assert_false(pt_perf_record_compact(&whole_sample, compact, false, &c));
    assert_true(pt_perf_record_compact(&whole_sample, record, true, &c)); /* without its stack */
    assert_int_equal(c.header.size, buf.size - 16);
    assert_int_equal(c.stack_bytes, 0);
    assert_int_equal(c.copied, 0);
    for (size_t size = 8; size < small.size; size += 8) { /* cut anywhere */
        struct perf_event_header head = *compact;
        head.size = (uint16_t)size;
        memcpy(small.data, &head, sizeof head);
        assert_false(pt_perf_record_read(&whole_sample, compact, &r));
    }
    pt_buf_done(&buf);
    pt_buf_done(&small);
}

static void a_walked_sample_has_its_stack_and_one_register(void **state)
{
    const pt_perf_layout its = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW |
                                               PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                                .regs_count = 17};
    const pt_bpf_stack stack = {
        .bytes = PT_BPF_STACK_HEAD_BYTES + 8, .generation = 9, .count = 1, .pcs = {0x1234}};
    enum { STACK_WORDS = (4 + PT_BPF_STACK_HEAD_BYTES + 8) / 8 };
    uint64_t words[1 + STACK_WORDS + 3] = {77}; /* time, stack, abi, a register, no copy */
    memcpy(words + 1, &stack, 4 + stack.bytes);
    memcpy(words + 1 + STACK_WORDS, (const uint64_t[]){2, 0xa, 0}, 24);
    pt_buf buf = PT_BUF_INIT;
    pt_perf_record r;
    put_record(&buf, PERF_RECORD_SAMPLE, 0, words, sizeof words / sizeof *words);
    assert_true(pt_perf_record_read(&its, (const void *)buf.data, &r));
    assert_non_null(r.sample.walked);
    assert_int_equal(r.sample.walked->generation, 9);
    assert_int_equal(r.sample.walked->pcs[0], 0x1234);
    assert_null(r.sample.regs);
    assert_int_equal(r.sample.stack_room, 0);
    assert_int_equal(r.time_ns, 77);
    pt_buf_done(&buf);
}

static void the_head_of_a_known_stack_stands_for_a_stack(void **state)
{
    const pt_perf_layout its = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |
                                               PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
                                               PERF_SAMPLE_STACK_USER,
                                .regs_count = 17};
    const pt_bpf_stack head = {.bytes = PT_BPF_STACK_HEAD_BYTES,
                               .end = PT_BPF_KNOWN_END,
                               .period = 5,
                               .key = 3,
                               .ran_ns = 8,
                               .turns = 2};
    enum { HEAD_WORDS = (4 + PT_BPF_STACK_HEAD_BYTES) / 8 };
    uint64_t words[2 + HEAD_WORDS + 3] = {77, 1}; /* time, period, head, abi, a register, no copy */
    memcpy(words + 2, &head, 4 + head.bytes);
    memcpy(words + 2 + HEAD_WORDS, (const uint64_t[]){2, 0xa, 0}, 24);
    pt_buf buf = PT_BUF_INIT;
    pt_perf_record r;
    put_record(&buf, PERF_RECORD_SAMPLE, 0, words, sizeof words / sizeof *words);
    assert_true(pt_perf_record_read(&its, (const void *)buf.data, &r));
    assert_true(r.sample.known != NULL && r.sample.walked == NULL && r.sample.regs == NULL);
    assert_int_equal(r.sample.known->key, 3);
    assert_int_equal(r.sample.known->ran_ns, 8);
    assert_int_equal(r.sample.period, 5);
    pt_buf_done(&buf);
}

/* The stack of a key is the last that came for its place, on its cpu. */
static void a_stack_is_known_until_another_takes_its_place(void **state)
{
    enum { CPUS = 2, TOP = 64 - PT_BPF_KNOWN_BITS };
    const uint64_t key = (UINT64_C(5) << TOP) + 1, same_place = key + 1, other = UINT64_C(6) << TOP;
    pt_bpf_stack stack = {.bytes = PT_BPF_STACK_HEAD_BYTES + 8, .key = key, .count = 1, .pcs = {7}};
    pt_known *const known = pt_known_new(CPUS);
    assert_null(pt_known_find(known, 1, key));
    assert_non_null(pt_known_put(known, 1, &stack));
    stack.key = other;
    stack.pcs[0] = 9;
    assert_non_null(pt_known_put(known, 1, &stack));
    assert_int_equal(pt_known_find(known, 1, key)->stack->pcs[0], 7);
    assert_int_equal(pt_known_find(known, 1, other)->stack->pcs[0], 9);
    assert_null(pt_known_find(known, 0, key));
    assert_null(pt_known_find(known, 1, same_place));
    stack.key = same_place;
    pt_known_put(known, 1, &stack);
    assert_null(pt_known_find(known, 1, key));
    assert_null(pt_known_put(known, CPUS, &stack));
    assert_null(pt_known_find(known, CPUS, key));
    pt_known_free(known);
}

static void all_cpus_share_one_copy_of_a_stack(void **state)
{
    enum { CPUS = 3, TOP = 64 - PT_BPF_KNOWN_BITS, MANY = 5000 };
    const uint64_t key = (UINT64_C(5) << TOP) + 1;
    pt_bpf_stack stack = {.bytes = PT_BPF_STACK_HEAD_BYTES + 8, .key = key, .count = 1, .pcs = {7}};
    pt_known *const known = pt_known_new(CPUS);
    for (uint32_t cpu = 0; cpu < CPUS; cpu++)
        pt_known_put(known, cpu, &stack);
    for (uint32_t cpu = 0; cpu < CPUS; cpu++)
        assert_ptr_equal(pt_known_find(known, cpu, key), pt_known_find(known, 0, key));
    pt_known_put(known, 2, &stack); /* in its own place */
    for (uint64_t i = 1; i <= MANY; i++) {
        for (uint32_t cpu = 1; cpu < CPUS; cpu++) {
            stack.key = key + i + (cpu == 1 ? 0 : MANY);
            stack.pcs[0] = stack.key;
            pt_known_put(known, cpu, &stack);
        }
        assert_null(pt_known_find(known, 1, key + i - 1));
        for (uint32_t cpu = 1; cpu < CPUS; cpu++) {
            const uint64_t last = key + i + (cpu == 1 ? 0 : MANY);
            assert_int_equal(pt_known_find(known, cpu, last)->stack->pcs[0], last);
        }
    }
    assert_int_equal(pt_known_find(known, 0, key)->stack->pcs[0], 7);
    stack.key = key;
    pt_known_put(known, 1, &stack);
    assert_ptr_equal(pt_known_find(known, 1, key), pt_known_find(known, 0, key));
    assert_int_equal(pt_known_find(known, 0, key)->places, 2);
    pt_known_free(known);
}

/* A record of waits with all registers, or with one as the outputs without copies have it. */
static bool read_wait(pt_buf *buf, const void *raw, uint32_t raw_bytes, unsigned regs,
                      pt_perf_record *ret_record)
{
    enum { REGS = 17, WORDS_MAX = 64 };
    const pt_perf_layout its = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW |
                                               PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                                .regs_count = REGS};
    uint64_t words[WORDS_MAX] = {77};
    memcpy(words + 1, raw, 4 + raw_bytes);
    words[1 + (4 + raw_bytes) / 8] = 2; /* abi; then registers, and no copy */
    put_record(buf, PERF_RECORD_SAMPLE, 0, words, 1 + (4 + raw_bytes) / 8 + 1 + regs + 1);
    return pt_perf_record_read(&its, (const void *)buf->data, ret_record);
}

static void waits_come_as_stacks_walked_or_copied_and_as_ends(void **state)
{
    (void)state;
    pt_bpf_stack stack = {.bytes = PT_BPF_STACK_HEAD_BYTES + 8,
                          .count = 1,
                          .role = PT_BPF_WAITER,
                          .key = 5,
                          .pcs = {0x1234}};
    pt_bpf_wait_end ended = {
        .bytes = PT_BPF_WAIT_END_BYTES, .end = PT_BPF_WAIT_END, .tid = 9, .one = {.off_ns = 3}};
    pt_buf buf = PT_BUF_INIT;
    pt_perf_record r;
    assert_true(read_wait(&buf, &stack, stack.bytes, 1, &r));
    assert_true(r.sample.wait != NULL && r.sample.walked == r.sample.wait);
    assert_int_equal(r.sample.wait->key, 5);
    pt_buf_done(&buf);
    stack.bytes = PT_BPF_STACK_HEAD_BYTES;
    stack.end = PT_BPF_COPIED_END;
    assert_true(read_wait(&buf, &stack, stack.bytes, 17, &r));
    assert_true(r.sample.wait != NULL && r.sample.walked == NULL && r.sample.regs != NULL);
    pt_buf_done(&buf);
    assert_true(read_wait(&buf, &ended, ended.bytes, 1, &r));
    assert_true(r.sample.ended != NULL && r.sample.wait == NULL && r.sample.walked == NULL);
    assert_int_equal(r.sample.ended->tid, 9);
    assert_int_equal(r.sample.ended->one.off_ns, 3);
    pt_buf_done(&buf);
    /* Too short for an end. */
    ended.bytes -= 8;
    assert_true(read_wait(&buf, &ended, ended.bytes, 17, &r));
    assert_null(r.sample.ended);
    pt_buf_done(&buf);
}

static void the_kind_of_a_wait_is_that_of_its_call_or_file(void **state)
{
    (void)state;
    assert_string_equal(pt_wait_kind(SYS_futex, 0, false), "lock");
    assert_string_equal(pt_wait_kind(SYS_read, S_IFIFO | 0600, false), "pipe");
    assert_string_equal(pt_wait_kind(SYS_write, S_IFSOCK, false), "socket");
    assert_string_equal(pt_wait_kind(SYS_read, S_IFREG, true), "block I/O");
    assert_string_equal(pt_wait_kind(PT_BPF_CALL_FAULT, 0, false), "page fault");
    assert_string_equal(pt_wait_kind(SYS_getpid, 0, false), "other");
    assert_string_equal(pt_wait_kind(SYS_read, 0, false), "other");
    assert_null(pt_wait_kind(PT_BPF_CALL_PREEMPTED, S_IFIFO, false));
}

static void a_code_object_is_no_sample_and_its_copies_lie_in_its_record(void **state)
{
    const pt_perf_layout its = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW |
                                               PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                                .regs_count = 17};
    pt_bpf_code code = {.bytes = PT_BPF_CODE_HEAD_BYTES + 16,
                        .end = PT_BPF_CODE_END,
                        .code = 0x1230,
                        .name_from.bytes = PT_BPF_NAME_BYTES,
                        .file_from.bytes = PT_BPF_FILE_BYTES,
                        .more_from.bytes = 16};
    uint32_t *const sizes[] = {NULL, &code.name_from.bytes, &code.file_from.bytes,
                               &code.more_from.bytes};
    uint64_t words[1 + sizeof code / 8] = {77};
    const size_t raw_words = (4 + code.bytes) / 8;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] != NULL) ++*sizes[i];
        memcpy(words + 1, &code, 4 + code.bytes);
        memcpy(words + 1 + raw_words, (const uint64_t[]){2, 0xa, 0}, 24); /* abi, register, copy */
        if (sizes[i] != NULL) --*sizes[i];
        pt_buf buf = PT_BUF_INIT;
        pt_perf_record r;
        put_record(&buf, PERF_RECORD_SAMPLE, 0, words, 1 + raw_words + 3);
        const bool is_read = pt_perf_record_read(&its, (const void *)buf.data, &r);
        assert_int_equal(is_read && r.sample.code != NULL, sizes[i] == NULL);
        if (sizes[i] == NULL) assert_int_equal(r.sample.code->code, 0x1230);
        if (is_read) assert_null(r.sample.walked);
        pt_buf_done(&buf);
    }
}

static void a_sample_cut_anywhere_is_no_sample(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    pt_perf_record r;
    for (size_t n = 0; n < sizeof sample_words / sizeof *sample_words; n++) {
        put_record(&buf, PERF_RECORD_SAMPLE, 0, sample_words, n);
        assert_false(pt_perf_record_read(&whole_sample, (const void *)buf.data, &r));
    }
    pt_buf_done(&buf);
}

static void counts_in_a_sample_are_not_believed(void **state)
{
    static const size_t counts[] = {7, 13}; /* of the chain, of the stack */
    pt_buf buf = PT_BUF_INIT;
    pt_perf_record r;
    for (size_t i = 0; i < 2; i++) {
        uint64_t words[sizeof sample_words / sizeof *sample_words];
        memcpy(words, sample_words, sizeof words);
        words[counts[i]] = UINT64_MAX - 7;
        put_record(&buf, PERF_RECORD_SAMPLE, 0, words, sizeof words / sizeof *words);
        assert_false(pt_perf_record_read(&whole_sample, (const void *)buf.data, &r));
    }
    pt_buf_done(&buf);
}

/* ---- stacks ---- */

static void a_stack_by_frame_pointers_of_code_without_rules_is_unchecked(void **state)
{
    enum { LOW = 0x7000 };
    static pt_unwound stack;
    const uint64_t words[] = {5, LOW + 24, 0x20100, 0, 0x20200}, chain[] = {PERF_CONTEXT_KERNEL, 9};
    const pt_unwind_module module = {.start = 0x20000, .limit = 0x30000};
    pt_unwind_modules modules = {&module, 1, 7, NULL};
    pt_unwind_cache *const cache = calloc(1, sizeof *cache);
    uint64_t dwarf[PT_MACHINE_REGS_MAX] = {0}, regs[PT_MACHINE_REGS_MAX] = {0};
    dwarf[PT_MACHINE_HOST->pc] = 0x20010;
    dwarf[PT_MACHINE_HOST->sp] = LOW;
    dwarf[PT_MACHINE_HOST->fp] = LOW + 8;
    for (unsigned reg = 0; reg <= PT_MACHINE_HOST->pc; reg++)
        regs[pt_machine_perf_place(PT_MACHINE_HOST, reg)] = dwarf[reg];
    pt_perf_sample sample = {.abi = PERF_SAMPLE_REGS_ABI_64,
                             .regs = regs,
                             .stack = (const uint8_t *)words,
                             .stack_bytes = sizeof words,
                             .stack_room = sizeof words};
    pt_unwind_sample(&sample, &modules, NULL, cache, &stack);
    assert_int_equal(stack.count, 3);
    assert_int_equal(stack.end, PT_STACK_END_UNCHECKED);
    /* A last frame at the beginning of the program remains the beginning. */
    modules = (pt_unwind_modules){&module, 1, 8, NULL};
    sample.stack_bytes = sample.stack_room = sizeof words - 16;
    pt_unwind_sample(&sample, &modules, NULL, cache, &stack);
    assert_int_equal(stack.count, 2);
    assert_int_equal(stack.end, PT_STACK_END_TRUNCATED);
    assert_true(stack.is_copy_short);
    pt_unwound_set_root(&stack);
    assert_int_equal(stack.end, PT_STACK_END_UNCHECKED);
    assert_false(stack.is_copy_short);
    /* The next one begins anew: a thread of the kernel's is whole. */
    const pt_perf_sample kernel = {
        .abi = PERF_SAMPLE_REGS_ABI_NONE, .chain = chain, .chain_count = 2};
    pt_unwind_sample(&kernel, &modules, NULL, cache, &stack);
    assert_int_equal(stack.count, 1);
    assert_int_equal(stack.end, PT_STACK_END_ROOT);
    pt_unwound_set_root(&stack);
    assert_int_equal(stack.end, PT_STACK_END_ROOT);
    free(cache);
}

/* ---- losses ---- */

/* Events of CPUs sample every process of the machine, and so do the kernel's counts of losses. */
static void no_more_samples_are_lost_than_the_clock_has_periods_without_one(void **state)
{
    pt_capture_facts f = {
        .lost = 275, .is_beside_others = true, .period_ns = 1000000, .seen_ns = 8000000};
    assert_int_equal(pt_capture_lost(&f, 10000000), 2);
    assert_int_equal(pt_capture_lost(&f, 7000000), 0);
    assert_int_equal(pt_capture_lost(&f, 9000000000), 275);
    assert_int_equal(pt_capture_lost(&f, 0), 275); /* the clock is unknown */
    f.is_beside_others = false;                    /* the whole machine, or events of threads */
    assert_int_equal(pt_capture_lost(&f, 10000000), 275);
    f = (pt_capture_facts){.lost = 275, .is_beside_others = true, .period = 100};
    assert_int_equal(pt_capture_lost(&f, 10000000), 275); /* no clock */
}

/* ---- permissions ---- */

/* A kernel of that perf_event_paranoid, for a user who owns pid 812 only. */
typedef struct {
    int level, uid_error, all_error;
    bool is_root;
} pretended;

static int pretend(void *arg, const pt_event_plan *plan, pid_t tid)
{
    const pretended *const k = arg;
    if (k->all_error != 0) return k->all_error;
    if (k->is_root) return 0;
    if (tid > 0 && tid != 812) return tid == 813 ? EACCES : ESRCH;
    if (k->level >= 3) return EACCES;
    if (k->level >= 2 && plan->kernel) return EACCES;
    if (k->level >= 1 && tid < 0) return EACCES;
    return 0;
}

static char root[64];

static void put_file(const char *name, const char *text)
{
    PT_FREE char *path = pt_strf("%s/%s", root, name);
    for (char *slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_root(void **state)
{
    strcpy(root, "/tmp/pitot-test-XXXXXX");
    if (mkdtemp(root) == NULL) return -1;
    put_file("self/status", "Name:\ttest\nUid:\t1000\t1000\t1000\t1000\nSeccomp:\t0\n");
    put_file("812/status", "Name:\tmine\nPPid:\t1\nUid:\t1000\t1000\t1000\t1000\n");
    put_file("812/comm", "mine\n");
    put_file("813/status", "Name:\tpostgres\nPPid:\t812\nUid:\t111\t111\t111\t111\n");
    put_file("813/comm", "postgres\n");
    put_file("814/comm", "postgres\n");
    put_file("816/comm", "postgres\n");
    put_file("816/status",
             "Name:\tpostgres\nState:\tZ (zombie)\nTgid:\t816\nPPid:\t812\nThreads:\t1\n");
    put_file("817/comm", "ended\n");
    put_file("817/status",
             "Name:\tended\nState:\tZ (zombie)\nTgid:\t817\nPPid:\t813\nThreads:\t2\n");
    put_file("818/status", "Name:\ta thread\nState:\tR (running)\nTgid:\t812\nThreads:\t2\n");
    return 0;
}

static int remove_root(void **state)
{
    PT_FREE char *command = pt_strf("rm -r '%s'", root);
    return system(command);
}

static pt_status ask(pretended *k, pid_t pid, bool user, bool kernel, pt_permission *ret,
                     pt_error *reterr)
{
    char level[8];
    snprintf(level, sizeof level, "%d\n", k->level);
    put_file("sys/kernel/perf_event_paranoid", level);
    const pt_permission_kernel asked = {.try_event = pretend, .arg = k, .root = root};
    const pt_event_plan plan = {
        .source = pt_event_source_named("cpu-clock"), .user = user, .kernel = kernel};
    *ret = (pt_permission){0};
    *reterr = PT_ERROR_INIT;
    return pt_permission_ask(&asked, &plan, &pid, pid != 0, "/usr/bin/pitot", ret, reterr);
}

static void each_level_of_paranoia_gets_the_best_it_allows(void **state)
{
    static const struct {
        int level;
        bool is_allowed, is_each_thread, has_kernel;
    } rows[] = {
        {-1, true, false, true}, {0, true, false, true}, {1, true, true, true},
        {2, true, true, false},  {3, false, 0, 0},       {4, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pretended k = {.level = rows[i].level};
        pt_permission p;
        pt_error error;
        const pt_status status = ask(&k, 812, true, true, &p, &error);
        assert_int_equal(status == PT_OK, rows[i].is_allowed);
        assert_int_equal(p.is_each_thread, rows[i].is_each_thread);
        assert_int_equal(p.has_kernel, rows[i].has_kernel);
    }
}

static void what_is_missed_is_said_with_the_command_that_allows_it(void **state)
{
    pretended k = {.level = 2};
    pt_permission p;
    pt_error error;
    assert_int_equal(ask(&k, 812, true, true, &p, &error), PT_OK);
    assert_string_equal(p.note,
                        "no kernel time: kernel.perf_event_paranoid is 2; to include it, run with "
                        "sudo, or: sudo sysctl kernel.perf_event_paranoid=1 (--user leaves it out "
                        "without this line)");
    assert_int_equal(ask(&k, 812, true, false, &p, &error), PT_OK);
    assert_string_equal(p.note, "");
    assert_int_equal(ask(&k, 812, false, true, &p, &error), PT_ERR_SYSTEM);
    assert_string_equal(
        error.message,
        "sampling the kernel needs kernel.perf_event_paranoid at 1 or less (it is 2); "
        "run with sudo, or: sudo sysctl kernel.perf_event_paranoid=1");
}

static void what_is_refused_is_said_with_the_command_that_allows_it(void **state)
{
    static const struct {
        pretended kernel;
        pid_t pid;
        const char *message;
    } rows[] = {
        {{.level = 3},
         812,
         "kernel.perf_event_paranoid is 3, which restricts perf events to root; run with sudo, or: "
         "sudo sysctl kernel.perf_event_paranoid=2"},
        {{.level = 4},
         0,
         "kernel.perf_event_paranoid is 4, which restricts perf events to root; run with sudo, or: "
         "sudo sysctl kernel.perf_event_paranoid=2"},
        {{.level = 2},
         0,
         "recording the whole machine needs kernel.perf_event_paranoid at 0 or less (it is 2); run "
         "with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep /usr/bin/pitot"},
        {{.level = 2},
         813,
         "813 (postgres, uid 111) is not yours; run with sudo, or once: sudo setcap "
         "cap_bpf,cap_perfmon,cap_sys_ptrace=ep /usr/bin/pitot"},
        {{.level = 2}, 999, "there is no process 999"},
        {{.level = 2, .all_error = ENOSYS},
         812,
         "this kernel has no perf events (CONFIG_PERF_EVENTS)"},
        {{.is_root = true, .all_error = ENOENT},
         812,
         "this machine has no event cpu-clock (virtual machines often have no hardware counters); "
         "every machine has -e cpu-clock"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pretended k = rows[i].kernel;
        pt_permission p;
        pt_error error;
        assert_int_not_equal(ask(&k, rows[i].pid, true, true, &p, &error), PT_OK);
        assert_string_equal(error.message, rows[i].message);
    }
}

static void a_seccomp_filter_is_told_from_paranoia(void **state)
{
    pretended k = {.level = 2, .all_error = EPERM};
    pt_permission p;
    pt_error error;
    put_file("self/status", "Name:\ttest\nUid:\t0\t0\t0\t0\nSeccomp:\t2\n");
    assert_int_not_equal(ask(&k, 812, true, true, &p, &error), PT_OK);
    put_file("self/status", "Name:\ttest\nUid:\t1000\t1000\t1000\t1000\nSeccomp:\t0\n");
    assert_string_equal(error.message,
                        "a seccomp filter forbids perf events here; to allow them in a container, "
                        "start the container with --cap-add=PERFMON --cap-add=SYS_PTRACE "
                        "--security-opt seccomp=unconfined");
}

/* ---- who is meant ---- */

static void processes_are_named_by_number_or_name(void **state)
{
    static const struct {
        const char *word;
        size_t count;
        const char *message;
    } rows[] = {
        {"812", 1, ""},
        {"mine", 1, ""},
        {"postgres", 2, ""},
        {"mine,813,postgres", 3, ""},
        {"815", 0, "there is no process 815"},
        {"816", 0, "process 816 has ended (it is a zombie: its parent has not waited for it yet)"},
        {"817", 1, ""}, /* its first thread has ended, another has not */
        {"818,812", 1, ""},
        {"81x", 0, "there is no process 81x"},
        {"post", 0, "no process is named post (names are those of ps -e)"},
        {",", 0, "--pid names no process"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pt_pid_list pids = {0};
        pt_error error = PT_ERROR_INIT;
        pt_record_pids(root, &rows[i].word, 1, NULL, &pids, &error);
        assert_int_equal(pids.count, rows[i].count);
        assert_string_equal(error.message, rows[i].message);
        free(pids.items);
    }
}

/* 816 has ended; 817 is a child of 813, which is one of 812. */
static void what_processes_have_started_lives_and_is_not_meant_already(void **state)
{
    static const struct {
        pid_t of[2];
        size_t of_count, count;
        pid_t started[2];
    } rows[] = {
        {{812}, 1, 2, {813, 817}},
        {{813}, 1, 1, {817}},
        {{812, 813}, 2, 1, {817}},
        {{814}, 1, 0, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pid_t of[2] = {rows[i].of[0], rows[i].of[1]};
        const pt_pid_list list = {.items = of, .count = rows[i].of_count};
        pt_pid_list started;
        pt_record_descendants(root, &list, &started);
        assert_int_equal(started.count, rows[i].count);
        for (size_t n = 0; n < started.count; n++)
            assert_int_equal(started.items[n], rows[i].started[n]);
        free(started.items);
    }
}

static void a_control_group_is_found_by_name_or_folder(void **state)
{
    PT_FREE char *mounts =
        pt_strf("36 35 0:29 / %s/fs/pids rw - cgroup cgroup rw,pids\n"
                "37 35 0:30 / %s/fs/unified rw,relatime shared:9 - cgroup2 c rw\n"
                "38 35 0:31 / / rw - ext4 /dev/x rw\n",
                root, root);
    put_file("self/mountinfo", mounts);
    put_file("fs/pids/tasks", "");
    put_file("fs/unified/a.slice/b/cpu.stat", "usage_usec 1500\nuser_usec 1000\n");
    put_file("901/cgroup", "2:pids:/\n0::/a.slice/b\n");
    put_file("902/cgroup", "2:pids:/\n0::/a.slicer\n");
    PT_FREE char *folder = pt_strf("%s/fs/unified/a.slice/", root);
    const struct {
        const char *typed, *group;
        bool has_901, has_902;
        uint64_t used_ns;
    } rows[] = {
        {"/a.slice", "/a.slice", true, false, 0},
        {"a.slice/b/", "/a.slice/b", true, false, 1500000},
        {folder, "/a.slice", true, false, 0},
        {"/", "", true, true, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        PT_FREE char *group = NULL;
        assert_int_equal(pt_cgroup_find(root, rows[i].typed, &group, NULL), PT_OK);
        assert_string_equal(group, rows[i].group);
        assert_int_equal(pt_cgroup_has(root, group, 901, false), rows[i].has_901);
        assert_int_equal(pt_cgroup_has(root, group, 902, false), rows[i].has_902);
        assert_int_equal(pt_cgroup_used_ns(root, group), rows[i].used_ns);
    }
    pt_error error = PT_ERROR_INIT;
    char *none = NULL;
    assert_int_equal(pt_cgroup_find(root, "/a.slic", &none, &error), PT_ERR_NOTFOUND);
    assert_string_equal(error.message, "there is no control group /a.slic (names are those of "
                                       "/proc/PID/cgroup)");
}

/* A process at its end has left the groups of version 1; a process that is gone has no group. */
static void a_process_at_its_end_is_in_the_group_it_was_in(void **state)
{
    static const struct {
        const char *cgroup, *stat;
        uint32_t pid;
        bool if_it_was, if_it_was_not;
    } rows[] = {
        {"2:pids:/\n", "911 (a) b) c) R 1 2 3 4 5 4194304 0\n", 911, false, false},
        {"2:pids:/\n", "912 (a) b) c) R 1 2 3 4 5 4194308 0\n", 912, true, false},
        {"2:pids:/g/below\n", "913 (a) Z 1 2 3 4 -1 4 0\n", 913, true, true},
        {NULL, NULL, 914, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        PT_FREE char *cgroup = pt_strf("%u/cgroup", rows[i].pid);
        PT_FREE char *stat = pt_strf("%u/stat", rows[i].pid);
        if (rows[i].cgroup != NULL) put_file(cgroup, rows[i].cgroup);
        if (rows[i].stat != NULL) put_file(stat, rows[i].stat);
        assert_int_equal(pt_cgroup_has(root, "/g", rows[i].pid, true), rows[i].if_it_was);
        assert_int_equal(pt_cgroup_has(root, "/g", rows[i].pid, false), rows[i].if_it_was_not);
    }
}

/* perf_event_open(2), PERF_FLAG_PID_CGROUP: the folder must be one of the hierarchy with
 * perf_event, which is that of version 2 unless version 1 has it. */
static void a_control_group_is_opened_where_the_kernel_has_events_of_it(void **state)
{
    static const char second[] = "37 35 0:30 / %s/open/second rw - cgroup2 c rw\n";
    static const char pids[] = "36 35 0:29 / %s/open/pids rw - cgroup cgroup rw,pids\n";
    static const char perf[] = "38 35 0:31 / %s/open/perf rw - cgroup cgroup rw,perf_event\n";
    put_file("open/second/all/cgroup.procs", "");
    put_file("open/second/full/cgroup.events", "populated 1\nfrozen 0\n");
    put_file("open/second/empty/cgroup.events", "populated 0\nfrozen 0\n");
    put_file("open/second/alone/cgroup.events", "populated 0\nfrozen 0\n");
    put_file("open/pids/full/cgroup.procs", "");
    put_file("open/pids/empty/cgroup.procs", "");
    put_file("open/pids/only/cgroup.procs", "");
    put_file("open/perf/all/cgroup.procs", "");
    const struct {
        const char *first, *next, *group, *folder;
    } rows[] = {
        {second, "", "/all", "/open/second/all"},
        {perf, second, "/all", "/open/perf/all"},
        {second, perf, "/all", "/open/perf/all"},
        {perf, second, "/full", NULL},
        {pids, second, "/full", "/open/second/full"},
        {pids, second, "/empty", NULL},
        {pids, second, "/alone", "/open/second/alone"},
        {pids, second, "/only", NULL},
        {pids, "", "/only", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        PT_FREE char *mounts = pt_strf(rows[i].first, root);
        PT_FREE char *more = rows[i].next[0] != '\0' ? pt_strf(rows[i].next, root) : pt_strdup("");
        PT_FREE char *both = pt_strf("%s%s", mounts, more);
        put_file("self/mountinfo", both);
        const int fd = pt_cgroup_open(root, rows[i].group);
        assert_int_equal(fd >= 0, rows[i].folder != NULL);
        if (fd < 0) continue;
        PT_FREE char *path = pt_strf("%s%s", root, rows[i].folder);
        struct stat opened, named;
        assert_int_equal(fstat(fd, &opened), 0);
        assert_int_equal(stat(path, &named), 0);
        assert_int_equal(opened.st_ino, named.st_ino);
        close(fd);
    }
}

/* Records of the BPF program have the id of its output, and the period with which the sampling
 * event was opened. */
static void repeated_first_ticks_count_by_chance_whoever_wrote_the_sample(void **state)
{
    enum { FIRST = 100, PERIOD = 1000, COUNT = 10000, EXPECTED = COUNT * FIRST / PERIOD };
    pt_event_row rows[] = {{.id = 1, .first = 700, .period = PERIOD, .settled_ns = UINT64_MAX},
                           {.id = 2, .first = FIRST, .period = PERIOD, .settled_ns = UINT64_MAX}};
    pt_event_thread cpus = {.tid = -1, .rows = rows};
    pt_event_thread *slots[] = {&cpus};
    pt_ring_pair pair = {.cpu = 0};
    uint32_t pair_of_cpu = 0;
    pt_event_set set = {.pairs = &pair,
                        .pair_count = 1,
                        .timers = 2,
                        .pair_of_cpu = &pair_of_cpu,
                        .cpu_limit = 1,
                        .threads = {.slots = slots, .count = 1},
                        .random = 1};
    const pt_bpf_stack stack = {.period = FIRST};
    pt_perf_record copied = {.type = PERF_RECORD_SAMPLE, .id = 2, .time_ns = 5};
    pt_perf_record walked = {.type = PERF_RECORD_SAMPLE, .id = 9, .time_ns = 5};
    pt_perf_record known = walked;
    walked.sample.walked = &stack;
    known.sample.known = &stack;
    assert_true(pt_event_set_counts(&set, &copied)); /* the first tick itself */
    const pt_perf_record *const kinds[] = {&copied, &walked, &known};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int count = 0;
        for (int i = 0; i < COUNT; i++)
            count += pt_event_set_counts(&set, kinds[k]);
        assert_in_range(count, EXPECTED - 180, EXPECTED + 180); /* six deviations */
    }
    rows[1].settled_ns = 4;
    assert_true(pt_event_set_counts(&set, &walked)); /* a tick of its period */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_that_wrap_around_come_in_one_piece),
        cmocka_unit_test(a_ring_that_makes_no_sense_is_skipped),
        cmocka_unit_test(a_sample_has_what_was_asked_for_in_the_kernels_order),
        cmocka_unit_test(a_compact_sample_says_the_same),
        cmocka_unit_test(a_walked_sample_has_its_stack_and_one_register),
        cmocka_unit_test(the_head_of_a_known_stack_stands_for_a_stack),
        cmocka_unit_test(a_stack_is_known_until_another_takes_its_place),
        cmocka_unit_test(all_cpus_share_one_copy_of_a_stack),
        cmocka_unit_test(waits_come_as_stacks_walked_or_copied_and_as_ends),
        cmocka_unit_test(the_kind_of_a_wait_is_that_of_its_call_or_file),
        cmocka_unit_test(a_code_object_is_no_sample_and_its_copies_lie_in_its_record),
        cmocka_unit_test(a_sample_cut_anywhere_is_no_sample),
        cmocka_unit_test(counts_in_a_sample_are_not_believed),
        cmocka_unit_test(repeated_first_ticks_count_by_chance_whoever_wrote_the_sample),
        cmocka_unit_test(a_stack_by_frame_pointers_of_code_without_rules_is_unchecked),
        cmocka_unit_test(no_more_samples_are_lost_than_the_clock_has_periods_without_one),
        cmocka_unit_test(each_level_of_paranoia_gets_the_best_it_allows),
        cmocka_unit_test(what_is_missed_is_said_with_the_command_that_allows_it),
        cmocka_unit_test(what_is_refused_is_said_with_the_command_that_allows_it),
        cmocka_unit_test(a_seccomp_filter_is_told_from_paranoia),
        cmocka_unit_test(processes_are_named_by_number_or_name),
        cmocka_unit_test(what_processes_have_started_lives_and_is_not_meant_already),
        cmocka_unit_test(a_control_group_is_found_by_name_or_folder),
        cmocka_unit_test(a_process_at_its_end_is_in_the_group_it_was_in),
        cmocka_unit_test(a_control_group_is_opened_where_the_kernel_has_events_of_it),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
