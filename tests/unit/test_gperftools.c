/* test_gperftools.c: the gperftools CPU profile against its specification, "Google CPU Profiler
 * Binary Data File Format". Files are built slot by slot from readable lists of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../check/profile_equal.h"
#include "base/buf.h"
#include "formats/format.h"

extern const pt_format pt_format_gperftools;

typedef struct {
    unsigned word_bytes;
    bool big_endian;
} variant;

static const variant variants[] = {{4, false}, {4, true}, {8, false}, {8, true}};
#define LITTLE64 (variants[2])

/* Appends slots until END. */
#define END                0xe0d0e0d0e0d0e0d0u
#define SLOTS(buf, v, ...) put_slots(buf, v, (const uint64_t[]){__VA_ARGS__, END})
static void put_slots(pt_buf *buf, variant v, const uint64_t *slots)
{
    for (; *slots != END; slots++) {
        if (v.big_endian)
            pt_put_be(buf, *slots, v.word_bytes);
        else
            pt_put_le(buf, *slots, v.word_bytes);
    }
}

static const pt_profile *read_status(pt_buf *buf, pt_status *ret_status, pt_diag *diag)
{
    pt_error error = PT_ERROR_INIT;
    pt_reader r;
    pt_reader_init(&r, buf->data, buf->size, &error);
    pt_builder *b = pt_builder_new();
    const pt_read_hooks hooks = {.diag = diag};
    *ret_status = pt_format_gperftools.read(&r, b, &hooks, &error);
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
    return p;
}

static const pt_profile *read_whole(pt_buf *buf)
{
    pt_status status;
    const pt_profile *p = read_status(buf, &status, NULL);
    assert_int_equal(status, PT_OK);
    pt_buf_done(buf);
    return p;
}

static int probed(const pt_buf *buf)
{
    uint8_t head[256] = {0};
    const size_t n = buf->size < sizeof head ? buf->size : sizeof head;
    memcpy(head, buf->data, n);
    return pt_format_gperftools.probe(
        &(pt_probe_input){.head = head, .head_bytes = n, .file_bytes = buf->size, .name = ""});
}

/* The text of sample i: "count: leaf caller ..." in hex, '<' marking return addresses. */
static const char *sample_text(const pt_profile *p, uint32_t i)
{
    static char text[512];
    int n = snprintf(text, sizeof text, "%ld:", (long)p->sample->value[0][i]);
    const uint32_t stack = p->sample->stack[i];
    for (uint32_t k = 0; k < pt_stack_depth(p, stack); k++) {
        const uint32_t l = pt_stack_frames(p, stack)[k];
        n += snprintf(text + n, sizeof text - (size_t)n, " %lx%s", (long)p->location->address[l],
                      p->location->flags[l] & PT_LOCATION_RETURN_ADDR ? "<" : "");
    }
    return text;
}

/* Sentences P5, P6, P7, P10, P11, P12, P13, P14, P15, P22, P23: the words of the two example
 * headers are those here. */
static void example_record_of_the_specification_reads_in_all_four_variants(void **state)
{
    for (size_t v = 0; v < 4; v++) {
        pt_buf buf = PT_BUF_INIT;
        SLOTS(&buf, variants[v], 0, 3, 0, 10000, 0);
        SLOTS(&buf, variants[v], 5, 3, 0xa0000, 0xc0000, 0xe0000);
        SLOTS(&buf, variants[v], 7, 1, 0xa0000);
        SLOTS(&buf, variants[v], 0, 1, 0);
        assert_true(probed(&buf) > 0);
        PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
        assert_int_equal(p->sample->t.count, 2);
        assert_string_equal(sample_text(p, 1), "7: a0000");
        assert_int_equal(p->sample->value[1][0], 5 * 10000 * 1000); /* 10,000 us a sample */
        assert_int_equal(pt_profile_provenance(p)->period, 10000 * 1000);
        assert_int_equal(pt_profile_provenance(p)->word_bytes, variants[v].word_bytes);
        assert_int_equal(pt_profile_provenance(p)->big_endian, variants[v].big_endian);
    }
}

