/* marks.c: writes the marks and counters of view/marks.h, after the tracks of a timeline. Columns
 * of marks: length, count, bars over time, name, thread; of counters: value at the end, largest
 * value, bars, name, process; of single marks: time, length, name, thread.
 *
 *     marks
 *       2.5ms        1  ▁ ▇          GCMajor  GeckoMain, thread 12
 *     counters
 *        1.2kB    1.5kB  ▃▇▆▆        malloc  process 12
 *     single marks
 *       0.020000    2.5ms  GCMajor  GeckoMain, thread 12
 */
#include <inttypes.h>

#include "model/marks.h"
#include "render/text.h"
#include "render/timeline.h"
#include "render/value.h"

enum { NS_PER_S = 1000000000 };

/* ---- Text ---- */

static void put_owner(pt_buf *label, const char *name, const char *comm, uint32_t pid, uint32_t tid)
{
    pt_put_text(label, name);
    if (comm[0] != '\0') pt_putf(label, "  %s", comm);
    if (tid != PT_NONE)
        pt_putf(label, "%s thread %" PRIu32, comm[0] != '\0' ? "," : " ", tid);
    else if (pid != PT_NONE)
        pt_putf(label, "%s process %" PRIu32, comm[0] != '\0' ? "," : " ", pid);
}

static void put_label(pt_out *out, const pt_look *look, pt_buf *label, size_t used)
{
    pt_put_u8(label, '\0');
    pt_text_put(out, (const char *)label->data, look->width > used ? look->width - used : 0);
    pt_out_char(out, '\n');
    pt_buf_done(label);
}

static void put_more(pt_out *out, uint64_t more, const char *option)
{
    if (more > 0) pt_outf(out, "%s more (%s)\n", pt_count_of(more).text, option);
}

static const char *length_of(uint64_t ns, pt_value_text *text)
{
    *text = pt_value_of("nanoseconds", pt_saturating_signed(ns));
    return ns > 0 ? text->text : "";
}

static void put_row(pt_out *out, const pt_look *look, const pt_timeline *t, const pt_mark_row *row)
{
    pt_buf label = PT_BUF_INIT;
    pt_value_text length;
    put_owner(&label, row->name, row->comm, row->pid, row->tid);
    pt_outf(out, "%8s %7s  ", length_of(row->length_ns, &length), pt_count_of(row->count).text);
    pt_timeline_bars(out, row->value, t->steps);
    pt_out_text(out, "  ");
    put_label(out, look, &label, PT_TIMELINE_BEFORE_BARS + t->steps + 2);
}

static void put_counter(pt_out *out, const pt_look *look, const pt_timeline *t,
                        const pt_counter *counter)
{
    pt_buf label = PT_BUF_INIT;
    put_owner(&label, counter->name, counter->comm, counter->pid, PT_NONE);
    pt_outf(out, "%8s %7s  ", pt_value_of(counter->unit, counter->last).text,
            pt_value_of(counter->unit, counter->most).text);
    pt_timeline_bars(out, counter->value, t->steps);
    pt_out_text(out, "  ");
    put_label(out, look, &label, PT_TIMELINE_BEFORE_BARS + t->steps + 2);
}

static void put_mark(pt_out *out, const pt_look *look, const pt_mark *mark)
{
    pt_buf label = PT_BUF_INIT;
    pt_value_text length;
    put_owner(&label, mark->name, mark->comm, mark->pid, mark->tid);
    if (mark->address[0] != '\0') pt_putf(&label, "  %s", mark->address);
    pt_outf(out, "%5" PRIu64 ".%06" PRIu64 " %8s  ", mark->since_ns / NS_PER_S,
            mark->since_ns % NS_PER_S / 1000, length_of(mark->length_ns, &length));
    put_label(out, look, &label, 24);
}

void pt_marks_text(pt_out *out, const pt_look *look, const pt_timeline *t,
                   const pt_marks_view *marks)
{
    if (marks->row_count > 0) pt_out_text(out, "\nmarks: length, count, when\n");
    for (size_t i = 0; i < marks->row_count && pt_out_ok(out); i++)
        put_row(out, look, t, &marks->row[i]);
    put_more(out, marks->more_rows, "-n");
    if (marks->counter_count > 0) pt_out_text(out, "\ncounters: at the end, at most, when\n");
    for (size_t i = 0; i < marks->counter_count && pt_out_ok(out); i++)
        put_counter(out, look, t, &marks->counter[i]);
    put_more(out, marks->more_counters, "-n");
    if (marks->mark_count > 0) pt_out_text(out, "\nsingle marks: start in seconds, length\n");
    for (size_t i = 0; i < marks->mark_count && pt_out_ok(out); i++)
        put_mark(out, look, &marks->mark[i]);
    if (marks->mark_count > 0) put_more(out, marks->more_marks, "--marks");
}

