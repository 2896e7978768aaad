/* dump_tables.c: every table and column of the model, from a description of the place of each
 * column.
 *
 * A table keeps its values either in one pointer for each column (locations) or in an array of
 * structs (mappings); `column` describes both. A list in a row (frames, lines, labels, values) has
 * a kind of its own.
 */
#include "render/dump.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

typedef enum {
    BOOL,
    U8,
    U32,
    I64,
    U64,
    HEX, /* u64 */
    DOUBLE,
    TEXT,   /* u32 string */
    ID,     /* u32 row or PT_NONE */
    KIND,   /* pt_event_kind */
    END,    /* u8 pt_stack_end */
    PLACE,  /* pt_message, u8 */
    STRING, /* the row itself, of the string table */
    FRAMES,
    LINES,
    LABELS,
    VALUES, /* columns of samples */
    COSTS,  /* columns of arcs */
    COMMENTS,
} kind;

typedef struct {
    const char *name;
    kind kind;
    size_t at;     /* offset of the column's pointer in the table; SIZE_MAX: a list */
    size_t stride; /* bytes from row to row */
    size_t field;  /* offset in the row */
} column;

#define COLUMNS_MAX 28

typedef struct {
    const char *name;
    size_t at; /* in pt_profile */
    column column[COLUMNS_MAX];
} table;

#define COL(table, name, kind, type)                                                               \
    {                                                                                              \
#name, kind, offsetof(table, name), sizeof(type), 0                                        \
    }
#define FIELD(table, row_type, name, kind)                                                         \
    {                                                                                              \
#name, kind, offsetof(table, row), sizeof(row_type), offsetof(row_type, name)              \
    }
#define LIST(name, kind)                                                                           \
    {                                                                                              \
        name, kind, SIZE_MAX, 0, 0                                                                 \
    }
#define IN_SOURCE(name, kind)                                                                      \
    {                                                                                              \
#name, kind, SIZE_MAX - 1, 0, offsetof(pt_source, row) + offsetof(pt_provenance, name)     \
    }

