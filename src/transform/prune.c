/* prune.c: applies drop_frames and keep_frames; each distinct name is matched once. */
#include "transform/prune.h"

#include <string.h>

#include "base/regex.h"
#include "transform/frames.h"
#include "transform/pattern.h"

enum { UNASKED, STAYS, GOES };

/* The effect of the patterns on a location. */
enum {
    PRUNED = 1 << 0,  /* the outermost function of the location matches: the frame is removed, with
                       * its callees */
    TRIMMED = 1 << 1, /* an inlined function matches: only the functions around that stay */
};

typedef struct {
    const pt_profile *profile;
    pt_regex *drop, *keep; /* keep may be NULL */
    uint8_t *answer;       /* per string */
    uint8_t *location;     /* PRUNED, TRIMMED */
    bool *line_stays;
    bool any;
    pt_error error; /* sticky */
} pruning;

static bool regex_matches(pruning *p, const pt_regex *regex, const char *text, size_t size)
{
    bool yes = false;
    if (p->error.status == PT_OK && regex != NULL)
        pt_regex_match(regex, text, size, &yes, &p->error);
    return yes;
}

static bool name_goes(pruning *p, uint32_t string)
{
    if (p->answer[string] == UNASKED) {
        size_t size;
        const char *const name = pt_simple_name(pt_text(p->profile, string), &size);
        const bool goes =
            regex_matches(p, p->drop, name, size) && !regex_matches(p, p->keep, name, size);
        p->answer[string] = goes ? GOES : STAYS;
    }
    return p->answer[string] == GOES;
}

/* Finds the first matching function of a location, from the outermost inwards. */
static void prune_location(pruning *p, uint32_t location)
{
    const pt_profile *profile = p->profile;
    const uint32_t first = profile->location->line_first[location];
    const uint32_t end = profile->location->line_first[location + 1];
    for (uint32_t line = end; line-- > first;) {
        const uint32_t function = profile->line->function[line];
        if (function == PT_NONE) continue;
        const uint32_t name = profile->function->name[function];
        if (pt_text_bytes(profile, name) == 0 || !name_goes(p, name)) continue;
        p->any = true;
        p->location[location] = line + 1 == end ? PRUNED : TRIMMED;
        if (line + 1 < end) memset(p->line_stays + first, false, line + 1 - first);
        return;
    }
}

static uint32_t keep_outer_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const pruning *p = context;
    const uint32_t *frames = pt_stack_frames(p->profile, stack);
    const uint32_t depth = pt_stack_depth(p->profile, stack);
    uint32_t from = 0;
    bool stays_seen = false;
    for (uint32_t i = depth; i-- > 0;) {
        const uint8_t judged = p->location[frames[i]];
        if (judged == 0) {
            stays_seen = true;
        } else if (stays_seen) {
            from = judged == PRUNED ? i + 1 : i;
            break;
        }
    }
    memcpy(ret_frames, frames + from, (depth - from) * sizeof *frames);
    return depth - from;
}

/* Compiles a pattern that must match the whole name. Returns NULL for the empty pattern. */
static pt_regex *whole_match(pruning *p, uint32_t pattern)
{
    if (pt_text_bytes(p->profile, pattern) == 0) return NULL;
    PT_FREE char *anchored = pt_strf("^(%s)$", pt_text(p->profile, pattern));
    pt_regex *regex = NULL;
    pt_regex_new(anchored, 0, &regex, &p->error);
    return regex;
}

static const pt_profile *run_pruning(pruning *p, pt_diag *diag)
{
    const pt_profile *profile = p->profile;
    p->answer = pt_alloc(profile->string->t.count, 1);
    p->location = pt_alloc(profile->location->t.count, 1);
    p->line_stays = pt_alloc(profile->line->t.count, sizeof *p->line_stays);
    memset(p->line_stays, true, profile->line->t.count);
    for (uint32_t l = 0; l < profile->location->t.count; l++)
        prune_location(p, l);
    if (!p->any || p->error.status != PT_OK) return pt_profile_ref(profile);
    const pt_frames_edit edit = {
        .line_stays = p->line_stays,
        .edit_stack = keep_outer_frames,
        .context = p,
    };
    return pt_frames_apply(profile, &edit, diag);
}

const pt_profile *pt_prune(const pt_profile *profile, pt_diag *diag)
{
    const pt_provenance *source = pt_profile_provenance(profile);
    pruning p = {.profile = profile, .error = PT_ERROR_INIT};
    p.drop = whole_match(&p, source->drop_frames);
    if (p.drop == NULL && p.error.status == PT_OK) return pt_profile_ref(profile);
    p.keep = whole_match(&p, source->keep_frames);
    const pt_profile *pruned =
        p.error.status == PT_OK ? run_pruning(&p, diag) : pt_profile_ref(profile);
    if (p.error.status != PT_OK)
        pt_diag_add(diag, 1, "pattern of the profile's drop_frames and keep_frames not used: %s",
                    p.error.message);
    pt_regex_free(p.drop);
    pt_regex_free(p.keep);
    PT_FREE_ALL(p.answer, p.location, p.line_stays);
    return pruned;
}
