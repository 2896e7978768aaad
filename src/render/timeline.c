/* timeline.c: see timeline.h. Columns: sum, share of the whole, bars over time, label.
 *
 *     app.pb.gz: cpu, 10.0s, ...
 *     from the first sample: 0 to 10.02 s, 100 ms a bar
 *
 *       9.50s   95.0%  ▇▇▇▆▁▇▇▇  process 7  app
 */
#include "render/timeline.h"

#include "render/text.h"
#include "render/value.h"

static const char *const kind_name[] = {"all", "process", "thread", "cpu"};

void pt_timeline_bars(pt_out *out, const int64_t *values, uint32_t steps)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    int64_t most = 1;
    for (uint32_t i = 0; i < steps; i++)
        if (values[i] > most) most = values[i];
    for (uint32_t i = 0; i < steps; i++) {
        const double part = (double)values[i] / (double)most;
        pt_out_text(out, bars[part <= 0 ? 0 : 1 + (int)(part * 7)]);
    }
}

/* A row is a total, a share, the bars and a label: "process 7  app". */
enum { LABEL_LEAST = 26, STEPS_LEAST = 10, STEPS_MOST = 60 };

uint32_t pt_timeline_fitting_steps(const pt_look *look)
{
    const unsigned taken = PT_TIMELINE_BEFORE_BARS + LABEL_LEAST;
    if (look->width == 0 || look->width >= taken + STEPS_MOST) return STEPS_MOST;
    return look->width > taken + STEPS_LEAST ? look->width - taken : STEPS_LEAST;
}

/* The label after a track's bars: "process 7  app". The caller frees the label. */
static char *label_of(const pt_track *track)
{
    pt_buf label = PT_BUF_INIT;
    pt_put_text(&label, kind_name[track->kind]);
    const uint32_t number = track->kind == PT_TRACK_PROCESS  ? track->pid
                            : track->kind == PT_TRACK_THREAD ? track->tid
                                                             : track->cpu;
    if (track->kind != PT_TRACK_ALL) pt_putf(&label, " %u", number);
    if (track->kind == PT_TRACK_THREAD && track->pid != PT_NONE)
        pt_putf(&label, " of %u", track->pid);
    if (track->comm[0] != '\0') pt_putf(&label, "  %s", track->comm);
    return pt_buf_take(&label, NULL);
}

static void put_track(pt_out *out, const pt_look *look, const pt_report_head *head,
                      const pt_timeline *t, const pt_track *track)
{
    const char *const unit = head->summary.unit;
    const double whole = (double)t->track[0].total;
    const size_t used = PT_TIMELINE_BEFORE_BARS + t->steps + 2;
    PT_FREE char *label = label_of(track);
    pt_outf(out, "%8s %7s  ", pt_value_of(unit, track->total).text,
            pt_percent_of(whole > 0 ? (double)track->total / whole : 0).text);
    pt_timeline_bars(out, track->value, t->steps);
    pt_out_text(out, "  ");
    pt_text_put(out, label, look->width > used ? look->width - used : 0);
    pt_out_char(out, '\n');
}

void pt_timeline_text(pt_out *out, const pt_look *look, const pt_report_head *head,
                      const pt_timeline *t)
{
    pt_report_head_text(out, look, head);
    pt_outf(out, "from the first sample: 0 to %s, %s a bar\n\n",
            pt_value_of("nanoseconds", pt_saturating_signed(pt_timeline_span(t))).text,
            pt_value_of("nanoseconds", pt_saturating_signed(t->step_ns)).text);
    for (size_t i = 0; i < t->count && pt_out_ok(out); i++)
        put_track(out, look, head, t, &t->track[i]);
    if (t->more > 0)
        pt_outf(out, "%s more (%s)\n", pt_count_of(t->more).text,
                t->is_full ? "fewer --steps leave room for more" : "-n");
}

static void put_number(pt_json_w *w, const char *key, uint32_t number)
{
    pt_json_key(w, key);
    if (number == PT_NONE)
        pt_json_null(w);
    else
        pt_json_uint(w, number);
}

static void put_values(pt_json_w *w, const char *key, const int64_t *value, size_t count)
{
    PT_JSON_EACH (w, key, i, count)
        pt_json_int(w, value[i]);
}

void pt_timeline_json(pt_out *out, const pt_report_head *head, const pt_timeline *t,
                      const pt_profile *profile, const pt_marks_view *marks)
{
    PT_AUTO(pt_json_w) w;
    pt_report_json_begin(&w, out, "timeline");
    pt_report_profile_json(&w, head);
    pt_json_key_int(&w, "first_ns", t->first_ns);
    pt_json_key_uint(&w, "span_ns", pt_timeline_span(t));
    pt_json_key_uint(&w, "step_ns", t->step_ns);
    PT_JSON_OBJECTS (&w, "tracks", i, t->count) {
        const pt_track *track = &t->track[i];
        pt_json_key_text(&w, "kind", kind_name[track->kind]);
        put_number(&w, "pid", track->pid);
        put_number(&w, "tid", track->tid);
        put_number(&w, "cpu", track->cpu);
        pt_json_key_text(&w, "comm", track->comm);
        pt_json_key_int(&w, "total", track->total);
        put_values(&w, "values", track->value, t->steps);
    }
    pt_json_key_uint(&w, "more", t->more);
    pt_json_key_uint(&w, "untimed", t->untimed);
    pt_json_key_uint(&w, "seconds", t->seconds);
    pt_json_key_uint(&w, "offsets", PT_TIMELINE_OFFSETS);
    put_values(&w, "heat", t->heat, (size_t)t->seconds * PT_TIMELINE_OFFSETS);
    pt_marks_json(&w, profile, t, marks);
    pt_json_object_end(&w);
}
