/* regex.h: regular expressions over names of arbitrary bytes.
 *
 * The syntax is Perl's with UTF-8. The text may hold invalid UTF-8, which matches no pattern
 * element. Patterns are unanchored; $ matches only at the very end. A search that exceeds its limit
 * is an error, never "no match". PT_REGEX_RE2 accepts only the syntax of Go's regexp package (RE2's
 * syntax page lists it), so that the pprof personality refuses the patterns that pprof refuses.
 */
#pragma once

#include "base/error.h"

typedef struct pt_regex pt_regex;

typedef enum {
    PT_REGEX_ICASE = 1,
    PT_REGEX_RE2 = 2, /* no look-around, back references, atomic groups, possessive repeats, ... */
} pt_regex_flags;

/* Compiles a pattern. A wrong pattern gives PT_ERR_USAGE with a message that shows the place of the
 * error:
 *   "missing closing parenthesis: foo(bar<here>". */
pt_status pt_regex_new(const char *pattern, pt_regex_flags flags, pt_regex **ret_regex,
                       pt_error *reterr);
void pt_regex_free(pt_regex *regex);

/* Does text[0, size) contain a match? Threads may share the regex. PT_ERR_LIMIT when the search
 * exceeded its limit; *ret_match is then untouched. */
pt_status pt_regex_match(const pt_regex *regex, const char *text, size_t size, bool *ret_match,
                         pt_error *reterr);
/* Like pt_regex_match, and also gives the first match, text[*ret_start, *ret_end); both are
 * untouched without a match. */
pt_status pt_regex_find(const pt_regex *regex, const char *text, size_t size, bool *ret_match,
                        size_t *ret_start, size_t *ret_end, pt_error *reterr);
