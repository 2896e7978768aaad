/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* python_walk.h: the steps of a walk through CPython's frames (python.h), for user space and for
 * the program in the kernel.
 *
 * The includer defines:
 *
 *   python_walking   a struct with the fields next, left, has_ahead and ahead of pt_python_walk,
 *                    and bytes, an array of PT_PYTHON_BYTES bytes with the alignment of a word,
 *                    or a pointer to memory
 *   layout_of        the layout of a walk
 *   fetch_bytes      sets the walk's bytes to at most PT_PYTHON_BYTES - 8 bytes of memory
 *
 * Offsets into bytes are masked, because the kernel's verifier must see their limits.
 */
#pragma once

#include "interp/python.h"

enum {
    PYTHON_LENGTH = 16,
    PYTHON_TEXT_STATE = 32,
    PYTHON_BYTES_START = 32,
    PYTHON_HEAD_BYTES = 72, /* that are read of a str or a bytes object at once */
};

static inline uint64_t word_at(const uint64_t *bytes, uint64_t offset)
{
    return bytes[offset / 8 & 31];
}

static inline uint32_t int_at(const uint64_t *bytes, uint64_t offset)
{
    return ((const uint32_t *)bytes)[offset / 4 & 63];
}

static inline uint8_t byte_at(const uint64_t *bytes, uint64_t offset)
{
    return ((const uint8_t *)bytes)[offset & 255];
}

static inline bool fetch_word(python_walking *walk, uint64_t addr, uint64_t *ret)
{
    if (addr == 0 || addr % 8 != 0 || !fetch_bytes(walk, addr, 8)) return false;
    *ret = word_at(walk->bytes, 0);
    return true;
}

/* Finds the innermost frame of a thread state. */
static inline pt_python_step begin_frames(python_walking *walk, uint64_t state, uint32_t most)
{
    const pt_python_layout *const layout = layout_of(walk);
    uint64_t holder = state, offset = layout->state_frame;
    walk->left = most;
    walk->next = 0;
    walk->has_ahead = false;
    if (layout->has_cframe) {
        if (!fetch_word(walk, state + layout->state_frame, &holder)) return PT_PYTHON_BAD_READ;
        offset = layout->cframe_frame;
    }
    if (!fetch_word(walk, holder + offset, &walk->next)) return PT_PYTHON_BAD_READ;
    return walk->next != 0 ? PT_PYTHON_FRAME : PT_PYTHON_END;
}

static inline int32_t place_of(const pt_python_layout *layout, const uint64_t *frame, uint64_t code)
{
    if (!layout->points_to_instruction) {
        const int32_t place = (int32_t)int_at(frame, layout->frame_place);
        return place < 0 || place > INT32_MAX / 2 ? -1 : place * layout->place_unit;
    }
    const uint64_t first = code + layout->code_instructions;
    const uint64_t at = word_at(frame, layout->frame_place);
    return at >= first && at - first < INT32_MAX ? (int32_t)(at - first) : -1;
}

/* Reads a frame. *ret_is_shim: the frame is a shim, which only marks an evaluator's entry. */
static inline pt_python_step read_frame(python_walking *walk, pt_python_frame *ret,
                                        bool *ret_is_shim)
{
    const pt_python_layout *const layout = layout_of(walk);
    if (walk->next == 0) return PT_PYTHON_END;
    if (walk->left == 0) return PT_PYTHON_CUT;
    walk->left--;
    const uint32_t last =
        layout->frame_place > layout->frame_boundary ? layout->frame_place : layout->frame_boundary;
    if (walk->next % 8 != 0 || !fetch_bytes(walk, walk->next, last + 8)) return PT_PYTHON_BAD_READ;
    const uint64_t *const frame = walk->bytes;
    const uint8_t boundary = byte_at(frame, layout->frame_boundary);
    walk->next = word_at(frame, layout->frame_back);
    *ret_is_shim = layout->owner_shim != 0 && boundary >= layout->owner_shim;
    ret->code = word_at(frame, layout->frame_code) & ~(uint64_t)layout->code_tag;
    ret->place = place_of(layout, frame, ret->code);
    ret->is_entry = layout->owner_shim == 0 && (!layout->is_entry_field || boundary != 0);
    return PT_PYTHON_FRAME;
}

/* If shims mark the ends of runs, a frame is the outermost of its run when a shim or nothing
 * follows. */
static inline pt_python_step next_frame(python_walking *walk, pt_python_frame *ret_frame)
{
    bool is_shim = false;
    pt_python_frame frame = walk->ahead;
    if (!walk->has_ahead) {
        const pt_python_step step = read_frame(walk, &frame, &is_shim);
        if (step != PT_PYTHON_FRAME) return step;
    }
    walk->has_ahead = false;
    if (is_shim) {
        *ret_frame = (pt_python_frame){.place = -1, .is_entry = true};
        return PT_PYTHON_FRAME;
    }
    if (layout_of(walk)->owner_shim != 0) {
        pt_python_frame next = {.code = 0};
        const pt_python_step step = read_frame(walk, &next, &is_shim);
        frame.is_entry = step == PT_PYTHON_END || (step == PT_PYTHON_FRAME && is_shim);
        walk->has_ahead = step == PT_PYTHON_FRAME && !is_shim;
        walk->ahead = next;
    }
    *ret_frame = frame;
    return PT_PYTHON_FRAME;
}

