/* json_profile.h: shared by the JSON formats: a probe for paths of keys, numbers as integers in a
 * unit, and frames as names for formats without addresses. */
#pragma once

#include "base/grow.h"
#include "base/json.h"
#include "formats/format.h"

/* --- probing --- */

/* Does the head of the document contain a member at this path? Dots join keys, and "[]" stands for
 * any array element: "profiles.[].type". text: if not NULL, the member must be a string that
 * contains this text. */
bool pt_json_head_has(const pt_probe_input *input, const char *path, const char *text);

/* --- numbers --- */

/* A number, exact if it is an integer of 64 bits. */
typedef struct pt_json_num {
    int64_t integer;
    double number;
    bool whole; /* the number is `integer` */
} pt_json_num;

/* The number of the latest token; 0 if the token is not a number (null). */
pt_json_num pt_json_num_of(const pt_json_r *r);

/* Conversion of numbers to integers; scale: the number of the model's units in one unit of the
 * file, such as 1000 for microseconds as nanoseconds. */
typedef struct pt_json_scale {
    int64_t scale;
    double rest;      /* rounding error carried to the next weight */
    uint64_t rounded; /* count of numbers that were rounded */
    uint64_t limited; /* count of numbers beyond 63 bits, which were clipped */
} pt_json_scale;

/* Converts a point in time. Each point is rounded by itself, so that the lengths between points add
 * up.
 */
int64_t pt_json_scale_time(pt_json_scale *s, pt_json_num n);
/* Converts a weight. The rounding error is carried to the next weight, so that sums are right. */
int64_t pt_json_scale_weight(pt_json_scale *s, pt_json_num n);
/* Writes nanoseconds exactly, in units of unit_ns; as an integer if possible. */
void pt_json_put_ns(pt_json_w *json, int64_t ns, int64_t unit_ns);
/* to - from, clipped to 64 bits. */
int64_t pt_json_span(int64_t from, int64_t to);

/* Adds the counts of rounded and clipped numbers to diag. silent: do not report rounded numbers,
 * such as fractions of a nanosecond. */
void pt_json_scale_report(const pt_json_scale *s, bool silent, pt_diag *diag);

/* The status of a reader after a JSON error: PT_ERR_FORMAT if the builder has no samples, else
 * PT_ERR_DAMAGED. */
pt_status pt_json_failed(const pt_error *json, pt_builder *builder, pt_error *reterr);

/* --- for writers --- */

/* Opens the only file of a writer that writes one event. *ret_event: the requested event, else the
 * profile's default. Returns NULL and fills *reterr if the profile has no event or the output
 * fails. The stream belongs to the output. */
pt_out *pt_json_open_event(const pt_profile *p, const pt_output *output,
                           const pt_write_options *options, uint32_t *ret_event, pt_error *reterr);

/* A frame that has only a name. There is one such frame for each distinct (function, line, column),
 * and one for each location without lines. */
typedef struct pt_named_frame {
    const char *name; /* never empty; may hold NUL bytes */
    const char *file; /* "" = unknown */
    size_t name_bytes, file_bytes;
    int64_t line, column, start_line;
    uint32_t location; /* the first location with this frame */
    bool inlined;      /* inlined in that location: not the outermost frame */
} pt_named_frame;

typedef struct pt_named_frames {
    PT_VECTOR(pt_named_frame) frame;
    uint32_t *first; /* [locations + 1] */
    uint32_t *of;    /* frames of location i, innermost first: [first[i], first[i + 1]) */
    pt_buf texts;    /* generated names of locations without symbols */
} pt_named_frames;

/* by_location: a separate row for each line of each location. */
void pt_named_frames_init(pt_named_frames *f, const pt_profile *p, bool by_location);
void pt_named_frames_done(pt_named_frames *f);
/* Number of frames of a location, at least 1. */
static inline uint32_t pt_named_count(const pt_named_frames *f, uint32_t location)
{
    return f->first[location + 1] - f->first[location];
}
