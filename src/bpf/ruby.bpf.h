/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* ruby.bpf.h: reads Ruby's frames in the kernel: the hooks of interp/ruby_walk.h, the thread's
 * context, and one step.
 *
 *   fs base --table of modules--> ruby_current_ec --> frames --> two words each, behind the pcs
 *                                                       `- code new to the cpu --> copies of label,
 *                                                          path and the name of the class
 *
 * The table is the ABI's dynamic thread vector as glibc has it: entries of two words, the first of
 * which is the address of a module's variables; the entry before the first has their number.
 */
#pragma once

#include "bpf/code.bpf.h"

/* find_variable_for_ruby for the state of a cpu. It is a function of its own, so that the verifier
 * checks it once. */
int pt_bpf_find_ruby_variable(uint32_t cpu, uint64_t class, uint32_t by, uint64_t wanted);

typedef pt_bpf_ruby_walk ruby_walking;
typedef pt_bpf_ruby_walk ruby_memory;

#define ruby_memory_of(walk)                (walk)
#define ruby_layout_of(walk)                (&(walk)->layout)
#define fetch_ruby(memory, addr, to, bytes) ((void)(memory), read_memory((to), (bytes), (addr)))
#define find_ruby_variable(layout, walk, class, by, wanted)                                        \
    (pt_bpf_find_ruby_variable((walk)->cpu, (class), (by), (wanted)) != 0 ? (walk)->found : 0)

/* Limits of the searches, since the verifier follows each round of the loops. A block is seldom
 * nested so deep, and a class keeps its name before its own variables. */
#define ruby_depth_max   10
#define ruby_entries_max 24

#include "interp/ruby_walk.h"

/* Searches a class's variables, and sets c->ruby.found; 0: there is no such variable. */
static inline int find_variable_for_ruby(pt_bpf_cpu *c, uint64_t class, uint32_t by,
                                         uint64_t wanted)
{
    c->ruby.found = search_ruby_variable(&c->ruby.layout, &c->ruby, class, (ruby_search)by, wanted);
    return c->ruby.found != 0;
}

/* The thread's execution context; 0: it has none. */
static inline uint64_t context_of_ruby(pt_bpf_ruby_walk *walk, const pt_bpf_interp *interp,
                                       uint64_t thread)
{
    enum { TABLE = 8, ENTRY_BYTES = 16 };
    uint64_t table = 0, count = 0, module = 0, variables = 0, context = 0;
    if (interp->ruby.layout.context_thread != 0)
        return fetch_ruby_context(&walk->layout, walk, interp->state, thread);
    if (thread == 0 || !read_interp_word(interp->state, &module) ||
        !read_interp_word(thread + TABLE, &table) || table == 0 ||
        !read_interp_word(table - ENTRY_BYTES, &count) || module > count ||
        !read_interp_word(table + module * ENTRY_BYTES, &variables) || variables == UINT64_MAX ||
        variables == 0 || /* the thread has not used them yet */
        !read_interp_word(variables + interp->ruby.context, &context))
        return 0;
    return context;
}

/* Finds the keys of classes, once for a process: Ruby makes its classes only when it starts. */
static inline void learn_ruby_keys(pt_bpf_cpu *c)
{
    pt_bpf_ruby_walk *const walk = &c->ruby;
    uint64_t object = 0, string = 0;
    if (walk->layout.ext_name != 0 || walk->keys_of == c->process) return;
    walk->keys.name = walk->keys.attached = walk->keys_of = 0;
    if (read_interp_word(walk->object, &object) && read_interp_word(walk->string, &string) &&
        find_ruby_keys(&walk->layout, walk, object, string, &walk->keys))
        walk->keys_of = c->process;
}

/* Starts a walk. Returns false if the thread has no frames, or the memory does not fit the
 * layout. */
static inline bool begin_ruby(pt_bpf_cpu *c, const pt_bpf_interp *interp, uint64_t thread)
{
    pt_bpf_ruby_walk *const walk = &c->ruby;
    walk->layout = interp->ruby.layout;
    walk->object = interp->ruby.object;
    walk->string = interp->ruby.string;
    walk->cpu = c->cpu;
    const uint64_t context = context_of_ruby(walk, interp, thread);
    if (context == 0) return false;
    learn_ruby_keys(c);
    const pt_interp_step step = begin_ruby_frames(walk, context, 2 * PT_BPF_FRAMES_MAX);
    if (step == PT_INTERP_BAD_READ) c->stack.frame_count = PT_BPF_FRAMES_BAD;
    return step == PT_INTERP_FRAME_READ;
}

/* Completes the copy of the new code. */
static inline void copy_ruby_code(pt_bpf_cpu *c)
{
    pt_bpf_ruby_walk *const walk = &c->ruby;
    pt_bpf_code *const code = &c->code;
    pt_ruby_names *const names = &code->ruby.names;
    code->ruby.code = walk->code;
    code->ruby.keys = walk->keys;
    code->ruby.owner = walk->owner;
    code->name_from.bytes = code->file_from.bytes = code->more_from.bytes = 0;
    if (!fetch_ruby_names(&walk->layout, walk, &walk->keys, &walk->code, walk->owner, names))
        names->label.bytes = UINT64_MAX; /* user space will not read it */
    COPY_OBJECT(code, name, names->label.addr, names->label.bytes);
    COPY_OBJECT(code, file, names->path.addr, names->path.bytes);
    COPY_OBJECT(code, more, names->class_name.addr, names->class_name.bytes);
}

/* Reads frames up to one with code, and appends it to the stack. Returns false if there is none, or
 * the memory does not fit the layout. */
static inline bool step_ruby(pt_bpf_cpu *c)
{
    enum { FRAMES_MAX_OF_RUBY = 4 }; /* of one step */
    pt_bpf_ruby_walk *const walk = &c->ruby;
    pt_ruby_frame *const frame = &walk->frame; /* in a map, whose values the verifier does not
                                                * follow */
    uint64_t check = 0;
    c->is_code_new = 0;
    pt_interp_step step = PT_INTERP_FRAME_READ;
    frame->body = 0;
    for (int i = 0; i < FRAMES_MAX_OF_RUBY && step == PT_INTERP_FRAME_READ && frame->body == 0; i++)
        step = next_ruby_frame(walk, frame);
    const bool fits =
        step == PT_INTERP_FRAME_READ &&
        (frame->body == 0 || fetch_ruby_code(&walk->layout, walk, frame->body, &walk->code));
    if (!fits) return end_frames(c, step == PT_INTERP_END);
    if (frame->body == 0) return true;
    walk->owner = fetch_ruby_owner(walk, frame->env);
    const int32_t line = fetch_ruby_line(&walk->layout, walk, &walk->code, frame->pc);
    const bool is_checked =
        check_ruby_code(&walk->layout, walk, &walk->keys, &walk->code, walk->owner, &check);
    return append_code_frame(c, PT_BPF_FRAME_CODE(pt_ruby_key(frame, walk->owner)),
                             frame->is_entry ? PT_BPF_FRAME_ENTRY : 0,
                             is_checked ? pt_interp_short_check(check) : 0, line);
}
