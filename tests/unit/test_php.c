/* test_php.c: frames of PHP from images of memory that lie as the headers of PHP 8.2 say: calls,
 * functions of C, generators that delegate, exceptions; names and lines; memory that is none. */
#include "memory_image.h"

#include <stdio.h>
#include <sys/mman.h>

#include "interp/php.h"

enum { API = 20220829 /* 8.2 */ };

enum {
    GLOBALS = BASE,
    GENERATOR_CLASS = BASE + 0x400, /* only its address counts */
    TOP = 0x20000,
    CODE = 0x10000,
    GENERATOR = 0x1000000,
    MOST = 64,
};

static uint64_t make_string(image *m, const char *text, size_t bytes)
{
    const uint64_t string = make(m, 0x19 + bytes);
    put(m, string + 0x10, bytes);
    memcpy(m->bytes + (string - BASE) + 0x18, text, bytes);
    return string;
}

static uint64_t make_text(image *m, const char *text)
{
    return make_string(m, text, strlen(text));
}

static uint64_t make_class(image *m, uint64_t name)
{
    const uint64_t class = make(m, 16);
    put(m, class + 8, name);
    return class;
}

typedef struct {
    uint64_t function, first; /* instruction i is at line + 1 + i */
} code;

static code make_code(image *m, uint64_t kind, uint64_t name, uint64_t class, uint32_t line)
{
    enum { INSTRUCTIONS = 4 };
    const code c = {.function = make(m, 0xa8), .first = make(m, INSTRUCTIONS * 32)};
    put(m, c.function, kind);
    put(m, c.function + 0x08, name);
    put(m, c.function + 0x10, class);
    if (kind == PT_PHP_INTERNAL) return c;
    put(m, c.function + 0x50, INSTRUCTIONS);
    put(m, c.function + 0x58, c.first);
    put(m, c.function + 0x98, make_text(m, "/srv/app.php"));
    put(m, c.function + 0xa0, line);
    for (uint32_t i = 0; i < INSTRUCTIONS; i++)
        put(m, c.first + i * 32 + 0x18, line + 1 + i);
    return c;
}

static void put_frame(image *m, uint64_t at, uint64_t function, uint64_t instruction,
                      uint64_t flags, uint64_t caller)
{
    put(m, at, instruction);
    put(m, at + 0x18, function);
    put(m, at + 0x28, flags);
    put(m, at + 0x30, caller);
}

static uint64_t make_frame(image *m, uint64_t function, uint64_t instruction, uint64_t flags,
                           uint64_t caller)
{
    const uint64_t at = make(m, 0x38);
    put_frame(m, at, function, instruction, flags, caller);
    return at;
}

static void run(image *m, uint64_t frame)
{
    put(m, GLOBALS + 0x1e8, frame);
}

/* "NAME:LINE NAME:LINE* ...", innermost first; * of an entry */
/* last: how the walk ends. */
static void check_walk(image *m, const char *expected, pt_interp_step last)
{
    char text[2048] = "", name[64];
    size_t used = 0, bytes = 0;
    pt_php_walk walk;
    pt_php_frame frame;
    pt_php_function f;
    pt_interp_step step = pt_php_walk_begin(&walk, pt_php_layout_of(API), read_image, m, GLOBALS,
                                            GENERATOR_CLASS, MOST);
    while (step == PT_INTERP_FRAME_READ &&
           (step = pt_php_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ) {
        assert_true(pt_php_function_at(pt_php_layout_of(API), read_image, m, frame.function, &f));
        assert_true(pt_php_name(read_image, m, &f, name, sizeof name, &bytes));
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%.*s:%d%s", used > 0 ? " " : "", (int)bytes, name,
            pt_php_line(pt_php_layout_of(API), read_image, m, GLOBALS, &f, frame.instruction),
            frame.is_entry ? "*" : "");
    }
    assert_string_equal(text, expected);
    assert_int_equal(step, last);
}

static void check_stack(image *m, const char *expected)
{
    check_walk(m, expected, PT_INTERP_END);
}

/* ---- stacks ---- */

