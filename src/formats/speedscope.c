/* speedscope.c: reads speedscope's own JSON.
 *
 *   {"$schema": "https://www.speedscope.app/file-format-schema.json",
 *    "activeProfileIndex": 0,                         the profile shown first
 *    "shared": {"frames": [{"name", "file"?, "line"?, "col"?}, ...]},
 *    "profiles": [{"type": "sampled", "name", "unit", "startValue", "endValue",
 *                  "samples": [[root, ..., leaf], ...],  numbers of frames
 *                  "weights": [...]},
 *                 {"type": "evented", ...,
 *                  "events": [{"type": "O" | "C", "frame", "at"}, ...]}]}
 *
 * Specification: src/lib/file-format-spec.ts of jlfwong/speedscope. The order of keys is free.
 *
 * - Units determine events: "none" gives samples/count, "bytes" space/bytes, and all units of time
 *   give time/nanoseconds. If several profiles have the same unit, the label `thread` of a sample
 *   holds the name of its profile.
 * - An evented profile gives a sample for each stretch of time with an unchanged stack.
 * - pitot's own files state the event of each profile ("event", "unitName"), which other readers
 *   ignore; their profiles are values of the same samples. */
#include "formats/json_profile.h"

#include <stdlib.h>

#include "base/grow.h"
#include "formats/speedscope.h"

/* A sample of the current profile. Its value is to - from. In an evented profile these are both
 * ends of a stretch of time; in a sampled profile `to` is the weight, and `from` is 0. */
typedef struct {
    pt_json_num from, to;
    uint32_t stack;
} stretch;

/* The members of the current profile read so far; the keys of a profile may come in any order. */
typedef struct {
    char *name, *event, *unit_name, *thread;
    char unit[16];
    bool is_evented;
    PT_VECTOR(stretch) stretch;
    size_t weights; /* number of weights read so far */
} profile_parts;

/* The samples of one profile of the file. They are added to the builder at the end, since a builder
 * gets all events before the first sample. */
typedef struct {
    uint32_t event, thread; /* thread: a string */
    size_t end;             /* where the values of this sample end in speedscope_reader.value */
} profile_values;

typedef struct {
    pt_json_r json;
    pt_builder *builder;
    const pt_read_hooks *hooks;
    uint32_t frame_count;
    PT_VECTOR(uint32_t) open; /* frames of the stack, root first */
    uint32_t *times_open;     /* evented profiles: how often each frame is in the stack */
    PT_VECTOR(profile_values) profile;
    PT_VECTOR(int64_t) value;
    PT_VECTOR(uint32_t) stack; /* stack of each value */
    uint64_t unbalanced;       /* events that close a frame that is not open */
    uint64_t weightless;       /* samples without a weight, or weights without a sample */
    uint64_t backwards;        /* events earlier than the event before */
    uint64_t rounded, limited;
    int64_t active; /* index of the profile shown first */
    bool any_own;   /* some profile is pitot's own */
    bool too_many_events;
} speedscope_reader;

static int probe_speedscope(const pt_probe_input *input)
{
    if (pt_json_head_has(input, "$schema", "speedscope.app/file-format-schema")) return 90;
    if (pt_json_head_has(input, "shared.frames", NULL) &&
        (pt_json_head_has(input, "profiles", NULL) || input->file_bytes > input->head_bytes))
        return 60;
    return 0;
}

/* ---- Frames ---- */

static void set_text(char **into, const pt_json_r *r)
{
    if (r->token != PT_JSON_STRING) return;
    free(*into);
    *into = pt_strndup(r->text, r->length);
}

