/* pattern.c: see pattern.h. */
#include "transform/pattern.h"

#include <stdlib.h>
#include <string.h>

enum { UNASKED, NO, YES };

#define PLACE_BYTES 4096

/* Does the text, as an expression, match the whole text itself? */
static bool matches_itself(const char *text)
{
    pt_regex *regex = NULL;
    bool yes = false;
    PT_FREE char *whole = pt_strf("^(?:%s)$", text);
    if (pt_regex_new(whole, 0, &regex, NULL) == PT_OK)
        pt_regex_match(regex, text, strlen(text), &yes, NULL);
    pt_regex_free(regex);
    return yes;
}

/* Does the pattern's text, read as an expression, match all frames that it names if it is read as a
 * name? */
static bool matches_all(pt_pattern *m, pt_called_fn *is_it)
{
    const pt_profile *const p = m->profile;
    for (uint32_t l = 0; l < p->location->t.count; l++) {
        const uint32_t first = p->location->line_first[l], end = p->location->line_first[l + 1];
        if (pt_pattern_matches_object(m, l)) continue;
        if (first == end && is_it(p, l, PT_NONE, m->text)) return false;
        for (uint32_t line = first; line < end; line++)
            if (is_it(p, l, line, m->text) && !pt_pattern_matches_line(m, l, line)) return false;
    }
    return true;
}

pt_status pt_pattern_init(pt_pattern *m, const pt_profile *profile, const char *option,
                          const char *text, pt_pattern_kind kind, pt_error *reterr)
{
    *m = (pt_pattern){.profile = profile, .option = option, .error = PT_ERROR_INIT};
    if (text == NULL || text[0] == '\0') return PT_OK;
    pt_error why = PT_ERROR_INIT;
    m->text = text;
    const pt_status status =
        pt_regex_new(text, kind == PT_PATTERN_PPROF ? PT_REGEX_RE2 : 0, &m->regex, &why);
    pt_called_fn *const is_it = kind == PT_PATTERN_FRAMES ? pt_called_find(profile, text) : NULL;
    if (status != PT_OK && is_it == NULL)
        return pt_error_set(reterr, status, "--%s=%s: %s", option, text, why.message);
    m->of_places = kind == PT_PATTERN_FRAMES;
    m->answer = pt_alloc(profile->string->t.count, 1);
    if (is_it != NULL && (status != PT_OK || !matches_itself(text) || !matches_all(m, is_it)))
        m->is_it = is_it;
    if (m->is_it != NULL) m->error = PT_ERROR_INIT;
    return PT_OK;
}

void pt_pattern_done(pt_pattern *m)
{
    pt_regex_free(m->regex);
    free(m->answer);
}

pt_status pt_pattern_status(const pt_pattern *m, pt_error *reterr)
{
    if (m->error.status == PT_OK) return PT_OK;
    return pt_error_set(reterr, m->error.status, "--%s: %s", m->option, m->error.message);
}

static bool match_text(pt_pattern *m, uint32_t string, const char *text, size_t size)
{
    bool yes = false;
    if (m->error.status == PT_OK) pt_regex_match(m->regex, text, size, &yes, &m->error);
    m->answer[string] = yes ? YES : NO;
    return yes;
}

bool pt_pattern_matches(pt_pattern *m, uint32_t string)
{
    if (m->answer[string] != UNASKED) return m->answer[string] == YES;
    return match_text(m, string, pt_text(m->profile, string), pt_text_bytes(m->profile, string));
}

bool pt_pattern_matches_simple(pt_pattern *m, uint32_t string)
{
    if (m->answer[string] != UNASKED) return m->answer[string] == YES;
    size_t size;
    const char *const name = pt_simple_name(pt_text(m->profile, string), &size);
    return match_text(m, string, name, size);
}

bool pt_pattern_matches_line(pt_pattern *m, uint32_t location, uint32_t line)
{
    if (m->is_it != NULL) return m->is_it(m->profile, location, line, m->text);
    const uint32_t function = m->profile->line->function[line];
    if (function == PT_NONE) return false;
    return pt_pattern_matches(m, m->profile->function->name[function]) ||
           pt_pattern_matches(m, m->profile->function->file[function]);
}

bool pt_pattern_matches_place(pt_pattern *m, uint32_t location)
{
    const uint32_t *const first = m->profile->location->line_first;
    if (!m->of_places || first[location] < first[location + 1]) return false;
    if (m->is_it != NULL) return m->is_it(m->profile, location, PT_NONE, m->text);
    bool yes = false;
    for (int by_code = 0; by_code < 2 && !yes && m->error.status == PT_OK; by_code++) {
        char place[PLACE_BYTES];
        const int length = pt_location_text(m->profile, location, by_code, place, sizeof place);
        if (length > 0 && (size_t)length < sizeof place)
            pt_regex_match(m->regex, place, (size_t)length, &yes, &m->error);
    }
    return yes;
}

bool pt_pattern_matches_object(pt_pattern *m, uint32_t location)
{
    if (pt_pattern_matches_place(m, location)) return true;
    const uint32_t mapping = m->profile->location->mapping[location];
    return m->is_it == NULL && mapping != PT_NONE &&
           pt_pattern_matches(m, m->profile->mapping->row[mapping].file);
}

bool pt_pattern_matches_location(pt_pattern *m, uint32_t location)
{
    const uint32_t *const first = m->profile->location->line_first;
    for (uint32_t line = first[location]; line < first[location + 1]; line++)
        if (pt_pattern_matches_line(m, location, line)) return true;
    return pt_pattern_matches_object(m, location);
}

const char *pt_simple_name(const char *name, size_t *ret_bytes)
{
    static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
    if (name[0] == '.') name++;
    const char *at = name;
    while (*at != '\0') {
        size_t skip = 0;
        for (size_t i = 0; i < 2 && skip == 0; i++)
            if (strncmp(at, reserved[i], strlen(reserved[i])) == 0) skip = strlen(reserved[i]);
        if (skip == 0 && *at == '(') break;
        at += skip > 0 ? skip : 1;
    }
    *ret_bytes = (size_t)(at - name);
    return name;
}
