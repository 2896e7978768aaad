/* test_legacy.c: the text profiles of gperftools, jemalloc, Go and Java. What google/pprof says of
 * whole files is compared by tests/cli/legacy.t.sh; here are the rules one by one. */
#include "formats_check.h"

static reading read_text(const char *format, const char *text, bool annotate)
{
    reading r = {.error = PT_ERROR_INIT};
    pt_diag_init(&r.diag);
    const pt_read_hooks hooks = {.diag = &r.diag, .annotate = annotate};
    pt_builder *builder = pt_builder_new();
    pt_reader reader;
    pt_reader_init(&reader, text, strlen(text), NULL);
    r.status = pt_format_find(format)->read(&reader, builder, &hooks, &r.error);
    if (r.status != PT_OK && r.status != PT_ERR_DAMAGED) {
        pt_builder_free(builder);
        return r;
    }
    assert_int_equal(pt_builder_freeze(builder, &r.profile, NULL), PT_OK);
    assert_int_equal(pt_profile_check(r.profile, NULL), PT_OK);
    return r;
}

static int64_t value(const reading *r, uint32_t event, uint32_t sample)
{
    return r->profile->sample->value[event][sample];
}

static uint64_t frame_address(const reading *r, uint32_t sample, uint32_t depth)
{
    const uint32_t *frames = pt_stack_frames(r->profile, r->profile->sample->stack[sample]);
    return r->profile->location->address[frames[depth]];
}

static const char *frame_name(const reading *r, uint32_t sample, uint32_t depth)
{
    const pt_profile *p = r->profile;
    const uint32_t location = pt_stack_frames(p, p->sample->stack[sample])[depth];
    const uint32_t line = p->location->line_first[location];
    if (line == p->location->line_first[location + 1]) return "";
    return pt_text(p, p->function->name[p->line->function[line]]);
}

/* 524288 bytes at one sample every 524288: 1 / (1 - 1/e) = 1.58197670686932... */
static void sampled_heaps_are_scaled_by_the_probability_of_their_size(void **state)
{
    (void)state;
    reading r = read_text("heap",
                          "heap profile: 1: 524288 [1: 524288] @ heap_v2/524288\n"
                          "  1: 524288 [1: 524288] @ 0x401001 0x402002\n",
                          false);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->event->t.count, 2);
    assert_int_equal(value(&r, 0, 0), 1);
    assert_int_equal(value(&r, 1, 0), 829411); /* 829411.4 */
    assert_int_equal(pt_profile_provenance(r.profile)->period, 524288);
    assert_int_equal(frame_address(&r, 0, 0), 0x401001);
    assert_int_equal(r.profile->location->flags[0], PT_LOCATION_RETURN_ADDR);
    reading_done(&r);
}

static void the_first_form_has_twice_the_rate_in_its_header(void **state)
{
    (void)state;
    reading r = read_text("heap",
                          "heap profile: 1: 524288 [1: 524288] @ heap/1048576\n"
                          "  1: 524288 [1: 524288] @ 0x401001\n",
                          false);
    assert_int_equal(value(&r, 1, 0), 829411);
    assert_int_equal(pt_profile_provenance(r.profile)->period, 524288);
    reading_done(&r);
}

static void heaps_that_count_everything_are_left_as_they_are(void **state)
{
    (void)state;
    static const char *const kinds[] = {"heapprofile", "growth", "growthz", "fragmentationz"};
    for (size_t i = 0; i < 4; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "heap profile: 2: 100 [9: 900] @ %s\n 2: 100 [9: 900] @ 0x401001\n", kinds[i]);
        reading r = read_text("heap", text, false);
        const bool both = i == 0;
        assert_int_equal(r.profile->event->t.count, both ? 4 : 2);
        assert_int_equal(value(&r, 0, 0), both ? 9 : 2);
        assert_int_equal(value(&r, both ? 3 : 1, 0), 100);
        assert_int_equal(pt_profile_provenance(r.profile)->period, 1);
        reading_done(&r);
    }
}

static void lines_that_are_no_samples_are_skipped_and_told(void **state)
{
    (void)state;
    reading r = read_text("heap",
                          "heap profile: 2: 100 [2: 100] @ heapprofile\n"
                          "what is this\n"
                          " 2: 100 [2: 100] @ 0x401001\n"
                          " 2: 100 [2: 99999999999999999999] @ 0x401001\n",
                          false);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_string_equal(r.error.message,
                        "2 lines are not understood, the first at byte 44; kept 1 sample");
    reading_done(&r);
}

