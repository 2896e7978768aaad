/* The bytes as an ELF image: whatever its frames, Go tables and code are, the table that is made of
 * them is a good one, or there is a reason. */
#include "elf/image.h"
#include "unwind/heap.h"
#include "unwind/table.h"
#include "unwind/x86.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 30 };

static void *take(void *arg, size_t bytes)
{
    return bytes <= MOST_BYTES ? pt_unwind_heap_take(arg, bytes) : NULL;
}

static void *resize(void *arg, void *memory, size_t bytes, size_t wanted_bytes)
{
    return wanted_bytes <= MOST_BYTES ? pt_unwind_heap_resize(arg, memory, bytes, wanted_bytes)
                                      : NULL;
}

static void check(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pt_unwind_memory memory = {take, resize, pt_unwind_heap_release, NULL};
    pt_elf elf;
    pt_unwind_table table;
    void *blob;
    size_t bytes;
    for (size_t at = 0; at < size && at < 4096; at++) {
        pt_insn insn;
        if (pt_x86_decode(data + at, size - at, &insn))
            check(insn.length >= 1 && insn.length <= 15 && insn.length <= size - at);
    }
    if (pt_elf_open(data, size, &elf) != PT_ELF_OK) return 0;
    if (pt_unwind_compile_elf(&elf, NULL, 0, &memory, &blob, &bytes) != PT_UNWIND_OK) return 0;
    check(pt_unwind_table_open(blob, bytes, &table) == PT_UNWIND_OK);
    for (size_t i = 0; i < 64; i++)
        check(pt_unwind_table_rule(&table, table.base_addr + i * 997) != NULL);
    void *base_blob;
    size_t base_bytes;
    pt_unwind_table base;
    pt_unwind_frames frames;
    if (pt_unwind_needs_base(&table) && pt_unwind_frames_of_elf(&elf, &frames) &&
        pt_unwind_compile_base(&frames, &memory, &base_blob, &base_bytes, &base)) {
        check(base.row_count > 0);
        free(base_blob);
    }
    free(blob);
    return 0;
}
