/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* php.bpf.h: reads PHP's frames in the kernel: the hooks of interp/php_walk.h, and one step.
 *
 *   executor_globals --> frames --> two words each, behind the pcs
 *                          `- functions new to the cpu --> copies of name, class and file
 */
#pragma once

#include "bpf/code.bpf.h"

/* climb_php_delegate for the state of a cpu. It is a function of its own, so that the verifier
 * checks it once. */
int pt_bpf_climb_php(uint32_t cpu);

typedef pt_bpf_php_walk php_walking;
typedef pt_bpf_php_walk php_memory;

#define memory_of(walk)                    (walk)
#define php_layout_of(walk)                (&(walk)->layout)
#define fetch_php(memory, addr, to, bytes) ((void)(memory), read_memory((to), (bytes), (addr)))

#define next_php_delegate(walk)            (pt_bpf_climb_php((walk)->cpu) != 0)

#include "interp/php_walk.h"

/* Starts a walk. Returns false if the process has no frames, or the memory does not fit the
 * layout. */
static inline bool begin_php(pt_bpf_cpu *c, const pt_bpf_interp *interp)
{
    uint64_t generator_class = 0;
    c->php.layout = interp->php.layout;
    c->php.cpu = c->cpu;
    if (!fetch_php_word(&c->php, interp->php.generator_class, &generator_class)) return false;
    const pt_interp_step step =
        begin_php_frames(&c->php, interp->state, generator_class, 2 * PT_BPF_FRAMES_MAX);
    if (step == PT_INTERP_BAD_READ) c->stack.frame_count = PT_BPF_FRAMES_BAD;
    return step == PT_INTERP_FRAME_READ;
}

/* The bytes of a string, header included. 0: there is none, or it is unreadable. */
static inline uint64_t bytes_of_php_text(uint64_t string)
{
    uint64_t length = 0;
    if (string == 0 || string % 8 != 0 || !read_memory(&length, 8, string + STRING_LENGTH))
        return 0;
    return length < UINT32_MAX ? STRING_TEXT + length : 0;
}

/* Completes the copy of the new function. */
static inline void copy_php_code(pt_bpf_cpu *c)
{
    pt_bpf_code *const code = &c->code;
    code->php = c->php.function;
    uint64_t bytes = bytes_of_php_text(code->php.name);
    COPY_OBJECT(code, name, code->php.name, bytes);
    bytes = bytes_of_php_text(code->php.file);
    COPY_OBJECT(code, file, code->php.file, bytes);
    bytes = bytes_of_php_text(code->php.class_name);
    COPY_OBJECT(code, more, code->php.class_name, bytes);
}

/* Reads frames up to one of a function, and appends it to the stack. Returns false if there is
 * none, or the memory does not fit the layout. */
static inline bool step_php(pt_bpf_cpu *c)
{
    enum { FRAMES_MAX = 3 }; /* of one step */
    pt_bpf_php_walk *const walk = &c->php;
    pt_php_frame frame = {.addr = 0};
    pt_php_function *const function = &walk->function;
    uint64_t check = 0;
    const bool is_first = c->stack.frame_count == 0;
    c->is_code_new = 0;
    pt_interp_step step = PT_INTERP_FRAME_READ;
    for (int i = 0; i < FRAMES_MAX && step == PT_INTERP_FRAME_READ && frame.function == 0; i++)
        step = next_php_frame(walk, &frame);
    const bool fits =
        step == PT_INTERP_FRAME_READ &&
        (frame.function == 0 || fetch_php_function(&walk->layout, walk, frame.function, function));
    if (!fits) return end_frames(c, step == PT_INTERP_END);
    if (frame.function == 0) return true;
    const bool is_checked = check_php_function(walk, function, &check);
    const bool is_held = is_first && walk->frame_register == frame.addr;
    const bool has_instruction =
        is_held && pt_php_has_instruction(function, walk->instruction_register);
    const int32_t line =
        fetch_php_line(&walk->layout, walk, walk->globals, function,
                       has_instruction ? walk->instruction_register : frame.instruction);
    const uint64_t addr = function->kind == PT_PHP_INTERNAL ? frame.function : function->first;
    const uint64_t marks =
        (frame.is_entry ? PT_BPF_FRAME_ENTRY : 0) | (is_held ? PT_BPF_FRAME_HELD : 0);
    return append_code_frame(c, addr, marks, is_checked ? pt_interp_short_check(check) : 0, line);
}
