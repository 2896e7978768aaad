/* listing.c: one pass over the distinct stacks, for the lines of the chosen functions only.
 *
 *   group   the functions that are listed as one
 *   cell    a line of a group                cell_of_line[line] -> cell, PT_NONE for most lines
 *   pair    a cell and what it calls
 *
 * Each remembers the last stack it was seen on, so that recursion counts once.
 */
#include "view/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "view/table.h"

typedef struct {
    uint32_t name, file; /* strings */
    uint32_t row;        /* of the fold, of frames without a name; else PT_NONE */
    uint32_t mapping;    /* of one of its locations, or PT_NONE */
    int64_t start_line;
    int64_t self, total;
    uint32_t seen; /* 1 + the last stack it was on */
    size_t cell_first, cell_count;
} group;

typedef struct {
    uint32_t group, seen;
    int64_t line, self, total;
    size_t pair_first, pair_count;
} cell;

/* callee: a row of the fold. */
typedef struct {
    uint32_t cell, seen, callee;
    int64_t value;
    bool inlined;
} pair;

typedef struct {
    const pt_profile *profile;
    const pt_listing_request *request;
    pt_fold fold;
    pt_matching matching;
    struct {
        group *items;
        size_t count, cap;
    } groups;
    struct {
        cell *items;
        size_t count, cap;
    } cells;
    struct {
        pair *items;
        size_t count, cap;
    } pairs;
    pt_index group_index, cell_index, pair_index;
    uint32_t *cell_of_line; /* per row of the line table */
    uint32_t *cell_of_bare; /* per location without lines */
    bool *is_listed;        /* per location: one of its lines has a cell */
} counting;

/* ---- Which functions ---- */

/* Each distinct string is asked once. */
static pt_status match_strings(const pt_profile *p, const pt_regex *pattern, const uint32_t *column,
                               bool *matches, size_t *ret_count, pt_error *reterr)
{
    enum { UNASKED, NO, YES };
    PT_FREE uint8_t *known = pt_alloc(p->string->t.count, 1);
    *ret_count = 0;
    for (uint32_t f = 0; f < p->function->t.count; f++) {
        const uint32_t s = column[f];
        if (known[s] == UNASKED && pt_text_bytes(p, s) > 0) {
            bool match = false;
            const pt_status status =
                pt_regex_match(pattern, pt_text(p, s), pt_text_bytes(p, s), &match, reterr);
            if (status != PT_OK) return status;
            known[s] = match ? YES : NO;
        }
        matches[f] = known[s] == YES;
        *ret_count += matches[f];
    }
    return PT_OK;
}

/* The functions of the rows, in all their frames. */
static size_t functions_of_rows(const pt_fold *fold, const bool *rows, bool *matches)
{
    const pt_profile *p = fold->profile;
    size_t count = 0;
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        uint32_t one, lines;
        const uint32_t first = p->location->line_first[l], end = p->location->line_first[l + 1];
        const uint32_t *row = pt_fold_rows(fold, l, &one, &lines);
        for (uint32_t i = first; i < end; i++) {
            const uint32_t f = p->line->function[i];
            if (!rows[row[i - first]] || f == PT_NONE || matches[f]) continue;
            if (pt_fold_is_unnamed(fold, row[i - first])) continue;
            matches[f] = true;
            count++;
        }
    }
    return count;
}

pt_status pt_matching_init(pt_matching *ret_matching, const pt_fold *fold, const char *name,
                           const pt_regex *pattern, pt_error *reterr)
{
    const pt_profile *const p = fold->profile;
    const uint32_t *const columns[] = {p->function->name, p->function->system_name,
                                       p->function->file};
    pt_matching m = {.function = pt_alloc((size_t)p->function->t.count + 1, sizeof *m.function)};
    if (name != NULL) m.row = pt_fold_find(fold, name, NULL);
    if (m.row != NULL) m.count = functions_of_rows(fold, m.row, m.function);
    pt_status status = PT_OK;
    for (size_t c = 0; c < 3 && pattern != NULL && m.row == NULL && m.count == 0; c++) {
        status = match_strings(p, pattern, columns[c], m.function, &m.count, reterr);
        if (status != PT_OK) break;
    }
    if (status == PT_OK)
        *ret_matching = m;
    else
        pt_matching_done(&m);
    return status;
}

