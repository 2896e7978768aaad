/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* ruby_walk.h: the steps of a walk through Ruby's frames (ruby.h), for user space and for the
 * program in the kernel. The offsets are those of the headers of each version (vm_core.h, iseq.h,
 * method.h, internal/class.h, ruby/st.h).
 *
 * The includer defines:
 *
 *   ruby_memory          the memory that is read
 *   fetch_ruby           copies bytes of a ruby_memory; their number is a constant at each call
 *   ruby_walking         a struct with the fields of pt_ruby_walk from next to left
 *   ruby_memory_of       the ruby_memory of a walk
 *   ruby_layout_of       the layout of a walk
 *   find_ruby_variable   search_ruby_variable, or a function that calls it
 *   ruby_depth_max       how many environments are searched for the method of a block
 *   ruby_entries_max     how many variables of a class are searched
 */
#pragma once

#include "interp/ruby.h"

enum {
    RUBY_WORD = 8,
    CONTEXT_RUBY_WORDS = 3, /* address of the stack of values, its words, the innermost frame */

    RUBY_FRAME_PC = 0,
    RUBY_FRAME_ISEQ = 0x10,
    RUBY_FRAME_ENV = 0x20,
    RUBY_FRAME_WORDS = 5, /* that are read of a frame */

    /* The words that end at the environment pointer, by number */
    ENV_METHOD = 0,
    ENV_OUTER = 1,
    ENV_FLAGS = 2,
    ENV_WORDS = 3,
    FLAG_ALWAYS = 1, /* the flags are a Ruby integer */
    FLAG_LOCAL = 2,  /* no outer environment */
    FLAG_FINISH = 0x20,
    FLAG_C = 0x80, /* a frame of a function in C */
    KIND_MASK = 0x7fff0001,
    KIND_NOTHING = 0x79990001, /* a thread's first frame, which runs no code */

    ISEQ_BODY = 0x10,
    BODY_TYPE = 0,
    BODY_FIRST = 8,
    BODY_IS_METHOD = 1,
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
    RUBY_CLASS = 8,
    RUBY_TYPE_MASK = 0x1f,
    RUBY_IS_CLASS = 2,
    RUBY_IS_MODULE = 3,
    RUBY_IS_STRING = 5,
    RUBY_IS_ARRAY = 7,
    RUBY_IS_INTERNAL = 0x1a,
    FLAG_USER = 12,                   /* the first bit of the flags that a type defines itself */
    IS_APART = 1 << (FLAG_USER + 1),  /* of a string: its text is elsewhere */
    IS_WITHIN = 1 << (FLAG_USER + 1), /* of an array: its elements are in the object */
    STRING_SHIFT = FLAG_USER + 2,     /* the length of a text in the object */
    STRING_MASK = 0x1f,
    STRING_WORDS = 5, /* that every string has */
    INTERNAL_MASK = 0xf,
    INTERNAL_VARIABLES = 2, /* holds a method, too */
    INTERNAL_METHOD = 6,
    METHOD_OWNER = 0x20,

    TABLE_START = 0x20, /* three words: number of the first entry, number behind the last entry,
                         * address of the entries */
};

static inline bool fetch_ruby_word(ruby_memory *memory, uint64_t addr, uint64_t *ret)
{
    return addr != 0 && addr % RUBY_WORD == 0 && fetch_ruby(memory, addr, ret, RUBY_WORD);
}

/* words: an array */
#define fetch_ruby_words(memory, addr, words)                                                      \
    ((addr) != 0 && (addr) % RUBY_WORD == 0 && fetch_ruby((memory), (addr), (words), sizeof(words)))

/* ---- frames ---- */

/* The context in the word at `holder`, if it is that of the thread with that thread pointer; else
 * 0. For layouts with context_thread. */
static inline uint64_t fetch_ruby_context(const pt_ruby_layout *layout, ruby_memory *memory,
                                          uint64_t holder, uint64_t pointer)
{
    uint64_t context = 0, thread = 0, number = 0;
    if (!fetch_ruby_word(memory, holder, &context) || context == 0 ||
        !fetch_ruby_word(memory, context + layout->context_thread, &thread) || thread == 0 ||
        !fetch_ruby_word(memory, thread + layout->thread_number, &number) || number != pointer)
        return 0;
    return context;
}

