/* tables.c: reference-counted tables; the last reference frees the columns. */
#include "model/builder.h"
#include "model/profile.h"
#include "model/sums.h"

#include <stdatomic.h>
#include <stdlib.h>

#define AT(field)         offsetof(pt_profile, field)
#define COL(type, column) offsetof(type, column)
#define NO_COLUMN         SIZE_MAX
#define COLUMNS_MAX       10

/* For each table: its offset in pt_profile, and the offsets in the table's struct of the columns,
 * which are freed with the table. */
static const struct table_kind {
    size_t at;
    size_t column[COLUMNS_MAX];
} table_kinds[] = {
    {AT(string), {COL(pt_strings, offset), COL(pt_strings, bytes), NO_COLUMN}},
    {AT(event), {COL(pt_events, row), NO_COLUMN}},
    {AT(mapping), {COL(pt_mappings, row), NO_COLUMN}},
    {AT(function),
     {COL(pt_functions, name), COL(pt_functions, system_name), COL(pt_functions, file),
      COL(pt_functions, start_line), COL(pt_functions, source_id), NO_COLUMN}},
    {AT(location),
     {COL(pt_locations, mapping), COL(pt_locations, address), COL(pt_locations, line_first),
      COL(pt_locations, flags), COL(pt_locations, code_offset), COL(pt_locations, source_id),
      NO_COLUMN}},
    {AT(line), {COL(pt_lines, function), COL(pt_lines, line), COL(pt_lines, column), NO_COLUMN}},
    {AT(stack), {COL(pt_stacks, offset), COL(pt_stacks, frame), COL(pt_stacks, end), NO_COLUMN}},
    {AT(sample),
     {COL(pt_samples, stack), COL(pt_samples, labels), COL(pt_samples, value),
      COL(pt_samples, time_ns), COL(pt_samples, pid), COL(pt_samples, tid), COL(pt_samples, cpu),
      COL(pt_samples, comm), NO_COLUMN}},
    {AT(labels), {COL(pt_label_sets, offset), COL(pt_label_sets, row), NO_COLUMN}},
    {AT(arc),
     {COL(pt_arcs, from), COL(pt_arcs, to), COL(pt_arcs, calls), COL(pt_arcs, cost), NO_COLUMN}},
    {AT(bin), {COL(pt_bins, row), NO_COLUMN}},
    {AT(block), {COL(pt_blocks, row), NO_COLUMN}},
    {AT(extra), {COL(pt_extras, key), COL(pt_extras, value), NO_COLUMN}},
    {AT(unknown),
     {COL(pt_unknowns, message), COL(pt_unknowns, row), COL(pt_unknowns, bytes), NO_COLUMN}},
    {AT(source), {COL(pt_source, row) + offsetof(pt_provenance, comments), NO_COLUMN}},
};
#define TABLE_KINDS PT_COUNT(table_kinds)

void *pt_table_new(size_t struct_bytes, uint32_t count)
{
    pt_table *table = pt_alloc(1, struct_bytes);
    atomic_init(&table->refs, 1);
    table->count = count;
    return table;
}

static pt_table **table_slot(pt_profile *profile, size_t kind)
{
    return (pt_table **)((char *)profile + table_kinds[kind].at);
}

/* Frees the array of value columns that samples and arcs have. */
static void free_value_columns(const pt_table *table, size_t at)
{
    const int64_t *const *columns = NULL;
    uint32_t count = 0;
    if (at == AT(sample)) {
        columns = ((const pt_samples *)table)->value;
        count = ((const pt_samples *)table)->event_count;
    } else if (at == AT(arc)) {
        columns = ((const pt_arcs *)table)->cost;
        count = ((const pt_arcs *)table)->event_count;
    }
    for (uint32_t e = 0; columns != NULL && e < count; e++)
        free((void *)columns[e]);
}

static void table_unref(pt_table *table, size_t kind)
{
    if (table == NULL || atomic_fetch_sub(&table->refs, 1) != 1) return;
    free_value_columns(table, table_kinds[kind].at);
    for (const size_t *c = table_kinds[kind].column; *c != NO_COLUMN; c++)
        free(*(void **)((char *)table + *c));
    free(table);
}

const pt_profile *pt_profile_ref(const pt_profile *profile)
{
    atomic_fetch_add(&((pt_profile *)profile)->refs, 1);
    return profile;
}

void pt_profile_unref(const pt_profile *profile)
{
    pt_profile *p = (pt_profile *)profile;
    if (p == NULL || atomic_fetch_sub(&p->refs, 1) != 1) return;
    pt_sums_free(atomic_load(&p->sums), p->event != NULL ? p->event->t.count : 0);
    for (size_t kind = 0; kind < TABLE_KINDS; kind++)
        table_unref(*table_slot(p, kind), kind);
    free(p);
}

void pt_profile_unrefp(const pt_profile **profile)
{
    pt_profile_unref(*profile);
}

const pt_profile *pt_profile_derive(const pt_profile *base, const pt_profile_tables *replace)
{
    pt_profile *derived = pt_alloc(1, sizeof *derived);
    atomic_init(&derived->refs, 1);
    atomic_init(&derived->sums, NULL);
    const void *const given[] = {
        replace->string, replace->event, replace->mapping, replace->function, replace->location,
        replace->line,   replace->stack, replace->sample,  replace->labels,   replace->arc,
        replace->bin,    replace->block, replace->extra,   replace->unknown,  replace->source,
    };
    _Static_assert(PT_COUNT(given) == TABLE_KINDS, "one row a table");
    for (size_t kind = 0; kind < TABLE_KINDS; kind++) {
        pt_table *table = (pt_table *)given[kind];
        if (table == NULL) {
            PT_BUG_IF(base == NULL);
            table = *table_slot((pt_profile *)base, kind);
            atomic_fetch_add(&table->refs, 1);
        }
        *table_slot(derived, kind) = table;
    }
    return derived;
}

pt_samples *pt_samples_new(uint32_t count, uint32_t event_count, unsigned optional)
{
    pt_samples *s = pt_table_new(sizeof *s, count);
    s->event_count = event_count;
    s->stack = pt_alloc(count, sizeof *s->stack);
    s->labels = pt_alloc(count, sizeof *s->labels);
    int64_t **value = pt_alloc(event_count, sizeof *value);
    for (uint32_t e = 0; e < event_count; e++)
        value[e] = pt_alloc(count, sizeof *value[e]);
    s->value = (const int64_t *const *)value;
    if (optional & PT_SAMPLES_TIME) s->time_ns = pt_alloc(count, sizeof *s->time_ns);
    if (optional & PT_SAMPLES_PID) s->pid = pt_alloc(count, sizeof *s->pid);
    if (optional & PT_SAMPLES_TID) s->tid = pt_alloc(count, sizeof *s->tid);
    if (optional & PT_SAMPLES_CPU) s->cpu = pt_alloc(count, sizeof *s->cpu);
    if (optional & PT_SAMPLES_COMM) s->comm = pt_alloc(count, sizeof *s->comm);
    return s;
}

unsigned pt_samples_optional(const pt_samples *s)
{
    return (s->time_ns ? PT_SAMPLES_TIME : 0u) | (s->pid ? PT_SAMPLES_PID : 0u) |
           (s->tid ? PT_SAMPLES_TID : 0u) | (s->cpu ? PT_SAMPLES_CPU : 0u) |
           (s->comm ? PT_SAMPLES_COMM : 0u);
}

pt_mappings *pt_mappings_new(uint32_t count)
{
    pt_mappings *m = pt_table_new(sizeof *m, count);
    m->row = pt_alloc(count, sizeof *m->row);
    return m;
}
