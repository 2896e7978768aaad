/* interpreter.h: removes the frames of an interpreter's own code from stacks that have frames of
 * the functions it runs. The interpreter's time then counts as the time of these functions. */
#pragma once

#include "model/profile.h"

/* Removes the frames of CPython's mapped file from stacks with frames of Python, and those of PHP,
 * Ruby and Perl from stacks with frames of these languages. Frames of other files stay: C
 * extensions, the C library. From stacks with frames of JavaScript it removes their machine code,
 * and the builtins of V8 that execute bytecode or call functions. Other builtins and V8's functions
 * in C++ stay: Builtins_ArrayMap, the collector. Returns a new reference, to the same profile if
 * nothing changes. */
const pt_profile *pt_fold_interpreter(const pt_profile *profile, pt_diag *diag);
/* For each location: does pt_fold_interpreter remove its frames from all stacks? For a location
 * that no stack has, its mapped file decides. The caller frees the array; NULL: the profile has no
 * frames of these languages, so nothing is removed. */
bool *pt_folded_locations(const pt_profile *profile);
