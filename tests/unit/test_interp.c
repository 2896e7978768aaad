/* test_interp.c: CPython's frames from images of memory, lines from its line tables, native and
 * Python's chains joined, and the part of a function that lies elsewhere. */
#include "base_check.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "interp/merge.h"
#include "interp/python.h"
#include "unwind/split.h"

/* ---- lines ---- */

/* co_lnotab and co_linetable of one function, compiled by Python 3.8, 3.10, 3.11 and 3.13, and what
 * their own PyCode_Addr2Line says of each instruction; 0: no line. */
static const uint8_t lnotab[] = {0,   2, 6,  1, 6, 255, 6, 2, 4, 1, 2, 1, 2,   255, 4,
                                 127, 0, 78, 4, 1, 10,  1, 4, 1, 2, 1, 2, 255, 8,   3};
static const int32_t lnotab_lines[] = {
    5,   5,   5,   6,   6,   6,   5,   5,   5,   7,   7,   8,   9,   8,   8,   213, 213, 214, 214,
    214, 214, 214, 215, 215, 216, 217, 216, 216, 216, 216, 219, 219, 219, 219, 219, 219, 219};
static const uint8_t ranges[] = {6, 2,  6, 1, 6, 255, 4, 2, 2, 1, 2, 1, 4, 255, 0,  127,
                                 4, 78, 8, 1, 4, 255, 2, 2, 2, 1, 2, 1, 6, 255, 20, 3};
static const int32_t ranges_lines[] = {5,   5,   5,   6,   6,   6,   5,   5,   5,   7,
                                       7,   8,   9,   8,   8,   213, 213, 214, 214, 214,
                                       214, 213, 213, 215, 216, 217, 216, 216, 216, 219,
                                       219, 219, 219, 219, 219, 219, 219, 219, 219};
static const uint8_t locations[] = {
    128, 0,   240, 4,   1,   9,   28,  240, 0,   1,   9,   28,  221, 18,  23,  152, 1,   145,
    40,  148, 40,  240, 3,   1,   9,   28,  241, 0,   1,   9,   28,  244, 0,   1,   9,   28,
    128, 65,  224, 7,   8,   240, 0,   2,   5,   16,  216, 13,  14,  216, 13,  14,  241, 3,
    1,   14,  15,  136, 1,   240, 90,  6,   0,   11,  12,  240, 0,   1,   5,   15,  216, 8,
    9,   136, 81,  137, 6,   136, 1,   240, 3,   0,   11,  12,  240, 0,   1,   5,   15,  240,
    4,   4,   5,   17,  221, 12,  13,  216, 12,  13,  241, 3,   1,   13,  15,  244, 0,   1,
    13,  15,  136, 1,   240, 6,   0,   16,  17,  136, 8,   248, 136, 113, 136, 8,   136, 8,
    136, 8,   136, 8,   136, 8,   136, 8,   136, 8,   136, 8};
static const int32_t locations_lines[] = {
    3,   5,   5,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   5,
    5,   5,   5,   5,   5,   5,   5,   5,   7,   7,   8,   9,   8,   8,   8,   213, 213, 214,
    214, 214, 214, 214, 213, 213, 215, 216, 216, 216, 216, 216, 216, 217, 216, 216, 216, 216,
    216, 216, 216, 216, 219, 219, 0,   219, 219, 219, 219, 219, 219, 219, 219, 219};
static const uint8_t locations_13[] = {
    128, 0,   244, 6,   0,   19,  24, 152, 1,   148, 40,  243, 3,   1,   9,   28,  217,
    18,  26,  136, 81,  243, 3,   0,  10,  11,  217, 18,  26,  240, 3,   0,   5,   6,
    240, 0,   1,   9,   28,  230, 7,  8,   216, 13,  14,  216, 13,  14,  241, 3,   1,
    14,  15,  136, 1,   246, 90,  6,  0,   11,  12,  216, 8,   9,   136, 81,  137, 6,
    136, 1,   247, 3,   0,   11,  12, 136, 33,  240, 4,   4,   5,   17,  220, 12,  13,
    216, 12,  13,  243, 3,   1,   13, 15,  136, 1,   240, 6,   0,   16,  17,  136, 8,
    249, 242, 109, 6,   1,   9,   28, 248, 240, 108, 6,   0,   16,  17,  140, 8,   250};
