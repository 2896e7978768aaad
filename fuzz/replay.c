/* replay.c: runs a fuzz target once on each file that is given, and on no bytes at all.
 *
 * This is how a fuzzer's finds stay fixed: they are put into fuzz/corpus/NAME, and every `make
 * test` runs them under the address and undefined-behaviour sanitizers. Prints TAP.
 */
#include "files.h"

#include <stdio.h>

static void replay(const char *path, uint8_t *bytes, size_t size)
{
    printf("# %s, %zu bytes\n", path, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    const size_t files = for_each_file(argc - 1, argv + 1, replay);
    printf("ok 1 - %s survives %zu inputs\n1..1\n", base_name(argv[0]), files + 1);
    return 0;
}