static void threads_of_jemalloc_add_up_to_their_stack(void **state)
{
    (void)state;
    static const char text[] = "heap_v2/4096\n"
                               "  t*: 3: 12288 [0: 0]\n"
                               "  t1: 1: 4096 [0: 0] loader\n"
                               "  t7: 2: 8192 [0: 0]\n"
                               "@ 0x401001 0x402002\n"
                               "  t*: 3: 12288 [0: 0]\n"
                               "  t1: 1: 4096 [0: 0]\n"
                               "  t7: 2: 8192 [0: 0]\n"
                               "@ 0x403003\n"
                               "  t*: 1: 4096 [0: 0]\n"
                               "\n"
                               "MAPPED_LIBRARIES:\n"
                               "400000-500000 r-xp 00000000 00:00 0 /bin/x\n";
    reading r = read_text("jemalloc", text, false);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->sample->t.count, 3);
    /* 12288 x 1.5819767 = 19439.3; a third of it, and the rest. */
    assert_int_equal(value(&r, 1, 0), 6479);
    assert_int_equal(value(&r, 1, 1), 19439 - 6479);
    assert_int_equal(value(&r, 0, 0) + value(&r, 0, 1), 4); /* 3 x 1.58 */
    assert_int_equal(value(&r, 1, 2), 6479);
    const pt_profile *p = r.profile;
    const pt_label *labels = p->labels->row + p->labels->offset[p->sample->labels[0]];
    assert_string_equal(pt_text(p, labels[1].key), "thread");
    assert_int_equal(labels[1].num, 1);
    assert_string_equal(pt_text(p, labels[2].str), "loader");
    assert_int_equal(p->location->mapping[0], 0);
    reading_done(&r);
}

/* 100 cycles at 2 GHz are 50 ns, of one in 100; go's order of operations. */
static void contention_is_in_nanoseconds_of_all_contentions(void **state)
{
    (void)state;
    reading r = read_text("contention",
                          "--- contentionz 1 ---\ncycles/second = 2000000000\n"
                          "sampling period = 100\nms since reset = 1500\ndiscarded samples = 3\n"
                          "  100 10 @ 0x401010 0x401050\n",
                          false);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(value(&r, 0, 0), 1000);
    assert_int_equal(value(&r, 1, 0), 5000);
    assert_int_equal(pt_profile_provenance(r.profile)->duration_ns, 1500000000);
    assert_int_equal(pt_profile_provenance(r.profile)->lost, 3);
    reading_done(&r);
}

static void threads_that_are_the_same_are_counted_or_labelled(void **state)
{
    (void)state;
    static const char text[] = "--- threadz 1 ---\n\n"
                               "--- Thread 7f01 (name: a/1) stack: ---\n"
                               "  PC:  0x00401010: wait(int)\n  0x00401050: main\n"
                               "--- Thread 7f02 (name: b/c/2) stack: ---\n"
                               "  [same as previous thread]\n"
                               "--- Memory map: ---\n";
    reading r = read_text("threadz", text, false);
    assert_int_equal(r.profile->sample->t.count, 1);
    assert_int_equal(value(&r, 0, 0), 2);
    assert_int_equal(r.profile->location->flags[0], 0);
    assert_string_equal(frame_name(&r, 0, 0), "");
    reading_done(&r);

    r = read_text("threadz", text, true);
    const pt_profile *p = r.profile;
    assert_int_equal(p->sample->t.count, 2);
    assert_int_equal(value(&r, 0, 1), 1);
    assert_string_equal(frame_name(&r, 0, 0), "wait(int)");
    assert_string_equal(frame_name(&r, 1, 1), "main");
    const pt_label *labels = p->labels->row + p->labels->offset[p->sample->labels[1]];
    assert_int_equal(labels[0].num, 2);
    assert_string_equal(pt_text(p, labels[1].str), "b/c");
    reading_done(&r);
}

static void comments_of_go_give_names_lines_and_labels_if_asked_for(void **state)
{
    (void)state;
    static const char text[] = "goroutine profile: total 3\n"
                               "2 @ 0x42e451 0x4baaf1 0x46839d\n"
                               "# labels: {\"k\":\"a \\\"v\\\" \\u00e9\", \"l\":\"\"}\n"
                               "#\t0x4baaf0\tmain.f.func1+0xb0\t/src/a.go:793\n"
                               "#\t0x46839c\tmain.main+0x2cd\t\t/src/a.go:67\n"
                               "\n"
                               "1 @ 0x42e451\n"
                               "#\t0x42e450\truntime.gopark+0x30\t/go/proc.go:5\n";
    reading r = read_text("counts", text, true);
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_string_equal(frame_name(&r, 0, 1), "main.f.func1");
    assert_string_equal(frame_name(&r, 0, 2), "main.main");
    assert_string_equal(frame_name(&r, 0, 0), "runtime.gopark"); /* told later */
    const uint32_t main_line = p->location->line_first[2];
    assert_int_equal(p->line->line[main_line], 67);
    assert_string_equal(pt_text(p, p->function->file[p->line->function[main_line]]), "/src/a.go");
    const pt_label *labels = p->labels->row + p->labels->offset[p->sample->labels[0]];
    assert_string_equal(pt_text(p, labels[0].str), "a \"v\" \xc3\xa9");
    assert_string_equal(pt_text(p, labels[1].key), "l");
    reading_done(&r);

    r = read_text("counts", text, false);
    assert_int_equal(r.profile->function->t.count, 0);
    assert_int_equal(r.profile->sample->labels[0], 0);
    reading_done(&r);
}

