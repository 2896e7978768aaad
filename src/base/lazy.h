/* lazy.h: a shared library that is loaded when it is first called, for those that cost more at each
 * start than most commands run.
 *
 *   static struct { int (*open)(const char *); } api;
 *   static const pt_lazy_function functions[] = {{"lib_open", offsetof(__typeof__(api), open)}};
 */
#ifndef PT_BASE_LAZY_H
#define PT_BASE_LAZY_H

#include <stddef.h>

typedef struct pt_lazy_function {
    const char *name; /* as the library exports it */
    size_t offset;    /* of the pointer to it in the api */
} pt_lazy_function;

typedef enum {
    PT_LAZY_LOADED,
    PT_LAZY_NOT_INSTALLED,
    PT_LAZY_TOO_OLD, /* it lacks one of the functions */
} pt_lazy_status;

/* Loads the first of the libraries that is installed (sonames, NULL-terminated) and fills api with
 * the addresses of count functions. It is never unloaded: it may leave threads' data behind. */
pt_lazy_status pt_lazy_load(const char *const *sonames, const pt_lazy_function *functions,
                            size_t count, void *api);

#endif
