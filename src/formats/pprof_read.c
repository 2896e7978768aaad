/* pprof_read.c: reads profile.proto: the first walk, the small tables, and the reports of damage.
 * pprof_int.h has the layout and the plan. */
#include "formats/pprof_int.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Ids of the file ---- */

static void ids_init(pprof_ids *ids, size_t expected)
{
    *ids = (pprof_ids){.dense_count = 4 * expected + 1024};
    ids->dense = pt_alloc(ids->dense_count, sizeof *ids->dense);
    memset(ids->dense, 0xff, ids->dense_count * sizeof *ids->dense);
    pt_index_init(&ids->sparse);
}

static void ids_done(pprof_ids *ids)
{
    PT_FREE_ALL(ids->dense, ids->id, ids->row);
    pt_index_done(&ids->sparse);
}

static uint64_t hash_id(uint64_t id)
{
    return pt_hash_mix(id, 0x2545f4914f6cdd1du);
}

uint32_t pprof_ids_sparse(const pprof_ids *ids, uint64_t id)
{
    const uint32_t found = PT_INDEX_FIND(&ids->sparse, hash_id(id), at, ids->id[at] == id);
    return found != PT_NONE ? ids->row[found] : PT_NONE;
}

bool pprof_ids_add(pprof_ids *ids, uint64_t id, uint32_t row)
{
    if (id == 0 || pprof_ids_get(ids, id) != PT_NONE) return false;
    if (id < ids->dense_count) {
        ids->in_order += id == ids->in_order + 1 && row == ids->in_order;
        ids->dense[id] = row;
        return true;
    }
    ids->id = pt_grow(ids->id, &ids->id_cap, ids->count + 1, sizeof *ids->id);
    ids->row = pt_grow(ids->row, &ids->row_cap, ids->count + 1, sizeof *ids->row);
    ids->id[ids->count] = id;
    ids->row[ids->count] = row;
    pt_index_add(&ids->sparse, hash_id(id), (uint32_t)ids->count++);
    return true;
}

/* ---- Common to all messages ---- */

uint32_t pprof_string(pprof_reader *r, uint64_t index)
{
    if (index < r->string.count) return r->string.items[index];
    if (index != 0) r->damage.strings++;
    return 0;
}

void pprof_keep_unknown(pt_buf *unknown, const pb_cursor *cursor, const pb_field *field)
{
    pt_put(unknown, field->start, (size_t)(cursor->pos - field->start));
}

void pprof_file_unknown(pprof_reader *r, pt_message message, uint32_t row)
{
    if (r->unknown.size == 0) return;
    pt_builder_unknown(r->builder, message, row, r->unknown.data, r->unknown.size);
    pt_buf_clear(&r->unknown);
}

void pprof_close(pprof_reader *r, const pb_cursor *cursor)
{
    if (!cursor->ok) r->damage.messages++;
}

/* ---- The first walk ---- */

static void note_slice(pprof_slices *slices, const uint8_t *data, size_t size)
{
    PT_PUSH(*slices, (struct pprof_slice){data, size});
}

static void add_string(pprof_reader *r, const pb_field *field)
{
    PT_PUSH(r->string, pt_builder_string(r->builder, (const char *)field->data, field->size).v);
}

/* Signs that a file is two concatenated profiles, which protobuf parses as one message with a wrong
 * string table: a second time_nanos; or sample types in two places together with a second "", which
 * begins a string table. Neither two places nor a second "" is enough alone, since a table may hold
 * "" twice and fields may come in any order. */
typedef struct {
    unsigned type_runs, empty_strings, times;
    uint32_t last_number;
    const uint8_t *second; /* probable start of the second profile */
} concatenation;

