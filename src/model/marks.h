/* marks.h: marks and counters are samples of events with these names. A mark is a moment or a
 * stretch of time with a name, such as a request or a garbage collection; a counter is a sum that
 * changes, such as the memory in use. Both need a time.
 *
 *   event         unit         a sample of it
 *   marker        count        a mark: 1
 *   marker-time   nanoseconds  the mark's length; 0 for a moment
 *   memory        bytes        the change of a counter of memory; label "counter" has its name
 *   network       bytes        the change of a counter of bytes sent or received
 *   counter       count        the change of any other counter
 */
#pragma once

#include "model/profile.h"

#define PT_MARKER_EVENT      "marker"
#define PT_MARKER_TIME_EVENT "marker-time"
#define PT_MARKER_LABEL      "marker"
#define PT_MARKER_CATEGORY   "category"
#define PT_MARKER_DATA       "data."        /* before the keys of a mark's data */
#define PT_MARKER_PICTURE    "data.picture" /* a picture of the screen: pt_is_picture */
#define PT_COUNTER_LABEL     "counter"

typedef enum {
    PT_COUNTER_MEMORY,
    PT_COUNTER_NETWORK,
    PT_COUNTER_OTHER,
    PT_COUNTER_KINDS,
} pt_counter_kind;

/* The event of a kind of counters. */
const char *pt_counter_event(pt_counter_kind kind);
const char *pt_counter_unit(pt_counter_kind kind);

/* The events of marks and counters in a profile; PT_NONE = the profile lacks the event. */
typedef struct pt_mark_columns {
    uint32_t marker, length;
    uint32_t counter[PT_COUNTER_KINDS];
} pt_mark_columns;

/* Finds the columns by the names of the events. */
pt_mark_columns pt_mark_columns_of(const pt_profile *profile);
/* Is a sample a mark? */
bool pt_sample_is_mark(const pt_profile *profile, const pt_mark_columns *columns, uint32_t sample);
/* The kind of counter whose change the sample is; PT_COUNTER_KINDS if the sample is not a change of
 * a counter. */
pt_counter_kind pt_sample_counter(const pt_profile *profile, const pt_mark_columns *columns,
                                  uint32_t sample);
/* The text of a sample's label; 0 = the sample has no such label. */
uint32_t pt_sample_label_text(const pt_profile *profile, uint32_t sample, const char *key);

/* Returns KEY for a mark's label "data.KEY"; NULL for any other label. Borrowed from the
 * profile. */
const char *pt_mark_data_key(const pt_profile *profile, const pt_label *label);

/* Is the text a data: URL (RFC 2397) of at most 256 KiB with a PNG or JPEG file in base64? Of the
 * file, only the first bytes are checked. */
bool pt_is_picture(const char *text, size_t bytes);
