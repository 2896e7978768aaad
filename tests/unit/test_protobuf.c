/* test_protobuf.c: varints against the examples of the protobuf document. */
#include "base_check.h"

#include "base/buf.h"
#include "formats/protobuf.h"

static bool read_varint(const void *bytes, size_t size, uint64_t *ret_value, size_t *ret_size)
{
    const uint8_t *pos = bytes;
    const bool is_read = pb_varint(&pos, pos + size, ret_value);
    *ret_size = (size_t)(pos - (const uint8_t *)bytes);
    return is_read;
}

#define VARINT(bytes) read_varint(bytes, sizeof(bytes) - 1, &value, &size)

/* protobuf.dev/programming-guides/encoding: 150 is 96 01; -2 as int64 is ten bytes. */
static void reads_the_varints_of_the_protobuf_document(void **state)
{
    uint64_t value;
    size_t size;
    assert_true(VARINT("\x01\x96") && value == 1 && size == 1);
    assert_true(VARINT("\x96\x01") && value == 150 && size == 2);
    assert_true(VARINT("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_true((int64_t)value == -2 && size == 10);
}

static void a_varint_of_eleven_bytes_is_refused(void **state)
{
    uint64_t value;
    size_t size;
    assert_false(VARINT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
    assert_false(VARINT("\xff\xff"));
    assert_false(VARINT(""));
    /* Bits past the 64th are dropped. */
    assert_true(VARINT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f") && value == UINT64_MAX);
}

static void every_varint_that_is_put_is_read_back(void **state)
{
    uint64_t seed = 1, check = 1;
    pt_buf buf = PT_BUF_INIT;
    size_t expected = 0;
    for (int i = 0; i < 20000; i++) {
        const uint64_t value = random_of_any_size(&seed);
        expected += pt_varint_size(value);
        pt_put_varint(&buf, value);
        assert_int_equal(buf.size, expected);
    }
    const uint8_t *pos = buf.data, *const end = pos + buf.size;
    for (int i = 0; i < 20000; i++) {
        uint64_t value;
        assert_true(pb_varint(&pos, end, &value));
        assert_true(value == random_of_any_size(&check));
    }
    assert_true(pos == end);
    pt_buf_done(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_varints_of_the_protobuf_document),
        cmocka_unit_test(a_varint_of_eleven_bytes_is_refused),
        cmocka_unit_test(every_varint_that_is_put_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
