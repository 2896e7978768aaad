/* callgrind.c: reads the files of valgrind's callgrind, and of other tools for KCachegrind.
 *
 *   positions: instr line         the numbers at the start of a cost line: address, line (default)
 *   events: Ir Dr                 the other numbers of a cost line; missing ones are 0
 *   ob=(1) /bin/x                 object, file and function of the following lines; a later
 *   fl=(2) a.c                    "(3)" repeats the name
 *   fn=(3) main
 *   fi=(4) b.h                    the same function in another file; fe= returns to the first
 *   16 400                        cost of line 16; +n, -n and * are relative to the previous line
 *   cob=, cfi= or cfl=            object and file of the next call's callee, if they differ
 *   cfn=(5) f                     function of the next call's callee
 *   calls=3 20                    three calls to line 20 of the callee; the next line is the call's
 *   16 1200                       position and its inclusive cost
 *   jump=, jcnd=                  jumps; a line with their position follows
 *
 * Specification: "Callgrind Format Specification" of the valgrind manual (cl-format). In addition:
 * - A function is identified by object, file of its cost lines and name, as in callgrind_annotate.
 * - A name may be used before its definition.
 * - Costs may be relative to the costs of the previous line, as speedscope's reader accepts them.
 * - An event "Time_(10ns)" or "cpu(ms)" states its unit, as converters for KCachegrind write it.
 * - The first event is the default, unless a line "desc: Default event: cpu(ms)" names another. The
 *   specification lets readers ignore descriptions of unknown types.
 *
 * Costs become samples of one frame; calls become arcs with their inclusive cost. */
#include "formats/callgrind.h"

#include <inttypes.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/legacy.h"

enum { EVENTS_MAX = 256, POSITIONS_MAX = 2 };

typedef enum { NAMES_OBJECT, NAMES_FILE, NAMES_FUNCTION, NAMES_COUNT } name_kind;

/* Compressed names: number -> string + 1; 0 = not defined. */
typedef PT_VECTOR(uint32_t) name_table;

/* The place to which cost lines belong. */
typedef struct {
    uint32_t object, file, function; /* strings */
    uint32_t place;                  /* row of places; PT_NONE = not searched yet */
} where;

/* A distinct function in a file of an object. Its positions form a chain in the order of their
 * appearance. A function's lines ascend, and each part of the file repeats the order of the
 * previous part. So the position of a cost line nearly always follows `latest` in the chain. */
typedef struct {
    uint32_t object, file, function; /* strings */
    uint32_t function_id, mapping_id;
    uint32_t first, last; /* ends of the chain; PT_NONE = none */
    uint32_t latest;      /* the position used last */
    bool is_ascending;
} place;

/* A distinct position in a place. */
typedef struct {
    uint64_t address;
    int64_t line;
    uint32_t place, next; /* next: next position of the chain */
    uint32_t location;
    uint32_t stack; /* PT_NONE until the position has a cost */
} position;

/* The calls from one position to another position. */
typedef struct {
    uint32_t from, to; /* locations */
    uint64_t calls;
} call_row;

typedef struct {
    pt_builder *b;
    const pt_read_hooks *hooks;
    pt_reader *lines;
    pt_reader whole;                                 /* all lines, from the start */
    name_table names[NAMES_COUNT], all[NAMES_COUNT]; /* names defined so far; first definition of
                                                      * each name in the whole file */
    bool has_all;                                    /* all is filled */
    bool has_addr, has_line;
    uint32_t events;
    pt_span event_list;          /* the "events:" line of the first part */
    pt_span shown;               /* the default event that a "desc:" line names */
    int64_t scale[EVENTS_MAX];   /* factor of costs */
    int64_t cost[EVENTS_MAX];    /* costs of the latest line */
    int64_t sum[EVENTS_MAX];     /* sums of the current part */
    int64_t claimed[EVENTS_MAX]; /* sums that the part itself states */
    bool has_claim;
    uint64_t at[POSITIONS_MAX]; /* address, line of the latest cost line */
    where here, callee;
    bool has_callee_file, has_callee_object;
    uint64_t calls, target[POSITIONS_MAX];
    bool is_call, is_jump; /* the next line with a position ends a "calls=" or a jump */
    PT_VECTOR(place) place;
    PT_VECTOR(position) position;
    PT_VECTOR(call_row) call;
    PT_VECTOR(int64_t) call_cost;        /* a value of each event for each call */
    uint32_t latest_call, latest_object; /* latest_call: row; latest_object: string */
    uint32_t indexed;                    /* number of positions in position_index */
    pt_index place_index, position_index, call_index;
    uint32_t parts;
    uint64_t line_number, bad_lines, first_bad, jumps, undefined, differing, surplus;
} callgrind_reader;

