/* v8_log.c: reads the log that V8 writes with --prof: isolate0x...-v8.log of `node --prof`.
 *
 *   v8-version,11,3,244,8,-node.38,0
 *   shared-library,/usr/bin/node,0x400000,0x2601000,0                path, start, end, slide
 *   profiler,begin,1000                                               microseconds of a tick
 *   code-creation,JS,13,255195,0x7fb4d4006500,624,price /shop.js:3:15,0x122f6b8a718,*
 *                        type, kind, us, start, bytes, name, function of JavaScript, how compiled
 *   code-move,0x7fb4d4006500,0x7fb4d4009000                           from, to
 *   code-delete,0x7fb4d4006500
 *   tick,0x15644a0,6332,0,0x0,6,0x7fb4d4006500,+0x10                  pc, us, is in a callback,
 *                        its address or the top of the stack, state, return addresses
 *
 * Rule: tools/tickprocessor.mjs, profile.mjs and codemap.mjs of V8, which `node --prof-process`
 * runs. A comma in a text is \x2C. An address with a sign is the distance from the address before
 * it. New code replaces all code that it overlaps. Frames in no known code are left out, except the
 * innermost.
 *
 * All addresses where code may begin are collected before the ticks are read. In the sorted list of
 * these addresses, each has a number (its slot). So the set of code that exists at a tick is a bit
 * map of slots, with further levels: a bit of a higher level says that a word of the level below is
 * not 0. */
#include "formats/plain.h"

#include <stdlib.h>

#include "base/plain/ascending.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/legacy.h"

#define MAGIC "v8-version,"

enum { LEVELS = 6, FIELDS_MAX = 10 };

/* ---- Code by address ---- */

typedef struct {
    uint64_t start, end; /* end: end of the code that begins at start now */
    uint32_t row;        /* a row of the caller's table for that code */
} code_slot;

typedef struct {
    PT_VECTOR(code_slot) slot; /* ascending, all different, once code_map_ready was called */
    uint64_t *alive[LEVELS];   /* alive[0]: a bit for each slot, 1 = code begins there now; a bit of
                                * alive[n + 1]: is this word of alive[n] not 0? */
} code_map;

PT_ORDER(compare_slots, code_slot, PT_UP(start));

static void code_map_expect(code_map *m, uint64_t start)
{
    PT_PUSH(m->slot, (code_slot){.start = start, .row = PT_NONE});
}

static void code_map_ready(code_map *m)
{
    size_t kept = 0;
    PT_SORT(m->slot, compare_slots);
    for (size_t i = 0; i < m->slot.count; i++)
        if (kept == 0 || m->slot.items[kept - 1].start != m->slot.items[i].start)
            m->slot.items[kept++] = m->slot.items[i];
    m->slot.count = kept;
    size_t bits = kept;
    for (size_t level = 0; level < LEVELS; level++) {
        bits = bits / 64 + 1;
        m->alive[level] = pt_alloc(bits, sizeof(uint64_t));
        memset(m->alive[level], 0, bits * sizeof(uint64_t));
    }
}

static void code_map_done(code_map *m)
{
    free(m->slot.items);
    for (size_t level = 0; level < LEVELS; level++)
        free(m->alive[level]);
}

static void set_alive(code_map *m, size_t slot, bool is_alive)
{
    for (size_t level = 0; level < LEVELS; level++, slot /= 64) {
        uint64_t *const word = &m->alive[level][slot / 64];
        if (is_alive)
            *word |= UINT64_C(1) << slot % 64;
        else if ((*word &= ~(UINT64_C(1) << slot % 64)) != 0)
            return;
    }
}

/* The last slot below `limit` where code begins now, or SIZE_MAX. */
static size_t last_alive(const code_map *m, size_t limit)
{
    size_t level = 0, at = limit;
    for (;; level++) {
        if (level == LEVELS) return SIZE_MAX;
        const uint64_t below =
            at % 64 == 0 ? 0 : m->alive[level][at / 64] & (UINT64_MAX >> (64 - at % 64));
        if (below != 0) {
            at = at / 64 * 64 + 63 - (size_t)__builtin_clzll(below);
            break;
        }
        at /= 64;
    }
    while (level-- > 0)
        at = at * 64 + 63 - (size_t)__builtin_clzll(m->alive[level][at]);
    return at;
}

