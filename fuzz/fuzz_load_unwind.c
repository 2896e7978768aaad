/* Stacks as perf.data copies them, over mappings of this program: whatever mappings, registers and
 * bytes are, the walk ends, stays inside them, and says why it ended.
 *
 *   count | count times: gap, size (u32 each, pages), file offset (u64) | registers, as many as
 *   there are of u64 | the stack
 */
#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "load/unwind.h"
#include "unwind/copied.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAPS_MAX = 8, CAP = 64, PAGE = 4096 };

typedef struct {
    const uint8_t *at;
    size_t left;
} input;

/* The next bytes; zeros behind the end. */
static uint64_t take(input *in, size_t bytes)
{
    uint64_t value = 0;
    if (bytes > in->left) bytes = in->left;
    memcpy(&value, in->at, bytes);
    in->at += bytes;
    in->left -= bytes;
    return value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {"/proc/self/exe", "[vdso]", "//anon"};
    static const pt_source_options options = {.is_this_boot = true};
    static pt_load_unwinder *unwinder;
    static uint32_t generation;
    if (unwinder == NULL) unwinder = pt_load_unwinder_new(&options, NULL);
    generation = generation == UINT32_MAX ? 1 : generation + 1;

    input in = {data, size};
    pt_read_map maps[MAPS_MAX];
    const size_t count = 1 + take(&in, 1) % MAPS_MAX;
    uint64_t addr = 0;
    for (size_t i = 0; i < count; i++) {
        maps[i] = (pt_read_map){.range.start = addr + take(&in, 4) * PAGE,
                                .path = paths[i % (sizeof paths / sizeof *paths)],
                                .build_id = ""};
        maps[i].range.limit = addr = maps[i].range.start + (1 + take(&in, 4)) * PAGE;
        maps[i].range.file_offset = take(&in, 8);
    }
    uint64_t registers[PT_MACHINE_REGS_MAX];
    for (size_t i = 0; i < PT_MACHINE_REGS_MAX; i++)
        registers[i] = take(&in, 8);
    registers[PT_MACHINE_HOST->pc] =
        maps[0].range.start +
        registers[PT_MACHINE_HOST->pc] % (maps[0].range.limit - maps[0].range.start);
    const pt_read_stack stack = {.machine = registers[0] % 16 == 0 ? EM_AARCH64 : EM_X86_64,
                                 .generation = generation,
                                 .maps = maps,
                                 .map_count = count,
                                 .map_bytes = sizeof *maps,
                                 .registers = registers,
                                 .bytes = in.at,
                                 .byte_count = in.left,
                                 .room = in.left + registers[1] % 2};
    uint64_t pcs[CAP];
    pt_stack_end end = PT_STACK_END_UNKNOWN;
    const size_t depth = pt_load_unwind(unwinder, &stack, pcs, CAP, &end);
    PT_BUG_IF(depth > CAP);
    PT_BUG_IF(depth > 0 && (end < PT_STACK_END_ROOT || end > PT_STACK_END_UNCHECKED));
    return 0;
}
