/* chrome_trace.c: reads Chrome's trace events, which the panel Performance of DevTools saves, and
 * py-spy (--format chrometrace) and many other programs write.
 *
 *   {"traceEvents": [{"name", "ph", "ts": us, "pid", "tid", ...}, ...]}     or the list alone
 *
 *   ph "P"  name "Profile", "ProfileChunk", "CpuProfile"; "id", "args": {"data": {"startTime",
 *           "timeDeltas": [us, ...], "cpuProfile": {"nodes", "samples"}}}   cpuprofile.c reads them
 *   ph "B", "E"  a function begins and ends      "args": {"filename", "line"}, as py-spy writes
 *   ph "X"       both, with "dur": us
 *   ph "M"       name "process_name", "thread_name"; "args": {"name"}
 *   other values of "ph": chrome_marks.c
 *
 * Specification: "Trace Event Format" of the Chromium project. The samples of an id and a process
 * are one profile. In a file with such samples, functions become marks. In any other file, each
 * stretch of time with the same open functions on a thread becomes a sample. The keys of an event
 * may have any order, so its "args" are read at the event's end. */
#include "formats/chrome_trace.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/units.h"

/* ---- Events ---- */

static uint32_t intern_string(trace_reader *t, const pt_json_r *r)
{
    return r->token == PT_JSON_STRING ? pt_builder_string(t->b, r->text, r->length).v : 0;
}

static uint32_t intern_number(trace_reader *t, int64_t number)
{
    char text[24];
    const int bytes = snprintf(text, sizeof text, "%lld", (long long)number);
    return pt_builder_string(t->b, text, (size_t)bytes).v;
}

/* The id of a process or thread: the lowest 32 bits of the number. */
static uint32_t take_id(int64_t id)
{
    return (uint32_t)id == PT_NONE ? 0 : (uint32_t)id;
}

static trace_event read_event(trace_reader *t)
{
    pt_json_r *const r = &t->json;
    trace_event e = {.length = -1, .at = pt_json_offset(r)};
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_name = pt_json_is(r, "name"), is_phase = pt_json_is(r, "ph"),
                   is_ts = pt_json_is(r, "ts"), is_length = pt_json_is(r, "dur"),
                   is_pid = pt_json_is(r, "pid"), is_tid = pt_json_is(r, "tid"),
                   is_id = pt_json_is(r, "id"), is_args = pt_json_is(r, "args"),
                   is_category = pt_json_is(r, "cat");
        pt_json_next(r);
        if (is_name) e.name = intern_string(t, r);
        if (is_category) e.category = intern_string(t, r);
        if (is_id)
            e.id = r->token == PT_JSON_INT ? intern_number(t, r->integer) : intern_string(t, r);
        if (is_phase && r->token == PT_JSON_STRING && r->length == 1) e.phase = r->text[0];
        if (is_ts) e.ts = pt_json_scale_time(&t->scale, pt_json_num_of(r));
        if (is_length) e.length = pt_json_scale_time(&t->scale, pt_json_num_of(r));
        if (is_pid && r->token == PT_JSON_INT) e.pid = r->integer;
        if (is_tid && r->token == PT_JSON_INT) e.tid = r->integer;
        const size_t at = pt_json_offset(r) - 1;
        const bool has_args = is_args && r->token == PT_JSON_OBJECT;
        pt_json_skip(r);
        if (has_args && r->token != PT_JSON_ERROR) {
            e.args = at;
            e.args_end = pt_json_offset(r);
        }
    }
    return e;
}

bool pt_chrome_args(const trace_reader *t, const trace_event *e, pt_json_r *ret)
{
    pt_json_r_init(ret, t->json.start + e->args, e->args_end - e->args, NULL);
    return e->args < e->args_end && pt_json_next(ret) == PT_JSON_OBJECT;
}

track *pt_chrome_track(trace_reader *t, const trace_event *e)
{
    const uint32_t pid = take_id(e->pid), tid = take_id(e->tid);
    const uint64_t hash = pt_hash_mix(pid, tid);
    uint32_t row = PT_INDEX_FIND(&t->tracks, hash, i,
                                 t->track.items[i].pid == pid && t->track.items[i].tid == tid);
    if (row == PT_NONE)
        row = PT_INDEX_PUSH(&t->tracks, hash, t->track, (track){.pid = pid, .tid = tid});
    return &t->track.items[row];
}

bool pt_chrome_is(const trace_reader *t, const trace_event *e, const char *name)
{
    return strcmp(pt_builder_get_text(t->b, (pt_string_id){e->name}), name) == 0;
}

