/* lazy_edit.c: see lazy_edit.h. */
#include "cmd/lazy_edit.h"

#include <dlfcn.h>
#include <stddef.h>

static pt_libedit functions;

static const struct {
    const char *name;
    size_t offset;
} rows[] = {
#define ROW(function)                                                                              \
    {                                                                                              \
        .name = #function, .offset = offsetof(pt_libedit, function)                                \
    }
    ROW(el_init),      ROW(el_end),      ROW(el_reset),     ROW(el_gets),      ROW(el_set),
    ROW(el_get),       ROW(el_line),     ROW(el_insertstr), ROW(el_deletestr), ROW(el_source),
    ROW(history_init), ROW(history_end), ROW(history),
#undef ROW
};

/* Debian calls it libedit.so.2, others libedit.so.0. */
const pt_libedit *pt_libedit_load(void)
{
    void *library = dlopen("libedit.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen("libedit.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *const function = dlsym(library, rows[i].name);
        if (function == NULL) return NULL;
        *(void **)(void *)((char *)&functions + rows[i].offset) = function;
    }
    return &functions;
}
