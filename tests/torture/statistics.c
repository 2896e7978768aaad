/* statistics.c: runs of programs whose truth is known, for statistics.sh: how often intervals hold
 * it, how often diffs of equal runs are marked or fail a build, how often a change is found.
 *
 *     statistics SEED RUNS [WORD]
 *
 * WORD: only questions with it in their names. Each question begins with the seed and its name, so
 * that one question alone has the same answer as among all.
 *
 * A line a question, with tabs: its name, how often it was so (a share), the least and the most
 * that it may be, and the probability of a share so far beyond these limits if the truth is at the
 * limit: 1 if the share is between them. Intervals are asked for RUNS / 10 profiles.
 *
 * The program has 20 functions in 3 groups below main; function f has a share in proportion to
 * 1 / (1 + f).
 *
 *   on-CPU     a clock draws at equal distances of CPU time; each draw meets a function by its
 * share. Weighted: distances are chance, a draw weighs the distance, the whole is fixed off-CPU
 * waits come by themselves (Poisson) and last by chance heap       each byte allocated is met once
 * in 512 KB (Poisson); an object met is one draw
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "model/builder.h"
#include "model/sums.h"
#include "view/diff.h"
#include "view/intervals.h"

#define FUNCTIONS 20
#define GROUPS    3
#define PERIOD    1000000.0 /* a draw's mean weight, in nanoseconds */
#define HEAP      524288.0
#define SIDES     2
#define RUNS_MAX  5

/* ---- Chance ---- */

static double draw_uniform(void)
{
    return 1 - drand48();
}

static double draw_normal(void)
{
    return sqrt(-2 * log(draw_uniform())) * cos(2 * acos(-1) * drand48());
}

static long draw_poisson(double rate)
{
    long sum = 0;
    while (rate > 200) { /* a sum of Poisson variables is a Poisson variable */
        sum += draw_poisson(200);
        rate -= 200;
    }
    const double limit = exp(-rate);
    double product = draw_uniform();
    while (product > limit) {
        product *= draw_uniform();
        sum++;
    }
    return sum;
}

/* Weights of mean 1. */
typedef struct {
    const char *name;
    enum { EQUAL, EXPONENTIAL, LOG_NORMAL } kind;
    double sigma;
} weight_kind;

static const weight_kind all_weights[] = {
    {"equal weights", EQUAL, 0},
    {"exponential weights", EXPONENTIAL, 0},
    {"log-normal weights of sigma 0.5", LOG_NORMAL, 0.5},
    {"log-normal weights of sigma 1", LOG_NORMAL, 1},
    {"log-normal weights of sigma 1.5", LOG_NORMAL, 1.5},
};
#define WEIGHTS (sizeof all_weights / sizeof all_weights[0])

static double draw_weight(const weight_kind *w)
{
    switch (w->kind) {
    case EQUAL: return 1;
    case EXPONENTIAL: return -log(draw_uniform());
    case LOG_NORMAL: break;
    }
    return exp(w->sigma * draw_normal() - w->sigma * w->sigma / 2);
}

/* ---- Programs ---- */

typedef enum { ON_CPU, OFF_CPU, HEAP_BYTES } origin;

typedef struct {
    origin source;
    const weight_kind *weights;
    double draws;             /* expected, of the whole */
    double factor[FUNCTIONS]; /* of the function's value; 1 = as ever */
    bool is_added_up;         /* one sample a function, as recordings have them */
} program;

static program make_program(origin from, const weight_kind *weights, double draws)
{
    program p = {.source = from, .weights = weights, .draws = draws};
    p.is_added_up = from == ON_CPU && weights->kind == EQUAL; /* the same, and fast */
    for (int f = 0; f < FUNCTIONS; f++)
        p.factor[f] = 1;
    return p;
}

static double draws_of(const program *p, int f)
{
    double all = 0;
    for (int i = 0; i < FUNCTIONS; i++)
        all += 1.0 / (1 + i);
    return p->draws / (1 + f) / all * p->factor[f];
}

static double draws_of_all(const program *p)
{
    double all = 0;
    for (int f = 0; f < FUNCTIONS; f++)
        all += draws_of(p, f);
    return all;
}

/* Of heaps: the size of the objects that a function allocates, 1 KB to 8 KB. */
static double size_of(int f)
{
    return 1024 << f % 4;
}

/* The value behind a function, in the unit of the profile's last event. */
static double truth_of(const program *p, int f)
{
    return draws_of(p, f) * (p->source == HEAP_BYTES ? HEAP : PERIOD);
}

typedef struct {
    pt_builder *b;
    pt_stack_id stack[FUNCTIONS];
    int64_t sums[FUNCTIONS][2];
    bool is_added_up;
} building;

