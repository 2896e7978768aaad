/* fuzz_speedscope.c: bytes taken for speedscope's JSON. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("speedscope"), data, size);
    return 0;
}
