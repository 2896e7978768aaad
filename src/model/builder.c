/* builder.c: adds rows to a profile under construction.
 *
 * Interned tables have a hash index of their content. Functions, locations, mappings and samples
 * can also be appended; the index of such a table is filled lazily: the first interned row also
 * adds all rows that were appended so far, so a reader that never interns does not pay for the
 * index.
 */
#include "model/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/saturate.h"
#include "model/builder_int.h"

/* Gives a COLUMN room for `need` items. */
#define RESERVE(table, field, need)                                                                \
    ((table).field = pt_grow((table).field, &(table).field##_cap, (need), sizeof *(table).field))

/* In a large column of frames, pages are populated FRAMES_AHEAD frames in advance by one system
 * call (pt_fault_in), instead of by a page fault for each page. */
#define FRAMES_LARGE ((size_t)1 << 20)
#define FRAMES_AHEAD ((size_t)1 << 16)

static bool has_stopped(const pt_builder *b)
{
    return b->error.status != PT_OK;
}

/* Returns true if a table of count rows may have another row; else sets the sticky error and
 * returns false. */
static bool room_for_row(pt_builder *b, size_t count, const char *rows_name)
{
    if (has_stopped(b)) return false;
    if (count < ROWS_MAX) return true;
    pt_error_set(&b->error, PT_ERR_LIMIT, "more than %u %s in one profile", ROWS_MAX, rows_name);
    return false;
}

pt_builder *pt_builder_new(void)
{
    pt_builder *b = pt_alloc(1, sizeof *b);
    b->error = PT_ERROR_INIT;
    RESERVE(b->string, offset, 64);
    RESERVE(b->stack, offset, 64);
    RESERVE(b->labels, offset, 16);
    b->stack.frames_touched = FRAMES_LARGE;
    b->stack.frames_max = UINT64_MAX;
    b->string.offset[0] = b->stack.offset[0] = b->labels.offset[0] = 0;
    pt_builder_string(b, "", 0);
    pt_builder_labels(b, NULL, 0);
    return b;
}

static void free_contents(pt_builder *b)
{
    PT_FREE_ALL(b->string.offset, b->string.bytes);
    pt_index_done(&b->string.index);
    PT_FREE_ALL(b->event.items, b->mapping.items);
    pt_index_done(&b->mapping_index);
    free(b->function.row);
    pt_index_done(&b->function.index);
    PT_FREE_ALL(b->location.row, b->location.line);
    pt_index_done(&b->location.index);
    PT_FREE_ALL(b->stack.offset, b->stack.frame, b->stack.end);
    pt_index_done(&b->stack.index);
    PT_FREE_ALL(b->labels.offset, b->labels.row);
    pt_index_done(&b->labels.index);
    PT_FREE_ALL(b->sample.stack, b->sample.labels);
    for (size_t e = 0; b->sample.value != NULL && e < b->event.count; e++)
        free(b->sample.value[e]);
    PT_FREE_ALL(b->sample.value, b->sample.time_ns, b->sample.pid, b->sample.tid, b->sample.cpu,
                b->sample.comm);
    pt_index_done(&b->sample.index);
    PT_FREE_ALL(b->sample.of_stack, b->arc.from, b->arc.to, b->arc.calls, b->arc.cost, b->bin.items,
                b->block.items, b->extra.items, b->unknown.message, b->unknown.row,
                b->unknown.bytes, b->comment.items);
    pt_profile_unref(b->base);
}

void pt_builder_free(pt_builder *builder)
{
    if (builder == NULL) return;
    free_contents(builder);
    free(builder);
}

/* Larger expected numbers are reduced to these limits; the columns then grow when more rows
 * come. */
#define RESERVE_SAMPLES_MAX ((size_t)16 << 20)
#define RESERVE_FRAMES_MAX  ((size_t)512 << 20)

static void grow_samples(pt_builder *b, size_t need);

void pt_builder_reserve_samples(pt_builder *b, size_t samples, size_t frames)
{
    samples = samples < RESERVE_SAMPLES_MAX ? samples : RESERVE_SAMPLES_MAX;
    frames = frames < RESERVE_FRAMES_MAX ? frames : RESERVE_FRAMES_MAX;
    grow_samples(b, samples);
    RESERVE(b->stack, offset, samples + 1);
    RESERVE(b->stack, end, samples);
    RESERVE(b->stack, frame, frames);
    b->stack.expected_samples = (uint32_t)samples;
}

void pt_builder_expect_frames(pt_builder *b, size_t frames)
{
    if (frames > RESERVE_FRAMES_MAX || frames <= b->stack.frame_cap) return;
    b->stack.frame = pt_realloc_large(b->stack.frame, frames, sizeof *b->stack.frame);
    b->stack.frame_cap = frames;
}

void pt_builder_reserve_locations(pt_builder *b, size_t functions, size_t locations, size_t lines)
{
    RESERVE(b->function, row, functions < RESERVE_SAMPLES_MAX ? functions : RESERVE_SAMPLES_MAX);
    RESERVE(b->location, row, locations < RESERVE_SAMPLES_MAX ? locations : RESERVE_SAMPLES_MAX);
    RESERVE(b->location, line, lines < RESERVE_SAMPLES_MAX ? lines : RESERVE_SAMPLES_MAX);
}

/* ---- Strings ---- */

pt_string_id pt_builder_string(pt_builder *b, const char *bytes, size_t size)
{
    builder_strings *s = &b->string;
    const uint64_t hash = pt_hash_bytes(bytes, size);
    PT_INDEX_EACH (&s->index, hash, id) {
        const uint64_t begin = s->offset[id];
        if (s->offset[id + 1] - begin - 1 == size &&
            (size == 0 || memcmp(s->bytes + begin, bytes, size) == 0))
            return (pt_string_id){id};
    }
    if (!room_for_row(b, s->count, "strings")) return (pt_string_id){0};
    RESERVE(*s, bytes, s->byte_count + size + 1);
    RESERVE(*s, offset, s->count + 2);
    if (size > 0) memcpy(s->bytes + s->byte_count, bytes, size);
    s->byte_count += size + 1;
    s->bytes[s->byte_count - 1] = '\0';
    s->offset[s->count + 1] = s->byte_count;
    pt_index_add(&s->index, hash, (uint32_t)s->count);
    return (pt_string_id){(uint32_t)s->count++};
}

pt_string_id pt_builder_text(pt_builder *b, const char *text)
{
    return pt_builder_string(b, text, strlen(text));
}

const char *pt_builder_get_text(const pt_builder *b, pt_string_id id)
{
    return b->string.bytes + b->string.offset[id.v];
}

uint32_t pt_builder_string_count(const pt_builder *b)
{
    return (uint32_t)b->string.count;
}

/* ---- Events, mappings ---- */

uint32_t pt_builder_event(pt_builder *b, const pt_event *event)
{
    PT_BUG_IF(b->sample.count > 0 || b->base != NULL);
    PT_GROW(b->event, b->event.count + 1);
    pt_event *row = &b->event.items[b->event.count];
    *row = *event;
    row->kind = pt_event_kind_of_unit(pt_builder_get_text(b, (pt_string_id){event->unit}));
    b->sample.value = pt_realloc(b->sample.value, b->event.count + 1, sizeof *b->sample.value);
    b->sample.value[b->event.count] =
        b->sample.cap ? pt_alloc(b->sample.cap, sizeof **b->sample.value) : NULL;
    return (uint32_t)b->event.count++;
}

uint32_t pt_builder_event_count(const pt_builder *b)
{
    return b->base ? b->base->event->t.count : (uint32_t)b->event.count;
}

pt_event *pt_builder_event_at(pt_builder *b, uint32_t event)
{
    PT_BUG_IF(event >= b->event.count);
    return &b->event.items[event];
}

pt_mapping_id pt_builder_append_mapping(pt_builder *b, const pt_mapping *mapping)
{
    if (!room_for_row(b, b->mapping.count, "mappings")) return (pt_mapping_id){PT_NONE};
    PT_GROW(b->mapping, b->mapping.count + 1);
    b->mapping.items[b->mapping.count] = *mapping;
    return (pt_mapping_id){(uint32_t)b->mapping.count++};
}

/* pt_mapping has no padding, so its bytes are its content. */
_Static_assert(sizeof(pt_mapping) == 5 * 8 + 4 * 4 + 2 * 8, "pt_mapping must have no padding");

pt_mapping_id pt_builder_mapping(pt_builder *b, const pt_mapping *mapping)
{
    for (; b->mapping_indexed < b->mapping.count; b->mapping_indexed++)
        pt_index_add(&b->mapping_index,
                     pt_hash_bytes(&b->mapping.items[b->mapping_indexed], sizeof *mapping),
                     (uint32_t)b->mapping_indexed);
    const uint64_t hash = pt_hash_bytes(mapping, sizeof *mapping);
    const uint32_t known = PT_INDEX_FIND(
        &b->mapping_index, hash, id, memcmp(&b->mapping.items[id], mapping, sizeof *mapping) == 0);
    if (known != PT_NONE) return (pt_mapping_id){known};
    return pt_builder_append_mapping(b, mapping);
}

pt_mapping *pt_builder_mapping_at(pt_builder *b, pt_mapping_id id)
{
    PT_BUG_IF(id.v >= b->mapping.count);
    return &b->mapping.items[id.v];
}

uint32_t pt_builder_mapping_count(const pt_builder *b)
{
    return (uint32_t)b->mapping.count;
}

/* ---- Functions ---- */

pt_function_id pt_builder_append_function(pt_builder *b, const pt_function *function)
{
    if (!room_for_row(b, b->function.count, "functions")) return (pt_function_id){PT_NONE};
    RESERVE(b->function, row, b->function.count + 1);
    b->function.row[b->function.count] = *function;
    return (pt_function_id){(uint32_t)b->function.count++};
}

static uint64_t function_hash(const pt_function *f)
{
    return pt_hash_mix(pt_hash_u32_pair(f->name, f->system_name) ^ (uint64_t)f->start_line,
                       pt_hash_u32_pair(f->file, 0) ^ f->source_id);
}

static bool function_equal(const pt_function *a, const pt_function *b)
{
    return a->name == b->name && a->system_name == b->system_name && a->file == b->file &&
           a->start_line == b->start_line && a->source_id == b->source_id;
}

pt_function_id pt_builder_function(pt_builder *b, const pt_function *function)
{
    builder_functions *t = &b->function;
    for (; t->indexed < t->count; t->indexed++)
        pt_index_add(&t->index, function_hash(&t->row[t->indexed]), (uint32_t)t->indexed);
    const uint64_t hash = function_hash(function);
    const uint32_t known =
        PT_INDEX_FIND(&t->index, hash, id, function_equal(&t->row[id], function));
    if (known != PT_NONE) return (pt_function_id){known};
    return pt_builder_append_function(b, function);
}

/* ---- Locations ---- */

/* Copies lines to the pool's end and returns the index of the first. lines must not point into the
 * pool. */
static uint32_t pool_lines(pt_builder *b, const pt_line *lines, size_t count)
{
    builder_locations *t = &b->location;
    const size_t first = t->line_count;
    if (count > ROWS_MAX - first) {
        pt_error_set(&b->error, PT_ERR_LIMIT, "more than %u lines in one profile", ROWS_MAX);
        return 0;
    }
    RESERVE(*t, line, first + count);
    if (count > 0) memcpy(t->line + first, lines, count * sizeof *lines);
    t->line_count += count;
    return (uint32_t)first;
}

pt_location_id pt_builder_append_location(pt_builder *b, const pt_location *location,
                                          const pt_line *lines, size_t line_count)
{
    builder_locations *t = &b->location;
    if (!room_for_row(b, t->count, "locations")) return (pt_location_id){PT_NONE};
    const uint32_t first = pool_lines(b, lines, line_count);
    if (has_stopped(b)) return (pt_location_id){PT_NONE};
    RESERVE(*t, row, t->count + 1);
    t->row[t->count] = (builder_location){*location, first, (uint32_t)line_count};
    return (pt_location_id){(uint32_t)t->count++};
}

static uint64_t location_hash(const pt_location *l, const pt_line *lines, size_t line_count)
{
    uint64_t h = pt_hash_mix(l->address ^ l->source_id, pt_hash_u32_pair(l->mapping, l->flags));
    for (size_t i = 0; i < line_count; i++)
        h = pt_hash_mix(h ^ lines[i].function,
                        (uint64_t)lines[i].line ^ ((uint64_t)lines[i].column << 32));
    return h;
}

static bool lines_equal(const pt_line *a, const pt_line *b, size_t count)
{
    return !PT_ANY(i, count,
                   a[i].function != b[i].function || a[i].line != b[i].line ||
                       a[i].column != b[i].column);
}

/* The location's lines; NULL if the location has none, since the pool may then be empty. */
static const pt_line *lines_of(const builder_locations *t, const builder_location *r)
{
    return r->line_count > 0 ? t->line + r->line_first : NULL;
}

pt_location_id pt_builder_location(pt_builder *b, const pt_location *location, const pt_line *lines,
                                   size_t line_count)
{
    builder_locations *t = &b->location;
    for (; t->indexed < t->count; t->indexed++) {
        const builder_location *r = &t->row[t->indexed];
        pt_index_add(&t->index, location_hash(&r->row, lines_of(t, r), r->line_count),
                     (uint32_t)t->indexed);
    }
    const uint64_t hash = location_hash(location, lines, line_count);
    PT_INDEX_EACH (&t->index, hash, id) {
        const builder_location *r = &t->row[id];
        if (r->line_count == line_count && r->row.address == location->address &&
            r->row.mapping == location->mapping && r->row.flags == location->flags &&
            r->row.code_offset == location->code_offset &&
            r->row.source_id == location->source_id &&
            lines_equal(lines_of(t, r), lines, line_count))
            return (pt_location_id){id};
    }
    return pt_builder_append_location(b, location, lines, line_count);
}

pt_location_id pt_builder_named_location(pt_builder *b, const char *name, uint32_t flags)
{
    const uint32_t text = pt_builder_text(b, name).v;
    const pt_function function = {
        .name = text, .system_name = text, .file = pt_builder_text(b, "").v};
    const pt_line line = {.function = pt_builder_function(b, &function).v};
    const pt_location location = {.mapping = PT_NONE, .flags = flags};
    return pt_builder_location(b, &location, &line, 1);
}

uint32_t pt_builder_location_count(const pt_builder *b)
{
    return (uint32_t)b->location.count;
}

uint64_t pt_builder_location_address(const pt_builder *b, pt_location_id id, uint32_t *ret_flags)
{
    PT_BUG_IF(id.v >= b->location.count);
    *ret_flags = b->location.row[id.v].row.flags;
    return b->location.row[id.v].row.address;
}

void pt_builder_set_lines(pt_builder *b, pt_location_id location, const pt_line *lines,
                          size_t line_count)
{
    PT_BUG_IF(location.v >= b->location.count);
    const uint32_t first = pool_lines(b, lines, line_count);
    if (has_stopped(b)) return;
    builder_location *r = &b->location.row[location.v];
    r->line_first = first;
    r->line_count = (uint32_t)line_count;
}

void pt_builder_set_code_offset(pt_builder *b, pt_location_id location, uint64_t code_offset)
{
    PT_BUG_IF(location.v >= b->location.count);
    b->location.row[location.v].row.code_offset = code_offset;
}

/* ---- Stacks and label sets: spans that are interned whole ---- */

/* Limit of the frames of all stacks. In formats that record calls and returns, each call of a few
 * bytes gives a new stack with all frames that are open, so the frames may take many times the size
 * of the file. */
#define FRAMES_MAX ((uint64_t)512 << 20)
/* Limit of the labels of all label sets. A label that a file states once may be in the set of each
 * sample. */
#define LABELS_MAX ((uint64_t)64 << 20)

static bool room_for_rows(pt_builder *b, uint64_t rows, uint64_t most, const char *rows_name)
{
    if (rows <= most) return true;
    pt_error_set(&b->error, PT_ERR_LIMIT, "more than %llu million %s",
                 (unsigned long long)(most >> 20), rows_name);
    return false;
}

static __attribute__((cold, noinline)) void touch_frames_ahead(builder_stacks *t, size_t used)
{
    const size_t room = t->frame_cap - used;
    const size_t ahead = room < FRAMES_AHEAD ? room : FRAMES_AHEAD;
    pt_fault_in(t->frame + used, ahead * sizeof *t->frame);
    t->frames_touched = used + FRAMES_AHEAD;
}

uint32_t *pt_builder_stack_space(pt_builder *b, size_t depth)
{
    builder_stacks *t = &b->stack;
    const size_t used = (size_t)t->offset[t->count];
    RESERVE(*t, frame,
            used + (depth > 0 ? depth : 1)); /* so that an empty stack also has an address */
    if (__builtin_expect(used >= t->frames_touched, 0)) touch_frames_ahead(t, used);
    return t->frame + used;
}

static uint64_t stack_hash(const uint32_t *frames, size_t depth, pt_stack_end end)
{
    return pt_hash_bytes(frames, depth * sizeof *frames) + (uint64_t)end * 0x9e3779b97f4a7c15u;
}

uint64_t pt_builder_stack_hash(const pt_builder *b, const uint32_t *frames, size_t depth,
                               pt_stack_end end)
{
    const pt_index *index = &b->stack.index;
    const uint64_t hash = stack_hash(frames, depth, end);
    if (index->slots != NULL)
        __builtin_prefetch(&index->slots[pt_index_home((uint32_t)(hash >> 32), index->mask)]);
    return hash;
}

void pt_builder_stack_fetch(const pt_builder *b, uint64_t hash)
{
    const builder_stacks *t = &b->stack;
    pt_probe probe;
    const uint32_t id = pt_index_first(&t->index, hash, &probe);
    if (id == PT_NONE) return;
    const size_t line = 64 / sizeof *t->frame; /* frames in a cache line */
    const uint64_t begin = t->offset[id], end = t->offset[id + 1];
    for (uint64_t at = begin; at < end && at < begin + 4 * line; at += line)
        __builtin_prefetch(t->frame + at);
}

pt_stack_id pt_builder_stack_commit(pt_builder *b, size_t depth, pt_stack_end end)
{
    const uint32_t *frames = b->stack.frame + b->stack.offset[b->stack.count];
    return pt_builder_stack_commit_hashed(b, depth, end, stack_hash(frames, depth, end));
}

/* If at least half of the samples so far have a stack of their own, the index of stacks gets room
 * for as many stacks as samples are expected; otherwise the index grows when stacks come, since
 * unused room also costs time. The decision is made when the number of stacks reaches
 * 1/STACKS_TRIAL of the expected samples: earlier, most stacks are new in any profile. */
#define STACKS_TRIAL 16

static __attribute__((cold, noinline)) void reserve_expected_stacks(pt_builder *b)
{
    builder_stacks *t = &b->stack;
    if (t->count >= b->sample.count / 2) pt_index_reserve(&t->index, t->expected_samples);
    t->expected_samples = 0;
}

/* Appends a stack of the `depth` frames that stand at the end of the frame column, in no stack
 * yet. */
static pt_stack_id append_stack(pt_builder *b, size_t depth, pt_stack_end end)
{
    builder_stacks *t = &b->stack;
    const uint64_t begin = t->offset[t->count];
    if (!room_for_row(b, t->count, "distinct stacks") ||
        !room_for_rows(b, begin + depth, FRAMES_MAX, "frames of distinct stacks"))
        return (pt_stack_id){PT_NONE};
    RESERVE(*t, offset, t->count + 2);
    RESERVE(*t, end, t->count + 1);
    t->offset[t->count + 1] = begin + depth;
    t->end[t->count] = (uint8_t)end;
    return (pt_stack_id){(uint32_t)t->count++};
}

void pt_builder_limit_frames(pt_builder *b, uint64_t frames_max)
{
    b->stack.frames_max = frames_max;
}

uint64_t pt_builder_depth_max(const pt_builder *b)
{
    const uint64_t used = b->stack.offset[b->stack.count];
    return used < b->stack.frames_max ? b->stack.frames_max - used : 1;
}

pt_stack_end pt_builder_cut_stack(pt_builder *b)
{
    b->stack.cut_count++;
    return PT_STACK_END_TRUNCATED;
}

uint64_t pt_builder_stacks_cut(const pt_builder *b)
{
    return b->stack.cut_count;
}

/* The depth to which the limit of frames cuts a new stack of this depth. */
static size_t fit_depth(pt_builder *b, size_t depth)
{
    const uint64_t most = pt_builder_depth_max(b);
    if (__builtin_expect(depth <= most, 1)) return depth;
    b->stack.cut_count++;
    return (size_t)most;
}

/* The stack with the frames that stand at the end of the frame column, in no stack yet; PT_NONE if
 * there is no such stack yet. */
static uint32_t find_stack(const builder_stacks *t, size_t depth, pt_stack_end end, uint64_t hash)
{
    const uint32_t *frames = t->frame + t->offset[t->count];
    const size_t size = depth * sizeof *frames;
    PT_INDEX_EACH (&t->index, hash, id) {
        const uint64_t other = t->offset[id];
        if (t->offset[id + 1] - other == depth && t->end[id] == end &&
            memcmp(t->frame + other, frames, size) == 0)
            return id;
    }
    return PT_NONE;
}

pt_stack_id pt_builder_stack_commit_hashed(pt_builder *b, size_t depth, pt_stack_end end,
                                           uint64_t hash)
{
    builder_stacks *t = &b->stack;
    uint32_t known = find_stack(t, depth, end, hash);
    const size_t fits = known == PT_NONE ? fit_depth(b, depth) : depth;
    if (fits < depth) {
        depth = fits;
        end = PT_STACK_END_TRUNCATED;
        hash = stack_hash(t->frame + t->offset[t->count], depth, end);
        known = find_stack(t, depth, end, hash);
    }
    if (known != PT_NONE) return (pt_stack_id){known};
    const pt_stack_id id = append_stack(b, depth, end);
    if (id.v == PT_NONE) return id;
    if (t->expected_samples > 0 && id.v >= t->expected_samples / STACKS_TRIAL)
        reserve_expected_stacks(b);
    pt_index_add(&t->index, hash, id.v);
    return id;
}

pt_stack_id pt_builder_new_stack(pt_builder *b, const uint32_t *frames, size_t depth,
                                 pt_stack_end end)
{
    if (has_stopped(b)) return (pt_stack_id){PT_NONE};
    const size_t fits = fit_depth(b, depth);
    uint32_t *const space = pt_builder_stack_space(b, fits);
    if (fits > 0) memcpy(space, frames, fits * sizeof *frames);
    return append_stack(b, fits, fits < depth ? PT_STACK_END_TRUNCATED : end);
}

uint32_t pt_builder_stack_count(const pt_builder *b)
{
    return (uint32_t)b->stack.count;
}

const uint32_t *pt_builder_stack_frames(const pt_builder *b, pt_stack_id id, size_t *ret_depth)
{
    PT_BUG_IF(id.v >= b->stack.count);
    const uint64_t begin = b->stack.offset[id.v];
    *ret_depth = (size_t)(b->stack.offset[id.v + 1] - begin);
    return b->stack.frame + begin;
}

pt_stack_id pt_builder_stack(pt_builder *b, const uint32_t *frames, size_t depth, pt_stack_end end)
{
    if (has_stopped(b)) return (pt_stack_id){PT_NONE};
    uint32_t *space = pt_builder_stack_space(b, depth);
    if (depth > 0) memcpy(space, frames, depth * sizeof *frames);
    return pt_builder_stack_commit(b, depth, end);
}

_Static_assert(sizeof(pt_label) == 24, "pt_label must have no padding: its bytes are hashed");

static size_t index_bytes(const pt_index *index)
{
    return index->slots != NULL ? (size_t)(index->mask + 1) * sizeof *index->slots : 0;
}

size_t pt_builder_code_bytes(const pt_builder *b)
{
    const builder_stacks *const stacks = &b->stack;
    const builder_locations *const locations = &b->location;
    return b->function.count * sizeof *b->function.row + index_bytes(&b->function.index) +
           locations->count * sizeof *locations->row +
           locations->line_count * sizeof *locations->line + index_bytes(&locations->index) +
           stacks->count * (sizeof *stacks->offset + sizeof *stacks->end) +
           (size_t)stacks->offset[stacks->count] * sizeof *stacks->frame +
           index_bytes(&stacks->index);
}

void pt_builder_forget_code(pt_builder *b)
{
    PT_BUG_IF(b->sample.count > 0);
    pt_index_done(&b->function.index);
    pt_index_done(&b->location.index);
    pt_index_done(&b->stack.index);
    b->function.count = b->function.indexed = 0;
    b->location.count = b->location.indexed = b->location.line_count = 0;
    b->stack.count = 0;
}

pt_labels_id pt_builder_labels(pt_builder *b, const pt_label *labels, size_t count)
{
    builder_labels *t = &b->labels;
    const size_t size = count * sizeof *labels;
    const uint64_t hash = pt_hash_bytes(labels, size);
    PT_INDEX_EACH (&t->index, hash, id) {
        const uint64_t begin = t->offset[id];
        if (t->offset[id + 1] - begin == count &&
            (count == 0 || memcmp(t->row + begin, labels, size) == 0))
            return (pt_labels_id){id};
    }
    if (!room_for_row(b, t->count, "label sets")) return PT_NO_LABELS;
    const uint64_t begin = t->offset[t->count];
    if (!room_for_rows(b, begin + count, LABELS_MAX, "labels of distinct sets"))
        return PT_NO_LABELS;
    RESERVE(*t, row, (size_t)begin + count);
    RESERVE(*t, offset, t->count + 2);
    if (count > 0) memcpy(t->row + begin, labels, size);
    t->offset[t->count + 1] = begin + count;
    pt_index_add(&t->index, hash, (uint32_t)t->count);
    return (pt_labels_id){(uint32_t)t->count++};
}

/* ---- Samples ---- */

static void grow_samples(pt_builder *b, size_t need)
{
    builder_samples *t = &b->sample;
    if (need <= t->cap) return;
    const size_t cap = need > t->cap + t->cap / 2 ? need : t->cap + t->cap / 2;
    t->stack = pt_realloc(t->stack, cap, sizeof *t->stack);
    t->labels = pt_realloc(t->labels, cap, sizeof *t->labels);
    for (size_t e = 0; e < b->event.count; e++)
        t->value[e] = pt_realloc(t->value[e], cap, sizeof *t->value[e]);
    if (t->optional & PT_SAMPLES_TIME) t->time_ns = pt_realloc(t->time_ns, cap, sizeof *t->time_ns);
    if (t->optional & PT_SAMPLES_PID) t->pid = pt_realloc(t->pid, cap, sizeof *t->pid);
    if (t->optional & PT_SAMPLES_TID) t->tid = pt_realloc(t->tid, cap, sizeof *t->tid);
    if (t->optional & PT_SAMPLES_CPU) t->cpu = pt_realloc(t->cpu, cap, sizeof *t->cpu);
    if (t->optional & PT_SAMPLES_COMM) t->comm = pt_realloc(t->comm, cap, sizeof *t->comm);
    t->cap = cap;
}

static bool append_sample(pt_builder *b, pt_stack_id stack, pt_labels_id labels,
                          const int64_t *values)
{
    PT_BUG_IF(b->base != NULL);
    builder_samples *t = &b->sample;
    if (stack.v == PT_NONE || !room_for_row(b, t->count, "samples")) return false;
    if (t->count == t->cap) grow_samples(b, t->count < 64 ? 64 : t->count + 1);
    t->stack[t->count] = stack.v;
    t->labels[t->count] = labels.v;
    for (size_t e = 0; e < b->event.count; e++)
        t->value[e][t->count] = values[e];
    t->count++;
    return true;
}

/* Fills the existing optional columns of a new row. */
static void fill_optional(builder_samples *t, size_t row, const pt_sample *s)
{
    if (t->time_ns) t->time_ns[row] = s->time_ns;
    if (t->pid) t->pid[row] = s->pid;
    if (t->tid) t->tid[row] = s->tid;
    if (t->cpu) t->cpu[row] = s->cpu;
    if (t->comm) t->comm[row] = s->comm;
}

static const pt_sample sample_without_optional = {.pid = PT_NONE, .tid = PT_NONE, .cpu = PT_NONE};

void pt_builder_sample(pt_builder *b, pt_stack_id stack, pt_labels_id labels, const int64_t *values)
{
    if (append_sample(b, stack, labels, values) && b->sample.optional != 0)
        fill_optional(&b->sample, b->sample.count - 1, &sample_without_optional);
}

/* Creates the optional columns that this sample is the first to need; their cells are unknown in
 * earlier rows. */
static void make_optional(pt_builder *b, unsigned wanted)
{
    builder_samples *t = &b->sample;
    const unsigned missing = wanted & ~t->optional;
    if (missing == 0) return;
    const size_t cap = t->cap ? t->cap : (grow_samples(b, 64), t->cap);
    if (missing & PT_SAMPLES_TIME) t->time_ns = pt_alloc(cap, sizeof *t->time_ns);
    if (missing & PT_SAMPLES_PID)
        t->pid = memset(pt_alloc(cap, sizeof *t->pid), 0xff, t->count * sizeof *t->pid);
    if (missing & PT_SAMPLES_TID)
        t->tid = memset(pt_alloc(cap, sizeof *t->tid), 0xff, t->count * sizeof *t->tid);
    if (missing & PT_SAMPLES_CPU)
        t->cpu = memset(pt_alloc(cap, sizeof *t->cpu), 0xff, t->count * sizeof *t->cpu);
    if (missing & PT_SAMPLES_COMM) t->comm = pt_alloc(cap, sizeof *t->comm);
    t->optional |= missing;
}

void pt_builder_timed_sample(pt_builder *b, const pt_sample *s)
{
    make_optional(
        b, (s->time_ns != 0 ? PT_SAMPLES_TIME : 0u) | (s->pid != PT_NONE ? PT_SAMPLES_PID : 0u) |
               (s->tid != PT_NONE ? PT_SAMPLES_TID : 0u) |
               (s->cpu != PT_NONE ? PT_SAMPLES_CPU : 0u) | (s->comm != 0 ? PT_SAMPLES_COMM : 0u));
    if (append_sample(b, (pt_stack_id){s->stack}, (pt_labels_id){s->labels}, s->values))
        fill_optional(&b->sample, b->sample.count - 1, s);
}

void pt_builder_sample_more(pt_builder *b, uint32_t row, size_t event, int64_t more)
{
    PT_BUG_IF(row >= b->sample.count || event >= b->event.count);
    b->saturated += pt_saturating_into(&b->sample.value[event][row], more);
}

void pt_builder_drop_empty_event(pt_builder *b, const char *type)
{
    size_t e = 0;
    PT_BUG_IF(b->arc.count > 0);
    while (e < b->event.count &&
           strcmp(pt_builder_get_text(b, (pt_string_id){b->event.items[e].type}), type) != 0)
        e++;
    if (e == b->event.count || PT_ANY(i, b->sample.count, b->sample.value[e][i] != 0)) return;
    free(b->sample.value[e]);
    const size_t behind = --b->event.count - e;
    memmove(&b->event.items[e], &b->event.items[e + 1], behind * sizeof b->event.items[0]);
    memmove(&b->sample.value[e], &b->sample.value[e + 1], behind * sizeof b->sample.value[0]);
}

static void move_sample(const pt_builder *b, size_t from, size_t to)
{
    const builder_samples *const t = &b->sample;
    t->stack[to] = t->stack[from];
    t->labels[to] = t->labels[from];
    for (size_t e = 0; e < b->event.count; e++)
        t->value[e][to] = t->value[e][from];
    if (t->time_ns) t->time_ns[to] = t->time_ns[from];
    if (t->pid) t->pid[to] = t->pid[from];
    if (t->tid) t->tid[to] = t->tid[from];
    if (t->cpu) t->cpu[to] = t->cpu[from];
    if (t->comm) t->comm[to] = t->comm[from];
}

void pt_builder_drop_empty_samples(pt_builder *b)
{
    builder_samples *const t = &b->sample;
    size_t kept = 0;
    PT_BUG_IF(b->base != NULL || t->indexed > 0);
    for (size_t i = 0; i < t->count; i++)
        if (PT_ANY(e, b->event.count, t->value[e][i] != 0)) move_sample(b, i, kept++);
    t->count = kept;
}

/* The place where the builder keeps 1 + the row of the stack's sample without labels; its value is
 * 0 if there is no such sample. */
static uint32_t *place_of_unlabelled(pt_builder *b, uint32_t stack)
{
    builder_samples *t = &b->sample;
    if (stack >= t->of_stack_count) {
        const size_t count = stack + 1 > b->stack.count ? stack + 1 : b->stack.count;
        RESERVE(*t, of_stack, count);
        memset(t->of_stack + t->of_stack_count, 0,
               (count - t->of_stack_count) * sizeof *t->of_stack);
        t->of_stack_count = count;
    }
    return &t->of_stack[stack];
}

static void index_samples(pt_builder *b)
{
    builder_samples *t = &b->sample;
    for (; t->indexed < t->count; t->indexed++) {
        const uint32_t row = (uint32_t)t->indexed;
        if (t->labels[row] != 0) {
            pt_index_add(&t->index, pt_hash_u32_pair(t->stack[row], t->labels[row]), row);
            continue;
        }
        uint32_t *const plain = place_of_unlabelled(b, t->stack[row]);
        if (*plain == 0) *plain = row + 1; /* of equal samples the first is kept */
    }
}

static uint32_t find_sample(pt_builder *b, uint32_t stack, uint32_t labels)
{
    builder_samples *t = &b->sample;
    if (labels == 0) return *place_of_unlabelled(b, stack) - 1; /* 0, no sample, becomes PT_NONE */
    return PT_INDEX_FIND(&t->index, pt_hash_u32_pair(stack, labels), id,
                         t->stack[id] == stack && t->labels[id] == labels);
}

void pt_builder_add(pt_builder *b, pt_stack_id stack, pt_labels_id labels, const int64_t *values)
{
    if (stack.v == PT_NONE) return; /* the stack was refused before */
    index_samples(b);
    const uint32_t id = find_sample(b, stack.v, labels.v);
    if (id == PT_NONE) {
        pt_builder_sample(b, stack, labels, values);
        return;
    }
    for (size_t e = 0; e < b->event.count; e++)
        b->saturated += pt_saturating_into(&b->sample.value[e][id], values[e]);
}

uint32_t pt_builder_sample_count(const pt_builder *b)
{
    return (uint32_t)b->sample.count;
}

uint64_t pt_builder_saturated(const pt_builder *b)
{
    return b->saturated;
}

/* ---- Side tables ---- */

void pt_builder_arc(pt_builder *b, pt_location_id from, pt_location_id to, uint64_t calls,
                    const int64_t *cost)
{
    builder_arcs *t = &b->arc;
    if (!room_for_row(b, t->count, "arcs")) return;
    const size_t events = b->event.count;
    RESERVE(*t, from, t->count + 1);
    RESERVE(*t, to, t->count + 1);
    RESERVE(*t, calls, t->count + 1);
    RESERVE(*t, cost, (t->count + 1) * events);
    t->from[t->count] = from.v;
    t->to[t->count] = to.v;
    t->calls[t->count] = calls;
    for (size_t e = 0; e < events; e++)
        t->cost[t->count * events + e] = cost ? cost[e] : 0;
    t->has_cost |= cost != NULL;
    t->count++;
}

void pt_builder_bin(pt_builder *b, const pt_bin *bin)
{
    if (!room_for_row(b, b->bin.count, "histogram bins")) return;
    PT_PUSH(b->bin, *bin);
}

void pt_builder_block(pt_builder *b, const pt_block *block)
{
    if (!room_for_row(b, b->block.count, "basic blocks")) return;
    PT_PUSH(b->block, *block);
}

void pt_builder_extra(pt_builder *b, pt_string_id key, pt_string_id value)
{
    if (!room_for_row(b, b->extra.count / 2, "extra lines")) return;
    PT_GROW(b->extra, b->extra.count + 2);
    b->extra.items[b->extra.count++] = key.v;
    b->extra.items[b->extra.count++] = value.v;
}

void pt_builder_unknown(pt_builder *b, pt_message message, uint32_t row, const void *bytes,
                        size_t size)
{
    const pt_string_id content = pt_builder_string(b, bytes, size);
    if (!room_for_row(b, b->unknown.count, "unknown fields")) return;
    const size_t n = b->unknown.count;
    RESERVE(b->unknown, message, n + 1);
    RESERVE(b->unknown, row, n + 1);
    RESERVE(b->unknown, bytes, n + 1);
    b->unknown.message[n] = (uint8_t)message;
    b->unknown.row[n] = row;
    b->unknown.bytes[n] = content.v;
    b->unknown.count++;
}

void pt_builder_comment(pt_builder *b, pt_string_id comment)
{
    if (!room_for_row(b, b->comment.count, "comments")) return;
    PT_PUSH(b->comment, comment.v);
}

pt_provenance *pt_builder_provenance(pt_builder *b)
{
    return &b->provenance;
}

void pt_builder_set_default_event(pt_builder *b, uint32_t event)
{
    const bool is_last = event + 1 == pt_builder_event_count(b);
    b->provenance.default_event = is_last ? 0 : pt_builder_event_at(b, event)->type;
}

pt_status pt_builder_status(const pt_builder *b, pt_error *reterr)
{
    if (reterr != NULL && b->error.status != PT_OK) *reterr = b->error;
    return b->error.status;
}
