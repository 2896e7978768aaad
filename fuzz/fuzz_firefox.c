/* fuzz_firefox.c: bytes taken for a profile of Firefox. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("firefox"), data, size);
    return 0;
}
