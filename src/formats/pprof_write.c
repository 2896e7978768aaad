/* pprof_write.c: writes profile.proto in the order and form of google/pprof's Go writer
 * (profile/encode.go, profile/proto.go). So a file from Go has the same bytes before compression
 * after it was read and written again:
 *
 *   fields of a message in ascending order, zeros omitted, default_sample_type always present;
 *   repeated numbers packed only if there are more than two;
 *   strings numbered in order of first use: sample types, labels, mappings, functions, header.
 *
 * Unknown fields of a message follow its known fields. Unknown fields may contain string numbers,
 * so a profile with unknown fields keeps the numbers of all its strings. */
#include "formats/pprof_int.h"

#include "base/compress.h"
#include "base/grow.h"

#include <stdlib.h>

/* Ids of a table's rows in the file: the ids of the source file if all rows have one and all are
 * distinct, else row + 1. */
typedef struct {
    const uint64_t *source; /* NULL: row + 1 */
} row_ids;

/* Keys of the columns that are written as labels, since the format has no fields for them. */
static const char *const column_key_text[PPROF_COLUMN_KEYS] = PPROF_COLUMN_KEY_TEXTS;

/* The unknown fields of a kind of message, by ascending row. */
typedef struct {
    struct unknown_row {
        uint32_t row, order, bytes;
    } * items;
    size_t count, cap;
} unknown_rows;

typedef struct {
    const pt_profile *p;
    uint32_t *number;           /* string id -> its number in the file; PT_NONE = no number yet */
    PT_VECTOR(uint32_t) string; /* number -> string id */
    uint32_t second_empty;      /* number of another "" (number_empty_text); PT_NONE = none yet */
    row_ids mapping, function, location;
    uint64_t *mapping_id;                   /* the mappings' ids as a column, or NULL */
    PT_VECTOR(char *) added;                /* further strings, numbered after the profile's */
    uint32_t column_key[PPROF_COLUMN_KEYS]; /* string numbers; 0 = no such column */
    uint32_t time_unit;                     /* string number of the time's unit */
    uint32_t end_key, end_text[PT_STACK_END_COUNT]; /* string numbers for the ends of stacks */
    uint32_t facts; /* string number of the comment of pprof_facts.c */
    unknown_rows unknown[PT_IN_PERIOD_TYPE + 1];
    pt_buf body, line; /* current messages, until their length is known */
    pt_buf out;
} writer;

/* ---- Strings ---- */

static void number_string(writer *w, uint32_t id)
{
    if (w->number[id] != PT_NONE) return;
    w->number[id] = (uint32_t)w->string.count;
    PT_PUSH(w->string, id);
}

/* Gives the text "" of a label a string number other than 0, since 0 means that the label has no
 * text. */
static void number_empty_text(writer *w)
{
    if (w->second_empty != PT_NONE) return;
    w->second_empty = (uint32_t)w->string.count;
    PT_PUSH(w->string, 0);
}

static void number_label_strings(writer *w)
{
    const pt_profile *const p = w->p;
    PT_FREE uint8_t *seen = pt_alloc(p->labels->t.count, 1);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t set = p->sample->labels[i];
        if (!seen[set]) {
            seen[set] = 1;
            for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
                const pt_label *const label = &p->labels->row[l];
                number_string(w, label->key);
                if (label->kind == PT_LABEL_STRING && label->str == 0)
                    number_empty_text(w);
                else
                    number_string(w, label->kind == PT_LABEL_STRING ? label->str : label->unit);
            }
        }
        if (p->sample->comm) number_string(w, p->sample->comm[i]);
    }
}

/* The number of strings that the profile has from its source file. They are the first strings of
 * the table: the reader adds unknown fields, which the model stores as strings, after them. */
static uint32_t source_strings(const writer *w)
{
    uint32_t count = w->p->string->t.count;
    for (uint32_t i = 0; i < w->p->unknown->t.count; i++) {
        const uint32_t id = w->p->unknown->bytes[i];
        if (id < count && w->number[id] == PT_NONE) count = id;
    }
    return count;
}

