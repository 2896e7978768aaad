/* table.c: counts in one pass over the distinct stacks.
 *
 * Values are first summed up to one value for each stack. A name's cell remembers the last stack
 * with the name, so that recursion counts once without a set to clear:
 *
 *     cell[name] = { seen = stack + 1, total }
 *
 * Self is summed per leaf location; these sums later give the line that has most of a function's
 * self. For a large profile each thread counts a part of the stacks; sums that cannot overflow are
 * the same in any order. */
#include "view/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/saturate.h"
#include "model/sums.h"

typedef struct {
    int64_t total;
    uint32_t seen; /* 1 + the last stack with the name; 0 = none yet */
} cell;

/* A row before rows are cut, sorted and placed in the source. */
typedef struct {
    int64_t self, total;
    uint32_t name;
} entry;

/* The sums of one thread. */
typedef struct {
    int64_t *leaf_value; /* per location: self of stacks that end there */
    uint8_t *used;       /* per location: true if a stack has it */
    cell *cell;          /* per name */
} tally;

typedef struct {
    const pt_profile *profile;
    const pt_top_request *request;
    pt_sort sort;
    pt_fold fold;
    tally all;
    int64_t *self;        /* per name */
    const int64_t *value; /* per stack; while counting */
    tally *part;          /* per worker; while counting with threads */
} counting;

static inline void count_name(cell *c, uint32_t mark, int64_t value, bool fits)
{
    if (c->seen == mark) return;
    c->seen = mark;
    c->total = fits ? c->total + value : pt_saturating_add(c->total, value);
}

/* Counts stacks [begin, end). fits: no sum of values can overflow. Most of a report's time is spent
 * here (tens of millions of frames), so the overflow is checked once. */
static inline __attribute__((always_inline)) void
count_stacks(const counting *t, tally *to, uint32_t begin, uint32_t end, bool fits)
{
    const pt_stacks *const stacks = t->profile->stack;
    const uint64_t *const offset = stacks->offset;
    const uint32_t *const of_location = t->fold.of_location;
    uint8_t *const used = to->used;
    cell *const cells = to->cell;
    for (uint32_t s = begin; s < end; s++) {
        const int64_t value = t->value[s];
        if (value == 0 || offset[s] == offset[s + 1]) continue;
        const uint32_t mark = s + 1;
        const uint32_t *frame = stacks->frame + offset[s];
        const uint32_t *const frames_end = stacks->frame + offset[s + 1];
        int64_t *const leaf = &to->leaf_value[*frame];
        *leaf = pt_saturating_add(*leaf, value);
        for (; frame < frames_end; frame++) {
            const uint32_t name = of_location[*frame];
            used[*frame] = 1;
            if (__builtin_expect(!(name & PT_FOLD_SEVERAL), 1)) {
                count_name(&cells[name], mark, value, fits);
                continue;
            }
            const uint32_t *several = t->fold.several + (name & ~PT_FOLD_SEVERAL);
            for (uint32_t k = 1; k <= several[0]; k++)
                count_name(&cells[several[k]], mark, value, fits);
        }
    }
}

static void tally_init(tally *to, const counting *t)
{
    *to = (tally){
        .leaf_value = pt_alloc(t->profile->location->t.count, sizeof *to->leaf_value),
        .used = pt_alloc(t->profile->location->t.count, 1),
        .cell = pt_alloc(t->fold.count, sizeof *to->cell),
    };
}

static void tally_done(tally *t)
{
    PT_FREE_ALL(t->leaf_value, t->used, t->cell);
}

/* Adds the sums of one thread to `to`. No sum overflows. */
static void tally_add(tally *to, const tally *from, const counting *t)
{
    for (uint32_t l = 0; l < t->profile->location->t.count; l++) {
        to->leaf_value[l] += from->leaf_value[l];
        to->used[l] |= from->used[l];
    }
    for (uint32_t n = 0; n < t->fold.count; n++)
        to->cell[n].total += from->cell[n].total;
}

