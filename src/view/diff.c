/* diff.c: puts the flat tables of all runs side by side by name; then computes for each row the
 * size of the change and the size that chance could give it.
 *
 *   tables   run 0 (before) ... run n-1 (after)      view/table.h
 *   cells    row x run -> self, total                0 where a run has no such function
 *   changes  a row's cells -> pt_change              Poisson or Student
 *   marks    all rows' p -> is_real                  Benjamini and Hochberg */
#include "view/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "model/sums.h"
#include "view/draws.h"

#define DOUBT 0.001 /* the probability that any of a diff's limits "beyond doubt" is wrong */

typedef struct {
    pt_top top;
    pt_top squares; /* a table of the squares of the draws' weights, in units of square_unit */
    double square_unit;
    double scale;   /* the factor of the run's values; 1 if the values are not normalized */
    pt_draws draws; /* unscaled */
    bool has_draws; /* the number of draws is known */
} table;

typedef struct {
    char *name; /* owned by a table */
    const pt_top_row *place;
} key;

/* The self [0] and the total [1] of a row in one run. */
typedef struct {
    double value[2], squares[2];
} cell;

typedef struct {
    const pt_diff_request *request;
    size_t run_count; /* of both sides; before's come first */
    table *table;
    PT_VECTOR(key) rows;
    pt_index index; /* name -> row */
    cell *cells;    /* [row][run], unscaled */
    bool has_errors;
} diffing;

/* ---- Tables ---- */

static pt_status make_table(diffing *d, size_t at, const pt_diff_run *run, pt_error *reterr)
{
    table *t = &d->table[at];
    t->scale = 1;
    if (run->profile == NULL) return PT_OK;
    const pt_profile *const p = run->profile;
    pt_top_request request = {.event = run->event,
                              .whole = pt_profile_magnitude(p, run->event),
                              .fold = d->request->fold};
    PT_FREE double *squares = pt_alloc(p->sample->t.count, sizeof *squares);
    t->has_draws = pt_draws_of(p, run->event, squares, NULL, &t->draws);
    const pt_status status = pt_top_init(&t->top, p, &request, reterr);
    if (status != PT_OK || !t->has_draws) return status;
    PT_UNREF_PROFILE const pt_profile *of_squares =
        pt_draws_profile(p, squares, t->draws.squares, &t->square_unit);
    request.event = 0;
    request.whole = pt_profile_magnitude(of_squares, 0);
    return pt_top_init(&t->squares, of_squares, &request, reterr);
}

static pt_status make_tables(diffing *d, pt_error *reterr)
{
    const pt_diff_request *r = d->request;
    d->run_count = r->run_count[PT_BEFORE] + r->run_count[PT_AFTER];
    d->table = pt_alloc(d->run_count, sizeof *d->table);
    size_t at = 0;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < r->run_count[side]; i++, at++) {
            const pt_status status = make_table(d, at, &r->run[side][i], reterr);
            if (status != PT_OK) return status;
        }
    return PT_OK;
}

/* The row of that name; PT_NONE if there is none. */
static uint32_t row_named(const diffing *d, const char *name, uint64_t hash)
{
    return PT_INDEX_FIND(&d->index, hash, id, strcmp(d->rows.items[id].name, name) == 0);
}

static uint32_t row_of(diffing *d, const pt_top_row *row)
{
    const uint64_t hash = pt_hash_bytes(row->name, strlen(row->name));
    const uint32_t known = row_named(d, row->name, hash);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&d->index, hash, d->rows, (key){.name = row->name});
}

static cell *cell_of(const diffing *d, size_t row, size_t run)
{
    return d->cells + row * d->run_count + run;
}

static void put_run(diffing *d, size_t run)
{
    const table *const t = &d->table[run];
    for (size_t i = 0; i < t->top.count; i++) {
        const pt_top_row *row = &t->top.row[i];
        const uint32_t id = row_of(d, row);
        cell *const c = cell_of(d, id, run);
        c->value[0] = (double)row->self;
        c->value[1] = (double)row->total;
        if (d->rows.items[id].place == NULL || row->file[0] != '\0') d->rows.items[id].place = row;
    }
    for (size_t i = 0; i < t->squares.count; i++) {
        const pt_top_row *row = &t->squares.row[i];
        const uint32_t id = row_named(d, row->name, pt_hash_bytes(row->name, strlen(row->name)));
        if (id == PT_NONE) continue;
        cell *const c = cell_of(d, id, run);
        c->squares[0] = (double)row->self * t->square_unit;
        c->squares[1] = (double)row->total * t->square_unit;
    }
}