static void number_known_strings(writer *w)
{
    const pt_profile *const p = w->p;
    const pt_provenance *const from = pt_profile_provenance(p);
    number_string(w, 0);
    for (uint32_t i = 0; i < p->event->t.count; i++) {
        number_string(w, p->event->row[i].type);
        number_string(w, p->event->row[i].unit);
    }
    number_label_strings(w);
    for (uint32_t i = 0; i < p->mapping->t.count; i++) {
        number_string(w, p->mapping->row[i].file);
        number_string(w, p->mapping->row[i].build_id);
    }
    for (uint32_t i = 0; i < p->function->t.count; i++) {
        number_string(w, p->function->name[i]);
        number_string(w, p->function->system_name[i]);
        number_string(w, p->function->file[i]);
    }
    number_string(w, from->drop_frames);
    number_string(w, from->keep_frames);
    if (from->has_period_type) {
        number_string(w, from->period_type);
        number_string(w, from->period_unit);
    }
    for (uint32_t i = 0; i < from->comment_count; i++)
        number_string(w, from->comments[i]);
    number_string(w, from->default_event);
    number_string(w, from->doc_url);
}

static void number_strings(writer *w)
{
    number_known_strings(w);
    if (w->p->unknown->t.count == 0) return;
    const uint32_t keep = source_strings(w);
    memset(w->number, 0xff, w->p->string->t.count * sizeof *w->number);
    w->string.count = 0;
    w->second_empty = PT_NONE;
    for (uint32_t id = 0; id < keep; id++)
        number_string(w, id);
    number_known_strings(w);
}

static uint32_t add_string(writer *w, char *text)
{
    PT_GROW(w->added, w->added.count + 1);
    w->added.items[w->added.count] = text;
    return (uint32_t)(w->string.count + w->added.count++);
}

/* Adds the strings that the profile's table may lack: keys of labels for columns and for the ends
 * of stacks, and the comment of pprof_facts.c. */
static void add_strings(writer *w)
{
    const pt_samples *const s = w->p->sample;
    const bool used[PPROF_COLUMN_KEYS] = {
        [PPROF_KEY_PID] = s->pid != NULL,      [PPROF_KEY_TID] = s->tid != NULL,
        [PPROF_KEY_CPU] = s->cpu != NULL,      [PPROF_KEY_COMM] = s->comm != NULL,
        [PPROF_KEY_TIME] = s->time_ns != NULL,
    };
    for (size_t i = 0; i < PPROF_COLUMN_KEYS; i++)
        w->column_key[i] = used[i] ? add_string(w, pt_strdup(column_key_text[i])) : 0;
    if (s->time_ns != NULL) w->time_unit = add_string(w, pt_strdup("nanoseconds"));
    char *const facts = pprof_facts_text(w->p);
    if (facts) w->facts = add_string(w, facts);
    if (!pt_facts_ends_known(w->p)) return;
    w->end_key = add_string(w, pt_strdup(PPROF_END_KEY));
    for (int end = 0; end < PT_STACK_END_COUNT; end++)
        w->end_text[end] = add_string(w, pt_strdup(pt_stack_end_name((pt_stack_end)end)));
}

/* ---- Ids ---- */

PT_ORDER(compare_ids, uint64_t, PT_COMPARE(*a, *b));

/* May the source's ids be reused? They may if all exist and are distinct. */
static bool usable_ids(const uint64_t *ids, uint32_t count)
{
    if (!ids) return false;
    bool ascending = true;
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] == 0) return false;
        if (i > 0 && ids[i] <= ids[i - 1]) ascending = false;
    }
    if (ascending) return true;
    PT_FREE uint64_t *sorted = pt_alloc(count, sizeof *sorted);
    memcpy(sorted, ids, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_ids);
    for (uint32_t i = 1; i < count; i++) {
        if (sorted[i] == sorted[i - 1]) return false;
    }
    return true;
}

