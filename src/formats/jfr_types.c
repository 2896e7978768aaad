/* jfr_types.c: see jfr.h. The metadata event of a chunk is a table of texts and a tree of elements.
 * The names of the elements, and the names and values of their attributes, are numbers of texts.
 *
 *   root: metadata: class name="jdk.ExecutionSample" id="101" superType="jdk.jfr.Event"
 *                      field name="stackTrace" class="23" constantPool="true"
 *                      field name="frames" class="24" dimension="1" */
#include "formats/jfr.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/utf8.h"

enum {
    DEPTH_MAX = 16,           /* of nested elements, and of nested values */
    COMPRESSED_BYTES_MAX = 9, /* the ninth has eight bits */
};

typedef struct {
    const char *text;
    uint64_t number; /* the text as a number; 0 if it is not a number */
} metadata_text;

typedef struct {
    jfr_types *types;
    PT_VECTOR(metadata_text) text;
} metadata;

void jfr_types_done(jfr_types *t)
{
    PT_FREE_ALL(t->type.items, t->field.items);
    pt_index_done(&t->index);
}

bool jfr_take_steps(jfr_types *t, pt_reader *r, uint64_t steps)
{
    if (steps > t->steps) {
        t->steps = 0;
        pt_reader_fail(r, PT_ERR_DAMAGED, "more values than there are bytes");
        return false;
    }
    t->steps -= steps;
    return true;
}

/* ---- Integers and texts ---- */

static uint64_t read_compressed(pt_reader *r)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < COMPRESSED_BYTES_MAX; i++) {
        const uint64_t byte = pt_read_u8(r);
        if (i + 1 == COMPRESSED_BYTES_MAX) return value | byte << (7 * i);
        value |= (byte & 0x7f) << (7 * i);
        if (byte < 0x80) break;
    }
    return value;
}

uint64_t jfr_read_int(const jfr_types *t, pt_reader *r, unsigned bytes)
{
    if (t->is_compressed) return read_compressed(r);
    switch (bytes) {
    case 2: return (uint64_t)(int16_t)pt_read_u16(r);
    case 4: return (uint64_t)(int32_t)pt_read_u32(r);
    default: return pt_read_u64(r);
    }
}

static void put_character(pt_buf *to, uint32_t character)
{
    uint8_t bytes[4];
    pt_put(to, bytes, pt_utf8_encode(character, bytes));
}

