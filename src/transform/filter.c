/* filter.c: patterns meet each distinct text once, each location once, each distinct stack once.
 *
 *   texts      functions' names and files, mapped files     -> does it match? (asked once)
 *   locations  focus, ignore, gone: which rules it meets     -> one byte a location
 *   stacks     the bytes of the frames, joined               -> dropped, and why
 */
#include "transform/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "transform/frames.h"

static const struct {
    const char *name;
    size_t at;
} kinds[PT_FILTER_COUNT] = {
    [PT_FILTER_FOCUS] = {"focus", offsetof(pt_query, focus)},
    [PT_FILTER_IGNORE] = {"ignore", offsetof(pt_query, ignore)},
    [PT_FILTER_HIDE] = {"hide", offsetof(pt_query, hide)},
    [PT_FILTER_SHOW] = {"show", offsetof(pt_query, show)},
};

const char *pt_filter_name(pt_filter_kind kind)
{
    return kinds[kind].name;
}

const char *pt_filter_pattern(const pt_query *query, pt_filter_kind kind)
{
    const char *const *pattern = (const char *const *)((const char *)query + kinds[kind].at);
    return *pattern != NULL ? *pattern : "";
}

/* ---- A pattern and what it said about each text ---- */

enum { UNASKED, NO, YES };

typedef struct {
    const pt_profile *profile;
    pt_regex *regex; /* NULL = this option was not given */
    uint8_t *answer; /* per string: UNASKED, NO, YES */
    bool *line;      /* per line: its function matches */
    pt_error error;  /* sticky */
} pattern;

static bool matches_text(pattern *m, uint32_t string)
{
    if (m->answer[string] == UNASKED) {
        bool yes = false;
        if (m->error.status == PT_OK)
            pt_regex_match(m->regex, pt_text(m->profile, string), pt_text_bytes(m->profile, string),
                           &yes, &m->error);
        m->answer[string] = yes ? YES : NO;
    }
    return m->answer[string] == YES;
}

static bool matches_file_of(pattern *m, uint32_t location)
{
    const uint32_t mapping = m->profile->location->mapping[location];
    return mapping != PT_NONE && matches_text(m, m->profile->mapping->row[mapping].file);
}

static bool matches_line(pattern *m, uint32_t line)
{
    const uint32_t function = m->profile->line->function[line];
    if (function == PT_NONE) return false;
    return matches_text(m, m->profile->function->name[function]) ||
           matches_text(m, m->profile->function->file[function]);
}

static bool matches_location(pattern *m, uint32_t location)
{
    const uint32_t *first = m->profile->location->line_first;
    for (uint32_t line = first[location]; line < first[location + 1]; line++)
        if (matches_line(m, line)) return true;
    return matches_file_of(m, location);
}

static pt_status pattern_init(pattern *m, const pt_profile *profile, const pt_query *query,
                              pt_filter_kind kind, pt_error *reterr)
{
    *m = (pattern){.profile = profile, .error = PT_ERROR_INIT};
    const char *text = pt_filter_pattern(query, kind);
    if (text[0] == '\0') return PT_OK;
    pt_error why = PT_ERROR_INIT;
    const pt_status status = pt_regex_new(text, 0, &m->regex, &why);
    if (status != PT_OK)
        return pt_error_set(reterr, status, "--%s=%s: %s", pt_filter_name(kind), text, why.message);
    m->answer = pt_alloc(profile->string->t.count, 1);
    return PT_OK;
}

static void pattern_done(pattern *m)
{
    pt_regex_free(m->regex);
    free(m->answer);
}

/* ---- Locations ---- */

enum {
    FOCUSED = 1 << 0, /* matches focus, or there is none */
    IGNORED = 1 << 1,
    GONE = 1 << 2, /* hidden, or not shown: no frame is left of it */
};

