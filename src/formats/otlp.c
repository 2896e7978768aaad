/* otlp.c: reads OpenTelemetry profiles (OTLP, v1development): ProfilesData, or a collector's
 * request, which has the same fields. otlp.h has the field numbers.
 *
 *   ProfilesData   resource_profiles* { resource, scope_profiles* { scope, profiles* } },
 *                  dictionary
 *   dictionary     tables: mapping, location, function, link, string, attribute, stack
 *   Profile        one sample type, samples, time, duration, period
 *   Sample         stack, attributes, link, values*, timestamps*
 *
 * Rows refer to each other by their index in a table; row 0 is the zero value, "none".
 *
 * - Each type of values is an event. All profiles are merged into one.
 * - A sample with timestamps becomes one sample for each timestamp; if it has no values, each of
 *   these counts 1.
 * - Attributes of samples become labels; attributes of a resource become labels "resource.KEY".
 *   Booleans and numbers with a fraction become text. A link becomes the labels trace_id and
 *   span_id.
 * - The attribute pprof.scope.default_sample_type of a scope is the type of the default event.
 * - Fields unknown to this version are left out and reported, whatever their message. */
#include "formats/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/text.h"
#include "base/units.h"
#include "formats/protobuf.h"

typedef PT_VECTOR(otlp_slice) slices;

typedef PT_VECTOR(uint64_t) numbers;

/* A row of the attribute table. */
typedef struct {
    pt_label label;
    bool made, found; /* made: label and found are set; found: a label can hold the attribute */
} attribute;

/* Limit of a resource's attributes, since each of its samples has them as labels. Further
 * attributes are left out. */
enum { RESOURCE_MAX = 128 };
/* Limit of events, since each sample has a value for each. */
enum { EVENTS_MAX = 256 };

typedef struct {
    pt_builder *b;
    const pt_read_hooks *hooks;
    slices table[OTLP_TABLES];
    uint32_t *string;              /* row -> string id + 1; 0 = not added yet */
    uint32_t *stack;               /* row -> stack id + 1; 0 = not added yet */
    attribute *attribute;          /* attribute of each row */
    uint32_t functions, locations; /* number of rows; row n has id n - 1, since row 0 is none */
    uint32_t mappings;
    const uint8_t *start; /* start of the file */
    const uint8_t *bad;   /* first invalid byte; NULL = none */
    uint64_t dangling;    /* references to missing rows */
    uint64_t mismatched;  /* samples whose values do not match their timestamps */
    uint64_t unkept;      /* attributes of types that labels cannot hold */
    uint64_t dropped;     /* number of dropped attributes that the file states */
    uint64_t crowded;     /* attributes beyond RESOURCE_MAX */
    uint64_t valueless;   /* samples with neither values nor timestamps */
    bool first_pass;      /* this pass over the file only finds the events */
    bool too_many_events;
    bool any_times; /* set by the first time; samples are not merged from then on */
    uint32_t profiles;
    PT_VECTOR(pt_label) label, resource;
    numbers number, times;     /* number: scratch */
    numbers value, attributes; /* of the current sample */
    int64_t *values;
} otlp_reader;

/* ---- Messages ---- */

typedef enum {
    FIELD_UNKNOWN, /* not in this version */
    FIELD_VARINT,
    FIELD_FIXED,
    FIELD_BYTES,   /* texts, bytes, messages */
    FIELD_VARINTS, /* repeated: packed or single */
    FIELD_FIXEDS,
} field_kind;

enum { FIELDS_MAX = 12 };

/* The fields of a message. */
typedef struct {
    const char *name; /* name for reports of unknown fields; NULL = no reports */
    uint8_t kind[FIELDS_MAX];
} shape;

