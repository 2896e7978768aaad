/* print_list.h: Go pprof's -list and -disasm, to the byte. */
#pragma once

#include "personality/pprof/list.h"
#include "personality/pprof/print.h"

/* "Total: 1.20s", then a block a routine. Of the report only its total, units and ratio count. */
void pt_pprof_list_text(pt_out *out, const pt_graph_report *report,
                        const pt_pprof_listing *listing);
void pt_pprof_disasm_text(pt_out *out, const pt_graph_report *report,
                          const pt_pprof_listing *listing);
