/* frames.h: inside transform: a profile with other frames. A transform says for each location which
 * of its lines stay and for each stack which of its frames stay; the tables that follow are made
 * here. */
#ifndef PT_TRANSFORM_FRAMES_H
#define PT_TRANSFORM_FRAMES_H

#include "base/index.h"
#include "model/builder.h"
#include "model/profile.h"

typedef struct pt_frames_edit {
    /* Per line of the line table: false = taken out. NULL = all stay. Of a location that loses some
     * lines and keeps others, the rest stays in order. */
    const bool *line_stays;
    /* Per stack: the frames that stay are written to ret_frames (room for all of them), leaf first;
     * returns how many. NULL = all stay. */
    uint32_t (*edit_stack)(const void *context, uint32_t stack, uint32_t *ret_frames);
    const void *context;
    /* Per stack, per label set: their samples are dropped. NULL = none. */
    const bool *stack_dropped, *set_dropped;
    /* Is the arc dropped? An arc is what a stack of two frames would be. NULL = none is. */
    bool (*drops_arc)(const void *context, uint32_t from, uint32_t to);
} pt_frames_edit;

/* The edited profile, with one reference. Stacks that have become equal are one; samples keep their
 * order and are not merged. */
const pt_profile *pt_frames_apply(const pt_profile *profile, const pt_frames_edit *edit,
                                  pt_diag *diag);

/* ---- Pieces of it, for transforms that do more ---- */

/* Stacks being interned. */
typedef struct pt_stack_maker {
    uint64_t *offset;
    uint32_t *frame;
    uint8_t *end;
    size_t offset_cap, frame_cap, end_cap;
    uint32_t count;
    pt_index index;
} pt_stack_maker;

void pt_stack_maker_init(pt_stack_maker *maker);
/* Where to write the next stack's frames: room for depth. */
uint32_t *pt_stack_maker_space(pt_stack_maker *maker, uint32_t depth);
/* Interns the depth frames that were written there. */
uint32_t pt_stack_maker_commit(pt_stack_maker *maker, uint32_t depth, uint8_t end);
/* The table; consumes the maker. */
pt_stacks *pt_stack_maker_finish(pt_stack_maker *maker);

/* Label sets being interned; set 0 is the empty one. */
typedef struct pt_set_maker {
    uint64_t *offset;
    pt_label *row;
    size_t offset_cap, row_cap, pending; /* pending: put, not committed */
    uint32_t count;
    pt_index index;
} pt_set_maker;

void pt_set_maker_init(pt_set_maker *maker);
void pt_set_maker_put(pt_set_maker *maker, const pt_label *label);
/* Interns what was put since the last time. */
uint32_t pt_set_maker_commit(pt_set_maker *maker);
/* The table; consumes the maker. */
pt_label_sets *pt_set_maker_finish(pt_set_maker *maker);

/* The given rows of the samples, all columns. stack and labels may be written by the caller. */
pt_samples *pt_samples_pick(const pt_samples *from, const uint32_t *rows, uint32_t count);

/* The unknown fields but those of the messages in `lost` (1u << pt_message), which diag hears of;
 * NULL if none are lost. */
pt_unknowns *pt_unknowns_without(const pt_unknowns *from, unsigned lost, pt_diag *diag);

/* A copy of a column; NULL for NULL. */
void *pt_column_copy(const void *column, size_t count, size_t item_size);

#endif