/* Appends a text of `count` units of UTF-16, as UTF-8. */
static void put_units(const jfr_types *t, pt_reader *r, uint64_t count, pt_buf *to)
{
    uint32_t high = 0;
    for (uint64_t i = 0; i < count && pt_reader_ok(r); i++) {
        const uint32_t unit = (uint16_t)jfr_read_int(t, r, 2);
        if (high != 0 && unit >= 0xdc00 && unit < 0xe000)
            put_character(to, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
        else if (unit < 0xd800 || unit >= 0xdc00)
            put_character(to, unit);
        high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
    }
}

bool jfr_read_text(jfr_types *t, pt_reader *r, pt_buf *to, uint64_t *ret_key)
{
    enum { NONE, EMPTY, CONSTANT, UTF8, UTF16, LATIN1 };
    const uint8_t form = pt_read_u8(r);
    if (form == NONE || form == EMPTY) return false;
    if (form == CONSTANT) {
        *ret_key = jfr_read_int(t, r, 8);
        return true;
    }
    const uint64_t count = jfr_read_int(t, r, 4);
    if (!pt_reader_has(r, count, 1) || !jfr_take_steps(t, r, count)) return false;
    if (form > LATIN1) {
        pt_reader_fail(r, PT_ERR_DAMAGED, "a text of form %u", form);
    } else if (form == UTF16) {
        put_units(t, r, count, to);
    } else {
        const uint8_t *const bytes = pt_read_bytes(r, count);
        if (bytes == NULL) return false;
        if (form == UTF8) pt_put(to, bytes, count);
        for (uint64_t i = 0; i < count && form == LATIN1; i++)
            put_character(to, bytes[i]);
    }
    return false;
}

/* ---- Metadata ---- */

static metadata_text text_at(metadata *m, pt_reader *r)
{
    const uint64_t number = jfr_read_int(m->types, r, 4);
    if (number < m->text.count) return m->text.items[number];
    pt_reader_fail(r, PT_ERR_DAMAGED, "text %llu of %zu", (unsigned long long)number,
                   m->text.count);
    return (metadata_text){.text = ""};
}

static jfr_storage storage_of(const char *name)
{
    static const struct {
        const char *name;
        jfr_storage storage;
    } rows[] = {{"boolean", JFR_BYTE}, {"byte", JFR_BYTE},     {"short", JFR_SHORT},
                {"char", JFR_SHORT},   {"int", JFR_INT},       {"long", JFR_LONG},
                {"float", JFR_FLOAT},  {"double", JFR_DOUBLE}, {"java.lang.String", JFR_STRING}};
    for (size_t i = 0; i < PT_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].storage;
    return JFR_STRUCT;
}

static jfr_role role_of(const char *name)
{
    static const char *const names[JFR_ROLES] = {
        [JFR_START_TIME] = "startTime",
        [JFR_DURATION] = "duration",
        [JFR_EVENT_THREAD] = "eventThread",
        [JFR_STACK_TRACE] = "stackTrace",
        [JFR_ALLOCATION_SIZE] = "allocationSize",
        [JFR_TLAB_SIZE] = "tlabSize",
        [JFR_WEIGHT] = "weight",
        [JFR_SAMPLES] = "samples",
        [JFR_TRUNCATED] = "truncated",
        [JFR_FRAMES] = "frames",
        [JFR_METHOD] = "method",
        [JFR_LINE_NUMBER] = "lineNumber",
        [JFR_TYPE] = "type",
        [JFR_NAME] = "name",
        [JFR_STRING_FIELD] = "string",
        [JFR_OS_NAME] = "osName",
        [JFR_OS_THREAD_ID] = "osThreadId",
        [JFR_JAVA_NAME] = "javaName",
        [JFR_JAVA_THREAD_ID] = "javaThreadId",
    };
    if (strcmp(name, "sampledThread") == 0) return JFR_EVENT_THREAD;
    for (jfr_role role = JFR_START_TIME; role < JFR_ROLES; role++)
        if (strcmp(names[role], name) == 0) return role;
    return JFR_OTHER;
}

uint32_t jfr_type_row(const jfr_types *t, uint64_t id)
{
    return PT_INDEX_FIND(&t->index, pt_hash_mix(id, 0), row, t->type.items[row].id == id);
}

typedef struct {
    const char *name;
    uint64_t id;       /* of a class */
    uint64_t class_id; /* of a field */
    bool is_constant, is_array;
} attributes;

static attributes read_attributes(metadata *m, pt_reader *r)
{
    attributes a = {.name = ""};
    const uint64_t count = jfr_read_int(m->types, r, 4);
    for (uint64_t i = 0; i < count && pt_reader_ok(r); i++) {
        const char *const key = text_at(m, r).text;
        const metadata_text value = text_at(m, r);
        if (strcmp(key, "name") == 0) a.name = value.text;
        if (strcmp(key, "id") == 0) a.id = value.number;
        if (strcmp(key, "class") == 0) a.class_id = value.number;
        if (strcmp(key, "constantPool") == 0) a.is_constant = strcmp(value.text, "true") == 0;
        if (strcmp(key, "dimension") == 0) a.is_array = value.number > 0;
    }
    return a;
}

static uint32_t add_type(jfr_types *t, const attributes *a)
{
    const uint32_t found = jfr_type_row(t, a->id);
    if (found != PT_NONE) return found;
    return PT_INDEX_PUSH(&t->index, pt_hash_mix(a->id, 0), t->type,
                         (jfr_type){.id = a->id,
                                    .storage = storage_of(a->name),
                                    .event = t->event_of(a->name),
                                    .field_first = t->field.count});
}

/* Reads an element and the elements inside it. type: row of the class that contains the element;
 * PT_NONE = none. */
/* NOLINTNEXTLINE(misc-no-recursion): limited by depth */
static void read_element(metadata *m, pt_reader *r, uint32_t type, unsigned depth)
{
    jfr_types *const t = m->types;
    const char *const kind = text_at(m, r).text;
    const attributes a = read_attributes(m, r);
    if (depth >= DEPTH_MAX) pt_reader_fail(r, PT_ERR_DAMAGED, "metadata deeper than %d", DEPTH_MAX);
    if (!pt_reader_ok(r)) return;
    if (strcmp(kind, "class") == 0) {
        type = add_type(t, &a);
    } else if (strcmp(kind, "field") == 0 && type != PT_NONE) {
        jfr_type *const of = &t->type.items[type];
        /* The fields of a class lie together. If a file defines a class twice, the class keeps the
         * fields of the first definition. */
        if (of->field_first + of->field_count == t->field.count) {
            of->field_count++;
            PT_PUSH(t->field, (jfr_field){.type_id = a.class_id,
                                          .role = role_of(a.name),
                                          .is_constant = a.is_constant,
                                          .is_array = a.is_array});
        }
    }
    const uint64_t children = jfr_read_int(t, r, 4);
    for (uint64_t i = 0; i < children && pt_reader_ok(r); i++)
        read_element(m, r, type, depth + 1);
}

static void read_texts(metadata *m, pt_reader *r)
{
    const uint64_t count = jfr_read_int(m->types, r, 4);
    if (!pt_reader_has(r, count, 1)) return;
    for (uint64_t i = 0; i < count && pt_reader_ok(r); i++) {
        pt_buf text = PT_BUF_INIT;
        uint64_t key;
        jfr_read_text(m->types, r, &text, &key);
        const uint64_t number = strtoull(pt_buf_text(&text), NULL, 10);
        PT_PUSH(m->text, (metadata_text){.text = pt_buf_take(&text, NULL), .number = number});
    }
}

void jfr_read_metadata(jfr_types *t, pt_reader *r)
{
    metadata m = {.types = t};
    for (int i = 0; i < 3; i++) /* start, duration, id */
        jfr_read_int(t, r, 8);
    read_texts(&m, r);
    if (pt_reader_ok(r)) read_element(&m, r, PT_NONE, 0);
    for (size_t i = 0; i < t->field.count; i++)
        t->field.items[i].type = jfr_type_row(t, t->field.items[i].type_id);
    for (size_t i = 0; i < m.text.count; i++)
        free((char *)m.text.items[i].text);
    free(m.text.items);
}

/* ---- Values ---- */

static void skip_values(jfr_types *t, pt_reader *r, const jfr_field *field, unsigned depth);

/* NOLINTNEXTLINE(misc-no-recursion): limited by depth */
static void skip_value(jfr_types *t, pt_reader *r, uint32_t type, unsigned depth)
{
    uint64_t key;
    PT_AUTO(pt_buf) text = PT_BUF_INIT;
    const jfr_type *const of = &t->type.items[type];
    switch (of->storage) {
    case JFR_BYTE: pt_skip(r, 1); break;
    case JFR_SHORT: jfr_read_int(t, r, 2); break;
    case JFR_INT: jfr_read_int(t, r, 4); break;
    case JFR_LONG: jfr_read_int(t, r, 8); break;
    case JFR_FLOAT: pt_skip(r, 4); break;
    case JFR_DOUBLE: pt_skip(r, 8); break;
    case JFR_STRING: jfr_read_text(t, r, &text, &key); break;
    case JFR_STRUCT:
        if (depth >= DEPTH_MAX)
            pt_reader_fail(r, PT_ERR_DAMAGED, "values deeper than %d", DEPTH_MAX);
        for (size_t i = 0; i < of->field_count && pt_reader_ok(r); i++)
            skip_values(t, r, &t->field.items[of->field_first + i], depth + 1);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): limited by depth */
static void skip_values(jfr_types *t, pt_reader *r, const jfr_field *field, unsigned depth)
{
    const uint64_t count = field->is_array ? jfr_read_int(t, r, 4) : 1;
    if (field->is_array && !pt_reader_has(r, count, 1)) return;
    for (uint64_t i = 0; i < count && pt_reader_ok(r); i++) {
        if (!jfr_take_steps(t, r, 1)) return;
        if (field->is_constant)
            jfr_read_int(t, r, 8);
        else if (field->type == PT_NONE)
            pt_reader_fail(r, PT_ERR_DAMAGED, "a field of the unknown type %llu",
                           (unsigned long long)field->type_id);
        else
            skip_value(t, r, field->type, depth);
    }
}

void jfr_skip_field(jfr_types *t, pt_reader *r, const jfr_field *field)
{
    skip_values(t, r, field, 0);
}

void jfr_skip_value(jfr_types *t, pt_reader *r, uint32_t type)
{
    skip_value(t, r, type, 0);
}

uint64_t jfr_read_field(jfr_types *t, pt_reader *r, const jfr_field *field)
{
    if (!jfr_take_steps(t, r, 1)) return 0;
    if (field->is_constant && !field->is_array) return jfr_read_int(t, r, 8);
    if (field->is_array || field->type == PT_NONE) {
        jfr_skip_field(t, r, field);
        return 0;
    }
    switch (t->type.items[field->type].storage) {
    case JFR_BYTE: return pt_read_u8(r);
    case JFR_SHORT: return jfr_read_int(t, r, 2);
    case JFR_INT: return jfr_read_int(t, r, 4);
    case JFR_LONG: return jfr_read_int(t, r, 8);
    default: jfr_skip_field(t, r, field); return 0;
    }
}
