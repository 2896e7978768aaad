/* merge_int.h: what merge.c, merge_header.c and merge_sides.c share. */
#ifndef PT_TRANSFORM_MERGE_INT_H
#define PT_TRANSFORM_MERGE_INT_H

#include "model/builder.h"
#include "transform/merge.h"

/* What only google/pprof's rules need. */
struct pt_merge_quirks {
    pt_index location_index; /* of items of location: the key has one column only */
    struct {
        struct pt_merge_location {
            pt_location row;
            size_t line_first, line_count;
            uint32_t id; /* of the result */
        } * items;
        size_t count, cap;
    } location;
    struct {
        pt_line *items;
        size_t count, cap;
    } line;
};

struct pt_merge {
    const pt_merge_rules *rules; /* of pt_merge_new_by: they do it all; or NULL */
    void *merging;               /* theirs */
    bool pprof;                  /* google/pprof's keys and header, to the letter */
    pt_builder *builder;
    pt_diag *diag;
    uint32_t profile_count;
    uint32_t event_count;
    bool *everywhere;       /* [event_count] every profile so far has the event */
    const bool *keep;       /* NULL, or which events of the first profile to take */
    pt_index mapping_index; /* of the builder's mappings, by key */
    struct {
        uint32_t *items; /* comments so far, strings of the builder */
        size_t count, cap;
    } comment;
    pt_index comment_index; /* of items of comment */
    struct {
        struct extra_line {
            uint32_t key, value;
        } * items; /* extras so far, strings of the builder */
        size_t count, cap;
    } extra;
    pt_index extra_index; /* of items of extra */
    struct pt_merge_quirks quirks;
    struct pt_merge_sides *sides; /* arcs, bins and blocks so far; NULL = none */
    bool samples_only;
    uint64_t sides_dropped;
    uint64_t unknown_dropped, times_dropped;
    bool used_unknown, seen_unknown; /* CPU time that some profiles know and some do not */

    /* The profile that was added last, and where its rows went. Profiles of one program often have
     * the very same tables; comparing those is much cheaper than looking each row up again. */
    const pt_profile *last;
    uint32_t *last_string, *last_function, *last_location;
};

/* A profile being added: rows of its tables -> rows of the result, PT_NONE = not looked up yet. */
typedef struct pt_merge_adding {
    pt_merge *merge;
    pt_builder *b;
    const pt_profile *p;
    uint32_t *string, *mapping, *function, *location, *stack, *labels;
    uint32_t *event; /* result's event -> the profile's, or PT_NONE */
    struct {
        pt_line *items;
        size_t count, cap;
    } line;
    struct {
        pt_label *items;
        size_t count, cap;
    } label;
} pt_merge_adding;

/* The profile's string in the result. */
uint32_t pt_merge_string(pt_merge_adding *adding, uint32_t string);
/* So its rows, or PT_NONE for PT_NONE. */
uint32_t pt_merge_mapping(pt_merge_adding *adding, uint32_t mapping);
uint32_t pt_merge_location(pt_merge_adding *adding, uint32_t location);

/* merge_header.c: finds the profile's event for each of the result's (adding->event, ->ratio), or
 * begins the result's events with those of the first profile. */
pt_status pt_merge_events(pt_merge_adding *adding, pt_error *reterr);
/* What is known of the whole; to be called after pt_merge_events. */
void pt_merge_header(pt_merge_adding *adding);
/* Lines that only the source's format understands. */
void pt_merge_extras(pt_merge_adding *adding);

/* merge_sides.c: adds the profile's arcs, bins and blocks; puts the sums into the builder. */
void pt_merge_sides_add(pt_merge_adding *adding);
void pt_merge_sides_finish(pt_merge *merge);
void pt_merge_sides_free(struct pt_merge_sides *sides); /* accepts NULL */

#endif