/* The fields of a code object. object: its first PT_PYTHON_CODE_BYTES bytes, a word aligned. */
static inline pt_python_code code_at(const pt_python_layout *layout, const uint64_t *object)
{
    return (pt_python_code){
        .type = word_at(object, 8),
        .name = word_at(object, layout->has_qualname ? layout->code_qualname : layout->code_name),
        .file = word_at(object, layout->code_file),
        .lines = word_at(object, layout->code_lines),
        .first_line = (int32_t)int_at(object, layout->code_first_line)};
}

/* The word with all but its first `bytes` bytes cleared; the machine is little-endian. */
static inline uint64_t first_bytes(uint64_t word, uint64_t bytes)
{
    if (bytes == 0) return 0;
    return bytes < 8 ? word & ((UINT64_C(1) << (bytes * 8)) - 1) : word;
}

/* Reads the beginning of an object: PYTHON_HEAD_BYTES, or less of a small object at the end of
 * readable memory. Returns the number of bytes that were read; 0: unreadable. */
static inline uint32_t fetch_object(python_walking *walk, uint64_t addr)
{
    enum { LEAST = 48 };
    if (addr % 8 != 0) return 0;
    if (fetch_bytes(walk, addr, PYTHON_HEAD_BYTES)) return PYTHON_HEAD_BYTES;
    return fetch_bytes(walk, addr, LEAST) ? LEAST : 0;
}

/* The address of the characters of the str in the walk's bytes. */
static inline uint64_t start_of_text(const python_walking *walk)
{
    const bool is_ascii = (byte_at(walk->bytes, PYTHON_TEXT_STATE) >> 6 & 1) != 0;
    return is_ascii ? layout_of(walk)->text_ascii : layout_of(walk)->text_compact;
}

/* The number of bytes of this str's characters, each of which has 1, 2 or 4. */
static inline uint64_t bytes_of_text(const python_walking *walk)
{
    const uint64_t length = word_at(walk->bytes, PYTHON_LENGTH);
    return length < UINT32_MAX ? length * (byte_at(walk->bytes, PYTHON_TEXT_STATE) >> 2 & 7) : 0;
}

/* Adds to a sum an object whose first `fetched` bytes are in the walk's bytes: its address, its
 * length, the first 16 bytes of its content, the last 16. The content has `length` bytes from
 * `start` on. */
static inline bool sum_content(python_walking *walk, uint64_t object, uint32_t fetched,
                               uint64_t start, uint64_t length, uint64_t *sum)
{
    enum { PART = 16 };
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15), two = UINT64_C(0xbf58476d1ce4e5b9);
    const uint32_t part = length > 8 ? PART : 8; /* objects end at a multiple of 8 bytes */
    uint64_t total = *sum * one + object, first = start;
    if (start + part > fetched && length > 0) {
        if (!fetch_bytes(walk, object + start, part)) return false;
        first = 0;
    }
    total = total * one + length;
    total = total * two + first_bytes(word_at(walk->bytes, first), length);
    total =
        total * two + (length > 8 ? first_bytes(word_at(walk->bytes, first + 8), length - 8) : 0);
    if (length > PART && length < UINT32_MAX) {
        if (!fetch_bytes(walk, object + start + length - PART, PART)) return false;
        total = total * one + word_at(walk->bytes, 0);
        total = total * two + word_at(walk->bytes, 8);
    }
    *sum = total;
    return true;
}

static inline bool sum_text(python_walking *walk, uint64_t text, uint64_t *sum)
{
    const uint32_t fetched = fetch_object(walk, text);
    return fetched != 0 &&
           sum_content(walk, text, fetched, start_of_text(walk), bytes_of_text(walk), sum);
}

static inline bool sum_bytes(python_walking *walk, uint64_t object, uint64_t *sum)
{
    const uint32_t fetched = fetch_object(walk, object);
    return fetched != 0 && sum_content(walk, object, fetched, PYTHON_BYTES_START,
                                       word_at(walk->bytes, PYTHON_LENGTH), sum);
}

/* A number that distinguishes code objects that lie at the same address at different times: a sum
 * over parts of name, file and line table that can be read at once. */
static inline bool check_code(python_walking *walk, const pt_python_code *code, uint32_t *ret_check)
{
    uint64_t sum = (uint32_t)code->first_line;
    if (!sum_text(walk, code->name, &sum) || !sum_text(walk, code->file, &sum) ||
        !sum_bytes(walk, code->lines, &sum))
        return false;
    *ret_check = (uint32_t)(sum >> 32) ^ (uint32_t)sum;
    return true;
}

/* Reads a code object. */
static inline bool fetch_code(python_walking *walk, uint64_t addr, pt_python_code *ret_code)
{
    if (addr % 8 != 0 || !fetch_bytes(walk, addr, PT_PYTHON_CODE_BYTES)) return false;
    *ret_code = code_at(layout_of(walk), walk->bytes);
    return true;
}

/* Does the code show none of its instructions (pt_python_is_hidden)? The only such code of CPython
 * has the same text as its name and its file, so the instructions of other code are not read. */
static inline bool is_code_hidden(python_walking *walk, uint64_t addr, const pt_python_code *code)
{
    enum { INSTRUCTIONS = 16 };
    const uint64_t offset = layout_of(walk)->code_traceable;
    uint64_t first = 0, count = 0;
    return offset != 0 && code->name == code->file && fetch_word(walk, addr + offset, &first) &&
           fetch_word(walk, addr + INSTRUCTIONS, &count) && (uint32_t)first >= (uint32_t)count;
}
