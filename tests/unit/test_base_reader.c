/* test_base_reader.c: pt_reader against examples of the protobuf and DWARF documents. */
#include "base_check.h"

#include "base/buf.h"
#include "base/reader.h"

#include <stdlib.h>

static pt_reader reader_of(const void *data, size_t size, pt_error *error)
{
    pt_reader r;
    pt_reader_init(&r, data, size, error);
    return r;
}

#define READER(bytes) reader_of(bytes, sizeof(bytes) - 1, &error)

static void reads_fixed_numbers_in_both_byte_orders(void **state)
{
    pt_error error = PT_ERROR_INIT;
    const char bytes[] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f";
    pt_reader r = READER(bytes);
    assert_int_equal(pt_read_u8(&r), 0x01);
    assert_int_equal(pt_read_u16(&r), 0x0302);
    assert_int_equal(pt_read_u32(&r), 0x07060504);
    assert_true(pt_read_u64(&r) == UINT64_C(0x0f0e0d0c0b0a0908));
    assert_true(pt_reader_at_end(&r) && pt_reader_ok(&r));

    r = READER(bytes);
    pt_reader_set_order(&r, true);
    assert_int_equal(pt_read_u8(&r), 0x01);
    assert_int_equal(pt_read_u16(&r), 0x0203);
    assert_int_equal(pt_read_u32(&r), 0x04050607);
    assert_true(pt_read_u64(&r) == UINT64_C(0x08090a0b0c0d0e0f));
    assert_true(pt_reader_ok(&r));
}

static void a_word_is_as_long_as_the_targets(void **state)
{
    pt_error error = PT_ERROR_INIT;
    const char bytes[] = "\xff\xff\xff\xff\0\0\0\1\0\0\0\2\0\0\0\3";
    pt_reader r = READER(bytes);
    pt_reader_set_word(&r, 4);
    assert_true(pt_read_word(&r) == UINT64_C(0xffffffff));
    pt_reader_set_order(&r, true);
    for (uint64_t i = 1; i <= 3; i++)
        assert_true(pt_read_word(&r) == i);

    r = READER(bytes);
    assert_true(pt_read_word(&r) == UINT64_C(0x01000000ffffffff));
    assert_true(pt_read_word(&r) == UINT64_C(0x0300000002000000));
}

static void after_the_first_failure_everything_is_zero(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r = READER("abc");
    assert_int_equal(pt_read_u16(&r), 0x6261);
    assert_int_equal(pt_read_u32(&r), 0);
    assert_false(pt_reader_ok(&r));
    assert_string_equal(error.message, "4 bytes wanted at byte 2, 1 is left");
    assert_int_equal(error.offset, 2);
    assert_int_equal(error.status, PT_ERR_DAMAGED);
    assert_int_equal(pt_read_u8(&r), 0);
    assert_null(pt_read_bytes(&r, 0));
    pt_reader_seek(&r, 0);
    assert_int_equal(pt_read_u8(&r), 0);
    pt_reader_fail(&r, PT_ERR_FORMAT, "a later message");
    assert_string_equal(error.message, "4 bytes wanted at byte 2, 1 is left");
    assert_true(pt_reader_at_end(&r));
}

static void a_count_is_checked_against_what_is_left(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r = READER("0123456789abcdef");
    assert_true(pt_reader_has(&r, 2, 8));
    assert_false(pt_reader_has(&r, UINT64_C(1) << 61, 8)); /* 2^64 bytes: must not wrap to 0 */
    assert_false(pt_reader_ok(&r));
}

static void a_slice_that_is_too_long_is_null_and_sticky(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r = READER("abcdef");
    assert_memory_equal(pt_read_bytes(&r, 4), "abcd", 4);
    assert_null(pt_read_bytes(&r, UINT64_MAX));
    assert_null(pt_read_bytes(&r, 1));
}

static void lines_end_in_lf_or_crlf_or_nothing_and_may_hold_nul(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r = READER("one\ntwo\r\n\n\r\na\0b\nlast\r");
    const struct {
        const char *text;
        size_t length;
    } lines[] = {{"one", 3}, {"two", 3}, {"", 0}, {"", 0}, {"a\0b", 3}, {"last\r", 5}};
    for (size_t i = 0; i < 6; i++) {
        size_t length = 99;
        const char *const line = pt_read_line(&r, &length);
        assert_non_null(line);
        assert_int_equal(length, lines[i].length);
        assert_memory_equal(line, lines[i].text, length);
    }
    size_t length;
    assert_null(pt_read_line(&r, &length));
    assert_true(pt_reader_ok(&r));
}

