/* test_firefox.c: the Firefox Profiler's formats. The small files were written by hand after
 * src/types/profile.ts and CHANGELOG-formats.md of firefox-devtools/profiler;
 * tests/cli/json_profiles.t.sh compares a real one with what speedscope's importer says. */
#include "formats_check.h"
#include "profile_lines.h"

#ifndef PT_GOLDEN_FOLDER
#error "the build names the folder of goldens"
#endif

static reading read_golden(const char *name)
{
    char path[2048];
    pt_blob blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    snprintf(path, sizeof path, "%s/firefox/%s", PT_GOLDEN_FOLDER, name);
    if (pt_file_read(path, 0, 1 << 20, &blob, &error) != PT_OK) fail_msg("%s", error.message);
    reading r = read_as("firefox", blob.data, blob.size);
    pt_blob_done(&blob);
    return r;
}

static void reads_tables_of_a_thread(void **state)
{
    (void)state;
    reading r = read_golden("v48.json");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "samples/count");
    ASSERT_LINES(r.profile, "leaf<main@a.c:3=2\nmain@a.c:3=1\n=1\n");
    const pt_samples *const s = r.profile->sample;
    assert_int_equal(s->time_ns[0], INT64_C(1700000000000500000));
    assert_int_equal(s->time_ns[1], INT64_C(1700000000002000000));
    assert_int_equal(s->pid[0], 12);
    assert_string_equal(pt_text(r.profile, s->comm[2]), "main");
    uint32_t main = pt_stack_frames(r.profile, s->stack[1])[0];
    assert_int_equal(r.profile->location->address[main], 4096);
    const pt_mapping *const m = &r.profile->mapping->row[r.profile->location->mapping[main]];
    assert_string_equal(pt_text(r.profile, m->file), "/bin/work");
    assert_string_equal(pt_text(r.profile, m->build_id), "c0ffee");
    reading_done(&r);
}

static void reads_shared_tables_and_differences_of_times(void **state)
{
    (void)state;
    reading r = read_golden("v70.json");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "samples/count time/nanoseconds");
    ASSERT_LINES(r.profile, "f@x.js:5<root=1,0\nf@x.js:5<root=1,0\nroot=0,250000\n");
    assert_int_equal(r.profile->sample->time_ns[0], 1001000000);
    assert_int_equal(r.profile->sample->time_ns[1], 1003250000);
    assert_int_equal(r.profile->sample->pid[2], PT_NONE); /* "7-1" is none of the system's */
    assert_int_equal(r.profile->sample->tid[2], 9);
    reading_done(&r);
}

static void reads_raw_profiles_whose_frames_are_text(void **state)
{
    (void)state;
    reading r = read_golden("raw.json");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "go@http://x/a.js:4=1\nLock (in libfoo.so)<go@http://x/a.js:4=1\n=1\n");
    assert_int_equal(r.profile->sample->time_ns[0], 5010500000);
    reading_done(&r);
}

static void rows_may_come_before_what_they_hold(void **state)
{
    (void)state;
    static const char text[] =
        "{\"meta\":{\"interval\":1,\"version\":29,\"startTime\":0},\"threads\":[{"
        "\"samples\":{\"data\":[[0,1.5],[null,2.5]],\"schema\":{\"stack\":0,\"time\":1}},"
        "\"stackTable\":{\"data\":[[null,0]],\"schema\":{\"prefix\":0,\"frame\":1}},"
        "\"frameTable\":{\"data\":[[0]],\"schema\":{\"location\":0}},\"stringTable\":[\"f\"]}]}";
    reading r = read_as("firefox", text, sizeof text - 1);
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "f=1\n=1\n");
    assert_int_equal(r.profile->sample->time_ns[1], 2500000);
    reading_done(&r);
}

static void rows_that_are_not_there_are_counted(void **state)
{
    (void)state;
    static const char text[] =
        "{\"threads\":[{\"samples\":{\"stack\":[0,7],\"time\":[0,1]},"
        "\"stackTable\":{\"prefix\":[null],\"frame\":[5]},\"frameTable\":{\"func\":[0]},"
        "\"funcTable\":{\"name\":[0]},\"stringArray\":[\"f\"]}]}";
    reading r = read_as("firefox", text, sizeof text - 1);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "missing rows"), 2);
    ASSERT_LINES(r.profile, "=1\n=1\n");
    reading_done(&r);
}

static void a_thread_of_the_file_for_each_thread_of_the_samples(void **state)
{
    (void)state;
    reading r = read_golden("v70.json");
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf text = written_as("firefox", r.profile, &diag);
    assert_int_equal(diag.count, 0);
    const char *const json = pt_buf_text(&text);
    assert_non_null(strstr(json, "\"preprocessedProfileVersion\":48"));
    assert_non_null(strstr(json, "\"name\":\"b\""));
    pt_diag_done(&diag);
    pt_buf_done(&text);
    reading_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tables_of_a_thread),
        cmocka_unit_test(reads_shared_tables_and_differences_of_times),
        cmocka_unit_test(reads_raw_profiles_whose_frames_are_text),
        cmocka_unit_test(rows_may_come_before_what_they_hold),
        cmocka_unit_test(rows_that_are_not_there_are_counted),
        cmocka_unit_test(a_thread_of_the_file_for_each_thread_of_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
