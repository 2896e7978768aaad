/* firefox_marks.c: reads the markers and counters of Firefox profiles.
 *
 *   "markers": {"name": [string], "startTime": [ms or null], "endTime": [ms or null],
 *               "phase": [0 moment, 1 stretch, 2 begins, 3 ends], "category": [row of
 *               meta.categories], "data": [{"type", "cause": {"stack": row}, ...} or null]}
 *   older:     {"schema": {"name": 0, "time": 1, "data": 2}, ...}, data with "startTime" and
 *               "endTime", or with "interval": "start" or "end"
 *   a load:    data {"type": "Network", "id", "URI", "status": "STATUS_START", ...}, then a second
 *               marker with the same id and another status
 *   "counters": [{"name", "category", "pid", "samples": {"time": [ms], "count": [change]}}];
 *               older: "sampleGroups": [{"samples"}]
 *
 *   a screenshot: data {"type": "CompositorScreenshot", "url": a string's number}: a data: URL
 *
 * Specification: as for firefox.c. The members of "data" that are texts or numbers become labels.
 */
#include <string.h>

#include "base/hash.h"
#include "formats/firefox_int.h"

enum { PHASE_MOMENT, PHASE_STRETCH, PHASE_BEGIN, PHASE_END };

/* The fields of a marker's data that do not become labels. */
typedef struct {
    int64_t start, end;  /* NULL_CELL = none */
    int64_t cause, load; /* row of the stack table; id of the loaded resource; NULL_CELL = none */
    int64_t url;         /* a string's number; NULL_CELL = none */
    int phase;           /* phase by the member "interval"; -1 = no such member */
    bool is_network, loads_still, is_screenshot;
} marker_data;

/* A marker of the file that becomes a mark. */
typedef struct {
    int64_t start, length; /* start: NULL_CELL = not a mark, but the end of an earlier marker */
    int64_t data;          /* offset of the marker's data in the file; for a load, of the data of
                            * its last marker */
    uint32_t before;       /* the earlier open marker of the same slot; PT_NONE = none */
} pending;

/* A name of markers, or the id of a load, with its latest open marker. */
typedef struct {
    int64_t key;
    uint32_t open;
    bool is_load;
} opened;

typedef struct {
    fx_reader *x;
    fx_thread *thread;
    PT_VECTOR(pending) mark;
    PT_VECTOR(opened) slot;
    pt_index index;
    int64_t last; /* the last time in the thread */
} pairing;

/* ---- Data ---- */

/* Reads the first cell of the first row of {"samples": {"data": [[row, ...]]}}, a stack of the raw
 * form, whose opening brace was read. */
static int64_t read_raw_stack(pt_json_r *r)
{
    const unsigned depth = r->depth;
    bool is_data = false;
    int64_t row = NULL_CELL;
    while (pt_json_next(r) > PT_JSON_EOF && r->depth >= depth) {
        if (r->token == PT_JSON_KEY) is_data = pt_json_is(r, "data");
        if (is_data && row == NULL_CELL && r->token == PT_JSON_INT) row = r->integer;
    }
    return row;
}

/* Reads {"stack": row}, or a stack of the raw form. */
static int64_t read_cause(pt_json_r *r)
{
    int64_t row = NULL_CELL;
    while (pt_json_next(r) == PT_JSON_KEY) {
        const bool is_stack = pt_json_is(r, "stack"), is_raw = pt_json_is(r, "samples");
        pt_json_next(r);
        if (is_raw && r->token == PT_JSON_OBJECT) {
            row = read_raw_stack(r);
        } else {
            if (is_stack && r->token == PT_JSON_INT) row = r->integer;
            pt_json_skip(r);
        }
    }
    return row;
}

static void take_number(fx_reader *x, const pt_json_r *r, int64_t *ret)
{
    if (r->token == PT_JSON_INT || r->token == PT_JSON_NUMBER)
        *ret = pt_json_scale_time(&x->scale, pt_json_num_of(r));
}

/* Reads the data at an offset of the document. marks: receives the labels; if NULL, labels are
 * ignored. */