/* ---- Probing ---- */

static bool is_cost_line(pt_span line)
{
    return line.size > 0 && (line.at[0] == '+' || line.at[0] == '*' || line.at[0] == '-' ||
                             (line.at[0] >= '0' && line.at[0] <= '9'));
}

static int probe_callgrind(const pt_probe_input *input)
{
    pt_reader r;
    pt_span line;
    bool events = false, function = false, costs = false;
    pt_reader_init(&r, input->head, input->head_bytes, NULL);
    for (unsigned n = 0; pt_span_line(&r, &line); n++) {
        if (n == 0 && pt_span_begins(line, "# callgrind format")) return 95;
        if (line.size > 0 && memchr(line.at, '\0', line.size) != NULL) return 0;
        events |= pt_span_begins(line, "events:");
        function |= events && pt_span_begins(line, "fn=");
        costs |= function && is_cost_line(line);
    }
    return events && function && costs ? 80 : 0;
}

/* ---- Numbers ---- */

/* Parses digits whose value may exceed 64 bits. Returns UINT64_MAX if the value does. */
static uint64_t parse_long_number(const char *at, size_t bytes, unsigned base)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (unsigned)pt_hex_digit(at[i]), &value))
            return UINT64_MAX;
    }
    return value;
}

/* Parses decimal digits, or hexadecimal ones after 0x. A value beyond 64 bits becomes UINT64_MAX.
 * Returns false if there are no digits. */
static bool take_digits(pt_span *s, uint64_t *ret_value)
{
    const char *at = s->at, *const end = s->at + s->size;
    const bool is_hex = s->size > 2 && at[0] == '0' && (at[1] | 0x20) == 'x';
    uint64_t value = 0;
    at += is_hex ? 2 : 0;
    const char *const begin = at;
    if (is_hex)
        for (unsigned digit; at < end && (digit = (unsigned)pt_hex_digit(*at)) < 16; at++)
            value = value << 4 | digit;
    else
        for (unsigned digit; at < end && (digit = (unsigned)(*at - '0')) < 10; at++)
            value = value * 10 + digit;
    const size_t bytes = (size_t)(at - begin);
    if (bytes == 0) return false;
    *ret_value = bytes < 16 ? value : parse_long_number(begin, bytes, is_hex ? 16 : 10);
    s->at = at;
    s->size = (size_t)(end - at);
    return true;
}

/* Parses a number, or a number relative to *value: "+n", "-n", "*". */
static bool take_relative(pt_span *s, uint64_t *value)
{
    uint64_t n;
    pt_span_skip_blanks(s);
    if (s->size == 0) return false;
    const char c = s->at[0];
    if (c != '*' && c != '+' && c != '-') return take_digits(s, value);
    s->at++;
    s->size--;
    if (c == '*') return true;
    if (!take_digits(s, &n)) return false;
    *value = c == '+' ? *value + n : *value - n;
    return true;
}

/* Parses the position at the start of a line into `into`. Relative numbers count from `base`. */
static bool take_position(const callgrind_reader *c, pt_span *s, const uint64_t *base,
                          uint64_t *into)
{
    uint64_t value[POSITIONS_MAX] = {base[0], base[1]};
    if ((c->has_addr && !take_relative(s, &value[0])) ||
        (c->has_line && !take_relative(s, &value[1])))
        return false;
    into[0] = value[0];
    into[1] = value[1];
    return true;
}

static bool take_costs(callgrind_reader *c, pt_span *s)
{
    uint32_t e = 0;
    for (pt_span_skip_blanks(s); s->size > 0 && e < c->events; e++) {
        uint64_t value = (uint64_t)c->cost[e];
        if (!take_relative(s, &value)) return false;
        c->cost[e] = value > INT64_MAX ? INT64_MAX : (int64_t)value;
        pt_span_skip_blanks(s);
    }
    c->surplus += s->size > 0;
    for (; e < c->events; e++)
        c->cost[e] = 0;
    return true;
}

