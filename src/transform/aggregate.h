/* aggregate.h: a profile made coarser: what tells frames apart is taken off them. What becomes
 * equal stays apart in the tables, as in google/pprof (profile/profile.go, Aggregate); views fold
 * by what is left. Reports fold in the view (view/fold.h) and do not
 * need this; a profile that is written does.
 */
#ifndef PT_TRANSFORM_AGGREGATE_H
#define PT_TRANSFORM_AGGREGATE_H

#include "model/profile.h"

typedef struct pt_keep {
    bool inlines; /* else only the outermost line of each location */
    bool functions, files, lines, columns, addresses;
} pt_keep;

/* The profile with nothing left but what `keep` says; one reference. */
const pt_profile *pt_aggregate(const pt_profile *profile, pt_keep keep);

#endif
