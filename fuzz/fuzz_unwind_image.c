/* The bytes as an ELF image: whatever its frames, Go tables and code are, the table that is made of
 * them is a good one, or there is a reason. */
#include <stdlib.h>

#include "elf/image.h"
#include "unwind/table.h"
#include "unwind/x86.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *take(void *arg, size_t bytes)
{
    (void)arg;
    return bytes <= UINT64_C(1) << 30 ? calloc(1, bytes) : NULL;
}

static void release(void *arg, void *memory, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(memory);
}

static void check(bool holds)
{
    if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pt_unwind_memory memory = {take, release, NULL};
    pt_elf elf;
    pt_unwind_table table;
    void *blob;
    size_t bytes;
    for (size_t at = 0; at < size && at < 4096; at++) {
        pt_x86_insn insn;
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
    if (pt_unwind_compile_base(&elf, &table, &memory, &base_blob, &base_bytes, &base)) {
        check(base.row_count > 0);
        free(base_blob);
    }
    free(blob);
    return 0;
}
