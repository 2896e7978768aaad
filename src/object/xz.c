/* xz.c: decompresses xz data inside of ELF files, with liblzma. */
#include <lzma.h>

#include "object/object_int.h"

const char *pt_object_xz_version(void)
{
    return lzma_version_string();
}

enum { MEMORY_MAX = 128 << 20 }; /* limit of the decoder's memory; xz -9 needs 65 MiB */

pt_status pt_xz_inflate(const void *data, size_t size, uint64_t max_bytes, pt_blob *ret_blob,
                        pt_error *reterr)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    pt_blob out;
    if (lzma_stream_decoder(&stream, MEMORY_MAX, 0) != LZMA_OK ||
        pt_blob_reserve(max_bytes, &out, reterr) != PT_OK) {
        lzma_end(&stream);
        return pt_error_set(reterr, PT_ERR_NOMEM, "there is no memory left to decompress xz data");
    }
    stream.next_in = data;
    stream.avail_in = size;
    stream.next_out = pt_blob_bytes(&out);
    stream.avail_out = max_bytes;
    const lzma_ret result = lzma_code(&stream, LZMA_FINISH);
    const bool is_full = stream.avail_out == 0;
    const uint64_t out_bytes = stream.total_out;
    lzma_end(&stream);
    if (result != LZMA_STREAM_END || pt_blob_resize(&out, out_bytes, reterr) != PT_OK) {
        pt_blob_done(&out);
        return is_full ? pt_error_set(reterr, PT_ERR_LIMIT,
                                      "xz data decompresses to more than the limit")
                       : pt_error_set(reterr, PT_ERR_DAMAGED, "xz data is damaged");
    }
    *ret_blob = out;
    return PT_OK;
}
