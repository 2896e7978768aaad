/* otlp.c: OpenTelemetry's profiles (OTLP, v1development), read: ProfilesData, or the request that a
 * collector gets, which has the same fields. otlp.h has their numbers.
 *
 *   ProfilesData   resource_profiles* { resource, scope_profiles* { scope, profiles* } },
 * dictionary dictionary     tables: mapping, location, function, link, string, attribute, stack
 *   Profile        one sample type, samples, time, duration, period
 *   Sample         stack, attributes, link, values*, timestamps*
 *
 * Rows refer to each other by their place in a table; row 0 is the zero value, "none".
 *
 * - Each type of values is an event; profiles are added up into one.
 * - A sample with timestamps is one for each; without values each counts 1.
 * - Attributes of samples become labels, those of a resource labels "resource.KEY"; numbers with a
 *   fraction and truth values become text. A link becomes the labels trace_id and span_id.
 * - Fields that this version does not know are left out, and named. */
#include "formats/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "formats/protobuf.h"

typedef struct {
    const uint8_t *data;
    size_t size;
} slice;

typedef struct {
    slice *items;
    size_t count, cap;
} slices;

typedef struct {
    pt_builder *b;
    const pt_read_hooks *hooks;
    slices table[OTLP_TABLES];
    uint32_t *string;              /* table row -> id + 1; 0 = not made yet */
    uint32_t *stack;               /* the same */
    uint32_t functions, locations; /* ids of row 1 and on, since row 0 is none: rows there are */
    uint32_t mappings;
    const uint8_t *start; /* of the file */
    const uint8_t *bad;   /* the first place that did not fit; NULL = none */
    uint64_t dangling;    /* numbers of rows that are not there */
    uint64_t mismatched;  /* samples whose values do not fit their timestamps */
    uint64_t unkept;      /* attributes of kinds that labels cannot hold */
    uint64_t valueless;   /* samples with neither values nor timestamps */
    bool first_pass;      /* notes events only */
    bool any_times;       /* samples are kept apart from the first one with a time on */
    uint32_t profiles;
    struct {
        pt_label *items;
        size_t count, cap;
    } label, resource;
    struct {
        uint64_t *items;
        size_t count, cap;
    } number, times;
    int64_t *values;
} otlp_reader;

/* ---- Probing ---- */

/* Are all fields of the message bytes with numbers up to most, as far as it can be seen? Notes the
 * last one that is there whole, or begins, with number `wanted`. */
static bool only_bytes(const uint8_t *data, size_t size, bool cut, uint32_t most, uint32_t wanted,
                       slice *ret_inside)
{
    pb_cursor cursor = pb_open(data, size);
    pb_field field;
    ret_inside->data = NULL;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_BYTES || field.number > most) return false;
        if (field.number == wanted) *ret_inside = (slice){field.data, field.size};
    }
    if (cursor.ok) return true;
    if (!cut) return false;
    uint64_t tag, bytes;
    const uint8_t *pos = cursor.bad;
    if (!pb_varint(&pos, data + size, &tag) || !pb_varint(&pos, data + size, &bytes)) return true;
    if ((tag & 7) != PB_BYTES || tag >> 3 > most || tag >> 3 == 0) return false;
    if (tag >> 3 == wanted && ret_inside->data == NULL)
        *ret_inside = (slice){pos, (size_t)(data + size - pos)};
    return true;
}

/* Is it what a Profile begins with: a type made of two small numbers, or samples? */
static bool looks_like_profile(slice profile)
{
    pb_cursor cursor = pb_open(profile.data, profile.size);
    pb_field field;
    if (!pb_next(&cursor, &field)) return false;
    if (field.wire != PB_BYTES || field.number > OTLP_PROFILE_SAMPLES) return false;
    pb_cursor inside = pb_open(field.data, field.size);
    while (field.number == OTLP_PROFILE_SAMPLE_TYPE && pb_next(&inside, &field)) {
        if (field.wire != PB_VARINT || field.number > OTLP_TYPE_UNIT) return false;
    }
    return inside.ok || field.number == OTLP_PROFILE_SAMPLES;
}

