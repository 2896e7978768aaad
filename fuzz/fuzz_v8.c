/* The bytes as the memory of a V8 that lies as Node 20's or 24's symbols say, in which a function
 * lies at the beginning: its name, file and line are read by the callback alone, for a bounded
 * time. */
#include "interp/v8.h"
#include "memory.h"
#include "v8_node20.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_BYTES = 64, READS_MAX = 4096 };

/* What the recorder reads of a shared function info that the kernel's program has sent. */
static void read_shared(const pt_v8_layout *layout, memory *m, uint64_t shared)
{
    static pt_v8_lines lines;
    char name_text[TEXT_BYTES], file_text[TEXT_BYTES];
    pt_v8_text_room name = {.text = name_text, .cap = sizeof name_text};
    pt_v8_text_room file = {.text = file_text, .cap = sizeof file_text};
    const pt_v8_reader reader = {read_memory, m};
    pt_v8_function f;
    uint64_t sum, again;
    int32_t line = 0;
    if (!pt_v8_check(layout, read_memory, m, shared, &sum)) return;
    check(pt_v8_check(layout, read_memory, m, shared, &again) && again == sum);
    if (!pt_v8_shared_at(layout, read_memory, m, shared, &f) || !f.has_script) return;
    check(f.shared == shared);
    if (pt_v8_names(layout, read_memory, m, &f, &name, &file))
        check(name.bytes <= sizeof name_text && file.bytes <= sizeof file_text && name.bytes > 0 &&
              file.bytes > 0);
    lines.budget = 4096;
    pt_v8_line_of(&lines, layout, &reader, &reader, &f, &line);
    check(line >= 0);
}

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
    read_shared(&layout, &m, object);
    if (f.shared != object && pt_v8_is_tagged(f.shared)) read_shared(&layout, &m, f.shared);
    check(m.reads <= READS_MAX);
    return 0;
}
