/* filter.h: a query applied to a profile: time, focus and ignore choose samples, hide and show
 * choose frames, show_from and prune_from cut stacks, the tag options choose samples and labels.
 *
 * A pattern matches a frame when it matches the function's name or file, of any of the frame's
 * inlined functions, or the mapped file. The rules are those of google/pprof
 * (profile/filter.go, profile/prune.go, internal/driver/driver_focus.go), one after the other:
 *
 *   1. a sample with a frame that matches ignore is dropped, whatever else matches
 *   2. with a focus, a sample without a frame that matches it is dropped; so is, under any of the
 *      four, a sample without frames
 *   3. of the samples left, hide takes out the functions that match and show those that do not; a
 *      mapped file that matches decides for all functions of the frame
 *   4. a sample that has lost all its frames is dropped
 *   5. with show_from, what called the frame nearest the root that matches is cut off; a sample
 *      without such a frame is dropped. Inside a frame the outermost function that matches is the
 *      last to stay; if the mapped file matches, all do
 *   6. with tag_focus, a sample is dropped that has no label to match; with tag_ignore, one that
 *      has (see below)
 *   7. tag_show and tag_hide leave labels by their keys
 *   8. with prune_from, what the frame nearest the leaf that matches called is cut off; only names
 *      count, without their parameters. Inside a frame the innermost function that matches stays
 *
 * A tag pattern is `[key=]range` or `[key=]pattern,pattern`. A range is a number or two, with units
 * ("32kb", ":64kb", "4mb:", "1kb:2mb"), and matches numbers that convert to its unit. Patterns are
 * matched against "key:text" of text labels, and all must match something; with a key against its
 * texts, and one that matches is enough.
 *
 * Before all of them, time leaves the samples that were taken then (filter_time.c); those that do
 * not tell when are dropped.
 *
 * One difference: where show matches the mapped file of a frame that has no names, the frame stays;
 * not so if the query asks for pprof's own ways.
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
    PT_FILTER_SHOW_FROM,
    PT_FILTER_TAG_FOCUS,
    PT_FILTER_TAG_IGNORE,
    PT_FILTER_TAG_SHOW,
    PT_FILTER_TAG_HIDE,
    PT_FILTER_PRUNE_FROM,
    PT_FILTER_TIME,
} pt_filter_kind;
#define PT_FILTER_COUNT 11

typedef struct pt_filtered {
    const pt_profile *profile; /* one reference; the given profile itself if nothing was asked */
    bool asked[PT_FILTER_COUNT];
    /* Something matches the pattern: a frame of the profile, a sample that the steps before it
     * left, or a key of those. With query->pprof exactly where pprof does not print "... expression
     * matched no samples" (it says nothing of prune_from). */
    bool matched[PT_FILTER_COUNT];
    /* tag_focus and tag_ignore: the part of the query that was taken as a range; else NULL. */
    const char *range[PT_FILTER_COUNT];
    uint32_t kept;             /* samples; kept + all those below = all there were */
    uint32_t unfocused;        /* dropped by rule 2 */
    uint32_t ignored;          /* dropped by rule 1 */
    uint32_t emptied;          /* dropped by rule 4 */
    uint32_t unshown;          /* dropped by rule 5 */
    uint32_t tag_dropped;      /* dropped by rule 6 */
    uint32_t untimely;         /* dropped by time */
    bool has_times;            /* asked for a time: some sample tells it, */
    int64_t first_ns, last_ns; /* and these are the first and the last */
} pt_filtered;

/* The option's name and its pattern in the query: "focus", "show-from". */
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
