/* file_names.c: recognizes interpreters by the names of their files. Not for signal handlers. */
#include <string.h>

#include "interp/perl.h"
#include "interp/php.h"
#include "interp/ruby.h"
#include "interp/v8.h"

/* Returns the text after the name if the path's base name begins with the name, or with lib and the
 * name; else NULL. */
static const char *behind_name(const char *path, const char *name, bool *ret_is_library)
{
    const char *const slash = strrchr(path, '/');
    const char *at = slash != NULL ? slash + 1 : path;
    const size_t bytes = strlen(name);
    *ret_is_library = strncmp(at, "lib", 3) == 0;
    if (*ret_is_library) at += 3;
    return strncmp(at, name, bytes) == 0 ? at + bytes : NULL;
}

/* Is `at`, the end of a file name, a version? For a library: .so, perhaps with a version before or
 * after .so. */
static bool is_version(const char *at, bool is_library)
{
    at += strspn(at, "0123456789.");
    if (!is_library) return *at == '\0';
    return strncmp(at - 1, ".so", 3) == 0 && (at[2] == '\0' || at[2] == '.');
}

bool pt_php_is_file(const char *path)
{
    static const char *const kinds[] = {"-fpm", "-cgi", "-cli"};
    bool is_library;
    const char *at = behind_name(path, "php", &is_library);
    if (at == NULL) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !is_library; i++)
        if (strncmp(at, kinds[i], 4) == 0) {
            at += 4;
            break;
        }
    return is_version(at, is_library);
}

bool pt_ruby_is_file(const char *path)
{
    bool is_library;
    const char *at = behind_name(path, "ruby", &is_library);
    if (at == NULL) return false;
    if (is_library && *at == '-') at++;
    return is_version(at, is_library);
}

bool pt_perl_is_file(const char *path)
{
    bool is_library;
    const char *const at = behind_name(path, "perl", &is_library);
    return at != NULL && is_version(at, is_library);
}

bool pt_v8_is_file(const char *path)
{
    bool is_library;
    const char *at = behind_name(path, "node", &is_library);
    if (at == NULL) return false;
    if (!is_library && strncmp(at, "js", 2) == 0) at += 2;
    return is_version(at, is_library);
}
