/* test_otlp.c: OpenTelemetry profiles. The goldens were encoded by protobufjs (tests/golden/otlp/
 * make.js); tests/cli/otlp.t.sh lets it read what pitot writes. */
#include "formats_check.h"
#include "profile_lines.h"

static void profiles_are_events_and_attributes_labels(void **state)
{
    (void)state;
    reading r = read_golden("otlp", "events.otlp");
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.diag.count, 0);
    ASSERT_EVENTS(r.profile, "samples/count cpu/nanoseconds");
    ASSERT_LINES(r.profile,
                 "step@work.c:22/main@work.c:6<main@work.c:5=3,30000000 {thread.name=main thread}"
                 " {size=4096bytes}\n"
                 "0x403000<main@work.c:5=1,10000000 {ok=true} {ratio=0.5}"
                 " {trace_id=0123456789abcdef0123456789abcdef} {span_id=fedcba9876543210}\n"
                 "main@work.c:5=2,20000000\n");
    const pt_mapping *const m = &r.profile->mapping->row[0];
    assert_string_equal(pt_text(r.profile, m->build_id), "c0ffee");
    assert_int_equal(m->start, 0x400000);
    const pt_provenance *const from = pt_profile_provenance(r.profile);
    assert_int_equal(from->start_ns, INT64_C(1700000000000000000));
    assert_int_equal(from->duration_ns, 2000000000);
    assert_int_equal(from->period, 10000000);
    assert_string_equal(pt_text(r.profile, from->period_type), "cpu");
    reading_done(&r);
}

static void timestamps_count_one_each_or_have_values(void **state)
{
    (void)state;
    reading r = read_golden("otlp", "times.otlp");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile,
                 "step@work.c:22/main@work.c:6<main@work.c:5=1 {resource.service.name=shop}\n"
                 "step@work.c:22/main@work.c:6<main@work.c:5=1 {resource.service.name=shop}\n"
                 "0x403000<main@work.c:5=4 {resource.process.pid=12}\n");
    assert_int_equal(r.profile->sample->time_ns[1], INT64_C(1700000000000000009));
    reading_done(&r);
}

/* Bytes by hand: tag, length, contents. */
static void fields_of_later_versions_are_named(void **state)
{
    (void)state;
    static const uint8_t file[] = {
        0x0a, 18,                        /* resource_profiles */
        0x12, 16,                        /* scope_profiles */
        0x12, 14,                        /* profiles */
        0x0a, 4,    0x08, 1,    0x10, 2, /* sample_type */
        0x12, 2,    0x22, 0,             /* a sample, no values */
        0x98, 0x06, 7,    0x00,          /* field 99, then a byte that is no tag */
    };
    reading r = read_as("otlp", file, sizeof file);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "fields 99 of Profile"), 1);
    assert_int_equal(fact(&r.diag, "rows that the dictionary does not have"), 4);
    reading_done(&r);
}

static reading read_proto(const char *text)
{
    proto_bytes bytes = proto_text(text);
    reading r = read_as("otlp", bytes.data, bytes.size);
    free(bytes.data);
    return r;
}

