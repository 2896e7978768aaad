/* lazy.c: see lazy.h. */
#include "base/lazy.h"

#include <dlfcn.h>

static void store_function(const pt_lazy_function *function, void *at, void *api)
{
    *(void **)(void *)((char *)api + function->offset) = at;
}

#ifdef PT_STATIC

pt_lazy_status pt_lazy_load(const char *const *sonames, const pt_lazy_function *functions,
                            size_t count, void *api)
{
    (void)sonames;
    for (size_t i = 0; i < count; i++)
        store_function(&functions[i], functions[i].linked, api);
    return PT_LAZY_LOADED;
}

#else

pt_lazy_status pt_lazy_load(const char *const *sonames, const pt_lazy_function *functions,
                            size_t count, void *api)
{
    void *library = NULL;
    for (; *sonames != NULL && library == NULL; sonames++)
        library = dlopen(*sonames, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return PT_LAZY_NOT_INSTALLED;
    for (size_t i = 0; i < count; i++) {
        void *const function = dlsym(library, functions[i].name);
        if (function == NULL) return PT_LAZY_TOO_OLD;
        store_function(&functions[i], function, api);
    }
    return PT_LAZY_LOADED;
}

#endif