/* ---- Names ---- */

/* Parses the id of "(12) name", "(12)" or "name", and moves *s to the name. *ret_id is the id + 1,
 * or 0 if there is no id. Returns false if the id exceeds the limit. */
static bool take_name(pt_span *s, uint64_t *ret_id)
{
    *ret_id = 0;
    if (s->size < 2 || s->at[0] != '(' || s->at[1] < '0' || s->at[1] > '9') return true;
    pt_span rest = {s->at + 1, s->size - 1};
    if (!take_digits(&rest, ret_id) || rest.size == 0 || rest.at[0] != ')') {
        *ret_id = 0; /* a name that begins with a parenthesis */
        return true;
    }
    rest.at++;
    rest.size--;
    pt_span_skip_blanks(&rest);
    *s = rest;
    ++*ret_id; /* 0 means no id, but "(0)" is an id */
    return *ret_id != 0;
}

static void define_name(name_table *table, uint64_t id, uint32_t string)
{
    if (id > table->count) {
        const size_t old = table->count;
        PT_GROW(*table, id);
        memset(table->items + old, 0, (id - old) * sizeof *table->items);
        table->count = id;
    }
    table->items[id - 1] = string + 1;
}

static uint32_t find_name(const name_table *table, uint64_t id)
{
    return id <= table->count && table->items[id - 1] > 0 ? table->items[id - 1] - 1 : PT_NONE;
}

/* The string of a name. callgrind writes "???" for an unknown name. */
static uint32_t add_name(callgrind_reader *c, name_kind kind, pt_span name)
{
    if (pt_equals_n(name.at, name.size, "???")) name.size = 0;
    if (name.size == 0 && kind == NAMES_FUNCTION) return pt_builder_text(c->b, "[unknown]").v;
    return pt_builder_string(c->b, name.at, name.size).v;
}

static const struct {
    const char *key;
    name_kind kind;
    enum {
        SETS_OBJECT,
        SETS_FILE,
        SETS_FUNCTION,
        SETS_C_OBJECT,
        SETS_C_FILE,
        SETS_C_FUNCTION,
        SETS_NOTHING
    } sets;
} places[] = {
    {"fn=", NAMES_FUNCTION, SETS_FUNCTION}, {"cfn=", NAMES_FUNCTION, SETS_C_FUNCTION},
    {"cfi=", NAMES_FILE, SETS_C_FILE},      {"cfl=", NAMES_FILE, SETS_C_FILE},
    {"cob=", NAMES_OBJECT, SETS_C_OBJECT},  {"fi=", NAMES_FILE, SETS_FILE},
    {"fe=", NAMES_FILE, SETS_FILE},         {"fl=", NAMES_FILE, SETS_FILE},
    {"ob=", NAMES_OBJECT, SETS_OBJECT},     {"jfi=", NAMES_FILE, SETS_NOTHING},
    {"jfn=", NAMES_FUNCTION, SETS_NOTHING},
};

/* Returns the index in `places` of the key that begins the line, or -1 if the line begins with no
 * key. *ret_name is the text after the "=", without blanks around it. */
static int place_line(pt_span line, pt_span *ret_name)
{
    for (size_t i = 0; i < PT_COUNT(places); i++) {
        if (line.size < 2 || line.at[0] != places[i].key[0] || line.at[1] != places[i].key[1])
            continue;
        if (!pt_span_skip(&line, places[i].key)) continue;
        *ret_name = pt_span_trim(line);
        return (int)i;
    }
    return -1;
}

/* Records the first definition of each name in the file, for names that are used before they are
 * defined. */
static void find_names(callgrind_reader *c)
{
    pt_reader lines = c->whole;
    pt_span line, name;
    if (c->has_all) return;
    c->has_all = true;
    while (pt_span_line(&lines, &line)) {
        if (line.size == 0 || line.at[0] < 'a' || memchr(line.at, '(', line.size) == NULL) continue;
        const int which = place_line(line, &name);
        uint64_t id;
        if (which < 0 || !take_name(&name, &id) || id == 0 || name.size == 0) continue;
        const name_kind kind = places[which].kind;
        if (id > (uint64_t)(lines.end - lines.start) || find_name(&c->all[kind], id) != PT_NONE)
            continue;
        define_name(&c->all[kind], id, add_name(c, kind, name));
    }
}

