/* info.h: the contents of a profile, and the data that it lacks: counts, spans, shares; no report
 * about code. The strings belong to the profile and live as long as the profile. */
#pragma once

#include "model/profile.h"

typedef struct pt_info_event {
    const char *type, *unit;
    pt_event_kind kind;
    int64_t total;    /* sum over all samples; saturates */
    uint32_t samples; /* number of samples with a value other than 0 */
    int64_t period;   /* of this event; 0 = unknown */
    bool is_default;
} pt_info_event;

typedef struct pt_info_mapping {
    const char *file, *build_id; /* "" = unknown */
    uint64_t start, limit, file_offset;
    uint32_t locations;       /* number of locations in the mapping */
    uint32_t named_locations; /* number of these locations that have a function name */
    double self_share;        /* share of the default event's magnitude that is in samples whose
                               * leaf is in the mapping */
} pt_info_mapping;

typedef struct pt_info_label {
    const char *key;
    uint32_t samples;        /* number of samples that have the label */
    uint32_t texts, numbers; /* distinct values of each kind */
    const char *unit;        /* the unit of the numbers: the first known unit; "" = none */
    uint32_t key_string;     /* the key's string id */
} pt_info_label;

/* The kinds of data that a profile may lack. The comment of each kind names the items that are
 * counted. */
typedef enum {
    PT_LACK_NAMES,     /* locations without a function name */
    PT_LACK_LINES,     /* named locations without a source line */
    PT_LACK_BUILD_IDS, /* mappings of files without a build id */
    PT_LACK_MAPPINGS,  /* locations with an address outside any mapping */
    PT_LACK_PERIOD,    /* the number of events that a sample stands for */
    PT_LACK_TIME,      /* the time of each sample */
    PT_LACK_DURATION,
    PT_LACK_ENDS,    /* the reason for each stack's end: without it, nobody knows if the stack is
                      * complete */
    PT_LACK_WHOLE,   /* stacks that are known to be cut off */
    PT_LACK_CHECKED, /* stacks in which frames may be missing: PT_STACK_END_UNCHECKED */
    PT_LACK_LOST,    /* samples that the collector lost */
    PT_LACK_DAMAGED, /* part of the file could not be read */
} pt_lack_kind;

typedef struct pt_lack {
    pt_lack_kind kind;
    uint64_t count, of; /* the number of items without the data, and of all items; both are 0 for
                         * data that has no items */
} pt_lack;
#define PT_LACKS_MAX 16

typedef struct pt_info {
    const pt_provenance *from;
    pt_info_event *events;
    uint32_t event_count;
    pt_info_mapping *mappings;
    uint32_t mapping_count;
    pt_info_label *labels; /* in order of first appearance */
    uint32_t label_count;
    uint32_t samples, stacks, label_sets;
    uint32_t depth_min, depth_median, depth_p99, depth_max; /* over samples; frames as recorded */
    double depth_mean;
    uint64_t ends[PT_STACK_END_COUNT];    /* samples by the reason why their stack ended */
    double end_share[PT_STACK_END_COUNT]; /* shares of the event that is shown by default */
    uint32_t locations, named_locations, inlined_locations, functions, lines;
    uint32_t arcs, bins, blocks, extras, unknown_fields;
    int64_t first_sample_ns, last_sample_ns; /* 0 = samples have no time */
    pt_lack lacks[PT_LACKS_MAX];
    uint32_t lack_count;
} pt_info;

/* Counts and measures a profile, whose texts it borrows. pt_info_done frees the arrays. */
pt_info pt_info_of(const pt_profile *profile);
void pt_info_done(pt_info *info);
/* A word for JSON: "names", "build_ids". */
const char *pt_lack_name(pt_lack_kind kind);
