/* test_wire.c: the bytes that wire puts, against the tables of their specifications. */
#include "wire/deflate.h"
#include "wire/gperftools.h"
#include "wire/gzip.h"
#include "wire/journal.h"
#include "wire/proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

static const pt_gperf_target words32 = {.word_bytes = 4, .big_endian = false};
static const pt_gperf_target words64 = {.word_bytes = 8, .big_endian = false};
static const pt_gperf_target words64_big = {.word_bytes = 8, .big_endian = true};

/* The four-byte words of a little-endian file, as the specification prints them. */
static void assert_le32_words(const pt_wire_buf *buf, const uint32_t *words, size_t count)
{
    assert_true(pt_wire_buf_ok(buf));
    assert_int_equal(buf->need_bytes, count * 4);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = buf->base + i * 4;
        const uint32_t word =
            at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        assert_int_equal(word, words[i]);
    }
}

static void header_is_the_specification_s_table_for_both_word_sizes(void **state)
{
    const uint32_t table32[] = {0, 3, 0, 0x02710, 0};
    const uint32_t table64[] = {0, 0, 3, 0, 0, 0, 0x02710, 0, 0, 0};
    uint8_t bytes[64];
    pt_wire_buf buf = pt_wire_buf_init(bytes, sizeof bytes);
    assert_true(pt_gperf_header(&buf, words32, 10000));
    assert_le32_words(&buf, table32, 5);
    buf = pt_wire_buf_init(bytes, sizeof bytes);
    assert_true(pt_gperf_header(&buf, words64, 10000));
    assert_le32_words(&buf, table64, 10);
}

static void record_is_the_specification_s_example(void **state)
{
    const uint64_t pcs[] = {0xa0000, 0xc0000, 0xe0000};
    const uint32_t table[] = {5, 3, 0xa0000, 0xc0000, 0xe0000};
    uint8_t bytes[64];
    pt_wire_buf buf = pt_wire_buf_init(bytes, sizeof bytes);
    assert_true(pt_gperf_record(&buf, words32, 5, pcs, 3));
    assert_le32_words(&buf, table, 5);
}

static void trailer_is_the_specification_s_table(void **state)
{
    const uint32_t table[] = {0, 0, 1, 0, 0, 0};
    uint8_t bytes[64];
    pt_wire_buf buf = pt_wire_buf_init(bytes, sizeof bytes);
    pt_gperf_trailer(&buf, words64);
    assert_le32_words(&buf, table, 6);
}

static void big_endian_words_start_with_their_most_significant_byte(void **state)
{
    const uint8_t table[8] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
    uint8_t bytes[8];
    pt_wire_buf buf = pt_wire_buf_init(bytes, sizeof bytes);
    assert_true(pt_gperf_word(&buf, words64_big, 0x0102030405060708));
    assert_memory_equal(bytes, table, 8);
}

static void record_without_a_count_or_a_frame_is_refused(void **state)
{
    const uint64_t pc = 0xa0000;
    pt_wire_buf buf = pt_wire_buf_init(NULL, 0);
    assert_false(pt_gperf_record(&buf, words64, 0, &pc, 1));
    assert_false(pt_gperf_record(&buf, words64, 1, &pc, 0));
    assert_int_equal(buf.need_bytes, 0);
}

static void value_too_wide_for_the_target_s_word_is_refused_and_puts_nothing(void **state)
{
    const uint64_t pcs[] = {0xa0000, 0x100000000};
    pt_wire_buf buf = pt_wire_buf_init(NULL, 0);
    assert_false(pt_gperf_record(&buf, words32, 1, pcs, 2));
    assert_false(pt_gperf_header(&buf, words32, 0x100000000));
    assert_int_equal(buf.need_bytes, 0);
}

static void leaf_of_zero_is_never_written(void **state)
{
    const uint64_t pcs[] = {0, 0xc0000, 0};
    const uint32_t table[] = {1, 3, 1, 0xc0000, 0};
    uint8_t bytes[64];
    pt_wire_buf buf = pt_wire_buf_init(bytes, sizeof bytes);
    assert_true(pt_gperf_record(&buf, words32, 1, pcs, 3));
    assert_le32_words(&buf, table, 5);
}

static void assert_text(const pt_wire_buf *buf, const char *text)
{
    assert_int_equal(buf->need_bytes, strlen(text));
    assert_memory_equal(buf->base, text, strlen(text));
}