/* The string of "(id) name". */
static uint32_t name_of(callgrind_reader *c, name_kind kind, pt_span s)
{
    uint64_t id;
    if (!take_name(&s, &id)) return 0;
    if (id == 0) return add_name(c, kind, s);
    /* A file defines fewer names than it has bytes. */
    const bool sane = id <= (uint64_t)(c->lines->end - c->lines->start);
    if (s.size > 0) {
        const uint32_t string = add_name(c, kind, s);
        if (sane) define_name(&c->names[kind], id, string);
        return string;
    }
    uint32_t string = find_name(&c->names[kind], id);
    if (string != PT_NONE) return string;
    find_names(c);
    string = find_name(&c->all[kind], id);
    if (string != PT_NONE) return string;
    c->undefined++;
    return add_name(c, kind, (pt_span){0});
}

/* ---- Header ---- */

/* Adds an event such as "Time_(10ns)": type, unit and factor. */
static void add_event(callgrind_reader *c, pt_span name)
{
    pt_span type = name, unit = {"count", 5};
    int64_t scale = 1;
    const char *const open = memrchr(name.at, '(', name.size);
    if (open != NULL && open > name.at && name.at[name.size - 1] == ')') {
        unit = (pt_span){open + 1, (size_t)(name.at + name.size - 1 - (open + 1))};
        type.size = (size_t)(open - name.at);
        if (type.size > 1 && type.at[type.size - 1] == '_') type.size--;
        pt_span digits = unit;
        uint64_t n;
        if (take_digits(&digits, &n) && digits.size > 0 && n > 0 && n < 1000000000) {
            scale = (int64_t)n;
            unit = digits;
        }
    }
    PT_FREE char *text = pt_strndup(unit.at, unit.size);
    const pt_unit *const known = pt_unit_parse(text);
    if (known != NULL && known->factor == 1) /* the usual spelling of the unit, so that profiles
                                              * merge */
        unit = known->family == PT_FAMILY_TIME    ? (pt_span){"nanoseconds", 11}
               : known->family == PT_FAMILY_BYTES ? (pt_span){"bytes", 5}
                                                  : unit;
    c->scale[c->events++] = scale;
    const pt_event event = {.type = pt_builder_string(c->b, type.at, type.size).v,
                            .unit = pt_builder_string(c->b, unit.at, unit.size).v};
    pt_builder_event(c->b, &event);
}

static pt_status take_events(callgrind_reader *c, pt_span list, pt_error *reterr)
{
    pt_span word;
    if (c->parts++ > 0) { /* another part of the same run must have the same events */
        if (list.size == c->event_list.size && memcmp(list.at, c->event_list.at, list.size) == 0)
            return PT_OK;
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "line %" PRIu64 " begins a part with other events than the first part; "
                            "this part and all after it are left out; kept %s",
                            c->line_number,
                            pt_count_noun(pt_builder_sample_count(c->b), "costs").text);
    }
    c->event_list = list;
    while (pt_span_word(&list, &word)) {
        if (c->events == EVENTS_MAX)
            return pt_error_set(reterr, PT_ERR_LIMIT, "more than %d events", EVENTS_MAX);
        add_event(c, word);
    }
    if (c->events == 0)
        return pt_error_set(reterr, PT_ERR_FORMAT, "the line \"events:\" has no names");
    pt_builder_provenance(c->b)->default_event =
        pt_builder_event_at(c->b, 0)->type; /* as in callgrind's tools */
    return PT_OK;
}

/* Sets the default event: the event that the file names, else the file's first event, as
 * callgrind_annotate and KCachegrind do. */
static void choose_event(callgrind_reader *c)
{
    pt_span list = c->event_list, word;
    uint32_t shown = 0;
    for (uint32_t e = 0; c->shown.size > 0 && pt_span_word(&list, &word); e++) {
        if (word.size == c->shown.size && memcmp(word.at, c->shown.at, word.size) == 0) shown = e;
    }
    if (c->events > 0) pt_builder_set_default_event(c->b, shown);
}

