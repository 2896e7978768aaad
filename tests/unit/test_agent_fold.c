/* test_agent_fold.c: ring, drain and journal of the in-process library with ordinary threads as
 * producers, so that the thread sanitizer sees them too: tsan puts signals off, and the handler's
 * own archive is never instrumented. fold.c, journal.c, publish.c and util.c are compiled here once
 * more.
 */
#include "base_check.h"

#include "agent/agent.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PRODUCERS = 4, SAMPLES = 20000, STACKS = 37, WORDS = 1024, DEPTH_MAX = 20 };

pt_session pt_agent;
static pt_tick_ring *rings[PRODUCERS];
static uint64_t refreshes;
static bool is_expired; /* a library was unloaded */

/* The functions of the library that fold.c calls. */
void pt_threads_each_ring(void (*use)(pt_tick_ring *ring, void *arg), void *arg)
{
    for (int i = 0; i < PRODUCERS; i++)
        use(rings[i], arg);
}

bool pt_maps_known(uint64_t addr)
{
    return addr < 0x900000; /* the rest makes it look again */
}

enum { LASTING = 4 }; /* the stack whose code the program began with */

static uint64_t pc_of(unsigned stack, uint32_t frame);

bool pt_maps_lasts(uint64_t addr)
{
    return addr >= pc_of(LASTING, 0) && addr < pc_of(LASTING + 1, 0);
}

void pt_maps_learn(void)
{
    refreshes++;
}

bool pt_maps_are_expired(void)
{
    return is_expired;
}

uint16_t pt_maps_epoch_of(const uint64_t *pcs, uint32_t depth)
{
    return 0;
}

uint32_t pt_languages_merge(const uint64_t *words, uint32_t native, uint32_t frames, bool is_whole,
                            uint64_t *ret_chain, bool *ret_certain)
{
    memcpy(ret_chain, words, (native + frames) * sizeof words[0]);
    *ret_certain = true;
    return native + frames;
}

/* ---- producers ---- */

static uint32_t depth_of(unsigned stack)
{
    return 1 + stack % DEPTH_MAX;
}

static uint64_t pc_of(unsigned stack, uint32_t frame)
{
    return 0x1000 * (stack + 1) + frame;
}

/* As tick.c publishes a sample: the words, then head_words. False: no room. */
static bool publish(pt_tick_ring *ring, unsigned stack, uint32_t weight)
{
    const uint64_t mask = ring->ring_words - 1, head = ring->head_words;
    const uint64_t tail = __atomic_load_n(&ring->tail_words, __ATOMIC_ACQUIRE);
    const uint32_t depth = depth_of(stack);
    if (ring->ring_words - (head - tail) < depth + 1) return false;
    for (uint32_t i = 0; i < depth; i++)
        ring->words[(head + 1 + i) & mask] = pc_of(stack, i);
    ring->words[head & mask] = pt_tick_ring_word(weight, depth, PT_JOURNAL_END_ROOT);
    __atomic_store_n(&ring->head_words, head + 1 + depth, __ATOMIC_RELEASE);
    return true;
}

static void *produce(void *arg)
{
    pt_tick_ring *const ring = arg;
    unsigned stack = (unsigned)ring->tid;
    for (int i = 0; i < SAMPLES; i++) {
        stack = stack * 1103515245u + 12345u;
        while (!publish(ring, stack / 65536 % STACKS, 1 + stack / 65536 % 3))
            sched_yield();
    }
    return NULL;
}

static atomic_bool over;

static void *drain(void *arg)
{
    while (!atomic_load(&over)) {
        pt_fold_rings();
        sched_yield();
    }
    return NULL;
}

/* ---- what is in the journal ---- */

typedef struct {
    uint64_t weight[STACKS];
    unsigned records;
} found;

static void take(const pt_journal_stack *record, void *arg)
{
    found *const f = arg;
    const uint64_t *const pcs = (const uint64_t *)(record + 1);
    const unsigned stack = (unsigned)(pcs[0] / 0x1000 - 1);
    assert_true(stack < STACKS);
    assert_int_equal(record->depth, depth_of(stack));
    for (uint32_t i = 0; i < record->depth; i++)
        assert_int_equal(pcs[i], pc_of(stack, i));
    f->weight[stack] += record->count;
    f->records++;
}

