/* test_ruby.c: frames of Ruby from images of memory that lie as the headers of Ruby 3.1 say: calls,
 * functions of C, a thread's first frame; names, classes and lines; memory that is none. */
#include "memory_image.h"

#include <elf.h>
#include <stdio.h>

#include "interp/ruby.h"
#include "interp/ruby_find.h"

enum {
    CONTEXT = BASE,
    STACK = BASE + 0x100,
    STACK_WORDS = 64,
    FRAME_BYTES = 64,
    END = STACK + STACK_WORDS * 8,
    MOST = 64,
    /* flags of environments */
    METHOD = 0x11110001,
    BLOCK = 0x22220001,
    C_METHOD = 0x55550001 | 0x80,
    FIRST = 0x79990001 | 0x20,
    LOCAL = 2,
    FINISH = 0x20,
    /* flags of objects */
    CLASS = 2,
    MODULE = 3,
    STRING = 5,
    ARRAY = 7,
    INTERNAL = 0x1a,
    SINGLETON = 1 << 12,
    APART = 1 << 13,
    WITHIN = 1 << 13,
    METHOD_ENTRY = 6 << 12,
    NAME_KEY = 77,
    OBJECT_KEY = 78,
};

static uint64_t make_text(image *m, const char *text)
{
    const uint64_t bytes = strlen(text), string = make(m, 40);
    const bool is_apart = bytes > 23;
    const uint64_t at = is_apart ? make(m, bytes + 1) : string + 16;
    memcpy(m->bytes + (at - BASE), text, bytes);
    put(m, string, STRING | (is_apart ? (uint64_t)APART : bytes << 14));
    if (!is_apart) return string;
    put(m, string + 16, bytes);
    put(m, string + 24, at);
    return string;
}

/* A class with one variable. */
static uint64_t make_class(image *m, uint64_t flags, uint64_t key, uint64_t value)
{
    const uint64_t class = make(m, 40), ext = make(m, 16), table = make(m, 56),
                   entries = make(m, 48);
    put(m, class, flags);
    put(m, class + 24, ext);
    put(m, ext + 8, table);
    put(m, table + 32, 1); /* the first entry was removed */
    put(m, table + 40, 2);
    put(m, table + 48, entries);
    put(m, entries + 24 + 8, key);
    put(m, entries + 24 + 16, value);
    return class;
}

typedef struct {
    uint64_t iseq, body, first;
} code;

enum { WORDS = 700, LINES = 3 };

/* Lines begin at words 0, 10 and 600: 21, 22, 23. */
static code make_code(image *m, const char *label, const char *base, uint64_t type)
{
    const code c = {.iseq = make(m, 40), .body = make(m, 0xd0), .first = make(m, WORDS * 8)};
    const uint64_t lines = make(m, LINES * 12), rank = make(m, 48 + 2 * 80);
    put(m, c.iseq + 16, c.body);
    put(m, c.body, type | (uint64_t)WORDS << 32);
    put(m, c.body + 8, c.first);
    const uint64_t path = make(m, 40);
    put(m, path, ARRAY | WITHIN);
    put(m, path + 16, make_text(m, "/srv/app.rb"));
    put(m, c.body + 0x40, path);
    put(m, c.body + 0x48, make_text(m, base));
    put(m, c.body + 0x50, make_text(m, label));
    put(m, c.body + 0x58, 20 << 1 | 1);
    put(m, c.body + 0x78, lines);
    put(m, c.body + 0x88, LINES);
    put(m, c.body + 0x90, rank);
    put(m, c.body + 0xb0, c.iseq);
    for (unsigned i = 0; i < LINES; i++) {
        const uint32_t line = 21 + i;
        memcpy(m->bytes + (lines - BASE) + i * 12, &line, sizeof line);
    }
    for (unsigned word = 0; word < 54; word++) {
        uint64_t packed;
        memcpy(&packed, m->bytes + (rank - BASE) + word / 9 * 8, sizeof packed);
        put(m, rank + word / 9 * 8, packed | (uint64_t)(word < 10 ? 1 : 2) << word % 9 * 7);
    }
    put(m, rank + 48, 2);      /* words 54 to 565: two lines before, none within */
    put(m, rank + 48 + 80, 2); /* words 566 to 1077: the third begins at the 34th */
    put(m, rank + 48 + 80 + 16, UINT64_C(1) << 34);
    for (unsigned part = 1; part < 8; part++) { /* one begins before each later part */
        uint64_t ranks;
        memcpy(&ranks, m->bytes + (rank - BASE) + 48 + 80 + 8, sizeof ranks);
        put(m, rank + 48 + 80 + 8, ranks | UINT64_C(1) << (part - 1) * 9);
    }
    return c;
}

