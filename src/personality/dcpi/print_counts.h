/* print_counts.h: counts by image, procedure or address as tables, in the layout of DCPI's tools: a
 * head with the events, a rule, then rows: for each event its count and share, then the name of the
 * image, procedure or address. */
#pragma once

#include "base/buf.h"
#include "personality/dcpi/counts.h"
#include "render/look.h"

typedef struct pt_counts_table {
    const char *report; /* "dcpiprof" */
    const char *title;  /* of the profile */
    const pt_counts *counts;
    pt_counts_level level;
    uint32_t column;      /* the column by which the rows are sorted; it is printed with a
                           * cumulative share */
    const uint32_t *rows; /* of the level */
    size_t row_count;
    size_t more; /* rows that were left out */
    bool no_head;
    const char *const *instruction; /* NULL, or for each row the instruction's text, or NULL */
} pt_counts_table;

/* Print the table with its head: in DCPI's layout, as CSV, and as one JSON object. */
void pt_counts_text(pt_out *out, const pt_look *look, const pt_counts_table *table);
void pt_counts_csv(pt_out *out, const pt_counts_table *table);
void pt_counts_json(pt_out *out, const pt_counts_table *table);

/* Prints the head alone: samples and period of each event. */
void pt_counts_head(pt_out *out, const pt_counts *counts);

/* The name, or "[unknown]" for "". */
const char *pt_counts_name(const char *name);
