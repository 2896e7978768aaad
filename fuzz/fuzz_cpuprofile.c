/* fuzz_cpuprofile.c: bytes taken for a .cpuprofile. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("cpuprofile"), data, size);
    return 0;
}
