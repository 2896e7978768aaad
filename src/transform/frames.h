/* frames.h: edits the frames of a profile; for use inside transform. A transform decides for each
 * location which lines stay, and for each stack which frames stay. This module makes the resulting
 * tables. */
#pragma once

#include "base/index.h"
#include "model/builder.h"
#include "model/profile.h"

typedef struct pt_frames_edit {
    /* Per row of the line table: true if the line stays. NULL: all lines stay. If a location loses
     * only some lines, its other lines keep their order. */
    const bool *line_stays;
    /* Per stack: writes the remaining frames to ret_frames (which has room for all), leaf first,
     * and returns their number. NULL: all frames stay. */
    uint32_t (*edit_stack)(const void *context, uint32_t stack, uint32_t *ret_frames);
    const void *context;
    /* Flags per stack and per label set: true = the samples of this stack or label set are dropped.
     * NULL = no samples are dropped. */
    const bool *stack_dropped, *set_dropped;
    /* Tells if an arc is dropped; an arc is treated like a stack of two frames. NULL: no arc is
     * dropped. */
    bool (*drops_arc)(const void *context, uint32_t from, uint32_t to);
} pt_frames_edit;

/* The edited profile; the caller unrefs it. Stacks that became equal are one row; samples keep
 * their order and are not merged. */
const pt_profile *pt_frames_apply(const pt_profile *profile, const pt_frames_edit *edit,
                                  pt_diag *diag);

/* ---- parts, for transforms that do more ---- */

/* A table of stacks under construction, each distinct stack once. */
typedef struct pt_stack_maker {
    uint64_t *offset;
    uint32_t *frame;
    uint8_t *end;
    size_t offset_cap, frame_cap, end_cap;
    uint32_t count;
    pt_index index;
} pt_stack_maker;

/* A table without stacks. pt_stack_maker_finish frees the maker. */
void pt_stack_maker_init(pt_stack_maker *maker);
/* Returns room for the next stack's frames, depth of them. */
uint32_t *pt_stack_maker_space(pt_stack_maker *maker, uint32_t depth);
/* Interns the stack in that room; returns its row. */
uint32_t pt_stack_maker_commit(pt_stack_maker *maker, uint32_t depth, uint8_t end);
/* Returns the table; frees the maker. */
pt_stacks *pt_stack_maker_finish(pt_stack_maker *maker);

/* A table of label sets under construction; set 0 is the empty one. */
typedef struct pt_set_maker {
    uint64_t *offset;
    pt_label *row;
    size_t offset_cap, row_cap, pending; /* pending: labels put, but not committed */
    uint32_t count;
    pt_index index;
} pt_set_maker;

/* A table with the empty set only. pt_set_maker_finish frees the maker. */
void pt_set_maker_init(pt_set_maker *maker);
/* Adds a label to the next set. */
void pt_set_maker_put(pt_set_maker *maker, const pt_label *label);
/* Interns the set of the labels that were put since the last commit; returns the row of the set. */
uint32_t pt_set_maker_commit(pt_set_maker *maker);
/* Returns the table; frees the maker. */
pt_label_sets *pt_set_maker_finish(pt_set_maker *maker);

/* The given rows of the samples, all columns. The caller owns the result, and may change its
 * columns `stack` and `labels`. */
pt_samples *pt_samples_pick(const pt_samples *from, const uint32_t *rows, uint32_t count);

/* The unknown fields without those of the messages in `lost` (1u << pt_message); reports the loss
 * to diag. NULL if no fields are lost. */
pt_unknowns *pt_unknowns_without(const pt_unknowns *from, unsigned lost, pt_diag *diag);

/* A copy of a column; NULL for NULL. */
void *pt_column_copy(const void *column, size_t count, size_t item_size);