static bool looks_like_resource(slice resource, bool cut)
{
    slice scope, profile;
    return only_bytes(resource.data, resource.size, cut, OTLP_RESOURCE_SCHEMA_URL,
                      OTLP_RESOURCE_SCOPES, &scope) &&
           scope.data != NULL &&
           only_bytes(scope.data, scope.size, cut, OTLP_SCOPE_SCHEMA_URL, OTLP_SCOPE_PROFILES,
                      &profile) &&
           profile.data != NULL && looks_like_profile(profile);
}

static bool looks_like_dictionary(slice dictionary, bool cut)
{
    pb_cursor cursor = pb_open(dictionary.data, dictionary.size);
    pb_field field;
    unsigned fields = 0;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_BYTES || field.number >= OTLP_TABLES) return false;
        fields++;
    }
    return fields >= 2 && (cursor.ok || cut);
}

static int probe(const pt_probe_input *input)
{
    const bool cut = input->file_bytes > input->head_bytes;
    slice resource, dictionary;
    if (input->head_bytes == 0) return 0;
    if (!only_bytes(input->head, input->head_bytes, cut, OTLP_DATA_DICTIONARY,
                    OTLP_DATA_RESOURCE_PROFILES, &resource) ||
        !only_bytes(input->head, input->head_bytes, cut, OTLP_DATA_DICTIONARY, OTLP_DATA_DICTIONARY,
                    &dictionary))
        return 0;
    if (resource.data != NULL && looks_like_resource(resource, cut)) return 92;
    return resource.data == NULL && dictionary.data != NULL &&
                   looks_like_dictionary(dictionary, cut)
               ? 70
               : 0;
}

/* ---- Messages ---- */

static void note_end(otlp_reader *o, const pb_cursor *cursor)
{
    if (!cursor->ok && o->bad == NULL) o->bad = cursor->bad;
}

static void unknown(otlp_reader *o, const char *message, const pb_field *field)
{
    if (!o->first_pass)
        pt_diag_add(o->hooks->diag, 1, "fields %u of %s left out: this version does not know them",
                    field->number, message);
}

/* Numbers, packed or single, are added to *into. */
static void take_numbers(otlp_reader *o, const pb_field *field)
{
    if (field->wire == PB_VARINT) {
        PT_GROW(o->number, o->number.count + 1);
        o->number.items[o->number.count++] = field->value;
        return;
    }
    if (field->wire != PB_BYTES) return;
    const uint8_t *pos = field->data, *const end = pos + field->size;
    PT_GROW(o->number, o->number.count + field->size);
    while (pos < end) {
        if (!pb_varint(&pos, end, &o->number.items[o->number.count])) {
            if (o->bad == NULL) o->bad = pos;
            return;
        }
        o->number.count++;
    }
}

static void take_times(otlp_reader *o, const pb_field *field)
{
    const uint8_t *const data = field->data;
    const size_t count = field->wire == PB_BYTES ? field->size / 8 : 1;
    PT_GROW(o->times, o->times.count + count);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = field->value;
        if (field->wire == PB_BYTES) {
            memcpy(&value, data + 8 * i, 8);
            value = le64toh(value);
        }
        o->times.items[o->times.count++] = value;
    }
}

/* ---- The dictionary ---- */

static void read_dictionary(otlp_reader *o, slice dictionary)
{
    pb_cursor cursor = pb_open(dictionary.data, dictionary.size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_BYTES || field.number >= OTLP_TABLES) {
            unknown(o, "ProfilesDictionary", &field);
            continue;
        }
        slices *const table = &o->table[field.number];
        PT_GROW(*table, table->count + 1);
        table->items[table->count++] = (slice){field.data, field.size};
    }
    note_end(o, &cursor);
}

