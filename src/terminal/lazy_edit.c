/* lazy_edit.c: see lazy_edit.h. */
#include "terminal/lazy_edit.h"

#include "base/lazy.h"

static pt_libedit api;

#define FUNCTIONS(ROW)                                                                             \
    ROW(el_init, api, el_init)                                                                     \
    ROW(el_end, api, el_end)                                                                       \
    ROW(el_reset, api, el_reset)                                                                   \
    ROW(el_gets, api, el_gets)                                                                     \
    ROW(el_set, api, el_set)                                                                       \
    ROW(el_get, api, el_get)                                                                       \
    ROW(el_line, api, el_line)                                                                     \
    ROW(el_insertstr, api, el_insertstr)                                                           \
    ROW(el_deletestr, api, el_deletestr)                                                           \
    ROW(el_source, api, el_source)                                                                 \
    ROW(history_init, api, history_init)                                                           \
    ROW(history_end, api, history_end)                                                             \
    ROW(history, api, history)

FUNCTIONS(PT_LAZY_LINKED)

static const pt_lazy_function functions[] = {FUNCTIONS(PT_LAZY_ROW)};

/* Debian names the library libedit.so.2, other systems libedit.so.0. */
const pt_libedit *pt_libedit_load(void)
{
    static const char *const sonames[] = {"libedit.so.2", "libedit.so.0", NULL};
    const size_t count = sizeof functions / sizeof functions[0];
    return pt_lazy_load(sonames, functions, count, &api) == PT_LAZY_LOADED ? &api : NULL;
}
