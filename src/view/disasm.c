/* disasm.c: locations -> addresses -> symbols; one pass over the stacks for the chosen ones. */
#include "view/disasm.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "view/listing.h"
#include "view/table.h"

/* A symbol with samples. */
typedef struct {
    uint32_t image, seen;
    pt_object_symbol symbol;
    int64_t self, total;
    bool is_named;  /* its name matches */
    bool holds_one; /* a function that was inlined into it does */
} sampled_symbol;

/* An address with samples. */
typedef struct {
    uint32_t symbol, seen;
    uint64_t addr;
    int64_t self, total;
} sampled_addr;

typedef struct {
    const pt_profile *profile;
    const pt_disasm_request *request;
    pt_code code;
    bool *used; /* per location: it is on a stack that has a value */
    pt_fold fold;
    pt_matching matching;
    struct {
        sampled_symbol *items;
        size_t count, cap;
    } symbols;
    struct {
        sampled_addr *items;
        size_t count, cap;
    } addrs;
    pt_index symbol_index, addr_index;
    uint32_t *addr_of; /* per location: in addrs */
    int64_t *value;    /* per stack */
} search;

/* ---- Where samples are ---- */

static void find_used(search *s)
{
    const pt_stacks *stacks = s->profile->stack;
    for (uint32_t i = 0; i < stacks->t.count; i++) {
        if (s->value[i] == 0) continue;
        for (uint64_t k = stacks->offset[i]; k < stacks->offset[i + 1]; k++)
            s->used[stacks->frame[k]] = true;
    }
}

/* Does a function of the location match? outermost: the one that has the code. */
static bool location_matches(const search *s, uint32_t location, bool outermost)
{
    const pt_locations *l = s->profile->location;
    const uint32_t first = l->line_first[location], end = l->line_first[location + 1];
    for (uint32_t i = outermost && end > first ? end - 1 : first; i < end; i++) {
        const uint32_t f = s->profile->line->function[i];
        if (f != PT_NONE && s->matching.function[f]) return true;
    }
    uint32_t one, count;
    const uint32_t *rows = pt_fold_rows(&s->fold, location, &one, &count);
    return first == end && s->matching.row != NULL && s->matching.row[rows[0]];
}

/* Only images that can hold something that matches are opened: those of locations with a matching
 * function, or without names. */
static void choose_locations(const search *s, bool *wanted)
{
    const pt_profile *p = s->profile;
    PT_FREE bool *wants = pt_alloc(p->mapping->t.count + 1, sizeof *wants);
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        const uint32_t m = p->location->mapping[l];
        const bool is_named = p->location->line_first[l + 1] > p->location->line_first[l];
        if (s->used[l] && m != PT_NONE &&
            (!is_named || s->request->address != 0 || location_matches(s, l, false)))
            wants[m] = true;
    }
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        const uint32_t m = p->location->mapping[l];
        wanted[l] = s->used[l] && m != PT_NONE && wants[m];
    }
}

static uint32_t symbol_of(search *s, uint32_t image, const pt_object_symbol *symbol)
{
    const uint64_t hash = pt_hash_mix(symbol->addr, image);
    const uint32_t known = PT_INDEX_FIND(&s->symbol_index, hash, i,
                                         s->symbols.items[i].image == image &&
                                             s->symbols.items[i].symbol.addr == symbol->addr);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&s->symbol_index, hash, s->symbols,
                         (sampled_symbol){.image = image, .symbol = *symbol});
}

static uint32_t address_of(search *s, uint32_t symbol, uint64_t addr)
{
    const uint64_t hash = pt_hash_mix(addr, symbol);
    const uint32_t known =
        PT_INDEX_FIND(&s->addr_index, hash, i,
                      s->addrs.items[i].symbol == symbol && s->addrs.items[i].addr == addr);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(&s->addr_index, hash, s->addrs,
                         (sampled_addr){.symbol = symbol, .addr = addr});
}

