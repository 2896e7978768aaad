/* speedscope_write.c: writes speedscope's JSON: a sampled profile for each event, and for each
 * thread if samples have a label `thread`. Samples keep the profile's order, which need not be that
 * of time. speedscope.c draws the format. */
#include "formats/speedscope.h"

#include "base/grow.h"
#include "base/saturate.h"
#include "formats/json_profile.h"

static const speedscope_unit units[] = {
    {"none", "samples", "count", 1},
    {"nanoseconds", "time", "nanoseconds", 1},
    {"microseconds", "time", "nanoseconds", 1000},
    {"milliseconds", "time", "nanoseconds", 1000000},
    {"seconds", "time", "nanoseconds", 1000000000},
    {"bytes", "space", "bytes", 1},
};

const speedscope_unit *speedscope_unit_of(const char *name)
{
    for (size_t i = 0; i < PT_COUNT(units); i++) {
        if (strcmp(units[i].name, name) == 0) return &units[i];
    }
    return &units[0];
}

typedef struct {
    const pt_profile *p;
    pt_named_frames frames;
    pt_json_w json;
    uint32_t *thread_of;        /* label set -> string; 0 = none */
    PT_VECTOR(uint32_t) thread; /* distinct threads, in order */
} speedscope_writer;

/* ---- Threads ---- */

static uint32_t thread_in(const pt_profile *p, uint32_t labels)
{
    for (uint64_t i = p->labels->offset[labels]; i < p->labels->offset[labels + 1]; i++) {
        const pt_label *const label = &p->labels->row[i];
        if (label->kind == PT_LABEL_STRING && strcmp(pt_text(p, label->key), "thread") == 0)
            return label->str;
    }
    return 0;
}

static void find_threads(speedscope_writer *w)
{
    const pt_profile *const p = w->p;
    w->thread_of = pt_alloc((size_t)p->labels->t.count + 1, sizeof *w->thread_of);
    PT_FREE bool *const seen = pt_alloc((size_t)p->string->t.count + 1, sizeof *seen);
    for (uint32_t i = 0; i < p->labels->t.count; i++)
        w->thread_of[i] = thread_in(p, i);
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t thread = w->thread_of[p->sample->labels[i]];
        if (seen[thread]) continue;
        seen[thread] = true;
        PT_PUSH(w->thread, thread);
    }
}

/* ---- Frames ---- */

static void put_frame(pt_json_w *json, const pt_named_frame *frame)
{
    pt_json_object(json);
    pt_json_key_text_n(json, "name", frame->name, frame->name_bytes);
    if (frame->file_bytes > 0) pt_json_key_text_n(json, "file", frame->file, frame->file_bytes);
    if (frame->line != 0) pt_json_key_int(json, "line", frame->line);
    if (frame->column != 0) pt_json_key_int(json, "col", frame->column);
    pt_json_object_end(json);
}

static void put_stack(speedscope_writer *w, uint32_t stack)
{
    const pt_profile *const p = w->p;
    const uint32_t *const frames = pt_stack_frames(p, stack);
    pt_json_array(&w->json);
    for (uint32_t i = pt_stack_depth(p, stack); i > 0; i--) {
        const uint32_t first = w->frames.first[frames[i - 1]];
        for (uint32_t k = pt_named_count(&w->frames, frames[i - 1]); k > 0; k--)
            pt_json_uint(&w->json, w->frames.of[first + k - 1]);
    }
    pt_json_array_end(&w->json);
}

/* ---- Profiles ---- */

static const speedscope_unit *unit_of_event(const pt_profile *p, const pt_event *event)
{
    const char *const name = pt_text(p, event->unit);
    const speedscope_unit *const unit = speedscope_unit_of(name);
    if (strcmp(name, "bytes") == 0 || strcmp(name, "nanoseconds") == 0) return unit;
    return &units[0]; /* other units would be read back in another unit of the model */
}

