/* cpuprofile_write.c: writes a .cpuprofile; cpuprofile.c draws the format.
 *
 * A profile in the form that cpuprofile.c reads keeps its times. In any other profile, samples are
 * written one after the other, each with its weight as its duration; the samples need not be in the
 * order of time. A further sample of (root), marked by a key of pitot's own (CPUPROFILE_END), ends
 * the last sample. Weights that are not time become a microsecond each, which is reported.
 */
#include "formats/cpuprofile.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/units.h"
#include "formats/json_profile.h"

typedef struct {
    uint32_t parent, frame; /* PT_NONE for the root */
    uint32_t first_child, last_child, next;
    int64_t hits;
} tree_node;

typedef struct {
    const pt_profile *p;
    uint32_t event;
    pt_named_frames frames;
    pt_json_w json;
    pt_out *out;
    PT_VECTOR(tree_node) node;
    pt_index index;
    uint32_t *node_of; /* stack -> node; PT_NONE = not made yet */
    uint32_t *order;   /* samples, by time */
    uint32_t count;    /* number of entries in order */
    bool keeps_times;
} cpuprofile_writer;

static bool is_named(const pt_profile *p, uint32_t event, const char *type, const char *unit)
{
    return strcmp(pt_text(p, p->event->row[event].type), type) == 0 &&
           strcmp(pt_text(p, p->event->row[event].unit), unit) == 0;
}

bool pt_cpuprofile_holds_event(const pt_profile *p, uint32_t event)
{
    if (p->sample->time_ns == NULL || !is_named(p, event, "samples", "count")) return false;
    return !PT_ANY(i, p->sample->t.count, p->sample->value[event][i] != 1);
}

/* Is each sample's value of time the time to the next sample, as cpuprofile.c computes it? */
static bool keeps_own_times(const cpuprofile_writer *w)
{
    const pt_profile *const p = w->p;
    if (p->event->t.count != 2 || !pt_cpuprofile_holds_event(p, 0) ||
        !is_named(p, 1, "time", "nanoseconds"))
        return false;
    for (uint32_t i = 0; i < w->count; i++) {
        const uint32_t at = w->order[i];
        const int64_t lasts = i + 1 < w->count ? pt_json_span(p->sample->time_ns[at],
                                                              p->sample->time_ns[w->order[i + 1]])
                                               : 0;
        if (p->sample->value[1][at] != lasts) return false;
    }
    return true;
}

/* ---- The tree ---- */

static uint32_t add_node(cpuprofile_writer *w, uint32_t parent, uint32_t frame)
{
    const uint64_t hash = pt_hash_u32_pair(parent, frame);
    const uint32_t found =
        PT_INDEX_FIND(&w->index, hash, id,
                      w->node.items[id].parent == parent && w->node.items[id].frame == frame);
    if (found != PT_NONE) return found;
    const uint32_t id = PT_INDEX_PUSH(&w->index, hash, w->node,
                                      (tree_node){.parent = parent,
                                                  .frame = frame,
                                                  .first_child = PT_NONE,
                                                  .last_child = PT_NONE,
                                                  .next = PT_NONE});
    if (parent == PT_NONE) return id;
    tree_node *const above = &w->node.items[parent];
    if (above->first_child == PT_NONE)
        above->first_child = id;
    else
        w->node.items[above->last_child].next = id;
    above->last_child = id;
    return id;
}

static uint32_t node_of_stack(cpuprofile_writer *w, uint32_t stack)
{
    if (w->node_of[stack] != PT_NONE) return w->node_of[stack];
    const uint32_t *const locations = pt_stack_frames(w->p, stack);
    uint32_t at = 0;
    for (uint32_t i = pt_stack_depth(w->p, stack); i > 0; i--) {
        const uint32_t first = w->frames.first[locations[i - 1]];
        for (uint32_t k = pt_named_count(&w->frames, locations[i - 1]); k > 0; k--)
            at = add_node(w, at, w->frames.of[first + k - 1]);
    }
    return w->node_of[stack] = at;
}