static void watch_field(concatenation *c, const pb_field *field)
{
    if (field->number == PPROF_SAMPLE_TYPE && c->last_number != PPROF_SAMPLE_TYPE) {
        c->type_runs++;
        if (c->type_runs == 2) c->second = field->start;
    }
    if (field->number == PPROF_STRING_TABLE && field->size == 0) c->empty_strings++;
    if (field->number == PPROF_TIME_NANOS && field->value != 0) c->times++;
    c->last_number = field->number;
}

static bool is_concatenated(const concatenation *c)
{
    return c->times > 1 || (c->type_runs > 1 && c->empty_strings > 1);
}

/* Is the field a field of Profile, with the type that this field has? */
static bool known_in_profile(const pb_field *field)
{
    switch (field->number) {
    case PPROF_SAMPLE_TYPE:
    case PPROF_SAMPLE:
    case PPROF_MAPPING:
    case PPROF_LOCATION:
    case PPROF_FUNCTION:
    case PPROF_STRING_TABLE:
    case PPROF_PERIOD_TYPE: return field->wire == PB_BYTES;
    case PPROF_COMMENT: return field->wire == PB_BYTES || field->wire == PB_VARINT;
    default: return field->number <= PPROF_DOC_URL && field->wire == PB_VARINT;
    }
}

static pt_status walk_tables(pprof_reader *r, pt_error *reterr)
{
    pb_cursor cursor = pb_open(r->start, (size_t)(r->end - r->start));
    concatenation twice = {0};
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (!known_in_profile(&field)) {
            note_slice(&r->header, field.start, (size_t)(cursor.pos - field.start));
            continue;
        }
        watch_field(&twice, &field);
        switch (field.number) {
        case PPROF_SAMPLE:
            r->sample_count++;
            r->sample_bytes += field.size;
            break;
        case PPROF_STRING_TABLE: add_string(r, &field); break;
        case PPROF_SAMPLE_TYPE: note_slice(&r->sample_type, field.data, field.size); break;
        case PPROF_MAPPING: note_slice(&r->mapping, field.data, field.size); break;
        case PPROF_LOCATION: note_slice(&r->location, field.data, field.size); break;
        case PPROF_FUNCTION: note_slice(&r->function, field.data, field.size); break;
        default: note_slice(&r->header, field.start, (size_t)(cursor.pos - field.start));
        }
    }
    if (is_concatenated(&twice)) {
        const int64_t where = twice.second ? (int64_t)(twice.second - r->start) : -1;
        pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                     "the file contains several concatenated profiles, which no reader can take "
                     "apart; keep them in files of their own and join them with pitot merge");
        if (reterr) pt_error_where(reterr, NULL, NULL, where);
        return PT_ERR_UNSUPPORTED;
    }
    if (!cursor.ok) {
        r->cut = cursor.bad;
        r->end = cursor.bad;
    }
    return PT_OK;
}

/* Refuses a file if the number of its sample types exceeds the average size of its samples in bytes
 * by more than 16. A value takes at least a byte, so nearly all values would be missing, and a
 * short file could request any amount of memory for the missing values. */
static pt_status check_columns(const pprof_reader *r, pt_error *reterr)
{
    const uint64_t per_sample = r->sample_type.count;
    if (r->sample_count == 0 || per_sample <= 16 + r->sample_bytes / r->sample_count) return PT_OK;
    pt_error_set(reterr, PT_ERR_FORMAT,
                 "states %" PRIu64 " values for each sample, but its %" PRIu64
                 " samples take only %" PRIu64 " bytes",
                 per_sample, r->sample_count, r->sample_bytes);
    return PT_ERR_FORMAT;
}

/* ---- Small tables ---- */

static void read_value_type(pprof_reader *r, const uint8_t *data, size_t size, uint64_t ret[2])
{
    pb_cursor cursor = pb_open(data, size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire == PB_VARINT && (field.number == 1 || field.number == 2))
            ret[field.number - 1] = field.value;
        else
            pprof_keep_unknown(&r->unknown, &cursor, &field);
    }
    pprof_close(r, &cursor);
}

