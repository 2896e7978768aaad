/* json_profile.h: what the JSON formats share: a probe for paths of keys, numbers as whole units,
 * and a profile's frames as names for formats without addresses. */
#ifndef PT_FORMATS_JSON_PROFILE_H
#define PT_FORMATS_JSON_PROFILE_H

#include "base/json.h"
#include "formats/format.h"

/* --- probing --- */

/* Has the document a member at this path, as far as the head goes? Keys are joined by dots, members
 * of arrays are "[]": "profiles.[].type". text: it is a string that contains this; NULL = any. */
bool pt_json_head_has(const pt_probe_input *input, const char *path, const char *text);

/* --- numbers --- */

/* A number as it stood: integers that fit 64 bits exactly. */
typedef struct pt_json_num {
    int64_t integer;
    double number;
    bool whole; /* integer is it */
} pt_json_num;

/* The latest token; 0 if it is no number (null). */
pt_json_num pt_json_num_of(const pt_json_r *r);

/* Numbers in a unit that is `scale` of ours: 1000 for microseconds as nanoseconds. */
typedef struct pt_json_scale {
    int64_t scale;
    double rest;      /* what rounding has left so far, for pt_json_share */
    uint64_t rounded; /* numbers that were not whole */
    uint64_t limited; /* numbers beyond 63 bits, held at the limit */
} pt_json_scale;

/* A point (a time): rounded for itself, so that differences of points add up. */
int64_t pt_json_point(pt_json_scale *s, pt_json_num n);
/* A share (a weight): what its rounding leaves goes to the next one, so that sums are right. */
int64_t pt_json_share(pt_json_scale *s, pt_json_num n);
/* Writes nanoseconds in units of so many, nothing of them lost: a whole number where it is one. */
void pt_json_put_ns(pt_json_w *json, int64_t ns, int64_t unit_ns);
/* to - from, at the limit if it does not fit. */
int64_t pt_json_span(int64_t from, int64_t to);

/* Tells the diag what was rounded (if not silent: fractions of a nanosecond are no news) and
 * limited. */
void pt_json_scale_tell(const pt_json_scale *s, bool silent, pt_diag *diag);

/* Steps over the value of the latest key (or over the latest value). */
static inline void pt_json_over(pt_json_r *r)
{
    pt_json_skip(r);
}

/* The status of a reader whose JSON has failed: FORMAT if nothing was kept, else DAMAGED. */
pt_status pt_json_failed(const pt_error *json, pt_builder *builder, pt_error *reterr);

/* --- frames by name, for writers --- */

/* One row a distinct (function, line, column), and one a location without lines. */
typedef struct pt_named_frame {
    const char *name; /* never empty; may hold NUL bytes */
    const char *file; /* "" = unknown */
    size_t name_bytes, file_bytes;
    int64_t line, column, start_line;
    uint32_t location; /* the first one that has it */
    bool inlined;      /* in that location: not the outermost */
} pt_named_frame;

typedef struct pt_named_frames {
    struct {
        pt_named_frame *items;
        size_t count, cap;
    } frame;
    uint32_t *first; /* [locations + 1] */
    uint32_t *of;    /* frames of location i, innermost first: of[first[i] .. first[i + 1]) */
    pt_buf texts;    /* names of locations that have none of their own */
} pt_named_frames;

/* by_location: a row for each location and each of its lines, none shared. */
void pt_named_frames_init(pt_named_frames *f, const pt_profile *p, bool by_location);
void pt_named_frames_done(pt_named_frames *f);
/* Frames that a location stands for; at least 1. */
static inline uint32_t pt_named_count(const pt_named_frames *f, uint32_t location)
{
    return f->first[location + 1] - f->first[location];
}

#endif
