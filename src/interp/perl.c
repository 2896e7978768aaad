/* perl.c: see perl.h. The offsets are those of the headers of each version (intrpvar.h, cop.h,
 * cv.h, gv.h, hv.h, op.h), built with usethreads. tests/cli/perl.t.sh runs the Perl that is
 * installed.
 */
#include "interp/perl.h"

enum {
    WORD = 8,
    PHASE_RUN = 4,

    /* of a stack */
    STACK_CONTEXTS = 8, /* the array, the next stack outside, a word, the innermost index */
    STACK_WORDS = 4,
    INDEX_MAX = 1 << 24,

    /* of a context */
    CONTEXT_TYPE = 0,
    CONTEXT_STATEMENT = 0x10, /* that the caller is at */
    CONTEXT_RETURN = 0x30,    /* the operation behind the call */
    CONTEXT_SUB = 0x48,
    CONTEXT_WORDS = 10, /* that are read of a context */
    TYPE_MASK = 0xf,
    TYPE_BLOCK = 0,
    TYPE_SUB = 9,
    TYPE_FORMAT = 10,
    TYPE_EVAL = 11,
    IS_CALLED_MANY = 0x10, /* of a block, a sub: from C */
    IS_TRY = 0xc0,         /* of an eval: of a block, which is code of the frame outside */

    /* of an operation */
    OPERATION_TYPE = 0x20,
    OPERATION_TYPE_MASK = 0x1ff,
    STATEMENT_LINE = 0x24,
    STATEMENT_FILE = 0x30,

    /* of a value */
    VALUE_BODY = 0,
    VALUE_FLAGS = 8, /* the word that ends in them */
    VALUE_TYPE_SHIFT = 32,
    VALUE_TYPE_MASK = 0xff,
    VALUE_GLOB = 9,
    VALUE_PACKAGE = 12,
    VALUE_SUB = 13,
    PACKAGE_HAS_NAME = 0x2000000,

    SUB_PACKAGE = 0x20, /* package, first operation, glob or name */
    SUB_WORDS = 4,
    SUB_FLAGS = 0x58, /* the word that ends in them */
    SUB_IS_NAMED = 0x8000,
    SUB_IS_C = 8,
    GLOB_NAME = 0x20,   /* and the package behind it */
    NAMES_COUNT = 0x1c, /* from the names of a package: more than one, or none */

    TEXT_LENGTH = 0, /* the word that ends in it */
    TEXT_BYTES = 8,
    TEXT_MAX = 1 << 16,
};

static const pt_perl_layout layouts[] = {
    {.minor = 36,
     .statement = 0xd0,
     .stack = 0xe0,
     .phase = 0x9d0,
     .context_bytes = 104,
     .stash_names = 0x20,
     .first_statement = 195,
     .second_statement = 196},
};

const pt_perl_layout *pt_perl_layout_of(unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].minor == minor) return &layouts[i];
    return NULL;
}

static bool read_words(pt_interp_read *read, void *arg, uint64_t addr, uint64_t *ret, size_t count)
{
    return addr != 0 && addr % WORD == 0 && read(arg, addr, ret, count * WORD);
}

static bool read_word(pt_interp_read *read, void *arg, uint64_t addr, uint64_t *ret)
{
    return read_words(read, arg, addr, ret, 1);
}

/* ---- frames ---- */

static bool open_stack(pt_perl_walk *walk, uint64_t stack)
{
    uint64_t words[STACK_WORDS];
    if (!read_words(walk->read, walk->arg, stack + STACK_CONTEXTS, words, STACK_WORDS))
        return false;
    walk->contexts = words[0];
    walk->outer = words[1];
    walk->index = (int32_t)(uint32_t)words[3];
    return walk->index < INDEX_MAX;
}

pt_interp_step pt_perl_walk_begin(pt_perl_walk *walk, const pt_perl_layout *layout,
                                  pt_interp_read *read, void *arg, uint64_t interpreter,
                                  uint32_t most)
{
    uint64_t stack, phase;
    *walk = (pt_perl_walk){.layout = layout, .read = read, .arg = arg, .left = most};
    if (!read_word(read, arg, interpreter + layout->statement, &walk->statement) ||
        !read_word(read, arg, interpreter + layout->stack, &stack) ||
        !read_word(read, arg, interpreter + layout->phase, &phase))
        return PT_INTERP_BAD_READ;
    walk->has_main = (uint32_t)phase == PHASE_RUN;
    if (stack == 0) return PT_INTERP_END; /* it is being made */
    return open_stack(walk, stack) ? PT_INTERP_FRAME_READ : PT_INTERP_BAD_READ;
}