static bool is_written(const cpuprofile_writer *w, uint32_t sample)
{
    return w->keeps_times || w->p->sample->value[w->event][sample] != 0;
}

static void plant_tree(cpuprofile_writer *w)
{
    const pt_profile *const p = w->p;
    add_node(w, PT_NONE, PT_NONE);
    for (uint32_t i = 0; i < w->count; i++) {
        if (!is_written(w, w->order[i])) continue;
        const uint32_t at = node_of_stack(w, p->sample->stack[w->order[i]]);
        w->node.items[at].hits++;
    }
}

/* ---- JSON ---- */

static void put_call_frame(pt_json_w *json, const pt_named_frame *frame)
{
    const int64_t line = frame ? frame->start_line > 0 ? frame->start_line : frame->line : 0;
    pt_json_key_object(json, "callFrame");
    if (frame)
        pt_json_key_text_n(json, "functionName", frame->name, frame->name_bytes);
    else
        pt_json_key_text_n(json, "functionName", "(root)", 6);
    pt_json_key_text_n(json, "scriptId", "0", 1);
    pt_json_key_text_n(json, "url", frame ? frame->file : "", frame ? frame->file_bytes : 0);
    pt_json_key_int(json, "lineNumber", line - 1);
    pt_json_key_int(json, "columnNumber", frame ? frame->column - 1 : -1);
    pt_json_object_end(json);
}

static void put_node(cpuprofile_writer *w, uint32_t id)
{
    pt_json_w *const json = &w->json;
    const tree_node *const n = &w->node.items[id];
    pt_json_object(json);
    pt_json_key_int(json, "id", (int64_t)id + 1);
    put_call_frame(json, n->frame == PT_NONE ? NULL : &w->frames.frame.items[n->frame]);
    pt_json_key_int(json, "hitCount", n->hits);
    if (n->first_child != PT_NONE) {
        pt_json_key_array(json, "children");
        for (uint32_t child = n->first_child; child != PT_NONE; child = w->node.items[child].next)
            pt_json_uint(json, (uint64_t)child + 1);
        pt_json_array_end(json);
    }
    pt_json_object_end(json);
}

/* Writes nanoseconds as microseconds. */
static void put_us(pt_json_w *json, int64_t ns)
{
    pt_json_put_ns(json, ns, 1000);
}

/* Nanoseconds in a unit of the chosen event; 0 if the unit is not time. */
static double weight_scale(const cpuprofile_writer *w)
{
    const pt_unit *const unit = pt_unit_parse(pt_text(w->p, w->p->event->row[w->event].unit));
    return unit != NULL && unit->family == PT_FAMILY_TIME ? unit->factor : 0;
}

static int64_t weight_of(const cpuprofile_writer *w, uint32_t sample, double scale)
{
    const int64_t value = w->p->sample->value[w->event][sample];
    if (scale == 0) return pt_saturating_product((uint64_t)(value < 0 ? 0 : value), 1000);
    const double ns = (double)value * scale;
    if (scale == 1) return value;
    return ns >= 0x1p63 ? INT64_MAX : pt_whole_part(ns);
}

static int64_t put_own_deltas(cpuprofile_writer *w, int64_t start)
{
    int64_t last = start;
    for (uint32_t i = 0; i < w->count; i++) {
        const int64_t at = w->p->sample->time_ns[w->order[i]];
        put_us(&w->json, pt_json_span(last, at));
        last = at;
    }
    return last;
}

static int64_t put_weights(cpuprofile_writer *w)
{
    const double scale = weight_scale(w);
    int64_t sum = 0, before = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        if (!is_written(w, w->order[i])) continue;
        put_us(&w->json, before);
        before = weight_of(w, w->order[i], scale);
        pt_saturating_into(&sum, before);
    }
    put_us(&w->json, before);
    return sum;
}

