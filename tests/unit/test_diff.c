/* test_diff.c: changes by arithmetic, marks by repeated draws of known truth. */
#include "profile_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "view/diff.h"

#define SAMPLES "samples/count"
#define BOTH    "samples/count cpu/nanoseconds"

static pt_diff diff_of(const pt_profile *before, const pt_profile *after, pt_diff_request request)
{
    const pt_diff_run a = {.profile = before, .event = before->event->t.count - 1};
    const pt_diff_run b = {.profile = after, .event = after->event->t.count - 1};
    request.run[PT_BEFORE] = &a;
    request.run[PT_AFTER] = &b;
    request.run_count[PT_BEFORE] = request.run_count[PT_AFTER] = 1;
    if (request.confidence == 0) request.confidence = 0.95;
    pt_diff diff;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_diff_init(&diff, &request, &error), PT_OK);
    return diff;
}

static const pt_diff_row *row_named(const pt_diff *diff, const char *name)
{
    for (size_t i = 0; i < diff->count; i++)
        if (strcmp(diff->row[i].name, name) == 0) return &diff->row[i];
    fail_msg("there is no row %s", name);
    return NULL;
}

static void a_change_is_after_less_before_in_self_and_total(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "main;parse;read 300\nmain 100\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, "main;parse;read 450\nmain;new 7\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    assert_int_equal(diff.count, 4);
    const pt_diff_row *row = row_named(&diff, "read");
    assert_true(row->self.value[PT_BEFORE] == 300 && row->self.value[PT_AFTER] == 450);
    assert_true(row->self.change == 150 && row->total.change == 150);
    row = row_named(&diff, "main");
    assert_true(row->self.change == -100 && row->total.change == 57);
    row = row_named(&diff, "new");
    assert_true(row->self.value[PT_BEFORE] == 0 && row->self.change == 7);
    assert_true(diff.all.value[0] == 400 && diff.all.value[1] == 457);
    pt_diff_done(&diff);
}

static void changes_of_self_and_whole_add_up(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "m;a 31\nm;b 5\nm;c;a 2\nm 9\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, "m;a 11\nm;d 25\nm;c;a 1\nm 8\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    double sum = 0;
    for (size_t i = 0; i < diff.count; i++)
        sum += diff.row[i].self.change;
    assert_true(sum == diff.all.change);
    assert_true(row_named(&diff, "m")->total.change == diff.all.change);
    pt_diff_done(&diff);
}

static void the_interval_is_that_of_poisson_counts_times_the_period(void **state)
{
    /* 400 and 500 samples of 10 ns: near +1000 ns, one deviation being 10 * sqrt(900) */
    PT_UNREF_PROFILE const pt_profile *a = profile_of(BOTH, "f 400 4000\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(BOTH, "f 500 5000\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    const pt_change *c = &diff.row[0].self;
    assert_true(fabs(c->interval.low - (1000 - 1.96 * 300)) < 12);
    assert_true(fabs(c->interval.high - (1000 + 1.96 * 300)) < 12);
    assert_true(c->is_real && c->p < 0.001 && c->p > 0.0005);
    pt_diff_done(&diff);
}

static void what_is_marked_comes_first_and_the_rest_is_counted(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "big 90000\nsmall 1000\nnone 9\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, "big 90250\nsmall 1200\nnone 9\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    pt_diff_cut(&diff, 2, PT_NONE);
    assert_string_equal(diff.row[0].name, "small");
    assert_true(diff.row[0].self.is_real);
    assert_string_equal(diff.row[1].name, "big");
    assert_false(diff.row[1].self.is_real);
    assert_int_equal(diff.real_count, 1);
    assert_int_equal(diff.more, 1);
    pt_diff_done(&diff);
}

static void a_row_that_is_to_stay_is_the_last_that_is_left(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "a 100\nb 100\nc 100\nd 100\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, "a 900\nb 800\nc 700\nd 600\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    pt_diff_cut(&diff, 2, 3);
    assert_string_equal(diff.row[0].name, "a");
    assert_string_equal(diff.row[1].name, "d");
    assert_int_equal(diff.count, 2);
    assert_int_equal(diff.more, 2);
    pt_diff_done(&diff);
}

static void a_change_of_total_alone_comes_before_noise(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "m;f 1000\nm;g 1000\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, "m;f 2000\nm;g 1010\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    assert_string_equal(diff.row[0].name, "f");
    assert_string_equal(diff.row[1].name, "m");
    assert_string_equal(diff.row[2].name, "g");
    pt_diff_done(&diff);
}

static void normalized_a_run_twice_as_long_has_not_changed(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "m;a 3000\nm;b 1000\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, "m;a 6000\nm;b 2000\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){.normalize = true});
    assert_int_equal(diff.real_count, 0);
    assert_true(diff.scale[PT_AFTER] == 0.5);
    assert_true(row_named(&diff, "a")->self.change == 0);
    assert_true(row_named(&diff, "m")->total.interval.low == 0); /* all of both */
    assert_true(diff.all.change == 4000 && diff.all.is_real);
    pt_diff_done(&diff);
}

