/* test_cpuprofile.c: V8's .cpuprofile. What the files mean follows from the DevTools protocol;
 * tests/cli/json_profiles.t.sh compares with what speedscope's importer says. */
#include "formats_check.h"
#include "profile_lines.h"

static reading read_text(const char *text)
{
    return read_as("cpuprofile", text, strlen(text));
}

#define NODE(id, name, line, more)                                                                 \
    "{\"id\":" #id ",\"callFrame\":{\"functionName\":\"" name                                      \
    "\",\"scriptId\":\"0\",\"url\":\"\",\"lineNumber\":" #line                                     \
    ",\"columnNumber\":-1},\"hitCount\":0" more "}"
#define NODES                                                                                      \
    "\"nodes\":[" NODE(1, "(root)", -1, ",\"children\":[2]") "," NODE(                             \
        2, "a", 0, ",\"children\":[3]") "," NODE(3, "b", 5, "") "]"

static void a_sample_stands_for_the_time_to_the_next(void **state)
{
    (void)state;
    reading r = read_text("{" NODES ",\"startTime\":100,\"endTime\":160,\"samples\":[2,3,3],"
                          "\"timeDeltas\":[10,20,30]}");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "samples/count time/nanoseconds");
    ASSERT_LINES(r.profile, "a:1=1,20000\nb:6<a:1=1,30000\nb:6<a:1=1,0\n");
    assert_int_equal(r.profile->sample->time_ns[0], 110000);
    assert_int_equal(r.profile->sample->time_ns[2], 160000);
    reading_done(&r);
}

static void time_does_not_go_back(void **state)
{
    (void)state;
    reading r = read_text("{" NODES ",\"startTime\":0,\"samples\":[2,3,2,3],"
                          "\"timeDeltas\":[10,20,-15,25]}");
    ASSERT_LINES(r.profile, "a:1=1,20000\nb:6<a:1=1,0\na:1=1,10000\nb:6<a:1=1,0\n");
    reading_done(&r);
}

static void the_old_form_nests_its_nodes(void **state)
{
    (void)state;
    reading r = read_text(
        "{\"head\":{\"functionName\":\"(root)\",\"hitCount\":0,\"id\":1,\"children\":["
        "{\"functionName\":\"a\",\"lineNumber\":3,\"id\":2,\"hitCount\":1,\"children\":["
        "{\"functionName\":\"\",\"lineNumber\":8,\"id\":3,\"hitCount\":1,\"children\":[]}]},"
        "{\"functionName\":\"c\",\"lineNumber\":0,\"id\":4,\"hitCount\":1,\"children\":[]}]},"
        "\"samples\":[3,2,4],\"timestamps\":[1000,1500,1600]}");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "(anonymous):9<a:4=1,500000\na:4=1,100000\nc:1=1,0\n");
    reading_done(&r);
}

static void without_samples_hits_count(void **state)
{
    (void)state;
    reading r = read_text(
        "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"},\"hitCount\":4,"
        "\"children\":[2]},{\"id\":2,\"callFrame\":{\"functionName\":\"g\"},\"hitCount\":2}]}");
    ASSERT_EVENTS(r.profile, "samples/count");
    ASSERT_LINES(r.profile, "f=4\ng<f=2\n");
    reading_done(&r);
}

static void a_last_sample_of_the_root_is_a_sample(void **state)
{
    (void)state;
    reading r = read_text("{" NODES ",\"startTime\":0,\"samples\":[2,3,1],"
                          "\"timeDeltas\":[10,20,15]}");
    ASSERT_LINES(r.profile, "a:1=1,20000\nb:6<a:1=1,15000\n=1,0\n");
    reading_done(&r);
}

static void members_of_other_kinds_are_stepped_over(void **state)
{
    (void)state;
    reading r = read_text(
        "{\"nodes\":[{\"id\":1,\"lineNumber\":[2],\"callFrame\":{\"url\":{\"functionName\":\"x\"},"
        "\"functionName\":\"f\",\"lineNumber\":[1,2]},\"hitCount\":4,\"children\":[2]},"
        "{\"id\":2,\"callFrame\":{\"functionName\":\"g\"},\"hitCount\":2}]}");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "f=4\ng<f=2\n");
    reading_done(&r);
}