static void put_side_by_side(diffing *d)
{
    for (size_t run = 0; run < d->run_count; run++)
        for (size_t i = 0; i < d->table[run].top.count; i++)
            row_of(d, &d->table[run].top.row[i]);
    d->cells = pt_alloc(d->rows.count * d->run_count, sizeof *d->cells);
    for (size_t run = 0; run < d->run_count; run++)
        put_run(d, run);
}

/* Intervals are known if every run with values has draws. */
static bool knows_draws(const diffing *d)
{
    return !PT_ANY(run, d->run_count, d->table[run].draws.value > 0 && !d->table[run].has_draws);
}

static double mean_whole(const diffing *d, int side)
{
    const size_t first = side == PT_BEFORE ? 0 : d->request->run_count[PT_BEFORE];
    double sum = 0;
    for (size_t i = 0; i < d->request->run_count[side]; i++)
        sum += d->table[first + i].draws.value;
    return sum / (double)d->request->run_count[side];
}

/* Scales each run to the mean total of the runs before the change. */
static void normalize_runs(diffing *d, pt_diff *diff)
{
    const double whole = mean_whole(d, PT_BEFORE);
    for (size_t run = 0; run < d->run_count; run++)
        if (d->table[run].draws.value > 0 && whole > 0)
            d->table[run].scale = whole / d->table[run].draws.value;
    const double after = mean_whole(d, PT_AFTER);
    diff->scale[PT_AFTER] = after > 0 && whole > 0 ? whole / after : 1;
}

/* ---- Changes ---- */

/* The values of one row on one side of the diff, before or after. */
typedef struct {
    size_t runs;
    double sum;      /* of the values, scaled */
    double squares;  /* of the draws' weights, scaled */
    double distance; /* squares of the values' distances from their mean */
    double mean;     /* weight of a draw of the whole side, scaled */
    double weight;   /* equal draws that vary as much as the side's: the weight of each / runs */
    double count;    /* the number of equal draws */
    bool negative;
} side_sum;

static side_sum sum_side(const diffing *d, int side, const cell *cells, size_t which)
{
    const size_t first = side == PT_BEFORE ? 0 : d->request->run_count[PT_BEFORE];
    side_sum s = {.runs = d->request->run_count[side]};
    double whole = 0, draws = 0;
    for (size_t i = 0; i < s.runs; i++) {
        const table *t = &d->table[first + i];
        const double value = cells[first + i].value[which] * t->scale;
        s.sum += value;
        s.negative |= value < 0;
        s.squares += cells[first + i].squares[which] * t->scale * t->scale;
        whole += t->draws.value * t->scale;
        draws += t->draws.count;
    }
    for (size_t i = 0; i < s.runs; i++) {
        const double off =
            cells[first + i].value[which] * d->table[first + i].scale - s.sum / (double)s.runs;
        s.distance += off * off;
    }
    s.mean = draws > 0 ? whole / draws : 0;
    return s;
}

/* If nothing has changed, the draws of both sides come from one distribution of weights, apart from
 * how often each side was sampled. So the weight of a draw is determined from both sides together;
 * otherwise a single heavy draw on one side would seem to be of another kind. */
static void weigh_sides(side_sum side[2])
{
    for (int s = 0; s < 2; s++)
        if (side[s].mean <= 0) side[s].mean = side[1 - s].mean;
    double draws = 0, squares = 0; /* in units of the side's mean weight */
    for (int s = 0; s < 2; s++) {
        if (side[s].mean <= 0) continue;
        draws += side[s].sum / side[s].mean;
        squares += side[s].squares / (side[s].mean * side[s].mean);
    }
    for (int s = 0; s < 2; s++) {
        const double weight = side[s].mean * (draws > 0 && squares > 0 ? squares / draws : 1);
        side[s].count = weight > 0 ? side[s].sum / weight : 0;
        side[s].weight = weight / (double)side[s].runs;
    }
}

