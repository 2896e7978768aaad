/* fuzz_source_text.c: trimming and cleaning names of source files.
 *
 *   name \n trim path \n source path         any of them may be missing
 */
#include "source/text.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Up to the newline, terminated; *at moves past it. */
static char *next_line(const char **at, const char *end)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (stop == NULL) stop = end;
    char *line = pt_strndup(*at, (size_t)(stop - *at));
    *at = stop < end ? stop + 1 : end;
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = size > 0 ? (const char *)data : "", *end = at + size;
    PT_FREE char *name = next_line(&at, end);
    PT_FREE char *trim_path = next_line(&at, end);
    PT_FREE char *source_path = next_line(&at, end);
    const char *trimmed = pt_source_trim(name, trim_path, source_path);
    /* What stays is the end of the name. */
    const size_t left = strlen(trimmed), whole = strlen(name);
    PT_BUG_IF(left > whole || trimmed != name + whole - left);
    PT_FREE char *clean = pt_source_clean(name);
    PT_FREE char *again = pt_source_clean(clean);
    PT_BUG_IF(strcmp(clean, again) != 0);
    PT_BUG_IF(strlen(clean) > whole + 1 || clean[0] == '\0');
    return 0;
}
