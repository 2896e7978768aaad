/* merge.c: see merge.h. Each profile added is walked once over its samples; every string, function,
 * location, stack and label set of it is looked up in the result at most once, on first use. */
#include "transform/merge.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "model/builder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAPPING_ROUND   ((uint64_t)0x1000)
#define EVENTS_SEARCHED 64 /* real profiles have up to four */

struct pt_merge {
    pt_builder *builder;
    pt_diag *diag;
    uint32_t profile_count;
    uint32_t event_count;
    bool *everywhere;       /* [event_count] every profile so far has the event */
    const bool *keep;       /* NULL, or which events of the first profile to take */
    pt_index mapping_index; /* of the builder's mappings, by key */
    struct {
        uint32_t *items; /* comments so far, strings of the builder */
        size_t count, cap;
    } comment;
    pt_index comment_index; /* of items of comment */
    struct {
        struct extra_line {
            uint32_t key, value;
        } * items; /* extras so far, strings of the builder */
        size_t count, cap;
    } extra;
    pt_index extra_index; /* of items of extra */
    uint64_t unknown_dropped, times_dropped;
    bool used_unknown, seen_unknown; /* CPU time that some profiles know and some do not */

    /* The profile that was added last, and where its rows went. Profiles of one program often have
     * the very same tables; comparing those is much cheaper than looking each row up again. */
    const pt_profile *last;
    uint32_t *last_string, *last_function, *last_location;
};

/* A profile being added: rows of its tables -> rows of the result, PT_NONE = not looked up yet. */
typedef struct {
    pt_merge *merge;
    pt_builder *b;
    const pt_profile *p;
    uint32_t *string, *mapping, *function, *location, *stack, *labels;
    uint32_t *event; /* result's event -> the profile's, or PT_NONE */
    struct {
        pt_line *items;
        size_t count, cap;
    } line;
    struct {
        pt_label *items;
        size_t count, cap;
    } label;
} adding;

pt_merge *pt_merge_new(pt_diag *diag)
{
    pt_merge *m = pt_alloc(1, sizeof *m);
    m->builder = pt_builder_new();
    m->diag = diag;
    pt_index_init(&m->mapping_index);
    pt_index_init(&m->comment_index);
    pt_index_init(&m->extra_index);
    return m;
}

void pt_merge_free(pt_merge *merge)
{
    if (!merge) return;
    pt_builder_free(merge->builder);
    free(merge->everywhere);
    free(merge->comment.items);
    free(merge->extra.items);
    free(merge->last_string);
    free(merge->last_function);
    free(merge->last_location);
    pt_profile_unref(merge->last);
    pt_index_done(&merge->mapping_index);
    pt_index_done(&merge->comment_index);
    pt_index_done(&merge->extra_index);
    free(merge);
}

/* ---- Rows ---- */

static uint32_t map_string(adding *a, uint32_t string)
{
    if (a->string[string] == PT_NONE)
        a->string[string] =
            pt_builder_string(a->b, pt_text(a->p, string), pt_text_bytes(a->p, string)).v;
    return a->string[string];
}

typedef struct {
    uint64_t bytes, file_offset;
    uint32_t name;  /* string of the result: build id, else the source's own, else file */
    uint32_t kind;  /* which of them it is */
    uint64_t start; /* of what has no name: nothing says that it is the same elsewhere */
} mapping_key;

static mapping_key key_of(const pt_mapping *m)
{
    const uint64_t bytes = m->limit - m->start;
    return (mapping_key){
        .bytes = bytes + (MAPPING_ROUND - bytes % MAPPING_ROUND) % MAPPING_ROUND,
        .file_offset = m->file_offset,
        .name = m->build_id     ? m->build_id
                : m->foreign_id ? m->foreign_id
                                : m->file,
        .kind = m->build_id     ? 2
                : m->foreign_id ? 1
                                : 0,
        .start = m->build_id || m->foreign_id || m->file ? 0 : m->start,
    };
}

