/* recursion.h: removes the frames that come from calls of functions by themselves.
 *
 *   direct  a f f f b              ->  a f b        calls of a function by itself
 *   all     expr term expr term x  ->  expr term x  also calls through other functions: the
 *                                                   frames from a function's first frame up to
 *                                                   its last one in the stack are removed
 */
#pragma once

#include "model/profile.h"

typedef enum { PT_RECURSION_KEPT, PT_RECURSION_DIRECT, PT_RECURSION_ALL } pt_recursion;

/* Two frames are of the same function if they also have the same inlined functions. Of these frames
 * the innermost stays, with its line. Samples keep their values, and stacks their leaves: self
 * values do not change, nor, with PT_RECURSION_DIRECT, do totals. Call arcs from a function to
 * itself are dropped. Returns a new reference. */
const pt_profile *pt_collapse_recursion(const pt_profile *profile, pt_recursion which,
                                        pt_diag *diag);
