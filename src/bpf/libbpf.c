/* libbpf.c: see libbpf.h. */
#include "bpf/libbpf.h"

#include <pthread.h>

#include "base/lazy.h"

static pt_libbpf api;

static const pt_lazy_function functions[] = {
    {"libbpf_set_print", offsetof(pt_libbpf, set_print)},
    {"bpf_object__open_mem", offsetof(pt_libbpf, object_open_mem)},
    {"bpf_object__load", offsetof(pt_libbpf, object_load)},
    {"bpf_object__close", offsetof(pt_libbpf, object_close)},
    {"bpf_object__find_map_by_name", offsetof(pt_libbpf, object_find_map_by_name)},
    {"bpf_object__find_program_by_name", offsetof(pt_libbpf, object_find_program_by_name)},
    {"bpf_map__fd", offsetof(pt_libbpf, map_fd)},
    {"bpf_map__set_max_entries", offsetof(pt_libbpf, map_set_max_entries)},
    {"bpf_program__fd", offsetof(pt_libbpf, program_fd)},
    {"bpf_map_create", offsetof(pt_libbpf, map_create)},
    {"bpf_map_update_elem", offsetof(pt_libbpf, map_update_elem)},
    {"bpf_map_delete_elem", offsetof(pt_libbpf, map_delete_elem)},
};

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static const char *missing;

/* libbpf prints each message of the verifier; pitot prints one line of its own. */
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