static const int32_t locations_13_lines[] = {
    3,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   6,   5,   5,   5,   5,   6,   6,
    6,   5,   5,   5,   5,   6,   6,   5,   5,   7,   7,   7,   7,   7,   7,   7,   8,   9,
    8,   8,   8,   213, 213, 213, 213, 213, 213, 213, 214, 214, 214, 214, 214, 213, 213, 213,
    213, 213, 213, 213, 213, 213, 215, 216, 216, 216, 216, 216, 217, 216, 216, 216, 216, 216,
    219, 219, 0,   0,   5,   5,   5,   0,   219, 219, 219, 219, 219, 219, 0,   0,   0};

static void check_lines(unsigned kind, const uint8_t *table, size_t bytes, const int32_t *lines,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t line = pt_python_line(kind, table, bytes, 3, (int32_t)(2 * i));
        assert_int_equal(line, lines[i] != 0 ? lines[i] : 3);
    }
    assert_int_equal(pt_python_line(kind, table, bytes, 3, -1), 3);
    assert_int_equal(pt_python_line(kind, table, 0, 3, 4), 3);
}

#define CHECK_LINES(kind, name)                                                                    \
    check_lines(kind, name, sizeof name, name##_lines, sizeof name##_lines / sizeof name##_lines[0])

static void test_lines(void **state)
{
    CHECK_LINES(PT_PYTHON_LINES_LNOTAB, lnotab);
    CHECK_LINES(PT_PYTHON_LINES_RANGES, ranges);
    CHECK_LINES(PT_PYTHON_LINES_LOCATIONS, locations);
    CHECK_LINES(PT_PYTHON_LINES_LOCATIONS, locations_13);
}

/* ---- names of files ---- */

static void check_version(const char *path, unsigned minor)
{
    unsigned major = 0, got = 0;
    assert_int_equal(pt_python_version_of_name(path, &major, &got), minor != 0);
    assert_int_equal(got, minor);
    assert_int_equal(major, minor != 0 ? 3 : 0);
}

static void test_version_of_name(void **state)
{
    check_version("/usr/bin/python3.11", 11);
    check_version("python3.8", 8);
    check_version("/opt/lib/libpython3.9.so.1.0", 9);
    check_version("libpython3.13.so", 13);
    check_version("/usr/bin/python3", 0);
    check_version("libpython3.so", 0);
    check_version("/usr/bin/python3.13t", 0); /* without the lock: another layout */
    check_version("libpython3.11d.so.1.0", 0);
    check_version("/usr/bin/pythonic", 0);
    check_version("/python3.11/app", 0);
    assert_null(pt_python_layout_of(3, 7));
    assert_null(pt_python_layout_of(3, 15));
    assert_null(pt_python_layout_of(2, 8));
}

/* ---- frames ---- */

enum { IMAGE_ADDR = 0x10000, IMAGE_BYTES = 0x10000 };

typedef struct {
    uint8_t bytes[IMAGE_BYTES];
    uint64_t reads;
} image;

static bool read_image(void *arg, uint64_t addr, void *to, size_t size)
{
    image *const m = arg;
    m->reads++;
    if (addr < IMAGE_ADDR || size > IMAGE_BYTES || addr - IMAGE_ADDR > IMAGE_BYTES - size)
        return false;
    memcpy(to, m->bytes + (addr - IMAGE_ADDR), size);
    return true;
}

static void put(image *m, uint64_t addr, uint64_t value, size_t size)
{
    memcpy(m->bytes + (addr - IMAGE_ADDR), &value, size);
}

/* A frame of that version: its caller, its code, the place in that in bytes. */
static void put_frame(image *m, const pt_python_layout *layout, uint64_t at, uint64_t back,
                      uint64_t code, int place, bool is_entry)
{
    put(m, at + layout->frame_back, back, 8);
    put(m, at + layout->frame_code, code | layout->code_tag, 8);
    if (layout->points_to_instruction)
        put(m, at + layout->frame_place, code + layout->code_instructions + (uint64_t)place, 8);
    else
        put(m, at + layout->frame_place, (uint64_t)(place / layout->place_unit), 4);
    if (layout->is_entry_field) put(m, at + layout->frame_boundary, is_entry, 1);
}

static void put_shim(image *m, const pt_python_layout *layout, uint64_t at, uint64_t back)
{
    put(m, at + layout->frame_back, back, 8);
    put(m, at + layout->frame_boundary, layout->owner_shim, 1);
}

static const uint64_t THREAD = IMAGE_ADDR + 0x100, CFRAME = IMAGE_ADDR + 0x400;

static void put_state(image *m, const pt_python_layout *layout, uint64_t frame)
{
    if (layout->has_cframe) {
        put(m, THREAD + layout->state_frame, CFRAME, 8);
        put(m, CFRAME + layout->cframe_frame, frame, 8);
    } else {
        put(m, THREAD + layout->state_frame, frame, 8);
    }
}

/* f and g in one run, h in another one: as each version keeps them. */
static void check_frames(unsigned minor)
{
    const pt_python_layout *const layout = pt_python_layout_of(3, minor);
    image *const m = calloc(1, sizeof *m);
    const uint64_t f = IMAGE_ADDR + 0x1000, g = f + 0x100, h = f + 0x200, shim = f + 0x300;
    const uint64_t code = IMAGE_ADDR + 0x8000;
    const bool has_shims = layout->owner_shim != 0;
    pt_python_walk walk;
    pt_python_frame frame;
    put_state(m, layout, f);
    put_frame(m, layout, f, g, code, 6, minor < 11);
    put_frame(m, layout, g, has_shims ? shim : h, code + 0x200, 8, true);
    put_shim(m, layout, has_shims ? shim : IMAGE_ADDR + 0x3000, h);
    put_frame(m, layout, h, has_shims ? shim + 0x100 : 0, code + 0x400, 10, true);
    put_shim(m, layout, has_shims ? shim + 0x100 : IMAGE_ADDR + 0x3000, 0);
    assert_int_equal(pt_python_walk_begin(&walk, layout, read_image, m, THREAD, 100),
                     PT_PYTHON_FRAME);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pt_python_walk_next(&walk, &frame), PT_PYTHON_FRAME);
        assert_int_equal(frame.code, code + i * 0x200);
        assert_int_equal(frame.place, 6 + 2 * i);
        assert_int_equal(frame.is_entry, i > 0 || minor < 11);
    }
    assert_int_equal(pt_python_walk_next(&walk, &frame), PT_PYTHON_END);
    /* An evaluator that has returned from all its frames. */
    if (has_shims) {
        put_state(m, layout, shim);
        pt_python_walk_begin(&walk, layout, read_image, m, THREAD, 100);
        assert_int_equal(pt_python_walk_next(&walk, &frame), PT_PYTHON_FRAME);
        assert_int_equal(frame.code, 0);
        assert_true(frame.is_entry);
        assert_int_equal(pt_python_walk_next(&walk, &frame), PT_PYTHON_FRAME);
        assert_int_equal(frame.code, code + 0x400);
    }
    /* At most the requested number, also where frames call each other in a ring. */
    put_frame(m, layout, h, f, code, 0, true);
    put_state(m, layout, f);
    pt_python_walk_begin(&walk, layout, read_image, m, THREAD, 50);
    m->reads = 0;
    pt_python_step step;
    do
        step = pt_python_walk_next(&walk, &frame);
    while (step == PT_PYTHON_FRAME);
    assert_int_equal(step, PT_PYTHON_CUT);
    assert_int_equal(m->reads, 50);
    /* A frame that is not there. */
    put_frame(m, layout, f, IMAGE_ADDR + IMAGE_BYTES - 8, code, 0, true);
    pt_python_walk_begin(&walk, layout, read_image, m, THREAD, 50);
    assert_int_equal(pt_python_walk_next(&walk, &frame), PT_PYTHON_FRAME);
    assert_int_equal(pt_python_walk_next(&walk, &frame), PT_PYTHON_BAD_READ);
    free(m);
}

