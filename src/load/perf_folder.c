/* perf_folder.c: see perf_folder.h. */
#include "load/perf_folder.h"

#include <string.h>
#include <sys/stat.h>

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool pt_perf_folder_is(const char *path)
{
    PT_FREE char *data = pt_strf("%s/data", path);
    return is_file(data);
}

/* Appends the file's content. */
static pt_status append_file(pt_blob *to, const char *path, uint64_t max_bytes, pt_error *reterr)
{
    PT_AUTO(pt_blob) more = PT_BLOB_INIT;
    const size_t old = to->size;
    pt_status status =
        pt_file_read(path, PT_FILE_EMPTY_OK, max_bytes > old ? max_bytes - old : 0, &more, reterr);
    if (status == PT_OK && more.size > max_bytes - old)
        status = pt_error_set(reterr, PT_ERR_LIMIT,
                              "its files have more than the limit of %llu bytes of memory",
                              (unsigned long long)max_bytes);
    if (status == PT_OK) status = pt_blob_resize(to, old + more.size, reterr);
    if (status == PT_OK && more.size > 0) memcpy(pt_blob_bytes(to) + old, more.data, more.size);
    if (status == PT_OK && !pt_blob_intact(&more))
        status = pt_error_set(reterr, PT_ERR_SYSTEM, PT_FILE_SHRANK);
    if (status != PT_OK) pt_error_where(reterr, path, NULL, -1);
    return status;
}

pt_status pt_perf_folder_read(const char *path, uint64_t max_bytes, pt_blob *ret_blob,
                              pt_error *reterr)
{
    PT_FREE char *first = pt_strf("%s/data", path);
    PT_FREE char *second = pt_strf("%s/data.0", path);
    if (!is_file(second))
        return pt_file_read(first, PT_FILE_OF_ANY_SIZE, max_bytes, ret_blob, reterr);
    pt_blob whole = PT_BLOB_INIT;
    pt_status status = pt_blob_new(0, &whole, reterr);
    if (status == PT_OK) status = append_file(&whole, first, max_bytes, reterr);
    for (unsigned i = 0; status == PT_OK; i++) {
        PT_FREE char *next = pt_strf("%s/data.%u", path, i);
        if (!is_file(next)) break;
        status = append_file(&whole, next, max_bytes, reterr);
    }
    if (status == PT_OK)
        *ret_blob = whole;
    else
        pt_blob_done(&whole);
    return status;
}
