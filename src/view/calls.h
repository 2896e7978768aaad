/* calls.h: who calls whom, of profiles whose samples are no stacks but which have call arcs
 * (gmon.out, callgrind, branch records):
 *
 *   arcs     main -> parse   calls 3, cost 60       from the call's place to where it leads
 *            main -> emit    calls 1, cost 10
 *   samples  parse 50, emit 10, main 40             each of one frame: what it costs by itself
 *
 *   function parse   self 50, called 3 times, total 60: what calls to it cost with all below
 *
 * A function here is a row of the fold in a mapped file: what is inlined into it is a part of it,
 * as it is to who counts calls, and functions of one name in two files are two, since the costs of
 * one include those of the other. Where arcs have calls but no cost (gmon.out), no total is known:
 * gprof's are guesses from the share of calls, and `pitot gprof` makes them.
 */
#pragma once

#include "view/fold.h"

typedef struct pt_call {
    uint32_t from, to; /* functions, never the same */
    uint64_t calls;    /* 0 = unknown */
    int64_t cost;      /* inclusive; 0 when unknown, see has_cost */
} pt_call;

typedef struct pt_calls_function {
    char *name; /* followed by " [FILE]" if another mapped file has one of this name */
    const char *file;
    uint32_t row; /* of the fold */
    int64_t self;
    int64_t total;   /* what the calls to it cost; of one that nobody calls self and its calls */
    uint64_t called; /* by others */
    uint64_t itself; /* calls from itself */
    uint32_t in_first, in_count, out_first, out_count; /* of the lists */
} pt_calls_function;

typedef struct pt_calls {
    bool has_cost; /* for this event; without there are no totals */
    pt_fold fold;
    pt_calls_function *function;
    uint32_t count;
    pt_call *call; /* those with the most cost, then calls, first */
    uint32_t call_count;
    uint32_t *in, *out; /* calls of each function, in that order */
} pt_calls;

/* rule: what functions are called; what is inlined is none, whatever it says. Borrows texts of the
 * profile; done with pt_calls_done. PT_ERR_LIMIT as pt_fold_init. */
pt_status pt_calls_init(pt_calls *ret_calls, const pt_profile *profile, uint32_t event,
                        const pt_fold_rule *rule, pt_error *reterr);
void pt_calls_done(pt_calls *calls);

/* Places in a tree: a function hangs below the call with the most cost (else calls) by which it can
 * be reached from functions that nobody calls; its own calls are shown there, and only there.
 * hangs_by[f] is that call, PT_NONE for outermost functions, which *ret_root lists in order; the
 * caller frees both. */
uint32_t *pt_calls_hang(const pt_calls *calls, uint32_t **ret_root, uint32_t *ret_root_count);