static void test_frames(void **state)
{
    for (unsigned minor = 8; minor <= 14; minor++)
        check_frames(minor);
}

/* ---- code ---- */

/* Code whose first shown instruction lies behind its end, as _Py_InitCleanup has it; other code
 * with the same fields; and code of a version before. */
static void check_hidden(unsigned minor, bool is_told)
{
    enum { INSTRUCTIONS = 16 };
    const pt_python_layout *const layout = pt_python_layout_of(3, minor);
    const uint64_t at = IMAGE_ADDR + 0x1000, text = IMAGE_ADDR + 0x2000;
    image *const m = calloc(1, sizeof *m);
    const pt_python_code code = {.name = text, .file = text, .first_line = 4};
    put(m, at + INSTRUCTIONS, 3, 8);
    put(m, at + layout->code_traceable, 4, 4);
    assert_int_equal(pt_python_is_hidden(layout, read_image, m, at, &code), is_told);
    put(m, at + INSTRUCTIONS, 5, 8);
    assert_false(pt_python_is_hidden(layout, read_image, m, at, &code));
    assert_false(pt_python_is_hidden(layout, read_image, m, IMAGE_ADDR + IMAGE_BYTES, &code));
    free(m);
}

static void test_hidden(void **state)
{
    check_hidden(12, false);
    check_hidden(13, true);
    check_hidden(14, true);
}