static int open_journal(void **state)
{
    static uint64_t memory[PRODUCERS][sizeof(pt_tick_ring) / sizeof(uint64_t) + WORDS];
    memset(memory, 0, sizeof memory);
    assert_true(pt_journal_open(&pt_agent.journal));
    pt_publish_begin("");
    for (int i = 0; i < PRODUCERS; i++) {
        rings[i] = (pt_tick_ring *)memory[i];
        rings[i]->ring_words = WORDS;
        rings[i]->tid = (uint64_t)i + 1;
    }
    refreshes = 0;
    pt_fold_reset();
    return 0;
}

static int close_journal(void **state)
{
    pt_journal_close(&pt_agent.journal, false);
    return 0;
}

static void samples_of_four_threads_are_folded_and_none_is_lost(void **state)
{
    pthread_t producers[PRODUCERS], drainer;
    found f = {{0}, 0};
    uint64_t expected[STACKS] = {0};
    atomic_store(&over, false);
    pthread_create(&drainer, NULL, drain, NULL);
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&producers[i], NULL, produce, rings[i]);
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    atomic_store(&over, true);
    pthread_join(drainer, NULL);
    pt_fold_rings();
    for (unsigned i = 1; i <= PRODUCERS; i++) {
        unsigned stack = i;
        for (int n = 0; n < SAMPLES; n++) {
            stack = stack * 1103515245u + 12345u;
            expected[stack / 65536 % STACKS] += 1 + stack / 65536 % 3;
        }
    }
    pt_fold_each(take, &f);
    assert_int_equal(f.records, STACKS);
    assert_memory_equal(f.weight, expected, sizeof expected);
    assert_int_equal(pt_agent.journal.header->fold_dropped, 0);
}

static void a_ring_tells_how_full_it_was(void **state)
{
    assert_true(publish(rings[0], 4, 1)); /* five frames */
    assert_true(publish(rings[1], 0, 1));
    assert_int_equal(pt_fold_rings(), 6);
    assert_int_equal(pt_fold_rings(), 0);
}

static void a_record_may_go_round_the_end_of_a_ring(void **state)
{
    found f = {{0}, 0};
    for (int i = 0; i < 300; i++) { /* 21 words each, and 1024 is no multiple of that */
        assert_true(publish(rings[2], 19, 2));
        pt_fold_rings();
    }
    pt_fold_each(take, &f);
    assert_int_equal(f.records, 1);
    assert_int_equal(f.weight[19], 600);
}

static void the_present_mappings_are_read_again_once_a_round(void **state)
{
    static const uint64_t far = 0x10000000;
    for (int i = 0; i < 3; i++) {
        pt_tick_ring *const ring = rings[i];
        ring->words[0] = pt_tick_ring_word(1, 1, PT_JOURNAL_END_ROOT);
        ring->words[1] = far + (uint64_t)i;
        __atomic_store_n(&ring->head_words, 2, __ATOMIC_RELEASE);
    }
    pt_fold_rings();
    assert_int_equal(refreshes, 1);
}

/* Writes a sample of those addresses to the first ring. */
static void publish_pcs(const uint64_t *pcs, uint32_t depth, uint32_t weight)
{
    pt_tick_ring *const ring = rings[0];
    for (uint32_t i = 0; i < depth; i++)
        ring->words[ring->head_words + 1 + i] = pcs[i];
    ring->words[ring->head_words] = pt_tick_ring_word(weight, depth, PT_JOURNAL_END_ROOT);
    __atomic_store_n(&ring->head_words, ring->head_words + 1 + depth, __ATOMIC_RELEASE);
}

typedef struct {
    uint64_t pcs[8], count;
    uint32_t depth;
    unsigned records;
} last_stack;

static void take_last(const pt_journal_stack *record, void *arg)
{
    last_stack *const last = arg;
    memcpy(last->pcs, record + 1, record->depth * sizeof last->pcs[0]);
    last->depth = record->depth;
    last->count = record->count;
    last->records++;
}