static void read_frame(speedscope_reader *s)
{
    pt_json_r *const r = &s->json;
    pt_function function = {0};
    pt_line line = {0};
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_name = pt_json_is(r, "name"), is_file = pt_json_is(r, "file"),
                   is_line = pt_json_is(r, "line"), is_column = pt_json_is(r, "col");
        pt_json_next(r);
        if (is_name && r->token == PT_JSON_STRING)
            function.name = pt_builder_string(s->builder, r->text, r->length).v;
        else if (is_file && r->token == PT_JSON_STRING)
            function.file = pt_builder_string(s->builder, r->text, r->length).v;
        else if (is_line && r->token == PT_JSON_INT)
            line.line = r->integer;
        else if (is_column && r->token == PT_JSON_INT)
            line.column = r->integer;
        else
            pt_json_skip(r);
    }
    if (function.name == 0) function.name = pt_builder_text(s->builder, "[unknown]").v;
    line.function = pt_builder_function(s->builder, &function).v;
    const pt_location location = {.mapping = PT_NONE};
    pt_builder_append_location(s->builder, &location, &line, 1);
    s->frame_count++;
}

/* Reads the frames. Frame n is location n, since nothing else adds locations. */
static void read_shared(speedscope_reader *s)
{
    pt_json_r *const r = &s->json;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_frames = pt_json_is(r, "frames");
        if (pt_json_next(r) != PT_JSON_ARRAY || !is_frames || s->frame_count > 0) {
            pt_json_skip(r);
            continue;
        }
        while (pt_json_next(r) == PT_JSON_OBJECT)
            read_frame(s);
    }
}

static bool push_frame(speedscope_reader *s)
{
    const pt_json_r *const r = &s->json;
    if (r->token != PT_JSON_INT || r->integer < 0 || r->integer >= s->frame_count) return false;
    PT_PUSH(s->open, (uint32_t)r->integer);
    return true;
}

static uint32_t open_stack(speedscope_reader *s)
{
    const uint64_t most = pt_builder_depth_max(s->builder);
    const size_t open = s->open.count, depth = open < most ? open : (size_t)most;
    uint32_t *const frames = pt_builder_stack_space(s->builder, depth);
    for (size_t i = 0; i < depth; i++)
        frames[i] = s->open.items[open - 1 - i];
    return pt_builder_stack_commit(s->builder, depth,
                                   depth < open ? pt_builder_cut_stack(s->builder)
                                                : PT_STACK_END_UNKNOWN)
        .v;
}

/* ---- Profiles ---- */

static pt_status set_missing_frame(speedscope_reader *s)
{
    pt_json_r *const r = &s->json;
    if (r->token == PT_JSON_ERROR) return PT_ERR_DAMAGED;
    pt_error_set(r->error, PT_ERR_DAMAGED, "byte %zu refers to a missing frame, the file has %u",
                 pt_json_offset(r), s->frame_count);
    pt_error_where(r->error, NULL, NULL, (int64_t)pt_json_offset(r));
    return PT_ERR_DAMAGED;
}

static stretch *stretch_at(profile_parts *parts, size_t i)
{
    if (i < parts->stretch.count) return &parts->stretch.items[i];
    PT_GROW(parts->stretch, i + 1);
    parts->stretch.items[i] = (stretch){.from = {.whole = true}, .stack = PT_NONE};
    parts->stretch.count = i + 1;
    return &parts->stretch.items[i];
}

static pt_status read_samples(speedscope_reader *s, profile_parts *parts)
{
    pt_json_r *const r = &s->json;
    for (size_t i = 0; pt_json_next(r) == PT_JSON_ARRAY; i++) {
        s->open.count = 0;
        while (pt_json_next(r) == PT_JSON_INT || r->token > PT_JSON_ARRAY_END) {
            if (!push_frame(s)) return set_missing_frame(s);
        }
        if (r->token != PT_JSON_ARRAY_END) return set_missing_frame(s);
        stretch_at(parts, i)->stack = open_stack(s);
    }
    return r->token == PT_JSON_ERROR ? PT_ERR_DAMAGED : PT_OK;
}

static void read_weights(speedscope_reader *s, profile_parts *parts)
{
    pt_json_r *const r = &s->json;
    while (pt_json_next(r) > PT_JSON_EOF && r->token != PT_JSON_ARRAY_END) {
        stretch_at(parts, parts->weights++)->to = pt_json_num_of(r);
        pt_json_skip(r);
    }
}

typedef struct {
    pt_json_num at;
    int64_t frame;
    char type;
} stack_event;

