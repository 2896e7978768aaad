/* weblist.c: a listing and a disassembly of the same functions, joined by name and file. */
#include "view/weblist.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"

/* A name under which a listed function is known. */
typedef struct {
    const char *name;
    uint32_t function; /* in the listing */
} known_name;

typedef struct {
    const pt_profile *profile;
    pt_weblist *result;
    struct {
        known_name *items;
        size_t count, cap;
    } names;
    pt_index name_index, function_index;
    size_t piece_cap;
} joining;

/* ---- Names of the listed functions ---- */

static uint64_t hash_text(const char *text)
{
    return pt_hash_bytes(text, strlen(text));
}

static void add_name(joining *j, const char *name, uint32_t function)
{
    const uint64_t hash = hash_text(name);
    if (name[0] == '\0') return;
    PT_INDEX_EACH (&j->name_index, hash, i)
        if (j->names.items[i].function == function && strcmp(j->names.items[i].name, name) == 0)
            return;
    PT_INDEX_PUSH(&j->name_index, hash, j->names, (known_name){name, function});
}

/* The listed function of a function row, PT_NONE when it is not listed. Texts of both are of the
 * profile's string table, so equal ones are one pointer. */
static uint32_t listed_function(const joining *j, uint32_t row)
{
    const pt_profile *p = j->profile;
    const char *name = pt_text(p, p->function->name[row]);
    const char *file = pt_text(p, p->function->file[row]);
    const uint64_t hash = pt_hash_mix((uintptr_t)name, (uintptr_t)file);
    PT_INDEX_EACH (&j->function_index, hash, i) {
        const pt_listing_function *f = &j->result->listing.function[i];
        if (f->name == name && f->file == file) return i;
    }
    return PT_NONE;
}

static void know_names(joining *j)
{
    const pt_profile *p = j->profile;
    const pt_listing *l = &j->result->listing;
    for (size_t i = 0; i < l->count; i++)
        pt_index_add(&j->function_index,
                     pt_hash_mix((uintptr_t)l->function[i].name, (uintptr_t)l->function[i].file),
                     (uint32_t)i);
    for (uint32_t row = 0; row < p->function->t.count; row++) {
        const uint32_t function = listed_function(j, row);
        if (function == PT_NONE) continue;
        add_name(j, pt_text(p, p->function->name[row]), function);
        add_name(j, pt_text(p, p->function->system_name[row]), function);
    }
}

/* How well a listed function's file is a frame's: the profile may have been named by another
 * program, which writes paths otherwise. */
static int file_fit(const char *listed, const char *file)
{
    if (strcmp(listed, file) == 0) return 3;
    return strcmp(pt_base_name(listed), pt_base_name(file)) == 0 ? 2 : 0;
}

static uint32_t function_of_name(const joining *j, const char *name, const char *file)
{
    uint32_t best = PT_NONE;
    int best_fit = 0;
    PT_INDEX_EACH (&j->name_index, hash_text(name), i) {
        const known_name *known = &j->names.items[i];
        if (strcmp(known->name, name) != 0) continue;
        const int fit = file_fit(j->result->listing.function[known->function].file, file);
        if (fit > best_fit) {
            best = known->function;
            best_fit = fit;
        }
    }
    return best;
}

static uint32_t function_of_frame(const joining *j, const pt_code_frame *frame)
{
    const uint32_t function = function_of_name(j, frame->linkage_name, frame->file);
    return function != PT_NONE ? function : function_of_name(j, frame->function, frame->file);
}

/* ---- Pieces ---- */

static uint32_t line_of_function(const pt_listing_function *f, int64_t number)
{
    size_t low = 0, high = f->line_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (f->line[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->line_count && f->line[low].number == number ? (uint32_t)low : PT_NONE;
}

static void add_piece(joining *j, const pt_weblist_piece *piece)
{
    pt_weblist *w = j->result;
    w->piece = pt_grow(w->piece, &j->piece_cap, w->piece_count + 1, sizeof *w->piece);
    w->piece[w->piece_count++] = *piece;
}

/* A function that is inlined into itself, on one line, has the instruction there once: at its
 * outermost frame. */
static void join_instruction(joining *j, uint32_t symbol, uint32_t at)
{
    const pt_disasm_line *in = &j->result->code.function[symbol].line[at];
    const size_t first = j->result->piece_count;
    for (uint32_t k = in->frame_count; k-- > 0;) {
        const uint32_t function = function_of_frame(j, &in->frame[k]);
        if (function == PT_NONE) continue;
        const pt_listing_function *f = &j->result->listing.function[function];
        const uint32_t line = line_of_function(f, in->frame[k].line);
        bool is_there = line == PT_NONE;
        for (size_t i = first; i < j->result->piece_count && !is_there; i++)
            is_there = j->result->piece[i].function == function && j->result->piece[i].line == line;
        if (!is_there) add_piece(j, &(pt_weblist_piece){function, line, symbol, at, k});
    }
}

static int compare_pieces(const void *left, const void *right)
{
    const pt_weblist_piece *a = left, *b = right;
    if (a->function != b->function) return a->function < b->function ? -1 : 1;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    if (a->symbol != b->symbol) return a->symbol < b->symbol ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static void join_all(joining *j)
{
    pt_weblist *w = j->result;
    know_names(j);
    for (size_t s = 0; s < w->code.count; s++)
        for (size_t i = 0; i < w->code.function[s].line_count; i++)
            join_instruction(j, (uint32_t)s, (uint32_t)i);
    if (w->piece_count > 0) qsort(w->piece, w->piece_count, sizeof *w->piece, compare_pieces);
    pt_index_done(&j->name_index);
    pt_index_done(&j->function_index);
    free(j->names.items);
}

pt_status pt_weblist_init(pt_weblist *ret_weblist, const pt_profile *profile,
                          const pt_weblist_request *request, pt_error *reterr)
{
    pt_weblist result = {0};
    pt_status status = pt_listing_init(&result.listing, profile, &request->listing, reterr);
    if (status != PT_OK) return status;
    if (request->code != NULL) {
        const pt_disasm_request code = {
            .event = request->listing.event,
            .whole = request->listing.whole,
            .name = request->listing.name,
            .pattern = request->listing.pattern,
            .code = request->code,
            .texts = request->listing.texts,
            .context = -1,
            .limit = request->symbol_limit,
            .with_inlined = true,
        };
        status = pt_disassembly_init(&result.code, profile, &code, reterr);
        if (status == PT_ERR_NOTFOUND) status = PT_OK;
    }
    if (status != PT_OK) {
        pt_weblist_done(&result);
        return status;
    }
    joining j = {.profile = profile, .result = &result};
    join_all(&j);
    *ret_weblist = result;
    return PT_OK;
}

void pt_weblist_done(pt_weblist *weblist)
{
    pt_listing_done(&weblist->listing);
    pt_disassembly_done(&weblist->code);
    free(weblist->piece);
    *weblist = (pt_weblist){0};
}
