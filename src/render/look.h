/* look.h: how a report may look where it is read: colours, width, long names. The command line sets
 * it; a pipe gets no colour and no width. */
#pragma once

#include <stdbool.h>

typedef struct pt_look {
    bool colour;     /* escape sequences are welcome */
    unsigned width;  /* columns of the terminal; 0 = no limit: nothing is cut */
    bool long_names; /* names with all their template arguments (brief.h) */
} pt_look;
