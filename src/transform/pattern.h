/* pattern.h: inside transform: a regular expression of a query, asked about each text of a profile
 * at most once. */
#ifndef PT_TRANSFORM_PATTERN_H
#define PT_TRANSFORM_PATTERN_H

#include "base/regex.h"
#include "model/profile.h"

typedef struct pt_pattern {
    const pt_profile *profile;
    const char *option; /* its name, for messages */
    pt_regex *regex;    /* NULL = this option was not given */
    uint8_t *answer;    /* per string: not asked yet, no, yes */
    pt_error error;     /* sticky: matching was given up */
} pt_pattern;

/* text may be NULL or "": the pattern is not asked for. With pprof only what Go accepts is. The
 * profile is borrowed. PT_ERR_USAGE for what is no regular expression. */
pt_status pt_pattern_init(pt_pattern *pattern, const pt_profile *profile, const char *option,
                          const char *text, bool pprof, pt_error *reterr);
void pt_pattern_done(pt_pattern *pattern);
/* The sticky error, with the option's name; PT_OK if there is none. */
pt_status pt_pattern_status(const pt_pattern *pattern, pt_error *reterr);

static inline bool pt_pattern_asked(const pt_pattern *pattern)
{
    return pattern->regex != NULL;
}

/* Does the string match? Do not mix the two for one pattern. */
bool pt_pattern_matches(pt_pattern *pattern, uint32_t string);
/* The same of a function's name without its parameters; see pt_simple_name. */
bool pt_pattern_matches_simple(pt_pattern *pattern, uint32_t string);
/* The line's function: its name or its file. */
bool pt_pattern_matches_line(pt_pattern *pattern, uint32_t line);
/* The file mapped at the location. */
bool pt_pattern_matches_object(pt_pattern *pattern, uint32_t location);
/* Any line of the location, or its object. */
bool pt_pattern_matches_location(pt_pattern *pattern, uint32_t location);

/* A function's name without a leading '.' (function descriptors of the PowerPC ELF v1 ABI) and
 * without its parameters: up to the first parenthesis that is not part of "(anonymous namespace)"
 * or "operator()". google/pprof: profile/prune.go, simplifyFunc. A part of name. */
const char *pt_simple_name(const char *name, size_t *ret_bytes);

#endif
