/* marks.c: see marks.h. */
#include "view/marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "model/marks.h"
#include "transform/filter.h"

typedef struct {
    const pt_profile *profile;
    const pt_timeline *timeline;
    const pt_marks_request *request;
    pt_mark_columns columns;
    PT_VECTOR(uint32_t) point; /* events of tracepoints and probes */
    PT_VECTOR(pt_mark) mark;
    PT_VECTOR(pt_mark_row) row;
    PT_VECTOR(pt_counter) counter;
    pt_index rows, counters;
} gathering;

/* A change of a counter. */
typedef struct {
    uint64_t since_ns;
    uint32_t counter;
    int64_t change;
} change;

/* ---- Marks among the samples ---- */

/* Is the event a tracepoint or probe: "syscalls:sys_enter_fsync", "probe:f"? "cycles:u" is not: it
 * ends with perf's letters for the mode of counting. */
static bool is_point(const pt_profile *p, uint32_t event)
{
    const char *const colon = strchr(pt_text(p, p->event->row[event].type), ':');
    return colon != NULL && colon[1 + strspn(colon + 1, "ukhIGHpPSDWeb")] != '\0' &&
           strcmp(pt_text(p, p->event->row[event].unit), "count") == 0;
}

bool pt_marks_any(const pt_profile *profile, uint32_t event)
{
    const pt_mark_columns columns = pt_mark_columns_of(profile);
    bool any = columns.marker != PT_NONE;
    for (int k = 0; k < PT_COUNTER_KINDS; k++)
        any |= columns.counter[k] != PT_NONE;
    for (uint32_t e = 0; e < profile->event->t.count; e++)
        any |= e != event && is_point(profile, e);
    return any;
}

/* The tracepoint event of a sample; PT_NONE if the sample is of none. */
static uint32_t point_of(const gathering *g, uint32_t sample)
{
    for (size_t i = 0; i < g->point.count; i++)
        if (g->profile->sample->value[g->point.items[i]][sample] != 0) return g->point.items[i];
    return PT_NONE;
}

static const char *label_of(const pt_profile *p, uint32_t sample, const char *key)
{
    return pt_text(p, pt_sample_label_text(p, sample, key));
}

static const char *address_of(const pt_profile *p, uint32_t sample, const char *category)
{
    const char *const type = label_of(p, sample, PT_MARKER_DATA "type");
    if (strcmp(category, "Network") != 0 && strcmp(type, "Network") != 0) return "";
    const char *const address = label_of(p, sample, PT_MARKER_DATA "URI");
    return address[0] != '\0' ? address : label_of(p, sample, PT_MARKER_DATA "url");
}

/* ---- Gathering ---- */

static uint64_t hash_of(const char *name, uint32_t pid, uint32_t tid)
{
    return pt_hash_mix((uintptr_t)name, pt_hash_u32_pair(pid, tid));
}

/* The row of a mark; PT_NONE if there is none. Equal texts of a profile have the same address. */
static uint32_t find_row(const gathering *g, const pt_mark *m)
{
    return PT_INDEX_FIND(&g->rows, hash_of(m->name, m->pid, m->tid), i,
                         g->row.items[i].name == m->name && g->row.items[i].pid == m->pid &&
                             g->row.items[i].tid == m->tid);
}

static void count_mark(gathering *g, const pt_mark *m)
{
    uint32_t at = find_row(g, m);
    if (at == PT_NONE) {
        const pt_mark_row row = {.name = m->name,
                                 .category = m->category,
                                 .pid = m->pid,
                                 .tid = m->tid,
                                 .comm = m->comm};
        at = PT_INDEX_PUSH(&g->rows, hash_of(m->name, m->pid, m->tid), g->row, row);
    }
    g->row.items[at].count++;
    g->row.items[at].length_ns = pt_saturating_count(g->row.items[at].length_ns, m->length_ns);
}

