/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* code.bpf.h: the frames that the program reads of an interpreter, and the code that they run.
 *
 *   a frame  --append_frame--> two words behind the pcs of the stack
 *   its code --meet_code-----> is new to the cpu: the copy of it is to be sent
 *
 * Behind walk.bpf.h. The includer defines read_memory (sample.bpf.c; a test in user space).
 */
#pragma once

#include "bpf/layout.h"

static inline bool read_interp_word(uint64_t addr, uint64_t *ret)
{
    return addr != 0 && addr % 8 == 0 && read_memory(ret, sizeof *ret, addr);
}

/* Forgets the code that was met last: it stays new. */
static inline void forget_code(pt_bpf_cpu *c)
{
    c->met[c->met_slot & ((1 << PT_BPF_MET_BITS) - 1)] = 0;
}

/* The value of a key of the thread whose fs base is given, as glibc keeps it: blocks of 32 pairs
 * (sequence number, value). */
static inline bool read_thread_value(const pt_bpf_interp *interp, uint64_t thread, uint32_t key,
                                     uint64_t *ret_value)
{
    enum { BLOCK = 32, PAIR_BYTES = 16, VALUE = 8 };
    uint64_t block = 0;
    return read_interp_word(thread + interp->thread_keys + key / BLOCK * 8, &block) && block != 0 &&
           read_interp_word(block + key % BLOCK * PAIR_BYTES + VALUE, ret_value);
}

/* Appends a frame: PT_BPF_FRAME_X. False: there is no room. */
static inline bool append_frame(pt_bpf_cpu *c, uint64_t first, uint64_t second)
{
    uint64_t count = c->stack.frame_count, at = c->stack.count;
    at += 2 * count;
    BARRIER(at);
    if (count >= PT_BPF_FRAMES_MAX || at >= PT_BPF_DEPTH_MAX + 2 * PT_BPF_FRAMES_MAX - 1)
        return false;
    c->stack.pcs[at] = first;
    c->stack.pcs[at + 1] = second;
    c->hash = mix_hash(mix_hash(c->hash, first), second);
    c->stack.frame_count = (uint16_t)(count + 1);
    return true;
}

/* Ends a walk of frames, behind a step that read none. is_last: because there are no more; else the
 * memory is not as the layout says. Returns false. */
static inline bool end_frames(pt_bpf_cpu *c, bool is_last)
{
    const uint64_t count = c->stack.frame_count;
    uint64_t at = c->stack.count;
    if (count == 0) {
        if (!is_last) c->stack.frame_count = PT_BPF_FRAMES_BAD;
        return false;
    }
    at += 2 * (count - 1);
    BARRIER(at);
    if (!is_last || at >= PT_BPF_DEPTH_MAX + 2 * PT_BPF_FRAMES_MAX) return false;
    c->stack.pcs[at] |= PT_BPF_FRAME_LAST;
    c->hash = mix_hash(c->hash, PT_BPF_FRAME_LAST);
    return false;
}

/* Notes whose frames are read, and when. */
static inline void meet_process(pt_bpf_cpu *c, uint32_t pid, const pt_bpf_process *process,
                                uint64_t now_ns)
{
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15);
    c->process = process->mm ^ ((uint64_t)pid << 32 | process->program) * one;
    c->now_ns = now_ns;
}

/* May another copy of code be sent for the process? Each process has 2,048 a second, so a process
 * that always runs new code leaves room in the rings to the others. */
static inline bool may_copy(pt_bpf_process *process, uint64_t now_ns)
{
    enum { PERIOD_BITS = 30, COPIES_MAX = 2048 };
    const uint32_t period = (uint32_t)(now_ns >> PERIOD_BITS);
    if (process->copy_period != period) process->copy_count = 0;
    process->copy_period = period;
    if (process->copy_count >= COPIES_MAX) return false;
    process->copy_count++;
    return true;
}

/* Is the code new to this cpu? Code with the same hash replaces each other. The code is new again
 * after 69 s, each at a time of its own, since user space may have failed to read it. */
static inline bool meet_code(pt_bpf_cpu *c, uint64_t addr, uint32_t check)
{
    enum { AGAIN_BITS = 36 };
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t hash = ((addr ^ c->process) * one ^ check) * one;
    const uint64_t age = (c->now_ns + (hash >> (64 - AGAIN_BITS))) >> AGAIN_BITS;
    const uint32_t value = (uint32_t)((hash ^ age * one) >> 16) | 1;
    uint64_t slot = hash >> (64 - PT_BPF_MET_BITS);
    BARRIER(slot);
    slot &= (1 << PT_BPF_MET_BITS) - 1;
    if (c->met[slot] == value) return false;
    c->met[slot] = value;
    c->met_slot = (uint32_t)slot;
    c->code.generation = c->code.count = 0;
    c->code.end = PT_BPF_CODE_END;
    c->code.code = addr;
    c->code.check = check;
    c->code.language = c->language;
    return true;
}

/* Appends a frame that executes the code at addr, and meets the code. marks: PT_BPF_FRAME_ENTRY,
 * PT_BPF_FRAME_HELD. check: of the code, in 32 bits; 0: a text of it lies in a page that is not in
 * memory, so that nothing is copied, and the frame has no name. False: there is no room, or no code
 * can be there. */
static inline bool append_code_frame(pt_bpf_cpu *c, uint64_t addr, uint64_t marks, uint32_t check,
                                     int32_t line)
{
    if (PT_BPF_FRAME_CODE(addr) != addr) return false;
    c->is_code_new = check != 0 && meet_code(c, addr, check);
    return append_frame(c, addr | marks, (uint64_t)check << 32 | ((uint32_t)line + 1));
}

/* Copies the beginning of an object of `wanted` bytes to a part of the code's record: name, file or
 * more. The part's size is a power of two. */
#define COPY_OBJECT(code, part, object, wanted)                                                    \
    do {                                                                                           \
        enum { ROOM_ = sizeof(code)->part };                                                       \
        uint64_t size_ = (wanted) < ROOM_ - 8 ? (wanted) : ROOM_ - 8;                              \
        BARRIER(size_);                                                                            \
        size_ &= ROOM_ - 1;                                                                        \
        (code)->part##_from.addr = (object);                                                       \
        (code)->part##_from.is_ended = false;                                                      \
        (code)->part##_from.bytes =                                                                \
            read_memory((code)->part, (uint32_t)size_, (object)) ? (uint32_t)size_ : 0;            \
    } while (0)

/* Copies the beginning of a terminated text to such a part. */
#define COPY_TEXT(code, part, text)                                                                \
    do {                                                                                           \
        enum { ROOM_ = sizeof(code)->part };                                                       \
        const uint32_t bytes_ = read_text((code)->part, ROOM_, (text));                            \
        const bool is_cut_ = bytes_ == ROOM_; /* its last byte is not the text's end */            \
        (code)->part##_from.addr = (text);                                                         \
        (code)->part##_from.is_ended = !is_cut_ && bytes_ != 0;                                    \
        (code)->part##_from.bytes = bytes_ - is_cut_;                                              \
    } while (0)