/* clang-format off */
static const table tables[] = {
    {"source", offsetof(pt_profile, source), {
        IN_SOURCE(tool, TEXT), IN_SOURCE(host, TEXT), IN_SOURCE(os, TEXT),
        IN_SOURCE(cpu_model, TEXT), IN_SOURCE(command_line, TEXT), IN_SOURCE(source_format, TEXT),
        IN_SOURCE(period_type, TEXT), IN_SOURCE(period_unit, TEXT), IN_SOURCE(period, I64),
        IN_SOURCE(has_period_type, BOOL), IN_SOURCE(start_ns, I64), IN_SOURCE(duration_ns, I64),
        IN_SOURCE(lost, U64), IN_SOURCE(throttled, U64), IN_SOURCE(asked_hz, DOUBLE),
        IN_SOURCE(true_hz, DOUBLE), IN_SOURCE(cpu_used_ns, I64), IN_SOURCE(cpu_seen_ns, I64),
        IN_SOURCE(word_bytes, U32), IN_SOURCE(big_endian, BOOL), IN_SOURCE(drop_frames, TEXT),
        IN_SOURCE(keep_frames, TEXT), IN_SOURCE(default_event, TEXT), IN_SOURCE(doc_url, TEXT),
        IN_SOURCE(damaged, BOOL), LIST("comments", COMMENTS)}},
    {"event", offsetof(pt_profile, event), {
        FIELD(pt_events, pt_event, type, TEXT), FIELD(pt_events, pt_event, unit, TEXT),
        FIELD(pt_events, pt_event, kind, KIND), FIELD(pt_events, pt_event, period_varies, BOOL),
        FIELD(pt_events, pt_event, period, I64), FIELD(pt_events, pt_event, rate_hz, DOUBLE),
        FIELD(pt_events, pt_event, monitored_fraction, DOUBLE)}},
    {"mapping", offsetof(pt_profile, mapping), {
        FIELD(pt_mappings, pt_mapping, start, HEX), FIELD(pt_mappings, pt_mapping, limit, HEX),
        FIELD(pt_mappings, pt_mapping, file_offset, HEX), FIELD(pt_mappings, pt_mapping, bias, HEX),
        FIELD(pt_mappings, pt_mapping, source_id, U64), FIELD(pt_mappings, pt_mapping, file, TEXT),
        FIELD(pt_mappings, pt_mapping, build_id, TEXT),
        FIELD(pt_mappings, pt_mapping, foreign_id, TEXT),
        FIELD(pt_mappings, pt_mapping, flags, U32),
        FIELD(pt_mappings, pt_mapping, valid_from_ns, I64),
        FIELD(pt_mappings, pt_mapping, valid_to_ns, I64)}},
    {"function", offsetof(pt_profile, function), {
        COL(pt_functions, name, TEXT, uint32_t), COL(pt_functions, system_name, TEXT, uint32_t),
        COL(pt_functions, file, TEXT, uint32_t), COL(pt_functions, start_line, I64, int64_t),
        COL(pt_functions, source_id, U64, uint64_t)}},
    {"location", offsetof(pt_profile, location), {
        COL(pt_locations, mapping, ID, uint32_t), COL(pt_locations, address, HEX, uint64_t),
        LIST("lines", LINES), COL(pt_locations, flags, U8, uint8_t),
        COL(pt_locations, code_offset, U64, uint64_t),
        COL(pt_locations, source_id, U64, uint64_t)}},
    {"line", offsetof(pt_profile, line), {
        COL(pt_lines, function, ID, uint32_t), COL(pt_lines, line, I64, int64_t),
        COL(pt_lines, column, I64, int64_t)}},
    {"stack", offsetof(pt_profile, stack), {
        LIST("frames", FRAMES), COL(pt_stacks, end, END, uint8_t)}},
    {"labels", offsetof(pt_profile, labels), {LIST("labels", LABELS)}},
    {"sample", offsetof(pt_profile, sample), {
        COL(pt_samples, stack, ID, uint32_t), COL(pt_samples, labels, ID, uint32_t),
        LIST("values", VALUES), COL(pt_samples, time_ns, I64, int64_t),
        COL(pt_samples, pid, ID, uint32_t), COL(pt_samples, tid, ID, uint32_t),
        COL(pt_samples, cpu, ID, uint32_t), COL(pt_samples, comm, TEXT, uint32_t)}},
    {"arc", offsetof(pt_profile, arc), {
        COL(pt_arcs, from, ID, uint32_t), COL(pt_arcs, to, ID, uint32_t),
        COL(pt_arcs, calls, U64, uint64_t), LIST("costs", COSTS)}},
    {"bin", offsetof(pt_profile, bin), {
        FIELD(pt_bins, pt_bin, low, HEX), FIELD(pt_bins, pt_bin, high, HEX),
        FIELD(pt_bins, pt_bin, count, U64), FIELD(pt_bins, pt_bin, scale, DOUBLE),
        FIELD(pt_bins, pt_bin, mapping, ID), FIELD(pt_bins, pt_bin, event, U32)}},
    {"block", offsetof(pt_profile, block), {
        FIELD(pt_blocks, pt_block, address, HEX), FIELD(pt_blocks, pt_block, count, U64),
        FIELD(pt_blocks, pt_block, mapping, ID)}},
    {"extra", offsetof(pt_profile, extra), {
        COL(pt_extras, key, TEXT, uint32_t), COL(pt_extras, value, TEXT, uint32_t)}},
    {"unknown", offsetof(pt_profile, unknown), {
        COL(pt_unknowns, message, PLACE, uint8_t), COL(pt_unknowns, row, U32, uint32_t),
        COL(pt_unknowns, bytes, TEXT, uint32_t)}},
    {"string", offsetof(pt_profile, string), {LIST("text", STRING)}},
};
/* clang-format on */

static const char *const event_kinds[] = {
    [PT_EVENT_COUNT] = "count", [PT_EVENT_TIME] = "time", [PT_EVENT_BYTES] = "bytes"};
static const char *const places[] = {
    [PT_IN_PROFILE] = "profile",        [PT_IN_EVENT] = "event",
    [PT_IN_SAMPLE] = "sample",          [PT_IN_MAPPING] = "mapping",
    [PT_IN_LOCATION] = "location",      [PT_IN_LINE] = "line",
    [PT_IN_FUNCTION] = "function",      [PT_IN_LABEL] = "label",
    [PT_IN_PERIOD_TYPE] = "period_type"};

