/* listing_code.c: instructions of the chosen symbols. A group of the tally (tally.h) is a symbol of
 * an image; a cell is a sampled address. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "view/listing_int.h"
#include "view/tally.h"

/* The symbol of a group of the tally. */
typedef struct {
    uint32_t image;
    pt_object_symbol symbol;
    bool is_named;           /* the symbol's own name is chosen */
    bool has_chosen_inlined; /* a chosen function is inlined into the symbol */
} sampled_symbol;

typedef struct {
    const pt_listing_search *search;
    const pt_profile *profile;
    const pt_listing_request *request;
    pt_code *code;
    pt_tally tally;
    PT_VECTOR(sampled_symbol) symbols; /* in step with the tally's groups */
    pt_index symbol_index;
} counting;

/* ---- Images ---- */

/* Is a function of the location chosen? outermost: only the function that contains the code
 * counts. */
static bool is_location_chosen(const counting *t, uint32_t location, bool outermost)
{
    const pt_locations *l = t->profile->location;
    const uint32_t first = l->line_first[location], end = l->line_first[location + 1];
    for (uint32_t i = outermost && end > first ? end - 1 : first; i < end; i++) {
        const uint32_t f = t->profile->line->function[i];
        if (f != PT_NONE && t->search->is_chosen[f]) return true;
    }
    uint32_t one, count;
    const uint32_t *rows = pt_fold_rows(&t->search->fold, location, &one, &count);
    return first == end && t->search->is_row_chosen != NULL && t->search->is_row_chosen[rows[0]];
}

/* Flags of the locations that have samples; the caller frees. */
static bool *find_sampled(const counting *t)
{
    const pt_stacks *stacks = t->profile->stack;
    bool *const is_sampled = pt_alloc((size_t)t->profile->location->t.count + 1, 1);
    for (uint32_t i = 0; i < stacks->t.count; i++) {
        if (t->search->value[i] == 0) continue;
        for (uint64_t k = stacks->offset[i]; k < stacks->offset[i + 1]; k++)
            is_sampled[stacks->frame[k]] = true;
    }
    return is_sampled;
}

/* Opens the images that may contain a chosen symbol: images with a sampled location whose function
 * is chosen or has no name. */
static void open_images(counting *t)
{
    const pt_profile *p = t->profile;
    PT_FREE bool *is_sampled = find_sampled(t);
    PT_FREE bool *wanted = pt_alloc((size_t)p->location->t.count + 1, sizeof *wanted);
    PT_FREE bool *may_hold = pt_alloc(p->mapping->t.count + 1, sizeof *may_hold);
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        const uint32_t m = p->location->mapping[l];
        const bool is_named = p->location->line_first[l + 1] > p->location->line_first[l];
        if (is_sampled[l] && m != PT_NONE &&
            (!is_named || t->request->address != 0 || is_location_chosen(t, l, false)))
            may_hold[m] = true;
    }
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        const uint32_t m = p->location->mapping[l];
        wanted[l] = is_sampled[l] && m != PT_NONE && may_hold[m];
    }
    pt_code_init(t->code, p, wanted, t->request->code);
}

/* ---- Symbols ---- */

static uint32_t group_of_symbol(counting *t, uint32_t image, const pt_object_symbol *symbol)
{
    const uint64_t hash = pt_hash_mix(symbol->addr, image);
    const uint32_t known = PT_INDEX_FIND(&t->symbol_index, hash, i,
                                         t->symbols.items[i].image == image &&
                                             t->symbols.items[i].symbol.addr == symbol->addr);
    if (known != PT_NONE) return known;
    pt_tally_add_group(&t->tally);
    return PT_INDEX_PUSH(&t->symbol_index, hash, t->symbols,
                         (sampled_symbol){.image = image, .symbol = *symbol});
}

static const char *name_of_symbol(const counting *t, const sampled_symbol *s)
{
    return pt_code_name(&t->code->image[s->image], s->symbol.name, t->request->code->demangle);
}

