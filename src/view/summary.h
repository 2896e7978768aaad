/* summary.h: the facts in the head of a report: profile, event, amount, and the quality of the
 * samples. A fact that the source does not have is marked unknown, never guessed. */
#pragma once

#include "model/profile.h"

typedef struct pt_summary {
    const char *type, *unit; /* of the event: "cpu", "nanoseconds"; the profile's strings */
    pt_event_kind kind;
    int64_t samples;       /* number of samples taken: the sum of the event "samples", or without
                              such an event the number of rows */
    uint32_t rows, stacks; /* of the sample table; distinct stacks that have a value */
    int64_t total;         /* the sum of the magnitudes of the values; saturates */
    int64_t duration_ns;   /* 0 = unknown */
    double rate_hz;        /* of sampling; 0 = unknown */
    uint64_t lost;         /* samples known to be lost; 0 if no loss is known */
    int64_t cpu_used_ns, cpu_seen_ns; /* CPU time of the processes, and CPU time of their samples; 0
                                       * = unknown */
    bool has_stacks;                  /* samples have callers; if samples have no callers, no total
                                       * is known */
    uint32_t arcs;                    /* call arcs; without stacks only arcs show callers */
    bool arc_costs;                   /* the arcs have costs of this event */
    bool ends_known;                  /* the source has the reasons why stacks ended */
    double complete_share;            /* of the total in stacks that reach the thread's start */
    double unchecked_share;           /* the same, of PT_STACK_END_UNCHECKED */
    double unnamed_share;             /* share of the total that is in samples whose leaf has no
                                       * name */
    size_t part_count;                /* the number of events whose sum the event is */
    const char *part_type[PT_EVENT_PARTS_MAX];
    int64_t part_total[PT_EVENT_PARTS_MAX]; /* as total */
    bool damaged;                           /* only a part of the source could be read */
} pt_summary;

/* The number of samples that were taken; see pt_summary.samples. */
int64_t pt_summary_samples(const pt_profile *profile);

/* Is the period a sampling period? unit: a string. A period of one nanosecond or byte is not: it
 * means that each nanosecond or byte was counted. */
bool pt_period_samples(const pt_profile *profile, int64_t period, uint32_t unit);

/* Do callers and callees come from arcs? They are if the profile has arcs and no stacks. */
static inline bool pt_summary_from_calls(const pt_summary *summary)
{
    return summary->arcs > 0 && !summary->has_stacks;
}

/* Collects the facts. Borrows strings of the profile. */
pt_summary pt_summary_of(const pt_profile *profile, uint32_t event);
