/* procedures.c: finds the symbols that counted addresses lie in, and their instructions. */
#include "personality/dcpi/procedures.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

/* A counted address and the symbol that it lies in. */
typedef struct {
    uint32_t image, row; /* row of the counts' addresses */
    uint64_t addr;       /* as linked */
    pt_object_symbol symbol;
} found_address;

typedef struct {
    const pt_counts *counts;
    const pt_procedures_request *request;
    pt_procedures *all;
    found_address *found;
    size_t found_count;
} search;

/* ---- The addresses of the chosen procedures ---- */

static pt_status choose_rows(const search *s, bool *chosen, size_t *ret_count, pt_error *reterr)
{
    const pt_counts *const c = s->counts;
    *ret_count = 0;
    for (size_t i = 0; i < c->count[PT_COUNTS_PROCEDURES]; i++) {
        const pt_counts_procedure *const p = &c->procedure[i];
        if (s->request->in_image != NULL && !s->request->in_image[p->image]) continue;
        bool match = s->request->pattern == NULL;
        if (!match) {
            const pt_status status =
                pt_regex_match(s->request->pattern, p->name, strlen(p->name), &match, reterr);
            if (status != PT_OK) return status;
        }
        match |= s->request->address != 0 && c->address[p->first].address <= s->request->address &&
                 c->address[p->first + p->count - 1].address >= s->request->address;
        chosen[i] = match;
        *ret_count += match;
    }
    return PT_OK;
}

PT_ORDER(by_symbol, found_address, PT_UP(image) ?: PT_UP(symbol.addr) ?: PT_UP(addr));

/* Opens the images of the chosen procedures and finds the symbols that their addresses lie in. */
static void find_symbols(search *s, const bool *chosen)
{
    const pt_counts *const c = s->counts;
    PT_FREE bool *wanted = pt_alloc((size_t)c->profile->location->t.count + 1, sizeof *wanted);
    for (size_t a = 0; a < c->count[PT_COUNTS_ADDRESSES]; a++)
        if (chosen[c->address[a].procedure]) wanted[c->address[a].location] = true;
    pt_code_init(&s->all->code, c->profile, wanted, s->request->code);
    s->found = pt_alloc(c->count[PT_COUNTS_ADDRESSES] + 1, sizeof *s->found);
    for (size_t a = 0; a < c->count[PT_COUNTS_ADDRESSES]; a++) {
        if (!chosen[c->address[a].procedure]) continue;
        const uint32_t location = c->address[a].location;
        const uint32_t image = s->all->code.image_of[location];
        found_address f = {.image = image, .row = (uint32_t)a, .addr = 0};
        if (image != PT_NONE) f.addr = s->all->code.addr[location];
        if (image != PT_NONE &&
            pt_object_symbol_at(s->all->code.image[image].object, f.addr, &f.symbol))
            s->found[s->found_count++] = f;
        else
            pt_saturating_into(&s->all->lost,
                               pt_counts_value(c, PT_COUNTS_ADDRESSES, a, s->request->column));
    }
    if (s->found_count > 0) qsort(s->found, s->found_count, sizeof *s->found, by_symbol);
}

/* ---- Procedures ---- */

typedef struct {
    size_t first, count; /* in found */
    int64_t value;       /* of the column */
} candidate;

PT_ORDER(by_value, candidate, PT_DOWN(value) ?: PT_UP(first));

static candidate *make_candidates(const search *s, size_t *ret_count)
{
    candidate *const items = pt_alloc(s->found_count + 1, sizeof *items);
    size_t n = 0;
    for (size_t i = 0; i < s->found_count; i++) {
        const found_address *const f = &s->found[i];
        if (i == 0 || f->image != f[-1].image || f->symbol.addr != f[-1].symbol.addr)
            items[n++] = (candidate){.first = i};
        items[n - 1].count++;
        pt_saturating_into(&items[n - 1].value, pt_counts_value(s->counts, PT_COUNTS_ADDRESSES,
                                                                f->row, s->request->column));
    }
    if (n > 0) qsort(items, n, sizeof *items, by_value);
    *ret_count = n;
    return items;
}

/* Adds the counts of each address to the instruction that contains the address. */
static void place_counts(const search *s, pt_procedure *p, const found_address *found, size_t count)
{
    const uint32_t n = s->counts->event_count;
    p->value = pt_alloc(p->code.row_count * n + 1, sizeof *p->value);
    for (size_t i = 0, at = 0; i < count && p->code.row_count > 0; i++) {
        at = pt_code_row_of(&p->code, at, found[i].addr);
        for (uint32_t e = 0; e < n; e++)
            pt_saturating_into(&p->value[at * n + e],
                               pt_counts_value(s->counts, PT_COUNTS_ADDRESSES, found[i].row, e));
    }
}

static void fill_procedure(const search *s, pt_procedure *p, const candidate *from)
{
    const found_address *const found = s->found + from->first;
    const pt_code_image *const image = &s->all->code.image[found->image];
    const char *const name = s->counts->procedure[s->counts->address[found->row].procedure].name;
    pt_error error = PT_ERROR_INIT;
    *p = (pt_procedure){
        .code = {.name = name[0] != '\0'
                             ? name
                             : pt_code_name(image, found->symbol.name, s->request->code->demangle),
                 .path = image->path,
                 .start = found->symbol.addr,
                 .end = found->symbol.end_addr},
        .build_id = image->build_id,
        .machine = pt_object_elf(image->object)->machine,
    };
    if (pt_code_disassemble(&p->code, image, p->code.start, p->code.end, s->request->code,
                            &error) != PT_OK)
        p->code.error = pt_strdup(error.message);
    place_counts(s, p, found, from->count);
}

pt_status pt_procedures_init(pt_procedures *ret, const pt_counts *counts,
                             const pt_procedures_request *request, pt_error *reterr)
{
    pt_procedures all = {.counts = counts};
    search s = {.counts = counts, .request = request, .all = &all};
    PT_FREE bool *chosen = pt_alloc(counts->count[PT_COUNTS_PROCEDURES] + 1, sizeof *chosen);
    size_t matches;
    const pt_status status = choose_rows(&s, chosen, &matches, reterr);
    if (status != PT_OK) return status;
    if (matches == 0) return pt_error_set(reterr, PT_ERR_NOTFOUND, "no procedure matches");
    find_symbols(&s, chosen);
    PT_FREE candidate *candidates = make_candidates(&s, &all.count);
    if (request->limit > 0 && all.count > request->limit) {
        all.more = all.count - request->limit;
        all.count = request->limit;
    }
    all.items = pt_alloc(all.count + 1, sizeof *all.items);
    for (size_t i = 0; i < all.count; i++)
        fill_procedure(&s, &all.items[i], &candidates[i]);
    free(s.found);
    *ret = all;
    return PT_OK;
}

void pt_procedures_done(pt_procedures *all)
{
    for (size_t i = 0; i < all->count; i++) {
        pt_code_function_done(&all->items[i].code);
        free(all->items[i].value);
    }
    free(all->items);
    pt_code_done(&all->code);
    *all = (pt_procedures){0};
}

bool pt_procedure_source_line(pt_source_texts *texts, const pt_procedure *p, const char *file,
                              int64_t line, const char **ret_text, size_t *ret_size)
{
    return pt_source_line(pt_source_texts_file(texts, file, p->build_id), line, ret_text, ret_size);
}
