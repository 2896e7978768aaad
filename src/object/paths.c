/* paths.c: tidies the file names of DWARF. */
#include <string.h>

#include "object/object_int.h"

void pt_tidy_path_text(const char *text, char *out)
{
    const bool is_absolute = text[0] == '/';
    char *const base = out + (is_absolute ? 1 : 0); /* ".." never goes above this point */
    char *to = base;
    char *floor = base; /* end of leading "..", which stay */
    if (is_absolute) out[0] = '/';
    while (*text != '\0') {
        while (*text == '/')
            text++;
        const size_t n = strcspn(text, "/");
        if (n == 0) break;
        const bool is_up = n == 2 && text[0] == '.' && text[1] == '.';
        if (is_up && to > floor) {
            while (to > floor && to[-1] != '/')
                to--;
            to -= to > floor; /* and the separator */
        } else if (!(n == 1 && text[0] == '.') && !(is_up && is_absolute)) {
            if (to > base) *to++ = '/';
            memmove(to, text, n);
            to += n;
            if (is_up) floor = to;
        }
        text += n;
    }
    *to = '\0';
}