static pt_status match_symbol_name(const counting *t, const sampled_symbol *s, bool *ret_match,
                                   pt_error *reterr)
{
    const char *name = name_of_symbol(t, s);
    if (t->search->is_row_chosen != NULL || t->request->pattern == NULL) {
        *ret_match = t->request->name != NULL && strcmp(name, t->request->name) == 0;
        return PT_OK;
    }
    return pt_regex_match(t->request->pattern, name, strlen(name), ret_match, reterr);
}

/* The symbol around a location's code; for code without a symbol, the bounds of the code, with the
 * name "". */
static bool find_symbol(const counting *t, uint32_t location, pt_object_symbol *ret_symbol)
{
    const uint32_t image = t->code->image_of[location];
    if (image == PT_NONE) return false;
    pt_object *const object = t->code->image[image].object;
    const uint64_t addr = t->code->addr[location];
    return pt_object_symbol_at(object, addr, ret_symbol) ||
           (pt_location_is_nameless(t->profile, location) &&
            pt_object_code_at(object, addr, ret_symbol));
}

/* The name of code without a symbol, as reports show it. */
static const char *name_of_code(const counting *t, uint32_t location, uint32_t image)
{
    char text[4096];
    pt_location_text(t->profile, location, true, text, sizeof text);
    return pt_code_own_name(&t->code->image[image], text);
}

/* Does the symbol of a location hold the requested address? */
static bool holds_address(const counting *t, uint32_t location, const pt_object_symbol *symbol)
{
    const uint64_t address = t->request->address;
    const uint64_t bias = t->profile->location->address[location] - t->code->addr[location];
    const uint64_t linked = address - bias;
    return address != 0 && ((address >= symbol->addr && address < symbol->end_addr) ||
                            (linked >= symbol->addr && linked < symbol->end_addr));
}

static pt_status put_cells(counting *t, pt_error *reterr)
{
    for (uint32_t l = 0; l < t->profile->location->t.count; l++) {
        const uint32_t image = t->code->image_of[l];
        pt_object_symbol symbol;
        if (!find_symbol(t, l, &symbol)) continue;
        const size_t before = t->symbols.count;
        const uint32_t id = group_of_symbol(t, image, &symbol);
        sampled_symbol *found = &t->symbols.items[id];
        if (t->symbols.count > before) {
            if (symbol.name[0] == '\0') found->symbol.name = name_of_code(t, l, image);
            const pt_status status = match_symbol_name(t, found, &found->is_named, reterr);
            if (status != PT_OK) return status;
        }
        found->is_named |= is_location_chosen(t, l, true) || holds_address(t, l, &symbol);
        found->has_chosen_inlined |= is_location_chosen(t, l, false);
        pt_tally_put_location(&t->tally, l, id, t->code->addr[l]);
    }
    return PT_OK;
}

/* ---- Rows ---- */

/* Finds the source line of each row's first frame. */
static void find_sources(const counting *t, pt_code_function *f, const char *build_id)
{
    for (size_t i = 0; i < f->row_count; i++) {
        pt_code_row *const row = &f->row[i];
        const pt_code_frame *const frame = pt_code_innermost(row);
        if (frame == NULL || frame->file[0] == '\0') continue;
        pt_source_line(pt_source_texts_of_image(t->request->texts, frame->file, build_id),
                       frame->line, &row->source, &row->source_size);
    }
}

/* Removes the rows that are more than `context` rows from any row with a value. */
static void cut_rows(pt_code_function *f, int64_t context)
{
    PT_FREE bool *has_value = pt_alloc(f->row_count + 1, sizeof *has_value);
    for (size_t i = 0; i < f->row_count; i++)
        has_value[i] = f->row[i].total != 0 || f->row[i].self != 0;
    PT_FREE bool *near = pt_code_rows_near(has_value, f->row_count, context, true);
    size_t kept = 0;
    for (size_t i = 0; i < f->row_count; i++) {
        if (!near[i]) {
            free((char *)(uintptr_t)f->row[i].text);
            continue;
        }
        f->row[i].after_gap = i > 0 && !near[i - 1];
        f->row[kept++] = f->row[i];
    }
    f->row_count = kept;
}

