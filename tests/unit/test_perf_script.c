/* test_perf_script.c: what perf script prints, in the forms that its fields and names can give it.
 * Lines are as perf 4.15 to 6.1 print them. */
#include "formats_check.h"

static reading read_text(const char *text)
{
    reading r = read_as("perf-script", text, strlen(text));
    if (r.status != PT_OK) fail_msg("%s", r.error.message);
    return r;
}

/* "leaf<caller", inlined functions in front of theirs with "~"; [..] = no name. */
static const char *stack_text(const pt_profile *p, uint32_t sample, char *text, size_t size)
{
    const uint32_t stack = p->sample->stack[sample];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        const uint32_t at = pt_stack_frames(p, stack)[i];
        const uint32_t first = p->location->line_first[at], end = p->location->line_first[at + 1];
        if (i > 0) used += (size_t)snprintf(text + used, size - used, "<");
        if (first == end)
            used += (size_t)snprintf(text + used, size - used, "[%llx]",
                                     (unsigned long long)p->location->address[at]);
        for (uint32_t l = first; l < end; l++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", l > first ? "~" : "",
                                     pt_text(p, p->function->name[p->line->function[l]]));
    }
    return text;
}

#define ASSERT_STACK(p, sample, expected)                                                          \
    do {                                                                                           \
        char text_[1024];                                                                          \
        assert_string_equal(stack_text(p, sample, text_, sizeof text_), expected);                 \
    } while (0)

static void a_sample_has_its_thread_time_cpu_and_period(void **state)
{
    (void)state;
    reading r = read_text(
        "# hostname : box\n"
        "Web Content 12 3 25097/25099 [007]  1299.651173:    2004008 cycles:ppp: \n"
        "\t            1146 leaf+0xd (/tmp/a b/hot (1))\n"
        "\tffffffff81000010 do_syscall_64 ([kernel.kallsyms])\n"
        "\t 6ce258d4c544155 [unknown] ([unknown])\n"
        "\n"
        "perf     9 198789.478194000: instructions:u:\n"
        "\t             6f3 operator()(int, char (*)[2]) const+0x1f (/bin/x (deleted))\n");
    const pt_profile *const p = r.profile;
    assert_int_equal(p->sample->t.count, 2);
    assert_int_equal(p->sample->pid[0], 25097);
    assert_int_equal(p->sample->tid[0], 25099);
    assert_int_equal(p->sample->cpu[0], 7);
    assert_int_equal(p->sample->time_ns[0], 1299651173000);
    assert_string_equal(pt_text(p, p->sample->comm[0]), "Web Content 12 3");
    assert_int_equal(p->sample->tid[1], 9);
    assert_int_equal(p->sample->pid[1], PT_NONE);
    assert_int_equal(p->sample->time_ns[1], 198789478194000);
    assert_string_equal(pt_text(p, p->event->row[1].type), "cycles");
    assert_string_equal(pt_text(p, p->event->row[2].type), "instructions:u");
    assert_int_equal(pt_profile_total(p, 1), 2004008);
    assert_int_equal(pt_profile_total(p, 2), 1);
    ASSERT_STACK(p, 0, "leaf<do_syscall_64<[6ce258d4c544155]");
    ASSERT_STACK(p, 1, "operator()(int, char (*)[2]) const");
    assert_string_equal(pt_text(p, p->mapping->row[0].file), "/tmp/a b/hot (1)");
    assert_string_equal(pt_text(p, p->mapping->row[2].file), "/bin/x");
    assert_string_equal(pt_text(p, pt_profile_provenance(p)->host), "box");
    const uint32_t kernel = pt_stack_frames(p, p->sample->stack[0])[1];
    assert_int_equal(p->location->flags[kernel], PT_LOCATION_KERNEL | PT_LOCATION_RETURN_ADDR);
    reading_done(&r);
}

static void a_sample_may_be_one_line(void **state)
{
    (void)state;
    reading r = read_text("             hot  5454  5654.697578:   10101010 cpu-clock:ppp:      "
                          "55fca4514146 leaf+0xd (/tmp/hot)\n"
                          "         swapper     0 [001]  5654.7:   10101010 cpu-clock:ppp:  "
                          "ffffffff81000010 [unknown] ([kernel.kallsyms])\n"
                          "             hot  5454  5654.8:   7 cpu/mem-loads,ldlat=30/P:      1146 "
                          "leaf (/tmp/hot)\n");
    assert_int_equal(r.profile->sample->t.count, 3);
    ASSERT_STACK(r.profile, 0, "leaf");
    ASSERT_STACK(r.profile, 1, "[ffffffff81000010]");
    assert_string_equal(pt_text(r.profile, r.profile->event->row[1].unit), "nanoseconds");
    assert_string_equal(pt_text(r.profile, r.profile->event->row[2].type),
                        "cpu/mem-loads,ldlat=30/P");
    reading_done(&r);
}