static void mapping_line_is_the_specification_s_example(void **state)
{
    const char *path = "/lib/ld-2.3.2.so";
    const pt_gperf_mapping mapping = {.start = 0x40000000,
                                      .limit = 0x40015000,
                                      .inode = 12845071,
                                      .device_major = 3,
                                      .device_minor = 1,
                                      .prot = PT_GPERF_READ | PT_GPERF_EXEC,
                                      .path = path,
                                      .path_bytes = strlen(path)};
    char text[256];
    pt_wire_buf buf = pt_wire_buf_init(text, sizeof text);
    pt_gperf_mapping_line(&buf, &mapping);
    assert_text(&buf, "40000000-40015000 r-xp 00000000 03:01 12845071   /lib/ld-2.3.2.so\n");
}

static void newline_in_a_path_stays_inside_its_line(void **state)
{
    const pt_gperf_mapping mapping = {
        .start = 0x1000, .limit = 0x2000, .path = "a\nb", .path_bytes = 3};
    const uint8_t id[] = {0x00, 0xc0, 0xff};
    char text[256];
    pt_wire_buf buf = pt_wire_buf_init(text, sizeof text);
    pt_gperf_mapping_line(&buf, &mapping);
    assert_text(&buf, "00001000-00002000 ---p 00000000 00:00 0   a\\012b\n");
    buf = pt_wire_buf_init(text, sizeof text);
    pt_gperf_build_id_line(&buf, &mapping, id, sizeof id);
    assert_text(&buf, "# build-id 00001000-00002000 00c0ff a\\012b\n");
}

/* The examples of the page "Encoding" of Protocol Buffers: 150 in field 1 is 08 96 01, "testing"
 * in field 2 is 12 07 "testing", packed 3, 270, 86942 in field 6 is 32 06 03 8e 02 9e a7 05. */
static void proto_fields_are_the_documented_examples(void **state)
{
    const uint64_t values[] = {3, 270, 86942};
    const uint8_t want[] = {0x08, 0x96, 0x01, 0x12, 0x07, 't',  'e',  's',  't',  'i',
                            'n',  'g',  0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05};
    uint8_t bytes[64];
    pt_wire_buf buf = pt_wire_buf_init(bytes, sizeof bytes);
    pt_proto_uint(&buf, 1, 150);
    pt_proto_bytes(&buf, 2, "testing", 7);
    pt_proto_packed(&buf, 6, values, 3);
    pt_proto_uint_nonzero(&buf, 7, 0);
    pt_proto_packed(&buf, 8, values, 0);
    assert_int_equal(buf.need_bytes, sizeof want);
    assert_memory_equal(bytes, want, sizeof want);
}

static void varint_sizes_are_right_at_every_power_of_two(void **state)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        const uint64_t value = UINT64_C(1) << bit;
        pt_wire_buf buf = pt_wire_buf_init(NULL, 0);
        pt_proto_varint(&buf, value);
        assert_int_equal(buf.need_bytes, bit / 7 + 1);
        assert_int_equal(pt_proto_varint_bytes(value), bit / 7 + 1);
        assert_int_equal(pt_proto_varint_bytes(value - 1), bit == 0 ? 1 : (bit - 1) / 7 + 1);
    }
    pt_wire_buf longest = pt_wire_buf_init(NULL, 0);
    pt_proto_uint_nonzero(&longest, 1, UINT64_MAX);
    assert_int_equal(longest.need_bytes, 11);
}

static void message_of_unknown_length_equals_the_same_bytes_put_at_once(void **state)
{
    static const size_t sizes[] = {0, 1, 127, 128, 16383, 16384, 100000};
    uint8_t *inside = calloc(1, 100000);
    uint8_t *opened = malloc(100020);
    uint8_t *at_once = malloc(100020);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pt_wire_buf a = pt_wire_buf_init(opened, 100020);
        const size_t mark = pt_proto_open(&a, 4);
        pt_wire_put(&a, inside, sizes[i]);
        pt_proto_close(&a, mark);
        pt_wire_buf b = pt_wire_buf_init(at_once, 100020);
        pt_proto_bytes(&b, 4, inside, sizes[i]);
        assert_int_equal(a.need_bytes, b.need_bytes);
        assert_memory_equal(opened, at_once, a.need_bytes);
    }
    free(inside);
    free(opened);
    free(at_once);
}

static void full_buffer_counts_on_and_is_not_written_past_its_end(void **state)
{
    uint8_t bytes[8];
    memset(bytes, 0xee, sizeof bytes);
    pt_wire_buf buf = pt_wire_buf_init(bytes, 4);
    const size_t mark = pt_proto_open(&buf, 1);
    for (int i = 0; i < 200; i++)
        pt_wire_put_byte(&buf, 0);
    pt_proto_close(&buf, mark);
    assert_false(pt_wire_buf_ok(&buf));
    assert_int_equal(buf.need_bytes, 1 + 2 + 200);
    for (size_t i = 4; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0xee);
}

