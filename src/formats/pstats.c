/* pstats.c: reads the files that Python's cProfile and profile write: `python3 -m cProfile -o
 * FILE`.
 *
 *   marshal of {(file, line, name): (primitive calls, calls, own s, cumulative s, callers), ...}
 *   callers: {(file, line, name): (calls, primitive calls, own s, cumulative s), ...}
 *            in files of the module profile: only the number of calls
 *
 * Rule: CPython's Lib/cProfile.py (create_stats), Lib/profile.py, Python/marshal.c. An object whose
 * type has the bit 0x80 gets the next number; a later reference has that number.
 *
 * A function becomes a sample of one frame with its calls and own time; a caller becomes an arc. */
#include "base/units.h"
#include "formats/plain.h"

#include <math.h>
#include <stdlib.h>

enum { FLAG_REF = 0x80, NUMBERS_MAX = 4 };

typedef enum { OTHER, NUMBER, TEXT, FUNCTION, NUMBERS } value_kind;

typedef struct {
    value_kind kind;
    uint32_t id; /* of a text: string; of a function: location */
    size_t count;
    double number[NUMBERS_MAX];
} value;

typedef struct {
    uint32_t from, to;
    double calls, own, cumulative;
    bool has_times;
} call;

typedef struct {
    pt_builder *b;
    pt_reader *r;
    PT_VECTOR(value) ref;
    PT_VECTOR(call) call;
    uint64_t lost; /* numbers that the profile cannot hold */
} pstats_reader;

static value fail_value(pstats_reader *s, const char *wanted)
{
    pt_reader_fail(s->r, PT_ERR_DAMAGED, "a value that is no %s", wanted);
    return (value){.kind = OTHER};
}

/* Reserves the next number for the object if its type has FLAG_REF, so that later references may
 * use it. Returns SIZE_MAX for an object without a number. */
static size_t reserve_ref(pstats_reader *s, uint8_t type)
{
    if (!(type & FLAG_REF)) return SIZE_MAX;
    PT_PUSH(s->ref, (value){.kind = OTHER});
    return s->ref.count - 1;
}

static value set_ref(pstats_reader *s, size_t ref, value v)
{
    if (ref != SIZE_MAX) s->ref.items[ref] = v;
    return v;
}

static value find_ref(pstats_reader *s)
{
    const uint32_t number = pt_read_u32(s->r);
    if (number < s->ref.count) return s->ref.items[number];
    return fail_value(s, "object that was there before");
}

/* Reads a long: digits of 15 bits, the lowest first; a negative count of digits means a negative
 * number. */
static double read_long(pt_reader *r)
{
    const int32_t count = (int32_t)pt_read_u32(r);
    const uint32_t digits = (uint32_t)(count < 0 ? -(int64_t)count : count);
    double sum = 0;
    if (!pt_reader_has(r, digits, 2)) return 0;
    for (uint32_t i = 0; i < digits; i++)
        sum += ldexp(pt_read_u16(r), i < 64 ? 15 * (int)i : 1000);
    return count < 0 ? -sum : sum;
}

/* Reads a float as text, in versions 0 and 1 of marshal. */
static double read_float_text(pt_reader *r)
{
    char text[256];
    const uint8_t size = pt_read_u8(r);
    const uint8_t *const bytes = pt_read_bytes(r, size);
    if (bytes == NULL) return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    return strtod(text, NULL);
}

static value read_number(pstats_reader *s, uint8_t type)
{
    const size_t ref = reserve_ref(s, type);
    value v = {.kind = NUMBER, .count = 1};
    switch (type & ~FLAG_REF) {
    case 'i': v.number[0] = (int32_t)pt_read_u32(s->r); break;
    case 'l': v.number[0] = read_long(s->r); break;
    case 'f': v.number[0] = read_float_text(s->r); break;
    default: {
        const uint64_t bits = pt_read_u64(s->r);
        memcpy(&v.number[0], &bits, sizeof bits);
    }
    }
    return set_ref(s, ref, v);
}

static value read_text(pstats_reader *s, uint8_t type)
{
    const size_t ref = reserve_ref(s, type);
    const uint8_t kind = type & ~FLAG_REF;
    const uint64_t size = kind == 'z' || kind == 'Z' ? pt_read_u8(s->r) : pt_read_u32(s->r);
    const uint8_t *const bytes = pt_read_bytes(s->r, size);
    value v = {.kind = TEXT};
    if (bytes != NULL) v.id = pt_builder_string(s->b, (const char *)bytes, size).v;
    return set_ref(s, ref, v);
}