static void parents_in_a_circle_end(void **state)
{
    (void)state;
    reading r = read_text("{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"},"
                          "\"parent\":2},{\"id\":2,\"callFrame\":{\"functionName\":\"g\"},"
                          "\"parent\":1}],\"samples\":[1],\"timeDeltas\":[5]}");
    ASSERT_LINES(r.profile, "f<g=1,0\n");
    reading_done(&r);
}

static void samples_of_nodes_that_are_not_there_are_counted(void **state)
{
    (void)state;
    reading r = read_text("{" NODES ",\"samples\":[2,9,3],\"timeDeltas\":[1,2]}");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "missing nodes"), 1);
    assert_int_equal(fact(&r.diag, "without a time"), 1);
    ASSERT_LINES(r.profile, "a:1=1,2000\nb:6<a:1=1,0\n");
    assert_int_equal(r.profile->sample->time_ns[1], 3000);
    reading_done(&r);
}

/* Samples of 3 and 4 ns, one after the other. */
static void weights_of_other_profiles_come_back(void **state)
{
    (void)state;
    static const char json[] =
        "{\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},\"profiles\":[{\"type\":"
        "\"sampled\",\"unit\":\"nanoseconds\",\"samples\":[[0,1],[0]],\"weights\":[3,4000]}]}";
    reading r = read_as("speedscope", json, sizeof json - 1);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf text = written_as("cpuprofile", r.profile, &diag);
    assert_int_equal(diag.count, 0);
    reading again = read_as("cpuprofile", text.data, text.size);
    ASSERT_LINES(again.profile, "b<a=1,3\na=1,4000\n");
    pt_diag_done(&diag);
    pt_buf_done(&text);
    reading_done(&again);
    reading_done(&r);
}

/* The samples of V8 stay as they are; lengths are differences of "ts", in the file's microseconds.
 * A counter's value is absolute in the file: 4096, then 1024. */
static void marks_of_a_trace_stand_beside_its_samples(void **state)
{
    (void)state;
    reading r = read_golden("chrome-trace", "marks.json");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "samples/count time/nanoseconds memory/bytes counter/count "
                             "marker-time/nanoseconds marker/count");
    assert_int_equal(pt_profile_default_event(r.profile), 1);
    ASSERT_LINES(
        r.profile,
        "go=1,500000,0,0,0,0\ngo=1,0,0,0,0,0\n"
        "Load=0,0,0,0,600000,1 {data.requestId=7.1} {data.url=https://shop.example/a?b=c} "
        "{data.requestMethod=GET} {category=Network} {marker=Load}\n"
        "Memory=0,0,4096,0,0,0 {counter=Memory}\n"
        "click=0,0,0,0,0,1 {data.type=mouse} {data.x=3} {data.ok=true} {data.ratio=0.5} "
        "{category=input} {marker=click}\n"
        "GC=0,0,0,0,50000,1 {data.kind=minor} {category=v8} {marker=GC}\n"
        "paint=0,0,0,0,100000,1 {category=cc} {marker=paint}\n"
        "paint=0,0,0,0,140000,1 {category=cc} {marker=paint}\n"
        "Memory=0,0,-3072,0,0,0 {counter=Memory}\n"
        "queue in=0,0,0,2,0,0 {counter=queue in}\nqueue out=0,0,0,1,0,0 {counter=queue out}\n"
        "jsHeapSizeUsed=0,0,900,0,0,0 {counter=jsHeapSizeUsed}\n"
        "still=0,0,0,0,0,1 {marker=still}\n");
    const pt_samples *const s = r.profile->sample;
    assert_int_equal(s->time_ns[2], 1000000);
    assert_int_equal(s->time_ns[4], 1100000);
    assert_int_equal(s->tid[4], 8);
    assert_string_equal(pt_text(r.profile, s->comm[4]), "main");
    assert_int_equal(fact(&r.diag, "did not begin"), 1);
    assert_int_equal(fact(&r.diag, "do not end"), 1);
    reading_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_stands_for_the_time_to_the_next),
        cmocka_unit_test(time_does_not_go_back),
        cmocka_unit_test(the_old_form_nests_its_nodes),
        cmocka_unit_test(without_samples_hits_count),
        cmocka_unit_test(a_last_sample_of_the_root_is_a_sample),
        cmocka_unit_test(members_of_other_kinds_are_stepped_over),
        cmocka_unit_test(parents_in_a_circle_end),
        cmocka_unit_test(samples_of_nodes_that_are_not_there_are_counted),
        cmocka_unit_test(marks_of_a_trace_stand_beside_its_samples),
        cmocka_unit_test(weights_of_other_profiles_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
