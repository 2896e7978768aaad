/* chrome_marks.c: reads marks and counters of Chrome's trace events.
 *
 *   ph "i", "I", "R", "n"   a moment
 *   ph "b" ... "e"          a stretch; both ends have the same "cat", "id" and "name"
 *   ph "S" ... "F"          a stretch in older files, with the same rules
 *   ph "X", "B" ... "E"     in a file with samples of V8: a stretch of a thread
 *   ph "C"                  counters; "args": {NAME: value, ...}, one for each "id"
 *   "ResourceSendRequest" ... "ResourceFinish"   a load, by "requestId" of "args": {"data"}
 *   "UpdateCounters"        "args": {"data": {"jsHeapSizeUsed": bytes}}
 *
 * Specification: as for chrome_trace.c; the last two rows are events of DevTools. Members of
 * "args", and of "data" in it, that are texts or numbers become labels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/chrome_trace.h"

typedef enum {
    MARK_NONE, /* the event is not a mark */
    MARK_MOMENT,
    MARK_STRETCH, /* with beginning and end */
    MARK_BEGIN,
    MARK_END,
    MARK_COUNTER,
    MARK_HEAP, /* the counter of DevTools */
    MARK_LOAD_BEGIN,
    MARK_LOAD_END,
} mark_kind;

/* A set of marks that are opened and closed by events of the same key, or a counter. The key (pid
 * and three more numbers) is the same at both ends of a mark, and in all events of a counter. */
typedef struct {
    uint32_t pid, part[3];
    uint32_t open; /* the latest event that is open; PT_NONE = none */
    int64_t value; /* of the counter */
} slot;

typedef struct {
    trace_reader *t;
    pt_marks *marks;
    PT_VECTOR(slot) slot;
    pt_index index;
    int64_t *length;  /* length of each event in ns; -1 = the end of the event is not found yet */
    uint32_t *before; /* of an open event: the earlier open event of the same slot */
} chrome_marks;

static mark_kind kind_of(const trace_reader *t, const trace_event *e, bool functions)
{
    switch (e->phase) {
    case 'i':
    case 'I':
        if (pt_chrome_is(t, e, "ResourceSendRequest")) return MARK_LOAD_BEGIN;
        if (pt_chrome_is(t, e, "ResourceFinish")) return MARK_LOAD_END;
        if (pt_chrome_is(t, e, "UpdateCounters")) return MARK_HEAP;
        return MARK_MOMENT;
    case 'R':
    case 'n': return MARK_MOMENT;
    case 'b':
    case 'S': return MARK_BEGIN;
    case 'e':
    case 'F': return MARK_END;
    case 'C': return MARK_COUNTER;
    case 'X': return functions ? MARK_STRETCH : MARK_NONE;
    case 'B': return functions ? MARK_BEGIN : MARK_NONE;
    case 'E': return functions ? MARK_END : MARK_NONE;
    default: return MARK_NONE;
    }
}

bool pt_chrome_is_mark(const trace_reader *t, const trace_event *e)
{
    const char *const category = pt_builder_get_text(t->b, (pt_string_id){e->category});
    return kind_of(t, e, false) != MARK_NONE && strcmp(category, "__metadata") != 0;
}

/* The kind of a counter; its name shows whether it counts bytes. */
static pt_counter_kind kind_of_counter(const char *name)
{
    return strcasestr(name, "memory") || strcasestr(name, "heap") || strcasestr(name, "bytes")
               ? PT_COUNTER_MEMORY
               : PT_COUNTER_OTHER;
}

static const char *name_of(const trace_reader *t, const trace_event *e)
{
    return pt_builder_get_text(t->b, (pt_string_id){e->name});
}

unsigned pt_chrome_marks_needed(const trace_reader *t, bool functions)
{
    unsigned needed = 0;
    for (size_t i = 0; i < t->event.count; i++) {
        const trace_event *const e = &t->event.items[i];
        const mark_kind kind = kind_of(t, e, functions);
        if (kind == MARK_COUNTER)
            needed |= (unsigned)PT_MARKS_COUNTERS << kind_of_counter(name_of(t, e));
        else if (kind == MARK_HEAP)
            needed |= (unsigned)PT_MARKS_COUNTERS << PT_COUNTER_MEMORY;
        else if (kind != MARK_NONE)
            needed |= PT_MARKS_MARKS;
    }
    return needed;
}

