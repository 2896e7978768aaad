/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* v8.bpf.h: reads V8's functions in the kernel.
 *
 *   a native frame with a frame pointer --note_v8_frame--> the function object below the pointer
 *   such an object --step_v8--> its shared function info: two words, behind the pcs
 *
 * V8's functions run on the native stack. So the place in a frame's second word is the number of
 * the native frame, and the two chains need not be joined by counting.
 */
#pragma once

#include "bpf/code.bpf.h"

typedef pt_bpf_v8_walk v8_memory;

#define v8_object_of(memory) ((memory)->object)

/* Copies at most the room for an object. */
static inline bool fetch_v8(v8_memory *memory, uint64_t addr, void *to, uint32_t size)
{
    uint64_t bytes = size;
    BARRIER(bytes);
    return bytes <= sizeof memory->object && read_memory(to, (uint32_t)bytes, addr);
}

#include "interp/v8_walk.h"

/* Starts a walk of the functions that were noted. Returns false if there are none. */
static inline bool begin_v8(pt_bpf_cpu *c, const pt_bpf_interp *interp)
{
    c->v8.layout = interp->v8.layout;
    c->v8.next = 0;
    c->v8.key.id_of = 0;
    c->v8.sample++;
    return c->v8.count > 0;
}

/* Reads a function object, and notes its code (meet_code). *met: the result. */
static inline void read_v8_function(pt_bpf_cpu *c, pt_bpf_v8_met *met, uint64_t function)
{
    pt_bpf_v8_walk *const walk = &c->v8;
    met->function = function;
    met->sample = walk->sample;
    met->shared = 0;
    if (!fetch_v8_key_of_function(&walk->layout, walk, function, &walk->key) ||
        PT_BPF_FRAME_CODE(walk->key.shared) != walk->key.shared)
        return;
    met->check = pt_interp_short_check(check_v8_key(&walk->key));
    if (meet_code(c, walk->key.shared, met->check) && !is_v8_key(&walk->layout, walk, &walk->key)) {
        forget_code(c);
        return;
    }
    met->shared = walk->key.shared;
}

/* Appends the next frame's function, if the frame has one. The objects cannot change during a
 * sample, because it interrupts their thread. Returns false if there are no more frames. */
static inline bool step_v8_frame(pt_bpf_cpu *c)
{
    pt_bpf_v8_walk *const walk = &c->v8;
    uint64_t at = walk->next;
    if (at >= walk->count) return false;
    BARRIER(at);
    if (at >= PT_BPF_FRAMES_MAX) return false;
    walk->next = (uint32_t)at + 1;
    const uint64_t function = walk->frames[at].function;
    uint64_t slot = function * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PT_BPF_V8_MET_BITS);
    BARRIER(slot);
    pt_bpf_v8_met *const met = &walk->met[slot & ((1 << PT_BPF_V8_MET_BITS) - 1)];
    if (met->function != function || met->sample != walk->sample)
        read_v8_function(c, met, function);
    return met->shared == 0 ||
           append_frame(c, met->shared, (uint64_t)met->check << 32 | (walk->frames[at].place + 1));
}

/* Appends some functions. Returns false if there are no more. */
static inline bool step_v8(pt_bpf_cpu *c)
{
    enum { FRAMES = 8 };
    bool is_more = true;
    c->is_code_new = 0;
    for (int i = 0; i < FRAMES && is_more; i++)
        is_more = step_v8_frame(c);
    return is_more;
}
