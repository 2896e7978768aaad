/* The bytes as the memory of PHP, which begins with the address of the innermost frame: frames,
 * functions, names and lines are read of it by the callback alone, for a bounded time. */
#include "interp/php.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 64, TEXT_BYTES = 200, GLOBALS_FRAME = 0x1e8 };

static void read_function(memory *m, const pt_php_layout *layout, uint64_t globals,
                          const pt_php_frame *frame)
{
    pt_php_function f;
    char text[TEXT_BYTES];
    size_t bytes = 0;
    uint64_t sum;
    if (!pt_php_function_at(layout, read_memory, m, frame->function, &f)) return;
    check(f.first_line >= 0 && (f.kind == PT_PHP_INTERNAL) == (f.file == 0));
    check(pt_php_line(layout, read_memory, m, globals, &f, frame->instruction) >= 0);
    if (pt_php_name(read_memory, m, &f, text, sizeof text, &bytes)) check(bytes <= sizeof text);
    if (pt_php_text(read_memory, m, f.file, text, sizeof text, &bytes))
        check(bytes <= sizeof text && memchr(text, '\0', bytes) == NULL);
    pt_php_check(read_memory, m, &f, &sum);
}

static void read_frames(const pt_php_layout *layout, const uint8_t *data, size_t size)
{
    const uint64_t globals = MEMORY_ADDR - GLOBALS_FRAME;
    memory m = {.bytes = data, .size = size};
    pt_php_walk walk;
    pt_php_frame frame;
    unsigned frames = 0;
    pt_interp_step step =
        pt_php_walk_begin(&walk, layout, read_memory, &m, globals, MEMORY_ADDR, FRAMES_MAX);
    while (step == PT_INTERP_FRAME_READ &&
           (step = pt_php_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ) {
        check(++frames <= FRAMES_MAX && frame.addr != 0 && frame.function != 0);
        /* Two frames, and the generators between them; a function, its texts and their sum. */
        const unsigned before = m.reads;
        read_function(&m, layout, globals, &frame);
        check(m.reads - before <= 32);
    }
    check(m.reads <= 2 + FRAMES_MAX * (6 + 2 * PT_PHP_DELEGATES_MAX + 32));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t apis[] = {20190902, 20220829, 20240924};
    for (size_t i = 0; i < sizeof apis / sizeof apis[0]; i++)
        read_frames(pt_php_layout_of(apis[i]), data, size);
    pt_php_layout_in(data, size);
    return 0;
}
