/* frames.h: inside transform: a profile with other frames. A transform says for each location which
 * of its lines stay and for each stack which of its frames stay; the tables that follow are made
 * here. */
#ifndef PT_TRANSFORM_FRAMES_H
#define PT_TRANSFORM_FRAMES_H

#include "model/profile.h"

typedef struct pt_frames_edit {
    /* Per line of the line table: false = taken out. NULL = all stay. Of a location that loses some
     * lines and keeps others, the rest stays in order. */
    const bool *line_stays;
    /* Per stack: the frames that stay are written to ret_frames (room for all of them), leaf first;
     * returns how many. NULL = all stay. */
    uint32_t (*edit_stack)(const void *context, uint32_t stack, uint32_t *ret_frames);
    const void *context;
    /* Per stack: its samples are dropped. NULL = none. */
    const bool *stack_dropped;
} pt_frames_edit;

/* The edited profile, with one reference. Stacks that have become equal are one; samples keep their
 * order and are not merged. */
const pt_profile *pt_frames_apply(const pt_profile *profile, const pt_frames_edit *edit,
                                  pt_diag *diag);

#endif
