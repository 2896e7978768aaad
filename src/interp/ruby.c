/* ruby.c: see ruby.h. The offsets are those of the headers of each version (vm_core.h, iseq.h,
 * method.h, internal/class.h, ruby/st.h). tests/cli/ruby.t.sh runs the Ruby that is installed.
 */
#include "interp/ruby.h"

#include <string.h>

enum {
    WORD = 8,
    CONTEXT_STACK = 0, /* address of the stack of values, its size in words, the innermost frame */
    CONTEXT_WORDS = 3,

    FRAME_PC = 0,
    FRAME_ISEQ = 0x10,
    FRAME_ENV = 0x20,
    FRAME_WORDS = 5, /* that are read of a frame */

    /* Words below the environment pointer, and at it */
    ENV_METHOD = 0,
    ENV_OUTER = 1,
    ENV_FLAGS = 2,
    ENV_WORDS = 3,
    FLAG_ALWAYS = 1, /* the flags are a number of Ruby's */
    FLAG_LOCAL = 2,  /* no outer environment */
    FLAG_FINISH = 0x20,
    FLAG_C = 0x80, /* a frame of a function in C */
    KIND_MASK = 0x7fff0001,
    KIND_NOTHING = 0x79990001, /* a thread's first frame, which runs no code */

    ISEQ_BODY = 0x10,
    BODY_TYPE = 0,
    BODY_WORDS = 4,
    BODY_FIRST = 8,
    TYPE_METHOD = 1,
    /* from the body's location */
    LOCATION_PATH = 0,
    LOCATION_BASE = 8,
    LOCATION_LABEL = 0x10,
    LOCATION_LINE = 0x18,
    /* from the body's instructions' information */
    INSNS_LINES = 0,
    INSNS_COUNT = 0x10,
    INSNS_RANK = 0x18,

    OBJECT_FLAGS = 0,
    OBJECT_CLASS = 8,
    TYPE_MASK = 0x1f,
    TYPE_CLASS = 2,
    TYPE_MODULE = 3,
    TYPE_STRING = 5,
    TYPE_ARRAY = 7,
    TYPE_INTERNAL = 0x1a,
    FLAG_USER = 12,                   /* the first bit of flags that a type has for itself */
    IS_SINGLETON = 1 << FLAG_USER,    /* of a class */
    IS_APART = 1 << (FLAG_USER + 1),  /* of a string: its text is elsewhere */
    IS_WITHIN = 1 << (FLAG_USER + 1), /* of an array: its elements are in the object */
    STRING_SHIFT = FLAG_USER + 2,     /* the length of a text in the object */
    STRING_MASK = 0x1f,
    INTERNAL_MASK = 0xf,
    INTERNAL_VARIABLES = 2, /* holds a method, too */
    INTERNAL_METHOD = 6,
    METHOD_OWNER = 0x20,

    EXT_VARIABLES = 8,
    TABLE_START = 0x20, /* number of the first entry, of the one behind the last, entries */
    ENTRIES_MAX = 64,
};

static const pt_ruby_layout layouts[] = {
    {.major = 3,
     .minor = 1,
     .frame_bytes = 0x40,
     .body_location = 0x40,
     .body_insns = 0x78,
     .body_local = 0xb0,
     .insn_bytes = 12,
     .class_ext = 0x18},
};

const pt_ruby_layout *pt_ruby_layout_of(unsigned major, unsigned minor)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (layouts[i].major == major && layouts[i].minor == minor) return &layouts[i];
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

pt_interp_step pt_ruby_walk_begin(pt_ruby_walk *walk, const pt_ruby_layout *layout,
                                  pt_interp_read *read, void *arg, uint64_t context, uint32_t most)
{
    uint64_t stack[CONTEXT_WORDS];
    enum { STACK_WORDS_MAX = 1 << 28 };
    *walk = (pt_ruby_walk){.layout = layout, .read = read, .arg = arg, .left = most};
    if (!read_words(read, arg, context + CONTEXT_STACK, stack, CONTEXT_WORDS))
        return PT_INTERP_BAD_READ;
    if (stack[0] == 0 || stack[2] == 0) return PT_INTERP_END;
    if (stack[0] % WORD != 0 || stack[1] > STACK_WORDS_MAX ||
        stack[0] > UINT64_MAX - stack[1] * WORD)
        return PT_INTERP_BAD_READ;
    walk->next = stack[2];
    walk->end = stack[0] + stack[1] * WORD;
    return walk->next >= stack[0] && walk->next < walk->end ? PT_INTERP_FRAME_READ
                                                            : PT_INTERP_BAD_READ;
}

