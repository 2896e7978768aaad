/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* python.bpf.h: reads CPython's frames in the kernel: the hooks of interp/python_walk.h, the
 * thread's state, and one step.
 *
 *   fs base --libc's blocks of values--> thread state --> frames --> two words each, behind the pcs
 *                                                          `- code new to the cpu --> copies
 *
 * See code.bpf.h for the includer.
 */
#pragma once

#include "bpf/code.bpf.h"

typedef pt_bpf_python_walk python_walking;

static inline const pt_python_layout *layout_of(const pt_bpf_python_walk *walk)
{
    return &walk->layout;
}

static inline bool fetch_bytes(pt_bpf_python_walk *walk, uint64_t addr, uint32_t size)
{
    uint64_t bytes = size;
    BARRIER(bytes);
    return read_memory(walk->bytes, (uint32_t)(bytes & 255), addr);
}

#include "interp/python_walk.h"

/* The state of the thread with that fs base; 0: it has none, or another thread is ending the
 * interpreter. */
static inline uint64_t state_of_thread(pt_bpf_python_walk *walk, const pt_bpf_interp *interp,
                                       uint64_t thread)
{
    const pt_python_layout *const layout = &interp->python.layout;
    uint64_t key, ending, state; /* key: a Py_tss_t, two ints: whether the key is made, the key */
    if (thread == 0 || !fetch_word(walk, interp->state + layout->key, &key) || (uint32_t)key != 1 ||
        !fetch_word(walk, interp->state + layout->finalizing, &ending) ||
        !read_thread_value(interp, thread, (uint32_t)(key >> 32), &state))
        return 0;
    return ending == 0 || ending == state ? state : 0;
}

/* Starts a walk. Returns false if the thread has no frames, or the memory does not fit the
 * layout. */
static inline bool begin_python(pt_bpf_cpu *c, const pt_bpf_interp *interp, uint64_t thread)
{
    pt_bpf_python_walk *const walk = &c->python;
    walk->layout = interp->python.layout;
    walk->code_type = interp->python.code_type;
    const uint64_t state = state_of_thread(walk, interp, thread);
    if (state == 0) return false;
    const pt_python_step step = begin_frames(walk, state, 2 * PT_BPF_FRAMES_MAX);
    if (step == PT_PYTHON_BAD_READ) c->stack.frame_count = PT_BPF_FRAMES_BAD;
    return step == PT_PYTHON_FRAME;
}

/* The bytes of a str, header included. 0: unreadable. */
static inline uint64_t size_of_text(pt_bpf_python_walk *walk, uint64_t text)
{
    return fetch_object(walk, text) != 0 ? start_of_text(walk) + bytes_of_text(walk) : 0;
}

/* Completes the copy of the new code object. */
static inline void copy_python_code(pt_bpf_cpu *c)
{
    pt_bpf_python_walk *const walk = &c->python;
    pt_bpf_code *const code = &c->code;
    code->python = walk->code;
    uint64_t bytes = size_of_text(walk, code->python.name);
    COPY_OBJECT(code, name, code->python.name, bytes);
    bytes = size_of_text(walk, code->python.file);
    COPY_OBJECT(code, file, code->python.file, bytes);
    bytes = fetch_object(walk, code->python.lines) != 0
                ? PYTHON_BYTES_START + word_at(walk->bytes, PYTHON_LENGTH)
                : 0;
    COPY_OBJECT(code, more, code->python.lines, bytes);
}

/* Reads a frame and appends it to the stack. Returns false if it was the last, or the memory does
 * not fit the layout. */
static inline bool step_python(pt_bpf_cpu *c)
{
    pt_bpf_python_walk *const walk = &c->python;
    pt_python_frame frame = {.code = 0};
    uint32_t check = 0;
    c->is_code_new = 0;
    const pt_python_step step = next_frame(walk, &frame);
    if (step != PT_PYTHON_FRAME) return end_frames(c, step == PT_PYTHON_END);
    const uint64_t marks = frame.is_entry ? PT_BPF_FRAME_ENTRY : 0;
    if (frame.code == 0) return append_frame(c, marks, 0);
    if (is_code_of_sample(c, frame.code, &check))
        return append_frame(c, frame.code | marks, code_word(check, frame.place));
    if (!fetch_code(walk, frame.code, &walk->code) || walk->code.type != walk->code_type)
        return end_frames(c, false);
    if (is_code_hidden(walk, frame.code, &walk->code)) {
        if (!frame.is_entry) return true;
        return append_frame(c, PT_BPF_FRAME_ENTRY, 0);
    }
    if (!check_code(walk, &walk->code, &check)) check = 0;
    note_code_of_sample(c, frame.code, check);
    return append_code_frame(c, frame.code, marks, check, frame.place);
}
