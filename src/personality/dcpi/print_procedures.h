/* print_procedures.h: procedures with their counts, by instruction or by source line. */
#pragma once

#include "personality/dcpi/print_flow.h"

typedef enum { PT_LIST_BOTH, PT_LIST_INSTRUCTIONS, PT_LIST_SOURCE } pt_list_kind;

typedef struct pt_procedure_list {
    const pt_flow_report *flow; /* the procedures, and how often their instructions ran */
    pt_list_kind kind;
    int64_t context; /* number of rows that are shown around a row with a count; -1 = all rows */
    pt_source_texts *texts;
} pt_procedure_list;

/* Instructions have two more columns, which flow.h estimates: how often the instruction ran, and
 * its cycles each time. Rows that are left out are one line, "...". */
void pt_procedure_list_text(pt_out *out, const pt_look *look, const pt_procedure_list *list);
void pt_procedure_list_json(pt_out *out, const pt_procedure_list *list);