static stack_event read_event(pt_json_r *r)
{
    stack_event event = {.frame = -1, .at = {.whole = true}};
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_type = pt_json_is(r, "type"), is_frame = pt_json_is(r, "frame"),
                   is_at = pt_json_is(r, "at");
        pt_json_next(r);
        if (is_type && r->token == PT_JSON_STRING && r->length == 1) event.type = r->text[0];
        if (is_frame && r->token == PT_JSON_INT) event.frame = r->integer;
        if (is_at) event.at = pt_json_num_of(r);
        pt_json_skip(r);
    }
    return event;
}

/* Closes a frame, and all frames that were opened after it. */
static void close_frame(speedscope_reader *s, int64_t frame)
{
    if (s->times_open[frame] == 0) {
        s->unbalanced++;
        return;
    }
    for (uint32_t closed = PT_NONE; closed != frame; s->unbalanced += closed != frame) {
        closed = s->open.items[--s->open.count];
        s->times_open[closed]--;
    }
}

static pt_status read_events(speedscope_reader *s, profile_parts *parts)
{
    pt_json_r *const r = &s->json;
    pt_json_num last = {.whole = true};
    s->open.count = 0;
    if (s->times_open == NULL) s->times_open = pt_alloc(s->frame_count + 1, sizeof *s->times_open);
    while (pt_json_next(r) == PT_JSON_OBJECT) {
        const stack_event event = read_event(r);
        if (r->token == PT_JSON_ERROR) return PT_ERR_DAMAGED;
        if (event.type != 'O' && event.type != 'C') continue;
        if (event.frame < 0 || event.frame >= s->frame_count) return set_missing_frame(s);
        s->backwards += event.at.number < last.number;
        if (s->open.count > 0 && event.at.number > last.number) {
            stretch *const part = stretch_at(parts, parts->stretch.count);
            part->stack = open_stack(s);
            part->from = last;
            part->to = event.at;
        }
        if (event.at.number > last.number || s->open.count == 0) last = event.at;
        if (event.type == 'C') {
            close_frame(s, event.frame);
            continue;
        }
        PT_PUSH(s->open, (uint32_t)event.frame);
        s->times_open[event.frame]++;
    }
    s->unbalanced += s->open.count;
    for (size_t i = 0; i < s->open.count; i++)
        s->times_open[s->open.items[i]] = 0;
    return r->token == PT_JSON_ERROR ? PT_ERR_DAMAGED : PT_OK;
}

static pt_status read_member(speedscope_reader *s, profile_parts *parts)
{
    pt_json_r *const r = &s->json;
    const struct {
        const char *key;
        char **into;
    } texts[] = {{"name", &parts->name},
                 {"event", &parts->event},
                 {"unitName", &parts->unit_name},
                 {"thread", &parts->thread}};
    for (size_t i = 0; i < PT_COUNT(texts); i++) {
        if (!pt_json_is(r, texts[i].key)) continue;
        pt_json_next(r);
        set_text(texts[i].into, r);
        pt_json_skip(r);
        return PT_OK;
    }
    const bool is_unit = pt_json_is(r, "unit"), is_samples = pt_json_is(r, "samples"),
               is_weights = pt_json_is(r, "weights"), is_events = pt_json_is(r, "events");
    pt_json_next(r);
    if (is_samples && r->token == PT_JSON_ARRAY) return read_samples(s, parts);
    if (is_weights && r->token == PT_JSON_ARRAY) return read_weights(s, parts), PT_OK;
    if (is_events && r->token == PT_JSON_ARRAY) {
        parts->is_evented = true;
        return read_events(s, parts);
    }
    if (is_unit && r->token == PT_JSON_STRING && r->length < sizeof parts->unit) {
        memcpy(parts->unit, r->text, r->length);
        parts->unit[r->length] = '\0';
    }
    pt_json_skip(r);
    return PT_OK;
}

/* ---- Values ---- */

/* Limit of events, since each sample has a value for each. */
enum { EVENTS_MAX = 256 };