static uint32_t add_mapping(adding *a, const pt_mapping *mapping)
{
    const mapping_key key = key_of(mapping);
    const uint64_t hash =
        pt_hash_mix(key.bytes ^ key.file_offset, pt_hash_u32_pair(key.name, key.kind));
    pt_index *const index = &a->merge->mapping_index;
    pt_probe probe = {0};
    for (uint32_t id = pt_index_first(index, hash, &probe); id != PT_NONE;
         id = pt_index_next(index, &probe)) {
        const mapping_key other = key_of(pt_builder_mapping_at(a->b, (pt_mapping_id){id}));
        if (other.bytes == key.bytes && other.file_offset == key.file_offset &&
            other.name == key.name && other.kind == key.kind && other.start == key.start)
            return id;
    }
    const uint32_t id = pt_builder_append_mapping(a->b, mapping).v;
    if (id != PT_NONE) pt_index_add(index, hash, id);
    return id;
}

static uint32_t map_mapping(adding *a, uint32_t row)
{
    if (row == PT_NONE) return PT_NONE;
    if (a->mapping[row] == PT_NONE) {
        pt_mapping mapping = a->p->mapping->row[row];
        mapping.source_id = 0;
        mapping.file = map_string(a, mapping.file);
        mapping.build_id = map_string(a, mapping.build_id);
        mapping.foreign_id = map_string(a, mapping.foreign_id);
        a->mapping[row] = add_mapping(a, &mapping);
    }
    return a->mapping[row];
}

static uint32_t map_function(adding *a, uint32_t row)
{
    if (row == PT_NONE) return PT_NONE;
    if (a->function[row] == PT_NONE) {
        const pt_functions *const f = a->p->function;
        const pt_function function = {
            .name = map_string(a, f->name[row]),
            .system_name = map_string(a, f->system_name[row]),
            .file = map_string(a, f->file[row]),
            .start_line = f->start_line[row],
        };
        a->function[row] = pt_builder_function(a->b, &function).v;
    }
    return a->function[row];
}

static uint32_t map_location(adding *a, uint32_t row)
{
    if (a->location[row] != PT_NONE) return a->location[row];
    const pt_locations *const l = a->p->location;
    pt_location location = {
        .mapping = map_mapping(a, l->mapping[row]),
        .flags = l->flags[row],
        .address = l->address[row],
        .symbol_bytes = l->symbol_bytes ? l->symbol_bytes[row] : 0,
    };
    if (location.mapping != PT_NONE) /* the image may lie elsewhere in each process */
        location.address += pt_builder_mapping_at(a->b, (pt_mapping_id){location.mapping})->start -
                            a->p->mapping->row[l->mapping[row]].start;
    a->line.count = 0;
    for (uint32_t i = l->line_first[row]; i < l->line_first[row + 1]; i++) {
        PT_GROW(a->line, a->line.count + 1);
        a->line.items[a->line.count++] = (pt_line){
            .function = map_function(a, a->p->line->function[i]),
            .line = a->p->line->line[i],
            .column = a->p->line->column ? a->p->line->column[i] : 0,
        };
    }
    return a->location[row] = pt_builder_location(a->b, &location, a->line.items, a->line.count).v;
}

static uint32_t map_stack(adding *a, uint32_t row)
{
    if (a->stack[row] != PT_NONE) return a->stack[row];
    const uint32_t depth = pt_stack_depth(a->p, row);
    const uint32_t *const from = pt_stack_frames(a->p, row);
    uint32_t *const into = pt_builder_stack_space(a->b, depth);
    for (uint32_t i = 0; i < depth; i++)
        into[i] = map_location(a, from[i]);
    return a->stack[row] =
               pt_builder_stack_commit(a->b, depth, (pt_stack_end)a->p->stack->end[row]).v;
}

/* ---- Labels: texts before numbers, each by key; duplicates of a key keep their order ---- */

static void push_label(adding *a, pt_label label)
{
    PT_GROW(a->label, a->label.count + 1);
    a->label.items[a->label.count++] = label;
}

static int compare_labels(const pt_builder *b, const pt_label *x, const pt_label *y)
{
    if (x->kind != y->kind) return x->kind == PT_LABEL_STRING ? -1 : 1;
    if (x->key == y->key) return 0;
    const int order = strcmp(pt_builder_get_text(b, (pt_string_id){x->key}),
                             pt_builder_get_text(b, (pt_string_id){y->key}));
    return order ? order : (x->key > y->key) - (x->key < y->key);
}

