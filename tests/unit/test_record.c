/* test_record.c: what a recording takes out of a folder of journals that programs, or others, left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "recording/recording.h"

static char folder[64];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/pitot-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static void forget(const char *name)
{
    PT_FREE char *path = pt_strf("%s/%s", folder, name);
    unlink(path);
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"a.journal", "b.journal",      "c.journal",     "real",
                                        "messages",  PT_JOURNAL_SHORT, PT_JOURNAL_BRIEF};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        forget(names[i]);
    return rmdir(folder);
}

/* Stacks of one frame each, `count` samples at each address, all ended for want of a rule. */
typedef struct {
    uint64_t pc, count;
} stack;

static void put_area(pt_buf *buf, uint32_t kind, const pt_buf *records)
{
    const pt_journal_area area = {.magic = PT_JOURNAL_AREA_MAGIC,
                                  .kind = kind,
                                  .size_bytes = PT_JOURNAL_ALIGN_BYTES,
                                  .used_bytes = records->size};
    const size_t end = buf->size + PT_JOURNAL_ALIGN_BYTES;
    pt_put(buf, &area, sizeof area);
    pt_put(buf, records->data, records->size);
    while (buf->size < end)
        pt_put_u8(buf, 0);
}

/* /heavy is mapped at 0x10000, /light at 0x20000, a page each. */
static void put_maps(pt_buf *buf)
{
    pt_buf records = PT_BUF_INIT;
    for (uint64_t i = 1; i <= 2; i++) {
        const pt_journal_map map = {.start = i << 16,
                                    .limit = (i << 16) + 4096,
                                    .epoch_to = UINT32_MAX,
                                    .prot = 5,
                                    .path_bytes = 6};
        pt_put(&records, &map, sizeof map);
        pt_put(&records, i == 1 ? "/heavy\0" : "/light\0", 8);
    }
    put_area(buf, PT_JOURNAL_MAPS, &records);
    pt_buf_done(&records);
}