static uint32_t add_location(pt_builder *b, const char *name)
{
    const uint32_t text = pt_builder_text(b, name).v;
    const pt_line line = {
        .function = pt_builder_function(b, &(pt_function){.name = text, .system_name = text}).v};
    return pt_builder_location(b, &(pt_location){.mapping = PT_NONE}, &line, 1).v;
}

static void add_event(pt_builder *b, const char *type, const char *unit)
{
    pt_builder_event(
        b, &(pt_event){.type = pt_builder_text(b, type).v, .unit = pt_builder_text(b, unit).v});
}

static building begin_profile(const program *p)
{
    static const char *const events[][2] = {
        {"samples", "cpu"}, {"waits", "off-cpu"}, {"inuse_objects", "inuse_space"}};
    building to = {.b = pt_builder_new(), .is_added_up = p->is_added_up};
    add_event(to.b, events[p->source][0], "count");
    add_event(to.b, events[p->source][1], p->source == HEAP_BYTES ? "bytes" : "nanoseconds");
    if (p->source == HEAP_BYTES) {
        pt_provenance *const from = pt_builder_provenance(to.b);
        from->period = (int64_t)HEAP;
        from->period_type = pt_builder_text(to.b, "space").v;
        from->period_unit = pt_builder_text(to.b, "bytes").v;
    }
    const uint32_t main_at = add_location(to.b, "main");
    for (int f = 0; f < FUNCTIONS; f++) {
        char group[16], name[16];
        snprintf(group, sizeof group, "group%d", f % GROUPS);
        snprintf(name, sizeof name, "f%d", f);
        const uint32_t group_at = add_location(to.b, group);
        const uint32_t frames[] = {add_location(to.b, name), group_at, main_at};
        to.stack[f] = pt_builder_stack(to.b, frames, 3, PT_STACK_END_ROOT);
    }
    return to;
}

static void put_draw(building *to, int f, int64_t count, double value)
{
    const int64_t values[] = {count, llround(value)};
    to->sums[f][0] += values[0];
    to->sums[f][1] += values[1];
    if (!to->is_added_up) pt_builder_sample(to->b, to->stack[f], PT_NO_LABELS, values);
}

static void run_on_cpu(building *to, const program *p)
{
    double border[FUNCTIONS], all = 0;
    for (int f = 0; f < FUNCTIONS; f++)
        border[f] = all += draws_of(p, f);
    double left = all;
    while (left > 1e-9) {
        const double weight = fmin(left, draw_weight(p->weights));
        const double at = drand48() * all;
        int f = 0;
        while (f < FUNCTIONS - 1 && at >= border[f])
            f++;
        put_draw(to, f, 1, weight * PERIOD);
        left -= weight;
    }
}

static void run_off_cpu(building *to, const program *p)
{
    for (int f = 0; f < FUNCTIONS; f++) {
        long waits = draw_poisson(draws_of(p, f));
        while (waits-- > 0)
            put_draw(to, f, 1, draw_weight(p->weights) * PERIOD);
    }
}

/* Objects of a size are met by exp's chance, and counted for those that were not met. */
static void run_heap(building *to, const program *p)
{
    for (int f = 0; f < FUNCTIONS; f++) {
        const double size = size_of(f), chance = -expm1(-size / HEAP);
        const double met = (double)draw_poisson(truth_of(p, f) / size * chance);
        const double objects = floor(met / chance + 0.5);
        if (met > 0) put_draw(to, f, (int64_t)objects, objects * size);
    }
}

static const pt_profile *run_program(const program *p)
{
    building to = begin_profile(p);
    switch (p->source) {
    case ON_CPU: run_on_cpu(&to, p); break;
    case OFF_CPU: run_off_cpu(&to, p); break;
    case HEAP_BYTES: run_heap(&to, p); break;
    }
    if (to.is_added_up)
        for (int f = 0; f < FUNCTIONS; f++)
            if (to.sums[f][0] > 0) pt_builder_sample(to.b, to.stack[f], PT_NO_LABELS, to.sums[f]);
    const pt_profile *profile = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_builder_freeze(to.b, &profile, &error) != PT_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    return profile;
}

/* ---- Answers ---- */

static struct {
    long seed, runs;
    const char *word;
} asked;

/* False: the question was not asked for. */
static bool begin_question(const char *name)
{
    if (strstr(name, asked.word) == NULL) return false;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    srand48(asked.seed ^ (long)hash);
    return true;
}

/* The probability of `hits` or more of n, if one comes with probability p. */
static double chance_of_more(double hits, double n, double p)
{
    return hits > 0 ? pt_beta_below(p, hits, n - hits + 1) : 1;
}

