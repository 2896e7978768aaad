/* php.c: see php.h. The offsets are those of the headers of PHP 8.2 (zend_globals.h,
 * zend_compile.h, zend_generators.h, zend_types.h). tests/cli/php.t.sh runs the PHP that is
 * installed.
 */
#include "interp/php.h"

#include <string.h>

enum {
    WORD = 8,
    GLOBALS_FRAME = 0x1e8,
    GLOBALS_BEFORE_EXCEPTION = 0x370, /* the instruction that threw */

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
    GENERATOR_FRAME = 0x38,
    GENERATOR_PARENT = 0x98, /* the generator that this one delegates to */
    GENERATOR_PLACEHOLDER = 0xb8,

    FUNCTION_KIND = 0,
    FUNCTION_NAME = 0x08,
    FUNCTION_CLASS = 0x10,
    FUNCTION_COUNT = 0x50,
    FUNCTION_FIRST = 0x58,
    FUNCTION_FILE = 0x98,
    FUNCTION_LINE = 0xa0,
    FUNCTION_BYTES = 0xa8,
    INSTRUCTION_LINE = 0x18,

    CLASS_NAME = 0x08,
    STRING_HASH = 0x08,
    STRING_LENGTH = 0x10,
    STRING_TEXT = 0x18,
};

static uint64_t word_at(const uint64_t *words, unsigned offset)
{
    return words[offset / WORD];
}

static bool read_word(pt_interp_read *read, void *arg, uint64_t addr, uint64_t *ret)
{
    return addr != 0 && addr % WORD == 0 && read(arg, addr, ret, sizeof *ret);
}

/* ---- frames ---- */

bool pt_php_is_innermost(pt_interp_read *read, void *arg, uint64_t globals, uint64_t frame)
{
    uint64_t innermost;
    return frame != 0 && read_word(read, arg, globals + GLOBALS_FRAME, &innermost) &&
           innermost == frame;
}

pt_interp_step pt_php_walk_begin(pt_php_walk *walk, pt_interp_read *read, void *arg,
                                 uint64_t globals, uint64_t generator_class, uint32_t most)
{
    walk->read = read;
    walk->arg = arg;
    walk->globals = globals;
    walk->generator_class = generator_class;
    walk->left = most;
    walk->delegate_count = 0;
    walk->next = 0;
    if (!read_word(read, arg, globals + GLOBALS_FRAME, &walk->next)) return PT_INTERP_BAD_READ;
    return walk->next != 0 ? PT_INTERP_FRAME_READ : PT_INTERP_END;
}

static bool read_frame(const pt_php_walk *walk, uint64_t addr,
                       uint64_t ret_words[FRAME_BYTES / WORD])
{
    return addr % WORD == 0 && walk->read(walk->arg, addr, ret_words, FRAME_BYTES);
}

/* The generator that the frame stands for; 0: none. The frame is a part of it. */
static uint64_t generator_of(const pt_php_walk *walk, uint64_t addr, const uint64_t *frame)
{
    const uint64_t generator = word_at(frame, FRAME_THIS);
    uint64_t class;
    const bool is_one = word_at(frame, FRAME_FUNCTION) == 0 &&
                        (uint8_t)word_at(frame, FRAME_FLAGS) == TYPE_OBJECT &&
                        addr == generator + GENERATOR_PLACEHOLDER &&
                        read_word(walk->read, walk->arg, generator + OBJECT_CLASS, &class) &&
                        class == walk->generator_class;
    return is_one ? generator : 0;
}

/* Collects the frames of the generators from the given one to the last before the running one,
 * which has no parent. */
