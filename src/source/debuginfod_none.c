/* debuginfod_none.c: for builds without libcurl: no server is used. */
#include "source/debuginfod.h"

pt_debuginfod *pt_debuginfod_new(const pt_debuginfod_options *options)
{
    (void)options;
    return NULL;
}

void pt_debuginfod_free(pt_debuginfod *client)
{
    (void)client;
}

pt_status pt_debuginfod_find(pt_debuginfod *client, pt_debuginfod_kind kind, const char *build_id,
                             const char *source, const char *program, char **ret_path,
                             pt_error *reterr)
{
    (void)client;
    (void)kind;
    (void)build_id;
    (void)source;
    (void)program;
    (void)ret_path;
    return pt_error_set(reterr, PT_ERR_NOTFOUND, "this pitot was built without libcurl");
}