void pt_matching_done(pt_matching *matching)
{
    free(matching->function);
    free(matching->row);
    *matching = (pt_matching){0};
}

/* ---- Groups, cells, pairs ---- */

static uint32_t group_of(counting *t, uint32_t function)
{
    const pt_functions *functions = t->profile->function;
    const uint32_t name = functions->name[function], file = functions->file[function];
    const int64_t start = functions->start_line[function];
    const uint64_t hash = pt_hash_u32_pair(name, file);
    PT_INDEX_EACH (&t->group_index, hash, id) {
        group *g = &t->groups.items[id];
        if (g->name != name || g->file != file || g->row != PT_NONE) continue;
        if (start > 0 && (g->start_line == 0 || start < g->start_line)) g->start_line = start;
        return id;
    }
    return PT_INDEX_PUSH(&t->group_index, hash, t->groups,
                         (group){.name = name,
                                 .file = file,
                                 .row = PT_NONE,
                                 .mapping = PT_NONE,
                                 .start_line = start > 0 ? start : 0});
}

static uint32_t cell_of(counting *t, uint32_t in_group, int64_t line)
{
    const uint64_t hash = pt_hash_mix(in_group, (uint64_t)line);
    const uint32_t known =
        PT_INDEX_FIND(&t->cell_index, hash, id,
                      t->cells.items[id].group == in_group && t->cells.items[id].line == line);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&t->cell_index, hash, t->cells, (cell){.group = in_group, .line = line});
}

/* Frames of a row without a name are one group, with one cell. */
static uint32_t bare_group(counting *t, uint32_t row, uint32_t mapping)
{
    const uint64_t hash = pt_hash_mix(row, UINT32_MAX);
    const uint32_t known = PT_INDEX_FIND(&t->group_index, hash, id, t->groups.items[id].row == row);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&t->group_index, hash, t->groups, (group){.row = row, .mapping = mapping});
}

static void make_bare_cells(counting *t, uint32_t location)
{
    const pt_profile *p = t->profile;
    const uint32_t first = p->location->line_first[location];
    const bool has_lines = p->location->line_first[location + 1] > first;
    uint32_t one, count;
    const uint32_t *rows = pt_fold_rows(&t->fold, location, &one, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!t->matching.row[rows[i]] || !pt_fold_is_unnamed(&t->fold, rows[i])) continue;
        const uint32_t in_group = bare_group(t, rows[i], p->location->mapping[location]);
        *(has_lines ? &t->cell_of_line[first + i] : &t->cell_of_bare[location]) =
            cell_of(t, in_group, 0);
        t->is_listed[location] = true;
    }
}

static void make_cells(counting *t)
{
    const pt_profile *p = t->profile;
    const pt_locations *locations = p->location;
    PT_FREE uint32_t *group_of_function = pt_alloc(p->function->t.count + 1, sizeof(uint32_t));
    memset(group_of_function, 0xff, p->function->t.count * sizeof(uint32_t));
    memset(t->cell_of_line, 0xff, p->line->t.count * sizeof *t->cell_of_line);
    memset(t->cell_of_bare, 0xff, locations->t.count * sizeof *t->cell_of_bare);
    for (uint32_t l = 0; l < locations->t.count; l++) {
        for (uint32_t i = locations->line_first[l]; i < locations->line_first[l + 1]; i++) {
            const uint32_t f = p->line->function[i];
            if (f == PT_NONE || !t->matching.function[f]) continue;
            if (group_of_function[f] == PT_NONE) group_of_function[f] = group_of(t, f);
            group *g = &t->groups.items[group_of_function[f]];
            if (g->mapping == PT_NONE) g->mapping = locations->mapping[l];
            const int64_t line = p->line->line[i];
            t->cell_of_line[i] = cell_of(t, group_of_function[f], line > 0 ? line : 0);
            t->is_listed[l] = true;
        }
        if (t->matching.row != NULL) make_bare_cells(t, l);
    }
}

static bool same_pair(const pair *a, const pair *b)
{
    return a->cell == b->cell && a->callee == b->callee && a->inlined == b->inlined;
}