/* Many different callers, so that none of them looks like the signal handler's frame. */
static void put_background(pt_buf *buf, variant v)
{
    for (uint64_t i = 0; i < 40; i++)
        SLOTS(buf, v, 1, 2, 0x1000 + i, 0x2000 + i);
}

/* Sentences P16, P23. */
static void callers_are_return_addresses_and_the_leaf_is_exact(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 10000, 0);
    SLOTS(&buf, LITTLE64, 5, 3, 0xa0000, 0xc0000, 0xe0000);
    put_background(&buf, LITTLE64);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
    assert_string_equal(sample_text(p, 0), "5: a0000 c0000< e0000<");
}

/* Sentence P8: more slots than three. */
static void header_may_have_more_slots_than_three(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 5, 0, 2000, 0, 77, 78);
    SLOTS(&buf, LITTLE64, 9, 1, 0x1234);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    assert_true(probed(&buf) > 0);
    PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
    assert_string_equal(sample_text(p, 0), "9: 1234");
    assert_int_equal(pt_profile_provenance(p)->period, 2000 * 1000);
}

/* Sentences P8, P9. */
static void header_of_another_version_or_without_period_is_not_this_format(void **state)
{
    static const uint64_t headers[][5] = {
        {0, 3, 1, 10000, 0}, {0, 2, 0, 10000, 0}, {1, 3, 0, 10000, 0}, {0, 3, 0, 0, 0}};
    for (size_t i = 0; i < 4; i++) {
        for (size_t v = 0; v < 4; v++) {
            pt_buf buf = PT_BUF_INIT;
            SLOTS(&buf, variants[v], headers[i][0], headers[i][1], headers[i][2], headers[i][3], 0);
            SLOTS(&buf, variants[v], 0, 1, 0);
            assert_int_equal(probed(&buf), 0);
            pt_buf_done(&buf);
        }
    }
}

/* Sentences P18, P19. */
static void records_of_one_call_chain_are_summed_by_the_analysis(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, 2, 1, 0x10, 3, 1, 0x10, 4, 1, 0x20);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
    assert_int_equal(p->sample->t.count, 3); /* as the file has them */
    assert_int_equal(p->stack->t.count, 2);
    assert_int_equal(p->sample->stack[0], p->sample->stack[1]);
    assert_int_equal(pt_profile_total(p, 0), 9);
}

/* Sentences P20, P21. */
static void first_pc_of_zero_does_not_end_the_reading(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, 17, 1, 0, 2, 1, 0x20);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_status status;
    PT_UNREF_PROFILE const pt_profile *p = read_status(&buf, &status, &diag);
    assert_int_equal(status, PT_OK);
    assert_int_equal(pt_profile_total(p, 0), 19);
    assert_int_equal(diag.facts[0].count, 17);
    assert_string_equal(diag.facts[0].text, "samples at address 0 kept as [unknown]");
    pt_diag_done(&diag);
    pt_buf_done(&buf);
}

/* Sentences P24, P25, P26: 0, 1, 0. */
static void reader_stops_at_the_trailer_even_if_bytes_follow(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, 2, 1, 0x10);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    SLOTS(&buf, LITTLE64, 99, 1, 0x10); /* would be a record before the trailer */
    PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
    assert_int_equal(pt_profile_total(p, 0), 2);
}

/* Sentence P24. */
static void missing_trailer_is_told_and_keeps_every_record(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, 2, 1, 0x10, 3, 1, 0x20);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_status status;
    PT_UNREF_PROFILE const pt_profile *p = read_status(&buf, &status, &diag);
    assert_int_equal(status, PT_OK);
    assert_int_equal(pt_profile_total(p, 0), 5);
    assert_non_null(strstr(diag.facts[0].text, "missing trailer"));
    pt_diag_done(&diag);
    pt_buf_done(&buf);
}

