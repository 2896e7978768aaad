/* filter.h: a query applied to a profile: focus and ignore choose samples, hide and show choose
 * frames.
 *
 * A pattern matches a frame when it matches the function's name or file, of any of the frame's
 * inlined functions, or the mapped file. The rules are those of google/pprof
 * (profile/filter.go, FilterSamplesByName):
 *
 *   1. a sample with a frame that matches ignore is dropped, whatever else matches
 *   2. with a focus, a sample without a frame that matches it is dropped; so is, under any of the
 *      four, a sample without frames
 *   3. of the samples left, hide takes out the functions that match and show those that do not; a
 *      mapped file that matches decides for all functions of the frame
 *   4. a sample that has lost all its frames is dropped
 *
 * One difference: where show matches the mapped file of a frame that has no names, the frame stays.
 */
#ifndef PT_TRANSFORM_FILTER_H
#define PT_TRANSFORM_FILTER_H

#include "model/profile.h"
#include "transform/query.h"

typedef enum {
    PT_FILTER_FOCUS,
    PT_FILTER_IGNORE,
    PT_FILTER_HIDE,
    PT_FILTER_SHOW,
} pt_filter_kind;
#define PT_FILTER_COUNT 4

typedef struct pt_filtered {
    const pt_profile *profile; /* one reference; the given profile itself if nothing was asked */
    bool asked[PT_FILTER_COUNT];
    bool matched[PT_FILTER_COUNT]; /* some frame of the profile matches the pattern */
    uint32_t kept;      /* samples; kept + unfocused + ignored + emptied = those there were */
    uint32_t unfocused; /* dropped by rule 2 */
    uint32_t ignored;   /* dropped by rule 1 */
    uint32_t emptied;   /* dropped by rule 4 */
} pt_filtered;

/* The option's name and its pattern in the query: "focus". */
const char *pt_filter_name(pt_filter_kind kind);
const char *pt_filter_pattern(const pt_query *query, pt_filter_kind kind);

/* Applies the query. The result shares every table that did not change; values are never touched.
 * PT_ERR_USAGE if a pattern is no regular expression, PT_ERR_LIMIT if matching one took too long.
 * That nothing is left is no error. diag (may be NULL) hears what a derived profile cannot keep. */
pt_status pt_filter(const pt_profile *profile, const pt_query *query, pt_filtered *ret_filtered,
                    pt_diag *diag, pt_error *reterr);
/* Gives the reference back. */
void pt_filtered_done(pt_filtered *filtered);

#endif
