/* fuzz_perf_data.c: bytes taken for perf.data. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("perf.data"), data, size);
    return 0;
}
