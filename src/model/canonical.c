/* canonical.c: a canonical copy of a profile.
 *
 * Tables are ranked from the bottom up: strings by bytes, functions by the ranks of their strings,
 * locations by mappings and lines, stacks by locations, samples by stacks and labels. A row's rank
 * is its row in the copy. Equal rows get the same rank, so duplicates are merged. Rows to which no
 * other row refers get no rank and are dropped. Mapping 0 is the main binary and keeps its row. Ids
 * of the source file are dropped.
 */
#include "base/saturate.h"
#include "model/profile.h"

#include <stdlib.h>
#include <string.h>

#include "model/builder.h"

/* rank[i]: the new row of old row i, or PT_NONE. order[r]: an old row of new row r. */
typedef struct {
    uint32_t *rank, *order;
    uint32_t count;
} ranking;

typedef struct {
    const pt_profile *p;
    ranking string, mapping, function, location, stack, labels, sample;
} canon;

static int three_way(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int three_way_signed(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Returns from the comparison function at the first difference. */
#define COMPARE(a, b)                                                                              \
    do {                                                                                           \
        const int order_ = three_way((a), (b));                                                    \
        if (order_ != 0) return order_;                                                            \
    } while (0)
#define COMPARE_SIGNED(a, b)                                                                       \
    do {                                                                                           \
        const int order_ = three_way_signed((a), (b));                                             \
        if (order_ != 0) return order_;                                                            \
    } while (0)

typedef int compare_rows(const void *a, const void *b, void *canon);

/* Ranks the rows that are used: the caller has set rank[i] of each to another value than
 * PT_NONE. */
static void rank_rows(ranking *r, uint32_t rows, compare_rows *compare, canon *c)
{
    uint32_t used = 0;
    r->order = pt_alloc(rows, sizeof *r->order);
    for (uint32_t i = 0; i < rows; i++) {
        if (r->rank[i] != PT_NONE) r->order[used++] = i;
    }
    qsort_r(r->order, used, sizeof *r->order, compare, c);
    r->count = 0;
    for (uint32_t i = 0; i < used; i++) {
        if (i == 0 || compare(&r->order[r->count - 1], &r->order[i], c) != 0)
            r->order[r->count++] = r->order[i];
        r->rank[r->order[i]] = r->count - 1;
    }
}

static void mark_none(ranking *r, uint32_t rows)
{
    r->rank = pt_alloc(rows, sizeof *r->rank);
    memset(r->rank, 0xff, rows * sizeof *r->rank);
}

static void mark_row(ranking *r, uint32_t row)
{
    if (row != PT_NONE) r->rank[row] = 0;
}

static uint32_t new_row(const ranking *r, uint32_t row)
{
    return row == PT_NONE ? PT_NONE : r->rank[row];
}

/* ---- Marking used rows, from the samples to the strings ---- */

static void mark_stacks_and_locations(canon *c)
{
    const pt_profile *p = c->p;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        if (!PT_ANY(e, p->sample->event_count, p->sample->value[e][i] != 0)) continue;
        mark_row(&c->sample, i);
        mark_row(&c->stack, p->sample->stack[i]);
        mark_row(&c->labels, p->sample->labels[i]);
    }
    mark_row(&c->labels, 0);
    for (uint32_t s = 0; s < p->stack->t.count; s++) {
        for (uint64_t f = p->stack->offset[s];
             c->stack.rank[s] != PT_NONE && f < p->stack->offset[s + 1]; f++)
            mark_row(&c->location, p->stack->frame[f]);
    }
    for (uint32_t i = 0; i < p->arc->t.count; i++) {
        mark_row(&c->location, p->arc->from[i]);
        mark_row(&c->location, p->arc->to[i]);
    }
}

static void mark_functions(canon *c)
{
    const pt_profile *p = c->p;
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        if (c->location.rank[l] == PT_NONE) continue;
        for (uint32_t k = p->location->line_first[l]; k < p->location->line_first[l + 1]; k++)
            mark_row(&c->function, p->line->function[k]);
    }
    for (uint32_t m = 0; m < p->mapping->t.count; m++)
        mark_row(&c->mapping, m);
}

