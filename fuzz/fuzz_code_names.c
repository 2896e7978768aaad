/* fuzz_code_names.c: bytes taken for kernel symbols with modules, a perf map, and a jitdump; the
 * first byte says which. */
#include <stdlib.h>
#include <string.h>

#include "object/code_names.h"

static volatile uint64_t kept;

static void ask(pt_code_names *names)
{
    pt_code_answer a;
    for (size_t i = 0; i < names->entries.count && i < 256; i++) {
        const pt_code_entry *e = &names->entries.items[i];
        if (pt_code_names_find(names, e->addr, &a)) kept += strlen(a.name) + a.line;
        if (pt_code_names_find(names, e->end_addr - 1, &a)) kept += strlen(a.file);
    }
    for (size_t i = 1; i < names->ranges.count; i++)
        if (names->ranges.items[i].addr < names->ranges.items[i - 1].end_addr) abort();
    pt_code_names_done(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_code_names names;
    if (size == 0) return 0;
    const char *text = (const char *)data + 1;
    const size_t text_bytes = size - 1, half = text_bytes / 2;
    pt_status status;
    switch (data[0] % 3) {
    case 0:
        status =
            pt_kallsyms_read(text, text_bytes - half, text + text_bytes - half, half, &names, NULL);
        break;
    case 1: status = pt_perf_map_read(text, text_bytes, &names, NULL); break;
    default: status = pt_jitdump_read(text, text_bytes, &names, NULL); break;
    }
    if (status == PT_OK)
        ask(&names);
    else
        pt_code_names_done(&names);
    return 0;
}
