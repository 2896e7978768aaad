/* print_traces.c: -traces: every sample with its labels and its stack. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "personality/pprof/print.h"
#include "personality/pprof/print_labels.h"
#include "transform/tags.h"

/* ---- Labels ---- */

pt_pprof_groups pt_pprof_group_labels(const pt_profile *p, uint32_t set, pt_label_kind kind,
                                      void (*put)(pt_buf *buf, const pt_profile *p,
                                                  const pt_label *const *labels, size_t count,
                                                  const void *context),
                                      const void *context)
{
    const pt_label *row = p->labels->row + p->labels->offset[set];
    const size_t count = (size_t)(p->labels->offset[set + 1] - p->labels->offset[set]);
    pt_pprof_groups groups = {.text = pt_alloc(count, sizeof *groups.text)};
    PT_FREE const pt_label **same = pt_alloc(count, sizeof *same);
    PT_FREE bool *taken = pt_alloc(count, sizeof *taken);
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;
        for (size_t k = i; k < count; k++) {
            if (taken[k] || row[k].kind != (uint32_t)kind || row[k].key != row[i].key ||
                !pt_label_counts(&row[k], true))
                continue;
            taken[k] = true;
            same[found++] = &row[k];
        }
        if (found == 0) continue;
        pt_buf buf = PT_BUF_INIT;
        put(&buf, p, same, found, context);
        groups.text[groups.count++] = pt_buf_take(&buf, NULL);
    }
    qsort(groups.text, groups.count, sizeof *groups.text, pt_compare_texts);
    return groups;
}

void pt_pprof_groups_done(pt_pprof_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->text[i]);
    free(groups->text);
    *groups = (pt_pprof_groups){0};
}

static void put_key(pt_buf *buf, const char *key)
{
    pt_pprof_put_right(buf, key, 10);
    pt_put_text(buf, ": ");
}

static void put_texts(pt_buf *buf, const pt_profile *p, const pt_label *const *labels, size_t count,
                      const void *context)
{
    (void)context;
    put_key(buf, pt_text(p, labels[0]->key));
    for (size_t i = 0; i < count; i++)
        pt_putf(buf, " %s", pt_text(p, labels[i]->str));
    pt_put_u8(buf, '\n');
}

static void put_numbers(pt_buf *buf, const pt_profile *p, const pt_label *const *labels,
                        size_t count, const void *context)
{
    const pt_pprof_label_units *units = context;
    const char *key = pt_text(p, labels[0]->key);
    const char *unit = units->of(units->context, key);
    put_key(buf, key);
    for (size_t i = 0; i < count; i++) {
        pt_put_u8(buf, ' ');
        pt_put_value(buf, labels[i]->num, unit, "auto", PT_STYLE_PPROF);
    }
    pt_put_u8(buf, '\n');
}

static void put_labels(pt_out *out, const pt_profile *p, const pt_pprof_label_units *units,
                       uint32_t set)
{
    if (set == 0) return;
    PT_AUTO(pt_pprof_groups) texts =
        pt_pprof_group_labels(p, set, PT_LABEL_STRING, put_texts, NULL);
    PT_AUTO(pt_pprof_groups) numbers =
        pt_pprof_group_labels(p, set, PT_LABEL_NUMBER, put_numbers, units);
    for (size_t i = 0; i < texts.count; i++)
        pt_out_text(out, texts.text[i]);
    for (size_t i = 0; i < numbers.count; i++)
        pt_out_text(out, numbers.text[i]);
}

/* ---- Stacks ---- */

#define SEPARATOR "-----------+-------------------------------------------------------\n"

typedef struct {
    char *bytes;
    size_t size;
} line_text;

typedef struct {
    pt_out *out;
    const pt_graph_report *report;
    const pt_fold *places;
    const pt_pprof_label_units *units;
    line_text *text; /* per place */
} tracing;

/* The line of a place, "   main\n", made once: a frame may be on a million stacks. */
static const line_text *text_of(tracing *t, uint32_t place)
{
    line_text *text = &t->text[place];
    if (text->bytes != NULL) return text;
    PT_FREE char *name = pt_fold_text(t->places, place);
    text->bytes = pt_strf("   %s\n", name);
    text->size = strlen(text->bytes);
    return text;
}

static void put_stack(tracing *t, uint32_t stack, const char *value)
{
    const pt_profile *p = t->report->profile;
    static const char blank[] = "          ";
    const uint32_t *frames = pt_stack_frames(p, stack);
    for (uint32_t i = 0; i < pt_stack_depth(p, stack); i++) {
        uint32_t one, count;
        const uint32_t *places = pt_fold_rows(t->places, frames[i], &one, &count);
        for (uint32_t k = 0; k < count; k++) {
            const line_text *text = text_of(t, places[k]);
            if (i + k == 0)
                pt_out_text(t->out, value);
            else
                pt_out_put(t->out, blank, sizeof blank - 1);
            if (k + 1 == count) {
                pt_out_put(t->out, text->bytes, text->size);
            } else {
                pt_out_put(t->out, text->bytes, text->size - 1);
                pt_out_text(t->out, " (inline)\n");
            }
        }
    }
}

static void put_sample(tracing *t, uint32_t sample)
{
    const pt_samples *samples = t->report->profile->sample;
    if (pt_stack_depth(t->report->profile, samples->stack[sample]) == 0) return;
    pt_out_text(t->out, SEPARATOR);
    put_labels(t->out, t->report->profile, t->units, samples->labels[sample]);
    const int64_t sum = samples->value[t->report->event][sample];
    const int64_t value = t->report->mean ? pt_graph_mean(sum, samples->value[0][sample]) : sum;
    PT_AUTO(pt_buf) figure = PT_BUF_INIT, padded = PT_BUF_INIT;
    pt_graph_put_value(&figure, t->report, value);
    pt_pprof_put_right(&padded, pt_buf_text(&figure), 10);
    put_stack(t, samples->stack[sample], pt_buf_text(&padded));
}

void pt_pprof_traces(pt_out *out, const pt_graph_report *report, const pt_fold *places,
                     const pt_pprof_label_units *units)
{
    PT_AUTO(pt_legend) labels = pt_profile_legend(report);
    for (size_t i = 0; i < labels.count; i++)
        pt_outf(out, "%s%s", labels.line[i], i + 1 < labels.count ? "\n" : "");
    pt_out_char(out, '\n');
    tracing t = {.out = out, .report = report, .places = places, .units = units};
    t.text = pt_alloc(places->count, sizeof *t.text);
    for (uint32_t i = 0; i < report->profile->sample->t.count; i++)
        put_sample(&t, i);
    pt_out_text(out, SEPARATOR);
    for (uint32_t i = 0; i < places->count; i++)
        free(t.text[i].bytes);
    free(t.text);
}