static void add_mark(gathering *g, uint32_t sample, int64_t ns, const char *name, int64_t length)
{
    const pt_profile *const p = g->profile;
    pt_mark m = {
        .name = name,
        .category = label_of(p, sample, PT_MARKER_CATEGORY),
        .comm = pt_sample_comm(p, sample),
        .since_ns = pt_distance(g->timeline->first_ns, ns),
        .length_ns = length > 0 ? (uint64_t)length : 0,
        .sample = sample,
    };
    pt_sample_thread(p, sample, &m.pid, &m.tid);
    m.address = address_of(p, sample, m.category);
    PT_PUSH(g->mark, m);
    count_mark(g, &m);
}

static uint32_t counter_of(gathering *g, uint32_t sample, pt_counter_kind kind)
{
    const pt_profile *const p = g->profile;
    const char *const name = label_of(p, sample, PT_COUNTER_LABEL);
    uint32_t pid, tid;
    pt_sample_thread(p, sample, &pid, &tid);
    const char *const unit = pt_counter_unit(kind);
    const uint64_t hash = hash_of(name, pid, (uint32_t)kind);
    const uint32_t known =
        PT_INDEX_FIND(&g->counters, hash, i,
                      g->counter.items[i].name == name && g->counter.items[i].pid == pid &&
                          g->counter.items[i].unit == unit);
    if (known != PT_NONE) return known;
    return PT_INDEX_PUSH(
        &g->counters, hash, g->counter,
        (pt_counter){.name = name, .unit = unit, .pid = pid, .comm = pt_sample_comm(p, sample)});
}

PT_ORDER(compare_changes, change, PT_UP(since_ns) ?: PT_UP(counter));

/* The longest first, then by their beginning. */
PT_ORDER(compare_lengths, pt_mark, PT_DOWN(length_ns) ?: PT_UP(since_ns) ?: PT_UP(sample));

PT_ORDER(compare_starts, pt_mark, PT_UP(since_ns) ?: PT_UP(sample));

PT_ORDER(compare_rows, pt_mark_row, PT_DOWN(length_ns) ?: PT_DOWN(count) ?: PT_TEXT_UP(name)
         ?: PT_UP(pid) ?: PT_UP(tid));

/* ---- Steps ---- */

static uint32_t step_at(const pt_timeline *t, uint64_t since_ns)
{
    const uint64_t step = since_ns / t->step_ns;
    return (uint32_t)(step < t->steps - 1 ? step : t->steps - 1);
}

/* The number of rows: as many as requested, as far as PT_TIMELINE_VALUES allows for both kinds. */
static size_t fitting_rows(const gathering *g, size_t count)
{
    const size_t room = PT_TIMELINE_VALUES / g->timeline->steps / 2;
    const size_t most = g->request->rows < room ? g->request->rows : room;
    return count < most ? count : most;
}

/* Fills the steps of the kept rows. A mark counts in each step that its time touches: its first
 * step gets +1, and the step after its last step gets -1; then the steps are summed up from the
 * first on. */
static void fill_rows(gathering *g)
{
    const pt_timeline *const t = g->timeline;
    pt_index_done(&g->rows);
    pt_index_init(&g->rows);
    for (size_t i = 0; i < g->row.count; i++) {
        pt_mark_row *const row = &g->row.items[i];
        row->value = pt_alloc((size_t)t->steps + 1, sizeof *row->value);
        pt_index_add(&g->rows, hash_of(row->name, row->pid, row->tid), (uint32_t)i);
    }
    for (size_t k = 0; k < g->mark.count; k++) {
        const pt_mark *const m = &g->mark.items[k];
        const uint32_t at = find_row(g, m);
        if (at == PT_NONE) continue;
        int64_t *const value = g->row.items[at].value;
        value[step_at(t, m->since_ns)]++;
        value[step_at(t, pt_saturating_count(m->since_ns, m->length_ns)) + 1]--;
    }
    for (size_t i = 0; i < g->row.count; i++)
        for (uint32_t s = 1; s < t->steps; s++)
            g->row.items[i].value[s] += g->row.items[i].value[s - 1];
}

