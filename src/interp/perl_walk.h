/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* perl_walk.h: the steps of a walk through Perl's frames (perl.h), for user space and for the
 * program in the kernel. The offsets are those of the headers of each version (intrpvar.h, cop.h,
 * cv.h, gv.h, hv.h, op.h), built with usethreads.
 *
 * The includer defines:
 *
 *   perl_memory      the memory that is read
 *   fetch_perl       copies bytes of a perl_memory; their number is a constant at each call
 *   perl_walking     a struct with the fields of pt_perl_walk from statement to has_main
 *   perl_memory_of   the perl_memory of a walk
 *   perl_layout_of   the layout of a walk
 */
#pragma once

#include "interp/perl.h"

enum {
    PERL_WORD = 8,
    PHASE_RUN = 4,

    /* of a stack */
    STACK_CONTEXTS = 8, /* four words: the array, the next stack outside, any, the innermost
                         * index */
    STACK_WORDS = 4,
    INDEX_MAX = 1 << 24,

    /* of a context */
    CONTEXT_TYPE = 0,
    CONTEXT_STATEMENT = 0x10, /* that the caller is at */
    CONTEXT_RETURN = 0x30,    /* the operation behind the call */
    CONTEXT_SUB = 0x48,
    CONTEXT_WORDS = 10, /* that are read of a context */
    TYPE_MASK = 0xf,
    TYPE_SORT = 0, /* a block of sort, which the evaluator is called for */
    TYPE_SUB = 9,
    TYPE_FORMAT = 10,
    TYPE_EVAL = 11,
    IS_TRY = 0xc0, /* of an eval: it has a block, whose code belongs to the frame outside */

    /* of an operation */
    OPERATION_TYPE = 0x20,
    OPERATION_TYPE_MASK = 0x1ff,
    STATEMENT_LINE = 0x24,
    STATEMENT_FILE = 0x30,

    /* of a value */
    VALUE_BODY = 0,
    VALUE_FLAGS = 8, /* the word whose upper half has them */
    VALUE_TYPE_SHIFT = 32,
    VALUE_TYPE_MASK = 0xff,
    VALUE_GLOB = 9,
    VALUE_PACKAGE = 12,
    VALUE_SUB = 13,
    VALUE_ARRAY = 0x10,
    PACKAGE_HAS_NAME = 0x2000000,
    PACKAGE_MAX = 0x18, /* in its body: the last index of its array */
    PACKAGE_ENTRIES_MAX = 1 << 24,

    SUB_PACKAGE = 0x20, /* package, first operation, glob or name */
    SUB_WORDS = 4,
    SUB_FLAGS = 0x58, /* the word whose upper half has them */
    SUB_IS_NAMED = 0x8000,
    SUB_IS_C = 8,
    GLOB_NAME = 0x20,   /* and the package behind it */
    NAMES_COUNT = 0x1c, /* from the names of a package, 32 bits: not 0 if names is an array of
                         * names */

    TEXT_LENGTH = 0, /* the word whose upper half has it */
    TEXT_BYTES = 8,
    TEXT_MAX = 1 << 16,
};

static inline bool fetch_perl_word(perl_memory *memory, uint64_t addr, uint64_t *ret)
{
    return addr != 0 && addr % PERL_WORD == 0 && fetch_perl(memory, addr, ret, PERL_WORD);
}

/* ---- frames ---- */

static inline bool open_perl_stack(perl_walking *walk, uint64_t stack)
{
    uint64_t words[STACK_WORDS];
    const uint64_t at = stack + STACK_CONTEXTS;
    if (at % PERL_WORD != 0 || !fetch_perl(perl_memory_of(walk), at, words, sizeof words))
        return false;
    walk->contexts = words[0];
    walk->outer = words[1];
    walk->index = (int32_t)(uint32_t)words[3];
    return walk->index < INDEX_MAX;
}

static inline pt_interp_step begin_perl_frames(perl_walking *walk, uint64_t interpreter,
                                               uint32_t most)
{
    const pt_perl_layout *const layout = perl_layout_of(walk);
    perl_memory *const memory = perl_memory_of(walk);
    uint64_t stack = 0;
    uint32_t phase = 0;
    walk->outer = walk->contexts = 0;
    walk->index = 0;
    walk->left = most;
    walk->has_main = walk->has_begun = false;
    if (!fetch_perl_word(memory, interpreter + layout->statement, &walk->statement) ||
        !fetch_perl_word(memory, interpreter + layout->stack, &stack) ||
        !fetch_perl(memory, interpreter + layout->phase, &phase, sizeof phase))
        return PT_INTERP_BAD_READ;
    walk->has_main = phase == PHASE_RUN;
    if (stack == 0) return PT_INTERP_END; /* it is being made */
    return open_perl_stack(walk, stack) ? PT_INTERP_FRAME_READ : PT_INTERP_BAD_READ;
}

