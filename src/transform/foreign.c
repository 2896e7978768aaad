/* foreign.c: see foreign.h. */
#include "transform/foreign.h"

#include <stdlib.h>
#include <string.h>

#include "model/builder.h"
#include "transform/frames.h"

typedef struct {
    const pt_profile *profile;
    bool *own;        /* per location */
    uint32_t foreign; /* the location that stands for all code that is not the program's */
} folding;

/* Returns a flag for each location: has the location a line that stays, or no lines and code that
 * is the program's? The caller frees the flags. */
static bool *own_locations(const pt_profile *p, const bool *own_line, const bool *own_nameless)
{
    const pt_locations *const l = p->location;
    bool *const own = pt_alloc((size_t)l->t.count + 1, sizeof *own);
    for (uint32_t i = 0; i < l->t.count; i++) {
        const bool is_nameless = l->line_first[i] == l->line_first[i + 1];
        if (is_nameless)
            own[i] = l->mapping[i] != PT_NONE && own_nameless[l->mapping[i]] &&
                     (l->flags[i] & PT_LOCATION_KERNEL) == 0;
        for (uint32_t k = l->line_first[i]; k < l->line_first[i + 1]; k++)
            own[i] |= own_line[k];
    }
    return own;
}

static uint32_t keep_own_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const folding *const f = context;
    const uint32_t *const frames = pt_stack_frames(f->profile, stack);
    const uint32_t depth = pt_stack_depth(f->profile, stack);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < depth; i++)
        if (f->own[frames[i]]) ret_frames[kept++] = frames[i];
    if (kept == 0 && depth > 0) ret_frames[kept++] = f->foreign;
    return kept;
}

static bool is_foreign_call(const void *context, uint32_t from, uint32_t to)
{
    const folding *const f = context;
    return !f->own[from] || !f->own[to];
}

/* Reports the number of calls from the program's functions to other functions. A profile of call
 * arcs has no stacks that show which caller a callee's self belongs to, so this self counts for
 * PT_FOREIGN_NAME. */
static void say_lost_arcs(const folding *f, pt_diag *diag)
{
    const pt_arcs *const arcs = f->profile->arc;
    uint64_t count = 0;
    for (uint32_t i = 0; i < arcs->t.count; i++)
        count += f->own[arcs->from[i]] && !f->own[arcs->to[i]];
    pt_diag_add(diag, count,
                "calls without a stack: --mine cannot give the callee's time to its caller, so it "
                "counts for '" PT_FOREIGN_NAME "'");
}

/* Makes the profile with one more location at the end, whose function is PT_FOREIGN_NAME. */
static pt_status add_foreign(const pt_profile *p, const pt_profile **ret_extended, pt_error *reterr)
{
    pt_builder *const b = pt_builder_extend(p);
    const pt_function function = {.name = pt_builder_text(b, PT_FOREIGN_NAME).v};
    const pt_line line = {.function = pt_builder_append_function(b, &function).v};
    const pt_location location = {.mapping = PT_NONE};
    (void)pt_builder_append_location(b, &location, &line, 1);
    return pt_builder_freeze(b, ret_extended, reterr);
}

pt_status pt_fold_foreign(const pt_profile *profile, const bool *own_line, const bool *own_nameless,
                          const pt_profile **ret_profile, pt_diag *diag, pt_error *reterr)
{
    PT_UNREF_PROFILE const pt_profile *extended = NULL;
    const pt_status status = add_foreign(profile, &extended, reterr);
    if (status != PT_OK) return status;
    const uint32_t lines = profile->line->t.count;
    PT_FREE bool *stays = pt_alloc((size_t)extended->line->t.count + 1, sizeof *stays);
    memcpy(stays, own_line, lines * sizeof *stays);
    memset(stays + lines, true, extended->line->t.count - lines);
    const folding f = {.profile = extended,
                       .own = own_locations(extended, stays, own_nameless),
                       .foreign = extended->location->t.count - 1};
    const pt_frames_edit edit = {.line_stays = stays,
                                 .edit_stack = keep_own_frames,
                                 .context = &f,
                                 .drops_arc = is_foreign_call};
    say_lost_arcs(&f, diag);
    *ret_profile = pt_frames_apply(extended, &edit, diag);
    free(f.own);
    return PT_OK;
}