static void read_name(trace_reader *t, const trace_event *e)
{
    PT_AUTO(pt_json_r) args = {0};
    if (pt_chrome_args(t, e, &args)) {
        while (pt_json_next(&args) == PT_JSON_KEY) {
            const bool is_name = pt_json_is(&args, "name");
            pt_json_next(&args);
            if (is_name) pt_chrome_track(t, e)->name = intern_string(t, &args);
            pt_json_skip(&args);
        }
    }
}

/* ---- Samples of V8 ---- */

static stream *stream_of(trace_reader *t, const trace_event *e)
{
    const uint32_t pid = take_id(e->pid);
    const uint64_t hash = pt_hash_mix(pid, e->id);
    const uint32_t found = PT_INDEX_FIND(
        &t->streams, hash, i, t->stream.items[i].pid == pid && t->stream.items[i].id == e->id);
    if (found != PT_NONE) return &t->stream.items[found];
    const uint32_t row = PT_INDEX_PUSH(&t->streams, hash, t->stream,
                                       (stream){.pid = pid, .id = e->id, .tid = take_id(e->tid)});
    pt_cpuprofile_init(&t->stream.items[row].profile, t->b);
    return &t->stream.items[row];
}

static void read_profile(trace_reader *t, const trace_event *e)
{
    PT_AUTO(pt_json_r) args = {0};
    if (pt_chrome_args(t, e, &args)) {
        stream *const s = stream_of(t, e);
        s->profile.json = &args;
        while (pt_json_next(&args) == PT_JSON_KEY) {
            const bool is_data = pt_json_is(&args, "data");
            pt_json_next(&args);
            if (is_data && args.token == PT_JSON_OBJECT)
                pt_cpuprofile_members(&s->profile);
            else
                pt_json_skip(&args);
        }
    }
}

static void put_profiles(trace_reader *t, pt_diag *diag, uint64_t *ret_homeless)
{
    for (size_t i = 0; i < t->stream.count; i++) {
        stream *const s = &t->stream.items[i];
        const trace_event of = {.pid = s->pid, .tid = s->tid};
        const pt_sample common = {
            .pid = s->pid, .tid = s->tid, .comm = pt_chrome_track(t, &of)->name};
        pt_cpuprofile_put(&s->profile, &common);
        pt_cpuprofile_report(&s->profile, diag);
        *ret_homeless += s->profile.homeless;
    }
}

/* ---- Functions that begin and end ---- */

/* The location of a function, at the place that py-spy writes. PT_NONE for the sums "Total NAME"
 * that clang -ftime-trace writes at the end. */
static uint32_t location_of(trace_reader *t, const trace_event *e)
{
    pt_function function = {.name = e->name};
    int64_t line = 0;
    bool is_sum = false;
    pt_json_r args;
    if (pt_chrome_args(t, e, &args)) {
        while (pt_json_next(&args) == PT_JSON_KEY) {
            const bool is_file = pt_json_is(&args, "filename"), is_line = pt_json_is(&args, "line");
            is_sum |= pt_json_is(&args, "avg ms");
            pt_json_next(&args);
            if (is_file) function.file = intern_string(t, &args);
            if (is_line && args.token == PT_JSON_INT && args.integer > 0) line = args.integer;
            pt_json_skip(&args);
        }
    }
    pt_json_r_done(&args);
    if (is_sum) return PT_NONE;
    if (function.name == 0) function.name = pt_builder_text(t->b, "[unknown]").v;
    return pt_plain_location(t->b, &function, line, 0);
}

static bool is_function(const trace_event *e)
{
    return e->phase == 'B' || e->phase == 'E' || e->phase == 'X';
}

static void add_mark(trace_reader *t, const trace_event *e)
{
    const uint32_t row = (uint32_t)(pt_chrome_track(t, e) - t->track.items);
    const bool ends = e->phase == 'E';
    if (e->phase == 'X' && e->length <= 0) return; /* no time */
    const uint32_t location = ends ? PT_NONE : location_of(t, e);
    if (location == PT_NONE && !ends) return;
    PT_PUSH(t->mark, (mark){.ts = e->ts,
                            .length = e->phase == 'X' ? e->length : -1,
                            .track = row,
                            .order = (uint32_t)t->mark.count,
                            .location = location});
}

/* By track and time; marks of one time stay in the file's order. */
PT_ORDER(compare_marks, mark, PT_UP(track) ?: PT_UP(ts) ?: PT_UP(order));

/* By time. Of functions that begin at the same time, the longest is the outermost; functions that
 * are equal in both stay in the file's order. */