/* The number of slots that begin before `address`. */
static size_t slots_before(const code_map *m, uint64_t address)
{
    return PT_FIRST_FROM(m->slot.items, m->slot.count, start, address);
}

/* The slot of the code that contains the address, or NULL. */
static code_slot *find_code(const code_map *m, uint64_t address)
{
    const size_t slot = last_alive(m, PT_FIRST_AFTER(m->slot.items, m->slot.count, start, address));
    return slot != SIZE_MAX && address < m->slot.items[slot].end ? &m->slot.items[slot] : NULL;
}

static void remove_code(code_map *m, uint64_t start)
{
    const size_t slot = slots_before(m, start);
    if (slot < m->slot.count && m->slot.items[slot].start == start) set_alive(m, slot, false);
}

/* Adds code at one of the collected addresses. Removes all code that the new code overlaps. */
static void add_code(code_map *m, uint64_t start, uint64_t bytes, uint32_t row)
{
    const uint64_t end = bytes < UINT64_MAX - start ? start + bytes : UINT64_MAX;
    if (bytes == 0) return;
    for (size_t old;
         (old = last_alive(m, slots_before(m, end))) != SIZE_MAX && m->slot.items[old].end > start;)
        set_alive(m, old, false);
    code_slot *const slot = &m->slot.items[slots_before(m, start)];
    slot->end = end;
    slot->row = row;
    set_alive(m, (size_t)(slot - m->slot.items), true);
}

/* ---- The log ---- */

typedef struct {
    pt_builder *b;
    code_map code, library;       /* rows: locations; mappings */
    PT_VECTOR(uint8_t) is_script; /* of each location of code: a function of JavaScript? */
    PT_VECTOR(uint32_t) frame;
    int64_t tick_ns;
    uint64_t odd, first_odd;
} v8_reader;

typedef struct {
    pt_span field[FIELDS_MAX];
    size_t count;
    pt_span rest; /* the fields after these */
} v8_line;

static bool next_field(pt_span *rest, pt_span *ret)
{
    if (rest->at == NULL) return false;
    const char *const comma = memchr(rest->at, ',', rest->size);
    *ret = comma != NULL ? pt_span_upto(*rest, comma) : *rest;
    *rest = comma != NULL ? pt_span_from(*rest, comma + 1) : (pt_span){0};
    return true;
}

static v8_line split_line(pt_span text)
{
    v8_line line = {.rest = text};
    size_t wanted = pt_span_begins(text, "tick,") ? 6 : FIELDS_MAX;
    while (line.count < wanted && next_field(&line.rest, &line.field[line.count]))
        line.count++;
    return line;
}

static bool field_is(const v8_line *line, size_t i, const char *text)
{
    return i < line->count && pt_equals_n(line->field[i].at, line->field[i].size, text);
}

static bool take_address(pt_span s, uint64_t *ret)
{
    return pt_span_skip(&s, "0x") && pt_span_hex(&s, ret) && s.size == 0;
}

static bool field_address(const v8_line *line, size_t i, uint64_t *ret)
{
    return i < line->count && take_address(line->field[i], ret);
}

static bool field_number(const v8_line *line, size_t i, int64_t *ret)
{
    pt_span s = i < line->count ? line->field[i] : (pt_span){0};
    return pt_span_number(&s, false, ret) && s.size == 0;
}

/* The value of the `digits` hexadecimal digits at s.at[at]; -1 if the text has no such digits
 * there. */
static int32_t hex_at(pt_span s, size_t at, size_t digits)
{
    int32_t number = 0;
    for (size_t i = 0; i < digits; i++) {
        const int digit = at + i < s.size ? pt_hex_digit(s.at[at + i]) : -1;
        if (digit < 0) return -1;
        number = number * 16 + digit;
    }
    return number;
}

/* Reads the escape at s.at[i], after its backslash, and returns its length. *ret_char is the
 * character, or -1 if it is not an escape. */
