/* test_v8.c: functions of V8 from images of memory that lie as the symbols of Node 20 and 24 say:
 * names, positions, files, lines; objects that have moved; memory that is none. */
#include "base_check.h"

#include <stdlib.h>
#include <string.h>

#include "../../fuzz/v8_node20.h"
#include "interp/v8.h"

/* ---- a heap ---- */

enum {
    BASE = 0x10000,
    BYTES = 1 << 16,
    WORD_BYTES = 8,
};

typedef struct {
    uint8_t bytes[BYTES];
    uint64_t used;
    unsigned reads;
} heap;

static bool read_heap(void *arg, uint64_t addr, void *to, size_t size)
{
    heap *const h = arg;
    h->reads++;
    if (addr < BASE || size > BYTES || addr - BASE > BYTES - size) return false;
    memcpy(to, h->bytes + (addr - BASE), size);
    return true;
}

static void put(heap *h, uint64_t tagged, unsigned offset, uint64_t word)
{
    memcpy(h->bytes + (tagged - 1 - BASE) + offset, &word, sizeof word);
}

static uint64_t small(int32_t value)
{
    return (uint64_t)(uint32_t)value << 32;
}

/* An object of so many bytes behind its map; the map is one of its own. */
static uint64_t make(heap *h, uint16_t type, size_t bytes)
{
    const uint64_t map = BASE + h->used + 1, object = map + 0x40;
    h->used += 0x40 + (8 + bytes + 15) / 16 * 16;
    assert_true(h->used < BYTES);
    put(h, map, 8, (uint64_t)type << 32); /* 16 bits at 0x0c */
    put(h, object, 0, map);
    return object;
}

static uint64_t make_string(heap *h, uint16_t type, const void *bytes, uint32_t length)
{
    const unsigned unit = (type & 8) != 0 ? 1 : 2;
    const uint64_t string = make(h, type, 8 + (size_t)length * unit);
    put(h, string, 8, (uint64_t)length << 32);
    memcpy(h->bytes + (string - 1 - BASE) + 0x10, bytes, (size_t)length * unit);
    return string;
}

enum {
    ONE_BYTE = 0x08,
    TWO_BYTES = 0x00,
    CONS = 0x21,
    EXTERNAL = 0x2a,
    SLICED = 0x2b,
    THIN = 0x25
};

static uint64_t ascii(heap *h, const char *text)
{
    return make_string(h, ONE_BYTE, text, (uint32_t)strlen(text));
}

static uint64_t make_parts(heap *h, uint16_t type, uint32_t length, uint64_t first, uint64_t second)
{
    const uint64_t string = make(h, type, 0x20);
    put(h, string, 8, (uint64_t)length << 32);
    put(h, string, 0x10, first);
    put(h, string, 0x18, second);
    return string;
}

static uint64_t make_script(heap *h, uint64_t name, uint64_t source, int32_t id)
{
    const uint64_t script = make(h, SCRIPT, 0x50);
    put(h, script, 0x08, source);
    put(h, script, 0x10, name);
    put(h, script, 0x18, small(0));
    put(h, script, 0x40, small(id));
    return script;
}

static uint64_t make_function(heap *h, uint64_t name, uint64_t script, uint64_t *ret_shared)
{
    const uint64_t shared = make(h, SHARED, 0x40), function = make(h, 0x812, 0x40);
    put(h, shared, 0x10, name);
    put(h, shared, 0x20, script);
    put(h, function, 0x18, shared);
    if (ret_shared != NULL) *ret_shared = shared;
    return function;
}

static uint64_t make_scope(heap *h, const uint64_t *words, size_t count)
{
    const uint64_t scope = make(h, SCOPE, 8 * count + 0x40);
    for (size_t i = 0; i < count; i++)
        put(h, scope, 8 + 8 * (unsigned)i, words[i]);
    return scope;
}

static void check_text(heap *h, uint64_t string, const char *expected)
{
    char text[64];
    size_t bytes = 0;
    assert_true(pt_v8_text(&node_20, read_heap, h, string, text, sizeof text, &bytes));
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(text, expected, bytes);
}

/* ---- tests ---- */

