/* fuzz_formats.c: bytes of which nobody knows what they are: probing, and reading as every format
 * that claims them. */
#include "formats_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t padded[64] = {0};
    pt_probe_input input = {
        .head = data,
        .head_bytes = size < 65536 ? size : 65536,
        .file_bytes = size,
        .name = "",
    };
    if (size < sizeof padded) {
        if (size > 0) memcpy(padded, data, size);
        input.head = padded;
    }
    const pt_format *chosen = NULL;
    pt_error error = PT_ERROR_INIT;
    if (pt_format_probe(&input, &chosen, &error) != PT_OK && error.message[0] == '\0')
        fuzz_fail("probe", "no message");
    for (size_t i = 0; i < pt_format_count; i++) {
        if (pt_formats[i]->read && pt_formats[i]->probe && pt_formats[i]->probe(&input) > 0)
            fuzz_format(pt_formats[i], data, size);
    }
    return 0;
}
