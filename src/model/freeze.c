/* freeze.c: turns a builder's growing columns into a profile's tables (freezing), and tables into a
 * builder (extending). */
#include "base/grow.h"
#include "model/builder.h"

#include <stdlib.h>

#include "model/builder_int.h"

/* Returns the column, shrunk to count items, and clears the builder's pointer. Never NULL. */
static void *take_column(void **column, size_t count, size_t item_size)
{
    void *items = pt_realloc(*column, count, item_size);
    *column = NULL;
    return items;
}
#define HAND_OVER(column, count) take_column((void **)&(column), (count), sizeof *(column))

static pt_strings *freeze_strings(pt_builder *b)
{
    pt_strings *t = pt_table_new(sizeof *t, (uint32_t)b->string.count);
    t->offset = HAND_OVER(b->string.offset, b->string.count + 1);
    t->bytes = HAND_OVER(b->string.bytes, b->string.byte_count);
    return t;
}

static pt_events *freeze_events(pt_builder *b)
{
    pt_events *t = pt_table_new(sizeof *t, (uint32_t)b->event.count);
    t->row = HAND_OVER(b->event.items, b->event.count);
    return t;
}

static pt_mappings *freeze_mappings(pt_builder *b)
{
    pt_mappings *t = pt_table_new(sizeof *t, (uint32_t)b->mapping.count);
    t->row = HAND_OVER(b->mapping.items, b->mapping.count);
    return t;
}

static pt_functions *freeze_functions(pt_builder *b)
{
    const size_t n = b->function.count;
    uint32_t *name = pt_alloc(n, sizeof *name);
    uint32_t *system_name = pt_alloc(n, sizeof *system_name);
    uint32_t *file = pt_alloc(n, sizeof *file);
    int64_t *start_line = pt_alloc(n, sizeof *start_line);
    uint64_t *source_id = NULL;
    for (size_t i = 0; i < n; i++) {
        const pt_function *f = &b->function.row[i];
        name[i] = f->name;
        system_name[i] = f->system_name;
        file[i] = f->file;
        start_line[i] = f->start_line;
        if (f->source_id != 0 && source_id == NULL) source_id = pt_alloc(n, sizeof *source_id);
        if (f->source_id != 0) source_id[i] = f->source_id;
    }
    pt_functions *t = pt_table_new(sizeof *t, (uint32_t)n);
    t->name = name;
    t->system_name = system_name;
    t->file = file;
    t->start_line = start_line;
    t->source_id = source_id;
    return t;
}

/* Makes the tables of locations and lines. Lines are stored in the order of their locations, which
 * may differ from their order in the builder's pool. */
static void freeze_locations(pt_builder *b, pt_locations **ret_locations, pt_lines **ret_lines)
{
    const size_t n = b->location.count;
    uint64_t line_count = 0;
    for (size_t i = 0; i < n; i++)
        line_count += b->location.row[i].line_count;
    PT_BUG_IF(line_count > ROWS_MAX); /* the limit of the pool of lines also bounds the used part of
                                       * the pool */

    uint32_t *mapping = pt_alloc(n, sizeof *mapping);
    uint64_t *address = pt_alloc(n, sizeof *address);
    uint32_t *line_first = pt_alloc(n + 1, sizeof *line_first);
    uint8_t *flags = pt_alloc(n, sizeof *flags);
    uint64_t *code_offset = NULL, *source_id = NULL;
    uint32_t *function = pt_alloc(line_count, sizeof *function);
    int64_t *line = pt_alloc(line_count, sizeof *line);
    int64_t *column = NULL;
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        const builder_location *l = &b->location.row[i];
        mapping[i] = l->row.mapping;
        address[i] = l->row.address;
        flags[i] = (uint8_t)l->row.flags;
        line_first[i] = next;
        if (l->row.code_offset != 0 && code_offset == NULL)
            code_offset = pt_alloc(n, sizeof *code_offset);
        if (l->row.code_offset != 0) code_offset[i] = l->row.code_offset;
        if (l->row.source_id != 0 && source_id == NULL) source_id = pt_alloc(n, sizeof *source_id);
        if (l->row.source_id != 0) source_id[i] = l->row.source_id;
        for (uint32_t k = 0; k < l->line_count; k++, next++) {
            const pt_line *from = &b->location.line[l->line_first + k];
            function[next] = from->function;
            line[next] = from->line;
            if (from->column != 0 && column == NULL) column = pt_alloc(line_count, sizeof *column);
            if (from->column != 0) column[next] = from->column;
        }
    }
    line_first[n] = next;

    pt_locations *t = pt_table_new(sizeof *t, (uint32_t)n);
    t->mapping = mapping;
    t->address = address;
    t->line_first = line_first;
    t->flags = flags;
    t->code_offset = code_offset;
    t->source_id = source_id;
    pt_lines *lines = pt_table_new(sizeof *lines, (uint32_t)line_count);
    lines->function = function;
    lines->line = line;
    lines->column = column;
    *ret_locations = t;
    *ret_lines = lines;
}