/* Sentence P17. */
static void record_cut_short_is_damage_and_what_came_before_is_kept(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, 2, 1, 0x10, 3, 70000, 0x20);
    pt_status status;
    PT_UNREF_PROFILE const pt_profile *p = read_status(&buf, &status, NULL);
    assert_int_equal(status, PT_ERR_DAMAGED);
    assert_int_equal(pt_profile_total(p, 0), 2);
    pt_buf_done(&buf);
}

static void count_beyond_63_bits_is_held_at_the_limit_and_told(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, UINT64_MAX, 1, 0x10);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_status status;
    PT_UNREF_PROFILE const pt_profile *p = read_status(&buf, &status, &diag);
    assert_true(p->sample->value[0][0] == INT64_MAX);
    assert_int_equal(diag.count, 1);
    pt_diag_done(&diag);
    pt_buf_done(&buf);
}

static const pt_profile *read_with_maps(const char *text, pt_diag *diag)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, 2, 1, 0x400010);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    pt_put_text(&buf, text);
    pt_status status;
    const pt_profile *p = read_status(&buf, &status, diag);
    assert_int_equal(status, PT_OK);
    pt_buf_done(&buf);
    return p;
}

/* Sentences P26, P27, P28, P30. */
static void mapping_lines_are_read_and_the_main_binary_comes_first(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = read_with_maps(
        "40000000-40015000 r-xp 00001000 03:01 12845071   /lib/ld-2.3.2.so\n"
        "40015000-40016000 rw-p 00015000 03:01 12845071   /lib/ld-2.3.2.so\n"
        "00400000-00500000 r-xp 00000000 00:00 0          /home/me/my prog (deleted)\n",
        NULL);
    assert_int_equal(p->mapping->t.count, 2);
    const pt_mapping *m = p->mapping->row;
    assert_string_equal(pt_text(p, m[0].file), "/home/me/my prog (deleted)");
    assert_string_equal(pt_text(p, m[1].file), "/lib/ld-2.3.2.so");
    assert_int_equal(m[1].start, 0x40000000);
    assert_int_equal(m[1].limit, 0x40015000);
    assert_int_equal(m[1].file_offset, 0x1000);
    assert_int_equal(p->location->mapping[0], 0);
}

/* Sentences P28, P29, P33: a line's end is no word character either. */
static void build_is_replaced_where_no_word_character_follows(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        read_with_maps("  build=/old/place\n"
                       "1000-2000 r-xp 00000000 00:00 0 $build/a\n"
                       "build=/path/to/binary\n"
                       "3000-4000 r-xp 00000000 00:00 0 /x/$builder\n"
                       "5000-6000 r-xp 00000000 00:00 0 $build\n"
                       "7000-8000 r-xp 00000000 00:00 0 $build.dbg:$build\n",
                       NULL);
    static const char *const files[] = {"/old/place/a", "/x/$builder", "/path/to/binary",
                                        "/path/to/binary.dbg:/path/to/binary"};
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(pt_text(p, p->mapping->row[i].file), files[i]);
}

/* Sentence P32. */
static void unrecognized_lines_are_ignored_and_given_back(void **state)
{
    pt_diag diag;
    pt_diag_init(&diag);
    PT_UNREF_PROFILE const pt_profile *p =
        read_with_maps("what is this\n\n400000-401000 r-xp 0 00:00 0 /bin/x\n", &diag);
    assert_int_equal(p->mapping->t.count, 1);
    assert_int_equal(p->extra->t.count, 1);
    assert_string_equal(pt_text(p, p->extra->value[0]), "what is this");
    assert_int_equal(diag.count, 1);
    pt_diag_done(&diag);
}

/* Sentence P31. */
static void mapping_line_begins_with_its_address(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        read_with_maps("see 400000-401000 r-xp 00000000 00:00 0 /bin/x\n"
                       "500000-501000 r-xp 00000000 00:00 0 /bin/y\n",
                       NULL);
    assert_int_equal(p->mapping->t.count, 1);
    assert_string_equal(pt_text(p, p->mapping->row[0].file), "/bin/y");
}