/* The factor by which the variance differs from Poisson's: larger by the spread between the runs,
 * if there are several; smaller, if shares of a fixed total are compared. */
static double dispersion_of(const diffing *d, const side_sum side[2], double whole, double *ret_df)
{
    double factor = 1, expected = 0, squares = 0;
    *ret_df = (double)(side[0].runs + side[1].runs - 2);
    if (d->request->normalize && whole > 0) {
        const double share =
            (side[0].sum + side[1].sum) / ((double)(side[0].runs + side[1].runs) * whole);
        factor = fmax(0, 1 - share);
    }
    if (*ret_df == 0) return factor;
    for (int s = 0; s < 2; s++) {
        const double of_one = side[s].weight * side[s].sum * factor; /* variance of one run */
        expected += of_one * (double)(side[s].runs - 1);
        squares += side[s].distance;
    }
    return factor * fmax(1, expected > 0 ? squares / expected : 1);
}

/* How far the ends of a change's interval, and the change's bound `at_least`, lie from the change,
 * in standard deviations. */
typedef struct {
    double interval, bound;
} reach;

/* Finds the distances. They are found once for all rows, since finding takes long. bound_p: the
 * probability that the bound is wrong. */
static reach find_reach(const diffing *d, double bound_p)
{
    const double df = (double)d->run_count - 2, out = 1 - d->request->confidence;
    return (reach){
        .interval = df > 0 ? pt_student_quantile(out, df) : pt_normal_quantile(1 - out / 2),
        .bound = df > 0 ? pt_student_quantile(2 * bound_p, df) : pt_normal_quantile(1 - bound_p)};
}

/* Computes interval and p from the sums of both sides. */
static void judge_change(const diffing *d, const side_sum side[2], double whole, reach far,
                         pt_change *c)
{
    double df;
    const double dispersion = dispersion_of(d, side, whole, &df);
    c->p = c->doubt = NAN;
    c->interval = (pt_interval){NAN, NAN};
    if (!d->has_errors || side[0].negative || side[1].negative) return;
    c->p = 1;
    c->interval = (pt_interval){c->change, c->change};
    if (dispersion < 1e-12 || side[0].count + side[1].count <= 0) return;
    const double a = side[0].count / dispersion, b = side[1].count / dispersion;
    const double wa = side[0].weight * dispersion, wb = side[1].weight * dispersion;
    c->interval = pt_poisson_difference(a, wa, b, wb, far.interval);
    const pt_interval sure = pt_poisson_difference(a, wa, b, wb, far.bound);
    c->doubt = c->change - sure.low;
    c->at_least = sure.low > 0 ? sure.low : sure.high < 0 ? sure.high : 0;
    if (df > 0)
        c->p = pt_student_beyond(c->change / sqrt(wa * wa * a + wb * wb * b), df);
    else if (wa > 0 && wb > 0)
        c->p = pt_poisson_differ(a, b, wa / wb);
}

/* The change of a row's self (which = 0) or total (which = 1). */
static pt_change change_of(const diffing *d, const cell *cells, size_t which, double whole,
                           reach far)
{
    side_sum side[2] = {sum_side(d, PT_BEFORE, cells, which), sum_side(d, PT_AFTER, cells, which)};
    weigh_sides(side);
    pt_change c = {
        .value = {side[0].sum / (double)side[0].runs, side[1].sum / (double)side[1].runs}};
    c.change = c.value[PT_AFTER] - c.value[PT_BEFORE];
    judge_change(d, side, whole, far, &c);
    return c;
}

/* The change of the totals of the profiles. It is never normalized: normalized totals are equal. */
static pt_change change_of_all(const diffing *d, reach far)
{
    const pt_diff_request *asked = d->request;
    pt_diff_request plain = *asked;
    plain.normalize = false;
    diffing whole = *d;
    whole.request = &plain;
    whole.table = pt_alloc(d->run_count, sizeof *whole.table);
    PT_FREE cell *cells = pt_alloc(d->run_count, sizeof *cells);
    for (size_t run = 0; run < d->run_count; run++) {
        whole.table[run] = d->table[run];
        whole.table[run].scale = 1;
        cells[run].value[0] = d->table[run].draws.value;
        cells[run].squares[0] = d->table[run].draws.squares;
    }
    const pt_change c = change_of(&whole, cells, 0, 0, far);
    free(whole.table);
    return c;
}

