/* pattern.h: matches the text of a query against each string of a profile, at most once; for use
 * inside transform.
 *
 * A query's text about frames is either a regular expression or a name that was copied from a
 * report (called.h). The text is a name if frames have this name and the text, read as an
 * expression, does not match all these frames or does not match itself. So "main" is an expression,
 * which also matches "remain"; "operator()" and "[libfoo.so+0x1200..]" are names. With pprof's
 * rules each text is an expression. */
#pragma once

#include "base/regex.h"
#include "model/profile.h"
#include "transform/called.h"

typedef struct pt_pattern {
    const pt_profile *profile;
    const char *option;  /* the option's name, for messages; borrowed */
    const char *text;    /* borrowed; NULL if the query does not have this option */
    pt_regex *regex;     /* NULL if the text is a name that is not a regular expression */
    pt_called_fn *is_it; /* the meaning of the text as a name; NULL if the text is an expression */
    bool of_places;      /* the names of places ("[libfoo.so+0x12]") of frames without a name also
                          * match */
    uint8_t *answer;     /* per string: not tested yet, does not match, or matches */
    pt_error error;      /* sticky: set if matching took too long */
} pt_pattern;

typedef enum {
    PT_PATTERN_KEYS,   /* an expression for keys of labels */
    PT_PATTERN_FRAMES, /* an expression for frames, or a frame's name */
    PT_PATTERN_PPROF,  /* an expression in the syntax of Go's regexp */
} pt_pattern_kind;

/* Compiles a pattern. If text is NULL or "", the query does not have the option. The profile and
 * the text are borrowed. Fails with PT_ERR_USAGE if text is not a regular expression. */
pt_status pt_pattern_init(pt_pattern *pattern, const pt_profile *profile, const char *option,
                          const char *text, pt_pattern_kind kind, pt_error *reterr);
void pt_pattern_done(pt_pattern *pattern);
/* Sets reterr to the sticky error, with the option's name; PT_OK if there is none. */
pt_status pt_pattern_status(const pt_pattern *pattern, pt_error *reterr);

static inline bool pt_pattern_asked(const pt_pattern *pattern)
{
    return pattern->text != NULL;
}

/* Does a string match? For one pattern call only this function or only
 * pt_pattern_matches_simple. */
bool pt_pattern_matches(pt_pattern *pattern, uint32_t string);
/* Does a function's name without its parameters match? See pt_simple_name. */
bool pt_pattern_matches_simple(pt_pattern *pattern, uint32_t string);
/* Does the name or the file of the line's function match? */
bool pt_pattern_matches_line(pt_pattern *pattern, uint32_t location, uint32_t line);
/* Has the location no lines, and does the name by its place match ("[libfoo.so+0x1200..]")? */
bool pt_pattern_matches_place(pt_pattern *pattern, uint32_t location);
/* Does the file mapped at the location match, or the location's place? */
bool pt_pattern_matches_object(pt_pattern *pattern, uint32_t location);
/* Does any line of the location, or the location's mapped file, match? */
bool pt_pattern_matches_location(pt_pattern *pattern, uint32_t location);

/* The part of a function's name without a leading '.' (function descriptors of the PowerPC ELF v1
 * ABI) and without parameters: that is, up to the first parenthesis that is not part of "(anonymous
 * namespace)" or "operator()". The part is in `name` and does not end in a NUL; *ret_bytes is its
 * length. Source: google/pprof, profile/prune.go, simplifyFunc. */
const char *pt_simple_name(const char *name, size_t *ret_bytes);