/* Sentences P16, P17. */
static void record_of_no_samples_is_left_out_and_of_no_pcs_is_damage(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 10000, 0);
    SLOTS(&buf, LITTLE64, 0, 2, 0xa0000, 0xb0000);
    SLOTS(&buf, LITTLE64, 4, 2, 0xa0000, 0xc0000);
    SLOTS(&buf, LITTLE64, 3, 1, 0xa0000);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    pt_status status;
    pt_diag diag;
    pt_diag_init(&diag);
    const pt_profile *p = read_status(&buf, &status, &diag);
    assert_int_equal(status, PT_OK);
    assert_int_equal(p->sample->t.count, 2);
    assert_string_equal(sample_text(p, 0), "4: a0000 c0000<");
    assert_string_equal(sample_text(p, 1), "3: a0000");
    assert_int_equal(diag.count, 1);
    pt_profile_unref(p);
    pt_diag_done(&diag);
    buf.size = 0;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 10000, 0);
    SLOTS(&buf, LITTLE64, 4, 1, 0xa0000);
    SLOTS(&buf, LITTLE64, 4, 0, 0, 1, 0);
    p = read_status(&buf, &status, NULL);
    assert_int_equal(status, PT_ERR_DAMAGED);
    assert_int_equal(p->sample->t.count, 1);
    pt_profile_unref(p);
    pt_buf_done(&buf);
}

static void adjacent_pieces_of_a_file_are_one_mapping(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p =
        read_with_maps("400000-401000 r-xp 00000000 00:00 0 /bin/x\n"
                       "401000-403000 r-xp 00001000 00:00 0 /bin/x\n"
                       "403000-404000 r-xp 00009000 00:00 0 /bin/x\n",
                       NULL);
    assert_int_equal(p->mapping->t.count, 2);
    assert_int_equal(p->mapping->row[0].limit, 0x403000);
}

/* google/pprof, profile/legacy_profile.go: an address that is second on at least 31 of 32 records
 * belongs to the signal handler. */
static void frame_that_nearly_every_stack_has_second_is_the_signal_handlers(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    for (uint64_t i = 0; i < 64; i++)
        SLOTS(&buf, LITTLE64, 1, 4, 0x1000 + i, 0xfeed, 0xbeef, 0x2000 + i);
    SLOTS(&buf, LITTLE64, 1, 2, 0x1000, 0x3000);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
    assert_string_equal(sample_text(p, 3), "1: 1003 2003<");
    assert_string_equal(sample_text(p, 64), "1: 1000 3000<");
}

static void files_of_our_own_library_keep_every_frame(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    SLOTS(&buf, LITTLE64, 64, 3, 0x400010, 0x400020, 0x400030);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    pt_put_text(&buf, "400000-401000 r-xp 00000000 00:00 0 /bin/x\n"
                      "# build-id 400000-401000 1b2c3d4e /bin/x\n");
    PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
    assert_string_equal(sample_text(p, 0), "64: 400010 400020< 400030<");
    assert_string_equal(pt_text(p, p->mapping->row[0].build_id), "1b2c3d4e");
}

/* ---- Writing ---- */

static pt_out *open_buffer(void *context, const char *suffix, pt_error *reterr)
{
    assert_string_equal(suffix, "");
    return context;
}

static pt_status write_to(const pt_profile *p, pt_buf *buf, pt_error *reterr)
{
    pt_out out;
    pt_out_to_buf(&out, buf);
    const pt_output output = {&out, open_buffer};
    const pt_status status =
        pt_format_gperftools.write(p, &output, &(pt_write_options){.event = PT_NONE}, reterr);
    pt_out_done(&out, NULL);
    return status;
}