static void take_positions(callgrind_reader *c, pt_span list)
{
    pt_span word;
    c->has_addr = c->has_line = false;
    while (pt_span_word(&list, &word)) {
        c->has_addr |= pt_equals_n(word.at, word.size, "instr");
        c->has_addr |= pt_equals_n(word.at, word.size, "addr");
        c->has_line |= pt_equals_n(word.at, word.size, "line");
    }
}

/* Compares the sums of a part's costs with the sums that the part states, and begins the next
 * part. */
static void end_part(callgrind_reader *c)
{
    for (uint32_t e = 0; e < c->events; e++) {
        c->differing += c->has_claim && c->claimed[e] != c->sum[e];
        c->sum[e] = c->claimed[e] = 0;
    }
    c->has_claim = false;
}

static void take_claim(callgrind_reader *c, pt_span numbers)
{
    uint64_t value;
    for (uint32_t e = 0; e < c->events; e++) {
        pt_span_skip_blanks(&numbers);
        if (!take_digits(&numbers, &value)) break;
        c->claimed[e] = value > INT64_MAX ? INT64_MAX : (int64_t)value;
        c->has_claim |= value > 0; /* all 0 means unknown */
    }
}

static void keep_header(callgrind_reader *c, pt_span key, pt_span value)
{
    pt_provenance *const from = pt_builder_provenance(c->b);
    if (c->parts > 0) return; /* later parts repeat the header of the first part */
    if (pt_span_begins(key, "cmd")) {
        from->command_line = pt_builder_string(c->b, value.at, value.size).v;
    } else if (pt_span_begins(key, "creator")) {
        from->tool = pt_builder_string(c->b, value.at, value.size).v;
    } else if (key.size == 4 && pt_span_begins(key, "desc") &&
               pt_span_skip(&value, CALLGRIND_SHOWN)) {
        c->shown = value;
    } else {
        PT_FREE char *name = pt_strf(CALLGRIND_EXTRA "%.*s", (int)key.size, key.at);
        pt_builder_extra(c->b, pt_builder_text(c->b, name),
                         pt_builder_string(c->b, value.at, value.size));
    }
}

/* Parses "key: value". *ret_is_one is true if the line has this form. Fails if the value is
 * invalid. */
static pt_status header_line(callgrind_reader *c, pt_span line, bool *ret_is_one, pt_error *reterr)
{
    size_t length = 0;
    while (length < line.size &&
           ((line.at[length] | 0x20) >= 'a' && (line.at[length] | 0x20) <= 'z'))
        length++;
    *ret_is_one = length > 0 && length < line.size && line.at[length] == ':';
    if (!*ret_is_one) return PT_OK;
    const pt_span key = {line.at, length};
    pt_span value = pt_span_trim((pt_span){line.at + length + 1, line.size - length - 1});
    if (pt_span_begins(line, "events:")) return take_events(c, value, reterr);
    if (pt_span_begins(line, "part:")) end_part(c);
    if (pt_span_begins(line, "version:")) {
        uint64_t version = 0;
        if (take_digits(&value, &version) && version > 1)
            return pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                                "version %" PRIu64 " of the format; 1 is known", version);
    } else if (pt_span_begins(line, "positions:")) {
        take_positions(c, value);
    } else if (pt_span_begins(line, "summary:") || pt_span_begins(line, "totals:")) {
        take_claim(c, value);
    } else {
        keep_header(c, key, value);
    }
    return PT_OK;
}

/* ---- Body ---- */

static uint32_t add_place(callgrind_reader *c, const where *w, uint64_t hash)
{
    const uint32_t id = (uint32_t)c->place.count;
    PT_GROW(c->place, c->place.count + 1);
    const uint32_t name =
        w->function != 0 ? w->function : add_name(c, NAMES_FUNCTION, (pt_span){0});
    const pt_function function = {.name = name, .file = w->file};
    const pt_mapping mapping = {.file = w->object};
    c->place.items[c->place.count++] = (place){
        .object = w->object,
        .file = w->file,
        .function = w->function,
        .function_id = pt_builder_function(c->b, &function).v,
        .mapping_id = w->object != 0 ? pt_builder_mapping(c->b, &mapping).v : PT_NONE,
        .first = PT_NONE,
        .last = PT_NONE,
        .latest = PT_NONE,
        .is_ascending = true,
    };
    pt_index_add(&c->place_index, hash, id);
    return id;
}

