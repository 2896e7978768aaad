/* info.c: see info.h. Walks the samples once, and each small table once. */
#include "view/info.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>

static void count_events(pt_info *info, const pt_profile *p)
{
    const uint32_t shown = pt_profile_default_event(p);
    info->event_count = p->event->t.count;
    info->events = pt_alloc((size_t)info->event_count + 1, sizeof *info->events);
    for (uint32_t e = 0; e < info->event_count; e++) {
        const pt_event *const event = &p->event->row[e];
        pt_info_event *const row = &info->events[e];
        *row = (pt_info_event){
            .type = pt_text(p, event->type),
            .unit = pt_text(p, event->unit),
            .kind = event->kind,
            .total = pt_profile_total(p, e),
            .period = event->period,
            .is_default = e == shown,
        };
        for (uint32_t i = 0; i < p->sample->t.count; i++)
            row->samples += p->sample->value[e][i] != 0;
    }
}

/* ---- Depth and ends ---- */

/* The smallest depth such that at least `rank` samples are not deeper. */
static uint32_t depth_of_rank(const uint32_t *samples_of_depth, uint32_t depth_max, uint64_t rank)
{
    uint64_t sum = 0;
    for (uint32_t depth = 0; depth <= depth_max; depth++) {
        sum += samples_of_depth[depth];
        if (sum >= rank) return depth;
    }
    return depth_max;
}

static void measure_depths(pt_info *info, const pt_profile *p)
{
    const uint32_t n = p->sample->t.count;
    if (n == 0) return;
    info->depth_min = UINT32_MAX;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t stack = p->sample->stack[i], depth = pt_stack_depth(p, stack);
        if (depth < info->depth_min) info->depth_min = depth;
        if (depth > info->depth_max) info->depth_max = depth;
        sum += depth;
        info->ends[p->stack->end[stack]]++;
    }
    info->depth_mean = sum / n;
    PT_FREE uint32_t *of_depth = pt_alloc((size_t)info->depth_max + 1, sizeof *of_depth);
    for (uint32_t i = 0; i < n; i++)
        of_depth[pt_stack_depth(p, p->sample->stack[i])]++;
    info->depth_median = depth_of_rank(of_depth, info->depth_max, ((uint64_t)n + 1) / 2);
    info->depth_p99 = depth_of_rank(of_depth, info->depth_max, ((uint64_t)n * 99 + 99) / 100);
}

/* The share of each end by the values of the shown event, as in reports; by the number of samples
 * if the values are 0. */
static void share_ends(pt_info *info, const pt_profile *p)
{
    const uint32_t event = pt_profile_default_event(p);
    double all = 0;
    for (uint32_t i = 0; event != PT_NONE && i < p->sample->t.count; i++) {
        const double weight = (double)pt_magnitude(p->sample->value[event][i]);
        info->end_share[p->stack->end[p->sample->stack[i]]] += weight;
        all += weight;
    }
    for (int end = 0; end < PT_STACK_END_COUNT; end++) {
        if (all > 0)
            info->end_share[end] /= all;
        else if (info->samples > 0)
            info->end_share[end] = (double)info->ends[end] / info->samples;
    }
}

static void find_time_span(pt_info *info, const pt_profile *p)
{
    for (uint32_t i = 0; p->sample->time_ns && i < p->sample->t.count; i++) {
        const int64_t time = p->sample->time_ns[i];
        if (time == 0) continue;
        if (info->first_sample_ns == 0 || time < info->first_sample_ns)
            info->first_sample_ns = time;
        if (time > info->last_sample_ns) info->last_sample_ns = time;
    }
}

/* ---- Locations and mappings ---- */

static bool is_named(const pt_profile *p, uint32_t location)
{
    for (uint32_t k = p->location->line_first[location]; k < p->location->line_first[location + 1];
         k++) {
        const uint32_t function = p->line->function[k];
        if (function != PT_NONE &&
            (p->function->name[function] != 0 || p->function->system_name[function] != 0))
            return true;
    }
    return false;
}

static void count_locations(pt_info *info, const pt_profile *p, uint64_t *ret_outside)
{
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        const uint32_t mapping = p->location->mapping[i];
        const bool named = is_named(p, i);
        info->named_locations += named;
        info->inlined_locations += p->location->line_first[i + 1] - p->location->line_first[i] > 1;
        *ret_outside += mapping == PT_NONE && p->location->address[i] != 0;
        if (mapping == PT_NONE) continue;
        info->mappings[mapping].locations++;
        info->mappings[mapping].named_locations += named;
    }
}

