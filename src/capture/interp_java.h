/* interp_java.h: the methods of Java in copied stacks.
 *
 *   libjvm.so among the mappings --> where its tables are --> its code cache (interp/java.h)
 *   a frame in the code cache    --> its caller, and a word for each method: also the inlined ones
 *
 * The process's memory is read when the sample arrives, and what was read of code and methods is
 * used again for a while. A method that the machine has freed meanwhile keeps its name.
 */
#pragma once

#include "capture/interp.h"
#include "capture/procs.h"
#include "unwind/copied.h"

/* Begins a sample of the process. NULL: it has no Java whose frames can be read. Valid until the
 * next call for the process; borrows all. */
const pt_copied_runtime *pt_java_runtime(pt_named *named, const pt_procs *procs, pt_proc *proc,
                                         const pt_unwind_modules *modules);

/* Has the process mapped libjvm.so? Then frames in memory without a file may be Java's. */
bool pt_java_is_in(const pt_procs *procs, const pt_proc *proc);

void pt_java_free(pt_java *java); /* accepts NULL */