static pt_status count_range(void *context, unsigned worker, size_t begin, size_t end,
                             pt_error *reterr)
{
    (void)reterr;
    const counting *const t = context;
    tally *const to = &t->part[worker];
    if (to->cell == NULL) tally_init(to, t);
    count_stacks(t, to, (uint32_t)begin, (uint32_t)end, true);
    return PT_OK;
}

/* Threads are used if there are many more frames to count than rows to add up, and if counting
 * takes longer than starting a thread. */
#define FRAMES_FOR_THREADS ((uint64_t)1 << 20)

static bool is_worth_threads(const counting *t, unsigned threads)
{
    const uint64_t frames = t->profile->stack->offset[t->profile->stack->t.count];
    const uint64_t sums = (uint64_t)t->fold.count + t->profile->location->t.count;
    return threads > 1 && frames >= FRAMES_FOR_THREADS && frames / 16 >= sums * threads;
}

static void count_with_threads(counting *t, unsigned threads)
{
    const size_t count = t->profile->stack->t.count;
    PT_FREE tally *part = pt_alloc(threads, sizeof *part);
    t->part = part;
    pt_pool_for(t->request->pool, count, count / (threads * 4) + 1, count_range, t, NULL);
    for (unsigned i = 0; i < threads; i++) {
        if (part[i].cell != NULL) tally_add(&t->all, &part[i], t);
        tally_done(&part[i]);
    }
}

static void count_event(counting *t, uint32_t event)
{
    const uint32_t count = t->profile->stack->t.count;
    const unsigned threads = pt_pool_threads(t->request->pool);
    t->value = pt_profile_stack_values(t->profile, event);
    if (pt_profile_magnitude(t->profile, event) == INT64_MAX)
        count_stacks(t, &t->all, 0, count, false);
    else if (is_worth_threads(t, threads))
        count_with_threads(t, threads);
    else
        count_stacks(t, &t->all, 0, count, true);
    for (uint32_t l = 0; l < t->profile->location->t.count; l++) {
        if (t->all.leaf_value[l] == 0) continue;
        uint32_t one, names;
        int64_t *self = &t->self[pt_fold_rows(&t->fold, l, &one, &names)[0]];
        *self = pt_saturating_add(*self, t->all.leaf_value[l]);
    }
}

static void counting_done(counting *t)
{
    pt_fold_done(&t->fold);
    tally_done(&t->all);
    free(t->self);
}

/* ---- Order ---- */

static int compare_entries(const void *left, const void *right, void *context)
{
    const counting *t = context;
    const entry *a = left, *b = right;
    const int self = pt_compare_magnitudes(a->self, b->self);
    const int total = pt_compare_magnitudes(a->total, b->total);
    const bool by_self = t->sort == PT_SORT_SELF;
    if ((by_self ? self : total) != 0) return by_self ? self : total;
    if ((by_self ? total : self) != 0) return by_self ? total : self;
    const int name = pt_fold_compare(&t->fold, a->name, b->name);
    return name != 0 ? name : (a->name > b->name) - (a->name < b->name);
}

/* Sorts so that the first `limit` entries are at the front in order; the remaining entries are in
 * any order. */
static void sort_front(counting *t, entry *entries, size_t count, size_t limit)
{
    for (size_t i = 1; i < count; i++) {
        const entry e = entries[i];
        size_t at = i < limit ? i : limit;
        if (at < i && compare_entries(&e, &entries[at - 1], t) >= 0) continue;
        if (at < i) entries[i] = entries[--at];
        for (; at > 0 && compare_entries(&e, &entries[at - 1], t) < 0; at--)
            entries[at] = entries[at - 1];
        entries[at] = e;
    }
}

