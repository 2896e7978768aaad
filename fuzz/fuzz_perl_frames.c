/* The bytes as the memory of Perl, which begins with a thread's interpreter: frames, subs, names,
 * files and lines are read of it by the callback alone, for a bounded time. */
#include "interp/perl.h"
#include "memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 64, TEXT_BYTES = 200 };

static void read_code(memory *m, const pt_perl_layout *layout, const pt_perl_frame *frame)
{
    pt_perl_code code;
    char text[TEXT_BYTES];
    size_t bytes = 0;
    uint64_t sum;
    if (!pt_perl_code_at(layout, read_memory, m, frame, &code)) return;
    check(code.line >= 0 && code.first_line >= 0);
    if (pt_perl_name(read_memory, m, &code, text, sizeof text, &bytes)) check(bytes <= sizeof text);
    if (pt_perl_file(read_memory, m, &code, text, sizeof text, &bytes))
        check(bytes <= sizeof text && memchr(text, '\0', bytes) == NULL);
    pt_perl_check(read_memory, m, &code, &sum);
}

static void read_frames(const pt_perl_layout *layout, const uint8_t *data, size_t size)
{
    memory m = {.bytes = data, .size = size};
    pt_perl_walk walk;
    pt_perl_frame frame;
    unsigned frames = 0;
    pt_interp_step step =
        pt_perl_walk_begin(&walk, layout, read_memory, &m, MEMORY_ADDR, FRAMES_MAX);
    while (step == PT_INTERP_FRAME_READ &&
           (step = pt_perl_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ) {
        check(++frames <= FRAMES_MAX + 1);
        const unsigned before = m.reads; /* a sub and its names, two texts, a sum */
        read_code(&m, layout, &frame);
        check(m.reads - before <= 64);
    }
    check(m.reads <= 4 + (FRAMES_MAX + 1) * (2 + 64));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned minors[] = {32, 36, 40};
    for (size_t i = 0; i < sizeof minors / sizeof minors[0]; i++)
        read_frames(pt_perl_layout_of(minors[i]), data, size);
    return 0;
}
