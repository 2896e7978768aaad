/* jfr.c: reads recordings of JDK Flight Recorder, and of async-profiler in that format.
 *
 * A file is a sequence of independent chunks. Integers are big endian, or base-128.
 *
 *   chunk      header, events
 *   header     "FLR\0", major, minor; bytes of the chunk; offset of the last constants; offset
 *              of the metadata; start and duration in ns; start in ticks, ticks per second; flags
 *   event      bytes, type, fields
 *   of type 0  metadata: the classes and their fields (jfr_types.c)
 *   of type 1  constants: for each class, keys and values
 *
 *   ExecutionSample  sampledThread -> Thread {osName, osThreadId, javaName, javaThreadId}
 *                    stackTrace -> StackTrace {truncated, frames[] {method, lineNumber, ...}}
 *                    method -> Method {type -> Class {name -> Symbol {string}}, name -> Symbol}
 *
 * Rule: OpenJDK's src/jdk.jfr (ChunkHeader, MetadataReader, ConstantMap, StringParser) names the
 * parts; results are compared with `jfr print`. Constants follow the events that use them, so a
 * chunk is walked twice. The metadata gives the form of each field; fields that the reader does not
 * use are skipped.
 *
 * A function is "package.Class.method": JFR has no source files, and overloads are one function. */
#include "formats/jfr.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/units.h"
#include "formats/format.h"

enum {
    HEADER_BYTES = 68,
    FLAG_COMPRESSED = 1,
    TYPE_METADATA = 0,
    TYPE_CONSTANTS = 1,
    STEPS_A_BYTE = 16,
};

/* ---- Events ---- */

typedef enum {
    EVENT_CPU,
    EVENT_NATIVE,
    EVENT_WALL,
    EVENT_TLAB,
    EVENT_SAMPLED,
    EVENT_LOCK,
    GROUPS
} event_group;

/* For each of JFR's events: its group, and the field that has its value; JFR_OTHER: the event is
 * only counted. */
static const struct {
    const char *name;
    event_group group;
    jfr_role value;
} events[] = {
    {"jdk.ExecutionSample", EVENT_CPU, JFR_OTHER},
    {"jdk.NativeMethodSample", EVENT_NATIVE, JFR_OTHER},
    {"profiler.WallClockSample", EVENT_WALL, JFR_SAMPLES},
    {"jdk.ObjectAllocationInNewTLAB", EVENT_TLAB, JFR_TLAB_SIZE},
    {"jdk.ObjectAllocationOutsideTLAB", EVENT_TLAB, JFR_ALLOCATION_SIZE},
    {"jdk.ObjectAllocationSample", EVENT_SAMPLED, JFR_WEIGHT},
    {"jdk.JavaMonitorEnter", EVENT_LOCK, JFR_DURATION},
    {"jdk.ThreadPark", EVENT_LOCK, JFR_DURATION},
};

/* The two columns of each group: the number of events, and the sum of their values. Both kinds of
 * allocations share their columns. */
static const struct {
    const char *count, *value, *unit;
} columns[GROUPS] = {
    [EVENT_CPU] = {"samples", NULL, NULL},
    [EVENT_NATIVE] = {"native", NULL, NULL},
    [EVENT_WALL] = {"wall", NULL, NULL},
    [EVENT_TLAB] = {"allocations", "alloc_space", "bytes"},
    [EVENT_SAMPLED] = {"allocations", "alloc_space", "bytes"},
    [EVENT_LOCK] = {"contentions", "delay", "nanoseconds"},
};

static int event_of(const char *name)
{
    for (size_t i = 0; i < PT_COUNT(events); i++)
        if (strcmp(events[i].name, name) == 0) return (int)i;
    return -1;
}

/* ---- The reading ---- */

/* The kind of object that the reader made of a constant. The first use of the constant decides; a
 * later use as another kind counts as a missing constant. */
typedef enum { USE_NONE, USE_SYMBOL, USE_CLASS, USE_FUNCTION, USE_STACK, USE_THREAD } constant_use;

typedef struct {
    uint32_t type; /* row of types */
    constant_use use;
    uint64_t key;
    const uint8_t *at;
    uint32_t made; /* symbol, class, name of a thread: text; function; stack */
    uint32_t tid;  /* of a thread */
} constant;