static row_ids ids_of(const uint64_t *ids, uint32_t count)
{
    return (row_ids){usable_ids(ids, count) ? ids : NULL};
}

static inline uint64_t row_id(row_ids ids, uint32_t row)
{
    return ids.source ? ids.source[row] : (uint64_t)row + 1;
}

static void choose_ids(writer *w)
{
    const pt_profile *const p = w->p;
    const uint32_t count = p->mapping->t.count;
    w->mapping_id = pt_alloc(count + 1, sizeof *w->mapping_id);
    for (uint32_t i = 0; i < count; i++)
        w->mapping_id[i] = p->mapping->row[i].source_id;
    w->mapping = ids_of(w->mapping_id, count);
    w->function = ids_of(p->function->source_id, p->function->t.count);
    w->location = ids_of(p->location->source_id, p->location->t.count);
}

/* ---- Fields ---- */

static void put_number(pt_buf *buf, uint32_t field, uint64_t value)
{
    pt_put_varint(buf, (uint64_t)field << 3 | PB_VARINT);
    pt_put_varint(buf, value);
}

static void put_nonzero(pt_buf *buf, uint32_t field, uint64_t value)
{
    if (value != 0) put_number(buf, field, value);
}

static void put_bytes(pt_buf *buf, uint32_t field, const void *data, size_t size)
{
    pt_put_varint(buf, (uint64_t)field << 3 | PB_BYTES);
    pt_put_varint(buf, size);
    pt_put(buf, data, size);
}

/* Returns room for count varints, which the caller writes with varint_at and ends with end_packed.
 */
static uint8_t *begin_varints(pt_buf *buf, size_t count)
{
    pt_buf_reserve(buf, count * PT_VARINT_MAX);
    return buf->data + buf->size;
}