/* The words at the beginning of _PyRuntime, as Debian's 3.14.10 has them. */
static void test_told(void **state)
{
    static const uint64_t told[PT_PYTHON_TOLD_WORDS] = {0x7970677562656478,
                                                        0x30e0af0,
                                                        0,
                                                        0x4d4c8,
                                                        784,
                                                        808,
                                                        0x37248,
                                                        7280,
                                                        7272,
                                                        7344,
                                                        7360,
                                                        7408,
                                                        7688,
                                                        7672,
                                                        7680,
                                                        16,
                                                        7784,
                                                        0,
                                                        7800,
                                                        7792,
                                                        7992,
                                                        0,
                                                        832,
                                                        0,
                                                        8,
                                                        16,
                                                        72,
                                                        152,
                                                        160,
                                                        232,
                                                        32,
                                                        88,
                                                        8,
                                                        0,
                                                        56,
                                                        80,
                                                        74,
                                                        64,
                                                        0,
                                                        216,
                                                        112,
                                                        120,
                                                        128,
                                                        136,
                                                        68,
                                                        52,
                                                        96,
                                                        104,
                                                        208,
                                                        0,
                                                        16,
                                                        8,
                                                        416,
                                                        24,
                                                        88,
                                                        168,
                                                        40,
                                                        32,
                                                        16,
                                                        40,
                                                        24,
                                                        16,
                                                        200,
                                                        24,
                                                        40,
                                                        32,
                                                        48,
                                                        32,
                                                        40,
                                                        24,
                                                        16,
                                                        32,
                                                        16,
                                                        24,
                                                        40,
                                                        16,
                                                        32,
                                                        64,
                                                        32,
                                                        16,
                                                        40};
    pt_python_build build = {.has_version = true, .major = 3, .minor = 14, .has_types = true};
    assert_int_equal(pt_python_judge(&build), PT_PYTHON_LIES);
    build.has_told = true;
    assert_int_equal(pt_python_judge(&build), PT_PYTHON_LIES);
    memcpy(build.told, told, sizeof told);
    assert_int_equal(pt_python_judge(&build), PT_PYTHON_READABLE);
    build.told[26] += 8; /* the frame of a thread's state */
    assert_int_equal(pt_python_judge(&build), PT_PYTHON_LIES);
    build.told[26] -= 8;
    build.minor = 13; /* has them at other places */
    assert_int_equal(pt_python_judge(&build), PT_PYTHON_LIES);
    build.told[2] = 1; /* without the lock */
    assert_int_equal(pt_python_judge(&build), PT_PYTHON_UNLOCKED);
    build.minor = 12; /* tells nothing */
    build.has_told = false;
    assert_int_equal(pt_python_judge(&build), PT_PYTHON_READABLE);
}

/* ---- texts ---- */

