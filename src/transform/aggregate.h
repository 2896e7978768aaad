/* aggregate.h: a profile made coarser: what tells frames apart is taken off them. What becomes
 * equal stays apart in the tables, as in google/pprof (profile/profile.go, Aggregate); views fold
 * by what is left. Reports with pprof's granularities fold in the view (view/graph.h) and do not
 * need this; a profile that is written does.
 */
#ifndef PT_TRANSFORM_AGGREGATE_H
#define PT_TRANSFORM_AGGREGATE_H

#include "model/profile.h"

typedef struct pt_keep {
    bool inlines; /* else only the outermost line of each location */
    bool functions, files, lines, columns, addresses;
} pt_keep;

/* What a row, a node or a box stands for, in views that fold by functions' names. */
typedef enum {
    PT_BY_NAME,         /* a function's name */
    PT_BY_NAME_FILE,    /* "name file" */
    PT_BY_NAME_OF_FILE, /* the file; the name where none is known */
    PT_BY_NAME_LINE,    /* "name file:line" */
    PT_BY_NAME_ADDRESS, /* "[object+0x12] name" */
} pt_by_name;

/* The profile with its functions named so; one reference. Frames without a name stay as they are.
 */
const pt_profile *pt_rename(const pt_profile *profile, pt_by_name by);

/* The profile with nothing left but what `keep` says; one reference. */
const pt_profile *pt_aggregate(const pt_profile *profile, pt_keep keep);

#endif
