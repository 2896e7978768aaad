/* ruby_version.c: the version of Ruby in a text. Not for signal handlers. */
#include <stdio.h>
#include <stdlib.h>

#include "interp/ruby.h"

static bool read_version(const char *text, unsigned *ret_major, unsigned *ret_minor)
{
    char *end;
    *ret_major = (unsigned)strtoul(text, &end, 10);
    if (end == text || *end != '.') return false;
    *ret_minor = (unsigned)strtoul(end + 1, NULL, 10);
    return true;
}

const pt_ruby_layout *pt_ruby_layout_of_text(const char *text)
{
    unsigned major, minor;
    return read_version(text, &major, &minor) ? pt_ruby_layout_of(major, minor) : NULL;
}

void pt_ruby_reason(const char *text, char *to, size_t bytes)
{
    unsigned major, minor;
    if (!read_version(text, &major, &minor))
        snprintf(to, bytes, "pitot cannot find the version of this Ruby");
    else
        snprintf(to, bytes,
                 "Ruby %u.%u, whose frames this pitot does not know (it knows 2.7, 3.1 and 3.3)",
                 major, minor);
}
