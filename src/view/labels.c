/* labels.c: sums once for each label set, then once for each distinct label of the sets. */
#include "view/labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "base/units.h"
#include "view/table.h"

/* A label of a set, with the sum of the set's samples. */
typedef struct {
    pt_label label;
    uint32_t set;
} entry;

typedef struct {
    const pt_profile *profile;
    int64_t *value;    /* per label set */
    uint64_t *samples; /* per label set */
} sums;

static sums sum_sets(const pt_profile *p, uint32_t event)
{
    sums s = {.profile = p};
    s.value = pt_alloc(p->labels->t.count, sizeof *s.value);
    s.samples = pt_alloc(p->labels->t.count, sizeof *s.samples);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t set = p->sample->labels[i];
        s.samples[set]++;
        pt_saturating_into(&s.value[set], p->sample->value[event][i]);
    }
    return s;
}

/* Orders entries so that equal labels are neighbours, and within these equal label sets. */
PT_ORDER(compare_entries, entry, PT_UP(label.key) ?: PT_UP(label.kind) ?: PT_UP(label.str)
         ?: PT_UP(label.unit) ?: PT_UP(label.num) ?: PT_UP(set));

static bool same_label(const pt_label *a, const pt_label *b)
{
    return a->key == b->key && a->kind == b->kind && a->str == b->str && a->unit == b->unit &&
           a->num == b->num;
}

PT_ORDER(compare_values, pt_label_value, pt_compare_magnitudes(a->value, b->value)
         ?: PT_UP(text == NULL)
         ?: (a->text != NULL ? PT_TEXT_UP(text) : PT_UP(number) ?: PT_TEXT_UP(unit)));

PT_ORDER(compare_keys, pt_label_key, pt_compare_magnitudes(a->value, b->value) ?: PT_TEXT_UP(key));

/* The unit of a label. If the label has no unit, the key decides: the keys "bytes" and, by pprof's
 * convention, "request" and "alignment" are in bytes. */
static const char *unit_of(const pt_profile *p, const pt_label *label)
{
    const char *key = pt_text(p, label->key);
    if (pt_text_bytes(p, label->unit) > 0) return pt_text(p, label->unit);
    if (strcmp(key, "request") == 0 || strcmp(key, "alignment") == 0) return "bytes";
    return pt_unit_parse(key) != NULL ? key : "";
}

static pt_label_value value_of(const sums *s, const entry *entries, size_t count)
{
    const pt_label *label = &entries[0].label;
    pt_label_value v = {.number = label->num, .unit = unit_of(s->profile, label)};
    if (label->kind == PT_LABEL_STRING) v.text = pt_text(s->profile, label->str);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && entries[i].set == entries[i - 1].set) continue;
        v.records += s->samples[entries[i].set];
        pt_saturating_into(&v.value, s->value[entries[i].set]);
    }
    return v;
}

PT_ORDER(compare_sets, entry, PT_UP(set));

/* All labels of one key. */
static pt_label_key key_of(const sums *s, entry *entries, size_t count,
                           const pt_labels_request *request)
{
    pt_label_key k = {.key = pt_text(s->profile, entries[0].label.key)};
    k.row = pt_alloc(count, sizeof *k.row);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_label(&entries[i].label, &entries[next].label);)
            next++;
        k.row[k.count] = value_of(s, entries + i, next - i);
        k.row[k.count].share = pt_share(k.row[k.count].value, request->whole);
        k.count++;
    }
    qsort(k.row, k.count, sizeof *k.row, compare_values);
    if (request->limit > 0 && k.count > request->limit) {
        k.more = k.count - request->limit;
        k.count = request->limit;
    }
    qsort(entries, count, sizeof *entries, compare_sets);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && entries[i].set == entries[i - 1].set) continue;
        k.records += s->samples[entries[i].set];
        pt_saturating_into(&k.value, s->value[entries[i].set]);
    }
    k.share = pt_share(k.value, request->whole);
    return k;
}

pt_labels_view pt_labels_view_of(const pt_profile *p, const pt_labels_request *request)
{
    sums s = sum_sets(p, request->event);
    PT_FREE entry *entries = pt_alloc(p->labels->offset[p->labels->t.count], sizeof *entries);
    size_t count = 0;
    for (uint32_t set = 0; set < p->labels->t.count; set++)
        for (uint64_t i = p->labels->offset[set];
             s.samples[set] > 0 && i < p->labels->offset[set + 1]; i++)
            entries[count++] = (entry){p->labels->row[i], set};
    if (count > 0) qsort(entries, count, sizeof *entries, compare_entries);
    pt_labels_view view = {.key = pt_alloc(count, sizeof *view.key)};
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && entries[next].label.key == entries[i].label.key;)
            next++;
        view.key[view.count++] = key_of(&s, entries + i, next - i, request);
    }
    if (view.count > 0) qsort(view.key, view.count, sizeof *view.key, compare_keys);
    PT_FREE_ALL(s.value, s.samples);
    return view;
}

void pt_labels_view_done(pt_labels_view *view)
{
    for (size_t i = 0; i < view->count; i++)
        free(view->key[i].row);
    free(view->key);
    *view = (pt_labels_view){0};
}