/* Reads the context at hand. False: it is no frame; or, with *ret_step, the memory does not match.
 */
static bool read_context(pt_perl_walk *walk, pt_perl_frame *ret, pt_interp_step *ret_step)
{
    uint64_t words[CONTEXT_WORDS];
    const uint64_t at = walk->contexts + (uint64_t)walk->index * walk->layout->context_bytes;
    if (!read_words(walk->read, walk->arg, at, words, CONTEXT_WORDS)) {
        *ret_step = PT_INTERP_BAD_READ;
        return false;
    }
    const uint8_t flags = (uint8_t)words[CONTEXT_TYPE], type = flags & TYPE_MASK;
    *ret = (pt_perl_frame){.statement = walk->statement,
                           .is_entry = words[CONTEXT_RETURN / WORD] == 0};
    if (type == TYPE_BLOCK && (flags & IS_CALLED_MANY) != 0) {
        ret->kind = PT_PERL_EMPTY;
        ret->is_entry = true;
        return true;
    }
    if (type == TYPE_SUB || type == TYPE_FORMAT) {
        ret->kind = PT_PERL_SUB;
        ret->sub = words[CONTEXT_SUB / WORD];
    } else if (type == TYPE_EVAL && (flags & IS_TRY) == 0) {
        ret->kind = PT_PERL_EVAL;
    } else {
        return false;
    }
    walk->statement = words[CONTEXT_STATEMENT / WORD];
    return true;
}

pt_interp_step pt_perl_walk_next(pt_perl_walk *walk, pt_perl_frame *ret_frame)
{
    pt_interp_step step = PT_INTERP_FRAME_READ;
    while (step == PT_INTERP_FRAME_READ) {
        if (walk->left == 0) return PT_INTERP_CUT;
        walk->left--;
        if (walk->index >= 0) {
            const bool is_frame = read_context(walk, ret_frame, &step);
            walk->index--;
            if (is_frame) return PT_INTERP_FRAME_READ;
        } else if (walk->outer != 0) {
            if (!open_stack(walk, walk->outer)) step = PT_INTERP_BAD_READ;
        } else if (walk->has_main) {
            walk->has_main = false;
            *ret_frame = (pt_perl_frame){
                .kind = PT_PERL_MAIN, .statement = walk->statement, .is_entry = true};
            return PT_INTERP_FRAME_READ;
        } else {
            step = PT_INTERP_END;
        }
    }
    return step;
}

/* ---- code ---- */

/* The body of a value of that type, and its flags. */
static bool body_of(pt_interp_read *read, void *arg, uint64_t value, unsigned type,
                    uint64_t *ret_body, uint32_t *ret_flags)
{
    enum { VALUE_WORDS = 2 };
    uint64_t words[VALUE_WORDS];
    if (!read_words(read, arg, value, words, VALUE_WORDS)) return false;
    *ret_body = words[VALUE_BODY];
    *ret_flags = (uint32_t)(words[VALUE_FLAGS / WORD] >> VALUE_TYPE_SHIFT);
    return (*ret_flags & VALUE_TYPE_MASK) == type;
}

/* The name of a package; 0: it has none. */
static uint64_t name_of_package(const pt_perl_layout *layout, pt_interp_read *read, void *arg,
                                uint64_t package)
{
    uint64_t body, name, count;
    uint32_t flags;
    if (package == 0 || !body_of(read, arg, package, VALUE_PACKAGE, &body, &flags) ||
        (flags & PACKAGE_HAS_NAME) == 0 ||
        !read_word(read, arg, body + layout->stash_names, &name) ||
        !read_word(read, arg, body + layout->stash_names + NAMES_COUNT - 4, &count))
        return 0;
    if (count >> 32 != 0 && !read_word(read, arg, name, &name)) return 0; /* the first of many */
    return name;
}

