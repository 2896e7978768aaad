/* lazy_microhttpd.c: see lazy_microhttpd.h. */
#ifdef PT_WITH_MICROHTTPD
#include "serve/lazy_microhttpd.h"

#include "base/lazy.h"

static pt_microhttpd api;

#define FUNCTIONS(ROW)                                                                             \
    ROW(MHD_start_daemon, api, start_daemon)                                                       \
    ROW(MHD_stop_daemon, api, stop_daemon)                                                         \
    ROW(MHD_get_connection_values_n, api, get_connection_values_n)                                 \
    ROW(MHD_lookup_connection_value, api, lookup_connection_value)                                 \
    ROW(MHD_get_connection_info, api, get_connection_info)                                         \
    ROW(MHD_suspend_connection, api, suspend_connection)                                           \
    ROW(MHD_resume_connection, api, resume_connection)                                             \
    ROW(MHD_create_response_from_buffer, api, create_response_from_buffer)                         \
    ROW(MHD_create_response_from_fd_at_offset64, api, create_response_from_fd_at_offset64)         \
    ROW(MHD_add_response_header, api, add_response_header)                                         \
    ROW(MHD_queue_response, api, queue_response)                                                   \
    ROW(MHD_destroy_response, api, destroy_response)

FUNCTIONS(PT_LAZY_LINKED)

static const pt_lazy_function functions[] = {FUNCTIONS(PT_LAZY_ROW)};

/* Uses Debian's soname since 2014. */
const pt_microhttpd *pt_microhttpd_load(const char **ret_missing)
{
    static const char *const sonames[] = {"libmicrohttpd.so.12", NULL};
    static const char *const why[] = {
        [PT_LAZY_NOT_INSTALLED] = "libmicrohttpd is not installed (Debian: libmicrohttpd12)",
        [PT_LAZY_TOO_OLD] = "libmicrohttpd is too old"};
    *ret_missing =
        why[pt_lazy_load(sonames, functions, sizeof functions / sizeof *functions, &api)];
    return *ret_missing == NULL ? &api : NULL;
}
#else
typedef int pt_no_microhttpd; /* ISO C has no empty file */
#endif