/* Pushes a frame; the first call makes the outermost. Returns its environment. */
static uint64_t push(image *m, unsigned number, uint64_t iseq, uint64_t pc, uint64_t flags,
                     uint64_t method, uint64_t outer)
{
    const uint64_t frame = END - (number + 1) * FRAME_BYTES, env = make(m, 24) + 16;
    put(m, frame, pc);
    put(m, frame + 16, iseq);
    put(m, frame + 32, env);
    put(m, env - 16, method);
    put(m, env - 8, outer);
    put(m, env, flags);
    put(m, CONTEXT, STACK);
    put(m, CONTEXT + 8, STACK_WORDS);
    put(m, CONTEXT + 16, frame);
    return env;
}

/* "NAME:LINE NAME:LINE* ...", innermost first; * of an entry */
static void check_stack(image *m, const char *expected)
{
    const pt_ruby_layout *const layout = pt_ruby_layout_of(3, 1);
    const pt_ruby_keys keys = {.name = NAME_KEY, .attached = OBJECT_KEY};
    char text[2048] = "", name[64];
    size_t used = 0, bytes = 0;
    pt_ruby_walk walk;
    pt_ruby_frame frame;
    pt_ruby_code c;
    pt_interp_step step = pt_ruby_walk_begin(&walk, layout, read_image, m, CONTEXT, MOST);
    while (step == PT_INTERP_FRAME_READ &&
           (step = pt_ruby_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ) {
        assert_true(pt_ruby_code_at(layout, read_image, m, frame.body, &c));
        const uint64_t owner = pt_ruby_owner(read_image, m, frame.env);
        pt_ruby_names names;
        assert_true(pt_ruby_names_at(layout, read_image, m, &keys, &c, owner, &names));
        assert_true(pt_ruby_name(read_image, m, &names, name, sizeof name, &bytes));
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%.*s:%d%s", used > 0 ? " " : "", (int)bytes, name,
            pt_ruby_line(layout, read_image, m, &c, frame.pc), frame.is_entry ? "*" : "");
        assert_true(pt_ruby_path(read_image, m, &names, name, sizeof name, &bytes));
        assert_memory_equal(name, "/srv/app.rb", bytes);
    }
    assert_string_equal(text, expected);
    assert_int_equal(step, PT_INTERP_END);
}

static uint64_t make_method(image *m, uint64_t owner)
{
    const uint64_t method = make(m, 40);
    put(m, method, INTERNAL | METHOD_ENTRY);
    put(m, method + 32, owner);
    return method;
}

static void calls_go_through_functions_of_c_to_the_file(void **state)
{
    (void)state;
    image *const m = make_image();
    const uint64_t class = make_class(m, CLASS, NAME_KEY, make_text(m, "Ledger"));
    const code file = make_code(m, "<main>", "<main>", 7);
    const code method = make_code(m, "append", "append", 1);
    push(m, 0, file.iseq, 0, FIRST, 0, 0);
    push(m, 1, file.iseq, file.first + 8, METHOD | LOCAL | FINISH, 0, 0);
    push(m, 2, 0, 0, C_METHOD | LOCAL, 0, 0);
    push(m, 3, file.iseq, 0, C_METHOD, 0, 0); /* a block of C */
    const uint64_t env =
        push(m, 4, method.iseq, method.first + 8 * 11, METHOD | LOCAL, make_method(m, class), 0);
    check_stack(m, "Ledger#append:22 <main>:21*");
    /* A block of a method belongs to it, whose variables may be kept beside it. */
    code block = make_code(m, "block in append", "append", 2);
    put(m, block.body + 0xb0, method.iseq);
    push(m, 5, block.iseq, block.first, BLOCK | FINISH, 0, env | 1);
    check_stack(m, "block in Ledger#append:21* Ledger#append:22 <main>:21*");
    const uint64_t kept = make(m, 40);
    put(m, kept, INTERNAL | 2 << 12);
    put(m, kept + 8, make_method(m, class));
    put(m, env - 16, kept);
    check_stack(m, "block in Ledger#append:21* Ledger#append:22 <main>:21*");
    free(m);
}