static const shape data_shape = {
    "ProfilesData",
    {[OTLP_DATA_RESOURCE_PROFILES] = FIELD_BYTES, [OTLP_DATA_DICTIONARY] = FIELD_BYTES},
};
static const shape resource_profiles_shape = {
    "ResourceProfiles",
    {[OTLP_RESOURCE_RESOURCE] = FIELD_BYTES,
     [OTLP_RESOURCE_SCOPES] = FIELD_BYTES,
     [OTLP_RESOURCE_SCHEMA_URL] = FIELD_BYTES},
};
static const shape resource_shape = {
    "Resource",
    {[OTLP_OWNER_ATTRIBUTES] = FIELD_BYTES,
     [OTLP_OWNER_DROPPED_ATTRIBUTES] = FIELD_VARINT,
     [OTLP_OWNER_ENTITIES] = FIELD_BYTES},
};
static const shape scope_profiles_shape = {
    "ScopeProfiles",
    {[OTLP_SCOPE_SCOPE] = FIELD_BYTES,
     [OTLP_SCOPE_PROFILES] = FIELD_BYTES,
     [OTLP_SCOPE_SCHEMA_URL] = FIELD_BYTES},
};
static const shape origin_shape = {
    "InstrumentationScope",
    {[OTLP_ORIGIN_NAME] = FIELD_BYTES,
     [OTLP_ORIGIN_VERSION] = FIELD_BYTES,
     [OTLP_ORIGIN_ATTRIBUTES] = FIELD_BYTES,
     [OTLP_ORIGIN_DROPPED_ATTRIBUTES] = FIELD_VARINT},
};
static const shape pair_shape = {
    "KeyValue",
    {[OTLP_PAIR_KEY] = FIELD_BYTES,
     [OTLP_PAIR_VALUE] = FIELD_BYTES,
     [OTLP_PAIR_KEY_ROW] = FIELD_VARINT},
};
static const shape dictionary_shape = {
    "ProfilesDictionary",
    {[OTLP_MAPPINGS] = FIELD_BYTES,
     [OTLP_LOCATIONS] = FIELD_BYTES,
     [OTLP_FUNCTIONS] = FIELD_BYTES,
     [OTLP_LINKS] = FIELD_BYTES,
     [OTLP_STRINGS] = FIELD_BYTES,
     [OTLP_ATTRIBUTES] = FIELD_BYTES,
     [OTLP_STACKS] = FIELD_BYTES},
};
static const shape any_shape = {
    "AnyValue",
    {[OTLP_ANY_STRING] = FIELD_BYTES,
     [OTLP_ANY_BOOL] = FIELD_VARINT,
     [OTLP_ANY_INT] = FIELD_VARINT,
     [OTLP_ANY_DOUBLE] = FIELD_FIXED,
     [OTLP_ANY_ARRAY] = FIELD_BYTES,
     [OTLP_ANY_LIST] = FIELD_BYTES,
     [OTLP_ANY_BYTES] = FIELD_BYTES,
     [OTLP_ANY_STRING_ROW] = FIELD_VARINT},
};
static const shape attribute_shape = {
    "KeyValueAndUnit",
    {[OTLP_ATTRIBUTE_KEY] = FIELD_VARINT,
     [OTLP_ATTRIBUTE_VALUE] = FIELD_BYTES,
     [OTLP_ATTRIBUTE_UNIT] = FIELD_VARINT},
};
static const shape mapping_shape = {
    "Mapping",
    {[OTLP_MAPPING_START] = FIELD_VARINT,
     [OTLP_MAPPING_LIMIT] = FIELD_VARINT,
     [OTLP_MAPPING_OFFSET] = FIELD_VARINT,
     [OTLP_MAPPING_FILE] = FIELD_VARINT,
     [OTLP_MAPPING_ATTRIBUTES] = FIELD_VARINTS},
};
static const shape function_shape = {
    "Function",
    {[OTLP_FUNCTION_NAME] = FIELD_VARINT,
     [OTLP_FUNCTION_SYSTEM_NAME] = FIELD_VARINT,
     [OTLP_FUNCTION_FILE] = FIELD_VARINT,
     [OTLP_FUNCTION_START_LINE] = FIELD_VARINT},
};
static const shape line_shape = {
    "Line",
    {[OTLP_LINE_FUNCTION] = FIELD_VARINT,
     [OTLP_LINE_LINE] = FIELD_VARINT,
     [OTLP_LINE_COLUMN] = FIELD_VARINT},
};
static const shape location_shape = {
    "Location",
    {[OTLP_LOCATION_MAPPING] = FIELD_VARINT,
     [OTLP_LOCATION_ADDRESS] = FIELD_VARINT,
     [OTLP_LOCATION_LINES] = FIELD_BYTES,
     [OTLP_LOCATION_ATTRIBUTES] = FIELD_VARINTS},
};
static const shape stack_shape = {"Stack", {[OTLP_STACK_LOCATIONS] = FIELD_VARINTS}};
static const shape link_shape = {
    "Link",
    {[OTLP_LINK_TRACE] = FIELD_BYTES, [OTLP_LINK_SPAN] = FIELD_BYTES},
};
static const shape sample_shape = {
    "Sample",
    {[OTLP_SAMPLE_STACK] = FIELD_VARINT,
     [OTLP_SAMPLE_ATTRIBUTES] = FIELD_VARINTS,
     [OTLP_SAMPLE_LINK] = FIELD_VARINT,
     [OTLP_SAMPLE_VALUES] = FIELD_VARINTS,
     [OTLP_SAMPLE_TIMES] = FIELD_FIXEDS},
};
static const shape type_shape = {
    "ValueType",
    {[OTLP_TYPE_TYPE] = FIELD_VARINT, [OTLP_TYPE_UNIT] = FIELD_VARINT},
};
static const shape profile_shape = {
    "Profile",
    {[OTLP_PROFILE_SAMPLE_TYPE] = FIELD_BYTES,
     [OTLP_PROFILE_SAMPLES] = FIELD_BYTES,
     [OTLP_PROFILE_TIME] = FIELD_FIXED,
     [OTLP_PROFILE_DURATION] = FIELD_VARINT,
     [OTLP_PROFILE_PERIOD_TYPE] = FIELD_BYTES,
     [OTLP_PROFILE_PERIOD] = FIELD_VARINT,
     [OTLP_PROFILE_ID] = FIELD_BYTES,
     [OTLP_PROFILE_DROPPED_ATTRIBUTES] = FIELD_VARINT,
     [OTLP_PROFILE_PAYLOAD_FORMAT] = FIELD_BYTES,
     [OTLP_PROFILE_PAYLOAD] = FIELD_BYTES,
     [OTLP_PROFILE_ATTRIBUTES] = FIELD_VARINTS},
};

