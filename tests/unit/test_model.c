/* test_model.c: building, freezing, checking, ordering and deriving profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../check/profile_equal.h"
#include "model/builder.h"
#include "model/profile.h"

static void add_event(pt_builder *b, const char *type, const char *unit)
{
    pt_builder_event(
        b, &(pt_event){.type = pt_builder_text(b, type).v, .unit = pt_builder_text(b, unit).v});
}

/* A location that is only a name. */
static uint32_t frame(pt_builder *b, const char *name)
{
    const uint32_t text = pt_builder_text(b, name).v;
    const pt_function_id f =
        pt_builder_function(b, &(pt_function){.name = text, .system_name = text});
    return pt_builder_location(b, &(pt_location){.mapping = PT_NONE},
                               &(pt_line){.function = f.v, .line = 7}, 1)
        .v;
}

/* Adds a sample from "root;caller;leaf". */
static void sample(pt_builder *b, const char *folded, int64_t value)
{
    char *copy = pt_strdup(folded), *rest = copy;
    uint32_t frames[16];
    size_t depth = 0;
    for (char *name; (name = strsep(&rest, ";")) != NULL; depth++) {
        memmove(frames + 1, frames, depth * sizeof *frames);
        frames[0] = frame(b, name);
    }
    free(copy);
    pt_builder_sample(b, pt_builder_stack(b, frames, depth, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                      &value);
}

static const pt_profile *frozen(pt_builder *b)
{
    const pt_profile *p = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_freeze(b, &p, &error) != PT_OK) fail_msg("%s", error.message);
    return p;
}

static void equal_content_gets_one_id(void **state)
{
    pt_builder *b = pt_builder_new();
    assert_int_equal(pt_builder_text(b, "main").v, pt_builder_text(b, "main").v);
    assert_int_not_equal(pt_builder_string(b, "a\0b", 3).v, pt_builder_string(b, "a\0c", 3).v);
    assert_int_equal(frame(b, "main"), frame(b, "main"));
    const uint32_t frames[] = {frame(b, "leaf"), frame(b, "main")};
    const pt_stack_id whole = pt_builder_stack(b, frames, 2, PT_STACK_END_ROOT);
    assert_int_equal(whole.v, pt_builder_stack(b, frames, 2, PT_STACK_END_ROOT).v);
    assert_int_not_equal(whole.v, pt_builder_stack(b, frames, 2, PT_STACK_END_TRUNCATED).v);
    assert_int_not_equal(whole.v, pt_builder_stack(b, frames, 1, PT_STACK_END_ROOT).v);
    pt_builder_free(b);
}

static void appended_rows_keep_duplicates_and_are_found_by_interning(void **state)
{
    pt_builder *b = pt_builder_new();
    const pt_function f = {.name = pt_builder_text(b, "f").v};
    const pt_function_id first = pt_builder_append_function(b, &f);
    const pt_function_id second = pt_builder_append_function(b, &f);
    assert_int_not_equal(first.v, second.v);
    const pt_function_id found = pt_builder_function(b, &f);
    assert_true(found.v == first.v || found.v == second.v);
    pt_builder_free(b);
}

static void rows_keep_the_order_in_which_they_appeared(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "cpu", "nanoseconds");
    sample(b, "main;zebra", 3);
    sample(b, "main;ant", 4);
    sample(b, "main;zebra", 5);
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    assert_int_equal(p->sample->t.count, 3);
    assert_int_equal(p->stack->t.count, 2);
    const int64_t expected[] = {3, 4, 5};
    assert_memory_equal(p->sample->value[0], expected, sizeof expected);
    assert_int_equal(p->sample->stack[0], p->sample->stack[2]);
    const uint32_t leaf = pt_stack_frames(p, p->sample->stack[1])[0];
    const uint32_t function = p->line->function[p->location->line_first[leaf]];
    assert_string_equal(pt_text(p, p->function->name[function]), "ant");
}

static void adding_to_the_same_stack_sums_and_saturates(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "samples", "count");
    const uint32_t leaf = frame(b, "leaf");
    const pt_stack_id stack = pt_builder_stack(b, &leaf, 1, PT_STACK_END_UNKNOWN);
    pt_builder_add(b, stack, PT_NO_LABELS, (int64_t[]){40});
    pt_builder_add(b, stack, PT_NO_LABELS, (int64_t[]){2});
    assert_int_equal(pt_builder_sample_count(b), 1);
    pt_builder_add(b, stack, PT_NO_LABELS, (int64_t[]){INT64_MAX});
    assert_int_equal(pt_builder_saturated(b), 1);
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    assert_true(p->sample->value[0][0] == INT64_MAX);
}

