/* v8.c: see v8.h. tests/cli/node.t.sh runs it in the node that is installed. */
#include "interp/v8.h"

#include <string.h>

#include "interp/utf8.h"

#define FIELD(field) offsetof(pt_v8_layout, field)

const pt_v8_symbol pt_v8_symbols[] = {
    {{"v8dbg_off_fp_context_or_frame_type"}, FIELD(frame_context)},
    {{"v8dbg_off_fp_function"}, FIELD(frame_function)},
    {{"v8dbg_off_fp_bytecode_array"}, FIELD(frame_bytecode)},
    {{"v8dbg_off_fp_bytecode_offset"}, FIELD(frame_position)},
    {{"v8dbg_class_Map__instance_type__uint16_t"}, FIELD(map_type)},
    {{"v8dbg_class_JSFunction__shared__SharedFunctionInfo"}, FIELD(function_shared)},
    {{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
      "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
      "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"},
     FIELD(shared_name)},
    {{"v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
      "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_",
      "v8dbg_class_SharedFunctionInfo__script__HeapObject"},
     FIELD(shared_script)},
    {{"v8dbg_class_SharedFunctionInfo__flags__int"}, FIELD(shared_flags)},
    {{"v8dbg_class_Script__name__Object"}, FIELD(script_name)},
    {{"v8dbg_class_Script__source__Object"}, FIELD(script_source)},
    {{"v8dbg_class_Script__line_ends__Object"}, FIELD(script_line_ends)},
    {{"v8dbg_scopeinfo_idx_ncontextlocals"}, FIELD(scope_locals)},
    {{"v8dbg_scopeinfo_idx_first_vars"}, FIELD(scope_first)},
    {{"v8dbg_class_String__length__int32_t"}, FIELD(string_length)},
    {{"v8dbg_class_SeqOneByteString__chars__char"}, FIELD(string_chars)},
    {{"v8dbg_class_ConsString__first__String"}, FIELD(cons_first)},
    {{"v8dbg_class_ConsString__second__String"}, FIELD(cons_second)},
    {{"v8dbg_class_SlicedString__offset__SMI"}, FIELD(sliced_offset)},
    {{"v8dbg_class_ThinString__actual__String"}, FIELD(thin_actual)},
    {{"v8dbg_class_ExternalString__resource__Object"}, FIELD(external_resource)},
    {{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"}, FIELD(type_shared)},
    {{"v8dbg_type_Script__SCRIPT_TYPE"}, FIELD(type_script)},
    {{"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE"}, FIELD(type_scope)},
    {{"v8dbg_type_Oddball__ODDBALL_TYPE"}, FIELD(type_oddball)},
    {{"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE"}, FIELD(type_bytecode)},
    {{"v8dbg_IsNotStringMask"}, FIELD(not_string_mask)},
    {{"v8dbg_StringRepresentationMask"}, FIELD(representation_mask)},
    {{"v8dbg_StringEncodingMask"}, FIELD(encoding_mask)},
    {{"v8dbg_ConsStringTag"}, FIELD(tag_cons)},
    {{"v8dbg_ExternalStringTag"}, FIELD(tag_external)},
    {{"v8dbg_SlicedStringTag"}, FIELD(tag_sliced)},
    {{"v8dbg_ThinStringTag"}, FIELD(tag_thin)},
    {{"v8dbg_OneByteStringTag"}, FIELD(tag_one_byte)},
    {{"v8dbg_TaggedSize"}, FIELD(tagged_bytes)},
    {{"v8dbg_HeapObjectTag"}, FIELD(heap_tag)},
    {{"v8dbg_SmiShiftSize"}, FIELD(small_shift)},
};
const size_t pt_v8_symbol_count = sizeof pt_v8_symbols / sizeof pt_v8_symbols[0];

enum {
    WORD = 8,
    TAG = 1,
    FIELDS_MAX_BYTES = 128, /* of an object: each field that is read by a symbol lies in them */
};

typedef struct {
    const pt_v8_layout *layout;
    pt_interp_read *read;
    void *arg;
} memory;

typedef struct {
    const memory *m;
    uint64_t object[PT_V8_OBJECT_WORDS];
} v8_memory;

#define v8_object_of(heap) ((heap)->object)

static bool fetch_v8(v8_memory *at, uint64_t addr, void *to, size_t bytes)
{
    return at->m->read(at->m->arg, addr, to, bytes);
}

#include "interp/v8_walk.h"

static bool is_field(int32_t offset)
{
    return offset > 0 && offset < FIELDS_MAX_BYTES && offset % 4 == 0;
}

/* Is the field in the beginning of an object, which v8_walk.h reads? */
static bool is_early_field(int32_t offset)
{
    return offset > 0 && offset < PT_V8_OBJECT_WORDS * WORD && offset % WORD == 0;
}

bool pt_v8_layout_is_known(const pt_v8_layout *l)
{
    return l->tagged_bytes == WORD && l->heap_tag == TAG && l->small_shift == 31 &&
           l->frame_context == -WORD && l->frame_function == -2 * WORD &&
           l->frame_bytecode == -4 * WORD && l->frame_position == -5 * WORD &&
           is_field(l->map_type) && is_early_field(l->function_shared) &&
           is_early_field(l->shared_name) && is_early_field(l->shared_script) &&
           is_early_field(l->shared_flags) && l->shared_name < l->shared_flags &&
           l->shared_script < l->shared_flags && is_field(l->script_name) &&
           is_field(l->script_source) && is_field(l->script_line_ends) &&
           is_field(l->string_length) && is_field(l->string_chars) && is_field(l->cons_first) &&
           is_field(l->cons_second) && is_field(l->sliced_offset) && is_field(l->thin_actual) &&
           is_field(l->external_resource) && l->scope_locals > 0 && l->scope_locals < 8 &&
           l->scope_first > l->scope_locals && l->scope_first - l->scope_locals <= 4;
}

/* ---- objects ---- */

static int32_t small_of(uint64_t word)
{
    return (int32_t)(word >> 32);
}

static bool read_field(const memory *m, uint64_t object, int32_t offset, uint64_t *ret)
{
    return m->read(m->arg, object - TAG + (uint64_t)(int64_t)offset, ret, sizeof *ret);
}

/* The type of the object; *object becomes its new address if it has moved. Returns false if it is
 * no object. */
static bool type_of(const memory *m, uint64_t *object, uint16_t *ret_type)
{
    uint64_t map;
    if (!pt_v8_is_tagged(*object) || !read_field(m, *object, 0, &map)) return false;
    const uint64_t moved = v8_moved_to(map);
    if (moved != 0) {
        *object = moved;
        if (!read_field(m, *object, 0, &map)) return false;
    }
    return pt_v8_is_tagged(map) &&
           m->read(m->arg, map - TAG + (uint64_t)m->layout->map_type, ret_type, sizeof *ret_type);
}

/* ---- functions ---- */

bool pt_v8_check(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t shared,
                 uint64_t *ret_check)
{
    const memory m = {.layout = layout, .read = read, .arg = arg};
    v8_memory at = {.m = &m};
    pt_v8_key key = {.id_of = 0};
    if (!fetch_v8_key(layout, &at, shared, &key) || key.shared != shared ||
        !is_v8_key(layout, &at, &key))
        return false;
    *ret_check = check_v8_key(&key);
    return true;
}

uint64_t pt_v8_frame_function(const uint64_t below_fp[2])
{
    /* A frame of another kind has a number in place of the context; the context comes after the
     * function. */
    return pt_v8_is_tagged(below_fp[0]) && pt_v8_is_tagged(below_fp[1]) ? below_fp[0] : 0;
}

const char *const pt_v8_tier_names[PT_V8_TIERS] = {
    [PT_V8_INTERPRETER] = "interpreter",
    [PT_V8_BASELINE] = "baseline",
    [PT_V8_OPTIMIZED] = "optimized",
};

pt_v8_tier pt_v8_tier_of(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                         const uint64_t below_fp[PT_V8_TIER_BELOW], bool is_in_file)
{
    const memory m = {.layout = layout, .read = read, .arg = arg};
    v8_memory at = {.m = &m};
    return v8_tier(layout, &at, below_fp[1], below_fp[0], is_in_file);
}

/* Takes two words as the positions of a function, if they are plausible. */
static bool take_positions(uint64_t addr, const uint64_t words[2], pt_v8_function *f)
{
    if (!is_v8_number(words[0]) || !is_v8_number(words[1]) || small_of(words[0]) < 0 ||
        small_of(words[1]) < small_of(words[0]))
        return false;
    f->positions = addr;
    f->start = small_of(words[0]);
    f->end = small_of(words[1]);
    return true;
}

static bool has_characters(const memory *m, uint64_t string)
{
    uint32_t length;
    return m->read(m->arg, string - TAG + (uint64_t)m->layout->string_length, &length,
                   sizeof length) &&
           length > 0;
}

/* Reads words of an object that may be shorter, at the end of V8's memory; the missing words become
 * values of no kind. Returns false if none is readable. */
static bool read_words(const memory *m, uint64_t addr, uint64_t *ret, size_t count)
{
    enum { NO_KIND = 2 }; /* neither small nor tagged */
    if (m->read(m->arg, addr, ret, count * WORD)) return true;
    size_t held = 0;
    while (held < count && m->read(m->arg, addr + held * WORD, &ret[held], WORD))
        held++;
    for (size_t i = held; i < count; i++)
        ret[i] = NO_KIND;
    return held > 0;
}

/* Reads a scope info:
 *
 *   numbers: flags, parameters, locals; in later versions the first and last position
 *   of a module: a number
 *   the names of the locals, or a table of them, and a number for each
 *   of a class: a number or name
 *   the function's name and a number
 *   a name that V8 inferred
 *   the first and last position, if they were not among the first numbers
 *
 * The flags decide which of these exist, but their bits differ between versions. So the parts are
 * recognized by the types of their words. */
static void look_into_scope(const memory *m, uint64_t scope, pt_v8_function *f)
{
    enum { WORDS = 8 };
    const pt_v8_layout *const l = m->layout;
    uint64_t fields[WORDS];
    uint16_t type;
    uint64_t at = scope - TAG + (uint64_t)(l->scope_locals + 1) * WORD;
    uint32_t next = (uint32_t)(l->scope_first - l->scope_locals);
    if (!read_words(m, at, fields, WORDS) || !is_v8_number(fields[0]) || small_of(fields[0]) < 0 ||
        small_of(fields[0]) > V8_LOCALS_MAX)
        return;
    const uint64_t locals = (uint64_t)small_of(fields[0]);
    if (next >= 3 && !take_positions(at + WORD, fields + 1, f)) return;
    next = v8_fields_to_locals(l, locals, fields[next]);
    at += (uint64_t)next * WORD;
    if (locals > 0) {
        if (!type_of(m, &fields[next], &type)) return;
        at += v8_fields_of_locals(locals, is_v8_string(l, type)) * WORD;
    }
    if (!read_words(m, at, fields, WORDS)) return;
    for (int i = 0; i < WORDS - 1; i++) {
        uint64_t object = fields[i];
        if (is_v8_number(object)) {
            if (f->positions == 0 && take_positions(at + (uint64_t)i * WORD, fields + i, f)) return;
            continue;
        }
        if (!type_of(m, &object, &type)) return;
        if (!is_v8_string(l, type) && type != l->type_oddball) return; /* undefined: no name */
        if (f->text == 0 && is_v8_string(l, type) && has_characters(m, object)) f->text = object;
    }
}

bool pt_v8_function_at(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                       uint64_t function, pt_v8_function *ret)
{
    const memory m = {.layout = layout, .read = read, .arg = arg};
    uint64_t shared;
    uint16_t type;
    return type_of(&m, &function, &type) &&
           read_field(&m, function, layout->function_shared, &shared) &&
           pt_v8_shared_at(layout, read, arg, shared, ret);
}

bool pt_v8_shared_at(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t shared,
                     pt_v8_function *ret)
{
    const memory m = {.layout = layout, .read = read, .arg = arg};
    uint64_t script, name, id;
    uint16_t type;
    *ret = (pt_v8_function){.start = -1, .end = -1};
    if (!type_of(&m, &shared, &type) || type != layout->type_shared ||
        !read_field(&m, shared, layout->shared_name, &ret->name) ||
        !read_field(&m, shared, layout->shared_script, &ret->script))
        return false;
    ret->shared = shared;
    script = ret->script;
    if (!type_of(&m, &script, &type)) return false;
    ret->has_script = type == layout->type_script;
    if (!ret->has_script) return true;
    if (!read_field(&m, script, layout->script_line_ends + WORD, &id) || !is_v8_number(id))
        return false;
    ret->id = small_of(id);
    name = ret->name;
    if (is_v8_number(name)) return true;
    if (!type_of(&m, &name, &type)) return false;
    if (is_v8_string(layout, type))
        ret->text = name;
    else if (type == layout->type_scope)
        look_into_scope(&m, name, ret);
    return true;
}

/* ---- strings ---- */

typedef struct {
    uint64_t addr; /* of the first character */
    uint32_t from, to;
    uint8_t unit;
} characters;

/* A part of a string that is still to be copied. */
typedef struct {
    uint64_t string;
    uint32_t from, count;
} part;

typedef enum { BAD, FLAT, JOINED } string_kind;

/* Finds characters [p->from, p->from + p->count) of a string. FLAT: *ret has them. JOINED: *p is
 * now the first part, and *ret_rest the second. */
static string_kind look_at_string(const memory *m, part *p, characters *ret, part *ret_rest)
{
    enum { STEPS_MAX = 8, DATA = WORD };
    const pt_v8_layout *const l = m->layout;
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        uint64_t string = p->string, next, offset;
        uint32_t length;
        uint16_t type;
        if (!type_of(m, &string, &type) || !is_v8_string(l, type) ||
            !m->read(m->arg, string - TAG + (uint64_t)l->string_length, &length, sizeof length))
            return BAD;
        if (length > INT32_MAX || p->from > length) return BAD;
        if (p->count > length - p->from) p->count = length - p->from;
        const int32_t representation = type & l->representation_mask;
        *ret = (characters){.from = p->from,
                            .to = p->from + p->count,
                            .unit = (type & l->encoding_mask) == l->tag_one_byte ? 1 : 2};
        if (representation == 0) {
            ret->addr = string - TAG + (uint64_t)l->string_chars;
            return FLAT;
        }
        if (representation == l->tag_external) /* the data's address follows the resource's */
            return read_field(m, string, l->external_resource + DATA, &ret->addr) ? FLAT : BAD;
        if (representation == l->tag_thin) {
            if (!read_field(m, string, l->thin_actual, &next)) return BAD;
            p->string = next;
        } else if (representation == l->tag_sliced) {
            if (!read_field(m, string, l->sliced_offset, &offset) || !is_v8_number(offset) ||
                small_of(offset) < 0 || !read_field(m, string, l->thin_actual, &next))
                return BAD;
            p->string = next;
            p->from += (uint32_t)small_of(offset);
        } else if (representation == l->tag_cons) {
            uint64_t first, second;
            uint32_t first_length;
            if (!read_field(m, string, l->cons_first, &first) ||
                !read_field(m, string, l->cons_second, &second) || !type_of(m, &first, &type) ||
                !is_v8_string(l, type) ||
                !m->read(m->arg, first - TAG + (uint64_t)l->string_length, &first_length,
                         sizeof first_length) ||
                first_length > length)
                return BAD;
            const uint32_t end = p->from + p->count;
            if (p->from >= first_length) {
                *p = (part){second, p->from - first_length, p->count};
            } else if (end <= first_length) {
                p->string = first;
            } else {
                *ret_rest = (part){second, 0, end - first_length};
                *p = (part){first, p->from, first_length - p->from};
                return JOINED;
            }
        } else {
            return BAD;
        }
    }
    return BAD;
}

typedef struct {
    char *to;
    size_t cap, held;
    uint32_t high; /* a surrogate that waits for its second half; 0: none */
} output;

/* Appends a character. Returns false if there is no room. */
static bool put_whole(output *out, uint32_t c)
{
    char utf8[4];
    const size_t bytes = pt_interp_put_character(c, utf8);
    if (bytes > out->cap - out->held) return false;
    memcpy(out->to + out->held, utf8, bytes);
    out->held += bytes;
    return true;
}

static bool put_unit(output *out, uint32_t c)
{
    const uint32_t high = out->high;
    out->high = c >= 0xd800 && c < 0xdc00 ? c : 0;
    if (high != 0 && c >= 0xdc00 && c < 0xe000)
        return put_whole(out, 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00));
    if (high != 0 && !put_whole(out, high)) return false; /* half a pair */
    return out->high != 0 || put_whole(out, c);
}