static void crc32_of_the_check_string_is_the_published_value(void **state)
{
    assert_int_equal(pt_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(pt_crc32(pt_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
    assert_int_equal(pt_crc32(0, "", 0), 0);
}

/* Inflates blocks of at most `block` bytes with zlib; returns how many bytes they took. */
static size_t deflated_and_back(const uint8_t *in, size_t size, size_t block)
{
    static pt_deflate_places places; /* is not cleared between blocks */
    const size_t blocks = size / block + 1;
    uint8_t *member = malloc(blocks * PT_DEFLATE_OUT_MAX), *out = malloc(size + 1);
    size_t taken = 0, at = 0;
    do {
        const size_t part = size - at < block ? size - at : block;
        at += part;
        taken += pt_deflate_block(&places, member + taken, in + at - part, part, at == size);
    } while (at < size);
    z_stream z = {.next_in = member,
                  .avail_in = (unsigned)taken,
                  .next_out = out,
                  .avail_out = (unsigned)size + 1};
    assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, size);
    assert_int_equal(z.avail_in, 0);
    assert_memory_equal(in, out, size);
    inflateEnd(&z);
    free(member);
    free(out);
    return taken;
}

static void what_is_deflated_zlib_inflates(void **state)
{
    enum { SIZE = 3 * PT_DEFLATE_IN_MAX + 77 };
    static uint8_t noise[SIZE], same[SIZE], mixed[SIZE];
    uint64_t seed = 7;
    for (size_t i = 0; i < SIZE; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        noise[i] = (uint8_t)(seed >> 56);
        /* Runs and copies of all lengths and distances. */
        const size_t back = 1 + (seed >> 20) % 30000;
        mixed[i] = i % 300 < (seed >> 40) % 300 && i > back ? mixed[i - back] : noise[i];
    }
    memset(same, 'x', SIZE);
    static const size_t sizes[] = {0, 1, 2, 3, 4, 257, 258, 259, 260, 32767, 32768, 32769, SIZE};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t most = sizes[i] + sizes[i] / 8 + 16 * (sizes[i] / PT_DEFLATE_IN_MAX + 1);
        assert_true(deflated_and_back(noise, sizes[i], PT_DEFLATE_IN_MAX) <= most);
        assert_true(deflated_and_back(mixed, sizes[i], PT_DEFLATE_IN_MAX) <= most);
        assert_true(deflated_and_back(same, sizes[i], PT_DEFLATE_IN_MAX) <= 16 + sizes[i] / 100);
    }
    /* A pattern at every distance and length that has a code of its own. */
    for (size_t distance = 1; distance < 32768 - 600; distance = distance * 3 / 2 + 1) {
        for (size_t i = 0; i < 32768; i++)
            mixed[i] = i < distance ? noise[i] : mixed[i - distance];
        for (size_t length = 1; length < 300; length += 7)
            deflated_and_back(mixed, distance + length, PT_DEFLATE_IN_MAX);
    }
    deflated_and_back(noise, 5000, 100);
}

static void journal_structures_have_the_same_layout_in_32_and_64_bit(void **state)
{
    assert_int_equal(offsetof(pt_journal_header, period_ns), 56);
    assert_int_equal(offsetof(pt_journal_header, comm) % 8, 0);
    assert_int_equal(sizeof(pt_journal_area), 32);
    assert_int_equal(sizeof(pt_journal_map), 72);
    assert_int_equal(sizeof(pt_journal_stack), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_the_specification_s_table_for_both_word_sizes),
        cmocka_unit_test(record_is_the_specification_s_example),
        cmocka_unit_test(trailer_is_the_specification_s_table),
        cmocka_unit_test(big_endian_words_start_with_their_most_significant_byte),
        cmocka_unit_test(record_without_a_count_or_a_frame_is_refused),
        cmocka_unit_test(value_too_wide_for_the_target_s_word_is_refused_and_puts_nothing),
        cmocka_unit_test(leaf_of_zero_is_never_written),
        cmocka_unit_test(mapping_line_is_the_specification_s_example),
        cmocka_unit_test(newline_in_a_path_stays_inside_its_line),
        cmocka_unit_test(proto_fields_are_the_documented_examples),
        cmocka_unit_test(varint_sizes_are_right_at_every_power_of_two),
        cmocka_unit_test(message_of_unknown_length_equals_the_same_bytes_put_at_once),
        cmocka_unit_test(full_buffer_counts_on_and_is_not_written_past_its_end),
        cmocka_unit_test(crc32_of_the_check_string_is_the_published_value),
        cmocka_unit_test(what_is_deflated_zlib_inflates),
        cmocka_unit_test(journal_structures_have_the_same_layout_in_32_and_64_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
