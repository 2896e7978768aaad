/* merge.c: see merge.h. Walks once over the samples of each added profile. Each string, function,
 * location, stack and label set is looked up in the result at most once, on first use. */
#include "transform/merge.h"

#include "base/grow.h"
#include "base/hash.h"
#include "model/builder.h"
#include "process/path_kind.h"
#include "transform/merge_int.h"
#include "transform/tags.h"

#include <stdlib.h>
#include <string.h>

#define MAPPING_ROUND ((uint64_t)0x1000)

typedef pt_merge_adding adding;

static pt_merge *merge_new(pt_diag *diag, bool pprof)
{
    pt_merge *m = pt_alloc(1, sizeof *m);
    m->pprof = pprof;
    m->builder = pt_builder_new();
    m->diag = diag;
    pt_index_init(&m->quirks.location_index);
    pt_index_init(&m->mapping_index);
    pt_index_init(&m->comment_index);
    pt_index_init(&m->extra_index);
    return m;
}

pt_merge *pt_merge_new(pt_diag *diag)
{
    return merge_new(diag, false);
}

pt_merge *pt_merge_new_to_the_letter(pt_diag *diag)
{
    return merge_new(diag, true);
}

pt_merge *pt_merge_new_by(const pt_merge_rules *rules, pt_diag *diag)
{
    pt_merge *m = merge_new(diag, false);
    if (rules == NULL) return m;
    m->rules = rules;
    m->merging = rules->begin(diag);
    return m;
}

void pt_merge_samples_only(pt_merge *merge)
{
    merge->samples_only = true;
}

void pt_merge_free(pt_merge *merge)
{
    if (!merge) return;
    if (merge->rules != NULL) merge->rules->end(merge->merging);
    pt_merge_sides_free(merge->sides);
    pt_builder_free(merge->builder);
    PT_FREE_ALL(merge->everywhere, merge->quirks.location.items, merge->quirks.line.items);
    pt_index_done(&merge->quirks.location_index);
    PT_FREE_ALL(merge->comment.items, merge->extra.items, merge->last_string, merge->last_function,
                merge->last_location);
    pt_profile_unref(merge->last);
    pt_index_done(&merge->mapping_index);
    pt_index_done(&merge->comment_index);
    pt_index_done(&merge->extra_index);
    free(merge);
}

/* ---- Rows ---- */

uint32_t pt_merge_string(adding *a, uint32_t string)
{
    if (a->string[string] == PT_NONE)
        a->string[string] =
            pt_builder_string(a->b, pt_text(a->p, string), pt_text_bytes(a->p, string)).v;
    return a->string[string];
}

typedef struct {
    uint64_t bytes, file_offset;
    uint32_t name;  /* string of the result: build id, else the source's own id, else file */
    uint32_t kind;  /* which of these three tables */
    uint64_t start; /* of memory without a file, which is not shared between processes */
} mapping_key;

/* Is it the mapping of gmon.out? Such a mapping has neither the name nor the size of its program,
 * only linked addresses. */
static bool is_linked_image(const pt_mapping *m)
{
    return (m->flags & PT_MAPPING_HAS_BIAS) != 0 && m->start == 0 && !m->build_id &&
           !m->foreign_id && !m->file;
}

static mapping_key key_of(const pt_builder *b, const pt_mapping *m, bool pprof)
{
    const uint64_t bytes = m->limit - m->start;
    if (pprof)
        return (mapping_key){
            .bytes = bytes + (MAPPING_ROUND - bytes % MAPPING_ROUND) % MAPPING_ROUND,
            .file_offset = m->file_offset,
            .name = m->build_id ? m->build_id : m->file,
        };
    if (is_linked_image(m)) return (mapping_key){.kind = 3};
    const bool is_memory = !m->build_id && !m->foreign_id &&
                           pt_mapped_is_memory(pt_mapped_kind_of_text(
                               pt_builder_get_text(b, (pt_string_id){m->file})));
    return (mapping_key){
        .bytes = bytes + (MAPPING_ROUND - bytes % MAPPING_ROUND) % MAPPING_ROUND,
        .file_offset = m->file_offset,
        .name = m->build_id     ? m->build_id
                : m->foreign_id ? m->foreign_id
                                : m->file,
        .kind = m->build_id     ? 2
                : m->foreign_id ? 1
                                : 0,
        .start = is_memory ? m->start : 0,
    };
}

