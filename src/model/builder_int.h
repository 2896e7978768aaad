/* builder_int.h: internals of the builder, shared by builder.c (adding rows), freeze.c and
 * tables.c.
 */
#pragma once

#include "base/grow.h"
#include "base/index.h"
#include "model/builder.h"

/* A growing column. Columns of a table share its count. */
#define COLUMN(T, name)                                                                            \
    T *name;                                                                                       \
    size_t name##_cap

typedef struct {
    size_t count;
    COLUMN(uint64_t, offset); /* [count + 1] after the first string */
    COLUMN(char, bytes);
    size_t byte_count;
    pt_index index;
} builder_strings;

typedef struct {
    size_t count;
    COLUMN(pt_function, row);
    pt_index index;
    size_t indexed; /* rows below this are in the index; before a row is interned, the other rows
                     * are added */
} builder_functions;

typedef struct {
    pt_location row;
    uint32_t line_first, line_count; /* range in the pool of lines */
} builder_location;

typedef struct {
    size_t count;
    COLUMN(builder_location, row);
    size_t line_count;
    COLUMN(pt_line, line);
    pt_index index;
    size_t indexed;
} builder_locations;

typedef struct {
    size_t count;
    COLUMN(uint64_t, offset); /* [count + 1] */
    COLUMN(uint32_t, frame);
    size_t frames_touched; /* length of the column at which further pages are populated */
    COLUMN(uint8_t, end);
    pt_index index;
    uint64_t frames_max;       /* limit of the frames of all stacks */
    uint64_t cut_count;        /* number of stacks that the limit truncated */
    uint32_t expected_samples; /* 0 = unknown, or the index already has room for them */
} builder_stacks;

typedef struct {
    size_t count;
    COLUMN(uint64_t, offset); /* [count + 1] */
    COLUMN(pt_label, row);
    pt_index index;
} builder_labels;

typedef struct {
    size_t count, cap; /* of every existing column */
    uint32_t *stack, *labels;
    int64_t **value; /* [event count] */
    int64_t *time_ns;
    uint32_t *pid, *tid, *cpu, *comm;
    unsigned optional; /* existing columns, as PT_SAMPLES_x */
    /* For pt_builder_add: of_stack has for each stack 1 + the row of its sample without labels (0 =
     * none); index has all other samples by (stack, labels). */
    COLUMN(uint32_t, of_stack);
    size_t of_stack_count;
    pt_index index;
    size_t indexed; /* samples below this are in of_stack and index */
} builder_samples;

typedef struct {
    size_t count;
    COLUMN(uint32_t, from);
    COLUMN(uint32_t, to);
    COLUMN(uint64_t, calls);
    COLUMN(int64_t, cost); /* event_count values for each arc; freeze splits them into columns */
    bool has_cost;         /* at least one arc has costs */
} builder_arcs;

struct pt_builder {
    pt_error error;         /* sticky */
    const pt_profile *base; /* base of an extending builder; else NULL */
    builder_strings string;
    PT_VECTOR(pt_event) event;
    PT_VECTOR(pt_mapping) mapping;
    pt_index mapping_index;
    size_t mapping_indexed;
    builder_functions function;
    builder_locations location;
    builder_stacks stack;
    builder_labels labels;
    builder_samples sample;
    builder_arcs arc;
    PT_VECTOR(pt_bin) bin;
    PT_VECTOR(pt_block) block;
    PT_VECTOR(uint32_t) extra; /* key, value, key, value ... */
    struct {
        size_t count;
        COLUMN(uint8_t, message);
        COLUMN(uint32_t, row);
        COLUMN(uint32_t, bytes);
    } unknown;
    PT_VECTOR(uint32_t) comment;
    pt_provenance provenance;
    uint64_t saturated; /* number of sums that saturated */
};

#define ROWS_MAX (PT_NONE - 1) /* ids stay below PT_NONE */