typedef struct {
    event_group group;
    uint32_t stack, tid, comm;
    int64_t value, time_ns;
} item;

typedef struct {
    pt_builder *b;
    const uint8_t *end; /* of the chunk */
    pt_reader *chunk;
    jfr_types types;
    PT_VECTOR(constant) constant;
    pt_index constants;
    uint64_t start_ns, start_ticks, ticks_a_second;
    PT_VECTOR(item) item;
    PT_VECTOR(uint32_t) frame;
    uint32_t empty_stack; /* + 1 */
    bool has_clock;       /* first_ns and last_ns are set */
    int64_t first_ns, last_ns;
    uint64_t missing; /* references to constants that no pool has, or that have another use */
    uint64_t unknown_threads; /* samples of unknown threads; OpenJDK leaves out some threads that
                               * have ended */
    uint64_t damaged_constants, damaged_chunks;
    pt_error damage; /* the error of a damaged chunk or constant */
} jfr_reader;

static uint64_t hash_of(uint32_t type, uint64_t key)
{
    return pt_hash_mix(key, type);
}

static constant *find_constant(jfr_reader *j, uint32_t type, uint64_t key)
{
    if (type == PT_NONE) return NULL;
    const uint32_t row =
        PT_INDEX_FIND(&j->constants, hash_of(type, key), id,
                      j->constant.items[id].key == key && j->constant.items[id].type == type);
    return row == PT_NONE ? NULL : &j->constant.items[row];
}

/* Returns a reader for a part of the file. A failure of this reader does not make the file's reader
 * fail. */
static pt_reader detach_reader(jfr_reader *j, const pt_reader *from)
{
    pt_reader r = *from;
    r.parent = NULL;
    r.error = j->damage.status == PT_OK ? &j->damage : NULL;
    r.status = PT_OK;
    return r;
}

/* A reader at the value of a constant; the caller ends it with constant_done. */
static pt_reader reader_at(jfr_reader *j, const uint8_t *at)
{
    pt_reader r = detach_reader(j, j->chunk);
    r.pos = at;
    return r;
}

static void constant_done(jfr_reader *j, const pt_reader *r)
{
    j->damaged_constants += !pt_reader_ok(r);
}

/* Finds a constant for a use. If the constant is not there, or has another use, returns NULL and
 * counts it as missing, except if its key is 0, which means "none". If the use of the returned
 * constant is still USE_NONE, the caller decodes it. */
static constant *use_constant(jfr_reader *j, uint32_t type, uint64_t key, constant_use use)
{
    constant *const c = find_constant(j, type, key);
    if (c != NULL && (c->use == USE_NONE || c->use == use)) return c;
    j->missing += c != NULL || key != 0;
    return NULL;
}

static void set_made(constant *c, constant_use use, uint32_t made)
{
    c->use = use;
    c->made = made;
}

static int64_t to_nanoseconds(const jfr_reader *j, uint64_t ticks)
{
    const __int128 ns = (__int128)(int64_t)ticks * 1000000000 / (int64_t)j->ticks_a_second;
    return ns > INT64_MAX ? INT64_MAX : ns < 0 ? 0 : (int64_t)ns;
}

/* ---- Constants ---- */

static void read_constants(jfr_reader *j, pt_reader *r)
{
    jfr_types *const t = &j->types;
    for (int i = 0; i < 3; i++) /* start, duration, distance of the constants before */
        jfr_read_int(t, r, 8);
    pt_skip(r, 1);
    const uint64_t pools = jfr_read_int(t, r, 4);
    for (uint64_t p = 0; p < pools && pt_reader_ok(r); p++) {
        const uint64_t id = jfr_read_int(t, r, 8), count = jfr_read_int(t, r, 4);
        const uint32_t type = jfr_type_row(t, id);
        if (type == PT_NONE) {
            pt_reader_fail(r, PT_ERR_DAMAGED,
                           "the file has constants of type %" PRIu64 " and does not define it", id);
            return;
        }
        for (uint64_t i = 0; i < count && pt_reader_ok(r); i++) {
            const uint64_t key = jfr_read_int(t, r, 8);
            if (find_constant(j, type, key) == NULL)
                PT_INDEX_PUSH(&j->constants, hash_of(type, key), j->constant,
                              (constant){.type = type, .key = key, .at = r->pos});
            jfr_skip_value(t, r, type);
        }
    }
}

