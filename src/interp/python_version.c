/* python_version.c: the version of CPython in a file's name, and which builds are refused. Not for
 * signal handlers. */
#include <stdio.h>
#include <string.h>

#include "interp/python.h"

/* Reads a number and moves *text past it. False: no digits. */
static bool take_number(const char **text, unsigned *ret)
{
    unsigned value = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9' && value < 1000; at++)
        value = value * 10 + (unsigned)(*at - '0');
    if (at == *text) return false;
    *text = at;
    *ret = value;
    return true;
}

bool pt_python_version_of_name(const char *path, unsigned *ret_major, unsigned *ret_minor)
{
    static const char word[] = "python";
    const char *const slash = strrchr(path, '/');
    const char *at = slash != NULL ? slash + 1 : path;
    if (strncmp(at, "lib", 3) == 0) at += 3;
    if (strncmp(at, word, sizeof word - 1) != 0) return false;
    at += sizeof word - 1;
    unsigned major, minor;
    if (!take_number(&at, &major) || *at++ != '.' || !take_number(&at, &minor)) return false;
    /* 3.13t and 3.11d have other layouts. */
    if (*at != '\0' && strncmp(at, ".so", 3) != 0) return false;
    *ret_major = major;
    *ret_minor = minor;
    return true;
}

/* The places of offsets in _PyRuntime, as numbers of words (Include/internal/pycore_runtime.h of
 * 3.13, pycore_debug_offsets.h of 3.14). */
typedef struct {
    uint8_t minor, finalizing, state_frame, frame_back, frame_code, frame_place, frame_boundary;
    uint8_t code_file, code_qualname, code_lines, code_first_line, code_instructions, text_ascii;
} told_places;

static const told_places places[] = {
    {13, 4, 23, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70},
    {14, 4, 26, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80},
};

enum { TOLD_COOKIE = 0, TOLD_UNLOCKED = 2 };

static bool has_cookie(const pt_python_build *build)
{
    return build->has_told && memcmp(&build->told[TOLD_COOKIE], "xdebugpy", sizeof(uint64_t)) == 0;
}

/* Do the offsets in _PyRuntime equal those of the version's layout? True for a version that
 * publishes none. */
static bool is_as_told(const pt_python_layout *layout, const pt_python_build *build)
{
    const uint64_t *const told = build->told;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const told_places *const p = &places[i];
        if (p->minor != layout->minor) continue;
        return has_cookie(build) && told[p->finalizing] == layout->finalizing &&
               told[p->state_frame] == layout->state_frame &&
               told[p->frame_back] == layout->frame_back &&
               told[p->frame_code] == layout->frame_code &&
               told[p->frame_place] == layout->frame_place &&
               told[p->frame_boundary] == layout->frame_boundary &&
               told[p->code_file] == layout->code_file &&
               told[p->code_qualname] == layout->code_qualname &&
               told[p->code_lines] == layout->code_lines &&
               told[p->code_first_line] == layout->code_first_line &&
               told[p->code_instructions] == layout->code_instructions &&
               told[p->text_ascii] == layout->text_ascii;
    }
    return true;
}

pt_python_refusal pt_python_judge(const pt_python_build *build)
{
    if (!build->has_version) return PT_PYTHON_NO_VERSION;
    const pt_python_layout *const layout = pt_python_layout_of(build->major, build->minor);
    if (layout == NULL) return PT_PYTHON_OTHER_VERSION;
    if (build->is_unlocked || (has_cookie(build) && build->told[TOLD_UNLOCKED] != 0))
        return PT_PYTHON_UNLOCKED;
    if (build->is_debug) return PT_PYTHON_DEBUG;
    if (!build->has_types) return PT_PYTHON_NO_TYPES;
    return is_as_told(layout, build) ? PT_PYTHON_READABLE : PT_PYTHON_LIES;
}

void pt_python_reason(pt_python_refusal refusal, const pt_python_build *build, char *to,
                      size_t bytes)
{
    static const char *const reasons[PT_PYTHON_REFUSALS] = {
        [PT_PYTHON_READABLE] = "",
        [PT_PYTHON_NO_VERSION] = "pitot cannot find the version of this Python",
        [PT_PYTHON_UNLOCKED] = "this Python is built without the interpreter lock",
        [PT_PYTHON_DEBUG] = "this Python is a debug build",
        [PT_PYTHON_NO_TYPES] = "pitot cannot find the types of this Python",
        [PT_PYTHON_NO_KEYS] = "a Python in a process without threads that pitot knows",
        [PT_PYTHON_LIES] = PT_PYTHON_LIE,
    };
    if (refusal == PT_PYTHON_OTHER_VERSION)
        snprintf(to, bytes, "Python %u.%u is not known to this version of pitot", build->major,
                 build->minor);
    else
        snprintf(to, bytes, "%s", reasons[refusal]);
}