static place *place_of(callgrind_reader *c, where *w)
{
    if (w->place != PT_NONE) return &c->place.items[w->place];
    const uint64_t hash = pt_hash_mix((uint64_t)w->object << 32 | w->file, w->function);
    PT_INDEX_EACH (&c->place_index, hash, id) {
        const place *const p = &c->place.items[id];
        if (p->object != w->object || p->file != w->file || p->function != w->function) continue;
        w->place = id;
        return &c->place.items[id];
    }
    w->place = add_place(c, w, hash);
    return &c->place.items[w->place];
}

static uint64_t position_hash(const position *p)
{
    return pt_hash_mix(pt_hash_mix(p->place, p->address), (uint64_t)p->line);
}

static bool is_at(const position *p, uint64_t address, int64_t line)
{
    return p->address == address && p->line == line;
}

/* Finds a position of a place among all its positions. Returns PT_NONE if the position is new. Few
 * look-ups get here, so the index is filled on demand. */
static uint32_t find_position(callgrind_reader *c, const position *wanted)
{
    for (; c->indexed < c->position.count; c->indexed++)
        pt_index_add(&c->position_index, position_hash(&c->position.items[c->indexed]), c->indexed);
    PT_INDEX_EACH (&c->position_index, position_hash(wanted), id) {
        const position *const p = &c->position.items[id];
        if (p->place == wanted->place && is_at(p, wanted->address, wanted->line)) return id;
    }
    return PT_NONE;
}

static uint32_t add_position(callgrind_reader *c, place *p, position row)
{
    const uint32_t id = (uint32_t)c->position.count;
    const pt_line line = {.function = p->function_id, .line = row.line};
    const pt_location location = {.mapping = p->mapping_id, .address = row.address};
    row.location = pt_builder_append_location(c->b, &location, &line, 1).v;
    PT_PUSH(c->position, row);
    if (p->first == PT_NONE)
        p->first = id;
    else
        c->position.items[p->last].next = id;
    p->last = id;
    return id;
}

/* Finds the position of this address and line among three of the place: its latest position, the
 * position after the latest, and its first position. Returns PT_NONE if it is none of these. */
static uint32_t near_position(const callgrind_reader *c, const place *p, uint64_t address,
                              int64_t line)
{
    const uint32_t next = p->latest == PT_NONE ? PT_NONE : c->position.items[p->latest].next;
    const uint32_t near[] = {next, p->latest, p->first};
    for (size_t i = 0; i < PT_COUNT(near); i++) {
        if (near[i] != PT_NONE && is_at(&c->position.items[near[i]], address, line)) return near[i];
    }
    return PT_NONE;
}

static position *position_at(callgrind_reader *c, where *w, const uint64_t *at)
{
    place *const p = place_of(c, w);
    const position row = {.address = at[0],
                          .line = at[1] > INT64_MAX ? 0 : (int64_t)at[1],
                          .place = w->place,
                          .next = PT_NONE,
                          .stack = PT_NONE};
    uint32_t id = near_position(c, p, row.address, row.line);
    if (id == PT_NONE) {
        const position *const last = p->last == PT_NONE ? NULL : &c->position.items[p->last];
        const bool is_beyond = last == NULL || row.address > last->address ||
                               (row.address == last->address && row.line > last->line);
        if (!is_beyond || !p->is_ascending) id = find_position(c, &row);
        if (id == PT_NONE) {
            p->is_ascending &= is_beyond;
            id = add_position(c, p, row);
        }
    }
    p->latest = id;
    return &c->position.items[id];
}

static void set_place(callgrind_reader *c, int which, pt_span name)
{
    const uint32_t string = name_of(c, places[which].kind, name);
    /* Mappings keep the order in which the file names the objects. */
    if (places[which].kind == NAMES_OBJECT && string != 0 && string != c->latest_object) {
        pt_builder_mapping(c->b, &(pt_mapping){.file = string});
        c->latest_object = string;
    }
    switch (places[which].sets) {
    case SETS_OBJECT: c->here.object = string; break;
    case SETS_FILE: c->here.file = string; break;
    case SETS_FUNCTION: c->here.function = string; break;
    case SETS_C_OBJECT:
        c->callee.object = string;
        c->has_callee_object = true;
        break;
    case SETS_C_FILE:
        c->callee.file = string;
        c->has_callee_file = true;
        break;
    case SETS_C_FUNCTION: /* object and file were set for this call only */
        if (!c->has_callee_object) c->callee.object = c->here.object;
        if (!c->has_callee_file) c->callee.file = c->here.file;
        c->callee.function = string;
        c->callee.place = PT_NONE;
        c->has_callee_file = c->has_callee_object = false;
        break;
    case SETS_NOTHING: break;
    }
    if (places[which].sets <= SETS_FUNCTION) c->here.place = PT_NONE;
}