static void a_method_has_its_class_if_the_class_has_a_name(void **state)
{
    (void)state;
    image *const m = make_image();
    const uint64_t module =
        make_class(m, MODULE, NAME_KEY, make_text(m, "Util::A_module_of_long_name"));
    const uint64_t object = make_class(m, 1, NAME_KEY, make_text(m, "x")); /* no class */
    const code method = make_code(m, "each", "each", 1);
    const uint64_t entry = make_method(m, module);
    push(m, 0, method.iseq, method.first, METHOD | LOCAL | FINISH, entry, 0);
    check_stack(m, "Util::A_module_of_long_name#each:21*");
    put(m, entry + 32, make_class(m, CLASS | SINGLETON, OBJECT_KEY, module));
    check_stack(m, "Util::A_module_of_long_name.each:21*");
    put(m, entry + 32, make_class(m, CLASS | SINGLETON, OBJECT_KEY, object));
    check_stack(m, "each:21*");
    put(m, entry + 32, make_class(m, CLASS, OBJECT_KEY, module)); /* without a name */
    check_stack(m, "each:21*");
    put(m, method.body, 6); /* no method's code */
    put(m, entry + 32, module);
    check_stack(m, "each:21*");
    free(m);
}

static void keys_are_learnt_from_classes_that_are_known(void **state)
{
    (void)state;
    image *const m = make_image();
    const pt_ruby_layout *const layout = pt_ruby_layout_of(3, 1);
    pt_ruby_keys keys;
    const uint64_t object = make_class(m, CLASS, 5, make_text(m, "Object"));
    const uint64_t string = make_class(m, CLASS, 5, make_text(m, "String"));
    put(m, object + 8, make_class(m, CLASS | SINGLETON, 6, object));
    assert_true(pt_ruby_keys_find(layout, read_image, m, object, string, &keys));
    assert_int_equal(keys.name, 5);
    assert_int_equal(keys.attached, 6);
    assert_false(pt_ruby_keys_find(layout, read_image, m, string, object, &keys));
    assert_false(pt_ruby_keys_find(layout, read_image, m, object,
                                   make_class(m, CLASS, 7, make_text(m, "String")), &keys));
    assert_false(pt_ruby_keys_find(layout, read_image, m, 0, 0, &keys));
    free(m);
}

static void lines_are_those_of_the_instruction_before(void **state)
{
    (void)state;
    image *const m = make_image();
    const pt_ruby_layout *const layout = pt_ruby_layout_of(3, 1);
    const code made = make_code(m, "f", "f", 1);
    pt_ruby_code c;
    static const struct {
        uint32_t word;
        int32_t line;
    } rows[] = {{0, 21},   {1, 21},   {10, 21},  {11, 22},  {54, 22},  {55, 22},  {56, 22},
                {565, 22}, {567, 22}, {600, 22}, {601, 23}, {640, 23}, {700, 23}, {701, 20}};
    assert_true(pt_ruby_code_at(layout, read_image, m, made.body, &c));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(pt_ruby_line(layout, read_image, m, &c, made.first + rows[i].word * 8),
                         rows[i].line);
    assert_int_equal(pt_ruby_line(layout, read_image, m, &c, 0), 20);
    assert_int_equal(pt_ruby_line(layout, read_image, m, &c, made.first + 4), 20);
    c.line_count = 1; /* no table leads to it */
    assert_int_equal(pt_ruby_line(layout, read_image, m, &c, made.first + 8 * 601), 21);
    c.line_count = 0;
    assert_int_equal(pt_ruby_line(layout, read_image, m, &c, made.first), 20);
    free(m);
}

static void code_that_replaces_other_code_is_told_apart(void **state)
{
    (void)state;
    image *const m = make_image();
    const pt_ruby_layout *const layout = pt_ruby_layout_of(3, 1);
    const code made = make_code(m, "one", "one", 1);
    const pt_ruby_keys no_keys = {.name = 0};
    pt_ruby_code c;
    uint64_t first, second;
    assert_true(pt_ruby_code_at(layout, read_image, m, made.body, &c));
    assert_true(pt_ruby_check(layout, read_image, m, &no_keys, &c, 0, &first));
    memcpy(m->bytes + (c.label + 16 - BASE), "two", 3);
    assert_true(pt_ruby_check(layout, read_image, m, &no_keys, &c, 0, &second));
    assert_true(first != second);
    put(m, c.label, STRING | 3 << 14 | 1 << 5); /* it has become older */
    assert_true(pt_ruby_check(layout, read_image, m, &no_keys, &c, 0, &first));
    assert_int_equal(first, second);
    c.label = BASE + IMAGE_BYTES;
    assert_false(pt_ruby_check(layout, read_image, m, &no_keys, &c, 0, &first));
    free(m);
}

