/* heap.h: what the readers of heap profiles share: formats/heap.c and formats/jemalloc.c. */
#ifndef PT_FORMATS_HEAP_H
#define PT_FORMATS_HEAP_H

#include "formats/legacy.h"

/* "INUSE_COUNT: INUSE_BYTES [ALLOC_COUNT: ALLOC_BYTES]" */
typedef struct pt_heap_figures {
    int64_t inuse_count, inuse_bytes, alloc_count, alloc_bytes;
} pt_heap_figures;

/* What the first line says. */
typedef struct pt_heap_kind {
    bool sampled;   /* figures are to be scaled, by the period */
    bool has_alloc; /* what was allocated is told, too: four events */
    int64_t period; /* bytes */
} pt_heap_kind;

typedef struct pt_heap_reading {
    pt_legacy l;
    pt_heap_kind h;
    uint32_t bytes_key, thread_key; /* strings, for labels */
    uint64_t odd;                   /* samples with bytes in no objects */
} pt_heap_reading;

/* Takes figures off the front; false if there are none. */
bool pt_heap_parse_figures(pt_span *s, bool may_sign, pt_heap_figures *ret);
/* Are there figures of what was allocated beside those of what is in use? */
bool pt_heap_tells_allocated(const pt_heap_figures *f);
void pt_heap_add_figures(pt_heap_figures *total, const pt_heap_figures *f);
/* Adds events, period and frames to drop, once l and h are there. */
void pt_heap_describe(pt_heap_reading *r);
/* The values of a sample: two, or four. */
void pt_heap_scale(const pt_heap_reading *r, const pt_heap_figures *f, int64_t *values);
/* The average size of what is in use, else of what was allocated, before scaling. */
int64_t pt_heap_average(const pt_heap_reading *r, const pt_heap_figures *f);
pt_label pt_heap_number_label(uint32_t key, int64_t value);
void pt_heap_add_sample(pt_heap_reading *r, const pt_heap_figures *f, pt_stack_id stack);
/* pt_legacy_finish and the end of l. */
pt_status pt_heap_finish(pt_heap_reading *r, pt_reader *reader, bool at_maps, pt_error *reterr);

#endif
