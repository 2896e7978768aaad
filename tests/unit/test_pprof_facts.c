/* test_pprof_facts.c: what profile.proto has no field for survives being written and read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../check/profile_equal.h"
#include "formats/format.h"

static pt_out *open_buffer(void *context, const char *suffix, pt_error *reterr)
{
    return context;
}

static const pt_profile *written_and_read(const pt_profile *p)
{
    const pt_format *pprof = pt_format_find("pprof");
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    const pt_output output = {&out, open_buffer};
    const pt_write_options options = {.event = PT_NONE, .raw = true};
    assert_int_equal(pprof->write(p, &output, &options, NULL), PT_OK);
    assert_int_equal(pt_out_done(&out, NULL), PT_OK);

    pt_reader reader;
    pt_reader_init(&reader, buf.data, buf.size, NULL);
    pt_builder *b = pt_builder_new();
    const pt_read_hooks hooks = {.annotate = true};
    assert_int_equal(pprof->read(&reader, b, &hooks, NULL), PT_OK);
    const pt_profile *again = NULL;
    assert_int_equal(pt_builder_freeze(b, &again, NULL), PT_OK);
    pt_buf_done(&buf);
    return again;
}

/* One sample of an address for each end; samples of equal frames differ by their ends only. */
static pt_builder *profile_of_ends(const pt_stack_end *ends, size_t count)
{
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v});
    const pt_location_id l =
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE, .address = 0x1234}, NULL, 0);
    for (size_t i = 0; i < count; i++)
        pt_builder_sample(b, pt_builder_stack(b, &l.v, 1, ends[i]), PT_NO_LABELS,
                          (int64_t[]){(int64_t)i + 1});
    return b;
}

