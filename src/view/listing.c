/* listing.c: chooses the functions, and runs the steps of a listing. */
#include "view/listing.h"

#include <stdlib.h>

#include "base/index.h"
#include "model/sums.h"
#include "view/listing_int.h"

/* ---- Chosen functions ---- */

/* Chooses the functions whose text in the column (name or file) matches the pattern. Each string is
 * matched only once. */
static pt_status choose_by_pattern(pt_listing_search *s, const uint32_t *column, pt_error *reterr)
{
    enum { UNKNOWN, NO, YES };
    const pt_profile *const p = s->profile;
    PT_FREE uint8_t *known = pt_alloc(p->string->t.count, 1);
    for (uint32_t f = 0; f < p->function->t.count; f++) {
        const uint32_t text = column[f];
        if (known[text] == UNKNOWN && pt_text_bytes(p, text) > 0) {
            bool match = false;
            const pt_status status = pt_regex_match(s->request->pattern, pt_text(p, text),
                                                    pt_text_bytes(p, text), &match, reterr);
            if (status != PT_OK) return status;
            known[text] = match ? YES : NO;
        }
        s->is_chosen[f] = known[text] == YES;
        s->chosen_count += s->is_chosen[f];
    }
    return PT_OK;
}

/* Chooses the functions of the chosen rows. */
static void choose_by_rows(pt_listing_search *s)
{
    const pt_profile *const p = s->profile;
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        uint32_t one, count;
        const uint32_t first = p->location->line_first[l], end = p->location->line_first[l + 1];
        const uint32_t *row = pt_fold_rows(&s->fold, l, &one, &count);
        for (uint32_t i = first; i < end; i++) {
            const uint32_t f = p->line->function[i];
            if (!s->is_row_chosen[row[i - first]] || f == PT_NONE || s->is_chosen[f]) continue;
            if (pt_fold_is_unnamed(&s->fold, row[i - first])) continue;
            s->is_chosen[f] = true;
            s->chosen_count++;
        }
    }
}

static pt_status choose_functions(pt_listing_search *s, pt_error *reterr)
{
    const pt_functions *const functions = s->profile->function;
    const uint32_t *const columns[] = {functions->name, functions->system_name, functions->file};
    s->is_chosen = pt_alloc((size_t)functions->t.count + 1, sizeof *s->is_chosen);
    if (s->request->name != NULL) s->is_row_chosen = pt_fold_find(&s->fold, s->request->name, NULL);
    if (s->is_row_chosen != NULL) choose_by_rows(s);
    pt_status status = PT_OK;
    if (s->request->pattern == NULL || s->is_row_chosen != NULL) return status;
    for (size_t c = 0; c < 3 && status == PT_OK && s->chosen_count == 0; c++)
        status = choose_by_pattern(s, columns[c], reterr);
    /* Code without a name has no function: chooses rows of the fold instead. A listing of
     * instructions alone needs no rows, since listing_code.c names such code itself. */
    if (status == PT_OK && s->chosen_count == 0 && s->request->with_lines)
        status = pt_fold_choose(&s->fold, NULL, s->request->pattern, &s->is_row_chosen, reterr);
    if (status == PT_OK && s->is_row_chosen != NULL) choose_by_rows(s);
    return status;
}

/* ---- All ---- */

static pt_status fill_listing(pt_listing_search *s, pt_listing *listing, pt_error *reterr)
{
    const bool with_lines = s->request->with_lines;
    pt_status status = choose_functions(s, reterr);
    if (status != PT_OK) return status;
    s->value = pt_profile_stack_values(s->profile, s->request->event);
    if (with_lines && (s->chosen_count > 0 || s->is_row_chosen != NULL))
        pt_listing_add_lines(s, listing);
    if (with_lines && listing->count == 0)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no function or source file matches");
    if (s->request->code == NULL) return PT_OK;
    status = pt_listing_add_code(s, listing, reterr);
    if (status == PT_OK && with_lines) pt_listing_join(s->profile, listing);
    if (status == PT_OK && !with_lines && listing->symbol_count == 0)
        return pt_error_set(reterr, PT_ERR_NOTFOUND, "no code with samples matches");
    return status;
}

pt_status pt_listing_init(pt_listing *ret_listing, const pt_profile *profile,
                          const pt_listing_request *request, pt_error *reterr)
{
    pt_listing_search s = {.profile = profile, .request = request};
    pt_status status = pt_fold_init(&s.fold, profile, &request->fold, reterr);
    if (status != PT_OK) return status;
    pt_listing listing = {.whole = request->whole};
    status = fill_listing(&s, &listing, reterr);
    pt_fold_done(&s.fold);
    PT_FREE_ALL(s.is_chosen, s.is_row_chosen);
    if (status == PT_OK)
        *ret_listing = listing;
    else
        pt_listing_done(&listing);
    return status;
}

void pt_listing_done(pt_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        pt_code_function_done(&listing->function[i]);
    for (size_t i = 0; i < listing->symbol_count; i++)
        pt_code_function_done(&listing->symbol[i]);
    for (size_t i = 0; i < listing->call_count; i++)
        free(listing->call[i].name);
    PT_FREE_ALL(listing->function, listing->symbol, listing->call, listing->piece);
    pt_code_done(&listing->code);
    *listing = (pt_listing){0};
}