static void mark_strings(canon *c)
{
    const pt_profile *p = c->p;
    mark_row(&c->string, 0);
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        mark_row(&c->string, p->event->row[e].type);
        mark_row(&c->string, p->event->row[e].unit);
    }
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        mark_row(&c->string, p->mapping->row[m].file);
        mark_row(&c->string, p->mapping->row[m].build_id);
        mark_row(&c->string, p->mapping->row[m].foreign_id);
    }
    for (uint32_t f = 0; f < p->function->t.count; f++) {
        if (c->function.rank[f] == PT_NONE) continue;
        mark_row(&c->string, p->function->name[f]);
        mark_row(&c->string, p->function->system_name[f]);
        mark_row(&c->string, p->function->file[f]);
    }
    for (uint32_t s = 0; s < p->labels->t.count; s++) {
        for (uint64_t i = p->labels->offset[s];
             c->labels.rank[s] != PT_NONE && i < p->labels->offset[s + 1]; i++) {
            mark_row(&c->string, p->labels->row[i].key);
            mark_row(&c->string, p->labels->row[i].str);
            mark_row(&c->string, p->labels->row[i].unit);
        }
    }
    for (uint32_t i = 0; p->sample->comm != NULL && i < p->sample->t.count; i++) {
        if (c->sample.rank[i] != PT_NONE) mark_row(&c->string, p->sample->comm[i]);
    }
    for (uint32_t i = 0; i < p->extra->t.count; i++) {
        mark_row(&c->string, p->extra->key[i]);
        mark_row(&c->string, p->extra->value[i]);
    }
    const pt_provenance *s = &p->source->row;
    const uint32_t ids[] = {s->tool,         s->host,        s->os,          s->cpu_model,
                            s->command_line, s->period_type, s->period_unit, s->drop_frames,
                            s->keep_frames,  s->doc_url};
    for (size_t i = 0; i < PT_COUNT(ids); i++)
        mark_row(&c->string, ids[i]);
    for (uint32_t i = 0; i < s->comment_count; i++)
        mark_row(&c->string, s->comments[i]);
}

/* ---- Orders ---- */

#define ROWS(a, b)                                                                                 \
    const canon *c = context;                                                                      \
    const pt_profile *p = c->p;                                                                    \
    const uint32_t i = *(const uint32_t *)(a), j = *(const uint32_t *)(b)

static int compare_strings(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    const size_t m = pt_text_bytes(p, i), n = pt_text_bytes(p, j);
    const int order = memcmp(pt_text(p, i), pt_text(p, j), m < n ? m : n);
    return order != 0 ? order : three_way(m, n);
}

static int compare_mappings(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    const pt_mapping *x = &p->mapping->row[i], *y = &p->mapping->row[j];
    COMPARE(i != 0, j != 0); /* row 0 stays */
    COMPARE(x->start, y->start);
    COMPARE(x->limit, y->limit);
    COMPARE(x->file_offset, y->file_offset);
    COMPARE(c->string.rank[x->file], c->string.rank[y->file]);
    COMPARE(c->string.rank[x->build_id], c->string.rank[y->build_id]);
    COMPARE(c->string.rank[x->foreign_id], c->string.rank[y->foreign_id]);
    COMPARE(x->flags, y->flags);
    COMPARE(x->bias, y->bias);
    COMPARE_SIGNED(x->valid_from_ns, y->valid_from_ns);
    return three_way_signed(x->valid_to_ns, y->valid_to_ns);
}

static int compare_functions(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    const pt_functions *f = p->function;
    COMPARE(c->string.rank[f->name[i]], c->string.rank[f->name[j]]);
    COMPARE(c->string.rank[f->system_name[i]], c->string.rank[f->system_name[j]]);
    COMPARE(c->string.rank[f->file[i]], c->string.rank[f->file[j]]);
    return three_way_signed(f->start_line[i], f->start_line[j]);
}

static int compare_locations(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    const pt_locations *l = p->location;
    COMPARE(new_row(&c->mapping, l->mapping[i]), new_row(&c->mapping, l->mapping[j]));
    COMPARE(l->address[i], l->address[j]);
    COMPARE(l->flags[i], l->flags[j]);
    if (l->code_offset != NULL) COMPARE(l->code_offset[i], l->code_offset[j]);
    const uint32_t m = l->line_first[i + 1] - l->line_first[i];
    const uint32_t n = l->line_first[j + 1] - l->line_first[j];
    for (uint32_t k = 0; k < m && k < n; k++) {
        const uint32_t x = l->line_first[i] + k, y = l->line_first[j] + k;
        COMPARE(new_row(&c->function, p->line->function[x]),
                new_row(&c->function, p->line->function[y]));
        COMPARE_SIGNED(p->line->line[x], p->line->line[y]);
        if (p->line->column != NULL) COMPARE_SIGNED(p->line->column[x], p->line->column[y]);
    }
    return three_way(m, n);
}

