/* filter_names.c: focus, ignore, hide and show. Each pattern is matched once per distinct text;
 * rules apply once per location, then once per distinct stack.
 *
 *   texts      functions' names and files, mapped files     -> does it match? (once)
 *   locations  focus, ignore, gone: the rules that match    -> one byte per location
 *   stacks     the bytes of the frames, joined              -> dropped, and why
 */
#include <string.h>

#include "transform/filter_int.h"

#define KINDS (PT_FILTER_SHOW + 1)

enum {
    FOCUSED = 1 << 0, /* matches focus, or the query has none */
    IGNORED = 1 << 1,
    GONE = 1 << 2, /* hidden, or not shown: the frame loses all its functions */
};

typedef struct {
    const pt_profile *profile;
    pt_pattern pattern[KINDS];
    uint8_t *location; /* FOCUSED, IGNORED, GONE */
    bool *line_stays;
    bool any_gone, any_line_gone;
    bool pprof;
    bool *dropped; /* per stack */
    uint32_t kept;
    pt_filtered *result;
} filtering;

/* ---- Locations ---- */

/* Applies rules 1 and 2. ignore comes first, so that focus does not match ignored frames. */
static uint8_t choose_location(filtering *f, uint32_t location)
{
    pt_pattern *const ignore = &f->pattern[PT_FILTER_IGNORE];
    pt_pattern *const focus = &f->pattern[PT_FILTER_FOCUS];
    if (pt_pattern_asked(ignore) && pt_pattern_matches_location(ignore, location)) {
        f->result->matched[PT_FILTER_IGNORE] = true;
        return IGNORED;
    }
    if (!pt_pattern_asked(focus)) return FOCUSED;
    if (!pt_pattern_matches_location(focus, location)) return 0;
    f->result->matched[PT_FILTER_FOCUS] = true;
    return FOCUSED;
}

/* Applies rule 3 for hide: removes matching lines. True if the location has none left. */
static bool hide_lines(filtering *f, uint32_t location)
{
    pt_pattern *m = &f->pattern[PT_FILTER_HIDE];
    const uint32_t first = f->profile->location->line_first[location];
    const uint32_t end = f->profile->location->line_first[location + 1];
    const bool whole = pt_pattern_matches_object(m, location);
    bool matched = whole;
    uint32_t left = 0;
    for (uint32_t line = first; line < end; line++) {
        if (whole || pt_pattern_matches_line(m, location, line)) {
            f->line_stays[line] = false;
            matched = true;
        } else {
            left++;
        }
    }
    f->result->matched[PT_FILTER_HIDE] |= matched;
    return matched && left == 0;
}

/* Applies rule 3 for show: keeps matching lines. Lines without a function stay, as in pprof. */
static bool show_lines(filtering *f, uint32_t location)
{
    pt_pattern *m = &f->pattern[PT_FILTER_SHOW];
    const uint32_t first = f->profile->location->line_first[location];
    const uint32_t end = f->profile->location->line_first[location + 1];
    const bool whole = pt_pattern_matches_object(m, location);
    bool matched = whole && !f->pprof;
    uint32_t left = 0;
    for (uint32_t line = first; line < end; line++) {
        if (!f->line_stays[line]) continue;
        const bool stays = whole || f->profile->line->function[line] == PT_NONE ||
                           pt_pattern_matches_line(m, location, line);
        f->line_stays[line] = stays;
        left += stays;
        matched |= stays;
    }
    f->result->matched[PT_FILTER_SHOW] |= matched;
    return first == end && !f->pprof ? !whole : left == 0;
}