/* Reads a field that this version defines, with the wire type that the version defines for it.
 * Other fields are reported; a truncated message is recorded in o->bad. */
static bool next_field(otlp_reader *o, pb_cursor *cursor, const shape *message, pb_field *ret_field)
{
    static const uint8_t wires[] = {
        [FIELD_VARINT] = 1 << PB_VARINT,
        [FIELD_FIXED] = 1 << PB_FIXED64,
        [FIELD_BYTES] = 1 << PB_BYTES,
        [FIELD_VARINTS] = 1 << PB_VARINT | 1 << PB_BYTES,
        [FIELD_FIXEDS] = 1 << PB_FIXED64 | 1 << PB_BYTES,
    };
    while (pb_next(cursor, ret_field)) {
        const unsigned kind =
            ret_field->number < FIELDS_MAX ? message->kind[ret_field->number] : FIELD_UNKNOWN;
        if (wires[kind] >> ret_field->wire & 1) return true;
        if (message->name != NULL && !o->first_pass)
            pt_diag_add(o->hooks->diag, 1, "fields %u of %s left out: unknown in this version",
                        ret_field->number, message->name);
    }
    if (!cursor->ok && o->bad == NULL) o->bad = cursor->bad;
    return false;
}

/* Appends varints, packed or single, to *into. */
static void take_numbers(otlp_reader *o, const pb_field *field, numbers *into)
{
    if (field->wire == PB_VARINT) {
        PT_PUSH(*into, field->value);
        return;
    }
    const uint8_t *pos = field->data, *const end = pos + field->size;
    PT_GROW(*into, into->count + field->size);
    while (pos < end) {
        if (!pb_varint(&pos, end, &into->items[into->count])) {
            if (o->bad == NULL) o->bad = pos;
            return;
        }
        into->count++;
    }
}

/* Appends times of eight bytes, packed or single. */
static void take_times(otlp_reader *o, const pb_field *field)
{
    const size_t count = field->wire == PB_BYTES ? field->size / 8 : 1;
    PT_GROW(o->times, o->times.count + count);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = field->value;
        if (field->wire == PB_BYTES) {
            memcpy(&value, field->data + 8 * i, 8);
            value = le64toh(value);
        }
        o->times.items[o->times.count++] = value;
    }
    if (field->wire == PB_BYTES && field->size % 8 != 0 && o->bad == NULL)
        o->bad = field->data + 8 * count;
}

/* ---- The dictionary ---- */

static void read_dictionary(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (next_field(o, &cursor, &dictionary_shape, &field)) {
        slices *const table = &o->table[field.number];
        PT_PUSH(*table, (otlp_slice){field.data, field.size});
    }
}

static uint32_t string_at(otlp_reader *o, uint64_t row)
{
    if (row == 0) return 0;
    if (row >= o->table[OTLP_STRINGS].count) {
        o->dangling++;
        return 0;
    }
    if (o->string[row] == 0) {
        const otlp_slice text = o->table[OTLP_STRINGS].items[row];
        o->string[row] = pt_builder_string(o->b, (const char *)text.data, text.size).v + 1;
    }
    return o->string[row] - 1;
}

/* Converts an attribute's value to a label's; returns false if a label cannot hold the value. */
static bool read_value(otlp_reader *o, const pb_field *message, pt_label *label)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    bool found = false;
    while (next_field(o, &cursor, &any_shape, &field)) {
        char text[40];
        double number;
        label->kind = PT_LABEL_STRING;
        label->str = 0;
        label->num = 0;
        found = true;
        switch (field.number) {
        case OTLP_ANY_STRING:
            label->str = pt_builder_string(o->b, (const char *)field.data, field.size).v;
            break;
        case OTLP_ANY_STRING_ROW: label->str = string_at(o, field.value); break;
        case OTLP_ANY_INT:
            label->kind = PT_LABEL_NUMBER;
            label->num = (int64_t)field.value;
            break;
        case OTLP_ANY_BOOL:
            label->str = pt_builder_text(o->b, field.value ? "true" : "false").v;
            break;
        case OTLP_ANY_DOUBLE:
            memcpy(&number, &field.value, sizeof number);
            snprintf(text, sizeof text, "%.17g", number);
            label->str = pt_builder_text(o->b, text).v;
            break;
        default: found = false;
        }
    }
    o->unkept += !found && message->size > 0;
    return found;
}