static void count_call(counting *t, uint32_t in_cell, uint32_t callee, bool inlined, uint32_t mark,
                       int64_t value)
{
    const uint64_t hash = pt_hash_mix((uint64_t)callee << 1 | inlined, in_cell);
    const pair made = {.cell = in_cell, .callee = callee, .inlined = inlined};
    uint32_t known = PT_INDEX_FIND(&t->pair_index, hash, id, same_pair(&t->pairs.items[id], &made));
    if (known == PT_NONE) known = PT_INDEX_PUSH(&t->pair_index, hash, t->pairs, made);
    pair *x = &t->pairs.items[known];
    if (x->seen == mark) return;
    x->seen = mark;
    x->value = pt_saturating_add(x->value, value);
}

/* ---- Counting ---- */

static void count_line(counting *t, uint32_t in_cell, bool is_leaf, uint32_t mark, int64_t value)
{
    cell *c = &t->cells.items[in_cell];
    group *g = &t->groups.items[c->group];
    if (is_leaf) {
        c->self = pt_saturating_add(c->self, value);
        g->self = pt_saturating_add(g->self, value);
    }
    if (c->seen != mark) {
        c->seen = mark;
        c->total = pt_saturating_add(c->total, value);
    }
    if (g->seen != mark) {
        g->seen = mark;
        g->total = pt_saturating_add(g->total, value);
    }
}

/* What the frame calls at its line `i`, innermost first: what is inlined there, else the outermost
 * function of the frame below. */
static void count_callee(counting *t, uint32_t in_cell, const uint32_t *frames, uint64_t at,
                         uint32_t i, uint32_t mark, int64_t value)
{
    uint32_t one, count;
    if (i > 0) {
        const uint32_t *rows = pt_fold_rows(&t->fold, frames[at], &one, &count);
        count_call(t, in_cell, rows[i - 1], true, mark, value);
    } else if (at > 0) {
        const uint32_t *rows = pt_fold_rows(&t->fold, frames[at - 1], &one, &count);
        count_call(t, in_cell, rows[count - 1], false, mark, value);
    }
}

static void count_frame(counting *t, const uint32_t *frames, uint64_t at, uint32_t mark,
                        int64_t value)
{
    const uint32_t *line_first = t->profile->location->line_first;
    const uint32_t first = line_first[frames[at]];
    const uint32_t lines = line_first[frames[at] + 1] - first;
    for (uint32_t i = 0; i < (lines > 0 ? lines : 1); i++) {
        const uint32_t in_cell =
            lines > 0 ? t->cell_of_line[first + i] : t->cell_of_bare[frames[at]];
        if (in_cell == PT_NONE) continue;
        count_line(t, in_cell, at == 0 && i == 0, mark, value);
        if (t->request->with_calls) count_callee(t, in_cell, frames, at, i, mark, value);
    }
}

static void count_all(counting *t)
{
    const pt_stacks *stacks = t->profile->stack;
    PT_FREE int64_t *value = pt_view_stack_values(t->profile, t->request->event);
    for (uint32_t s = 0; s < stacks->t.count; s++) {
        if (value[s] == 0) continue;
        const uint32_t *frames = stacks->frame + stacks->offset[s];
        const uint64_t depth = stacks->offset[s + 1] - stacks->offset[s];
        for (uint64_t i = 0; i < depth; i++)
            if (t->is_listed[frames[i]]) count_frame(t, frames, i, s + 1, value[s]);
    }
}

/* ---- Order ---- */