/* Sentences P4, P7. */
static void rewriting_gives_the_same_bytes_in_all_four_variants(void **state)
{
    for (size_t v = 0; v < 4; v++) {
        pt_buf buf = PT_BUF_INIT, again = PT_BUF_INIT;
        SLOTS(&buf, variants[v], 0, 3, 0, 10000, 0);
        SLOTS(&buf, variants[v], 5, 3, 0xa0000, 0xc0000, 0xe0000);
        SLOTS(&buf, variants[v], 1, 2, 0xa0008, 0xb0000);
        SLOTS(&buf, variants[v], 0, 1, 0);
        pt_put_text(&buf, "000a0000-000f0000 r-xp 00000000 00:00 0           /bin/x\n"
                          "# build-id 000a0000-000f0000 1b2c3d4e /bin/x\n"
                          "a line of the future\n");
        pt_status status;
        PT_UNREF_PROFILE const pt_profile *p = read_status(&buf, &status, NULL);
        assert_int_equal(write_to(p, &again, NULL), PT_OK);
        const size_t binary = 17 * variants[v].word_bytes;
        assert_true(again.size > binary);
        assert_memory_equal(again.data, buf.data, binary);
        PT_UNREF_PROFILE const pt_profile *q = read_whole(&again);
        char difference[200];
        if (!pt_profile_equal(p, q, difference, sizeof difference)) fail_msg("%s", difference);
        pt_buf_done(&buf);
    }
}

static void profile_of_names_only_is_refused_with_a_way_out(void **state)
{
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v});
    const pt_function_id f =
        pt_builder_function(b, &(pt_function){.name = pt_builder_text(b, "main").v});
    const pt_location_id l =
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE}, &(pt_line){.function = f.v}, 1);
    pt_builder_sample(b, pt_builder_stack(b, &l.v, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                      (int64_t[]){1});
    const pt_profile *frozen;
    assert_int_equal(pt_builder_freeze(b, &frozen, NULL), PT_OK);
    PT_UNREF_PROFILE const pt_profile *p = frozen;
    pt_buf buf = PT_BUF_INIT;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(write_to(p, &buf, &error), PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "write pprof or folded instead"));
    pt_buf_done(&buf);
}

static void every_truncation_and_flip_is_read_without_harm(void **state)
{
    for (size_t v = 0; v < 4; v++) {
        pt_buf buf = PT_BUF_INIT;
        SLOTS(&buf, variants[v], 0, 3, 0, 10000, 0);
        SLOTS(&buf, variants[v], 5, 3, 0xa0000, 0xc0000, 0xe0000, 1, 2, 0xa0008, 0xb0000);
        SLOTS(&buf, variants[v], 0, 1, 0);
        pt_put_text(&buf, " build=/b\n000a0000-000f0000 r-xp 0000 00:00 0 $build\nx\n");
        for (size_t i = 0; i < buf.size; i++) {
            uint8_t *copy = malloc(buf.size);
            pt_buf cut = {copy, i, buf.size}, flipped = {copy, buf.size, buf.size};
            memcpy(copy, buf.data, buf.size);
            pt_status status;
            pt_profile_unref(read_status(&cut, &status, NULL));
            copy[i] ^= 0xff;
            pt_profile_unref(read_status(&flipped, &status, NULL));
            free(copy);
        }
        pt_buf_done(&buf);
    }
}

static void first_frame_with_an_address_is_written_as_a_leaf(void **state)
{
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v});
    const uint32_t name = pt_builder_text(b, "inlined").v;
    const pt_function_id f = pt_builder_function(b, &(pt_function){.name = name});
    const pt_line line = {.function = f.v};
    const uint32_t frames[] = {
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE}, &line, 1).v,
        pt_builder_location(
            b,
            &(pt_location){.mapping = PT_NONE, .address = 0x2000, .flags = PT_LOCATION_RETURN_ADDR},
            NULL, 0)
            .v,
        pt_builder_location(b, &(pt_location){.mapping = PT_NONE, .address = 0x3000}, NULL, 0).v,
    };
    pt_builder_sample(b, pt_builder_stack(b, frames, 3, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                      (int64_t[]){1});
    const pt_profile *frozen;
    assert_int_equal(pt_builder_freeze(b, &frozen, NULL), PT_OK);
    PT_UNREF_PROFILE const pt_profile *p = frozen;
    pt_buf buf = PT_BUF_INIT;
    assert_int_equal(write_to(p, &buf, NULL), PT_OK);
    PT_UNREF_PROFILE const pt_profile *q = read_whole(&buf);
    /* 0x1fff lies in the call that returns to 0x2000. */
    assert_string_equal(sample_text(q, 0), "1: 1fff 3001<");
}

