/* merge_int.h: shared by merge.c, merge_header.c and merge_sides.c. */
#pragma once

#include "base/grow.h"
#include "model/builder.h"
#include "transform/merge.h"

/* State that only google/pprof's rules need. */
struct pt_merge_quirks {
    pt_index location_index; /* rows of location; the key ignores all columns but one */
    struct {
        struct pt_merge_location {
            pt_location row;
            size_t line_first, line_count;
            uint32_t id; /* row of the result */
        } * items;
        size_t count, cap;
    } location;
    PT_VECTOR(pt_line) line;
};

struct pt_merge {
    const pt_merge_rules *rules; /* the rules of pt_merge_new_by, which replace all other rules; or
                                  * NULL */
    void *merging;               /* the state of these rules */
    bool pprof;                  /* exactly google/pprof's keys and header */
    pt_builder *builder;
    pt_diag *diag;
    uint32_t profile_count;
    uint32_t event_count;
    bool *everywhere;            /* [event_count]: every profile so far has the event */
    const bool *keep;            /* NULL, or a flag for each event of the first profile, true if the
                                  * event is merged */
    pt_index mapping_index;      /* key -> mapping of the builder */
    PT_VECTOR(uint32_t) comment; /* comments so far, as strings of the builder */
    pt_index comment_index;      /* rows of comment */
    struct {
        struct extra_line {
            uint32_t key, value;
        } * items; /* extras so far, as strings of the builder */
        size_t count, cap;
    } extra;
    pt_index extra_index; /* rows of extra */
    struct pt_merge_quirks quirks;
    struct pt_merge_sides *sides; /* arcs, bins and blocks so far; NULL = none */
    bool samples_only;
    uint64_t sides_dropped;
    uint64_t unknown_dropped, times_dropped;
    /* Some profiles lack the CPU time used, or the CPU time seen. */
    bool used_unknown, seen_unknown;

    /* The profile that was added last, and for the rows of its tables the rows of the result.
     * Profiles of one program often have equal tables; comparing tables is much faster than looking
     * up each row. */
    const pt_profile *last;
    uint32_t *last_string, *last_function, *last_location;
};

/* The profile that is being added. Arrays map rows of its tables to rows of the result; PT_NONE:
 * not looked up yet. */
typedef struct pt_merge_adding {
    pt_merge *merge;
    pt_builder *b;
    const pt_profile *p;
    uint32_t *string, *mapping, *function, *location, *stack, *labels;
    uint32_t *event; /* event of the result -> event of the profile, or PT_NONE */
    PT_VECTOR(pt_line) line;
    PT_VECTOR(pt_label) label;
} pt_merge_adding;

/* The row in the result of a string of the profile. */
uint32_t pt_merge_string(pt_merge_adding *adding, uint32_t string);
/* Likewise for a mapping and a location; PT_NONE for PT_NONE. */
uint32_t pt_merge_mapping(pt_merge_adding *adding, uint32_t mapping);
uint32_t pt_merge_location(pt_merge_adding *adding, uint32_t location);

/* merge_header.c: finds the profile's event for each event of the result, in adding->event; the
 * first profile defines the events of the result. */
pt_status pt_merge_events(pt_merge_adding *adding, pt_error *reterr);
/* Merges the header; call it after pt_merge_events. */
void pt_merge_header(pt_merge_adding *adding);
/* Merges the lines that only the source's format understands. */
void pt_merge_extras(pt_merge_adding *adding);

/* merge_sides.c: adds the profile's arcs, bins and blocks. _finish writes the sums to the builder.
 */
void pt_merge_sides_add(pt_merge_adding *adding);
void pt_merge_sides_finish(pt_merge *merge);
void pt_merge_sides_free(struct pt_merge_sides *sides); /* accepts NULL */