/* What perf prints for a symbol of separate debug information at an address that another library's
 * frame follows. */
static void an_inlined_frame_without_one_of_its_address_is_a_frame_of_its_own(void **state)
{
    (void)state;
    reading r = read_text("prog 1 1.000001:  1 cycles: \n"
                          "\t7fbcb25ec3d9 __dlopen+0x49 (inlined)\n"
                          "\t7fbcb27a465a [unknown] (/usr/lib/libltdl.so.7)\n"
                          "\t        2000 [unknown] (inlined)\n"
                          "\t        1136 outer (inlined)\n"
                          "\n");
    const pt_profile *const p = r.profile;
    const uint32_t stack = p->sample->stack[0];
    assert_int_equal(pt_stack_depth(p, stack), 4);
    const uint32_t *const frames = pt_stack_frames(p, stack);
    assert_int_equal(p->location->address[frames[0]], 0x7fbcb25ec3d9);
    assert_int_equal(p->location->mapping[frames[0]], PT_NONE);
    assert_int_equal(p->location->address[frames[1]], 0x7fbcb27a465a);
    assert_string_equal(pt_text(p, p->mapping->row[p->location->mapping[frames[1]]].file),
                        "/usr/lib/libltdl.so.7");
    assert_int_equal(p->location->address[frames[2]], 0x2000);
    assert_int_equal(p->location->address[frames[3]], 0x1136);
    reading_done(&r);
}

static void inlined_frames_belong_to_the_one_they_are_in(void **state)
{
    (void)state;
    reading r = read_text("hot 1 1.000001:  1 cycles: \n"
                          "\t   1146 inner (inlined)\n"
                          "\t   1146 middle (inlined)\n"
                          "\t   1146 outer+0xd (/tmp/hot)\n"
                          "\t   11ab main+0x2b (/tmp/hot)\n\n");
    ASSERT_STACK(r.profile, 0, "inner~middle~outer<main");
    assert_int_equal(r.profile->location->t.count, 2);
    reading_done(&r);
}

static void source_lines_stand_behind_their_frames(void **state)
{
    (void)state;
    reading r = read_text("hot 1 1.000001:  1 cycles: \n"
                          "\t   1146 leaf+0xd (/tmp/hot)\n"
                          "  src/hot.c:3\n"
                          "\t   11ab main+0x2b (/tmp/hot)\n"
                          "  src/hot.c:6\n"
                          "\n"
                          "hot 1 1.000002:  1 cycles: \n"
                          "\t   1146 leaf+0xd (/tmp/hot)\n"
                          "  src/hot.c:3\n\n");
    const pt_profile *const p = r.profile;
    ASSERT_STACK(p, 0, "leaf<main");
    assert_int_equal(p->line->line[0], 3);
    assert_int_equal(p->line->line[1], 6);
    assert_string_equal(pt_text(p, p->function->file[p->line->function[1]]), "src/hot.c");
    assert_int_equal(p->location->t.count, 2);
    reading_done(&r);
}

static void fields_may_be_missing(void **state)
{
    (void)state;
    reading r = read_text("hot 25097 \n\t            1146 leaf\n\t            11ab main\n\n"
                          "hot 25097 cycles: \n\t            1146\n\n");
    ASSERT_STACK(r.profile, 0, "leaf<main");
    ASSERT_STACK(r.profile, 1, "[1146]");
    assert_int_equal(r.profile->sample->tid[0], 25097);
    reading_done(&r);
}

static void padded_names_begin_samples_without_a_time_too(void **state)
{
    (void)state;
    reading r = read_text("             hot   123 cycles:  1146 leaf (/tmp/hot)\n"
                          "             hot   123 cycles:  11ab main (/tmp/hot)\n"
                          "              dd   124 cycles:  2000 copy (/bin/dd)\n");
    assert_int_equal(r.profile->sample->t.count, 3);
    ASSERT_STACK(r.profile, 0, "leaf");
    ASSERT_STACK(r.profile, 1, "main");
    ASSERT_STACK(r.profile, 2, "copy");
    assert_int_equal(r.profile->sample->tid[2], 124);
    reading_done(&r);
}

/* As simpleperf's report-sample.py prints them. */
static void frames_behind_blanks_are_all_kept(void **state)
{
    (void)state;
    static const char text[] = "Gecko\t25122 [007] 115539.936601:\t\t1000000 task-clock:u:\n"
                               "        b3cea6c4\tLock::unlock() (/system/lib/libc.so)\n"
                               "        b3cea535\tshould_trace() (/system/lib/libc.so)\n"
                               "        990714fd\tstart (/system/lib/libc.so)\n\n";
    reading r = read_text(text);
    ASSERT_STACK(r.profile, 0, "Lock::unlock()<should_trace()<start");
    assert_string_equal(pt_text(r.profile, r.profile->event->row[1].type), "task-clock:u");
    reading_done(&r);
    const pt_probe_input head = {
        .head = (const uint8_t *)text, .head_bytes = strlen(text), .file_bytes = strlen(text)};
    assert_true(pt_format_find("perf-script")->probe(&head) > 0);
}