static void files_of_ours_keep_every_frame_even_without_build_ids(void **state)
{
    pt_buf buf = PT_BUF_INIT, again = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0, 64, 3, 0x400010, 0x400020, 0x400030, 0, 1, 0);
    pt_put_text(&buf, "400000-401000 r-xp 00000000 00:00 0 /bin/x\n# pitot anything\n");
    PT_UNREF_PROFILE const pt_profile *p = read_whole(&buf);
    assert_string_equal(sample_text(p, 0), "64: 400010 400020< 400030<");
    assert_int_equal(p->extra->t.count, 0);
    assert_int_equal(write_to(p, &again, NULL), PT_OK);
    assert_non_null(memmem(again.data, again.size, "\n# pitot ", 9));
    PT_UNREF_PROFILE const pt_profile *q = read_whole(&again);
    assert_string_equal(sample_text(q, 0), "64: 400010 400020< 400030<");
}

static void poison(void *context, uint64_t upto)
{
    memset(((pt_buf *)context)->data, 0xdb, upto);
}

static void what_was_discarded_is_never_looked_at_again(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    for (uint64_t i = 0; i < 200000; i++)
        SLOTS(&buf, LITTLE64, 1, 3, 0x1000 + i % 97, 0x2000 + i % 89, 0x3000 + i % 83);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    pt_put_text(&buf, "1000-9000 r-xp 00000000 00:00 0 /bin/x\n");
    pt_status status;
    PT_UNREF_PROFILE const pt_profile *want = read_status(&buf, &status, NULL);
    pt_error error = PT_ERROR_INIT;
    pt_reader r;
    pt_reader_init(&r, buf.data, buf.size, &error);
    pt_builder *b = pt_builder_new();
    const pt_read_hooks hooks = {.context = &buf, .discard = poison};
    assert_int_equal(pt_format_gperftools.read(&r, b, &hooks, &error), PT_OK);
    const pt_profile *frozen;
    assert_int_equal(pt_builder_freeze(b, &frozen, &error), PT_OK);
    PT_UNREF_PROFILE const pt_profile *got = frozen;
    assert_int_equal(buf.data[0], 0xdb); /* something was discarded */
    char difference[200];
    if (!pt_profile_equal(want, got, difference, sizeof difference)) fail_msg("%s", difference);
    pt_buf_done(&buf);
}

static const pt_profile *with_notes(const char *notes)
{
    pt_buf buf = PT_BUF_INIT;
    SLOTS(&buf, LITTLE64, 0, 3, 0, 1000, 0);
    for (uint64_t i = 1; i <= 6; i++)
        SLOTS(&buf, LITTLE64, i, 2, 0x1000 * i, 0x9000);
    SLOTS(&buf, LITTLE64, 0, 1, 0);
    pt_put_text(&buf, notes);
    return read_whole(&buf);
}

static void expect_ends(const pt_profile *p, const pt_stack_end *ends)
{
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(p->stack->end[p->sample->stack[i]], ends[i]);
}

static void notes_of_ours_say_why_stacks_ended_and_what_was_not_seen(void **state)
{
    static const pt_stack_end ends[] = {PT_STACK_END_ROOT,      PT_STACK_END_NO_RULE,
                                        PT_STACK_END_NO_RULE,   PT_STACK_END_NO_RULE,
                                        PT_STACK_END_UNCHECKED, PT_STACK_END_NO_RULE};
    PT_UNREF_PROFILE const pt_profile *first =
        with_notes("# pitot facts asked_hz=4000 cpu_used_ns=30000000 cpu_seen_ns=21000000 lost=7 "
                   "later=1 stack_end=root\n"
                   "# pitot stack_end no rule: 2-4 6\n"
                   "# pitot stack_end unchecked frame pointers: 5\n");
    pt_buf again = PT_BUF_INIT;
    assert_int_equal(write_to(first, &again, NULL), PT_OK);
    PT_UNREF_PROFILE const pt_profile *second = read_whole(&again);
    const pt_profile *const both[] = {first, second};
    for (int i = 0; i < 2; i++) {
        const pt_provenance *const from = pt_profile_provenance(both[i]);
        expect_ends(both[i], ends);
        assert_true(from->asked_hz == 4000);
        assert_int_equal(from->cpu_used_ns, 30000000);
        assert_int_equal(from->cpu_seen_ns, 21000000);
        assert_int_equal(from->lost, 7);
        assert_int_equal(both[i]->extra->t.count, 0);
    }
}