static uint32_t string_at(otlp_reader *o, uint64_t row)
{
    if (row == 0) return 0;
    if (row >= o->table[OTLP_STRINGS].count) {
        o->dangling++;
        return 0;
    }
    if (o->string[row] == 0) {
        const slice text = o->table[OTLP_STRINGS].items[row];
        o->string[row] = pt_builder_string(o->b, (const char *)text.data, text.size).v + 1;
    }
    return o->string[row] - 1;
}

/* An attribute as a label; false if it has no value that a label can hold. */
static bool read_value(otlp_reader *o, slice any, pt_label *label)
{
    pb_cursor cursor = pb_open(any.data, any.size);
    pb_field field;
    bool found = false;
    while (pb_next(&cursor, &field)) {
        char text[40];
        double number;
        label->kind = PT_LABEL_STRING;
        label->str = 0;
        label->num = 0;
        found = true;
        if (field.number == OTLP_ANY_STRING && field.wire == PB_BYTES) {
            label->str = pt_builder_string(o->b, (const char *)field.data, field.size).v;
        } else if (field.number == OTLP_ANY_INT && field.wire == PB_VARINT) {
            label->kind = PT_LABEL_NUMBER;
            label->num = (int64_t)field.value;
        } else if (field.number == OTLP_ANY_BOOL && field.wire == PB_VARINT) {
            label->str = pt_builder_text(o->b, field.value ? "true" : "false").v;
        } else if (field.number == OTLP_ANY_DOUBLE && field.wire == PB_FIXED64) {
            memcpy(&number, &field.value, sizeof number);
            snprintf(text, sizeof text, "%.17g", number);
            label->str = pt_builder_text(o->b, text).v;
        } else {
            found = false;
        }
    }
    note_end(o, &cursor);
    o->unkept += !found && any.size > 0;
    return found;
}

static bool read_attribute(otlp_reader *o, uint64_t row, pt_label *ret_label)
{
    if (row == 0) return false;
    if (row >= o->table[OTLP_ATTRIBUTES].count) {
        o->dangling++;
        return false;
    }
    const slice attribute = o->table[OTLP_ATTRIBUTES].items[row];
    pb_cursor cursor = pb_open(attribute.data, attribute.size);
    pb_field field;
    bool found = false;
    uint32_t unit = 0;
    *ret_label = (pt_label){0};
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_ATTRIBUTE_KEY && field.wire == PB_VARINT)
            ret_label->key = string_at(o, field.value);
        else if (field.number == OTLP_ATTRIBUTE_VALUE && field.wire == PB_BYTES)
            found = read_value(o, (slice){field.data, field.size}, ret_label);
        else if (field.number == OTLP_ATTRIBUTE_UNIT && field.wire == PB_VARINT)
            unit = string_at(o, field.value);
        else
            unknown(o, "KeyValueAndUnit", &field);
    }
    note_end(o, &cursor);
    if (ret_label->kind == PT_LABEL_NUMBER) ret_label->unit = unit;
    return found;
}

static void read_mapping(otlp_reader *o, slice message)
{
    pt_mapping m = {0};
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    o->number.count = 0;
    while (pb_next(&cursor, &field)) {
        switch (field.number) {
        case OTLP_MAPPING_START: m.start = field.value; break;
        case OTLP_MAPPING_LIMIT: m.limit = field.value; break;
        case OTLP_MAPPING_OFFSET: m.file_offset = field.value; break;
        case OTLP_MAPPING_FILE: m.file = string_at(o, field.value); break;
        case OTLP_MAPPING_ATTRIBUTES: take_numbers(o, &field); break;
        default: unknown(o, "Mapping", &field);
        }
    }
    note_end(o, &cursor);
    for (size_t i = 0; i < o->number.count; i++) {
        pt_label label;
        if (!read_attribute(o, o->number.items[i], &label)) continue;
        const char *const key = pt_builder_get_text(o->b, (pt_string_id){label.key});
        if (strcmp(key, OTLP_BUILD_ID) == 0 && label.kind == PT_LABEL_STRING)
            m.build_id = label.str;
        else
            pt_diag_add(o->hooks->diag, 1, "attributes %.100s of mappings left out", key);
    }
    pt_builder_append_mapping(o->b, &m);
    o->mappings++;
}