static void without_the_number_of_samples_nothing_is_marked(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of("objects/count space/bytes", "f 1 100\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of("objects/count space/bytes", "f 9 900\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    assert_false(diff.has_errors);
    assert_true(isnan(diff.row[0].self.p) && !diff.row[0].self.is_real);
    assert_true(diff.row[0].self.change == 800);
    pt_diff_done(&diff);
}

static void a_side_that_nothing_is_left_of_counts_as_zero(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "f 100\n");
    const pt_diff_run before = {.profile = NULL}, after = {.profile = a};
    const pt_diff_request request = {
        .run = {&before, &after}, .run_count = {1, 1}, .confidence = 0.95};
    pt_diff diff;
    assert_int_equal(pt_diff_init(&diff, &request, NULL), PT_OK);
    assert_true(diff.row[0].self.change == 100 && diff.has_errors);
    pt_diff_done(&diff);
}

static void runs_that_differ_among_themselves_widen_the_interval(void **state)
{
    PT_UNREF_PROFILE const pt_profile *low = profile_of(SAMPLES, "f 9000\n");
    PT_UNREF_PROFILE const pt_profile *middle = profile_of(SAMPLES, "f 10000\n");
    PT_UNREF_PROFILE const pt_profile *high = profile_of(SAMPLES, "f 11000\n");
    const pt_diff_run before[] = {{.profile = low}, {.profile = middle}, {.profile = high}};
    const pt_diff_run after[] = {{.profile = high}, {.profile = middle}, {.profile = high}};
    pt_diff_request request = {.run = {before, after}, .run_count = {3, 3}, .confidence = 0.95};
    pt_diff diff;
    assert_int_equal(pt_diff_init(&diff, &request, NULL), PT_OK);
    const pt_change *c = &diff.row[0].self;
    assert_true(c->value[0] == 10000 && fabs(c->change - 666.67) < 0.01);
    /* Student's t of 4 degrees is 2.776; variances 1e6 and 1e6 / 3 of three runs each */
    const double half = 2.776 * sqrt((1e6 + 1e6 / 3) / 2 * 2 / 3);
    assert_true(fabs(c->interval.low - (c->change - half)) < 0.02 * half);
    assert_false(c->is_real);
    pt_diff_done(&diff);
}

static double poisson_draw(double rate)
{
    double sum = 0;
    while (rate > 200) { /* a sum of Poisson variables is a Poisson variable */
        sum += poisson_draw(200);
        rate -= 200;
    }
    const double limit = exp(-rate);
    double product = 1;
    int n = -1;
    do {
        product *= drand48();
        n++;
    } while (product > limit);
    return sum + n;
}

/* A run of 60 functions whose rates fall from 2,000; `slower` takes more by a factor. */
static const pt_profile *run_of(int slower, double factor)
{
    pt_buf text = PT_BUF_INIT;
    for (int f = 0; f < 60; f++) {
        const double rate = 2000.0 / (1 + f) * (f == slower ? factor : 1);
        pt_putf(&text, "main;group%d;f%d %.0f\n", f % 7, f, poisson_draw(rate));
    }
    const pt_profile *p = profile_of(SAMPLES, pt_buf_text(&text));
    pt_buf_done(&text);
    return p;
}