/* ---- Marks ---- */

typedef struct {
    double p;
    pt_change *change;
} test;

PT_ORDER(compare_tests, test, PT_UP(p));

/* Of n tests in order of p, marks the first k for the largest k with p[k] <= k / n * level. */
static void mark_tests(test *tests, size_t count, double level)
{
    qsort(tests, count, sizeof *tests, compare_tests);
    size_t marked = 0;
    for (size_t i = 0; i < count; i++)
        if (tests[i].p <= level * (double)(i + 1) / (double)count) marked = i + 1;
    for (size_t i = 0; i < marked; i++)
        tests[i].change->is_real = true;
}

/* Marks the changes of all rows. Returns the number of tests. */
static size_t mark_rows(const diffing *d, pt_diff *diff)
{
    PT_FREE test *tests = pt_alloc(2 * diff->count, sizeof *tests);
    size_t count = 0;
    for (size_t i = 0; i < diff->count; i++) {
        pt_change *const both[] = {&diff->row[i].self, &diff->row[i].total};
        for (size_t k = 0; k < 2; k++) {
            const bool has_any = both[k]->value[0] != 0 || both[k]->value[1] != 0;
            if (has_any && !isnan(both[k]->p)) tests[count++] = (test){both[k]->p, both[k]};
        }
    }
    mark_tests(tests, count, 1 - d->request->confidence);
    for (size_t i = 0; i < diff->count; i++)
        diff->real_count += diff->row[i].self.is_real || diff->row[i].total.is_real;
    return count;
}

/* ---- The whole ---- */

static const pt_change *shown_change(const pt_diff_row *row, pt_sort sort)
{
    return sort == PT_SORT_SELF ? &row->self : &row->total;
}

/* The rank of a row: 0 if the change that rows are sorted by (of self or of total) is marked; 1 if
 * only the other change is marked; 2 if neither is marked. */
static int rank_of(const pt_diff_row *row, pt_sort sort)
{
    return shown_change(row, sort)->is_real ? 0 : row->self.is_real || row->total.is_real ? 1 : 2;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const pt_diff_row *a = left, *b = right;
    const pt_sort sort = *(const pt_sort *)context;
    const pt_sort other = sort == PT_SORT_SELF ? PT_SORT_TOTAL : PT_SORT_SELF;
    if (rank_of(a, sort) != rank_of(b, sort)) return rank_of(a, sort) - rank_of(b, sort);
    for (int k = 0; k < 2; k++) {
        const double x = fabs(shown_change(a, k == 0 ? sort : other)->change);
        const double y = fabs(shown_change(b, k == 0 ? sort : other)->change);
        if (x != y) return x > y ? -1 : 1;
    }
    return strcmp(a->name, b->name);
}

static size_t make_rows(diffing *d, pt_diff *diff)
{
    const double whole = mean_whole(d, PT_BEFORE);
    const reach far = find_reach(d, DOUBT / (double)(2 * d->rows.count + 1));
    diff->all = change_of_all(d, far);
    diff->all.is_real = diff->all.p <= 1 - d->request->confidence;
    diff->count = d->rows.count;
    diff->row = pt_alloc(diff->count, sizeof *diff->row);
    for (size_t i = 0; i < diff->count; i++) {
        const key *k = &d->rows.items[i];
        const cell *cells = cell_of(d, i, 0);
        diff->row[i] = (pt_diff_row){
            .name = pt_strdup(k->name),
            .file = k->place->file,
            .line = k->place->line,
            .self = change_of(d, cells, 0, whole, far),
            .total = change_of(d, cells, 1, whole, far),
        };
    }
    return mark_rows(d, diff);
}

/* The probability with which a change of the stated power is found. */
#define FOUND 0.8

/* The smallest growth that diffs mark with the probability FOUND, for a function with a twentieth
 * of the time; as a share of the function's value. The function's self and total are two of the
 * tests that are marked together; if nothing else has changed, both tests need p <= 2 / tests *
 * level. */
