/* calls.h: callers and callees in profiles that have call arcs, and samples without stacks
 * (gmon.out, callgrind, branch records):
 *
 *   arcs     main -> parse   calls 3, cost 60       from the place of the call to its target
 *            main -> emit    calls 1, cost 10
 *   samples  parse 50, emit 10, main 40             one frame each: the function's own cost
 *
 *   function parse   self 50, called 3 times, total 60: the cost of all calls to parse
 *
 * A function here is a row of the fold (fold.h) in one mapped file. Functions that are inlined into
 * a function are a part of it, as they are for a tool that counts calls. Functions of the same name
 * in two files stay two functions, since the cost of one function may include the cost of the
 * other. If arcs have calls but no cost (gmon.out), totals are unknown: gprof guesses the totals
 * from the share of calls, as `pitot gprof` does. */
#pragma once

#include "view/fold.h"

typedef struct pt_call {
    uint32_t from, to; /* the two functions, never the same */
    uint64_t calls;    /* 0 = unknown */
    int64_t cost;      /* inclusive; 0 when unknown, see has_cost */
} pt_call;

typedef struct pt_calls_function {
    char *name; /* followed by " [FILE]" if another mapped file has a function of this name */
    const char *file;
    uint32_t row; /* of the fold */
    int64_t self;
    int64_t total;   /* the cost of the calls to the function; if it has no callers, its self plus
                      * the cost of the calls that it makes */
    uint64_t called; /* calls from other functions */
    uint64_t itself; /* calls from itself */
    uint32_t in_first, in_count, out_first, out_count; /* parts of the lists `in` and `out` below */
} pt_calls_function;

typedef struct pt_calls {
    bool has_cost; /* arcs have costs of this event; without them there are no totals */
    pt_fold fold;
    pt_calls_function *function;
    uint32_t count;
    pt_call *call; /* ordered by cost, then by calls, the largest first */
    uint32_t call_count;
    uint32_t *in, *out; /* indexes of `call`, in the order of `call`: in: the calls to each
                         * function; out: the calls from it */
} pt_calls;

/* Finds the functions and the calls between them. rule: how functions are named; inlined functions
 * belong to the function around them, whatever the rule says. Borrows texts of the profile; the
 * caller calls pt_calls_done. Fails with PT_ERR_LIMIT like pt_fold_init. */
pt_status pt_calls_init(pt_calls *ret_calls, const pt_profile *profile, uint32_t event,
                        const pt_fold_rule *rule, pt_error *reterr);
void pt_calls_done(pt_calls *calls);

/* Gives each function a place in a tree: below its heaviest call (by cost, else by number) among
 * the calls that can be reached from functions without callers. The calls that the function makes
 * are shown only at this place. Returns an array that has for each function the index of that
 * heaviest call, or PT_NONE for an outermost function; *ret_root lists the outermost functions in
 * order. The caller frees both arrays. */
uint32_t *pt_calls_hang(const pt_calls *calls, uint32_t **ret_root, uint32_t *ret_root_count);