static void two_runs_of_the_same_raise_at_most_5_false_alarms_in_100(void **state)
{
    srand48(3);
    for (int normalized = 0; normalized < 2; normalized++) {
        int alarms = 0, fired = 0;
        for (int i = 0; i < 200; i++) {
            PT_UNREF_PROFILE const pt_profile *a = run_of(-1, 1);
            PT_UNREF_PROFILE const pt_profile *b = run_of(-1, 1);
            pt_diff diff = diff_of(a, b, (pt_diff_request){.normalize = normalized == 1});
            bool is_total;
            alarms += diff.real_count > 0;
            fired += pt_diff_worst(&diff, 0, true, &is_total) != PT_NONE;
            pt_diff_done(&diff);
        }
        if (alarms > 10) fail_msg("%d of 200", alarms);
        if (fired > 1) fail_msg("%d of 200 are beyond doubt", fired);
    }
}

/* ---- Draws of unequal weight ---- */

typedef enum { EQUAL, EXPONENTIAL, LOG_NORMAL } distribution;

static double weight_draw(distribution d, double sigma)
{
    if (d == EQUAL) return 1000;
    const double u = 1 - drand48();
    if (d == EXPONENTIAL) return -1000 * log(u);
    return 1000 * exp(sigma * sqrt(-2 * log(u)) * cos(2 * acos(-1) * drand48()));
}

/* A run of 20 functions whose numbers of waits fall from 300; one line a wait, or added up. */
static const pt_profile *waits_of(distribution d, double sigma, bool is_added_up)
{
    pt_buf text = PT_BUF_INIT;
    for (int f = 0; f < 20; f++) {
        const int waits = (int)poisson_draw(300.0 / (1 + f));
        double sum = 0;
        for (int i = 0; i < waits; i++) {
            const double weight = weight_draw(d, sigma);
            sum += weight;
            if (!is_added_up) pt_putf(&text, "main;group%d;f%d 1 %.0f\n", f % 3, f, weight);
        }
        if (is_added_up && waits > 0)
            pt_putf(&text, "main;group%d;f%d %d %.0f\n", f % 3, f, waits, sum);
    }
    const pt_profile *p = profile_of("waits/count delay/nanoseconds", pt_buf_text(&text));
    pt_buf_done(&text);
    return p;
}

static void waits_of_any_length_raise_at_most_5_false_alarms_in_100(void **state)
{
    static const struct {
        distribution distribution;
        double sigma;
    } kinds[] = {
        {EQUAL, 0}, {EXPONENTIAL, 0}, {LOG_NORMAL, 0.5}, {LOG_NORMAL, 1}, {LOG_NORMAL, 1.5}};
    enum { DIFFS = 200 };
    srand48(11);
    for (size_t k = 0; k < 2 * sizeof kinds / sizeof kinds[0]; k++) {
        int alarms = 0, fired = 0;
        for (int i = 0; i < DIFFS; i++) {
            PT_UNREF_PROFILE const pt_profile *a =
                waits_of(kinds[k / 2].distribution, kinds[k / 2].sigma, k % 2 == 1);
            PT_UNREF_PROFILE const pt_profile *b =
                waits_of(kinds[k / 2].distribution, kinds[k / 2].sigma, k % 2 == 1);
            pt_diff diff = diff_of(a, b, (pt_diff_request){0});
            bool is_total;
            alarms += diff.real_count > 0;
            fired += pt_diff_worst(&diff, 0.1, true, &is_total) != PT_NONE;
            pt_diff_done(&diff);
        }
        printf("# distribution %zu: %d of %d, fired %d\n", k, alarms, DIFFS, fired);
        if (alarms > 18) fail_msg("distribution %zu: %d of %d", k, alarms, DIFFS);
        if (fired > 1) fail_msg("distribution %zu: %d of %d are beyond doubt", k, fired, DIFFS);
    }
}