/* Stable merge sort, bottom up: a sample may have any number of labels. */
static void sort_labels(adding *a)
{
    const size_t n = a->label.count;
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = compare_labels(a->b, &a->label.items[i - 1], &a->label.items[i]) <= 0;
    if (sorted) return;
    PT_FREE pt_label *spare = pt_alloc(n, sizeof *spare);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            const size_t middle = low + width < n ? low + width : n;
            const size_t high = low + 2 * width < n ? low + 2 * width : n;
            size_t i = low, j = middle;
            for (size_t k = low; k < high; k++) {
                const bool left =
                    i < middle && (j == high || compare_labels(a->b, &a->label.items[i],
                                                               &a->label.items[j]) <= 0);
                spare[k] = left ? a->label.items[i++] : a->label.items[j++];
            }
        }
        memcpy(a->label.items, spare, n * sizeof *spare);
    }
}

static void push_set(adding *a, uint32_t set)
{
    const pt_label_sets *const sets = a->p->labels;
    for (uint64_t i = sets->offset[set]; i < sets->offset[set + 1]; i++) {
        pt_label label = sets->row[i];
        label.key = map_string(a, label.key);
        label.str = map_string(a, label.str);
        label.unit = map_string(a, label.unit);
        push_label(a, label);
    }
}

static pt_label number_label(adding *a, const char *key, int64_t number)
{
    return (pt_label){.key = pt_builder_text(a->b, key).v, .kind = PT_LABEL_NUMBER, .num = number};
}

static void push_columns(adding *a, uint32_t i)
{
    const pt_samples *const s = a->p->sample;
    if (s->pid && s->pid[i] != PT_NONE) push_label(a, number_label(a, "pid", s->pid[i]));
    if (s->tid && s->tid[i] != PT_NONE) push_label(a, number_label(a, "tid", s->tid[i]));
    if (s->cpu && s->cpu[i] != PT_NONE) push_label(a, number_label(a, "cpu", s->cpu[i]));
    if (s->comm && s->comm[i] != 0)
        push_label(a, (pt_label){.key = pt_builder_text(a->b, "comm").v,
                                 .kind = PT_LABEL_STRING,
                                 .str = map_string(a, s->comm[i])});
    a->merge->times_dropped += s->time_ns && s->time_ns[i] != 0;
}

static pt_labels_id intern_labels(adding *a)
{
    sort_labels(a);
    return pt_builder_labels(a->b, a->label.items, a->label.count);
}

static pt_labels_id map_labels(adding *a, uint32_t i)
{
    const pt_samples *const s = a->p->sample;
    const uint32_t set = s->labels[i];
    a->label.count = 0;
    if (s->time_ns || s->pid || s->tid || s->cpu || s->comm) {
        push_set(a, set);
        push_columns(a, i);
        return intern_labels(a);
    }
    if (a->labels[set] == PT_NONE) {
        push_set(a, set);
        a->labels[set] = intern_labels(a).v;
    }
    return (pt_labels_id){a->labels[set]};
}

/* ---- Events ---- */

static void begin_events(adding *a)
{
    pt_merge *const m = a->merge;
    const pt_events *const events = a->p->event;
    m->everywhere = pt_alloc((size_t)events->t.count + 1, sizeof *m->everywhere);
    a->event = pt_alloc((size_t)events->t.count + 1, sizeof *a->event);
    for (uint32_t e = 0; e < events->t.count; e++) {
        if (m->keep && !m->keep[e]) continue;
        pt_event event = events->row[e];
        event.type = map_string(a, event.type);
        event.unit = map_string(a, event.unit);
        pt_builder_event(a->b, &event);
        m->everywhere[m->event_count] = true;
        a->event[m->event_count++] = e;
    }
}

static bool same_event(adding *a, uint32_t ours, uint32_t theirs)
{
    const pt_event *const event = pt_builder_event_at(a->b, ours);
    const uint32_t type = event->type, unit = event->unit;
    return map_string(a, a->p->event->row[theirs].type) == type &&
           map_string(a, a->p->event->row[theirs].unit) == unit;
}

/* The profile's event for each of the result's: the one at the same place if it is the same, else
 * the first that is. */
