/* test_firefox.c: the Firefox Profiler's formats. The small files were written by hand after
 * src/types/profile.ts and CHANGELOG-formats.md of firefox-devtools/profiler;
 * tests/cli/json_profiles.t.sh compares a real one with what speedscope's importer says. */
#include "formats_check.h"
#include "model/marks.h"
#include "profile_lines.h"

static void reads_tables_of_a_thread(void **state)
{
    (void)state;
    reading r = read_golden("firefox", "v48.json");
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
    reading r = read_golden("firefox", "v70.json");
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
    reading r = read_golden("firefox", "raw.json");
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
    reading r = read_golden("firefox", "v70.json");
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

/* The lengths are ends minus starts of the file: two stretches of one name close from the inside, a
 * load lasts from its first marker's start to its second one's end, and what does not end lasts to
 * the last time of the thread. */
static void markers_are_samples_with_times_and_lengths(void **state)
{
    (void)state;
    reading r = read_golden("firefox", "markers.json");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "samples/count memory/bytes counter/count marker-time/nanoseconds "
                             "marker/count");
    assert_int_equal(pt_profile_default_event(r.profile), 0);
    ASSERT_LINES(r.profile,
                 "leaf<main=1,0,0,0,0\nmain=1,0,0,0,0\n"
                 "CloseTab=0,0,0,0,1 {category=Other} {marker=CloseTab}\n"
                 "GCMajor<leaf<main=0,0,0,2500000,1 {data.type=GCMajor} {data.status=finished} "
                 "{data.max_pause=1.5} {category=GC / CC} {marker=GCMajor}\n"
                 "Work=0,0,0,3000000,1 {category=Other} {marker=Work}\n"
                 "Work=0,0,0,1000000,1 {data.type=Text} {data.name=<b>inner</b>} {category=Other} "
                 "{marker=Work}\n"
                 "Load 7=0,0,0,15500000,1 {data.type=Network} "
                 "{data.URI=https://shop.example/a?b=c} {data.id=7} {data.pri=0} "
                 "{data.status=STATUS_STOP} {data.count=4096} {category=Network} {marker=Load 7}\n"
                 "Waits=0,0,0,10000000,1 {category=Other} {marker=Waits}\n"
                 "malloc=0,1000,0,0,0 {counter=malloc}\nmalloc=0,500,0,0,0 {counter=malloc}\n"
                 "malloc=0,-300,0,0,0 {counter=malloc}\n"
                 "processCPU=0,0,9,0,0 {counter=processCPU}\n");
    const pt_samples *const s = r.profile->sample;
    assert_int_equal(s->time_ns[2], INT64_C(1700000000010250000));
    assert_int_equal(s->time_ns[3], INT64_C(1700000000020000000));
    assert_int_equal(s->tid[3], 12);
    assert_int_equal(s->time_ns[9], INT64_C(1700000000010000000));
    assert_int_equal(s->pid[9], 12);
    assert_int_equal(s->time_ns[11], INT64_C(1700000000005000000));
    assert_int_equal(fact(&r.diag, "begin and do not end"), 1);
    reading_done(&r);
}

static bool has_label(const pt_profile *p, uint32_t sample, const char *key)
{
    const uint32_t set = p->sample->labels[sample];
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++)
        if (strcmp(pt_text(p, p->labels->row[i].key), key) == 0) return true;
    return false;
}

#define PNG "data:image/png;base64,iVBORw0KGgoAAAA="