static void tell(const char *name, long hits, long of, double least, double most)
{
    const double h = (double)hits, n = (double)of, share = h / n;
    double chance = 1;
    if (share > most) chance = chance_of_more(h, n, most);
    if (share < least) chance = chance_of_more(n - h, n, 1 - least);
    printf("%s\t%.5f\t%g\t%g\t%.3g\n", name, share, least, most, chance);
    fflush(stdout);
}

/* The number of a function or group by its name; -1: main. */
static int number_of(const char *name)
{
    return name[0] == 'f' ? atoi(name + 1) : name[0] == 'g' ? FUNCTIONS + atoi(name + 5) : -1;
}

static bool is_held(const pt_interval *in, double truth)
{
    return in->low <= truth && truth <= in->high;
}

/* How often the intervals hold the truth: of self of functions, of totals of groups. */
static void ask_coverage(const char *name, const program *p)
{
    if (!begin_question(name)) return;
    long held = 0, all = 0;
    for (long i = 0; i < (asked.runs + 9) / 10; i++) {
        PT_UNREF_PROFILE const pt_profile *profile = run_program(p);
        const int64_t whole = pt_profile_magnitude(profile, 1);
        const pt_top_request request = {.event = 1, .whole = whole, .drawn = whole};
        pt_top top;
        bool is_known;
        if (pt_top_init(&top, profile, &request, NULL) != PT_OK) exit(1);
        if (pt_top_intervals(&top, profile, &request, 0.95, &is_known, NULL) != PT_OK) exit(1);
        double groups[GROUPS] = {0};
        for (int f = 0; f < FUNCTIONS; f++)
            groups[f % GROUPS] += truth_of(p, f);
        for (size_t r = 0; r < top.count; r++) {
            const int number = number_of(top.row[r].name);
            if (number < 0) continue;
            const bool is_group = number >= FUNCTIONS;
            held += is_group ? is_held(&top.row[r].total_interval, groups[number - FUNCTIONS])
                             : is_held(&top.row[r].self_interval, truth_of(p, number));
            all++;
        }
        pt_top_done(&top);
    }
    tell(name, held, all, 0.93, 0.97);
}

/* A diff of so many runs a side. spread: between runs, of each function's value. */
static pt_diff make_diff(const program p[SIDES], size_t runs, double spread)
{
    const pt_profile *profile[SIDES][RUNS_MAX];
    pt_diff_run run[SIDES][RUNS_MAX];
    pt_diff_request request = {
        .run = {run[0], run[1]}, .run_count = {runs, runs}, .confidence = 0.95};
    for (int side = 0; side < SIDES; side++)
        for (size_t i = 0; i < runs; i++) {
            program one = p[side];
            for (int f = 0; f < FUNCTIONS && spread > 0; f++)
                one.factor[f] *= fmax(0.1, 1 + spread * draw_normal());
            profile[side][i] = run_program(&one);
            run[side][i] = (pt_diff_run){.profile = profile[side][i], .event = 1};
        }
    pt_diff diff;
    if (pt_diff_init(&diff, &request, NULL) != PT_OK) exit(1);
    for (size_t i = 0; i < diff.count; i++)
        diff.row[i].file = "";
    for (int side = 0; side < SIDES; side++)
        for (size_t i = 0; i < runs; i++)
            pt_profile_unref(profile[side][i]);
    return diff;
}

/* How often a diff of equal programs has a row without the mark of noise, and how often a build
 * that allows no growth at all would fail. */
static void ask_null(const char *name, const program *p, size_t runs_a_side, double spread)
{
    if (!begin_question(name)) return;
    const program both[SIDES] = {*p, *p};
    long alarms = 0, fired = 0;
    for (long i = 0; i < asked.runs; i++) {
        pt_diff diff = make_diff(both, runs_a_side, spread);
        bool is_total;
        alarms += diff.real_count > 0;
        fired += pt_diff_worst(&diff, 0, true, &is_total) != PT_NONE;
        pt_diff_done(&diff);
    }
    char text[200];
    snprintf(text, sizeof text, "%s: a row is not marked as noise", name);
    tell(text, alarms, asked.runs, 0, 0.05);
    snprintf(text, sizeof text, "%s: --fail-above fires", name);
    tell(text, fired, asked.runs, 0, 0.001);
}

/* In how many of the runs f4, which grows by a share of itself, is marked. */
static long find_growth(const program *p, double share, size_t runs_a_side)
{
    program both[SIDES] = {*p, *p};
    both[1].factor[4] += share;
    long found = 0;
    for (long i = 0; i < asked.runs; i++) {
        pt_diff diff = make_diff(both, runs_a_side, 0);
        for (size_t r = 0; r < diff.count; r++)
            found += strcmp(diff.row[r].name, "f4") == 0 && diff.row[r].self.is_real;
        pt_diff_done(&diff);
    }
    return found;
}

