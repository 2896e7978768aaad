/* lazy_microhttpd.c: see lazy_microhttpd.h. */
#ifdef PT_WITH_MICROHTTPD
#include "serve/lazy_microhttpd.h"

#include <dlfcn.h>
#include <stddef.h>

static pt_microhttpd api;

static const struct {
    const char *name;
    size_t offset;
} rows[] = {
#define ROW(name)                                                                                  \
    {                                                                                              \
        "MHD_" #name, offsetof(pt_microhttpd, name)                                                \
    }
    ROW(start_daemon),
    ROW(stop_daemon),
    ROW(get_connection_values_n),
    ROW(lookup_connection_value),
    ROW(get_connection_info),
    ROW(suspend_connection),
    ROW(resume_connection),
    ROW(create_response_from_buffer),
    ROW(create_response_from_fd_at_offset64),
    ROW(add_response_header),
    ROW(queue_response),
    ROW(destroy_response),
#undef ROW
};

/* Uses Debian's soname since 2014. The library is never unloaded. */
const pt_microhttpd *pt_microhttpd_load(const char **ret_missing)
{
    void *const library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    *ret_missing = "libmicrohttpd is not installed (Debian: libmicrohttpd12)";
    if (library == NULL) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *const function = dlsym(library, rows[i].name);
        *ret_missing = "libmicrohttpd is too old";
        if (function == NULL) return NULL;
        *(void **)(void *)((char *)&api + rows[i].offset) = function;
    }
    *ret_missing = NULL;
    return &api;
}
#else
typedef int pt_no_microhttpd; /* ISO C has no empty file */
#endif
