/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* ruby.h: the frames of Ruby (CRuby) 2.7, 3.1 and 3.3, read from the process's memory by a
 * callback.
 *
 *   context ---> frame, frame, ... up to the end of the stack of values
 *                  |- iseq ---> label, path, first line, table of lines
 *                  |- pc
 *                  `- environment ---> method ---> class
 *
 * Frames lie one after the other in memory, the innermost first. Frames of methods that are written
 * in C are passed over: the native stack has their functions. A native call of the evaluator
 * (rb_vm_exec) executes a run of frames; the outermost frame of a run has the flag FINISH.
 *
 * The memory may hold anything: each function makes a limited number of reads, all through the
 * callback. For 64-bit machines. Freestanding, async-signal-safe: no allocation, no lock, no system
 * call, no recursion.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "interp/text.h"

/* Symbols of the execution context: a thread-local variable of each thread, or, in a Ruby with
 * pt_ruby_layout.context_thread, one variable for the thread that holds Ruby's lock. */
#define PT_RUBY_CONTEXT      "ruby_current_ec"
#define PT_RUBY_ONLY_CONTEXT "ruby_current_execution_context_ptr"
/* The function that executes frames. */
#define PT_RUBY_EVALUATOR "rb_vm_exec"
/* A symbol that only files with Ruby have: a text like "3.1.2". */
#define PT_RUBY_VERSION "ruby_version"

/* The reasons why frames of a Ruby cannot be read. The user sees the line REASON: PT_RUBY_MISSING.
 * pt_ruby_reason gives further reasons. */
#define PT_RUBY_LIES    "this Ruby keeps its frames in another way than the versions that pitot knows"
#define PT_RUBY_HIDES   "pitot cannot find the frames of this Ruby"
#define PT_RUBY_MISSING "names of its functions will be missing"

/* Is path the name of Ruby's program or library, with or without folders? ruby, ruby3.1,
 * libruby-3.1.so.3.1, libruby.so.3.1. */
bool pt_ruby_is_file(const char *path);

/* Offsets in bytes of fields, by version. */
typedef struct {
    unsigned major, minor;
    /* context_thread: in the context, its thread; 0 if each thread has a context of its own.
     * thread_number: in the thread, its pthread_t, which is the thread pointer. */
    uint16_t context_thread, thread_number;
    uint16_t frame_bytes;
    uint16_t body_location, body_insns, body_local; /* in the body of an iseq */
    uint16_t insn_bytes;                            /* of an entry of the table of lines */
    bool has_plain_line;             /* the first line is an int; else it is a Ruby integer (shifted
                                      * and tagged) */
    bool has_length;                 /* each string has the length of its text as a word */
    uint16_t class_ext;              /* in a class: its extension, or the extension's address */
    bool is_ext_within;              /* the extension is in the class itself */
    uint8_t singleton_mask;          /* in a class's own flags: it is a singleton class */
    uint16_t ext_variables;          /* in the extension of a class: its table of variables */
    uint16_t ext_name, ext_attached; /* its name, the object of a singleton class; 0: they are
                                        among the variables */
} pt_ruby_layout;

/* The layout of a version; NULL if the version is not known. */
const pt_ruby_layout *pt_ruby_layout_of(unsigned major, unsigned minor);
/* The same, by the text of a version. */
const pt_ruby_layout *pt_ruby_layout_of_text(const char *text);
/* Writes, terminated, the reason why the version in the text has no layout. */
void pt_ruby_reason(const char *text, char *to, size_t bytes);

typedef struct {
    uint64_t addr, body; /* of the frame, and of its iseq; never 0 */
    uint64_t pc;         /* of the next instruction; 0 if no instruction has run */
    uint64_t env;        /* the environment pointer */
    bool is_entry; /* the evaluator was called for this frame, which is the outermost of its run */
} pt_ruby_frame;

/* The state of a walk; its fields are private. */
typedef struct {
    const pt_ruby_layout *layout;
    pt_interp_read *read;
    void *arg;
    uint64_t next, end; /* addresses of frames */
    uint32_t left;      /* frames that may still be read */
} pt_ruby_walk;

/* The context of the thread with that thread pointer; 0 if the thread does not hold Ruby's lock.
 * For layouts with context_thread. holder: the address of the only context. */
uint64_t pt_ruby_context(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t holder, uint64_t pointer);
/* Starts a walk at the innermost frame. context: the thread's execution context. most: number of
 * frames to read. */
pt_interp_step pt_ruby_walk_begin(pt_ruby_walk *walk, const pt_ruby_layout *layout,
                                  pt_interp_read *read, void *arg, uint64_t context, uint32_t most);
/* Steps outwards. Sets *ret_frame with PT_INTERP_FRAME_READ only. */
pt_interp_step pt_ruby_walk_next(pt_ruby_walk *walk, pt_ruby_frame *ret_frame);

/* ---- code ---- */

/* A method, a block, the body of a class, or a file. */
typedef struct {
    uint64_t label, base_label, path; /* strings: "block in each", "each", the file */
    int32_t first_line;
    uint64_t first;       /* address of the first instruction, which is a word, as all are */
    uint32_t words;       /* of instructions */
    uint32_t line_count;  /* entries of the table of lines */
    uint64_t lines, rank; /* that table, and the table that maps an instruction to its entry */
    uint64_t local;       /* the iseq of the method or file that contains this code */
} pt_ruby_code;

/* Reads the code of an iseq's body. Returns false if the memory does not fit the layout. */
bool pt_ruby_code_at(const pt_ruby_layout *layout, pt_interp_read *read, void *arg, uint64_t body,
                     pt_ruby_code *ret);

/* The line of a frame, as in Ruby's own backtraces. */
int32_t pt_ruby_line(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                     const pt_ruby_code *code, uint64_t pc);

/* The class or module of the method of an environment; 0 if the environment belongs to no
 * method. */
uint64_t pt_ruby_owner(pt_interp_read *read, void *arg, uint64_t env);

/* The keys under which a class keeps its name, and a singleton class its object. */
typedef struct {
    uint64_t name, attached;
} pt_ruby_keys;

/* Finds the keys in two classes whose names are known. Returns false if the memory does not fit the
 * layout, or the classes do not exist yet. object, string: rb_cObject's and rb_cString's values. */
bool pt_ruby_keys_find(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                       uint64_t object, uint64_t string, pt_ruby_keys *ret_keys);

/* The place of a text. */
typedef struct {
    uint64_t addr, bytes;
} pt_ruby_text;

typedef struct {
    pt_ruby_text label, path;
    pt_ruby_text class_name; /* of a method, and of blocks in it; no bytes: none */
    uint32_t before;         /* bytes of the label before the method's name: "block in " */
    bool is_singleton;       /* the class is that of one object, which has the name */
} pt_ruby_names;

/* Finds the names of code. owner: pt_ruby_owner of the environment. The result has no class if
 * owner is 0, has no name, or the keys are not known. Returns false if the memory does not fit the
 * layout. */
bool pt_ruby_names_at(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                      const pt_ruby_keys *keys, const pt_ruby_code *code, uint64_t owner,
                      pt_ruby_names *ret);

/* Copies the name that reports show, in the form of Ruby 3.4's backtraces: Class#method,
 * Module.method, "block in Class#method", <main>, <class:Class>. As pt_interp_copy_text. */
bool pt_ruby_name(pt_interp_read *read, void *arg, const pt_ruby_names *names, char *to, size_t cap,
                  size_t *ret_bytes);
/* Copies the path. */
bool pt_ruby_path(pt_interp_read *read, void *arg, const pt_ruby_names *names, char *to, size_t cap,
                  size_t *ret_bytes);

/* A number for the code of a frame. Different code may get the same number; then the checks
 * differ. */
static inline uint64_t pt_ruby_key(const pt_ruby_frame *frame, uint64_t owner)
{
    return frame->body ^ owner << 1;
}

/* Makes a check of the first line and of parts of label, path and class that need few reads. It
 * tells apart code that lies at the same address at different times. keys, owner: as in
 * pt_ruby_names_at. Returns false if label or path is unreadable. */
bool pt_ruby_check(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                   const pt_ruby_keys *keys, const pt_ruby_code *code, uint64_t owner,
                   uint64_t *ret_check);
