/* php_version.c: the text of a build of PHP. Not for signal handlers. */
#include <string.h>

#include "interp/php.h"

const pt_php_layout *pt_php_layout_in(const void *bytes, size_t size)
{
    static const char begin[] = "API", end[] = ",NTS";
    enum { BEGIN = sizeof begin - 1, DIGITS = 8 };
    const char *at = bytes;
    for (; size >= PT_PHP_BUILD_BYTES; at++) {
        const char *const next = memmem(at, size, begin, BEGIN);
        if (next == NULL || size - (size_t)(next - at) < PT_PHP_BUILD_BYTES) return NULL;
        size -= (size_t)(next - at) + 1;
        at = next;
        uint32_t api = 0;
        int digits = 0;
        for (; digits < DIGITS && at[BEGIN + digits] >= '0' && at[BEGIN + digits] <= '9'; digits++)
            api = 10 * api + (uint32_t)(at[BEGIN + digits] - '0');
        if (digits == DIGITS && memcmp(at + BEGIN + DIGITS, end, sizeof end) == 0 &&
            pt_php_layout_of(api) != NULL)
            return pt_php_layout_of(api);
    }
    return NULL;
}