static double power_of(const diffing *d, const pt_diff *diff, size_t tests)
{
    const double level = (1 - d->request->confidence) * 2 / (double)(tests > 2 ? tests : 2);
    const double df = (double)d->run_count - 2;
    const double marked =
        df > 0 ? pt_student_quantile(level, df) : pt_normal_quantile(1 - level / 2);
    const double found =
        df > 0 ? pt_student_quantile(2 * (1 - FOUND), df) : pt_normal_quantile(FOUND);
    const double a = diff->effective_count[0] / 20, b = diff->effective_count[1] / 20;
    /* The spread between runs is used if it is larger than Poisson's, which also happens by chance.
     * So on average the variance is larger by the mean of max(1, chi-squared / df). */
    const double spread = df > 0 ? 1 + 0.4 * sqrt(2 / df) : 1;
    const double shares = (d->request->normalize ? 1 - 1.0 / 20 : 1) * spread;
    double change = 0;
    for (int round = 0; round < 50; round++) /* errors grow with the change itself */
        change = marked * sqrt((1 + change / 2) * (1 / a + 1 / b) * shares) +
                 found * sqrt((1 / a + (1 + change) / b) * shares);
    return change;
}

static void fill_sample_counts(const diffing *d, pt_diff *diff, size_t tests)
{
    for (int side = 0; side < 2; side++) {
        const size_t first = side == PT_BEFORE ? 0 : d->request->run_count[PT_BEFORE];
        for (size_t i = 0; i < d->request->run_count[side]; i++) {
            const pt_draws *draws = &d->table[first + i].draws;
            diff->sample_count[side] += draws->count;
            if (draws->count > 0) diff->draws_name = draws->name;
            if (draws->squares > 0)
                diff->effective_count[side] += draws->value * draws->value / draws->squares;
        }
    }
    if (!d->has_errors || diff->effective_count[0] <= 0 || diff->effective_count[1] <= 0) return;
    diff->seen_share = power_of(d, diff, tests);
}

pt_status pt_diff_init(pt_diff *ret_diff, const pt_diff_request *request, pt_error *reterr)
{
    diffing d = {.request = request};
    pt_diff diff = {.scale = {1, 1},
                    .draws_name = "samples",
                    .run_count = {request->run_count[0], request->run_count[1]}};
    pt_index_init(&d.index);
    const pt_status status = make_tables(&d, reterr);
    if (status == PT_OK) {
        put_side_by_side(&d);
        d.has_errors = diff.has_errors = knows_draws(&d);
        if (request->normalize) normalize_runs(&d, &diff);
        const size_t tests = make_rows(&d, &diff);
        fill_sample_counts(&d, &diff, tests);
        pt_sort sort = request->sort;
        qsort_r(diff.row, diff.count, sizeof *diff.row, compare_rows, &sort);
        *ret_diff = diff;
    }
    for (size_t run = 0; run < d.run_count; run++) {
        pt_top_done(&d.table[run].top);
        pt_top_done(&d.table[run].squares);
    }
    PT_FREE_ALL(d.table, d.rows.items, d.cells);
    pt_index_done(&d.index);
    return status;
}

void pt_diff_cut(pt_diff *diff, size_t limit, size_t kept)
{
    if (limit == 0 || limit >= diff->count) return;
    if (kept != PT_NONE && kept >= limit) {
        const pt_diff_row row = diff->row[kept];
        diff->row[kept] = diff->row[limit - 1];
        diff->row[limit - 1] = row;
    }
    for (size_t i = limit; i < diff->count; i++)
        free(diff->row[i].name);
    diff->more += diff->count - limit;
    diff->count = limit;
}

void pt_diff_done(pt_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++)
        free(diff->row[i].name);
    free(diff->row);
    *diff = (pt_diff){0};
}

size_t pt_diff_worst(const pt_diff *diff, double share, bool is_sure, bool *ret_is_total)
{
    double most = share * diff->all.value[PT_BEFORE];
    size_t worst = PT_NONE;
    for (size_t i = 0; i < diff->count; i++)
        for (int k = 0; k < 2; k++) {
            const pt_change *c = k == 0 ? &diff->row[i].self : &diff->row[i].total;
            const double growth = is_sure ? c->at_least : c->is_real ? c->change : 0;
            if (growth <= most) continue;
            most = growth;
            worst = i;
            *ret_is_total = k == 1;
        }
    return worst;
}
