/* listing_lines.c: source lines of the chosen functions. A group of the tally (tally.h) is a
 * function of a file, or a row of frames without a name; a cell is a source line. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "view/listing_int.h"
#include "view/tally.h"

/* The function, or the row without a name, of a group of the tally. */
typedef struct {
    uint32_t name, file; /* strings */
    uint32_t row;        /* of the fold, of frames without a name; else PT_NONE */
    uint32_t mapping;    /* the mapping of one of its locations, or PT_NONE */
    int64_t start_line;
} line_group;

typedef struct {
    const pt_listing_search *search;
    const pt_profile *profile;
    pt_tally tally;
    PT_VECTOR(line_group) groups; /* in step with the tally's */
    pt_index group_index;
} counting;

/* ---- Groups and cells ---- */

static uint32_t add_group(counting *t, uint64_t hash, line_group made)
{
    pt_tally_add_group(&t->tally);
    return PT_INDEX_PUSH(&t->group_index, hash, t->groups, made);
}

static uint32_t group_of_function(counting *t, uint32_t function)
{
    const pt_functions *functions = t->profile->function;
    const uint32_t name = functions->name[function], file = functions->file[function];
    const int64_t start = functions->start_line[function];
    const uint64_t hash = pt_hash_u32_pair(name, file);
    PT_INDEX_EACH (&t->group_index, hash, id) {
        line_group *g = &t->groups.items[id];
        if (g->name != name || g->file != file || g->row != PT_NONE) continue;
        if (start > 0 && (g->start_line == 0 || start < g->start_line)) g->start_line = start;
        return id;
    }
    return add_group(t, hash,
                     (line_group){.name = name,
                                  .file = file,
                                  .row = PT_NONE,
                                  .mapping = PT_NONE,
                                  .start_line = start > 0 ? start : 0});
}

/* The frames of a chosen row that has no name become one group with one cell. */
static void put_unnamed(counting *t, uint32_t location)
{
    const pt_profile *p = t->profile;
    const pt_fold *fold = &t->search->fold;
    const uint32_t first = p->location->line_first[location];
    const bool has_lines = p->location->line_first[location + 1] > first;
    uint32_t one, count;
    const uint32_t *rows = pt_fold_rows(fold, location, &one, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!t->search->is_row_chosen[rows[i]] || !pt_fold_is_unnamed(fold, rows[i])) continue;
        const uint64_t hash = pt_hash_mix(rows[i], UINT32_MAX);
        const uint32_t known =
            PT_INDEX_FIND(&t->group_index, hash, id, t->groups.items[id].row == rows[i]);
        const uint32_t group =
            known != PT_NONE ? known
                             : add_group(t, hash,
                                         (line_group){.row = rows[i],
                                                      .mapping = p->location->mapping[location]});
        if (has_lines)
            pt_tally_put_line(&t->tally, location, first + i, group, 0);
        else
            pt_tally_put_location(&t->tally, location, group, 0);
    }
}

static void put_cells(counting *t)
{
    const pt_profile *p = t->profile;
    const pt_locations *locations = p->location;
    PT_FREE uint32_t *group_of = pt_alloc(p->function->t.count + 1, sizeof *group_of);
    memset(group_of, 0xff, p->function->t.count * sizeof *group_of);
    for (uint32_t l = 0; l < locations->t.count; l++) {
        for (uint32_t i = locations->line_first[l]; i < locations->line_first[l + 1]; i++) {
            const uint32_t f = p->line->function[i];
            if (f == PT_NONE || !t->search->is_chosen[f]) continue;
            if (group_of[f] == PT_NONE) group_of[f] = group_of_function(t, f);
            line_group *g = &t->groups.items[group_of[f]];
            if (g->mapping == PT_NONE) g->mapping = locations->mapping[l];
            const int64_t line = p->line->line[i];
            pt_tally_put_line(&t->tally, l, i, group_of[f], line > 0 ? (uint64_t)line : 0);
        }
        if (t->search->is_row_chosen != NULL) put_unnamed(t, l);
    }
}

static int by_total(const void *left, const void *right, void *context)
{
    const counting *t = context;
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const pt_tally_group *a = &t->tally.groups.items[i], *b = &t->tally.groups.items[k];
    const line_group *x = &t->groups.items[i], *y = &t->groups.items[k];
    int order = pt_compare_magnitudes(a->total, b->total);
    if (order == 0) order = pt_compare_magnitudes(a->self, b->self);
    if (order == 0) order = strcmp(pt_text(t->profile, x->name), pt_text(t->profile, y->name));
    if (order == 0) order = strcmp(pt_text(t->profile, x->file), pt_text(t->profile, y->file));
    return order != 0 ? order : (i > k) - (i < k);
}

/* ---- Rows ---- */

static void add_row(pt_code_function *f, const pt_source_file *file, int64_t number,
                    const pt_tally_cell *c)
{
    pt_code_row row = {.at = (uint64_t)number};
    if (file != NULL) pt_source_line(file, number, &row.text, &row.text_size);
    if (c != NULL) {
        row.self = c->self;
        row.total = c->total;
        row.call_first = c->call_first;
        row.call_count = c->call_count;
    }
    const pt_code_row *last = f->row_count > 0 ? &f->row[f->row_count - 1] : NULL;
    row.after_gap = last != NULL && last->at > 0 && row.at > last->at + 1;
    f->row = pt_grow(f->row, &f->row_cap, f->row_count + 1, sizeof *f->row);
    f->row[f->row_count++] = row;
}