static inline pt_interp_step begin_ruby_frames(ruby_walking *walk, uint64_t context, uint32_t most)
{
    enum { STACK, WORDS, INNERMOST, STACK_WORDS_MAX = 1 << 28 };
    uint64_t words[CONTEXT_RUBY_WORDS];
    walk->left = most;
    walk->next = walk->end = 0;
    if (!fetch_ruby_words(ruby_memory_of(walk), context, words)) return PT_INTERP_BAD_READ;
    if (words[STACK] == 0 || words[INNERMOST] == 0) return PT_INTERP_END;
    if (words[STACK] % RUBY_WORD != 0 || words[WORDS] > STACK_WORDS_MAX ||
        words[STACK] > UINT64_MAX - words[WORDS] * RUBY_WORD)
        return PT_INTERP_BAD_READ;
    walk->next = words[INNERMOST];
    walk->end = words[STACK] + words[WORDS] * RUBY_WORD;
    return walk->next >= words[STACK] && walk->next < walk->end ? PT_INTERP_FRAME_READ
                                                                : PT_INTERP_BAD_READ;
}

/* Steps outwards. Sets *ret_frame with PT_INTERP_FRAME_READ only; body 0: the frame has no code of
 * Ruby. */
static inline pt_interp_step next_ruby_frame(ruby_walking *walk, pt_ruby_frame *ret_frame)
{
    uint64_t frame[RUBY_FRAME_WORDS], flags = 0, body = 0;
    ruby_memory *const memory = ruby_memory_of(walk);
    const uint64_t addr = walk->next;
    if (addr > walk->end - ruby_layout_of(walk)->frame_bytes) return PT_INTERP_END;
    if (walk->left == 0) return PT_INTERP_CUT;
    walk->left--;
    if (!fetch_ruby_words(memory, addr, frame)) return PT_INTERP_BAD_READ;
    walk->next = addr + ruby_layout_of(walk)->frame_bytes;
    const uint64_t iseq = frame[RUBY_FRAME_ISEQ / RUBY_WORD];
    const uint64_t env = frame[RUBY_FRAME_ENV / RUBY_WORD];
    *ret_frame = (pt_ruby_frame){.addr = addr};
    if (iseq == 0) return PT_INTERP_FRAME_READ;
    if (!fetch_ruby_word(memory, env, &flags) || (flags & FLAG_ALWAYS) == 0)
        return PT_INTERP_BAD_READ;
    if ((flags & FLAG_C) != 0 || (flags & KIND_MASK) == KIND_NOTHING) return PT_INTERP_FRAME_READ;
    if (!fetch_ruby_word(memory, iseq + ISEQ_BODY, &body) || body == 0) return PT_INTERP_BAD_READ;
    ret_frame->body = body;
    ret_frame->pc = frame[RUBY_FRAME_PC / RUBY_WORD];
    ret_frame->env = env;
    ret_frame->is_entry = (flags & FLAG_FINISH) != 0;
    return PT_INTERP_FRAME_READ;
}

/* ---- objects ---- */

static inline bool has_ruby_type(ruby_memory *memory, uint64_t object, unsigned type,
                                 uint64_t *ret_flags)
{
    return fetch_ruby_word(memory, object + OBJECT_FLAGS, ret_flags) &&
           (*ret_flags & RUBY_TYPE_MASK) == type;
}

/* The place of a string's text. words: the string's. */
static inline pt_ruby_text text_of_ruby_string(const pt_ruby_layout *layout, uint64_t string,
                                               const uint64_t words[STRING_WORDS])
{
    enum { LENGTH = 2, TEXT = 3 };
    if ((words[0] & IS_APART) != 0)
        return (pt_ruby_text){.addr = words[TEXT], .bytes = words[LENGTH]};
    if (layout->has_length)
        return (pt_ruby_text){.addr = string + TEXT * RUBY_WORD, .bytes = words[LENGTH]};
    return (pt_ruby_text){.addr = string + LENGTH * RUBY_WORD,
                          .bytes = words[0] >> STRING_SHIFT & STRING_MASK};
}

