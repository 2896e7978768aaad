/* fuzz_perf_script.c: text taken for what perf script prints. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("perf-script"), data, size);
    return 0;
}