/* The library at [0x8000, 0x9000), of which functions from 0x8800 pass on. */
static void a_recording_counts_what_the_library_does_apart(void **state)
{
    static const uint64_t leaf[] = {0x8100, 0x1000}, in_libc[] = {0x7000, 0x8100, 0x8900, 0x1000},
                          passing_leaf[] = {0x8900, 0x1000},
                          passed[] = {0x7000, 0x8900, 0x1000, 0x8a00, 0x2000},
                          host[] = {0x7fff, 0x9000};
    last_stack last = {.depth = 0};
    pt_agent.journal.header->spans.own_code = (pt_journal_span){0x8000, 0x9000};
    pt_agent.journal.header->spans.passing_code = (pt_journal_span){0x8800, 0x9000};
    pt_agent.recording = true;
    publish_pcs(leaf, 2, 1);
    publish_pcs(in_libc, 4, 2);
    publish_pcs(passing_leaf, 2, 4);
    pt_fold_rings();
    pt_fold_each(take_last, &last);
    assert_int_equal(last.records, 0);
    assert_int_equal(pt_agent.journal.header->own_weight, 7);
    publish_pcs(passed, 5, 8);
    pt_fold_rings();
    pt_fold_each(take_last, &last);
    assert_int_equal(last.records, 1);
    assert_int_equal(last.count, 8);
    assert_int_equal(last.depth, 3);
    assert_int_equal(last.pcs[0], 0x7000);
    assert_int_equal(last.pcs[1], 0x1000);
    assert_int_equal(last.pcs[2], 0x2000);
    publish_pcs(host, 2, 16);
    pt_fold_rings();
    assert_int_equal(pt_agent.journal.header->own_weight, 7);
    pt_agent.recording = false; /* outside recordings it is not reported, as in gperftools */
    publish_pcs(leaf, 2, 32);
    pt_fold_rings();
    pt_fold_each(take_last, &last);
    assert_int_equal(last.count, 32);
    assert_int_equal(pt_agent.journal.header->own_weight, 7);
    pt_agent.journal.header->spans = (pt_journal_spans){0};
}

/* ---- copies ---- */

/* The one record of a copies area, or NULL. */
static const pt_journal_copy *find_copy(void)
{
    const pt_agent_journal *const journal = &pt_agent.journal;
    for (size_t at = PT_JOURNAL_HEADER_BYTES; at < journal->used_bytes;) {
        const pt_journal_area *const area = (const pt_journal_area *)(journal->base + at);
        if (area->kind == PT_JOURNAL_COPIES && area->used_bytes > 0)
            return (const pt_journal_copy *)(area + 1);
        at += area->size_bytes;
    }
    return NULL;
}

static void a_copied_stack_goes_into_the_journal_as_it_is(void **state)
{
    enum { STACK_WORDS = 40, WORDS_IN_ALL = PT_MACHINE_REGS_MAX + STACK_WORDS };
    pt_tick_ring *const ring = rings[0];
    const uint64_t mask = ring->ring_words - 1;
    ring->head_words = ring->tail_words = WORDS - 10; /* it goes round the end */
    for (uint64_t i = 0; i < WORDS_IN_ALL; i++)
        ring->words[(ring->head_words + 1 + i) & mask] = 0x1000 + i;
    ring->words[ring->head_words & mask] = pt_tick_ring_word(3, WORDS_IN_ALL, PT_TICK_CUT_COPY);
    __atomic_store_n(&ring->head_words, ring->head_words + 1 + WORDS_IN_ALL, __ATOMIC_RELEASE);
    pt_fold_rings();
    const pt_journal_copy *const copy = find_copy();
    assert_non_null(copy);
    assert_int_equal(copy->weight, 3);
    assert_int_equal(copy->reg_count, PT_MACHINE_REGS_MAX);
    assert_int_equal(copy->stack_words, STACK_WORDS);
    assert_int_equal(copy->is_cut, 1);
    for (uint64_t i = 0; i < WORDS_IN_ALL; i++)
        assert_int_equal(((const uint64_t *)(copy + 1))[i], 0x1000 + i);
    assert_int_equal(refreshes, 1); /* what is mapped is known when it is walked */
    assert_int_equal(ring->tail_words, ring->head_words);
}