static bool read_sub(const pt_perl_layout *layout, pt_interp_read *read, void *arg, uint64_t sub,
                     pt_perl_code *code)
{
    enum { PACKAGE, FIRST, GLOB = 3 };
    uint64_t body, words[SUB_WORDS], kind, glob[2], operation;
    uint32_t flags;
    if (!body_of(read, arg, sub, VALUE_SUB, &body, &flags) ||
        !read_words(read, arg, body + SUB_PACKAGE, words, SUB_WORDS) ||
        !read_word(read, arg, body + SUB_FLAGS, &kind))
        return false;
    kind >>= 32;
    uint64_t package = words[PACKAGE];
    if ((kind & SUB_IS_NAMED) != 0) {
        code->name = words[GLOB];
    } else if (words[GLOB] != 0) {
        if (!body_of(read, arg, words[GLOB], VALUE_GLOB, &body, &flags) ||
            !read_words(read, arg, body + GLOB_NAME, glob, 2))
            return false;
        code->name = glob[0];
        package = glob[1];
    }
    code->package = name_of_package(layout, read, arg, package);
    if ((kind & SUB_IS_C) != 0 || !read_word(read, arg, words[FIRST] + OPERATION_TYPE, &operation))
        return true;
    const unsigned type = operation & OPERATION_TYPE_MASK;
    if ((type == layout->first_statement || type == layout->second_statement) &&
        operation >> 32 <= INT32_MAX)
        code->first_line = (int32_t)(operation >> 32);
    return true;
}

bool pt_perl_code_at(const pt_perl_layout *layout, pt_interp_read *read, void *arg,
                     const pt_perl_frame *frame, pt_perl_code *ret)
{
    uint64_t line;
    *ret = (pt_perl_code){.kind = frame->kind};
    if (frame->kind == PT_PERL_SUB && !read_sub(layout, read, arg, frame->sub, ret)) return false;
    if (!read_word(read, arg, frame->statement + STATEMENT_LINE - 4, &line) ||
        !read_word(read, arg, frame->statement + STATEMENT_FILE, &ret->file))
        return false;
    if (line >> 32 < INT32_MAX) ret->line = (int32_t)(line >> 32);
    return true;
}

/* ---- texts ---- */

static bool copy_shared_text(pt_interp_read *read, void *arg, uint64_t text, char *to, size_t cap,
                             size_t *ret_bytes)
{
    uint64_t length;
    return read_word(read, arg, text + TEXT_LENGTH, &length) && length >> 32 <= TEXT_MAX &&
           pt_interp_copy_text(read, arg, text + TEXT_BYTES, length >> 32, to, cap, ret_bytes);
}

bool pt_perl_name(pt_interp_read *read, void *arg, const pt_perl_code *code, char *to, size_t cap,
                  size_t *ret_bytes)
{
    size_t held = 0, bytes = 0;
    if (code->kind != PT_PERL_SUB) {
        *ret_bytes = pt_interp_put_text(to, cap, code->kind == PT_PERL_MAIN ? "{main}" : "(eval)");
        return true;
    }
    if (code->package != 0) {
        if (!copy_shared_text(read, arg, code->package, to, cap, &held)) return false;
        held += pt_interp_put_text(to + held, cap - held, "::");
    }
    if (code->name == 0)
        bytes = pt_interp_put_text(to + held, cap - held, "__ANON__");
    else if (!copy_shared_text(read, arg, code->name, to + held, cap - held, &bytes))
        return false;
    *ret_bytes = held + bytes;
    return true;
}

bool pt_perl_file(pt_interp_read *read, void *arg, const pt_perl_code *code, char *to, size_t cap,
                  size_t *ret_bytes)
{
    *ret_bytes = 0;
    return code->file == 0 ||
           pt_interp_copy_text(read, arg, code->file, UINT64_MAX, to, cap, ret_bytes);
}

static void add_word(uint64_t *sum, uint64_t word)
{
    *sum = (*sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    *sum ^= *sum >> 32;
}

/* A shared text begins with its hash and its length. */
static bool sum_shared_text(pt_interp_read *read, void *arg, uint64_t text, uint64_t *sum)
{
    uint64_t head = 0;
    add_word(sum, text);
    if (text != 0 && !read_word(read, arg, text, &head)) return false;
    add_word(sum, head);
    return true;
}

/* Adds the first words of a terminated text. */
static bool sum_text(pt_interp_read *read, void *arg, uint64_t text, uint64_t *sum)
{
    enum { WORDS_MAX = 8 };
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t word = ones;
    add_word(sum, text);
    for (uint64_t i = 0; text != 0 && i < WORDS_MAX && ((word - ones) & ~word & tops) == 0; i++) {
        if (!read_word(read, arg, text / WORD * WORD + i * WORD, &word)) return false;
        add_word(sum, word);
    }
    return true;
}

bool pt_perl_check(pt_interp_read *read, void *arg, const pt_perl_code *code, uint64_t *ret_check)
{
    *ret_check = (uint32_t)code->first_line;
    return sum_shared_text(read, arg, code->package, ret_check) &&
           sum_shared_text(read, arg, code->name, ret_check) &&
           sum_text(read, arg, code->file, ret_check);
}