static void an_event_without_values_can_be_dropped(void **state)
{
    static const char *const types[] = {"cpu", "gil", "woken"};
    static const int64_t without[] = {3, 0, 5}, with[] = {0, 7, 0};
    for (int has = 0; has < 2; has++) {
        pt_builder *const b = pt_builder_new();
        for (int i = 0; i < 3; i++)
            pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, types[i]).v});
        const pt_stack_id stack = pt_builder_stack(b, NULL, 0, PT_STACK_END_ROOT);
        pt_builder_sample(b, stack, (pt_labels_id){0}, without);
        if (has) pt_builder_sample(b, stack, (pt_labels_id){0}, with);
        pt_builder_drop_empty_event(b, "gil");
        pt_builder_drop_empty_event(b, "none");
        assert_int_equal(pt_builder_event_count(b), has ? 3 : 2);
        const char *const last =
            pt_builder_get_text(b, (pt_string_id){pt_builder_event_at(b, has ? 2 : 1)->type});
        assert_string_equal(last, "woken");
        pt_builder_sample_more(b, 0, has ? 2 : 1, 1);
        pt_builder_free(b);
    }
}

static void samples_without_values_can_be_dropped(void **state)
{
    static const int64_t values[][2] = {{0, 0}, {0, 7}, {0, 0}, {3, 0}, {-1, 1}, {0, 0}};
    pt_builder *const b = pt_builder_new();
    add_event(b, "samples", "count");
    add_event(b, "cpu", "nanoseconds");
    const pt_stack_id stack = pt_builder_stack(b, NULL, 0, PT_STACK_END_ROOT);
    for (uint32_t i = 0; i < 6; i++)
        pt_builder_timed_sample(
            b, &(pt_sample){
                   .stack = stack.v, .values = values[i], .time_ns = 10 + i, .tid = i, .cpu = i});
    pt_builder_drop_empty_samples(b);
    assert_int_equal(pt_builder_sample_count(b), 3);
    pt_builder_sample_more(b, 1, 1, 5);
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    static const uint32_t left[] = {1, 3, 4};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(p->sample->value[0][i], values[left[i]][0]);
        assert_int_equal(p->sample->value[1][i], values[left[i]][1] + (i == 1 ? 5 : 0));
        assert_int_equal(p->sample->time_ns[i], 10 + left[i]);
        assert_int_equal(p->sample->tid[i], left[i]);
        assert_int_equal(p->sample->cpu[i], left[i]);
    }
}

static void optional_columns_say_unknown_for_samples_that_lack_them(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "samples", "count");
    sample(b, "a", 1);
    const uint32_t leaf = frame(b, "b");
    pt_builder_timed_sample(
        b, &(pt_sample){.stack = pt_builder_stack(b, &leaf, 1, PT_STACK_END_ROOT).v,
                        .values = (int64_t[]){1},
                        .tid = 812,
                        .pid = PT_NONE,
                        .cpu = PT_NONE,
                        .time_ns = 99});
    sample(b, "c", 1);
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    assert_null(p->sample->pid);
    assert_non_null(p->sample->tid);
    assert_int_equal(p->sample->tid[0], PT_NONE);
    assert_int_equal(p->sample->tid[1], 812);
    assert_int_equal(p->sample->tid[2], PT_NONE);
    assert_int_equal(p->sample->time_ns[0], 0);
    assert_int_equal(p->sample->time_ns[1], 99);
}

static void an_id_that_refers_to_no_row_is_refused_at_freeze(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "samples", "count");
    const uint32_t nowhere = 77;
    pt_builder_sample(b, pt_builder_stack(b, &nowhere, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                      (int64_t[]){1});
    const pt_profile *p = NULL;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_builder_freeze(b, &p, &error), PT_ERR_DAMAGED);
    assert_null(p);
    assert_non_null(strstr(error.message, "stack"));
}

static void an_empty_builder_gives_an_empty_profile(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = frozen(pt_builder_new());
    assert_int_equal(p->sample->t.count, 0);
    assert_int_equal(pt_profile_default_event(p), PT_NONE);
    PT_UNREF_PROFILE const pt_profile *c = pt_profile_canonical(p);
    assert_int_equal(c->string->t.count, 1);
}

/* The same five samples in two orders, one of them split in two and with a zero among them. */
static const pt_profile *shuffled(bool other_way)
{
    static const char *const stacks[] = {"main;a;b", "main;a;c", "main", "main;a;b;a", "idle"};
    pt_builder *b = pt_builder_new();
    add_event(b, "cpu", "nanoseconds");
    if (other_way) {
        frame(b, "never sampled");
        sample(b, "gone", 0);
        for (int i = 4; i >= 0; i--) {
            sample(b, stacks[i], 4);
            sample(b, stacks[i], i * 10 + 1 - 4);
        }
    } else {
        for (int i = 0; i < 5; i++)
            sample(b, stacks[i], i * 10 + 1);
    }
    return frozen(b);
}