static void find_events(adding *a)
{
    const uint32_t theirs = a->p->event->t.count;
    for (uint32_t e = 0; e < a->merge->event_count; e++) {
        uint32_t found = PT_NONE;
        if (e < theirs && same_event(a, e, e)) found = e;
        for (uint32_t k = 0; found == PT_NONE && k < theirs && k < EVENTS_SEARCHED; k++) {
            if (same_event(a, e, k)) found = k;
        }
        a->event[e] = found;
    }
}

/* "cpu/nanoseconds" of the first event, for a message. */
static char *event_text(const char *type, const char *unit)
{
    return pt_strf("%s/%s", type, unit);
}

/* Facts on which the profiles do not agree hold for neither; of periods the longest, as pprof's
 * rule for the header is. */
static void join_event(pt_event *into, const pt_event *from)
{
    into->period_varies |= from->period_varies || into->period != from->period;
    if (from->period > into->period) into->period = from->period;
    if (into->rate_hz != from->rate_hz) into->rate_hz = 0;
    if (into->monitored_fraction != from->monitored_fraction) into->monitored_fraction = 0;
}

static pt_status match_events(adding *a, pt_error *reterr)
{
    pt_merge *const m = a->merge;
    if (m->profile_count == 0) {
        begin_events(a);
        return PT_OK;
    }
    a->event = pt_alloc((size_t)m->event_count + 1, sizeof *a->event);
    find_events(a);
    PT_FREE bool *everywhere = pt_alloc((size_t)m->event_count + 1, sizeof *everywhere);
    uint32_t common = 0;
    for (uint32_t e = 0; e < m->event_count; e++) {
        everywhere[e] = m->everywhere[e] && a->event[e] != PT_NONE;
        common += everywhere[e];
    }
    if (common == 0 && m->event_count > 0) {
        const pt_event *const ours = pt_builder_event_at(a->b, m->event_count - 1);
        PT_FREE char *have = event_text(pt_builder_get_text(a->b, (pt_string_id){ours->type}),
                                        pt_builder_get_text(a->b, (pt_string_id){ours->unit}));
        const uint32_t count = a->p->event->t.count;
        PT_FREE char *got = count == 0
                                ? pt_strdup("nothing")
                                : event_text(pt_text(a->p, a->p->event->row[count - 1].type),
                                             pt_text(a->p, a->p->event->row[count - 1].unit));
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "measures %s, the profiles before it %s: nothing in common to add up",
                            got, have);
    }
    for (uint32_t e = 0; e < m->event_count; e++) {
        m->everywhere[e] = everywhere[e];
        if (a->event[e] != PT_NONE)
            join_event(pt_builder_event_at(a->b, e), &a->p->event->row[a->event[e]]);
    }
    return PT_OK;
}

/* ---- Header ---- */

static uint32_t agreed_string(adding *a, uint32_t ours, uint32_t theirs)
{
    return ours == map_string(a, theirs) ? ours : 0;
}

static void add_comments(adding *a, const pt_provenance *from)
{
    pt_merge *const m = a->merge;
    for (uint32_t i = 0; i < from->comment_count; i++) {
        const uint32_t comment = map_string(a, from->comments[i]);
        const uint64_t hash = pt_hash_u32_pair(comment, 1);
        pt_probe probe = {0};
        bool seen = false;
        for (uint32_t at = pt_index_first(&m->comment_index, hash, &probe); at != PT_NONE && !seen;
             at = pt_index_next(&m->comment_index, &probe))
            seen = m->comment.items[at] == comment;
        if (seen) continue;
        PT_GROW(m->comment, m->comment.count + 1);
        m->comment.items[m->comment.count] = comment;
        pt_index_add(&m->comment_index, hash, (uint32_t)m->comment.count++);
        pt_builder_comment(a->b, (pt_string_id){comment});
    }
}

static bool has_extra(const pt_merge *m, uint64_t hash, uint32_t key, uint32_t value)
{
    pt_probe probe = {0};
    for (uint32_t at = pt_index_first(&m->extra_index, hash, &probe); at != PT_NONE;
         at = pt_index_next(&m->extra_index, &probe)) {
        if (m->extra.items[at].key == key && m->extra.items[at].value == value) return true;
    }
    return false;
}

/* Lines that only the source's own format understands: those the result has not yet, in order. A
 * profile's own repetitions stay. */