static void fields_of_later_versions_are_named_in_every_message(void **state)
{
    (void)state;
    static const char *const messages[] = {"ProfilesData",
                                           "ResourceProfiles",
                                           "Resource",
                                           "KeyValue",
                                           "AnyValue",
                                           "ScopeProfiles",
                                           "InstrumentationScope",
                                           "Profile",
                                           "ValueType",
                                           "Sample",
                                           "ProfilesDictionary",
                                           "Mapping",
                                           "Location",
                                           "Line",
                                           "Function",
                                           "Link",
                                           "KeyValueAndUnit",
                                           "Stack"};
    reading r =
        read_proto("1{1{1{1\"host\" 2{1\"a\" 99:1} 99:1} 99:1}"
                   "  2{1{1\"maker\" 99:1}"
                   "    2{1{1:1 2:2 99:1} 2{1:1 2[1] 3:1 4[5] 99:1} 99:1} 99:1} 99:1}"
                   "2{1{} 1{1:4096 99:1} 2{} 2{1:1 3{1:1 99:1} 99:1} 3{} 3{1:1 99:1}"
                   "  4{} 4{1\"0123456789abcdef\" 2\"01234567\" 99:1}"
                   "  5\"\" 5\"cpu\" 5\"count\" 6{} 6{1:1 2{3:4} 99:1} 7{} 7{1[1] 99:1} 99:1}"
                   "99:1");
    assert_int_equal(r.status, PT_OK);
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        PT_FREE char *text = pt_strf("fields 99 of %s left out", messages[i]);
        if (fact(&r.diag, text) != 1) fail_msg("%s: %d", text, (int)fact(&r.diag, text));
    }
    assert_int_equal(r.diag.count, sizeof messages / sizeof messages[0]);
    assert_string_equal(pt_text(r.profile, pt_profile_provenance(r.profile)->tool), "maker");
    reading_done(&r);
}

/* protobuf: a field of another wire type than the schema's is an unknown one. */
static void fields_of_another_form_are_none_of_this_version(void **state)
{
    (void)state;
    reading r = read_proto("1{2{2{1{1:1 2:2} 2{1\"x\" 3=8:1 4[5]} 4=4:1}}}"
                           "2{1:7 5\"\" 5\"cpu\" 5\"count\"}");
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(fact(&r.diag, "fields 1 of Sample"), 1);
    assert_int_equal(fact(&r.diag, "fields 3 of Sample"), 1);
    assert_int_equal(fact(&r.diag, "fields 4 of Profile"), 1);
    assert_int_equal(fact(&r.diag, "fields 1 of ProfilesDictionary"), 1);
    ASSERT_LINES(r.profile, "=5\n");
    reading_done(&r);
}

static void keys_and_texts_may_be_rows_of_the_dictionary(void **state)
{
    (void)state;
    reading r = read_proto("1{1{1{3:3 2{8:4}}} 2{2{1{1:1 2:2} 2{2[1] 4[5]}}}}"
                           "2{5\"\" 5\"cpu\" 5\"count\" 5\"host\" 5\"here\" 6{} 6{1:3 2{8:4}}}");
    assert_int_equal(r.status, PT_OK);
    ASSERT_LINES(r.profile, "=5 {resource.host=here} {host=here}\n");
    reading_done(&r);
}

static void the_value_to_show_and_what_locations_are_come_back(void **state)
{
    (void)state;
    reading r = read_proto(
        "1{2{1{3{1\"pprof.scope.default_sample_type\" 2{1\"cpu\"}} 3{1\"other\" 2{3:1}}}"
        "    2{1{1:1 2:2} 2{1:1 4[5]}} 2{1{1:3 2:2} 2{1:1 4[6]}}}}"
        "2{2{} 2{2:4096 4[1 2]} 5\"\" 5\"cpu\" 5\"count\" 5\"wall\" 5\"pprof.location.is_folded\""
        "  5\"profile.frame.type\" 6{} 6{1:4 2{2:1}} 6{1:5 2{1\"kernel\"}} 7{} 7{1[1]}}");
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(fact(&r.diag, "attributes other of scopes"), 1);
    for (int round = 0; round < 2; round++) {
        ASSERT_EVENTS(r.profile, "cpu/count wall/count");
        assert_int_equal(pt_profile_default_event(r.profile), 0);
        assert_int_equal(r.profile->location->flags[0], PT_LOCATION_FOLDED | PT_LOCATION_KERNEL);
        pt_buf bytes = written_as("otlp", r.profile, NULL);
        reading_done(&r);
        r = read_as("otlp", bytes.data, bytes.size);
        pt_buf_done(&bytes);
    }
    reading_done(&r);
}

