/* recursion.c: see recursion.h. */
#include "transform/recursion.h"

#include <string.h>

#include "base/hash.h"
#include "base/index.h"
#include "transform/frames.h"

typedef struct {
    const pt_profile *profile;
    pt_recursion which;
    uint32_t *function; /* per location: a number, equal for locations with the same functions */
    uint32_t
        *place; /* per number: 1 + the place of the function's frame in the edited stack; 0 = not in
                 * the stack */
} collapsing;

static uint64_t hash_functions(const pt_profile *p, uint32_t location)
{
    uint64_t hash = 0;
    for (uint32_t k = p->location->line_first[location]; k < p->location->line_first[location + 1];
         k++)
        hash = pt_hash_mix(hash, p->line->function[k]);
    return hash;
}

static bool have_same_functions(const pt_profile *p, uint32_t a, uint32_t b)
{
    const uint32_t *const first = p->location->line_first;
    const uint32_t count = first[a + 1] - first[a];
    return count > 0 && count == first[b + 1] - first[b] &&
           memcmp(p->line->function + first[a], p->line->function + first[b],
                  count * sizeof *p->line->function) == 0;
}

/* Numbers the locations by their functions. Each location without functions gets a number of its
 * own. */
static void number_functions(collapsing *c)
{
    const pt_profile *const p = c->profile;
    const uint32_t count = p->location->t.count;
    PT_AUTO(pt_index) index;
    pt_index_init(&index);
    c->function = pt_alloc((size_t)count + 1, sizeof *c->function);
    for (uint32_t l = 0; l < count; l++) {
        const uint64_t hash = hash_functions(p, l);
        const uint32_t known = PT_INDEX_FIND(&index, hash, id, have_same_functions(p, id, l));
        c->function[l] = known != PT_NONE ? known : l;
        if (known == PT_NONE) pt_index_add(&index, hash, l);
    }
}

/* `kept` holds the `depth` frames, from the root on, that stay of the stack so far. Returns how
 * many of these frames stay when `location` follows; it then replaces all frames after them. */
static uint32_t place_of(const collapsing *c, const uint32_t *kept, uint32_t depth,
                         uint32_t location)
{
    const uint32_t function = c->function[location];
    if (c->which == PT_RECURSION_ALL)
        return c->place[function] != 0 ? c->place[function] - 1 : depth;
    return depth > 0 && c->function[kept[depth - 1]] == function ? depth - 1 : depth;
}

static uint32_t collapse_stack(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const collapsing *const c = context;
    const uint32_t *const frames = pt_stack_frames(c->profile, stack);
    uint32_t depth = 0;
    for (uint32_t i = pt_stack_depth(c->profile, stack); i-- > 0;) {
        const uint32_t place = place_of(c, ret_frames, depth, frames[i]);
        while (depth > place)
            c->place[c->function[ret_frames[--depth]]] = 0;
        ret_frames[depth++] = frames[i];
        c->place[c->function[frames[i]]] = depth;
    }
    for (uint32_t i = 0; i < depth; i++)
        c->place[c->function[ret_frames[i]]] = 0;
    for (uint32_t i = 0; i < depth / 2; i++) { /* the leaf comes first */
        const uint32_t other = ret_frames[i];
        ret_frames[i] = ret_frames[depth - 1 - i];
        ret_frames[depth - 1 - i] = other;
    }
    return depth;
}

static bool is_call_of_itself(const void *context, uint32_t from, uint32_t to)
{
    const collapsing *const c = context;
    return c->function[from] == c->function[to];
}

const pt_profile *pt_collapse_recursion(const pt_profile *profile, pt_recursion which,
                                        pt_diag *diag)
{
    if (which == PT_RECURSION_KEPT) return pt_profile_ref(profile);
    collapsing c = {.profile = profile, .which = which};
    number_functions(&c);
    c.place = pt_alloc((size_t)profile->location->t.count + 1, sizeof *c.place);
    const pt_frames_edit edit = {
        .edit_stack = collapse_stack, .context = &c, .drops_arc = is_call_of_itself};
    const pt_profile *const made = pt_frames_apply(profile, &edit, diag);
    PT_FREE_ALL(c.function, c.place);
    return made;
}
