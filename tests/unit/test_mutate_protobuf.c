/* test_mutate_protobuf.c: what the fuzzers' mutator makes of a message is a message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../fuzz/mutate_protobuf.h"
#include "base/buf.h"
#include "formats/protobuf.h"

enum { SEEDS = 20000, ROOM = 256 };

/* In libFuzzer's place: turns the bits of the first byte. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
    assert_true(size <= max_size);
    if (size > 0) data[0] = (uint8_t)~data[0];
    return size;
}

/* A sample type, a sample with packed numbers and a label, two strings, a period: profile.proto's
 * fields 1, 2, 6 and 12 put together by hand. */
static const uint8_t message[] = {
    0x0a, 4,  0x08, 1,   0x10, 2, /* 1: type, unit */
    0x12, 13, 0x0a, 2,   1,    0x81, 0x12, 1,    5,    0x1a,
    4,    8,  1,    16,  2, /* 2: locations, values, a label */
    0x32, 3,  'c',  'p', 'u',  0x32, 0,    0x60, 0x90, 0x4e,
};

static bool is_whole(const uint8_t *data, size_t size)
{
    pb_cursor cursor = pb_open(data, size);
    pb_field field;
    while (pb_next(&cursor, &field))
        continue;
    return cursor.ok;
}

static void every_change_leaves_a_message(void **state)
{
    (void)state;
    size_t changed = 0, longer = 0, shorter = 0;
    assert_true(is_whole(message, sizeof message));
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        uint8_t data[ROOM];
        memcpy(data, message, sizeof message);
        const size_t size = mutate_protobuf(data, sizeof message, ROOM, seed);
        assert_true(size <= ROOM);
        assert_true(is_whole(data, size));
        changed += size != sizeof message || memcmp(data, message, size) != 0;
        longer += size > sizeof message;
        shorter += size < sizeof message;
    }
    assert_true(changed > SEEDS / 2);
    assert_true(longer > SEEDS / 100 && shorter > SEEDS / 100);
}

static void the_same_seed_makes_the_same_change(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 1000; seed++) {
        uint8_t first[ROOM], second[ROOM];
        memcpy(first, message, sizeof message);
        memcpy(second, message, sizeof message);
        const size_t size = mutate_protobuf(first, sizeof message, ROOM, seed);
        assert_int_equal(mutate_protobuf(second, sizeof message, ROOM, seed), size);
        assert_memory_equal(first, second, size);
    }
}

/* A change reaches into the sample's label, three messages deep, and its length still fits. */
static void it_changes_what_is_in_messages_in_messages(void **state)
{
    (void)state;
    static const uint8_t nested[] = {0x0a, 8, 0x12, 6, 0x1a, 4, 0x08, 1, 0x10, 2};
    size_t deep = 0;
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        uint8_t data[ROOM];
        memcpy(data, nested, sizeof nested);
        const size_t size = mutate_protobuf(data, sizeof nested, ROOM, seed);
        deep += size > 6 && data[0] == 0x0a && data[2] == 0x12 && data[4] == 0x1a &&
                data[1] == size - 2 && data[3] == size - 4 && data[5] == size - 6 &&
                memcmp(data, nested, sizeof nested) != 0;
    }
    assert_true(deep > SEEDS / 100);
}

static void what_does_not_fit_is_kept_as_it_was(void **state)
{
    (void)state;
    static const uint8_t damaged[] = {0x60, 0x01, 0x0a, 0x7f, 'r', 'e', 's', 't'};
    for (uint32_t seed = 0; seed < 1000; seed++) {
        uint8_t data[ROOM], tight[sizeof damaged];
        memcpy(data, damaged, sizeof damaged);
        const size_t size = mutate_protobuf(data, sizeof damaged, ROOM, seed);
        assert_true(size >= 6);
        assert_memory_equal(data + size - 6, damaged + 2, 6);
        memcpy(tight, damaged, sizeof damaged);
        assert_true(mutate_protobuf(tight, sizeof tight, sizeof tight, seed) <= sizeof tight);
    }
    uint8_t nothing[ROOM];
    assert_true(is_whole(nothing, mutate_protobuf(nothing, 0, ROOM, 7)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_leaves_a_message),
        cmocka_unit_test(the_same_seed_makes_the_same_change),
        cmocka_unit_test(it_changes_what_is_in_messages_in_messages),
        cmocka_unit_test(what_does_not_fit_is_kept_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
