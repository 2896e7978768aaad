/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* php_walk.h: the steps of a walk through PHP's frames (php.h), for user space and for the program
 * in the kernel. The offsets are those of the headers of each version (zend_globals.h,
 * zend_compile.h, zend_generators.h, zend_types.h).
 *
 * The includer defines:
 *
 *   php_memory          the memory that is read
 *   fetch_php           copies bytes of a php_memory; their number is a constant at each call
 *   php_walking         a struct with the fields of pt_php_walk from globals to delegates
 *   memory_of           the php_memory of a walk
 *   php_layout_of       the layout of a walk
 *   next_php_delegate   climb_php_delegate, or a function that calls it
 *
 * Indexes of delegates are masked, because the kernel's verifier must see their limits.
 */
#pragma once

#include "interp/php.h"

enum {
    PHP_WORD = 8,
    GLOBALS_FRAME = 0x1e8,

    FRAME_INSTRUCTION = 0,
    FRAME_FUNCTION = 0x18,
    FRAME_THIS = 0x20,
    FRAME_FLAGS = 0x28, /* the lowest byte: the type of `this` */
    FRAME_CALLER = 0x30,
    FRAME_BYTES = 0x38,
    FLAG_TOP = 0x20000,
    FLAG_GENERATOR = 0x1000000,
    TYPE_OBJECT = 8,

    OBJECT_CLASS = 0x10,

    FUNCTION_KIND = 0,
    FUNCTION_NAME = 0x08,
    FUNCTION_CLASS = 0x10,
    FUNCTION_COMMON_BYTES = 0x18, /* functions written in C may have no more */
    INSTRUCTION_LINE = 0x18,

    CLASS_NAME = 0x08,
    STRING_HASH = 0x08,
    STRING_LENGTH = 0x10,
    STRING_TEXT = 0x18,
};

_Static_assert((PT_PHP_DELEGATES_MAX & (PT_PHP_DELEGATES_MAX - 1)) == 0, "a mask");

static inline uint64_t php_word(const uint64_t *words, unsigned offset)
{
    return words[offset / PHP_WORD];
}

static inline bool fetch_php_word(php_memory *memory, uint64_t addr, uint64_t *ret)
{
    return addr != 0 && addr % PHP_WORD == 0 && fetch_php(memory, addr, ret, PHP_WORD);
}

/* ---- frames ---- */

static inline pt_interp_step begin_php_frames(php_walking *walk, uint64_t globals,
                                              uint64_t generator_class, uint32_t most)
{
    walk->globals = globals;
    walk->generator_class = generator_class;
    walk->left = most;
    walk->delegate_count = 0;
    walk->next = 0;
    if (!fetch_php_word(memory_of(walk), globals + GLOBALS_FRAME, &walk->next))
        return PT_INTERP_BAD_READ;
    return walk->next != 0 ? PT_INTERP_FRAME_READ : PT_INTERP_END;
}

/* The generator to which the frame belongs as a placeholder; 0: it is no placeholder. */
static inline uint64_t php_generator_of(php_walking *walk, uint64_t addr, const uint64_t *frame)
{
    const uint64_t generator = php_word(frame, FRAME_THIS);
    uint64_t class = 0;
    if (php_word(frame, FRAME_FUNCTION) != 0 ||
        (uint8_t)php_word(frame, FRAME_FLAGS) != TYPE_OBJECT ||
        addr != generator + php_layout_of(walk)->generator_placeholder ||
        !fetch_php_word(memory_of(walk), generator + OBJECT_CLASS, &class) ||
        class != walk->generator_class)
        return 0;
    return generator;
}

/* Collects the frame of the current generator, and goes to its parent. */
static inline bool climb_php_delegate(php_walking *walk)
{
    const pt_php_layout *const layout = php_layout_of(walk);
    const uint32_t count = walk->delegate_count;
    uint64_t above = 0, frame = 0;
    if (!fetch_php_word(memory_of(walk), walk->generator + layout->generator_frame, &frame) ||
        !fetch_php_word(memory_of(walk), walk->parent + layout->generator_parent, &above))
        return false;
    walk->delegates[count & (PT_PHP_DELEGATES_MAX - 1)] = frame;
    walk->delegate_count = count + 1;
    walk->generator = walk->parent;
    walk->parent = above;
    return true;
}