/* Appends a text, which is either in the event itself or in the pool of texts, to `to`. */
static void put_text(jfr_reader *j, pt_reader *r, const jfr_field *field, pt_buf *to)
{
    uint64_t key = 0;
    if (field->is_constant || field->is_array || field->type == PT_NONE ||
        j->types.type.items[field->type].storage != JFR_STRING) {
        jfr_skip_field(&j->types, r, field);
        return;
    }
    if (!jfr_read_text(&j->types, r, to, &key)) return;
    const constant *const c = find_constant(j, field->type, key);
    j->missing += c == NULL && key != 0;
    if (c == NULL) return;
    pt_reader at = reader_at(j, c->at);
    jfr_read_text(&j->types, &at, to, &key); /* a key that leads to another key is no text */
    constant_done(j, &at);
}

static uint32_t add_text(jfr_reader *j, const pt_buf *text)
{
    return pt_builder_string(j->b, (const char *)text->data, text->size).v;
}

/* Appends a text of the profile. */
static void put_string(jfr_reader *j, pt_reader *r, uint32_t id, pt_buf *to)
{
    const char *const text = pt_builder_get_text(j->b, (pt_string_id){id});
    const size_t size = strnlen(text, j->types.steps + 1);
    if (jfr_take_steps(&j->types, r, size)) pt_put(to, text, size);
}

/* The text of a symbol; 0 = none. */
static uint32_t symbol_of(jfr_reader *j, uint32_t type, uint64_t key)
{
    constant *const c = use_constant(j, type, key, USE_SYMBOL);
    if (c == NULL) return 0;
    if (c->use == USE_SYMBOL) return c->made;
    const jfr_type *const of = &j->types.type.items[type];
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    pt_reader r = reader_at(j, c->at);
    for (size_t i = 0; i < of->field_count && pt_reader_ok(&r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        if (field->role == JFR_STRING_FIELD)
            put_text(j, &r, field, &text);
        else
            jfr_skip_field(&j->types, &r, field);
    }
    constant_done(j, &r);
    set_made(c, USE_SYMBOL, add_text(j, &text));
    return c->made;
}

/* The name of a class: "java.util.List" for "java/util/List" in the file; 0 = none. */
static uint32_t class_of(jfr_reader *j, uint32_t type, uint64_t key)
{
    constant *const c = use_constant(j, type, key, USE_CLASS);
    if (c == NULL) return 0;
    if (c->use == USE_CLASS) return c->made;
    set_made(c, USE_CLASS, 0); /* set first: the class's symbol must not lead to the class itself */
    const jfr_type *const of = &j->types.type.items[type];
    PT_AUTO(pt_buf) name = PT_BUF_INIT;
    uint32_t symbol = 0;
    pt_reader r = reader_at(j, c->at);
    for (size_t i = 0; i < of->field_count && pt_reader_ok(&r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        const uint64_t value = jfr_read_field(&j->types, &r, field);
        if (field->role == JFR_NAME && field->is_constant && pt_reader_ok(&r))
            symbol = symbol_of(j, field->type, value);
    }
    put_string(j, &r, symbol, &name);
    constant_done(j, &r);
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] == '/') name.data[i] = '.';
    c->made = add_text(j, &name);
    return c->made;
}

/* The function of a method. A method without a class, such as native code, has only its own
 * name. */
static uint32_t name_function(jfr_reader *j, pt_reader *r, uint32_t class_name, uint32_t name)
{
    if (class_name == 0 || name == 0) return class_name == 0 ? name : class_name;
    PT_AUTO(pt_buf) whole = PT_BUF_INIT;
    put_string(j, r, class_name, &whole);
    pt_put_u8(&whole, '.');
    put_string(j, r, name, &whole);
    return pt_reader_ok(r) ? add_text(j, &whole) : name;
}