static uint32_t add_mapping(adding *a, const pt_mapping *mapping)
{
    const mapping_key key = key_of(a->b, mapping, a->merge->pprof);
    const uint64_t hash =
        pt_hash_mix(key.bytes ^ key.file_offset, pt_hash_u32_pair(key.name, key.kind));
    pt_index *const index = &a->merge->mapping_index;
    PT_INDEX_EACH (index, hash, id) {
        pt_mapping *const known = pt_builder_mapping_at(a->b, (pt_mapping_id){id});
        const mapping_key other = key_of(a->b, known, a->merge->pprof);
        if (other.bytes != key.bytes || other.file_offset != key.file_offset ||
            other.name != key.name || other.kind != key.kind || other.start != key.start)
            continue;
        if (is_linked_image(known) && known->limit < mapping->limit) known->limit = mapping->limit;
        return id;
    }
    const uint32_t id = pt_builder_append_mapping(a->b, mapping).v;
    if (id != PT_NONE) pt_index_add(index, hash, id);
    return id;
}

uint32_t pt_merge_mapping(adding *a, uint32_t row)
{
    if (row == PT_NONE) return PT_NONE;
    if (a->mapping[row] == PT_NONE) {
        pt_mapping mapping = a->p->mapping->row[row];
        mapping.source_id = 0;
        mapping.file = pt_merge_string(a, mapping.file);
        mapping.build_id = pt_merge_string(a, mapping.build_id);
        mapping.foreign_id = pt_merge_string(a, mapping.foreign_id);
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
            .name = pt_merge_string(a, f->name[row]),
            .system_name = pt_merge_string(a, f->system_name[row]),
            .file = pt_merge_string(a, f->file[row]),
            .start_line = f->start_line[row],
        };
        a->function[row] = pt_builder_function(a->b, &function).v;
    }
    return a->function[row];
}

/* Compares the lines of two locations by pprof's key. A mistake in pprof's key includes only the
 * column of the last line, so of locations that differ only in other columns the first stands for
 * all. */
static bool same_keyed_lines(const pt_line *x, const pt_line *y, size_t count)
{
    return !PT_ANY(i, count,
                   x[i].function != y[i].function || x[i].line != y[i].line ||
                       (i + 1 == count && x[i].column != y[i].column));
}

static uint64_t keyed_hash(const pt_location *location, const pt_line *lines, size_t count)
{
    uint64_t hash =
        pt_hash_mix(location->address, pt_hash_u32_pair(location->mapping, location->flags));
    for (size_t i = 0; i < count; i++)
        hash = pt_hash_mix(hash ^ lines[i].function, (uint64_t)lines[i].line);
    return hash;
}

static uint32_t find_keyed(const adding *a, const pt_location *location, uint64_t hash)
{
    const struct pt_merge_quirks *const q = &a->merge->quirks;
    PT_INDEX_EACH (&q->location_index, hash, i) {
        const struct pt_merge_location *const other = &q->location.items[i];
        if (other->row.address == location->address && other->row.mapping == location->mapping &&
            other->row.flags == location->flags && other->line_count == a->line.count &&
            (a->line.count == 0 ||
             same_keyed_lines(q->line.items + other->line_first, a->line.items, a->line.count)))
            return other->id;
    }
    return PT_NONE;
}

static uint32_t keyed_location(adding *a, const pt_location *location)
{
    struct pt_merge_quirks *const q = &a->merge->quirks;
    const uint64_t hash = keyed_hash(location, a->line.items, a->line.count);
    uint32_t id = find_keyed(a, location, hash);
    if (id != PT_NONE) return id;
    id = pt_builder_append_location(a->b, location, a->line.items, a->line.count).v;
    if (id == PT_NONE) return id;
    PT_GROW(q->line, q->line.count + a->line.count);
    for (size_t i = 0; i < a->line.count; i++)
        q->line.items[q->line.count + i] = a->line.items[i];
    PT_GROW(q->location, q->location.count + 1);
    q->location.items[q->location.count] =
        (struct pt_merge_location){*location, q->line.count, a->line.count, id};
    q->line.count += a->line.count;
    pt_index_add(&q->location_index, hash, (uint32_t)q->location.count++);
    return id;
}

