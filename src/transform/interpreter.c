/* interpreter.c: see interpreter.h. */
#include "transform/interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "interp/perl.h"
#include "interp/php.h"
#include "interp/python.h"
#include "interp/ruby.h"
#include "process/path_kind.h"
#include "transform/frames.h"

/* Kinds of locations. FRAME + row: a function of the language in that row of `languages`;
 * INTERPRETER_FILE + row: code in the file of that language's interpreter. MACHINERY: a builtin of
 * V8 that is_machinery recognizes. MEMORY: memory without a file. */
enum { LANGUAGES = 4, PYTHON = 0 };
enum {
    OTHER,
    JAVASCRIPT,
    MACHINERY,
    MEMORY,
    FRAME,
    INTERPRETER_FILE = FRAME + LANGUAGES,
    KINDS = INTERPRETER_FILE + LANGUAGES
};

static bool is_python_file(const char *path)
{
    unsigned major, minor;
    return pt_python_version_of_name(path, &major, &minor);
}

/* Languages whose interpreter is a mapped file that has no other code. */
static const struct {
    const char *mapping; /* of the language's frames */
    bool (*is_file)(const char *path);
} languages[LANGUAGES] = {
    [PYTHON] = {PT_MAPPED_PYTHON, is_python_file},
    {PT_MAPPED_PHP, pt_php_is_file},
    {PT_MAPPED_RUBY, pt_ruby_is_file},
    {PT_MAPPED_PERL, pt_perl_is_file},
};

typedef struct {
    const pt_profile *profile;
    const uint8_t *kind; /* kind of each location */
} folding;

/* The name of a location's innermost function; "" if it has none. */
static const char *name_of(const pt_profile *p, uint32_t location)
{
    const uint32_t line = p->location->line_first[location];
    const uint32_t function =
        line < p->location->line_first[location + 1] ? p->line->function[line] : PT_NONE;
    return function != PT_NONE ? pt_text(p, p->function->name[function]) : "";
}

/* Names of V8's builtins that call functions or enter them: beginnings, without "Builtins_". */
static const char *const machinery[] = {
    "AdaptorWithBuiltin",
    "Baseline",
    "CEntry_",
    "CallApi",
    "CallBoundFunction",
    "CallForward",
    "CallFunction",
    "CallProxy",
    "CallVarargs",
    "CallWith",
    "Call_",
    "Construct",
    "ContinueTo",
    "HandleApiCall",
    "InterpreterEnt",
    "InterpreterOnStackReplacement",
    "InterpreterPush",
    "JSBuiltinsConstruct",
    "JSConstruct",
    "JSEntry",
    "JSRunMicrotasksEntry",
    "ResumeGenerator",
    "RunMicrotasksTrampoline",
};

/* Builtins of V8 that execute bytecode, or that lead from one function to another. */
static bool is_machinery(const char *name)
{
    static const char prefix[] = "Builtins_";
    if (!pt_begins(name, prefix)) return false;
    name += sizeof prefix - 1;
    if (pt_ends(name, "Handler")) return true;
    return PT_ANY(i, PT_COUNT(machinery), pt_begins(name, machinery[i]));
}

static uint8_t kind_of_path(const char *path)
{
    if (strcmp(path, PT_MAPPED_JAVASCRIPT) == 0) return JAVASCRIPT;
    for (int i = 0; i < LANGUAGES; i++) {
        if (strcmp(path, languages[i].mapping) == 0) return (uint8_t)(FRAME + i);
        if (languages[i].is_file(path)) return (uint8_t)(INTERPRETER_FILE + i);
    }
    return pt_mapped_is_memory(pt_mapped_kind_of_text(path)) ? MEMORY : OTHER;
}

static bool is_frame(uint8_t kind)
{
    return kind == JAVASCRIPT || (kind >= FRAME && kind < FRAME + LANGUAGES);
}

/* Is a frame of this kind removed? caller: the kind of the frame's caller; has: the kinds of frames
 * that the stack has. */