static int by_group_and_line(const void *left, const void *right)
{
    const cell *a = left, *b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static int by_cell_and_value(const void *left, const void *right)
{
    const pair *a = left, *b = right;
    if (a->cell != b->cell) return a->cell < b->cell ? -1 : 1;
    const int value = pt_compare_magnitudes(a->value, b->value);
    if (value != 0) return value;
    if (a->callee != b->callee) return a->callee < b->callee ? -1 : 1;
    return a->inlined - b->inlined;
}

static int by_total(const void *left, const void *right, void *context)
{
    const counting *t = context;
    const group *a = left, *b = right;
    int order = pt_compare_magnitudes(a->total, b->total);
    if (order == 0) order = pt_compare_magnitudes(a->self, b->self);
    if (order == 0) order = strcmp(pt_text(t->profile, a->name), pt_text(t->profile, b->name));
    if (order == 0) order = strcmp(pt_text(t->profile, a->file), pt_text(t->profile, b->file));
    return order;
}

/* Cells come to stand by group and line, pairs by cell; groups by total. */
static void sort_all(counting *t)
{
    PT_FREE uint32_t *moved_to = pt_alloc(t->cells.count + 1, sizeof *moved_to);
    for (size_t i = 0; i < t->cells.count; i++)
        t->cells.items[i].seen = (uint32_t)i; /* its old place */
    if (t->cells.count > 0) qsort(t->cells.items, t->cells.count, sizeof(cell), by_group_and_line);
    for (size_t i = 0; i < t->cells.count; i++) {
        cell *c = &t->cells.items[i];
        group *g = &t->groups.items[c->group];
        moved_to[c->seen] = (uint32_t)i;
        if (g->cell_count++ == 0) g->cell_first = i;
    }
    for (size_t i = 0; i < t->pairs.count; i++)
        t->pairs.items[i].cell = moved_to[t->pairs.items[i].cell];
    if (t->pairs.count > 0) qsort(t->pairs.items, t->pairs.count, sizeof(pair), by_cell_and_value);
    for (size_t i = 0; i < t->pairs.count; i++) {
        cell *c = &t->cells.items[t->pairs.items[i].cell];
        if (c->pair_count++ == 0) c->pair_first = i;
    }
    if (t->groups.count > 0) qsort_r(t->groups.items, t->groups.count, sizeof(group), by_total, t);
}

/* ---- Results ---- */

typedef struct {
    pt_listing_line *items;
    size_t count, cap;
} lines;

static void add_line(const counting *t, lines *to, const pt_source_file *file, int64_t number,
                     const cell *c)
{
    pt_listing_line line = {.number = number};
    if (file != NULL) pt_source_line(file, number, &line.text, &line.text_size);
    if (c != NULL) {
        line.self = c->self;
        line.total = c->total;
        line.self_share = pt_share(c->self, t->request->whole);
        line.total_share = pt_share(c->total, t->request->whole);
        line.call_first = c->pair_first;
        line.call_count = c->pair_count;
    }
    const pt_listing_line *last = to->count > 0 ? &to->items[to->count - 1] : NULL;
    line.after_gap = last != NULL && last->number > 0 && number > last->number + 1;
    PT_PUSH(*to, line);
}

/* Where the next function of that file begins, as far as the profile tells; a far line if it does
 * not. */
static int64_t next_start(const pt_profile *p, uint32_t file, int64_t line)
{
    int64_t next = INT64_MAX;
    for (uint32_t f = 0; f < p->function->t.count; f++) {
        const int64_t start = p->function->start_line[f];
        if (p->function->file[f] == file && start > line && start < next) next = start;
    }
    return next;
}

/* The first line to show before a cell's: some around it, none that was shown, none of what is
 * before the function, and no gap of a single line. */
static int64_t first_before(const counting *t, const group *g, int64_t line, int64_t shown)
{
    const int64_t around = t->request->context;
    int64_t from = around < 0 ? (g->start_line > 0 ? g->start_line : line) : line - around;
    if (shown > 0 && (around < 0 || from <= shown + 2)) return shown + 1;
    if (shown == 0 && from < g->start_line) from = g->start_line;
    if (from > line) from = line; /* a line from before where it starts */
    return from < 1 ? 1 : from;
}

/* Lines with a value, and those of the source around them. */
static void add_lines(const counting *t, lines *to, const pt_source_file *file, const group *g)
{
    const int64_t last_of_file = file != NULL ? (int64_t)file->line_count : 0;
    const int64_t around = t->request->context > 0 ? t->request->context : 0;
    const cell *c = &t->cells.items[g->cell_first], *end = c + g->cell_count;
    const int64_t next_of_file =
        last_of_file > 0 ? next_start(t->profile, g->file, end[-1].line) : INT64_MAX;
    int64_t shown = 0; /* the last line that was given */
    for (; c < end; c++) {
        if (c->total == 0 && c->self == 0) continue;
        int64_t n = c->line > 0 ? first_before(t, g, c->line, shown) : 0;
        for (; n < c->line && n <= last_of_file; n++)
            add_line(t, to, file, n, NULL);
        add_line(t, to, file, c->line, c);
        shown = c->line;
        const int64_t next = c + 1 < end ? c[1].line : next_of_file;
        for (n = c->line + 1; n <= last_of_file && n - c->line <= around && n < next; n++) {
            if (c->line == 0) break;
            add_line(t, to, file, n, NULL);
            shown = n;
        }
    }
}

static pt_listing_function function_of(const counting *t, const group *g)
{
    const pt_profile *p = t->profile;
    const pt_provenance *facts = pt_profile_provenance(p);
    char *const made_name = g->row != PT_NONE ? pt_fold_text(&t->fold, g->row) : NULL;
    pt_listing_function f = {
        .name = made_name != NULL ? made_name : pt_text(p, g->name),
        .made_name = made_name,
        .file = pt_text(p, g->file),
        .start_line = g->start_line,
        .self = g->self,
        .total = g->total,
        .self_share = pt_share(g->self, t->request->whole),
        .total_share = pt_share(g->total, t->request->whole),
    };
    const pt_source_file *file = NULL;
    if (f.file[0] != '\0') {
        const uint32_t id = g->mapping != PT_NONE ? p->mapping->row[g->mapping].build_id : 0;
        file = pt_source_texts_file(t->request->texts, f.file, pt_text(p, id));
        f.path = file->path;
        f.error = file->error;
        f.source_is_newer = facts->start_ns > 0 && file->changed_ns > facts->start_ns;
    } else {
        f.error = "no source file is known for it";
    }
    lines to = {0};
    add_lines(t, &to, file, g);
    f.line = to.items;
    f.line_count = to.count;
    return f;
}

static void make_result(const counting *t, pt_listing *listing)
{
    size_t count = 0;
    while (count < t->groups.count &&
           (t->groups.items[count].total != 0 || t->groups.items[count].self != 0))
        count++;
    const size_t limit = t->request->limit;
    const size_t shown = limit > 0 && limit < count ? limit : count;
    listing->function = pt_alloc(shown + 1, sizeof *listing->function);
    listing->more = count - shown;
    for (size_t i = 0; i < shown; i++)
        listing->function[listing->count++] = function_of(t, &t->groups.items[i]);
    listing->call = pt_alloc(t->pairs.count + 1, sizeof *listing->call);
    for (size_t i = 0; i < t->pairs.count; i++)
        listing->call[listing->call_count++] =
            (pt_listing_call){.name = pt_fold_text(&t->fold, t->pairs.items[i].callee),
                              .value = t->pairs.items[i].value,
                              .inlined = t->pairs.items[i].inlined};
}

pt_status pt_listing_init(pt_listing *ret_listing, const pt_profile *profile,
                          const pt_listing_request *request, pt_error *reterr)
{
    counting t = {.profile = profile, .request = request};
    pt_status status = pt_fold_init(&t.fold, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    status = pt_matching_init(&t.matching, &t.fold, request->name, request->pattern, reterr);
    if (status != PT_OK) {
        pt_fold_done(&t.fold);
        return status;
    }
    t.cell_of_line = pt_alloc(profile->line->t.count + 1, sizeof *t.cell_of_line);
    t.cell_of_bare = pt_alloc(profile->location->t.count + 1, sizeof *t.cell_of_bare);
    t.is_listed = pt_alloc(profile->location->t.count + 1, sizeof *t.is_listed);
    pt_listing listing = {0};
    if (t.matching.count > 0 || t.matching.row != NULL) {
        make_cells(&t);
        count_all(&t);
        sort_all(&t);
        make_result(&t, &listing);
    }
    pt_fold_done(&t.fold);
    pt_matching_done(&t.matching);
    pt_index_done(&t.group_index);
    pt_index_done(&t.cell_index);
    pt_index_done(&t.pair_index);
    free(t.groups.items);
    free(t.cells.items);
    free(t.pairs.items);
    free(t.cell_of_line);
    free(t.cell_of_bare);
    free(t.is_listed);
    if (listing.count > 0) {
        *ret_listing = listing;
        return PT_OK;
    }
    pt_listing_done(&listing);
    return pt_error_set(reterr, PT_ERR_NOTFOUND, "no function or source file matches");
}

void pt_listing_done(pt_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        free(listing->function[i].made_name);
        free(listing->function[i].line);
    }
    for (size_t i = 0; i < listing->call_count; i++)
        free(listing->call[i].name);
    free(listing->function);
    free(listing->call);
    *listing = (pt_listing){0};
}
