/* filter.h: applies a query to a profile. time, focus and ignore select samples, hide and show
 * select frames, show_from and prune_from cut stacks, the tag options select samples and labels.
 *
 * A pattern matches a frame when it matches the function name or file of any of the frame's inlined
 * functions, or the mapped file. The rules are those of google/pprof (profile/filter.go,
 * profile/prune.go, internal/driver/driver_focus.go), in this order:
 *
 *   1. a sample with a frame that matches ignore is dropped, whatever else matches
 *   2. with a focus, a sample without a frame that matches it is dropped. With any of focus,
 *      ignore, hide and show, a sample without frames is dropped
 *   3. in the remaining samples, hide removes the functions that match, and show removes the
 *      functions that do not match; if the mapped file matches, that decides for all functions of
 *      the frame
 *   4. a sample that has lost all its frames is dropped
 *   5. with show_from, the callers of the matching frame nearest the root are cut off; a sample
 *      without such a frame is dropped. Inside a frame, the callers of the outermost matching
 *      function are removed; if the mapped file matches, all functions stay
 *   6. tag_focus drops samples without a label that matches; tag_ignore drops samples with a label
 *      that matches
 *   7. tag_show and tag_hide select labels by their keys
 *   8. with prune_from, the callees of the matching frame nearest the leaf are cut off; it compares
 *      only function names without parameters. Inside a frame the innermost matching function stays
 *
 * A tag pattern is `[key=]range` or `[key=]pattern,pattern`. A range is one number or two, with
 * units ("32kb", ":64kb", "4mb:", "1kb:2mb"); it matches numbers that convert to its unit. Without
 * a key, patterns are compared with "key:text" of text labels, and each must match some label. With
 * a key, they are compared with the key's texts, and one match suffices.
 *
 * Before all these rules, time keeps the samples of a time range (filter_time.c) and drops samples
 * without a time.
 *
 * One difference: if show matches the mapped file of a frame without names, the frame stays, except
 * in queries with the pprof flag.
 */
#pragma once

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
    const pt_profile *profile;   /* one reference; the given profile itself if the query has none of
                                  these options */
    bool asked[PT_FILTER_COUNT]; /* true if the query has this option */
    /* True if something matches the pattern: a frame of the profile, a sample that earlier steps
     * kept, or a key of such samples. With query->pprof this is false exactly where pprof prints
     * "... expression matched no samples" (never for prune_from). */
    bool matched[PT_FILTER_COUNT];
    /* tag_focus and tag_ignore: the part of the query that was parsed as a range; else NULL. */
    const char *range[PT_FILTER_COUNT];
    uint32_t kept;        /* samples; kept plus all numbers below = all samples of the profile */
    uint32_t unfocused;   /* dropped by rule 2 */
    uint32_t ignored;     /* dropped by rule 1 */
    uint32_t emptied;     /* dropped by rule 4 */
    uint32_t unshown;     /* dropped by rule 5 */
    uint32_t tag_dropped; /* dropped by rule 6 */
    uint32_t untimely;    /* dropped by the time option */
    bool has_times;       /* with a time option: some sample has a time, */
    int64_t first_ns, last_ns; /* the first and the last of these times */
    int64_t range_ns;          /* with the option `time`: the length of the part of this span that
                                * the option chooses */
} pt_filtered;

/* The option's name ("focus", "show-from"), and its pattern in the query. */
const char *pt_filter_name(pt_filter_kind kind);
const char *pt_filter_pattern(const pt_query *query, pt_filter_kind kind);

/* Applies the query. The result shares every unchanged table; values never change. Fails with
 * PT_ERR_USAGE if a pattern is not a regular expression, and with PT_ERR_LIMIT if matching a
 * pattern took too long. A result without samples is not an error. diag (may be NULL) receives the
 * facts that the result cannot keep. */
pt_status pt_filter(const pt_profile *profile, const pt_query *query, pt_filtered *ret_filtered,
                    pt_diag *diag, pt_error *reterr);
/* The time of a sample, from the column of times or the label "time". Returns false if the sample
 * has no time. */
bool pt_sample_time(const pt_profile *profile, uint32_t sample, int64_t *ret_ns);
/* Does any sample have a time? */
bool pt_has_times(const pt_profile *profile);
/* The process and thread of a sample: from its columns, or from its labels "pid" and "tid"; PT_NONE
 * = unknown.
 */
void pt_sample_thread(const pt_profile *profile, uint32_t sample, uint32_t *ret_pid,
                      uint32_t *ret_tid);
/* The name of a sample's process or thread: from its column, or from its label "comm"; "" =
 * unknown. */
const char *pt_sample_comm(const pt_profile *profile, uint32_t sample);
/* Releases the reference. */
void pt_filtered_done(pt_filtered *filtered);
