/* otlp_write.c: writes OpenTelemetry profiles: a single resource and scope, a Profile for each
 * event, the tables in the dictionary. otlp.c draws the messages.
 *
 * Labels become attributes; trace_id and span_id become a link if they are valid ids. Process,
 * thread, CPU and command become process.pid, thread.id, cpu.logical_number and thread.name. */
#include "formats/otlp.h"

#include "base/grow.h"
#include "base/hash.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

#define NUMBERS                                                                                    \
    struct {                                                                                       \
        uint64_t *items;                                                                           \
        size_t count, cap;                                                                         \
    }

/* Attributes and links of a label set. */
typedef struct {
    uint64_t first, count; /* range in set_attribute */
    uint32_t link;
    bool made;
} set_attributes;

typedef struct {
    const pt_profile *p;
    uint32_t *number; /* string -> row in the file; PT_NONE = none yet */
    uint32_t strings;
    pt_buf tables[OTLP_TABLES]; /* fields of the dictionary, encoded */
    uint32_t attributes, links;
    PT_VECTOR(pt_label) attribute; /* label of each attribute, from row 1 */
    pt_index attribute_index;
    NUMBERS set_attribute; /* rows of attributes, set after set */
    set_attributes *set;
    NUMBERS number_list;
    uint32_t folded, kernel; /* rows of attributes of locations; 0 = not added yet */
    uint32_t build_id_key;   /* row of a string */
    uint32_t column_key[4];  /* rows of strings */
    pt_buf line, inside, profiles, sample;
} otlp_writer;

static void put_tag(pt_buf *into, uint32_t field, unsigned wire)
{
    pt_put_varint(into, (uint64_t)field << 3 | wire);
}

static void put_uint(pt_buf *into, uint32_t field, uint64_t value)
{
    if (value == 0) return;
    put_tag(into, field, WIRE_VARINT);
    pt_put_varint(into, value);
}

static void put_bytes(pt_buf *into, uint32_t field, const void *data, size_t size)
{
    put_tag(into, field, WIRE_BYTES);
    pt_put_varint(into, size);
    if (size > 0) pt_put(into, data, size);
}

static void put_fixed(pt_buf *into, uint32_t field, uint64_t value)
{
    if (value == 0) return;
    put_tag(into, field, WIRE_FIXED64);
    pt_put_le(into, value, 8);
}

static void put_message(pt_buf *into, uint32_t field, const pt_buf *message)
{
    put_bytes(into, field, message->data, message->size);
}

static void put_packed(pt_buf *into, uint32_t field, const uint64_t *values, size_t count)
{
    size_t bytes = 0;
    if (count == 0) return;
    for (size_t i = 0; i < count; i++)
        bytes += pt_varint_size(values[i]);
    put_tag(into, field, WIRE_BYTES);
    pt_put_varint(into, bytes);
    for (size_t i = 0; i < count; i++)
        pt_put_varint(into, values[i]);
}

/* ---- Strings ---- */

static uint32_t add_text(otlp_writer *w, const char *text, size_t size)
{
    put_bytes(&w->tables[OTLP_STRINGS], OTLP_STRINGS, text, size);
    return w->strings++;
}

static uint32_t string_number(otlp_writer *w, uint32_t id)
{
    if (w->number[id] == PT_NONE)
        w->number[id] = add_text(w, pt_text(w->p, id), pt_text_bytes(w->p, id));
    return w->number[id];
}

/* ---- Attributes ---- */

/* Adds a KeyValueAndUnit to the table; key and unit are rows of strings. */
static uint32_t put_attribute(otlp_writer *w, uint32_t key, uint32_t unit, const pt_buf *value)
{
    pt_buf_clear(&w->inside);
    put_uint(&w->inside, OTLP_ATTRIBUTE_KEY, key);
    put_message(&w->inside, OTLP_ATTRIBUTE_VALUE, value);
    put_uint(&w->inside, OTLP_ATTRIBUTE_UNIT, unit);
    put_message(&w->tables[OTLP_ATTRIBUTES], OTLP_ATTRIBUTES, &w->inside);
    return w->attributes++;
}

static uint32_t text_attribute(otlp_writer *w, uint32_t key, uint32_t string)
{
    pt_buf_clear(&w->line);
    put_bytes(&w->line, OTLP_ANY_STRING, pt_text(w->p, string), pt_text_bytes(w->p, string));
    return put_attribute(w, key, 0, &w->line);
}

