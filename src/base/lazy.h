/* lazy.h: shared libraries that are loaded on the first call, because they take longer to load than
 * most commands run. A program that is one static file (meson's option static) is linked with them.
 *
 *   static struct { int (*open)(const char *); } api;
 *   #define FUNCTIONS(ROW) ROW(lib_open, api, open)
 *   FUNCTIONS(PT_LAZY_LINKED)
 *   static const pt_lazy_function functions[] = {FUNCTIONS(PT_LAZY_ROW)};
 */
#pragma once

#include <stddef.h>

typedef struct pt_lazy_function {
    const char *name; /* as the library exports it */
    size_t offset;    /* offset of the function pointer in the api struct */
    void *linked;     /* in a static program: the function */
} pt_lazy_function;

/* The linked function is declared under another name (pt_linked_x), since the library's header may
 * declare the function's real name with another type. */
#ifdef PT_STATIC
#define PT_LAZY_LINKED(function, api, member) extern char pt_linked_##function[] __asm__(#function);
#define PT_LAZY_ROW(function, api, member)                                                         \
    {#function, offsetof(__typeof__(api), member), pt_linked_##function},
#else
#define PT_LAZY_LINKED(function, api, member)
#define PT_LAZY_ROW(function, api, member) {#function, offsetof(__typeof__(api), member), NULL},
#endif

typedef enum {
    PT_LAZY_LOADED,
    PT_LAZY_NOT_INSTALLED,
    PT_LAZY_TOO_OLD, /* the library lacks one of the functions */
} pt_lazy_status;

/* In a static program: stores the functions that are linked. Else loads the first installed library
 * of sonames (NULL-terminated) and stores the addresses of count functions in api. The library is
 * never unloaded, since its thread-local data may stay in use. */
pt_lazy_status pt_lazy_load(const char *const *sonames, const pt_lazy_function *functions,
                            size_t count, void *api);
