/* test_base_compress.c: gzip and zstd, whole, in several pieces, damaged and hostile. Inputs are
 * made with zlib and libzstd, whose formats are RFC 1952 and RFC 8878. */
#include "base_check.h"

#include "base/compress.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { MANY = 1 << 30 };

/* One gzip member by zlib. */
static void add_gzip(pt_buf *buf, const void *data, size_t size)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    const uLong bound = deflateBound(&z, size);
    z.next_out = pt_buf_extend(buf, bound);
    z.avail_out = (uInt)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf->size -= z.avail_out;
    deflateEnd(&z);
}

static void add_zstd(pt_buf *buf, const void *data, size_t size)
{
    const size_t bound = ZSTD_compressBound(size);
    const size_t n = ZSTD_compress(pt_buf_extend(buf, bound), bound, data, size, 3);
    buf->size -= bound - n;
}

static void check_inflates(const pt_buf *packed, const void *data, size_t size)
{
    pt_blob blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    const pt_status status =
        pt_inflate(packed->data, packed->size, size > 0 ? size : 1, &blob, NULL, &error);
    if (status != PT_OK) print_message("%s\n", error.message);
    assert_int_equal(status, PT_OK);
    assert_int_equal(blob.size, size);
    if (size > 0) assert_memory_equal(blob.data, data, size);
    pt_blob_done(&blob);
}

/* RFC 1952 by hand: a stored block (RFC 1951 section 3.2.4) with "hi", with every optional header
 * field: extra, name, comment, header crc. */
static void every_optional_header_field_is_stepped_over(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put(&buf, "\x1f\x8b\x08\x1e\0\0\0\0\0\xff", 10);
    pt_put(&buf, "\x03\0abc", 5);
    pt_put(&buf, "a.prof\0made by hand\0", 20);
    pt_put_le(&buf, crc32(0, buf.data, (uInt)buf.size) & 0xffff, 2);
    pt_put(&buf, "\x01\x02\0\xfd\xffhi", 7);
    pt_put_le(&buf, crc32(0, (const Bytef *)"hi", 2), 4);
    pt_put_le(&buf, 2, 4);
    check_inflates(&buf, "hi", 2);
    pt_buf_done(&buf);
}

static void members_and_frames_are_joined(void **state)
{
    pt_buf gz = PT_BUF_INIT, zst = PT_BUF_INIT;
    add_gzip(&gz, "one ", 4);
    add_gzip(&gz, "", 0);
    add_gzip(&gz, "two", 3);
    check_inflates(&gz, "one two", 7);
    add_zstd(&zst, "one ", 4);
    pt_put(&zst, "\x53\x2a\x4d\x18\x03\0\0\0xyz", 11); /* a skippable frame */
    add_zstd(&zst, "two", 3);
    check_inflates(&zst, "one two", 7);
    pt_buf_done(&gz);
    pt_buf_done(&zst);
}

static void zero_padding_is_ignored_and_garbage_is_told(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    add_gzip(&buf, "text", 4);
    pt_put(&buf, "\0\0\0\0", 4);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_blob blob = PT_BLOB_INIT;
    assert_int_equal(pt_inflate(buf.data, buf.size, 100, &blob, &diag, NULL), PT_OK);
    assert_int_equal(diag.count, 0);
    pt_blob_done(&blob);
    pt_put(&buf, "garbage", 7);
    assert_int_equal(pt_inflate(buf.data, buf.size, 100, &blob, &diag, NULL), PT_OK);
    assert_int_equal(blob.size, 4);
    assert_int_equal(diag.count, 1);
    assert_int_equal(diag.facts[0].count, 11);
    assert_string_equal(diag.facts[0].text, "bytes after the gzip data ignored");
    pt_blob_done(&blob);
    pt_diag_done(&diag);
    pt_buf_done(&buf);
}

/* 10,000 numbered lines: compresses somewhat, and any place in it tells where it is. */
static pt_buf numbered_lines(void)
{
    pt_buf text = PT_BUF_INIT;
    for (int i = 0; i < 10000; i++)
        pt_putf(&text, "line %d of the text\n", i);
    return text;
}

