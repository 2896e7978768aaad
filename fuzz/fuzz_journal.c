/* fuzz_journal.c: bytes taken for a crash journal of libprofiler.so.0. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("journal"), data, size);
    return 0;
}