static marker_data read_data(fx_reader *x, int64_t at, pt_marks *marks)
{
    marker_data d = {.start = NULL_CELL,
                     .end = NULL_CELL,
                     .cause = NULL_CELL,
                     .load = NULL_CELL,
                     .url = NULL_CELL,
                     .phase = -1};
    PT_AUTO(pt_json_r) r = {0};
    if (at == NULL_CELL) return d;
    pt_json_r_init(&r, x->document + at, (size_t)(x->json.end - x->document - at), NULL);
    pt_json_next(&r);
    while (pt_json_next(&r) == PT_JSON_KEY) {
        char key[64];
        const size_t bytes = r.length < sizeof key ? r.length : sizeof key;
        memcpy(key, r.text, bytes);
        const bool is_cause = pt_json_is(&r, "cause") || pt_json_is(&r, "stack");
        const bool is_start = pt_json_is(&r, "startTime"), is_end = pt_json_is(&r, "endTime");
        const bool is_interval = pt_json_is(&r, "interval"), is_type = pt_json_is(&r, "type");
        const bool is_url = pt_json_is(&r, "url");
        const bool is_id = pt_json_is(&r, "id"), is_status = pt_json_is(&r, "status");
        pt_json_next(&r);
        if (is_cause && r.token == PT_JSON_OBJECT) {
            d.cause = read_cause(&r);
            continue;
        }
        if (is_start) take_number(x, &r, &d.start);
        if (is_end) take_number(x, &r, &d.end);
        if (is_id && r.token == PT_JSON_INT) d.load = r.integer;
        if (is_url && r.token == PT_JSON_INT) d.url = r.integer;
        if (r.token == PT_JSON_STRING) {
            if (is_type) d.is_network = pt_json_is(&r, "Network");
            if (is_type) d.is_screenshot = pt_json_is(&r, "CompositorScreenshot");
            if (is_status) d.loads_still = pt_json_is(&r, "STATUS_START");
            if (is_interval)
                d.phase = pt_json_is(&r, "start") ? PHASE_BEGIN
                          : pt_json_is(&r, "end") ? PHASE_END
                                                  : -1;
        }
        if (marks != NULL && !is_start && !is_end)
            pt_marks_member(marks, &r, key, bytes);
        else
            pt_json_skip(&r);
    }
    return d;
}

/* ---- Beginnings and ends ---- */

static opened *slot_of(pairing *p, int64_t key, bool is_load)
{
    const uint64_t hash = pt_hash_mix((uint64_t)key, is_load);
    uint32_t row = PT_INDEX_FIND(
        &p->index, hash, i, p->slot.items[i].key == key && p->slot.items[i].is_load == is_load);
    if (row == PT_NONE)
        row = PT_INDEX_PUSH(&p->index, hash, p->slot,
                            (opened){.key = key, .open = PT_NONE, .is_load = is_load});
    return &p->slot.items[row];
}

static void open_mark(pairing *p, opened *slot)
{
    const uint32_t row = (uint32_t)p->mark.count - 1;
    p->mark.items[row].before = slot->open;
    slot->open = row;
}

/* Ends the innermost open marker of the slot. Returns false if there is none. */
static bool close_mark(pairing *p, opened *slot, int64_t end, int64_t data)
{
    if (slot->open == PT_NONE) return false;
    pending *const begin = &p->mark.items[slot->open];
    slot->open = begin->before;
    if (end != NULL_CELL && end > begin->start) begin->length = pt_json_span(begin->start, end);
    if (data != NULL_CELL) begin->data = data;
    return true;
}

static void note_last_time(pairing *p, int64_t time)
{
    if (time != NULL_CELL && time > p->last) p->last = time;
}