/* Appends characters. Returns false if they are unreadable. *ret_full: there is no room for
 * more. */
static bool copy_characters(const memory *m, const characters *c, output *out, bool *ret_full)
{
    enum { PIECE = 64 };
    uint8_t piece[PIECE];
    uint64_t at = c->addr + (uint64_t)c->from * c->unit;
    uint64_t left = (uint64_t)(c->to - c->from) * c->unit;
    while (left > 0) {
        const size_t size = left < PIECE ? (size_t)left : PIECE;
        if (!m->read(m->arg, at, piece, size)) return false;
        for (size_t i = 0; i < size; i += c->unit) {
            uint16_t unit = piece[i];
            if (c->unit == 2) memcpy(&unit, piece + i, sizeof unit);
            if (!put_unit(out, unit)) {
                *ret_full = true;
                return true;
            }
        }
        at += size;
        left -= size;
    }
    return true;
}

bool pt_v8_text(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t string,
                char *to, size_t cap, size_t *ret_bytes)
{
    enum { PARTS = 16, LOOKS_MAX = 64 };
    const memory m = {.layout = layout, .read = read, .arg = arg};
    output out = {.to = to, .cap = cap};
    part waiting[PARTS];
    unsigned count = 1;
    bool is_full = false;
    waiting[0] = (part){string, 0, UINT32_MAX};
    for (unsigned looks = 0; count > 0 && !is_full; looks++) {
        part at = waiting[--count], rest;
        characters c;
        if (looks == LOOKS_MAX) break;
        switch (look_at_string(&m, &at, &c, &rest)) {
        case BAD: return false;
        case FLAT:
            if (!copy_characters(&m, &c, &out, &is_full)) return false;
            break;
        case JOINED:
            if (count + 2 > PARTS) { /* the end of the string is left out */
                memmove(waiting, waiting + 1, (PARTS - 1) * sizeof waiting[0]);
                count--;
            }
            waiting[count++] = rest;
            waiting[count++] = at;
        }
    }
    *ret_bytes = out.held;
    return true;
}

