/* interp.h: CPython's functions in stacks that the kernel's walker takes.
 *
 *   mappings of a process --pt_named_find--> its CPython: what the walker needs to know
 *   a walked stack        --pt_named_join--> native pcs and frames of Python as one chain
 *   such a frame          --pt_named_line--> function, file, line
 *
 * The kernel copies a code object in the first sample of a cpu with it (pt_named_learn). The
 * recorder reads the rest from the process, if the object is still the copied one. Frames of an
 * object that was freed before have the name PT_NAMED_GONE.
 */
#ifndef PT_CAPTURE_INTERP_H
#define PT_CAPTURE_INTERP_H

#include "capture/procs.h"
#include "interp/merge.h"
#include "model/builder.h"

#define PT_NAMED_GONE "[Python code]"

typedef struct pt_named pt_named;

/* Borrows the builder. The caller frees the result. */
pt_named *pt_named_new(pt_builder *builder);
void pt_named_free(pt_named *named); /* accepts NULL */

/* Finds a CPython among the process's mappings. Their images are open already. */
void pt_named_find(pt_named *named, const pt_procs *procs, pt_proc *proc);
/* The facts that the kernel's walker needs of the process's CPython; NULL: it has none, or its
 * frames cannot be read. */
const pt_bpf_python *pt_named_python(const pt_proc *proc);

/* Takes a code object that the kernel copied. */
void pt_named_learn(pt_named *named, pt_proc *proc, const pt_bpf_code *copy);

/* The chain of a stack. */
typedef struct pt_named_chain {
    uint64_t words[PT_BPF_DEPTH_MAX + PT_BPF_PYTHON_MAX]; /* innermost first: pcs, and words with
                                                             PT_INTERP_FRAME */
    uint32_t count;
    bool has_python, is_certain, is_cut;
} pt_named_chain;

/* Joins the first native_count pcs of a stack with its frames of Python. is_whole: these pcs reach
 * the start of the thread. Leaves out the outermost pcs if there are more than `room` words. */
void pt_named_join(pt_named *named, pt_proc *proc, const pt_bpf_stack *walked,
                   uint32_t native_count, bool is_whole, uint32_t room, pt_named_chain *ret_chain);

/* The function and line of a word with PT_INTERP_FRAME. */
pt_line pt_named_line(const pt_named *named, uint64_t word, pt_function *ret_function);

/* A line for each reason why frames of a CPython were not read. Valid until the next call. */
const char *pt_named_refused(pt_named *named);

/* The number of frames whose code object was gone. */
uint64_t pt_named_gone(const pt_named *named);

#endif
