/* pprof.c: see pprof.h. */
#include "transform/pprof.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "transform/frames.h"
#include "transform/tags.h"

/* ---- Labels ---- */

static int order_of(const pt_profile *p, const pt_label *x, const pt_label *y)
{
    if (x->kind != y->kind) return x->kind == PT_LABEL_STRING ? -1 : 1;
    return x->key == y->key ? 0 : strcmp(pt_text(p, x->key), pt_text(p, y->key));
}

typedef struct {
    const pt_profile *profile;
    const pt_label *label; /* where it was: equal ones keep their order */
} placed_label;

static int compare_placed(const void *a, const void *b)
{
    const placed_label *const x = a, *const y = b;
    const int order = order_of(x->profile, x->label, y->label);
    return order != 0 ? order : (x->label > y->label) - (x->label < y->label);
}

static bool is_in_order(const pt_profile *p, uint32_t set)
{
    for (uint64_t l = p->labels->offset[set]; l < p->labels->offset[set + 1]; l++) {
        if (!pt_label_counts(&p->labels->row[l], true)) return false;
        if (l > p->labels->offset[set] &&
            order_of(p, &p->labels->row[l - 1], &p->labels->row[l]) > 0)
            return false;
    }
    return true;
}

static uint32_t put_in_order(const pt_profile *p, uint32_t set, pt_set_maker *maker)
{
    const uint64_t first = p->labels->offset[set];
    const size_t count = (size_t)(p->labels->offset[set + 1] - first);
    PT_FREE placed_label *labels = pt_alloc(count + 1, sizeof *labels);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (pt_label_counts(&p->labels->row[first + i], true))
            labels[kept++] = (placed_label){p, &p->labels->row[first + i]};
    qsort(labels, kept, sizeof *labels, compare_placed);
    for (size_t i = 0; i < kept; i++)
        pt_set_maker_put(maker, labels[i].label);
    return pt_set_maker_commit(maker);
}

/* The same profile, or one with other label sets. Takes over the reference. */
static const pt_profile *order_labels(const pt_profile *p)
{
    bool fine = true;
    for (uint32_t set = 0; set < p->labels->t.count && fine; set++)
        fine = is_in_order(p, set);
    if (fine) return p;
    PT_FREE uint32_t *new_set = pt_alloc(p->labels->t.count, sizeof *new_set);
    pt_set_maker maker;
    pt_set_maker_init(&maker);
    for (uint32_t set = 0; set < p->labels->t.count; set++)
        new_set[set] = put_in_order(p, set, &maker);
    PT_FREE uint32_t *rows = pt_alloc(p->sample->t.count, sizeof *rows);
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        rows[i] = i;
    pt_samples *const samples = pt_samples_pick(p->sample, rows, p->sample->t.count);
    for (uint32_t i = 0; i < samples->t.count; i++)
        ((uint32_t *)samples->labels)[i] = new_set[p->sample->labels[i]];
    const pt_profile_tables tables = {.sample = samples, .labels = pt_set_maker_finish(&maker)};
    const pt_profile *const ordered = pt_profile_derive(p, &tables);
    pt_profile_unref(p);
    return ordered;
}

/* ---- Mappings, header ---- */

static void fake_mapping(const pt_profile *p, pt_profile_tables *tables)
{
    if (p->mapping->t.count > 0) return;
    const pt_locations *const old = p->location;
    const uint32_t count = old->t.count;
    tables->mapping = pt_mappings_new(1); /* zeroed */
    pt_locations *const locations = pt_table_new(sizeof *locations, count);
    locations->mapping = pt_alloc(count, sizeof *old->mapping); /* zeros: all in it */
    locations->address = pt_column_copy(old->address, count, sizeof *old->address);
    locations->line_first =
        pt_column_copy(old->line_first, (size_t)count + 1, sizeof *old->line_first);
    locations->flags = pt_column_copy(old->flags, count, sizeof *old->flags);
    locations->symbol_bytes = pt_column_copy(old->symbol_bytes, count, sizeof *old->symbol_bytes);
    locations->source_id = pt_column_copy(old->source_id, count, sizeof *old->source_id);
    tables->location = locations;
}

static void known_header(const pt_profile *p, pt_profile_tables *tables)
{
    const pt_provenance *const old = pt_profile_provenance(p);
    if (old->doc_url == 0) return;
    tables->source = pt_table_new(sizeof *tables->source, 1);
    tables->source->row = *old;
    tables->source->row.doc_url = 0;
    tables->source->row.comments =
        pt_column_copy(old->comments, old->comment_count, sizeof *old->comments);
}

const pt_profile *pt_as_pprof(const pt_profile *profile)
{
    PT_UNREF_PROFILE const pt_profile *p = order_labels(pt_columns_to_labels(profile));
    pt_profile_tables tables = {0};
    fake_mapping(p, &tables);
    known_header(p, &tables);
    if (p->unknown->t.count > 0) tables.unknown = pt_unknowns_without(p->unknown, ~0u, NULL);
    return pt_profile_derive(p, &tables);
}

/* ---- sample_index ---- */

static char *types_text(const pt_profile *p)
{
    pt_buf list = PT_BUF_INIT;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        pt_putf(&list, "%s%s", e > 0 ? " " : "", pt_text(p, p->event->row[e].type));
    return pt_buf_take(&list, NULL);
}

/* A whole number as Go's strconv.Atoi has it. */
static bool parse_number(const char *text, int64_t *ret)
{
    const char *const digits = text + (*text == '-' || *text == '+');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0') return false;
    errno = 0;
    *ret = strtoll(text, NULL, 10);
    return errno == 0;
}

pt_status pt_pprof_event(const pt_profile *p, const char *name, uint32_t *ret_event,
                         pt_error *reterr)
{
    const uint32_t count = p->event->t.count;
    if (count == 0) return pt_error_set(reterr, PT_ERR_USAGE, "profile has no samples");
    int64_t number;
    if (name[0] == '\0') {
        *ret_event = pt_profile_default_event(p);
        return PT_OK;
    }
    if (parse_number(name, &number)) {
        if (number < 0 || number >= count)
            return pt_error_set(reterr, PT_ERR_USAGE,
                                "sample_index %s is outside the range [0..%u]", name, count - 1);
        *ret_event = (uint32_t)number;
        return PT_OK;
    }
    const char *const plain = strncmp(name, "inuse_", 6) == 0 ? name + 6 : name;
    for (uint32_t e = 0; e < count; e++) {
        const char *const type = pt_text(p, p->event->row[e].type);
        if (strcmp(type, name) != 0 && strcmp(type, plain) != 0) continue;
        *ret_event = e;
        return PT_OK;
    }
    PT_FREE char *types = types_text(p);
    return pt_error_set(reterr, PT_ERR_USAGE, "sample_index \"%s\" must be one of: [%s]", name,
                        types);
}
