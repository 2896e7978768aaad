/* test_sum.c: events that add up others. */
#include "base_check.h"

#include "model/builder.h"
#include "transform/one_event.h"
#include "transform/sum.h"
#include "view/draws.h"
#include "view/table.h"
#include "view/tree.h"

enum { CPU, OFF_CPU, SUM = 4, SAMPLES = 2 };

/* main calls run (cpu 5, off-cpu 1, waits 1, samples 5) and rest (off-cpu 7, waits 2; and of cpu
 * and off-cpu also big). */
static const pt_profile *make_profile(int64_t big)
{
    static const char *const types[] = {"cpu", "off-cpu", "waits", "samples"};
    static const char *const units[] = {"nanoseconds", "nanoseconds", "count", "count"};
    static const pt_event_kind kinds[] = {PT_EVENT_TIME, PT_EVENT_TIME, PT_EVENT_COUNT,
                                          PT_EVENT_COUNT};
    pt_builder *const b = pt_builder_new();
    for (int e = 0; e < 4; e++) {
        const pt_event event = {.type = pt_builder_text(b, types[e]).v,
                                .unit = pt_builder_text(b, units[e]).v,
                                .kind = kinds[e]};
        pt_builder_event(b, &event);
    }
    uint32_t frame[3];
    static const char *const names[] = {"main", "run", "rest"};
    for (int f = 0; f < 3; f++) {
        const pt_function function = {.name = pt_builder_text(b, names[f]).v};
        const pt_line line = {.function = pt_builder_function(b, &function).v};
        const pt_location location = {.mapping = PT_NONE};
        frame[f] = pt_builder_location(b, &location, &line, 1).v;
    }
    const uint32_t run[] = {frame[1], frame[0]}, rest[] = {frame[2], frame[0]};
    const pt_stack_id ran = pt_builder_stack(b, run, 2, PT_STACK_END_ROOT),
                      rested = pt_builder_stack(b, rest, 2, PT_STACK_END_ROOT);
    pt_builder_add(b, ran, PT_NO_LABELS, (const int64_t[]){5, 1, 1, 5});
    pt_builder_add(b, rested, PT_NO_LABELS, (const int64_t[]){0, 7, 2, 0});
    if (big != 0) pt_builder_add(b, rested, PT_NO_LABELS, (const int64_t[]){big, big, 1, 1});
    const pt_profile *profile;
    assert_int_equal(pt_builder_freeze(b, &profile, NULL), PT_OK);
    return profile;
}

static const pt_profile *sum_of(const pt_profile *p, const char *names)
{
    const pt_profile *sum;
    pt_error error = PT_ERROR_INIT;
    assert_true(pt_is_sum(p, names));
    assert_int_equal(pt_sum_events(p, names, &sum, &error), PT_OK);
    assert_int_equal(pt_profile_check(sum, &error), PT_OK);
    return sum;
}

static void adds_values_up(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *p = make_profile(0);
    PT_UNREF_PROFILE const pt_profile *sum = sum_of(p, "off-cpu+cpu");
    assert_int_equal(sum->event->t.count, 5);
    assert_string_equal(pt_text(sum, sum->event->row[SUM].type), "off-cpu+cpu");
    assert_string_equal(pt_text(sum, sum->event->row[SUM].unit), "nanoseconds");
    assert_int_equal(sum->event->row[SUM].kind, PT_EVENT_TIME);
    assert_int_equal(sum->sample->value[SUM][0], 6);
    assert_int_equal(sum->sample->value[SUM][1], 7);
    assert_int_equal(pt_profile_default_event(sum), pt_profile_default_event(p));
    uint32_t part[PT_EVENT_PARTS_MAX];
    assert_int_equal(pt_event_parts(sum, SUM, part), 2);
    assert_int_equal(part[0], 0);
    assert_int_equal(part[1], 1);
    assert_int_equal(pt_event_parts(sum, 1, part), 0);
    assert_false(pt_is_sum(sum, "off-cpu+cpu")); /* an event now */
    assert_false(pt_is_sum(p, "cpu"));
    PT_UNREF_PROFILE const pt_profile *alone = pt_one_event(sum, SUM, NULL);
    assert_int_equal(pt_event_parts(alone, 0, part), 0);
}