PT_ORDER(compare_whole, mark, PT_UP(ts) ?: PT_DOWN(length) ?: PT_UP(order));

static int64_t end_of(const mark *m)
{
    int64_t end;
    return __builtin_add_overflow(m->ts, m->length > 0 ? m->length : 0, &end) ? INT64_MAX : end;
}

/* Makes whole functions of begins and ends: an end (E) closes the innermost open begin (B). A
 * function without an end lasts until the end of its track. Returns the number of functions that
 * take time; they are in the order of time. */
static size_t pair_marks(trace_reader *t, mark *marks, size_t count)
{
    int64_t last = INT64_MIN;
    t->open.count = 0;
    for (size_t i = 0; i < count; i++) {
        last = end_of(&marks[i]) > last ? end_of(&marks[i]) : last;
        if (marks[i].location == PT_NONE && t->open.count == 0) {
            t->unbalanced++;
        } else if (marks[i].location == PT_NONE) {
            mark *const begin = &marks[t->open.items[--t->open.count]];
            begin->length = pt_json_span(begin->ts, marks[i].ts);
        } else if (marks[i].length < 0) {
            PT_PUSH(t->open, i);
        }
    }
    t->unbalanced += t->open.count;
    for (size_t i = 0; i < t->open.count; i++)
        marks[t->open.items[i]].length = pt_json_span(marks[t->open.items[i]].ts, last);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (marks[i].location != PT_NONE && marks[i].length > 0) marks[kept++] = marks[i];
    if (kept > 0) qsort(marks, kept, sizeof *marks, compare_whole);
    return kept;
}

static void put_stretch(trace_reader *t, const track *of, uint32_t node, int64_t from, int64_t to,
                        int64_t *values)
{
    if (node == PT_NONE || to <= from) return;
    values[0] = pt_json_span(from, to);
    const pt_sample sample = {.stack = pt_plain_tree_stack(&t->tree, node).v,
                              .values = values,
                              .time_ns = from,
                              .pid = of->pid,
                              .tid = of->tid,
                              .cpu = PT_NONE,
                              .comm = of->name};
    pt_builder_timed_sample(t->b, &sample);
    values[0] = 0;
}

/* Adds the samples of a track from its functions. A function whose caller ends earlier ends with
 * the caller. */
static void put_track(trace_reader *t, const mark *marks, size_t count, int64_t *values)
{
    if (count == 0) return;
    const track *const of = &t->track.items[marks[0].track];
    uint32_t node = PT_NONE;
    int64_t at = marks[0].ts;
    t->until.count = 0;
    for (size_t i = 0; i <= count; i++) {
        const int64_t to = i < count ? marks[i].ts : INT64_MAX;
        while (node != PT_NONE && t->until.items[t->until.count - 1] <= to) {
            const int64_t end = t->until.items[--t->until.count];
            put_stretch(t, of, node, at, end, values);
            at = end > at ? end : at;
            node = t->tree.node.items[node].parent;
        }
        if (i == count) break;
        put_stretch(t, of, node, at, to, values);
        at = to > at ? to : at;
        int64_t end = end_of(&marks[i]);
        if (node != PT_NONE && t->until.items[t->until.count - 1] < end)
            end = t->until.items[t->until.count - 1];
        node = pt_plain_tree_child(&t->tree, node, marks[i].location);
        PT_PUSH(t->until, end);
    }
}

static void find_functions(trace_reader *t)
{
    for (size_t i = 0; i < t->event.count; i++)
        if (is_function(&t->event.items[i])) add_mark(t, &t->event.items[i]);
}

static void put_tracks(trace_reader *t, int64_t *values)
{
    if (t->mark.count > 0)
        qsort(t->mark.items, t->mark.count, sizeof *t->mark.items, compare_marks);
    for (size_t from = 0, to; from < t->mark.count; from = to) {
        for (to = from; to < t->mark.count && t->mark.items[to].track == t->mark.items[from].track;)
            to++;
        put_track(t, t->mark.items + from, pair_marks(t, t->mark.items + from, to - from), values);
    }
}

/* ---- The document ---- */

static void read_events(trace_reader *t)
{
    while (pt_json_next(&t->json) == PT_JSON_OBJECT) {
        const trace_event e = read_event(t);
        if (t->json.token == PT_JSON_ERROR) return;
        if ((e.phase == 'P' || e.phase == 'I' || e.phase == 'O') &&
            (pt_chrome_is(t, &e, "Profile") || pt_chrome_is(t, &e, "ProfileChunk") ||
             pt_chrome_is(t, &e, "CpuProfile")))
            read_profile(t, &e);
        else if (is_function(&e) || pt_chrome_is_mark(t, &e))
            PT_PUSH(t->event, e);
        else if (e.phase == 'M' && pt_chrome_is(t, &e, "thread_name"))
            read_name(t, &e);
    }
}

