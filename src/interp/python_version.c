/* python_version.c: the version of CPython in a file's name. Not for signal handlers. */
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