/* A made-up type for a value column without a name, so that users can select it. */
static uint32_t made_up_type(pprof_reader *r)
{
    PT_FREE char *name = pt_strf("value%zu", r->event_count + 1);
    return pt_builder_text(r->builder, name).v;
}

void pprof_made_up_event(pprof_reader *r)
{
    pt_builder_event(r->builder, &(pt_event){.type = made_up_type(r)});
    r->event_count++;
    r->damage.strings++;
}

static void read_events(pprof_reader *r)
{
    for (size_t i = 0; i < r->sample_type.count; i++) {
        uint64_t index[2] = {0, 0};
        read_value_type(r, r->sample_type.items[i].data, r->sample_type.items[i].size, index);
        pt_event event = {.type = pprof_string(r, index[0]), .unit = pprof_string(r, index[1])};
        if (index[0] >= r->string.count) event.type = made_up_type(r);
        const uint32_t row = pt_builder_event(r->builder, &event);
        pprof_file_unknown(r, PT_IN_EVENT, row);
        r->event_count++;
    }
}

static void read_mapping(pprof_reader *r, const struct pprof_slice *slice)
{
    pt_mapping mapping = {0};
    pb_cursor cursor = pb_open(slice->data, slice->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_VARINT) field.number = 0;
        switch (field.number) {
        case 1: mapping.source_id = field.value; break;
        case 2: mapping.start = field.value; break;
        case 3: mapping.limit = field.value; break;
        case 4: mapping.file_offset = field.value; break;
        case 5: mapping.file = pprof_string(r, field.value); break;
        case 6: mapping.build_id = pprof_string(r, field.value); break;
        case 7:
        case 8:
        case 9:
        case 10: {
            static const uint32_t flags[] = {PT_MAPPING_HAS_FUNCTIONS, PT_MAPPING_HAS_FILENAMES,
                                             PT_MAPPING_HAS_LINES, PT_MAPPING_HAS_INLINES};
            const uint32_t flag = flags[field.number - 7];
            mapping.flags = field.value ? mapping.flags | flag : mapping.flags & ~flag;
            break;
        }
        default: pprof_keep_unknown(&r->unknown, &cursor, &field);
        }
    }
    pprof_close(r, &cursor);
    if (!pprof_ids_add(&r->mappings, mapping.source_id, pt_builder_mapping_count(r->builder))) {
        r->damage.ids++;
        pt_buf_clear(&r->unknown);
        return;
    }
    const uint32_t row = pt_builder_append_mapping(r->builder, &mapping).v;
    pprof_file_unknown(r, PT_IN_MAPPING, row);
}

/* Do the functions lack ids, as in files of some .NET writers? Function i then belongs to location
 * i. */
static bool are_functions_by_place(const pprof_reader *r)
{
    if (r->function.count == 0 || r->function.count != r->location.count) return false;
    for (size_t i = 0; i < r->function.count; i++) {
        pb_cursor cursor = pb_open(r->function.items[i].data, r->function.items[i].size);
        pb_field field;
        while (pb_next(&cursor, &field))
            if (field.number == 1 && field.wire == PB_VARINT && field.value != 0) return false;
    }
    return true;
}

static void read_function(pprof_reader *r, const struct pprof_slice *slice, uint32_t *row_count)
{
    pt_function function = {0};
    pb_cursor cursor = pb_open(slice->data, slice->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_VARINT) field.number = 0;
        switch (field.number) {
        case 1: function.source_id = field.value; break;
        case 2: function.name = pprof_string(r, field.value); break;
        case 3: function.system_name = pprof_string(r, field.value); break;
        case 4: function.file = pprof_string(r, field.value); break;
        case 5: function.start_line = (int64_t)field.value; break;
        default: pprof_keep_unknown(&r->unknown, &cursor, &field);
        }
    }
    pprof_close(r, &cursor);
    if (!r->functions_by_place && !pprof_ids_add(&r->functions, function.source_id, *row_count)) {
        r->damage.ids++;
        pt_buf_clear(&r->unknown);
        return;
    }
    *row_count = pt_builder_append_function(r->builder, &function).v + 1;
    pprof_file_unknown(r, PT_IN_FUNCTION, *row_count - 1);
}