static void canonical_profiles_of_equal_meaning_are_equal(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = shuffled(false);
    PT_UNREF_PROFILE const pt_profile *b = shuffled(true);
    PT_UNREF_PROFILE const pt_profile *x = pt_profile_canonical(a);
    PT_UNREF_PROFILE const pt_profile *y = pt_profile_canonical(b);
    char difference[200] = "";
    assert_false(pt_profile_equal(a, b, difference, sizeof difference));
    assert_string_not_equal(difference, "");
    if (!pt_profile_equal(x, y, difference, sizeof difference)) fail_msg("%s", difference);
    assert_int_equal(pt_profile_total(x, 0), pt_profile_total(b, 0));
}

static void values_that_cancel_leave_no_trace_in_the_canonical_profile(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "cpu", "nanoseconds");
    sample(b, "main;a", 5);
    sample(b, "main;b", 9);
    sample(b, "main;b", -9);
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    PT_UNREF_PROFILE const pt_profile *c = pt_profile_canonical(p);
    assert_int_equal(c->sample->t.count, 1);
    assert_int_equal(c->function->t.count, 2);
}

static void extending_keeps_ids_and_shares_what_it_cannot_change(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "cpu", "nanoseconds");
    const pt_mapping_id m = pt_builder_append_mapping(
        b, &(pt_mapping){.start = 0x1000, .limit = 0x2000, .file = pt_builder_text(b, "prog").v});
    const pt_location_id l =
        pt_builder_append_location(b, &(pt_location){.mapping = m.v, .address = 0x1234}, NULL, 0);
    pt_builder_sample(b, pt_builder_stack(b, &l.v, 1, PT_STACK_END_ROOT), PT_NO_LABELS,
                      (int64_t[]){1});
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);

    pt_builder *more = pt_builder_extend(p);
    const pt_function_id f = pt_builder_function(
        more, &(pt_function){.name = pt_builder_text(more, "work").v, .start_line = 3});
    const pt_function_id g =
        pt_builder_function(more, &(pt_function){.name = pt_builder_text(more, "inlined").v});
    pt_builder_set_lines(more, l, (pt_line[]){{g.v, 5, 0}, {f.v, 4, 2}}, 2);
    PT_UNREF_PROFILE const pt_profile *named = frozen(more);

    assert_ptr_equal(named->sample, p->sample);
    assert_ptr_equal(named->stack, p->stack);
    assert_int_equal(p->line->t.count, 0);
    assert_int_equal(named->line->t.count, 2);
    assert_int_equal(named->line->column[1], 2);
    assert_string_equal(pt_text(named, named->function->name[named->line->function[0]]), "inlined");
}

