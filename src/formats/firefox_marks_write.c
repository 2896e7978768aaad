/* firefox_marks_write.c: writes marks and counters as the Firefox Profiler's markers and counters,
 * in the form that firefox_marks.c reads. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"
#include "formats/firefox_write.h"

enum { PHASE_MOMENT = 0, PHASE_STRETCH = 1 };

bool pt_firefox_holds_event(const pt_profile *profile, uint32_t event)
{
    const pt_mark_columns columns = pt_mark_columns_of(profile);
    bool is_held = event == columns.marker || event == columns.length;
    for (int k = 0; k < PT_COUNTER_KINDS; k++)
        is_held |= event == columns.counter[k];
    return is_held;
}

static uint32_t category_of(const fx_writer *w, uint32_t sample)
{
    return pt_sample_label_text(w->p, sample, PT_MARKER_CATEGORY);
}

void pt_firefox_find_categories(fx_writer *w)
{
    for (uint32_t i = 0; i < w->mark_count; i++) {
        const uint32_t category = category_of(w, w->mark[i].sample);
        if (category == 0 || w->category_number[category] != 0) continue;
        if (strcmp(pt_text(w->p, category), "Other") == 0) continue;
        PT_PUSH(w->category, category);
        w->category_number[category] = (uint32_t)w->category.count;
    }
}

static int64_t length_of(const fx_writer *w, uint32_t sample)
{
    const uint32_t column = w->columns.length;
    const int64_t length = column != PT_NONE ? w->p->sample->value[column][sample] : 0;
    return length > 0 ? length : 0;
}

static int64_t end_of(const fx_writer *w, const moment *m)
{
    int64_t end;
    return __builtin_add_overflow(m->time, length_of(w, m->sample), &end) ? INT64_MAX : end;
}

static bool has_data(const fx_writer *w, uint32_t set)
{
    const pt_label_sets *const sets = w->p->labels;
    for (uint64_t i = sets->offset[set]; i < sets->offset[set + 1]; i++)
        if (pt_mark_data_key(w->p, &sets->row[i]) != NULL) return true;
    return false;
}

/* Writes a mark's data: its labels "data.KEY", both ends of a load, and as "cause" the mark's stack
 * without the innermost frame, which is the mark's name. */
static void put_data(fx_writer *w, const moment *m)
{
    const pt_label_sets *const sets = w->p->labels;
    const uint32_t set = w->p->sample->labels[m->sample];
    const uint32_t stack = w->p->sample->stack[m->sample];
    pt_json_w *const json = &w->json;
    const bool has_cause = pt_stack_depth(w->p, stack) > 1;
    if (!has_cause && !has_data(w, set)) {
        pt_json_null(json);
        return;
    }
    pt_json_object(json);
    for (uint64_t i = sets->offset[set]; i < sets->offset[set + 1]; i++) {
        const pt_label *const label = &sets->row[i];
        const char *const key = pt_mark_data_key(w->p, label);
        if (key == NULL) continue;
        pt_json_key(json, key);
        if (label->kind == PT_LABEL_NUMBER)
            pt_json_int(json, label->num);
        else
            pt_json_text_n(json, pt_text(w->p, label->str), pt_text_bytes(w->p, label->str));
    }
    if (pt_sample_label_text(w->p, m->sample, PT_MARKER_DATA "URI") != 0) {
        pt_json_key(json, "startTime");
        pt_firefox_put_ms(json, m->time);
        pt_json_key(json, "endTime");
        pt_firefox_put_ms(json, end_of(w, m));
    }
    if (has_cause) {
        pt_json_key_object(json, "cause");
        pt_json_key(json, "time");
        pt_firefox_put_ms(json, m->time);
        pt_json_key_uint(json, "stack", pt_firefox_stack_row(w, stack, 1));
        pt_json_object_end(json);
    }
    pt_json_object_end(json);
}

static uint32_t name_of(const fx_writer *w, const moment *m)
{
    return pt_sample_label_text(w->p, m->sample, PT_MARKER_LABEL);
}

static void number_name(fx_writer *w, uint32_t name)
{
    if (w->name_number[name] != 0) return;
    PT_PUSH(w->name, name);
    w->name_number[name] = (uint32_t)w->name.count;
}