static pt_interp_step climb_delegates(pt_php_walk *walk, uint64_t generator)
{
    uint64_t parent, above;
    if (!read_word(walk->read, walk->arg, generator + GENERATOR_PARENT, &parent))
        return PT_INTERP_BAD_READ;
    while (parent != 0) {
        if (walk->delegate_count == PT_PHP_DELEGATES_MAX) {
            walk->delegate_count = 0;
            return PT_INTERP_CUT;
        }
        if (!read_word(walk->read, walk->arg, generator + GENERATOR_FRAME,
                       &walk->delegates[walk->delegate_count++]) ||
            !read_word(walk->read, walk->arg, parent + GENERATOR_PARENT, &above)) {
            walk->delegate_count = 0;
            return PT_INTERP_BAD_READ;
        }
        generator = parent;
        parent = above;
    }
    return PT_INTERP_FRAME_READ;
}

/* If the frame at walk->next is a placeholder, continues the walk with the placeholder's
 * generators, and behind them with its caller. */
static pt_interp_step pass_placeholder(pt_php_walk *walk)
{
    uint64_t frame[FRAME_BYTES / WORD];
    if (walk->next == 0) return PT_INTERP_END;
    if (!read_frame(walk, walk->next, frame)) return PT_INTERP_BAD_READ;
    const uint64_t generator = generator_of(walk, walk->next, frame);
    if (generator == 0) return PT_INTERP_FRAME_READ;
    walk->next = word_at(frame, FRAME_CALLER);
    return climb_delegates(walk, generator);
}

pt_interp_step pt_php_walk_next(pt_php_walk *walk, pt_php_frame *ret_frame)
{
    uint64_t frame[FRAME_BYTES / WORD], head[(FUNCTION_NAME + WORD) / WORD];
    for (;;) {
        const bool is_delegate = walk->delegate_count > 0;
        const uint64_t addr = is_delegate ? walk->delegates[walk->delegate_count - 1] : walk->next;
        if (addr == 0) return is_delegate ? PT_INTERP_BAD_READ : PT_INTERP_END;
        if (walk->left == 0) return PT_INTERP_CUT;
        walk->left--;
        if (!read_frame(walk, addr, frame)) return PT_INTERP_BAD_READ;
        if (is_delegate)
            walk->delegate_count--;
        else
            walk->next = word_at(frame, FRAME_CALLER);
        const uint64_t function = word_at(frame, FRAME_FUNCTION);
        const uint32_t flags = (uint32_t)word_at(frame, FRAME_FLAGS);
        if (function == 0 && is_delegate) return PT_INTERP_BAD_READ;
        if (function == 0) continue; /* a copy of its caller, made for a call from C */
        if (function % WORD != 0 || !walk->read(walk->arg, function, head, sizeof head))
            return PT_INTERP_BAD_READ;
        const bool is_internal = (uint8_t)word_at(head, FUNCTION_KIND) == PT_PHP_INTERNAL;
        if (is_internal && word_at(head, FUNCTION_NAME) == 0) continue; /* a fiber's first frame */
        *ret_frame = (pt_php_frame){.addr = addr,
                                    .function = function,
                                    .instruction = word_at(frame, FRAME_INSTRUCTION),
                                    .is_entry = (flags & FLAG_TOP) != 0 && !is_internal};
        if (is_delegate) {
            ret_frame->is_entry = walk->delegate_count == 0;
        } else if ((flags & FLAG_GENERATOR) != 0) {
            const pt_interp_step step = pass_placeholder(walk);
            if (step == PT_INTERP_CUT || step == PT_INTERP_BAD_READ) walk->next = 0;
            if (walk->delegate_count > 0) ret_frame->is_entry = false;
        }
        return PT_INTERP_FRAME_READ;
    }
}

/* ---- functions ---- */

