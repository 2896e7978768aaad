/* perf_data_attr.c: the events of a perf.data: the layout of their records, and their names. */
#include "formats/perf_data.h"
#include "formats/perf_events.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"

/* ---- layout ---- */

static int32_t take_place(uint64_t sample_type, uint64_t bit, int32_t *at)
{
    if (!(sample_type & bit)) return -1;
    *at += 8;
    return *at - 8;
}

/* The layouts of records are those of PERF_RECORD_SAMPLE and struct sample_id in
 * perf_event_open(2). */
void pt_perf_attr_lay_out(pt_perf_attr *a)
{
    const uint64_t type = a->sample_type;
    int32_t at = 0;
    const int32_t identifier = take_place(type, PT_PERF_IDENTIFIER, &at);
    a->ip_at = take_place(type, PT_PERF_IP, &at);
    a->tid_at = take_place(type, PT_PERF_TID, &at);
    a->time_at = take_place(type, PT_PERF_TIME, &at);
    take_place(type, PT_PERF_ADDR, &at);
    const int32_t id = take_place(type, PT_PERF_ID, &at);
    a->id_at = identifier >= 0 ? identifier : id;
    take_place(type, PT_PERF_STREAM_ID, &at);
    a->cpu_at = take_place(type, PT_PERF_CPU, &at);
    a->period_at = take_place(type, PT_PERF_PERIOD, &at);
    a->read_at = at;

    const uint64_t other = type & (PT_PERF_TID | PT_PERF_TIME | PT_PERF_ID | PT_PERF_STREAM_ID |
                                   PT_PERF_CPU | PT_PERF_IDENTIFIER);
    const int32_t whole = 8 * __builtin_popcountll(other);
    at = 0;
    a->other_tid_at = take_place(type, PT_PERF_TID, &at);
    a->other_time_at = take_place(type, PT_PERF_TIME, &at);
    a->other_id_at = take_place(type, PT_PERF_ID, &at);
    if (type & PT_PERF_IDENTIFIER) a->other_id_at = whole - 8;
    int32_t *const places[] = {&a->other_tid_at, &a->other_time_at, &a->other_id_at};
    const bool has_them = (a->flags >> PT_PERF_FLAG_SAMPLE_ID_ALL & 1) != 0;
    for (size_t i = 0; i < 3; i++)
        *places[i] = *places[i] < 0 || !has_them ? -1 : whole - *places[i];
}

/* ---- ids ---- */

uint32_t pt_perf_attr_of_id(pt_perf_data *d, uint64_t id)
{
    if (d->last_id_row != PT_NONE && d->id.items[d->last_id_row].id == id)
        return d->id.items[d->last_id_row].attr;
    PT_INDEX_EACH (&d->id_index, pt_hash_mix(id, 0), i) {
        if (d->id.items[i].id != id) continue;
        d->last_id_row = i;
        return d->id.items[i].attr;
    }
    return PT_NONE;
}

pt_perf_attr *pt_perf_attr_of_sample(pt_perf_data *d, const uint8_t *body, size_t size)
{
    if (d->attr.count == 0) return NULL;
    pt_perf_attr *const first = d->attr.items;
    if (d->attr.count == 1) return first;
    if (first->id_at < 0 || d->id.count == 0) return first;
    if ((size_t)first->id_at + 8 > size) return NULL;
    const uint32_t attr = pt_perf_attr_of_id(d, pt_perf_u64(body + first->id_at, d->swap));
    return attr == PT_NONE ? NULL : &d->attr.items[attr];
}

/* The attr of a record that is not a sample. If a file has several attrs, all have the same layout
 * at the end of records, or include the id. */
static const pt_perf_attr *attr_of_other(pt_perf_data *d, const uint8_t *body, size_t size)
{
    const pt_perf_attr *const first = d->attr.items;
    if (d->attr.count == 0) return NULL;
    if (d->attr.count == 1 || first->other_id_at < 0 || (size_t)first->other_id_at > size)
        return first;
    const uint64_t id = pt_perf_u64(body + size - first->other_id_at, d->swap);
    const uint32_t attr = pt_perf_attr_of_id(d, id);
    return attr == PT_NONE ? first : &d->attr.items[attr];
}

uint64_t pt_perf_time_of(pt_perf_data *d, uint32_t type, const uint8_t *body, size_t size)
{
    if (type == PT_PERF_SAMPLE) {
        const pt_perf_attr *const a = pt_perf_attr_of_sample(d, body, size);
        return a == NULL || a->time_at < 0 || (size_t)a->time_at + 8 > size
                   ? 0
                   : pt_perf_u64(body + a->time_at, d->swap);
    }
    const pt_perf_attr *const a = attr_of_other(d, body, size);
    return a == NULL || a->other_time_at < 0 || (size_t)a->other_time_at > size
               ? 0
               : pt_perf_u64(body + size - a->other_time_at, d->swap);
}

/* Limit of events, since each is a column of all samples. */
enum { EVENTS_MAX = 255 };

/* ---- names ---- */