static int compare_stacks(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    const uint32_t *x = pt_stack_frames(p, i), *y = pt_stack_frames(p, j);
    const uint32_t m = pt_stack_depth(p, i), n = pt_stack_depth(p, j);
    for (uint32_t k = 0; k < m && k < n; k++)
        COMPARE(c->location.rank[x[k]], c->location.rank[y[k]]);
    COMPARE(m, n);
    return three_way(p->stack->end[i], p->stack->end[j]);
}

static int compare_labels(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    const pt_label_sets *s = p->labels;
    const uint64_t m = s->offset[i + 1] - s->offset[i], n = s->offset[j + 1] - s->offset[j];
    for (uint64_t k = 0; k < m && k < n; k++) {
        const pt_label *x = &s->row[s->offset[i] + k], *y = &s->row[s->offset[j] + k];
        COMPARE(c->string.rank[x->key], c->string.rank[y->key]);
        COMPARE(x->kind, y->kind);
        COMPARE(c->string.rank[x->str], c->string.rank[y->str]);
        COMPARE_SIGNED(x->num, y->num);
        COMPARE(c->string.rank[x->unit], c->string.rank[y->unit]);
    }
    return three_way(m, n);
}

static int compare_samples(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    const pt_samples *s = p->sample;
    COMPARE(c->stack.rank[s->stack[i]], c->stack.rank[s->stack[j]]);
    COMPARE(c->labels.rank[s->labels[i]], c->labels.rank[s->labels[j]]);
    if (s->time_ns != NULL) COMPARE_SIGNED(s->time_ns[i], s->time_ns[j]);
    if (s->pid != NULL) COMPARE(s->pid[i], s->pid[j]);
    if (s->tid != NULL) COMPARE(s->tid[i], s->tid[j]);
    if (s->cpu != NULL) COMPARE(s->cpu[i], s->cpu[j]);
    if (s->comm != NULL) COMPARE(c->string.rank[s->comm[i]], c->string.rank[s->comm[j]]);
    return 0;
}

/* ---- The copy ---- */

/* Appends the names in rank order, so that row numbers are the ranks. */
static void copy_names(const canon *c, pt_builder *b)
{
    const pt_profile *p = c->p;
    for (uint32_t r = 1; r < c->string.count; r++) {
        const uint32_t i = c->string.order[r];
        pt_builder_string(b, pt_text(p, i), pt_text_bytes(p, i));
    }
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        pt_event row = p->event->row[e];
        row.type = c->string.rank[row.type];
        row.unit = c->string.rank[row.unit];
        pt_builder_event(b, &row);
    }
    for (uint32_t r = 0; r < c->mapping.count; r++) {
        pt_mapping row = p->mapping->row[c->mapping.order[r]];
        row.file = c->string.rank[row.file];
        row.build_id = c->string.rank[row.build_id];
        row.foreign_id = c->string.rank[row.foreign_id];
        row.source_id = 0;
        pt_builder_append_mapping(b, &row);
    }
    for (uint32_t r = 0; r < c->function.count; r++) {
        const uint32_t i = c->function.order[r];
        pt_builder_append_function(
            b, &(pt_function){.name = c->string.rank[p->function->name[i]],
                              .system_name = c->string.rank[p->function->system_name[i]],
                              .file = c->string.rank[p->function->file[i]],
                              .start_line = p->function->start_line[i]});
    }
}

static void copy_locations(const canon *c, pt_builder *b)
{
    const pt_profile *p = c->p;
    const pt_locations *l = p->location;
    for (uint32_t r = 0; r < c->location.count; r++) {
        const uint32_t i = c->location.order[r];
        const uint32_t first = l->line_first[i], n = l->line_first[i + 1] - first;
        PT_FREE pt_line *lines = pt_alloc(n, sizeof *lines);
        for (uint32_t k = 0; k < n; k++)
            lines[k] = (pt_line){new_row(&c->function, p->line->function[first + k]),
                                 p->line->line[first + k],
                                 p->line->column ? p->line->column[first + k] : 0};
        pt_builder_append_location(
            b,
            &(pt_location){.mapping = new_row(&c->mapping, l->mapping[i]),
                           .flags = l->flags[i],
                           .address = l->address[i],
                           .code_offset = l->code_offset ? l->code_offset[i] : 0},
            lines, n);
    }
}