static pt_status name_matches(const search *s, const sampled_symbol *symbol, bool *ret_match,
                              pt_error *reterr)
{
    const char *linkage = symbol->symbol.name;
    const char *name =
        pt_code_name(&s->code.image[symbol->image], linkage, s->request->code->demangle);
    if (s->matching.row != NULL || s->request->pattern == NULL) {
        *ret_match = s->request->name != NULL && strcmp(name, s->request->name) == 0;
        return PT_OK;
    }
    return pt_regex_match(s->request->pattern, name, strlen(name), ret_match, reterr);
}

/* Does the symbol of a location hold the address that was asked for? */
static bool holds_address(const search *s, uint32_t location, const pt_object_symbol *symbol)
{
    const uint64_t address = s->request->address;
    const uint64_t bias = s->profile->location->address[location] - s->code.addr[location];
    const uint64_t linked = address - bias;
    return address != 0 && ((address >= symbol->addr && address < symbol->end_addr) ||
                            (linked >= symbol->addr && linked < symbol->end_addr));
}

static pt_status find_symbols(search *s, pt_error *reterr)
{
    const uint32_t count = s->profile->location->t.count;
    memset(s->addr_of, 0xff, count * sizeof *s->addr_of);
    for (uint32_t l = 0; l < count; l++) {
        const uint32_t image = s->code.image_of[l];
        pt_object_symbol symbol;
        if (image == PT_NONE ||
            !pt_object_symbol_at(s->code.image[image].object, s->code.addr[l], &symbol))
            continue;
        const size_t before = s->symbols.count;
        const uint32_t id = symbol_of(s, image, &symbol);
        sampled_symbol *found = &s->symbols.items[id];
        if (s->symbols.count > before) {
            const pt_status status = name_matches(s, found, &found->is_named, reterr);
            if (status != PT_OK) return status;
        }
        found->is_named |= location_matches(s, l, true) || holds_address(s, l, &symbol);
        found->holds_one |= location_matches(s, l, false);
        s->addr_of[l] = address_of(s, id, s->code.addr[l]);
    }
    return PT_OK;
}

/* ---- Counting ---- */

static void count_all(search *s)
{
    const pt_stacks *stacks = s->profile->stack;
    for (uint32_t i = 0; i < stacks->t.count; i++) {
        const int64_t value = s->value[i];
        const uint64_t first = stacks->offset[i];
        for (uint64_t k = first; value != 0 && k < stacks->offset[i + 1]; k++) {
            const uint32_t id = s->addr_of[stacks->frame[k]];
            if (id == PT_NONE) continue;
            sampled_addr *addr = &s->addrs.items[id];
            sampled_symbol *symbol = &s->symbols.items[addr->symbol];
            if (k == first) {
                addr->self = pt_saturating_add(addr->self, value);
                symbol->self = pt_saturating_add(symbol->self, value);
            }
            if (addr->seen != i + 1) addr->total = pt_saturating_add(addr->total, value);
            if (symbol->seen != i + 1) symbol->total = pt_saturating_add(symbol->total, value);
            addr->seen = symbol->seen = i + 1;
        }
    }
}

/* ---- Results ---- */

static int by_symbol_and_addr(const void *left, const void *right)
{
    const sampled_addr *a = left, *b = right;
    if (a->symbol != b->symbol) return a->symbol < b->symbol ? -1 : 1;
    return (a->addr > b->addr) - (a->addr < b->addr);
}

static int by_total(const void *left, const void *right, void *context)
{
    const search *s = context;
    const sampled_symbol *a = &s->symbols.items[*(const uint32_t *)left];
    const sampled_symbol *b = &s->symbols.items[*(const uint32_t *)right];
    const uint64_t x = pt_magnitude(a->total), y = pt_magnitude(b->total);
    if (x != y) return x > y ? -1 : 1;
    if (a->image != b->image) return a->image < b->image ? -1 : 1;
    return (a->symbol.addr > b->symbol.addr) - (a->symbol.addr < b->symbol.addr);
}