static bool is_folded(uint8_t kind, uint8_t caller, const bool has[KINDS])
{
    if (kind == MACHINERY) return has[JAVASCRIPT];
    if (kind == MEMORY) return is_frame(caller) && caller != FRAME + PYTHON;
    return kind >= INTERPRETER_FILE && has[kind - INTERPRETER_FILE + FRAME];
}

/* The trampolines that `-X perf` of Python makes for each function have the name py::NAME:FILE. */
static uint8_t kind_of_location(const pt_profile *p, uint32_t location, uint8_t of_mapping)
{
    if (of_mapping == MEMORY && pt_begins(name_of(p, location), "py::"))
        return INTERPRETER_FILE + PYTHON;
    if (of_mapping == OTHER && is_machinery(name_of(p, location))) return MACHINERY;
    return of_mapping;
}

/* The kind of each location; the caller frees the array. *ret_any is true if a location is a frame
 * of a language.
 */
static uint8_t *kinds_of_locations(const pt_profile *p, bool *ret_any)
{
    PT_FREE uint8_t *const of_mapping = pt_alloc((size_t)p->mapping->t.count + 1, 1);
    uint8_t *const kind = pt_alloc((size_t)p->location->t.count + 1, 1);
    *ret_any = false;
    for (uint32_t m = 0; m < p->mapping->t.count; m++) {
        of_mapping[m] = kind_of_path(pt_text(p, p->mapping->row[m].file));
        *ret_any |= is_frame(of_mapping[m]);
    }
    for (uint32_t i = 0; i < p->location->t.count && *ret_any; i++) {
        const uint32_t mapping = p->location->mapping[i];
        kind[i] = kind_of_location(p, i, mapping == PT_NONE ? OTHER : of_mapping[mapping]);
    }
    return kind;
}

static uint32_t keep_frames(const void *context, uint32_t stack, uint32_t *ret_frames)
{
    const folding *const f = context;
    const uint32_t *const frames = pt_stack_frames(f->profile, stack);
    const uint32_t depth = pt_stack_depth(f->profile, stack);
    bool has[KINDS] = {false};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < depth; i++)
        has[f->kind[frames[i]]] = true;
    for (uint32_t i = 0; i < depth; i++) {
        const uint8_t kind = f->kind[frames[i]];
        const uint8_t caller = i + 1 < depth ? f->kind[frames[i + 1]] : OTHER;
        if (!is_folded(kind, caller, has)) ret_frames[kept++] = frames[i];
    }
    return kept;
}

bool *pt_folded_locations(const pt_profile *profile)
{
    bool has_any;
    PT_FREE uint8_t *kind = kinds_of_locations(profile, &has_any);
    if (!has_any) return NULL;
    const folding f = {.profile = profile, .kind = kind};
    bool *const folded = pt_alloc((size_t)profile->location->t.count + 1, sizeof *folded);
    uint32_t deepest = 0;
    for (uint32_t i = 0; i < profile->location->t.count; i++)
        folded[i] = kind[i] != OTHER;
    for (uint32_t s = 0; s < profile->stack->t.count; s++)
        if (pt_stack_depth(profile, s) > deepest) deepest = pt_stack_depth(profile, s);
    PT_FREE uint32_t *kept = pt_alloc((size_t)deepest + 1, sizeof *kept);
    for (uint32_t s = 0; s < profile->stack->t.count; s++)
        for (uint32_t i = keep_frames(&f, s, kept); i > 0; i--)
            folded[kept[i - 1]] = false;
    return folded;
}

const pt_profile *pt_fold_interpreter(const pt_profile *profile, pt_diag *diag)
{
    bool has_any;
    uint8_t *const kind = kinds_of_locations(profile, &has_any);
    const folding f = {.profile = profile, .kind = kind};
    const pt_frames_edit edit = {.edit_stack = keep_frames, .context = &f};
    const pt_profile *const folded =
        has_any ? pt_frames_apply(profile, &edit, diag) : pt_profile_ref(profile);
    free(kind);
    return folded;
}
