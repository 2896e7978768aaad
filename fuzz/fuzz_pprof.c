/* fuzz_pprof.c: bytes taken for profile.proto. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("pprof"), data, size);
    return 0;
}