static void read_function(otlp_reader *o, slice message)
{
    pt_function f = {0};
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        switch (field.number) {
        case OTLP_FUNCTION_NAME: f.name = string_at(o, field.value); break;
        case OTLP_FUNCTION_SYSTEM_NAME: f.system_name = string_at(o, field.value); break;
        case OTLP_FUNCTION_FILE: f.file = string_at(o, field.value); break;
        case OTLP_FUNCTION_START_LINE: f.start_line = (int64_t)field.value; break;
        default: unknown(o, "Function", &field);
        }
    }
    note_end(o, &cursor);
    pt_builder_append_function(o->b, &f);
    o->functions++;
}

/* The row of a table whose row 0 is none, as an id. */
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
    while (pb_next(&cursor, &field)) {
        switch (field.number) {
        case OTLP_LINE_FUNCTION: line.function = id_of(o, field.value, o->functions); break;
        case OTLP_LINE_LINE: line.line = (int64_t)field.value; break;
        case OTLP_LINE_COLUMN: line.column = (int64_t)field.value; break;
        default: unknown(o, "Line", &field);
        }
    }
    note_end(o, &cursor);
    return line;
}

static void read_location(otlp_reader *o, slice message)
{
    struct {
        pt_line *items;
        size_t count, cap;
    } lines = {0};
    pt_location location = {.mapping = PT_NONE};
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        switch (field.number) {
        case OTLP_LOCATION_MAPPING: location.mapping = id_of(o, field.value, o->mappings); break;
        case OTLP_LOCATION_ADDRESS: location.address = field.value; break;
        case OTLP_LOCATION_LINES:
            if (field.wire != PB_BYTES) break;
            PT_GROW(lines, lines.count + 1);
            lines.items[lines.count++] = read_line(o, &field);
            break;
        case OTLP_LOCATION_ATTRIBUTES: /* the kind of frame, which names and mappings tell, too */
            break;
        default: unknown(o, "Location", &field);
        }
    }
    note_end(o, &cursor);
    pt_builder_append_location(o->b, &location, lines.items, lines.count);
    o->locations++;
    free(lines.items);
}

static void make_tables(otlp_reader *o)
{
    o->string = pt_alloc(o->table[OTLP_STRINGS].count + 1, sizeof *o->string);
    o->stack = pt_alloc(o->table[OTLP_STACKS].count + 1, sizeof *o->stack);
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
    const slice message = o->table[OTLP_STACKS].items[row];
    pb_cursor cursor = pb_open(message.data, message.size);
    pb_field field;
    o->number.count = 0;
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_STACK_LOCATIONS)
            take_numbers(o, &field);
        else
            unknown(o, "Stack", &field);
    }
    note_end(o, &cursor);
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
    PT_GROW(o->label, o->label.count + 1);
    o->label.items[o->label.count++] = label;
}

static void add_id(otlp_reader *o, const char *key, const pb_field *id)
{
    PT_FREE char *text = pt_alloc(2 * id->size + 1, 1);
    for (size_t i = 0; i < id->size; i++)
        snprintf(text + 2 * i, 3, "%02x", id->data[i]);
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
    const slice link = o->table[OTLP_LINKS].items[row];
    pb_cursor cursor = pb_open(link.data, link.size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_LINK_TRACE && field.wire == PB_BYTES)
            add_id(o, OTLP_TRACE_ID, &field);
        else if (field.number == OTLP_LINK_SPAN && field.wire == PB_BYTES)
            add_id(o, OTLP_SPAN_ID, &field);
        else
            unknown(o, "Link", &field);
    }
    note_end(o, &cursor);
}