/* The addresses of one symbol, among all that are sorted. */
static const sampled_addr *addrs_of(const search *s, uint32_t symbol, size_t *ret_count)
{
    size_t low = 0, high = s->addrs.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->addrs.items[middle].symbol < symbol)
            low = middle + 1;
        else
            high = middle;
    }
    size_t count = 0;
    while (low + count < s->addrs.count && s->addrs.items[low + count].symbol == symbol)
        count++;
    *ret_count = count;
    return s->addrs.items + low;
}

static pt_disasm_line line_of(const search *s, const pt_code_image *image, const pt_code_text *text,
                              size_t i)
{
    const pt_code_instruction *in = &text->instruction[i];
    pt_disasm_line line = {.addr = in->addr,
                           .size_bytes = in->size_bytes,
                           .text = in->text,
                           .frame_count = in->frame_count};
    if (in->frame_count == 0) return line;
    line.frame = text->frame + in->frame_first;
    if (line.frame->file[0] == '\0') return line;
    const pt_source_file *file =
        pt_source_texts_of_image(s->request->texts, line.frame->file, image->build_id);
    pt_source_line(file, line.frame->line, &line.source, &line.source_size);
    return line;
}

/* Leaves out what is farther than `context` from any instruction with a value. */
static void cut_lines(pt_disasm_function *f, int64_t context)
{
    PT_FREE bool *keep = pt_alloc(f->line_count + 1, sizeof *keep);
    const size_t around = (size_t)context;
    for (size_t i = 0, kept_to = 0; i < f->line_count; i++) {
        if (f->line[i].total == 0 && f->line[i].self == 0) continue;
        size_t from = i > around ? i - around : 0;
        if (from < kept_to || (kept_to > 0 && from == kept_to + 1)) from = kept_to;
        const size_t to = f->line_count - i > around + 1 ? i + around + 1 : f->line_count;
        for (size_t k = from; k < to; k++)
            keep[k] = true;
        kept_to = to;
    }
    size_t kept = 0, last = 0;
    for (size_t i = 0; i < f->line_count; i++) {
        if (!keep[i]) continue;
        const bool after_gap = i > (kept > 0 ? last + 1 : 0);
        last = i;
        f->line[kept] = f->line[i];
        f->line[kept++].after_gap = after_gap;
    }
    f->line_count = kept;
}

static void fill_function(const search *s, pt_disasm_function *f, uint32_t id)
{
    const sampled_symbol *symbol = &s->symbols.items[id];
    const pt_code_image *image = &s->code.image[symbol->image];
    const pt_disasm_request *r = s->request;
    pt_error error = PT_ERROR_INIT;
    *f = (pt_disasm_function){
        .name = pt_code_name(image, symbol->symbol.name, r->code->demangle),
        .linkage_name = symbol->symbol.name,
        .path = image->path,
        .start = symbol->symbol.addr,
        .end = symbol->symbol.end_addr,
        .self = symbol->self,
        .total = symbol->total,
        .self_share = pt_share(symbol->self, r->whole),
        .total_share = pt_share(symbol->total, r->whole),
    };
    if (pt_code_text_init(&f->text, image, f->start, f->end, r->code, &error) != PT_OK) {
        f->error = pt_strdup(error.message);
        return;
    }
    size_t addr_count, at = 0;
    const sampled_addr *addr = addrs_of(s, id, &addr_count);
    f->line = pt_alloc(f->text.count + 1, sizeof *f->line);
    for (size_t i = 0; i < f->text.count; i++) {
        pt_disasm_line *line = &f->line[f->line_count++];
        *line = line_of(s, image, &f->text, i);
        const bool is_last = i + 1 == f->text.count;
        for (; at < addr_count && (is_last || addr[at].addr < f->text.instruction[i + 1].addr);
             at++) {
            line->self = pt_saturating_add(line->self, addr[at].self);
            line->total = pt_saturating_add(line->total, addr[at].total);
        }
        line->self_share = pt_share(line->self, r->whole);
        line->total_share = pt_share(line->total, r->whole);
    }
    if (r->context >= 0) cut_lines(f, r->context);
}