static void pictures_of_the_screen_are_kept_if_they_are_pictures(void **state)
{
    (void)state;
    static const char text[] =
        "{\"meta\": {\"version\": 24, \"preprocessedProfileVersion\": 44, \"interval\": 1, "
        "\"startTime\": 0, "
        "\"categories\": [{\"name\": \"Other\"}]}, \"threads\": [{\"name\": \"t\", \"pid\": 1, "
        "\"tid\": 1, "
        "\"samples\": {\"length\": 0, \"stack\": [], \"time\": []}, "
        "\"stackTable\": {\"length\": 0, \"frame\": [], \"prefix\": []}, "
        "\"frameTable\": {\"length\": 0, \"func\": []}, \"funcTable\": {\"length\": 0, \"name\": "
        "[]}, "
        "\"stringArray\": [\"Shot\", \"" PNG "\", \"data:text/html;base64,iVBORw0KGgo\", \"" PNG
        "\\\"x\"], "
        "\"markers\": {\"length\": 4, \"name\": [0, 0, 0, 0], \"startTime\": [1, 2, 3, 4], "
        "\"endTime\": [null, null, null, null], \"phase\": [0, 0, 0, 0], \"category\": [0, 0, 0, "
        "0], \"data\": ["
        "{\"type\": \"CompositorScreenshot\", \"url\": 1}, {\"type\": \"CompositorScreenshot\", "
        "\"url\": 2}, "
        "{\"type\": \"CompositorScreenshot\", \"url\": 3}, {\"type\": \"Other\", \"url\": 1}]}}]}";
    reading r = read_as("firefox", text, sizeof text - 1);
    assert_int_equal(r.status, PT_OK);
    unsigned pictures = 0;
    for (uint32_t i = 0; i < r.profile->sample->t.count; i++) {
        const uint32_t picture = pt_sample_label_text(r.profile, i, PT_MARKER_PICTURE);
        if (picture != 0) assert_string_equal(pt_text(r.profile, picture), PNG);
        pictures += picture != 0;
        assert_int_equal(has_label(r.profile, i, PT_MARKER_DATA "url"), i == 3);
    }
    assert_int_equal(r.profile->sample->t.count, 4);
    assert_int_equal(pictures, 1);
    reading_done(&r);
}

static void raw_markers_have_the_stack_of_their_cause(void **state)
{
    (void)state;
    reading r = read_golden("firefox", "markers-raw.json");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile,
                 "go=1,0,0,0\n"
                 "Reflow<layout<go=0,0,2500000,1 {data.type=tracing} {data.category=Paint} "
                 "{category=Layout} {marker=Reflow}\n"
                 "Ping=0,0,0,1 {category=Other} {marker=Ping}\n"
                 "DOMEvent=0,0,3000000,1 {data.type=tracing} {data.category=DOM} "
                 "{data.interval=start} {marker=DOMEvent}\n"
                 "Styles=0,0,750000,1 {data.type=Styles} {marker=Styles}\n"
                 "Styles=0,0,0,1 {data.type=tracing} {data.interval=end} {marker=Styles}\n"
                 "malloc=0,64,0,0 {counter=malloc}\nmalloc=0,-64,0,0 {counter=malloc}\n");
    assert_int_equal(r.profile->sample->time_ns[1], 5010000000);
    assert_int_equal(r.profile->sample->time_ns[3], 6005000000);
    assert_int_equal(r.profile->sample->time_ns[5], 6020000000);
    assert_int_equal(r.profile->sample->pid[6], 2);
    assert_int_equal(fact(&r.diag, "did not begin"), 1);
    reading_done(&r);
}

/* Reads a profile, writes it and reads the written file: samples, marks, causes and counters are
 * the same. */
static void markers_and_counters_come_back(void **state)
{
    (void)state;
    reading r = read_golden("firefox", "markers.json");
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf text = written_as("firefox", r.profile, &diag);
    reading again = read_as("firefox", text.data, text.size);
    assert_int_equal(again.status, PT_OK);
    PT_UNREF_PROFILE const pt_profile *before = pt_profile_canonical(r.profile);
    PT_UNREF_PROFILE const pt_profile *after = pt_profile_canonical(again.profile);
    PT_FREE char *lines = profile_lines(before);
    ASSERT_LINES(after, lines);
    for (uint32_t i = 0; i < before->sample->t.count; i++)
        assert_int_equal(after->sample->time_ns[i], before->sample->time_ns[i]);
    pt_diag_done(&diag);
    pt_buf_done(&text);
    reading_done(&again);
    reading_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_tables_of_a_thread),
        cmocka_unit_test(reads_shared_tables_and_differences_of_times),
        cmocka_unit_test(reads_raw_profiles_whose_frames_are_text),
        cmocka_unit_test(rows_may_come_before_what_they_hold),
        cmocka_unit_test(markers_are_samples_with_times_and_lengths),
        cmocka_unit_test(pictures_of_the_screen_are_kept_if_they_are_pictures),
        cmocka_unit_test(raw_markers_have_the_stack_of_their_cause),
        cmocka_unit_test(markers_and_counters_come_back),
        cmocka_unit_test(rows_that_are_not_there_are_counted),
        cmocka_unit_test(a_thread_of_the_file_for_each_thread_of_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
