/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* v8.bpf.h: reads V8's functions in the kernel.
 *
 *   a native frame with a frame pointer --note_v8_frame--> the function object below the pointer
 *   such an object --step_v8--> its shared function info: two words, behind the pcs
 *
 * The stack of V8 is the native stack. So the place of a frame's word is the number of its native
 * frame, and nothing has to be joined by counting.
 */
#pragma once

#include "bpf/code.bpf.h"

typedef pt_bpf_v8_walk v8_memory;

#define v8_object_of(memory)              ((memory)->object)
#define fetch_v8(memory, addr, to, bytes) ((void)(memory), read_memory((to), (bytes), (addr)))

#include "interp/v8_walk.h"

/* Starts a walk of the functions that were noted. False: there are none. */
static inline bool begin_v8(pt_bpf_cpu *c, const pt_bpf_interp *interp)
{
    c->v8.layout = interp->v8.layout;
    c->v8.next = 0;
    return c->v8.count > 0;
}

/* Appends the next function, if it is one that V8 compiled from a script or has itself. False:
 * there are no more. */
static inline bool step_v8(pt_bpf_cpu *c)
{
    pt_bpf_v8_walk *const walk = &c->v8;
    uint64_t at = walk->next;
    c->is_code_new = 0;
    if (at >= walk->count) return false;
    BARRIER(at);
    if (at >= PT_BPF_FRAMES_MAX) return false;
    walk->next = (uint32_t)at + 1;
    const pt_bpf_v8_frame frame = walk->frames[at];
    if (!fetch_v8_key_of_function(&walk->layout, walk, frame.function, &walk->key)) return true;
    const uint64_t check = check_v8_key(&walk->key), shared = walk->key.shared;
    if (meet_code(c, shared, pt_interp_short_check(check)) &&
        !is_v8_key(&walk->layout, walk, &walk->key)) {
        c->met[c->met_slot & ((1 << PT_BPF_MET_BITS) - 1)] = 0;
        return true;
    }
    return PT_BPF_FRAME_CODE(shared) == shared &&
           append_frame(c, shared,
                        (uint64_t)pt_interp_short_check(check) << 32 | (frame.place + 1));
}
