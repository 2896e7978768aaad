/* The bytes as the memory of a V8 that lies as Node 20's or 24's symbols say, in which a function
 * lies at the beginning: its name, file and line are read by the callback alone, for a bounded
 * time. */
#include "interp/v8.h"
#include "memory.h"
#include "v8_node20.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES = 64, READS_MAX = 4096 };

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
