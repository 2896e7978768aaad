/* pprof_list.h: Go pprof's -list and -disasm, to the byte. */
#ifndef PT_RENDER_PPROF_LIST_H
#define PT_RENDER_PPROF_LIST_H

#include "base/buf.h"
#include "view/pprof_list.h"

/* How values are written. */
typedef struct pt_pprof_numbers {
    const char *sample_unit; /* of the event */
    const char *unit;        /* -unit: "minimum" (each value in its own), "auto", or a unit */
    double divide_by;        /* -divide_by; 0 counts as 1 */
} pt_pprof_numbers;

/* "Total: 1.20s", then a block a routine. */
void pt_pprof_list_text(pt_out *out, const pt_pprof_list *list, const pt_pprof_numbers *numbers);
void pt_pprof_disasm_text(pt_out *out, const pt_pprof_disasm *disasm,
                          const pt_pprof_numbers *numbers);

#endif