static void after_an_unloading_mappings_are_read_at_the_next_sample_of_other_code(void **state)
{
    is_expired = true;
    pt_fold_rings();
    assert_int_equal(refreshes, 0);
    assert_true(publish(rings[0], LASTING, 1));
    pt_fold_rings();
    assert_int_equal(refreshes, 0);
    assert_true(publish(rings[0], 1, 1));
    pt_fold_rings();
    assert_int_equal(refreshes, 1);
    is_expired = false;
    assert_true(publish(rings[0], 1, 1));
    pt_fold_rings();
    assert_int_equal(refreshes, 1);
}

static void take_head(const pt_journal_stack *record, void *arg)
{
    *(pt_journal_stack *)arg = *record;
}

/* Native frames, those of V8 and those of CPython are more than a stack has room for. */
static void a_stack_has_no_more_words_than_a_chain(void **state)
{
    enum { NATIVE = 512 + 480, FRAMES = 512, IN_ALL = NATIVE + FRAMES };
    static uint64_t memory[sizeof(pt_tick_ring) / sizeof(uint64_t) + 2048];
    pt_tick_ring *const ring = (pt_tick_ring *)memory, *const other = rings[0];
    pt_journal_stack last = {0};
    ring->ring_words = 2048;
    for (uint64_t i = 0; i < IN_ALL; i++)
        ring->words[1 + i] = 0x1000 + i;
    ring->words[0] = pt_tick_ring_mixed_word(3, IN_ALL, FRAMES, PT_JOURNAL_END_ROOT);
    __atomic_store_n(&ring->head_words, 1 + IN_ALL, __ATOMIC_RELEASE);
    rings[0] = ring;
    pt_fold_rings();
    rings[0] = other;
    pt_fold_each(take_head, &last);
    assert_int_equal(last.count, 3);
    assert_int_equal(last.depth, PT_JOURNAL_CHAIN_MAX);
    assert_int_equal(ring->tail_words, ring->head_words);
}

/* Its native frames reach the start of the thread, those of an interpreter the last one or not. */
static void a_stack_without_outer_frames_of_an_interpreter_is_truncated(void **state)
{
    pt_tick_ring *const ring = rings[0];
    for (uint64_t i = 0; i < 2; i++) {
        pt_journal_stack last = {0};
        const uint64_t head = ring->head_words, mask = ring->ring_words - 1;
        ring->words[head & mask] = pt_tick_ring_mixed_word(1, 2, 1, PT_JOURNAL_END_ROOT);
        ring->words[(head + 1) & mask] = 0x1000 + i;
        ring->words[(head + 2) & mask] = PT_INTERP_FRAME | (i == 0 ? PT_INTERP_LAST : 0);
        __atomic_store_n(&ring->head_words, head + 3, __ATOMIC_RELEASE);
        pt_fold_rings();
        pt_fold_each(take_head, &last);
        assert_int_equal(last.end, i == 0 ? PT_JOURNAL_END_ROOT : PT_JOURNAL_END_TRUNCATED);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, open_journal, close_journal)
        ROW(samples_of_four_threads_are_folded_and_none_is_lost),
        ROW(a_ring_tells_how_full_it_was),
        ROW(after_an_unloading_mappings_are_read_at_the_next_sample_of_other_code),
        ROW(a_record_may_go_round_the_end_of_a_ring),
        ROW(the_present_mappings_are_read_again_once_a_round),
        ROW(a_recording_counts_what_the_library_does_apart),
        ROW(a_copied_stack_goes_into_the_journal_as_it_is),
        ROW(a_stack_has_no_more_words_than_a_chain),
        ROW(a_stack_without_outer_frames_of_an_interpreter_is_truncated),
    };
    return cmocka_run_group_tests_name("agent_fold", tests, NULL, NULL);
}
