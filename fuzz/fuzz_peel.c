/* fuzz_peel.c: taking gzip and zstd layers off hostile bytes; and that what we pack comes back. */
#include "base/compress.h"

#include <stdlib.h>

enum { MAX_BYTES = 4 << 20 };

static void peel(const uint8_t *data, size_t size)
{
    pt_blob blob = pt_blob_borrow(data, size);
    pt_peeled peeled;
    pt_diag diag;
    pt_error error = PT_ERROR_INIT;
    pt_diag_init(&diag);
    const pt_status status = pt_peel(&blob, MAX_BYTES, &peeled, &diag, &error);
    if (peeled.count > PT_PEEL_MAX || (status != PT_OK && error.message[0] == '\0')) abort();
    if (peeled.count > 0 && status == PT_OK && blob.size > MAX_BYTES) abort();

    /* Every byte that is said to be there can be read. */
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < blob.size; i++)
        sum = (uint8_t)(sum + blob.data[i]);
    pt_blob_done(&blob);
    pt_diag_done(&diag);
}

static void pack_and_peel(const uint8_t *data, size_t size)
{
    pt_buf packed = PT_BUF_INIT;
    pt_out out;
    pt_blob blob = PT_BLOB_INIT;
    pt_out_to_buf(&out, &packed);
    pt_gzip(data, size, 1 + (int)(size % 12), NULL, &out);
    if (pt_out_done(&out, NULL) != PT_OK) abort();
    if (pt_inflate(packed.data, packed.size, MAX_BYTES, &blob, NULL, NULL) != PT_OK) abort();
    if (blob.size != size || (size > 0 && memcmp(blob.data, data, size) != 0)) abort();
    pt_blob_done(&blob);
    pt_buf_done(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    peel(data, size);
    if (size < 4096) pack_and_peel(data, size);
    return 0;
}
