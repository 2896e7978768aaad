/* fuzz_folded.c: bytes taken for folded stacks. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("folded"), data, size);
    return 0;
}