static void add_extras(adding *a)
{
    pt_merge *const m = a->merge;
    const pt_extras *const from = a->p->extra;
    const size_t before = m->extra.count;
    for (uint32_t i = 0; i < from->t.count; i++) {
        const uint32_t key = map_string(a, from->key[i]), value = map_string(a, from->value[i]);
        const uint64_t hash = pt_hash_u32_pair(key, value);
        if (has_extra(m, hash, key, value)) continue; /* looks at earlier profiles' only */
        PT_GROW(m->extra, m->extra.count + 1);
        m->extra.items[m->extra.count++] = (struct extra_line){key, value};
        pt_builder_extra(a->b, (pt_string_id){key}, (pt_string_id){value});
    }
    for (size_t i = before; i < m->extra.count; i++)
        pt_index_add(&m->extra_index,
                     pt_hash_u32_pair(m->extra.items[i].key, m->extra.items[i].value), (uint32_t)i);
}

static void first_header(adding *a, pt_provenance *into, const pt_provenance *from)
{
    *into = *from;
    into->comments = NULL;
    into->comment_count = 0;
    uint32_t *const strings[] = {
        &into->tool,        &into->host,          &into->os,
        &into->cpu_model,   &into->command_line,  &into->source_format,
        &into->period_type, &into->period_unit,   &into->drop_frames,
        &into->keep_frames, &into->default_event, &into->doc_url,
    };
    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++)
        *strings[i] = map_string(a, *strings[i]);
}

/* A sum with an unknown part is unknown. */
static int64_t add_known(int64_t x, int64_t y, bool *ret_unknown)
{
    if ((x == 0) == (y == 0)) return pt_saturating_add(x, y);
    *ret_unknown = true;
    return 0;
}

static void next_header(adding *a, pt_provenance *into, const pt_provenance *from)
{
    into->tool = agreed_string(a, into->tool, from->tool);
    into->host = agreed_string(a, into->host, from->host);
    into->os = agreed_string(a, into->os, from->os);
    into->cpu_model = agreed_string(a, into->cpu_model, from->cpu_model);
    into->command_line = agreed_string(a, into->command_line, from->command_line);
    into->source_format = agreed_string(a, into->source_format, from->source_format);
    if (into->has_period_type != from->has_period_type ||
        into->period_type != map_string(a, from->period_type) ||
        into->period_unit != map_string(a, from->period_unit)) {
        into->has_period_type = false;
        into->period_type = into->period_unit = 0;
    }
    if (from->period > into->period) into->period = from->period;
    if (into->start_ns == 0 || (from->start_ns != 0 && from->start_ns < into->start_ns))
        into->start_ns = from->start_ns;
    into->duration_ns = pt_saturating_add(into->duration_ns, from->duration_ns);
    into->cpu_used_ns = add_known(into->cpu_used_ns, from->cpu_used_ns, &a->merge->used_unknown);
    into->cpu_seen_ns = add_known(into->cpu_seen_ns, from->cpu_seen_ns, &a->merge->seen_unknown);
    into->lost = pt_saturating_count(into->lost, from->lost);
    into->throttled = pt_saturating_count(into->throttled, from->throttled);
    if (into->asked_hz != from->asked_hz) into->asked_hz = 0;
    if (into->true_hz != from->true_hz) into->true_hz = 0;
    if (into->word_bytes != from->word_bytes) into->word_bytes = 0;
    into->big_endian &= from->big_endian;
    if (into->default_event == 0) into->default_event = map_string(a, from->default_event);
    if (into->doc_url == 0) into->doc_url = map_string(a, from->doc_url);
    into->damaged |= from->damaged;
}

static void add_header(adding *a)
{
    const pt_provenance *const from = pt_profile_provenance(a->p);
    pt_provenance *const into = pt_builder_provenance(a->b);
    if (a->merge->profile_count == 0)
        first_header(a, into, from);
    else
        next_header(a, into, from);
    add_comments(a, from);
}

/* ---- Adding ---- */

static bool same_column(const void *a, const void *b, uint32_t count, size_t item_bytes)
{
    if (a == NULL || b == NULL) return a == b;
    return a == b || count == 0 || memcmp(a, b, count * item_bytes) == 0;
}