static void check_text(const pt_python_layout *layout, unsigned unit, bool is_ascii,
                       const void *characters, size_t length, const char *utf8, size_t cap)
{
    enum { TEXT_TYPE = 0x5550 };
    const uint64_t at = IMAGE_ADDR + 0x2000;
    image *const m = calloc(1, sizeof *m);
    char to[64];
    size_t bytes;
    put(m, at + 8, TEXT_TYPE, 8);
    put(m, at + 16, length, 8);
    put(m, at + 32, unit << 2 | 1u << 5 | (is_ascii ? 1u << 6 : 0), 1);
    memcpy(m->bytes + 0x2000 + (is_ascii ? layout->text_ascii : layout->text_compact), characters,
           length * unit);
    assert_true(pt_python_text(layout, read_image, m, at, TEXT_TYPE, to, cap, &bytes));
    assert_int_equal(bytes, strlen(utf8));
    assert_memory_equal(to, utf8, bytes);
    assert_false(pt_python_text(layout, read_image, m, at, TEXT_TYPE + 8, to, cap, &bytes));
    put(m, at + 16, IMAGE_BYTES, 8); /* longer than the memory that there is */
    assert_int_equal(pt_python_text(layout, read_image, m, at, TEXT_TYPE, to, sizeof to, &bytes),
                     true); /* what fits was read */
    free(m);
}

static void test_texts(void **state)
{
    static const uint16_t wide[] = {0x436, 0x20ac, 'x', 0xd800};
    static const uint32_t wider[] = {0x1f40d, 'y'};
    for (unsigned minor = 8; minor <= 14; minor++) {
        const pt_python_layout *const layout = pt_python_layout_of(3, minor);
        check_text(layout, 1, true, "A.meth.<locals>.<lambda>", 24, "A.meth.<locals>.<lambda>", 64);
        check_text(layout, 1, true, "abcdef", 6, "abc", 3);
        check_text(layout, 1, false, "na\xefve", 5, "na\xc3\xafve", 64);
        check_text(layout, 2, false, wide, 4, "\xd0\xb6\xe2\x82\xacx\xef\xbf\xbd", 64);
        check_text(layout, 2, false, wide, 4, "\xd0\xb6", 4); /* between characters */
        check_text(layout, 4, false, wider, 2, "\xf0\x9f\x90\x8dy", 64);
    }
}

/* The check of a code object whose name and file are this text, which may end with the memory. */
static uint32_t check_of(const pt_python_layout *layout, unsigned unit, bool is_ascii,
                         const uint32_t *characters, size_t length, bool is_at_end)
{
    const uint64_t start = is_ascii ? layout->text_ascii : layout->text_compact;
    const uint64_t room = (start + length * unit + 1 + 15) / 16 * 16; /* as CPython allocates it */
    const uint64_t code = IMAGE_ADDR + 0x8000, lines = IMAGE_ADDR + 0x2800;
    const uint64_t text = is_at_end ? IMAGE_ADDR + IMAGE_BYTES - room : IMAGE_ADDR + 0x2000;
    image *const m = calloc(1, sizeof *m);
    pt_python_code read;
    uint32_t check = 0;
    put(m, code + (layout->has_qualname ? layout->code_qualname : layout->code_name), text, 8);
    put(m, code + layout->code_file, text, 8);
    put(m, code + layout->code_lines, lines, 8);
    put(m, text + 16, length, 8);
    put(m, text + 32, unit << 2 | 1u << 5 | (is_ascii ? 1u << 6 : 0), 1);
    for (size_t i = 0; i < length; i++)
        put(m, text + start + i * unit, characters[i], unit);
    assert_true(pt_python_code_read(layout, read_image, m, code, &read, &check));
    free(m);
    return check;
}

/* Code whose names have other characters is other code, whatever the characters' size. */
static void test_checks(void **state)
{
    enum { LONGEST = 40 };
    static const size_t lengths[] = {1, 3, 8, 12, 15, 16, LONGEST};
    static const unsigned units[] = {1, 1, 2, 4}; /* the first: ASCII */
    for (unsigned minor = 8; minor <= 14; minor++)
        for (size_t kind = 0; kind < 4; kind++)
            for (size_t i = 0; i < 2 * sizeof lengths / sizeof lengths[0]; i++) {
                const pt_python_layout *const layout = pt_python_layout_of(3, minor);
                const size_t length = lengths[i / 2];
                uint32_t text[LONGEST] = {'f'};
                const uint32_t before =
                    check_of(layout, units[kind], kind == 0, text, length, i % 2);
                text[length - 1]++;
                assert_int_not_equal(check_of(layout, units[kind], kind == 0, text, length, i % 2),
                                     before);
            }
}

/* ---- random memory ---- */