static void read_top(trace_reader *t)
{
    pt_json_r *const r = &t->json;
    if (pt_json_next(r) == PT_JSON_ARRAY) {
        read_events(t);
        return;
    }
    if (r->token != PT_JSON_OBJECT) return;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_events = pt_json_is(r, "traceEvents");
        if (pt_json_next(r) == PT_JSON_ARRAY && is_events)
            read_events(t);
        else
            pt_json_skip(r);
    }
}

static pt_status conclude_profile(trace_reader *t, uint64_t homeless, const pt_error *error,
                                  pt_diag *diag, pt_error *reterr)
{
    pt_json_scale_report(&t->scale, true, diag);
    if (t->unbalanced > 0)
        pt_diag_add(diag, t->unbalanced,
                    "functions with a beginning and no end, or an end and no beginning");
    if (t->beginless > 0)
        pt_diag_add(diag, t->beginless, "marks that end and did not begin, left out");
    if (t->endless > 0)
        pt_diag_add(diag, t->endless, "marks that begin and do not end, shown as moments");
    /* The end of the list may be missing, since a killed program does not write it. */
    if (error->status != PT_OK) return pt_json_failed(error, t->b, reterr);
    if (homeless > 0)
        return pt_error_set(reterr, PT_ERR_DAMAGED, "samples of missing nodes left out; kept %s",
                            pt_count_noun(pt_builder_sample_count(t->b), "samples").text);
    if (pt_builder_event_count(t->b) == 0)
        return pt_error_set(reterr, PT_ERR_FORMAT,
                            "the trace has neither functions, samples of V8 nor marks");
    return PT_OK;
}

static pt_status chrome_trace_read(pt_reader *reader, pt_builder *builder,
                                   const pt_read_hooks *hooks, pt_error *reterr)
{
    trace_reader t = {.b = builder, .scale = {.scale = 1000}};
    pt_error error = PT_ERROR_INIT;
    uint64_t homeless = 0;
    pt_index_init(&t.tracks);
    pt_index_init(&t.streams);
    pt_plain_tree_init(&t.tree, builder);
    pt_json_r_init(&t.json, reader->pos, pt_reader_left(reader), &error);
    read_top(&t);
    const bool has_samples = t.stream.count > 0;
    if (!has_samples) find_functions(&t);
    if (has_samples) pt_plain_event(builder, "samples", "count");
    if (has_samples || t.mark.count > 0) pt_plain_event(builder, "time", "nanoseconds");
    const uint32_t sampled = pt_builder_event_count(builder);
    const unsigned needed = pt_chrome_marks_needed(&t, has_samples);
    pt_marks marks;
    pt_marks_open(&marks, builder, needed);
    if (needed != 0 && sampled > 0) pt_builder_set_default_event(builder, sampled - 1);
    if (has_samples)
        put_profiles(&t, hooks->diag, &homeless);
    else
        put_tracks(&t, marks.values);
    pt_chrome_put_marks(&t, &marks, has_samples);
    pt_marks_done(&marks);
    const pt_status status = conclude_profile(&t, homeless, &error, hooks->diag, reterr);
    pt_json_r_done(&t.json);
    for (size_t i = 0; i < t.stream.count; i++)
        pt_cpuprofile_done(&t.stream.items[i].profile);
    pt_plain_tree_done(&t.tree);
    pt_index_done(&t.tracks);
    pt_index_done(&t.streams);
    PT_FREE_ALL(t.stream.items, t.track.items, t.event.items, t.mark.items, t.until.items,
                t.open.items);
    return status;
}

static int probe_chrome_trace(const pt_probe_input *input)
{
    if (pt_json_head_has(input, "traceEvents.[].ph", NULL)) return 85;
    return pt_json_head_has(input, "[].ph", NULL) && pt_json_head_has(input, "[].name", NULL) ? 80
                                                                                              : 0;
}

const pt_format pt_format_chrome_trace = {
    .name = "chrome-trace",
    .aliases = "trace-event chrometrace",
    .summary = "Chrome's trace events: DevTools' Performance, py-spy and others",
    .kind = PT_PROBE_HEURISTIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_TIME | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_chrome_trace,
    .read = chrome_trace_read,
};