/* All names with a value. The requested number of entries at the front is in order. */
static entry *sorted_entries(counting *t, size_t *ret_count)
{
    const size_t limit = t->request->limit;
    entry *entries = pt_alloc(t->fold.count, sizeof *entries);
    size_t count = 0;
    for (uint32_t n = 0; n < t->fold.count; n++)
        if (t->self[n] != 0 || t->all.cell[n].total != 0)
            entries[count++] = (entry){t->self[n], t->all.cell[n].total, n};
    if (limit > 0 && limit <= 100) /* most reports: the first few of many */
        sort_front(t, entries, count, limit);
    else
        qsort_r(entries, count, sizeof *entries, compare_entries, t);
    *ret_count = count;
    return entries;
}

/* ---- The source line of a row ---- */

/* The self of one line of code in one row. */
typedef struct {
    uint32_t row;
    uint32_t function;
    int64_t line;
    int64_t value;
} line_value;

typedef PT_VECTOR(line_value) line_values;

PT_ORDER(compare_lines, line_value, PT_UP(row) ?: PT_UP(function) ?: PT_UP(line));

/* Are rows functions? A function begins at one line and may have most of its self at another. */
static bool is_by_function(const counting *t)
{
    return t->fold.rule.by == PT_BY_FUNCTION || t->fold.rule.by == PT_BY_FILEFUNCTION;
}

static void place_at(const pt_profile *p, pt_top_row *row, uint32_t function, int64_t line)
{
    row->file = pt_text(p, p->function->file[function]);
    row->line = line;
}

/* Sets the line of each row: the line with the largest self; of several lines with this self, the
 * first. */
static void place_by_self(const pt_profile *p, pt_top *top, line_values *lines)
{
    if (lines->count == 0) return;
    qsort(lines->items, lines->count, sizeof *lines->items, compare_lines);
    PT_FREE uint64_t *best = pt_alloc(top->count, sizeof *best);
    for (size_t i = 0, next; i < lines->count; i = next) {
        int64_t sum = 0;
        for (next = i;
             next < lines->count && compare_lines(lines->items + i, lines->items + next) == 0;
             next++)
            sum = pt_saturating_add(sum, lines->items[next].value);
        const line_value *l = &lines->items[i];
        if (pt_magnitude(sum) <= best[l->row]) continue;
        best[l->row] = pt_magnitude(sum);
        place_at(p, &top->row[l->row], l->function, l->line);
    }
}

/* Sets the fields of the shown rows that depend on all their frames with samples: are all frames
 * inlined, the start line, and the line, by the self of each line. */
static void place_rows(const counting *t, pt_top *top, const uint32_t *shown_as)
{
    const pt_profile *p = t->profile;
    line_values lines = {0};
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        if (!t->all.used[l]) continue;
        uint32_t one, count;
        const uint32_t *rows = pt_fold_rows(&t->fold, l, &one, &count);
        for (uint32_t i = 0; i < count; i++) {
            if (shown_as[rows[i]] == PT_NONE) continue;
            pt_top_row *row = &top->row[shown_as[rows[i]]];
            if (i + 1 == count) row->inlined = false;
            if (row->unnamed || !is_by_function(t)) continue;
            const uint32_t line = p->location->line_first[l] + i;
            const uint32_t function = p->line->function[line];
            if (row->line == 0 || row->file[0] == '\0')
                place_at(p, row, function, p->function->start_line[function]);
            if (i == 0 && t->all.leaf_value[l] != 0 && p->line->line[line] > 0) {
                PT_PUSH(lines, (line_value){shown_as[rows[i]], function, p->line->line[line],
                                            t->all.leaf_value[l]});
            }
        }
    }
    place_by_self(p, top, &lines);
    free(lines.items);
}