bool pt_v8_script_name(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t script,
                       char *to, size_t cap, size_t *ret_bytes)
{
    const memory m = {.layout = layout, .read = read, .arg = arg};
    uint64_t name;
    uint16_t type;
    *ret_bytes = 0;
    if (!type_of(&m, &script, &type) || type != layout->type_script ||
        !read_field(&m, script, layout->script_name, &name))
        return false;
    if (is_v8_number(name)) return true;
    if (!type_of(&m, &name, &type)) return false;
    return !is_v8_string(layout, type) || pt_v8_text(layout, read, arg, name, to, cap, ret_bytes);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

size_t pt_v8_path(char *name, size_t bytes)
{
    static const char scheme[] = "file://";
    const size_t skipped = sizeof scheme - 1;
    if (bytes <= skipped || memcmp(name, scheme, skipped) != 0 || name[skipped] != '/')
        return bytes;
    size_t held = 0;
    for (size_t i = skipped; i < bytes; i++) {
        const int high = name[i] == '%' && i + 2 < bytes ? hex_digit(name[i + 1]) : -1;
        const int low = high >= 0 ? hex_digit(name[i + 2]) : -1;
        const bool is_escape = low >= 0 && (high > 0 || low > 0);
        name[held++] = is_escape ? (char)(high << 4 | low) : name[i];
        if (is_escape) i += 2;
    }
    return held;
}

bool pt_v8_names(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                 const pt_v8_function *f, pt_v8_text_room *name, pt_v8_text_room *file)
{
    name->bytes = file->bytes = 0;
    if (f->text != 0 &&
        !pt_v8_text(layout, read, arg, f->text, name->text, name->cap, &name->bytes))
        return false;
    if (name->bytes == 0) name->bytes = pt_interp_put_text(name->text, name->cap, "(anonymous)");
    if (!pt_v8_script_name(layout, read, arg, f->script, file->text, file->cap, &file->bytes))
        return false;
    file->bytes = file->bytes > 0 ? pt_v8_path(file->text, file->bytes)
                                  : pt_interp_put_text(file->text, file->cap, "<anonymous>");
    return true;
}

/* ---- lines ---- */

bool pt_v8_source_of(const pt_v8_layout *layout, pt_interp_read *read, void *arg, uint64_t script,
                     pt_v8_source *ret)
{
    const memory m = {.layout = layout, .read = read, .arg = arg};
    part whole = {.count = UINT32_MAX}, rest;
    characters c;
    uint16_t type;
    if (!type_of(&m, &script, &type) || type != layout->type_script ||
        !read_field(&m, script, layout->script_source, &whole.string) ||
        look_at_string(&m, &whole, &c, &rest) != FLAT)
        return false;
    *ret = (pt_v8_source){
        .addr = c.addr + (uint64_t)c.from * c.unit, .length = c.to - c.from, .unit = c.unit};
    return true;
}

int32_t pt_v8_first_line(const pt_v8_layout *layout, pt_interp_read *read, void *arg,
                         uint64_t script)
{
    const memory m = {.layout = layout, .read = read, .arg = arg};
    uint64_t line;
    uint16_t type;
    if (!type_of(&m, &script, &type) || type != layout->type_script ||
        !read_field(&m, script, layout->script_name + WORD, &line) || !is_v8_number(line) ||
        small_of(line) < 0)
        return 0;
    return small_of(line);
}

/* The number of a word's bytes that equal the pattern's. */
static unsigned count_equal(uint64_t word, uint64_t pattern)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), differs = word ^ pattern;
    const uint64_t equal = ~(((differs & low) + low) | differs | low); /* bit 7 of each byte */
    return (unsigned)((equal >> 7) * UINT64_C(0x0101010101010101) >> 56);
}