static void make_attribute(otlp_reader *o, otlp_slice message, attribute *ret)
{
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    uint32_t unit = 0;
    while (next_field(o, &cursor, &attribute_shape, &field)) {
        switch (field.number) {
        case OTLP_ATTRIBUTE_KEY: ret->label.key = string_at(o, field.value); break;
        case OTLP_ATTRIBUTE_VALUE: ret->found = read_value(o, &field, &ret->label); break;
        case OTLP_ATTRIBUTE_UNIT: unit = string_at(o, field.value); break;
        }
    }
    if (ret->label.kind == PT_LABEL_NUMBER) ret->label.unit = unit;
    ret->made = true;
}

/* Converts a row of the attribute table to a label; false if the row is missing or no label can
 * hold it. */
static bool attribute_at(otlp_reader *o, uint64_t row, pt_label *ret_label)
{
    if (row == 0) return false;
    if (row >= o->table[OTLP_ATTRIBUTES].count) {
        o->dangling++;
        return false;
    }
    attribute *const a = &o->attribute[row];
    if (!a->made) make_attribute(o, o->table[OTLP_ATTRIBUTES].items[row], a);
    *ret_label = a->label;
    return a->found;
}

static bool is_text(const otlp_reader *o, uint32_t string, const char *text)
{
    return strcmp(pt_builder_get_text(o->b, (pt_string_id){string}), text) == 0;
}

static void report_left_out(otlp_reader *o, const pt_label *label, const char *of)
{
    pt_diag_add(o->hooks->diag, 1, "attributes %.100s of %s left out",
                pt_builder_get_text(o->b, (pt_string_id){label->key}), of);
}

static void read_mapping(otlp_reader *o, otlp_slice message)
{
    pt_mapping m = {0};
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    o->number.count = 0;
    while (next_field(o, &cursor, &mapping_shape, &field)) {
        switch (field.number) {
        case OTLP_MAPPING_START: m.start = field.value; break;
        case OTLP_MAPPING_LIMIT: m.limit = field.value; break;
        case OTLP_MAPPING_OFFSET: m.file_offset = field.value; break;
        case OTLP_MAPPING_FILE: m.file = string_at(o, field.value); break;
        case OTLP_MAPPING_ATTRIBUTES: take_numbers(o, &field, &o->number); break;
        }
    }
    for (size_t i = 0; i < o->number.count; i++) {
        pt_label label;
        if (!attribute_at(o, o->number.items[i], &label)) continue;
        if (is_text(o, label.key, OTLP_BUILD_ID) && label.kind == PT_LABEL_STRING)
            m.build_id = label.str;
        else
            report_left_out(o, &label, "mappings");
    }
    pt_builder_append_mapping(o->b, &m);
    o->mappings++;
}

static void read_function(otlp_reader *o, otlp_slice message)
{
    pt_function f = {0};
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    while (next_field(o, &cursor, &function_shape, &field)) {
        switch (field.number) {
        case OTLP_FUNCTION_NAME: f.name = string_at(o, field.value); break;
        case OTLP_FUNCTION_SYSTEM_NAME: f.system_name = string_at(o, field.value); break;
        case OTLP_FUNCTION_FILE: f.file = string_at(o, field.value); break;
        case OTLP_FUNCTION_START_LINE: f.start_line = (int64_t)field.value; break;
        }
    }
    pt_builder_append_function(o->b, &f);
    o->functions++;
}

/* The id of a row, in a table whose row 0 is none. */
static uint32_t id_of(otlp_reader *o, uint64_t row, uint32_t rows)
{
    if (row == 0) return PT_NONE;
    if (row <= rows) return (uint32_t)row - 1;
    o->dangling++;
    return PT_NONE;
}

static pt_line read_line(otlp_reader *o, const pb_field *message)
{
    pt_line line = {.function = PT_NONE};
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (next_field(o, &cursor, &line_shape, &field)) {
        switch (field.number) {
        case OTLP_LINE_FUNCTION: line.function = id_of(o, field.value, o->functions); break;
        case OTLP_LINE_LINE: line.line = (int64_t)field.value; break;
        case OTLP_LINE_COLUMN: line.column = (int64_t)field.value; break;
        }
    }
    return line;
}