static size_t read_escape(pt_span s, size_t i, int32_t *ret_char)
{
    const size_t digits = s.at[i] == 'x' ? 2 : s.at[i] == 'u' ? 4 : 0;
    *ret_char = digits > 0 ? hex_at(s, i + 1, digits) : s.at[i] == 'n' ? '\n' : -1;
    if (*ret_char < 0 || digits == 0) return 1;
    const bool is_high = *ret_char >= 0xd800 && *ret_char < 0xdc00;
    const bool is_pair = is_high && i + 6 < s.size && s.at[i + 5] == '\\' && s.at[i + 6] == 'u';
    const int32_t low = is_pair ? hex_at(s, i + 7, 4) : -1;
    if (low < 0xdc00 || low > 0xdfff) return 1 + digits;
    *ret_char = 0x10000 + ((*ret_char - 0xd800) << 10) + (low - 0xdc00);
    return 1 + digits + 6;
}

/* Interns a text, with the character in place of each escape: \xHH, \uHHHH, \n and \\. An escape is
 * a unit of UTF-16 in a string of JavaScript, and a byte elsewhere (src/logging/log-file.cc of
 * V8). */
static uint32_t intern_text(v8_reader *v, pt_span s, bool is_script)
{
    if (s.size == 0 || memchr(s.at, '\\', s.size) == NULL)
        return pt_builder_string(v->b, s.at, s.size).v;
    uint8_t *const plain = pt_alloc(s.size, 1); /* an escape is longer than its character */
    size_t size = 0;
    for (size_t i = 0; i < s.size;) {
        int32_t c = -1;
        const bool is_escape = s.at[i] == '\\' && i + 1 < s.size;
        i += is_escape;
        const size_t bytes = is_escape ? read_escape(s, i, &c) : 1;
        if (c == 0) c = PT_UTF8_REPLACEMENT; /* a NUL would end the text */
        if (c < 0 || (!is_script && c < 0x100))
            plain[size++] = c < 0 ? (uint8_t)s.at[i] : (uint8_t)c;
        else
            size += pt_utf8_encode((uint32_t)c, plain + size);
        i += bytes;
    }
    const uint32_t string = pt_builder_string(v->b, (const char *)plain, size).v;
    free(plain);
    return string;
}

/* Removes ":12" from the end and returns the number; 0 if the text ends otherwise. */
static int64_t cut_number(pt_span *s)
{
    size_t at = s->size;
    while (at > 0 && pt_is_digit(s->at[at - 1]))
        at--;
    pt_span digits = {s->at + at, s->size - at};
    int64_t number = 0;
    if (at == 0 || s->at[at - 1] != ':' || !pt_span_number(&digits, false, &number)) return 0;
    s->size = at - 1;
    return number;
}

/* The location of code. A name of JavaScript is "price /shop.js:3:15". The path begins after the
 * first blank, since paths have blanks more often than names ("get total" has one). */
static uint32_t make_code(v8_reader *v, const v8_line *line)
{
    const bool is_script = line->count > 8;
    pt_span name = line->field[6], file = {0};
    int64_t row = 0, column = 0;
    if (is_script) {
        pt_span all = name;
        column = cut_number(&all);
        row = cut_number(&all);
        if (row == 0) row = column, column = 0;
        const char *blank = all.size > 0 ? memchr(all.at, ' ', all.size) : NULL;
        static const char *const accessors[] = {"get ", "set ", "static ", "async "};
        for (size_t i = 0; blank != NULL && i < PT_COUNT(accessors); i++) {
            const size_t bytes = strlen(accessors[i]);
            const char *const next = pt_span_begins(all, accessors[i])
                                         ? memchr(all.at + bytes, ' ', all.size - bytes)
                                         : NULL;
            if (next != NULL) blank = next;
        }
        if (blank != NULL) {
            name.size = (size_t)(blank - all.at);
            file = (pt_span){blank + 1, all.size - name.size - 1};
        }
        if (name.size == 0) name = (pt_span){"(anonymous)", 11};
    }
    pt_function function = {.name = intern_text(v, name, is_script),
                            .file = intern_text(v, file, is_script),
                            .start_line = row};
    if (!is_script) {
        PT_AUTO(pt_buf) text = {0};
        pt_put(&text, line->field[1].at, line->field[1].size);
        pt_put(&text, ":", 1);
        pt_put_text(&text, pt_builder_get_text(v->b, (pt_string_id){function.name}));
        function.name = pt_builder_string(v->b, (const char *)text.data, text.size).v;
    }
    const uint32_t id = pt_plain_location(v->b, &function, row, column);
    while (v->is_script.count <= id)
        PT_PUSH(v->is_script, 0);
    v->is_script.items[id] = is_script;
    return id;
}