static void calls_go_through_functions_of_c_to_the_file(void **state)
{
    (void)state;
    image *const m = make_image();
    check_stack(m, "");
    static const char anonymous[] = "class@anonymous\0/srv/app.php:3$0";
    const uint64_t class = make_class(m, make_string(m, anonymous, sizeof anonymous - 1));
    const code file = make_code(m, PT_PHP_USER, 0, 0, 1);
    const code eval = make_code(m, PT_PHP_EVAL, 0, 0, 1);
    const code method = make_code(m, PT_PHP_USER, make_text(m, "runs"), class, 20);
    const code map = make_code(m, PT_PHP_INTERNAL, make_text(m, "array_map"), 0, 0);
    const code upper = make_code(m, PT_PHP_INTERNAL, make_text(m, "strtoupper"), 0, 0);
    const uint64_t outer = make_frame(m, file.function, file.first + 64, TOP | CODE, 0);
    const uint64_t in_eval = make_frame(m, eval.function, eval.first, CODE, outer);
    const uint64_t in_map = make_frame(m, map.function, 0, 0, in_eval);
    run(m, make_frame(m, method.function, method.first + 96, TOP, in_map));
    check_stack(m, "class@anonymous::runs:24* array_map:0 eval:2 {main}:4*");
    /* C calls C: no evaluator runs. A copy without a function is no frame, nor is a fiber's first.
     */
    const code fiber = make_code(m, PT_PHP_INTERNAL, 0, 0, 0);
    const uint64_t copy = make_frame(m, 0, 0, 0, make_frame(m, fiber.function, 0, 0, in_map));
    run(m, make_frame(m, upper.function, 0, TOP, copy));
    check_stack(m, "strtoupper:0 array_map:0 eval:2 {main}:4*");
    free(m);
}

static void generators_that_delegate_stand_between_the_running_one_and_its_caller(void **state)
{
    (void)state;
    enum { GENERATORS = 4 };
    image *const m = make_image();
    uint64_t generator[GENERATORS];
    const code file = make_code(m, PT_PHP_USER, 0, 0, 1);
    const uint64_t outer = make_frame(m, file.function, file.first, TOP | CODE, 0);
    for (int i = 0; i < GENERATORS; i++)
        generator[i] = make(m, 0x100);
    for (int i = 0; i < GENERATORS; i++) { /* 0 is called, 3 runs */
        const char name[] = {'g', (char)('0' + i), '\0'};
        const code c = make_code(m, PT_PHP_USER, make_text(m, name), 0, 10 * (uint32_t)(i + 1));
        const bool is_running = i == GENERATORS - 1;
        const uint64_t frame = make_frame(m, c.function, c.first, TOP | GENERATOR,
                                          is_running ? generator[0] + 0xb8 : 0);
        put(m, generator[i] + 0x10, GENERATOR_CLASS);
        put(m, generator[i] + 0x38, frame);
        put(m, generator[i] + 0x98, is_running ? 0 : generator[i + 1]);
        if (is_running) run(m, frame);
    }
    put_frame(m, generator[0] + 0xb8, 0, 0, 8, outer);
    put(m, generator[0] + 0xb8 + 0x20, generator[0]);
    check_stack(m, "g3:41 g2:31 g1:21 g0:11* {main}:2*");
    /* The frame of an object of another class is no placeholder. */
    put(m, generator[0] + 0x10, GENERATOR_CLASS + 16);
    check_stack(m, "g3:41* {main}:2*");
    /* They delegate in a circle. */
    put(m, generator[0] + 0x10, GENERATOR_CLASS);
    put(m, generator[3] + 0x98, generator[1]);
    m->reads = 0;
    check_walk(m, "g3:41*", PT_INTERP_CUT); /* callers are missing */
    assert_true(m->reads < 3 * PT_PHP_DELEGATES_MAX);
    free(m);
}

static void the_line_of_an_exception_is_that_of_the_throw(void **state)
{
    (void)state;
    image *const m = make_image();
    const code c = make_code(m, PT_PHP_USER, make_text(m, "f"), 0, 5);
    run(m, make_frame(m, c.function, GLOBALS + 0x380, TOP, 0));
    check_stack(m, "f:5*"); /* no instruction is known */
    put(m, GLOBALS + 0x370, c.first + 32);
    check_stack(m, "f:7*");
    put(m, GLOBALS + 0x370, c.first + 33); /* between two */
    check_stack(m, "f:5*");
    put(m, GLOBALS + 0x370, c.first + 4 * 32); /* behind the last */
    check_stack(m, "f:5*");
    free(m);
}