static inline bool fetch_perl_context(perl_walking *walk, int64_t index,
                                      uint64_t ret_words[CONTEXT_WORDS])
{
    const uint64_t at = walk->contexts + (uint64_t)index * perl_layout_of(walk)->context_bytes;
    return at % PERL_WORD == 0 &&
           fetch_perl(perl_memory_of(walk), at, ret_words, CONTEXT_WORDS * PERL_WORD);
}

/* Has the innermost sub run no statement yet? The current statement is then the caller's. It also
 * is the caller's if the sub has called itself from that statement. */
static inline bool is_perl_sub_unbegun(perl_walking *walk, uint64_t sub, uint64_t caller_statement)
{
    enum { BETWEEN_MAX = 8 }; /* blocks and loops between two subs */
    uint64_t words[CONTEXT_WORDS];
    if (walk->has_begun || walk->statement != caller_statement) return false;
    for (int64_t i = 1; i <= BETWEEN_MAX && walk->index >= i; i++) {
        if (!fetch_perl_context(walk, walk->index - i, words)) return false;
        if (((uint8_t)words[CONTEXT_TYPE] & TYPE_MASK) == TYPE_SUB)
            return words[CONTEXT_SUB / PERL_WORD] != sub;
    }
    return true;
}

/* Reads the current context. *ret_is_frame: it is a frame. */
static inline pt_interp_step read_perl_context(perl_walking *walk, pt_perl_frame *ret,
                                               bool *ret_is_frame)
{
    uint64_t words[CONTEXT_WORDS];
    *ret_is_frame = false;
    if (!fetch_perl_context(walk, walk->index, words)) return PT_INTERP_BAD_READ;
    const uint8_t flags = (uint8_t)words[CONTEXT_TYPE], type = flags & TYPE_MASK;
    *ret = (pt_perl_frame){.statement = walk->statement,
                           .is_entry = words[CONTEXT_RETURN / PERL_WORD] == 0};
    if (type == TYPE_SORT) {
        ret->kind = PT_PERL_EMPTY;
        *ret_is_frame = ret->is_entry = true;
        return PT_INTERP_FRAME_READ;
    }
    if (type == TYPE_SUB || type == TYPE_FORMAT) {
        ret->kind = PT_PERL_SUB;
        ret->sub = words[CONTEXT_SUB / PERL_WORD];
        ret->is_unbegun = is_perl_sub_unbegun(walk, ret->sub, words[CONTEXT_STATEMENT / PERL_WORD]);
    } else if (type == TYPE_EVAL && (flags & IS_TRY) == 0) {
        ret->kind = PT_PERL_EVAL;
    } else {
        return PT_INTERP_FRAME_READ;
    }
    walk->statement = words[CONTEXT_STATEMENT / PERL_WORD];
    *ret_is_frame = walk->has_begun = true;
    return PT_INTERP_FRAME_READ;
}

/* Goes to the next context, stack or the program's own code. *ret_is_frame: it is a frame, which
 * *ret_frame then holds. */
static inline pt_interp_step next_perl_frame(perl_walking *walk, pt_perl_frame *ret_frame,
                                             bool *ret_is_frame)
{
    *ret_is_frame = false;
    if (walk->left == 0) return PT_INTERP_CUT;
    walk->left--;
    if (walk->index >= 0) {
        const pt_interp_step step = read_perl_context(walk, ret_frame, ret_is_frame);
        walk->index--;
        return step;
    }
    if (walk->outer != 0)
        return open_perl_stack(walk, walk->outer) ? PT_INTERP_FRAME_READ : PT_INTERP_BAD_READ;
    if (!walk->has_main) return PT_INTERP_END;
    walk->has_main = false;
    *ret_frame =
        (pt_perl_frame){.kind = PT_PERL_MAIN, .statement = walk->statement, .is_entry = true};
    *ret_is_frame = true;
    return PT_INTERP_FRAME_READ;
}

/* ---- code ---- */

/* The body of a value of that type, and its flags. */
static inline bool perl_body_of(perl_memory *memory, uint64_t value, unsigned type,
                                uint64_t *ret_body, uint32_t *ret_flags)
{
    enum { VALUE_WORDS = 2 };
    uint64_t words[VALUE_WORDS];
    if (value % PERL_WORD != 0 || !fetch_perl(memory, value, words, sizeof words)) return false;
    *ret_body = words[VALUE_BODY];
    *ret_flags = (uint32_t)(words[VALUE_FLAGS / PERL_WORD] >> VALUE_TYPE_SHIFT);
    return (*ret_flags & VALUE_TYPE_MASK) == type;
}

/* The address of a package's names; 0: unreadable. body: the package's. */
static inline uint64_t perl_package_names(const pt_perl_layout *layout, perl_memory *memory,
                                          uint64_t package, uint64_t body)
{
    uint64_t array = 0, last = 0;
    if (layout->stash_names != 0) return body + layout->stash_names;
    if (!fetch_perl_word(memory, package + VALUE_ARRAY, &array) || array == 0 ||
        !fetch_perl_word(memory, body + PACKAGE_MAX, &last) || last >= PACKAGE_ENTRIES_MAX)
        return 0;
    return array + (last + 1) * PERL_WORD;
}