uint32_t pt_merge_location(adding *a, uint32_t row)
{
    if (row == PT_NONE) return PT_NONE;
    if (a->location[row] != PT_NONE) return a->location[row];
    const pt_locations *const l = a->p->location;
    pt_location location = {
        .mapping = pt_merge_mapping(a, l->mapping[row]),
        .flags = l->flags[row],
        .address = l->address[row],
        .code_offset = l->code_offset ? l->code_offset[row] : 0,
    };
    if (location.mapping != PT_NONE) /* each process may map the image at another address */
        location.address += pt_builder_mapping_at(a->b, (pt_mapping_id){location.mapping})->start -
                            a->p->mapping->row[l->mapping[row]].start;
    a->line.count = 0;
    for (uint32_t i = l->line_first[row]; i < l->line_first[row + 1]; i++) {
        PT_PUSH(a->line, (pt_line){
                             .function = map_function(a, a->p->line->function[i]),
                             .line = a->p->line->line[i],
                             .column = a->p->line->column ? a->p->line->column[i] : 0,
                         });
    }
    if (a->merge->pprof) return a->location[row] = keyed_location(a, &location);
    return a->location[row] = pt_builder_location(a->b, &location, a->line.items, a->line.count).v;
}

/* Stacks are mapped and hashed in batches before they are interned, so that the index entries that
 * they need are in the processor's cache by then. */
#define AHEAD_MAX 16
#define MAPPED    (PT_NONE - 1) /* mapped, not interned yet; never an id */

typedef struct {
    uint32_t row[AHEAD_MAX], depth[AHEAD_MAX];
    uint64_t hash[AHEAD_MAX];
    size_t count, frames;
} mapped_stacks;

/* Appends the stack's frames to the frames that were mapped before. */
static void map_stack(adding *a, uint32_t row, mapped_stacks *mapped)
{
    const uint32_t depth = pt_stack_depth(a->p, row);
    const uint32_t *const from = pt_stack_frames(a->p, row);
    uint32_t *const into = pt_builder_stack_space(a->b, mapped->frames + depth) + mapped->frames;
    for (uint32_t i = 0; i < depth; i++) {
        const uint32_t known = a->location[from[i]];
        into[i] = __builtin_expect(known != PT_NONE, 1) ? known : pt_merge_location(a, from[i]);
    }
    mapped->row[mapped->count] = row;
    mapped->depth[mapped->count] = depth;
    mapped->hash[mapped->count++] =
        pt_builder_stack_hash(a->b, into, depth, (pt_stack_end)a->p->stack->end[row]);
    mapped->frames += depth;
    a->stack[row] = MAPPED;
}

static void intern_mapped(adding *a, const mapped_stacks *mapped)
{
    size_t at = 0, known = 0; /* at: number of frames before the current stack; known: how many of
                               * these are in stacks that the result had already */
    for (size_t i = 0; i < mapped->count; i++)
        pt_builder_stack_fetch(a->b, mapped->hash[i]);
    for (size_t i = 0; i < mapped->count; i++) {
        const uint32_t row = mapped->row[i], depth = mapped->depth[i];
        const size_t before = pt_builder_stack_count(a->b);
        uint32_t *const into = pt_builder_stack_space(a->b, mapped->frames - at + known);
        if (known > 0) memmove(into, into + known, depth * sizeof *into);
        a->stack[row] = pt_builder_stack_commit_hashed(
                            a->b, depth, (pt_stack_end)a->p->stack->end[row], mapped->hash[i])
                            .v;
        at += depth;
        if (pt_builder_stack_count(a->b) == before) known += depth;
    }
}

/* ---- Labels: texts before numbers, each by key; duplicates of a key keep their order ---- */

static void push_label(adding *a, pt_label label)
{
    PT_PUSH(a->label, label);
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
        if (!pt_label_counts(&label, a->merge->pprof)) continue;
        label.key = pt_merge_string(a, label.key);
        label.str = pt_merge_string(a, label.str);
        label.unit = pt_merge_string(a, label.unit);
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
                                 .str = pt_merge_string(a, s->comm[i])});
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

/* Are the rows of both tables of functions equal? Their tables of strings must be equal. */
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
           same_column(a->code_offset, b->code_offset, n, sizeof *a->code_offset);
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

/* Starts with the maps of the last profile, for tables that are equal. */
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
    PT_FREE_ALL(m->last_string, m->last_function, m->last_location);
    m->last_string = a->string;
    m->last_function = a->function;
    m->last_location = a->location;
    a->string = a->function = a->location = NULL;
    pt_profile_unref(m->last);
    m->last = pt_profile_ref(a->p);
}

/* Converts a sample's values to the result's events; false if all are 0. */
static bool map_values(const adding *a, uint32_t sample, int64_t *values)
{
    bool any = false;
    for (uint32_t e = 0; e < a->merge->event_count; e++) {
        values[e] = a->event[e] == PT_NONE ? 0 : a->p->sample->value[a->event[e]][sample];
        any |= values[e] != 0;
    }
    return any;
}

