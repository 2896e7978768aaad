/* pattern.h: matches the text of a query against each string of a profile, at most once; for use
 * inside transform.
 *
 * A query's text about frames is a regular expression, or a name that was copied from a report
 * (called.h). It is a name if frames have this name, and if as an expression it does not match all
 * of these frames, or does not match itself. So "main" is an expression, which also matches
 * "remain"; "operator()" and "[libfoo.so+0x1200..]" are names. With pprof's rules each text is an
 * expression. */
#pragma once

#include "base/regex.h"
#include "model/profile.h"
#include "transform/called.h"

typedef struct pt_pattern {
    const pt_profile *profile;
    const char *option;  /* its name, for messages; borrowed */
    const char *text;    /* borrowed; NULL: the query lacks this option */
    pt_regex *regex;     /* NULL if the text is a name that is no regular expression */
    pt_called_fn *is_it; /* the text is a name; NULL: an expression */
    bool of_places;      /* the names of frames without a name match, too */
    uint8_t *answer;     /* per string: it was not tested yet, does not match, matches */
    pt_error error;      /* sticky: matching took too long */
} pt_pattern;

typedef enum {
    PT_PATTERN_KEYS,   /* an expression for keys of labels */
    PT_PATTERN_FRAMES, /* an expression for frames, or a frame's name */
    PT_PATTERN_PPROF,  /* an expression in the syntax of Go's regexp */
} pt_pattern_kind;

/* Compiles a pattern. text NULL or "": the query lacks the option. The profile and the text are
 * borrowed. PT_ERR_USAGE: text is no regular expression. */
pt_status pt_pattern_init(pt_pattern *pattern, const pt_profile *profile, const char *option,
                          const char *text, pt_pattern_kind kind, pt_error *reterr);
void pt_pattern_done(pt_pattern *pattern);
/* Sets reterr to the sticky error, with the option's name; PT_OK if there is none. */
pt_status pt_pattern_status(const pt_pattern *pattern, pt_error *reterr);

static inline bool pt_pattern_asked(const pt_pattern *pattern)
{
    return pattern->text != NULL;
}

/* Does a string match? For one pattern call either this function or _simple, not both. */
bool pt_pattern_matches(pt_pattern *pattern, uint32_t string);
/* Does a function's name without its parameters match? See pt_simple_name. */
bool pt_pattern_matches_simple(pt_pattern *pattern, uint32_t string);
/* Does the name or the file of the line's function match? */
bool pt_pattern_matches_line(pt_pattern *pattern, uint32_t location, uint32_t line);
/* Has the location no lines, and does the name by its place match ("[libfoo.so+0x1200..]")? */
bool pt_pattern_matches_place(pt_pattern *pattern, uint32_t location);
/* Does the file mapped at the location match, or the location's place? */
bool pt_pattern_matches_object(pt_pattern *pattern, uint32_t location);
/* Does any line of the location match, or its mapped file? */
bool pt_pattern_matches_location(pt_pattern *pattern, uint32_t location);

/* The part of a function's name without a leading '.' (function descriptors of the PowerPC ELF v1
 * ABI) and without parameters: up to the first parenthesis that is not part of "(anonymous
 * namespace)" or "operator()". Points into name, not terminated. Source: google/pprof,
 * profile/prune.go, simplifyFunc. */
const char *pt_simple_name(const char *name, size_t *ret_bytes);