static bool begin_call(callgrind_reader *c, pt_span rest)
{
    if (!take_digits(&rest, &c->calls)) return false;
    pt_span_skip_blanks(&rest);
    c->target[0] = c->target[1] = 0;
    c->is_call = true;
    return rest.size == 0 || take_position(c, &rest, c->at, c->target);
}

static bool is_between(const call_row *call, uint32_t from, uint32_t to)
{
    return call->from == from && call->to == to;
}

/* The row of the calls between two positions. The row after the latest call is tried first, since
 * each part of the file repeats the order of the previous part. */
static uint32_t call_between(callgrind_reader *c, uint32_t from, uint32_t to)
{
    const size_t next = (size_t)c->latest_call + 1;
    if (next < c->call.count && is_between(&c->call.items[next], from, to)) return (uint32_t)next;
    const uint64_t hash = pt_hash_u32_pair(from, to);
    const uint32_t found =
        PT_INDEX_FIND(&c->call_index, hash, id, is_between(&c->call.items[id], from, to));
    if (found != PT_NONE) return found;
    const uint32_t id = (uint32_t)c->call.count++;
    PT_GROW(c->call, c->call.count);
    PT_GROW(c->call_cost, c->call.count * c->events);
    c->call.items[id] = (call_row){.from = from, .to = to};
    memset(&c->call_cost.items[(size_t)id * c->events], 0, c->events * sizeof(int64_t));
    pt_index_add(&c->call_index, hash, id);
    return id;
}

/* Adds a call to the sum of the calls between two positions, since several lines may state them. */
static void add_call(callgrind_reader *c, uint32_t from, uint32_t to, const int64_t *cost)
{
    const uint32_t id = c->latest_call = call_between(c, from, to);
    c->call.items[id].calls = pt_saturating_count(c->call.items[id].calls, c->calls);
    for (uint32_t e = 0; e < c->events; e++)
        pt_saturating_into(&c->call_cost.items[(size_t)id * c->events + e], cost[e]);
}

static void put_calls(callgrind_reader *c)
{
    for (size_t i = 0; i < c->call.count; i++)
        pt_builder_arc(c->b, (pt_location_id){c->call.items[i].from},
                       (pt_location_id){c->call.items[i].to}, c->call.items[i].calls,
                       &c->call_cost.items[i * c->events]);
    PT_FREE_ALL(c->call.items, c->call_cost.items);
    pt_index_done(&c->call_index);
}

static void add_cost(callgrind_reader *c)
{
    for (uint32_t e = 0; e < c->events; e++) {
        if (__builtin_add_overflow(c->sum[e], c->cost[e], &c->sum[e])) c->sum[e] = INT64_MAX;
    }
}

static bool cost_line(callgrind_reader *c, pt_span line)
{
    int64_t scaled[EVENTS_MAX];
    const bool is_call = c->is_call, is_jump = c->is_jump;
    c->is_call = c->is_jump = false;
    if (!take_position(c, &line, c->at, c->at)) return false;
    if (is_jump) return true;
    if (!take_costs(c, &line)) return false;
    for (uint32_t e = 0; e < c->events; e++) {
        if (__builtin_mul_overflow(c->cost[e], c->scale[e], &scaled[e])) scaled[e] = INT64_MAX;
    }
    position *const at = position_at(c, &c->here, c->at);
    if (is_call) {
        const uint32_t from = at->location; /* read first, since the array of positions may move */
        add_call(c, from, position_at(c, &c->callee, c->target)->location, scaled);
        return true;
    }
    add_cost(c);
    if (at->stack == PT_NONE)
        at->stack = pt_builder_new_stack(c->b, &at->location, 1, PT_STACK_END_UNKNOWN).v;
    pt_builder_add(c->b, (pt_stack_id){at->stack}, PT_NO_LABELS, scaled);
    return true;
}