static void copy_stacks_and_labels(const canon *c, pt_builder *b)
{
    const pt_profile *p = c->p;
    for (uint32_t r = 0; r < c->stack.count; r++) {
        const uint32_t i = c->stack.order[r], depth = pt_stack_depth(p, i);
        uint32_t *frames = pt_builder_stack_space(b, depth);
        for (uint32_t k = 0; k < depth; k++)
            frames[k] = c->location.rank[pt_stack_frames(p, i)[k]];
        pt_builder_stack_commit(b, depth, p->stack->end[i]);
    }
    for (uint32_t r = 1; r < c->labels.count; r++) { /* set 0 exists already */
        const uint32_t i = c->labels.order[r];
        const size_t n = (size_t)(p->labels->offset[i + 1] - p->labels->offset[i]);
        PT_FREE pt_label *rows = pt_alloc(n, sizeof *rows);
        for (size_t k = 0; k < n; k++) {
            rows[k] = p->labels->row[p->labels->offset[i] + k];
            rows[k].key = c->string.rank[rows[k].key];
            rows[k].str = c->string.rank[rows[k].str];
            rows[k].unit = c->string.rank[rows[k].unit];
        }
        pt_builder_labels(b, rows, n);
    }
}

/* Sums of the samples of each rank, a column for each event; saturated. */
static int64_t **sample_sums(const canon *c)
{
    const pt_samples *s = c->p->sample;
    int64_t **sum = pt_alloc(s->event_count, sizeof *sum);
    for (uint32_t e = 0; e < s->event_count; e++) {
        sum[e] = pt_alloc(c->sample.count, sizeof *sum[e]);
        for (uint32_t i = 0; i < s->t.count; i++) {
            const uint32_t r = c->sample.rank[i];
            if (r != PT_NONE) pt_saturating_into(&sum[e][r], s->value[e][i]);
        }
    }
    return sum;
}

/* Appends the summed samples. Samples whose sums are all 0 are left out. Returns the number of
 * appended samples. */
static uint32_t copy_samples(const canon *c, pt_builder *b)
{
    uint32_t zeros = 0;
    const pt_samples *s = c->p->sample;
    int64_t **sum = sample_sums(c);
    int64_t *values = pt_alloc(s->event_count, sizeof *values);
    for (uint32_t r = 0; r < c->sample.count; r++) {
        const uint32_t i = c->sample.order[r];
        bool zero = true;
        for (uint32_t e = 0; e < s->event_count; e++) {
            values[e] = sum[e][r];
            zero = zero && values[e] == 0;
        }
        if (zero) {
            zeros++;
            continue;
        }
        pt_builder_timed_sample(b, &(pt_sample){.stack = c->stack.rank[s->stack[i]],
                                                .labels = c->labels.rank[s->labels[i]],
                                                .values = values,
                                                .time_ns = s->time_ns ? s->time_ns[i] : 0,
                                                .pid = s->pid ? s->pid[i] : PT_NONE,
                                                .tid = s->tid ? s->tid[i] : PT_NONE,
                                                .cpu = s->cpu ? s->cpu[i] : PT_NONE,
                                                .comm = s->comm ? c->string.rank[s->comm[i]] : 0});
    }
    for (uint32_t e = 0; e < s->event_count; e++)
        free(sum[e]);
    PT_FREE_ALL(sum, values);
    return zeros;
}

/* Order of arcs. Duplicate arcs are not merged. */
static int compare_arcs(const void *a, const void *b, void *context)
{
    ROWS(a, b);
    COMPARE(new_row(&c->location, p->arc->from[i]), new_row(&c->location, p->arc->from[j]));
    COMPARE(new_row(&c->location, p->arc->to[i]), new_row(&c->location, p->arc->to[j]));
    return three_way(p->arc->calls[i], p->arc->calls[j]);
}

static void copy_arcs(const canon *c, pt_builder *b)
{
    const pt_profile *p = c->p;
    PT_FREE int64_t *cost = pt_alloc(p->event->t.count, sizeof *cost);
    bool has_cost = false;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        has_cost |= p->arc->cost[e] != NULL;
    PT_FREE uint32_t *order = pt_alloc_numbers(p->arc->t.count);
    qsort_r(order, p->arc->t.count, sizeof *order, compare_arcs, (void *)c);
    for (uint32_t k = 0; k < p->arc->t.count; k++) {
        const uint32_t i = order[k];
        for (uint32_t e = 0; e < p->event->t.count; e++)
            cost[e] = p->arc->cost[e] ? p->arc->cost[e][i] : 0;
        pt_builder_arc(b, (pt_location_id){new_row(&c->location, p->arc->from[i])},
                       (pt_location_id){new_row(&c->location, p->arc->to[i])}, p->arc->calls[i],
                       has_cost ? cost : NULL);
    }
}