static uint32_t number_attribute(otlp_writer *w, uint32_t key, uint32_t unit, int64_t number)
{
    pt_buf_clear(&w->line);
    put_tag(&w->line, OTLP_ANY_INT,
            WIRE_VARINT); /* written even if 0, since the presence of the field states the type */
    pt_put_varint(&w->line, (uint64_t)number);
    return put_attribute(w, key, unit, &w->line);
}

/* The attribute of a label, interned. */
static uint32_t attribute_of(otlp_writer *w, const pt_label *label)
{
    const uint64_t hash = pt_hash_bytes(label, sizeof *label);
    const uint32_t found = PT_INDEX_FIND(
        &w->attribute_index, hash, id, memcmp(&w->attribute.items[id], label, sizeof *label) == 0);
    if (found != PT_NONE) return found;
    const uint32_t key = string_number(w, label->key);
    const uint32_t id = label->kind == PT_LABEL_STRING
                            ? text_attribute(w, key, label->str)
                            : number_attribute(w, key, string_number(w, label->unit), label->num);
    PT_GROW(w->attribute, (size_t)id + 1);
    w->attribute.items[id] = *label;
    pt_index_add(&w->attribute_index, hash, id);
    return id;
}

/* Decodes an id of `bytes` bytes from hexadecimal digits; returns false if the text is not such an
 * id. */
static bool take_id(const char *text, uint8_t *into, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != 2 * bytes) return false;
    for (size_t i = 0; i < 2 * bytes; i++) {
        const char *const at = strchr(digits, text[i]);
        if (at == NULL) return false;
        into[i / 2] = (uint8_t)(into[i / 2] << 4 | (at - digits));
    }
    return true;
}

/* The link for trace_id and span_id at the end of a label set; 0 = none. */
static uint32_t link_of(otlp_writer *w, const pt_label *labels, uint64_t count)
{
    uint8_t trace[16] = {0}, span[8] = {0};
    if (count < 2 || labels[count - 2].kind != PT_LABEL_STRING ||
        labels[count - 1].kind != PT_LABEL_STRING ||
        strcmp(pt_text(w->p, labels[count - 2].key), OTLP_TRACE_ID) != 0 ||
        strcmp(pt_text(w->p, labels[count - 1].key), OTLP_SPAN_ID) != 0 ||
        !take_id(pt_text(w->p, labels[count - 2].str), trace, sizeof trace) ||
        !take_id(pt_text(w->p, labels[count - 1].str), span, sizeof span))
        return 0;
    pt_buf_clear(&w->line);
    put_bytes(&w->line, OTLP_LINK_TRACE, trace, sizeof trace);
    put_bytes(&w->line, OTLP_LINK_SPAN, span, sizeof span);
    put_message(&w->tables[OTLP_LINKS], OTLP_LINKS, &w->line);
    return w->links++;
}

static const set_attributes *attributes_of_set(otlp_writer *w, uint32_t id)
{
    set_attributes *const set = &w->set[id];
    const pt_label_sets *const labels = w->p->labels;
    if (set->made) return set;
    const pt_label *const row = &labels->row[labels->offset[id]];
    uint64_t count = labels->offset[id + 1] - labels->offset[id];
    set->made = true;
    set->first = w->set_attribute.count;
    set->link = link_of(w, row, count);
    count -= set->link != 0 ? 2 : 0;
    for (uint64_t i = 0; i < count; i++)
        PT_PUSH(w->set_attribute, attribute_of(w, &row[i]));
    set->count = count;
    return set;
}

/* ---- Tables ---- */

static void put_mappings(otlp_writer *w)
{
    const pt_profile *const p = w->p;
    for (uint32_t i = 0; i < p->mapping->t.count; i++) {
        const pt_mapping *const m = &p->mapping->row[i];
        PT_AUTO(pt_buf) row = PT_BUF_INIT;
        put_uint(&row, OTLP_MAPPING_START, m->start);
        put_uint(&row, OTLP_MAPPING_LIMIT, m->limit);
        put_uint(&row, OTLP_MAPPING_OFFSET, m->file_offset);
        put_uint(&row, OTLP_MAPPING_FILE, string_number(w, m->file));
        if (m->build_id != 0) {
            const uint64_t attribute = text_attribute(w, w->build_id_key, m->build_id);
            put_packed(&row, OTLP_MAPPING_ATTRIBUTES, &attribute, 1);
        }
        put_message(&w->tables[OTLP_MAPPINGS], OTLP_MAPPINGS, &row);
    }
}