/* Collects the frames of generators, from the given one to the last one before the running
 * generator, which has no parent. */
static inline pt_interp_step climb_php_delegates(php_walking *walk, uint64_t generator)
{
    walk->generator = generator;
    walk->delegate_count = 0;
    if (!fetch_php_word(memory_of(walk), generator + php_layout_of(walk)->generator_parent,
                        &walk->parent))
        return PT_INTERP_BAD_READ;
    bool is_read = true;
    for (int i = 0; i < PT_PHP_DELEGATES_MAX && is_read && walk->parent != 0; i++)
        is_read = next_php_delegate(walk);
    if (is_read && walk->parent == 0) return PT_INTERP_FRAME_READ;
    walk->delegate_count = 0;
    return is_read ? PT_INTERP_CUT : PT_INTERP_BAD_READ;
}

/* If the frame at walk->next is a placeholder, continues the walk with the placeholder's
 * generators, and after them with its caller. */
static inline pt_interp_step pass_php_placeholder(php_walking *walk)
{
    uint64_t frame[FRAME_BYTES / PHP_WORD];
    if (walk->next == 0) return PT_INTERP_END;
    if (walk->next % PHP_WORD != 0 || !fetch_php(memory_of(walk), walk->next, frame, FRAME_BYTES))
        return PT_INTERP_BAD_READ;
    const uint64_t generator = php_generator_of(walk, walk->next, frame);
    if (generator == 0) return PT_INTERP_FRAME_READ;
    const pt_interp_step step = climb_php_delegates(walk, generator);
    if (step == PT_INTERP_FRAME_READ) walk->next = php_word(frame, FRAME_CALLER);
    return step;
}

/* Steps outwards. Sets *ret_frame with PT_INTERP_FRAME_READ only; function 0: the frame belongs to
 * no function. */
static inline pt_interp_step next_php_frame(php_walking *walk, pt_php_frame *ret_frame)
{
    uint64_t frame[FRAME_BYTES / PHP_WORD], head[(FUNCTION_NAME + PHP_WORD) / PHP_WORD];
    const uint32_t waiting = walk->delegate_count;
    const bool is_delegate = waiting > 0;
    const uint64_t addr =
        is_delegate ? walk->delegates[(waiting - 1) & (PT_PHP_DELEGATES_MAX - 1)] : walk->next;
    if (addr == 0) return is_delegate ? PT_INTERP_BAD_READ : PT_INTERP_END;
    if (walk->left == 0) return PT_INTERP_CUT;
    walk->left--;
    if (addr % PHP_WORD != 0 || !fetch_php(memory_of(walk), addr, frame, FRAME_BYTES))
        return PT_INTERP_BAD_READ;
    if (is_delegate)
        walk->delegate_count = waiting - 1;
    else
        walk->next = php_word(frame, FRAME_CALLER);
    const uint64_t function = php_word(frame, FRAME_FUNCTION);
    const uint32_t flags = (uint32_t)php_word(frame, FRAME_FLAGS);
    *ret_frame = (pt_php_frame){.addr = addr};
    if (function == 0) /* a copy of its caller, made for a call from C */
        return is_delegate ? PT_INTERP_BAD_READ : PT_INTERP_FRAME_READ;
    if (function % PHP_WORD != 0 || !fetch_php(memory_of(walk), function, head, sizeof head))
        return PT_INTERP_BAD_READ;
    const bool is_internal = (uint8_t)php_word(head, FUNCTION_KIND) == PT_PHP_INTERNAL;
    if (is_internal && php_word(head, FUNCTION_NAME) == 0)
        return PT_INTERP_FRAME_READ; /* a fiber's first frame */
    ret_frame->function = function;
    ret_frame->instruction = php_word(frame, FRAME_INSTRUCTION);
    ret_frame->is_entry = (flags & FLAG_TOP) != 0 && !is_internal;
    if (is_delegate) {
        ret_frame->is_entry = waiting == 1;
    } else if ((flags & FLAG_GENERATOR) != 0) {
        const pt_interp_step step = pass_php_placeholder(walk);
        if (step == PT_INTERP_CUT || step == PT_INTERP_BAD_READ) walk->left = 0; /* no caller */
        if (walk->delegate_count > 0) ret_frame->is_entry = false;
    }
    return PT_INTERP_FRAME_READ;
}