/* Lines of the current location, with their unknown fields. */
typedef struct {
    pt_line *items;
    size_t count, cap;
    struct {
        struct {
            size_t line, first, size; /* bytes[first, first + size) belong to items[line] */
        } * items;
        size_t count, cap;
    } unknown;
    pt_buf bytes;
} line_list;

static void read_line(pprof_reader *r, const pb_field *message, line_list *into)
{
    pt_line line = {.function = PT_NONE};
    const size_t unknown_first = into->bytes.size;
    pb_cursor cursor = pb_open(message->data, message->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.wire != PB_VARINT) field.number = 0;
        switch (field.number) {
        case 1:
            line.function = field.value ? pprof_ids_get(&r->functions, field.value) : PT_NONE;
            r->damage.functions += field.value != 0 && line.function == PT_NONE;
            break;
        case 2: line.line = (int64_t)field.value; break;
        case 3: line.column = (int64_t)field.value; break;
        default: pprof_keep_unknown(&into->bytes, &cursor, &field);
        }
    }
    pprof_close(r, &cursor);
    if (into->bytes.size > unknown_first) {
        PT_GROW(into->unknown, into->unknown.count + 1);
        into->unknown.items[into->unknown.count].line = into->count;
        into->unknown.items[into->unknown.count].first = unknown_first;
        into->unknown.items[into->unknown.count++].size = into->bytes.size - unknown_first;
    }
    PT_PUSH(*into, line);
}

/* Sets the function of a location's line, or adds a line for it, in a file whose functions have no
 * ids. */
static void name_by_place(line_list *lines, uint32_t function)
{
    if (lines->count == 0) {
        PT_GROW(*lines, 1);
        lines->items[lines->count++] = (pt_line){.function = PT_NONE};
    }
    if (lines->count == 1 && lines->items[0].function == PT_NONE)
        lines->items[0].function = function;
}

static void read_location(pprof_reader *r, const struct pprof_slice *slice, line_list *lines,
                          uint32_t *row_count)
{
    pt_location location = {.mapping = PT_NONE};
    lines->count = lines->unknown.count = 0;
    pt_buf_clear(&lines->bytes);
    pb_cursor cursor = pb_open(slice->data, slice->size);
    pb_field field;
    while (pb_next(&cursor, &field)) {
        if (field.number == 4 && field.wire == PB_BYTES) {
            read_line(r, &field, lines);
            continue;
        }
        if (field.wire != PB_VARINT) field.number = 0;
        switch (field.number) {
        case 1: location.source_id = field.value; break;
        case 2:
            location.mapping = field.value ? pprof_ids_get(&r->mappings, field.value) : PT_NONE;
            r->damage.mappings += field.value != 0 && location.mapping == PT_NONE;
            break;
        case 3: location.address = field.value; break;
        case 5: location.flags = field.value ? PT_LOCATION_FOLDED : 0; break;
        default: pprof_keep_unknown(&r->unknown, &cursor, &field);
        }
    }
    pprof_close(r, &cursor);
    if (r->functions_by_place) name_by_place(lines, (uint32_t)(slice - r->location.items));
    if (!pprof_ids_add(&r->locations, location.source_id, *row_count)) {
        r->damage.ids++;
        pt_buf_clear(&r->unknown);
        return;
    }
    *row_count =
        pt_builder_append_location(r->builder, &location, lines->items, lines->count).v + 1;
    pprof_file_unknown(r, PT_IN_LOCATION, *row_count - 1);
    for (size_t i = 0; i < lines->unknown.count; i++)
        pt_builder_unknown(
            r->builder, PT_IN_LINE, r->line_count + (uint32_t)lines->unknown.items[i].line,
            lines->bytes.data + lines->unknown.items[i].first, lines->unknown.items[i].size);
    r->line_count += (uint32_t)lines->count;
}

