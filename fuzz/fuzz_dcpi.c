/* fuzz_dcpi.c: bytes taken for a DCPI profile, binary and as dcpicat's text, whoever claims them.
 */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(pt_format_find("dcpi"), data, size);
    fuzz_format(pt_format_find("dcpicat"), data, size);
    return 0;
}