static inline uint8_t *varint_at(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Ends a packed field: inserts its tag and length before the varints that were written from the
 * buffer's end to `end`, and appends all of them to the buffer. */
static void end_packed(pt_buf *buf, uint32_t field, const uint8_t *end)
{
    const size_t size = (size_t)(end - (buf->data + buf->size));
    uint8_t head[2 * PT_VARINT_MAX];
    uint8_t *const head_end = varint_at(varint_at(head, field << 3 | PB_BYTES), size);
    const size_t head_bytes = (size_t)(head_end - head);
    pt_buf_reserve(buf, head_bytes + size);
    memmove(buf->data + buf->size + head_bytes, buf->data + buf->size, size);
    memcpy(buf->data + buf->size, head, head_bytes);
    buf->size += head_bytes + size;
}

PT_ORDER(compare_unknown, struct unknown_row, PT_UP(row) ?: PT_UP(order));

static void sort_unknown(writer *w)
{
    const pt_unknowns *const u = w->p->unknown;
    for (uint32_t i = 0; i < u->t.count; i++) {
        unknown_rows *const rows = &w->unknown[u->message[i]];
        PT_PUSH(*rows, (struct unknown_row){u->row[i], i, u->bytes[i]});
    }
    for (size_t m = 0; m <= PT_IN_PERIOD_TYPE; m++) {
        PT_SORT(w->unknown[m], compare_unknown);
    }
}

static void put_unknown(const writer *w, pt_buf *buf, pt_message message, uint32_t row)
{
    const unknown_rows *const rows = &w->unknown[message];
    size_t low = 0, high = rows->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (rows->items[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < rows->count && rows->items[low].row == row; low++)
        pt_put(buf, pt_text(w->p, rows->items[low].bytes),
               pt_text_bytes(w->p, rows->items[low].bytes));
}

static void put_message(writer *w, uint32_t field)
{
    put_bytes(&w->out, field, w->body.data, w->body.size);
    pt_buf_clear(&w->body);
}

static void put_value_type(writer *w, uint32_t field, uint32_t type, uint32_t unit,
                           pt_message message, uint32_t row)
{
    put_nonzero(&w->body, 1, w->number[type]);
    put_nonzero(&w->body, 2, w->number[unit]);
    put_unknown(w, &w->body, message, row);
    put_message(w, field);
}

/* ---- Samples ---- */

static void put_frames(writer *w, uint32_t stack)
{
    const uint32_t depth = pt_stack_depth(w->p, stack);
    const uint32_t *const frames = pt_stack_frames(w->p, stack);
    if (depth <= 2) {
        for (uint32_t i = 0; i < depth; i++)
            put_number(&w->body, 1, row_id(w->location, frames[i]));
        return;
    }
    uint8_t *at = begin_varints(&w->body, depth);
    for (uint32_t i = 0; i < depth; i++)
        at = varint_at(at, row_id(w->location, frames[i]));
    end_packed(&w->body, 1, at);
}

static void put_values(writer *w, uint32_t sample)
{
    const pt_samples *const s = w->p->sample;
    if (s->event_count <= 2) {
        for (uint32_t e = 0; e < s->event_count; e++)
            put_number(&w->body, 2, (uint64_t)s->value[e][sample]);
        return;
    }
    uint8_t *at = begin_varints(&w->body, s->event_count);
    for (uint32_t e = 0; e < s->event_count; e++)
        at = varint_at(at, (uint64_t)s->value[e][sample]);
    end_packed(&w->body, 2, at);
}

static void put_label(writer *w, uint32_t row)
{
    const pt_label *const label = &w->p->labels->row[row];
    pt_buf_clear(&w->line);
    put_nonzero(&w->line, 1, w->number[label->key]);
    if (label->kind == PT_LABEL_STRING)
        put_nonzero(&w->line, 2, label->str ? w->number[label->str] : w->second_empty);
    put_nonzero(&w->line, 3, (uint64_t)label->num);
    put_nonzero(&w->line, 4, w->number[label->unit]);
    put_unknown(w, &w->line, PT_IN_LABEL, row);
    put_bytes(&w->body, 3, w->line.data, w->line.size);
}

/* Writes a value of a column as a label. */
static void put_column_label(writer *w, uint32_t key, uint32_t text, uint64_t number, uint32_t unit)
{
    pt_buf_clear(&w->line);
    put_nonzero(&w->line, 1, key);
    put_nonzero(&w->line, 2, text);
    put_nonzero(&w->line, 3, number);
    put_nonzero(&w->line, 4, unit);
    put_bytes(&w->body, 3, w->line.data, w->line.size);
}

static void put_column_labels(writer *w, uint32_t i)
{
    const pt_samples *const s = w->p->sample;
    const uint32_t *const key = w->column_key;
    if (s->pid && s->pid[i] != PT_NONE) put_column_label(w, key[PPROF_KEY_PID], 0, s->pid[i], 0);
    if (s->tid && s->tid[i] != PT_NONE) put_column_label(w, key[PPROF_KEY_TID], 0, s->tid[i], 0);
    if (s->cpu && s->cpu[i] != PT_NONE) put_column_label(w, key[PPROF_KEY_CPU], 0, s->cpu[i], 0);
    if (s->comm && s->comm[i] != 0)
        put_column_label(w, key[PPROF_KEY_COMM], w->number[s->comm[i]], 0, 0);
    /* Times since the start are small, and convenient in filters: time=:2s selects the first two
     * seconds. */
    if (s->time_ns && s->time_ns[i] != 0)
        put_column_label(w, key[PPROF_KEY_TIME], 0,
                         (uint64_t)s->time_ns[i] - (uint64_t)pt_profile_provenance(w->p)->start_ns,
                         w->time_unit);
    const uint8_t end = w->p->stack->end[s->stack[i]];
    if (w->end_key && end != PT_STACK_END_ROOT)
        put_column_label(w, w->end_key, w->end_text[end], 0, 0);
}

static void put_samples(writer *w)
{
    const pt_profile *const p = w->p;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        put_frames(w, p->sample->stack[i]);
        put_values(w, i);
        put_column_labels(w, i); /* before other labels with the same keys, since readers use the
                                  * first */
        const uint32_t set = p->sample->labels[i];
        for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++)
            put_label(w, (uint32_t)l);
        put_unknown(w, &w->body, PT_IN_SAMPLE, i);
        put_message(w, PPROF_SAMPLE);
    }
}