/* The flags of a location with these attributes. */
static uint32_t location_flags(otlp_reader *o, const numbers *rows)
{
    uint32_t flags = 0;
    for (size_t i = 0; i < rows->count; i++) {
        pt_label label;
        if (!attribute_at(o, rows->items[i], &label)) continue;
        if (is_text(o, label.key, OTLP_FOLDED))
            flags |= is_text(o, label.str, "true") ? PT_LOCATION_FOLDED : 0;
        else if (is_text(o, label.key,
                         OTLP_FRAME_TYPE)) /* other frame types are recognized by names and
                                            * mappings */
            flags |= is_text(o, label.str, "kernel") ? PT_LOCATION_KERNEL : 0;
        else
            report_left_out(o, &label, "locations");
    }
    return flags;
}

static void read_location(otlp_reader *o, otlp_slice message)
{
    PT_VECTOR(pt_line) lines = {0};
    pt_location location = {.mapping = PT_NONE};
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    o->number.count = 0;
    while (next_field(o, &cursor, &location_shape, &field)) {
        switch (field.number) {
        case OTLP_LOCATION_MAPPING: location.mapping = id_of(o, field.value, o->mappings); break;
        case OTLP_LOCATION_ADDRESS: location.address = field.value; break;
        case OTLP_LOCATION_LINES: PT_PUSH(lines, read_line(o, &field)); break;
        case OTLP_LOCATION_ATTRIBUTES: take_numbers(o, &field, &o->number); break;
        }
    }
    location.flags = location_flags(o, &o->number);
    pt_builder_append_location(o->b, &location, lines.items, lines.count);
    o->locations++;
    free(lines.items);
}

static void make_tables(otlp_reader *o)
{
    o->string = pt_alloc(o->table[OTLP_STRINGS].count + 1, sizeof *o->string);
    o->stack = pt_alloc(o->table[OTLP_STACKS].count + 1, sizeof *o->stack);
    o->attribute = pt_alloc(o->table[OTLP_ATTRIBUTES].count + 1, sizeof *o->attribute);
    for (size_t i = 1; i < o->table[OTLP_MAPPINGS].count; i++)
        read_mapping(o, o->table[OTLP_MAPPINGS].items[i]);
    for (size_t i = 1; i < o->table[OTLP_FUNCTIONS].count; i++)
        read_function(o, o->table[OTLP_FUNCTIONS].items[i]);
    for (size_t i = 1; i < o->table[OTLP_LOCATIONS].count; i++)
        read_location(o, o->table[OTLP_LOCATIONS].items[i]);
}

static pt_stack_id stack_at(otlp_reader *o, uint64_t row)
{
    const bool there = row < o->table[OTLP_STACKS].count;
    o->dangling += !there && row != 0;
    if (!there) return pt_builder_stack(o->b, NULL, 0, PT_STACK_END_UNKNOWN);
    if (o->stack[row] != 0) return (pt_stack_id){o->stack[row] - 1};
    const otlp_slice message = o->table[OTLP_STACKS].items[row];
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    o->number.count = 0;
    while (next_field(o, &cursor, &stack_shape, &field))
        take_numbers(o, &field, &o->number);
    uint32_t *const frames = pt_builder_stack_space(o->b, o->number.count);
    size_t depth = 0;
    for (size_t i = 0; i < o->number.count; i++) {
        const uint32_t id = id_of(o, o->number.items[i], o->locations);
        if (id != PT_NONE) frames[depth++] = id;
    }
    const pt_stack_id id = pt_builder_stack_commit(o->b, depth, PT_STACK_END_UNKNOWN);
    o->stack[row] = id.v + 1;
    return id;
}

/* ---- Samples ---- */

static void add_label(otlp_reader *o, pt_label label)
{
    PT_PUSH(o->label, label);
}

static void add_id(otlp_reader *o, const char *key, const pb_field *id)
{
    PT_FREE char *text = pt_alloc(2 * id->size + 1, 1);
    pt_hex_spell(text, id->data, id->size);
    add_label(o, (pt_label){.key = pt_builder_text(o->b, key).v,
                            .kind = PT_LABEL_STRING,
                            .str = pt_builder_text(o->b, text).v});
}

static void add_link(otlp_reader *o, uint64_t row)
{
    if (row == 0) return;
    if (row >= o->table[OTLP_LINKS].count) {
        o->dangling++;
        return;
    }
    const otlp_slice link = o->table[OTLP_LINKS].items[row];
    pb_cursor cursor = pb_open(link.data, link.size);
    pb_field field;
    while (next_field(o, &cursor, &link_shape, &field))
        add_id(o, field.number == OTLP_LINK_TRACE ? OTLP_TRACE_ID : OTLP_SPAN_ID, &field);
}

/* The label set of a sample with these attributes and this link. */
static pt_labels_id labels_of(otlp_reader *o, const numbers *rows, uint64_t link)
{
    o->label.count = 0;
    for (size_t i = 0; i < o->resource.count; i++)
        add_label(o, o->resource.items[i]);
    for (size_t i = 0; i < rows->count; i++) {
        pt_label label;
        if (attribute_at(o, rows->items[i], &label)) add_label(o, label);
    }
    add_link(o, link);
    return pt_builder_labels(o->b, o->label.items, o->label.count);
}

