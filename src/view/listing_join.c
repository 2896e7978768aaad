/* listing_join.c: finds the instructions of each line: a frame of an instruction belongs to a
 * listed function if its name and file are the same. */

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/plain/ascending.h"
#include "view/listing_int.h"

/* A name of a listed function. */
typedef struct {
    const char *name;
    uint32_t function; /* in the listing */
} known_name;

typedef struct {
    const pt_profile *profile;
    pt_listing *listing;
    PT_VECTOR(known_name) names;
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

/* The listed function of a function row, or PT_NONE. The texts of both are in the profile's string
 * table, so equal texts have the same address. */
static uint32_t listed_function(const joining *j, uint32_t row)
{
    const pt_profile *p = j->profile;
    const char *name = pt_text(p, p->function->name[row]);
    const char *file = pt_text(p, p->function->file[row]);
    const uint64_t hash = pt_hash_mix((uintptr_t)name, (uintptr_t)file);
    PT_INDEX_EACH (&j->function_index, hash, i) {
        const pt_code_function *f = &j->listing->function[i];
        if (f->name == name && f->file == file) return i;
    }
    return PT_NONE;
}

static void index_names(joining *j)
{
    const pt_profile *p = j->profile;
    const pt_listing *l = j->listing;
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

/* How well a listed function's file matches a frame's: 3 the same path, 2 the same base name
 * (another program may have written the profile's paths), 0 not at all. */
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
        const int fit = file_fit(j->listing->function[known->function].file, file);
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

static uint32_t row_of_line(const pt_code_function *f, uint64_t number)
{
    const size_t i = PT_FIRST_FROM(f->row, f->row_count, at, number);
    return i < f->row_count && f->row[i].at == number ? (uint32_t)i : PT_NONE;
}

static void add_piece(joining *j, const pt_listing_piece *piece)
{
    pt_listing *l = j->listing;
    l->piece = pt_grow(l->piece, &j->piece_cap, l->piece_count + 1, sizeof *l->piece);
    l->piece[l->piece_count++] = *piece;
}

/* Adds an instruction to the lines of its frames. If a function is inlined into itself on one line,
 * the line gets the instruction once, at the function's outermost frame. */
static void join_instruction(joining *j, uint32_t symbol, uint32_t at)
{
    const pt_code_row *in = &j->listing->symbol[symbol].row[at];
    const size_t first = j->listing->piece_count;
    for (uint32_t k = in->frame_count; k-- > 0;) {
        const uint32_t function = function_of_frame(j, &in->frame[k]);
        if (function == PT_NONE) continue;
        const uint32_t line =
            row_of_line(&j->listing->function[function], (uint64_t)in->frame[k].line);
        bool is_there = line == PT_NONE;
        for (size_t i = first; i < j->listing->piece_count && !is_there; i++)
            is_there =
                j->listing->piece[i].function == function && j->listing->piece[i].line == line;
        if (!is_there) add_piece(j, &(pt_listing_piece){function, line, symbol, at, k});
    }
}

PT_ORDER(compare_pieces, pt_listing_piece, PT_UP(function) ?: PT_UP(line) ?: PT_UP(symbol)
         ?: PT_UP(at));

void pt_listing_join(const pt_profile *profile, pt_listing *l)
{
    joining j = {.profile = profile, .listing = l};
    index_names(&j);
    for (uint32_t s = 0; s < l->symbol_count; s++)
        for (uint32_t i = 0; i < l->symbol[s].row_count; i++)
            join_instruction(&j, s, i);
    if (l->piece_count > 0) qsort(l->piece, l->piece_count, sizeof *l->piece, compare_pieces);
    for (size_t i = 0; i < l->piece_count; i++) {
        pt_code_row *const row = &l->function[l->piece[i].function].row[l->piece[i].line];
        if (row->piece_count++ == 0) row->piece_first = i;
    }
    pt_index_done(&j.name_index);
    pt_index_done(&j.function_index);
    free(j.names.items);
}