bool pt_v8_count_lines(const pt_v8_source *source, pt_interp_read *read, void *arg, uint32_t from,
                       uint32_t to, uint32_t *ret_lines)
{
    enum { PIECE = 512, LF = '\n', CR = '\r', LINE = 0x2028, PARAGRAPH = 0x2029 };
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t words[PIECE / WORD + 1];
    uint8_t *const piece = (uint8_t *)words;
    uint32_t lines = 0;
    if (to > source->length) to = source->length;
    while (from < to) {
        const uint32_t most = PIECE / source->unit, left = to - from;
        const uint32_t count = left < most ? left : most;
        /* Also reads the character after the piece, which decides whether a CR at its end is part
         * of CR LF. */
        const uint32_t more = from + count < source->length;
        if (!read(arg, source->addr + (uint64_t)from * source->unit, piece,
                  (size_t)(count + more) * source->unit))
            return false;
        uint32_t i = 0;
        for (; source->unit == 1 && i + WORD <= count; i += WORD) {
            if (count_equal(words[i / WORD], CR * ones) > 0) break;
            lines += count_equal(words[i / WORD], LF * ones);
        }
        for (; i < count; i++) {
            uint16_t c[2] = {0};
            for (uint32_t k = 0; k < 2 && i + k < count + more; k++)
                memcpy(&c[k], piece + (size_t)(i + k) * source->unit, source->unit);
            lines += c[0] == LF || (c[0] == CR && c[1] != LF) || c[0] == LINE || c[0] == PARAGRAPH;
        }
        from += count;
    }
    *ret_lines = lines;
    return true;
}
