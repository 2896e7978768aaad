/* tally.h: sums of samples for pieces of code. A cell is a source line or an instruction; a group
 * is the function or symbol that holds it.
 *
 *   stack [a@7 < main@3]   5      ->    cell (a, 7)    self 5  total 5    group a     5  5
 *   stack [a@9 < main@3]   1            cell (main, 3) self 0  total 6    group main  0  6
 *
 * self: samples that were taken in the cell; total: also samples in functions that were called from
 * it. A sample counts once for a cell and once for a group, however often a recursive function is
 * on its stack.
 */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "view/fold.h"

typedef struct pt_tally_group {
    int64_t self, total;
    uint32_t seen;                 /* 1 + the last counted stack that has it */
    size_t cell_first, cell_count; /* from pt_tally_sort */
} pt_tally_group;

typedef struct pt_tally_cell {
    uint32_t group, seen;
    uint64_t key; /* number of the line, or address */
    int64_t self, total;
    size_t call_first, call_count; /* from pt_tally_sort */
} pt_tally_cell;

typedef struct pt_tally_call {
    uint32_t cell, seen;
    uint32_t callee; /* row of the fold */
    int64_t value;
    bool inlined;
} pt_tally_call;

typedef struct pt_tally {
    const pt_profile *profile;
    const pt_fold
        *fold; /* decides the rows of callees; NULL: calls are not counted, which is several times
                * faster */
    PT_VECTOR(pt_tally_group) groups;
    PT_VECTOR(pt_tally_cell) cells;
    PT_VECTOR(pt_tally_call) calls;
    pt_index cell_index, call_index;
    uint32_t *cell_of_line; /* per row of the line table; PT_NONE: none */
    uint32_t
        *cell_of_location; /* per location: the cell of the location as a whole, so that its lines
                            * do not count; or PT_NONE */
    bool *is_counted;      /* per location: true if the location or a line of it has a cell */
} pt_tally;

/* Borrows the profile and the fold; the caller calls pt_tally_done. */
void pt_tally_init(pt_tally *ret_tally, const pt_profile *profile, const pt_fold *fold);
void pt_tally_done(pt_tally *tally);

/* Adds a group without cells. Returns its index. */
uint32_t pt_tally_add_group(pt_tally *tally);
/* Assigns a location as a whole, or a row of its lines, to the cell of that group and key; adds the
 * cell if it is new. */
void pt_tally_put_location(pt_tally *tally, uint32_t location, uint32_t group, uint64_t key);
void pt_tally_put_line(pt_tally *tally, uint32_t location, uint32_t line, uint32_t group,
                       uint64_t key);

/* Adds up the values (one for each stack). Sums saturate. Call it once, after all cells are
 * assigned. */
void pt_tally_count(pt_tally *tally, const int64_t *value);

/* Orders cells by group and key, and calls by cell, the largest first; groups keep their places.
 * The cells of locations and lines are undefined afterwards. */
void pt_tally_sort(pt_tally *tally);