/* ---- The small tables ---- */

static void put_mappings(writer *w)
{
    for (uint32_t i = 0; i < w->p->mapping->t.count; i++) {
        const pt_mapping *const m = &w->p->mapping->row[i];
        put_number(&w->body, 1, row_id(w->mapping, i));
        put_nonzero(&w->body, 2, m->start);
        put_nonzero(&w->body, 3, m->limit);
        put_nonzero(&w->body, 4, m->file_offset);
        put_nonzero(&w->body, 5, w->number[m->file]);
        put_nonzero(&w->body, 6, w->number[m->build_id]);
        put_nonzero(&w->body, 7, (m->flags & PT_MAPPING_HAS_FUNCTIONS) != 0);
        put_nonzero(&w->body, 8, (m->flags & PT_MAPPING_HAS_FILENAMES) != 0);
        put_nonzero(&w->body, 9, (m->flags & PT_MAPPING_HAS_LINES) != 0);
        put_nonzero(&w->body, 10, (m->flags & PT_MAPPING_HAS_INLINES) != 0);
        put_unknown(w, &w->body, PT_IN_MAPPING, i);
        put_message(w, PPROF_MAPPING);
    }
}

static void put_line(writer *w, uint32_t row)
{
    const pt_lines *const l = w->p->line;
    pt_buf_clear(&w->line);
    if (l->function[row] != PT_NONE) put_number(&w->line, 1, row_id(w->function, l->function[row]));
    put_nonzero(&w->line, 2, (uint64_t)l->line[row]);
    if (l->column) put_nonzero(&w->line, 3, (uint64_t)l->column[row]);
    put_unknown(w, &w->line, PT_IN_LINE, row);
    put_bytes(&w->body, 4, w->line.data, w->line.size);
}

static void put_locations(writer *w)
{
    const pt_locations *const l = w->p->location;
    for (uint32_t i = 0; i < l->t.count; i++) {
        put_number(&w->body, 1, row_id(w->location, i));
        if (l->mapping[i] != PT_NONE) put_number(&w->body, 2, row_id(w->mapping, l->mapping[i]));
        /* The address in profile.proto's form: inside the call instruction, not after it. */
        put_nonzero(&w->body, 3,
                    l->address[i] - ((l->flags[i] & PT_LOCATION_RETURN_ADDR) && l->address[i] > 0));
        for (uint32_t k = l->line_first[i]; k < l->line_first[i + 1]; k++)
            put_line(w, k);
        put_nonzero(&w->body, 5, (l->flags[i] & PT_LOCATION_FOLDED) != 0);
        put_unknown(w, &w->body, PT_IN_LOCATION, i);
        put_message(w, PPROF_LOCATION);
    }
}

static void put_functions(writer *w)
{
    const pt_functions *const f = w->p->function;
    for (uint32_t i = 0; i < f->t.count; i++) {
        put_number(&w->body, 1, row_id(w->function, i));
        put_nonzero(&w->body, 2, w->number[f->name[i]]);
        put_nonzero(&w->body, 3, w->number[f->system_name[i]]);
        put_nonzero(&w->body, 4, w->number[f->file[i]]);
        put_nonzero(&w->body, 5, (uint64_t)f->start_line[i]);
        put_unknown(w, &w->body, PT_IN_FUNCTION, i);
        put_message(w, PPROF_FUNCTION);
    }
}

