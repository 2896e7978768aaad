/* interpreter.h: removes the frames of an interpreter's own code from stacks that have frames of
 * the functions it runs. The interpreter's time then counts as the time of these functions. */
#pragma once

#include "model/profile.h"

/* Removes the frames of CPython's mapped file from stacks with frames of Python, and likewise for
 * PHP, Ruby and Perl. Frames of other files stay: C extensions, the C library. From stacks with
 * frames of JavaScript it removes the frames of these functions' machine code, and of the builtins
 * of V8 that execute bytecode or call functions. Other builtins (Builtins_ArrayMap) and V8's
 * functions in C++ (the garbage collector) stay. Returns a new reference, to the same profile if
 * nothing changes. */
const pt_profile *pt_fold_interpreter(const pt_profile *profile, pt_diag *diag);
/* For each location: does pt_fold_interpreter remove its frames from all stacks? For a location
 * that no stack has, the mapped file decides. The caller frees the array. Returns NULL if the
 * profile has no frames of these languages, so that nothing is removed. */
bool *pt_folded_locations(const pt_profile *profile);
