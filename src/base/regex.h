/* regex.h: regular expressions over names that may be any bytes.
 *
 * Perl's syntax, UTF-8, on text that need not be valid UTF-8 (a bad sequence matches nothing);
 * unanchored; $ is the very end. A pattern that takes too long on some text is an error, never "no
 * match". With PT_REGEX_RE2 only what Go's regexp package accepts is accepted, so that the pprof
 * personality refuses what pprof refuses (the syntax page of RE2 lists it).
 */
#ifndef PT_BASE_REGEX_H
#define PT_BASE_REGEX_H

#include "base/error.h"

typedef struct pt_regex pt_regex;

typedef enum {
    PT_REGEX_ICASE = 1,
    PT_REGEX_RE2 = 2, /* no look-around, back references, atomic groups, possessive repeats, ... */
} pt_regex_flags;

/* Compiles; PT_ERR_USAGE with a message that shows the place:
 *   "missing closing parenthesis: foo(bar<here>". */
pt_status pt_regex_new(const char *pattern, pt_regex_flags flags, pt_regex **ret_regex,
                       pt_error *reterr);
void pt_regex_free(pt_regex *regex);

/* Does text[0, size) contain a match? May be used by several threads at once. PT_ERR_LIMIT when the
 * search was given up; *ret_match is then untouched. */
pt_status pt_regex_match(const pt_regex *regex, const char *text, size_t size, bool *ret_match,
                         pt_error *reterr);
/* The same, and where: the match is text[*ret_start, *ret_end), untouched when there is none. */
pt_status pt_regex_find(const pt_regex *regex, const char *text, size_t size, bool *ret_match,
                        size_t *ret_start, size_t *ret_end, pt_error *reterr);

#endif