static bool is_in(const speedscope_writer *w, uint32_t sample, uint32_t event, uint32_t thread)
{
    const pt_samples *const s = w->p->sample;
    return s->value[event][sample] != 0 && w->thread_of[s->labels[sample]] == thread;
}

static void put_head(speedscope_writer *w, uint32_t event, uint32_t thread, const char *unit)
{
    const pt_profile *const p = w->p;
    const pt_event *const row = &p->event->row[event];
    const char *const type = pt_text(p, row->type);
    PT_FREE char *name = thread != 0 && p->event->t.count > 1
                             ? pt_strf("%s (%s)", pt_text(p, thread), type)
                         : thread != 0 ? pt_strdup(pt_text(p, thread))
                                       : pt_strdup(type[0] != '\0' ? type : "samples");
    pt_json_key_text(&w->json, "type", "sampled");
    pt_json_key_text(&w->json, "name", name);
    pt_json_key_text(&w->json, "unit", unit);
    pt_json_key_text(&w->json, "event", type);
    pt_json_key_text(&w->json, "unitName", pt_text(p, row->unit));
    if (thread != 0) pt_json_key_text(&w->json, "thread", pt_text(p, thread));
}

static void put_profile(speedscope_writer *w, uint32_t event, uint32_t thread)
{
    const pt_profile *const p = w->p;
    pt_json_w *const json = &w->json;
    int64_t sum = 0;
    pt_json_object(json);
    put_head(w, event, thread, unit_of_event(p, &p->event->row[event])->name);
    pt_json_key_int(json, "startValue", 0);
    PT_JSON_EACH (json, "samples", i, p->sample->t.count) {
        if (!is_in(w, i, event, thread)) continue;
        put_stack(w, p->sample->stack[i]);
        pt_saturating_into(&sum, p->sample->value[event][i]);
    }
    PT_JSON_EACH (json, "weights", i, p->sample->t.count) {
        if (is_in(w, i, event, thread)) pt_json_int(json, p->sample->value[event][i]);
    }
    pt_json_key_int(json, "endValue", sum);
    pt_json_object_end(json);
}

static void put_document(speedscope_writer *w)
{
    const pt_profile *const p = w->p;
    pt_json_w *const json = &w->json;
    const uint32_t shown = pt_profile_default_event(p);
    pt_json_object(json);
    pt_json_key_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    pt_json_key_text(json, "exporter", "pitot");
    pt_json_key_uint(json, "activeProfileIndex", shown == PT_NONE ? 0 : shown * w->thread.count);
    pt_json_key_object(json, "shared");
    PT_JSON_EACH (json, "frames", i, w->frames.frame.count)
        put_frame(json, &w->frames.frame.items[i]);
    pt_json_object_end(json);
    PT_JSON_EACH (json, "profiles", event, p->event->t.count) {
        for (size_t i = 0; i < w->thread.count; i++)
            put_profile(w, event, w->thread.items[i]);
    }
    pt_json_object_end(json);
}

pt_status pt_speedscope_write(const pt_profile *profile, const pt_output *output,
                              const pt_write_options *options, pt_error *reterr)
{
    if (profile->event->t.count == 0 || profile->sample->t.count == 0)
        return pt_error_set(reterr, PT_ERR_USAGE, "the profile has no samples to write");
    (void)options;
    pt_out *const out = output->open(output->context, "", reterr);
    if (!out) return PT_ERR_SYSTEM;
    speedscope_writer w = {.p = profile};
    pt_named_frames_init(&w.frames, profile, false);
    find_threads(&w);
    pt_json_w_init(&w.json, out, 0);
    put_document(&w);
    pt_json_w_done(&w.json);
    pt_named_frames_done(&w.frames);
    PT_FREE_ALL(w.thread_of, w.thread.items);
    pt_out_char(out, '\n');
    return pt_out_flush(out, reterr);
}
