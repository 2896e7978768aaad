/* Arcs, bins and blocks of merged profiles. Known answers are arithmetic: what goes in, by its
 * address and not by its row, comes out. */
#include <stdlib.h>
#include <string.h>

#include "profile_text.h"
#include "transform/merge.h"

#define IMAGE 0x400000
#define SEEDS 60

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* A profile with some of 8 places, 12 bins of 16 bytes, 8 blocks; its image lies at `start`. */
static const pt_profile *random_profile(uint32_t seed, uint64_t start, bool with_cost)
{
    pt_builder *const b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v,
                                    .rate_hz = 100});
    pt_builder_event(
        b, &(pt_event){.type = pt_builder_text(b, "Ir").v, .unit = pt_builder_text(b, "count").v});
    const pt_mapping_id image = pt_builder_append_mapping(
        b, &(pt_mapping){
               .start = start, .limit = start + 0x10000, .file = pt_builder_text(b, "/bin/x").v});
    const uint32_t rows = 1 + next_random(&seed) % 30;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t place[2];
        for (unsigned k = 0; k < 2; k++)
            place[k] = pt_builder_location(
                           b,
                           &(pt_location){.mapping = image.v,
                                          .address = start + 0x100 + 8 * (next_random(&seed) % 8)},
                           NULL, 0)
                           .v;
        const int64_t values[2] = {next_random(&seed) % 100, 1 + next_random(&seed) % 100};
        pt_builder_add(b, pt_builder_stack(b, place, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                       values);
        pt_builder_arc(b, (pt_location_id){place[0]}, (pt_location_id){place[1]},
                       next_random(&seed) % 1000, with_cost ? values : NULL);
        const uint64_t low = start + 0x1000 + 16 * (next_random(&seed) % 12);
        pt_builder_bin(b, &(pt_bin){.low = low,
                                    .high = low + 16,
                                    .count = next_random(&seed) % 70000,
                                    .mapping = image.v});
        pt_builder_block(b, &(pt_block){.address = start + 4 * (next_random(&seed) % 8),
                                        .count = next_random(&seed),
                                        .mapping = image.v});
    }
    const pt_profile *profile = NULL;
    assert_int_equal(pt_builder_freeze(b, &profile, NULL), PT_OK);
    return profile;
}

/* The content of the side tables, by addresses relative to the image. */
typedef struct {
    uint64_t calls[8][8], bin[12], block[8];
    int64_t cost[2][8][8];
} sums;

static void add_to(sums *s, const pt_profile *p)
{
    const uint64_t start = p->mapping->row[0].start;
    for (uint32_t i = 0; i < p->arc->t.count; i++) {
        const uint64_t from = (p->location->address[p->arc->from[i]] - start - 0x100) / 8;
        const uint64_t to = (p->location->address[p->arc->to[i]] - start - 0x100) / 8;
        s->calls[from][to] += p->arc->calls[i];
        for (uint32_t e = 0; e < p->arc->event_count; e++)
            if (p->arc->cost[e] != NULL) s->cost[e][from][to] += p->arc->cost[e][i];
    }
    for (uint32_t i = 0; i < p->bin->t.count; i++)
        s->bin[(p->bin->row[i].low - start - 0x1000) / 16] += p->bin->row[i].count;
    for (uint32_t i = 0; i < p->block->t.count; i++)
        s->block[(p->block->row[i].address - start) / 4] += p->block->row[i].count;
}

static const pt_profile *merged(const pt_profile *const *profiles, size_t count, pt_diag *diag)
{
    pt_merge *const merge = pt_merge_new(diag);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pt_merge_add(merge, profiles[i], NULL), PT_OK);
    const pt_profile *sum = NULL;
    assert_int_equal(pt_merge_finish(merge, &sum, NULL), PT_OK);
    assert_int_equal(pt_profile_check(sum, NULL), PT_OK);
    return sum;
}