static void add_labels(otlp_reader *o, uint64_t link)
{
    o->label.count = 0;
    for (size_t i = 0; i < o->resource.count; i++)
        add_label(o, o->resource.items[i]);
    for (size_t i = 0; i < o->number.count; i++) {
        pt_label label;
        if (read_attribute(o, o->number.items[i], &label)) add_label(o, label);
    }
    add_link(o, link);
}

static void put_sample(otlp_reader *o, uint32_t event, pt_stack_id stack, pt_labels_id labels,
                       uint64_t time, int64_t value)
{
    o->values[event] = value;
    o->any_times |= time != 0;
    if (!o->any_times) {
        /* Values of another event belong to the sample that is there. */
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

/* Values and timestamps as the specification pairs them. values are o->number[from..]. */
static void put_samples(otlp_reader *o, uint32_t event, pt_stack_id stack, pt_labels_id labels,
                        const uint64_t *values, size_t count)
{
    const size_t times = o->times.count;
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
    struct {
        uint64_t *items;
        size_t count, cap;
    } values = {0};
    slices attributes = {0};
    o->number.count = o->times.count = 0;
    while (pb_next(&cursor, &field)) {
        switch (field.number) {
        case OTLP_SAMPLE_STACK: stack = field.value; break;
        case OTLP_SAMPLE_LINK: link = field.wire == PB_VARINT ? field.value : 0; break;
        case OTLP_SAMPLE_TIMES: take_times(o, &field); break;
        case OTLP_SAMPLE_VALUES: take_numbers(o, &field); break;
        case OTLP_SAMPLE_ATTRIBUTES:
            PT_GROW(attributes, attributes.count + 1);
            attributes.items[attributes.count++] =
                (slice){field.start, (size_t)(cursor.pos - field.start)};
            break;
        default: unknown(o, "Sample", &field);
        }
    }
    note_end(o, &cursor);
    PT_GROW(values, o->number.count + 1);
    values.count = o->number.count;
    if (values.count > 0)
        memcpy(values.items, o->number.items, values.count * sizeof *values.items);
    const pt_stack_id id = stack_at(o, stack);
    o->number.count = 0;
    for (size_t i = 0; i < attributes.count; i++) {
        pb_cursor one = pb_open(attributes.items[i].data, attributes.items[i].size);
        if (pb_next(&one, &field)) take_numbers(o, &field);
    }
    add_labels(o, link);
    put_samples(o, event, id, pt_builder_labels(o->b, o->label.items, o->label.count), values.items,
                values.count);
    free(values.items);
    free(attributes.items);
}

/* ---- Profiles ---- */

static void read_type(otlp_reader *o, const pb_field *message, uint32_t *ret_type,
                      uint32_t *ret_unit)
{
    if (message->wire != PB_BYTES) return;
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_TYPE_TYPE)
            *ret_type = string_at(o, field.value);
        else if (field.number == OTLP_TYPE_UNIT)
            *ret_unit = string_at(o, field.value);
        else
            unknown(o, "ValueType", &field);
    }
    note_end(o, &cursor);
}

static uint32_t event_of(otlp_reader *o, uint32_t type, uint32_t unit)
{
    for (uint32_t i = 0; i < pt_builder_event_count(o->b); i++) {
        const pt_event *const event = pt_builder_event_at(o->b, i);
        if (event->type == type && event->unit == unit) return i;
    }
    return pt_builder_event(o->b, &(pt_event){.type = type, .unit = unit});
}

/* What is said once of the whole: the earliest start, the longest duration, the first period. */
static void take_header(otlp_reader *o, const pb_field *field)
{
    pt_provenance *const from = pt_builder_provenance(o->b);
    const int64_t value = field->value > INT64_MAX ? INT64_MAX : (int64_t)field->value;
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
        if (!from->has_period_type) {
            uint32_t type = 0, unit = 0;
            read_type(o, field, &type, &unit);
            from->period_type = type;
            from->period_unit = unit;
            from->has_period_type = true;
        }
        break;
    }
}