static void test_strings(void **state)
{
    heap *const h = calloc(1, sizeof *h);
    static const uint16_t wide[] = {'g', 0xdf, 0x65e5, 0xd835, 0xdcb3, 0xd800, 'x'};
    const uint64_t hello = ascii(h, "hello"), world = make_string(h, TWO_BYTES, wide, 7);
    check_text(h, hello, "hello");
    check_text(h, make_string(h, ONE_BYTE, "gr\xf6\xdf", 4), "gr\303\266\303\237");
    check_text(h, world, "g\303\237\346\227\245\360\235\222\263\357\277\275x"); /* half a pair */
    check_text(h, make_parts(h, THIN, 5, hello, 0), "hello");
    check_text(h, make_parts(h, SLICED, 3, hello, small(1)), "ell");
    const uint64_t both = make_parts(h, CONS, 10, hello, ascii(h, " main"));
    check_text(h, both, "hello main");
    check_text(h, make_parts(h, CONS, 15, both, hello), "hello mainhello");
    check_text(h, make_parts(h, SLICED, 4, both, small(3)), "lo m");
    const uint64_t outside = make(h, EXTERNAL, 0x20);
    put(h, outside, 8, (uint64_t)3 << 32);
    put(h, outside, 0x18, hello - 1 + 0x10 + 2);
    check_text(h, outside, "llo");
    /* Room for two of its characters, of which the second has two bytes. */
    char text[2];
    size_t bytes;
    assert_true(pt_v8_text(&node_20, read_heap, h, world, text, sizeof text, &bytes));
    assert_int_equal(bytes, 1);
    /* Built by += from many parts, and never flattened: the beginning, at least. */
    uint64_t built = ascii(h, "0");
    for (uint32_t length = 2; length <= 40; length++)
        built = make_parts(h, CONS, length, built, ascii(h, &"0123456789"[(length - 1) % 10]));
    char many[64];
    assert_true(pt_v8_text(&node_20, read_heap, h, built, many, sizeof many, &bytes));
    assert_true(bytes >= 8);
    assert_memory_equal(many, "0123456789012345678901234567890123456789", bytes);
    /* A cons of itself has an end; an oddball is no string. */
    const uint64_t loop = make_parts(h, CONS, 10, hello, 0);
    put(h, loop, 0x10, loop);
    put(h, loop, 0x18, loop);
    char more[64];
    h->reads = 0;
    pt_v8_text(&node_20, read_heap, h, loop, more, sizeof more, &bytes);
    assert_true(h->reads < 10000);
    assert_false(
        pt_v8_text(&node_20, read_heap, h, make(h, ODDBALL, 8), more, sizeof more, &bytes));
    free(h);
}

static void check_function(const pt_v8_layout *layout, heap *h, uint64_t function, const char *name,
                           int32_t start, int32_t end)
{
    pt_v8_function f;
    assert_true(pt_v8_function_at(layout, read_heap, h, function, &f));
    assert_true(f.has_script);
    assert_int_equal(f.id, 7);
    assert_int_equal(f.start, start);
    assert_int_equal(f.end, end);
    if (name[0] == '\0')
        assert_true(f.text == 0);
    else
        check_text(h, f.text, name);
    assert_true(pt_v8_function_is(layout, read_heap, h, function, &f));
    if (f.positions != 0) { /* another function lies there now */
        const uint64_t at = f.positions + 1;
        put(h, at, 0, small(f.start + 1));
        assert_false(pt_v8_function_is(layout, read_heap, h, function, &f));
        put(h, at, 0, small(f.start));
    }
}

/* What tells a function apart from another at its address: its name, its script, the script's
 * number. */
