/* fuzz_objdump.c: whatever objdump prints gives lines whose texts are whole. */
#include "source/objdump.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_objdump_listing l;
    pt_objdump_parse((const char *)data, size, &l);
    size_t bytes = 0;
    for (size_t i = 0; i < l.count; i++) {
        /* Instructions stand one after the other in the output, a text's end before the next. */
        bytes += strlen(l.line[i].text) + 1;
        PT_BUG_IF(strpbrk(l.line[i].text, "\n") != NULL);
        PT_BUG_IF(strlen(l.line[i].function) > size || strlen(l.line[i].file) > size);
    }
    PT_BUG_IF(bytes > size + 1);
    pt_objdump_listing_done(&l);
    return 0;
}
