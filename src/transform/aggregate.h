/* aggregate.h: makes a profile coarser: removes details by which frames differ. Rows that become
 * equal stay separate in the tables, as in google/pprof (profile/profile.go, Aggregate); views fold
 * them. Only written profiles need this, since reports merge equal frames by view/fold.h.
 */
#pragma once

#include "model/profile.h"

/* The details to keep. */
typedef struct pt_keep {
    bool inlines; /* false: only the outermost line of each location */
    bool functions, files, lines, columns, addresses;
} pt_keep;

/* The profile with only the details in `keep`. The caller unrefs it. */
const pt_profile *pt_aggregate(const pt_profile *profile, pt_keep keep);
