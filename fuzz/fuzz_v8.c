/* The bytes as the memory of a V8 that lies as Node 20's or 24's symbols say, in which a function
 * lies at the beginning: its name, file and line are read by the callback alone, for a bounded
 * time. */
#include <stdlib.h>
#include <string.h>

#include "interp/v8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_ADDR = 0x10000, TEXT_BYTES = 64, READS_MAX = 4096 };

typedef struct {
    const uint8_t *bytes;
    size_t size;
    unsigned reads;
} memory;

static void check(bool holds)
{
    if (!holds) abort();
}

static bool read_memory(void *arg, uint64_t addr, void *to, size_t size)
{
    memory *const m = arg;
    m->reads++;
    if (addr < MEMORY_ADDR || size > m->size || addr - MEMORY_ADDR > m->size - size) return false;
    memcpy(to, m->bytes + (addr - MEMORY_ADDR), size);
    return true;
}

static const pt_v8_layout node_20 = {
    .frame_context = -8,
    .frame_function = -16,
    .map_type = 0x0c,
    .function_shared = 0x18,
    .shared_name = 0x10,
    .shared_script = 0x20,
    .script_name = 0x10,
    .script_source = 0x08,
    .script_line_ends = 0x38,
    .scope_locals = 2,
    .scope_first = 3,
    .string_length = 0x0c,
    .string_chars = 0x10,
    .cons_first = 0x10,
    .cons_second = 0x18,
    .sliced_offset = 0x18,
    .thin_actual = 0x10,
    .external_resource = 0x10,
    .type_shared = 0x106,
    .type_script = 0xa7,
    .type_scope = 0x105,
    .type_oddball = 0x83,
    .not_string_mask = -128,
    .representation_mask = 7,
    .encoding_mask = 8,
    .tag_cons = 1,
    .tag_external = 2,
    .tag_sliced = 3,
    .tag_thin = 5,
    .tag_one_byte = 8,
    .tagged_bytes = 8,
    .heap_tag = 1,
    .small_shift = 31,
};

static void read_lines(const pt_v8_layout *layout, memory *m, const pt_v8_function *f)
{
    pt_v8_source source;
    uint32_t lines = 0;
    const int32_t first = pt_v8_first_line(layout, read_memory, m, f->script);
    check(first >= 0);
    if (!pt_v8_source_of(layout, read_memory, m, f->script, &source)) return;
    const uint32_t to = source.length < 4096 ? source.length : 4096;
    if (pt_v8_count_lines(&source, read_memory, m, 0, to, &lines)) check(lines <= to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    pt_v8_layout layout = node_20;
    if (data[0] % 2 != 0) layout.scope_first = 5; /* 24 */
    memory m = {.bytes = data + 1, .size = size - 1};
    pt_v8_function f;
    char text[TEXT_BYTES];
    size_t bytes = 0;
    const uint64_t object = MEMORY_ADDR + 1;
    if (pt_v8_text(&layout, read_memory, &m, object, text, sizeof text, &bytes))
        check(bytes <= sizeof text);
    if (pt_v8_function_at(&layout, read_memory, &m, object, &f) && f.has_script) {
        check(f.start >= -1 && f.end >= f.start);
        pt_v8_function_is(&layout, read_memory, &m, object, &f);
        if (f.text != 0 && pt_v8_text(&layout, read_memory, &m, f.text, text, sizeof text, &bytes))
            check(bytes <= sizeof text);
        if (pt_v8_script_name(&layout, read_memory, &m, f.script, text, sizeof text, &bytes))
            check(pt_v8_path(text, bytes) <= bytes);
        read_lines(&layout, &m, &f);
    }
    check(m.reads <= READS_MAX);
    return 0;
}