static void put_functions(otlp_writer *w)
{
    const pt_functions *const f = w->p->function;
    for (uint32_t i = 0; i < f->t.count; i++) {
        const uint32_t name = string_number(w, f->name[i]);
        const uint32_t system_name = string_number(w, f->system_name[i]);
        const uint32_t file = string_number(w, f->file[i]);
        pt_buf_clear(&w->line);
        put_uint(&w->line, OTLP_FUNCTION_NAME, name);
        put_uint(&w->line, OTLP_FUNCTION_SYSTEM_NAME, system_name);
        put_uint(&w->line, OTLP_FUNCTION_FILE, file);
        put_uint(&w->line, OTLP_FUNCTION_START_LINE, (uint64_t)f->start_line[i]);
        put_message(&w->tables[OTLP_FUNCTIONS], OTLP_FUNCTIONS, &w->line);
    }
}

/* The attribute "KEY: true" or "KEY: TEXT", added on first use. */
static uint32_t constant_attribute(otlp_writer *w, uint32_t *number, const char *key,
                                   const char *text)
{
    if (*number != 0) return *number;
    const uint32_t key_number = add_text(w, key, strlen(key));
    PT_AUTO(pt_buf) value = PT_BUF_INIT;
    if (text == NULL)
        put_uint(&value, OTLP_ANY_BOOL, true);
    else
        put_bytes(&value, OTLP_ANY_STRING, text, strlen(text));
    *number = put_attribute(w, key_number, 0, &value);
    return *number;
}

static void put_locations(otlp_writer *w)
{
    const pt_profile *const p = w->p;
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        pt_buf_clear(&w->line);
        if (p->location->mapping[i] != PT_NONE)
            put_uint(&w->line, OTLP_LOCATION_MAPPING, (uint64_t)p->location->mapping[i] + 1);
        put_uint(&w->line, OTLP_LOCATION_ADDRESS, p->location->address[i]);
        for (uint32_t k = p->location->line_first[i]; k < p->location->line_first[i + 1]; k++) {
            pt_buf_clear(&w->inside);
            if (p->line->function[k] != PT_NONE)
                put_uint(&w->inside, OTLP_LINE_FUNCTION, (uint64_t)p->line->function[k] + 1);
            put_uint(&w->inside, OTLP_LINE_LINE, (uint64_t)p->line->line[k]);
            if (p->line->column)
                put_uint(&w->inside, OTLP_LINE_COLUMN, (uint64_t)p->line->column[k]);
            put_message(&w->line, OTLP_LOCATION_LINES, &w->inside);
        }
        uint64_t rows[2];
        size_t count = 0;
        if (p->location->flags[i] & PT_LOCATION_FOLDED)
            rows[count++] = constant_attribute(w, &w->folded, OTLP_FOLDED, NULL);
        if (p->location->flags[i] & PT_LOCATION_KERNEL)
            rows[count++] = constant_attribute(w, &w->kernel, OTLP_FRAME_TYPE, "kernel");
        put_packed(&w->line, OTLP_LOCATION_ATTRIBUTES, rows, count);
        put_message(&w->tables[OTLP_LOCATIONS], OTLP_LOCATIONS, &w->line);
    }
}

static void put_stacks(otlp_writer *w)
{
    const pt_profile *const p = w->p;
    for (uint32_t i = 0; i < p->stack->t.count; i++) {
        const uint32_t depth = pt_stack_depth(p, i);
        PT_GROW(w->number_list, (size_t)depth + 1);
        for (uint32_t k = 0; k < depth; k++)
            w->number_list.items[k] = (uint64_t)pt_stack_frames(p, i)[k] + 1;
        pt_buf_clear(&w->line);
        put_packed(&w->line, OTLP_STACK_LOCATIONS, w->number_list.items, depth);
        put_message(&w->tables[OTLP_STACKS], OTLP_STACKS, &w->line);
    }
}