static void texts_are_cut_between_characters(void **state)
{
    (void)state;
    image *const m = make_image();
    char text[8];
    size_t bytes = 0;
    const uint64_t string = make_text(m, "a\xc3\xa9\xe2\x82\xac"); /* 1, 2 and 3 bytes */
    static const size_t held[] = {0, 1, 1, 3, 3, 3, 6, 6};
    for (size_t cap = 0; cap < sizeof held / sizeof held[0]; cap++) {
        assert_true(pt_php_text(read_image, m, string, text, cap, &bytes));
        assert_int_equal(bytes, held[cap]);
    }
    const uint64_t same = make_text(m, "a\xc3\xa9\xe2\x82\xac");
    pt_php_function f = {.kind = PT_PHP_INTERNAL, .name = string};
    uint64_t first, second;
    assert_true(pt_php_check(read_image, m, &f, &first));
    put(m, string + 0x10, 5);
    assert_true(pt_php_check(read_image, m, &f, &second));
    assert_true(first != second);
    f.name = same;
    assert_true(pt_php_check(read_image, m, &f, &second));
    assert_true(first != second);
    f.name = BASE + IMAGE_BYTES;
    assert_false(pt_php_check(read_image, m, &f, &second));
    free(m);
}

static void random_memory_ends_a_walk(void **state)
{
    (void)state;
    image *const m = make_image();
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        fill_at_random(m, &seed);
        pt_php_walk walk;
        pt_php_frame frame;
        unsigned frames = 0;
        m->reads = 0;
        pt_interp_step step = pt_php_walk_begin(&walk, pt_php_layout_of(API), read_image, m,
                                                GLOBALS, GENERATOR_CLASS, MOST);
        while (step == PT_INTERP_FRAME_READ &&
               (step = pt_php_walk_next(&walk, &frame)) == PT_INTERP_FRAME_READ)
            frames++;
        assert_true(frames <= MOST && m->reads <= 2 + MOST * (6 + 2 * PT_PHP_DELEGATES_MAX));
    }
    free(m);
}

static void files_of_php_are_known_by_name(void **state)
{
    (void)state;
    static const char *const are[] = {"php",          "/usr/bin/php8.2", "php-fpm8.2",
                                      "php-cgi",      "php-fpm",         "libphp.so",
                                      "libphp8.2.so", "/a/libphp8.so.1"};
    static const char *const are_not[] = {"phpunit", "php-config",  "phpdbg8.2", "libphp",
                                          "ph",      "libphp.soup", "php/x",     "libphpx.so"};
    for (size_t i = 0; i < sizeof are / sizeof are[0]; i++)
        assert_true(pt_php_is_file(are[i]));
    for (size_t i = 0; i < sizeof are_not / sizeof are_not[0]; i++)
        assert_false(pt_php_is_file(are_not[i]));
}

/* The bytes are the last of readable memory. */
static const pt_php_layout *layout_at_the_end(const char *bytes, size_t size)
{
    enum { PAGE = 4096 };
    char *const pages =
        mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
    memcpy(pages + PAGE - size, bytes, size);
    const pt_php_layout *const layout = pt_php_layout_in(pages + PAGE - size, size);
    munmap(pages, 2 * PAGE);
    return layout;
}

static void the_text_of_a_build_is_looked_for_within_the_bytes_only(void **state)
{
    (void)state;
    static const char build[] = "xAPI20220829,NTS", many[] = "API20220829,NTSAPI00000000000000";
    static const char blanks[] = "API                ", digits[] = "API2022082920220829";
    assert_ptr_equal(layout_at_the_end(build, sizeof build), pt_php_layout_of(API));
    assert_null(layout_at_the_end(build, sizeof build - 1)); /* no end */
    assert_null(layout_at_the_end(many, sizeof many - 1));   /* another build */
    assert_null(layout_at_the_end(blanks, sizeof blanks - 1));
    assert_null(layout_at_the_end(digits, sizeof digits - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_go_through_functions_of_c_to_the_file),
        cmocka_unit_test(generators_that_delegate_stand_between_the_running_one_and_its_caller),
        cmocka_unit_test(the_line_of_an_exception_is_that_of_the_throw),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test(random_memory_ends_a_walk),
        cmocka_unit_test(files_of_php_are_known_by_name),
        cmocka_unit_test(the_text_of_a_build_is_looked_for_within_the_bytes_only),
    };
    return cmocka_run_group_tests_name("php", tests, NULL, NULL);
}
