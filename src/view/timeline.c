/* timeline.c: two passes over the samples: the first finds the tracks, the second fills their
 * steps. */
#include "view/timeline.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/index.h"
#include "transform/filter.h"

#define NS_PER_S INT64_C(1000000000)

typedef struct {
    const pt_profile *profile;
    const int64_t *value;
    pt_timeline *timeline;
    pt_index index; /* of tracks, by kind and number */
    size_t cap;
} counting;

static uint32_t column_at(const uint32_t *column, uint32_t sample)
{
    return column != NULL ? column[sample] : PT_NONE;
}

static uint32_t number_of(const pt_track *t)
{
    return t->kind == PT_TRACK_PROCESS ? t->pid : t->kind == PT_TRACK_THREAD ? t->tid : t->cpu;
}

/* Adds the sample to the track of that kind and number, which is made if it is new. */
static void add_to_track(counting *c, pt_track_kind kind, uint32_t number, uint32_t sample)
{
    pt_timeline *t = c->timeline;
    if (kind != PT_TRACK_ALL && number == PT_NONE) return;
    const uint64_t hash = pt_hash_u32_pair(number, kind);
    uint32_t at = PT_INDEX_FIND(&c->index, hash, id,
                                t->track[id].kind == kind &&
                                    (kind == PT_TRACK_ALL || number_of(&t->track[id]) == number));
    if (at == PT_NONE) {
        const bool is_cpu = kind == PT_TRACK_CPU;
        uint32_t pid, tid;
        pt_sample_thread(c->profile, sample, &pid, &tid);
        at = (uint32_t)t->count++;
        t->track = pt_grow(t->track, &c->cap, t->count, sizeof *t->track);
        t->track[at] = (pt_track){
            .kind = kind,
            .pid = kind == PT_TRACK_ALL || is_cpu ? PT_NONE : pid,
            .tid = kind == PT_TRACK_THREAD ? number : PT_NONE,
            .cpu = is_cpu ? number : PT_NONE,
            .comm = "",
        };
        if (kind != PT_TRACK_ALL && !is_cpu) t->track[at].comm = pt_sample_comm(c->profile, sample);
        pt_index_add(&c->index, hash, at);
    }
    pt_saturating_into(&t->track[at].total, c->value[sample]);
}

static void find_span(pt_timeline *t, const pt_profile *whole)
{
    for (uint32_t i = 0; i < whole->sample->t.count; i++) {
        int64_t ns;
        if (!pt_sample_time(whole, i, &ns)) continue;
        if (!t->has_times || ns < t->first_ns) t->first_ns = ns;
        if (!t->has_times || ns > t->last_ns) t->last_ns = ns;
        t->has_times = true;
    }
}

static void find_tracks(counting *c)
{
    const pt_samples *s = c->profile->sample;
    for (uint32_t i = 0; i < s->t.count; i++) {
        int64_t ns;
        if (!pt_sample_time(c->profile, i, &ns)) {
            c->timeline->untimed++;
            continue;
        }
        add_to_track(c, PT_TRACK_ALL, 0, i);
        uint32_t pid, tid;
        pt_sample_thread(c->profile, i, &pid, &tid);
        add_to_track(c, PT_TRACK_PROCESS, pid, i);
        add_to_track(c, PT_TRACK_THREAD, tid, i);
        add_to_track(c, PT_TRACK_CPU, column_at(s->cpu, i), i);
    }
}

PT_ORDER(compare_tracks, pt_track, PT_UP(kind) ?: pt_compare_magnitudes(a->total, b->total)
         ?: PT_COMPARE(number_of(a), number_of(b)));

/* Keeps the heaviest tracks of each kind: as many as requested, and as the third of
 * PT_TIMELINE_VALUES allows that each of the three kinds gets. */
