/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* perl.bpf.h: reads Perl's frames in the kernel: the hooks of interp/perl_walk.h, the thread's
 * interpreter, and one step.
 *
 *   fs base --libc's blocks of values--> interpreter --> contexts --> two words each, behind pcs
 *                                                         `- code new to the cpu --> copies of
 *                                                            name, package and file
 */
#pragma once

#include "bpf/code.bpf.h"

typedef pt_bpf_perl_walk perl_walking;
typedef pt_bpf_perl_walk perl_memory;

#define perl_memory_of(walk)                (walk)
#define perl_layout_of(walk)                (&(walk)->layout)
#define fetch_perl(memory, addr, to, bytes) ((void)(memory), read_memory((to), (bytes), (addr)))

#include "interp/perl_walk.h"

/* Starts a walk. Returns false if the thread has no frames, or the memory does not fit the
 * layout. */
static inline bool begin_perl(pt_bpf_cpu *c, const pt_bpf_interp *interp, uint64_t thread)
{
    uint64_t interpreter = 0;
    uint32_t key = 0;
    c->perl.layout = interp->perl.layout;
    if (thread == 0 || !read_memory(&key, sizeof key, interp->state) ||
        !read_thread_value(interp, thread, key, &interpreter) || interpreter == 0)
        return false;
    const pt_interp_step step = begin_perl_frames(&c->perl, interpreter, 4 * PT_BPF_FRAMES_MAX);
    if (step == PT_INTERP_BAD_READ) c->stack.frame_count = PT_BPF_FRAMES_BAD;
    return step == PT_INTERP_FRAME_READ;
}

/* The bytes of a shared text, header included. 0: there is none, or it is unreadable. */
static inline uint64_t bytes_of_perl_name(uint64_t text)
{
    uint64_t head = 0;
    return read_interp_word(text, &head) ? TEXT_BYTES + (head >> 32) : 0;
}

/* Completes the copy of the new code. */
static inline void copy_perl_code(pt_bpf_cpu *c)
{
    pt_bpf_code *const code = &c->code;
    code->perl = c->perl.code;
    uint64_t bytes = bytes_of_perl_name(code->perl.name);
    COPY_OBJECT(code, name, code->perl.name, bytes);
    COPY_TEXT(code, file, code->perl.file);
    bytes = bytes_of_perl_name(code->perl.package);
    COPY_OBJECT(code, more, code->perl.package, bytes);
}

/* Reads contexts up to one that is a frame, and appends it to the stack. Returns false if there is
 * none, or the memory does not fit the layout. */
static inline bool step_perl(pt_bpf_cpu *c)
{
    enum { CONTEXTS_MAX = 8 }; /* of one step */
    pt_bpf_perl_walk *const walk = &c->perl;
    pt_perl_frame frame = {.sub = 0};
    pt_perl_code *const code = &walk->code;
    uint64_t check = 0;
    bool is_frame = false;
    c->is_code_new = 0;
    pt_interp_step step = PT_INTERP_FRAME_READ;
    for (int i = 0; i < CONTEXTS_MAX && step == PT_INTERP_FRAME_READ && !is_frame; i++)
        step = next_perl_frame(walk, &frame, &is_frame);
    const bool has_code = is_frame && frame.kind != PT_PERL_EMPTY;
    const bool fits = step == PT_INTERP_FRAME_READ &&
                      (!has_code || fetch_perl_code(&walk->layout, walk, &frame, code));
    if (!fits) return end_frames(c, step == PT_INTERP_END);
    if (!is_frame) return true;
    if (!has_code) return append_frame(c, PT_BPF_FRAME_ENTRY, 0);
    const bool is_checked = check_perl_code(walk, code, &check);
    return append_code_frame(c, pt_perl_key(&frame, code), frame.is_entry ? PT_BPF_FRAME_ENTRY : 0,
                             is_checked ? pt_interp_short_check(check) : 0, code->line);
}
