/* print_list.h: Go pprof's -list and -disasm, to the byte. */
#pragma once

#include "personality/pprof/list.h"
#include "personality/pprof/print.h"

/* Print "Total: 1.20s", then a block for each routine. Of the report only total, units and ratio
 * are used. */
void pt_pprof_list_text(pt_out *out, const pt_graph_report *report,
                        const pt_pprof_listing *listing);
void pt_pprof_disasm_text(pt_out *out, const pt_graph_report *report,
                          const pt_pprof_listing *listing);
