/* print_labels.h: the labels of a sample as pprof groups them: for each key all its texts, or all
 * its numbers, in order. */
#pragma once

#include "base/buf.h"
#include "model/profile.h"

/* Lines made of label groups, sorted as bytes. */
typedef struct pt_pprof_groups {
    char **text;
    size_t count;
} pt_pprof_groups;

/* Groups the labels of a kind (texts or numbers) in a set by key. `put` appends the line of one
 * key's labels. Returns the lines, sorted; the caller calls pt_pprof_groups_done. */
pt_pprof_groups pt_pprof_group_labels(const pt_profile *p, uint32_t set, pt_label_kind kind,
                                      void (*put)(pt_buf *buf, const pt_profile *p,
                                                  const pt_label *const *labels, size_t count,
                                                  const void *context),
                                      const void *context);
void pt_pprof_groups_done(pt_pprof_groups *groups);
