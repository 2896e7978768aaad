/* heap.h: shared by the readers of heap profiles, formats/heap.c and formats/jemalloc.c. */
#pragma once

#include "formats/legacy.h"

/* "INUSE_COUNT: INUSE_BYTES [ALLOC_COUNT: ALLOC_BYTES]" */
typedef struct pt_heap_figures {
    int64_t inuse_count, inuse_bytes, alloc_count, alloc_bytes;
} pt_heap_figures;

/* The facts in the first line. */
typedef struct pt_heap_kind {
    bool sampled;   /* the numbers are samples and must be scaled by the period */
    bool has_alloc; /* the profile has allocations as well: four events */
    int64_t period; /* bytes */
} pt_heap_kind;

/* State of a reader. */
typedef struct pt_heap_reading {
    pt_legacy l;
    pt_heap_kind h;
    uint32_t bytes_key, thread_key; /* strings, for labels */
    uint64_t odd;                   /* samples with bytes but without objects */
} pt_heap_reading;

/* Parses the four numbers of a line and removes them from the span. Returns false if there are
 * none. */
bool pt_heap_parse_figures(pt_span *s, bool may_sign, pt_heap_figures *ret);
/* Do the numbers include allocations, apart from the memory in use? */
bool pt_heap_has_allocated(const pt_heap_figures *f);
/* Adds numbers to a total, which wraps on overflow: callers only check which of its numbers are 0
 * and which differ. */
void pt_heap_add_figures(pt_heap_figures *total, const pt_heap_figures *f);
/* Adds events, period and drop_frames to the profile, once l and h are filled. */
void pt_heap_describe(pt_heap_reading *r);
/* Computes the scaled values of a sample: two, or four with allocations. */
void pt_heap_scale(const pt_heap_reading *r, const pt_heap_figures *f, int64_t *values);
/* The average size of an object in use, else of an allocated object, before scaling. */
int64_t pt_heap_average(const pt_heap_reading *r, const pt_heap_figures *f);
/* A numeric label. */
pt_label pt_heap_number_label(uint32_t key, int64_t value);
/* Adds a sample with scaled values and its labels. */
void pt_heap_add_sample(pt_heap_reading *r, const pt_heap_figures *f, pt_stack_id stack);
/* Ends the reading with pt_legacy_finish and frees l. */
pt_status pt_heap_finish(pt_heap_reading *r, pt_reader *reader, bool at_maps, pt_error *reterr);