static void a_truncated_member_gives_what_came_before(void **state)
{
    pt_buf text = numbered_lines();
    void (*const packers[])(pt_buf *, const void *, size_t) = {add_gzip, add_zstd};
    for (int kind = 0; kind < 2; kind++) {
        pt_buf buf = PT_BUF_INIT;
        packers[kind](&buf, text.data, text.size);
        size_t longest = 0;
        for (size_t cut = 4; cut < buf.size; cut += 1 + cut / 50) {
            pt_blob blob = PT_BLOB_INIT;
            pt_error error = PT_ERROR_INIT;
            uint8_t *const exact = malloc(cut);
            memcpy(exact, buf.data, cut);
            assert_int_equal(pt_inflate(exact, cut, MANY, &blob, NULL, &error), PT_ERR_DAMAGED);
            assert_true(blob.size >= longest && blob.size <= text.size);
            if (blob.size > 0) assert_memory_equal(blob.data, text.data, blob.size);
            assert_non_null(strstr(error.message, "ends too early at byte"));
            assert_true(error.offset >= 0 && (size_t)error.offset <= cut);
            longest = blob.size;
            pt_blob_done(&blob);
            free(exact);
        }
        assert_true(longest > text.size / 2);
        pt_buf_done(&buf);
    }
    pt_buf_done(&text);
}

static void a_wrong_checksum_is_damage_but_keeps_the_bytes(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    add_gzip(&buf, "some text", 9);
    buf.data[buf.size - 8] ^= 1;
    pt_blob blob = PT_BLOB_INIT;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_inflate(buf.data, buf.size, 100, &blob, NULL, &error), PT_ERR_DAMAGED);
    assert_int_equal(blob.size, 9);
    assert_non_null(strstr(error.message, "gzip data is damaged (incorrect data check)"));
    pt_blob_done(&blob);
    pt_buf_done(&buf);
}

static void a_hostile_size_field_changes_nothing(void **state)
{
    pt_buf text = numbered_lines(), buf = PT_BUF_INIT;
    add_gzip(&buf, text.data, text.size);
    memset(buf.data + buf.size - 4, 0xff, 4); /* claims 4 GiB less one */
    pt_blob blob = PT_BLOB_INIT;
    assert_int_equal(pt_inflate(buf.data, buf.size, MANY, &blob, NULL, NULL), PT_ERR_DAMAGED);
    assert_int_equal(blob.size, text.size);
    assert_true(blob.map_bytes < text.size + 4096);
    pt_blob_done(&blob);
    memset(buf.data + buf.size - 4, 0, 4);
    assert_int_equal(pt_inflate(buf.data, buf.size, MANY, &blob, NULL, NULL), PT_ERR_DAMAGED);
    assert_int_equal(blob.size, text.size);
    pt_blob_done(&blob);
    pt_buf_done(&buf);
    pt_buf_done(&text);
}

static void a_bomb_gets_one_line(void **state)
{
    const size_t size = 64 << 20;
    uint8_t *const zeros = calloc(1, size);
    pt_buf gz = PT_BUF_INIT, zst = PT_BUF_INIT;
    add_gzip(&gz, zeros, size);
    add_zstd(&zst, zeros, size);
    free(zeros);
    const pt_buf *const bombs[] = {&gz, &zst};
    for (int i = 0; i < 2; i++) {
        pt_blob blob = PT_BLOB_INIT;
        pt_error error = PT_ERROR_INIT;
        assert_int_equal(pt_inflate(bombs[i]->data, bombs[i]->size, 1000000, &blob, NULL, &error),
                         PT_ERR_LIMIT);
        assert_null(blob.data);
        assert_string_equal(error.message,
                            "inflates to more than the limit of 1000000 bytes of memory");
        assert_int_equal(pt_inflate(bombs[i]->data, bombs[i]->size, size - 1, &blob, NULL, &error),
                         PT_ERR_LIMIT);
        assert_int_equal(pt_inflate(bombs[i]->data, bombs[i]->size, size, &blob, NULL, &error),
                         PT_OK);
        assert_int_equal(blob.size, size);
        pt_blob_done(&blob);
    }
    pt_buf_done(&gz);
    pt_buf_done(&zst);
}

static pt_blob owned(const pt_buf *buf)
{
    pt_blob blob = PT_BLOB_INIT;
    assert_int_equal(pt_blob_new(buf->size, &blob, NULL), PT_OK);
    memcpy(pt_blob_bytes(&blob), buf->data, buf->size);
    return blob;
}

static void layers_are_peeled_up_to_a_limit(void **state)
{
    pt_buf layer = PT_BUF_INIT;
    pt_put_text(&layer, "the middle");
    for (int depth = 0; depth <= 5; depth++) {
        pt_blob blob = owned(&layer);
        pt_peeled peeled;
        pt_error error = PT_ERROR_INIT;
        const pt_status status = pt_peel(&blob, MANY, &peeled, NULL, &error);
        if (depth <= PT_PEEL_MAX) {
            assert_int_equal(status, PT_OK);
            assert_int_equal(peeled.count, depth);
            assert_int_equal(blob.size, 10);
            assert_memory_equal(blob.data, "the middle", 10);
            for (int i = 0; i < depth; i++)
                assert_int_equal(peeled.layers[i], (depth - i) % 2 ? PT_GZIP : PT_ZSTD);
        } else {
            assert_int_equal(status, PT_ERR_LIMIT);
            assert_string_equal(
                error.message,
                "holds compressed data within compressed data, more than 4 levels deep");
        }
        pt_blob_done(&blob);
        pt_buf next = PT_BUF_INIT;
        (depth % 2 ? add_zstd : add_gzip)(&next, layer.data, layer.size);
        pt_buf_done(&layer);
        layer = next;
    }
    pt_buf_done(&layer);
}

