/* The bytes as call frame information, as an unwind table and as a stack: whatever they are, the
 * unwinder ends, stays inside them, and says why it ended. The first byte chooses. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/copied.h"
#include "unwind/format.h"
#include "unwind/heap.h"
#include "unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) abort();
}

enum { LOW = 0x10000, CAP = 64 };

/* The same as the kernel's copy of a stack. */
static void walk_copy(const uint64_t *some, uint64_t pc, const pt_unwind_modules *all,
                      const uint8_t *data, size_t size)
{
    static pt_copied_scratch scratch;
    uint64_t regs[PT_MACHINE_REGS_MAX], pcs[CAP];
    memcpy(regs, some, sizeof regs);
    regs[PT_MACHINE_HOST->pc] = pc;
    regs[PT_MACHINE_HOST->sp] = LOW;
    const size_t bytes = (size < PT_COPIED_BYTES_MAX ? size : PT_COPIED_BYTES_MAX) / 8 * 8;
    const pt_copied_stack stack = {regs, data, bytes, bytes, NULL};
    pt_copied_end end;
    const uint32_t depth = pt_unwind_copied(&stack, all, NULL, &scratch, pcs, CAP, &end);
    check(depth >= 1 && depth <= CAP);
    check(end.why >= PT_UNWIND_END_ROOT && end.why <= PT_UNWIND_END_BAD_READ);
}

/* Walks the bytes as a stack, from registers that point into it and past it. */
static void walk(const pt_unwind_table *table, const uint8_t *data, size_t size)
{
    static pt_unwind_cache cache;
    static uint32_t generation;
    uint64_t regs[PT_MACHINE_REGS_MAX], pcs[CAP];
    const uint64_t bias = 0x100000000;
    const pt_unwind_module modules[] = {
        {bias / 2, bias / 2 + 4096, 0, NULL, NULL, false},
        {bias + table->base_addr,
         bias + table->base_addr + ((uint64_t)table->page_count << PT_UNWIND_PAGE_BITS), bias,
         table, table, false},
    };
    generation = generation + 1 == 0 ? 1 : generation + 1;
    const pt_unwind_modules all = {modules, 2, generation, NULL};
    for (size_t i = 0; i < PT_MACHINE_REGS_MAX; i++)
        regs[i] = LOW + i * 8;
    for (uint32_t i = 0; i < table->row_count && i < 64; i++) {
        uint32_t page = 0;
        while (page + 1 < table->page_count && table->pages[page + 1] <= i)
            page++;
        pt_unwind_state at = {.pc = bias + table->base_addr +
                                    ((uint64_t)page << PT_UNWIND_PAGE_BITS) +
                                    (table->rows[i] & 0xffff),
                              .sp = LOW + (i % 4) * 8,
                              .fp = LOW + size / 2 / 8 * 8,
                              .regs = i % 2 ? regs : NULL};
        const pt_unwind_limits limits = {LOW, LOW + size, data};
        pt_unwind_end end;
        const uint32_t depth = pt_unwind(&at, &all, &limits, &cache, pcs, CAP, &end);
        check(depth >= 1 && depth <= CAP);
        check(end >= PT_UNWIND_END_ROOT && end <= PT_UNWIND_END_BAD_READ);
        walk_copy(regs, bias + table->base_addr + (table->rows[i] & 0xffff), &all, data, size);
    }
}

static void as_frames(const uint8_t *data, size_t size, uint8_t how)
{
    const pt_unwind_frames frames = {.machine = how & 1 ? EM_AARCH64 : EM_X86_64,
                                     .bytes = data,
                                     .size_bytes = size,
                                     .addr = 0x10000,
                                     .text_addr = 0x20000,
                                     .data_addr = 0x30000,
                                     .is_debug_frame = how & 2,
                                     .is_whole_section = how & 4};
    void *blob;
    size_t blob_bytes;
    if (pt_unwind_compile(&frames, data, size, &pt_unwind_heap, &blob, &blob_bytes) != PT_UNWIND_OK)
        return;
    pt_unwind_table table;
    check(pt_unwind_table_open(blob, blob_bytes, &table) == PT_UNWIND_OK);
    walk(&table, data, size);
    free(blob);
}

/* With the checksum made right, else nothing would get further. */
static void as_blob(const uint8_t *data, size_t size)
{
    pt_unwind_header header;
    if (size < sizeof header) return;
    uint8_t *const blob = malloc(size);
    check(blob != NULL);
    memcpy(blob, data, size);
    memcpy(&header, blob, sizeof header);
    header.checksum = pt_unwind_checksum(&header, blob + sizeof header, size - sizeof header);
    memcpy(blob, &header, sizeof header);
    pt_unwind_table table;
    if (pt_unwind_table_open(blob, size, &table) == PT_UNWIND_OK) {
        walk(&table, data, size);
        /* A file that changes after it was opened. */
        memset(blob + sizeof header, 0xa5, size - sizeof header);
        for (uint64_t at = 0; at < 64; at++)
            pt_unwind_table_rule(&table, table.base_addr + at * 4093);
    }
    free(blob);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 20) return 0;
    uint8_t *const copy = malloc(size); /* exactly as long, so that a step past it is seen */
    check(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 0x80)
        as_blob(copy, size - 1);
    else
        as_frames(copy, size - 1, data[0]);
    uint64_t addr;
    pt_unwind_eh_frame_addr(copy, size - 1, 0x1000, &addr);
    free(copy);
    return 0;
}
