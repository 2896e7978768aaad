/* marks.h: shared by readers of files with more than samples: marks (events at a moment or over a
 * stretch of time), and counters over time. Both become samples of events of their own, so that all
 * reports, filters and formats can use them. model/marks.h has the names of the events and labels.
 *
 *   mark      its stack is the stack of its cause, with the mark's name as the innermost frame;
 *             event "marker" is 1, "marker-time" is the mark's length; labels "marker", "category"
 *             and "data.KEY"
 *   counter   the name is the only frame; the value is the change; label "counter" */
#pragma once

#include "base/grow.h"
#include "base/json.h"
#include "formats/format.h"
#include "model/builder.h"
#include "model/marks.h"

/* The marks and counters in a file: bits for pt_marks_open. */
enum {
    PT_MARKS_MARKS = 1,
    PT_MARKS_COUNTERS = 2, /* 2 << kind: a counter of that kind */
};
enum { PT_MARKS_EVENTS = 2 + PT_COUNTER_KINDS }; /* the largest number of events that are added */

typedef struct pt_marks {
    pt_builder *b;
    uint32_t marker, length;
    uint32_t counter[PT_COUNTER_KINDS];
    int64_t *values;           /* one for each event of the builder; all 0 between calls */
    PT_VECTOR(pt_label) label; /* of the next mark */
    PT_VECTOR(uint32_t) frame;
} pt_marks;

/* Adds events to the builder, after the events of the samples. needed: bits PT_MARKS_x of the kinds
 * of marks and counters that the file has. pt_marks_done frees *m. */
void pt_marks_open(pt_marks *m, pt_builder *b, unsigned needed);
void pt_marks_done(pt_marks *m);

/* Gives the next mark a label with a text of the builder, unless the text is empty. */
void pt_marks_label(pt_marks *m, const char *key, uint32_t text);
/* Gives the next mark a picture of the screen: a data: URL as a text of the builder. The picture
 * replaces the label "data.url", which holds only the text's number in the file. A text that is not
 * a picture is left out. */
void pt_marks_picture(pt_marks *m, uint32_t text);
/* Gives the next mark the label "data.KEY" with the latest token as value, if that is a text, a
 * number or a boolean; then skips the value. key: as in the file; may have any bytes. */
void pt_marks_member(pt_marks *m, pt_json_r *r, const char *key, size_t key_bytes);

/* Adds a mark with the labels that were given. of: the mark's thread and time, and the stack of its
 * cause; other fields of *of are ignored. name: a string. */
void pt_marks_put(pt_marks *m, const pt_sample *of, uint32_t name, int64_t length_ns);
/* Adds a change of a counter. */
void pt_marks_count(pt_marks *m, const pt_sample *of, pt_counter_kind kind, uint32_t name,
                    int64_t change);
