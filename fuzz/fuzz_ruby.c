/* The bytes as the memory of Ruby, which begins with a thread's execution context, and has two
 * addresses of classes behind it: frames, code, names and lines are read of it by the callback
 * alone, for a bounded time. */
#include "interp/ruby.h"
#include "interp/ruby_find.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 64, TEXT_BYTES = 200, CONTEXT_BYTES = 24 };

static void read_code(memory *m, const pt_ruby_layout *layout, const pt_ruby_keys *keys,
                      const pt_ruby_frame *frame)
{
    pt_ruby_code code;
    char text[TEXT_BYTES];
    size_t bytes = 0;
    uint64_t sum;
    if (!pt_ruby_code_at(layout, read_memory, m, frame->body, &code)) return;
    check(code.first_line >= 0);
    check(pt_ruby_line(layout, read_memory, m, &code, frame->pc) >= 0);
    const uint64_t owner = pt_ruby_owner(read_memory, m, frame->env);
    pt_ruby_names names;
    if (pt_ruby_names_at(layout, read_memory, m, keys, &code, owner, &names)) {
        if (pt_ruby_name(read_memory, m, &names, text, sizeof text, &bytes))
            check(bytes <= sizeof text);
        if (pt_ruby_path(read_memory, m, &names, text, sizeof text, &bytes))
            check(bytes <= sizeof text && memchr(text, '\0', bytes) == NULL);
    }
    pt_ruby_check(layout, read_memory, m, keys, &code, owner, &sum);
}

static void read_frames(const pt_ruby_layout *layout, const uint8_t *data, size_t size)
{
    memory m = {.bytes = data, .size = size};
    pt_ruby_keys keys = {.name = 1, .attached = 2};
    pt_ruby_walk walk;
    pt_ruby_frame frame;
    unsigned frames = 0;
    uint64_t classes[2];
    if (read_memory(&m, MEMORY_ADDR + CONTEXT_BYTES, classes, sizeof classes))
        pt_ruby_keys_find(layout, read_memory, &m, classes[0], classes[1], &keys);
    pt_interp_step step =
        pt_ruby_walk_begin(&walk, layout, read_memory, &m, MEMORY_ADDR, FRAMES_MAX);
    while (step == PT_INTERP_FRAME_READ &&
           (step = pt_ruby_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ) {
        check(++frames <= FRAMES_MAX && frame.addr != 0 && frame.body != 0);
        /* A label, a class's name among 64 variables, a method's 32 environments, two sums. */
        const unsigned before = m.reads;
        read_code(&m, layout, &keys, &frame);
        check(m.reads - before <= 400);
    }
}

/* The bytes as an image, too, all of which may be relocations and code. */
static void find_hidden(const uint8_t *data, size_t size)
{
    static const uint64_t starts[] = {MEMORY_ADDR, MEMORY_ADDR + 64, MEMORY_ADDR + 640};
    memory m = {.bytes = data, .size = size};
    const pt_ruby_image image = {.read = read_memory,
                                 .arg = &m,
                                 .bias = MEMORY_ADDR,
                                 .relocations = MEMORY_ADDR,
                                 .relocation_bytes = size,
                                 .code = MEMORY_ADDR,
                                 .code_limit = MEMORY_ADDR + size,
                                 .starts = starts,
                                 .start_count = sizeof starts / sizeof starts[0]};
    uint64_t low = 0, limit = 0, module = 0, place = 0;
    if (pt_ruby_find_evaluator(&image, &low, &limit))
        check(low >= MEMORY_ADDR && low < limit && limit <= MEMORY_ADDR + size + 640);
    if (size >= 16 && pt_ruby_find_context(&image, MEMORY_ADDR + 8, &module, &place))
        check(module >= MEMORY_ADDR - 8 && module - MEMORY_ADDR <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memory m = {.bytes = data, .size = size};
    read_frames(pt_ruby_layout_of(2, 7), data, size);
    read_frames(pt_ruby_layout_of(3, 1), data, size);
    read_frames(pt_ruby_layout_of(3, 3), data, size);
    find_hidden(data, size);
    check(pt_ruby_context(pt_ruby_layout_of(2, 7), read_memory, &m, MEMORY_ADDR, 1) == 0 ||
          m.reads == 3);
    return 0;
}
