/* test_agent_php.c: what the signal handler reads of PHP, on frames in memory of this program:
 * which thread has them, the line of the innermost one, functions that replace others. */
#include "base_check.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tick/php.h"
#include "agent/tick/tick.h"

enum {
    TOP = 0x20000,
    GLOBALS_WORDS = 0x400 / 8,
    FRAME_WORDS = 0x38 / 8,
    FUNCTION_WORDS = 0xa8 / 8,
    INSTRUCTION_WORDS = 4,
    EVALUATOR = 0x400000, /* its first address; its code is 0x100 bytes long */
    ROOM = 32,
};

/* A function whose instruction i is at line 11 + i, and its frame. */
static struct {
    uint64_t globals[GLOBALS_WORDS], generator_class;
    uint64_t frame[FRAME_WORDS], function[FUNCTION_WORDS];
    uint64_t instruction[3][INSTRUCTION_WORDS];
    uint64_t name[8], other_name[8], file[8];
} php;

static pt_tick_php_cache *cache;
static pt_tick_codes *codes;
static pt_tick_php_facts facts;
static const pt_interp_evaluator evaluator = {.low = {EVALUATOR}, .limit = {EVALUATOR + 0x100}};

static uint64_t address_of(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

static void put_string(uint64_t *string, const char *text)
{
    string[2] = strlen(text);
    memcpy(string + 3, text, strlen(text));
}

static int begin(void **state)
{
    (void)state;
    memset(&php, 0, sizeof php);
    cache = calloc(1, sizeof *cache);
    codes = calloc(1, sizeof *codes);
    codes->texts_cap = 1 << 16;
    codes->texts = calloc(1, codes->texts_cap);
    facts = (pt_tick_php_facts){.layout = pt_php_layout_of(20220829),
                                .globals = address_of(php.globals),
                                .generator_class = address_of(&php.generator_class),
                                .evaluator = &evaluator,
                                .codes = codes};
    put_string(php.name, "spin");
    put_string(php.other_name, "other");
    put_string(php.file, "/srv/app.php");
    php.function[0] = PT_PHP_USER;
    php.function[1] = address_of(php.name);
    php.function[0x50 / 8] = 3;
    php.function[0x58 / 8] = address_of(php.instruction);
    php.function[0x98 / 8] = address_of(php.file);
    php.function[0xa0 / 8] = 10;
    for (uint64_t i = 0; i < 3; i++)
        php.instruction[i][3] = 11 + i;
    php.frame[0] = address_of(php.instruction[0]);
    php.frame[3] = address_of(php.function);
    php.frame[5] = TOP;
    php.globals[0x1e8 / 8] = address_of(php.frame);
    return 0;
}

static int end(void **state)
{
    (void)state;
    free(codes->texts);
    free(codes);
    free(cache);
    return 0;
}

/* A sample whose native stack has two frames. The frame's word is returned; 0: there is none. */
static uint64_t sample(uint64_t caller, bool is_whole, uint64_t frame, uint64_t instruction)
{
    uint64_t words[ROOM] = {[1] = 0x1000, [2] = caller};
    uint64_t regs[PT_MACHINE_REGS_MAX] = {0};
#if defined(__x86_64__)
    regs[14] = frame, regs[15] = instruction;
#else
    regs[27] = frame, regs[28] = instruction;
#endif
    const pt_tick_frames frames = {.words = words,
                                   .mask = ROOM - 1,
                                   .at = 3,
                                   .most = 16,
                                   .native = 2,
                                   .is_whole = is_whole,
                                   .regs = regs};
    const uint32_t count = pt_tick_php_frames(cache, &facts, &frames);
    assert_true(count <= 1);
    return count > 0 ? words[3] : 0;
}

static void check_frame(uint64_t word, const char *name, int32_t line)
{
    assert_true((word & PT_INTERP_FRAME) != 0 && (word & PT_INTERP_ENTRY) != 0);
    assert_int_equal(PT_JOURNAL_CODE_PLACE(word), line);
    const pt_tick_known_code *const code = pt_tick_code_of(codes, PT_JOURNAL_CODE_NUMBER(word));
    assert_non_null(code);
    assert_int_equal(code->name_bytes, strlen(name));
    assert_memory_equal(code + 1, name, code->name_bytes);
    assert_int_equal(code->first_line, 10);
    assert_int_equal(code->language, PT_JOURNAL_LANGUAGE_PHP);
}

static void only_the_thread_that_evaluates_has_frames(void **state)
{
    (void)state;
    assert_true(sample(0x2000, true, 0, 0) == 0);
    assert_true(sample(0x2000, false, 0, 0) == 0); /* a stack that is cut tells nothing */
    check_frame(sample(0x2000, false, address_of(php.frame), 0), "spin", 11); /* but its register */
    assert_true(sample(0x2000, true, address_of(php.frame), 0) == 0);
    assert_true(sample(0x2000, false, 0, 0) == 0);
    check_frame(sample(EVALUATOR + 0x10, true, 0, 0), "spin", 11);
    check_frame(sample(0x2000, false, 0, 0), "spin", 11);
    assert_true(sample(EVALUATOR, true, 0, 0) == 0); /* the call before it is another function's */
    assert_true(sample(0x2000, false, 0, 0) == 0);
    check_frame(sample(EVALUATOR + 0x100, true, 0, 0), "spin", 11);
}

static void the_innermost_line_comes_from_registers_that_hold_the_frame(void **state)
{
    (void)state;
    const uint64_t frame = address_of(php.frame);
    check_frame(sample(EVALUATOR + 1, true, frame, address_of(php.instruction[2])), "spin", 13);
    check_frame(sample(EVALUATOR + 1, true, frame + 8, address_of(php.instruction[2])), "spin", 11);
    check_frame(sample(EVALUATOR + 1, true, frame, address_of(php.instruction[2]) + 1), "spin", 11);
    check_frame(sample(EVALUATOR + 1, true, frame, address_of(&php.instruction + 1)), "spin", 11);
}

static void a_function_that_lies_where_another_lay_has_its_own_name(void **state)
{
    (void)state;
    const uint64_t first = sample(EVALUATOR + 1, true, 0, 0);
    check_frame(first, "spin", 11);
    assert_true(sample(EVALUATOR + 1, true, 0, 0) == first);
    php.function[1] = address_of(php.other_name);
    check_frame(sample(EVALUATOR + 1, true, 0, 0), "other", 11);
    put_string(php.other_name, "anew!");
    php.other_name[1] = 7; /* its hash */
    check_frame(sample(EVALUATOR + 1, true, 0, 0), "anew!", 11);
    php.function[1] = address_of(php.name);
    assert_true(sample(EVALUATOR + 1, true, 0, 0) == first);
}

static void memory_that_is_not_there_is_not_read(void **state)
{
    (void)state;
    static const uint64_t nowhere[] = {8, 0x7fffffffe000, UINT64_MAX - 7, 0x800000000000, 4095};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        php.frame[3] = nowhere[i];
        assert_true(sample(EVALUATOR + 1, true, 0, 0) == 0);
        php.frame[3] = address_of(php.function);
        php.function[1] = nowhere[i];
        assert_true(sample(EVALUATOR + 1, true, 0, 0) == 0);
        php.function[1] = address_of(php.name);
        php.globals[0x1e8 / 8] = nowhere[i];
        assert_true(sample(EVALUATOR + 1, true, 0, 0) == 0);
        php.globals[0x1e8 / 8] = address_of(php.frame);
    }
    /* So many wrong looks and no right one: nothing is believed any more. */
    assert_int_equal(atomic_load(&pt_tick_languages[PT_JOURNAL_LANGUAGE_PHP].right) > 0, true);
    atomic_store(&pt_tick_languages[PT_JOURNAL_LANGUAGE_PHP].right, 0);
    atomic_store(&pt_tick_languages[PT_JOURNAL_LANGUAGE_PHP].wrong, PT_TICK_PHP_WRONG_LOOKS);
    assert_true(sample(EVALUATOR + 1, true, 0, 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_thread_that_evaluates_has_frames, begin, end),
        cmocka_unit_test_setup_teardown(the_innermost_line_comes_from_registers_that_hold_the_frame,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_function_that_lies_where_another_lay_has_its_own_name,
                                        begin, end),
        cmocka_unit_test_setup_teardown(memory_that_is_not_there_is_not_read, begin, end),
    };
    return cmocka_run_group_tests_name("agent_php", tests, NULL, NULL);
}
