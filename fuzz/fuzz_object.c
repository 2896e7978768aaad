/* fuzz_object.c: bytes taken for an image: its symbol index, and the functions, lines and inlined
 * calls at addresses all over its code. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "object/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t kept;

static void look_at_frames(void *context, size_t index, const pt_object_frame *frames, size_t count,
                           uint64_t symbol_bytes)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        kept += strlen(frames[i].linkage_name) + strlen(frames[i].name) + strlen(frames[i].file);
    kept += index + symbol_bytes;
}

static int ascending(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* 64 addresses of each segment, and both ends of it. */
static size_t choose_addresses(const pt_elf *elf, uint64_t *addrs, size_t max)
{
    size_t count = 0;
    pt_elf_segment s;
    for (uint32_t i = 0; pt_elf_segment_at(elf, i, &s) && count + 66 <= max; i++) {
        if (s.type != PT_LOAD) continue;
        for (uint64_t k = 0; k <= 64; k++)
            addrs[count++] = s.addr + s.memory_bytes / 64 * k;
        addrs[count++] = s.addr + s.memory_bytes - 1;
    }
    qsort(addrs, count, sizeof *addrs, ascending);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pt_image_file file = PT_IMAGE_FILE_INIT;
    pt_object *object;
    file.blob = pt_blob_borrow(data, size);
    if (pt_object_open(&file, NULL, NULL, &object, NULL) != PT_OK) return 0;
    uint64_t addrs[512];
    const size_t count = choose_addresses(pt_object_elf(object), addrs, 512);
    pt_object_facts facts;
    pt_object_look(object, PT_OBJECT_LINES, &facts);
    pt_object_resolve(object, PT_OBJECT_LINES, addrs, count, NULL, look_at_frames, NULL);
    pt_object_resolve(object, PT_OBJECT_SYMBOLS, addrs, count, NULL, look_at_frames, NULL);
    pt_object_free(object);
    return 0;
}