static void test_check(void **state)
{
    heap *const h = calloc(1, sizeof *h);
    const uint64_t name = ascii(h, "spin"), script = make_script(h, name, name, 7);
    const uint64_t other = make_script(h, name, name, 8);
    uint64_t shared, check, changed;
    const uint64_t function = make_function(h, name, script, &shared);
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &check));
    put(h, shared, 8, 12345); /* its machine code */
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_true(changed == check);
    put(h, shared, 0x10, function);
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_true(changed != check);
    put(h, shared, 0x10, name);
    put(h, shared, 0x20, other);
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_true(changed != check);
    put(h, shared, 0x20, script);
    put(h, script, 0x40, small(9));
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_true(changed != check);
    put(h, script, 0x40, small(7));
    put(h, shared, 0x30, 77); /* its flags, and its number in the script */
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_true(changed == check);
    put(h, shared, 0x30, (uint64_t)1 << 32);
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_true(changed != check);
    const uint64_t words[] = {small(1), small(0), small(0), name, small(-1), small(5), small(9)};
    const uint64_t scope = make_scope(h, words, sizeof words / sizeof words[0]);
    put(h, shared, 0x10, scope);
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &check));
    put(h, scope, 8 * 4, function); /* the scope of another function is there */
    assert_true(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_true(changed != check);
    assert_false(pt_v8_check(&node_20, read_heap, h, function, &changed));
    put(h, shared, 0, function - 1); /* it has moved: another may lie here soon */
    assert_false(pt_v8_check(&node_20, read_heap, h, shared, &changed));
    assert_false(pt_v8_check(&node_20, read_heap, h, BASE + BYTES + 1, &changed));
    free(h);
}

/* Words as Node 18, 20 and 22 have them behind the map. */
static void test_functions(void **state)
{
    heap *const h = calloc(1, sizeof *h);
    const uint64_t a = ascii(h, "aa"), b = ascii(h, "bb"), spin = ascii(h, "spin");
    const uint64_t empty = ascii(h, ""), undefined = make(h, ODDBALL, 8), list = make(h, 0xaf, 8);
    const uint64_t outer = make(h, SCOPE, 8), table = make(h, 0xb3, 8);
    const uint64_t script = make_script(h, ascii(h, "file:///a%20b/%C3%BC.mjs"), empty, 7);
    const uint64_t flags = small(84029923);
#define CHECK(layout, name, start, end, ...)                                                       \
    do {                                                                                           \
        const uint64_t words[] = {__VA_ARGS__};                                                    \
        const uint64_t scope = make_scope(h, words, sizeof words / sizeof words[0]);               \
        check_function(layout, h, make_function(h, scope, script, NULL), name, start, end);        \
    } while (0)
    CHECK(&node_20, "spin", 128, 167, flags, small(0), small(0), spin, small(-1), undefined,
          small(128), small(167), outer);
    CHECK(&node_20, "spin", 5, 9, flags, small(0), small(2), a, b, small(1), small(2), empty,
          small(-1), spin, small(5), small(9), outer);
    CHECK(&node_20, "", 3, 4, flags, small(1), small(0), empty, small(3), small(4));
    /* A module: the count of its variables, its own positions, and then their names. */
    CHECK(&node_20, "", 0, 239, flags, small(0), small(2), small(3), a, b, small(1), small(2),
          empty, small(-1), small(0), small(239), list, small(3), spin);
    /* More locals than have names in a row. */
    CHECK(&node_20, "spin", 5, 9, flags, small(0), small(2), table, small(1), small(2), spin,
          small(-1), empty, small(5), small(9));
    /* Those of Node 24, whose positions are among the first words. */
    pt_v8_layout node_24 = node_20;
    node_24.scope_first = 5;
    CHECK(&node_24, "spin", 5, 9, 0x1234567, small(0), small(1), small(5), small(9), a, small(1),
          spin, small(-1), undefined, outer);
    CHECK(&node_24, "", 0, 239, 0x1234567, small(0), small(2), small(0), small(239), small(3), a, b,
          small(1), small(2), empty, small(-1), list, spin);
#undef CHECK
    /* A scope that is the last object before memory that is not there. */
    const uint64_t last_map = BASE + BYTES - 0x40 - 9 * WORD_BYTES + 1, last = last_map + 0x40;
    const uint64_t last_words[] = {last_map,  flags,     small(0),   small(0),  spin,
                                   small(-1), undefined, small(128), small(167)};
    put(h, last_map, 8, (uint64_t)SCOPE << 32);
    for (unsigned i = 0; i < sizeof last_words / sizeof last_words[0]; i++)
        put(h, last, WORD_BYTES * i, last_words[i]);
    check_function(&node_20, h, make_function(h, last, script, NULL), "spin", 128, 167);
    /* A function's name in place of the scope, and none at all. */
    check_function(&node_20, h, make_function(h, spin, script, NULL), "spin", -1, -1);
    check_function(&node_20, h, make_function(h, small(0), script, NULL), "", -1, -1);
    char file[64];
    size_t bytes;
    assert_true(pt_v8_script_name(&node_20, read_heap, h, script, file, sizeof file, &bytes));
    bytes = pt_v8_path(file, bytes);
    assert_int_equal(bytes, strlen("/a b/\303\274.mjs"));
    assert_memory_equal(file, "/a b/\303\274.mjs", bytes);
    /* V8's own function has no script. */
    pt_v8_function f;
    assert_true(
        pt_v8_function_at(&node_20, read_heap, h, make_function(h, spin, undefined, NULL), &f));
    assert_false(f.has_script);
    free(h);
}