/* Code of a method, by its class: one that gets its name later, and one that takes its place. */
static void methods_of_a_class_that_replaces_another_are_told_apart(void **state)
{
    (void)state;
    image *const m = make_image();
    const pt_ruby_layout *const layout = pt_ruby_layout_of(3, 1);
    const pt_ruby_keys keys = {.name = NAME_KEY};
    const code made = make_code(m, "work", "work", 1);
    const uint64_t class = make_class(m, CLASS, NAME_KEY + 1, make_text(m, "x"));
    const uint64_t named = make_class(m, CLASS, NAME_KEY, make_text(m, "K1"));
    const uint64_t other = make_class(m, CLASS, NAME_KEY, make_text(m, "K2"));
    uint64_t words[4], first, second;
    pt_ruby_code c;
    assert_true(pt_ruby_code_at(layout, read_image, m, made.body, &c));
    assert_true(pt_ruby_check(layout, read_image, m, &keys, &c, class, &first));
    memcpy(words, m->bytes + (named - BASE), sizeof words);
    memcpy(m->bytes + (class - BASE), words, sizeof words);
    assert_true(pt_ruby_check(layout, read_image, m, &keys, &c, class, &second));
    assert_true(first != second);
    memcpy(words, m->bytes + (other - BASE), sizeof words);
    memcpy(m->bytes + (class - BASE), words, sizeof words);
    assert_true(pt_ruby_check(layout, read_image, m, &keys, &c, class, &first));
    assert_true(first != second);
    free(m);
}

static void random_memory_ends_a_walk(void **state)
{
    (void)state;
    image *const m = make_image();
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        fill_at_random(m, &seed);
        put(m, CONTEXT + 8, seed % 64);
        pt_ruby_walk walk;
        pt_ruby_frame frame;
        unsigned frames = 0;
        m->reads = 0;
        pt_interp_step step =
            pt_ruby_walk_begin(&walk, pt_ruby_layout_of(3, 1), read_image, m, CONTEXT, MOST);
        while (step == PT_INTERP_FRAME_READ &&
               (step = pt_ruby_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ)
            frames++;
        assert_true(frames <= MOST && m->reads <= 1 + 3 * MOST);
    }
    free(m);
}

static void the_one_context_is_that_of_its_thread_alone(void **state)
{
    (void)state;
    enum { POINTER = 0x7f0000001000, OF_THREAD = 0x38, OF_NUMBER = 0x48 }; /* of 2.7 */
    image *const m = make_image();
    const pt_ruby_layout *const layout = pt_ruby_layout_of(2, 7);
    const uint64_t holder = make(m, 8), context = make(m, 0x80), thread = make(m, 0x80);
    assert_int_equal(pt_ruby_context(layout, read_image, m, holder, POINTER), 0);
    put(m, holder, context);
    assert_int_equal(pt_ruby_context(layout, read_image, m, holder, POINTER), 0);
    put(m, context + OF_THREAD, thread);
    put(m, thread + OF_NUMBER, POINTER);
    assert_int_equal(pt_ruby_context(layout, read_image, m, holder, POINTER), context);
    assert_int_equal(pt_ruby_context(layout, read_image, m, holder, POINTER + 8), 0);
    free(m);
}

/* A Ruby without symbols: two loops over labels, of which the longer one belongs to Ruby's
 * instructions, the caller of that loop, and a function that reads the context. */
enum {
    HIDDEN_BIAS = BASE,
    RELOCATIONS = BASE + 0x100,
    OTHER_LABELS = 100,
    LABELS = 200,
    CODE = BASE + 0x4000,
    OTHER_LOOP = CODE + 0x100,
    LOOP = CODE + 0x400,
    CALLER = CODE + 0x900,
    READER = CODE + 0xa00,
    CODE_LIMIT = CODE + 0xb00,
    NUMBER = BASE + 0x7000,
};

static const uint64_t starts[] = {CODE, OTHER_LOOP, LOOP, CALLER, READER};

static void put_labels(image *m, unsigned at, unsigned count, uint64_t table, uint64_t function)
{
    for (unsigned i = 0; i < count; i++) {
        const uint64_t entry = RELOCATIONS + (at + i) * sizeof(Elf64_Rela);
        put(m, entry, table + 8 * (uint64_t)i);
        put(m, entry + 8, R_X86_64_RELATIVE);
        put(m, entry + 16, function + 2 * (uint64_t)i - HIDDEN_BIAS);
    }
}

static void put_call(image *m, uint64_t at, uint64_t to)
{
    const int32_t by = (int32_t)(to - at - 5);
    m->bytes[at - BASE] = 0xe8;
    memcpy(m->bytes + (at + 1 - BASE), &by, sizeof by);
}