static uint32_t find_event(speedscope_reader *s, const char *type, const char *unit)
{
    pt_builder *const b = s->builder;
    const pt_event event = {.type = pt_builder_text(b, type).v, .unit = pt_builder_text(b, unit).v};
    for (uint32_t i = 0; i < pt_builder_event_count(b); i++) {
        const pt_event *const other = pt_builder_event_at(b, i);
        if (other->type == event.type && other->unit == event.unit) return i;
    }
    s->too_many_events |= pt_builder_event_count(b) == EVENTS_MAX;
    return s->too_many_events ? 0 : pt_builder_event(b, &event);
}

/* The event that the profile states in its member "event", as pitot writes it; else the event that
 * its unit implies. *ret_scale: the factor from the file's values to the event's. */
static uint32_t event_of(speedscope_reader *s, const profile_parts *parts, int64_t *ret_scale)
{
    const speedscope_unit *const unit = speedscope_unit_of(parts->unit);
    *ret_scale = unit->scale;
    if (parts->event == NULL) return find_event(s, unit->type, unit->model_unit);
    s->any_own = true;
    return find_event(s, parts->event,
                      parts->unit_name != NULL ? parts->unit_name : unit->model_unit);
}

static void take_profile(speedscope_reader *s, profile_parts *parts)
{
    pt_json_scale scale = {.scale = 1};
    const uint32_t event = event_of(s, parts, &scale.scale);
    const bool is_time = scale.scale != 1 || strcmp(parts->unit, "nanoseconds") == 0;
    for (size_t i = 0; i < parts->stretch.count; i++) {
        const stretch *const part = &parts->stretch.items[i];
        const bool lacks = part->stack == PT_NONE || (!parts->is_evented && i >= parts->weights);
        s->weightless += lacks;
        if (lacks) continue;
        PT_GROW(s->value, s->value.count + 1);
        PT_GROW(s->stack, s->value.count + 1);
        s->stack.items[s->value.count] = part->stack;
        s->value.items[s->value.count++] =
            parts->is_evented ? pt_json_span(pt_json_scale_time(&scale, part->from),
                                             pt_json_scale_time(&scale, part->to))
                              : pt_json_scale_weight(&scale, part->to);
    }
    s->rounded += is_time ? 0 : scale.rounded;
    s->limited += scale.limited;
    const char *const thread = parts->event != NULL ? parts->thread : parts->name;
    PT_PUSH(s->profile, (profile_values){
                            .event = event,
                            .thread = thread != NULL ? pt_builder_text(s->builder, thread).v : 0,
                            .end = s->value.count,
                        });
}

static pt_status read_profiles(speedscope_reader *s)
{
    pt_json_r *const r = &s->json;
    pt_status status = PT_OK;
    while (status == PT_OK && pt_json_next(r) == PT_JSON_OBJECT) {
        profile_parts parts = {0};
        while (status == PT_OK && pt_json_next(r) == PT_JSON_KEY)
            status = read_member(s, &parts);
        take_profile(s, &parts);
        PT_FREE_ALL(parts.name, parts.event, parts.unit_name, parts.thread, parts.stretch.items);
    }
    return status != PT_OK || r->token == PT_JSON_ERROR ? PT_ERR_DAMAGED : PT_OK;
}

/* Adds all samples, after all events are known. The samples get the label `thread`, except if the
 * file comes from another tool and has only one profile. */
static void put_samples(speedscope_reader *s)
{
    pt_builder *const b = s->builder;
    const uint32_t events = pt_builder_event_count(b);
    PT_FREE int64_t *const values = pt_alloc((size_t)events + 1, sizeof *values);
    const uint32_t key = pt_builder_text(b, "thread").v;
    size_t i = 0;
    for (size_t k = 0; k < s->profile.count; k++) {
        const profile_values *const profile = &s->profile.items[k];
        const pt_label label = {.key = key, .kind = PT_LABEL_STRING, .str = profile->thread};
        const bool labelled = profile->thread != 0 && (s->any_own || s->profile.count > 1);
        const pt_labels_id labels = pt_builder_labels(b, &label, labelled);
        const bool same_samples = s->any_own && profile->event != s->profile.items[0].event;
        for (; i < profile->end; i++) {
            values[profile->event] = s->value.items[i];
            (same_samples ? pt_builder_add : pt_builder_sample)(b, (pt_stack_id){s->stack.items[i]},
                                                                labels, values);
        }
        values[profile->event] = 0;
    }
    const bool there = s->active >= 0 && (uint64_t)s->active < s->profile.count;
    if (s->profile.count > 0)
        pt_builder_set_default_event(b, s->profile.items[there ? s->active : 0].event);
}

