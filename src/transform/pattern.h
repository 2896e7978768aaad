/* pattern.h: matches a regular expression of a query against each string of a profile, at most
 * once; for use inside transform. */
#ifndef PT_TRANSFORM_PATTERN_H
#define PT_TRANSFORM_PATTERN_H

#include "base/regex.h"
#include "model/profile.h"

typedef struct pt_pattern {
    const pt_profile *profile;
    const char *option; /* its name, for messages; borrowed */
    pt_regex *regex;    /* NULL: the query lacks this option */
    uint8_t *answer;    /* per string: not matched yet, no, yes */
    pt_error error;     /* sticky: matching took too long */
} pt_pattern;

/* Compiles a pattern. text NULL or "": the query lacks the option. pprof: accept only what Go's
 * regexp accepts. The profile is borrowed. PT_ERR_USAGE: text is no regular expression. */
pt_status pt_pattern_init(pt_pattern *pattern, const pt_profile *profile, const char *option,
                          const char *text, bool pprof, pt_error *reterr);
void pt_pattern_done(pt_pattern *pattern);
/* Sets reterr to the sticky error, with the option's name; PT_OK if there is none. */
pt_status pt_pattern_status(const pt_pattern *pattern, pt_error *reterr);

static inline bool pt_pattern_asked(const pt_pattern *pattern)
{
    return pattern->regex != NULL;
}

/* Whether a string matches. Use either this or _simple for one pattern, not both. */
bool pt_pattern_matches(pt_pattern *pattern, uint32_t string);
/* Whether a function's name without its parameters matches; see pt_simple_name. */
bool pt_pattern_matches_simple(pt_pattern *pattern, uint32_t string);
/* Whether the name or file of the line's function matches. */
bool pt_pattern_matches_line(pt_pattern *pattern, uint32_t line);
/* Whether the file mapped at the location matches. */
bool pt_pattern_matches_object(pt_pattern *pattern, uint32_t location);
/* Whether any line of the location, or its mapped file, matches. */
bool pt_pattern_matches_location(pt_pattern *pattern, uint32_t location);

/* The part of a function's name without a leading '.' (function descriptors of the PowerPC ELF v1
 * ABI) and without parameters: up to the first parenthesis that is not part of "(anonymous
 * namespace)" or "operator()". Points into name, not terminated. Source: google/pprof,
 * profile/prune.go, simplifyFunc. */
const char *pt_simple_name(const char *name, size_t *ret_bytes);

#endif