/* f4 has 5.56 % of the program; the head's sentence is about 5 %, so that f4 is made to have
 * that. */
static void ask_power(const char *name, const program *p, size_t runs_a_side)
{
    if (!begin_question(name)) return;
    program of_5 = *p;
    const double others = draws_of_all(p) - draws_of(p, 4);
    of_5.factor[4] = others / 19 / draws_of(p, 4);
    const program both[SIDES] = {of_5, of_5};
    double told = 0;
    enum { HEADS = 20 };
    for (int i = 0; i < HEADS; i++) {
        pt_diff diff = make_diff(both, runs_a_side, 0);
        told += diff.seen_share / HEADS;
        pt_diff_done(&diff);
    }
    program grows = of_5;
    const long found = find_growth(&grows, told * of_5.factor[4], runs_a_side);
    char text[200];
    snprintf(text, sizeof text, "%s: a twentieth grows by the %.1f %% that are stated and is found",
             name, 100 * told);
    tell(text, found, asked.runs, 0.75, 0.85);
}

/* 2 % of the whole more. */
static void ask_two_percent(const char *name, const program *p, size_t runs_a_side, double least)
{
    if (!begin_question(name)) return;
    tell(name, find_growth(p, 0.02 * p->draws / draws_of(p, 4), runs_a_side), asked.runs, least, 1);
}

/* ---- Questions ---- */

static void ask_all_coverage(void)
{
    static const double rates[] = {100, 1000, 4000};
    static const char *const names[] = {"on-CPU", "off-CPU", "heap"};
    for (origin s = ON_CPU; s <= HEAP_BYTES; s++)
        for (size_t w = 0; w < (s == HEAP_BYTES ? 1 : WEIGHTS); w++)
            for (size_t r = 0; r < 3; r++)
                for (int is_added_up = 0; is_added_up < (s == OFF_CPU ? 2 : 1); is_added_up++) {
                    program p = make_program(s, &all_weights[w], 10 * rates[r]);
                    p.is_added_up |= is_added_up;
                    char name[200];
                    snprintf(name, sizeof name, "interval: %s, %s%s, 10 s at %g Hz", names[s],
                             all_weights[w].name, is_added_up ? ", added up" : "", rates[r]);
                    ask_coverage(name, &p);
                }
}

static void ask_all_nulls(void)
{
    static const char *const names[] = {"on-CPU", "off-CPU", "heap"};
    for (origin s = ON_CPU; s <= HEAP_BYTES; s++)
        for (size_t w = 0; w < (s == HEAP_BYTES ? 1 : WEIGHTS); w++)
            for (int is_added_up = 0; is_added_up < (s == OFF_CPU ? 2 : 1); is_added_up++) {
                program p = make_program(s, &all_weights[w], 4000);
                p.is_added_up |= is_added_up;
                char name[150];
                snprintf(name, sizeof name, "equal runs: %s, %s%s", names[s], all_weights[w].name,
                         is_added_up ? ", added up" : "");
                ask_null(name, &p, 1, 0);
            }
    const program p = make_program(ON_CPU, &all_weights[0], 4000);
    ask_null("equal runs: on-CPU, five a side", &p, 5, 0);
    ask_null("equal runs: on-CPU, five a side that differ by 3 %", &p, 5, 0.03);
    ask_null("equal runs: on-CPU, three a side that differ by 3 %", &p, 3, 0.03);
}

static void ask_all_power(void)
{
    const program few = make_program(ON_CPU, &all_weights[0], 4000);
    const program many = make_program(ON_CPU, &all_weights[0], 16000);
    const program waits = make_program(OFF_CPU, &all_weights[1], 16000);
    ask_power("growth: on-CPU, 4,000 samples", &few, 1);
    ask_power("growth: on-CPU, 16,000 samples", &many, 1);
    ask_power("growth: off-CPU, 16,000 exponential waits", &waits, 1);
    ask_power("growth: on-CPU, two runs of 4,000 samples a side", &few, 2);
    ask_power("growth: on-CPU, three runs of 4,000 samples a side", &few, 3);
    ask_power("growth: on-CPU, five runs of 4,000 samples a side", &few, 5);
    ask_two_percent("growth: 2 % of the whole more, one run of 4,000 samples a side, are found",
                    &few, 1, 0.4);
    ask_two_percent("growth: 2 % of the whole more, five runs of 4,000 samples a side, are found",
                    &few, 5, 0.95);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) return 2;
    asked.seed = atol(argv[1]);
    asked.runs = atol(argv[2]);
    asked.word = argc == 4 ? argv[3] : "";
    ask_all_coverage();
    ask_all_nulls();
    ask_all_power();
    return 0;
}