static const pt_profile *frozen(pt_builder *b)
{
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static void every_way_a_stack_can_end_survives(void **state)
{
    const pt_stack_end ends[] = {PT_STACK_END_ROOT, PT_STACK_END_TRUNCATED, PT_STACK_END_NO_RULE,
                                 PT_STACK_END_BAD_READ, PT_STACK_END_UNKNOWN};
    PT_UNREF_PROFILE const pt_profile *p = frozen(profile_of_ends(ends, 5));
    PT_UNREF_PROFILE const pt_profile *q = written_and_read(p);
    assert_int_equal(q->sample->t.count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(q->stack->end[q->sample->stack[i]], ends[i]);
        assert_int_equal(q->sample->labels[i], 0);
    }
    assert_int_equal(pt_profile_provenance(q)->comment_count, 0);
}

static void unknown_ends_stay_unknown_and_add_nothing_to_the_file(void **state)
{
    const pt_stack_end unknown = PT_STACK_END_UNKNOWN;
    PT_UNREF_PROFILE const pt_profile *p = frozen(profile_of_ends(&unknown, 1));
    PT_UNREF_PROFILE const pt_profile *q = written_and_read(p);
    assert_int_equal(q->stack->end[0], PT_STACK_END_UNKNOWN);
    PT_UNREF_PROFILE const pt_profile *x = pt_profile_canonical(p);
    PT_UNREF_PROFILE const pt_profile *y = pt_profile_canonical(q);
    char difference[200];
    if (!pt_profile_equal(x, y, difference, sizeof difference)) fail_msg("%s", difference);
}

static void figures_of_the_recording_survive(void **state)
{
    const pt_stack_end root = PT_STACK_END_ROOT;
    pt_builder *b = profile_of_ends(&root, 1);
    pt_provenance *from = pt_builder_provenance(b);
    from->asked_hz = 4000;
    from->true_hz = 250.125;
    from->cpu_used_ns = 4610000001;
    from->cpu_seen_ns = 4154000000;
    from->lost = UINT64_MAX;
    from->throttled = 3;
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    PT_UNREF_PROFILE const pt_profile *q = written_and_read(p);
    const pt_provenance *got = pt_profile_provenance(q);
    assert_true(got->asked_hz == 4000 && got->true_hz == 250.125);
    assert_true(got->cpu_used_ns == 4610000001 && got->cpu_seen_ns == 4154000000);
    assert_true(got->lost == UINT64_MAX && got->throttled == 3);
}

static void comment_that_says_something_unknown_stays_a_comment(void **state)
{
    const pt_stack_end unknown = PT_STACK_END_UNKNOWN;
    static const char *const comments[] = {"pitot: lost=12 colour=blue", "pitot: lost=many",
                                           "pitot: ", "lost=12"};
    for (size_t i = 0; i < 4; i++) {
        pt_builder *b = profile_of_ends(&unknown, 1);
        pt_builder_comment(b, pt_builder_text(b, comments[i]));
        PT_UNREF_PROFILE const pt_profile *p = frozen(b);
        PT_UNREF_PROFILE const pt_profile *q = written_and_read(p);
        assert_int_equal(pt_profile_provenance(q)->comment_count, 1);
        assert_string_equal(pt_text(q, pt_profile_provenance(q)->comments[0]), comments[i]);
        assert_int_equal(pt_profile_provenance(q)->lost, 0);
    }
}

static void times_threads_and_cpus_survive(void **state)
{
    (void)state;
    pt_builder *b = profile_of_ends(NULL, 0);
    const pt_stack_id stack = pt_builder_stack(b, NULL, 0, PT_STACK_END_UNKNOWN);
    const pt_label other = {.key = pt_builder_text(b, "tid").v, .kind = PT_LABEL_NUMBER, .num = 5};
    const pt_sample samples[] = {
        {.time_ns = 1500, .pid = 7, .tid = 9, .cpu = 0, .comm = pt_builder_text(b, "sh").v},
        {.time_ns = 500, .pid = PT_NONE, .tid = 10, .cpu = PT_NONE}, /* before it began */
        {.time_ns = 0, .pid = 7, .tid = 11, .cpu = 3, .labels = pt_builder_labels(b, &other, 1).v},
        {.time_ns = INT64_MAX, .pid = 0, .tid = PT_NONE - 1, .cpu = PT_NONE},
    };
    enum { COUNT = sizeof samples / sizeof samples[0] };
    for (size_t i = 0; i < COUNT; i++) {
        pt_sample sample = samples[i];
        sample.stack = stack.v;
        sample.values = (int64_t[]){(int64_t)i};
        pt_builder_timed_sample(b, &sample);
    }
    pt_builder_provenance(b)->start_ns = 1000;
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    PT_UNREF_PROFILE const pt_profile *q = written_and_read(p);
    const pt_samples *const s = q->sample;
    assert_int_equal(s->t.count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(s->time_ns[i], samples[i].time_ns);
        assert_int_equal(s->pid[i], samples[i].pid);
        assert_int_equal(s->tid[i], samples[i].tid);
        assert_int_equal(s->cpu[i], samples[i].cpu);
        assert_int_equal(s->comm[i] != 0, i == 0);
    }
    /* A label of a column's name stays a label. */
    const uint32_t set = s->labels[2];
    assert_int_equal(q->labels->offset[set + 1] - q->labels->offset[set], 1);
    assert_int_equal(q->labels->row[q->labels->offset[set]].num, 5);
    assert_int_equal(pt_profile_provenance(q)->comment_count, 0);
}

static void labels_are_columns_only_where_the_file_says_so(void **state)
{
    (void)state;
    static const struct {
        bool says_so;
        pt_label_kind kind;
        int64_t num;
        uint32_t pid;
    } rows[] = {
        {false, PT_LABEL_NUMBER, 7, PT_NONE}, {true, PT_LABEL_NUMBER, 7, 7},
        {true, PT_LABEL_NUMBER, -1, PT_NONE}, {true, PT_LABEL_NUMBER, INT64_C(1) << 32, PT_NONE},
        {true, PT_LABEL_STRING, 0, PT_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pt_builder *b = profile_of_ends(NULL, 0);
        const bool is_text = rows[i].kind == PT_LABEL_STRING;
        const pt_label label = {.key = pt_builder_text(b, "pid").v,
                                .kind = rows[i].kind,
                                .str = is_text ? pt_builder_text(b, "x").v : 0,
                                .num = rows[i].num};
        pt_builder_sample(b, pt_builder_stack(b, NULL, 0, PT_STACK_END_UNKNOWN),
                          pt_builder_labels(b, &label, 1), (int64_t[]){1});
        if (rows[i].says_so) pt_builder_comment(b, pt_builder_text(b, "pitot: columns=labels"));
        PT_UNREF_PROFILE const pt_profile *p = frozen(b);
        PT_UNREF_PROFILE const pt_profile *q = written_and_read(p);
        const bool is_column = rows[i].pid != PT_NONE;
        assert_int_equal(q->sample->pid != NULL, is_column);
        if (is_column) assert_int_equal(q->sample->pid[0], rows[i].pid);
        assert_int_equal(q->sample->labels[0] == 0, is_column);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_a_stack_can_end_survives),
        cmocka_unit_test(unknown_ends_stay_unknown_and_add_nothing_to_the_file),
        cmocka_unit_test(figures_of_the_recording_survive),
        cmocka_unit_test(times_threads_and_cpus_survive),
        cmocka_unit_test(labels_are_columns_only_where_the_file_says_so),
        cmocka_unit_test(comment_that_says_something_unknown_stays_a_comment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