/* Where cells go: tab-separated text, or JSON. */
typedef struct {
    pt_out *out;
    pt_json_w *json; /* NULL = text */
    bool in_list;    /* text: the list has a value already */
} sink;

static void begin_value(sink *s)
{
    if (s->json == NULL && s->in_list) pt_out_char(s->out, ' ');
    s->in_list = true;
}

/* Puts a string as a JSON string, also in text. */
static void put_string(sink *s, const pt_profile *p, uint32_t string)
{
    begin_value(s);
    if (s->json != NULL) {
        pt_json_text_n(s->json, pt_text(p, string), pt_text_bytes(p, string));
        return;
    }
    PT_AUTO(pt_json_w) quoted;
    pt_json_w_init(&quoted, s->out, 0);
    pt_json_text_n(&quoted, pt_text(p, string), pt_text_bytes(p, string));
}

static void put_word(sink *s, const char *word)
{
    begin_value(s);
    if (s->json != NULL)
        pt_json_text(s->json, word);
    else
        pt_out_text(s->out, word);
}

static void put_int(sink *s, int64_t value)
{
    begin_value(s);
    if (s->json != NULL)
        pt_json_int(s->json, value);
    else
        pt_outf(s->out, "%" PRId64, value);
}

static void put_uint(sink *s, uint64_t value)
{
    begin_value(s);
    if (s->json != NULL)
        pt_json_uint(s->json, value);
    else
        pt_outf(s->out, "%" PRIu64, value);
}

/* JSON numbers lose bits beyond 2^53 in many readers, so addresses are strings in JSON also. */
static void put_hex(sink *s, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    put_word(s, text);
}

static void put_double(sink *s, double value)
{
    begin_value(s);
    if (s->json != NULL)
        pt_json_double(s->json, value);
    else
        pt_outf(s->out, "%.17g", value);
}

static void put_bool(sink *s, bool value)
{
    begin_value(s);
    if (s->json != NULL)
        pt_json_bool(s->json, value);
    else
        pt_out_text(s->out, value ? "true" : "false");
}

static void put_none(sink *s)
{
    begin_value(s);
    if (s->json != NULL)
        pt_json_null(s->json);
    else
        pt_out_char(s->out, '-');
}

static void put_id(sink *s, uint32_t id)
{
    if (id == PT_NONE)
        put_none(s);
    else
        put_uint(s, id);
}

static void put_label(sink *s, const pt_profile *p, const pt_label *label)
{
    if (s->json == NULL) {
        put_string(s, p, label->key);
        pt_out_char(s->out, '=');
        s->in_list = false;
    } else {
        pt_json_object(s->json);
        pt_json_key(s->json, "key");
        put_string(s, p, label->key);
        pt_json_key(s->json, label->kind == PT_LABEL_STRING ? "text" : "number");
    }
    if (label->kind == PT_LABEL_STRING)
        put_string(s, p, label->str);
    else
        put_int(s, label->num);
    if (label->unit != 0) {
        if (s->json != NULL) pt_json_key(s->json, "unit");
        put_string(s, p, label->unit);
    }
    if (s->json != NULL) pt_json_object_end(s->json);
}

static void put_labels(sink *s, const pt_profile *p, uint32_t set)
{
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++)
        put_label(s, p, &p->labels->row[i]);
}

static void put_list(sink *s, const pt_profile *p, kind what, uint32_t row)
{
    const pt_provenance *source = pt_profile_provenance(p);
    if (s->json != NULL) pt_json_array(s->json);
    s->in_list = false;
    switch (what) {
    case FRAMES:
        for (uint32_t i = 0; i < pt_stack_depth(p, row); i++)
            put_id(s, pt_stack_frames(p, row)[i]);
        break;
    case LINES:
        for (uint32_t l = p->location->line_first[row]; l < p->location->line_first[row + 1]; l++)
            put_id(s, l);
        break;
    case LABELS: put_labels(s, p, row); break;
    case VALUES:
        for (uint32_t e = 0; e < p->sample->event_count; e++)
            put_int(s, p->sample->value[e][row]);
        break;
    case COSTS:
        for (uint32_t e = 0; e < p->arc->event_count; e++) {
            if (p->arc->cost[e] == NULL)
                put_none(s);
            else
                put_int(s, p->arc->cost[e][row]);
        }
        break;
    case COMMENTS:
        for (uint32_t i = 0; i < source->comment_count; i++)
            put_string(s, p, source->comments[i]);
        break;
    default: PT_BUG_IF(true);
    }
    if (s->json != NULL)
        pt_json_array_end(s->json);
    else if (!s->in_list)
        pt_out_char(s->out, '-');
}