static void put_document(cpuprofile_writer *w)
{
    pt_json_w *const json = &w->json;
    const int64_t start = w->keeps_times && w->count > 0 ? w->p->sample->time_ns[w->order[0]] : 0;
    pt_json_object(json);
    PT_JSON_EACH (json, "nodes", i, w->node.count)
        put_node(w, (uint32_t)i);
    pt_json_key(json, "startTime");
    put_us(json, start);
    pt_json_key_array(json, "samples");
    for (uint32_t i = 0; i < w->count; i++) {
        if (is_written(w, w->order[i]))
            pt_json_uint(json, (uint64_t)w->node_of[w->p->sample->stack[w->order[i]]] + 1);
    }
    if (!w->keeps_times) pt_json_uint(json, 1);
    pt_json_array_end(json);
    pt_json_key_array(json, "timeDeltas");
    const int64_t end = w->keeps_times ? put_own_deltas(w, start) : put_weights(w);
    pt_json_array_end(json);
    pt_json_key(json, "endTime");
    put_us(json, end);
    if (!w->keeps_times) {
        pt_json_key_bool(json, CPUPROFILE_END, true);
    }
    pt_json_object_end(json);
}

/* ---- The whole file ---- */

typedef struct {
    int64_t time;
    uint32_t sample;
} moment;

PT_ORDER(compare_moments, moment, PT_UP(time) ?: PT_UP(sample));

static void put_in_order(cpuprofile_writer *w)
{
    const pt_samples *const s = w->p->sample;
    w->count = s->t.count;
    w->order = pt_alloc((size_t)w->count + 1, sizeof *w->order);
    PT_FREE moment *const moments = pt_alloc((size_t)w->count + 1, sizeof *moments);
    for (uint32_t i = 0; i < w->count; i++)
        moments[i] = (moment){.time = s->time_ns ? s->time_ns[i] : 0, .sample = i};
    if (w->count > 0 && s->time_ns) qsort(moments, w->count, sizeof *moments, compare_moments);
    for (uint32_t i = 0; i < w->count; i++)
        w->order[i] = moments[i].sample;
}

static void report_facts(const cpuprofile_writer *w, pt_diag *diag)
{
    uint64_t negative = 0;
    if (w->keeps_times) return;
    for (uint32_t i = 0; i < w->count; i++)
        negative += w->p->sample->value[w->event][i] < 0;
    pt_diag_add(diag, negative, "negative values, which have no duration");
    if (weight_scale(w) == 0)
        pt_diag_add(diag, 1, "values without a unit of time written as microseconds");
    if (w->p->sample->time_ns)
        pt_diag_add(diag, w->count,
                    "samples without their time: each begins when the previous one ends");
}

pt_status pt_cpuprofile_write(const pt_profile *profile, const pt_output *output,
                              const pt_write_options *options, pt_error *reterr)
{
    uint32_t event;
    pt_out *const out = pt_json_open_event(profile, output, options, &event, reterr);
    if (out == NULL) return reterr != NULL ? reterr->status : PT_ERR_SYSTEM;
    cpuprofile_writer w = {.p = profile, .out = out, .event = event};
    pt_named_frames_init(&w.frames, profile, false);
    pt_index_init(&w.index);
    w.node_of = pt_alloc((size_t)profile->stack->t.count + 1, sizeof *w.node_of);
    memset(w.node_of, 0xff, profile->stack->t.count * sizeof *w.node_of);
    put_in_order(&w);
    w.keeps_times = keeps_own_times(&w);
    plant_tree(&w);
    pt_json_w_init(&w.json, out, 0);
    put_document(&w);
    pt_json_w_done(&w.json);
    pt_out_char(out, '\n');
    report_facts(&w, options->diag);
    pt_named_frames_done(&w.frames);
    pt_index_done(&w.index);
    PT_FREE_ALL(w.node.items, w.node_of, w.order);
    return pt_out_flush(out, reterr);
}