/* The first line of the file's next function in the profile; a far line if there is none. */
static int64_t next_start(const pt_profile *p, uint32_t file, int64_t line)
{
    int64_t next = INT64_MAX;
    for (uint32_t f = 0; f < p->function->t.count; f++) {
        const int64_t start = p->function->start_line[f];
        if (p->function->file[f] == file && start > line && start < next) next = start;
    }
    return next;
}

/* The first line to show before a cell's line: `context` lines before it, but neither a line that
 * is already shown nor a line before the function. If only one line would be left out, it is also
 * shown. */
static int64_t first_before(int64_t context, const line_group *g, int64_t line, int64_t shown)
{
    int64_t from = context < 0 ? (g->start_line > 0 ? g->start_line : line) : line - context;
    if (shown > 0 && (context < 0 || from <= shown + 2)) return shown + 1;
    if (shown == 0 && from < g->start_line) from = g->start_line;
    if (from > line) from = line; /* the line is before the function's start */
    return from < 1 ? 1 : from;
}

/* Adds the lines that have a value, and the source lines around them. */
static void add_rows(const counting *t, pt_code_function *f, const pt_source_file *file,
                     uint32_t id)
{
    const line_group *g = &t->groups.items[id];
    const pt_tally_group *sums = &t->tally.groups.items[id];
    const int64_t last_of_file = file != NULL ? (int64_t)file->line_count : 0;
    const int64_t context = t->search->request->context, after = context > 0 ? context : 0;
    const pt_tally_cell *c = &t->tally.cells.items[sums->cell_first], *end = c + sums->cell_count;
    const int64_t next_of_file =
        last_of_file > 0 ? next_start(t->profile, g->file, (int64_t)end[-1].key) : INT64_MAX;
    int64_t shown = 0; /* the last row's line */
    for (; c < end; c++) {
        const int64_t line = (int64_t)c->key;
        if (c->total == 0 && c->self == 0) continue;
        int64_t n = line > 0 ? first_before(context, g, line, shown) : 0;
        for (; n < line && n <= last_of_file; n++)
            add_row(f, file, n, NULL);
        add_row(f, file, line, c);
        shown = line;
        const int64_t next = c + 1 < end ? (int64_t)c[1].key : next_of_file;
        for (n = line + 1; line > 0 && n <= last_of_file && n - line <= after && n < next; n++) {
            add_row(f, file, n, NULL);
            shown = n;
        }
    }
}

static void fill_function(const counting *t, pt_code_function *f, uint32_t id)
{
    const pt_profile *p = t->profile;
    const line_group *g = &t->groups.items[id];
    const pt_tally_group *sums = &t->tally.groups.items[id];
    const pt_provenance *facts = pt_profile_provenance(p);
    const pt_source_file *file = NULL;
    *f = (pt_code_function){
        .name = pt_text(p, g->name),
        .file = pt_text(p, g->file),
        .start_line = g->start_line,
        .self = sums->self,
        .total = sums->total,
    };
    if (g->row != PT_NONE) f->name = f->made_name = pt_fold_text(&t->search->fold, g->row);
    if (f->file[0] != '\0') {
        const uint32_t id_text = g->mapping != PT_NONE ? p->mapping->row[g->mapping].build_id : 0;
        file = pt_source_texts_file(t->search->request->texts, f->file, pt_text(p, id_text));
        f->path = file->path;
        if (file->error != NULL) f->error = pt_strdup(file->error);
        f->source_is_newer = facts->start_ns > 0 && file->changed_ns > facts->start_ns;
    } else {
        f->error = pt_strdup("no source file is known for it");
    }
    add_rows(t, f, file, id);
}

/* ---- All ---- */

static void fill_functions(counting *t, pt_listing *listing)
{
    const size_t limit = t->search->request->limit;
    PT_FREE uint32_t *order = pt_alloc(t->groups.count + 1, sizeof *order);
    size_t count = 0;
    for (uint32_t i = 0; i < t->groups.count; i++)
        if (t->tally.groups.items[i].total != 0 || t->tally.groups.items[i].self != 0)
            order[count++] = i;
    qsort_r(order, count, sizeof *order, by_total, t);
    listing->count = limit > 0 && limit < count ? limit : count;
    listing->more = count - listing->count;
    listing->function = pt_alloc(listing->count + 1, sizeof *listing->function);
    for (size_t i = 0; i < listing->count; i++)
        fill_function(t, &listing->function[i], order[i]);
    listing->call = pt_alloc(t->tally.calls.count + 1, sizeof *listing->call);
    for (size_t i = 0; i < t->tally.calls.count; i++) {
        const pt_tally_call *call = &t->tally.calls.items[i];
        listing->call[listing->call_count++] =
            (pt_listing_call){.name = pt_fold_text(&t->search->fold, call->callee),
                              .value = call->value,
                              .inlined = call->inlined};
    }
}

void pt_listing_add_lines(const pt_listing_search *search, pt_listing *listing)
{
    counting t = {.search = search, .profile = search->profile};
    pt_tally_init(&t.tally, search->profile, search->request->with_calls ? &search->fold : NULL);
    put_cells(&t);
    pt_tally_count(&t.tally, search->value);
    pt_tally_sort(&t.tally);
    fill_functions(&t, listing);
    pt_tally_done(&t.tally);
    pt_index_done(&t.group_index);
    free(t.groups.items);
}