static inline bool find_ruby_text(const pt_ruby_layout *layout, ruby_memory *memory,
                                  uint64_t string, pt_ruby_text *ret)
{
    uint64_t words[STRING_WORDS];
    if (!fetch_ruby_words(memory, string, words) || (words[0] & RUBY_TYPE_MASK) != RUBY_IS_STRING)
        return false;
    *ret = text_of_ruby_string(layout, string, words);
    return true;
}

/* ---- code ---- */

/* A path is a string, or an array of a path as it was given and an absolute one. */
static inline bool find_ruby_path(ruby_memory *memory, uint64_t object, uint64_t *ret_path)
{
    enum { ELEMENTS = 0x10, ELEMENTS_APART = 0x20 };
    uint64_t flags = 0, elements = object + ELEMENTS;
    *ret_path = object;
    if (!has_ruby_type(memory, object, RUBY_IS_ARRAY, &flags)) return true;
    if ((flags & IS_WITHIN) == 0 && !fetch_ruby_word(memory, object + ELEMENTS_APART, &elements))
        return false;
    return fetch_ruby_word(memory, elements, ret_path);
}

/* See pt_ruby_code_at. */
static inline bool fetch_ruby_code(const pt_ruby_layout *layout, ruby_memory *memory, uint64_t body,
                                   pt_ruby_code *ret)
{
    enum { HEAD_WORDS = 2, LOCATION_WORDS = 4, INSNS_WORDS = 4 };
    uint64_t head[HEAD_WORDS], location[LOCATION_WORDS], insns[INSNS_WORDS], path = 0, local = 0;
    *ret = (pt_ruby_code){.label = 0};
    if (!fetch_ruby_words(memory, body, head) ||
        !fetch_ruby_words(memory, body + layout->body_location, location) ||
        !fetch_ruby_words(memory, body + layout->body_insns, insns) ||
        !fetch_ruby_word(memory, body + layout->body_local, &local) ||
        !find_ruby_path(memory, location[LOCATION_PATH / RUBY_WORD], &path))
        return false;
    uint64_t line = location[LOCATION_LINE / RUBY_WORD];
    if (layout->has_plain_line)
        line = (uint32_t)line;
    else
        line >>= 1; /* a Ruby integer */
    ret->label = location[LOCATION_LABEL / RUBY_WORD];
    ret->base_label = location[LOCATION_BASE / RUBY_WORD];
    ret->path = path;
    ret->first_line = line <= INT32_MAX ? (int32_t)line : 0;
    ret->first = head[BODY_FIRST / RUBY_WORD];
    ret->words = (uint32_t)(head[0] >> 32);
    ret->line_count = (uint32_t)insns[INSNS_COUNT / RUBY_WORD];
    ret->lines = insns[INSNS_LINES / RUBY_WORD];
    ret->rank = insns[INSNS_RANK / RUBY_WORD];
    ret->local = local;
    return ret->first != 0;
}

static inline uint32_t count_ruby_bits(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    word -= word >> 1 & ones * 0x55;
    word = (word & ones * 0x33) + (word >> 2 & ones * 0x33);
    word = (word + (word >> 4)) & ones * 0x0f;
    return (uint32_t)(word * ones >> 56);
}

/* The number of entries of the line table that begin at or before the instruction at `position`,
 * counted in words of code. For each of the first 54 positions `table` has this number in seven
 * bits, nine of them in a word. After these it has a block for each 512 positions: the number of
 * entries before the block, the numbers from there to each part of 64 positions in nine bits each,
 * and a bit for each position at which an entry begins. Returns 0 if it is unreadable. */
