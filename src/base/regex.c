/* regex.c: regular expressions by pcre2, with limits on time and memory. For PT_REGEX_RE2, syntax
 * that RE2 lacks is refused. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/regex.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum {
    MATCH_LIMIT = 2000000, /* backtracking steps, about 20 ms; usual patterns need hundreds */
    DEPTH_LIMIT = 200000,
    HEAP_LIMIT_KIB = 20000,
    RE2_REPEAT_MAX = 1000, /* RE2 refuses x{1001} */
};

struct pt_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};

static pt_status set_bad_pattern(const char *pattern, size_t at, const char *problem,
                                 pt_error *reterr)
{
    return pt_error_set(reterr, PT_ERR_USAGE, "%s: %.*s<here>%s", problem, (int)at, pattern,
                        pattern + at);
}

/* --- syntax that RE2 lacks --- */

/* Why RE2 refuses the group after "(?" at p, or NULL. RE2 has (?:, (?flags), (?flags: with i m s U,
 * and (?P<name>. */
static const char *explain_bad_group(const char *p)
{
    if (*p == '=' || *p == '!') return "look-ahead is not supported here";
    if (*p == '<' && (p[1] == '=' || p[1] == '!')) return "look-behind is not supported here";
    if (*p == '>') return "atomic groups are not supported here";
    if (*p == '|' || *p == '(' || *p == '#' || *p == 'R' || *p == '&' || isdigit((unsigned char)*p))
        return "this kind of group is not supported here";
    if (*p == 'P') return p[1] == '<' ? NULL : "references to groups are not supported here";
    p += strspn(p, "imsU-");
    return *p == ':' || *p == ')' ? NULL : "this kind of group is not supported here";
}

/* Why RE2 refuses the escape of c, or NULL. RE2 accepts the escape of any punctuation. */
static const char *explain_bad_escape(char c)
{
    if (c >= '1' && c <= '9') return "back references are not supported here";
    if (!isalnum((unsigned char)c)) return NULL;
    return strchr("0aftnrvxdDsSwWbBAzpPCQE", c) != NULL ? NULL
                                                        : "this escape is not supported here";
}

/* The length of {n}, {n,} or {n,m} at p, or 0. *ret_big: a number exceeds RE2's limit. */
static size_t repeat_length(const char *p, bool *ret_big)
{
    size_t i = 1;
    const size_t first = strspn(p + i, "0123456789");
    if (first == 0) return 0;
    *ret_big = first > 4 || atoi(p + i) > RE2_REPEAT_MAX;
    i += first;
    if (p[i] == ',') {
        i++;
        const size_t second = strspn(p + i, "0123456789");
        *ret_big |= second > 4 || atoi(p + i) > RE2_REPEAT_MAX;
        i += second;
    }
    return p[i] == '}' ? i + 1 : 0;
}

/* The length of the bracket expression at p. "]" right after "[" or "[^" is an ordinary character.
 */
static size_t class_length(const char *p)
{
    size_t i = 1;
    if (p[i] == '^') i++;
    if (p[i] == ']') i++;
    while (p[i] != '\0' && p[i] != ']') {
        if (p[i] == '[' && p[i + 1] == ':') {
            const char *const end = strstr(p + i + 2, ":]");
            if (end != NULL) {
                i = (size_t)(end - p) + 2;
                continue;
            }
        }
        i += p[i] == '\\' && p[i + 1] != '\0' ? 2 : 1;
    }
    return p[i] == ']' ? i + 1 : i;
}

