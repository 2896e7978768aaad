/* lazy.h: shared libraries that are loaded on the first call, for libraries that take longer to
 * load than most commands run.
 *
 *   static struct { int (*open)(const char *); } api;
 *   static const pt_lazy_function functions[] = {{"lib_open", offsetof(__typeof__(api), open)}};
 */
#ifndef PT_BASE_LAZY_H
#define PT_BASE_LAZY_H

#include <stddef.h>

typedef struct pt_lazy_function {
    const char *name; /* as the library exports it */
    size_t offset;    /* offset of the function pointer in the api struct */
} pt_lazy_function;

typedef enum {
    PT_LAZY_LOADED,
    PT_LAZY_NOT_INSTALLED,
    PT_LAZY_TOO_OLD, /* the library lacks one of the functions */
} pt_lazy_status;

/* Loads the first installed library of sonames (NULL-terminated) and stores the addresses of count
 * functions in api. The library is never unloaded, since it may leave thread-local data behind. */
pt_lazy_status pt_lazy_load(const char *const *sonames, const pt_lazy_function *functions,
                            size_t count, void *api);

#endif