static void make_result(search *s, pt_disassembly *result)
{
    PT_FREE uint32_t *chosen = pt_alloc(s->symbols.count + 1, sizeof *chosen);
    size_t count = 0;
    bool any_named = false;
    for (size_t i = 0; i < s->symbols.count; i++)
        any_named |= !s->request->with_inlined && s->symbols.items[i].is_named &&
                     s->symbols.items[i].total != 0;
    for (size_t i = 0; i < s->symbols.count; i++) {
        const sampled_symbol *symbol = &s->symbols.items[i];
        const bool holds = symbol->holds_one || (s->request->with_inlined && symbol->is_named);
        if (symbol->total != 0 && (any_named ? symbol->is_named : holds))
            chosen[count++] = (uint32_t)i;
    }
    qsort_r(chosen, count, sizeof *chosen, by_total, s);
    if (s->addrs.count > 0)
        qsort(s->addrs.items, s->addrs.count, sizeof *s->addrs.items, by_symbol_and_addr);
    const size_t limit = s->request->limit;
    const size_t shown = limit > 0 && limit < count ? limit : count;
    result->function = pt_alloc(shown + 1, sizeof *result->function);
    result->more = count - shown;
    for (size_t i = 0; i < shown; i++)
        fill_function(s, &result->function[result->count++], chosen[i]);
}

static void search_done(search *s)
{
    free(s->used);
    pt_fold_done(&s->fold);
    pt_matching_done(&s->matching);
    free(s->symbols.items);
    free(s->addrs.items);
    free(s->addr_of);
    free(s->value);
    pt_index_done(&s->symbol_index);
    pt_index_done(&s->addr_index);
}

pt_status pt_disassembly_init(pt_disassembly *ret_disassembly, const pt_profile *p,
                              const pt_disasm_request *request, pt_error *reterr)
{
    search s = {.profile = p, .request = request};
    pt_status status = pt_fold_init(&s.fold, p, &(pt_fold_rule){0}, reterr);
    if (status != PT_OK) return status;
    status = pt_matching_init(&s.matching, &s.fold, request->name, request->pattern, reterr);
    if (status != PT_OK) {
        pt_fold_done(&s.fold);
        return status;
    }
    const uint32_t count = p->location->t.count;
    s.used = pt_alloc(count + 1, sizeof *s.used);
    s.addr_of = pt_alloc(count + 1, sizeof *s.addr_of);
    s.value = pt_view_stack_values(p, request->event);
    find_used(&s);
    PT_FREE bool *wanted = pt_alloc(count + 1, sizeof *wanted);
    choose_locations(&s, wanted);
    pt_code_init(&s.code, p, wanted, request->code);
    status = find_symbols(&s, reterr);
    pt_disassembly result = {0};
    if (status == PT_OK) {
        count_all(&s);
        make_result(&s, &result);
    }
    result.code = s.code;
    search_done(&s);
    if (status == PT_OK && result.count == 0)
        status = pt_error_set(reterr, PT_ERR_NOTFOUND, "no code with samples matches");
    if (status == PT_OK)
        *ret_disassembly = result;
    else
        pt_disassembly_done(&result);
    return status;
}

void pt_disassembly_done(pt_disassembly *disassembly)
{
    for (size_t i = 0; i < disassembly->count; i++) {
        free(disassembly->function[i].line);
        free(disassembly->function[i].error);
        pt_code_text_done(&disassembly->function[i].text);
    }
    free(disassembly->function);
    pt_code_done(&disassembly->code);
    *disassembly = (pt_disassembly){0};
}
