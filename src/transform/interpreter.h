/* interpreter.h: frames of an interpreter's own code go, where the functions that it runs are
 * frames themselves: what it does for a function is the function's time. */
#ifndef PT_TRANSFORM_INTERPRETER_H
#define PT_TRANSFORM_INTERPRETER_H

#include "model/profile.h"

/* The profile without the frames of CPython's file in stacks that have frames of Python, or a
 * reference to the same one when there is none. What lies in other files, extensions in C and the C
 * library, stays. */
const pt_profile *pt_fold_interpreter(const pt_profile *profile, pt_diag *diag);

#endif
