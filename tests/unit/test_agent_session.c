/* test_agent_session.c: the library's own functions in this program, and the file they write word
 * for word, by the original's file format specification. The samples are the test's: a filter
 * refuses all ticks, and stacks are put into the ring as a tick would.
 */
#include "base_check.h"

#include "agent/agent.h"
#include "gperftools/profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static char path[96];

static int refuse(void *arg)
{
    return 0;
}

static const struct ProfilerOptions no_ticks = {.filter_in_thread = refuse};

static void first_ring(pt_tick_ring *ring, void *arg)
{
    pt_tick_ring **const found = arg;
    if (*found == NULL) *found = ring;
}

/* A sample of the running session: weight ticks with these addresses, leaf first. */
static void sample(uint32_t weight, const uint64_t *pcs, uint32_t depth)
{
    pt_tick_ring *ring = NULL;
    pt_caller caller;
    pt_agent_lock(&caller);
    pt_threads_each_ring(first_ring, &ring);
    assert_non_null(ring);
    const uint64_t mask = ring->ring_words - 1, head = ring->head_words;
    for (uint32_t i = 0; i < depth; i++)
        ring->words[(head + 1 + i) & mask] = pcs[i];
    ring->words[head & mask] = pt_tick_ring_word(weight, depth, PT_JOURNAL_END_ROOT);
    ring->weight += weight;
    __atomic_store_n(&ring->head_words, head + 1 + depth, __ATOMIC_RELEASE);
    pt_agent_unlock(&caller);
}
#define SAMPLE(weight, ...)                                                                        \
    do {                                                                                           \
        static const uint64_t pcs_[] = {__VA_ARGS__};                                              \
        sample(weight, pcs_, sizeof pcs_ / sizeof pcs_[0]);                                        \
    } while (0)

/* The file begins with these words, and text follows. */
static void file_is(const char *name, const uintptr_t *words, size_t count)
{
    uintptr_t seen[64];
    char text[4];
    FILE *const file = fopen(name, "rb");
    assert_non_null(file);
    assert_true(count < sizeof seen / sizeof seen[0]);
    assert_int_equal(fread(seen, sizeof seen[0], count, file), count);
    assert_memory_equal(seen, words, count * sizeof words[0]);
    assert_int_equal(fread(text, 1, sizeof text, file), sizeof text);
    fclose(file);
    /* The list of mappings: an address in hex. */
    for (size_t i = 0; i < sizeof text; i++)
        assert_non_null(strchr("0123456789abcdef", text[i]));
}
#define FILE_IS(name, ...)                                                                         \
    do {                                                                                           \
        static const uintptr_t words_[] = {__VA_ARGS__};                                           \
        file_is(name, words_, sizeof words_ / sizeof words_[0]);                                   \
    } while (0)

#define HEADER  0, 3, 0, 10000, 0
#define TRAILER 0, 1, 0

static int begin(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/pitot-session.XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/prof", folder);
    return 0;
}

static int end(void **state)
{
    char other[128];
    ProfilerStop();
    unlink(path);
    snprintf(other, sizeof other, "%s2", path);
    unlink(other);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left */
    return 0;
}

static void nothing_happens_when_none_runs(void **state)
{
    struct ProfilerState now;
    ProfilerFlush();
    ProfilerStop();
    ProfilerGetCurrentState(&now);
    assert_int_equal(now.enabled, 0);
    assert_string_equal(now.profile_name, "");
    assert_int_equal(ProfilingIsEnabledForAllThreads(), 0);
}

static void profile_of_nothing_is_header_and_trailer(void **state)
{
    assert_true(ProfilerStartWithOptions(path, &no_ticks));
    ProfilerStop();
    FILE_IS(path, HEADER, TRAILER);
}

static void second_start_fails_and_the_first_goes_on(void **state)
{
    char other[128];
    struct ProfilerState now;
    snprintf(other, sizeof other, "%s2", path);
    assert_true(ProfilerStartWithOptions(path, &no_ticks));
    SAMPLE(1, 0x10, 0x20);
    assert_false(ProfilerStartWithOptions(other, &no_ticks));
    ProfilerGetCurrentState(&now);
    assert_string_equal(now.profile_name, path);
    assert_int_equal(now.samples_gathered, 1);
    ProfilerStop();
    FILE_IS(path, HEADER, 1, 2, 0x10, 0x20, TRAILER);
    assert_int_equal(access(other, F_OK), -1);
}

static void one_stack_is_one_record(void **state)
{
    assert_true(ProfilerStartWithOptions(path, &no_ticks));
    SAMPLE(1, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000);
    ProfilerStop();
    FILE_IS(path, HEADER, 1, 5, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, TRAILER);
}

