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
    uint8_t *of_mapping;
} folding;

/* What `-X perf` makes for a function, named after it: py::NAME:FILE. */
static bool is_trampoline(const pt_profile *p, uint32_t location)
{
    const uint32_t line = p->location->line_first[location];
    const uint32_t function =
        line < p->location->line_first[location + 1] ? p->line->function[line] : PT_NONE;
    return function != PT_NONE &&
           strncmp(pt_text(p, p->function->name[function]), "py::", strlen("py::")) == 0;
}

static uint8_t kind_of(const folding *f, uint32_t location)
{
    const uint32_t mapping = f->profile->location->mapping[location];
    const uint8_t kind = mapping == PT_NONE ? OTHER : f->of_mapping[mapping];
    return kind == MEMORY ? (is_trampoline(f->profile, location) ? INTERPRETER : OTHER) : kind;
}

static uint32_t keep_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const folding *const f = context;
    const uint32_t *const frames = pt_stack_frames(f->profile, stack);
    const uint32_t depth = pt_stack_depth(f->profile, stack);
    bool has_python = false;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < depth; i++)
        has_python |= kind_of(f, frames[i]) == PYTHON;
    for (uint32_t i = 0; i < depth; i++)
        if (!has_python || kind_of(f, frames[i]) != INTERPRETER) ret_frames[kept++] = frames[i];
    return kept;
}

const pt_profile *pt_fold_interpreter(const pt_profile *profile, pt_diag *diag)
{
    folding f = {.profile = profile};
    const uint32_t count = profile->mapping->t.count;
    bool has_python = false;
    f.of_mapping = pt_alloc((size_t)count + 1, 1);
    for (uint32_t m = 0; m < count; m++) {
        const char *const path = pt_text(profile, profile->mapping->row[m].file);
        unsigned major, minor;
        if (strcmp(path, PT_MAPPED_PYTHON) == 0)
            f.of_mapping[m] = PYTHON;
        else if (pt_python_version_of_name(path, &major, &minor))
            f.of_mapping[m] = INTERPRETER;
        else if (pt_mapped_is_memory(pt_mapped_kind_of_text(path)))
            f.of_mapping[m] = MEMORY;
        has_python |= f.of_mapping[m] == PYTHON;
    }
    const pt_frames_edit edit = {.edit_stack = keep_frames, .context = &f};
    const pt_profile *const folded =
        has_python ? pt_frames_apply(profile, &edit, diag) : pt_profile_ref(profile);
    free(f.of_mapping);
    return folded;
}
