/* interp.h: the functions of interpreters in stacks that the kernel's walker takes.
 *
 *   mappings of a process --pt_named_find--> its interpreter: what the walker needs to know
 *   a walked stack        --pt_named_join--> native pcs and frames of the interpreter as one chain
 *   such a frame          --pt_named_line--> function, file, line
 *
 * The kernel copies the names of a function in the first sample of a cpu with it (pt_named_learn).
 * The recorder reads what the copy lacks from the process, if the function there is still the
 * copied one. Frames of a function that was freed before it was read are called [Python code], [PHP
 * code]. interp_language.h has the languages.
 */
#pragma once

#include "capture/interp_language.h"
#include "capture/procs.h"
#include "interp/merge.h"
#include "model/builder.h"

typedef struct pt_named pt_named;

/* Borrows the builder. The caller frees the result. */
pt_named *pt_named_new(pt_builder *builder);
void pt_named_free(pt_named *named); /* accepts NULL */

/* Finds an interpreter among the process's mappings. Their images are open already. */
void pt_named_find(pt_named *named, const pt_procs *procs, pt_proc *proc);
/* The facts about the process's interpreter for the kernel's walker. NULL if the process has no
 * interpreter, or its frames cannot be read. */
const pt_bpf_interp *pt_named_wanted(const pt_proc *proc);
/* Are the lines of the interpreter's functions in the process's memory only? Then these lines must
 * be read soon. */
bool pt_named_is_hurried(const pt_proc *proc);

/* Takes a function that the kernel copied. */
void pt_named_learn(pt_named *named, pt_proc *proc, const pt_bpf_code *copy);

/* Drops the code objects of a process that has ended, or runs another program. Words of its stacks
 * have no names any more. */
void pt_named_forget(pt_named *named, pt_proc *proc);

/* The chain of a stack. */
typedef struct pt_named_chain {
    uint64_t words[PT_BPF_DEPTH_MAX + PT_BPF_FRAMES_MAX]; /* innermost first: pcs, and words with
                                                             PT_INTERP_FRAME */
    uint32_t count;
    bool has_frames, is_certain;
    bool is_cut; /* the outermost pcs, or frames, are missing */
} pt_named_chain;

/* Joins the first native_count pcs of a stack with the interpreter's frames. is_whole: these pcs
 * reach the start of the thread. Leaves out the outermost pcs if there are more than `room` words.
 */
void pt_named_join(pt_named *named, pt_proc *proc, const pt_bpf_stack *walked,
                   uint32_t native_count, bool is_whole, uint32_t room, pt_named_chain *ret_chain);

/* The tier (pt_v8_tier) of a word with PT_INTERP_FRAME, which the innermost function of JavaScript
 * may have. */
unsigned pt_named_tier(const pt_named *named, uint64_t word);
/* The function, line and language (PT_JOURNAL_LANGUAGE_X) of a word with PT_INTERP_FRAME. */
pt_line pt_named_line(const pt_named *named, uint64_t word, pt_function *ret_function,
                      uint8_t *ret_language);

/* A line for each reason why frames of an interpreter were not read. Valid until the next call. */
const char *pt_named_refused(pt_named *named);

/* Adds a function that the recorder has read itself, unless it is known. The content has no lines.
 * Returns the function's number; if there is no room, the number that stands for all functions of
 * the language without names. */
uint32_t pt_named_add(pt_named *named, pt_proc *proc, uint64_t addr, uint32_t check,
                      uint8_t language, const pt_code_content *content);
/* The word of a function's frame. place: in its line table, or the line itself, 0 if it is unknown.
 */
uint64_t pt_named_word(uint32_t number, int32_t place);
/* Notes a line about frames that cannot be read, REASON: MISSING, once. */
void pt_named_refuse(pt_named *named, const char *reason, const char *missing);

/* The number of frames whose function was gone. */
uint64_t pt_named_gone(const pt_named *named);