/* The function of a method; PT_NONE if there is none. */
static uint32_t function_of(jfr_reader *j, uint32_t type, uint64_t key)
{
    constant *const c = use_constant(j, type, key, USE_FUNCTION);
    if (c == NULL) return PT_NONE;
    if (c->use == USE_FUNCTION) return c->made;
    set_made(c, USE_FUNCTION, PT_NONE); /* set before class and name are read, since these may lead
                                         * to the method itself in a damaged file */
    const jfr_type *const of = &j->types.type.items[type];
    uint32_t class_name = 0, name = 0;
    pt_reader r = reader_at(j, c->at);
    for (size_t i = 0; i < of->field_count && pt_reader_ok(&r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        const uint64_t value = jfr_read_field(&j->types, &r, field);
        if (!field->is_constant || !pt_reader_ok(&r)) continue;
        if (field->role == JFR_TYPE) class_name = class_of(j, field->type, value);
        if (field->role == JFR_NAME) name = symbol_of(j, field->type, value);
    }
    const uint32_t text = name_function(j, &r, class_name, name);
    constant_done(j, &r);
    c->made = pt_builder_function(j->b, &(pt_function){.name = text, .system_name = text}).v;
    return c->made;
}

static void read_frame(jfr_reader *j, pt_reader *r, const jfr_type *of)
{
    pt_line line = {.function = PT_NONE};
    for (size_t i = 0; i < of->field_count && pt_reader_ok(r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        const uint64_t value = jfr_read_field(&j->types, r, field);
        if (field->role == JFR_METHOD && field->is_constant && pt_reader_ok(r))
            line.function = function_of(j, field->type, value);
        if (field->role == JFR_LINE_NUMBER && (int32_t)value > 0) line.line = (int32_t)value;
    }
    if (!pt_reader_ok(r)) return;
    const pt_location location = {.mapping = PT_NONE};
    PT_PUSH(j->frame, pt_builder_location(j->b, &location, &line, 1).v);
}

static void read_frames(jfr_reader *j, pt_reader *r, const jfr_field *field)
{
    const bool is_frames = field->role == JFR_FRAMES && field->is_array && !field->is_constant &&
                           field->type != PT_NONE;
    if (!is_frames) {
        jfr_skip_field(&j->types, r, field);
        return;
    }
    const uint64_t count = jfr_read_int(&j->types, r, 4);
    if (!pt_reader_has(r, count, 1)) return;
    for (uint64_t i = 0; i < count && jfr_take_steps(&j->types, r, 1) && pt_reader_ok(r); i++)
        read_frame(j, r, &j->types.type.items[field->type]);
}

static uint32_t make_stack(jfr_reader *j, const constant *c)
{
    const jfr_type *const of = &j->types.type.items[c->type];
    pt_reader r = reader_at(j, c->at);
    bool is_cut = false;
    j->frame.count = 0;
    for (size_t i = 0; i < of->field_count && pt_reader_ok(&r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        if (field->role == JFR_TRUNCATED)
            is_cut = jfr_read_field(&j->types, &r, field) != 0;
        else
            read_frames(j, &r, field);
    }
    constant_done(j, &r);
    is_cut |= !pt_reader_ok(&r);
    return pt_builder_stack(j->b, j->frame.items, j->frame.count,
                            is_cut ? PT_STACK_END_TRUNCATED : PT_STACK_END_ROOT)
        .v;
}

/* The stack of a key. Key 0 means no stack, as in events of the virtual machine's own threads. */
static uint32_t stack_of(jfr_reader *j, uint32_t type, uint64_t key)
{
    constant *const c = use_constant(j, type, key, USE_STACK);
    if (c == NULL) {
        if (j->empty_stack == 0)
            j->empty_stack = pt_builder_stack(j->b, NULL, 0, PT_STACK_END_UNKNOWN).v + 1;
        return j->empty_stack - 1;
    }
    if (c->use == USE_STACK) return c->made;
    c->use = USE_STACK; /* set before the methods are read, since these may lead to the stack itself
                         * in a damaged file */
    c->made = make_stack(j, c);
    return c->made;
}

/* Reads a thread: its number is that of the operating system, or else Java's; its name is that of
 * Java, or else the operating system's. */
static void make_thread(jfr_reader *j, constant *c)
{
    const jfr_type *const of = &j->types.type.items[c->type];
    PT_AUTO(pt_buf) java = PT_BUF_INIT, os = PT_BUF_INIT;
    uint64_t java_id = 0, os_id = 0;
    pt_reader r = reader_at(j, c->at);
    for (size_t i = 0; i < of->field_count && pt_reader_ok(&r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        if (field->role == JFR_OS_NAME || field->role == JFR_JAVA_NAME) {
            put_text(j, &r, field, field->role == JFR_OS_NAME ? &os : &java);
            continue;
        }
        const uint64_t value = jfr_read_field(&j->types, &r, field);
        if (field->role == JFR_OS_THREAD_ID) os_id = value;
        if (field->role == JFR_JAVA_THREAD_ID) java_id = value;
    }
    constant_done(j, &r);
    const uint64_t id = os_id != 0 ? os_id : java_id;
    c->tid = id < PT_NONE ? (uint32_t)id : PT_NONE;
    set_made(c, USE_THREAD, add_text(j, java.size > 0 ? &java : &os));
}

/* ---- Events ---- */

static void put_thread(jfr_reader *j, uint32_t type, uint64_t key, item *to)
{
    if (key != 0 && find_constant(j, type, key) == NULL) {
        j->unknown_threads++;
        return;
    }
    constant *const c = use_constant(j, type, key, USE_THREAD);
    if (c == NULL) return;
    if (c->use == USE_NONE) make_thread(j, c);
    to->tid = c->tid;
    to->comm = c->made;
}

static void read_event(jfr_reader *j, pt_reader *r, const jfr_type *of)
{
    const jfr_role value_role = events[of->event].value;
    item one = {.group = events[of->event].group, .tid = PT_NONE, .value = 1};
    uint64_t stack = 0;
    uint32_t stack_type = PT_NONE;
    for (size_t i = 0; i < of->field_count && pt_reader_ok(r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        const uint64_t value = jfr_read_field(&j->types, r, field);
        if (field->role == JFR_START_TIME) {
            const int64_t since = to_nanoseconds(j, value - j->start_ticks);
            if (__builtin_add_overflow((int64_t)j->start_ns, since, &one.time_ns))
                one.time_ns = INT64_MAX;
        } else if (field->role == JFR_STACK_TRACE) {
            stack = value;
            stack_type = field->type;
        } else if (field->role == JFR_EVENT_THREAD && field->is_constant && pt_reader_ok(r)) {
            put_thread(j, field->type, value, &one);
        }
        if (field->role == value_role && value_role != JFR_OTHER)
            one.value = value_role == JFR_DURATION ? to_nanoseconds(j, value)
                        : value > INT64_MAX        ? INT64_MAX
                                                   : (int64_t)value;
    }
    if (!pt_reader_ok(r)) return;
    one.stack = stack_of(j, stack_type, stack);
    PT_PUSH(j->item, one);
}

/* ---- Chunks ---- */

/* Calls read_constants or read_event for each event of the chunk of that kind. */
static void walk_events(jfr_reader *j, bool is_constants)
{
    pt_reader *const r = j->chunk;
    pt_reader_seek(r, HEADER_BYTES);
    while (pt_reader_ok(r) && pt_reader_left(r) > 0) {
        const uint8_t *const start = r->pos;
        const uint64_t bytes = jfr_read_int(&j->types, r, 4);
        const uint64_t head = (uint64_t)(r->pos - start);
        if (pt_reader_ok(r) && (bytes <= head || bytes > pt_reader_left(r) + head)) {
            pt_reader_fail(r, PT_ERR_DAMAGED, "an event of %" PRIu64 " bytes", bytes);
            return;
        }
        pt_reader event = pt_reader_sub(r, bytes - head);
        const uint64_t id = jfr_read_int(&j->types, &event, 8);
        if (is_constants) {
            if (id == TYPE_CONSTANTS) read_constants(j, &event);
            continue;
        }
        const uint32_t type = id > TYPE_CONSTANTS ? jfr_type_row(&j->types, id) : PT_NONE;
        if (type != PT_NONE && j->types.type.items[type].event >= 0)
            read_event(j, &event, &j->types.type.items[type]);
    }
}

static void add_clock(jfr_reader *j, int64_t start_ns, int64_t duration_ns)
{
    const int64_t last_ns = start_ns + duration_ns;
    if (!j->has_clock || start_ns < j->first_ns) j->first_ns = start_ns;
    if (!j->has_clock || last_ns > j->last_ns) j->last_ns = last_ns;
    j->has_clock = true;
}

/* Reads a chunk; errors are counted for the chunk. */
static void read_chunk(jfr_reader *j, pt_reader *chunk)
{
    j->types = (jfr_types){.event_of = event_of};
    j->chunk = chunk;
    pt_skip(chunk, 24); /* magic number, version, bytes, where the last constants are */
    const uint64_t metadata = pt_read_u64(chunk);
    j->start_ns = pt_read_u64(chunk);
    const uint64_t duration = pt_read_u64(chunk);
    j->start_ticks = pt_read_u64(chunk);
    j->ticks_a_second = pt_read_u64(chunk);
    j->types.is_compressed = pt_read_u32(chunk) & FLAG_COMPRESSED;
    j->types.steps = STEPS_A_BYTE * (uint64_t)(chunk->end - chunk->start);
    if (!pt_reader_ok(chunk)) return;
    if (j->ticks_a_second == 0 || j->ticks_a_second > INT64_MAX || j->start_ns > INT64_MAX / 2 ||
        duration > INT64_MAX / 2) {
        pt_reader_fail(chunk, PT_ERR_DAMAGED, "a clock of %" PRIu64 " ticks a second from %" PRIu64,
                       j->ticks_a_second, j->start_ns);
        return;
    }
    add_clock(j, (int64_t)j->start_ns, (int64_t)duration);
    pt_index_init(&j->types.index);
    pt_index_init(&j->constants);
    pt_reader *const r = j->chunk;
    pt_reader_seek(r, metadata);
    jfr_read_int(&j->types, r, 4);
    if (jfr_read_int(&j->types, r, 8) != TYPE_METADATA && pt_reader_ok(r))
        pt_reader_fail(r, PT_ERR_DAMAGED, "no types where the chunk's header says");
    if (pt_reader_ok(r)) jfr_read_metadata(&j->types, r);
    if (pt_reader_ok(chunk)) walk_events(j, true);
    if (pt_reader_ok(chunk)) walk_events(j, false);
    jfr_types_done(&j->types);
    free(j->constant.items);
    pt_index_done(&j->constants);
    j->constant.items = NULL;
    j->constant.count = j->constant.cap = 0;
}

/* ---- The profile ---- */

/* Returns the column of the counts of a group. Adds this column, and the column of the group's
 * values, if they are new. */
static uint32_t add_columns(pt_builder *b, event_group group)
{
    const uint32_t count = pt_builder_text(b, columns[group].count).v;
    for (uint32_t i = 0; i < pt_builder_event_count(b); i++)
        if (pt_builder_event_at(b, i)->type == count) return i;
    const uint32_t at =
        pt_builder_event(b, &(pt_event){.type = count, .unit = pt_builder_text(b, "count").v});
    if (columns[group].value != NULL)
        pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, columns[group].value).v,
                                        .unit = pt_builder_text(b, columns[group].unit).v});
    return at;
}

/* The JVM takes its samples of allocations (jdk.ObjectAllocationSample) from its events of new
 * buffers. A file with both kinds of events counts the same bytes twice, so the samples are
 * dropped. */
static void put_items(jfr_reader *j, pt_diag *diag)
{
    uint64_t found[GROUPS] = {0};
    uint32_t column[GROUPS];
    for (size_t i = 0; i < j->item.count; i++)
        found[j->item.items[i].group]++;
    const bool is_twice = found[EVENT_TLAB] > 0 && found[EVENT_SAMPLED] > 0;
    if (is_twice) {
        pt_diag_add(
            diag, found[EVENT_SAMPLED],
            "samples of allocations dropped: other events hold the same allocations in full");
        found[EVENT_SAMPLED] = 0;
    }
    if (j->item.count == 0) found[EVENT_CPU] = 1; /* a profile has at least one event */
    for (event_group g = EVENT_CPU; g < GROUPS; g++)
        if (found[g] > 0) column[g] = add_columns(j->b, g);
    int64_t values[2 * GROUPS] = {0};
    for (size_t i = 0; i < j->item.count; i++) {
        const item *const one = &j->item.items[i];
        if (found[one->group] == 0) continue;
        const uint32_t at = column[one->group];
        const bool has_value = columns[one->group].value != NULL;
        values[at] = has_value ? 1 : one->value;
        if (has_value) values[at + 1] = one->value;
        pt_builder_timed_sample(j->b, &(pt_sample){.stack = one->stack,
                                                   .values = values,
                                                   .time_ns = one->time_ns,
                                                   .pid = PT_NONE,
                                                   .tid = one->tid,
                                                   .cpu = PT_NONE,
                                                   .comm = one->comm});
        values[at] = 0;
        if (has_value) values[at + 1] = 0;
    }
    if (found[EVENT_CPU] > 0) pt_builder_set_default_event(j->b, column[EVENT_CPU]);
}

/* Reads the chunks. Each chunk states its size, so a damaged chunk does not affect the next
 * ones. */
static pt_status read_chunks(jfr_reader *j, pt_reader *r)
{
    while (pt_reader_ok(r) && pt_reader_left(r) > 0) {
        pt_reader head = *r;
        head.parent = NULL;
        head.error = NULL;
        const uint8_t *const magic = pt_read_bytes(&head, 8);
        const uint64_t bytes = pt_read_u64(&head);
        if (magic == NULL || memcmp(magic, "FLR", 4) != 0)
            return pt_reader_fail(r, PT_ERR_DAMAGED, "no chunk begins here");
        if (bytes < HEADER_BYTES)
            return pt_reader_fail(r, PT_ERR_DAMAGED,
                                  "a chunk of %" PRIu64 " bytes: it was not finished", bytes);
        const pt_reader bounds = pt_reader_sub(r, bytes);
        if (!pt_reader_ok(r)) break;
        pt_reader chunk = detach_reader(j, &bounds);
        read_chunk(j, &chunk);
        j->chunk = NULL;
        j->damaged_chunks += !pt_reader_ok(&chunk);
    }
    return r->status;
}

/* Reports all losses in one message: of the end of the file, of chunks, and of constants. */
static pt_status conclude_reading(jfr_reader *j, pt_status status, const pt_error *error,
                                  pt_error *reterr)
{
    PT_AUTO(pt_buf) lost = PT_BUF_INIT;
    if (status != PT_OK) pt_putf(&lost, "%s; ", error->message);
    if (j->damaged_chunks > 0) pt_putf(&lost, "damaged chunks: %" PRIu64 "; ", j->damaged_chunks);
    if (j->damaged_constants > 0)
        pt_putf(&lost, "damaged constants: %" PRIu64 "; ", j->damaged_constants);
    if (j->damage.status != PT_OK) pt_putf(&lost, "one of them: %s; ", j->damage.message);
    if (j->missing > 0)
        pt_putf(&lost, "references to missing constants: %" PRIu64 "; ", j->missing);
    if (lost.size > 0)
        status = pt_error_set(reterr, PT_ERR_DAMAGED, "%skept %s", pt_buf_text(&lost),
                              pt_count_noun(pt_builder_sample_count(j->b), "samples").text);
    return status;
}

static pt_status jfr_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                          pt_error *reterr)
{
    jfr_reader j = {.b = builder, .damage = PT_ERROR_INIT};
    pt_error error = PT_ERROR_INIT;
    reader->error = &error;
    pt_reader_set_order(reader, true);
    pt_status status = read_chunks(&j, reader);
    put_items(&j, hooks->diag);
    pt_diag_add(hooks->diag, j.unknown_threads, "samples of threads that the file does not list");
    pt_provenance *const source = pt_builder_provenance(builder);
    source->start_ns = j.first_ns;
    source->duration_ns = j.last_ns - j.first_ns;
    status = conclude_reading(&j, status, &error, reterr);
    PT_FREE_ALL(j.item.items, j.frame.items);
    return status;
}

static int probe_jfr(const pt_probe_input *input)
{
    return memcmp(input->head, "FLR", 4) == 0 ? 100 : 0;
}

const pt_format pt_format_jfr = {
    .name = "jfr",
    .extensions = ".jfr",
    .summary = "JDK Flight Recorder, async-profiler's JFR",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_NAMES | PT_CAN_UNITS |
                    PT_CAN_TIME | PT_CAN_END | PT_CAN_HEADER,
    .probe = probe_jfr,
    .read = jfr_read,
};