static void test_moved(void **state)
{
    heap *const h = calloc(1, sizeof *h);
    const uint64_t script = make_script(h, ascii(h, "a.js"), ascii(h, ""), 7);
    uint64_t shared;
    pt_v8_function f;
    const uint64_t function = make_function(h, ascii(h, "spin"), script, &shared);
    const uint64_t there = make(h, 0x812, 0x40);
    put(h, there, 0x18, shared);
    put(h, function, 0, there - 1); /* the new address in place of the map */
    put(h, function, 0x18, 0);
    assert_true(pt_v8_function_at(&node_20, read_heap, h, function, &f));
    check_text(h, f.text, "spin");
    put(h, there, 0, function - 1); /* it points back: followed once */
    assert_false(pt_v8_function_at(&node_20, read_heap, h, function, &f));
    assert_false(pt_v8_function_at(&node_20, read_heap, h, small(4), &f));
    assert_false(pt_v8_function_at(&node_20, read_heap, h, shared, &f)); /* no function */
    /* Frames of other kinds have a number in place of the context. */
    const uint64_t frame[2] = {function, script}, entry[2] = {function, 1 << 1};
    assert_true(pt_v8_frame_function(frame) == function);
    assert_true(pt_v8_frame_function(entry) == 0);
    free(h);
}

static uint32_t count(const heap *h, uint64_t string, unsigned unit, uint32_t length, uint32_t to)
{
    const pt_v8_source source = {
        .addr = string - 1 + 0x10, .length = length, .unit = (uint8_t)unit};
    uint32_t lines = 0;
    assert_true(pt_v8_count_lines(&source, read_heap, (void *)h, 0, to, &lines));
    return lines;
}

static void test_lines(void **state)
{
    heap *const h = calloc(1, sizeof *h);
    static const char text[] = "a\nb\r\nc\rd\n\n1234567\n12345678\n\x0a\x0b\x8a\x0dx\x0d";
    static const uint16_t wide[] = {'a', '\n', 0x2028, 'b', 0x2029, '\r', '\n', 0x0a0a, '\r', 'c'};
    const uint32_t length = sizeof text - 1;
    const uint64_t narrow = make_string(h, ONE_BYTE, text, length);
    uint32_t expected = 0;
    for (uint32_t to = 0; to <= length; to++) {
        assert_int_equal(count(h, narrow, 1, length, to), expected);
        expected += to < length && (text[to] == '\n' || (text[to] == '\r' && text[to + 1] != '\n'));
    }
    const uint64_t two = make_string(h, TWO_BYTES, wide, 10);
    assert_int_equal(count(h, two, 2, 10, 10), 5);
    assert_int_equal(count(h, two, 2, 10, 6), 3);
    /* Longer than a piece that is read, from and to anywhere. */
    char *const big = calloc(1, 5001);
    for (int i = 0; i < 5000; i++)
        big[i] = i % 7 == 3 ? '\n' : i % 500 == 499 ? '\r' : (char)(i % 251);
    const uint64_t string = make_string(h, ONE_BYTE, big, 5000);
    const uint64_t script = make_script(h, ascii(h, "a.js"), string, 7);
    pt_v8_source source;
    assert_true(pt_v8_source_of(&node_20, read_heap, h, script, &source));
    assert_int_equal(source.length, 5000);
    for (uint32_t from = 0; from < 5000; from += 611) {
        uint32_t want = 0, lines = 0;
        for (uint32_t to = from; to < 5000; to++) {
            if ((to - from) % 97 == 0) {
                assert_true(pt_v8_count_lines(&source, read_heap, h, from, to, &lines));
                assert_int_equal(lines, want);
            }
            want += big[to] == '\n' || (big[to] == '\r' && big[to + 1] != '\n');
        }
    }
    free(big);
    free(h);
}