/* ---- JSON ---- */

static void put_number(pt_json_w *w, const char *key, uint32_t number)
{
    pt_json_key_int_or_null(w, key, number, number != PT_NONE);
}

static void put_values(pt_json_w *w, const int64_t *value, uint32_t steps)
{
    PT_JSON_EACH (w, "values", i, steps)
        pt_json_int(w, value[i]);
}

static void put_thread(pt_json_w *w, uint32_t pid, uint32_t tid, const char *comm)
{
    put_number(w, "pid", pid);
    put_number(w, "tid", tid);
    pt_json_key_text(w, "comm", comm);
}

/* The bytes of a mark's picture; 0 if the mark has none. */
static uint64_t picture_bytes(const pt_profile *p, const pt_mark *mark)
{
    const uint32_t text = pt_sample_label_text(p, mark->sample, PT_MARKER_PICTURE);
    const uint64_t bytes = pt_text_bytes(p, text);
    return pt_is_picture(pt_text(p, text), bytes) ? bytes : 0;
}

/* Returns n: JSON has only every nth picture of the marks, so that the pictures take at most about
 * 4 MB. */
static uint64_t nth_picture(const pt_profile *p, const pt_marks_view *marks)
{
    enum { PICTURES_MAX_BYTES = 4 << 20 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < marks->mark_count; i++)
        bytes += picture_bytes(p, &marks->mark[i]);
    return bytes / PICTURES_MAX_BYTES + 1;
}

/* Writes the labels "data.KEY" of a mark's sample. */
static void put_data(pt_json_w *w, const pt_profile *p, uint32_t sample, bool with_picture)
{
    const uint32_t set = p->sample->labels[sample];
    pt_json_key_object(w, "data");
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++) {
        const pt_label *const label = &p->labels->row[i];
        const char *const key = pt_mark_data_key(p, label);
        if (key == NULL ||
            (!with_picture && strcmp(pt_text(p, label->key), PT_MARKER_PICTURE) == 0))
            continue;
        pt_json_key(w, key);
        if (label->kind == PT_LABEL_NUMBER)
            pt_json_int(w, label->num);
        else
            pt_json_text_n(w, pt_text(p, label->str), pt_text_bytes(p, label->str));
    }
    pt_json_object_end(w);
}

static void put_listed(pt_json_w *w, const pt_profile *p, const pt_mark *mark, bool with_picture)
{
    pt_json_object(w);
    pt_json_key_text(w, "name", mark->name);
    pt_json_key_text(w, "category", mark->category);
    pt_json_key_text(w, "address", mark->address);
    put_thread(w, mark->pid, mark->tid, mark->comm);
    pt_json_key_uint(w, "start_ns", mark->since_ns);
    pt_json_key_uint(w, "length_ns", mark->length_ns);
    put_data(w, p, mark->sample, with_picture);
    pt_json_object_end(w);
}

void pt_marks_json(pt_json_w *w, const pt_profile *p, const pt_timeline *t,
                   const pt_marks_view *marks)
{
    PT_JSON_OBJECTS (w, "mark_rows", i, marks->row_count) {
        const pt_mark_row *const row = &marks->row[i];
        pt_json_key_text(w, "name", row->name);
        pt_json_key_text(w, "category", row->category);
        put_thread(w, row->pid, row->tid, row->comm);
        pt_json_key_uint(w, "count", row->count);
        pt_json_key_uint(w, "length_ns", row->length_ns);
        put_values(w, row->value, t->steps);
    }
    PT_JSON_OBJECTS (w, "counters", i, marks->counter_count) {
        const pt_counter *const c = &marks->counter[i];
        pt_json_key_text(w, "name", c->name);
        pt_json_key_text(w, "unit", c->unit);
        put_number(w, "pid", c->pid);
        pt_json_key_text(w, "comm", c->comm);
        pt_json_key_int(w, "least", c->least);
        pt_json_key_int(w, "most", c->most);
        pt_json_key_int(w, "last", c->last);
        put_values(w, c->value, t->steps);
    }
    pt_json_key_array(w, "marks");
    const uint64_t nth = nth_picture(p, marks);
    uint64_t pictures = 0;
    for (size_t i = 0; i < marks->mark_count; i++) {
        const bool has_picture = picture_bytes(p, &marks->mark[i]) > 0;
        put_listed(w, p, &marks->mark[i], has_picture && pictures % nth == 0);
        pictures += has_picture;
    }
    pt_json_array_end(w);
    pt_json_key_uint(w, "more_marks", marks->more_marks);
    pt_json_key_uint(w, "more_mark_rows", marks->more_rows);
    pt_json_key_uint(w, "more_counters", marks->more_counters);
}
