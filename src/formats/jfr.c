/* jfr.c: reads recordings of JDK Flight Recorder, and async-profiler's in its format.
 *
 * A file is chunks, each of which stands for itself. Integers are big endian, or base-128.
 *
 *   "FLR\0" major minor | bytes | pool | metadata | start ns, duration ns | start ticks, ticks a s
 * | flags then events, each: bytes, type, fields type 0   metadata: classes and their fields
 * (jfr_types.c) type 1   constants: for each class, keys and values
 *
 *   ExecutionSample  sampledThread -> Thread {osName, osThreadId, javaName, javaThreadId}
 *                    stackTrace -> StackTrace {truncated, frames[] {method, lineNumber, ...}}
 *                    method -> Method {type -> Class {name -> Symbol {string}}, name -> Symbol}
 *
 * Rule: OpenJDK's src/jdk.jfr (ChunkHeader, MetadataReader, ConstantMap, StringParser) names the
 * parts; `jfr print` is the peer. Constants follow the events that use them, so that a chunk is
 * walked twice. A field is what its class says; fields that mean nothing here are skipped.
 *
 * A function is "package.Class.method": JFR has no source files, and overloads are one function. */
#include "formats/jfr.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
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

/* Which event of JFR is of which group, and the field of its value; JFR_OTHER: it counts only. */
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

/* The columns of each group: how many there were, and their value. Both kinds of allocations have
 * the same columns. */
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
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (strcmp(events[i].name, name) == 0) return (int)i;
    return -1;
}

/* ---- The reading ---- */