static void put_sample(otlp_reader *o, uint32_t event, pt_stack_id stack, pt_labels_id labels,
                       uint64_t time, int64_t value)
{
    o->values[event] = value;
    o->any_times |= time != 0;
    if (!o->any_times) {
        /* Values of another event are added to the existing sample. */
        (event > 0 ? pt_builder_add : pt_builder_sample)(o->b, stack, labels, o->values);
        o->values[event] = 0;
        return;
    }
    const pt_sample sample = {.stack = stack.v,
                              .labels = labels.v,
                              .values = o->values,
                              .time_ns = time > INT64_MAX ? INT64_MAX : (int64_t)time,
                              .pid = PT_NONE,
                              .tid = PT_NONE,
                              .cpu = PT_NONE};
    pt_builder_timed_sample(o->b, &sample);
    o->values[event] = 0;
}

/* Adds the current sample. Values and timestamps are paired as in the specification. */
static void put_samples(otlp_reader *o, uint32_t event, pt_stack_id stack, pt_labels_id labels)
{
    const size_t times = o->times.count, count = o->value.count;
    const uint64_t *const values = o->value.items;
    o->valueless += times == 0 && count == 0;
    if (times == 0 && count > 0) {
        o->mismatched += count > 1;
        for (size_t i = 0; i < count; i++)
            put_sample(o, event, stack, labels, 0, (int64_t)values[i]);
        return;
    }
    o->mismatched += count != 0 && count != times;
    for (size_t i = 0; i < times; i++)
        put_sample(o, event, stack, labels, o->times.items[i],
                   count == 0  ? 1
                   : i < count ? (int64_t)values[i]
                               : 0);
}

static void read_sample(otlp_reader *o, uint32_t event, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    uint64_t stack = 0, link = 0;
    o->value.count = o->times.count = o->attributes.count = 0;
    while (next_field(o, &cursor, &sample_shape, &field)) {
        switch (field.number) {
        case OTLP_SAMPLE_STACK: stack = field.value; break;
        case OTLP_SAMPLE_LINK: link = field.value; break;
        case OTLP_SAMPLE_TIMES: take_times(o, &field); break;
        case OTLP_SAMPLE_VALUES: take_numbers(o, &field, &o->value); break;
        case OTLP_SAMPLE_ATTRIBUTES: take_numbers(o, &field, &o->attributes); break;
        }
    }
    const pt_stack_id id = stack_at(o, stack);
    put_samples(o, event, id, labels_of(o, &o->attributes, link));
}

/* ---- Profiles ---- */

static void read_type(otlp_reader *o, const pb_field *message, uint32_t *ret_type,
                      uint32_t *ret_unit)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (next_field(o, &cursor, &type_shape, &field))
        *(field.number == OTLP_TYPE_TYPE ? ret_type : ret_unit) = string_at(o, field.value);
}

/* Reads a field of a Profile about the recording. Of several Profiles, the earliest start, the
 * longest duration and the first period are kept. */
static void take_header(otlp_reader *o, const pb_field *field)
{
    pt_provenance *const from = pt_builder_provenance(o->b);
    uint32_t type = 0, unit = 0;
    const int64_t value = field->wire == PB_BYTES    ? 0
                          : field->value > INT64_MAX ? INT64_MAX
                                                     : (int64_t)field->value;
    switch (field->number) {
    case OTLP_PROFILE_TIME:
        if (value != 0 && (from->start_ns == 0 || value < from->start_ns)) from->start_ns = value;
        break;
    case OTLP_PROFILE_DURATION:
        if (value > from->duration_ns) from->duration_ns = value;
        break;
    case OTLP_PROFILE_PERIOD:
        if (from->period == 0) from->period = (int64_t)field->value;
        break;
    case OTLP_PROFILE_PERIOD_TYPE:
        if (from->has_period_type) break;
        read_type(o, field, &type, &unit);
        from->period_type = type;
        from->period_unit = unit;
        from->has_period_type = true;
        break;
    }
}

/* The event of the profile's values. */
static uint32_t event_of_profile(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    uint32_t type = 0, unit = 0;
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_PROFILE_SAMPLE_TYPE && field.wire == PB_BYTES)
            read_type(o, &field, &type, &unit);
    }
    for (uint32_t i = 0; i < pt_builder_event_count(o->b); i++) {
        const pt_event *const event = pt_builder_event_at(o->b, i);
        if (event->type == type && event->unit == unit) return i;
    }
    o->too_many_events |= pt_builder_event_count(o->b) == EVENTS_MAX;
    return o->too_many_events ? 0 : pt_builder_event(o->b, &(pt_event){.type = type, .unit = unit});
}

