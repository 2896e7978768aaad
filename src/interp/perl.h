/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* perl.h: the frames of Perl, read from the process's memory by a callback.
 *
 *   interpreter ---> stack of the innermost call from C ---> the stack outside it ---> ...
 *        |                `- contexts: calls of subs, evals, loops, ...
 *        `- the statement at hand: file, line
 *
 * The context of a call holds the sub, and the statement that the caller is at. Calls of functions
 * in C have no context. A native call of the evaluator (Perl_runops_standard) executes a run of
 * frames; the outermost frame of a run returns to no operation of Perl.
 *
 * For builds with threads (usethreads, as distributions have them) on 64-bit machines. The memory
 * may hold anything: each function makes a limited number of reads, all through the callback.
 * Freestanding, async-signal-safe: no allocation, no lock, no system call, no recursion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interp/text.h"

/* A symbol that only files with a Perl with threads have: the key of a thread's interpreter. */
#define PT_PERL_MARK "PL_thr_key"
/* The function that executes frames. */
#define PT_PERL_EVALUATOR "Perl_runops_standard"

/* A byte with the version: 36 of 5.36. */
#define PT_PERL_VERSION "PL_version"

/* The reasons why frames of a Perl cannot be read. The user sees the line REASON: PT_PERL_MISSING.
 * The first has the version as argument. */
#define PT_PERL_UNKNOWN                                                                            \
    "Perl 5.%u, whose frames this pitot does not know (it knows 5.32, 5.36 and 5.40)"
#define PT_PERL_LIES    "this Perl keeps its frames in another way than the builds that pitot knows"
#define PT_PERL_MISSING "names of its functions will be missing"

/* Is path the name of Perl's program or library, with or without folders? perl, perl5.36.0,
 * libperl.so.5.36. */
bool pt_perl_is_file(const char *path);

/* Offsets in bytes of fields, by version. */
typedef struct {
    unsigned minor;                   /* of 5.minor */
    uint16_t statement, stack, phase; /* in the interpreter */
    uint16_t context_bytes;
    uint16_t stash_names; /* in the body of a package; 0 if they follow its array of names */
    uint16_t first_statement, second_statement; /* numbers of the two operations that begin a
                                                 * statement */
} pt_perl_layout;

/* The layout of a version; NULL if the version is not known. */
const pt_perl_layout *pt_perl_layout_of(unsigned minor);

typedef enum {
    PT_PERL_SUB,
    PT_PERL_EVAL,  /* the code of an eval of a string, or of a file that is required */
    PT_PERL_MAIN,  /* the code of the program's file */
    PT_PERL_EMPTY, /* no frame: a run of its own whose code belongs to the next frame (a block of
                    * sort) */
} pt_perl_kind;

typedef struct {
    pt_perl_kind kind;
    uint64_t sub;       /* PT_PERL_SUB: its address; else 0 */
    uint64_t statement; /* address of the statement that the frame is at */
    bool is_unbegun;    /* a sub that has run no statement: `statement` is its caller's */
    bool is_entry; /* the evaluator was called for this frame, which is the outermost of its run */
} pt_perl_frame;

/* The state of a walk; its fields are private. */
typedef struct {
    const pt_perl_layout *layout;
    pt_interp_read *read;
    void *arg;
    uint64_t statement;
    uint64_t outer, contexts; /* the next stack, and the array of this stack; 0 if none */
    int64_t index;            /* of the next context */
    uint32_t left;            /* contexts and stacks that may still be read */
    bool has_main;            /* the program's own code runs, and its frame was not given yet */
    bool has_begun;           /* a frame was given */
} pt_perl_walk;

/* Starts a walk at the innermost frame. interpreter: the thread's. most: number of contexts to
 * read. */
pt_interp_step pt_perl_walk_begin(pt_perl_walk *walk, const pt_perl_layout *layout,
                                  pt_interp_read *read, void *arg, uint64_t interpreter,
                                  uint32_t most);
/* Steps outwards. Sets *ret_frame with PT_INTERP_FRAME_READ only. */
pt_interp_step pt_perl_walk_next(pt_perl_walk *walk, pt_perl_frame *ret_frame);

/* ---- code ---- */

typedef struct {
    pt_perl_kind kind;
    uint64_t package, name; /* of a sub: shared texts of Perl (HEK); 0 if none */
    uint64_t file;          /* of the statement: a terminated text */
    int32_t line;           /* of the statement; 0 if unknown */
    int32_t first_line;     /* of a sub's first statement; 0: unknown */
} pt_perl_code;

/* Reads the code of a frame. Returns false if the memory does not fit the layout. */
bool pt_perl_code_at(const pt_perl_layout *layout, pt_interp_read *read, void *arg,
                     const pt_perl_frame *frame, pt_perl_code *ret);

/* A number for the code of a frame. Different code may get the same number; then the checks
 * differ. */
static inline uint64_t pt_perl_key(const pt_perl_frame *frame, const pt_perl_code *code)
{
    return (frame->sub ^ code->file << 1) + (uint64_t)frame->kind + 1;
}

/* Copies the name that reports show: PACKAGE::NAME, PACKAGE::__ANON__, (eval), {main}. As
 * pt_interp_copy_text. */
bool pt_perl_name(pt_interp_read *read, void *arg, const pt_perl_code *code, char *to, size_t cap,
                  size_t *ret_bytes);

/* Copies the file's name, as pt_interp_copy_text does. */
bool pt_perl_file(pt_interp_read *read, void *arg, const pt_perl_code *code, char *to, size_t cap,
                  size_t *ret_bytes);

/* A check that distinguishes code that lies at the same address at different times, from parts of
 * name and file that can be read at once. Returns false if these parts are unreadable. */
bool pt_perl_check(pt_interp_read *read, void *arg, const pt_perl_code *code, uint64_t *ret_check);