static void a_merge_holds_the_sums_wherever_the_image_lay(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        const pt_profile *in[3];
        sums wanted = {0}, got = {0};
        for (uint32_t i = 0; i < 3; i++) {
            in[i] = random_profile(3 * seed + i, IMAGE + (uint64_t)i * 0x1000000, true);
            add_to(&wanted, in[i]);
        }
        PT_UNREF_PROFILE const pt_profile *sum = merged(in, 3, NULL);
        add_to(&got, sum);
        assert_memory_equal(&got, &wanted, sizeof got);
        assert_true(sum->arc->t.count <= 64 && sum->bin->t.count <= 12 && sum->block->t.count <= 8);
        for (uint32_t i = 0; i < 3; i++)
            pt_profile_unref(in[i]);
    }
}

static void n_copies_are_n_times_one(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        PT_UNREF_PROFILE const pt_profile *one = random_profile(seed, IMAGE, true);
        const pt_profile *const copies[] = {one, one, one, one, one};
        sums wanted = {0}, got = {0};
        for (unsigned i = 0; i < 5; i++)
            add_to(&wanted, one);
        PT_UNREF_PROFILE const pt_profile *sum = merged(copies, 5, NULL);
        add_to(&got, sum);
        assert_memory_equal(&got, &wanted, sizeof got);
        for (uint32_t e = 0; e < 2; e++)
            assert_int_equal(pt_profile_total(sum, e), 5 * pt_profile_total(one, e));
    }
}

/* Order of rows follows the order of files; what they say does not. Nor does merging in steps. */
static void order_and_steps_do_not_matter(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        PT_UNREF_PROFILE const pt_profile *a = random_profile(seed, IMAGE, true);
        PT_UNREF_PROFILE const pt_profile *b = random_profile(seed + 1000, IMAGE, true);
        PT_UNREF_PROFILE const pt_profile *c = random_profile(seed + 2000, IMAGE, true);
        PT_UNREF_PROFILE const pt_profile *abc = merged((const pt_profile *[]){a, b, c}, 3, NULL);
        PT_UNREF_PROFILE const pt_profile *ab = merged((const pt_profile *[]){b, a}, 2, NULL);
        PT_UNREF_PROFILE const pt_profile *steps = merged((const pt_profile *[]){c, ab}, 2, NULL);
        sums x = {0}, y = {0};
        add_to(&x, abc);
        add_to(&y, steps);
        assert_memory_equal(&x, &y, sizeof x);
    }
}

static void costs_that_one_profile_lacks_are_left_out_and_told(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *with = random_profile(7, IMAGE, true);
    PT_UNREF_PROFILE const pt_profile *without = random_profile(8, IMAGE, false);
    assert_null(without->arc->cost[0]);
    pt_diag diag;
    pt_diag_init(&diag);
    PT_UNREF_PROFILE const pt_profile *sum =
        merged((const pt_profile *[]){with, without}, 2, &diag);
    assert_null(sum->arc->cost[0]);
    assert_null(sum->arc->cost[1]);
    assert_int_equal(diag.count, 1);
    assert_non_null(strstr(diag.facts[0].text, "costs of calls left out"));
    pt_diag_done(&diag);
}

/* One histogram of bins from `low`, `width` bytes each, by a clock of `rate`. */
static const pt_profile *histogram(uint64_t low, uint64_t width, unsigned count, double rate)
{
    pt_builder *const b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v,
                                    .rate_hz = rate});
    for (unsigned i = 0; i < count; i++)
        pt_builder_bin(b, &(pt_bin){.low = low + i * width,
                                    .high = low + (i + 1) * width,
                                    .count = 1,
                                    .mapping = PT_NONE});
    const pt_profile *profile = NULL;
    assert_int_equal(pt_builder_freeze(b, &profile, NULL), PT_OK);
    return profile;
}