/* They are labels of each sample. */
static void a_resource_has_at_most_128_attributes(void **state)
{
    (void)state;
    pt_buf rows = PT_BUF_INIT;
    pt_put_text(&rows, "1{1{");
    for (unsigned i = 0; i < 200; i++)
        pt_putf(&rows, "1{1\"k%u\" 2{3:1}}", i);
    pt_put_text(&rows, "} 2{2{2{4[1]} 2{4[1]}}}}");
    reading r = read_proto(pt_buf_text(&rows));
    assert_int_equal(fact(&r.diag, "attributes of a resource left out"), 72);
    assert_int_equal(r.profile->labels->offset[2], 128);
    reading_done(&r);
    pt_buf_done(&rows);
}

/* Each sample has a value of each: what the file says in a few bytes would be gigabytes. */
static void a_file_has_at_most_256_events(void **state)
{
    (void)state;
    for (unsigned events = 256; events <= 257; events++) {
        pt_buf rows = PT_BUF_INIT;
        pt_put_text(&rows, "1{2{");
        for (unsigned i = 1; i <= events; i++)
            pt_putf(&rows, "2{1{1:%u} 2{4[1]}}", i);
        pt_put_text(&rows, "}} 2{5\"\"");
        for (unsigned i = 1; i <= events; i++)
            pt_putf(&rows, " 5\"e%u\"", i);
        pt_put_text(&rows, "}");
        reading r = read_proto(pt_buf_text(&rows));
        assert_events_or_too_many(&r, events);
        reading_done(&r);
        pt_buf_done(&rows);
    }
}

static void rows_that_are_not_there_are_counted(void **state)
{
    (void)state;
    static const uint8_t file[] = {
        0x0a, 15, 0x12, 13, 0x12, 11,    /* resource, scope, profile */
        0x0a, 2,  0x08, 1,               /* sample_type: string 1 */
        0x12, 5,  0x08, 9,  0x22, 1,  5, /* stack 9, value 5 */
        0x12, 9,  0x2a, 0,  0x2a, 3,  'c', 'p', 'u', 0x3a, 0,
    };
    reading r = read_as("otlp", file, sizeof file);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "does not have"), 1);
    ASSERT_EVENTS(r.profile, "cpu/");
    ASSERT_LINES(r.profile, "=5\n");
    reading_done(&r);
}

/* Values in field 2, attributes in 3: as the Go module of 2025 has it. */
static void samples_of_older_layouts_are_not_read_as_something_else(void **state)
{
    (void)state;
    static const uint8_t file[] = {
        0x0a, 14, 0x12, 12, 0x12, 10,                /* resource, scope, profile */
        0x12, 8,  0x08, 0,  0x12, 1,  1, 0x1a, 1, 0, /* a sample */
    };
    reading r = read_as("otlp", file, sizeof file);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "older version"));
    assert_int_equal(r.profile->sample->t.count, 0);
    reading_done(&r);
}

static void other_protobuf_is_not_taken_for_it(void **state)
{
    (void)state;
    static const uint8_t pprof[64] = {0x0a, 4, 0x08, 1, 0x10, 2, 0x12, 2, 0x08, 1};
    const pt_probe_input input = {.head = pprof, .head_bytes = 10, .file_bytes = 10, .name = ""};
    assert_int_equal(pt_format_find("otlp")->probe(&input), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_are_events_and_attributes_labels),
        cmocka_unit_test(timestamps_count_one_each_or_have_values),
        cmocka_unit_test(fields_of_later_versions_are_named),
        cmocka_unit_test(fields_of_later_versions_are_named_in_every_message),
        cmocka_unit_test(fields_of_another_form_are_none_of_this_version),
        cmocka_unit_test(keys_and_texts_may_be_rows_of_the_dictionary),
        cmocka_unit_test(the_value_to_show_and_what_locations_are_come_back),
        cmocka_unit_test(a_resource_has_at_most_128_attributes),
        cmocka_unit_test(a_file_has_at_most_256_events),
        cmocka_unit_test(rows_that_are_not_there_are_counted),
        cmocka_unit_test(samples_of_older_layouts_are_not_read_as_something_else),
        cmocka_unit_test(other_protobuf_is_not_taken_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
