/* merge_header.c: finds the common events of profiles, and merges their headers. */
#include "transform/merge_int.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#define EVENTS_SEARCHED 64 /* real profiles have up to four */

typedef pt_merge_adding adding;

static uint32_t map_string(adding *a, uint32_t string)
{
    return pt_merge_string(a, string);
}

/* ---- Events ---- */

static void begin_events(adding *a)
{
    pt_merge *const m = a->merge;
    const pt_events *const events = a->p->event;
    m->everywhere = pt_alloc((size_t)events->t.count + 1, sizeof *m->everywhere);
    a->event = pt_alloc((size_t)events->t.count + 1, sizeof *a->event);
    for (uint32_t e = 0; e < events->t.count; e++) {
        if (m->keep && !m->keep[e]) continue;
        pt_event event = events->row[e];
        event.type = map_string(a, event.type);
        event.unit = map_string(a, event.unit);
        pt_builder_event(a->b, &event);
        m->everywhere[m->event_count] = true;
        a->event[m->event_count++] = e;
    }
}

static bool same_event(adding *a, uint32_t ours, uint32_t theirs)
{
    const pt_event *const event = pt_builder_event_at(a->b, ours);
    const uint32_t type = event->type, unit = event->unit;
    return map_string(a, a->p->event->row[theirs].type) == type &&
           map_string(a, a->p->event->row[theirs].unit) == unit;
}

/* Finds the profile's event for each event of the result: the event at the same place if that is
 * equal, else the first equal event. */
static void find_events(adding *a)
{
    const uint32_t theirs = a->p->event->t.count;
    for (uint32_t e = 0; e < a->merge->event_count; e++) {
        uint32_t found = PT_NONE;
        if (e < theirs && same_event(a, e, e)) found = e;
        for (uint32_t k = 0; found == PT_NONE && k < theirs && k < EVENTS_SEARCHED; k++) {
            if (same_event(a, e, k)) found = k;
        }
        a->event[e] = found;
    }
}

/* "cpu/nanoseconds", for a message. The caller frees the text. */
static char *event_text(const char *type, const char *unit)
{
    return pt_strf("%s/%s", type, unit);
}

/* Facts that differ between the profiles are cleared. Of periods the longest remains, as in pprof's
 * header. */
static void join_event(pt_event *into, const pt_event *from)
{
    into->period_varies |= from->period_varies || into->period != from->period;
    if (from->period > into->period) into->period = from->period;
    if (into->rate_hz != from->rate_hz) into->rate_hz = 0;
    if (into->monitored_fraction != from->monitored_fraction) into->monitored_fraction = 0;
}

/* Reports events of this profile that earlier profiles lack. */
static void report_new_events(const adding *a)
{
    for (uint32_t i = 0; i < a->p->event->t.count; i++) {
        bool known = false;
        for (uint32_t e = 0; e < a->merge->event_count; e++)
            known |= a->event[e] == i;
        if (!known)
            pt_diag_add(a->merge->diag, 1, "value (%s) left out, since not every profile has it",
                        pt_text(a->p, a->p->event->row[i].type));
    }
}

pt_status pt_merge_events(adding *a, pt_error *reterr)
{
    pt_merge *const m = a->merge;
    if (m->profile_count == 0) {
        begin_events(a);
        return PT_OK;
    }
    a->event = pt_alloc((size_t)m->event_count + 1, sizeof *a->event);
    find_events(a);
    PT_FREE bool *everywhere = pt_alloc((size_t)m->event_count + 1, sizeof *everywhere);
    uint32_t common = 0;
    for (uint32_t e = 0; e < m->event_count; e++) {
        everywhere[e] = m->everywhere[e] && a->event[e] != PT_NONE;
        common += everywhere[e];
    }
    if (common == 0 && m->event_count > 0) {
        const pt_event *const ours = pt_builder_event_at(a->b, m->event_count - 1);
        PT_FREE char *have = event_text(pt_builder_get_text(a->b, (pt_string_id){ours->type}),
                                        pt_builder_get_text(a->b, (pt_string_id){ours->unit}));
        const uint32_t count = a->p->event->t.count;
        PT_FREE char *got = count == 0
                                ? pt_strdup("nothing")
                                : event_text(pt_text(a->p, a->p->event->row[count - 1].type),
                                             pt_text(a->p, a->p->event->row[count - 1].unit));
        return pt_error_set(reterr, PT_ERR_USAGE,
                            "measures %s, the profiles before it %s: nothing in common to add up",
                            got, have);
    }
    for (uint32_t e = 0; e < m->event_count; e++) {
        m->everywhere[e] = everywhere[e];
        if (a->event[e] != PT_NONE)
            join_event(pt_builder_event_at(a->b, e), &a->p->event->row[a->event[e]]);
    }
    if (!m->pprof) report_new_events(a);
    return PT_OK;
}

/* ---- Header ---- */

static uint32_t agreed_string(adding *a, uint32_t ours, uint32_t theirs)
{
    return ours == map_string(a, theirs) ? ours : 0;
}