pt_interp_step pt_ruby_walk_next(pt_ruby_walk *walk, pt_ruby_frame *ret_frame)
{
    uint64_t frame[FRAME_WORDS], flags, body;
    for (;;) {
        const uint64_t addr = walk->next;
        if (addr > walk->end - walk->layout->frame_bytes) return PT_INTERP_END;
        if (walk->left == 0) return PT_INTERP_CUT;
        walk->left--;
        if (!read_words(walk->read, walk->arg, addr, frame, FRAME_WORDS)) return PT_INTERP_BAD_READ;
        walk->next += walk->layout->frame_bytes;
        const uint64_t iseq = frame[FRAME_ISEQ / WORD], env = frame[FRAME_ENV / WORD];
        if (iseq == 0) continue;
        if (!read_word(walk->read, walk->arg, env, &flags) || (flags & FLAG_ALWAYS) == 0)
            return PT_INTERP_BAD_READ;
        if ((flags & FLAG_C) != 0 || (flags & KIND_MASK) == KIND_NOTHING) continue;
        if (!read_word(walk->read, walk->arg, iseq + ISEQ_BODY, &body) || body == 0)
            return PT_INTERP_BAD_READ;
        *ret_frame = (pt_ruby_frame){.addr = addr,
                                     .body = body,
                                     .pc = frame[FRAME_PC / WORD],
                                     .env = env,
                                     .is_entry = (flags & FLAG_FINISH) != 0};
        return PT_INTERP_FRAME_READ;
    }
}

/* ---- objects ---- */

static bool has_type(pt_interp_read *read, void *arg, uint64_t object, unsigned type,
                     uint64_t *ret_flags)
{
    return read_word(read, arg, object + OBJECT_FLAGS, ret_flags) &&
           (*ret_flags & TYPE_MASK) == type;
}

/* Where the text of a string lies, and its length. */
static bool find_text(pt_interp_read *read, void *arg, uint64_t string, uint64_t *ret_addr,
                      uint64_t *ret_length)
{
    enum { HEAD = 0x10, APART_WORDS = 2 };
    uint64_t flags, apart[APART_WORDS];
    if (!has_type(read, arg, string, TYPE_STRING, &flags)) return false;
    *ret_addr = string + HEAD;
    *ret_length = flags >> STRING_SHIFT & STRING_MASK;
    if ((flags & IS_APART) == 0) return true;
    if (!read_words(read, arg, string + HEAD, apart, APART_WORDS)) return false;
    *ret_length = apart[0];
    *ret_addr = apart[1];
    return true;
}

bool pt_ruby_text(pt_interp_read *read, void *arg, uint64_t string, char *to, size_t cap,
                  size_t *ret_bytes)
{
    uint64_t addr, length;
    return find_text(read, arg, string, &addr, &length) &&
           pt_interp_copy_text(read, arg, addr, length, to, cap, ret_bytes);
}

/* ---- code ---- */

/* A path is a string, or an array of a path as it was given and an absolute one. */
static bool find_path(pt_interp_read *read, void *arg, uint64_t object, uint64_t *ret_path)
{
    enum { ELEMENTS = 0x10, ELEMENTS_APART = 0x20 };
    uint64_t flags, elements = object + ELEMENTS;
    *ret_path = object;
    if (!has_type(read, arg, object, TYPE_ARRAY, &flags)) return true;
    if ((flags & IS_WITHIN) == 0 && !read_word(read, arg, object + ELEMENTS_APART, &elements))
        return false;
    return read_word(read, arg, elements, ret_path);
}

