/* test_one_event.c: a profile with one of its events alone. */
#include "profile_text.h"

#include "transform/one_event.h"

/* Three stacks, two events, an arc with costs, one without the first's value, bins of both. */
static const pt_profile *two_events(void)
{
    pt_builder *const b = pt_builder_new();
    pt_event events[2] = {
        {.type = pt_builder_text(b, "samples").v, .unit = pt_builder_text(b, "count").v},
        {.type = pt_builder_text(b, "cpu").v, .unit = pt_builder_text(b, "nanoseconds").v}};
    for (int e = 0; e < 2; e++)
        pt_builder_event(b, &events[e]);
    pt_location_id at[3];
    const int64_t values[3][2] = {{3, 30}, {0, 7}, {5, 0}};
    for (uint32_t i = 0; i < 3; i++) {
        at[i] = pt_builder_location(b, &(pt_location){.mapping = PT_NONE, .address = 0x1000 + i},
                                    NULL, 0);
        pt_builder_sample(b, pt_builder_stack(b, &at[i].v, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                          values[i]);
    }
    pt_builder_arc(b, at[0], at[1], 4, (int64_t[]){11, 110});
    for (uint32_t e = 0; e < 2; e++)
        pt_builder_bin(
            b, &(pt_bin){
                   .low = 0x1000, .high = 0x1004, .count = 20 + e, .mapping = PT_NONE, .event = e});
    pt_builder_block(b, &(pt_block){.address = 0x1000, .count = 9, .mapping = PT_NONE});
    pt_builder_unknown(b, PT_IN_SAMPLE, 1, "\x78\x01", 2);
    pt_builder_provenance(b)->default_event = events[0].type;
    const pt_profile *p;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static void only_its_values_bins_and_costs_stay(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *p = two_events();
    for (uint32_t e = 0; e < 2; e++) {
        pt_diag diag;
        pt_diag_init(&diag);
        PT_UNREF_PROFILE const pt_profile *one = pt_one_event(p, e, &diag);
        pt_error error = PT_ERROR_INIT;
        if (pt_profile_check(one, &error) != PT_OK) fail_msg("%s", error.message);
        assert_int_equal(one->event->t.count, 1);
        assert_string_equal(pt_text(one, one->event->row[0].type), e == 0 ? "samples" : "cpu");
        assert_int_equal(pt_profile_default_event(one), 0);
        assert_int_equal(one->sample->t.count, 2); /* one of the three has none of it */
        assert_int_equal(total_of(one, 0), total_of(p, e));
        assert_int_equal(one->arc->t.count, 1);
        assert_int_equal(one->arc->calls[0], 4);
        assert_int_equal(one->arc->cost[0][0], e == 0 ? 11 : 110);
        assert_int_equal(one->bin->t.count, 1);
        assert_int_equal(one->bin->row[0].count, 20 + e);
        assert_int_equal(one->bin->row[0].event, 0);
        assert_int_equal(one->block->row[0].count, 9);
        assert_int_equal(one->unknown->t.count, 0);
        assert_int_equal(diag.count, 1); /* the unknown field that went */
        assert_ptr_equal(one->location, p->location);
        pt_diag_done(&diag);
    }
}

static void profile_with_one_event_is_given_back(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *p = profile_of("samples/count", "main;io 1\n");
    PT_UNREF_PROFILE const pt_profile *one = pt_one_event(p, 0, NULL);
    assert_ptr_equal(one, p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_its_values_bins_and_costs_stay),
        cmocka_unit_test(profile_with_one_event_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