bool pt_php_function_at(pt_interp_read *read, void *arg, uint64_t function, pt_php_function *ret)
{
    uint64_t words[FUNCTION_BYTES / WORD], class;
    enum { COMMON = FUNCTION_CLASS + WORD };
    *ret = (pt_php_function){.kind = PT_PHP_INTERNAL};
    if (function == 0 || function % WORD != 0 || !read(arg, function, words, COMMON)) return false;
    const uint8_t kind = (uint8_t)word_at(words, FUNCTION_KIND);
    ret->name = word_at(words, FUNCTION_NAME);
    class = word_at(words, FUNCTION_CLASS);
    if (class != 0 && !read_word(read, arg, class + CLASS_NAME, &ret->class_name)) return false;
    if (kind == PT_PHP_INTERNAL) return ret->name != 0;
    if (kind != PT_PHP_USER && kind != PT_PHP_EVAL) return false;
    if (!read(arg, function + COMMON, &words[COMMON / WORD], FUNCTION_BYTES - COMMON)) return false;
    ret->kind = (pt_php_kind)kind;
    ret->first = word_at(words, FUNCTION_FIRST);
    ret->count = (uint32_t)word_at(words, FUNCTION_COUNT);
    ret->file = word_at(words, FUNCTION_FILE);
    const uint32_t line = (uint32_t)word_at(words, FUNCTION_LINE);
    ret->first_line = line <= INT32_MAX ? (int32_t)line : 0;
    return ret->file != 0 && ret->first != 0;
}

int32_t pt_php_line(pt_interp_read *read, void *arg, uint64_t globals, const pt_php_function *f,
                    uint64_t instruction)
{
    uint32_t line;
    if (f->kind == PT_PHP_INTERNAL) return 0;
    if (!pt_php_has_instruction(f, instruction) &&
        !read_word(read, arg, globals + GLOBALS_BEFORE_EXCEPTION, &instruction))
        return f->first_line;
    if (!pt_php_has_instruction(f, instruction) ||
        !read(arg, instruction + INSTRUCTION_LINE, &line, sizeof line) || line > INT32_MAX - 1)
        return f->first_line;
    return (int32_t)line;
}

/* ---- texts ---- */

bool pt_php_text(pt_interp_read *read, void *arg, uint64_t string, char *to, size_t cap,
                 size_t *ret_bytes)
{
    uint64_t length;
    return string % WORD == 0 && read_word(read, arg, string + STRING_LENGTH, &length) &&
           pt_interp_copy_text(read, arg, string + STRING_TEXT, length, to, cap, ret_bytes);
}

bool pt_php_name(pt_interp_read *read, void *arg, const pt_php_function *f, char *to, size_t cap,
                 size_t *ret_bytes)
{
    size_t held = 0, bytes = 0;
    if (f->name == 0) {
        *ret_bytes = pt_interp_put_text(to, cap, f->kind == PT_PHP_EVAL ? "eval" : "{main}");
        return true;
    }
    if (f->class_name != 0) {
        if (!pt_php_text(read, arg, f->class_name, to, cap, &held)) return false;
        held += pt_interp_put_text(to + held, cap - held, "::");
    }
    if (!pt_php_text(read, arg, f->name, to + held, cap - held, &bytes)) return false;
    *ret_bytes = held + bytes;
    return true;
}

/* Adds a string: its address, hash, length, and the last bytes of its text. */
static bool sum_string(pt_interp_read *read, void *arg, uint64_t string, uint64_t *sum)
{
    enum { MOST = 1 << 20 };
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15), two = UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t head[2], end = 0; /* hash, length */
    *sum = *sum * one + string;
    if (string == 0) return true;
    if (string % WORD != 0 || !read(arg, string + STRING_HASH, head, sizeof head)) return false;
    if (head[1] >= WORD && head[1] < MOST &&
        !read(arg, string + STRING_TEXT + head[1] - WORD, &end, sizeof end))
        return false;
    *sum = ((*sum * two + head[0]) * one + head[1]) * two + end;
    *sum ^= *sum >> 32;
    return true;
}

bool pt_php_check(pt_interp_read *read, void *arg, const pt_php_function *f, uint64_t *ret_check)
{
    *ret_check = (uint32_t)f->first_line;
    return sum_string(read, arg, f->name, ret_check) &&
           sum_string(read, arg, f->class_name, ret_check) &&
           sum_string(read, arg, f->file, ret_check);
}
