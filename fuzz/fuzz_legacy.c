/* fuzz_legacy.c: bytes taken for a text profile of gperftools, jemalloc, Go or Java, or for a Perl
 * pprof's raw file, read with the names and labels of their comments as well. */
#include "formats_fuzz.h"

static void read_annotated(const pt_format *format, const uint8_t *data, size_t size)
{
    pt_status status;
    pt_profile_unref(
        fuzz_read_with(format, data, size, (pt_read_hooks){.annotate = true}, &status));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"heap",   "jemalloc",  "contention", "threadz",
                                        "counts", "java-text", "java-cpu",   "symbolized"};
    uint8_t padded[64] = {0};
    pt_probe_input input = {
        .head = data, .head_bytes = size < 65536 ? size : 65536, .file_bytes = size, .name = ""};
    if (size < sizeof padded) {
        if (size > 0) memcpy(padded, data, size);
        input.head = padded;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const pt_format *const format = pt_format_find(names[i]);
        if (format->probe(&input) == 0) continue;
        fuzz_format(format, data, size);
        read_annotated(format, data, size);
    }
    return 0;
}