static void tracepoints_and_other_records_are_told_apart(void **state)
{
    (void)state;
    reading r =
        read_text("perf-exec 7 1.5: PERF_RECORD_COMM exec: hot:7/7\n"
                  "hot 7 [001] 2.5: sched:sched_switch: prev_comm=hot prev_pid=7 ==> next_comm=x\n"
                  "\tffffffff81000010 schedule ([kernel.kallsyms])\n\n");
    assert_int_equal(r.profile->sample->t.count, 1);
    assert_string_equal(pt_text(r.profile, r.profile->event->row[1].type), "sched:sched_switch");
    ASSERT_STACK(r.profile, 0, "schedule");
    reading_done(&r);
}

static void a_sample_without_a_period_stands_for_no_time(void **state)
{
    (void)state;
    reading r = read_text("hot 7 2.5: cpu-clock: \n\t1146 leaf (/tmp/hot)\n\n");
    assert_int_equal(r.profile->event->row[1].kind, PT_EVENT_COUNT);
    assert_int_equal(r.profile->sample->value[1][0], 1);
    reading_done(&r);
    r = read_text("hot 7 2.5: 4000 cpu-clock: \n\t1146 leaf (/tmp/hot)\n\n");
    assert_int_equal(r.profile->event->row[1].kind, PT_EVENT_TIME);
    reading_done(&r);
}

static void samples_of_too_many_events_still_count_as_samples(void **state)
{
    (void)state;
    pt_buf text = PT_BUF_INIT;
    for (unsigned i = 0; i < 300; i++)
        pt_putf(&text, "hot 7 %u.5: 10 event-%u: \n\t1146 leaf (/tmp/hot)\n\n", i, i);
    reading r = read_text(pt_buf_text(&text));
    pt_buf_done(&text);
    assert_int_equal(r.profile->event->t.count, 256);
    assert_int_equal(pt_profile_total(r.profile, 0), 300);
    assert_int_equal(pt_profile_total(r.profile, 255), 10);
    assert_int_equal(fact(&r.diag, "more events than 255"), 45);
    reading_done(&r);
}

static int probed(const char *text)
{
    const pt_probe_input input = {
        .head = (const uint8_t *)text, .head_bytes = strlen(text), .file_bytes = strlen(text)};
    return pt_format_find("perf-script")->probe(&input);
}

/* As `perf script -F comm,tid,event,ip,sym,dso` and `-F comm,tid,ip,sym,dso` print it. */
static void text_without_times_is_known(void **state)
{
    (void)state;
    assert_true(probed("hot    7 cpu-clock: \n\t            1146 leaf (/tmp/hot)\n\n") > 0);
    assert_true(probed("hot    7 \n\t            1146 leaf (/tmp/hot)\n\n") > 0);
    assert_int_equal(probed("hot    7 \n\tfeed me\n\n"), 0);
    assert_int_equal(probed("hot    7 \n  1146 leaf (/tmp/hot)\n\n"), 0);
    assert_int_equal(probed("total 7\n\n"), 0);
}

static void lines_that_are_nothing_are_damage(void **state)
{
    (void)state;
    static const char text[] = "hot 1 1.000001:  1 cycles: \n\t   1146 leaf (/tmp/hot)\n\n"
                               "Processed 12 events and lost 1 chunks!\n";
    reading r = read_as("perf-script", text, sizeof text - 1);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "line 4"));
    assert_int_equal(r.profile->sample->t.count, 1);
    reading_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_has_its_thread_time_cpu_and_period),
        cmocka_unit_test(a_sample_may_be_one_line),
        cmocka_unit_test(an_inlined_frame_without_one_of_its_address_is_a_frame_of_its_own),
        cmocka_unit_test(inlined_frames_belong_to_the_one_they_are_in),
        cmocka_unit_test(source_lines_stand_behind_their_frames),
        cmocka_unit_test(fields_may_be_missing),
        cmocka_unit_test(padded_names_begin_samples_without_a_time_too),
        cmocka_unit_test(frames_behind_blanks_are_all_kept),
        cmocka_unit_test(tracepoints_and_other_records_are_told_apart),
        cmocka_unit_test(a_sample_without_a_period_stands_for_no_time),
        cmocka_unit_test(samples_of_too_many_events_still_count_as_samples),
        cmocka_unit_test(text_without_times_is_known),
        cmocka_unit_test(lines_that_are_nothing_are_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