bool pt_ruby_code_at(const pt_ruby_layout *layout, pt_interp_read *read, void *arg, uint64_t body,
                     pt_ruby_code *ret)
{
    enum { HEAD_WORDS = 2, LOCATION_WORDS = 4, INSNS_WORDS = 4 };
    uint64_t head[HEAD_WORDS], location[LOCATION_WORDS], insns[INSNS_WORDS], path;
    *ret = (pt_ruby_code){.label = 0};
    if (!read_words(read, arg, body, head, HEAD_WORDS) ||
        !read_words(read, arg, body + layout->body_location, location, LOCATION_WORDS) ||
        !read_words(read, arg, body + layout->body_insns, insns, INSNS_WORDS) ||
        !read_word(read, arg, body + layout->body_local, &ret->local) ||
        !find_path(read, arg, location[LOCATION_PATH / WORD], &path))
        return false;
    const int64_t line = (int64_t)location[LOCATION_LINE / WORD] >> 1; /* a number of Ruby's */
    *ret = (pt_ruby_code){.label = location[LOCATION_LABEL / WORD],
                          .base_label = location[LOCATION_BASE / WORD],
                          .path = path,
                          .first_line = line >= 0 && line <= INT32_MAX ? (int32_t)line : 0,
                          .first = head[BODY_FIRST / WORD],
                          .words = (uint32_t)(head[0] >> 32),
                          .line_count = (uint32_t)insns[INSNS_COUNT / WORD],
                          .lines = insns[INSNS_LINES / WORD],
                          .rank = insns[INSNS_RANK / WORD],
                          .local = ret->local};
    return ret->first != 0;
}

/* The number of entries of the table of lines that begin at the instruction or before it. For the
 * first 54 words the table has the number itself, seven bits each, nine in a word; behind them, for
 * each 512 words: the number before them, the numbers before each 64 of them in nine bits each, and
 * a bit for each word where an entry begins. 0: unreadable. */
static uint32_t rank_of(pt_interp_read *read, void *arg, uint64_t table, uint32_t position)
{
    enum { IMMEDIATE = 54, IN_WORD = 9, RANK_BITS = 7, BLOCK = 512, PART = 64, PART_BITS = 9 };
    enum { BLOCK_BYTES = 8 * WORD + 2 * WORD, RANKS_WORDS = 2 };
    uint64_t word, ranks[RANKS_WORDS];
    if (position < IMMEDIATE) {
        if (!read_word(read, arg, table + position / IN_WORD * WORD, &word)) return 0;
        return word >> position % IN_WORD * RANK_BITS & ((1 << RANK_BITS) - 1);
    }
    position -= IMMEDIATE;
    const uint64_t block =
        table + IMMEDIATE / IN_WORD * WORD + (uint64_t)(position / BLOCK) * BLOCK_BYTES;
    const uint32_t part = position % BLOCK / PART;
    if (!read_words(read, arg, block, ranks, RANKS_WORDS) ||
        !read_word(read, arg, block + (RANKS_WORDS + part) * WORD, &word))
        return 0;
    const uint64_t before =
        part > 0 ? ranks[1] >> (part - 1) * PART_BITS & ((1 << PART_BITS) - 1) : 0;
    uint32_t within = 0;
    for (word <<= PART - 1 - position % PART; word != 0; word &= word - 1)
        within++;
    return (uint32_t)ranks[0] + (uint32_t)before + within;
}

int32_t pt_ruby_line(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                     const pt_ruby_code *code, uint64_t pc)
{
    uint32_t line;
    const uint64_t bytes = pc - code->first;
    if (pc < code->first || bytes / WORD > code->words || bytes % WORD != 0 ||
        code->line_count == 0)
        return code->first_line;
    /* pc is that of the next instruction. */
    const uint32_t position = (uint32_t)(bytes / WORD) - (bytes > 0);
    const uint32_t entry = code->line_count == 1 ? 1 : rank_of(read, arg, code->rank, position);
    if (entry == 0 || entry > code->line_count ||
        !read(arg, code->lines + (uint64_t)(entry - 1) * layout->insn_bytes, &line, sizeof line) ||
        line == 0 || line > INT32_MAX - 1)
        return code->first_line;
    return (int32_t)line;
}

/* ---- classes ---- */

