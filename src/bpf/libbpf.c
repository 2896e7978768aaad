/* libbpf.c: see libbpf.h. */
#include "bpf/libbpf.h"

#include <pthread.h>

#include "base/lazy.h"

static pt_libbpf api;

#define FUNCTIONS(ROW)                                                                             \
    ROW(libbpf_set_print, api, set_print)                                                          \
    ROW(bpf_object__open_mem, api, object_open_mem)                                                \
    ROW(bpf_object__load, api, object_load)                                                        \
    ROW(bpf_object__close, api, object_close)                                                      \
    ROW(bpf_object__find_map_by_name, api, object_find_map_by_name)                                \
    ROW(bpf_object__find_program_by_name, api, object_find_program_by_name)                        \
    ROW(bpf_map__fd, api, map_fd)                                                                  \
    ROW(bpf_object__next_map, api, object_next_map)                                                \
    ROW(bpf_map__name, api, map_name)                                                              \
    ROW(bpf_map__reuse_fd, api, map_reuse_fd)                                                      \
    ROW(bpf_map__set_max_entries, api, map_set_max_entries)                                        \
    ROW(bpf_program__fd, api, program_fd)                                                          \
    ROW(bpf_program__set_autoload, api, program_set_autoload)                                      \
    ROW(bpf_raw_tracepoint_open, api, raw_tracepoint_open)                                         \
    ROW(bpf_map_create, api, map_create)                                                           \
    ROW(bpf_map_update_elem, api, map_update_elem)                                                 \
    ROW(bpf_link_create, api, link_create)                                                         \
    ROW(bpf_iter_create, api, iter_create)                                                         \
    ROW(bpf_map_lookup_elem, api, map_lookup_elem)                                                 \
    ROW(bpf_map_lookup_batch, api, map_lookup_batch)                                               \
    ROW(bpf_map_delete_elem, api, map_delete_elem)

FUNCTIONS(PT_LAZY_LINKED)

static const pt_lazy_function functions[] = {FUNCTIONS(PT_LAZY_ROW)};

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static const char *missing;

/* Suppresses libbpf's messages: it prints all of the verifier's, and pitot prints one line
 * itself. */
static int print_nothing(int level, const char *format, va_list arguments)
{
    (void)level, (void)format, (void)arguments;
    return 0;
}

static void load_libbpf(void)
{
    static const char *const sonames[] = {"libbpf.so.1", NULL};
    static const char *const why[] = {[PT_LAZY_NOT_INSTALLED] =
                                          "libbpf is not installed (libbpf.so.1: package libbpf1)",
                                      [PT_LAZY_TOO_OLD] = "libbpf is too old"};
    missing = why[pt_lazy_load(sonames, functions, sizeof functions / sizeof functions[0], &api)];
    if (missing == NULL) api.set_print(print_nothing);
}

const pt_libbpf *pt_libbpf_loaded(const char **ret_why)
{
    pthread_once(&loaded, load_libbpf);
    *ret_why = missing;
    return missing == NULL ? &api : NULL;
}