/* The name of a package; 0: it has none. */
static inline uint64_t perl_package_name(const pt_perl_layout *layout, perl_memory *memory,
                                         uint64_t package)
{
    uint64_t body, name, count;
    uint32_t flags;
    if (package == 0 || !perl_body_of(memory, package, VALUE_PACKAGE, &body, &flags) ||
        (flags & PACKAGE_HAS_NAME) == 0)
        return 0;
    const uint64_t names = perl_package_names(layout, memory, package, body);
    if (!fetch_perl_word(memory, names, &name) ||
        !fetch_perl_word(memory, names + NAMES_COUNT - 4, &count))
        return 0;
    if (count >> 32 != 0 && !fetch_perl_word(memory, name, &name)) return 0; /* the first of many */
    return name;
}

/* Reads a sub. ret_first: address of its first statement, if that is known. */
static inline bool read_perl_sub(const pt_perl_layout *layout, perl_memory *memory, uint64_t sub,
                                 pt_perl_code *code, uint64_t *ret_first)
{
    enum { PACKAGE, FIRST, GLOB = 3 };
    uint64_t body, words[SUB_WORDS], kind, glob[2], operation;
    uint32_t flags;
    if (!perl_body_of(memory, sub, VALUE_SUB, &body, &flags) || body % PERL_WORD != 0 ||
        !fetch_perl(memory, body + SUB_PACKAGE, words, sizeof words) ||
        !fetch_perl_word(memory, body + SUB_FLAGS, &kind))
        return false;
    kind >>= 32;
    uint64_t package = words[PACKAGE];
    if ((kind & SUB_IS_NAMED) != 0) {
        code->name = words[GLOB];
    } else if (words[GLOB] != 0) {
        if (!perl_body_of(memory, words[GLOB], VALUE_GLOB, &body, &flags) ||
            body % PERL_WORD != 0 || !fetch_perl(memory, body + GLOB_NAME, glob, sizeof glob))
            return false;
        code->name = glob[0];
        package = glob[1];
    }
    code->package = perl_package_name(layout, memory, package);
    if ((kind & SUB_IS_C) != 0 ||
        !fetch_perl_word(memory, words[FIRST] + OPERATION_TYPE, &operation))
        return true;
    const unsigned type = operation & OPERATION_TYPE_MASK;
    if ((type == layout->first_statement || type == layout->second_statement) &&
        operation >> 32 <= INT32_MAX) {
        code->first_line = (int32_t)(operation >> 32);
        *ret_first = words[FIRST];
    }
    return true;
}

/* See pt_perl_code_at. */
static inline bool fetch_perl_code(const pt_perl_layout *layout, perl_memory *memory,
                                   const pt_perl_frame *frame, pt_perl_code *ret)
{
    uint64_t line = 0, first = 0;
    *ret = (pt_perl_code){.kind = frame->kind};
    if (frame->kind == PT_PERL_SUB && !read_perl_sub(layout, memory, frame->sub, ret, &first))
        return false;
    const uint64_t statement = frame->is_unbegun && first != 0 ? first : frame->statement;
    if (!fetch_perl_word(memory, statement + STATEMENT_LINE - 4, &line) ||
        !fetch_perl_word(memory, statement + STATEMENT_FILE, &ret->file))
        return false;
    if (line >> 32 < INT32_MAX) ret->line = (int32_t)(line >> 32);
    return true;
}

static inline void add_perl_word(uint64_t *sum, uint64_t word)
{
    *sum = (*sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    *sum ^= *sum >> 32;
}

/* A shared text begins with its hash and its length. */
static inline bool sum_perl_name(perl_memory *memory, uint64_t text, uint64_t *sum)
{
    uint64_t head = 0;
    add_perl_word(sum, text);
    if (text != 0 && !fetch_perl_word(memory, text, &head)) return false;
    add_perl_word(sum, head);
    return true;
}

/* Adds the words of a terminated text. All of them, since names of files often differ only at their
 * ends. */
static inline bool sum_perl_text(perl_memory *memory, uint64_t text, uint64_t *sum)
{
    enum { PERL_SUM_WORDS_MAX = 64 }; /* as many as the kernel's copy has */
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t word = ones;
    add_perl_word(sum, text);
    for (uint64_t i = 0; text != 0 && i < PERL_SUM_WORDS_MAX && ((word - ones) & ~word & tops) == 0;
         i++) {
        if (!fetch_perl_word(memory, text / PERL_WORD * PERL_WORD + i * PERL_WORD, &word))
            return false;
        add_perl_word(sum, word);
    }
    return true;
}

/* See pt_perl_check. */
static inline bool check_perl_code(perl_memory *memory, const pt_perl_code *code,
                                   uint64_t *ret_check)
{
    uint64_t sum = (uint32_t)code->first_line;
    if (!sum_perl_name(memory, code->package, &sum) || !sum_perl_name(memory, code->name, &sum) ||
        !sum_perl_text(memory, code->file, &sum))
        return false;
    *ret_check = sum;
    return true;
}