static void equal_stacks_are_one_record_with_their_count(void **state)
{
    assert_true(ProfilerStartWithOptions(path, &no_ticks));
    SAMPLE(1, 0x1000, 0x2000);
    SAMPLE(2, 0x1000, 0x2000);
    SAMPLE(1, 0x1000, 0x2001);
    SAMPLE(1, 0x1000, 0x2000);
    ProfilerStop();
    FILE_IS(path, HEADER, 4, 2, 0x1000, 0x2000, 1, 2, 0x1000, 0x2001, TRAILER);
}

static void flush_leaves_a_whole_file_and_what_follows_is_added(void **state)
{
    assert_true(ProfilerStartWithOptions(path, &no_ticks));
    SAMPLE(1, 0x1000, 0x2000);
    ProfilerFlush();
    FILE_IS(path, HEADER, 1, 2, 0x1000, 0x2000, TRAILER);
    SAMPLE(1, 0x1000, 0x2000);
    SAMPLE(1, 0x7000);
    ProfilerFlush();
    ProfilerStop();
    FILE_IS(path, HEADER, 2, 2, 0x1000, 0x2000, 1, 1, 0x7000, TRAILER);
}

static void profile_after_another_has_nothing_of_it(void **state)
{
    for (int round = 0; round < 3; round++) {
        assert_true(ProfilerStartWithOptions(path, &no_ticks));
        SAMPLE(1, 0x1000, 0x2000);
        ProfilerStop();
        FILE_IS(path, HEADER, 1, 2, 0x1000, 0x2000, TRAILER);
    }
}

static void record_never_begins_with_address_zero(void **state)
{
    assert_true(ProfilerStartWithOptions(path, &no_ticks));
    SAMPLE(1, 0, 0x2000);
    SAMPLE(1, 0x3000, 0);
    ProfilerStop();
    FILE_IS(path, HEADER, 1, 2, 1, 0x2000, 1, 2, 0x3000, 0, TRAILER);
}

static void file_may_be_replaced_but_a_folder_is_not(void **state)
{
    assert_false(ProfilerStartWithOptions(folder, &no_ticks));
    assert_false(ProfilerStartWithOptions("", &no_ticks));
    assert_false(ProfilerStart(NULL));
    assert_int_equal(ProfilingIsEnabledForAllThreads(), 0);
}

/* Where a table lies whose dynamic section says an address. */
static void tables_are_found_where_they_are_loaded(void **state)
{
    /* The vdso of Linux before 3.16, whose addresses as linked are above the base. */
    const ElfW(Phdr)
        vdso[] = {{.p_type = PT_NOTE, .p_vaddr = 0, .p_memsz = UINTPTR_MAX},
                  {.p_type = PT_LOAD, .p_vaddr = (uintptr_t)-0x900000, .p_memsz = 0xa00}};
    const uintptr_t mapped = (uintptr_t)0x7ff12345000, bias = mapped + 0x900000;
    assert_true(pt_loaded_addr(vdso, 2, bias, (uintptr_t)-0x900000 + 0x160) == mapped + 0x160);
    assert_true(pt_loaded_addr(vdso, 2, bias, mapped + 0x160) == mapped + 0x160);
    assert_true(pt_loaded_addr(vdso, 2, bias, mapped + 0xa00) == 0);
    /* A library, with the loaded address (glibc) and with the address as linked (musl). */
    const ElfW(Phdr) library[] = {{.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 0x1000},
                                  {.p_type = PT_LOAD, .p_vaddr = 0x2000, .p_memsz = 0x1000}};
    assert_true(pt_loaded_addr(library, 2, 0x70000000, 0x70002010) == 0x70002010);
    assert_true(pt_loaded_addr(library, 2, 0x70000000, 0x2010) == 0x70002010);
    assert_true(pt_loaded_addr(library, 2, 0x70000000, 0x1010) == 0);
    /* A program that is not moved. */
    const ElfW(Phdr) fixed[] = {{.p_type = PT_LOAD, .p_vaddr = 0x400000, .p_memsz = 0x1000}};
    assert_true(pt_loaded_addr(fixed, 1, 0, 0x400010) == 0x400010);
}

int main(void)
{
    unsetenv("CPUPROFILE_FREQUENCY");
    unsetenv("PITOT_FORMAT");
    static const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, begin, end)
        ROW(nothing_happens_when_none_runs),
        ROW(profile_of_nothing_is_header_and_trailer),
        ROW(second_start_fails_and_the_first_goes_on),
        ROW(one_stack_is_one_record),
        ROW(equal_stacks_are_one_record_with_their_count),
        ROW(flush_leaves_a_whole_file_and_what_follows_is_added),
        ROW(profile_after_another_has_nothing_of_it),
        ROW(record_never_begins_with_address_zero),
        ROW(file_may_be_replaced_but_a_folder_is_not),
        cmocka_unit_test(tables_are_found_where_they_are_loaded),
    };
    return cmocka_run_group_tests_name("agent_session", tests, NULL, NULL);
}
