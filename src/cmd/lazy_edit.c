/* lazy_edit.c: see lazy_edit.h. */
#include "cmd/lazy_edit.h"

#include "base/lazy.h"

static pt_libedit api;

static const pt_lazy_function functions[] = {
#define ROW(function)                                                                              \
    {                                                                                              \
        .name = #function, .offset = offsetof(pt_libedit, function)                                \
    }
    ROW(el_init),      ROW(el_end),      ROW(el_reset),     ROW(el_gets),      ROW(el_set),
    ROW(el_get),       ROW(el_line),     ROW(el_insertstr), ROW(el_deletestr), ROW(el_source),
    ROW(history_init), ROW(history_end), ROW(history),
#undef ROW
};

/* Debian names the library libedit.so.2, other systems libedit.so.0. */
const pt_libedit *pt_libedit_load(void)
{
    static const char *const sonames[] = {"libedit.so.2", "libedit.so.0", NULL};
    const size_t count = sizeof functions / sizeof functions[0];
    return pt_lazy_load(sonames, functions, count, &api) == PT_LAZY_LOADED ? &api : NULL;
}
