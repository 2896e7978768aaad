/* test_speedscope.c: speedscope's JSON. What the files mean follows from its file-format-spec.ts;
 * tests/cli/speedscope.t.sh compares with what speedscope's own importer says. */
#include "formats_check.h"
#include "profile_lines.h"

#define FRAMES                                                                                     \
    "\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\",\"file\":\"b.c\",\"line\":7}]}"

static reading read_text(const char *text)
{
    return read_as("speedscope", text, strlen(text));
}

static void reads_sampled_profiles_root_first(void **state)
{
    (void)state;
    reading r = read_text("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"name\":\"x\","
                          "\"unit\":\"none\",\"samples\":[[0,1],[0],[]],\"weights\":[2,3,4]}]}");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "samples/count");
    ASSERT_LINES(r.profile, "b@b.c:7<a=2\na=3\n=4\n");
    reading_done(&r);
}

static void a_stretch_of_one_stack_is_a_sample_of_an_evented_profile(void **state)
{
    (void)state;
    reading r =
        read_text("{\"profiles\":[{\"type\":\"evented\",\"events\":["
                  "{\"type\":\"O\",\"frame\":0,\"at\":1},{\"type\":\"O\",\"frame\":1,\"at\":1.5},"
                  "{\"type\":\"C\",\"frame\":1,\"at\":2.5},{\"type\":\"C\",\"frame\":0,\"at\":2.5},"
                  "{\"type\":\"O\",\"frame\":1,\"at\":9},{\"type\":\"C\",\"frame\":1,\"at\":10}],"
                  "\"unit\":\"milliseconds\"}]," FRAMES "}");
    assert_int_equal(r.status, PT_OK);
    ASSERT_EVENTS(r.profile, "time/nanoseconds");
    ASSERT_LINES(r.profile, "a=500000\nb@b.c:7<a=1000000\nb@b.c:7=1000000\n");
    reading_done(&r);
}

static void profiles_of_one_unit_are_threads(void **state)
{
    (void)state;
    reading r = read_text(
        "{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"name\":\"t1\",\"unit\":\"bytes\","
        "\"samples\":[[0]],\"weights\":[5]},{\"type\":\"sampled\",\"name\":\"t2\","
        "\"unit\":\"seconds\",\"samples\":[[1]],\"weights\":[0.000000002]}]}");
    ASSERT_EVENTS(r.profile, "space/bytes time/nanoseconds");
    ASSERT_LINES(r.profile, "a=5,0 {thread=t1}\nb@b.c:7=0,2 {thread=t2}\n");
    reading_done(&r);
}

static void rounding_keeps_the_sum(void **state)
{
    (void)state;
    reading r = read_text("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
                          "\"samples\":[[0],[0],[0],[0]],\"weights\":[0.4,0.4,0.4,0.8]}]}");
    ASSERT_LINES(r.profile, "a=0\na=1\na=0\na=1\n");
    assert_int_equal(fact(&r.diag, "rounded"), 4);
    reading_done(&r);
}

static void damage_keeps_what_came_before(void **state)
{
    (void)state;
    reading r = read_text("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
                          "\"weights\":[1,2,3],\"samples\":[[0],[1],[2]]}]}");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "missing frame"));
    ASSERT_LINES(r.profile, "a=1\nb@b.c:7=2\n");
    reading_done(&r);
    r = read_text("{" FRAMES ",\"profiles\":[{\"type\":\"sampled\",\"unit\":\"none\","
                  "\"weights\":[1,2],\"samples\":[[0],[1");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    ASSERT_LINES(r.profile, "a=1\n");
    reading_done(&r);
    r = read_text("{" FRAMES ",\"profiles\":[]}");
    assert_int_equal(r.status, PT_ERR_FORMAT);
    reading_done(&r);
    r = read_text("[1]");
    assert_int_equal(r.status, PT_ERR_FORMAT);
    reading_done(&r);
}

static void frames_that_do_not_close_are_counted(void **state)
{
    (void)state;
    reading r = read_text("{" FRAMES ",\"profiles\":[{\"type\":\"evented\",\"unit\":\"none\","
                          "\"events\":[{\"type\":\"O\",\"frame\":0,\"at\":0},"
                          "{\"type\":\"O\",\"frame\":1,\"at\":1},"
                          "{\"type\":\"C\",\"frame\":0,\"at\":3},"
                          "{\"type\":\"C\",\"frame\":0,\"at\":4}]}]}");
    assert_int_equal(fact(&r.diag, "closed but not open"), 2);
    ASSERT_LINES(r.profile, "a=1\nb@b.c:7<a=2\n");
    reading_done(&r);
}

static void each_event_and_thread_becomes_a_profile_and_comes_back(void **state)
{
    (void)state;
    reading r =
        read_text("{" FRAMES ",\"profiles\":["
                  "{\"unit\":\"none\",\"event\":\"n\",\"unitName\":\"objects\",\"thread\":\"t\","
                  "\"samples\":[[0]],\"weights\":[5]},"
                  "{\"unit\":\"bytes\",\"event\":\"space\",\"unitName\":\"bytes\",\"thread\":\"t\","
                  "\"samples\":[[0],[1]],\"weights\":[50,7]}]}");
    ASSERT_EVENTS(r.profile, "n/objects space/bytes");
    ASSERT_LINES(r.profile, "a=5,50 {thread=t}\nb@b.c:7=0,7 {thread=t}\n");
    pt_buf text = written_as("speedscope", r.profile, NULL);
    reading again = read_as("speedscope", text.data, text.size);
    assert_same_meaning(r.profile, again.profile);
    pt_buf_done(&text);
    reading_done(&again);
    reading_done(&r);
}

/* Each sample has a value of each: what the file says in a few bytes would be gigabytes. */
static void a_file_has_at_most_256_events(void **state)
{
    (void)state;
    for (unsigned events = 256; events <= 257; events++) {
        pt_buf text = PT_BUF_INIT;
        pt_put_text(&text, "{" FRAMES ",\"profiles\":[");
        for (unsigned i = 0; i < events; i++)
            pt_putf(&text,
                    "%s{\"unit\":\"none\",\"event\":\"e%u\",\"samples\":[[0]],\"weights\":[1]}",
                    i > 0 ? "," : "", i);
        pt_put_text(&text, "]}");
        reading r = read_text(pt_buf_text(&text));
        assert_events_or_too_many(&r, events);
        reading_done(&r);
        pt_buf_done(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_sampled_profiles_root_first),
        cmocka_unit_test(a_stretch_of_one_stack_is_a_sample_of_an_evented_profile),
        cmocka_unit_test(profiles_of_one_unit_are_threads),
        cmocka_unit_test(rounding_keeps_the_sum),
        cmocka_unit_test(damage_keeps_what_came_before),
        cmocka_unit_test(frames_that_do_not_close_are_counted),
        cmocka_unit_test(each_event_and_thread_becomes_a_profile_and_comes_back),
        cmocka_unit_test(a_file_has_at_most_256_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