static bool same_strings(const pt_strings *a, const pt_strings *b)
{
    return a == b || (a->t.count == b->t.count &&
                      same_column(a->offset, b->offset, a->t.count + 1, sizeof *a->offset) &&
                      memcmp(a->bytes, b->bytes, (size_t)a->offset[a->t.count]) == 0);
}

/* Are the functions the same rows? Their strings must be the same already. */
static bool same_functions(const pt_functions *a, const pt_functions *b)
{
    const uint32_t n = a->t.count;
    return n == b->t.count && same_column(a->name, b->name, n, sizeof *a->name) &&
           same_column(a->system_name, b->system_name, n, sizeof *a->system_name) &&
           same_column(a->file, b->file, n, sizeof *a->file) &&
           same_column(a->start_line, b->start_line, n, sizeof *a->start_line);
}

static bool same_lines(const pt_lines *a, const pt_lines *b)
{
    const uint32_t n = a->t.count;
    return n == b->t.count && same_column(a->function, b->function, n, sizeof *a->function) &&
           same_column(a->line, b->line, n, sizeof *a->line) &&
           same_column(a->column, b->column, n, sizeof *a->column);
}

static bool same_locations(const pt_locations *a, const pt_locations *b)
{
    const uint32_t n = a->t.count;
    return n == b->t.count && same_column(a->mapping, b->mapping, n, sizeof *a->mapping) &&
           same_column(a->address, b->address, n, sizeof *a->address) &&
           same_column(a->line_first, b->line_first, n + 1, sizeof *a->line_first) &&
           same_column(a->flags, b->flags, n, sizeof *a->flags) &&
           same_column(a->symbol_bytes, b->symbol_bytes, n, sizeof *a->symbol_bytes);
}

static uint32_t *new_map(uint32_t count)
{
    uint32_t *map = pt_alloc((size_t)count + 1, sizeof *map);
    memset(map, 0xff, count * sizeof *map);
    return map;
}

static void copy_map(uint32_t *into, const uint32_t *from, uint32_t count)
{
    memcpy(into, from, count * sizeof *into);
}

/* Starts with what is known of the last profile's tables, as far as this one's are the same. */
static void begin_maps(adding *a)
{
    const pt_merge *const m = a->merge;
    const pt_profile *const p = a->p, *const last = m->last;
    if (last == NULL || !same_strings(p->string, last->string)) return;
    copy_map(a->string, m->last_string, p->string->t.count);
    if (!same_functions(p->function, last->function)) return;
    copy_map(a->function, m->last_function, p->function->t.count);
    if (p->mapping->t.count != last->mapping->t.count ||
        !same_column(p->mapping->row, last->mapping->row, p->mapping->t.count,
                     sizeof *p->mapping->row) ||
        !same_lines(p->line, last->line) || !same_locations(p->location, last->location))
        return;
    copy_map(a->location, m->last_location, p->location->t.count);
}

/* Keeps the maps for the next profile. */
static void end_maps(adding *a)
{
    pt_merge *const m = a->merge;
    free(m->last_string);
    free(m->last_function);
    free(m->last_location);
    m->last_string = a->string;
    m->last_function = a->function;
    m->last_location = a->location;
    a->string = a->function = a->location = NULL;
    pt_profile_unref(m->last);
    m->last = pt_profile_ref(a->p);
}

static void add_samples(adding *a)
{
    const pt_samples *const s = a->p->sample;
    const uint32_t event_count = a->merge->event_count;
    PT_FREE int64_t *values = pt_alloc((size_t)event_count + 1, sizeof *values);
    for (uint32_t i = 0; i < s->t.count; i++) {
        bool zero = true;
        for (uint32_t e = 0; e < event_count; e++) {
            values[e] = a->event[e] == PT_NONE ? 0 : s->value[a->event[e]][i];
            zero &= values[e] == 0;
        }
        if (zero) continue;
        const pt_stack_id stack = {map_stack(a, s->stack[i])};
        pt_builder_add(a->b, stack, map_labels(a, i), values);
    }
}

static pt_status check_kind(const pt_profile *p, pt_error *reterr)
{
    const char *const what = p->arc->t.count     ? "call arcs"
                             : p->bin->t.count   ? "address histograms"
                             : p->block->t.count ? "basic block counts"
                                                 : NULL;
    if (!what) return PT_OK;
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "holds %s, which cannot be merged yet", what);
}