static void histograms_that_do_not_fit_are_left_out_in_one_line(void **state)
{
    (void)state;
    static const struct {
        uint64_t low, width;
        double rate;
        uint32_t bins; /* of the sum with one of 4 bins of 4 bytes from 0x1000 at 100 Hz */
        const char *why;
    } cases[] = {
        {0x1000, 4, 100, 4, NULL},
        {0x1010, 4, 100, 8, NULL},
        {0x1008, 4, 100, 6, NULL}, /* the edges are the same */
        {0x1002, 4, 100, 0, "their ranges overlap"},
        {0x1000, 8, 100, 0, "their ranges overlap"},
        {0x1000, 4, 1000, 0, "the clocks behind them differ"},
    };
    PT_UNREF_PROFILE const pt_profile *one = histogram(0x1000, 4, 4, 100);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PT_UNREF_PROFILE const pt_profile *other =
            histogram(cases[i].low, cases[i].width, 4, cases[i].rate);
        pt_diag diag;
        pt_diag_init(&diag);
        PT_UNREF_PROFILE const pt_profile *sum =
            merged((const pt_profile *[]){one, other}, 2, &diag);
        assert_int_equal(sum->bin->t.count, cases[i].bins);
        assert_int_equal(diag.count, cases[i].why != NULL);
        if (cases[i].why != NULL) assert_non_null(strstr(diag.facts[0].text, cases[i].why));
        pt_diag_done(&diag);
    }
}

static void sums_stop_at_their_limits_and_that_is_told(void **state)
{
    (void)state;
    pt_builder *const b = pt_builder_new();
    pt_builder_event(
        b, &(pt_event){.type = pt_builder_text(b, "Ir").v, .unit = pt_builder_text(b, "count").v});
    const pt_location_id at =
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE, .address = 8}, NULL, 0);
    pt_builder_arc(b, at, at, UINT64_MAX - 1, &(int64_t){INT64_MAX - 1});
    pt_builder_block(b, &(pt_block){.address = 8, .count = UINT64_MAX - 1, .mapping = PT_NONE});
    PT_UNREF_PROFILE const pt_profile *one = NULL;
    assert_int_equal(pt_builder_freeze(b, &one, NULL), PT_OK);
    pt_diag diag;
    pt_diag_init(&diag);
    PT_UNREF_PROFILE const pt_profile *sum = merged((const pt_profile *[]){one, one}, 2, &diag);
    assert_true(sum->arc->calls[0] == UINT64_MAX);
    assert_true(sum->arc->cost[0][0] == INT64_MAX);
    assert_true(sum->block->row[0].count == UINT64_MAX);
    assert_int_equal(diag.count, 1);
    assert_int_equal(diag.facts[0].count, 3);
    pt_diag_done(&diag);
}

static void all_events_keep_each_profiles_own_costs(void **state)
{
    (void)state;
    PT_UNREF_PROFILE const pt_profile *a = random_profile(11, IMAGE, true);
    PT_UNREF_PROFILE const pt_profile *other = histogram(0x9000, 4, 4, 100);
    PT_UNREF_PROFILE const pt_profile *sum = NULL;
    const pt_profile *const both[] = {other, a}; /* has samples only; then samples and Ir */
    assert_int_equal(pt_merge_all_events(both, 2, NULL, &sum, NULL), PT_OK);
    assert_int_equal(pt_profile_check(sum, NULL), PT_OK);
    int64_t wanted = 0, got = 0;
    for (uint32_t i = 0; i < a->arc->t.count; i++)
        wanted += a->arc->cost[1][i];
    for (uint32_t i = 0; i < sum->arc->t.count; i++)
        got += sum->arc->cost[1][i];
    assert_int_equal(got, wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_holds_the_sums_wherever_the_image_lay),
        cmocka_unit_test(n_copies_are_n_times_one),
        cmocka_unit_test(order_and_steps_do_not_matter),
        cmocka_unit_test(costs_that_one_profile_lacks_are_left_out_and_told),
        cmocka_unit_test(histograms_that_do_not_fit_are_left_out_in_one_line),
        cmocka_unit_test(sums_stop_at_their_limits_and_that_is_told),
        cmocka_unit_test(all_events_keep_each_profiles_own_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