static pt_status body_line(callgrind_reader *c, pt_span line, pt_error *reterr)
{
    pt_span rest;
    bool fine;
    if (is_cost_line(line) && c->events > 0) {
        fine = cost_line(c, line);
    } else {
        const int which = place_line(line, &rest);
        if (which >= 0) {
            set_place(c, which, rest);
            return PT_OK;
        }
        rest = line;
        if (pt_span_skip(&rest, "calls=")) {
            fine = begin_call(c, rest);
        } else if (pt_span_begins(line, "jump=") || pt_span_begins(line, "jcnd=")) {
            c->jumps++;
            fine = c->is_jump = true;
        } else {
            const pt_status status = header_line(c, line, &fine, reterr);
            if (status != PT_OK) return status;
        }
    }
    if (!fine && c->bad_lines++ == 0) c->first_bad = c->line_number;
    return PT_OK;
}

/* ---- The whole file ---- */

static void report_facts(const callgrind_reader *c)
{
    pt_diag *const diag = c->hooks->diag;
    pt_diag_add(diag, c->jumps, "jumps left out: reports have no place for them");
    pt_diag_add(diag, c->undefined,
                "abbreviated names that the file does not define, shown as unknown");
    pt_diag_add(diag, c->differing, "sums in the file different from the sums of its lines");
    pt_diag_add(diag, c->surplus,
                "lines with more costs than events: the costs beyond them are left out");
}

static pt_status read_lines(callgrind_reader *c, pt_error *reterr)
{
    pt_span line;
    pt_status status = PT_OK;
    while (status == PT_OK && pt_span_line(c->lines, &line)) {
        c->line_number++;
        if (c->line_number % 4096 == 0 && c->hooks->reach != NULL)
            c->hooks->reach(c->hooks->context, pt_reader_offset(c->lines));
        pt_span_skip_blanks(&line);
        if (line.size == 0 || line.at[0] == '#') continue;
        status = body_line(c, line, reterr);
    }
    end_part(c);
    return status;
}

static pt_status callgrind_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                                pt_error *reterr)
{
    PT_FREE callgrind_reader *const c = pt_alloc(1, sizeof *c);
    c->b = builder;
    c->hooks = hooks;
    c->lines = reader;
    c->whole = *reader;
    c->has_line = true;
    c->here.place = c->callee.place = PT_NONE;
    c->latest_call = PT_NONE;
    pt_index_init(&c->place_index);
    pt_index_init(&c->position_index);
    pt_index_init(&c->call_index);
    pt_status status = read_lines(c, reterr);
    put_calls(c);
    choose_event(c);
    report_facts(c);
    if (status == PT_OK && c->parts == 0)
        status = pt_error_set(reterr, PT_ERR_FORMAT, "there is no line events:");
    else if (status == PT_OK && (c->bad_lines > 0 || c->undefined > 0 || c->is_call))
        status = pt_error_set(reterr, PT_ERR_DAMAGED, "line %" PRIu64 " %s; kept %s",
                              c->bad_lines > 0 ? c->first_bad : c->line_number,
                              c->bad_lines > 0 ? "is none of the format's"
                              : c->is_call ? "is a call without its cost: the file ends too early"
                                           : "is the last, and names are defined nowhere",
                              pt_count_noun(pt_builder_sample_count(builder), "costs").text);
    for (size_t k = 0; k < NAMES_COUNT; k++)
        PT_FREE_ALL(c->names[k].items, c->all[k].items);
    pt_index_done(&c->place_index);
    pt_index_done(&c->position_index);
    PT_FREE_ALL(c->place.items, c->position.items);
    return status;
}

const pt_format pt_format_callgrind = {
    .name = "callgrind",
    .aliases = "kcachegrind",
    .extensions = ".callgrind .callgrind.out",
    .summary = "valgrind's callgrind, and what others write for KCachegrind",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_CALLS | PT_CAN_EVENTS | PT_CAN_DEFAULT | PT_CAN_LINES | PT_CAN_IMAGES |
                    PT_CAN_ARCS | PT_CAN_EXTRA | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_callgrind,
    .read = callgrind_read,
    .write = pt_callgrind_write,
};