/* The count of 20 draws of 3 ms varies by sqrt(20) * 3 ms; of 19 of 1 ms and one of 41, more. */
static void a_wait_that_is_most_of_a_function_is_no_news(void **state)
{
    pt_buf text = PT_BUF_INIT;
    for (int i = 0; i < 19; i++)
        pt_put_text(&text, "f 1 1000\n");
    PT_UNREF_PROFILE const pt_profile *a = profile_of("waits/count delay/us", pt_buf_text(&text));
    pt_put_text(&text, "f 1 41000\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of("waits/count delay/us", pt_buf_text(&text));
    pt_buf_done(&text);
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    assert_int_equal(diff.real_count, 0);
    assert_true(diff.sample_count[PT_BEFORE] == 19 && diff.sample_count[PT_AFTER] == 20);
    assert_true(diff.effective_count[PT_BEFORE] == 19);
    assert_true(fabs(diff.effective_count[PT_AFTER] - 60.0 * 60 / (19 + 41 * 41)) < 1e-6);
    pt_diff_done(&diff);
}

/* An allocation of 1 MB is always drawn, of 1 KB hardly ever: 512 draws of 1 KB stand for more than
 * one of 1 MB. (Period 512 KB; see heap profiles of gperftools.) */
static void allocations_weigh_by_their_size(void **state)
{
    PT_UNREF_PROFILE const pt_profile *small =
        profile_of("objects/count space/bytes", "f 1048576 1073741824\n");
    pt_builder *b = pt_builder_extend(small);
    pt_provenance *const source = pt_builder_provenance(b);
    source->period = 524288;
    source->period_unit = pt_builder_text(b, "bytes").v;
    PT_UNREF_PROFILE const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    pt_diff diff = diff_of(p, p, (pt_diff_request){0});
    assert_true(fabs(diff.sample_count[0] - 2048) < 3); /* 1 GB / 512 KB */
    pt_diff_done(&diff);
}

static void the_power_that_is_told_is_there(void **state)
{
    srand48(17);
    enum { DIFFS = 400 };
    int found = 0;
    double share = 0;
    for (int i = -1; i < DIFFS; i++) {
        pt_buf text[2] = {PT_BUF_INIT, PT_BUF_INIT};
        for (int side = 0; side < 2; side++)
            for (int f = 0; f < 40; f++) /* f0 is a twentieth of 20,000 */
                pt_putf(&text[side], "main;f%d %.0f\n", f,
                        poisson_draw(f > 0       ? 19000.0 / 39
                                     : side == 1 ? 1000 * (1 + share)
                                                 : 1000));
        PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, pt_buf_text(&text[0]));
        PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, pt_buf_text(&text[1]));
        pt_diff diff = diff_of(a, b, (pt_diff_request){0});
        if (i < 0) share = diff.seen_share;
        if (i >= 0) found += row_named(&diff, "f0")->self.is_real;
        pt_diff_done(&diff);
        pt_buf_done(&text[0]);
        pt_buf_done(&text[1]);
    }
    printf("# a growth of %.1f %% is found in %d of %d\n", 100 * share, found, DIFFS);
    if (found < 0.75 * DIFFS || found > 0.85 * DIFFS)
        fail_msg("a growth of %.3f is found in %d of %d", share, found, DIFFS);
}

