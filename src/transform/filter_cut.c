/* filter_cut.c: show_from and prune_from, which cut stacks above and below a frame. */
#include <string.h>

#include "transform/filter_int.h"

typedef struct {
    const pt_profile *profile;
    pt_pattern pattern;
    bool *location; /* per location: the pattern matches */
    bool *line_stays;
    bool any_line_gone;
    bool *dropped; /* per stack */
} cutting;

static pt_status begin_cut(cutting *c, const pt_filter_step *step, pt_filter_kind kind,
                           pt_error *reterr)
{
    const pt_profile *const profile = step->result->profile;
    *c = (cutting){.profile = profile};
    const pt_status status = pt_filter_compile(step, kind, &c->pattern, reterr);
    if (status != PT_OK) return status;
    c->location = pt_alloc(profile->location->t.count, sizeof *c->location);
    c->line_stays = pt_alloc(profile->line->t.count, sizeof *c->line_stays);
    memset(c->line_stays, true, profile->line->t.count);
    c->dropped = pt_alloc(profile->stack->t.count, sizeof *c->dropped);
    return PT_OK;
}

static void cut_done(cutting *c)
{
    pt_pattern_done(&c->pattern);
    PT_FREE_ALL(c->location, c->line_stays, c->dropped);
}

static void take_lines(cutting *c, uint32_t first, uint32_t end)
{
    if (first >= end) return;
    memset(c->line_stays + first, false, end - first);
    c->any_line_gone = true;
}

static void apply_cut(cutting *c, pt_filter_step *step,
                      uint32_t (*edit_stack)(const void *, uint32_t, uint32_t *),
                      bool (*drops_arc)(const void *, uint32_t, uint32_t))
{
    const pt_frames_edit edit = {
        .line_stays = c->any_line_gone ? c->line_stays : NULL,
        .edit_stack = edit_stack,
        .context = c,
        .stack_dropped = c->dropped,
        .drops_arc = drops_arc,
    };
    pt_filter_replace(step, pt_frames_apply(c->profile, &edit, step->diag));
}

/* ---- show_from ---- */

/* Removes the callers of the outermost matching function in a location. */
static bool cut_callers(cutting *c, uint32_t location)
{
    if (pt_pattern_matches_object(&c->pattern, location)) return true;
    const uint32_t first = c->profile->location->line_first[location];
    const uint32_t end = c->profile->location->line_first[location + 1];
    for (uint32_t line = end; line-- > first;) {
        if (!pt_pattern_matches_line(&c->pattern, location, line)) continue;
        take_lines(c, line + 1, end);
        return true;
    }
    return false;
}

/* The number of frames from the leaf up to the last matching one; 0 if none matches. */
static uint32_t frames_from_leaf(const cutting *c, uint32_t stack)
{
    const uint32_t *const frames = pt_stack_frames(c->profile, stack);
    uint32_t depth = pt_stack_depth(c->profile, stack);
    while (depth > 0 && !c->location[frames[depth - 1]])
        depth--;
    return depth;
}

/* An arc to the matching frame's function is dropped, since its caller is cut off. */
static bool drops_call_above(const void *context, uint32_t from, uint32_t to)
{
    const cutting *const c = context;
    (void)to;
    return from == PT_NONE || !c->location[from];
}

static uint32_t keep_callees(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const cutting *const c = context;
    const uint32_t depth = frames_from_leaf(c, stack);
    memcpy(ret_frames, pt_stack_frames(c->profile, stack), depth * sizeof *ret_frames);
    return depth;
}

pt_status pt_filter_show_from(pt_filter_step *step, pt_error *reterr)
{
    cutting c;
    pt_status status = begin_cut(&c, step, PT_FILTER_SHOW_FROM, reterr);
    if (status == PT_OK) {
        for (uint32_t l = 0; l < c.profile->location->t.count; l++) {
            c.location[l] = cut_callers(&c, l);
            step->result->matched[PT_FILTER_SHOW_FROM] |= c.location[l];
        }
        status = pt_pattern_status(&c.pattern, reterr);
    }
    if (status == PT_OK) {
        const pt_samples *const samples = c.profile->sample;
        PT_FREE uint32_t *of_stack =
            pt_filter_count(samples->stack, samples->t.count, c.profile->stack->t.count);
        for (uint32_t s = 0; s < c.profile->stack->t.count; s++) {
            c.dropped[s] = frames_from_leaf(&c, s) == 0;
            if (c.dropped[s]) step->result->unshown += of_stack[s];
        }
        apply_cut(&c, step, keep_callees, drops_call_above);
    }
    cut_done(&c);
    return status;
}

/* ---- prune_from ---- */

static bool is_cut_below(cutting *c, uint32_t location, uint32_t line)
{
    if (c->pattern.is_it != NULL) return pt_pattern_matches_line(&c->pattern, location, line);
    const uint32_t function = c->profile->line->function[line];
    const uint32_t name = function != PT_NONE ? c->profile->function->name[function] : 0;
    return name != 0 && pt_pattern_matches_simple(&c->pattern, name);
}

/* Removes the callees of the innermost matching function in a location. */
static bool cut_callees(cutting *c, uint32_t location)
{
    const uint32_t first = c->profile->location->line_first[location];
    const uint32_t end = c->profile->location->line_first[location + 1];
    if (pt_pattern_matches_place(&c->pattern, location)) return true;
    for (uint32_t line = first; line < end; line++) {
        if (!is_cut_below(c, location, line)) continue;
        take_lines(c, first, line);
        return true;
    }
    return false;
}

/* An arc from a matching function is dropped, unless the callee matches too. */
static bool drops_call_below(const void *context, uint32_t from, uint32_t to)
{
    const cutting *const c = context;
    return from != PT_NONE && c->location[from] && (to == PT_NONE || !c->location[to]);
}

static uint32_t keep_callers(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const cutting *const c = context;
    const uint32_t *const frames = pt_stack_frames(c->profile, stack);
    const uint32_t depth = pt_stack_depth(c->profile, stack);
    uint32_t from = 0;
    while (from < depth && !c->location[frames[from]])
        from++;
    if (from == depth) from = 0; /* no match: all frames stay */
    memcpy(ret_frames, frames + from, (depth - from) * sizeof *frames);
    return depth - from;
}

pt_status pt_filter_prune_from(pt_filter_step *step, pt_error *reterr)
{
    cutting c;
    pt_status status = begin_cut(&c, step, PT_FILTER_PRUNE_FROM, reterr);
    if (status == PT_OK) {
        for (uint32_t l = 0; l < c.profile->location->t.count; l++) {
            c.location[l] = cut_callees(&c, l);
            step->result->matched[PT_FILTER_PRUNE_FROM] |= c.location[l];
        }
        status = pt_pattern_status(&c.pattern, reterr);
    }
    if (status == PT_OK) apply_cut(&c, step, keep_callers, drops_call_below);
    cut_done(&c);
    return status;
}