/* Adds up the changes in the order of time. A step without a change keeps the sum before. */
static void fill_counters(gathering *g, change *changes, size_t count)
{
    const pt_timeline *const t = g->timeline;
    if (count > 0) qsort(changes, count, sizeof *changes, compare_changes);
    const size_t kept = fitting_rows(g, g->counter.count);
    PT_FREE uint32_t *filled = pt_alloc(g->counter.count + 1, sizeof *filled);
    PT_FREE bool *seen = pt_alloc(g->counter.count + 1, sizeof *seen);
    for (size_t i = 0; i < kept; i++)
        g->counter.items[i].value = pt_alloc(t->steps, sizeof *g->counter.items[i].value);
    for (size_t k = 0; k < count; k++) {
        const uint32_t at = changes[k].counter;
        pt_counter *const c = &g->counter.items[at];
        const uint32_t step = step_at(t, changes[k].since_ns);
        for (; c->value != NULL && filled[at] < step; filled[at]++)
            c->value[filled[at]] = c->last;
        pt_saturating_into(&c->last, changes[k].change);
        if (!seen[at] || c->last < c->least) c->least = c->last;
        if (!seen[at] || c->last > c->most) c->most = c->last;
        seen[at] = true;
    }
    for (size_t i = 0; i < kept; i++)
        for (uint32_t s = filled[i]; s < t->steps; s++)
            g->counter.items[i].value[s] = g->counter.items[i].last;
}

static void gather_marks(gathering *g)
{
    const pt_profile *const p = g->profile;
    PT_VECTOR(change) changes = {0};
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        int64_t ns;
        if (!pt_sample_time(p, i, &ns)) continue;
        const pt_counter_kind kind = pt_sample_counter(p, &g->columns, i);
        const uint32_t point = point_of(g, i);
        if (pt_sample_is_mark(p, &g->columns, i)) {
            const int64_t length =
                g->columns.length != PT_NONE ? p->sample->value[g->columns.length][i] : 0;
            add_mark(g, i, ns, label_of(p, i, PT_MARKER_LABEL), length);
        } else if (point != PT_NONE) {
            add_mark(g, i, ns, pt_text(p, p->event->row[point].type), 0);
        } else if (kind != PT_COUNTER_KINDS) {
            const change c = {.since_ns = pt_distance(g->timeline->first_ns, ns),
                              .counter = counter_of(g, i, kind),
                              .change = p->sample->value[g->columns.counter[kind]][i]};
            PT_PUSH(changes, c);
        }
    }
    fill_counters(g, changes.items, changes.count);
    free(changes.items);
}

pt_marks_view pt_marks_view_of(const pt_profile *profile, const pt_timeline *timeline,
                               const pt_marks_request *request)
{
    gathering g = {.profile = profile,
                   .timeline = timeline,
                   .request = request,
                   .columns = pt_mark_columns_of(profile)};
    pt_index_init(&g.rows);
    pt_index_init(&g.counters);
    for (uint32_t e = 0; e < g.profile->event->t.count; e++)
        if (e != g.request->event && is_point(g.profile, e)) PT_PUSH(g.point, e);
    gather_marks(&g);
    if (g.row.count > 0) qsort(g.row.items, g.row.count, sizeof *g.row.items, compare_rows);
    pt_marks_view v = {.row_count = fitting_rows(&g, g.row.count),
                       .counter_count = fitting_rows(&g, g.counter.count)};
    v.more_rows = g.row.count - v.row_count;
    v.more_counters = g.counter.count - v.counter_count;
    g.row.count = v.row_count;
    fill_rows(&g);
    v.row = g.row.items;
    v.counter = g.counter.items;
    v.mark = g.mark.items;
    v.mark_count = g.mark.count < request->listed ? g.mark.count : request->listed;
    v.more_marks = g.mark.count - v.mark_count;
    if (v.more_marks > 0 && v.mark_count > 0)
        qsort(v.mark, g.mark.count, sizeof *v.mark, compare_lengths);
    if (v.mark_count > 0) qsort(v.mark, v.mark_count, sizeof *v.mark, compare_starts);
    pt_index_done(&g.rows);
    pt_index_done(&g.counters);
    free(g.point.items);
    return v;
}

void pt_marks_view_done(pt_marks_view *view)
{
    for (size_t i = 0; i < view->row_count; i++)
        free(view->row[i].value);
    for (size_t i = 0; i < view->counter_count; i++)
        free(view->counter[i].value);
    PT_FREE_ALL(view->mark, view->row, view->counter);
    *view = (pt_marks_view){0};
}
