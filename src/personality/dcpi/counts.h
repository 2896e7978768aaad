/* counts.h: the samples by image, procedure and address, with a column for each event, as DCPI's
 * tools show them.
 *
 *   stack [libc.so+0x40, app+0x10]   cycles 3        image     libc.so   3  0
 *   stack [app+0x18]                 cycles 1   ->             app       1  2
 *   stack [app+0x1c]                 imiss  2        procedure main app  1  2
 *                                                    address   app+0x18  1  0, app+0x1c  0  2
 *
 * Rules: a sample counts only for the address at which it was taken, not for its callers. A
 * procedure is the function that has the code: code that was inlined into a function belongs to
 * that function. An image that is mapped at several addresses is one image; its addresses are the
 * linked ones, if they are known.
 */
#pragma once

#include "model/profile.h"

typedef struct pt_counts_event {
    uint32_t event;          /* of the profile */
    const char *name;        /* the event's type; if that is "samples", the type of the profile's
                              * period */
    const char *unit;        /* unit of the event's values: "samples", "nanoseconds", ... */
    int64_t period;          /* 0 = unknown */
    const char *period_unit; /* "nanoseconds"; "" or "count": the period is a number of events */
    double fraction;         /* share of the time in which the event was counted; 1 if unknown */
    int64_t total;
} pt_counts_event;

typedef struct pt_counts_image {
    const char *path;    /* "" = unknown */
    const char *id;      /* the build id, or the id of the profile's format; "" = unknown */
    size_t first, count; /* the image's procedures */
} pt_counts_image;

typedef struct pt_counts_procedure {
    const char *name; /* "" = unknown: all addresses of the image that have no name */
    uint32_t image;
    size_t first, count; /* the procedure's addresses */
} pt_counts_procedure;

typedef struct pt_counts_address {
    uint64_t address;
    uint32_t procedure;
    uint32_t location; /* the first location with this address */
} pt_counts_address;

typedef enum { PT_COUNTS_IMAGES, PT_COUNTS_PROCEDURES, PT_COUNTS_ADDRESSES } pt_counts_level;
#define PT_COUNTS_LEVELS 3

/* Images by path, procedures of an image by name, addresses of a procedure ascending. */
typedef struct pt_counts {
    const pt_profile *profile;
    pt_counts_event *event;
    uint32_t event_count;
    pt_counts_image *image;
    pt_counts_procedure *procedure;
    pt_counts_address *address;
    size_t count[PT_COUNTS_LEVELS];
    int64_t *value[PT_COUNTS_LEVELS]; /* [count * event_count] */
    uint64_t outside;                 /* samples without a stack, or outside every image */
} pt_counts;

/* Counts the events events[0, event_count). Borrows the profile's texts; sums saturate. */
void pt_counts_init(pt_counts *ret_counts, const pt_profile *profile, const uint32_t *events,
                    uint32_t event_count);
void pt_counts_done(pt_counts *counts);

/* Chooses the events with counts; all events if there are none. ret_events has room for all events
 * of the profile. Returns the number chosen. */
uint32_t pt_counts_events(const pt_profile *profile, uint32_t *ret_events);

static inline int64_t pt_counts_value(const pt_counts *c, pt_counts_level level, size_t row,
                                      uint32_t column)
{
    return c->value[level][row * c->event_count + column];
}

/* The rows of a level that have a value in any column: the largest value of `column` first, rows
 * with equal values in their order. in_image: NULL, or a flag for each image, true if its rows are
 * wanted. The caller frees the result. */
uint32_t *pt_counts_rank(const pt_counts *counts, pt_counts_level level, uint32_t column,
                         const bool *in_image, size_t *ret_count);

/* The image of a row of any level: its row in the level of images. */
uint32_t pt_counts_image_of(const pt_counts *counts, pt_counts_level level, size_t row);