static pt_status check_re2(const char *pattern, pt_error *reterr)
{
    const char *wrong = NULL;
    size_t i = 0;
    bool repeated = false; /* the previous item was a repeat, perhaps lazy */
    while (pattern[i] != '\0' && wrong == NULL) {
        const char *const p = pattern + i;
        bool big = false;
        size_t repeat = strchr("*+?", *p) != NULL ? 1 : *p == '{' ? repeat_length(p, &big) : 0;
        if (big) wrong = "repeats of more than 1000 are not supported here";
        if (repeat > 0) {
            if (repeated)
                wrong = *p == '+' ? "possessive repeats are not supported here"
                                  : "a repeat of a repeat is not supported here";
            if (p[repeat] == '?') repeat++;
            repeated = true;
            i += wrong == NULL ? repeat : 0;
            continue;
        }
        repeated = false;
        if (*p == '\\' && p[1] == 'Q') { /* literal up to \E */
            const char *const end = strstr(p, "\\E");
            i += end != NULL ? (size_t)(end - p) + 2 : strlen(p);
        } else if (*p == '\\' && p[1] != '\0') {
            wrong = explain_bad_escape(p[1]);
            i += wrong == NULL ? 2 : 0;
        } else if (*p == '[') {
            i += class_length(p);
        } else if (*p == '(' && p[1] == '*') {
            wrong = "verbs are not supported here";
        } else if (*p == '(' && p[1] == '?') {
            wrong = explain_bad_group(p + 2);
            i += wrong == NULL ? 2 : 0;
            /* Skip the flags or the name, whose characters are not repeats. */
            if (wrong == NULL) i += strcspn(pattern + i, ":)>");
        } else {
            i++;
        }
    }
    return wrong != NULL ? set_bad_pattern(pattern, i, wrong, reterr) : PT_OK;
}

/* --- compiling and matching --- */

pt_status pt_regex_new(const char *pattern, pt_regex_flags flags, pt_regex **ret_regex,
                       pt_error *reterr)
{
    if (flags & PT_REGEX_RE2) {
        const pt_status status = check_re2(pattern, reterr);
        if (status != PT_OK) return status;
    }
    const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOLLAR_ENDONLY |
                             PCRE2_NEVER_BACKSLASH_C |
                             (flags & PT_REGEX_ICASE ? PCRE2_CASELESS : 0);
    int code_error;
    PCRE2_SIZE at;
    pcre2_code *const code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code_error, &at, NULL);
    if (code == NULL) {
        PCRE2_UCHAR problem[128];
        pcre2_get_error_message(code_error, problem, sizeof problem);
        return set_bad_pattern(pattern, at, (const char *)problem, reterr);
    }
    /* Where the system forbids executable memory, pcre2's interpreter runs instead. */
    (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    pt_regex *const regex = pt_alloc(1, sizeof *regex);
    regex->code = code;
    regex->limits = pcre2_match_context_create(NULL);
    if (regex->limits == NULL) {
        pt_regex_free(regex);
        return pt_error_set(reterr, PT_ERR_NOMEM,
                            "there is no memory left for a regular expression");
    }
    pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(regex->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(regex->limits, HEAP_LIMIT_KIB);
    *ret_regex = regex;
    return PT_OK;
}

void pt_regex_free(pt_regex *regex)
{
    if (regex == NULL) return;
    pcre2_match_context_free(regex->limits);
    pcre2_code_free(regex->code);
    free(regex);
}

pt_status pt_regex_find(const pt_regex *regex, const char *text, size_t size, bool *ret_match,
                        size_t *ret_start, size_t *ret_end, pt_error *reterr)
{
    pcre2_match_data *const data = pcre2_match_data_create(1, NULL);
    if (data == NULL)
        return pt_error_set(reterr, PT_ERR_NOMEM,
                            "there is no memory left for a regular expression");
    int result = pcre2_match(regex->code, (PCRE2_SPTR)text, size, 0, 0, data, regex->limits);
    if (result ==
        PCRE2_ERROR_JIT_STACKLIMIT) /* the JIT stack has 32 KiB; the interpreter uses the heap */
        result =
            pcre2_match(regex->code, (PCRE2_SPTR)text, size, 0, PCRE2_NO_JIT, data, regex->limits);
    const PCRE2_SIZE *const where = pcre2_get_ovector_pointer(data);
    const size_t start = where[0], end = where[1];
    pcre2_match_data_free(data);
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
        PCRE2_UCHAR problem[128];
        pcre2_get_error_message(result, problem, sizeof problem);
        return pt_error_set(reterr, PT_ERR_LIMIT,
                            "the search in a name of %zu bytes was given up (%s); simplify the "
                            "regular expression",
                            size, (const char *)problem);
    }
    *ret_match = result >= 0;
    if (result >= 0) {
        *ret_start = start;
        *ret_end = end;
    }
    return PT_OK;
}

pt_status pt_regex_match(const pt_regex *regex, const char *text, size_t size, bool *ret_match,
                         pt_error *reterr)
{
    size_t start, end;
    return pt_regex_find(regex, text, size, ret_match, &start, &end, reterr);
}
