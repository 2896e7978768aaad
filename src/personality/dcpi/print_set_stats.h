/* print_set_stats.h: how counts vary from run to run, in the layout of dcpistats. */
#pragma once

#include "base/buf.h"
#include "personality/dcpi/set_stats.h"
#include "render/look.h"

typedef struct pt_set_table {
    const pt_set_stats *stats;
    const char *event;
    const char *const *title; /* of each set */
    size_t rows, more;        /* shown; left out */
    bool images;
} pt_set_table;

/* Print the table: in DCPI's layout, as CSV with a line of column names, and as one JSON object. */
void pt_set_stats_text(pt_out *out, const pt_look *look, const pt_set_table *table);
void pt_set_stats_csv(pt_out *out, const pt_set_table *table);
void pt_set_stats_json(pt_out *out, const pt_set_table *table);