static void add_comments(adding *a, const pt_provenance *from)
{
    pt_merge *const m = a->merge;
    for (uint32_t i = 0; i < from->comment_count; i++) {
        const uint32_t comment = map_string(a, from->comments[i]);
        const uint64_t hash = pt_hash_u32_pair(comment, 1);
        if (PT_INDEX_FIND(&m->comment_index, hash, at, m->comment.items[at] == comment) != PT_NONE)
            continue;
        PT_INDEX_PUSH(&m->comment_index, hash, m->comment, comment);
        pt_builder_comment(a->b, (pt_string_id){comment});
    }
}

static bool has_extra(const pt_merge *m, uint64_t hash, uint32_t key, uint32_t value)
{
    return PT_INDEX_FIND(&m->extra_index, hash, at,
                         m->extra.items[at].key == key && m->extra.items[at].value == value) !=
           PT_NONE;
}

/* Adds the extras that the result does not have yet, in order. Repetitions within one profile stay.
 */
void pt_merge_extras(adding *a)
{
    pt_merge *const m = a->merge;
    const pt_extras *const from = a->p->extra;
    const size_t before = m->extra.count;
    for (uint32_t i = 0; i < from->t.count; i++) {
        const uint32_t key = map_string(a, from->key[i]), value = map_string(a, from->value[i]);
        const uint64_t hash = pt_hash_u32_pair(key, value);
        /* Compares with earlier profiles only: this profile's extras are not in the index yet. */
        if (has_extra(m, hash, key, value)) continue;
        PT_PUSH(m->extra, (struct extra_line){key, value});
        pt_builder_extra(a->b, (pt_string_id){key}, (pt_string_id){value});
    }
    /* Adds each distinct line to the index once: many equal entries would make searches long. */
    for (size_t i = before; i < m->extra.count; i++) {
        const struct extra_line line = m->extra.items[i];
        const uint64_t hash = pt_hash_u32_pair(line.key, line.value);
        if (!has_extra(m, hash, line.key, line.value))
            pt_index_add(&m->extra_index, hash, (uint32_t)i);
    }
}

static void first_header(adding *a, pt_provenance *into, const pt_provenance *from)
{
    *into = *from;
    into->comments = NULL;
    into->comment_count = 0;
    uint32_t *const strings[] = {
        &into->tool,        &into->host,          &into->os,
        &into->cpu_model,   &into->command_line,  &into->source_format,
        &into->period_type, &into->period_unit,   &into->drop_frames,
        &into->keep_frames, &into->default_event, &into->doc_url,
    };
    for (size_t i = 0; i < PT_COUNT(strings); i++)
        *strings[i] = map_string(a, *strings[i]);
}

/* Adds two numbers. 0 means unknown. If one of the numbers is unknown, so is the sum: *ret_unknown
 * is then true. */
static int64_t add_known(int64_t x, int64_t y, bool *ret_unknown)
{
    if ((x == 0) == (y == 0)) return pt_saturating_add(x, y);
    *ret_unknown = true;
    return 0;
}

static void next_header(adding *a, pt_provenance *into, const pt_provenance *from)
{
    into->tool = agreed_string(a, into->tool, from->tool);
    into->host = agreed_string(a, into->host, from->host);
    into->os = agreed_string(a, into->os, from->os);
    into->cpu_model = agreed_string(a, into->cpu_model, from->cpu_model);
    into->command_line = agreed_string(a, into->command_line, from->command_line);
    into->source_format = agreed_string(a, into->source_format, from->source_format);
    if ((into->has_period_type != from->has_period_type && !a->merge->pprof) ||
        into->period_type != map_string(a, from->period_type) ||
        into->period_unit != map_string(a, from->period_unit)) {
        into->has_period_type = false;
        into->period_type = into->period_unit = 0;
    }
    if (from->period > into->period) into->period = from->period;
    const bool forgets = a->merge->pprof || from->start_ns != 0;
    if (into->start_ns == 0 || (forgets && from->start_ns < into->start_ns))
        into->start_ns = from->start_ns;
    into->duration_ns = pt_saturating_add(into->duration_ns, from->duration_ns);
    into->cpu_used_ns = add_known(into->cpu_used_ns, from->cpu_used_ns, &a->merge->used_unknown);
    into->cpu_seen_ns = add_known(into->cpu_seen_ns, from->cpu_seen_ns, &a->merge->seen_unknown);
    into->lost = pt_saturating_count(into->lost, from->lost);
    into->throttled = pt_saturating_count(into->throttled, from->throttled);
    if (into->asked_hz != from->asked_hz) into->asked_hz = 0;
    if (into->true_hz != from->true_hz) into->true_hz = 0;
    if (into->word_bytes != from->word_bytes) into->word_bytes = 0;
    into->big_endian &= from->big_endian;
    if (into->default_event == 0) into->default_event = map_string(a, from->default_event);
    if (into->doc_url == 0) into->doc_url = map_string(a, from->doc_url);
    into->damaged |= from->damaged;
}

void pt_merge_header(adding *a)
{
    const pt_provenance *const from = pt_profile_provenance(a->p);
    pt_provenance *const into = pt_builder_provenance(a->b);
    if (a->merge->profile_count == 0)
        first_header(a, into, from);
    else
        next_header(a, into, from);
    add_comments(a, from);
}