static value read_value(pstats_reader *s);

/* Makes a function; a builtin function has the file "~" and the line 0. */
static value make_function(pstats_reader *s, const value *file, const value *line,
                           const value *name)
{
    const bool has_file = strcmp(pt_builder_get_text(s->b, (pt_string_id){file->id}), "~") != 0;
    const double number = line->number[0];
    const pt_function function = {.name = name->id,
                                  .system_name = name->id,
                                  .file = has_file ? file->id : 0,
                                  .start_line =
                                      number >= 0 && number <= INT32_MAX ? (int64_t)number : 0};
    return (value){.kind = FUNCTION, .id = pt_plain_location(s->b, &function, 0, 0)};
}

/* Reads a tuple: a function, or numbers. */
static value read_tuple(pstats_reader *s, uint8_t type)
{
    const size_t ref = reserve_ref(s, type);
    const uint32_t count = (type & ~FLAG_REF) == ')' ? pt_read_u8(s->r) : pt_read_u32(s->r);
    value part[NUMBERS_MAX] = {0};
    if (count != 3 && count != 4) return fail_value(s, "function and no row of a caller");
    for (uint32_t i = 0; i < count && pt_reader_ok(s->r); i++)
        part[i] = read_value(s);
    if (count == 3 && part[0].kind == TEXT && part[1].kind == NUMBER && part[2].kind == TEXT)
        return set_ref(s, ref, make_function(s, &part[0], &part[1], &part[2]));
    value v = {.kind = NUMBERS, .count = count};
    for (uint32_t i = 0; i < count; i++) {
        if (part[i].kind != NUMBER) return fail_value(s, "row of numbers");
        v.number[i] = part[i].number[0];
    }
    return set_ref(s, ref, v);
}

/* Reads a number, a text, or a reference to an earlier object. Refuses tuples and dictionaries, so
 * that values do not nest; read_tuple and read_row call this function for the parts of tuples and
 * rows. */
static value read_value(pstats_reader *s)
{
    const uint8_t type = pt_read_u8(s->r);
    switch (type & ~FLAG_REF) {
    case 'r': return find_ref(s);
    case 'i':
    case 'l':
    case 'f':
    case 'g': return read_number(s, type);
    case 'u':
    case 't':
    case 'a':
    case 'A':
    case 's':
    case 'z':
    case 'Z': return read_text(s, type);
    default: return fail_value(s, "number or text");
    }
}

static value read_key_or_row(pstats_reader *s, uint8_t type)
{
    const uint8_t kind = type & ~FLAG_REF;
    if (kind == '(' || kind == ')') return read_tuple(s, type);
    if (kind == 'r') return find_ref(s);
    if (kind == 'i' || kind == 'l') return read_number(s, type);
    return fail_value(s, "function");
}

/* ---- Rows ---- */

static void read_callers(pstats_reader *s, uint32_t callee)
{
    const uint8_t type = pt_read_u8(s->r);
    reserve_ref(s, type);
    if ((type & ~FLAG_REF) != '{') {
        fail_value(s, "dictionary of callers");
        return;
    }
    for (uint8_t next; (next = pt_read_u8(s->r)) != '0' && pt_reader_ok(s->r);) {
        const value caller = read_key_or_row(s, next);
        if (pt_reader_ok(s->r) && caller.kind != FUNCTION) fail_value(s, "function");
        const value row = pt_reader_ok(s->r) ? read_key_or_row(s, pt_read_u8(s->r)) : (value){0};
        if (!pt_reader_ok(s->r)) return;
        const bool has_times = row.kind == NUMBERS && row.count == 4;
        if (!has_times && row.kind != NUMBER) {
            fail_value(s, "row of a caller");
            return;
        }
        PT_PUSH(s->call, (call){.from = caller.id,
                                .to = callee,
                                .calls = row.number[0],
                                .own = has_times ? row.number[2] : 0,
                                .cumulative = has_times ? row.number[3] : 0,
                                .has_times = has_times});
    }
}

/* Converts seconds. Python's module profile subtracts its own cost, so a time may be negative. */
static int64_t to_nanoseconds(pstats_reader *s, double seconds)
{
    const double ns = seconds * 1e9;
    if (ns > -9e18 && ns < 9e18) return llround(ns);
    s->lost++;
    return 0;
}