static void read_profile(otlp_reader *o, slice profile)
{
    pb_cursor cursor = pb_open(profile.data, profile.size);
    pb_field field;
    uint32_t type = 0, unit = 0;
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_PROFILE_SAMPLE_TYPE) read_type(o, &field, &type, &unit);
    }
    const uint32_t event = event_of(o, type, unit);
    o->profiles += o->first_pass;
    if (o->first_pass) return;
    cursor = pb_open(profile.data, profile.size);
    while (pb_next(&cursor, &field)) {
        switch (field.number) {
        case OTLP_PROFILE_SAMPLE_TYPE:
        case OTLP_PROFILE_ID: break;
        case OTLP_PROFILE_SAMPLES:
            if (field.wire == PB_BYTES) read_sample(o, event, &field);
            break;
        case OTLP_PROFILE_TIME:
        case OTLP_PROFILE_DURATION:
        case OTLP_PROFILE_PERIOD:
        case OTLP_PROFILE_PERIOD_TYPE: take_header(o, &field); break;
        case OTLP_PROFILE_PAYLOAD_FORMAT: break;
        case OTLP_PROFILE_PAYLOAD:
            pt_diag_add(o->hooks->diag, 1, "original payloads left out");
            break;
        case OTLP_PROFILE_ATTRIBUTES:
            pt_diag_add(o->hooks->diag, 1, "attributes of a whole profile left out");
            break;
        case OTLP_PROFILE_DROPPED_ATTRIBUTES:
            pt_diag_add(o->hooks->diag, field.value, "attributes dropped before the file was made");
            break;
        default: unknown(o, "Profile", &field);
        }
    }
    note_end(o, &cursor);
}

/* KeyValue { key = 1, value = 2 }: a resource's, whose keys are text. */
static void read_resource_attribute(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    pt_label label = {0};
    bool found = false;
    while (pb_next(&cursor, &field)) {
        if (field.number == 1 && field.wire == PB_BYTES) {
            PT_FREE char *key = pt_strf("resource.%.*s", (int)(field.size < 200 ? field.size : 200),
                                        (const char *)field.data);
            label.key = pt_builder_text(o->b, key).v;
        } else if (field.number == 2 && field.wire == PB_BYTES) {
            found = read_value(o, (slice){field.data, field.size}, &label);
        }
    }
    note_end(o, &cursor);
    if (!found || label.key == 0) return;
    PT_GROW(o->resource, o->resource.count + 1);
    o->resource.items[o->resource.count++] = label;
}

static void read_resource(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    o->resource.count = 0;
    while (!o->first_pass && pb_next(&cursor, &field)) {
        if (field.number == 1 && field.wire == PB_BYTES) read_resource_attribute(o, &field);
    }
    note_end(o, &cursor);
}

static void read_scope(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_SCOPE_PROFILES && field.wire == PB_BYTES)
            read_profile(o, (slice){field.data, field.size});
        else if (field.number > OTLP_SCOPE_SCHEMA_URL)
            unknown(o, "ScopeProfiles", &field);
    }
    note_end(o, &cursor);
}

static void read_resource_profiles(otlp_reader *o, const pb_field *message)
{
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    o->resource.count = 0;
    while (pb_next(&cursor, &field)) {
        if (field.number == OTLP_RESOURCE_RESOURCE && field.wire == PB_BYTES)
            read_resource(o, &field);
        else if (field.number == OTLP_RESOURCE_SCOPES && field.wire == PB_BYTES)
            read_scope(o, &field);
        else if (field.number > OTLP_RESOURCE_SCHEMA_URL)
            unknown(o, "ResourceProfiles", &field);
    }
    note_end(o, &cursor);
}

/* ---- The file ---- */