/* The owner of the method that the object is or holds; 0: none. */
static uint64_t owner_of_method(pt_interp_read *read, void *arg, uint64_t object)
{
    uint64_t flags, owner;
    for (int depth = 0; depth < 2; depth++) {
        if (!has_type(read, arg, object, TYPE_INTERNAL, &flags)) return 0;
        const uint64_t kind = flags >> FLAG_USER & INTERNAL_MASK;
        if (kind == INTERNAL_METHOD)
            return read_word(read, arg, object + METHOD_OWNER, &owner) ? owner : 0;
        if (kind != INTERNAL_VARIABLES || !read_word(read, arg, object + WORD, &object)) return 0;
    }
    return 0;
}

uint64_t pt_ruby_owner(pt_interp_read *read, void *arg, uint64_t env)
{
    enum { DEPTH_MAX = 32 };
    uint64_t words[ENV_WORDS];
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        if (!read_words(read, arg, env - ENV_FLAGS * WORD, words, ENV_WORDS)) return 0;
        const uint64_t owner = owner_of_method(read, arg, words[ENV_METHOD]);
        if (owner != 0 || (words[ENV_FLAGS] & FLAG_LOCAL) != 0) return owner;
        env = words[ENV_OUTER] & ~UINT64_C(3);
    }
    return 0;
}

/* A class's table of variables. */
typedef struct {
    pt_interp_read *read;
    void *arg;
    uint64_t entries, next, limit; /* their address, and numbers of them */
} variables;

static bool open_variables(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                           uint64_t class, variables *ret)
{
    enum { START, LIMIT, ENTRIES, TABLE_WORDS };
    uint64_t ext, at, table[TABLE_WORDS];
    if (!read_word(read, arg, class + layout->class_ext, &ext) || ext == 0 ||
        !read_word(read, arg, ext + EXT_VARIABLES, &at) || at == 0 ||
        !read_words(read, arg, at + TABLE_START, table, TABLE_WORDS))
        return false;
    *ret = (variables){.read = read,
                       .arg = arg,
                       .entries = table[ENTRIES],
                       .next = table[START],
                       .limit = table[LIMIT]};
    if (ret->limit - ret->next > ENTRIES_MAX) ret->limit = ret->next + ENTRIES_MAX;
    return true;
}

static bool next_variable(variables *v, uint64_t *ret_key, uint64_t *ret_value)
{
    enum { HASH, KEY, VALUE, ENTRY_WORDS };
    uint64_t entry[ENTRY_WORDS];
    if (v->next >= v->limit ||
        !read_words(v->read, v->arg, v->entries + v->next++ * sizeof entry, entry, ENTRY_WORDS))
        return false;
    *ret_key = entry[KEY];
    *ret_value = entry[VALUE];
    return true;
}

/* The value of a key; 0: the class does not have it. */
static uint64_t variable_of(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                            uint64_t class, uint64_t key)
{
    variables v;
    uint64_t at, value;
    if (key == 0 || !open_variables(layout, read, arg, class, &v)) return 0;
    while (next_variable(&v, &at, &value))
        if (at == key) return value;
    return 0;
}

/* The key under which a class keeps a string; 0: none. */
static uint64_t key_of_text(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                            uint64_t class, const char *text)
{
    enum { TEXT_MAX = 16 };
    variables v;
    char name[TEXT_MAX];
    size_t bytes;
    uint64_t key, value;
    if (!open_variables(layout, read, arg, class, &v)) return 0;
    while (next_variable(&v, &key, &value))
        if (pt_ruby_text(read, arg, value, name, sizeof name, &bytes) && bytes == strlen(text) &&
            memcmp(name, text, bytes) == 0)
            return key;
    return 0;
}

/* The key under which a class keeps a value; 0: none. */
static uint64_t key_of_value(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                             uint64_t class, uint64_t wanted)
{
    variables v;
    uint64_t key, value;
    if (!open_variables(layout, read, arg, class, &v)) return 0;
    while (next_variable(&v, &key, &value))
        if (value == wanted) return key;
    return 0;
}

bool pt_ruby_keys_find(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                       uint64_t object, uint64_t string, pt_ruby_keys *ret_keys)
{
    uint64_t singleton;
    const uint64_t name = key_of_text(layout, read, arg, object, "Object");
    if (name == 0 || key_of_text(layout, read, arg, string, "String") != name ||
        !read_word(read, arg, object + OBJECT_CLASS, &singleton))
        return false;
    *ret_keys = (pt_ruby_keys){.name = name,
                               .attached = key_of_value(layout, read, arg, singleton, object)};
    return true;
}