static void a_location_without_a_name_says_where_it_lies(void **state)
{
    pt_builder *b = pt_builder_new();
    const uint32_t file = pt_builder_text(b, "/usr/lib/libfoo.so").v;
    const uint32_t vdso = pt_builder_text(b, "[vdso]").v;
    pt_builder_append_mapping(
        b, &(pt_mapping){.start = 0x7000, .limit = 0x9000, .file_offset = 0x100, .file = file});
    pt_builder_append_mapping(b, &(pt_mapping){.start = 0x7000,
                                               .limit = 0x9000,
                                               .bias = 0x6000,
                                               .flags = PT_MAPPING_HAS_BIAS,
                                               .file = file});
    pt_builder_append_mapping(b, &(pt_mapping){.start = 0xf000, .limit = 0xf100, .file = vdso});
    const struct {
        uint32_t mapping;
        uint64_t address;
        const char *text;
        uint64_t code_offset;
        uint32_t flags;
        const char *code_text;
    } cases[] = {
        {0, 0x7234, "[libfoo.so+0x334]", 0, 0, "[libfoo.so+0x334]"},
        {1, 0x7234, "[libfoo.so+0x1234]", 0, 0, "[libfoo.so+0x1234]"},
        {1, 0x7234, "[libfoo.so+0x1234]", 1, 0, "[libfoo.so+0x1234..]"},
        {1, 0x7234, "[libfoo.so+0x1234]", 0x35, 0, "[libfoo.so+0x1200..]"},
        {1, 0x7234, "[libfoo.so+0x1234]", 0x34, PT_LOCATION_RETURN_ADDR, "[libfoo.so+0x1200..]"},
        {2, 0xf010, "[vdso+0x10]", 0, 0, "[vdso+0x10]"},
        {PT_NONE, 0x55, "[0x55]", 0, 0, "[0x55]"},
        {PT_NONE, 0, "[unknown]", 0, 0, "[unknown]"},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    for (size_t i = 0; i < CASES; i++)
        pt_builder_append_location(b,
                                   &(pt_location){.mapping = cases[i].mapping,
                                                  .address = cases[i].address,
                                                  .code_offset = cases[i].code_offset,
                                                  .flags = cases[i].flags},
                                   NULL, 0);
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    for (uint32_t i = 0; i < CASES; i++) {
        char text[64];
        pt_location_text(p, i, false, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        pt_location_text(p, i, true, text, sizeof text);
        assert_string_equal(text, cases[i].code_text);
    }
}

static void an_event_is_found_by_type_number_or_type_and_unit(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "samples", "count");
    add_event(b, "cpu", "nanoseconds");
    add_event(b, "space", "bytes");
    pt_builder_provenance(b)->default_event = pt_builder_text(b, "cpu").v;
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    assert_int_equal(pt_profile_find_event(p, "cpu"), 1);
    assert_int_equal(pt_profile_find_event(p, "2"), 2);
    assert_int_equal(pt_profile_find_event(p, "cpu/nanoseconds"), 1);
    assert_int_equal(pt_profile_find_event(p, "cpu/bytes"), PT_NONE);
    assert_int_equal(pt_profile_find_event(p, "3"), PT_NONE);
    assert_int_equal(pt_profile_find_event(p, ""), PT_NONE);
    assert_int_equal(pt_profile_default_event(p), 1);
    assert_int_equal(p->event->row[0].kind, PT_EVENT_COUNT);
    assert_int_equal(p->event->row[1].kind, PT_EVENT_TIME);
    assert_int_equal(p->event->row[2].kind, PT_EVENT_BYTES);
}

/* 200,000 stacks over an alphabet small enough that many repeat; counted against a plain array. */
static void a_hundred_thousand_stacks_are_interned_exactly(void **state)
{
    pt_builder *b = pt_builder_new();
    add_event(b, "samples", "count");
    uint32_t names[26];
    for (int i = 0; i < 26; i++)
        names[i] = frame(b, (char[]){(char)('a' + i), '\0'});
    static int64_t count[26 * 26 * 26];
    uint64_t random = 42;
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t pick = (uint32_t)(random >> 40) % (26 * 26 * 26);
        const uint32_t frames[] = {names[pick % 26], names[pick / 26 % 26], names[pick / 676]};
        pt_builder_add(b, pt_builder_stack(b, frames, 3, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                       (int64_t[]){1});
        count[pick]++;
    }
    PT_UNREF_PROFILE const pt_profile *p = frozen(b);
    uint32_t distinct = 0;
    for (int i = 0; i < 26 * 26 * 26; i++)
        distinct += count[i] != 0;
    assert_int_equal(p->stack->t.count, distinct);
    for (uint32_t s = 0; s < p->sample->t.count; s++) {
        const uint32_t *f = pt_stack_frames(p, p->sample->stack[s]);
        assert_int_equal(p->sample->value[0][s], count[f[0] + f[1] * 26 + f[2] * 676]);
    }
}

static void kind_of_an_event_follows_from_its_unit_in_any_spelling(void **state)
{
    (void)state;
    static const char *const times[] = {"ns", "Seconds", "sec", "min", "minutes", "hrs", "days"};
    static const char *const sizes[] = {"B", "bytes", "kB", "kbytes", "KiB", "MiB", "pib"};
    static const char *const counts[] = {"", "count", "samples", "GCU", "cycles"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        assert_int_equal(pt_event_kind_of_unit(times[i]), PT_EVENT_TIME);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_int_equal(pt_event_kind_of_unit(sizes[i]), PT_EVENT_BYTES);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        assert_int_equal(pt_event_kind_of_unit(counts[i]), PT_EVENT_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_content_gets_one_id),
        cmocka_unit_test(appended_rows_keep_duplicates_and_are_found_by_interning),
        cmocka_unit_test(rows_keep_the_order_in_which_they_appeared),
        cmocka_unit_test(adding_to_the_same_stack_sums_and_saturates),
        cmocka_unit_test(an_event_without_values_can_be_dropped),
        cmocka_unit_test(samples_without_values_can_be_dropped),
        cmocka_unit_test(optional_columns_say_unknown_for_samples_that_lack_them),
        cmocka_unit_test(an_id_that_refers_to_no_row_is_refused_at_freeze),
        cmocka_unit_test(an_empty_builder_gives_an_empty_profile),
        cmocka_unit_test(canonical_profiles_of_equal_meaning_are_equal),
        cmocka_unit_test(values_that_cancel_leave_no_trace_in_the_canonical_profile),
        cmocka_unit_test(extending_keeps_ids_and_shares_what_it_cannot_change),
        cmocka_unit_test(a_location_without_a_name_says_where_it_lies),
        cmocka_unit_test(an_event_is_found_by_type_number_or_type_and_unit),
        cmocka_unit_test(a_hundred_thousand_stacks_are_interned_exactly),
        cmocka_unit_test(kind_of_an_event_follows_from_its_unit_in_any_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