/* The frame of an address; PT_NONE if the address lies in no known code. */
static uint32_t make_frame(v8_reader *v, uint64_t address, bool is_leaf)
{
    const code_slot *const library = find_code(&v->library, address);
    const code_slot *const code = library == NULL ? find_code(&v->code, address) : NULL;
    if (code != NULL) return code->row;
    if (library == NULL && !is_leaf) return PT_NONE;
    const pt_location location = {.mapping = library != NULL ? library->row : PT_NONE,
                                  .address = address,
                                  .flags =
                                      PT_LOCATION_USER | (is_leaf ? 0u : PT_LOCATION_RETURN_ADDR)};
    return pt_builder_location(v->b, &location, NULL, 0).v;
}

static void put_frame(v8_reader *v, uint64_t address)
{
    const uint32_t id = make_frame(v, address, v->frame.count == 0);
    if (id != PT_NONE) PT_PUSH(v->frame, id);
}

/* Is the address a JavaScript function at the top of the stack, whose frame does not exist yet? */
static bool is_script_at(const v8_reader *v, uint64_t address)
{
    const code_slot *const code = find_code(&v->code, address);
    return code != NULL && code->row < v->is_script.count && v->is_script.items[code->row];
}

static pt_labels_id label_state(v8_reader *v, int64_t state)
{
    /* StateTag in src/common/globals.h. */
    static const char *const names[] = {"js",       "gc",     "parser",   "bytecode compiler",
                                        "compiler", "other",  "external", "atomics wait",
                                        "idle",     "logging"};
    if (state < 0 || state >= (int64_t)PT_COUNT(names)) return PT_NO_LABELS;
    const pt_label label = {.key = pt_builder_text(v->b, "state").v,
                            .kind = PT_LABEL_STRING,
                            .str = pt_builder_text(v->b, names[state]).v};
    return pt_builder_labels(v->b, &label, 1);
}

static bool read_tick(v8_reader *v, v8_line *line)
{
    uint64_t pc, top;
    int64_t us, in_callback, state;
    if (!field_address(line, 1, &pc) || !field_number(line, 2, &us) ||
        !field_number(line, 3, &in_callback) || !field_address(line, 4, &top) ||
        !field_number(line, 5, &state))
        return false;
    if (in_callback) {
        pc = top;
        top = 0;
    }
    v->frame.count = 0;
    put_frame(v, pc);
    if (top != 0 && is_script_at(v, top)) put_frame(v, top);
    uint64_t before = pc;
    for (pt_span field; next_field(&line->rest, &field);) {
        const bool minus = pt_span_begins(field, "-"),
                   is_distance = minus || pt_span_skip(&field, "+");
        if (minus) pt_span_skip(&field, "-");
        uint64_t address;
        if (!take_address(field, &address)) continue; /* "overflow" */
        if (is_distance) before = minus ? before - address : before + address;
        put_frame(v, is_distance ? before : address);
    }
    const pt_sample sample = {
        .stack = pt_builder_stack(v->b, v->frame.items, v->frame.count, PT_STACK_END_UNKNOWN).v,
        .labels = label_state(v, state).v,
        .values = (int64_t[]){1, v->tick_ns},
        .time_ns = us < INT64_MAX / 1000 ? us * 1000 : INT64_MAX,
        .pid = PT_NONE,
        .tid = PT_NONE,
        .cpu = PT_NONE};
    pt_builder_timed_sample(v->b, &sample);
    return true;
}

static bool read_move(v8_reader *v, const v8_line *line)
{
    uint64_t from, to;
    if (!field_address(line, 1, &from) || !field_address(line, 2, &to)) return false;
    const code_slot *const code = find_code(&v->code, from);
    if (code == NULL || code->start != from)
        return true; /* the log does not say that the code was
                      * created */
    const code_slot moved = *code;
    remove_code(&v->code, from);
    add_code(&v->code, to, moved.end - moved.start, moved.row);
    return true;
}

