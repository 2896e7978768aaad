/* xz_none.c: replaces xz.c in a build without liblzma. */
#include "object/object_int.h"

const char *pt_object_xz_version(void)
{
    return NULL;
}

pt_status pt_xz_inflate(const void *data, size_t size, uint64_t max_bytes, pt_blob *ret_blob,
                        pt_error *reterr)
{
    (void)data;
    (void)size;
    (void)max_bytes;
    (void)ret_blob;
    return pt_error_set(reterr, PT_ERR_UNSUPPORTED, "this pitot was built without liblzma");
}
