/* check.c: checks every invariant of profile.h. */
#include "model/profile.h"

#include <inttypes.h>

#include "base/rows.h"

/* Reports a violation: table, row, description. */
static pt_status set_violation(pt_error *reterr, const char *table, uint64_t row,
                               const char *problem)
{
    return pt_error_set(reterr, PT_ERR_DAMAGED, "%s %" PRIu64 ": %s", table, row, problem);
}

/* Index of the first invalid id; returns n if all are valid. An id is valid if it is below limit,
 * or if it is PT_NONE and none_allowed is set. */
static size_t first_bad(const uint32_t *ids, size_t n, uint32_t limit, bool none_allowed)
{
    const size_t good = pt_rows_below(ids, n, limit) ? n - n % PT_ROWS_BLOCK : 0;
    for (size_t i = good; i < n; i++) {
        if (ids[i] >= limit && !(none_allowed && ids[i] == PT_NONE)) return i;
    }
    return n;
}

#define CHECK_IDS(table, column, n, limit, none_allowed)                                           \
    do {                                                                                           \
        const size_t bad_ = first_bad((column), (n), (limit), (none_allowed));                     \
        if (bad_ < (n)) return set_violation(reterr, (table), bad_, #column " refers to no row");  \
    } while (0)

/* Offsets of spans begin at 0 and never descend. */
static bool offsets_ascend(const uint64_t *offset, uint32_t count)
{
    if (offset[0] != 0) return false;
    return !PT_ANY(i, count, offset[i + 1] < offset[i]);
}

static pt_status check_strings(const pt_profile *p, pt_error *reterr)
{
    const pt_strings *s = p->string;
    if (s->t.count == 0 || pt_text_bytes(p, 0) != 0)
        return set_violation(reterr, "string", 0, "is not empty");
    if (!offsets_ascend(s->offset, s->t.count))
        return set_violation(reterr, "string", 0, "offsets do not ascend");
    for (uint32_t i = 0; i < s->t.count; i++) {
        if (s->offset[i + 1] == s->offset[i] || s->bytes[s->offset[i + 1] - 1] != '\0')
            return set_violation(reterr, "string", i, "has no closing NUL");
    }
    return PT_OK;
}

static pt_status check_images(const pt_profile *p, pt_error *reterr)
{
    const uint32_t strings = p->string->t.count;
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        const pt_event *row = &p->event->row[e];
        if (row->type >= strings || row->unit >= strings)
            return set_violation(reterr, "event", e, "refers to no string");
    }
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        const pt_mapping *row = &p->mapping->row[m];
        if (row->file >= strings || row->build_id >= strings || row->foreign_id >= strings)
            return set_violation(reterr, "mapping", m, "refers to no string");
    }
    const pt_functions *f = p->function;
    CHECK_IDS("function", f->name, f->t.count, strings, false);
    CHECK_IDS("function", f->system_name, f->t.count, strings, false);
    CHECK_IDS("function", f->file, f->t.count, strings, false);
    return PT_OK;
}

static pt_status check_locations(const pt_profile *p, pt_error *reterr)
{
    const pt_locations *l = p->location;
    CHECK_IDS("location", l->mapping, l->t.count, p->mapping->t.count, true);
    for (uint32_t i = 0; i < l->t.count; i++) {
        if (l->line_first[i] > l->line_first[i + 1])
            return set_violation(reterr, "location", i, "lines do not ascend");
    }
    if (l->line_first[0] != 0 || l->line_first[l->t.count] != p->line->t.count)
        return set_violation(reterr, "location", l->t.count,
                             "lines do not end at the line table's end");
    CHECK_IDS("line", p->line->function, p->line->t.count, p->function->t.count, true);
    return PT_OK;
}

static pt_status check_stacks(const pt_profile *p, pt_error *reterr)
{
    const pt_stacks *s = p->stack;
    if (!offsets_ascend(s->offset, s->t.count))
        return set_violation(reterr, "stack", 0, "offsets do not ascend");
    CHECK_IDS("stack", s->frame, (size_t)s->offset[s->t.count], p->location->t.count, false);
    for (uint32_t i = 0; i < s->t.count; i++) {
        if (s->end[i] >= PT_STACK_END_COUNT)
            return set_violation(reterr, "stack", i, "has an unknown end");
    }
    return PT_OK;
}

