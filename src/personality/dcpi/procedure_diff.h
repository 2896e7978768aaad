/* procedure_diff.h: compares one procedure in two sets of profiles: by basic block if its code is
 * the same in both, else by source line. */
#pragma once

#include "personality/dcpi/flow.h"

typedef enum { PT_COMPARE_SAMPLES, PT_COMPARE_CPI, PT_COMPARE_FREQUENCY } pt_compare;

typedef struct pt_diff_place {
    uint64_t addr;    /* address of the block; 0 if the place is a source line */
    const char *file; /* of the line, or of the block's first instruction; "" = unknown */
    int64_t line;
    double value[2];
    double range; /* (max - min) / sum */
} pt_diff_place;

typedef struct pt_procedure_diff {
    pt_diff_place *place; /* the largest range first, of equals the largest sum */
    size_t count;
    bool by_line; /* the code differs */
} pt_procedure_diff;

typedef struct pt_diff_side {
    const pt_procedures *all;
    const pt_procedure *procedure;
    uint32_t column;
} pt_diff_side;

/* Compares the two sides by samples, by cycles per instruction (CPI), or by frequency, which is
 * pt_flow_class.rate. CPI and frequency need blocks: PT_ERR_UNSUPPORTED if the code differs or its
 * jumps are not known. width: as of pt_flow_init. */
pt_status pt_procedure_diff_init(pt_procedure_diff *ret_diff, const pt_diff_side sides[2],
                                 pt_compare what, double width, pt_error *reterr);
void pt_procedure_diff_done(pt_procedure_diff *diff);
