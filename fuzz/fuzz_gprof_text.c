/* fuzz_gprof_text.c: bytes taken for a report that gprof prints. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("gprof-text"), data, size);
    return 0;
}
