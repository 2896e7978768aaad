/* rbspy.c: reads rbspy's own files of samples of Ruby: `rbspy record --raw-file FILE`.
 *
 *   rbspy02                                                             inside gzip
 *   {"sample_rate": 100, "rbspy_version": "0.12.1", "start_time": ...}
 *   {"trace": [{"name", "relative_path", "absolute_path", "lineno"}, ...],   innermost first
 *    "pid", "thread_id", "time": {"secs_since_epoch", "nanos_since_epoch"}, "on_cpu"}
 *
 * Rule: src/storage of rbspy. Version 1 has the same lines. In version 0 a sample is only the list
 * of the trace, and all lists follow each other without a newline. */
#include <stdlib.h>

#include "base/text.h"
#include "formats/json_profile.h"
#include "formats/legacy.h"
#include "formats/plain.h"

#define MAGIC "rbspy0"

typedef struct {
    pt_builder *b;
    PT_VECTOR(uint32_t) frame;
    int64_t period_ns;
    uint64_t odd, first_odd;
} rbspy_reader;

/* Reads a frame, whose opening brace was read. */
static void read_frame(rbspy_reader *y, pt_json_r *r)
{
    pt_function function = {0};
    uint32_t relative = 0;
    int64_t line = 0;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_name = pt_json_is(r, "name"), is_path = pt_json_is(r, "absolute_path"),
                   is_relative = pt_json_is(r, "relative_path"), is_line = pt_json_is(r, "lineno");
        pt_json_next(r);
        if (r->token == PT_JSON_STRING && (is_name || is_path || is_relative))
            *(is_name   ? &function.name
              : is_path ? &function.file
                        : &relative) = pt_builder_string(y->b, r->text, r->length).v;
        if (is_line && r->token == PT_JSON_INT && r->integer > 0) line = r->integer;
        pt_json_skip(r);
    }
    if (function.file == 0) function.file = relative;
    if (function.name == 0) function.name = pt_builder_text(y->b, "[unknown]").v;
    PT_PUSH(y->frame, pt_plain_location(y->b, &function, line, 0));
}

static void read_trace(rbspy_reader *y, pt_json_r *r)
{
    y->frame.count = 0;
    while (pt_json_next(r) == PT_JSON_OBJECT)
        read_frame(y, r);
}

/* Reads {"secs_since_epoch": s, "nanos_since_epoch": ns}; 0 = unknown. */
static int64_t read_time(pt_json_r *r)
{
    int64_t seconds = 0, ns = 0;
    if (r->token != PT_JSON_OBJECT) return 0;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_seconds = pt_json_is(r, "secs_since_epoch");
        const bool is_ns = pt_json_is(r, "nanos_since_epoch");
        pt_json_next(r);
        if (is_seconds && r->token == PT_JSON_INT) seconds = r->integer;
        if (is_ns && r->token == PT_JSON_INT) ns = r->integer;
        pt_json_skip(r);
    }
    int64_t time;
    return __builtin_mul_overflow(seconds, 1000000000, &time) ||
                   __builtin_add_overflow(time, ns, &time)
               ? 0
               : time;
}

static void take_number(const pt_json_r *r, uint32_t *ret)
{
    if (r->token == PT_JSON_INT && r->integer >= 0 && r->integer < PT_NONE)
        *ret = (uint32_t)r->integer;
}

static void put_sample(rbspy_reader *y, const pt_sample *of)
{
    pt_sample sample = *of;
    sample.stack = pt_builder_stack(y->b, y->frame.items, y->frame.count, PT_STACK_END_UNKNOWN).v;
    sample.values = (int64_t[]){1, y->period_ns};
    pt_builder_timed_sample(y->b, &sample);
}

/* Reads a document: a header, a sample, or only the trace of a sample. Returns false for another
 * text. */
static bool read_document(rbspy_reader *y, pt_json_r *r)
{
    pt_sample sample = {.pid = PT_NONE, .tid = PT_NONE, .cpu = PT_NONE};
    bool has_trace = false;
    if (pt_json_next(r) == PT_JSON_ARRAY) {
        read_trace(y, r);
        if (r->token != PT_JSON_ARRAY_END) return false;
        put_sample(y, &sample);
        return true;
    }
    if (r->token != PT_JSON_OBJECT) return false;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_trace = pt_json_is(r, "trace"), is_pid = pt_json_is(r, "pid"),
                   is_thread = pt_json_is(r, "thread_id"), is_time = pt_json_is(r, "time"),
                   is_rate = pt_json_is(r, "sample_rate");
        pt_json_next(r);
        if (is_pid) take_number(r, &sample.pid);
        if (is_thread) take_number(r, &sample.tid);
        if (is_rate && r->token == PT_JSON_INT && r->integer > 0)
            y->period_ns = 1000000000 / r->integer;
        if (is_time) {
            const bool is_object = r->token == PT_JSON_OBJECT;
            sample.time_ns = read_time(r);
            if (is_object) continue;
        }
        if (is_trace && r->token == PT_JSON_ARRAY) {
            has_trace = true;
            read_trace(y, r);
            continue;
        }
        pt_json_skip(r);
    }
    if (r->token != PT_JSON_OBJECT_END) return false;
    if (has_trace) put_sample(y, &sample);
    return true;
}

static pt_status rbspy_read(pt_reader *reader, pt_builder *builder, const pt_read_hooks *hooks,
                            pt_error *reterr)
{
    if (!pt_plain_begins(reader, MAGIC, reterr)) return PT_ERR_FORMAT;
    rbspy_reader y = {.b = builder, .period_ns = 10000000}; /* rbspy's default is 100 Hz */
    pt_span line;
    pt_plain_event(builder, "samples", "count");
    pt_plain_event(builder, "time", "nanoseconds");
    pt_span_line(reader, &line); /* rbspy02 */
    for (uint64_t at = pt_reader_offset(reader); pt_span_line(reader, &line);
         at = pt_reader_offset(reader)) {
        /* Lists of version 0 follow each other: each list ends at a "]" outside of all inner
         * brackets. */
        for (pt_span left = pt_span_trim(line); left.size > 0; left = pt_span_trim(left)) {
            PT_AUTO(pt_json_r) r;
            const pt_span whole = left;
            pt_json_r_init(&r, left.at, left.size, NULL);
            const bool is_read = read_document(&y, &r);
            const size_t used = pt_json_offset(&r);
            left = (pt_span){whole.at + used, whole.size - used};
            if (is_read && used > 0) continue;
            if (y.odd++ == 0) y.first_odd = at;
            break;
        }
    }
    const pt_status status = pt_malformed_lines(builder, y.odd, y.first_odd, reterr);
    free(y.frame.items);
    (void)hooks;
    return status;
}

static int probe_rbspy(const pt_probe_input *input)
{
    const char *const head = (const char *)input->head;
    return input->head_bytes >= sizeof MAGIC + 1 && pt_begins_n(head, input->head_bytes, MAGIC) &&
                   pt_is_digit(head[6]) && head[7] == '\n'
               ? 100
               : 0;
}

const pt_format pt_format_rbspy = {
    .name = "rbspy",
    .summary = "rbspy's own file: rbspy record --raw-file",
    .kind = PT_PROBE_MAGIC,
    .capabilities =
        PT_CAN_STACKS | PT_CAN_EVENTS | PT_CAN_LINES | PT_CAN_TIME | PT_CAN_NAMES | PT_CAN_UNITS,
    .probe = probe_rbspy,
    .read = rbspy_read,
};