static void clips_values(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *p = make_profile(INT64_MAX);
    PT_UNREF_PROFILE const pt_profile *sum = sum_of(p, "0+1");
    const uint32_t last = sum->sample->t.count - 1;
    assert_true(sum->sample->value[SUM][last] == INT64_MAX);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *names, *message;
        pt_status status;
    } rows[] = {
        {"cpu+waits", "cpu is in nanoseconds and waits in count; a sum takes events of one unit",
         PT_ERR_USAGE},
        {"cpu+off-cpu+0", "'0' is there twice", PT_ERR_USAGE},
        {"cpu+", "the profile has no event ''", PT_ERR_NOTFOUND},
        {"cpu+of-cpu", "the profile has no event 'of-cpu'", PT_ERR_NOTFOUND},
    };
    PT_UNREF_PROFILE const pt_profile *p = make_profile(0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pt_profile *sum = NULL;
        pt_error error = PT_ERROR_INIT;
        assert_int_equal(pt_sum_events(p, rows[i].names, &sum, &error), rows[i].status);
        assert_string_equal(error.message, rows[i].message);
        assert_null(sum);
    }
}

static void shows_parts(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *p = make_profile(0);
    PT_UNREF_PROFILE const pt_profile *sum = sum_of(p, "cpu+off-cpu");
    pt_top top;
    const pt_top_request request = {.event = SUM, .whole = 13, .sort = PT_SORT_TOTAL};
    assert_int_equal(pt_top_init(&top, sum, &request, NULL), PT_OK);
    static const struct {
        const char *name;
        int64_t self, total, part_self[2], part_total[2];
    } rows[] = {{"main", 0, 13, {0, 0}, {5, 8}},
                {"rest", 7, 7, {0, 7}, {0, 7}},
                {"run", 6, 6, {5, 1}, {5, 1}}};
    assert_int_equal(top.count, 3);
    pt_tree tree;
    const pt_tree_request tree_request = {.event = SUM, .whole = 13};
    assert_int_equal(pt_tree_init(&tree, sum, &tree_request, NULL), PT_OK);
    for (size_t i = 0; i < 3; i++) {
        const pt_top_row *const row = &top.row[i];
        pt_tree_row node;
        assert_true(pt_tree_next(&tree, &node));
        assert_string_equal(row->name, rows[i].name);
        assert_string_equal(node.name, rows[i].name);
        assert_int_equal(row->self, rows[i].self);
        assert_int_equal(row->total, rows[i].total);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(row->part_self[k], rows[i].part_self[k]);
            assert_int_equal(row->part_total[k], rows[i].part_total[k]);
            assert_int_equal(node.part_self[k], rows[i].part_self[k]);
            assert_int_equal(node.part_total[k], rows[i].part_total[k]);
        }
    }
    pt_tree_done(&tree);
    pt_top_done(&top);
}

/* The variance of a sum of independent draws is the sum of their variances. */
static void adds_draws_up(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *p = make_profile(0);
    PT_UNREF_PROFILE const pt_profile *sum = sum_of(p, "cpu+off-cpu");
    static const uint32_t events[] = {CPU, OFF_CPU, SUM};
    double squares[3][SAMPLES], counts[3][SAMPLES];
    pt_draws draws[3];
    for (int i = 0; i < 3; i++)
        assert_true(pt_draws_of(sum, events[i], squares[i], counts[i], &draws[i]));
    assert_true(draws[0].count == 5 && draws[1].count == 3);
    assert_true(draws[2].count == 8 && draws[2].value == 13);
    assert_true(draws[2].weight == 0 && !draws[2].is_regular);
    assert_true(draws[2].squares == draws[0].squares + draws[1].squares);
    for (int s = 0; s < SAMPLES; s++) {
        assert_true(squares[2][s] == squares[0][s] + squares[1][s]);
        assert_true(counts[2][s] == counts[0][s] + counts[1][s]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_values_up), cmocka_unit_test(clips_values),
        cmocka_unit_test(refuses),        cmocka_unit_test(shows_parts),
        cmocka_unit_test(adds_draws_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