static void begin_tables(otlp_writer *w)
{
    for (uint32_t t = OTLP_MAPPINGS; t < OTLP_TABLES; t++)
        put_bytes(&w->tables[t], t, NULL, 0);
    w->strings = w->attributes = w->links = 1;
    w->number[0] = 0;
    PT_GROW(w->attribute, 1);
    w->attribute.items[0] = (pt_label){0};
    static const char *const keys[] = {"process.pid", "thread.id", "cpu.logical_number",
                                       "thread.name"};
    const pt_samples *const s = w->p->sample;
    const bool there[] = {s->pid != NULL, s->tid != NULL, s->cpu != NULL, s->comm != NULL};
    for (size_t i = 0; i < 4; i++)
        w->column_key[i] = there[i] ? add_text(w, keys[i], strlen(keys[i])) : 0;
    for (uint32_t i = 0; i < w->p->mapping->t.count && w->build_id_key == 0; i++) {
        if (w->p->mapping->row[i].build_id != 0)
            w->build_id_key = add_text(w, OTLP_BUILD_ID, strlen(OTLP_BUILD_ID));
    }
    put_mappings(w);
    put_functions(w);
    put_locations(w);
    put_stacks(w);
}

/* ---- Samples ---- */

/* The row of the attribute for a value in a column of samples, such as a pid. In attribute_index
 * the key of such an attribute is a number above the numbers of all strings, so that it never
 * equals the attribute of a label. */
static uint32_t column_attribute(otlp_writer *w, unsigned column, uint64_t value)
{
    const pt_label key = {.key = PT_NONE - column, .kind = PT_LABEL_NUMBER, .num = (int64_t)value};
    const uint64_t hash = pt_hash_bytes(&key, sizeof key);
    const uint32_t found = PT_INDEX_FIND(&w->attribute_index, hash, id,
                                         memcmp(&w->attribute.items[id], &key, sizeof key) == 0);
    if (found != PT_NONE) return found;
    const uint32_t id = column == 3 ? text_attribute(w, w->column_key[column], (uint32_t)value)
                                    : number_attribute(w, w->column_key[column], 0, (int64_t)value);
    PT_GROW(w->attribute, (size_t)id + 1);
    w->attribute.items[id] = key;
    pt_index_add(&w->attribute_index, hash, id);
    return id;
}

static size_t gather_attributes(otlp_writer *w, uint32_t sample, const set_attributes *set)
{
    const pt_samples *const s = w->p->sample;
    const uint32_t *const columns[] = {s->pid, s->tid, s->cpu, s->comm};
    size_t count = 0;
    PT_GROW(w->number_list, set->count + 4);
    for (uint64_t i = 0; i < set->count; i++)
        w->number_list.items[count++] = w->set_attribute.items[set->first + i];
    for (unsigned c = 0; c < 4; c++) {
        const uint32_t none = c == 3 ? 0 : PT_NONE;
        if (columns[c] && columns[c][sample] != none)
            w->number_list.items[count++] = column_attribute(w, c, columns[c][sample]);
    }
    return count;
}

static void put_sample(otlp_writer *w, pt_buf *into, uint32_t sample, uint32_t event)
{
    const pt_samples *const s = w->p->sample;
    const uint64_t value = (uint64_t)s->value[event][sample];
    const set_attributes *const set = attributes_of_set(w, s->labels[sample]);
    const size_t count = gather_attributes(w, sample, set);
    pt_buf_clear(&w->sample);
    put_uint(&w->sample, OTLP_SAMPLE_STACK, (uint64_t)s->stack[sample] + 1);
    put_packed(&w->sample, OTLP_SAMPLE_ATTRIBUTES, w->number_list.items, count);
    put_uint(&w->sample, OTLP_SAMPLE_LINK, set->link);
    put_packed(&w->sample, OTLP_SAMPLE_VALUES, &value, 1);
    if (s->time_ns && s->time_ns[sample] != 0) {
        put_tag(&w->sample, OTLP_SAMPLE_TIMES, WIRE_BYTES);
        pt_put_varint(&w->sample, 8);
        pt_put_le(&w->sample, (uint64_t)s->time_ns[sample], 8);
    }
    put_message(into, OTLP_PROFILE_SAMPLES, &w->sample);
}

static void put_type(otlp_writer *w, pt_buf *into, uint32_t field, uint32_t type, uint32_t unit)
{
    const uint32_t type_number = string_number(w, type), unit_number = string_number(w, unit);
    pt_buf_clear(&w->line);
    put_uint(&w->line, OTLP_TYPE_TYPE, type_number);
    put_uint(&w->line, OTLP_TYPE_UNIT, unit_number);
    put_message(into, field, &w->line);
}