static inline uint32_t rank_ruby_word(ruby_memory *memory, uint64_t table, uint32_t position)
{
    enum { IMMEDIATE = 54, IN_WORD = 9, RANK_BITS = 7, BLOCK = 512, PART = 64, PART_BITS = 9 };
    enum { BLOCK_BYTES = 8 * RUBY_WORD + 2 * RUBY_WORD, RANKS_WORDS = 2 };
    uint64_t word = 0, ranks[RANKS_WORDS];
    if (position < IMMEDIATE) {
        if (!fetch_ruby_word(memory, table + position / IN_WORD * RUBY_WORD, &word)) return 0;
        return word >> position % IN_WORD * RANK_BITS & ((1 << RANK_BITS) - 1);
    }
    position -= IMMEDIATE;
    const uint64_t block =
        table + IMMEDIATE / IN_WORD * RUBY_WORD + (uint64_t)(position / BLOCK) * BLOCK_BYTES;
    const uint32_t part = position % BLOCK / PART;
    if (!fetch_ruby_words(memory, block, ranks) ||
        !fetch_ruby_word(memory, block + (RANKS_WORDS + part) * RUBY_WORD, &word))
        return 0;
    const uint64_t before =
        part > 0 ? ranks[1] >> (part - 1) * PART_BITS & ((1 << PART_BITS) - 1) : 0;
    return (uint32_t)ranks[0] + (uint32_t)before +
           count_ruby_bits(word << (PART - 1 - position % PART));
}

/* See pt_ruby_line. */
static inline int32_t fetch_ruby_line(const pt_ruby_layout *layout, ruby_memory *memory,
                                      const pt_ruby_code *code, uint64_t pc)
{
    uint32_t line = 0;
    const uint64_t bytes = pc - code->first;
    if (pc < code->first || bytes / RUBY_WORD > code->words || bytes % RUBY_WORD != 0 ||
        code->line_count == 0)
        return code->first_line;
    /* pc is that of the next instruction. */
    const uint32_t position = (uint32_t)(bytes / RUBY_WORD) - (bytes > 0);
    const uint32_t entry = code->line_count == 1 ? 1 : rank_ruby_word(memory, code->rank, position);
    if (entry == 0 || entry > code->line_count ||
        !fetch_ruby(memory, code->lines + (uint64_t)(entry - 1) * layout->insn_bytes, &line,
                    sizeof line) ||
        line == 0 || line > INT32_MAX - 1)
        return code->first_line;
    return (int32_t)line;
}

/* ---- classes ---- */

/* The owner of the method that the object is or holds; 0: none. */
static inline uint64_t owner_of_ruby_method(ruby_memory *memory, uint64_t object)
{
    uint64_t flags = 0, owner = 0;
    for (int depth = 0; depth < 2; depth++) {
        if (!has_ruby_type(memory, object, RUBY_IS_INTERNAL, &flags)) return 0;
        const uint64_t kind = flags >> FLAG_USER & INTERNAL_MASK;
        if (kind == INTERNAL_METHOD)
            return fetch_ruby_word(memory, object + METHOD_OWNER, &owner) ? owner : 0;
        if (kind != INTERNAL_VARIABLES || !fetch_ruby_word(memory, object + RUBY_WORD, &object))
            return 0;
    }
    return 0;
}

/* See pt_ruby_owner. */
static inline uint64_t fetch_ruby_owner(ruby_memory *memory, uint64_t env)
{
    uint64_t words[ENV_WORDS];
    for (int depth = 0; depth < ruby_depth_max; depth++) {
        const uint64_t at = env - ENV_FLAGS * RUBY_WORD;
        if (!fetch_ruby_words(memory, at, words)) return 0;
        const uint64_t owner = owner_of_ruby_method(memory, words[ENV_METHOD]);
        if (owner != 0 || (words[ENV_FLAGS] & FLAG_LOCAL) != 0) return owner;
        env = words[ENV_OUTER] & ~UINT64_C(3);
    }
    return 0;
}

/* The address of a class's extension; 0: unreadable. */
static inline uint64_t ruby_class_ext(const pt_ruby_layout *layout, ruby_memory *memory,
                                      uint64_t class)
{
    uint64_t ext = 0;
    if (layout->is_ext_within) return class + layout->class_ext;
    return fetch_ruby_word(memory, class + layout->class_ext, &ext) ? ext : 0;
}

/* Does the string have the text in `word`, at most 6 bytes, followed by a zero? */
static inline bool is_ruby_word(const pt_ruby_layout *layout, ruby_memory *memory, uint64_t string,
                                uint64_t word)
{
    uint64_t words[STRING_WORDS];
    if (!fetch_ruby_words(memory, string, words) || (words[0] & RUBY_TYPE_MASK) != RUBY_IS_STRING ||
        (words[0] & IS_APART) != 0)
        return false;
    return (words[layout->has_length ? 3 : 2] & UINT64_MAX >> 8) == word;
}