static void put_journal(const char *name, uint32_t pid, uint64_t counters, const stack *stacks,
                        size_t count)
{
    const pt_journal_header header = {.magic = {'P', 'I', 'T', 'O', 'T', 'J', 'N', 'L'},
                                      .byte_order = PT_JOURNAL_BYTE_ORDER,
                                      .version = PT_JOURNAL_VERSION,
                                      .header_bytes = PT_JOURNAL_HEADER_BYTES,
                                      .word_bytes = 8,
                                      .pid = pid,
                                      .end = PT_JOURNAL_EXITED,
                                      .asked_hz = 1000,
                                      .period_ns = 1000000,
                                      .cpu_before_ns = counters,
                                      .cpu_used_ns = counters,
                                      .cpu_own_ns = counters,
                                      .fold_dropped = counters,
                                      .threads_unsampled = counters};
    pt_buf buf = PT_BUF_INIT, records = PT_BUF_INIT;
    pt_put(&buf, &header, sizeof header);
    while (buf.size < PT_JOURNAL_HEADER_BYTES)
        pt_put_u8(&buf, 0);
    put_maps(&buf);
    for (size_t i = 0; i < count; i++) {
        const pt_journal_stack s = {
            .count = stacks[i].count, .depth = 1, .end = PT_JOURNAL_END_NO_RULE};
        pt_put(&records, &s, sizeof s);
        pt_put(&records, &stacks[i].pc, 8);
    }
    put_area(&buf, PT_JOURNAL_STACKS, &records);
    PT_FREE char *path = pt_strf("%s/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(buf.data, 1, buf.size, file), buf.size);
    assert_int_equal(fclose(file), 0);
    pt_buf_done(&records);
    pt_buf_done(&buf);
}

static void put_file(const char *name, const pt_buf *bytes)
{
    PT_FREE char *path = pt_strf("%s/%s", folder, name);
    FILE *const file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    assert_int_equal(fclose(file), 0);
}

/* A record as a process adds it to the file of short journals: one stack. */
static void put_short(const pt_journal_header *claims, uint64_t count)
{
    pt_journal_header header = *claims;
    const uint64_t pc = 0x10010;
    const pt_journal_stack s = {.count = count, .depth = 1, .end = PT_JOURNAL_END_NO_RULE};
    const pt_journal_area area = {.magic = PT_JOURNAL_AREA_MAGIC,
                                  .kind = PT_JOURNAL_STACKS,
                                  .size_bytes = sizeof area + sizeof s + sizeof pc,
                                  .used_bytes = sizeof s + sizeof pc};
    pt_journal_short head = {.magic = PT_JOURNAL_SHORT_MAGIC};
    pt_buf buf = PT_BUF_INIT;
    memcpy(header.magic, "PITOTJNL", 8);
    header.byte_order = PT_JOURNAL_BYTE_ORDER;
    header.version = PT_JOURNAL_VERSION;
    header.word_bytes = 8;
    header.end = PT_JOURNAL_EXITED;
    header.asked_hz = 1000;
    pt_put(&buf, &head, sizeof head);
    pt_put(&buf, &header, offsetof(pt_journal_header, exe));
    pt_put(&buf, &header.own_weight, sizeof header - offsetof(pt_journal_header, own_weight));
    pt_put(&buf, &area, sizeof area);
    pt_put(&buf, &s, sizeof s);
    pt_put(&buf, &pc, sizeof pc);
    while (buf.size % 8 != 0)
        pt_put_u8(&buf, 0);
    head.bytes = (uint32_t)buf.size;
    memcpy(buf.data, &head, sizeof head);
    put_file(PT_JOURNAL_SHORT, &buf);
    pt_buf_done(&buf);
}

static void forget_claims(void)
{
    forget(PT_JOURNAL_SHORT);
    forget(PT_JOURNAL_BRIEF);
}

/* What is seen of an honest process with 40 samples and of another one's claims. */
static uint64_t seen_beside(const pt_journal_header *claims, uint64_t count, size_t *ret_impossible)
{
    const pt_journal_header honest = {.pid = 2000000001,
                                      .period_ns = 1000000,
                                      .start_monotonic_ns = 5000000000,
                                      .last_monotonic_ns = 5100000000,
                                      .cpu_before_ns = 2000000,
                                      .cpu_used_ns = 41000000,
                                      .cpu_own_ns = 3000000,
                                      .own_ns = 1000000};
    const pt_record_run run = {.folder = folder, .duration_ns = 1000000000, .period_ns = 1000000};
    const pt_profile *profile = NULL;
    pt_recorded all;
    put_short(&honest, 40);
    put_short(claims, count);
    pt_recorded_init(&all, &run);
    const pt_record_story story = {.command = "x", .run = &run, .recorded = &all, .hz = 1000};
    assert_int_equal(pt_recorded_profile(&story, 0, all.count, &profile, NULL), PT_OK);
    const uint64_t seen_ns = (uint64_t)pt_profile_provenance(profile)->cpu_seen_ns;
    *ret_impossible = all.impossible;
    pt_profile_unref(profile);
    pt_recorded_done(&all);
    forget_claims();
    return seen_ns;
}

static void claims_of_more_cpu_time_than_there_was_are_left_out(void **state)
{
    const uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    const pt_journal_header plain = {.pid = 2000000002,
                                     .period_ns = 1000000,
                                     .start_monotonic_ns = 5000000000,
                                     .last_monotonic_ns = 5500000000};
    size_t impossible;
    /* Half a second of all CPUs is possible. */
    assert_int_equal(seen_beside(&plain, 500 * cpus, &impossible), (40 + 500 * cpus) * 1000000);
    assert_int_equal(impossible, 0);
    /* Ten seconds of them are not, in half a second. */
    assert_int_equal(seen_beside(&plain, 10000 * cpus, &impossible), 40000000);
    assert_int_equal(impossible, 1);
    /* A process is no older than the recording. */
    pt_journal_header other = plain;
    other.start_monotonic_ns = 0;
    other.last_monotonic_ns = UINT64_MAX;
    assert_int_equal(seen_beside(&other, 10000 * cpus, &impossible), 40000000);
    assert_int_equal(impossible, 1);
    /* Few samples of a long period would do, too. */
    other = plain;
    other.period_ns = UINT64_C(1) << 40;
    assert_int_equal(seen_beside(&other, 2, &impossible), 40000000);
    assert_int_equal(impossible, 1);
    /* Clocks, and time that is said to be the library's and would be taken from the others'. */
    other = plain;
    other.cpu_used_ns = 10000000000 * cpus;
    assert_int_equal(seen_beside(&other, 2, &impossible), 40000000);
    assert_int_equal(impossible, 1);
    other = plain;
    other.kernel_weight = 10000 * cpus; /* which has a row without stacks: as much as is possible */
    const pt_journal_facts facts = {.period_ns = other.period_ns,
                                    .start_monotonic_ns = other.start_monotonic_ns,
                                    .last_monotonic_ns = other.last_monotonic_ns};
    const pt_journal_bounds bounds = {.duration_ns = 1000000000, .cpus = (uint32_t)cpus};
    const uint64_t most = pt_journal_most_weight(&facts, &bounds);
    assert_in_range(most, 500 * cpus, 1000 * cpus);
    assert_int_equal(seen_beside(&other, 2, &impossible), (40 + most) * 1000000);
    assert_int_equal(impossible, 1);
    other = plain;
    other.own_ns = 900000000;
    assert_int_equal(seen_beside(&other, 2, &impossible), 40000000);
    assert_int_equal(impossible, 1);
    other = plain;
    other.own_weight = 900; /* of a millisecond, in functions of the library */
    assert_int_equal(seen_beside(&other, 2, &impossible), 40000000);
    assert_int_equal(impossible, 1);
    other.engine = PT_JOURNAL_ENGINE_REAL; /* a thread waits in them, which takes no CPU time */
    assert_int_equal(seen_beside(&other, 2, &impossible), 42000000);
    assert_int_equal(impossible, 0);
}

static void brief_claims_of_more_cpu_time_than_there_was_are_left_out(void **state)
{
    const pt_record_run run = {.folder = folder, .duration_ns = 1000000000, .period_ns = 1000000};
    const pt_journal_brief briefs[] = {
        {.magic = PT_JOURNAL_BRIEF_MAGIC,
         .pid = 2000000001,
         .end = PT_JOURNAL_EXITED,
         .cpu_used_ns = 7000000},
        {.magic = PT_JOURNAL_BRIEF_MAGIC,
         .pid = 2000000002,
         .end = PT_JOURNAL_EXITED,
         .cpu_before_ns = UINT64_C(1) << 60},
    };
    pt_buf buf = PT_BUF_INIT;
    pt_recorded all;
    pt_put(&buf, briefs, sizeof briefs);
    put_file(PT_JOURNAL_BRIEF, &buf);
    pt_buf_done(&buf);
    pt_recorded_init(&all, &run);
    assert_int_equal(all.images, 1);
    assert_int_equal(all.impossible, 1);
    assert_int_equal(all.reached_ns, 7000000);
    pt_recorded_done(&all);
}

/* The kernel's clock of a process that runs is the bound: this one has not used an hour. */
static void a_process_that_runs_claims_no_more_than_the_kernel_counts(void **state)
{
    const pt_record_run run = {
        .folder = folder, .duration_ns = INT64_C(86400000000000), .period_ns = 1000000};
    const pt_journal_brief brief = {.magic = PT_JOURNAL_BRIEF_MAGIC,
                                    .pid = (uint32_t)getpid(),
                                    .end = PT_JOURNAL_RUNNING,
                                    .cpu_used_ns = UINT64_C(3600000000000)};
    pt_buf buf = PT_BUF_INIT;
    pt_recorded all;
    pt_put(&buf, &brief, sizeof brief);
    put_file(PT_JOURNAL_BRIEF, &buf);
    pt_buf_done(&buf);
    pt_recorded_init(&all, &run);
    assert_int_equal(all.running, 1);
    assert_true(all.used_ns > 0);
    assert_true(all.used_ns < UINT64_C(600000000000));
    pt_recorded_done(&all);
}

static void counters_beyond_all_numbers_add_up_to_the_largest(void **state)
{
    const stack none = {0x10010, UINT64_MAX - 1};
    const pt_record_run run = {.folder = folder};
    pt_recorded all;
    put_journal("a.journal", 2000000001, UINT64_MAX - 5, &none, 1);
    put_journal("b.journal", 2000000002, UINT64_MAX - 5, &none, 1);
    pt_recorded_init(&all, &run);
    assert_int_equal(all.count, 2);
    assert_true(all.lost == UINT64_MAX);
    assert_true(all.reached_ns == UINT64_MAX);
    assert_true(all.unsampled_threads == UINT64_MAX);

    const pt_record_story story = {.command = "x", .run = &run, .recorded = &all, .hz = 1000};
    const pt_profile *profile = NULL;
    assert_int_equal(pt_recorded_profile(&story, 0, 2, &profile, NULL), PT_OK);
    assert_true(pt_profile_provenance(profile)->cpu_seen_ns == INT64_MAX);
    assert_true(pt_profile_provenance(profile)->lost == UINT64_MAX);
    pt_profile_unref(profile);
    pt_recorded_done(&all);
}

static void the_heaviest_dead_end_is_named_first_however_heavy(void **state)
{
    const stack stacks[] = {{0x10010, INT64_MAX}, {0x10020, INT64_MAX}, {0x20010, 7}};
    const pt_record_run run = {.folder = folder};
    pt_recorded all;
    put_journal("a.journal", 2000000001, 0, stacks, 3);
    pt_recorded_init(&all, &run);
    const pt_record_story story = {.command = "x", .run = &run, .recorded = &all, .hz = 1000};
    const pt_profile *profile = NULL;
    assert_int_equal(pt_recorded_profile(&story, 0, 1, &profile, NULL), PT_OK);
    char names[64];
    pt_recorded_dead_ends(profile, names, sizeof names);
    assert_string_equal(names, "heavy and light");
    pt_profile_unref(profile);
    pt_recorded_done(&all);
}

static void links_and_pipes_among_the_journals_are_not_read(void **state)
{
    const stack one = {0x10010, 1};
    const pt_record_run run = {.folder = folder};
    PT_FREE char *pipe_path = pt_strf("%s/b.journal", folder);
    PT_FREE char *link_path = pt_strf("%s/c.journal", folder);
    PT_FREE char *messages_path = pt_strf("%s/messages", folder);
    pt_recorded all;
    put_journal("a.journal", 2000000001, 0, &one, 1);
    put_journal("real", 2000000002, 0, &one, 1);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_equal(symlink("real", link_path), 0);
    assert_int_equal(mkfifo(messages_path, 0600), 0);
    pt_recorded_init(&all, &run);
    assert_int_equal(all.count, 1);
    assert_null(all.messages);
    pt_recorded_done(&all);
}

/* Between the first look at it and the reading of its stacks. */
static void a_journal_that_becomes_a_pipe_is_not_waited_for(void **state)
{
    const stack one = {0x10010, 1};
    const pt_record_run run = {.folder = folder};
    PT_FREE char *path = pt_strf("%s/a.journal", folder);
    pt_recorded all;
    put_journal("a.journal", 2000000001, 0, &one, 1);
    pt_recorded_init(&all, &run);
    assert_int_equal(all.count, 1);
    forget("a.journal");
    assert_int_equal(mkfifo(path, 0600), 0);
    const pt_record_story story = {.command = "x", .run = &run, .recorded = &all, .hz = 1000};
    const pt_profile *profile = NULL;
    assert_int_equal(pt_recorded_profile(&story, 0, 1, &profile, NULL), PT_OK);
    assert_int_equal(profile->sample->t.count, 0);
    assert_int_equal(all.processes[0].error.status, PT_ERR_NOTFOUND);
    pt_profile_unref(profile);
    pt_recorded_done(&all);
}

#define ROW(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

static void one_stack_of_few_is_no_warning(void **state)
{
    assert_false(pt_record_is_worth_a_line(1, 15));
    assert_false(pt_record_is_worth_a_line(7, 7));
    assert_true(pt_record_is_worth_a_line(8, 159));
    assert_false(pt_record_is_worth_a_line(8, 160));
    assert_true(pt_record_is_worth_a_line(51, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(counters_beyond_all_numbers_add_up_to_the_largest),
        ROW(the_heaviest_dead_end_is_named_first_however_heavy),
        ROW(links_and_pipes_among_the_journals_are_not_read),
        ROW(a_journal_that_becomes_a_pipe_is_not_waited_for),
        ROW(claims_of_more_cpu_time_than_there_was_are_left_out),
        ROW(brief_claims_of_more_cpu_time_than_there_was_are_left_out),
        ROW(a_process_that_runs_claims_no_more_than_the_kernel_counts),
        ROW(one_stack_of_few_is_no_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