typedef struct {
    uint32_t type; /* row of types */
    uint64_t key;
    const uint8_t *at;
    uint32_t made; /* row of what was made of it, + 1: a stack, a function, a text */
    uint32_t tid, comm;
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
    int64_t first_ns, last_ns;
    uint64_t missing; /* constants that no pool has */
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

/* A reader at a constant's value. */
static pt_reader reader_at(const jfr_reader *j, const uint8_t *at)
{
    pt_reader r = *j->chunk;
    r.parent = NULL;
    r.error = NULL;
    r.status = PT_OK;
    r.pos = at;
    return r;
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
            pt_reader_fail(r, PT_ERR_DAMAGED, "constants of the unknown type %" PRIu64, id);
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

/* A text, or one of the pool of texts. */
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
    if (c == NULL) return;
    pt_reader at = reader_at(j, c->at);
    jfr_read_text(&j->types, &at, to, &key); /* a key of a key is no text */
}

/* The text that a field's constant holds in its field of that role: of a symbol its string, of a
 * class the text of its name, which is a symbol. */
static void put_name(jfr_reader *j, uint32_t type, uint64_t key, jfr_role role, pt_buf *to)
{
    const constant *const c = find_constant(j, type, key);
    if (c == NULL) return;
    const jfr_type *const of = &j->types.type.items[type];
    pt_reader r = reader_at(j, c->at);
    for (size_t i = 0; i < of->field_count && pt_reader_ok(&r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        if (field->role != role) {
            jfr_skip_field(&j->types, &r, field);
        } else if (role == JFR_STRING_FIELD) {
            put_text(j, &r, field, to);
        } else {
            const uint64_t name = jfr_read_field(&j->types, &r, field);
            if (field->is_constant) put_name(j, field->type, name, JFR_STRING_FIELD, to);
        }
    }
}

/* "java/util/List" is "java.util.List"; native code of async-profiler has no class. */
static uint32_t make_function(jfr_reader *j, const constant *c)
{
    const jfr_type *const of = &j->types.type.items[c->type];
    pt_buf class_name = PT_BUF_INIT, name = PT_BUF_INIT;
    pt_reader r = reader_at(j, c->at);
    for (size_t i = 0; i < of->field_count && pt_reader_ok(&r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        const uint64_t key = jfr_read_field(&j->types, &r, field);
        if (!field->is_constant) continue;
        if (field->role == JFR_TYPE) put_name(j, field->type, key, JFR_NAME, &class_name);
        if (field->role == JFR_NAME) put_name(j, field->type, key, JFR_STRING_FIELD, &name);
    }
    for (size_t i = 0; i < class_name.size; i++)
        if (class_name.data[i] == '/') class_name.data[i] = '.';
    if (class_name.size > 0 && name.size > 0) pt_put_u8(&class_name, '.');
    pt_put(&class_name, name.data, name.size);
    const uint32_t text = pt_builder_string(j->b, (const char *)class_name.data, class_name.size).v;
    pt_buf_done(&class_name);
    pt_buf_done(&name);
    return pt_builder_function(j->b, &(pt_function){.name = text, .system_name = text}).v;
}

static uint32_t function_of(jfr_reader *j, uint32_t type, uint64_t key)
{
    constant *const c = find_constant(j, type, key);
    if (c == NULL) {
        j->missing++;
        return PT_NONE;
    }
    if (c->made == 0) c->made = make_function(j, c) + 1;
    return c->made - 1;
}

static void read_frame(jfr_reader *j, pt_reader *r, const jfr_type *of)
{
    pt_line line = {.function = PT_NONE};
    for (size_t i = 0; i < of->field_count && pt_reader_ok(r); i++) {
        const jfr_field *const field = &j->types.field.items[of->field_first + i];
        const uint64_t value = jfr_read_field(&j->types, r, field);
        if (field->role == JFR_METHOD && field->is_constant)
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
    for (uint64_t i = 0; i < count && pt_reader_ok(r) && j->types.steps > 0; i++) {
        j->types.steps--;
        read_frame(j, r, &j->types.type.items[field->type]);
    }
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
    return pt_builder_stack(j->b, j->frame.items, j->frame.count,
                            is_cut ? PT_STACK_END_TRUNCATED : PT_STACK_END_ROOT)
        .v;
}

/* Events without a stack, of threads of the machine itself, have the key 0. */
static uint32_t stack_of(jfr_reader *j, uint32_t type, uint64_t key)
{
    constant *const c = find_constant(j, type, key);
    if (c == NULL && key != 0) j->missing++;
    if (c == NULL) {
        if (j->empty_stack == 0)
            j->empty_stack = pt_builder_stack(j->b, NULL, 0, PT_STACK_END_UNKNOWN).v + 1;
        return j->empty_stack - 1;
    }
    if (c->made == 0) {
        const uint32_t made = make_stack(j, c) + 1; /* no constants are added by then */
        c->made = made;
    }
    return c->made - 1;
}

/* The thread's number in the system, or Java's, and its name in Java, or the system's. */
static void read_thread(jfr_reader *j, constant *c)
{
    const jfr_type *const of = &j->types.type.items[c->type];
    pt_buf java = PT_BUF_INIT, os = PT_BUF_INIT;
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
    const pt_buf *const name = java.size > 0 ? &java : &os;
    const uint64_t id = os_id != 0 ? os_id : java_id;
    c->tid = id < PT_NONE ? (uint32_t)id : PT_NONE;
    c->comm = name->size > 0 ? pt_builder_string(j->b, (const char *)name->data, name->size).v : 0;
    c->made = 1;
    pt_buf_done(&java);
    pt_buf_done(&os);
}

/* ---- Events ---- */

static void put_thread(jfr_reader *j, uint32_t type, uint64_t key, item *to)
{
    constant *const c = find_constant(j, type, key);
    if (c == NULL) return;
    if (c->made == 0) read_thread(j, c);
    to->tid = c->tid;
    to->comm = c->comm;
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
        } else if (field->role == JFR_EVENT_THREAD && field->is_constant) {
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

/* Calls read_constants or read_event for each event of the chunk that they are for. */
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

static void read_metadata(jfr_reader *j, uint64_t at)
{
    pt_reader *const r = j->chunk;
    pt_reader_seek(r, at);
    jfr_read_int(&j->types, r, 4);
    if (jfr_read_int(&j->types, r, 8) != TYPE_METADATA && pt_reader_ok(r))
        pt_reader_fail(r, PT_ERR_DAMAGED, "no types where the chunk's header says");
    if (pt_reader_ok(r)) jfr_read_metadata(&j->types, r);
}

static void chunk_done(jfr_reader *j)
{
    jfr_types_done(&j->types);
    free(j->constant.items);
    pt_index_done(&j->constants);
    j->constant.items = NULL;
    j->constant.count = j->constant.cap = 0;
}

static void read_chunk(jfr_reader *j, pt_reader *chunk)
{
    j->types = (jfr_types){.event_of = event_of};
    j->chunk = chunk;
    pt_index_init(&j->types.index);
    pt_index_init(&j->constants);
    pt_skip(chunk, 24); /* magic number, version, bytes, where the last constants are */
    const uint64_t metadata = pt_read_u64(chunk);
    j->start_ns = pt_read_u64(chunk);
    const uint64_t duration = pt_read_u64(chunk);
    j->start_ticks = pt_read_u64(chunk);
    j->ticks_a_second = pt_read_u64(chunk);
    j->types.is_compressed = pt_read_u32(chunk) & FLAG_COMPRESSED;
    j->types.steps = STEPS_A_BYTE * (uint64_t)(chunk->end - chunk->start);
    if (pt_reader_ok(chunk) && (j->ticks_a_second == 0 || j->ticks_a_second > INT64_MAX ||
                                j->start_ns > INT64_MAX / 2 || duration > INT64_MAX / 2))
        pt_reader_fail(chunk, PT_ERR_DAMAGED, "a clock of %" PRIu64 " ticks a second from %" PRIu64,
                       j->ticks_a_second, j->start_ns);
    if (pt_reader_ok(chunk)) read_metadata(j, metadata);
    if (pt_reader_ok(chunk)) walk_events(j, true);
    if (pt_reader_ok(chunk)) walk_events(j, false);
    const int64_t last = (int64_t)(j->start_ns + duration);
    if (j->first_ns == 0 || (int64_t)j->start_ns < j->first_ns) j->first_ns = (int64_t)j->start_ns;
    if (last > j->last_ns) j->last_ns = last;
    chunk_done(j);
}

/* ---- The profile ---- */

/* The column of a group's counts; adds it and that of its values if it is new. */
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

/* The samples of an allocation are chosen from the events of new buffers: where both are recorded
 * the same bytes are there twice. */
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
    if (j->item.count == 0) found[EVENT_CPU] = 1; /* a profile has an event */
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
    if (found[EVENT_CPU] > 0) pt_builder_show_event(j->b, column[EVENT_CPU]);
}

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
        pt_reader chunk = pt_reader_sub(r, bytes);
        if (pt_reader_ok(&chunk)) read_chunk(j, &chunk);
    }
    return r->status;
}

static pt_status jfr_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                          pt_error *reterr)
{
    jfr_reader j = {.b = builder};
    pt_error error = PT_ERROR_INIT;
    reader->error = &error;
    pt_reader_set_order(reader, true);
    pt_status status = read_chunks(&j, reader);
    put_items(&j, hooks->diag);
    pt_provenance *const source = pt_builder_provenance(builder);
    source->start_ns = j.first_ns;
    source->duration_ns = j.last_ns - j.first_ns;
    if (status != PT_OK)
        status = pt_error_set(reterr, status, "%s; kept %u samples", error.message,
                              pt_builder_sample_count(builder));
    else if (j.missing > 0)
        status = pt_error_set(reterr, PT_ERR_DAMAGED,
                              "%" PRIu64 " references to missing constants; kept %u samples",
                              j.missing, pt_builder_sample_count(builder));
    free(j.item.items);
    free(j.frame.items);
    return status;
}

static int probe_jfr(const pt_probe_input *input)
{
    return memcmp(input->head, "FLR", 4) == 0 ? 100 : 0;
}

static const char *const aliases[] = {NULL};
static const char *const extensions[] = {".jfr", NULL};

const pt_format pt_format_jfr = {
    .name = "jfr",
    .aliases = aliases,
    .extensions = extensions,
    .summary = "JDK Flight Recorder, async-profiler's JFR",
    .kind = PT_PROBE_MAGIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_NAMES | PT_CAN_UNITS |
                    PT_CAN_TIME | PT_CAN_END | PT_CAN_HEADER,
    .probe = probe_jfr,
    .read = jfr_read,
};