/* Nothing is read but by the callback, and not for ever. */
static void test_random_memory(void **state)
{
    heap *const h = calloc(1, sizeof *h);
    uint64_t seed = 42;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < 512; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            const uint64_t word = seed >> 33;
            const uint64_t near = (BASE + word % 4096) & ~UINT64_C(7);
            put(h, BASE + 1, 8 * (unsigned)i,
                word % 4 == 0   ? small((int32_t)(word >> 8) % 300)
                : word % 4 == 1 ? word << 32 | (word & 0x1ff) << 8
                                : near + 1);
        }
        pt_v8_function f;
        char text[32];
        size_t bytes;
        h->reads = 0;
        const uint64_t at = BASE + 1 + 8 * (seed >> 40) % 512;
        if (pt_v8_function_at(&node_20, read_heap, h, at, &f) && f.text != 0 &&
            pt_v8_text(&node_20, read_heap, h, f.text, text, sizeof text, &bytes))
            assert_true(bytes <= sizeof text);
        if (pt_v8_text(&node_20, read_heap, h, at, text, sizeof text, &bytes))
            assert_true(bytes <= sizeof text);
        assert_true(h->reads < 20000);
    }
    free(h);
}

/* The words of frames of Node 20, as its own frames-inl.h has them: position or feedback, bytecode,
 * number of arguments, function, context. */
static void test_tiers(void **state)
{
    heap *const h = calloc(1, sizeof *h);
    const uint64_t bytecode = make(h, BYTECODE, 0x40), feedback = make(h, 0x101, 8);
    const uint64_t function = make_function(h, ascii(h, "f"), ascii(h, ""), NULL), context = BASE;
    const uint64_t interpreted[] = {small(54), bytecode, small(1), function, context};
    const uint64_t baseline[] = {feedback, bytecode, small(1), function, context};
    const uint64_t optimized[] = {small(54), feedback, small(1), function, context};
    const uint64_t no_object[] = {small(54), BASE + BYTES + 1, small(1), function, context};
    static const struct {
        bool is_in_file;
        pt_v8_tier spilled; /* of frames whose word in the bytecode's place is another */
    } cases[] = {{true, PT_V8_NO_TIER}, {false, PT_V8_OPTIMIZED}};
    for (int i = 0; i < 2; i++) {
        const bool in_file = cases[i].is_in_file;
        assert_int_equal(pt_v8_tier_of(&node_20, read_heap, h, interpreted, in_file),
                         PT_V8_INTERPRETER);
        assert_int_equal(pt_v8_tier_of(&node_20, read_heap, h, baseline, in_file), PT_V8_BASELINE);
        assert_int_equal(pt_v8_tier_of(&node_20, read_heap, h, optimized, in_file),
                         cases[i].spilled);
        assert_int_equal(pt_v8_tier_of(&node_20, read_heap, h, no_object, in_file),
                         cases[i].spilled);
    }
    free(h);
}

static void test_layout(void **state)
{
    pt_v8_layout layout = node_20;
    assert_true(pt_v8_layout_is_known(&layout));
    layout.tagged_bytes = 4; /* compressed pointers */
    assert_false(pt_v8_layout_is_known(&layout));
    layout = node_20;
    layout.shared_name = 4096;
    assert_false(pt_v8_layout_is_known(&layout));
    layout = node_20;
    layout.shared_script = layout.shared_flags + 8; /* the walk reads no further than the flags */
    assert_false(pt_v8_layout_is_known(&layout));
    /* Each field has its symbol, once. */
    bool has[sizeof layout / sizeof(int32_t)] = {false};
    assert_int_equal(pt_v8_symbol_count, sizeof has);
    for (size_t i = 0; i < pt_v8_symbol_count; i++) {
        const size_t field = pt_v8_symbols[i].offset / sizeof(int32_t);
        assert_false(has[field]);
        has[field] = true;
        assert_int_equal(strncmp(pt_v8_symbols[i].names[0], "v8dbg_", 6), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),   cmocka_unit_test(test_check),
        cmocka_unit_test(test_functions), cmocka_unit_test(test_moved),
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_random_memory),
        cmocka_unit_test(test_tiers),     cmocka_unit_test(test_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
