/* losses.c: describes each capability, and counts the data of a profile that a format without it
 * cannot hold. */
#include "base/text.h"
#include "formats/format.h"
#include "model/marks.h"

#include <string.h>

const pt_capability pt_capabilities[] = {
    {PT_CAN_STACKS, "stacks", "whole call stacks"},
    {PT_CAN_LABELS, "labels", "labels of samples"},
    {PT_CAN_EVENTS, "events", "several values for each sample"},
    {PT_CAN_LINES, "lines", "source files and lines"},
    {PT_CAN_INLINES, "inlines", "inlined frames"},
    {PT_CAN_ADDRESSES, "addresses", "instruction addresses"},
    {PT_CAN_MAPPINGS, "mappings", "mapped images and their build ids"},
    {PT_CAN_ARCS, "arcs", "exact call counts from caller to callee"},
    {PT_CAN_BINS, "bins", "histograms over address ranges"},
    {PT_CAN_BLOCKS, "blocks", "basic block counts"},
    {PT_CAN_TIME, "time", "the time of each sample"},
    {PT_CAN_EXTRA, "extra", "unknown header lines"},
    {PT_CAN_NAMES, "names", "function names"},
    {PT_CAN_UNITS, "units", "units of values"},
    {PT_CAN_END, "ends", "reason of each stack's end"},
    {PT_CAN_COMMENTS, "comments", "comments"},
    {PT_CAN_HEADER, "header", "start, duration and period"},
    {PT_CAN_UNKNOWN, "unknown", "unknown protobuf fields"},
    {PT_CAN_IMAGES, "images", "names of mapped files, without addresses"},
    {PT_CAN_TIME_ONLY, "clock", "time of each sample, without its thread"},
    {PT_CAN_CALLS, "calls", "costs of calls between functions, instead of stacks"},
    {PT_CAN_DEFAULT, "default", "default event"},
};
const size_t pt_capability_count = PT_COUNT(pt_capabilities);

static uint64_t count_stacks(const pt_profile *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++)
        n += pt_stack_depth(p, p->sample->stack[i]) > 1;
    return n;
}

static bool loses_labels(const pt_profile *p, const pt_format *format, uint32_t set)
{
    for (uint64_t i = p->labels->offset[set]; i < p->labels->offset[set + 1]; i++) {
        const pt_label *const label = &p->labels->row[i];
        const char *const key = pt_text(p, label->key);
        if (label->kind != PT_LABEL_STRING || label->str == 0 ||
            pt_word_position(format->held_labels, key, strlen(key)) < 0)
            return true;
    }
    return false;
}

/* Is the sample a mark or a change of a counter, and does the format hold it with its labels? */
static bool holds_mark(const pt_profile *p, const pt_format *format, const pt_mark_columns *marks,
                       uint32_t sample)
{
    if (format->holds_event == NULL) return false;
    const pt_counter_kind kind = pt_sample_counter(p, marks, sample);
    return kind != PT_COUNTER_KINDS
               ? format->holds_event(p, marks->counter[kind])
               : pt_sample_is_mark(p, marks, sample) && format->holds_event(p, marks->marker);
}

static uint64_t count_labelled(const pt_profile *p, const pt_format *format)
{
    const pt_samples *const s = p->sample;
    const bool columns = !(format->capabilities & PT_CAN_TIME);
    const pt_mark_columns marks = pt_mark_columns_of(p);
    uint64_t n = 0;
    for (uint32_t i = 0; i < s->t.count; i++)
        n += !holds_mark(p, format, &marks, i) &&
             (loses_labels(p, format, s->labels[i]) ||
              (columns && ((s->pid && s->pid[i] != PT_NONE) || (s->tid && s->tid[i] != PT_NONE) ||
                           (s->cpu && s->cpu[i] != PT_NONE) || (s->comm && s->comm[i] != 0))));
    return n;
}

static uint64_t other_events(const pt_profile *p, const pt_format *format)
{
    uint64_t n = p->event->t.count;
    for (uint32_t e = 0; e < p->event->t.count; e++)
        n -= n > 1 && format->holds_event && format->holds_event(p, e);
    return n > 1 ? n - 1 : 0;
}

/* 1 if the profile's default event is lost, else 0. A format with only one value for each sample
 * does not lose it. */
static uint64_t count_defaults(const pt_profile *p, const pt_format *format)
{
    const bool several = format->capabilities & PT_CAN_EVENTS || format->holds_event != NULL;
    const uint32_t events = p->event->t.count;
    if (!several || events < 2) return 0;
    return pt_profile_default_event(p) !=
           (format->shown_event ? format->shown_event(p) : events - 1);
}

static bool word_fits(const char *word, size_t bytes, const char *text)
{
    return (bytes == 1 && *word == '*') || pt_equals_n(word, bytes, text);
}

static bool holds_name(const pt_profile *p, const pt_format *format, uint32_t e)
{
    const pt_event *const event = &p->event->row[e];
    const char *held, *rest = format->held_events;
    for (size_t n; (n = pt_next_word(&rest, &held)) > 0;) {
        const size_t type_bytes = strcspn(held, "/");
        if (word_fits(held, type_bytes, pt_text(p, event->type)) &&
            word_fits(held + type_bytes + 1, n - type_bytes - 1, pt_text(p, event->unit)))
            return true;
    }
    return format->held_events == NULL;
}

/* The number of events that are read back under another name. Events that only lose their unit are
 * not counted. */
static uint64_t count_renamed(const pt_profile *p, const pt_format *format)
{
    const bool several = format->capabilities & PT_CAN_EVENTS || format->holds_event != NULL;
    uint64_t n = 0;
    for (uint32_t e = 0; e < p->event->t.count; e++) {
        const bool loses_unit =
            !(format->capabilities & PT_CAN_UNITS) && p->event->row[e].kind != PT_EVENT_COUNT;
        if (several || e == pt_profile_default_event(p))
            n += !loses_unit && !holds_name(p, format, e);
    }
    return n;
}