static void add_samples(adding *a)
{
    const pt_samples *const s = a->p->sample;
    PT_FREE int64_t *values = pt_alloc((size_t)a->merge->event_count + 1, sizeof *values);
    for (uint32_t first = 0, end; first < s->t.count; first = end) {
        end = s->t.count - first < AHEAD_MAX ? s->t.count : first + AHEAD_MAX;
        mapped_stacks mapped = {.count = 0};
        for (uint32_t i = first; i < end; i++)
            if (a->stack[s->stack[i]] == PT_NONE && map_values(a, i, values))
                map_stack(a, s->stack[i], &mapped);
        intern_mapped(a, &mapped);
        for (uint32_t i = first; i < end; i++)
            if (map_values(a, i, values))
                pt_builder_add(a->b, (pt_stack_id){a->stack[s->stack[i]]}, map_labels(a, i),
                               values);
    }
}

pt_status pt_merge_add(pt_merge *merge, const pt_profile *profile, pt_error *reterr)
{
    if (merge->rules != NULL) {
        merge->profile_count++;
        return merge->rules->add(merge->merging, profile, reterr);
    }
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
    pt_status status = pt_merge_events(&a, reterr);
    if (status == PT_OK) {
        pt_merge_header(&a);
        if (merge->profile_count == 0)
            pt_builder_reserve_samples(a.b, profile->sample->t.count,
                                       (size_t)profile->stack->offset[profile->stack->t.count]);
        /* The main binary stays first, even if it has no samples. */
        if (profile->mapping->t.count > 0 && pt_builder_mapping_count(a.b) == 0)
            pt_merge_mapping(&a, 0);
        pt_merge_extras(&a);
        add_samples(&a);
        pt_merge_sides_add(&a);
        merge->profile_count++;
        merge->unknown_dropped += profile->unknown->t.count;
        status = pt_builder_status(a.b, reterr);
        end_maps(&a);
    }
    uint32_t *const maps[] = {a.string, a.mapping, a.function, a.location,
                              a.stack,  a.labels,  a.event};
    for (size_t i = 0; i < PT_COUNT(maps); i++)
        free(maps[i]);
    PT_FREE_ALL(a.line.items, a.label.items);
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

static void report_drops(const pt_merge *m)
{
    pt_diag_add(m->diag, m->unknown_dropped, "unknown protobuf fields left out by the merge");
    pt_diag_add(m->diag, m->times_dropped, "samples lost their time in the merge");
    pt_diag_add(m->diag, m->sides_dropped,
                "call arcs, histogram bins or basic blocks left out: a difference has none");
    pt_diag_add(m->diag, m->used_unknown,
                "sum of CPU time used left out, since not every profile has it");
    pt_diag_add(m->diag, m->seen_unknown,
                "sum of CPU time sampled left out, since not every profile has it");
    const uint64_t saturated = pt_builder_saturated(m->builder);
    pt_diag_add(m->diag, saturated, "sums too large for 64 bits, set to the largest");
    for (uint32_t e = 0; e < m->event_count; e++) {
        if (m->everywhere[e]) continue;
        const pt_event *const event = pt_builder_event_at(m->builder, e);
        pt_diag_add(m->diag, 1, "value (%s) left out, since not every profile has it",
                    pt_builder_get_text(m->builder, (pt_string_id){event->type}));
    }
}

/* Merges the result once more, alone: this drops rows that the summing made superfluous. */
static pt_status merge_again(const pt_profile **profile, const bool *keep, bool pprof,
                             pt_diag *diag, pt_error *reterr)
{
    pt_merge *m = merge_new(diag, pprof);
    m->keep = keep;
    pt_status status = pt_merge_add(m, *profile, reterr);
    if (status == PT_OK) {
        const pt_profile *again;
        pt_merge_sides_finish(m);
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
    if (merge->rules != NULL) {
        const pt_status status = merge->rules->finish(merge->merging, ret_profile, reterr);
        pt_merge_free(merge);
        return status;
    }
    report_drops(merge);
    pt_merge_sides_finish(merge);
    bool again = false;
    for (uint32_t e = 0; e < merge->event_count; e++)
        again |= !merge->everywhere[e];
    const pt_profile *profile = NULL;
    pt_status status = pt_builder_freeze(merge->builder, &profile, reterr);
    merge->builder = NULL;
    if (status == PT_OK && (again || has_zero_sample(profile)))
        status = merge_again(&profile, merge->everywhere, merge->pprof, merge->diag, reterr);
    pt_merge_free(merge);
    if (status == PT_OK)
        *ret_profile = profile;
    else
        pt_profile_unref(profile);
    return status;
}