static void a_failing_child_fails_its_parents_and_tells_the_files_offset(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r = READER("0123456789");
    pt_skip(&r, 2);
    pt_reader child = pt_reader_sub(&r, 6);
    pt_skip(&child, 3);
    pt_reader grandchild = pt_reader_sub(&child, 2);
    assert_int_equal(pt_reader_offset(&grandchild), 5);
    assert_int_equal(pt_read_u8(&grandchild), '5');
    assert_int_equal(pt_read_u32(&grandchild), 0);
    assert_int_equal(error.offset, 6);
    assert_false(pt_reader_ok(&child));
    assert_false(pt_reader_ok(&r));
    assert_int_equal(pt_read_u8(&r), 0);
}

static void a_child_ends_where_its_slice_does(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r = READER("abcdef");
    pt_reader child = pt_reader_sub(&r, 2);
    assert_int_equal(pt_read_u16(&child), 0x6261);
    assert_true(pt_reader_at_end(&child));
    assert_int_equal(pt_read_u8(&r), 'c');
    child = pt_reader_sub(&r, 4);
    assert_false(pt_reader_ok(&child) || pt_reader_ok(&r));
    assert_true(pt_reader_at_end(&child));
}

static void seeking_stays_inside(void **state)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r = READER("abc");
    pt_reader_seek(&r, 2);
    assert_int_equal(pt_read_u8(&r), 'c');
    pt_reader_seek(&r, 3);
    assert_true(pt_reader_ok(&r));
    pt_reader_seek(&r, 4);
    assert_false(pt_reader_ok(&r));
}

static void an_empty_reader_of_null_is_fine(void **state)
{
    pt_reader r;
    pt_reader_init(&r, NULL, 0, NULL);
    size_t length;
    assert_null(pt_read_line(&r, &length));
    assert_true(pt_reader_ok(&r));
    assert_int_equal(pt_read_u8(&r), 0);
    assert_false(pt_reader_ok(&r));
}

/* Whatever the bytes and the order of reads, the reader stays inside (asan watches an exact
 * allocation) and its position never moves back. */
static void no_sequence_of_reads_leaves_the_data(void **state)
{
    uint64_t seed = 7;
    for (int round = 0; round < 4000; round++) {
        const size_t size = next_random(&seed) % 40;
        uint8_t *const data = malloc(size ? size : 1);
        for (size_t i = 0; i < size; i++)
            data[i] = (uint8_t)(next_random(&seed) % 3 ? 0x80 | next_random(&seed) : 0);
        pt_reader r;
        pt_reader_init(&r, data, size, NULL);
        size_t length;
        while (!pt_reader_at_end(&r)) {
            const uint8_t *const before = r.pos;
            switch (next_random(&seed) % 5) {
            case 0: pt_read_line(&r, &length); break;
            case 1: pt_read_word(&r); break;
            case 2: pt_read_u32(&r); break;
            case 3: pt_skip(&r, 1 + next_random(&seed) % 8); break;
            case 4: pt_read_u8(&r); break;
            }
            assert_true(r.pos > before && r.pos <= r.end);
        }
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_fixed_numbers_in_both_byte_orders),
        cmocka_unit_test(a_word_is_as_long_as_the_targets),
        cmocka_unit_test(after_the_first_failure_everything_is_zero),
        cmocka_unit_test(a_count_is_checked_against_what_is_left),
        cmocka_unit_test(a_slice_that_is_too_long_is_null_and_sticky),
        cmocka_unit_test(lines_end_in_lf_or_crlf_or_nothing_and_may_hold_nul),
        cmocka_unit_test(a_failing_child_fails_its_parents_and_tells_the_files_offset),
        cmocka_unit_test(a_child_ends_where_its_slice_does),
        cmocka_unit_test(seeking_stays_inside),
        cmocka_unit_test(an_empty_reader_of_null_is_fine),
        cmocka_unit_test(no_sequence_of_reads_leaves_the_data),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