/* Searches a class's variables: by key (returns the value), by value (returns the key), or for a
 * value with such a text (returns the key). 0: none. */
typedef enum { RUBY_BY_KEY, RUBY_BY_VALUE, RUBY_BY_TEXT } ruby_search;

static inline uint64_t search_ruby_variable(const pt_ruby_layout *layout, ruby_memory *memory,
                                            uint64_t class, ruby_search by, uint64_t wanted)
{
    enum { START, LIMIT, ENTRIES, TABLE_WORDS };
    enum { KEY = 1, VALUE, ENTRY_WORDS };
    uint64_t at = 0, table[TABLE_WORDS], entry[ENTRY_WORDS];
    const uint64_t ext = ruby_class_ext(layout, memory, class);
    if (ext == 0 || !fetch_ruby_word(memory, ext + layout->ext_variables, &at) || at == 0) return 0;
    at += TABLE_START;
    if (!fetch_ruby_words(memory, at, table)) return 0;
    for (uint64_t i = 0; i < ruby_entries_max && i < table[LIMIT] - table[START]; i++) {
        const uint64_t place = table[ENTRIES] + (table[START] + i) * sizeof entry;
        if (!fetch_ruby_words(memory, place, entry)) return 0;
        if (by == RUBY_BY_KEY && entry[KEY] == wanted) return entry[VALUE];
        if (by == RUBY_BY_VALUE && entry[VALUE] == wanted) return entry[KEY];
        if (by == RUBY_BY_TEXT && is_ruby_word(layout, memory, entry[VALUE], wanted))
            return entry[KEY];
    }
    return 0;
}

/* See pt_ruby_keys_find. */
static inline bool find_ruby_keys(const pt_ruby_layout *layout, ruby_memory *memory,
                                  uint64_t object, uint64_t string, pt_ruby_keys *ret)
{
    const uint64_t of_object = UINT64_C(0x7463656a624f), of_string = UINT64_C(0x676e69727453);
    uint64_t singleton = 0;
    const uint64_t name = find_ruby_variable(layout, memory, object, RUBY_BY_TEXT, of_object);
    if (name == 0 || find_ruby_variable(layout, memory, string, RUBY_BY_TEXT, of_string) != name ||
        !fetch_ruby_word(memory, object + RUBY_CLASS, &singleton))
        return false;
    ret->name = name;
    ret->attached = find_ruby_variable(layout, memory, singleton, RUBY_BY_VALUE, object);
    return true;
}

/* The string that is a class's name; the object that a singleton class belongs to; 0: none. */
static inline uint64_t fetch_ruby_class_name(const pt_ruby_layout *layout, ruby_memory *memory,
                                             const pt_ruby_keys *keys, uint64_t class)
{
    uint64_t name = 0;
    if (layout->ext_name == 0)
        return keys->name != 0 ? find_ruby_variable(layout, memory, class, RUBY_BY_KEY, keys->name)
                               : 0;
    const uint64_t ext = ruby_class_ext(layout, memory, class);
    return fetch_ruby_word(memory, ext + layout->ext_name, &name) ? name : 0;
}

static inline uint64_t fetch_ruby_attached(const pt_ruby_layout *layout, ruby_memory *memory,
                                           const pt_ruby_keys *keys, uint64_t class)
{
    uint64_t object = 0;
    if (layout->ext_attached == 0)
        return keys->attached != 0
                   ? find_ruby_variable(layout, memory, class, RUBY_BY_KEY, keys->attached)
                   : 0;
    const uint64_t ext = ruby_class_ext(layout, memory, class);
    return fetch_ruby_word(memory, ext + layout->ext_attached, &object) ? object : 0;
}

/* ---- names ---- */

