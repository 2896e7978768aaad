/* test_agent_v8.c: what the signal handler reads of V8, on objects in pages of this program: a
 * cache whose slots are empty, pages that go between two samples, lines of huge numbers. The
 * offsets are those of Node 20.
 */
#include "base_check.h"

#include "../../fuzz/v8_node20.h"
#include "agent/tick/tick.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    ONE_BYTE = 8,
    FUNCTION = 0x812,
    OLD = 1000, /* samples: no page that was never asked for counts as asked for */
};

static pt_tick_codes *codes;
static pt_tick_v8_cache *cache;
static pt_tick_v8_facts facts;
static uint64_t
    *heap; /* three pages between others that cannot be read; the third is for functions */
static size_t used;

static int begin(void **state)
{
    static uint8_t texts[1 << 16];
    codes = calloc(1, sizeof *codes);
    cache = calloc(1, sizeof *cache);
    codes->texts = texts;
    codes->texts_cap = sizeof texts;
    facts = (pt_tick_v8_facts){.layout = &node_20, .codes = codes};
    atomic_store(&pt_tick_languages[PT_JOURNAL_LANGUAGE_JAVASCRIPT].facts, &facts);
    char *const all = mmap(NULL, 5 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    assert_int_equal(mprotect(all + PAGE, 3 * PAGE, PROT_READ | PROT_WRITE), 0);
    heap = (uint64_t *)(all + PAGE);
    used = 0;
    return 0;
}

static int end(void **state)
{
    munmap((char *)heap - PAGE, 5 * PAGE);
    free(codes);
    free(cache);
    return 0;
}

static void put(uint64_t tagged, unsigned offset, uint64_t word)
{
    memcpy((char *)(uintptr_t)(tagged - 1) + offset, &word, sizeof word);
}

static uint64_t small(int32_t value)
{
    return (uint64_t)(uint32_t)value << 32;
}

/* An object of 16 words at most, behind a map of its own. */
static uint64_t make_at(uint64_t *at, uint16_t type)
{
    const uint64_t map = (uintptr_t)at + 1, object = map + 0x20;
    put(map, 8, (uint64_t)type << 32);
    put(object, 0, map);
    return object;
}

static uint64_t make(uint16_t type)
{
    uint64_t *const at = heap + used;
    used += 24;
    assert_true(used * sizeof *heap <= 2 * PAGE);
    return make_at(at, type);
}

static uint64_t make_text(const char *text)
{
    const uint64_t string = make(ONE_BYTE);
    put(string, 8, (uint64_t)strlen(text) << 32);
    memcpy((char *)(uintptr_t)(string - 1) + 0x10, text, strlen(text));
    return string;
}

/* A function "spin" whose place is [start, ...) of the source; the function itself lies in the
 * third page. */
static uint64_t make_function(const char *source, int32_t start, int32_t first_line)
{
    const uint64_t script = make(SCRIPT), scope = make(SCOPE), shared = make(SHARED);
    const uint64_t words[] = {small(1),  small(0),     small(0),         make_text("spin"),
                              small(-1), small(start), small(start + 1), make(ODDBALL)};
    put(script, 0x08, make_text(source));
    put(script, 0x10, make_text("/a.js"));
    put(script, 0x18, small(first_line));
    put(script, 0x40, small(7));
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        put(scope, 8 + 8 * i, words[i]);
    put(shared, 0x10, scope);
    put(shared, 0x20, script);
    const uint64_t function = make_at(heap + 2 * PAGE / sizeof *heap, FUNCTION);
    put(function, 0x18, shared);
    return function;
}

/* The word of a frame with these two words below its frame pointer. */
static uint64_t word_of(uint64_t function)
{
    uint64_t frame[4] = {function, function};
    pt_tick_v8_walk walk;
    pt_tick_v8_begin(&walk, cache);
    walk.has_fp = true;
    walk.sp = (uintptr_t)frame;
    walk.fp = (uintptr_t)(frame + 2);
    const uint64_t inner = pt_tick_v8_word(&walk);
    assert_true(pt_tick_v8_word(&walk) == inner); /* the next frame is of the same function */
    return inner;
}

static const pt_tick_known_code *code_of(uint64_t word)
{
    return pt_tick_code_of(codes, (uint32_t)(word >> 32) & 0xffffff);
}

static void a_function_has_name_file_and_line(void **state)
{
    const uint64_t function = make_function("a\nb\nc", 4, 0);
    cache->pages.samples = OLD;
    const uint64_t word = word_of(function);
    const pt_tick_known_code *const code = code_of(word);
    assert_non_null(code);
    assert_int_equal(code->name_bytes, 4);
    assert_int_equal(code->file_bytes, 5);
    assert_memory_equal(code + 1, "spin/a.js", 9);
    assert_int_equal(code->first_line, 3);
    assert_true(word_of(function) == word);
    assert_int_equal(atomic_load(&codes->count), 1);
}

/* A word below a frame pointer only looks like an object: where its shared function info would be
 * is 0, as in an empty slot. */
static void an_empty_slot_is_no_function(void **state)
{
    const uint64_t good = make_function("a", 0, 0);
    assert_true(word_of(make_at(heap + 2 * PAGE / sizeof *heap + 64, FUNCTION)) == 0);
    /* A slot that is empty again, because its function could not be named. */
    put(good, 0x18, make(SHARED));
    assert_true(word_of(good) == 0);
    assert_true(word_of(make_at(heap + 2 * PAGE / sizeof *heap + 128, FUNCTION)) == 0);
}

static void a_page_may_go_between_two_samples(void **state)
{
    const uint64_t function = make_function("a\nb\nc", 4, 0);
    void *const page = heap + 2 * PAGE / sizeof *heap;
    cache->pages.samples = OLD;
    assert_true(word_of(function) != 0);
    assert_int_equal(munmap(page, PAGE), 0);
    assert_true(word_of(function) == 0);
    /* Its shared function info goes, and the function stays. */
    assert_true(mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                     -1, 0) == page);
    used = 0;
    assert_true(word_of(make_function("a\nb\nc", 4, 0)) != 0);
    assert_int_equal(munmap(heap, 2 * PAGE), 0);
    assert_true(word_of(function) == 0);
}

