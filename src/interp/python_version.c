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

pt_python_refusal pt_python_judge(const pt_python_build *build)
{
    if (!build->has_version) return PT_PYTHON_NO_VERSION;
    if (pt_python_layout_of(build->major, build->minor) == NULL) return PT_PYTHON_OTHER_VERSION;
    if (build->is_unlocked) return PT_PYTHON_UNLOCKED;
    if (build->is_debug) return PT_PYTHON_DEBUG;
    return build->has_types ? PT_PYTHON_READABLE : PT_PYTHON_NO_TYPES;
}

void pt_python_reason(pt_python_refusal refusal, const pt_python_build *build, char *to,
                      size_t bytes)
{
    static const char *const reasons[PT_PYTHON_REFUSALS] = {
        [PT_PYTHON_READABLE] = "",
        [PT_PYTHON_NO_VERSION] = "a Python whose version its file does not tell",
        [PT_PYTHON_UNLOCKED] = "this Python is built without the interpreter lock",
        [PT_PYTHON_DEBUG] = "this Python is a debug build",
        [PT_PYTHON_NO_TYPES] = "this Python does not tell where its types are",
        [PT_PYTHON_NO_KEYS] = "a Python in a process without threads that pitot knows",
        [PT_PYTHON_LIES] = PT_PYTHON_LIE,
    };
    if (refusal == PT_PYTHON_OTHER_VERSION)
        snprintf(to, bytes, "Python %u.%u is not known to this version of pitot", build->major,
                 build->minor);
    else
        snprintf(to, bytes, "%s", reasons[refusal]);
}