static void test_random_memory(void **state)
{
    uint64_t seed = 1;
    image *const m = calloc(1, sizeof *m);
    for (unsigned round = 0; round < 600; round++) {
        const pt_python_layout *const layout = pt_python_layout_of(3, 8 + round % 7);
        for (size_t i = 0; i < IMAGE_BYTES; i += 8) {
            const uint64_t random = next_random(&seed);
            put(m, IMAGE_ADDR + i,
                random % 4 == 0 ? random : IMAGE_ADDR + random % IMAGE_BYTES / 8 * 8, 8);
        }
        pt_python_walk walk;
        pt_python_frame frame;
        pt_python_code code;
        _Alignas(8) uint8_t object[PT_PYTHON_CODE_BYTES];
        char text[64];
        size_t bytes;
        m->reads = 0;
        if (pt_python_walk_begin(&walk, layout, read_image, m, THREAD, 200) != PT_PYTHON_FRAME)
            continue;
        while (pt_python_walk_next(&walk, &frame) == PT_PYTHON_FRAME)
            if (read_image(m, frame.code, object, sizeof object)) {
                pt_python_code_at(layout, object, &code);
                pt_python_text(layout, read_image, m, code.name, code.type, text, sizeof text,
                               &bytes);
            }
        assert_true(m->reads < 200 * 8);
    }
    free(m);
}

/* ---- merging ---- */

enum { FILE_LIMIT = 0x10000 };

static uint64_t pc_of(char native)
{
    if (native == 'E') return 0x1800;
    if (native == 'C') return 0x5008;
    return (uint64_t)native << (native == 'i' || native == 'o' ? 8 : 32);
}

/* Chains as texts: 'E' a frame of the evaluator, 'C' its other part, 'i' and 'o' other frames of
 * its file, other small letters frames of other files; capital letters frames of Python, of which
 * one before '*' is an entry; '0' the empty run; '-' at the end: more frames were not read. */
static void check_merge_with(pt_interp_evaluator evaluator, const char *native, const char *frames,
                             bool is_whole, const char *chain, pt_merge_result result)
{
    evaluator.low[0] = 0x1000, evaluator.low[1] = 0x5000;
    evaluator.limit[0] = 0x2000, evaluator.limit[1] = 0x5010;
    evaluator.file_low = 0x1000, evaluator.file_limit = FILE_LIMIT;
    uint64_t pcs[32], words[32], merged[64];
    uint32_t pc_count = 0, count = 0, merged_count;
    char text[65] = "";
    for (const char *c = native; *c != '\0'; c++)
        pcs[pc_count++] = pc_of(*c);
    for (const char *c = frames; *c != '\0'; c++) {
        if (*c == '*')
            words[count - 1] |= PT_INTERP_ENTRY;
        else if (*c != '-')
            words[count++] = PT_INTERP_FRAME | (*c == '0' ? PT_INTERP_EMPTY : (uint64_t)*c);
    }
    if (count > 0 && strchr(frames, '-') == NULL) words[count - 1] |= PT_INTERP_LAST;
    assert_int_equal(
        pt_interp_merge(&evaluator, pcs, pc_count, is_whole, words, count, merged, &merged_count),
        result);
    for (uint32_t i = 0; i < merged_count; i++)
        text[i] = (merged[i] & PT_INTERP_FRAME) != 0 ? (char)(merged[i] & 0xff)
                  : merged[i] == 0x1800              ? 'E'
                  : merged[i] == 0x5008              ? 'C'
                  : merged[i] < FILE_LIMIT           ? (char)(merged[i] >> 8)
                                                     : (char)(merged[i] >> 32);
    assert_string_equal(text, chain);
}

static void check_merge_of(bool has_guards, const char *native, const char *frames, bool is_whole,
                           const char *chain, pt_merge_result result)
{
    check_merge_with((pt_interp_evaluator){.has_guards = has_guards}, native, frames, is_whole,
                     chain, result);
}

static void check_merge(const char *native, const char *frames, bool is_whole, const char *chain,
                        pt_merge_result result)
{
    check_merge_of(false, native, frames, is_whole, chain, result);
}

