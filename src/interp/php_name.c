/* php_name.c: the names of files that have PHP. Not for signal handlers. */
#include <string.h>

#include "interp/php.h"

bool pt_php_is_file(const char *path)
{
    static const char *const kinds[] = {"-fpm", "-cgi", "-cli"};
    const char *const slash = strrchr(path, '/');
    const char *at = slash != NULL ? slash + 1 : path;
    const bool is_library = strncmp(at, "lib", 3) == 0;
    if (is_library) at += 3;
    if (strncmp(at, "php", 3) != 0) return false;
    at += 3;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !is_library; i++)
        if (strncmp(at, kinds[i], 4) == 0) {
            at += 4;
            break;
        }
    at += strspn(at, "0123456789.");
    if (!is_library) return *at == '\0';
    return strncmp(at - 1, ".so", 3) == 0 && (at[2] == '\0' || at[2] == '.');
}