static void put_comments(writer *w, const pt_provenance *from)
{
    const uint32_t count = from->comment_count + (w->facts != 0);
    PT_FREE uint32_t *number = pt_alloc(count, sizeof *number);
    for (uint32_t i = 0; i < from->comment_count; i++)
        number[i] = w->number[from->comments[i]];
    if (w->facts) number[count - 1] = w->facts;
    if (count <= 2) {
        for (uint32_t i = 0; i < count; i++)
            put_number(&w->out, PPROF_COMMENT, number[i]);
        return;
    }
    uint8_t *at = begin_varints(&w->out, count);
    for (uint32_t i = 0; i < count; i++)
        at = varint_at(at, number[i]);
    end_packed(&w->out, PPROF_COMMENT, at);
}

static void put_header(writer *w)
{
    const pt_provenance *const from = pt_profile_provenance(w->p);
    put_nonzero(&w->out, PPROF_DROP_FRAMES, w->number[from->drop_frames]);
    put_nonzero(&w->out, PPROF_KEEP_FRAMES, w->number[from->keep_frames]);
    put_nonzero(&w->out, PPROF_TIME_NANOS, (uint64_t)from->start_ns);
    put_nonzero(&w->out, PPROF_DURATION_NANOS, (uint64_t)from->duration_ns);
    /* As in google/pprof, a type without a name is not written. */
    if (from->has_period_type && (from->period_type != 0 || from->period_unit != 0))
        put_value_type(w, PPROF_PERIOD_TYPE, from->period_type, from->period_unit,
                       PT_IN_PERIOD_TYPE, 0);
    put_nonzero(&w->out, PPROF_PERIOD, (uint64_t)from->period);
    put_comments(w, from);
    put_number(&w->out, PPROF_DEFAULT_SAMPLE_TYPE, w->number[from->default_event]);
    put_nonzero(&w->out, PPROF_DOC_URL, w->number[from->doc_url]);
    put_unknown(w, &w->out, PT_IN_PROFILE, 0);
}

static void put_profile(writer *w)
{
    for (uint32_t i = 0; i < w->p->event->t.count; i++)
        put_value_type(w, PPROF_SAMPLE_TYPE, w->p->event->row[i].type, w->p->event->row[i].unit,
                       PT_IN_EVENT, i);
    put_samples(w);
    put_mappings(w);
    put_locations(w);
    put_functions(w);
    for (size_t i = 0; i < w->string.count; i++)
        put_bytes(&w->out, PPROF_STRING_TABLE, pt_text(w->p, w->string.items[i]),
                  pt_text_bytes(w->p, w->string.items[i]));
    for (size_t i = 0; i < w->added.count; i++)
        put_bytes(&w->out, PPROF_STRING_TABLE, w->added.items[i], strlen(w->added.items[i]));
    put_header(w);
}

static pt_status send_profile(writer *w, const pt_output *output, const pt_write_options *options,
                              pt_error *reterr)
{
    pt_out *const out = output->open(output->context, "", reterr);
    if (!out) return PT_ERR_SYSTEM;
    if (options->raw)
        pt_out_put(out, w->out.data, w->out.size);
    else
        pt_gzip(w->out.data, w->out.size, PT_GZIP_LEVEL, options->pool, out);
    return pt_out_flush(out, reterr);
}

pt_status pprof_write(const pt_profile *profile, const pt_output *output,
                      const pt_write_options *options, pt_error *reterr)
{
    writer w = {.p = profile, .second_empty = PT_NONE};
    w.number = pt_alloc(profile->string->t.count, sizeof *w.number);
    memset(w.number, 0xff, profile->string->t.count * sizeof *w.number);
    sort_unknown(&w);
    number_strings(&w);
    add_strings(&w);
    choose_ids(&w);
    put_profile(&w);
    const pt_status status = send_profile(&w, output, options, reterr);
    free(w.number);
    for (size_t m = 0; m <= PT_IN_PERIOD_TYPE; m++)
        free(w.unknown[m].items);
    free(w.mapping_id);
    for (size_t i = 0; i < w.added.count; i++)
        free(w.added.items[i]);
    PT_FREE_ALL(w.added.items, w.string.items);
    pt_buf_done(&w.body);
    pt_buf_done(&w.line);
    pt_buf_done(&w.out);
    return status;
}