static uint64_t count_lines(const pt_profile *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->line->t.count; i++)
        n += p->line->line[i] != 0;
    return n;
}

static uint64_t count_inlined(const pt_profile *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->location->t.count; i++)
        n += p->location->line_first[i + 1] - p->location->line_first[i] > 1;
    return n;
}

static uint64_t count_addresses(const pt_profile *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->location->t.count; i++)
        n += p->location->address[i] != 0;
    return n;
}

/* Lost mappings. For a format that holds file names, only mappings with further data count. */
static uint64_t count_mappings(const pt_profile *p, const pt_format *format)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->mapping->t.count; i++) {
        const pt_mapping *const m = &p->mapping->row[i];
        n += !(format->capabilities & PT_CAN_IMAGES) || m->start != 0 || m->limit != 0 ||
             m->file_offset != 0 || m->build_id != 0 || m->foreign_id != 0;
    }
    return n;
}

static uint64_t count_arcs(const pt_profile *p)
{
    return p->arc->t.count;
}

static uint64_t count_bins(const pt_profile *p)
{
    return p->bin->t.count;
}

static uint64_t count_blocks(const pt_profile *p)
{
    return p->block->t.count;
}

static uint64_t count_timed(const pt_profile *p, const pt_format *format)
{
    uint64_t n = 0;
    if (format->capabilities & PT_CAN_TIME_ONLY) return 0;
    for (uint32_t i = 0; p->sample->time_ns && i < p->sample->t.count; i++)
        n += p->sample->time_ns[i] != 0;
    return n;
}

static uint64_t count_extras(const pt_profile *p)
{
    return p->extra->t.count;
}

static uint64_t count_names(const pt_profile *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->function->t.count; i++)
        n += p->function->name[i] != 0 || p->function->system_name[i] != 0;
    return n;
}

static uint64_t count_units(const pt_profile *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->event->t.count; i++)
        n += p->event->row[i].kind != PT_EVENT_COUNT;
    return n;
}

static uint64_t count_ends(const pt_profile *p)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < p->stack->t.count; i++)
        n += p->stack->end[i] != PT_STACK_END_UNKNOWN;
    return n;
}

static uint64_t count_comments(const pt_profile *p)
{
    return pt_profile_provenance(p)->comment_count;
}

static uint64_t count_header(const pt_profile *p)
{
    const pt_provenance *const from = pt_profile_provenance(p);
    return (from->start_ns != 0) + (from->duration_ns != 0) + (from->period != 0);
}

static uint64_t count_unknowns(const pt_profile *p)
{
    return p->unknown->t.count;
}

static const struct {
    uint32_t bit; /* 0 = for every format */
    uint64_t (*count)(const pt_profile *);
    uint64_t (*count_for)(const pt_profile *, const pt_format *); /* used if count is NULL */
    const char *lost;
} rows[] = {
    {PT_CAN_STACKS, count_stacks, NULL, "lists of callers (innermost frames are kept)"},
    {PT_CAN_LABELS, NULL, count_labelled, "label sets of samples"},
    {PT_CAN_EVENTS, NULL, other_events, "other values of each sample"},
    {PT_CAN_DEFAULT, NULL, count_defaults, "choice of the value to show first"},
    {0, NULL, count_renamed, "names of values"},
    {PT_CAN_LINES, count_lines, NULL, "source lines"},
    {PT_CAN_INLINES, count_inlined, NULL, "marks of inlined frames"},
    {PT_CAN_ADDRESSES, count_addresses, NULL, "addresses"},
    {PT_CAN_MAPPINGS, NULL, count_mappings, "mappings"},
    {PT_CAN_ARCS, count_arcs, NULL, "call arcs"},
    {PT_CAN_BINS, count_bins, NULL, "histogram bins"},
    {PT_CAN_BLOCKS, count_blocks, NULL, "counts of basic blocks"},
    {PT_CAN_TIME, NULL, count_timed, "times of samples"},
    {PT_CAN_EXTRA, count_extras, NULL, "unknown header lines"},
    {PT_CAN_NAMES, count_names, NULL, "function names"},
    {PT_CAN_UNITS, count_units, NULL, "units of values"},
    {PT_CAN_END, count_ends, NULL, "reasons why stacks end"},
    {PT_CAN_COMMENTS, count_comments, NULL, "comments"},
    {PT_CAN_HEADER, count_header, NULL, "facts about time and period"},
    {PT_CAN_UNKNOWN, count_unknowns, NULL, "unknown fields"},
};

void pt_format_losses(const pt_profile *profile, const pt_format *format, pt_diag *ret_losses)
{
    for (size_t i = 0; i < PT_COUNT(rows); i++) {
        if (format->capabilities & rows[i].bit) continue;
        const uint64_t count =
            rows[i].count ? rows[i].count(profile) : rows[i].count_for(profile, format);
        const bool as_calls = rows[i].bit == PT_CAN_STACKS && format->capabilities & PT_CAN_CALLS;
        pt_diag_add(ret_losses, count, "%s",
                    as_calls ? "whole stacks, of which calls from function to function are kept"
                             : rows[i].lost);
    }
}

bool pt_has_addresses(const pt_profile *profile, pt_error *reterr)
{
    const pt_locations *const l = profile->location;
    if (l->t.count == 0) return true;
    for (uint32_t i = 0; i < l->t.count; i++)
        if (l->address[i] != 0) return true;
    pt_error_set(reterr, PT_ERR_UNSUPPORTED,
                 "holds addresses, and this profile has names only; write pprof or folded instead");
    return false;
}