/* One native frame between two evaluators is a guard. */
static void test_merge_with_guards(void **state)
{
    check_merge_of(true, "rEgEm", "FG*", true, "rEgFGEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "rEgCm", "FG*", true, "rEgFGCm", PT_MERGE_CERTAIN);
    check_merge_of(true, "EgEm", "F*", true, "EgFEm", PT_MERGE_CERTAIN); /* it has only begun */
    check_merge_of(true, "rEgEqrEgEm", "FG*HI*", true, "rEgFGEqrEgHIEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "rEgEgEm", "F*", true, "rEgEgFEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "rEqrEm", "F*H*", true, "rFEqrHEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "rEgEm", "F*G*", true, "FrEgGEm", PT_MERGE_UNCERTAIN);
    check_merge_of(true, "rEg", "F-", false, "rFEg", PT_MERGE_CERTAIN); /* native frames were cut */
    check_merge_of(true, "rEEm", "F*H*", true, "rFEHEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "E", "F*", true, "FE", PT_MERGE_CERTAIN);
    /* The evaluator that is too many is none of the innermost frames, as without the guard. */
    check_merge_of(true, "rEgEqrEm", "F*", true, "rEgEqrFEm", PT_MERGE_UNCERTAIN);
    check_merge_of(true, "rxgEqrEm", "F*", true, "rxgEqrFEm", PT_MERGE_UNCERTAIN);
}

/* Two native frames between two evaluators are a guard if the interpreter's file has both, and if
 * the counts differ without it. */
static void test_merge_with_long_guards(void **state)
{
    check_merge_of(true, "rstEioEqrEm", "FG*HI*", true, "rstEioFGEqrHIEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "rstEqrEioEm", "FG*HI*", true, "rstFGEqrEioHIEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "rstEioCqrEiEm", "FG*HI*", true, "rstEioFGCqrEiHIEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "EioEm", "F*", true, "EioFEm", PT_MERGE_CERTAIN);
    /* Another run of its own. */
    check_merge_of(true, "rstEioEm", "F*G*", true, "rstFEioGEm", PT_MERGE_CERTAIN);
    /* Which of the two is the guard? */
    check_merge_of(true, "rstEioEioEqrEm", "F*G*H*", true, "rstEioFEioGEqrHEm", PT_MERGE_UNCERTAIN);
    /* A module has the inner function, or the outer one, or both. */
    check_merge_of(true, "rstEuoEqrEioEm", "F*G*H*", true, "rstFEuoGEqrEioHEm", PT_MERGE_CERTAIN);
    check_merge_of(true, "rstEuoEqrEm", "F*G*", true, "rstEuoFEqrGEm", PT_MERGE_UNCERTAIN);
    check_merge_of(true, "rstEiuEqrEm", "F*G*", true, "rstEiuFEqrGEm", PT_MERGE_UNCERTAIN);
    check_merge_of(true, "rstEuvEqrEm", "F*G*", true, "rstEuvFEqrGEm", PT_MERGE_UNCERTAIN);
    /* Three functions. */
    check_merge_of(true, "rstEiioEqrEm", "F*G*", true, "rstEiioFEqrGEm", PT_MERGE_UNCERTAIN);
    /* An interpreter without guards. */
    check_merge_of(false, "rstEioEqrEm", "F*G*", true, "rstEioFEqrGEm", PT_MERGE_UNCERTAIN);
}

static void test_merge(void **state)
{
    check_merge("rEqEm", "FG*H*", true, "rFGEqHEm", PT_MERGE_CERTAIN);
    check_merge("rEqCm", "FG*H*", true, "rFGEqHCm", PT_MERGE_CERTAIN);
    check_merge("rm", "", true, "rm", PT_MERGE_CERTAIN);
    check_merge("rEqEm", "0*H*", true, "rEqHEm", PT_MERGE_CERTAIN); /* it has returned from all */
    check_merge("EqEm", "H*", true, "EqHEm", PT_MERGE_CERTAIN);     /* it has only begun */
    check_merge("rsEqEm", "H*", true, "rsEqHEm", PT_MERGE_CERTAIN); /* it is about to return */
    check_merge("rstEqEm", "H*", true, "rstEqHEm", PT_MERGE_UNCERTAIN);
    check_merge("EqEqEm", "H*", true, "EqEqHEm", PT_MERGE_UNCERTAIN);
    check_merge("rEm", "F*G*H*", true, "FGrHEm", PT_MERGE_UNCERTAIN);
    check_merge("rEq", "F*G*H*", false, "rFEqGH", PT_MERGE_CERTAIN); /* native frames were cut */
    check_merge("rEqEz", "F*", false, "rFEqEz", PT_MERGE_UNCERTAIN);
    check_merge("rEqEm", "F*G-", true, "rFEqGEm", PT_MERGE_CERTAIN); /* the last run was cut */
    /* Whole runs are missing: the outermost ones. */
    check_merge("rstEqEqEm", "FG*H-", true, "rstFGEqHEqEm", PT_MERGE_CERTAIN);
    check_merge("rstEqEqEm", "F*-", true, "rstFEqEqEm", PT_MERGE_CERTAIN);
    check_merge("rEqEqEm", "FG*H-", true, "rFGEqHEqEm", PT_MERGE_UNCERTAIN); /* or it has begun */
    check_merge("rstEqEq", "F*-", false, "rstFEqEq", PT_MERGE_CERTAIN);
    check_merge("rEm", "F*G-", true, "rFEmG", PT_MERGE_UNCERTAIN);
    check_merge("", "F*", true, "F", PT_MERGE_UNCERTAIN);
}

/* The frames of a fiber go on to those who resumed it, whose native frames are on another stack. A
 * thread begins in the interpreter's file with one frame only (_start). */
static void test_merge_in_fibers(void **state)
{
    const char *const rows[][3] = {{"rEqEio", "FG*H*I*", "rFGEqHEioI"}, {"rEoio", "F*", "rFEoio"}};
    for (size_t i = 0; i < 2; i++)
        check_merge_with((pt_interp_evaluator){.has_fibers = true}, rows[i][0], rows[i][1], true,
                         rows[i][2], PT_MERGE_CERTAIN);
    check_merge_with((pt_interp_evaluator){.has_fibers = true}, "rEmo", "F*G*", true, "FrGEmo",
                     PT_MERGE_UNCERTAIN);
    check_merge("rEqEio", "FG*H*I*", true, "FGrHEqIEio", PT_MERGE_UNCERTAIN);
}

/* ---- a function in two parts ---- */

static void test_split(void **state)
{
    /* 0x1000: jne 0x5004; je 0x5008; jmp 0x3000 (a call at the end); ret */
    static const uint8_t code[] = {0x0f, 0x85, 0xfe, 0x3f, 0,    0,    0x0f, 0x84, 0xfc,
                                   0x3f, 0,    0,    0xe9, 0xef, 0x1f, 0,    0,    0xc3};
    static const uint64_t starts[] = {0x1000, 0x3000, 0x5000, 0x6000};
    uint64_t low = 0, limit = 0;
    assert_true(
        pt_unwind_split_part(EM_X86_64, code, sizeof code, 0x1000, starts, 4, &low, &limit));
    assert_int_equal(low, 0x5000);
    assert_int_equal(limit, 0x6000);
    assert_false(pt_unwind_split_part(EM_X86_64, code + 12, sizeof code - 12, 0x100c, starts, 4,
                                      &low, &limit));
    assert_false(
        pt_unwind_split_part(EM_AARCH64, code, sizeof code, 0x1000, starts, 4, &low, &limit));
}

/* ---- builds that are refused ---- */

static void check_reason(pt_python_build build, const char *expected)
{
    char reason[160];
    pt_python_reason(pt_python_judge(&build), &build, reason, sizeof reason);
    assert_string_equal(reason, expected);
}

static void test_refusals(void **state)
{
    const pt_python_build good = {.has_version = true, .major = 3, .minor = 12, .has_types = true};
    pt_python_build build = good;
    check_reason(build, "");
    build.has_types = false;
    check_reason(build, "pitot cannot find the types of this Python");
    build.is_debug = true;
    check_reason(build, "this Python is a debug build");
    build.is_unlocked = true;
    check_reason(build, "this Python is built without the interpreter lock");
    build.minor = 15;
    check_reason(build, "Python 3.15 is not known to this version of pitot");
    build.has_version = false;
    check_reason(build, "pitot cannot find the version of this Python");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_version_of_name),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_hidden),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_in_fibers),
        cmocka_unit_test(test_merge_with_guards),
        cmocka_unit_test(test_random_memory),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_merge_with_long_guards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
