/* fuzz_demangle.c: bytes taken for a mangled name, in every mode. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "object/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 1);
    if (name == NULL) return 0;
    memcpy(name, data, size);
    name[size] = '\0';
    for (int mode = PT_DEMANGLE_TEMPLATES; mode <= PT_DEMANGLE_PPROF_FULL; mode++) {
        free(pt_demangle(name, (pt_demangle_mode)mode));
        free(pt_demangle_pprof(name, (pt_demangle_mode)mode));
    }
    free(name);
    return 0;
}