static int64_t to_count(pstats_reader *s, double number)
{
    if (number >= 0 && number < 9e18) return (int64_t)number;
    s->lost++;
    return 0;
}

static void read_row(pstats_reader *s, uint32_t location)
{
    const uint8_t type = pt_read_u8(s->r), kind = type & ~FLAG_REF;
    reserve_ref(s, type);
    const uint32_t count = kind == ')' ? pt_read_u8(s->r) : kind == '(' ? pt_read_u32(s->r) : 0;
    if (count != 5) {
        fail_value(s, "row of a function");
        return;
    }
    double number[NUMBERS_MAX] = {0};
    for (size_t i = 0; i < NUMBERS_MAX && pt_reader_ok(s->r); i++) {
        const value v = read_value(s);
        if (pt_reader_ok(s->r) && v.kind != NUMBER) fail_value(s, "number");
        number[i] = v.number[0];
    }
    if (!pt_reader_ok(s->r)) return;
    pt_builder_add(s->b, pt_builder_stack(s->b, &location, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                   (int64_t[]){to_count(s, number[1]), to_nanoseconds(s, number[2])});
    read_callers(s, location);
}

static void read_rows(pstats_reader *s)
{
    const uint8_t type = pt_read_u8(s->r);
    reserve_ref(s, type);
    if ((type & ~FLAG_REF) != '{') fail_value(s, "dictionary of functions");
    for (uint8_t next; (next = pt_read_u8(s->r)) != '0' && pt_reader_ok(s->r);) {
        const value key = read_key_or_row(s, next);
        if (pt_reader_ok(s->r) && key.kind != FUNCTION) fail_value(s, "function");
        if (pt_reader_ok(s->r)) read_row(s, key.id);
        if (!pt_reader_ok(s->r)) return;
    }
}

static void put_calls(pstats_reader *s)
{
    bool has_times = s->call.count > 0;
    for (size_t i = 0; i < s->call.count; i++)
        has_times &= s->call.items[i].has_times;
    for (size_t i = 0; i < s->call.count; i++) {
        const call *const c = &s->call.items[i];
        const int64_t cost[] = {to_count(s, c->calls), to_nanoseconds(s, c->cumulative)};
        pt_builder_arc(s->b, (pt_location_id){c->from}, (pt_location_id){c->to}, (uint64_t)cost[0],
                       has_times ? cost : NULL);
    }
}

static pt_status pstats_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                             pt_error *reterr)
{
    pstats_reader s = {.b = builder, .r = reader};
    pt_error error = PT_ERROR_INIT;
    reader->error = &error;
    pt_plain_event(builder, "calls", "count");
    pt_plain_event(builder, "time", "nanoseconds");
    read_rows(&s);
    put_calls(&s);
    pt_diag_add(hooks->diag, s.lost, "calls, or times, without a number of 63 bits counted as 0");
    PT_FREE_ALL(s.ref.items, s.call.items);
    if (error.status == PT_OK) return PT_OK;
    return pt_error_set(reterr, PT_ERR_DAMAGED, "%s; kept %s", error.message,
                        pt_count_noun(pt_builder_sample_count(builder), "functions").text);
}

/* Recognizes a dictionary that is empty, or whose first key is a tuple of three items that begins
 * with a text. */
static int probe_pstats(const pt_probe_input *input)
{
    const uint8_t *const h = input->head;
    const uint8_t tuple = h[1] & ~FLAG_REF;
    if ((h[0] & ~FLAG_REF) != '{') return 0;
    if (h[1] == '0' && input->file_bytes == 2) return 90;
    const size_t first = tuple == ')' ? 3 : 6;
    const bool is_three =
        (tuple == ')' && h[2] == 3) || (tuple == '(' && memcmp(h + 2, "\3\0\0\0", 4) == 0);
    const uint8_t text = h[first] & ~FLAG_REF;
    return is_three && text != 0 && strchr("utaAszZ", text) != NULL ? 90 : 0;
}

const pt_format pt_format_pstats = {
    .name = "pstats",
    .aliases = "cprofile",
    .extensions = ".pstats",
    .summary = "Python's cProfile and profile (pstats)",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities =
        PT_CAN_CALLS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_ARCS | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_pstats,
    .read = pstats_read,
};