typedef struct {
    const pt_profile *profile;
    pattern pattern[PT_FILTER_COUNT];
    uint8_t *location; /* FOCUSED, IGNORED, GONE */
    bool *line_stays;
    bool any_gone, any_line_gone;
    bool *dropped; /* per stack */
    pt_filtered *result;
} filtering;

static bool asks(const filtering *f, pt_filter_kind kind)
{
    return f->pattern[kind].regex != NULL;
}

/* Rules 1 and 2: ignore is asked first, so that focus never counts what is ignored. */
static uint8_t choose_location(filtering *f, uint32_t location)
{
    if (asks(f, PT_FILTER_IGNORE) && matches_location(&f->pattern[PT_FILTER_IGNORE], location)) {
        f->result->matched[PT_FILTER_IGNORE] = true;
        return IGNORED;
    }
    if (!asks(f, PT_FILTER_FOCUS)) return FOCUSED;
    if (!matches_location(&f->pattern[PT_FILTER_FOCUS], location)) return 0;
    f->result->matched[PT_FILTER_FOCUS] = true;
    return FOCUSED;
}

/* Rule 3 for hide: takes out matching lines; true if nothing is left of the location. */
static bool hide_lines(filtering *f, uint32_t location)
{
    pattern *m = &f->pattern[PT_FILTER_HIDE];
    const uint32_t first = f->profile->location->line_first[location];
    const uint32_t end = f->profile->location->line_first[location + 1];
    const bool whole = matches_file_of(m, location);
    bool matched = whole;
    uint32_t left = 0;
    for (uint32_t line = first; line < end; line++) {
        if (whole || matches_line(m, line)) {
            f->line_stays[line] = false;
            matched = true;
        } else {
            left++;
        }
    }
    f->result->matched[PT_FILTER_HIDE] |= matched;
    return matched && left == 0;
}

/* Rule 3 for show: keeps matching lines; lines without a function stay, as in pprof. */
static bool show_lines(filtering *f, uint32_t location)
{
    pattern *m = &f->pattern[PT_FILTER_SHOW];
    const uint32_t first = f->profile->location->line_first[location];
    const uint32_t end = f->profile->location->line_first[location + 1];
    const bool whole = matches_file_of(m, location);
    bool matched = whole;
    uint32_t left = 0;
    for (uint32_t line = first; line < end; line++) {
        if (!f->line_stays[line]) continue;
        const bool stays =
            whole || f->profile->line->function[line] == PT_NONE || matches_line(m, line);
        f->line_stays[line] = stays;
        left += stays;
        matched |= stays;
    }
    f->result->matched[PT_FILTER_SHOW] |= matched;
    return first == end ? !whole : left == 0;
}

static void judge_locations(filtering *f)
{
    const uint32_t *first = f->profile->location->line_first;
    for (uint32_t l = 0; l < f->profile->location->t.count; l++) {
        f->location[l] = choose_location(f, l);
        const bool gone = (asks(f, PT_FILTER_HIDE) && hide_lines(f, l)) ||
                          (asks(f, PT_FILTER_SHOW) && show_lines(f, l));
        if (gone) f->location[l] |= GONE;
        f->any_gone |= gone;
        for (uint32_t line = first[l]; line < first[l + 1]; line++) {
            /* What is gone whole keeps its lines in the table: nothing refers to it. */
            f->line_stays[line] |= gone;
            f->any_line_gone |= !f->line_stays[line];
        }
    }
}

/* ---- Stacks ---- */

static uint32_t keep_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const filtering *f = context;
    const uint32_t *frames = pt_stack_frames(f->profile, stack);
    const uint32_t depth = pt_stack_depth(f->profile, stack);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < depth; i++)
        if (!(f->location[frames[i]] & GONE)) ret_frames[kept++] = frames[i];
    return kept;
}