static void read_comment(pprof_reader *r, uint64_t index)
{
    const pt_string_id comment = {pprof_string(r, index)};
    if (!r->hooks->annotate || !pprof_take_facts(r, pt_builder_get_text(r->builder, comment)))
        pt_builder_comment(r->builder, comment);
}

static void read_comments(pprof_reader *r, const pb_field *field)
{
    if (field->wire == PB_VARINT) {
        read_comment(r, field->value);
        return;
    }
    const uint8_t *pos = field->data, *const end = field->data + field->size;
    while (pos < end) {
        uint64_t index;
        if (!pb_varint(&pos, end, &index)) {
            r->damage.messages++;
            return;
        }
        read_comment(r, index);
    }
}

static void read_period_type(pprof_reader *r, const pb_field *field)
{
    uint64_t index[2] = {0, 0};
    read_value_type(r, field->data, field->size, index);
    pprof_file_unknown(r, PT_IN_PERIOD_TYPE, 0);
    pt_provenance *const from = pt_builder_provenance(r->builder);
    from->has_period_type = true;
    from->period_type = pprof_string(r, index[0]);
    from->period_unit = pprof_string(r, index[1]);
}

static void read_header_field(pprof_reader *r, const pb_cursor *cursor, const pb_field *field)
{
    pt_provenance *const from = pt_builder_provenance(r->builder);
    if (!known_in_profile(field)) {
        pprof_keep_unknown(&r->header_unknown, cursor, field);
        return;
    }
    switch (field->number) {
    case PPROF_DROP_FRAMES: from->drop_frames = pprof_string(r, field->value); break;
    case PPROF_KEEP_FRAMES: from->keep_frames = pprof_string(r, field->value); break;
    case PPROF_TIME_NANOS: from->start_ns = (int64_t)field->value; break;
    case PPROF_DURATION_NANOS: from->duration_ns = (int64_t)field->value; break;
    case PPROF_PERIOD_TYPE: read_period_type(r, field); break;
    case PPROF_PERIOD: from->period = (int64_t)field->value; break;
    case PPROF_COMMENT: read_comments(r, field); break;
    case PPROF_DEFAULT_SAMPLE_TYPE: from->default_event = pprof_string(r, field->value); break;
    case PPROF_DOC_URL: from->doc_url = pprof_string(r, field->value); break;
    default: break;
    }
}

static void read_header(pprof_reader *r)
{
    for (size_t i = 0; i < r->header.count; i++) {
        pb_cursor cursor = pb_open(r->header.items[i].data, r->header.items[i].size);
        pb_field field;
        if (pb_next(&cursor, &field)) read_header_field(r, &cursor, &field);
    }
    pt_put(&r->unknown, r->header_unknown.data, r->header_unknown.size);
    pt_buf_clear(&r->header_unknown);
    pprof_file_unknown(r, PT_IN_PROFILE, 0);
}

static void read_tables(pprof_reader *r)
{
    ids_init(&r->mappings, r->mapping.count);
    ids_init(&r->functions, r->function.count);
    ids_init(&r->locations, r->location.count);
    pt_builder_reserve_locations(r->builder, r->function.count, r->location.count,
                                 r->location.count); /* most locations have a single line */
    if (r->string.count > 0 && r->string.items[0] != 0) r->damage.strings++;
    read_events(r);
    for (size_t i = 0; i < r->mapping.count; i++)
        read_mapping(r, &r->mapping.items[i]);
    uint32_t rows = 0;
    r->functions_by_place = are_functions_by_place(r);
    for (size_t i = 0; i < r->function.count; i++)
        read_function(r, &r->function.items[i], &rows);
    rows = 0;
    line_list lines = {0};
    for (size_t i = 0; i < r->location.count; i++)
        read_location(r, &r->location.items[i], &lines, &rows);
    PT_FREE_ALL(lines.items, lines.unknown.items);
    pt_buf_done(&lines.bytes);
    read_header(r);
}