static void apply_to_locations(filtering *f)
{
    const uint32_t *first = f->profile->location->line_first;
    const bool hides = pt_pattern_asked(&f->pattern[PT_FILTER_HIDE]);
    const bool shows = pt_pattern_asked(&f->pattern[PT_FILTER_SHOW]);
    for (uint32_t l = 0; l < f->profile->location->t.count; l++) {
        f->location[l] = choose_location(f, l);
        bool gone = hides && hide_lines(f, l);
        if (shows && (!gone || f->pprof)) gone |= show_lines(f, l);
        if (gone) f->location[l] |= GONE;
        f->any_gone |= gone;
        for (uint32_t line = first[l]; line < first[l + 1]; line++) {
            /* The lines of a location that is gone stay in the table: no stack refers to them any
             * more. pprof removes such lines from the files that it writes. */
            f->line_stays[line] |= gone && !f->pprof;
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

/* The counter for a stack's samples: kept, or the rule that drops them. */
static uint32_t *counter_of_stack(filtering *f, uint32_t stack)
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
    return all & GONE ? &f->result->emptied : &f->kept;
}

static void apply_to_stacks(filtering *f)
{
    const pt_samples *samples = f->profile->sample;
    PT_FREE uint32_t *of_stack =
        pt_filter_count(samples->stack, samples->t.count, f->profile->stack->t.count);
    for (uint32_t s = 0; s < f->profile->stack->t.count; s++) {
        uint32_t *fate = counter_of_stack(f, s);
        f->dropped[s] = fate != &f->kept;
        *fate += of_stack[s];
    }
}

/* An arc is dropped if a stack of its two ends would be dropped, or if one end is gone. */
static bool drops_arc(const void *context, uint32_t from, uint32_t to)
{
    const filtering *f = context;
    const uint8_t any =
        (from == PT_NONE ? 0 : f->location[from]) | (to == PT_NONE ? 0 : f->location[to]);
    return (any & (IGNORED | GONE)) || !(any & FOCUSED);
}

/* True if the pattern matches any location. The rules do not test later patterns on a location that
 * an earlier pattern decides, so this function tests all locations again. */
static bool matches_anywhere(filtering *f, int kind)
{
    return PT_ANY(l, f->profile->location->t.count,
                  pt_pattern_matches_location(&f->pattern[kind], l));
}

static pt_status apply_patterns(filtering *f, pt_error *reterr)
{
    apply_to_locations(f);
    for (int k = 0; k < KINDS; k++) {
        pt_pattern *const pattern = &f->pattern[k];
        if (pt_pattern_asked(pattern) && !f->result->matched[k] && !f->pprof)
            f->result->matched[k] = matches_anywhere(f, k);
        const pt_status status = pt_pattern_status(pattern, reterr);
        if (status != PT_OK) return status;
    }
    apply_to_stacks(f);
    return PT_OK;
}

pt_status pt_filter_by_names(pt_filter_step *step, pt_error *reterr)
{
    const pt_profile *const profile = step->result->profile;
    filtering f = {.profile = profile, .pprof = step->query->pprof, .result = step->result};
    pt_status status = PT_OK;
    for (int k = 0; k < KINDS && status == PT_OK; k++)
        status = pt_filter_compile(step, (pt_filter_kind)k, &f.pattern[k], reterr);
    if (status == PT_OK) {
        f.location = pt_alloc(profile->location->t.count, 1);
        f.line_stays = pt_alloc(profile->line->t.count, sizeof *f.line_stays);
        memset(f.line_stays, true, profile->line->t.count);
        f.dropped = pt_alloc(profile->stack->t.count, sizeof *f.dropped);
        status = apply_patterns(&f, reterr);
    }
    if (status == PT_OK) {
        const pt_frames_edit edit = {
            .line_stays = f.any_line_gone ? f.line_stays : NULL,
            .edit_stack = f.any_gone ? keep_frames : NULL,
            .context = &f,
            .stack_dropped = f.dropped,
            .drops_arc = drops_arc,
        };
        pt_filter_replace(step, pt_frames_apply(profile, &edit, step->diag));
    }
    for (int k = 0; k < KINDS; k++)
        pt_pattern_done(&f.pattern[k]);
    PT_FREE_ALL(f.location, f.line_stays, f.dropped);
    return status;
}