static void put_profile(otlp_writer *w, uint32_t event)
{
    const pt_profile *const p = w->p;
    const pt_provenance *const from = pt_profile_provenance(p);
    PT_AUTO(pt_buf) profile = PT_BUF_INIT;
    put_type(w, &profile, OTLP_PROFILE_SAMPLE_TYPE, p->event->row[event].type,
             p->event->row[event].unit);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        if (p->sample->value[event][i] != 0) put_sample(w, &profile, i, event);
    }
    put_fixed(&profile, OTLP_PROFILE_TIME, (uint64_t)from->start_ns);
    put_uint(&profile, OTLP_PROFILE_DURATION, (uint64_t)from->duration_ns);
    if (from->has_period_type)
        put_type(w, &profile, OTLP_PROFILE_PERIOD_TYPE, from->period_type, from->period_unit);
    put_uint(&profile, OTLP_PROFILE_PERIOD, (uint64_t)from->period);
    put_message(&w->profiles, OTLP_SCOPE_PROFILES, &profile);
}

/* Writes the scope: the tool and the default event. */
static void put_origin(otlp_writer *w, pt_buf *into)
{
    const pt_profile *const p = w->p;
    const uint32_t tool = pt_profile_provenance(p)->tool, shown = pt_profile_default_event(p);
    PT_AUTO(pt_buf) origin = PT_BUF_INIT;
    if (tool != 0) put_bytes(&origin, OTLP_ORIGIN_NAME, pt_text(p, tool), pt_text_bytes(p, tool));
    if (shown + 1 != p->event->t.count) {
        const uint32_t type = p->event->row[shown].type;
        pt_buf_clear(&w->inside);
        put_bytes(&w->inside, OTLP_ANY_STRING, pt_text(p, type), pt_text_bytes(p, type));
        pt_buf_clear(&w->line);
        put_bytes(&w->line, OTLP_PAIR_KEY, OTLP_DEFAULT_TYPE, strlen(OTLP_DEFAULT_TYPE));
        put_message(&w->line, OTLP_PAIR_VALUE, &w->inside);
        put_message(&origin, OTLP_ORIGIN_ATTRIBUTES, &w->line);
    }
    if (origin.size > 0) put_message(into, OTLP_SCOPE_SCOPE, &origin);
}

static void put_document(otlp_writer *w, pt_out *out)
{
    PT_AUTO(pt_buf) scope = PT_BUF_INIT, dictionary = PT_BUF_INIT, head = PT_BUF_INIT;
    put_origin(w, &head);
    pt_put(&head, w->profiles.data, w->profiles.size);
    put_message(&scope, OTLP_RESOURCE_SCOPES, &head);
    pt_buf_clear(&head);
    put_message(&head, OTLP_DATA_RESOURCE_PROFILES, &scope);
    pt_out_put(out, head.data, head.size);
    for (uint32_t t = OTLP_MAPPINGS; t < OTLP_TABLES; t++)
        pt_put(&dictionary, w->tables[t].data, w->tables[t].size);
    pt_buf_clear(&head);
    put_message(&head, OTLP_DATA_DICTIONARY, &dictionary);
    pt_out_put(out, head.data, head.size);
}

pt_status pt_otlp_write(const pt_profile *profile, const pt_output *output,
                        const pt_write_options *options, pt_error *reterr)
{
    if (profile->event->t.count == 0)
        return pt_error_set(reterr, PT_ERR_USAGE, "the profile has no values to write");
    (void)options;
    pt_out *const out = output->open(output->context, "", reterr);
    if (!out) return PT_ERR_SYSTEM;
    otlp_writer w = {.p = profile};
    w.number = pt_alloc((size_t)profile->string->t.count + 1, sizeof *w.number);
    memset(w.number, 0xff, profile->string->t.count * sizeof *w.number);
    w.set = pt_alloc((size_t)profile->labels->t.count + 1, sizeof *w.set);
    pt_index_init(&w.attribute_index);
    begin_tables(&w);
    for (uint32_t event = 0; event < profile->event->t.count; event++)
        put_profile(&w, event);
    put_document(&w, out);
    for (size_t t = 0; t < OTLP_TABLES; t++)
        pt_buf_done(&w.tables[t]);
    pt_buf_done(&w.line);
    pt_buf_done(&w.inside);
    pt_buf_done(&w.profiles);
    pt_buf_done(&w.sample);
    pt_index_done(&w.attribute_index);
    PT_FREE_ALL(w.number, w.attribute.items, w.set_attribute.items, w.set, w.number_list.items);
    return pt_out_flush(out, reterr);
}