void pt_firefox_write_markers(fx_writer *w, const moment *from, size_t count)
{
    pt_json_w *const json = &w->json;
    pt_json_key_object(json, "markers");
    pt_json_key_int(json, "length", (int64_t)count);
    pt_json_key_array(json, "data"); /* first, because stacks of causes add functions, which change
                                      * the numbers of the names */
    for (size_t i = 0; i < count; i++)
        put_data(w, &from[i]);
    pt_json_array_end(json);
    for (size_t i = 0; i < count; i++)
        number_name(w, name_of(w, &from[i]));
    const size_t before = 2 * w->func.count + w->resource.count; /* strings */
    PT_JSON_EACH (json, "name", i, count)
        pt_json_uint(json, before + w->name_number[name_of(w, &from[i])] - 1);
    PT_JSON_EACH (json, "startTime", i, count)
        pt_firefox_put_ms(json, from[i].time);
    PT_JSON_EACH (json, "endTime", i, count) {
        if (length_of(w, from[i].sample) > 0)
            pt_firefox_put_ms(json, end_of(w, &from[i]));
        else
            pt_json_null(json);
    }
    PT_JSON_EACH (json, "phase", i, count)
        pt_json_int(json, length_of(w, from[i].sample) > 0 ? PHASE_STRETCH : PHASE_MOMENT);
    PT_JSON_EACH (json, "category", i, count)
        pt_json_uint(json, w->category_number[category_of(w, from[i].sample)]);
    pt_json_object_end(json);
}

void pt_firefox_write_marker_names(fx_writer *w)
{
    for (size_t i = 0; i < w->name.count; i++)
        pt_json_text_n(&w->json, pt_text(w->p, w->name.items[i]),
                       pt_text_bytes(w->p, w->name.items[i]));
}

/* ---- Counters ---- */

/* A change of a counter. All changes of a counter have the same kind, name and process. */
typedef struct {
    uint32_t sample, kind, name, pid;
    int64_t time;
} change;

static int compare_counters(const change *a, const change *b)
{
    return PT_UP(kind) ?: PT_UP(name) ?: PT_UP(pid);
}

PT_ORDER(compare_changes, change, compare_counters(a, b) ?: PT_UP(time) ?: PT_UP(sample));

static void put_counter(fx_writer *w, const change *from, size_t count)
{
    static const char *const category[] = {"Memory", "Bandwidth", "Other"};
    pt_json_w *const json = &w->json;
    PT_FREE char *pid = from->pid == PT_NONE ? pt_strdup("") : pt_strf("%u", from->pid);
    pt_json_object(json);
    pt_json_key_text_n(json, "name", pt_text(w->p, from->name), pt_text_bytes(w->p, from->name));
    pt_json_key_text(json, "category", category[from->kind]);
    pt_json_key_text(json, "description", "");
    pt_json_key_text(json, "pid", pid);
    pt_json_key_int(json, "mainThreadIndex", 0);
    pt_json_key_object(json, "samples");
    pt_json_key_int(json, "length", (int64_t)count);
    PT_JSON_EACH (json, "time", i, count)
        pt_firefox_put_ms(json, from[i].time);
    PT_JSON_EACH (json, "count", i, count)
        pt_json_int(json, w->p->sample->value[w->columns.counter[from->kind]][from[i].sample]);
    pt_json_object_end(json);
    pt_json_object_end(json);
}

void pt_firefox_write_counters(fx_writer *w)
{
    const pt_samples *const s = w->p->sample;
    PT_VECTOR(change) all = {0};
    for (uint32_t i = 0; i < s->t.count; i++) {
        const pt_counter_kind kind = pt_sample_counter(w->p, &w->columns, i);
        if (kind == PT_COUNTER_KINDS || s->time_ns == NULL || s->time_ns[i] == 0) continue;
        const change c = {.sample = i,
                          .kind = kind,
                          .name = pt_sample_label_text(w->p, i, PT_COUNTER_LABEL),
                          .pid = s->pid != NULL ? s->pid[i] : PT_NONE,
                          .time = pt_firefox_since(w, i)};
        PT_PUSH(all, c);
    }
    if (all.count > 0) qsort(all.items, all.count, sizeof *all.items, compare_changes);
    pt_json_key_array(&w->json, "counters");
    for (size_t from = 0, to; from < all.count; from = to) {
        for (to = from + 1;
             to < all.count && compare_counters(&all.items[from], &all.items[to]) == 0;)
            to++;
        put_counter(w, &all.items[from], to - from);
    }
    pt_json_array_end(&w->json);
    free(all.items);
}