static pt_status check_labels(const pt_profile *p, pt_error *reterr)
{
    const pt_label_sets *s = p->labels;
    if (s->t.count == 0 || !offsets_ascend(s->offset, s->t.count) || s->offset[1] != 0)
        return set_violation(reterr, "label set", 0, "is not empty, or offsets do not ascend");
    const uint32_t strings = p->string->t.count;
    for (uint64_t i = 0; i < s->offset[s->t.count]; i++) {
        const pt_label *l = &s->row[i];
        if (l->key >= strings || l->str >= strings || l->unit >= strings ||
            l->kind > PT_LABEL_NUMBER)
            return set_violation(reterr, "label", i, "refers to no string, or has an unknown kind");
    }
    return PT_OK;
}

static pt_status check_samples(const pt_profile *p, pt_error *reterr)
{
    const pt_samples *s = p->sample;
    if (s->event_count != p->event->t.count)
        return set_violation(reterr, "sample", 0, "does not have a value for each event");
    CHECK_IDS("sample", s->stack, s->t.count, p->stack->t.count, false);
    CHECK_IDS("sample", s->labels, s->t.count, p->labels->t.count, false);
    if (s->comm != NULL) CHECK_IDS("sample", s->comm, s->t.count, p->string->t.count, false);
    return PT_OK;
}

static pt_status check_side_tables(const pt_profile *p, pt_error *reterr)
{
    const pt_arcs *a = p->arc;
    CHECK_IDS("arc", a->from, a->t.count, p->location->t.count, true);
    CHECK_IDS("arc", a->to, a->t.count, p->location->t.count, true);
    if (a->event_count != p->event->t.count)
        return set_violation(reterr, "arc", 0, "does not have a cost for each event");
    for (uint32_t i = 0; i < p->bin->t.count; i++) {
        const pt_bin *bin = &p->bin->row[i];
        if (bin->low > bin->high || bin->event >= p->event->t.count ||
            (bin->mapping != PT_NONE && bin->mapping >= p->mapping->t.count))
            return set_violation(reterr, "bin", i, "has no range, event or mapping");
    }
    for (uint32_t i = 0; i < p->block->t.count; i++) {
        const uint32_t mapping = p->block->row[i].mapping;
        if (mapping != PT_NONE && mapping >= p->mapping->t.count)
            return set_violation(reterr, "block", i, "refers to no mapping");
    }
    const uint32_t strings = p->string->t.count;
    CHECK_IDS("extra", p->extra->key, p->extra->t.count, strings, false);
    CHECK_IDS("extra", p->extra->value, p->extra->t.count, strings, false);
    CHECK_IDS("unknown", p->unknown->bytes, p->unknown->t.count, strings, false);
    return PT_OK;
}

static pt_status check_source(const pt_profile *p, pt_error *reterr)
{
    const pt_provenance *s = &p->source->row;
    const uint32_t ids[] = {s->tool,        s->host,          s->os,
                            s->cpu_model,   s->command_line,  s->source_format,
                            s->period_type, s->period_unit,   s->drop_frames,
                            s->keep_frames, s->default_event, s->doc_url};
    const uint32_t strings = p->string->t.count;
    CHECK_IDS("provenance", ids, PT_COUNT(ids), strings, false);
    CHECK_IDS("comment", s->comments, s->comment_count, strings, false);
    return PT_OK;
}

pt_status pt_profile_check(const pt_profile *p, pt_error *reterr)
{
    static pt_status (*const checks[])(const pt_profile *, pt_error *) = {
        check_strings, check_images,  check_locations,   check_stacks,
        check_labels,  check_samples, check_side_tables, check_source,
    };
    for (size_t i = 0; i < PT_COUNT(checks); i++) {
        const pt_status status = checks[i](p, reterr);
        if (status != PT_OK) return status;
    }
    return PT_OK;
}
