/* profile_equal.c: compares two profiles, table by table and column by column. */
#include "profile_equal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    char *buf;
    size_t size;
} report;

/* Compares n items of a column, which may be NULL in both profiles. */
static bool same_column(report *r, const char *name, const void *a, const void *b, uint64_t n,
                        size_t item_bytes)
{
    if ((a == NULL) != (b == NULL)) {
        snprintf(r->buf, r->size, "%s: only one profile has it", name);
        return false;
    }
    if (a == NULL || n == 0 || memcmp(a, b, (size_t)n * item_bytes) == 0) return true;
    uint64_t i = 0;
    while (memcmp((const char *)a + i * item_bytes, (const char *)b + i * item_bytes, item_bytes) ==
           0)
        i++;
    snprintf(r->buf, r->size, "%s: row %" PRIu64 " differs", name, i);
    return false;
}

static bool same_count(report *r, const char *name, uint32_t a, uint32_t b)
{
    if (a != b) snprintf(r->buf, r->size, "%s: %u rows against %u", name, a, b);
    return a == b;
}

#define SAME_COUNT(table) same_count(&r, #table, a->table->t.count, b->table->t.count)
#define SAME_N(table, column, n)                                                                   \
    same_column(&r, #table "." #column, a->table->column, b->table->column, (n),                   \
                sizeof *a->table->column)
#define SAME(table, column) SAME_N(table, column, a->table->t.count)

static bool same_names(report r, const pt_profile *a, const pt_profile *b)
{
    return SAME_COUNT(string) && SAME_N(string, offset, a->string->t.count + 1u) &&
           SAME_N(string, bytes, a->string->offset[a->string->t.count]) && SAME_COUNT(event) &&
           SAME_COUNT(mapping) && SAME(mapping, row) && SAME_COUNT(function) &&
           SAME(function, name) && SAME(function, system_name) && SAME(function, file) &&
           SAME(function, start_line) && SAME(function, source_id);
}

static bool same_events(report r, const pt_profile *a, const pt_profile *b)
{
    for (uint32_t e = 0; e < a->event->t.count; e++) {
        const pt_event *x = &a->event->row[e], *y = &b->event->row[e];
        if (x->type != y->type || x->unit != y->unit || x->kind != y->kind ||
            x->period_varies != y->period_varies || x->period != y->period ||
            !(x->rate_hz >= y->rate_hz && x->rate_hz <= y->rate_hz) ||
            !(x->monitored_fraction >= y->monitored_fraction &&
              x->monitored_fraction <= y->monitored_fraction)) {
            snprintf(r.buf, r.size, "event: row %u differs", e);
            return false;
        }
    }
    return true;
}

static bool same_stacks(report r, const pt_profile *a, const pt_profile *b)
{
    return SAME_COUNT(location) && SAME(location, mapping) && SAME(location, address) &&
           SAME_N(location, line_first, a->location->t.count + 1u) && SAME(location, flags) &&
           SAME(location, code_offset) && SAME(location, source_id) && SAME_COUNT(line) &&
           SAME(line, function) && SAME(line, line) && SAME(line, column) && SAME_COUNT(stack) &&
           SAME_N(stack, offset, a->stack->t.count + 1u) &&
           SAME_N(stack, frame, a->stack->offset[a->stack->t.count]) && SAME(stack, end) &&
           SAME_COUNT(labels) && SAME_N(labels, offset, a->labels->t.count + 1u) &&
           SAME_N(labels, row, a->labels->offset[a->labels->t.count]);
}

static bool same_samples(report r, const pt_profile *a, const pt_profile *b)
{
    if (!SAME_COUNT(sample) || !SAME(sample, stack) || !SAME(sample, labels) ||
        !SAME(sample, time_ns) || !SAME(sample, pid) || !SAME(sample, tid) || !SAME(sample, cpu) ||
        !SAME(sample, comm))
        return false;
    for (uint32_t e = 0; e < a->sample->event_count; e++) {
        if (!SAME(sample, value[e])) return false;
    }
    return true;
}

static bool same_side_tables(report r, const pt_profile *a, const pt_profile *b)
{
    if (!SAME_COUNT(arc) || !SAME(arc, from) || !SAME(arc, to) || !SAME(arc, calls)) return false;
    for (uint32_t e = 0; e < a->arc->event_count; e++) {
        if (!SAME(arc, cost[e])) return false;
    }
    if (!SAME_COUNT(bin) || !SAME_COUNT(block) || !SAME_COUNT(extra) || !SAME(extra, key) ||
        !SAME(extra, value) || !SAME_COUNT(unknown) || !SAME(unknown, message) ||
        !SAME(unknown, row) || !SAME(unknown, bytes))
        return false;
    for (uint32_t i = 0; i < a->bin->t.count; i++) {
        const pt_bin *x = &a->bin->row[i], *y = &b->bin->row[i];
        if (x->low != y->low || x->high != y->high || x->count != y->count ||
            x->mapping != y->mapping || x->event != y->event) {
            snprintf(r.buf, r.size, "bin: row %u differs", i);
            return false;
        }
    }
    for (uint32_t i = 0; i < a->block->t.count; i++) {
        const pt_block *x = &a->block->row[i], *y = &b->block->row[i];
        if (x->address != y->address || x->count != y->count || x->mapping != y->mapping) {
            snprintf(r.buf, r.size, "block: row %u differs", i);
            return false;
        }
    }
    return true;
}

static bool same_provenance(report r, const pt_profile *a, const pt_profile *b)
{
    const pt_provenance *x = &a->source->row, *y = &b->source->row;
    const struct {
        const char *name;
        int64_t x, y;
    } fields[] = {
        {"period type", x->period_type, y->period_type},
        {"period unit", x->period_unit, y->period_unit},
        {"period", x->period, y->period},
        {"start", x->start_ns, y->start_ns},
        {"duration", x->duration_ns, y->duration_ns},
        {"lost samples", (int64_t)x->lost, (int64_t)y->lost},
        {"throttled", (int64_t)x->throttled, (int64_t)y->throttled},
        {"drop_frames", x->drop_frames, y->drop_frames},
        {"keep_frames", x->keep_frames, y->keep_frames},
        {"default event", x->default_event, y->default_event},
        {"documentation url", x->doc_url, y->doc_url},
        {"comments", x->comment_count, y->comment_count},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].x != fields[i].y) {
            snprintf(r.buf, r.size, "provenance: %s: %" PRId64 " against %" PRId64, fields[i].name,
                     fields[i].x, fields[i].y);
            return false;
        }
    }
    return same_column(&r, "comment", x->comments, y->comments, x->comment_count,
                       sizeof *x->comments);
}

bool pt_profile_equal(const pt_profile *a, const pt_profile *b, char *buf, size_t size)
{
    const report r = {buf, size};
    return same_names(r, a, b) && same_events(r, a, b) && same_stacks(r, a, b) &&
           same_samples(r, a, b) && same_side_tables(r, a, b) && same_provenance(r, a, b);
}
