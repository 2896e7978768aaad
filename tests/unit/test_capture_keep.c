/* test_capture_keep.c: what a recording keeps comes back, as far as it was written, and damage does
 * no harm; rows that leave memory come back whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check/profile_equal.h"
#include "base/file.h"
#include "capture/keep.h"
#include "capture/sink.h"

enum { EVENTS = 2, STACKS = 200 };

static char folder[64], journal[128], values_path[128];
static int64_t values[STACKS][EVENTS];

static int make_folder(void **state)
{
    /* In memory: some file systems write a file to the disk when it was cut and is closed. */
    snprintf(folder, sizeof folder, "%s/pitot-keep.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(journal, sizeof journal, "%s/" PT_KEEP_JOURNAL, folder);
    snprintf(values_path, sizeof values_path, "%s/" PT_KEEP_VALUES, folder);
    memset(values, 0, sizeof values);
    return 0;
}

static int remove_folder(void **state)
{
    unlink(journal);
    unlink(values_path);
    return rmdir(folder);
}

static void free_builder(pt_builder **builder)
{
    pt_builder_free(*builder);
}
#define FREE_BUILDER __attribute__((cleanup(free_builder)))

static pt_builder *builder_with_events(void)
{
    pt_builder *const b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v,
                                    .period = 1});
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "cpu").v,
                                    .unit = pt_builder_text(b, "nanoseconds").v,
                                    .period = 1000});
    return b;
}

static pt_keep *open_keep(pt_builder *b, bool is_timeline)
{
    const pt_keep_head head = {.is_timeline = is_timeline,
                               .is_clock = true,
                               .period = 1000,
                               .hz = 1000000,
                               .start_ns = 12345,
                               .typed = "pitot record prog"};
    pt_keep *keep = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_keep_new(folder, &head, b, &keep, &error), PT_OK);
    const pt_mapping mapping = {
        .start = 0x1000, .limit = 0x9000, .file = pt_builder_text(b, "/bin/prog").v};
    pt_keep_mapping(keep, &mapping, b);
    pt_keep_build_id(keep, 0, "abcd");
    return keep;
}

static const int64_t *values_of(const void *arg, uint32_t stack)
{
    return values[stack];
}

/* Stack n: location n at 0x1000 + n, under location 0; process 7 or 8, tier n modulo 4. */
static void add_stack(pt_keep *keep, uint32_t n)
{
    const uint32_t frames[] = {n, 0};
    pt_keep_location(keep, &(pt_location){.address = 0x1000 + n, .flags = PT_LOCATION_USER});
    pt_keep_stack(keep, frames, 2, PT_STACK_END_ROOT);
    pt_keep_row(keep, &(pt_keep_who){.stack = n,
                                     .pid = 7 + n % 2,
                                     .comm = "prog",
                                     .wait = "",
                                     .waker = n % 5 == 4 ? "waker" : "",
                                     .is_uncertain = n % 3 == 2,
                                     .tier = n % 4});
}

static void count(pt_keep *keep, uint32_t n, int64_t more)
{
    values[n][0] += more;
    values[n][1] += 1000 * more;
    pt_keep_changed(keep, n);
}

static void write_keep(pt_keep *keep, uint64_t lost)
{
    const pt_keep_facts facts = {
        .duration_ns = 5000, .used_ns = 4000, .seen_ns = 3000, .lost = lost};
    assert_true(pt_keep_is_behind(keep));
    assert_true(pt_keep_write(keep, &facts, values_of, NULL));
    assert_false(pt_keep_is_behind(keep));
}

static const pt_profile *read_keep(void)
{
    const pt_profile *profile = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_true(pt_keep_is(journal));
    assert_int_equal(pt_keep_read(journal, &profile, &error), PT_OK);
    return profile;
}

/* The text of a label of sample n; NULL: it has none of that key. */
static const char *label_of(const pt_profile *p, uint32_t n, const char *key)
{
    const uint32_t set = p->sample->labels[n];
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++)
        if (strcmp(pt_text(p, p->labels->row[i].key), key) == 0)
            return pt_text(p, p->labels->row[i].str);
    return NULL;
}

static void check_label(const pt_profile *p, uint32_t n, const char *key, const char *expected)
{
    const char *const text = label_of(p, n, key);
    assert_int_equal(text != NULL, expected != NULL);
    if (expected != NULL) assert_string_equal(text, expected);
}