static void a_function_that_takes_5_percent_more_is_found(void **state)
{
    srand48(5);
    int found = 0, wrong = 0;
    for (int i = 0; i < 20; i++) {
        /* 100 runs added up: the function has 200,000 samples, one deviation is 0.3 % of them */
        pt_buf text[2] = {PT_BUF_INIT, PT_BUF_INIT};
        for (int side = 0; side < 2; side++)
            for (int f = 0; f < 60; f++)
                pt_putf(&text[side], "main;f%d %.0f\n", f,
                        poisson_draw(20000.0 / (1 + f) * (side == 1 && f == 0 ? 1.05 : 1)));
        PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, pt_buf_text(&text[0]));
        PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, pt_buf_text(&text[1]));
        pt_diff diff = diff_of(a, b, (pt_diff_request){0});
        found += row_named(&diff, "f0")->self.is_real;
        for (size_t r = 0; r < diff.count; r++)
            wrong += diff.row[r].self.is_real && strcmp(diff.row[r].name, "f0") != 0;
        pt_diff_done(&diff);
        pt_buf_done(&text[0]);
        pt_buf_done(&text[1]);
    }
    assert_int_equal(found, 20);
    assert_true(wrong <= 2);
}

static void intervals_hold_the_truth_in_93_to_97_of_100(void **state)
{
    srand48(9);
    int held = 0, all = 0;
    for (int i = 0; i < 60; i++) {
        PT_UNREF_PROFILE const pt_profile *a = run_of(-1, 1);
        PT_UNREF_PROFILE const pt_profile *b = run_of(4, 1.5);
        pt_diff diff = diff_of(a, b, (pt_diff_request){0});
        for (int f = 0; f < 60; f++) {
            char name[8];
            snprintf(name, sizeof name, "f%d", f);
            const pt_interval *in = &row_named(&diff, name)->self.interval;
            const double truth = f == 4 ? 2000.0 / 5 * 0.5 : 0;
            held += in->low <= truth && truth <= in->high;
            all++;
        }
        pt_diff_done(&diff);
    }
    if (held < 0.93 * all || held > 0.97 * all) fail_msg("%d of %d", held, all);
}

static void the_worst_is_what_grew_beyond_the_share(void **state)
{
    PT_UNREF_PROFILE const pt_profile *a = profile_of(SAMPLES, "m;a 50000\nm;b 50000\n");
    PT_UNREF_PROFILE const pt_profile *b = profile_of(SAMPLES, "m;a 50000\nm;b 56000\n");
    pt_diff diff = diff_of(a, b, (pt_diff_request){0});
    bool is_total;
    const size_t worst = pt_diff_worst(&diff, 0.02, true, &is_total);
    assert_string_equal(diff.row[worst].name, "b");
    assert_int_equal(pt_diff_worst(&diff, 0.06, true, &is_total), PT_NONE);
    pt_diff_done(&diff);
    diff = diff_of(b, a, (pt_diff_request){0}); /* what became faster is no harm */
    assert_int_equal(pt_diff_worst(&diff, 0.02, true, &is_total), PT_NONE);
    pt_diff_done(&diff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_after_less_before_in_self_and_total),
        cmocka_unit_test(changes_of_self_and_whole_add_up),
        cmocka_unit_test(the_interval_is_that_of_poisson_counts_times_the_period),
        cmocka_unit_test(what_is_marked_comes_first_and_the_rest_is_counted),
        cmocka_unit_test(a_row_that_is_to_stay_is_the_last_that_is_left),
        cmocka_unit_test(a_change_of_total_alone_comes_before_noise),
        cmocka_unit_test(normalized_a_run_twice_as_long_has_not_changed),
        cmocka_unit_test(without_the_number_of_samples_nothing_is_marked),
        cmocka_unit_test(a_side_that_nothing_is_left_of_counts_as_zero),
        cmocka_unit_test(runs_that_differ_among_themselves_widen_the_interval),
        cmocka_unit_test(two_runs_of_the_same_raise_at_most_5_false_alarms_in_100),
        cmocka_unit_test(waits_of_any_length_raise_at_most_5_false_alarms_in_100),
        cmocka_unit_test(a_wait_that_is_most_of_a_function_is_no_news),
        cmocka_unit_test(allocations_weigh_by_their_size),
        cmocka_unit_test(the_power_that_is_told_is_there),
        cmocka_unit_test(a_function_that_takes_5_percent_more_is_found),
        cmocka_unit_test(intervals_hold_the_truth_in_93_to_97_of_100),
        cmocka_unit_test(the_worst_is_what_grew_beyond_the_share),
    };
    return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
