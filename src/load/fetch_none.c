/* fetch_none.c: replaces fetch_http.c in a build without libcurl; every request fails. */
#include "load/fetch_int.h"

const char *pt_fetch_version(void)
{
    return NULL;
}

void pt_http_run(const pt_request *requests, size_t count, const pt_fetch_options *options,
                 pt_fetched *ret)
{
    (void)options;
    for (size_t i = 0; i < count; i++) {
        ret[i] = (pt_fetched){
            .url = pt_strdup(requests[i].url), .body = PT_BLOB_INIT, .error = PT_ERROR_INIT};
        pt_error_set(&ret[i].error, PT_ERR_UNSUPPORTED,
                     "this pitot was built without libcurl; save it to a file first (curl -o)");
    }
}