static void what_was_written_comes_back(void **state)
{
    static const char *const tiers[] = {NULL, "interpreter", "baseline", "optimized"};
    FREE_BUILDER pt_builder *b = builder_with_events();
    pt_keep *const keep = open_keep(b, false);
    for (uint32_t n = 0; n < STACKS; n++) {
        add_stack(keep, n);
        count(keep, n, 1);
    }
    write_keep(keep, 0);
    for (uint32_t n = 0; n < STACKS; n += 3)
        count(keep, n, n);
    write_keep(keep, 9);
    count(keep, 5, 1000); /* is not written any more */
    pt_keep_free(keep);

    int64_t expected = STACKS;
    for (uint32_t n = 0; n < STACKS; n += 3)
        expected += n;
    PT_UNREF_PROFILE const pt_profile *p = read_keep();
    assert_int_equal(pt_profile_total(p, 0), expected);
    assert_int_equal(pt_profile_total(p, 1), 1000 * expected);
    assert_int_equal(p->sample->t.count, STACKS);
    assert_int_equal(p->source->row.lost, 9);
    assert_int_equal(p->source->row.duration_ns, 5000);
    assert_int_equal(p->source->row.cpu_used_ns, 4000);
    assert_int_equal(p->source->row.period, 1000);
    for (uint32_t n = 0; n < STACKS; n++) {
        assert_int_equal(p->sample->value[0][n], 1 + (n % 3 == 0 ? n : 0));
        const uint32_t leaf = pt_stack_frames(p, p->sample->stack[n])[0];
        assert_int_equal(p->location->address[leaf], 0x1000 + n);
        check_label(p, n, "tier", tiers[n % 4]);
        check_label(p, n, "merge", n % 3 == 2 ? "uncertain" : NULL);
        check_label(p, n, "waker", n % 5 == 4 ? "waker" : NULL);
    }
    assert_string_equal(pt_text(p, p->mapping->row[0].file), "/bin/prog");
    assert_string_equal(pt_text(p, p->mapping->row[0].build_id), "abcd");
    struct stat st;
    assert_int_equal(stat(journal, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(values_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void samples_of_a_timeline_come_back_with_time_and_thread(void **state)
{
    FREE_BUILDER pt_builder *b = builder_with_events();
    pt_keep *const keep = open_keep(b, true);
    const int64_t one[] = {1, 1000};
    add_stack(keep, 0);
    for (uint32_t n = 0; n < 3; n++)
        pt_keep_sample(keep, 0,
                       &(pt_sample){.values = one, .time_ns = 100 + n, .pid = 7, .tid = 70 + n},
                       "prog");
    pt_keep_more(keep, 1, 1, 500);
    write_keep(keep, 0);
    pt_keep_free(keep);
    PT_UNREF_PROFILE const pt_profile *p = read_keep();
    assert_int_equal(p->sample->t.count, 3);
    assert_int_equal(p->sample->value[1][1], 1500);
    assert_int_equal(p->sample->time_ns[2], 102);
    assert_int_equal(p->sample->tid[2], 72);
    assert_string_equal(pt_text(p, p->sample->comm[0]), "prog");
}

/* ---- rows that leave memory ---- */

enum { PROCESSES = 200, SAMPLES_EACH = 12 };

/* Samples of processes that come and go beside one that stays; each sample's value changes once,
 * some only when other rows have come. away_every: rows are put away after each that many
 * processes; 0: never. */
static const pt_profile *record_processes(unsigned away_every)
{
    const pt_profile *profile = NULL;
    pt_error error = PT_ERROR_INIT;
    const pt_keep_facts facts = {.duration_ns = 1};
    pt_procs procs;
    pt_procs_init(&procs, "/nowhere");
    pt_builder *b = builder_with_events();
    pt_keep *keep = NULL;
    const pt_keep_head head = {.is_clock = true, .period = 1000, .hz = 1000000, .typed = ""};
    assert_int_equal(pt_keep_new(folder, &head, b, &keep, &error), PT_OK);
    pt_sink *const sink = pt_sink_new(b, &procs, NULL, false);
    pt_sink_keep_in(sink, keep, true);
    uint32_t before = PT_NONE;
    for (uint32_t n = 0; n < PROCESSES; n++) {
        const uint32_t pids[] = {9, 1000 + n};
        for (uint32_t i = 0; i < SAMPLES_EACH; i++) {
            pt_perf_record r = {.type = PERF_RECORD_COMM, .pid = pids[i % 2], .tid = pids[i % 2]};
            r.comm.text = i % 2 == 0 ? "stays" : "passes";
            pt_proc *const proc = pt_procs_on_comm(&procs, &r);
            const uint64_t pcs[] = {0x1000 + n % 50, 0x2000 + i, 0x3000};
            const pt_sink_sample sample = {.proc = proc,
                                           .tid = 9,
                                           .pcs = pcs,
                                           .count = 3,
                                           .end = i % 3 == 0 ? PT_STACK_END_ROOT
                                                             : PT_STACK_END_NO_RULE,
                                           .wait = i % 4 == 1 ? "lock" : NULL,
                                           .is_uncertain = i % 5 == 2,
                                           .values = {1, 1000}};
            const uint32_t row = pt_sink_add(sink, &sample);
            if (before != PT_NONE) pt_sink_more(sink, before, (int64_t)i - 3);
            before = row;
        }
        pt_sink_forget(sink, pt_procs_find(&procs, pids[1]));
        if (away_every > 0 && n % away_every == away_every - 1)
            assert_true(pt_sink_put_away(sink, &facts));
    }
    assert_int_equal(pt_sink_has_put_away(sink), away_every > 0);
    if (away_every > 0) {
        assert_true(pt_sink_write_kept(sink, &facts));
        pt_builder_free(b);
        assert_int_equal(pt_keep_restore(folder, &b, &error), PT_OK);
    } else {
        pt_sink_finish(sink);
    }
    assert_int_equal(pt_builder_freeze(b, &profile, &error), PT_OK);
    pt_sink_free(sink);
    pt_keep_free(keep);
    pt_procs_done(&procs);
    unlink(journal);
    unlink(values_path);
    const pt_profile *const canonical = pt_profile_canonical(profile);
    pt_profile_unref(profile);
    return canonical;
}

static void rows_that_were_put_away_come_back(void **state)
{
    static const unsigned every[] = {1, 7, 200};
    PT_UNREF_PROFILE const pt_profile *whole = record_processes(0);
    assert_int_equal(pt_profile_total(whole, 0), PROCESSES * SAMPLES_EACH);
    for (size_t i = 0; i < sizeof every / sizeof every[0]; i++) {
        char difference[256] = "";
        PT_UNREF_PROFILE const pt_profile *p = record_processes(every[i]);
        pt_profile_equal(whole, p, difference, sizeof difference);
        assert_string_equal(difference, "");
    }
}

/* Rows stay in memory while most of them are of processes that live. */
static void rows_of_processes_that_live_are_not_put_away(void **state)
{
    enum { MANY = 30000 };
    pt_error error = PT_ERROR_INIT;
    pt_procs procs;
    pt_procs_init(&procs, "/nowhere");
    FREE_BUILDER pt_builder *b = builder_with_events();
    pt_keep *keep = NULL;
    const pt_keep_head head = {.period = 1000, .typed = ""};
    assert_int_equal(pt_keep_new(folder, &head, b, &keep, &error), PT_OK);
    pt_sink *const sink = pt_sink_new(b, &procs, NULL, false);
    pt_sink_keep_in(sink, keep, true);
    pt_proc *const proc = pt_procs_get(&procs, 9);
    for (uint32_t n = 0; n < MANY; n++) {
        const uint64_t pcs[] = {0x1000 + n, 0x3000};
        const pt_sink_sample sample = {
            .proc = proc, .tid = 9, .pcs = pcs, .count = 2, .values = {1, 1000}};
        pt_sink_add(sink, &sample);
    }
    assert_false(pt_sink_should_put_away(sink));
    pt_sink_forget(sink, proc);
    assert_true(pt_sink_should_put_away(sink));
    pt_sink_free(sink);
    pt_keep_free(keep);
    pt_procs_done(&procs);
}

/* A recorder may be killed in the middle of a write, and files may be anything. */
static void what_is_cut_or_damaged_is_read_up_to_there(void **state)
{
    FREE_BUILDER pt_builder *b = builder_with_events();
    pt_keep *const keep = open_keep(b, false);
    pt_blob blob = PT_BLOB_INIT;
    for (uint32_t n = 0; n < 20; n++) {
        add_stack(keep, n);
        count(keep, n, 1);
    }
    write_keep(keep, 0);
    pt_keep_free(keep);
    assert_int_equal(pt_file_read(journal, 0, 1 << 20, &blob, NULL), PT_OK);
    int64_t before = 0;
    for (size_t size = 1; size <= blob.size; size++) {
        const pt_profile *profile = NULL;
        pt_error error = PT_ERROR_INIT;
        FILE *const file = fopen(journal, "w");
        fwrite(blob.data, 1, size, file);
        fclose(file);
        if (pt_keep_read(journal, &profile, &error) != PT_OK) continue;
        const int64_t total = pt_profile_total(profile, 0);
        assert_true(total >= before);
        before = total;
        pt_profile_unref(profile);
    }
    assert_int_equal(before, 20);
    for (size_t at = 0; at < blob.size; at++) {
        const pt_profile *profile = NULL;
        pt_error error = PT_ERROR_INIT;
        FILE *const file = fopen(journal, "w");
        fwrite(blob.data, 1, at, file);
        fputc(blob.data[at] ^ 0xa5, file);
        fwrite(blob.data + at + 1, 1, blob.size - at - 1, file);
        fclose(file);
        if (pt_keep_read(journal, &profile, &error) == PT_OK) pt_profile_unref(profile);
    }
    pt_blob_done(&blob);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
        ROW(what_was_written_comes_back),
        ROW(samples_of_a_timeline_come_back_with_time_and_thread),
        ROW(rows_that_were_put_away_come_back),
        ROW(rows_of_processes_that_live_are_not_put_away),
        ROW(what_is_cut_or_damaged_is_read_up_to_there),
    };
    return cmocka_run_group_tests_name("capture_keep", tests, NULL, NULL);
}