/* What becomes of a stack's samples: the counter of the result that they belong to. */
static uint32_t *judge_stack(const filtering *f, uint32_t stack)
{
    const uint32_t *frames = pt_stack_frames(f->profile, stack);
    const uint32_t depth = pt_stack_depth(f->profile, stack);
    uint8_t any = 0, all = GONE;
    for (uint32_t i = 0; i < depth; i++) {
        any |= f->location[frames[i]];
        all &= f->location[frames[i]];
    }
    if (any & IGNORED) return &f->result->ignored;
    if (!(any & FOCUSED)) return &f->result->unfocused;
    return all & GONE ? &f->result->emptied : &f->result->kept;
}

static void judge_stacks(filtering *f)
{
    const pt_samples *samples = f->profile->sample;
    PT_FREE uint32_t *of_stack = pt_alloc(f->profile->stack->t.count, sizeof *of_stack);
    for (uint32_t i = 0; i < samples->t.count; i++)
        of_stack[samples->stack[i]]++;
    for (uint32_t s = 0; s < f->profile->stack->t.count; s++) {
        uint32_t *fate = judge_stack(f, s);
        f->dropped[s] = fate != &f->result->kept;
        *fate += of_stack[s];
    }
}

/* A frame that was already ignored or hidden was not shown to later patterns: ask those again. */
static bool matches_anywhere(filtering *f, pt_filter_kind kind)
{
    for (uint32_t l = 0; l < f->profile->location->t.count; l++)
        if (matches_location(&f->pattern[kind], l)) return true;
    return false;
}

static pt_status run(filtering *f, pt_diag *diag, pt_error *reterr)
{
    f->location = pt_alloc(f->profile->location->t.count, 1);
    f->line_stays = pt_alloc(f->profile->line->t.count, sizeof *f->line_stays);
    memset(f->line_stays, true, f->profile->line->t.count);
    f->dropped = pt_alloc(f->profile->stack->t.count, sizeof *f->dropped);
    judge_locations(f);
    for (int k = 0; k < PT_FILTER_COUNT; k++) {
        if (asks(f, (pt_filter_kind)k) && !f->result->matched[k])
            f->result->matched[k] = matches_anywhere(f, (pt_filter_kind)k);
        const pt_error *why = &f->pattern[k].error;
        if (why->status != PT_OK)
            return pt_error_set(reterr, why->status, "--%s: %s", kinds[k].name, why->message);
    }
    judge_stacks(f);
    const pt_frames_edit edit = {
        .line_stays = f->any_line_gone ? f->line_stays : NULL,
        .edit_stack = f->any_gone ? keep_frames : NULL,
        .context = f,
        .stack_dropped = f->dropped,
    };
    f->result->profile = pt_frames_apply(f->profile, &edit, diag);
    return PT_OK;
}

pt_status pt_filter(const pt_profile *profile, const pt_query *query, pt_filtered *ret_filtered,
                    pt_diag *diag, pt_error *reterr)
{
    pt_filtered result = {0};
    filtering f = {.profile = profile, .result = &result};
    pt_status status = PT_OK;
    bool any = false;
    for (int k = 0; k < PT_FILTER_COUNT && status == PT_OK; k++) {
        status = pattern_init(&f.pattern[k], profile, query, (pt_filter_kind)k, reterr);
        any |= result.asked[k] = asks(&f, (pt_filter_kind)k);
    }
    if (status == PT_OK && any) status = run(&f, diag, reterr);
    if (status == PT_OK && !any) {
        result.profile = pt_profile_ref(profile);
        result.kept = profile->sample->t.count;
    }
    for (int k = 0; k < PT_FILTER_COUNT; k++)
        pattern_done(&f.pattern[k]);
    free(f.location);
    free(f.line_stays);
    free(f.dropped);
    if (status == PT_OK) *ret_filtered = result;
    return status;
}

void pt_filtered_done(pt_filtered *filtered)
{
    pt_profile_unref(filtered->profile);
    *filtered = (pt_filtered){0};
}
