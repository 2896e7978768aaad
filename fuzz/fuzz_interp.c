/* The bytes as an interpreter's memory, in which a thread's state lies at the beginning: frames,
 * names and lines are read of it for a bounded time, and by the callback alone; and as the words of
 * two chains, of which none is lost when they are joined. */
#include "interp/merge.h"
#include "interp/python.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 64, TEXT_BYTES = 32, CHAIN_MAX = 64 };

/* Whatever types the objects have: the first one's count as right. */
static void read_code(const pt_python_layout *layout, memory *m, const pt_python_frame *frame)
{
    _Alignas(8) uint8_t object[PT_PYTHON_CODE_BYTES];
    uint64_t head[2] = {0}, addr, bytes;
    pt_python_code code;
    char text[TEXT_BYTES];
    size_t text_bytes = 0;
    if (!read_memory(m, frame->code, object, sizeof object)) return;
    pt_python_code_at(layout, object, &code);
    pt_python_is_hidden(layout, read_memory, m, frame->code, &code);
    read_memory(m, code.name, head, sizeof head);
    if (pt_python_text(layout, read_memory, m, code.name, head[1], text, sizeof text, &text_bytes))
        check(text_bytes <= sizeof text);
    read_memory(m, code.lines, head, sizeof head);
    if (pt_python_bytes(read_memory, m, code.lines, head[1], &addr, &bytes) &&
        addr - MEMORY_ADDR <= m->size && bytes <= m->size - (addr - MEMORY_ADDR))
        pt_python_line(layout->lines, m->bytes + (addr - MEMORY_ADDR), bytes, code.first_line,
                       frame->place);
}

static void walk_frames(const pt_python_layout *layout, memory *m)
{
    pt_python_walk walk;
    pt_python_frame frame;
    unsigned frames = 0;
    pt_python_step step =
        pt_python_walk_begin(&walk, layout, read_memory, m, MEMORY_ADDR, FRAMES_MAX);
    while (step == PT_PYTHON_FRAME) {
        step = pt_python_walk_next(&walk, &frame);
        if (step != PT_PYTHON_FRAME) break;
        check(++frames <= FRAMES_MAX && frame.place >= -1);
        read_code(layout, m, &frame);
    }
    /* A frame, a code object and two of its words, two objects' heads twice, and a text in pieces.
     */
    check(m->reads <= 2 + FRAMES_MAX * (1 + 1 + 2 + 2 * 2 + TEXT_BYTES));
}

static void join_chains(const uint8_t *data, size_t size)
{
    const pt_interp_evaluator evaluator = {.low = {0x40, 0x80}, .limit = {0x60, 0x84}};
    uint64_t native[CHAIN_MAX] = {0}, frames[CHAIN_MAX] = {0}, chain[2 * CHAIN_MAX] = {0};
    uint32_t native_count = 0, frame_count = 0, shown = 0, count = 0, at_native = 0, at_frame = 0;
    for (size_t i = 1; i < size && i < CHAIN_MAX; i++) {
        if (data[i] >= 0xa0) {
            const uint64_t marks =
                (data[i] & 1 ? PT_INTERP_ENTRY : 0) | (data[i] % 32 == 3 ? PT_INTERP_EMPTY : 0);
            frames[frame_count++] = PT_INTERP_FRAME | marks | i;
            shown += (marks & PT_INTERP_EMPTY) == 0;
        } else {
            native[native_count++] = data[i];
        }
    }
    pt_interp_merge(&evaluator, native, native_count, size > 0 && data[0] % 2 == 0, frames,
                    frame_count, chain, &count);
    check(count == native_count + shown);
    for (uint32_t i = 0; i < count; i++) { /* both in their order */
        if ((chain[i] & PT_INTERP_FRAME) == 0) {
            check(chain[i] == native[at_native++]);
            continue;
        }
        while ((frames[at_frame] & PT_INTERP_EMPTY) != 0)
            at_frame++;
        check(chain[i] == (frames[at_frame++] & ~PT_INTERP_ENTRY));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    memory m = {.bytes = data + 1, .size = size - 1};
    const pt_python_layout *const layout = pt_python_layout_of(3, 8 + data[0] % 7);
    walk_frames(layout, &m);
    for (unsigned kind = PT_PYTHON_LINES_LNOTAB; kind <= PT_PYTHON_LINES_LOCATIONS; kind++)
        for (int32_t place = -1; place < 64; place += 13)
            pt_python_line(kind, data + 1, size - 1, data[0], place);
    join_chains(data, size);
    return 0;
}