static pt_stacks *freeze_stacks(pt_builder *b)
{
    const size_t n = b->stack.count;
    const size_t frames = (size_t)b->stack.offset[n];
    pt_stacks *t = pt_table_new(sizeof *t, (uint32_t)n);
    t->offset = HAND_OVER(b->stack.offset, n + 1);
    t->frame = HAND_OVER(b->stack.frame, frames);
    t->end = HAND_OVER(b->stack.end, n);
    return t;
}

static pt_label_sets *freeze_labels(pt_builder *b)
{
    const size_t n = b->labels.count;
    const size_t rows = (size_t)b->labels.offset[n];
    pt_label_sets *t = pt_table_new(sizeof *t, (uint32_t)n);
    t->offset = HAND_OVER(b->labels.offset, n + 1);
    t->row = HAND_OVER(b->labels.row, rows);
    return t;
}

static pt_samples *freeze_samples(pt_builder *b)
{
    builder_samples *s = &b->sample;
    pt_samples *t = pt_table_new(sizeof *t, (uint32_t)s->count);
    t->event_count = (uint32_t)b->event.count;
    t->stack = HAND_OVER(s->stack, s->count);
    t->labels = HAND_OVER(s->labels, s->count);
    for (size_t e = 0; e < b->event.count; e++)
        s->value[e] = pt_realloc(s->value[e], s->count, sizeof *s->value[e]);
    t->value = HAND_OVER(s->value, b->event.count);
    t->time_ns = s->time_ns ? HAND_OVER(s->time_ns, s->count) : NULL;
    t->pid = s->pid ? HAND_OVER(s->pid, s->count) : NULL;
    t->tid = s->tid ? HAND_OVER(s->tid, s->count) : NULL;
    t->cpu = s->cpu ? HAND_OVER(s->cpu, s->count) : NULL;
    t->comm = s->comm ? HAND_OVER(s->comm, s->count) : NULL;
    return t;
}

static pt_arcs *freeze_arcs(pt_builder *b)
{
    builder_arcs *a = &b->arc;
    const size_t events = b->event.count;
    pt_arcs *t = pt_table_new(sizeof *t, (uint32_t)a->count);
    t->event_count = (uint32_t)events;
    t->from = HAND_OVER(a->from, a->count);
    t->to = HAND_OVER(a->to, a->count);
    t->calls = HAND_OVER(a->calls, a->count);
    int64_t **cost = pt_alloc(events, sizeof *cost);
    for (size_t e = 0; e < events && a->has_cost; e++) {
        cost[e] = pt_alloc(a->count, sizeof *cost[e]);
        for (size_t i = 0; i < a->count; i++)
            cost[e][i] = a->cost[i * events + e];
    }
    t->cost = (const int64_t *const *)cost;
    return t;
}

static pt_extras *freeze_extras(pt_builder *b)
{
    const size_t n = b->extra.count / 2;
    uint32_t *key = pt_alloc(n, sizeof *key), *value = pt_alloc(n, sizeof *value);
    for (size_t i = 0; i < n; i++) {
        key[i] = b->extra.items[2 * i];
        value[i] = b->extra.items[2 * i + 1];
    }
    pt_extras *t = pt_table_new(sizeof *t, (uint32_t)n);
    t->key = key;
    t->value = value;
    return t;
}

static pt_unknowns *freeze_unknowns(pt_builder *b)
{
    pt_unknowns *t = pt_table_new(sizeof *t, (uint32_t)b->unknown.count);
    t->message = HAND_OVER(b->unknown.message, b->unknown.count);
    t->row = HAND_OVER(b->unknown.row, b->unknown.count);
    t->bytes = HAND_OVER(b->unknown.bytes, b->unknown.count);
    return t;
}