/* ---- functions ---- */

/* Reads a function. Returns false if the memory does not fit the layout. */
static inline bool fetch_php_function(const pt_php_layout *layout, php_memory *memory,
                                      uint64_t function, pt_php_function *ret)
{
    uint64_t words[FUNCTION_COMMON_BYTES / PHP_WORD], class, file[2]; /* file, line */
    *ret = (pt_php_function){.kind = PT_PHP_INTERNAL};
    if (function == 0 || function % PHP_WORD != 0 ||
        !fetch_php(memory, function, words, FUNCTION_COMMON_BYTES))
        return false;
    const uint8_t kind = (uint8_t)php_word(words, FUNCTION_KIND);
    ret->name = php_word(words, FUNCTION_NAME);
    class = php_word(words, FUNCTION_CLASS);
    if (class != 0 && !fetch_php_word(memory, class + CLASS_NAME, &ret->class_name)) return false;
    if (kind == PT_PHP_INTERNAL) return ret->name != 0;
    if (kind != PT_PHP_USER && kind != PT_PHP_EVAL) return false;
    if (!fetch_php(memory, function + layout->function_count, &ret->count, sizeof ret->count) ||
        !fetch_php(memory, function + layout->function_first, &ret->first, sizeof ret->first) ||
        !fetch_php(memory, function + layout->function_file, file, sizeof file))
        return false;
    ret->kind = (pt_php_kind)kind;
    ret->file = file[0];
    const uint32_t line = (uint32_t)file[1];
    ret->first_line = line <= INT32_MAX ? (int32_t)line : 0;
    return ret->file != 0 && ret->first != 0;
}

/* The line that the frame is at: see pt_php_line. */
static inline int32_t fetch_php_line(const pt_php_layout *layout, php_memory *memory,
                                     uint64_t globals, const pt_php_function *f,
                                     uint64_t instruction)
{
    uint32_t line = 0;
    if (f->kind == PT_PHP_INTERNAL) return 0;
    if (!pt_php_has_instruction(f, instruction) &&
        !fetch_php_word(memory, globals + layout->before_exception, &instruction))
        return f->first_line;
    if (!pt_php_has_instruction(f, instruction) ||
        !fetch_php(memory, instruction + INSTRUCTION_LINE, &line, sizeof line) ||
        line > INT32_MAX - 1)
        return f->first_line;
    return (int32_t)line;
}

/* Adds a string: its address, hash, length, and the last bytes of its text. */
static inline bool sum_php_string(php_memory *memory, uint64_t string, uint64_t *sum)
{
    enum { MOST = 1 << 20 };
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15), two = UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t head[2], end = 0; /* hash, length */
    uint64_t total = *sum * one + string;
    if (string != 0) {
        if (string % PHP_WORD != 0 || !fetch_php(memory, string + STRING_HASH, head, sizeof head))
            return false;
        if (head[1] >= PHP_WORD && head[1] < MOST &&
            !fetch_php(memory, string + STRING_TEXT + head[1] - PHP_WORD, &end, PHP_WORD))
            return false;
        total = ((total * two + head[0]) * one + head[1]) * two + end;
        total ^= total >> 32;
    }
    *sum = total;
    return true;
}

/* See pt_php_check. */
static inline bool check_php_function(php_memory *memory, const pt_php_function *f,
                                      uint64_t *ret_check)
{
    uint64_t sum = (uint32_t)f->first_line;
    if (!sum_php_string(memory, f->name, &sum) || !sum_php_string(memory, f->class_name, &sum) ||
        !sum_php_string(memory, f->file, &sum))
        return false;
    *ret_check = sum;
    return true;
}