static void copy_side_tables(const canon *c, pt_builder *b)
{
    const pt_profile *p = c->p;
    copy_arcs(c, b);
    for (uint32_t i = 0; i < p->bin->t.count; i++) {
        pt_bin row = p->bin->row[i];
        row.mapping = new_row(&c->mapping, row.mapping);
        pt_builder_bin(b, &row);
    }
    for (uint32_t i = 0; i < p->block->t.count; i++) {
        pt_block row = p->block->row[i];
        row.mapping = new_row(&c->mapping, row.mapping);
        pt_builder_block(b, &row);
    }
    for (uint32_t i = 0; i < p->extra->t.count; i++)
        pt_builder_extra(b, (pt_string_id){c->string.rank[p->extra->key[i]]},
                         (pt_string_id){c->string.rank[p->extra->value[i]]});
}

static void copy_provenance(const canon *c, pt_builder *b)
{
    const pt_provenance *from = &c->p->source->row;
    pt_provenance *to = pt_builder_provenance(b);
    *to = *from;
    to->source_format = 0; /* the format is not part of the content */
    uint32_t *const ids[] = {
        &to->tool,        &to->host,        &to->os,          &to->cpu_model,   &to->command_line,
        &to->period_type, &to->period_unit, &to->drop_frames, &to->keep_frames, &to->doc_url};
    for (size_t i = 0; i < PT_COUNT(ids); i++)
        *ids[i] = c->string.rank[*ids[i]];
    to->default_event = 0;
    const uint32_t shown = pt_profile_default_event(c->p);
    if (shown != PT_NONE) pt_builder_set_default_event(b, shown);
    for (uint32_t i = 0; i < from->comment_count; i++)
        pt_builder_comment(b, (pt_string_id){c->string.rank[from->comments[i]]});
}

static void rank_tables(canon *c)
{
    const pt_profile *p = c->p;
    const struct {
        ranking *r;
        uint32_t rows;
        compare_rows *compare;
    } tables[] = {
        {&c->string, p->string->t.count, compare_strings},
        {&c->mapping, p->mapping->t.count, compare_mappings},
        {&c->function, p->function->t.count, compare_functions},
        {&c->location, p->location->t.count, compare_locations},
        {&c->stack, p->stack->t.count, compare_stacks},
        {&c->labels, p->labels->t.count, compare_labels},
        {&c->sample, p->sample->t.count, compare_samples},
    };
    const size_t n = PT_COUNT(tables);
    for (size_t t = 0; t < n; t++)
        mark_none(tables[t].r, tables[t].rows);
    mark_stacks_and_locations(c);
    mark_functions(c);
    mark_strings(c);
    for (size_t t = 0; t < n; t++)
        rank_rows(tables[t].r, tables[t].rows, tables[t].compare, c);
}

/* NOLINTNEXTLINE(misc-no-recursion): at most once, since the copy has no sums of zero */
const pt_profile *pt_profile_canonical(const pt_profile *p)
{
    canon c = {.p = p};
    rank_tables(&c);
    pt_builder *b = pt_builder_new();
    copy_names(&c, b);
    copy_locations(&c, b);
    copy_stacks_and_labels(&c, b);
    const uint32_t zeros = copy_samples(&c, b);
    copy_side_tables(&c, b);
    copy_provenance(&c, b);
    const ranking *all[] = {&c.string, &c.mapping, &c.function, &c.location,
                            &c.stack,  &c.labels,  &c.sample};
    for (size_t i = 0; i < PT_COUNT(all); i++)
        PT_FREE_ALL(all[i]->rank, all[i]->order);
    const pt_profile *copy = NULL;
    PT_BUG_IF(pt_builder_freeze(b, &copy, NULL) != PT_OK);
    if (zeros == 0) return copy;
    /* Some values cancelled out: drop their stacks and names as well. */
    const pt_profile *smaller = pt_profile_canonical(copy);
    pt_profile_unref(copy);
    return smaller;
}