static void read_profile(otlp_reader *o, const pb_field *message)
{
    const uint32_t event = event_of_profile(o, message);
    o->profiles += o->first_pass;
    if (o->first_pass) return;
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (next_field(o, &cursor, &profile_shape, &field)) {
        switch (field.number) {
        case OTLP_PROFILE_SAMPLES: read_sample(o, event, &field); break;
        case OTLP_PROFILE_TIME:
        case OTLP_PROFILE_DURATION:
        case OTLP_PROFILE_PERIOD:
        case OTLP_PROFILE_PERIOD_TYPE: take_header(o, &field); break;
        case OTLP_PROFILE_PAYLOAD:
            pt_diag_add(o->hooks->diag, 1,
                        "original payloads (the profile in the format that it was converted from) "
                        "left out");
            break;
        case OTLP_PROFILE_ATTRIBUTES:
            pt_diag_add(o->hooks->diag, 1, "attributes of a whole profile left out");
            break;
        case OTLP_PROFILE_DROPPED_ATTRIBUTES: o->dropped += field.value; break;
        case OTLP_PROFILE_SAMPLE_TYPE:
        case OTLP_PROFILE_ID: /* identifies the file only */
        case OTLP_PROFILE_PAYLOAD_FORMAT: break;
        }
    }
}

/* Reads a KeyValue, an attribute of a resource or scope. before: a prefix for the label's key. */
static bool read_pair(otlp_reader *o, const pb_field *message, const char *before,
                      pt_label *ret_label)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    bool found = false;
    PT_FREE char *key = NULL;
    *ret_label = (pt_label){0};
    while (next_field(o, &cursor, &pair_shape, &field)) {
        if (field.number == OTLP_PAIR_VALUE) {
            found = read_value(o, &field, ret_label);
            continue;
        }
        free(key);
        key = field.number == OTLP_PAIR_KEY
                  ? pt_strndup((const char *)field.data, field.size)
                  : pt_strdup(pt_builder_get_text(o->b, (pt_string_id){string_at(o, field.value)}));
    }
    if (key == NULL) return false;
    PT_FREE char *text = pt_strf("%s%.200s", before, key);
    ret_label->key = pt_builder_text(o->b, text).v;
    return found;
}

static void read_resource(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    pt_label label;
    o->resource.count = 0;
    while (!o->first_pass && next_field(o, &cursor, &resource_shape, &field)) {
        switch (field.number) {
        case OTLP_OWNER_DROPPED_ATTRIBUTES: o->dropped += field.value; break;
        case OTLP_OWNER_ENTITIES: /* names the attributes that identify the resource */ break;
        case OTLP_OWNER_ATTRIBUTES:
            if (!read_pair(o, &field, "resource.", &label)) break;
            o->crowded += o->resource.count == RESOURCE_MAX;
            if (o->resource.count == RESOURCE_MAX) break;
            PT_PUSH(o->resource, label);
            break;
        }
    }
}

/* Reads the tool that made the profiles: the first tool that is named, with its version. */
static void read_origin(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    pt_label label;
    PT_FREE char *name = NULL;
    PT_FREE char *version = NULL;
    while (!o->first_pass && next_field(o, &cursor, &origin_shape, &field)) {
        switch (field.number) {
        case OTLP_ORIGIN_NAME:
        case OTLP_ORIGIN_VERSION: {
            char **const into = field.number == OTLP_ORIGIN_NAME ? &name : &version;
            free(*into);
            *into = pt_strndup((const char *)field.data, field.size);
            break;
        }
        case OTLP_ORIGIN_DROPPED_ATTRIBUTES: o->dropped += field.value; break;
        case OTLP_ORIGIN_ATTRIBUTES:
            if (!read_pair(o, &field, "", &label)) break;
            if (is_text(o, label.key, OTLP_DEFAULT_TYPE) && label.kind == PT_LABEL_STRING)
                pt_builder_provenance(o->b)->default_event = label.str;
            else
                report_left_out(o, &label, "scopes");
            break;
        }
    }
    pt_provenance *const from = pt_builder_provenance(o->b);
    if (name == NULL || from->tool != 0) return;
    PT_FREE char *tool = version != NULL ? pt_strf("%s %s", name, version) : pt_strdup(name);
    from->tool = pt_builder_text(o->b, tool).v;
}

static void report_left_out_url(otlp_reader *o)
{
    if (!o->first_pass) pt_diag_add(o->hooks->diag, 1, "schema URLs left out");
}

static void read_scope(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (next_field(o, &cursor, &scope_profiles_shape, &field)) {
        switch (field.number) {
        case OTLP_SCOPE_SCOPE: read_origin(o, &field); break;
        case OTLP_SCOPE_PROFILES: read_profile(o, &field); break;
        case OTLP_SCOPE_SCHEMA_URL: report_left_out_url(o); break;
        }
    }
}