/* ---- The document ---- */

/* Reads the document's members in their order. *ret_later: profiles came before their frames and
 * must be read in a second pass. */
static pt_status read_top(speedscope_reader *s, bool only_profiles, bool *ret_later)
{
    pt_json_r *const r = &s->json;
    if (pt_json_next(r) != PT_JSON_OBJECT) {
        if (r->token != PT_JSON_ERROR)
            pt_error_set(r->error, PT_ERR_FORMAT,
                         "there is no \"profiles\" at the top of the JSON");
        return PT_ERR_FORMAT;
    }
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_shared = pt_json_is(r, "shared") && !only_profiles,
                   is_profiles = pt_json_is(r, "profiles"),
                   is_active = pt_json_is(r, "activeProfileIndex"),
                   may_read = only_profiles || s->frame_count > 0;
        pt_json_next(r);
        if (is_active && r->token == PT_JSON_INT) s->active = r->integer;
        if (is_shared && r->token == PT_JSON_OBJECT) {
            read_shared(s);
        } else if (is_profiles && may_read && r->token == PT_JSON_ARRAY) {
            const pt_status status = read_profiles(s);
            if (status != PT_OK) return status;
        } else {
            *ret_later |= is_profiles;
            pt_json_skip(r);
        }
    }
    return r->token == PT_JSON_ERROR ? PT_ERR_DAMAGED : PT_OK;
}

static void report_facts(const speedscope_reader *s)
{
    pt_diag *const diag = s->hooks->diag;
    const pt_json_scale scale = {.rounded = s->rounded, .limited = s->limited};
    pt_json_scale_report(&scale, false, diag);
    pt_diag_add(diag, s->unbalanced, "frames opened but not closed, or closed but not open");
    pt_diag_add(diag, s->weightless, "samples without a weight, or weights without a sample");
    pt_diag_add(diag, s->backwards, "events earlier than the one before");
}

static pt_status speedscope_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                                 pt_error *reterr)
{
    speedscope_reader s = {.builder = builder, .hooks = hooks};
    pt_error error = PT_ERROR_INIT;
    bool later = false, never = false;
    pt_json_r_init(&s.json, reader->pos, pt_reader_left(reader), &error);
    pt_status status = read_top(&s, false, &later);
    pt_json_r_done(&s.json);
    if (later && s.profile.count == 0 && error.status != PT_ERR_FORMAT) {
        pt_json_r_init(&s.json, reader->pos, pt_reader_left(reader),
                       error.status == PT_OK ? &error : NULL);
        status = read_top(&s, true, &never);
        pt_json_r_done(&s.json);
    }
    if (!s.too_many_events) put_samples(&s);
    report_facts(&s);
    if (s.too_many_events)
        status = pt_error_set(reterr, PT_ERR_LIMIT, "more than %d events", EVENTS_MAX);
    else if (status != PT_OK || error.status != PT_OK)
        status = pt_json_failed(&error, builder, reterr);
    else if (s.profile.count == 0)
        status = pt_error_set(reterr, PT_ERR_FORMAT, "the list of profiles is empty");
    PT_FREE_ALL(s.open.items, s.times_open, s.profile.items, s.value.items, s.stack.items);
    return status;
}

const pt_format pt_format_speedscope = {
    .name = "speedscope",
    .extensions = ".speedscope.json .speedscope",
    .summary = "speedscope's JSON: speedscope.app, py-spy, rbspy and other samplers",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_DEFAULT | PT_CAN_LINES | PT_CAN_NAMES | PT_CAN_UNITS,
    .held_labels = "thread",
    .probe = probe_speedscope,
    .read = speedscope_read,
    .write = pt_speedscope_write,
};
