/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* code.bpf.h: appends the frames of an interpreter to a stack, and notes the code that they run.
 *
 *   a frame  --append_frame--> two words after the pcs of the stack
 *   its code --meet_code-----> noted; if it is new to the cpu, a copy of it must be sent
 *
 * Included after walk.bpf.h. The includer defines read_memory (sample.bpf.c; a test in user
 * space). */
#pragma once

#include "bpf/layout.h"

static inline bool read_interp_word(uint64_t addr, uint64_t *ret)
{
    return addr != 0 && addr % 8 == 0 && read_memory(ret, sizeof *ret, addr);
}

/* Forgets the code that meet_code noted last, so that it is still new at the next call. */
static inline void forget_code(pt_bpf_cpu *c)
{
    c->met[c->met_slot & ((1 << PT_BPF_MET_BITS) - 1)] = 0;
}

/* The value of a key of the thread with that fs base, as glibc stores it: blocks of 32 pairs
 * (sequence number, value). */
static inline bool read_thread_value(const pt_bpf_interp *interp, uint64_t thread, uint32_t key,
                                     uint64_t *ret_value)
{
    enum { BLOCK = 32, PAIR_BYTES = 16, VALUE = 8 };
    uint64_t block = 0;
    return read_interp_word(thread + interp->thread_keys + key / BLOCK * 8, &block) && block != 0 &&
           read_interp_word(block + key % BLOCK * PAIR_BYTES + VALUE, ret_value);
}

/* Appends a frame: PT_BPF_FRAME_X. Returns false if there is no room. */
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

/* Ends a walk of frames, after a step that read none. is_last: there are no more; else the memory
 * does not fit the layout. Returns false. */
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

/* Sets c->process and c->now_ns for the frames that are read next. */
static inline void meet_process(pt_bpf_cpu *c, uint32_t pid, const pt_bpf_process *process,
                                uint64_t now_ns)
{
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15);
    c->process = process->mm ^ ((uint64_t)pid << 32 | process->program) * one;
    c->now_ns = now_ns;
}

/* May another copy of code be sent for the process? Each process may send 2,048 a second, so that a
 * process that always runs new code leaves room in the rings for the others. */
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

/* Notes that the code at addr occurred. Returns true if it is new to this cpu. Code in the same
 * slot (the highest bits of the hash) replaces earlier code. Since user space may have failed to
 * read it, code counts as new again after 69 s, at a different moment for each code. */
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

static inline uint64_t sample_slot_of(uint64_t addr)
{
    uint64_t slot = addr * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PT_BPF_SAMPLE_CODE_BITS);
    BARRIER(slot);
    return slot & ((1 << PT_BPF_SAMPLE_CODE_BITS) - 1);
}

/* Did a frame of this sample execute the code at addr? The thread stands still, and its frames keep
 * their code, so the code is the same and has been noted (meet_code). Sets *ret_check. */
static inline bool is_code_of_sample(const pt_bpf_cpu *c, uint64_t addr, uint32_t *ret_check)
{
    const uint64_t slot = sample_slot_of(addr);
    if (c->of_sample[slot].code != addr || c->of_sample[slot].now_ns != c->now_ns) return false;
    *ret_check = c->of_sample[slot].check;
    return true;
}

/* Notes that a frame of this sample executes the code at addr, unless append_code_frame refuses it.
 */
static inline void note_code_of_sample(pt_bpf_cpu *c, uint64_t addr, uint32_t check)
{
    const uint64_t slot = sample_slot_of(addr);
    if (PT_BPF_FRAME_CODE(addr) != addr) return;
    c->of_sample[slot].code = addr;
    c->of_sample[slot].now_ns = c->now_ns;
    c->of_sample[slot].check = check;
}

/* The second word of a frame. */
static inline uint64_t code_word(uint32_t check, int32_t line)
{
    return (uint64_t)check << 32 | ((uint32_t)line + 1);
}

/* Appends a frame that executes the code at addr, and notes the code (meet_code). marks:
 * PT_BPF_FRAME_ENTRY, PT_BPF_FRAME_HELD. check: the code's check in 32 bits; 0: a text of the code
 * is in a page that is not in memory. Then nothing is copied, and the frame has no name. Returns
 * false if there is no room, or addr cannot be code. */
static inline bool append_code_frame(pt_bpf_cpu *c, uint64_t addr, uint64_t marks, uint32_t check,
                                     int32_t line)
{
    if (PT_BPF_FRAME_CODE(addr) != addr) return false;
    c->is_code_new = check != 0 && meet_code(c, addr, check);
    return append_frame(c, addr | marks, code_word(check, line));
}

/* Copies the first `wanted` bytes of an object to a part of the code's record: name, file or more.
 * The part's size is a power of two. */
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

/* Copies the beginning of a terminated text to a part of the code's record. */
#define COPY_TEXT(code, part, text)                                                                \
    do {                                                                                           \
        enum { ROOM_ = sizeof(code)->part };                                                       \
        const uint32_t bytes_ = read_text((code)->part, ROOM_, (text));                            \
        const bool is_cut_ = bytes_ == ROOM_; /* its last byte is not the text's terminator */     \
        (code)->part##_from.addr = (text);                                                         \
        (code)->part##_from.is_ended = !is_cut_ && bytes_ != 0;                                    \
        (code)->part##_from.bytes = bytes_ - is_cut_;                                              \
    } while (0)