static void pair_marker(pairing *p, int64_t row)
{
    const int64_t name = pt_firefox_cell(p->x, p->thread, MARKER_NAME, row);
    const int64_t data = pt_firefox_cell(p->x, p->thread, MARKER_DATA, row);
    const int64_t time = pt_firefox_cell(p->x, p->thread, MARKER_TIME, row);
    int64_t start = pt_firefox_cell(p->x, p->thread, MARKER_START, row);
    int64_t end = pt_firefox_cell(p->x, p->thread, MARKER_END, row);
    int64_t phase = pt_firefox_cell(p->x, p->thread, MARKER_PHASE, row);
    const marker_data d = read_data(p->x, data, NULL);
    if (phase == NULL_CELL) {
        phase = d.phase >= 0 ? d.phase : d.start != NULL_CELL ? PHASE_STRETCH : PHASE_MOMENT;
        if (start == NULL_CELL) start = d.start != NULL_CELL ? d.start : time;
        if (end == NULL_CELL) end = d.end != NULL_CELL ? d.end : phase == PHASE_END ? time : end;
    }
    note_last_time(p, start);
    note_last_time(p, end);
    pending mark = {.start = start != NULL_CELL ? start
                             : end != NULL_CELL ? end
                                                : 0,
                    .data = data,
                    .before = PT_NONE};
    if (phase == PHASE_STRETCH && end != NULL_CELL && end > mark.start)
        mark.length = pt_json_span(mark.start, end);
    const bool is_load = d.is_network && d.load != NULL_CELL;
    const bool ends = is_load ? !d.loads_still : phase == PHASE_END;
    const bool begins = is_load ? d.loads_still : phase == PHASE_BEGIN;
    if (ends) {
        if (close_mark(p, slot_of(p, is_load ? d.load : name, is_load), end,
                       is_load ? data : NULL_CELL))
            mark.start = NULL_CELL;
        else if (!is_load)
            p->x->beginless++;
    }
    PT_PUSH(p->mark, mark);
    if (begins) open_mark(p, slot_of(p, is_load ? d.load : name, is_load));
}

/* Ends the open markers at the last time of their thread. A load without an end keeps the length of
 * its first marker. */
static void close_rest(pairing *p)
{
    for (size_t i = 0; i < p->slot.count; i++) {
        opened *const slot = &p->slot.items[i];
        while (!slot->is_load && slot->open != PT_NONE) {
            p->x->endless++;
            close_mark(p, slot, p->last, NULL_CELL);
        }
    }
}

static uint32_t category_of(const fx_reader *x, int64_t category)
{
    return category >= 0 && (uint64_t)category < x->category.count ? x->category.items[category]
                                                                   : 0;
}

static int64_t time_after(int64_t start, int64_t offset)
{
    int64_t time;
    return __builtin_add_overflow(start, offset, &time) ? INT64_MAX : time;
}

static void put_marker(const pairing *p, pt_marks *marks, int64_t row)
{
    const pending *const mark = &p->mark.items[row];
    const marker_data d = read_data(p->x, mark->data, marks);
    const uint32_t category =
        category_of(p->x, pt_firefox_cell(p->x, p->thread, MARKER_CATEGORY, row));
    pt_marks_label(marks, PT_MARKER_CATEGORY, category);
    const int64_t picture = d.is_screenshot && d.url != NULL_CELL
                                ? pt_firefox_cell(p->x, p->thread, STRINGS, d.url)
                                : NULL_CELL;
    if (picture != NULL_CELL) pt_marks_picture(marks, (uint32_t)picture);
    const pt_sample of = {
        .stack = pt_firefox_stack(p->x, p->thread, d.cause),
        .time_ns = time_after(p->thread->start_ns, mark->start),
        .pid = p->thread->pid,
        .tid = p->thread->tid,
        .cpu = PT_NONE,
        .comm = p->thread->name,
    };
    pt_marks_put(marks, &of, pt_firefox_text(p->x, p->thread, MARKER_NAME, row), mark->length);
}

void pt_firefox_put_markers(fx_reader *x, pt_marks *marks, fx_thread *thread)
{
    const fx_tables *const t = &thread->tables;
    const size_t count = t->column[MARKER_NAME].count;
    if (count == 0) return;
    pairing p = {.x = x, .thread = thread};
    pt_index_init(&p.index);
    for (size_t i = 0; i < t->column[SAMPLE_TIME].count; i++)
        note_last_time(&p, t->column[SAMPLE_TIME].items[i]);
    for (size_t i = 0; i < count; i++)
        pair_marker(&p, (int64_t)i);
    close_rest(&p);
    for (size_t i = 0; i < count; i++)
        if (p.mark.items[i].start != NULL_CELL) put_marker(&p, marks, (int64_t)i);
    pt_index_done(&p.index);
    PT_FREE_ALL(p.mark.items, p.slot.items);
}

/* ---- Counters ---- */