/* Reads a line. Returns true for lines that do not concern the profile. */
static bool read_line(v8_reader *v, v8_line *line)
{
    uint64_t start, bytes;
    int64_t size;
    if (field_is(line, 0, "tick")) return read_tick(v, line);
    if (field_is(line, 0, "code-creation")) {
        if (line->count < 7 || !field_address(line, 4, &start) || !field_number(line, 5, &size))
            return false;
        bytes = (uint64_t)size;
        add_code(&v->code, start, bytes, make_code(v, line));
    } else if (field_is(line, 0, "code-move")) {
        return read_move(v, line);
    } else if (field_is(line, 0, "code-delete")) {
        if (!field_address(line, 1, &start)) return false;
        remove_code(&v->code, start);
    }
    return true;
}

/* Adds the mapping of a "shared-library" line. V8 writes a line for each mapped part of a file. The
 * start in each line is the address where the file begins, so the lines of a file have the same
 * start; the mapping of the file ends at the highest end in these lines. */
static void add_library(v8_reader *v, const v8_line *line)
{
    uint64_t start, end;
    if (!field_address(line, 2, &start) || !field_address(line, 3, &end) || end <= start) return;
    const uint32_t file = intern_text(v, line->field[1], false);
    const code_slot *const known = find_code(&v->library, start);
    uint32_t row = known != NULL ? known->row : PT_NONE;
    if (row == PT_NONE || pt_builder_mapping_at(v->b, (pt_mapping_id){row})->file != file)
        row = pt_builder_append_mapping(v->b,
                                        &(pt_mapping){.start = start, .limit = end, .file = file})
                  .v;
    pt_mapping *const mapping = pt_builder_mapping_at(v->b, (pt_mapping_id){row});
    if (mapping->start != start) return;
    if (mapping->limit < end) mapping->limit = end;
    add_code(&v->library, start, mapping->limit - start, row);
}

/* Collects the addresses where code and libraries begin, and the length of a tick. */
static void expect_code(v8_reader *v, const v8_line *line)
{
    uint64_t start;
    int64_t us;
    const bool is_move = field_is(line, 0, "code-move");
    if ((field_is(line, 0, "code-creation") && field_address(line, 4, &start)) ||
        (is_move && field_address(line, 2, &start)))
        code_map_expect(&v->code, start);
    else if (field_is(line, 0, "shared-library") && field_address(line, 2, &start))
        code_map_expect(&v->library, start);
    else if (field_is(line, 0, "profiler") && field_is(line, 1, "begin") &&
             field_number(line, 2, &us) && us > 0 && us < INT64_MAX / 1000)
        v->tick_ns = us * 1000;
}

static void read_log(v8_reader *v, pt_reader *reader)
{
    pt_span text;
    for (int round = 0; round < 3; round++) { /* addresses, libraries, all else */
        pt_reader lines = *reader;
        for (uint64_t at = pt_reader_offset(&lines); pt_span_line(&lines, &text);
             at = pt_reader_offset(&lines)) {
            v8_line line = split_line(text);
            if (round == 0)
                expect_code(v, &line);
            else if (round == 1 && field_is(&line, 0, "shared-library"))
                add_library(v, &line);
            else if (round == 2 && !read_line(v, &line) && v->odd++ == 0)
                v->first_odd = at;
        }
        if (round == 0) {
            code_map_ready(&v->code);
            code_map_ready(&v->library);
        }
    }
}

static pt_status v8_log_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                             pt_error *reterr)
{
    if (!pt_plain_begins(reader, MAGIC, reterr)) return PT_ERR_FORMAT;
    v8_reader v = {.b = builder, .tick_ns = 1000000};
    pt_plain_event(builder, "samples", "count");
    pt_plain_event(builder, "time", "nanoseconds");
    read_log(&v, reader);
    const pt_status status = pt_malformed_lines(builder, v.odd, v.first_odd, reterr);
    code_map_done(&v.code);
    code_map_done(&v.library);
    PT_FREE_ALL(v.is_script.items, v.frame.items);
    (void)hooks;
    return status;
}

static int probe_v8_log(const pt_probe_input *input)
{
    return pt_begins_n((const char *)input->head, input->head_bytes, MAGIC) ? 100 : 0;
}

const pt_format pt_format_v8_log = {
    .name = "v8-log",
    .aliases = "v8-prof",
    .summary = "V8's log of node --prof: isolate*-v8.log",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_LABELS | PT_CAN_LINES |
                    PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_TIME_ONLY | PT_CAN_NAMES |
                    PT_CAN_UNITS,
    .probe = probe_v8_log,
    .read = v8_log_read,
};