static void fill_symbol(const counting *t, pt_code_function *f, uint32_t id)
{
    const sampled_symbol *s = &t->symbols.items[id];
    const pt_tally_group *sums = &t->tally.groups.items[id];
    const pt_code_image *image = &t->code->image[s->image];
    pt_error error = PT_ERROR_INIT;
    *f = (pt_code_function){
        .name = name_of_symbol(t, s),
        .linkage_name = s->symbol.name,
        .path = image->path,
        .start = s->symbol.addr,
        .end = s->symbol.end_addr,
        .self = sums->self,
        .total = sums->total,
    };
    if (pt_code_disassemble(f, image, f->start, f->end, t->request->code, &error) != PT_OK) {
        f->error = pt_strdup(error.message);
        return;
    }
    const pt_tally_cell *cell = &t->tally.cells.items[sums->cell_first];
    for (size_t i = 0, at = 0; i < sums->cell_count && f->row_count > 0; i++) {
        at = pt_code_row_of(f, at, cell[i].key);
        pt_saturating_into(&f->row[at].self, cell[i].self);
        pt_saturating_into(&f->row[at].total, cell[i].total);
    }
    find_sources(t, f, image->build_id);
    if (!t->request->with_lines && t->request->context >= 0) cut_rows(f, t->request->context);
}

/* ---- All ---- */

static int by_total(const void *left, const void *right, void *context)
{
    const counting *t = context;
    const uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    const sampled_symbol *a = &t->symbols.items[i], *b = &t->symbols.items[k];
    const int order =
        pt_compare_magnitudes(t->tally.groups.items[i].total, t->tally.groups.items[k].total);
    if (order != 0) return order;
    if (a->image != b->image) return a->image < b->image ? -1 : 1;
    return (a->symbol.addr > b->symbol.addr) - (a->symbol.addr < b->symbol.addr);
}

static void fill_symbols(counting *t, pt_listing *listing)
{
    const bool with_inlined = t->request->with_lines;
    const size_t limit = with_inlined ? t->request->symbol_limit : t->request->limit;
    PT_FREE uint32_t *order = pt_alloc(t->symbols.count + 1, sizeof *order);
    size_t count = 0;
    bool any_named = false;
    for (size_t i = 0; i < t->symbols.count; i++)
        any_named |= t->symbols.items[i].is_named && t->tally.groups.items[i].total != 0;
    for (uint32_t i = 0; i < t->symbols.count; i++) {
        const sampled_symbol *s = &t->symbols.items[i];
        const bool holds = s->has_chosen_inlined || (with_inlined && s->is_named);
        const bool is_chosen = any_named && !with_inlined ? s->is_named : holds;
        if (is_chosen && t->tally.groups.items[i].total != 0) order[count++] = i;
    }
    qsort_r(order, count, sizeof *order, by_total, t);
    listing->symbol_count = limit > 0 && limit < count ? limit : count;
    listing->symbols_more = count - listing->symbol_count;
    listing->symbol = pt_alloc(listing->symbol_count + 1, sizeof *listing->symbol);
    for (size_t i = 0; i < listing->symbol_count; i++)
        fill_symbol(t, &listing->symbol[i], order[i]);
}

pt_status pt_listing_add_code(const pt_listing_search *search, pt_listing *listing,
                              pt_error *reterr)
{
    counting t = {.search = search,
                  .profile = search->profile,
                  .request = search->request,
                  .code = &listing->code};
    pt_tally_init(&t.tally, search->profile, NULL);
    open_images(&t);
    const pt_status status = put_cells(&t, reterr);
    if (status == PT_OK) {
        pt_tally_count(&t.tally, search->value);
        pt_tally_sort(&t.tally);
        fill_symbols(&t, listing);
    }
    pt_tally_done(&t.tally);
    pt_index_done(&t.symbol_index);
    free(t.symbols.items);
    return status;
}