static void lines_have_no_number_beyond_31_bits(void **state)
{
    cache->pages.samples = OLD;
    const pt_tick_known_code *code = code_of(word_of(make_function("a\nb", 2, INT32_MAX - 2)));
    assert_int_equal(code->first_line, INT32_MAX);
    used = 0;
    memset(cache->slot, 0, sizeof cache->slot);
    code = code_of(word_of(make_function("a\nb", 2, INT32_MAX - 1)));
    assert_int_equal(code->first_line, 0);
    used = 0;
    memset(cache->slot, 0, sizeof cache->slot);
    code = code_of(word_of(make_function("a\nb", 0, INT32_MAX)));
    assert_int_equal(code->first_line, 0);
}

/* The source says that it is long, and nothing of it is counted yet: the way back to its beginning
 * is paid for. */
static void a_long_source_costs_no_more_than_the_budget(void **state)
{
    enum { LENGTH = 1 << 29, LOOKS = LENGTH / (16 << 10) - 1 };
    const uint64_t function = make_function("a", LENGTH - 1, 0);
    cache->pages.samples = OLD;
    for (uint64_t *at = heap; at < heap + used; at++)
        if (*at == (uint64_t)1 << 32 && at[1] == 'a') *at = (uint64_t)LENGTH << 32;
    uint64_t frame[4] = {function, function};
    pt_tick_v8_walk walk;
    pt_tick_v8_begin(&walk, cache);
    const uint32_t budget = cache->lines.budget;
    walk.has_fp = true;
    walk.sp = (uintptr_t)frame;
    walk.fp = (uintptr_t)(frame + 2);
    assert_true(pt_tick_v8_word(&walk) == 0); /* most of the source cannot be read */
    assert_true(budget - cache->lines.budget >= LOOKS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define ROW(name) cmocka_unit_test_setup_teardown(name, begin, end)
        ROW(a_function_has_name_file_and_line),           ROW(an_empty_slot_is_no_function),
        ROW(a_page_may_go_between_two_samples),           ROW(lines_have_no_number_beyond_31_bits),
        ROW(a_long_source_costs_no_more_than_the_budget),
    };
    return cmocka_run_group_tests_name("agent_v8", tests, NULL, NULL);
}