/* The address of a cell; NULL if the profile lacks the optional column. */
static const void *cell_at(const void *table_start, const column *c, uint32_t row)
{
    if (c->at == SIZE_MAX - 1) return (const char *)table_start + c->field;
    const char *first = *(const char *const *)((const char *)table_start + c->at);
    return first == NULL ? NULL : first + row * c->stride + c->field;
}

static uint32_t u32_at(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void put_cell(sink *s, const pt_profile *p, const void *start, const column *c, uint32_t row)
{
    s->in_list = false;
    if (c->kind == STRING) {
        put_string(s, p, row);
        return;
    }
    if (c->at == SIZE_MAX) {
        put_list(s, p, c->kind, row);
        return;
    }
    const void *at = cell_at(start, c, row);
    if (at == NULL) {
        put_none(s);
        return;
    }
    switch (c->kind) {
    case BOOL: put_bool(s, *(const bool *)at); break;
    case U8: put_uint(s, *(const uint8_t *)at); break;
    case U32: put_uint(s, u32_at(at)); break;
    case I64: put_int(s, *(const int64_t *)at); break;
    case U64: put_uint(s, *(const uint64_t *)at); break;
    case HEX: put_hex(s, *(const uint64_t *)at); break;
    case DOUBLE: put_double(s, *(const double *)at); break;
    case TEXT: put_string(s, p, u32_at(at)); break;
    case ID: put_id(s, u32_at(at)); break;
    case KIND: put_word(s, event_kinds[*(const pt_event_kind *)at]); break;
    case END: put_word(s, pt_stack_end_name((pt_stack_end) * (const uint8_t *)at)); break;
    case PLACE: put_word(s, places[*(const uint8_t *)at]); break;
    default: PT_BUG_IF(true);
    }
}

static const pt_table *table_of(const pt_profile *p, const table *t)
{
    return *(const pt_table *const *)((const char *)p + t->at);
}

void pt_dump_tables_text(pt_out *out, const pt_profile *p)
{
    sink s = {.out = out};
    for (size_t t = 0; t < PT_COUNT(tables); t++) {
        const pt_table *start = table_of(p, &tables[t]);
        pt_outf(out, "%s%s %u\n#", t > 0 ? "\n" : "", tables[t].name, start->count);
        for (const column *c = tables[t].column; c->name != NULL; c++)
            pt_outf(out, "\t%s", c->name);
        pt_out_char(out, '\n');
        for (uint32_t row = 0; row < start->count && pt_out_ok(out); row++) {
            pt_outf(out, "%u", row);
            for (const column *c = tables[t].column; c->name != NULL; c++) {
                pt_out_char(out, '\t');
                put_cell(&s, p, start, c, row);
            }
            pt_out_char(out, '\n');
        }
    }
}

void pt_dump_tables_json(pt_out *out, const pt_profile *p)
{
    pt_json_w w;
    pt_json_w_init(&w, out, 0);
    sink s = {.out = out, .json = &w};
    pt_json_object(&w);
    pt_json_key_int(&w, "schema", PT_DUMP_SCHEMA);
    pt_json_key_object(&w, "tables");
    for (size_t t = 0; t < PT_COUNT(tables); t++) {
        const pt_table *start = table_of(p, &tables[t]);
        pt_json_key_object(&w, tables[t].name);
        pt_json_key_array(&w, "columns");
        for (const column *c = tables[t].column; c->name != NULL; c++)
            pt_json_text(&w, c->name);
        pt_json_array_end(&w);
        PT_JSON_EACH (&w, "rows", row, start->count) {
            pt_json_array(&w);
            for (const column *c = tables[t].column; c->name != NULL; c++)
                put_cell(&s, p, start, c, row);
            pt_json_array_end(&w);
        }
        pt_json_object_end(&w);
    }
    pt_json_object_end(&w);
    pt_json_object_end(&w);
    pt_json_w_done(&w);
    pt_out_char(out, '\n');
}