static pt_buf gzipped(const pt_buf *text, int level, pt_pool *pool)
{
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    pt_gzip(text->data, text->size, level, pool, &out);
    assert_int_equal(pt_out_done(&out, NULL), PT_OK);
    return buf;
}

/* Text that is repetitive in one place and random in another. */
static pt_buf mixed_text(size_t size)
{
    pt_buf text = PT_BUF_INIT;
    uint64_t seed = size;
    while (text.size < size) {
        const uint64_t what = next_random(&seed);
        if (what % 4 == 0)
            for (uint64_t i = 0; i < what % 3000; i++)
                pt_put_u8(&text, (uint8_t)next_random(&seed));
        else
            pt_putf(&text, "%0*u\n", (int)(what % 200), (unsigned)(what >> 40));
    }
    text.size = size;
    return text;
}

static void what_is_written_is_one_member_and_the_same_for_any_threads(void **state)
{
    pt_pool *const pool = pt_pool_new(4);
    const size_t sizes[] = {0, 1, 100, 65536, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int level = 1; level <= 12; level += sizes[i] > 100000 ? 5 : 1) {
            pt_buf text = mixed_text(sizes[i]);
            pt_buf serial = gzipped(&text, level, NULL), parallel = gzipped(&text, level, pool);
            assert_int_equal(serial.size, parallel.size);
            assert_memory_equal(serial.data, parallel.data, serial.size);
            assert_memory_equal(serial.data, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
            check_inflates(&serial, text.data, text.size);
            /* zlib's one-member inflate must reach the end too */
            uint8_t *const back = malloc(sizes[i] + 1);
            z_stream z = {.next_in = serial.data,
                          .avail_in = (uInt)serial.size,
                          .next_out = back,
                          .avail_out = (uInt)sizes[i] + 1};
            assert_int_equal(inflateInit2(&z, 31), Z_OK);
            assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
            assert_int_equal(z.avail_in, 0);
            assert_int_equal(z.total_out, sizes[i]);
            if (sizes[i] > 0) assert_memory_equal(back, text.data, sizes[i]);
            inflateEnd(&z);
            free(back);
            pt_buf_done(&text);
            pt_buf_done(&serial);
            pt_buf_done(&parallel);
        }
    }
    pt_pool_free(pool);
}

/* Every byte of a small file of two members changed: never a crash, never more than the limit, and
 * what comes out before the damage is checked by asan, not by value (a flip can be valid). */
static void no_flipped_byte_does_harm(void **state)
{
    pt_buf text = PT_BUF_INIT;
    for (int i = 0; i < 40; i++)
        pt_putf(&text, "%d ", i * i * i);
    void (*const packers[])(pt_buf *, const void *, size_t) = {add_gzip, add_zstd};
    for (int kind = 0; kind < 2; kind++) {
        pt_buf buf = PT_BUF_INIT;
        packers[kind](&buf, text.data, text.size);
        packers[kind](&buf, text.data, text.size / 2);
        for (size_t i = 0; i < buf.size; i++) {
            for (int bit = 0; bit < 8; bit++) {
                buf.data[i] ^= (uint8_t)(1 << bit);
                pt_blob blob = PT_BLOB_INIT;
                pt_inflate(buf.data, buf.size, 100000, &blob, NULL, NULL);
                assert_true(blob.size <= 100000);
                pt_blob_done(&blob);
                buf.data[i] ^= (uint8_t)(1 << bit);
            }
        }
        pt_buf_done(&buf);
    }
    pt_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_optional_header_field_is_stepped_over),
        cmocka_unit_test(members_and_frames_are_joined),
        cmocka_unit_test(zero_padding_is_ignored_and_garbage_is_told),
        cmocka_unit_test(a_truncated_member_gives_what_came_before),
        cmocka_unit_test(a_wrong_checksum_is_damage_but_keeps_the_bytes),
        cmocka_unit_test(a_hostile_size_field_changes_nothing),
        cmocka_unit_test(a_bomb_gets_one_line),
        cmocka_unit_test(layers_are_peeled_up_to_a_limit),
        cmocka_unit_test(what_is_written_is_one_member_and_the_same_for_any_threads),
        cmocka_unit_test(no_flipped_byte_does_harm),
    };
    return cmocka_run_group_tests_name("compress", tests, NULL, NULL);
}