/* ---- Reports of damage ---- */

static void report_count(pt_diag *diag, uint64_t count, const char *text)
{
    pt_diag_add(diag, count, "%s", text);
}

static uint64_t report_damage(const pprof_reader *r)
{
    const pprof_damage *const d = &r->damage;
    const struct {
        uint64_t count;
        const char *text;
    } facts[] = {
        {d->locations, "missing locations of samples, kept as [unknown]"},
        {d->functions, "lines with a missing function"},
        {d->mappings, "locations with a missing mapping"},
        {d->strings, "names missing in the string table, kept empty"},
        {d->ids, "mappings, functions or locations without an id of their own, left out"},
        {d->values, "samples with a wrong number of values, filled with 0 or cut"},
        {d->messages, "truncated messages, kept up to the damage"},
    };
    uint64_t sum = 0;
    for (size_t i = 0; i < PT_COUNT(facts); i++) {
        report_count(r->hooks->diag, facts[i].count, facts[i].text);
        sum += facts[i].count;
    }
    report_count(r->hooks->diag, r->both_label_values,
                 "labels with a text and a number, of which the text was kept");
    report_count(r->hooks->diag, r->lost_unknown, "unknown fields of labels, left out");
    return sum;
}

static pt_status conclude_profile(pprof_reader *r, pt_error *reterr)
{
    const uint64_t damaged = report_damage(r);
    const uint64_t samples = pt_builder_sample_count(r->builder);
    if (!r->cut && damaged == 0) return PT_OK;
    if (samples == 0 && r->string.count == 0 && r->location.count == 0 &&
        r->sample_type.count == 0) {
        pt_error_set(reterr, PT_ERR_FORMAT, "no part of a profile can be read");
    } else if (r->cut) {
        pt_error_set(reterr, PT_ERR_DAMAGED, "the file is truncated or damaged here; kept %s%s",
                     pt_count_noun(samples, "samples").text,
                     r->damage.locations > 0 ? ", some without frames of later tables" : "");
    } else {
        pt_error_set(reterr, PT_ERR_DAMAGED, "%s or messages invalid; kept %s",
                     pt_count_noun(damaged, "references").text,
                     pt_count_noun(samples, "samples").text);
    }
    const pt_status status =
        samples == 0 && !r->string.count && !r->location.count && !r->sample_type.count
            ? PT_ERR_FORMAT
            : PT_ERR_DAMAGED;
    if (reterr && r->cut) pt_error_where(reterr, NULL, NULL, r->cut - r->start);
    return status;
}

static void reader_done(pprof_reader *r)
{
    pprof_slices *const slices[] = {&r->sample_type, &r->mapping, &r->function, &r->location,
                                    &r->header};
    for (size_t i = 0; i < PT_COUNT(slices); i++)
        free(slices[i]->items);
    free(r->string.items);
    ids_done(&r->mappings);
    ids_done(&r->functions);
    ids_done(&r->locations);
    pt_buf_done(&r->unknown);
    pt_buf_done(&r->header_unknown);
}

pt_status pprof_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                     pt_error *reterr)
{
    pprof_reader r = {.start = reader->pos,
                      .end = reader->end,
                      .offset = pt_reader_offset(reader),
                      .builder = builder,
                      .hooks = hooks};
    pt_status status = walk_tables(&r, reterr);
    if (status == PT_OK) status = check_columns(&r, reterr);
    if (status == PT_OK) {
        read_tables(&r);
        pprof_read_samples(&r);
        status = conclude_profile(&r, reterr);
    }
    reader_done(&r);
    return status;
}