static void walk(otlp_reader *o, slice file, uint32_t number)
{
    pb_cursor cursor = pb_open(file.data, file.size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_BYTES || field.number > OTLP_DATA_DICTIONARY) {
            if (number == OTLP_DATA_DICTIONARY) unknown(o, "ProfilesData", &field);
        } else if (field.number == number && number == OTLP_DATA_DICTIONARY) {
            read_dictionary(o, (slice){field.data, field.size});
        } else if (field.number == number) {
            read_resource_profiles(o, &field);
        }
    }
    note_end(o, &cursor);
}

static pt_status conclude(const otlp_reader *o, pt_error *reterr)
{
    pt_diag *const diag = o->hooks->diag;
    if (o->mismatched > 0)
        pt_diag_add(diag, o->mismatched, "samples whose values do not fit their timestamps");
    if (o->unkept > 0)
        pt_diag_add(diag, o->unkept, "attributes that are neither text nor number left out");
    if (o->dangling > 0)
        pt_diag_add(diag, o->dangling, "numbers of rows that the dictionary does not have");
    if (o->profiles == 0 && o->bad == NULL)
        return pt_error_set(reterr, PT_ERR_FORMAT, "OTLP data without a profile");
    if (o->bad != NULL) {
        pt_error_set(reterr, PT_ERR_DAMAGED,
                     "ends or is wrong at byte %" PRIu64 "; kept %u samples",
                     (uint64_t)(o->bad - o->start), pt_builder_sample_count(o->b));
        if (reterr) pt_error_where(reterr, NULL, NULL, o->bad - o->start);
        return PT_ERR_DAMAGED;
    }
    if (o->valueless > 0) /* in the layouts of 2025, values had another number */
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "%" PRIu64 " samples have neither values nor timestamps: perhaps the "
                            "layout of an older version; kept %u samples",
                            o->valueless, pt_builder_sample_count(o->b));
    if (o->dangling > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED,
                            "rows that are not there are referred to; kept %u samples",
                            pt_builder_sample_count(o->b));
    return PT_OK;
}

static pt_status otlp_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                           pt_error *reterr)
{
    otlp_reader o = {.b = builder, .hooks = hooks, .start = reader->pos};
    const slice file = {reader->pos, pt_reader_left(reader)};
    if (file.size == 0) return pt_error_set(reterr, PT_ERR_FORMAT, "OTLP data without a profile");
    walk(&o, file, OTLP_DATA_DICTIONARY);
    make_tables(&o);
    o.first_pass = true;
    walk(&o, file, OTLP_DATA_RESOURCE_PROFILES);
    o.first_pass = false;
    o.values = pt_alloc((size_t)pt_builder_event_count(builder) + 1, sizeof *o.values);
    walk(&o, file, OTLP_DATA_RESOURCE_PROFILES);
    const pt_status status = conclude(&o, reterr);
    if (status != PT_OK && reterr) pt_error_where(reterr, NULL, "otlp", -1);
    for (size_t i = 0; i < OTLP_TABLES; i++)
        free(o.table[i].items);
    free(o.string);
    free(o.stack);
    free(o.values);
    free(o.label.items);
    free(o.resource.items);
    free(o.number.items);
    free(o.times.items);
    return status;
}

static const char *const aliases[] = {"opentelemetry", NULL};
static const char *const extensions[] = {".otlp", ".otlp.pb", NULL};

const pt_format pt_format_otlp = {
    .name = "otlp",
    .aliases = aliases,
    .extensions = extensions,
    .summary = "OpenTelemetry profiles, v1development: the eBPF profiler, collectors",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities = PT_CAN_STACKS | PT_CAN_LABELS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_INLINES |
                    PT_CAN_ADDRESSES | PT_CAN_MAPPINGS | PT_CAN_NAMES | PT_CAN_UNITS | PT_CAN_TIME |
                    PT_CAN_HEADER,
    .probe = probe,
    .read = otlp_read,
    .write = pt_otlp_write,
};
