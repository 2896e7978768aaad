/* fuzz_otlp.c: bytes taken for OpenTelemetry profiles. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("otlp"), data, size);
    return 0;
}