/* ---- names ---- */

/* Copies the name of the class or module and what stands between it and a method's name. Returns
 * the number of bytes; 0: it has no name. */
static size_t put_class(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                        const pt_ruby_keys *keys, uint64_t class, char *to, size_t cap)
{
    uint64_t flags;
    size_t bytes;
    if (!read_word(read, arg, class + OBJECT_FLAGS, &flags)) return 0;
    const bool is_singleton = (flags & TYPE_MASK) == TYPE_CLASS && (flags & IS_SINGLETON) != 0;
    if (is_singleton) {
        class = variable_of(layout, read, arg, class, keys->attached);
        if (class == 0 || !read_word(read, arg, class + OBJECT_FLAGS, &flags)) return 0;
    }
    const unsigned type = flags & TYPE_MASK;
    if (type != TYPE_CLASS && type != TYPE_MODULE) return 0;
    const uint64_t name = variable_of(layout, read, arg, class, keys->name);
    if (name == 0 || !pt_ruby_text(read, arg, name, to, cap, &bytes) || bytes == 0) return 0;
    return bytes + pt_interp_put_text(to + bytes, cap - bytes, is_singleton ? "." : "#");
}

static bool is_of_method(pt_interp_read *read, void *arg, uint64_t iseq)
{
    uint64_t body, type;
    return read_word(read, arg, iseq + ISEQ_BODY, &body) &&
           read_word(read, arg, body + BODY_TYPE, &type) && (uint32_t)type == TYPE_METHOD;
}

/* The bytes of the label before the method's name: "block in ". */
static size_t bytes_before_name(pt_interp_read *read, void *arg, const pt_ruby_code *code)
{
    uint64_t addr, label, base;
    if (!find_text(read, arg, code->label, &addr, &label) ||
        !find_text(read, arg, code->base_label, &addr, &base) || base > label)
        return 0;
    return (size_t)(label - base);
}

bool pt_ruby_name(const pt_ruby_layout *layout, pt_interp_read *read, void *arg,
                  const pt_ruby_keys *keys, const pt_ruby_code *code, uint64_t owner, char *to,
                  size_t cap, size_t *ret_bytes)
{
    if (!pt_ruby_text(read, arg, code->label, to, cap, ret_bytes)) return false;
    if (owner == 0 || keys->name == 0 || !is_of_method(read, arg, code->local)) return true;
    const size_t before = bytes_before_name(read, arg, code);
    if (before >= *ret_bytes) return true;
    const size_t of_class = put_class(layout, read, arg, keys, owner, to + before, cap - before);
    if (of_class == 0) /* the copy may have begun */
        return pt_ruby_text(read, arg, code->label, to, cap, ret_bytes);
    const size_t held = before + of_class;
    size_t bytes = 0;
    if (!pt_ruby_text(read, arg, code->base_label, to + held, cap - held, &bytes)) return false;
    *ret_bytes = held + bytes;
    return true;
}

/* Adds a string: its address, its object, the last bytes of its text. */
static bool sum_string(pt_interp_read *read, void *arg, uint64_t string, uint64_t *sum)
{
    enum { OBJECT_WORDS = 5, MOST = 1 << 20 };
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15), two = UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t object[OBJECT_WORDS], end = 0;
    *sum = *sum * one + string;
    if (!read_words(read, arg, string, object, OBJECT_WORDS)) return false;
    const uint64_t length = object[2];
    if ((object[0] & IS_APART) != 0 && length >= WORD && length < MOST &&
        !read(arg, object[3] + length - WORD, &end, sizeof end))
        return false;
    for (int i = 1; i < OBJECT_WORDS; i++) /* the flags change while memory is collected */
        *sum = (*sum ^ object[i]) * two;
    *sum = (*sum ^ end) * one;
    *sum ^= *sum >> 32;
    return true;
}

bool pt_ruby_check(pt_interp_read *read, void *arg, const pt_ruby_code *code, uint64_t *ret_check)
{
    *ret_check = (uint32_t)code->first_line;
    return sum_string(read, arg, code->label, ret_check) &&
           sum_string(read, arg, code->path, ret_check);
}