static void fill_rows(const counting *t, pt_top *top, const entry *entries)
{
    PT_FREE uint32_t *shown_as = pt_alloc(t->fold.count, sizeof *shown_as);
    memset(shown_as, 0xff, t->fold.count * sizeof *shown_as);
    for (size_t i = 0; i < top->count; i++) {
        const entry *e = &entries[i];
        const bool is_unnamed = pt_fold_is_unnamed(&t->fold, e->name);
        shown_as[e->name] = (uint32_t)i;
        top->row[i] = (pt_top_row){
            .name = pt_fold_text(&t->fold, e->name),
            .file = pt_fold_file_at(&t->fold, e->name, t->fold.location[e->name]),
            .line = pt_fold_line_number(&t->fold, e->name),
            .self = e->self,
            .total = e->total,
            .self_share = pt_share(e->self, top->whole),
            .total_share = pt_share(e->total, top->whole),
            .inlined = true,
            .unnamed = is_unnamed,
            .has_image = !is_unnamed || pt_fold_info(&t->fold, e->name).object[0] != '\0',
            .id = e->name,
        };
    }
    place_rows(t, top, shown_as);
}

/* The rows in the order of t->sort. */
static pt_top rows_of(counting *t)
{
    const size_t limit = t->request->limit;
    size_t count;
    PT_FREE entry *entries = sorted_entries(t, &count);
    const size_t shown = limit == 0 || limit > count ? count : limit;
    pt_top top = {
        .row = pt_alloc(shown, sizeof *top.row),
        .count = shown,
        .more = count - shown,
        .whole = t->request->whole,
        .by = t->fold.rule.by,
    };
    fill_rows(t, &top, entries);
    return top;
}

/* Fills part_self and part_total of the rows, if the table shows a sum of events: one value for
 * each of these events. Frees the counts of the table. */
static void count_parts(counting *t, pt_top *top)
{
    uint32_t part[PT_EVENT_PARTS_MAX];
    const size_t parts = pt_event_parts(t->profile, t->request->event, part);
    for (size_t k = 0; k < parts; k++) {
        tally_done(&t->all);
        tally_init(&t->all, t);
        memset(t->self, 0, t->fold.count * sizeof *t->self);
        count_event(t, part[k]);
        for (size_t i = 0; i < top->count; i++) {
            top->row[i].part_self[k] = t->self[top->row[i].id];
            top->row[i].part_total[k] = t->all.cell[top->row[i].id].total;
        }
    }
}

static pt_status count_names(counting *t, const pt_profile *profile, const pt_top_request *request,
                             pt_error *reterr)
{
    const pt_status status = pt_fold_init(&t->fold, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    t->profile = profile;
    t->request = request;
    t->sort = request->sort;
    tally_init(&t->all, t);
    t->self = pt_alloc(t->fold.count, sizeof *t->self);
    count_event(t, request->event);
    return PT_OK;
}

pt_status pt_top_init(pt_top *ret_top, const pt_profile *profile, const pt_top_request *request,
                      pt_error *reterr)
{
    PT_AUTO(counting) t = {0};
    const pt_status status = count_names(&t, profile, request, reterr);
    if (status != PT_OK) return status;
    *ret_top = rows_of(&t);
    count_parts(&t, ret_top);
    return PT_OK;
}

pt_status pt_top_leaders(pt_top *ret_by_self, pt_top *ret_by_total, const pt_profile *profile,
                         const pt_top_request *request, pt_error *reterr)
{
    PT_AUTO(counting) t = {0};
    const pt_status status = count_names(&t, profile, request, reterr);
    if (status != PT_OK) return status;
    t.sort = PT_SORT_SELF;
    *ret_by_self = rows_of(&t);
    t.sort = PT_SORT_TOTAL;
    *ret_by_total = rows_of(&t);
    count_parts(&t, ret_by_self);
    count_parts(&t, ret_by_total);
    return PT_OK;
}

void pt_top_done(pt_top *top)
{
    for (size_t i = 0; i < top->count; i++)
        PT_FREE_ALL(top->row[i].name, top->row[i].caller.name);
    free(top->row);
    *top = (pt_top){0};
}
