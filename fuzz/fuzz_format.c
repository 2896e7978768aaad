/* fuzz_format.c: bytes taken for one format of the registry; the build makes a target of each. */
#include "formats_fuzz.h"

extern const pt_format PT_FUZZ_FORMAT; /* pt_format_NAME */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(&PT_FUZZ_FORMAT, data, size);
    return 0;
}
