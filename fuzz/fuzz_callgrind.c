/* fuzz_callgrind.c: bytes taken for a callgrind profile. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("callgrind"), data, size);
    return 0;
}