static slot *slot_of(chrome_marks *c, uint32_t pid, uint32_t a, uint32_t b, uint32_t d)
{
    const uint64_t hash = pt_hash_mix(pt_hash_u32_pair(pid, a), pt_hash_u32_pair(b, d));
    PT_INDEX_EACH (&c->index, hash, id) {
        slot *const s = &c->slot.items[id];
        if (s->pid == pid && s->part[0] == a && s->part[1] == b && s->part[2] == d) return s;
    }
    const slot new = {.pid = pid, .part = {a, b, d}, .open = PT_NONE};
    const uint32_t row = PT_INDEX_PUSH(&c->index, hash, c->slot, new);
    return &c->slot.items[row];
}

/* ---- Both ends ---- */

/* The id of the load of "args": {"data": {"requestId"}}. */
static uint32_t load_of(const trace_reader *t, const trace_event *e)
{
    PT_AUTO(pt_json_r) r = {0};
    uint32_t id = 0;
    if (pt_chrome_args(t, e, &r)) {
        bool is_id = false;
        while (pt_json_next(&r) > PT_JSON_EOF) {
            if (is_id && r.token == PT_JSON_STRING)
                id = pt_builder_string(t->b, r.text, r.length).v;
            is_id = r.token == PT_JSON_KEY && r.depth == 2 && pt_json_is(&r, "requestId");
        }
    }
    return id;
}

static slot *slot_of_event(chrome_marks *c, const trace_event *e, mark_kind kind)
{
    const uint32_t pid = (uint32_t)e->pid;
    if (kind == MARK_LOAD_BEGIN || kind == MARK_LOAD_END)
        return slot_of(c, pid, load_of(c->t, e), PT_NONE, 2);
    if (e->phase == 'B' || e->phase == 'E') return slot_of(c, pid, (uint32_t)e->tid, PT_NONE, 1);
    return slot_of(c, pid, e->category, e->id, e->name);
}

static void pair_event(chrome_marks *c, uint32_t row, bool functions)
{
    const trace_event *const e = &c->t->event.items[row];
    const mark_kind kind = kind_of(c->t, e, functions);
    c->length[row] = e->length > 0 && kind == MARK_STRETCH ? e->length : 0;
    if (kind == MARK_BEGIN || kind == MARK_LOAD_BEGIN) {
        slot *const s = slot_of_event(c, e, kind);
        c->length[row] = -1;
        c->before[row] = s->open;
        s->open = row;
    } else if (kind == MARK_END || kind == MARK_LOAD_END) {
        slot *const s = slot_of_event(c, e, kind);
        if (s->open == PT_NONE) {
            c->t->beginless++;
            return;
        }
        const int64_t span = pt_json_span(c->t->event.items[s->open].ts, e->ts);
        c->length[s->open] = span > 0 ? span : 0;
        s->open = c->before[s->open];
    }
}

/* ---- Samples ---- */

/* Makes labels of the members of "args", and of the members of "data" and "detail" in "args". */
static void take_args(const trace_reader *t, const trace_event *e, pt_marks *marks)
{
    PT_AUTO(pt_json_r) r = {0};
    if (pt_chrome_args(t, e, &r)) {
        while (pt_json_next(&r) == PT_JSON_KEY || r.token == PT_JSON_OBJECT_END) {
            if (r.token == PT_JSON_OBJECT_END) continue; /* of "data" */
            char key[64];
            const size_t bytes = r.length < sizeof key ? r.length : sizeof key;
            memcpy(key, r.text, bytes);
            const bool is_inner =
                r.depth == 1 && (pt_json_is(&r, "data") || pt_json_is(&r, "detail"));
            pt_json_next(&r);
            if (is_inner && r.token == PT_JSON_OBJECT) continue;
            pt_marks_member(marks, &r, key, bytes);
        }
    }
}

static int64_t number_of(const pt_json_r *r)
{
    if (r->token == PT_JSON_INT) return r->integer;
    if (r->token != PT_JSON_NUMBER || !(fabs(r->number) < 9.2e18)) return 0;
    return (int64_t)round(r->number);
}