static void notes_that_make_no_sense_are_passed_over(void **state)
{
    static const pt_stack_end unknown[6],
        root[] = {PT_STACK_END_ROOT, PT_STACK_END_ROOT, PT_STACK_END_ROOT,
                  PT_STACK_END_ROOT, PT_STACK_END_ROOT, PT_STACK_END_ROOT};
    /* Without the word that ends are known, none is. */
    PT_UNREF_PROFILE const pt_profile *none =
        with_notes("# pitot facts lost=-x cpu_used_ns=\n# pitot stack_end no rule: 1-6\n");
    expect_ends(none, unknown);
    PT_UNREF_PROFILE const pt_profile *odd =
        with_notes("# pitot facts stack_end=root\n# pitot stack_end no rule: 0 1\n"
                   "# pitot stack_end no rule: 4-7\n# pitot stack_end no rule: 5-4\n"
                   "# pitot stack_end no rule: -3\n# pitot stack_end no rule:\n"
                   "# pitot stack_end of old age: 1\n# pitot stack_end no rule\n"
                   "# pitot stack_end no rule: 18446744073709551615-18446744073709551616\n");
    expect_ends(odd, root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_record_of_the_specification_reads_in_all_four_variants),
        cmocka_unit_test(callers_are_return_addresses_and_the_leaf_is_exact),
        cmocka_unit_test(header_may_have_more_slots_than_three),
        cmocka_unit_test(header_of_another_version_or_without_period_is_not_this_format),
        cmocka_unit_test(records_of_one_call_chain_are_summed_by_the_analysis),
        cmocka_unit_test(first_pc_of_zero_does_not_end_the_reading),
        cmocka_unit_test(reader_stops_at_the_trailer_even_if_bytes_follow),
        cmocka_unit_test(missing_trailer_is_told_and_keeps_every_record),
        cmocka_unit_test(record_cut_short_is_damage_and_what_came_before_is_kept),
        cmocka_unit_test(count_beyond_63_bits_is_held_at_the_limit_and_told),
        cmocka_unit_test(mapping_lines_are_read_and_the_main_binary_comes_first),
        cmocka_unit_test(build_is_replaced_where_no_word_character_follows),
        cmocka_unit_test(unrecognized_lines_are_ignored_and_given_back),
        cmocka_unit_test(mapping_line_begins_with_its_address),
        cmocka_unit_test(record_of_no_samples_is_left_out_and_of_no_pcs_is_damage),
        cmocka_unit_test(adjacent_pieces_of_a_file_are_one_mapping),
        cmocka_unit_test(frame_that_nearly_every_stack_has_second_is_the_signal_handlers),
        cmocka_unit_test(files_of_our_own_library_keep_every_frame),
        cmocka_unit_test(rewriting_gives_the_same_bytes_in_all_four_variants),
        cmocka_unit_test(profile_of_names_only_is_refused_with_a_way_out),
        cmocka_unit_test(every_truncation_and_flip_is_read_without_harm),
        cmocka_unit_test(first_frame_with_an_address_is_written_as_a_leaf),
        cmocka_unit_test(files_of_ours_keep_every_frame_even_without_build_ids),
        cmocka_unit_test(what_was_discarded_is_never_looked_at_again),
        cmocka_unit_test(notes_of_ours_say_why_stacks_ended_and_what_was_not_seen),
        cmocka_unit_test(notes_that_make_no_sense_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