/* The output of runtime/pprof of Go 1.19 for threadcreate. */
static void a_count_without_addresses_is_kept_with_an_empty_stack(void **state)
{
    (void)state;
    reading r = read_text("counts", "threadcreate profile: total 4\n4 @\n#\t0x0\n\n", true);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->sample->t.count, 1);
    assert_int_equal(r.profile->sample->value[0][0], 4);
    assert_int_equal(r.profile->location->t.count, 0);
    reading_done(&r);
}

static void names_of_java_take_the_place_of_addresses(void **state)
{
    (void)state;
    reading r = read_text("java-text",
                          "--- contentionz 1 ---\nformat = java\nresolution = microseconds\n"
                          "sampling period = 100\n"
                          "  50 2 @ 0x3 0x4 0x9\n"
                          " 0x00000003 com.example.Lock.take (Lock.java:7)\n"
                          " 0x00000004 generated stub/JIT\n"
                          " 0x00000009 f(x) (/lib/libx.so)\n",
                          false);
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(value(&r, 0, 0), 200);
    assert_int_equal(value(&r, 1, 0), 5000);
    assert_string_equal(pt_text(p, p->event->row[1].unit), "microseconds");
    assert_string_equal(frame_name(&r, 0, 0), "com.example.Lock.take");
    assert_string_equal(frame_name(&r, 0, 1), "STUB");
    assert_string_equal(frame_name(&r, 0, 2), "f(x)");
    assert_string_equal(pt_text(p, p->function->file[2]), "libx.so");
    assert_int_equal(p->location->address[0], 0);
    reading_done(&r);
}

static void maps_may_have_attributes_log_prefixes_and_short_forms(void **state)
{
    (void)state;
    reading r = read_text("heap",
                          "heap profile: 1: 1 [1: 1] @ heapprofile\n"
                          " 1: 1 [1: 1] @ 0x401001 0x7f0000000101 0x601001\n"
                          "MAPPED_LIBRARIES:\n"
                          "I0102 03:04:05.6 7 f.cc:12] 7f0000000000-7f0000001000: /lib/b.so.1\n"
                          "root=/opt\n"
                          "  400000-402000: $root/server (@0) abcd01\n"
                          "600000-602000 rw-p 0 00:00 0 /opt/data\n"
                          "700000-702000 rw-p /opt/more\n",
                          false);
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(p->mapping->t.count, 2);
    assert_string_equal(pt_text(p, p->mapping->row[0].file), "/opt/server");
    assert_string_equal(pt_text(p, p->mapping->row[0].build_id), "abcd01");
    assert_string_equal(pt_text(p, p->mapping->row[1].file), "/lib/b.so.1");
    assert_int_equal(p->location->mapping[0], 0);
    assert_int_equal(p->location->mapping[1], 1);
    assert_int_equal(p->location->mapping[2], PT_NONE);
    reading_done(&r);
}

static void an_address_before_a_mapping_with_an_offset_extends_it(void **state)
{
    (void)state;
    reading r = read_text("heap",
                          "heap profile: 1: 1 [1: 1] @ heapprofile\n 1: 1 [1: 1] @ 0x800801\n"
                          "MAPPED_LIBRARIES:\n801000-802000 r-xp 00001000 00:00 0 /bin/x\n",
                          false);
    assert_int_equal(r.profile->mapping->row[0].start, 0x800000);
    assert_int_equal(r.profile->mapping->row[0].file_offset, 0);
    assert_int_equal(r.profile->location->mapping[0], 0);
    reading_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_heaps_are_scaled_by_the_probability_of_their_size),
        cmocka_unit_test(the_first_form_has_twice_the_rate_in_its_header),
        cmocka_unit_test(heaps_that_count_everything_are_left_as_they_are),
        cmocka_unit_test(lines_that_are_no_samples_are_skipped_and_told),
        cmocka_unit_test(threads_of_jemalloc_add_up_to_their_stack),
        cmocka_unit_test(contention_is_in_nanoseconds_of_all_contentions),
        cmocka_unit_test(threads_that_are_the_same_are_counted_or_labelled),
        cmocka_unit_test(comments_of_go_give_names_lines_and_labels_if_asked_for),
        cmocka_unit_test(a_count_without_addresses_is_kept_with_an_empty_stack),
        cmocka_unit_test(names_of_java_take_the_place_of_addresses),
        cmocka_unit_test(maps_may_have_attributes_log_prefixes_and_short_forms),
        cmocka_unit_test(an_address_before_a_mapping_with_an_offset_extends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