pt_status pt_merge_add(pt_merge *merge, const pt_profile *profile, pt_error *reterr)
{
    pt_status status = check_kind(profile, reterr);
    if (status != PT_OK) return status;
    adding a = {
        .merge = merge,
        .b = merge->builder,
        .p = profile,
        .string = new_map(profile->string->t.count),
        .mapping = new_map(profile->mapping->t.count),
        .function = new_map(profile->function->t.count),
        .location = new_map(profile->location->t.count),
        .stack = new_map(profile->stack->t.count),
        .labels = new_map(profile->labels->t.count),
    };
    begin_maps(&a);
    status = match_events(&a, reterr);
    if (status == PT_OK) {
        add_header(&a);
        /* The main binary stays first, even if no sample lies in it. */
        if (profile->mapping->t.count > 0 && pt_builder_mapping_count(a.b) == 0) map_mapping(&a, 0);
        add_extras(&a);
        add_samples(&a);
        merge->profile_count++;
        merge->unknown_dropped += profile->unknown->t.count;
        status = pt_builder_status(a.b, reterr);
        end_maps(&a);
    }
    uint32_t *const maps[] = {a.string, a.mapping, a.function, a.location,
                              a.stack,  a.labels,  a.event};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        free(maps[i]);
    free(a.line.items);
    free(a.label.items);
    return status;
}

/* ---- Finishing ---- */

static bool has_zero_sample(const pt_profile *p)
{
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        bool zero = true;
        for (uint32_t e = 0; e < p->event->t.count && zero; e++)
            zero = p->sample->value[e][i] == 0;
        if (zero) return true;
    }
    return false;
}

static void tell(const pt_merge *m)
{
    if (m->unknown_dropped > 0)
        pt_diag_add(m->diag, m->unknown_dropped, "unknown protobuf fields left out by the merge");
    if (m->times_dropped > 0)
        pt_diag_add(m->diag, m->times_dropped, "samples lost their time in the merge");
    pt_diag_add(m->diag, m->used_unknown,
                "sum of CPU time used left out, since not every profile has it");
    pt_diag_add(m->diag, m->seen_unknown,
                "sum of CPU time sampled left out, since not every profile has it");
    const uint64_t saturated = pt_builder_saturated(m->builder);
    if (saturated > 0) pt_diag_add(m->diag, saturated, "sums that hit the limit of 2^63");
    for (uint32_t e = 0; e < m->event_count; e++) {
        if (m->everywhere[e]) continue;
        const pt_event *const event = pt_builder_event_at(m->builder, e);
        pt_diag_add(m->diag, 1, "value (%s) left out, since not every profile has it",
                    pt_builder_get_text(m->builder, (pt_string_id){event->type}));
    }
}

/* Merges the result once more with itself alone, which drops what the sum showed to be needless. */
static pt_status merge_again(const pt_profile **profile, const bool *keep, pt_diag *diag,
                             pt_error *reterr)
{
    pt_merge *m = pt_merge_new(diag);
    m->keep = keep;
    pt_status status = pt_merge_add(m, *profile, reterr);
    if (status == PT_OK) {
        const pt_profile *again;
        status = pt_builder_freeze(m->builder, &again, reterr);
        m->builder = NULL;
        if (status == PT_OK) {
            pt_profile_unref(*profile);
            *profile = again;
        }
    }
    pt_merge_free(m);
    return status;
}

pt_status pt_merge_finish(pt_merge *merge, const pt_profile **ret_profile, pt_error *reterr)
{
    if (merge->profile_count == 0) {
        pt_merge_free(merge);
        return pt_error_set(reterr, PT_ERR_USAGE, "no profiles to merge");
    }
    tell(merge);
    bool again = false;
    for (uint32_t e = 0; e < merge->event_count; e++)
        again |= !merge->everywhere[e];
    const pt_profile *profile = NULL;
    pt_status status = pt_builder_freeze(merge->builder, &profile, reterr);
    merge->builder = NULL;
    if (status == PT_OK && (again || has_zero_sample(profile)))
        status = merge_again(&profile, merge->everywhere, merge->diag, reterr);
    pt_merge_free(merge);
    if (status == PT_OK)
        *ret_profile = profile;
    else
        pt_profile_unref(profile);
    return status;
}