static void read_resource_profiles(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    o->resource.count = 0;
    while (next_field(o, &cursor, &resource_profiles_shape, &field)) {
        switch (field.number) {
        case OTLP_RESOURCE_RESOURCE: read_resource(o, &field); break;
        case OTLP_RESOURCE_SCOPES: read_scope(o, &field); break;
        case OTLP_RESOURCE_SCHEMA_URL: report_left_out_url(o); break;
        }
    }
}

/* ---- The file ---- */

/* Reads the fields of the whole file that have this number. */
static void walk_number(otlp_reader *o, otlp_slice file, uint32_t number)
{
    const bool first = number == OTLP_DATA_DICTIONARY;
    shape silent = data_shape; /* unknown fields were reported in the first walk */
    silent.name = NULL;
    pb_cursor cursor = pb_open(file.data, file.size);
    pb_field field;
    while (next_field(o, &cursor, first ? &data_shape : &silent, &field)) {
        if (field.number == number) (first ? read_dictionary : read_resource_profiles)(o, &field);
    }
}

static void report_facts(const otlp_reader *o)
{
    pt_diag *const diag = o->hooks->diag;
    pt_diag_add(diag, o->mismatched, "samples with values that do not fit their timestamps");
    pt_diag_add(diag, o->unkept, "attributes of neither text nor number left out");
    pt_diag_add(diag, o->crowded, "attributes of a resource left out: it has more than %d",
                RESOURCE_MAX);
    pt_diag_add(diag, o->dropped, "attributes dropped before the file was made");
    pt_diag_add(diag, o->dangling, "references to rows that the dictionary does not have");
}

static pt_status conclude_profile(const otlp_reader *o, pt_error *reterr)
{
    if (o->too_many_events)
        return pt_error_set(reterr, PT_ERR_LIMIT, "more than %d events", EVENTS_MAX);
    if (o->profiles == 0 && o->bad == NULL)
        return pt_error_set(reterr, PT_ERR_FORMAT, "OTLP data without a profile");
    if (o->bad != NULL) {
        pt_error_set(reterr, PT_ERR_DAMAGED, "is truncated or invalid at byte %" PRIu64 "; kept %s",
                     (uint64_t)(o->bad - o->start),
                     pt_count_noun(pt_builder_sample_count(o->b), "samples").text);
        if (reterr) pt_error_where(reterr, NULL, NULL, o->bad - o->start);
        return PT_ERR_DAMAGED;
    }
    if (o->valueless > 0) /* in the layouts of 2025, values had another field number */
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "%s with neither values nor timestamps: perhaps the layout of an "
                            "older version; kept %s",
                            pt_count_noun(o->valueless, "samples").text,
                            pt_count_noun(pt_builder_sample_count(o->b), "samples").text);
    if (o->dangling > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "references to missing rows; kept %s",
                            pt_count_noun(pt_builder_sample_count(o->b), "samples").text);
    return PT_OK;
}

static pt_status otlp_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                           pt_error *reterr)
{
    otlp_reader o = {.b = builder, .hooks = hooks, .start = reader->pos};
    const otlp_slice file = {reader->pos, pt_reader_left(reader)};
    if (file.size == 0) return pt_error_set(reterr, PT_ERR_FORMAT, "OTLP data without a profile");
    walk_number(&o, file, OTLP_DATA_DICTIONARY);
    make_tables(&o);
    o.first_pass = true;
    walk_number(&o, file, OTLP_DATA_RESOURCE_PROFILES);
    o.first_pass = false;
    o.values = pt_alloc((size_t)pt_builder_event_count(builder) + 1, sizeof *o.values);
    if (!o.too_many_events) walk_number(&o, file, OTLP_DATA_RESOURCE_PROFILES);
    report_facts(&o);
    const pt_status status = conclude_profile(&o, reterr);
    for (size_t i = 0; i < OTLP_TABLES; i++)
        free(o.table[i].items);
    PT_FREE_ALL(o.string, o.stack, o.attribute, o.values, o.label.items, o.resource.items,
                o.number.items, o.times.items, o.value.items, o.attributes.items);
    return status;
}

const pt_format pt_format_otlp = {
    .name = "otlp",
    .aliases = "opentelemetry",
    .extensions = ".otlp .otlp.pb",
    .summary = "OpenTelemetry profiles, v1development: the eBPF profiler, collectors",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_LABELS | PT_CAN_EVENTS | PT_CAN_DEFAULT | PT_CAN_LINES |
                    PT_CAN_INLINES | PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_NAMES |
                    PT_CAN_UNITS | PT_CAN_TIME | PT_CAN_HEADER,
    .probe = pt_otlp_probe,
    .read = otlp_read,
    .write = pt_otlp_write,
};