static void share_self(pt_info *info, const pt_profile *p)
{
    const uint32_t event = pt_profile_default_event(p);
    if (event == PT_NONE) return;
    PT_FREE double *self = pt_alloc((size_t)info->mapping_count + 1, sizeof *self);
    double total = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const double value = (double)pt_magnitude(p->sample->value[event][i]);
        const uint32_t stack = p->sample->stack[i];
        total += value;
        if (pt_stack_depth(p, stack) == 0) continue;
        const uint32_t mapping = p->location->mapping[pt_stack_frames(p, stack)[0]];
        if (mapping != PT_NONE) self[mapping] += value;
    }
    for (uint32_t m = 0; m < info->mapping_count && total > 0; m++)
        info->mappings[m].self_share = self[m] / total;
}

static void list_mappings(pt_info *info, const pt_profile *p)
{
    info->mapping_count = p->mapping->t.count;
    info->mappings = pt_alloc((size_t)info->mapping_count + 1, sizeof *info->mappings);
    for (uint32_t m = 0; m < info->mapping_count; m++) {
        const pt_mapping *const row = &p->mapping->row[m];
        info->mappings[m] = (pt_info_mapping){
            .file = pt_text(p, row->file),
            .build_id = pt_text(p, row->build_id),
            .start = row->start,
            .limit = row->limit,
            .file_offset = row->file_offset,
        };
    }
}

/* ---- Labels ---- */

typedef struct {
    pt_info *info;
    const pt_profile *p;
    uint32_t *label_of_key; /* string -> row of info->labels; PT_NONE = none yet */
    size_t label_cap;
    pt_index values; /* distinct (key, value) as rows of the label table */
} label_count;

static uint32_t label_of(label_count *c, uint32_t key)
{
    pt_info *const info = c->info;
    if (c->label_of_key[key] != PT_NONE) return c->label_of_key[key];
    info->labels =
        pt_grow(info->labels, &c->label_cap, (size_t)info->label_count + 1, sizeof *info->labels);
    info->labels[info->label_count] =
        (pt_info_label){.key = pt_text(c->p, key), .unit = "", .key_string = key};
    return c->label_of_key[key] = info->label_count++;
}

static void count_value(label_count *c, pt_info_label *label, uint32_t row)
{
    const pt_label *const value = &c->p->labels->row[row];
    const uint64_t hash = pt_hash_bytes(value, sizeof *value);
    PT_INDEX_EACH (&c->values, hash, other) {
        if (memcmp(&c->p->labels->row[other], value, sizeof *value) == 0) return;
    }
    pt_index_add(&c->values, hash, row);
    label->texts += value->kind == PT_LABEL_STRING;
    label->numbers += value->kind == PT_LABEL_NUMBER;
    if (value->unit != 0 && label->unit[0] == '\0') label->unit = pt_text(c->p, value->unit);
}

static void count_set(label_count *c, uint32_t set, uint32_t samples)
{
    const pt_label_sets *const sets = c->p->labels;
    for (uint64_t i = sets->offset[set]; i < sets->offset[set + 1]; i++) {
        bool repeated = false; /* a set may have a key twice; its samples count once for this key */
        for (uint64_t k = sets->offset[set]; k < i && !repeated && i - sets->offset[set] < 64; k++)
            repeated = sets->row[k].key == sets->row[i].key;
        const uint32_t row = label_of(c, sets->row[i].key);
        pt_info_label *const label = &c->info->labels[row];
        label->samples += repeated ? 0 : samples;
        count_value(c, label, (uint32_t)i);
    }
}

static void count_labels(pt_info *info, const pt_profile *p)
{
    const uint32_t sets = p->labels->t.count;
    PT_FREE uint32_t *samples_of_set = pt_alloc((size_t)sets + 1, sizeof *samples_of_set);
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        samples_of_set[p->sample->labels[i]]++;
    const uint32_t strings = p->string->t.count;
    label_count c = {.info = info, .p = p};
    c.label_of_key = pt_alloc((size_t)strings + 1, sizeof *c.label_of_key);
    memset(c.label_of_key, 0xff, strings * sizeof *c.label_of_key);
    pt_index_init(&c.values);
    for (uint32_t set = 0; set < sets; set++) {
        if (samples_of_set[set] > 0) count_set(&c, set, samples_of_set[set]);
    }
    pt_index_done(&c.values);
    free(c.label_of_key);
}

