/* interpreter.c: see interpreter.h. */
#include "transform/interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "interp/python.h"
#include "process/path_kind.h"
#include "transform/frames.h"

enum { OTHER, PYTHON, INTERPRETER, MEMORY };

typedef struct {
    const pt_profile *profile;
    const uint8_t *kind; /* kind of each location */
} folding;

/* True for the trampoline that `-X perf` makes for each function, with the name py::NAME:FILE. */
static bool is_trampoline(const pt_profile *p, uint32_t location)
{
    const uint32_t line = p->location->line_first[location];
    const uint32_t function =
        line < p->location->line_first[location + 1] ? p->line->function[line] : PT_NONE;
    return function != PT_NONE &&
           strncmp(pt_text(p, p->function->name[function]), "py::", strlen("py::")) == 0;
}

static uint8_t kind_of_path(const char *path)
{
    unsigned major, minor;
    if (strcmp(path, PT_MAPPED_PYTHON) == 0) return PYTHON;
    if (pt_python_version_of_name(path, &major, &minor)) return INTERPRETER;
    return pt_mapped_is_memory(pt_mapped_kind_of_text(path)) ? MEMORY : OTHER;
}

/* The kind of each location; the caller frees it. *ret_has_python: some location is a Python frame.
 */
static uint8_t *kinds_of_locations(const pt_profile *p, bool *ret_has_python)
{
    uint8_t *const of_mapping = pt_alloc((size_t)p->mapping->t.count + 1, 1);
    uint8_t *const kind = pt_alloc((size_t)p->location->t.count + 1, 1);
    *ret_has_python = false;
    for (uint32_t m = 0; m < p->mapping->t.count; m++)
        of_mapping[m] = kind_of_path(pt_text(p, p->mapping->row[m].file));
    for (uint32_t i = 0; i < p->location->t.count; i++) {
        const uint32_t mapping = p->location->mapping[i];
        kind[i] = mapping == PT_NONE ? OTHER : of_mapping[mapping];
        if (kind[i] == MEMORY) kind[i] = is_trampoline(p, i) ? INTERPRETER : OTHER;
        *ret_has_python |= kind[i] == PYTHON;
    }
    free(of_mapping);
    return kind;
}

static uint32_t keep_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const folding *const f = context;
    const uint32_t *const frames = pt_stack_frames(f->profile, stack);
    const uint32_t depth = pt_stack_depth(f->profile, stack);
    bool has_python = false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < depth; i++)
        has_python |= f->kind[frames[i]] == PYTHON;
    for (uint32_t i = 0; i < depth; i++)
        if (!has_python || f->kind[frames[i]] != INTERPRETER) ret_frames[kept++] = frames[i];
    return kept;
}

const pt_profile *pt_fold_interpreter(const pt_profile *profile, pt_diag *diag)
{
    bool has_python;
    uint8_t *const kind = kinds_of_locations(profile, &has_python);
    const folding f = {.profile = profile, .kind = kind};
    const pt_frames_edit edit = {.edit_stack = keep_frames, .context = &f};
    const pt_profile *const folded =
        has_python ? pt_frames_apply(profile, &edit, diag) : pt_profile_ref(profile);
    free(kind);
    return folded;
}
