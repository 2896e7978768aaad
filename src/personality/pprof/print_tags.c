/* print_tags.c: -tags: every label with the sum of its samples.
 *
 *  key1: Total 1.12s of 1.12s (  100%)        keys by name
 *          1s (89.29%): tag1                  values by weight, then name; aligned right for
 *                                             each key
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/saturate.h"
#include "base/units.h"
#include "personality/pprof/print.h"
#include "transform/tags.h"

typedef struct {
    const char *key; /* equal keys have one pointer */
    char *text;      /* the value; NULL in a row that stands for the key itself */
    int64_t sum, key_sum;
} row;

typedef struct {
    const pt_graph_report *report;
    const pt_pprof_label_units *units;
    int64_t *set_value; /* for each label set: the sum of its samples */
    row *items;
    size_t count, cap;
    pt_index index;
} tallying;

static row *find_row(tallying *t, const char *key, char *text)
{
    const uint64_t hash =
        pt_hash_mix(pt_hash_bytes(key, strlen(key)), pt_hash_bytes(text, strlen(text)));
    PT_INDEX_EACH (&t->index, hash, id) {
        if (strcmp(t->items[id].key, key) != 0 || strcmp(t->items[id].text, text) != 0) continue;
        free(text);
        return &t->items[id];
    }
    PT_GROW(*t, t->count + 1);
    t->items[t->count] = (row){.key = key, .text = text};
    pt_index_add(&t->index, hash, (uint32_t)t->count);
    return &t->items[t->count++];
}

static char *label_text(const tallying *t, const pt_label *label)
{
    const pt_profile *p = t->report->profile;
    if (label->kind == PT_LABEL_STRING) return pt_strdup(pt_text(p, label->str));
    pt_buf buf = PT_BUF_INIT;
    pt_put_value(&buf, label->num, t->units->of(t->units->context, pt_text(p, label->key)),
                 t->report->unit, PT_STYLE_PPROF);
    return pt_buf_take(&buf, NULL);
}

static void tally_labels(tallying *t)
{
    const pt_profile *p = t->report->profile;
    const int64_t *value = p->sample->value[t->report->event];
    PT_FREE int64_t *set_value = pt_alloc(p->labels->t.count, sizeof *set_value);
    PT_FREE bool *used = pt_alloc(p->labels->t.count, sizeof *used);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t set = p->sample->labels[i];
        used[set] = true;
        pt_wrapping_into(&set_value[set], value[i]);
    }
    for (uint32_t s = 0; s < p->labels->t.count; s++) {
        for (uint64_t i = p->labels->offset[s]; used[s] && i < p->labels->offset[s + 1]; i++) {
            const pt_label *label = &p->labels->row[i];
            if (!pt_label_counts(label, true)) continue;
            row *r = find_row(t, pt_text(p, label->key), label_text(t, label));
            pt_wrapping_into(&r->sum, set_value[s]);
        }
    }
}

PT_ORDER(compare_rows, row, PT_TEXT_UP(key) ?: pt_compare_magnitudes(a->sum, b->sum)
         ?: PT_TEXT_UP(text));

static void order_rows(tallying *t)
{
    if (t->count == 0) return;
    qsort(t->items, t->count, sizeof *t->items, compare_rows);
    for (size_t i = 0, next; i < t->count; i = next) {
        int64_t sum = 0;
        for (next = i; next < t->count && strcmp(t->items[next].key, t->items[i].key) == 0; next++)
            pt_wrapping_into(&sum, t->items[next].sum);
        for (size_t k = i; k < next; k++)
            t->items[k].key_sum = sum;
    }
}

/* ---- Text ---- */

static void put_figure(pt_buf *buf, const tallying *t, int64_t value)
{
    pt_graph_put_value(buf, t->report, value);
}

/* Puts the value's share of the whole report: "(89.29%)". */
static void put_share(pt_buf *buf, const tallying *t, int64_t value)
{
    pt_put_text(buf, " (");
    pt_put_percent(buf, value, t->report->total);
    pt_put_u8(buf, ')');
}

/* The second cell of a row, with its colon; the first cell is the key, or a space. The caller
 * frees. */
static char *figure_cell(const tallying *t, const row *r)
{
    pt_buf buf = PT_BUF_INIT;
    put_figure(&buf, t, r->sum);
    if (t->report->total > 0) put_share(&buf, t, r->sum);
    pt_put_u8(&buf, ':');
    return pt_buf_take(&buf, NULL);
}

static size_t widest_value(const tallying *t, const row *first, size_t count)
{
    (void)t;
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        PT_FREE char *cell = figure_cell(t, &first[i]);
        if (strlen(cell) > most) most = strlen(cell);
    }
    return most;
}

static void put_key(pt_out *out, const tallying *t, const row *first, size_t count)
{
    PT_AUTO(pt_buf) line = PT_BUF_INIT;
    pt_putf(&line, " %s: Total ", first->key);
    put_figure(&line, t, first->key_sum);
    pt_put_text(&line, " of ");
    put_figure(&line, t, t->report->total);
    put_share(&line, t, first->key_sum);
    pt_put_u8(&line, '\n');
    const size_t key_width = strlen(first->key) + 2;
    const size_t width = widest_value(t, first, count);
    for (size_t i = 0; i < count; i++) {
        PT_FREE char *cell = figure_cell(t, &first[i]);
        pt_putf(&line, "%*s", (int)key_width, "");
        pt_pprof_put_right(&line, cell, (unsigned)width + 1);
        pt_putf(&line, " %s\n", first[i].text);
    }
    pt_put_u8(&line, '\n');
    pt_out_put(out, line.data, line.size);
}

void pt_pprof_tags(pt_out *out, const pt_graph_report *report, const pt_pprof_label_units *units)
{
    tallying t = {.report = report, .units = units};
    pt_index_init(&t.index);
    tally_labels(&t);
    order_rows(&t);
    for (size_t i = 0, next; i < t.count; i = next) {
        for (next = i; next < t.count && strcmp(t.items[next].key, t.items[i].key) == 0; next++) {
        }
        put_key(out, &t, &t.items[i], next - i);
    }
    for (size_t i = 0; i < t.count; i++)
        free(t.items[i].text);
    free(t.items);
    pt_index_done(&t.index);
}