static void cut_tracks(counting *c, uint32_t most)
{
    pt_timeline *t = c->timeline;
    const uint32_t room = (PT_TIMELINE_VALUES / t->steps - 1) / 3;
    const bool is_less = room < most;
    if (is_less) most = room;
    qsort(t->track, t->count, sizeof *t->track, compare_tracks);
    size_t kept = 0;
    uint32_t of_kind[PT_TRACK_CPU + 1] = {0};
    for (size_t i = 0; i < t->count; i++) {
        if (of_kind[t->track[i].kind]++ < most)
            t->track[kept++] = t->track[i];
        else
            t->more++;
    }
    t->count = kept;
    t->is_full = is_less && t->more > 0;
    pt_index_done(&c->index);
    pt_index_init(&c->index);
    for (size_t i = 0; i < kept; i++) {
        t->track[i].value = pt_alloc(t->steps, sizeof *t->track[i].value);
        const uint32_t number = t->track[i].kind == PT_TRACK_ALL ? 0 : number_of(&t->track[i]);
        pt_index_add(&c->index, pt_hash_u32_pair(number, t->track[i].kind), (uint32_t)i);
    }
}

static void put_value(counting *c, pt_track_kind kind, uint32_t number, uint32_t step,
                      int64_t value)
{
    pt_timeline *t = c->timeline;
    const uint32_t at = PT_INDEX_FIND(
        &c->index, pt_hash_u32_pair(number, kind), id,
        t->track[id].kind == kind && (kind == PT_TRACK_ALL || number_of(&t->track[id]) == number));
    if (at != PT_NONE) pt_saturating_into(&t->track[at].value[step], value);
}

static void fill_tracks(counting *c)
{
    pt_timeline *t = c->timeline;
    const pt_samples *s = c->profile->sample;
    for (uint32_t i = 0; i < s->t.count; i++) {
        int64_t ns;
        if (!pt_sample_time(c->profile, i, &ns)) continue;
        const uint64_t since = pt_distance(t->first_ns, ns);
        const uint64_t last = t->steps - 1, at = since / t->step_ns;
        const uint32_t step = (uint32_t)(at < last ? at : last);
        put_value(c, PT_TRACK_ALL, 0, step, c->value[i]);
        uint32_t pid, tid;
        pt_sample_thread(c->profile, i, &pid, &tid);
        put_value(c, PT_TRACK_PROCESS, pid, step, c->value[i]);
        put_value(c, PT_TRACK_THREAD, tid, step, c->value[i]);
        put_value(c, PT_TRACK_CPU, column_at(s->cpu, i), step, c->value[i]);
        if (t->seconds == 0) continue;
        const uint64_t part = since / (NS_PER_S / PT_TIMELINE_OFFSETS);
        pt_saturating_into(&t->heat[part], c->value[i]);
    }
}

pt_timeline pt_timeline_of(const pt_profile *profile, const pt_timeline_request *request)
{
    pt_timeline t = {.steps = request->steps};
    counting c = {
        .profile = profile, .value = profile->sample->value[request->event], .timeline = &t};
    find_span(&t, request->whole);
    if (!t.has_times) return t;
    const uint64_t span = pt_timeline_span(&t);
    t.step_ns = pt_saturating_count(span / request->steps, 1);
    if (span / NS_PER_S < PT_TIMELINE_SECONDS) {
        t.seconds = (uint32_t)(span / NS_PER_S) + 1;
        t.heat = pt_alloc((size_t)t.seconds * PT_TIMELINE_OFFSETS, sizeof *t.heat);
    }
    pt_index_init(&c.index);
    find_tracks(&c);
    cut_tracks(&c, request->tracks);
    fill_tracks(&c);
    pt_index_done(&c.index);
    return t;
}

void pt_timeline_done(pt_timeline *timeline)
{
    for (size_t i = 0; i < timeline->count; i++)
        free(timeline->track[i].value);
    PT_FREE_ALL(timeline->track, timeline->heat);
    *timeline = (pt_timeline){0};
}