static const char *const hardware[] = {"cycles",
                                       "instructions",
                                       "cache-references",
                                       "cache-misses",
                                       "branches",
                                       "branch-misses",
                                       "bus-cycles",
                                       "stalled-cycles-frontend",
                                       "stalled-cycles-backend",
                                       "ref-cycles"};
static const char *const software[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                     "iTLB",      "branch",    "node"};
static const char *const cache_ops[] = {"load", "store", "prefetch"};

/* Writes perf's name of an event with that configuration (tools/perf/util/evsel.c). */
static void name_of_config(const pt_perf_attr *a, char *to, size_t size)
{
    const uint64_t c = a->config;
    const uint64_t cache = c & 0xff, op = c >> 8 & 0xff, result = c >> 16 & 0xff;
    if (a->type == PT_PERF_TYPE_HARDWARE && (c & 0xffffffff) < PT_COUNT(hardware))
        snprintf(to, size, "%s", hardware[c & 0xffffffff]);
    else if (a->type == PT_PERF_TYPE_SOFTWARE && c < PT_COUNT(software))
        snprintf(to, size, "%s", software[c]);
    else if (a->type == PT_PERF_TYPE_CACHE && cache < 7 && op < 3 && result < 2)
        snprintf(to, size, "%s-%s%s", caches[cache], cache_ops[op],
                 result == 1 ? "-misses"
                 : op == 2   ? "es"
                             : "s");
    else if (a->type == PT_PERF_TYPE_TRACEPOINT)
        snprintf(to, size, "tracepoint-%" PRIu64, c);
    else if (a->type == PT_PERF_TYPE_BREAKPOINT)
        snprintf(to, size, "breakpoint");
    else
        snprintf(to, size, "event-%" PRIu32 "-0x%" PRIx64, a->type, c);
}

static uint32_t event_name(pt_builder *b, const pt_perf_attr *a)
{
    char text[128];
    if (a->name != NULL) return pt_perf_event_name(b, a->name, strlen(a->name));
    name_of_config(a, text, sizeof text);
    const bool user = !(a->flags >> PT_PERF_FLAG_EXCLUDE_USER & 1);
    const bool kernel = !(a->flags >> PT_PERF_FLAG_EXCLUDE_KERNEL & 1);
    const size_t length = strlen(text);
    if (user != kernel) snprintf(text + length, sizeof text - length, ":%c", user ? 'u' : 'k');
    return pt_builder_text(b, text).v;
}

/* ---- events of the profile ---- */

static bool is_clock(const pt_perf_attr *a)
{
    return a->type == PT_PERF_TYPE_SOFTWARE &&
           (a->config == PT_PERF_SOFTWARE_CPU_CLOCK || a->config == PT_PERF_SOFTWARE_TASK_CLOCK);
}

static pt_event event_of(pt_perf_data *d, const pt_perf_attr *a)
{
    return (pt_event){.type = event_name(d->builder, a),
                      .unit = pt_builder_text(d->builder, is_clock(a) ? "nanoseconds" : "count").v,
                      .period = a->is_freq || a->period > INT64_MAX ? 0 : (int64_t)a->period,
                      .period_varies = a->is_freq};
}

void pt_perf_events_define(pt_perf_data *d)
{
    pt_builder *const b = d->builder;
    if (d->are_events_defined) return;
    d->are_events_defined = true;
    const pt_event samples = {.type = pt_builder_text(b, "samples").v,
                              .unit = pt_builder_text(b, "count").v,
                              .period = 1};
    pt_builder_event(b, &samples);
    for (size_t i = 0; i < d->attr.count; i++) {
        pt_perf_attr *const a = &d->attr.items[i];
        if (a->type == PT_PERF_TYPE_SOFTWARE && a->config == PT_PERF_SOFTWARE_DUMMY) continue;
        if (pt_builder_event_count(b) > EVENTS_MAX) {
            d->more_events++;
            continue;
        }
        const pt_event event = event_of(d, a);
        a->event = pt_builder_event(b, &event);
    }
    d->values = pt_alloc(pt_builder_event_count(b), sizeof *d->values);
}

void pt_perf_events_finish(pt_perf_data *d)
{
    pt_builder *const b = d->builder;
    pt_provenance *const p = pt_builder_provenance(b);
    pt_perf_events_define(d);
    const pt_perf_attr *shown = NULL;
    for (size_t i = 0; i < d->attr.count; i++) {
        const pt_perf_attr *const a = &d->attr.items[i];
        if (a->event == PT_NONE) continue;
        pt_event *const event = pt_builder_event_at(b, a->event);
        const pt_event_kind kind = event->kind;
        *event = event_of(d, a);
        event->kind = kind;
        if (shown == NULL || (shown->samples == 0 && a->samples > 0)) shown = a;
    }
    if (shown == NULL) return;
    const pt_event *const event = pt_builder_event_at(b, shown->event);
    p->default_event = event->type;
    p->period_type = event->type;
    p->period_unit = event->unit;
    p->has_period_type = true;
    p->period = event->period;
    if (shown->is_freq) p->asked_hz = (double)shown->period;
}