static pt_ruby_image hide_ruby(image *m)
{
    static const uint8_t reads[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83,
                                    0xec, 8,    0x66, 0x48, 0x8d, 0x3d};
    const int32_t by = (int32_t)(NUMBER - READER - (int32_t)sizeof reads - 4);
    put_labels(m, 0, OTHER_LABELS, 0x9000, OTHER_LOOP);
    put_labels(m, OTHER_LABELS, LABELS, 0xa000, LOOP);
    put_call(m, CODE + 0x20, OTHER_LOOP);
    put_call(m, CALLER + 0x41, LOOP);
    put_call(m, CALLER + 0x67, LOOP);
    memcpy(m->bytes + (READER - BASE), reads, sizeof reads);
    memcpy(m->bytes + (READER - BASE) + sizeof reads, &by, sizeof by);
    put(m, NUMBER + 8, 0x10);
    return (pt_ruby_image){.read = read_image,
                           .arg = m,
                           .bias = HIDDEN_BIAS,
                           .relocations = RELOCATIONS,
                           .relocation_bytes = (OTHER_LABELS + LABELS) * sizeof(Elf64_Rela),
                           .code = CODE,
                           .code_limit = CODE_LIMIT,
                           .starts = starts,
                           .start_count = sizeof starts / sizeof starts[0]};
}

static void a_hidden_evaluator_is_the_only_caller_of_the_longest_loop(void **state)
{
    (void)state;
    image *const m = make_image();
    pt_ruby_image hidden = hide_ruby(m);
    uint64_t low = 0, limit = 0;
    assert_true(pt_ruby_find_evaluator(&hidden, &low, &limit));
    assert_int_equal(low, CALLER);
    assert_int_equal(limit, READER);
    hidden.relocation_bytes = OTHER_LABELS * sizeof(Elf64_Rela); /* no loop is long enough */
    assert_false(pt_ruby_find_evaluator(&hidden, &low, &limit));
    hidden = hide_ruby(m);
    hidden.code_limit = BASE + IMAGE_BYTES + 1; /* more than there is */
    assert_false(pt_ruby_find_evaluator(&hidden, &low, &limit));
    hidden = hide_ruby(m);
    put_call(m, OTHER_LOOP, LOOP); /* a second caller */
    assert_false(pt_ruby_find_evaluator(&hidden, &low, &limit));
    free(m);
}

static void a_hidden_context_is_where_a_function_reads_it(void **state)
{
    (void)state;
    image *const m = make_image();
    const pt_ruby_image hidden = hide_ruby(m);
    uint64_t module = 0, place = 0;
    assert_true(pt_ruby_find_context(&hidden, READER, &module, &place));
    assert_int_equal(module, NUMBER);
    assert_int_equal(place, 0x10);
    assert_false(pt_ruby_find_context(&hidden, CALLER, &module, &place));
    assert_false(pt_ruby_find_context(&hidden, BASE + IMAGE_BYTES - 16, &module, &place));
    free(m);
}

static void versions_and_files_are_known(void **state)
{
    (void)state;
    static const char *const are[] = {"ruby", "/usr/bin/ruby3.1", "libruby.so.3.1",
                                      "/a/libruby-3.1.so.3.1.2", "libruby.so"};
    static const char *const are_not[] = {"rubygems", "ruby-build", "librubyx.so", "libruby-3.1",
                                          "irb"};
    for (size_t i = 0; i < sizeof are / sizeof are[0]; i++)
        assert_true(pt_ruby_is_file(are[i]));
    for (size_t i = 0; i < sizeof are_not / sizeof are_not[0]; i++)
        assert_false(pt_ruby_is_file(are_not[i]));
    assert_null(pt_ruby_layout_of(3, 0));
    assert_null(pt_ruby_layout_of(2, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_through_functions_of_c_to_the_file),
        cmocka_unit_test(a_method_has_its_class_if_the_class_has_a_name),
        cmocka_unit_test(keys_are_learnt_from_classes_that_are_known),
        cmocka_unit_test(lines_are_those_of_the_instruction_before),
        cmocka_unit_test(code_that_replaces_other_code_is_told_apart),
        cmocka_unit_test(methods_of_a_class_that_replaces_another_are_told_apart),
        cmocka_unit_test(random_memory_ends_a_walk),
        cmocka_unit_test(the_one_context_is_that_of_its_thread_alone),
        cmocka_unit_test(a_hidden_evaluator_is_the_only_caller_of_the_longest_loop),
        cmocka_unit_test(a_hidden_context_is_where_a_function_reads_it),
        cmocka_unit_test(versions_and_files_are_known),
    };
    return cmocka_run_group_tests_name("ruby", tests, NULL, NULL);
}
