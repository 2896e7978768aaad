/* peek.h: functions that match, each between its callers and its callees.
 *
 *   main     60 %          the share of parse's total that came through main
 *   start    40 %
 *      parse               self, total
 *   read     30 %          the share of parse's total that was spent in read
 *
 * Edges are those of the whole graph (view/graph.h): counted once per stack, and none from a
 * function to itself. If callers come from arcs (view/calls.h), each caller has its number of
 * calls, and its cost if the profile has costs. */
#pragma once

#include "base/regex.h"
#include "view/calls.h"
#include "view/graph.h"

/* A graph of stacks that peeks of the same samples share, for a page with many. The caller sets the
 * names, NULL-terminated, that peeks will ask for; the first peek makes the graph. */
typedef struct pt_peek_shared {
    const char *const *names;
    const pt_profile *profile; /* the graph is of this profile; NULL if no graph was made yet */
    uint32_t event;
    pt_fold_rule fold;
    pt_graph graph;
} pt_peek_shared;

void pt_peek_shared_done(pt_peek_shared *shared);

typedef struct pt_peek_request {
    uint32_t event;
    int64_t whole;           /* the value of 100 %; see pt_profile_magnitude */
    const char *name;        /* functions with this name in reports, or, if there are none, ... */
    const pt_regex *pattern; /* ... functions whose names match. Either may be NULL */
    pt_fold_rule fold;
    size_t limit;           /* the most functions, the largest totals first; 0 = all */
    size_t other_limit;     /* the most callers, and the most callees, of each function; 0 = all */
    bool from_calls;        /* callers and callees come from arcs; see pt_summary_from_calls */
    pt_peek_shared *shared; /* must outlive the peek; or NULL */
} pt_peek_request;

/* A caller or a callee. */
typedef struct pt_peek_other {
    const char *name;
    int64_t value;
    double share;   /* of the function's total */
    bool inlined;   /* all its calls were inlined */
    uint64_t calls; /* number of calls, from arcs; 0 = unknown */
} pt_peek_other;

typedef struct pt_peek_function {
    const char *name;
    int64_t self, total;
    double self_share, total_share; /* of the whole */
    pt_peek_other *caller, *callee; /* the heaviest first */
    size_t caller_count, callee_count;
    size_t more_callers, more_callees;
    double rootless_share;   /* share of the total in stacks that begin with the function */
    uint64_t called, itself; /* from arcs: the number of calls from other functions, and from the
                              * function itself; 0 = unknown */
} pt_peek_function;

typedef struct pt_peek {
    pt_graph graph; /* made from stacks, unless the graph is shared ... */
    pt_calls calls; /* ... or of arcs */
    bool from_calls, total_known;
    pt_peek_function *function;
    size_t count;
    size_t more; /* functions beyond the limit */
} pt_peek;

/* Finds the functions with their callers and callees. Fails with PT_ERR_NOTFOUND if nothing
 * matches, and with PT_ERR_LIMIT if matching takes too long. Borrows texts of the profile; the
 * caller calls pt_peek_done. */
pt_status pt_peek_init(pt_peek *ret_peek, const pt_profile *profile, const pt_peek_request *request,
                       pt_error *reterr);
void pt_peek_done(pt_peek *peek);
