/* traces.h: whole stacks, the heaviest first. Stacks with the same rows in the same order are one
 * stack, even with different addresses; if labels are requested, only if their labels are also the
 * same. */
#pragma once

#include "view/fold.h"

typedef struct pt_traces_request {
    uint32_t event;
    int64_t whole; /* the value of 100 %; see pt_profile_magnitude */
    bool labels;   /* stacks with different labels are different */
    pt_fold_rule fold;
    size_t limit; /* the most stacks; 0 = all */
} pt_traces_request;

typedef struct pt_trace {
    uint32_t stack;   /* one of the stacks with these rows */
    uint32_t labels;  /* label set; 0 = none, or not requested */
    uint64_t records; /* rows of the sample table; each may stand for many samples */
    int64_t value;
    double share; /* of the whole */
} pt_trace;

typedef struct pt_traces {
    const pt_profile *profile; /* borrowed */
    pt_fold fold;              /* has the names of the frames */
    pt_trace *trace;
    size_t count;
    size_t more;       /* stacks beyond the limit ... */
    double more_share; /* ... and their share of the whole */
} pt_traces;

/* Stacks without frames are left out. The caller calls pt_traces_done. Fails with PT_ERR_LIMIT like
 * pt_fold_init. */
pt_status pt_traces_init(pt_traces *ret_traces, const pt_profile *profile,
                         const pt_traces_request *request, pt_error *reterr);
void pt_traces_done(pt_traces *traces);