/* Sets the name of the class or module, if it has one. */
static inline void name_ruby_class(const pt_ruby_layout *layout, ruby_memory *memory,
                                   const pt_ruby_keys *keys, uint64_t class, pt_ruby_names *names)
{
    uint64_t flags = 0;
    if (!fetch_ruby_word(memory, class + OBJECT_FLAGS, &flags)) return;
    names->is_singleton = (flags & RUBY_TYPE_MASK) == RUBY_IS_CLASS &&
                          (flags >> FLAG_USER & layout->singleton_mask) != 0;
    if (names->is_singleton) {
        class = fetch_ruby_attached(layout, memory, keys, class);
        if (class == 0 || !fetch_ruby_word(memory, class + OBJECT_FLAGS, &flags)) return;
    }
    const unsigned type = flags & RUBY_TYPE_MASK;
    if (type != RUBY_IS_CLASS && type != RUBY_IS_MODULE) return;
    const uint64_t name = fetch_ruby_class_name(layout, memory, keys, class);
    pt_ruby_text text = {.addr = 0};
    if (name != 0 && find_ruby_text(layout, memory, name, &text)) names->class_name = text;
}

static inline bool is_ruby_method(ruby_memory *memory, uint64_t iseq)
{
    uint64_t body = 0, type = 0;
    return fetch_ruby_word(memory, iseq + ISEQ_BODY, &body) &&
           fetch_ruby_word(memory, body + BODY_TYPE, &type) && (uint32_t)type == BODY_IS_METHOD;
}

/* See pt_ruby_names_at. */
static inline bool fetch_ruby_names(const pt_ruby_layout *layout, ruby_memory *memory,
                                    const pt_ruby_keys *keys, const pt_ruby_code *code,
                                    uint64_t owner, pt_ruby_names *ret)
{
    pt_ruby_text base = {.addr = 0}, label = {.addr = 0}, path = {.addr = 0};
    *ret = (pt_ruby_names){.before = 0};
    if (!find_ruby_text(layout, memory, code->label, &label) ||
        !find_ruby_text(layout, memory, code->path, &path))
        return false;
    ret->label = label;
    ret->path = path;
    if (owner == 0 || !is_ruby_method(memory, code->local) ||
        !find_ruby_text(layout, memory, code->base_label, &base) || base.bytes > label.bytes)
        return true;
    ret->before = (uint32_t)(label.bytes - base.bytes);
    name_ruby_class(layout, memory, keys, owner, ret);
    return true;
}

/* Adds a string: its address, its object, the last bytes of its text. */
static inline bool sum_ruby_string(const pt_ruby_layout *layout, ruby_memory *memory,
                                   uint64_t string, uint64_t *sum)
{
    enum { RUBY_SUM_MAX = 1 << 20 };
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15), two = UINT64_C(0xbf58476d1ce4e5b9);
    uint64_t words[STRING_WORDS], end = 0, total = *sum * one + string;
    if (!fetch_ruby_words(memory, string, words)) return false;
    const pt_ruby_text text = text_of_ruby_string(layout, string, words);
    if (text.bytes >= RUBY_WORD && text.bytes < RUBY_SUM_MAX &&
        !fetch_ruby(memory, text.addr + text.bytes - RUBY_WORD, &end, sizeof end))
        return false;
    for (int i = 1; i < STRING_WORDS; i++) /* the flags change while memory is collected */
        total = (total ^ words[i]) * two;
    total = (total ^ end) * one;
    *sum = total ^ total >> 32;
    return true;
}

/* Adds the class of the method: its variables and the object that is its name, 0 while it has none.
 * Another class with methods of the same code may later take its place. */
static inline void sum_ruby_class(const pt_ruby_layout *layout, ruby_memory *memory,
                                  const pt_ruby_keys *keys, uint64_t class, uint64_t *sum)
{
    const uint64_t one = UINT64_C(0x9e3779b97f4a7c15);
    *sum = (*sum ^ ruby_class_ext(layout, memory, class)) * one;
    *sum = (*sum ^ fetch_ruby_class_name(layout, memory, keys, class)) * one;
    *sum ^= *sum >> 32;
}

/* See pt_ruby_check. */
static inline bool check_ruby_code(const pt_ruby_layout *layout, ruby_memory *memory,
                                   const pt_ruby_keys *keys, const pt_ruby_code *code,
                                   uint64_t owner, uint64_t *ret_check)
{
    uint64_t sum = (uint32_t)code->first_line;
    if (!sum_ruby_string(layout, memory, code->label, &sum) ||
        !sum_ruby_string(layout, memory, code->path, &sum))
        return false;
    if (owner != 0) sum_ruby_class(layout, memory, keys, owner, &sum);
    *ret_check = sum;
    return true;
}