static pt_source *freeze_source(pt_builder *b)
{
    pt_source *t = pt_table_new(sizeof *t, 1);
    t->row = b->provenance;
    t->row.comment_count = (uint32_t)b->comment.count;
    t->row.comments = HAND_OVER(b->comment.items, b->comment.count);
    return t;
}

/* Freezes side tables and samples, which an extending builder shares with its base. */
static void freeze_data(pt_builder *b, pt_profile_tables *t)
{
    t->event = freeze_events(b);
    t->stack = freeze_stacks(b);
    t->labels = freeze_labels(b);
    t->arc = freeze_arcs(b);
    /* There is one value column of samples for each event. */
    const size_t events = t->event->t.count;
    PT_BUG_IF(events != b->event.count);
    t->sample = freeze_samples(b);
    t->bin = pt_table_new(sizeof *t->bin, (uint32_t)b->bin.count);
    t->bin->row = HAND_OVER(b->bin.items, b->bin.count);
    t->block = pt_table_new(sizeof *t->block, (uint32_t)b->block.count);
    t->block->row = HAND_OVER(b->block.items, b->block.count);
    t->extra = freeze_extras(b);
    t->unknown = freeze_unknowns(b);
}

pt_status pt_builder_freeze(pt_builder *b, const pt_profile **ret_profile, pt_error *reterr)
{
    if (pt_builder_status(b, reterr) != PT_OK) {
        const pt_status status = b->error.status;
        pt_builder_free(b);
        return status;
    }
    pt_profile_tables t = {0};
    t.string = freeze_strings(b);
    t.mapping = freeze_mappings(b);
    t.function = freeze_functions(b);
    freeze_locations(b, &t.location, &t.line);
    t.source = freeze_source(b);
    if (b->base == NULL) freeze_data(b, &t);
    const pt_profile *profile = pt_profile_derive(b->base, &t);
    pt_builder_free(b);

    const pt_status status = pt_profile_check(profile, reterr);
    if (status != PT_OK) {
        pt_profile_unref(profile);
        return status;
    }
    *ret_profile = profile;
    return PT_OK;
}

/* ---- Extending ---- */

static void extend_strings(pt_builder *b, const pt_profile *base)
{
    for (uint32_t i = 0; i < base->string->t.count; i++) {
        const pt_string_id id = pt_builder_string(b, pt_text(base, i), pt_text_bytes(base, i));
        PT_BUG_IF(id.v != i && b->error.status == PT_OK);
    }
}

static void extend_functions(pt_builder *b, const pt_functions *base)
{
    for (uint32_t i = 0; i < base->t.count; i++)
        pt_builder_append_function(
            b, &(pt_function){.name = base->name[i],
                              .system_name = base->system_name[i],
                              .file = base->file[i],
                              .start_line = base->start_line[i],
                              .source_id = base->source_id ? base->source_id[i] : 0});
}

static void extend_locations(pt_builder *b, const pt_profile *base)
{
    const pt_locations *l = base->location;
    PT_VECTOR(pt_line) lines = {0};
    for (uint32_t i = 0; i < l->t.count; i++) {
        const uint32_t first = l->line_first[i], n = l->line_first[i + 1] - first;
        PT_GROW(lines, n);
        for (uint32_t k = 0; k < n; k++)
            lines.items[k] = (pt_line){base->line->function[first + k], base->line->line[first + k],
                                       base->line->column ? base->line->column[first + k] : 0};
        pt_builder_append_location(
            b,
            &(pt_location){.mapping = l->mapping[i],
                           .flags = l->flags[i],
                           .address = l->address[i],
                           .code_offset = l->code_offset ? l->code_offset[i] : 0,
                           .source_id = l->source_id ? l->source_id[i] : 0},
            lines.items, n);
    }
    free(lines.items);
}

pt_builder *pt_builder_extend(const pt_profile *base)
{
    pt_builder *b = pt_builder_new();
    extend_strings(b, base);
    for (uint32_t i = 0; i < base->mapping->t.count; i++)
        pt_builder_append_mapping(b, &base->mapping->row[i]);
    extend_functions(b, base->function);
    extend_locations(b, base);
    b->provenance = base->source->row;
    for (uint32_t i = 0; i < base->source->row.comment_count; i++)
        pt_builder_comment(b, (pt_string_id){base->source->row.comments[i]});
    b->base = pt_profile_ref(base);
    return b;
}