/* Adds the change of a counter since its last value; a counter begins at 0. series: the key of the
 * value in "args" (a string). The name of the counter is the key if kind is MARK_HEAP, the event's
 * name if the key is "value", else "EVENT KEY". */
static void put_change(chrome_marks *c, const trace_event *e, const pt_sample *of, mark_kind kind,
                       uint32_t series, int64_t value)
{
    const char *const event_name = name_of(c->t, e); /* valid until a text is added */
    const char *const member = pt_builder_get_text(c->t->b, (pt_string_id){series});
    const pt_counter_kind counter =
        kind == MARK_HEAP ? PT_COUNTER_MEMORY : kind_of_counter(event_name);
    uint32_t name = kind == MARK_HEAP ? series : e->name;
    if (kind == MARK_COUNTER && strcmp(member, "value") != 0) {
        PT_FREE char *both = pt_strf("%s %s", event_name, member);
        name = pt_builder_text(c->t->b, both).v;
    }
    slot *const s = slot_of(c, of->pid, e->id, series, e->name);
    pt_marks_count(c->marks, of, counter, name, pt_json_span(s->value, value));
    s->value = value;
}

/* Adds the changes of all counters of an event. */
static void put_counters(chrome_marks *c, const trace_event *e, const pt_sample *of, mark_kind kind)
{
    const unsigned depth = kind == MARK_HEAP ? 2 : 1; /* of the members that are counters */
    uint32_t series = 0;
    PT_AUTO(pt_json_r) r = {0};
    const bool has_args = pt_chrome_args(c->t, e, &r);
    while (has_args && pt_json_next(&r) > PT_JSON_EOF) {
        if (r.depth != depth) continue;
        if (r.token == PT_JSON_KEY) {
            const bool is_counter = kind == MARK_COUNTER || pt_json_is(&r, "jsHeapSizeUsed");
            series = is_counter ? pt_builder_string(c->t->b, r.text, r.length).v : 0;
        } else if (series != 0 && (r.token == PT_JSON_INT || r.token == PT_JSON_NUMBER)) {
            put_change(c, e, of, kind, series, number_of(&r));
            series = 0;
        }
    }
}

static void put_event(chrome_marks *c, uint32_t row, bool functions)
{
    trace_reader *const t = c->t;
    const trace_event *const e = &t->event.items[row];
    const mark_kind kind = kind_of(t, e, functions);
    if (kind == MARK_NONE || kind == MARK_END || kind == MARK_LOAD_END) return;
    const track *const on = pt_chrome_track(t, e);
    const pt_sample of = {.stack = pt_builder_stack(t->b, NULL, 0, PT_STACK_END_UNKNOWN).v,
                          .time_ns = e->ts,
                          .pid = on->pid,
                          .tid = on->tid,
                          .cpu = PT_NONE,
                          .comm = on->name};
    if (kind == MARK_COUNTER || kind == MARK_HEAP) {
        put_counters(c, e, &of, kind);
        return;
    }
    t->endless += c->length[row] < 0;
    const bool is_load = kind == MARK_LOAD_BEGIN;
    take_args(t, e, c->marks);
    pt_marks_label(c->marks, PT_MARKER_CATEGORY,
                   is_load ? pt_builder_text(t->b, "Network").v : e->category);
    pt_marks_put(c->marks, &of, is_load ? pt_builder_text(t->b, "Load").v : e->name,
                 c->length[row] > 0 ? c->length[row] : 0);
}

PT_ORDER(compare_events, trace_event, PT_UP(ts) ?: PT_UP(at));

void pt_chrome_put_marks(trace_reader *t, pt_marks *marks, bool functions)
{
    chrome_marks c = {.t = t, .marks = marks};
    const uint32_t count = (uint32_t)t->event.count;
    if (count == 0) return;
    qsort(t->event.items, count, sizeof *t->event.items, compare_events);
    pt_index_init(&c.index);
    c.length = pt_alloc(count, sizeof *c.length);
    c.before = pt_alloc(count, sizeof *c.before);
    for (uint32_t i = 0; i < count; i++)
        pair_event(&c, i, functions);
    for (uint32_t i = 0; i < count; i++)
        put_event(&c, i, functions);
    pt_index_done(&c.index);
    PT_FREE_ALL(c.slot.items, c.length, c.before);
}