/* Reads the list of groups of samples, whose opening bracket was read; only the first group is
 * used. */
static void read_groups(fx_reader *x, fx_tables *t)
{
    pt_json_r *const r = &x->json;
    while (pt_json_next(r) == PT_JSON_OBJECT) {
        while (pt_json_next(r) == PT_JSON_KEY) {
            const bool is_samples = pt_json_is(r, "samples");
            pt_json_next(r);
            if (is_samples && r->token == PT_JSON_OBJECT && t->column[COUNTER_CHANGE].count == 0)
                pt_firefox_read_table(x, t, "counter");
            else
                pt_json_skip(r);
        }
    }
}

static void read_counter(fx_reader *x)
{
    pt_json_r *const r = &x->json;
    fx_counter c = {.pid = PT_NONE};
    while (pt_json_next(r) == PT_JSON_KEY) {
        uint32_t *const to = pt_json_is(r, "name")       ? &c.name
                             : pt_json_is(r, "category") ? &c.category
                                                         : NULL;
        const bool is_pid = pt_json_is(r, "pid"), is_samples = pt_json_is(r, "samples"),
                   is_groups = pt_json_is(r, "sampleGroups");
        pt_json_next(r);
        if (to != NULL && r->token == PT_JSON_STRING)
            *to = pt_builder_string(x->builder, r->text, r->length).v;
        if (is_pid) c.pid = pt_firefox_id(r);
        if (is_samples && r->token == PT_JSON_OBJECT)
            pt_firefox_read_table(x, &c.tables, "counter");
        else if (is_groups && r->token == PT_JSON_ARRAY)
            read_groups(x, &c.tables);
        else
            pt_json_skip(r);
    }
    if (c.tables.column[COUNTER_CHANGE].count == 0) {
        pt_firefox_tables_done(&c.tables);
        return;
    }
    fx_counter *const kept = pt_alloc(1, sizeof *kept);
    *kept = c;
    PT_PUSH(x->counter, kept);
}

void pt_firefox_read_counters(fx_reader *x)
{
    while (pt_json_next(&x->json) == PT_JSON_OBJECT)
        read_counter(x);
}

static pt_counter_kind kind_of(const fx_reader *x, const fx_counter *c)
{
    const char *const category = pt_builder_get_text(x->builder, (pt_string_id){c->category});
    return strcmp(category, "Memory") == 0      ? PT_COUNTER_MEMORY
           : strcmp(category, "Bandwidth") == 0 ? PT_COUNTER_NETWORK
                                                : PT_COUNTER_OTHER;
}

unsigned pt_firefox_marks_needed(const fx_reader *x)
{
    unsigned needed = 0;
    for (size_t i = 0; i < x->thread.count; i++)
        if (x->thread.items[i]->tables.column[MARKER_NAME].count > 0) needed |= PT_MARKS_MARKS;
    for (size_t i = 0; i < x->counter.count; i++)
        needed |= (unsigned)PT_MARKS_COUNTERS << kind_of(x, x->counter.items[i]);
    return needed;
}

void pt_firefox_put_counters(fx_reader *x, pt_marks *marks)
{
    for (size_t i = 0; i < x->counter.count; i++) {
        const fx_counter *const c = x->counter.items[i];
        const pt_counter_kind kind = kind_of(x, c);
        pt_sample of = {.pid = c->pid, .tid = PT_NONE, .cpu = PT_NONE, .time_ns = c->start_ns};
        for (size_t k = 0; k < c->tables.column[COUNTER_CHANGE].count; k++) {
            const bool has_time = k < c->tables.column[COUNTER_TIME].count;
            const bool has_delta = k < c->tables.column[COUNTER_DELTA].count;
            const int64_t time = has_time    ? c->tables.column[COUNTER_TIME].items[k]
                                 : has_delta ? c->tables.column[COUNTER_DELTA].items[k]
                                             : NULL_CELL;
            if (time != NULL_CELL)
                of.time_ns = time_after(has_time ? c->start_ns : of.time_ns, time);
            const int64_t change = c->tables.column[COUNTER_CHANGE].items[k];
            if (change != NULL_CELL) pt_marks_count(marks, &of, kind, c->name, change);
        }
    }
}