/* ---- Missing data ---- */

static void note_lack(pt_info *info, pt_lack_kind kind, uint64_t count, uint64_t of)
{
    info->lacks[info->lack_count++] = (pt_lack){kind, count, of};
}

static void list_lacks(pt_info *info, const pt_profile *p, uint64_t outside)
{
    const pt_provenance *const from = info->from;
    uint64_t lined = 0, files = 0, with_id = 0;
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        bool has_line = false;
        for (uint32_t k = p->location->line_first[i]; k < p->location->line_first[i + 1]; k++)
            has_line |= p->line->line[k] != 0;
        lined += has_line && is_named(p, i);
    }
    for (uint32_t m = 0; m < info->mapping_count; m++) {
        const bool is_file = info->mappings[m].file[0] != '\0' && info->mappings[m].file[0] != '[';
        files += is_file;
        with_id += is_file && info->mappings[m].build_id[0] != '\0';
    }
    bool period = from->period != 0;
    for (uint32_t e = 0; e < info->event_count; e++)
        period |= info->events[e].period != 0;
    const uint64_t unknown_ends = info->ends[PT_STACK_END_UNKNOWN];
    const uint64_t unchecked = info->ends[PT_STACK_END_UNCHECKED];
    const uint64_t cut = info->samples - unknown_ends - unchecked - info->ends[PT_STACK_END_ROOT];
    if (from->damaged) note_lack(info, PT_LACK_DAMAGED, 0, 0);
    if (info->named_locations < info->locations)
        note_lack(info, PT_LACK_NAMES, info->locations - info->named_locations, info->locations);
    if (lined < info->named_locations)
        note_lack(info, PT_LACK_LINES, info->named_locations - lined, info->named_locations);
    if (with_id < files) note_lack(info, PT_LACK_BUILD_IDS, files - with_id, files);
    if (outside > 0) note_lack(info, PT_LACK_MAPPINGS, outside, info->locations);
    if (unknown_ends > 0) note_lack(info, PT_LACK_ENDS, unknown_ends, info->samples);
    if (cut > 0) note_lack(info, PT_LACK_WHOLE, cut, info->samples);
    if (unchecked > 0) note_lack(info, PT_LACK_CHECKED, unchecked, info->samples);
    if (from->lost > 0) note_lack(info, PT_LACK_LOST, from->lost, 0);
    if (!period) note_lack(info, PT_LACK_PERIOD, 0, 0);
    if (from->start_ns == 0 && info->first_sample_ns == 0) note_lack(info, PT_LACK_TIME, 0, 0);
    if (from->duration_ns == 0) note_lack(info, PT_LACK_DURATION, 0, 0);
}

const char *pt_lack_name(pt_lack_kind kind)
{
    static const char *const names[] = {
        [PT_LACK_NAMES] = "names",         [PT_LACK_LINES] = "lines",
        [PT_LACK_BUILD_IDS] = "build_ids", [PT_LACK_MAPPINGS] = "mappings",
        [PT_LACK_PERIOD] = "period",       [PT_LACK_TIME] = "time",
        [PT_LACK_DURATION] = "duration",   [PT_LACK_ENDS] = "stack_ends",
        [PT_LACK_WHOLE] = "whole_stacks",  [PT_LACK_CHECKED] = "checked_stacks",
        [PT_LACK_LOST] = "lost_samples",   [PT_LACK_DAMAGED] = "part_of_the_file",
    };
    return names[kind];
}

pt_info pt_info_of(const pt_profile *p)
{
    pt_info info = {
        .from = pt_profile_provenance(p),
        .samples = p->sample->t.count,
        .stacks = p->stack->t.count,
        .label_sets = p->labels->t.count,
        .locations = p->location->t.count,
        .functions = p->function->t.count,
        .lines = p->line->t.count,
        .arcs = p->arc->t.count,
        .bins = p->bin->t.count,
        .blocks = p->block->t.count,
        .extras = p->extra->t.count,
        .unknown_fields = p->unknown->t.count,
    };
    uint64_t outside = 0;
    count_events(&info, p);
    measure_depths(&info, p);
    share_ends(&info, p);
    find_time_span(&info, p);
    list_mappings(&info, p);
    count_locations(&info, p, &outside);
    share_self(&info, p);
    count_labels(&info, p);
    list_lacks(&info, p, outside);
    return info;
}

void pt_info_done(pt_info *info)
{
    PT_FREE_ALL(info->events, info->mappings, info->labels);
    *info = (pt_info){0};
}
