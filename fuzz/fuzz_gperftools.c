/* fuzz_gperftools.c: bytes taken for a gperftools CPU profile. What was read can be written and
 * read again; it need not mean the same, since the reader takes off a frame that nearly all records
 * share (the signal handler's), and the records that count may be fewer the second time. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pt_format *format = pt_format_find("gperftools");
    pt_buf bytes = PT_BUF_INIT;
    pt_status status;
    const pt_profile *profile = fuzz_read(format, data, size, &status);
    if (profile != NULL && fuzz_write(format, profile, &bytes)) {
        const pt_profile *again = fuzz_read(format, bytes.data, bytes.size, &status);
        if (again == NULL) fuzz_fail("gperftools", "what was written cannot be read");
        pt_profile_unref(again);
    }
    pt_profile_unref(profile);
    pt_buf_done(&bytes);
    return 0;
}
