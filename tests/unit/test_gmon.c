/* test_gmon.c: gmon.out against the chapter "Profiling Data File Format" of the gprof manual,
 * sentence by sentence, in both word sizes and byte orders. Files are lists of numbers:
 *
 *   b1 h1 l1 q1 w1   a byte, 16, 32, 64 bits, a word of the target     z12    so many zero bytes
 *   d:NAME:A         dimension, 15 bytes, and its abbreviation         gmon   these four letters
 */
#include "formats_check.h"

#include <stdio.h>
#include <unistd.h>

typedef struct {
    unsigned word_bytes;
    bool big;
} target;

static const target targets[] = {{8, false}, {8, true}, {4, false}, {4, true}};
#define EACH_TARGET(t) (const target *t = targets; t < targets + 4; t++)
static const target little64 = {8, false};

static void put_number(pt_buf *buf, const target *t, uint64_t value, unsigned bytes)
{
    if (t->big)
        pt_put_be(buf, value, bytes);
    else
        pt_put_le(buf, value, bytes);
}

static void put_item(pt_buf *buf, const target *t, const char *item)
{
    const uint64_t value = strtoull(item + 1, NULL, 0);
    if (strcmp(item, "gmon") == 0) {
        pt_put_text(buf, item);
    } else if (item[0] == 'd') {
        const char *colon = strrchr(item, ':');
        char text[16] = {0};
        memcpy(text, item + 2, (size_t)(colon - item - 2));
        for (char *c = text; *c != '\0'; c++)
            if (*c == '_') *c = ' ';
        text[15] = colon[1];
        pt_put(buf, text, sizeof text);
    } else if (item[0] == 'z') {
        memset(pt_buf_extend(buf, value), 0, value);
    } else {
        put_number(buf, t, value,
                   item[0] == 'b'   ? 1
                   : item[0] == 'h' ? 2
                   : item[0] == 'l' ? 4
                   : item[0] == 'q' ? 8
                                    : t->word_bytes);
    }
}

static pt_buf file_of(const target *t, const char *items)
{
    pt_buf buf = PT_BUF_INIT;
    char *copy = strdup(items), *rest = copy;
    for (char *item; (item = strsep(&rest, " ")) != NULL;)
        if (item[0] != '\0') put_item(&buf, t, item);
    free(copy);
    return buf;
}

#define HEADER    "gmon l1 z12 "
#define SECONDS   "d:seconds:s "
#define HISTOGRAM "b0 w0x1000 w0x1010 l4 l100 " SECONDS "h0 h7 h0 h65535 "
#define ARC       "b1 w0x1002 w0x1008 l17 "
#define BLOCKS    "b2 l2 w0x1000 w5 w0x1008 w7 "

static reading read_with(const char *format, const target *t, const char *items, uint32_t hint)
{
    pt_buf buf = file_of(t, items);
    reading r = {.error = PT_ERROR_INIT};
    pt_diag_init(&r.diag);
    const pt_read_hooks hooks = {.diag = &r.diag, .word_bytes = hint};
    pt_reader reader;
    pt_reader_init(&reader, buf.data, buf.size, NULL);
    pt_builder *b = pt_builder_new();
    r.status = pt_format_find(format)->read(&reader, b, &hooks, &r.error);
    pt_error error = PT_ERROR_INIT;
    if (r.status == PT_OK || r.status == PT_ERR_DAMAGED) {
        assert_int_equal(pt_builder_freeze(b, &r.profile, &error), PT_OK);
        assert_int_equal(pt_profile_check(r.profile, &error), PT_OK);
    } else {
        pt_builder_free(b);
    }
    pt_buf_done(&buf);
    return r;
}

static reading read_gmon(const target *t, const char *items)
{
    return read_with("gmon", t, items, 0);
}

static int64_t total(const reading *r, const char *event)
{
    return pt_profile_total(r->profile, pt_profile_find_event(r->profile, event));
}

static const char *claimed_by(const target *t, const char *items)
{
    pt_buf buf = file_of(t, items);
    uint8_t head[4096] = {0};
    assert_true(buf.size <= sizeof head);
    memcpy(head, buf.data, buf.size);
    const pt_probe_input in = {
        .head = head, .head_bytes = buf.size, .file_bytes = buf.size, .name = ""};
    pt_buf_done(&buf);
    const pt_format *format = NULL;
    pt_error error = PT_ERROR_INIT;
    return pt_format_probe(&in, &format, &error) == PT_OK ? format->name : "nobody";
}

/* Rewritten as the same format: the same bytes, and nothing to say. */
static void assert_rewritten(const char *format, const target *t, const char *items)
{
    reading r = read_with(format, t, items, t->word_bytes);
    if (r.status != PT_OK) fail_msg("%s: %s", items, r.error.message);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf wanted = file_of(t, items), written = written_as(format, r.profile, &diag);
    assert_int_equal(written.size, wanted.size);
    assert_memory_equal(written.data, wanted.data, wanted.size);
    assert_int_equal(diag.count, 0);
    pt_diag_done(&diag);
    pt_buf_done(&wanted);
    pt_buf_done(&written);
    reading_done(&r);
}

/* ---- The manual ---- */

#define OLD_BSD "h1 h2 h3 h4 h5 h6 h7 h8 w0x10001004 w0x10001008 w17 w0x10001010 w0x10001008 w3 "

/* Sentences G1, G2, G4, G25: sizes, text range and arcs agree to the last byte. */
static void old_format_has_no_cookie_and_is_known_by_its_arithmetic(void **state)
{
    (void)state;
    for
        EACH_TARGET(t)
        {
            char items[512];
            snprintf(items, sizeof items, "w0x10001000 w0x10001020 l%u " OLD_BSD,
                     2 * t->word_bytes + 4 + 16);
            assert_string_equal(claimed_by(t, items), "gmon-bsd");
            reading r = read_with("gmon-bsd", t, items, 0);
            assert_int_equal(r.status, PT_OK);
            assert_int_equal(total(&r, "samples"), 36);
            assert_int_equal(r.profile->arc->t.count, 2);
            assert_int_equal(r.profile->arc->calls[1], 3); /* calls are of a word */
            assert_int_equal(pt_profile_provenance(r.profile)->word_bytes, t->word_bytes);
            assert_int_equal(fact(&r.diag, "no time"), 1); /* nor has it a rate */
            reading_done(&r);
            assert_rewritten("gmon-bsd", t, items);
            /* One byte more, or an arc out of the text: it is not claimed. */
            /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.strcpy): short words of our own */
            strcat(items, "b0");
            assert_string_equal(claimed_by(t, items), "nobody");
            snprintf(items, sizeof items,
                     "w0x10001000 w0x10001020 l%u " OLD_BSD "w0x10001000 w0x10009000 w1 ",
                     2 * t->word_bytes + 4 + 16);
            assert_string_equal(claimed_by(t, items), "nobody");
        }
}

/* Sentences G2, G4: 4.4BSD's has a version, and the rate. */
static void format_of_4_4_bsd_has_version_rate_and_spare_bytes(void **state)
{
    (void)state;
    for
        EACH_TARGET(t)
        {
            char items[512];
            snprintf(items, sizeof items,
                     "w0x10001000 w0x10001020 l%u l0x51879 l50 l1 l2 l3 " OLD_BSD,
                     2 * t->word_bytes + 24 + 16);
            assert_string_equal(claimed_by(t, items), "gmon-bsd");
            reading r = read_with("gmon-bsd", t, items, 0);
            assert_int_equal(r.status, PT_OK);
            assert_int_equal(total(&r, "samples"), 36);
            assert_int_equal(total(&r, "cpu"), 36 * 20000000LL);
            reading_done(&r);
            assert_rewritten("gmon-bsd", t, items);
        }
    assert_rewritten("gmon-bsd", &little64,
                     "w0x10001000 w0x10001020 l40 l77 " OLD_BSD); /* Alpha's */
}

/* Sentence G5. */
static void old_format_cannot_hold_basic_blocks_and_that_is_told(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER HISTOGRAM ARC BLOCKS);
    pt_diag losses;
    pt_diag_init(&losses);
    pt_format_losses(r.profile, pt_format_find("gmon-bsd"), &losses);
    assert_int_equal(fact(&losses, "counts of basic blocks"), 2);
    assert_int_equal(losses.count, 1);
    pt_diag_done(&losses);
    reading_done(&r);
}

/* Sentences G3, G7. */
static void header_has_cookie_version_and_spare_bytes(void **state)
{
    (void)state;
    for
        EACH_TARGET(t)
        {
            assert_string_equal(claimed_by(t, HEADER HISTOGRAM), "gmon");
            assert_rewritten("gmon", t, HEADER);
            assert_rewritten("gmon", t, "gmon l1 l1 l2 l0xffffffff " HISTOGRAM);
            assert_rewritten("gmon", t, "gmon l0 z12 " HISTOGRAM ARC);
        }
    reading r = read_gmon(&little64, "gmon l2 z12");
    assert_int_equal(r.status, PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(r.error.message, "version 2 "));
    reading_done(&r);
    r = read_gmon(&little64, "gmon l1 z11");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    reading_done(&r);
    r = read_gmon(&little64, "gmon l0 z12 " HISTOGRAM BLOCKS); /* they named source lines */
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(total(&r, "samples"), 65542);
    reading_done(&r);
}

/* Sentence G7. */
static void profiles_of_shared_objects_are_refused_by_name(void **state)
{
    (void)state;
    for
        EACH_TARGET(t)
        {
            reading r = read_gmon(t, "gmon l0x1ffff z12 " HISTOGRAM);
            assert_int_equal(r.status, PT_ERR_UNSUPPORTED);
            assert_non_null(strstr(r.error.message, "LD_PROFILE"));
            assert_non_null(strstr(r.error.message, "sprof"));
            reading_done(&r);
        }
}

/* Sentences G8, G9, G16, G18, G33. */
static void every_target_gives_the_same_profile(void **state)
{
    (void)state;
    for
        EACH_TARGET(t)
        {
            reading r = read_gmon(t, HEADER HISTOGRAM ARC BLOCKS);
            assert_int_equal(r.status, PT_OK);
            assert_int_equal(r.diag.count, 0);
            const pt_profile *p = r.profile;
            assert_int_equal(pt_profile_provenance(p)->word_bytes, t->word_bytes);
            assert_int_equal(pt_profile_provenance(p)->big_endian, t->big);
            assert_int_equal(p->bin->t.count, 2); /* of the other two nothing is kept */
            assert_int_equal(p->bin->row[0].low, 0x1004);
            assert_int_equal(p->bin->row[0].high, 0x1008);
            assert_int_equal(p->bin->row[0].count, 7);
            assert_int_equal(p->bin->row[1].count, 65535);
            assert_int_equal(total(&r, "samples"), 7 + 65535);
            assert_int_equal(total(&r, "cpu"), (7 + 65535) * 10000000LL);
            assert_int_equal(p->arc->calls[0], 17);
            assert_int_equal(p->location->address[p->arc->from[0]], 0x1002);
            assert_int_equal(p->location->address[p->arc->to[0]], 0x1008);
            assert_int_equal(p->block->row[1].address, 0x1008);
            assert_int_equal(p->block->row[1].count, 7);
            reading_done(&r);
        }
}

/* Sentences G10, G11, G12. */
static void records_come_in_any_order_and_number(void **state)
{
    (void)state;
    static const char *const files[] = {
        HEADER ARC, HEADER ARC ARC HISTOGRAM ARC BLOCKS HISTOGRAM BLOCKS ARC, HEADER BLOCKS,
        HEADER "b2 l0 " ARC "b0 w0x1000 w0x1000 l0 l100 " SECONDS};
    for
        EACH_TARGET(t)
        {
            for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
                assert_rewritten("gmon", t, files[i]);
        }
    reading r = read_gmon(&little64, HEADER ARC "b3 w1 w2");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "byte 41 begins a record of unknown type 3"));
    assert_int_equal(r.profile->arc->t.count, 1);
    reading_done(&r);
}

/* Sentence G13. */
static void records_of_one_type_that_do_not_fit_are_left_out_with_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *second, *message;
    } cases[] = {
        {"b0 w0x1008 w0x1018 l4 l100 " SECONDS "h1 h1 h1 h1 ", "overlaps the one at byte 20"},
        {"b0 w0x1000 w0x1018 l4 l100 " SECONDS "h1 h1 h1 h1 ", "overlaps the one at byte 20"},
        {"b0 w0x1000 w0x1010 l4 l99 " SECONDS "h1 h1 h1 h1 ", "has another unit"},
        {"b0 w0x1000 w0x1010 l4 l100 d:misses:1 h1 h1 h1 h1 ", "has another unit"},
        {"b0 w0x1000 w0x1010 l4 l100 d:seconds:t h1 h1 h1 h1 ", "has another unit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char items[1024];
        snprintf(items, sizeof items, HEADER HISTOGRAM "%s" ARC, cases[i].second);
        for
            EACH_TARGET(t)
            {
                reading r = read_gmon(t, items);
                assert_int_equal(r.status, PT_ERR_DAMAGED);
                assert_non_null(strstr(r.error.message, cases[i].message));
                assert_null(strchr(r.error.message, '\n'));
                assert_int_equal(total(&r, "samples"), 65542); /* the first one stays, */
                assert_int_equal(r.profile->arc->t.count, 1);  /* and what follows */
                reading_done(&r);
            }
    }
}

/* Sentences G13, G14. */
static void union_of_records_is_their_sum(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER HISTOGRAM HISTOGRAM BLOCKS BLOCKS
                          "b0 w0x2000 w0x2008 l1 l100 " SECONDS "h5 ");
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(total(&r, "samples"), 2 * 65542 + 5);
    assert_int_equal(r.profile->sample->t.count, 3); /* one an address */
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r.profile->block->t.count; i++)
        sum += r.profile->block->row[i].address == 0x1008 ? r.profile->block->row[i].count : 0;
    assert_int_equal(sum, 14);
    reading_done(&r);
}

/* Sentences G15, G16: what the field holds is the number of bins. */
static void size_of_the_histogram_counts_no_header(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER "b0 w0 w8 l2 l100 " SECONDS "h1 h2 " ARC);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(total(&r, "samples"), 3);
    assert_int_equal(r.profile->arc->t.count, 1);
    reading_done(&r);
    r = read_gmon(&little64, HEADER "b0 w0 w16 l4 l100 " SECONDS "h1 h2 ");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "record at byte 20 claims 4 bins, 2 are left"));
    assert_int_equal(total(&r, "samples"), 3);
    reading_done(&r);
}

/* Sentences G17, G18. */
static void dimension_is_fifteen_characters_and_an_abbreviation(void **state)
{
    (void)state;
    const char *items = HEADER "b0 w0x1000 w0x1008 l2 l1 d:fifteen_letters:x h1 h2 ";
    reading r = read_gmon(&little64, items);
    const pt_profile *p = r.profile;
    assert_int_equal(p->event->t.count, 1);
    assert_string_equal(pt_text(p, p->event->row[0].unit), "fifteen letters");
    reading_done(&r);
    assert_rewritten("gmon", &little64, items);
    r = read_gmon(&little64, HEADER "b0 w0x1000 w0x1008 l2 l1024 " SECONDS "h1 h2 ");
    p = r.profile;
    assert_int_equal(p->event->row[0].rate_hz, 1024); /* kept, though a tick is no whole ns */
    assert_int_equal(total(&r, "cpu"), 976563 + 1953125);
    reading_done(&r);
}

/* Sentences G19, G20, G21, G22. */
static void events_of_a_counter_have_their_name_as_unit_and_no_time(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER "b0 w0x1000 w0x1008 l2 l1 d:i-cache_misses:1 h1 h2 ");
    const pt_profile *p = r.profile;
    assert_int_equal(p->event->t.count, 1);
    assert_string_equal(pt_text(p, p->event->row[0].unit), "i-cache misses");
    assert_false(pt_profile_provenance(p)->has_period_type);
    reading_done(&r);
    const char *const unfit = HEADER "b0 w0x1000 w0x1008 l2 l1 d:a\033[1mb:1 h1 h2 ";
    r = read_gmon(&little64, unfit); /* nothing that a terminal would obey */
    assert_string_equal(pt_text(r.profile, r.profile->event->row[0].unit), "a?[1mb");
    reading_done(&r);
    assert_rewritten("gmon", &little64, unfit);
    r = read_gmon(&little64, HEADER "b0 w0x1000 w0x1008 l2 l50 d:misses:1 h1 h2 ");
    assert_string_equal(pt_text(r.profile, r.profile->event->row[0].unit), "1/50 misses");
    reading_done(&r);
}

/* Sentences G23, G24. */
static void ten_bins_of_a_thousand_bytes_cover_a_hundred_each(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER "b0 w5000 w6000 l10 l100 " SECONDS
                                            "h1 h2 h3 h4 h5 h6 h7 h8 h9 h65535 ");
    assert_int_equal(r.profile->bin->t.count, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(r.profile->bin->row[i].low, 5000 + 100 * i);
        assert_int_equal(r.profile->bin->row[i].high, 5100 + 100 * i);
    }
    assert_int_equal(total(&r, "samples"), 45 + 65535);
    reading_done(&r);
    /* 7 units of two bytes for 4 bins: edges at 0, 1.75, 3.5, 5.25 and 7 units, rounded down. */
    r = read_gmon(&little64, HEADER "b0 w0x1000 w0x100e l4 l100 " SECONDS "h1 h1 h1 h1 ");
    static const uint64_t edges[] = {0x1000, 0x1002, 0x1006, 0x100a, 0x100e};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(r.profile->bin->row[i].low, edges[i]);
        assert_int_equal(r.profile->bin->row[i].high, edges[i + 1]);
    }
    reading_done(&r);
    /* More bins than units: some cover nothing, and still come back as they were. */
    for
        EACH_TARGET(t)
    assert_rewritten("gmon", t, HEADER "b0 w0x1000 w0x1004 l5 l100 " SECONDS "h1 h0 h2 h0 h3 ");
}

/* Sentences G25, G26, G27: but for the count, 32 bits here and a word there. */
static void arcs_are_pairs_of_any_addresses_and_a_count(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER "b1 w0xffffffffffffffff w1 l0xffffffff " ARC ARC);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->arc->t.count, 3);
    assert_int_equal(r.profile->arc->calls[0], 0xffffffff);
    assert_int_equal(r.profile->arc->calls[1] + r.profile->arc->calls[2], 34);
    reading_done(&r);
    r = read_gmon(&little64, HEADER ARC "b1 w0x1000 l1 ");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "claims 1 arc, 0 are left"));
    reading_done(&r);
}

/* Sentences G31, G32, G33: 32 bits for gprof, a size_t for glibc. */
static void length_of_blocks_is_read_as_gprof_and_as_glibc_have_it(void **state)
{
    (void)state;
    static const char *const files[] = {HEADER HISTOGRAM BLOCKS,
                                        HEADER "b2 q2 w0x1000 w5 w0x1008 w7 " ARC};
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < 2; k++) { /* those of 64 bits */
            reading r = read_gmon(&targets[k], files[i]);
            assert_int_equal(r.status, PT_OK);
            assert_int_equal(r.profile->block->row[1].address, 0x1008);
            assert_int_equal(r.profile->block->row[1].count, 7);
            reading_done(&r);
            assert_rewritten("gmon", &targets[k], files[i]);
        }
    }
    reading r = read_gmon(&little64, HEADER "b2 l9 w0x1000 w5 ");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(r.profile->block->t.count, 1);
    reading_done(&r);
}

/* Sentence G34. */
static void blocks_are_kept_at_whatever_address_they_have(void **state)
{
    (void)state;
    const char *const items =
        HEADER "b2 l4 w0x1000 w5 w0x1003 w1 w0xffffffff w2 w0x1000 w0xffffffff ";
    for
        EACH_TARGET(t)
        {
            reading r = read_gmon(t, items);
            assert_int_equal(r.status, PT_OK);
            static const uint64_t addresses[] = {0x1000, 0x1003, 0xffffffff, 0x1000};
            static const uint64_t counts[] = {5, 1, 2, 0xffffffff};
            assert_int_equal(r.profile->block->t.count, 4);
            for (uint32_t i = 0; i < 4; i++) {
                assert_int_equal(r.profile->block->row[i].address, addresses[i]);
                assert_int_equal(r.profile->block->row[i].count, counts[i]);
            }
            reading_done(&r);
            assert_rewritten("gmon", t, items);
        }
}

/* ---- Word size ---- */

/* Sentence G8. */
static void word_size_is_the_programs_unless_the_file_says_otherwise(void **state)
{
    (void)state;
    for
        EACH_TARGET(t)
        {
            reading r = read_with("gmon", t, HEADER, t->word_bytes); /* nothing else has it */
            assert_int_equal(pt_profile_provenance(r.profile)->word_bytes, t->word_bytes);
            reading_done(&r);
            r = read_with("gmon", t, HEADER HISTOGRAM ARC, 12 - t->word_bytes);
            assert_int_equal(r.status, PT_OK);
            assert_int_equal(pt_profile_provenance(r.profile)->word_bytes, t->word_bytes);
            assert_int_equal(fact(&r.diag, "but the program given"), 1);
            reading_done(&r);
        }
}

/* ---- Writing ---- */

/* A profile of one mapping, samples at addresses. */
static const pt_profile *profile_at(const pt_mapping *m, const uint64_t *pcs, const int64_t *counts,
                                    size_t n)
{
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "cpu").v,
                                    .unit = pt_builder_text(b, "nanoseconds").v,
                                    .period = 1000000});
    pt_mapping row = *m;
    row.file = pt_builder_text(b, "/bin/a").v;
    const pt_mapping_id mapping = pt_builder_append_mapping(b, &row);
    for (size_t i = 0; i < n; i++) {
        const uint32_t frame =
            pt_builder_location(b, &(pt_location){.mapping = mapping.v, .address = pcs[i]}, NULL, 0)
                .v;
        pt_builder_sample(b, pt_builder_stack(b, &frame, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                          (int64_t[]){counts[i] * 1000000});
    }
    const pt_profile *p;
    pt_error error;
    assert_int_equal(pt_builder_freeze(b, &p, &error), PT_OK);
    return p;
}

/* Writes and reads again. */
static reading through(const char *format, const pt_profile *p)
{
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf bytes = written_as(format, p, &diag);
    reading r = read_as(format, bytes.data, bytes.size);
    if (r.status != PT_OK) fail_msg("%s", r.error.message);
    pt_diag_merge(&r.diag, &diag);
    pt_diag_done(&diag);
    pt_buf_done(&bytes);
    return r;
}

static void leaf_counts_become_bins_of_their_granule_at_linked_addresses(void **state)
{
    (void)state;
    const struct {
        pt_mapping mapping;
        uint64_t linked;
    } cases[] = {
        {{.start = 0x401000, .limit = 0x500000, .file_offset = 0x1000}, 0x401000}, /* not PIE */
        {{.start = 0x555555555000, .limit = 0x555555600000, .file_offset = 0x1000}, 0x1000},
        {{.start = 0x555555555000,
          .limit = 0x555555600000,
          .file_offset = 0x1000,
          .bias = 0x555555553000,
          .flags = PT_MAPPING_HAS_BIAS},
         0x2000},
    };
    for (size_t i = 0; i < 3; i++) {
        const uint64_t at = cases[i].mapping.start;
        const pt_profile *p =
            profile_at(&cases[i].mapping, (uint64_t[]){at + 1, at + 3, at + 4, at + 0x20000},
                       (int64_t[]){2, 3, 70, 9}, 4);
        reading r = through("gmon", p);
        assert_int_equal(r.diag.count, 0);
        const pt_bin *bin = r.profile->bin->row;
        assert_int_equal(r.profile->bin->t.count, 3);
        assert_int_equal(bin[0].low, cases[i].linked);
        assert_int_equal(bin[0].count, 5);
        assert_int_equal(bin[1].low, cases[i].linked + 4);
        assert_int_equal(bin[1].count, 70);
        assert_int_equal(bin[2].low, cases[i].linked + 0x20000);
        assert_int_equal(total(&r, "cpu"), 84 * 1000000LL);
        reading_done(&r);
        r = through("gmon-bsd", p);
        assert_int_equal(r.profile->bin->row[1].low, cases[i].linked + 4);
        assert_int_equal(total(&r, "cpu"), 84 * 1000000LL);
        reading_done(&r);
        pt_profile_unref(p);
    }
}

/* Sentence G23. */
static void bins_of_16_bits_never_wrap(void **state)
{
    (void)state;
    const pt_mapping m = {.start = 0x401000, .limit = 0x500000, .file_offset = 0x1000};
    static const int64_t counts[] = {65535, 65536, 131071, 1000000, 1};
    const pt_profile *p =
        profile_at(&m, (uint64_t[]){0x401000, 0x401004, 0x401008, 0x40100c, 0x401010}, counts, 5);
    reading r = through("gmon", p);
    assert_int_equal(r.diag.count, 0);
    for (size_t i = 0; i < 5; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < r.profile->bin->t.count; k++)
            sum +=
                r.profile->bin->row[k].low == 0x401000 + 4 * i ? r.profile->bin->row[k].count : 0;
        assert_int_equal(sum, counts[i]);
    }
    assert_int_equal(total(&r, "samples"), 65535 + 65536 + 131071 + 1000000 + 1);
    reading_done(&r);
    r = through("gmon-bsd", p); /* has one histogram, and says so */
    assert_int_equal(fact(&r.diag, "set to 65535"), 3);
    assert_int_equal(total(&r, "samples"), 4 * 65535 + 1);
    reading_done(&r);
    pt_profile_unref(p);
}

/* Counts beyond their fields have further records, of which a file has a limited number for all
 * counts: a few bytes must not become many megabytes. */
static void a_file_has_a_limited_number_of_further_records(void **state)
{
    (void)state;
    enum { ARCS = 32, ARC_BYTES = 21, LIMIT = 16384, EACH = 256 };
    pt_buf items = PT_BUF_INIT;
    pt_put_text(&items, "w0x10001000 w0x10001020 l36 h1 h2 h3 h4 h5 h6 h7 h8 ");
    for (unsigned i = 0; i < ARCS; i++)
        pt_putf(&items, "w%#x w0x10001008 w0x7fffffffffffffff ", 0x10001000 + i);
    reading r = read_with("gmon-bsd", &little64, pt_buf_text(&items), 8);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->arc->t.count, ARCS);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf bytes = written_as("gmon", r.profile, &diag);
    assert_in_range(bytes.size, LIMIT * ARC_BYTES,
                    (LIMIT + EACH * (ARCS + 1) + ARCS) * ARC_BYTES + 200);
    assert_int_equal(fact(&diag, "call arcs clipped"), ARCS);
    pt_diag_done(&diag);
    reading_done(&r);
    pt_buf_done(&items);
    pt_buf_done(&bytes);

    const pt_mapping m = {.start = 0x401000, .limit = 0x500000, .file_offset = 0x1000};
    static const int64_t counts[] = {1000000000000, 2000000000000, 7};
    const pt_profile *p = profile_at(&m, (uint64_t[]){0x401000, 0x402000, 0x403000}, counts, 3);
    r = through("gmon", p);
    const int64_t kept = (LIMIT + 3 * EACH + 2) * INT64_C(65535);
    assert_int_equal(fact(&r.diag, "samples left out at addresses"), counts[0] + counts[1] - kept);
    assert_int_equal(total(&r, "samples"), kept + 7);
    reading_done(&r);
    pt_profile_unref(p);
}

/* Counts a thousand bytes apart share a histogram, unless its empty bins would make a file of many
 * times the counts' own size. */
static void empty_bins_between_counts_are_few(void **state)
{
    (void)state;
    enum { MANY = 20000, FEW = 100, APART = 2000 };
    const pt_mapping m = {.start = 0x400000, .limit = 0x400000 + MANY * APART};
    PT_FREE uint64_t *pcs = pt_alloc(MANY, sizeof *pcs);
    PT_FREE int64_t *counts = pt_alloc(MANY, sizeof *counts);
    for (size_t i = 0; i < MANY; i++)
        pcs[i] = m.start + APART * i, counts[i] = 3;
    for (unsigned is_many = 0; is_many < 2; is_many++) {
        const size_t n = is_many ? MANY : FEW;
        const pt_profile *p = profile_at(&m, pcs, counts, n);
        pt_diag diag;
        pt_diag_init(&diag);
        pt_buf bytes = written_as("gmon", p, &diag);
        if (is_many)
            assert_in_range(bytes.size, MANY, 4 << 20);
        else
            assert_in_range(bytes.size, FEW * APART / 2 - APART, FEW * APART / 2 + 100);
        reading r = read_as("gmon", bytes.data, bytes.size);
        assert_int_equal(total(&r, "samples"), 3 * (int64_t)n);
        assert_int_equal(r.profile->bin->t.count, n);
        assert_int_equal(r.profile->bin->row[n - 1].low, pcs[n - 1]);
        reading_done(&r);
        pt_buf_done(&bytes);
        pt_diag_done(&diag);
        pt_profile_unref(p);
    }
}

static void each_sample_is_counted_once_in_whatever_is_written(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER HISTOGRAM HISTOGRAM ARC);
    static const char *const formats[] = {"gmon", "gmon-bsd", "pprof"};
    static const int64_t samples[] = {2 * 65542, 14 + 65535,
                                      2 * 65542}; /* BSD: no two histograms */
    for (size_t i = 0; i < 3; i++) {
        reading again = through(formats[i], r.profile);
        assert_int_equal(total(&again, "samples"), samples[i]);
        assert_int_equal(total(&again, "cpu"), samples[i] * 10000000LL);
        if (i < 2) assert_int_equal(again.profile->arc->calls[0], 17);
        if (i == 2) { /* and back, without bins */
            reading back = through("gmon", again.profile);
            assert_int_equal(total(&back, "samples"), samples[i]);
            assert_int_equal(back.profile->bin->row[0].low, 0x1004);
            reading_done(&back);
        }
        reading_done(&again);
    }
    reading_done(&r);
}

static void samples_that_changed_count_more_than_their_old_bins(void **state)
{
    (void)state;
    reading r = read_gmon(&little64, HEADER HISTOGRAM ARC);
    pt_samples *half = pt_samples_new(1, 2, 0); /* what a filter keeps: the bin of 7 */
    ((uint32_t *)half->stack)[0] = r.profile->sample->stack[0];
    ((int64_t *)half->value[0])[0] = 7;
    ((int64_t *)half->value[1])[0] = 70000000;
    const pt_profile *p = pt_profile_derive(r.profile, &(pt_profile_tables){.sample = half});
    reading again = through("gmon", p);
    assert_int_equal(total(&again, "samples"), 7);
    reading_done(&again);
    pt_profile_unref(p);
    reading_done(&r);
}

static void names_without_addresses_cannot_be_written(void **state)
{
    (void)state;
    reading r = read_as("folded", "a;b 1\n", 6);
    pt_buf buf = PT_BUF_INIT;
    pt_out out;
    pt_out_to_buf(&out, &buf);
    const pt_output output = {.context = &out, .open = open_buffer};
    const pt_write_options options = {.event = PT_NONE};
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(pt_format_find("gmon")->write(r.profile, &output, &options, &error),
                     PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "only names"));
    pt_out_done(&out, NULL);
    pt_buf_done(&buf);
    reading_done(&r);
}

/* ---- Any bytes, and real files ---- */

static void every_truncation_and_flip_is_read_without_harm(void **state)
{
    (void)state;
    static const char *const formats[] = {"gmon", "gmon-bsd"};
    for
        EACH_TARGET(t)
        {
            char bsd[512];
            snprintf(bsd, sizeof bsd, "w0x10001000 w0x10001020 l%u l0x51879 l50 l1 l2 l3 " OLD_BSD,
                     2 * t->word_bytes + 24 + 16);
            for (size_t f = 0; f < 2; f++) {
                pt_buf whole = file_of(t, f == 0 ? HEADER HISTOGRAM ARC BLOCKS : bsd);
                for (size_t i = 0; i < whole.size; i++) {
                    reading r = read_as(formats[f], whole.data, i);
                    reading_done(&r);
                    whole.data[i] ^= 0xff;
                    r = read_as(formats[f], whole.data, whole.size);
                    reading_done(&r);
                    whole.data[i] ^= 0xff;
                }
                pt_buf_done(&whole);
            }
        }
}

/* glibc 2.36's, of 64-bit programs (t, q, thr), and files put together by hand (bb-*: 2 blocks;
 * sat40000: 64 bins of 40,000). Figures: od -A d -t u2 and gprof 2.40 -b -p. */
static void files_of_the_corpus_are_read_whole_and_written_back(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t samples;
        uint32_t arcs, blocks;
    } files[] = {{"t.gmon.out", 164, 11, 0},  {"thr.gmon.out", 17, 1, 0},
                 {"q.gmon.out", 0, 15, 0},    {"bb-u32.gmon", 0, 0, 2},
                 {"bb-size_t.gmon", 0, 0, 2}, {"sat40000.gmon", 2560000, 1, 0}};
    const char *corpus = getenv("PITOT_CORPUS");
    if (corpus == NULL) {
        puts("# skipped: PITOT_CORPUS is not set"); /* cmocka's skip() is "not ok" in TAP */
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/local/%s", corpus, files[i].name);
        pt_blob blob = PT_BLOB_INIT;
        pt_error error = PT_ERROR_INIT;
        if (pt_file_read(path, 0, 1 << 30, &blob, &error) != PT_OK) fail_msg("%s", error.message);
        reading r = read_as("gmon", blob.data, blob.size);
        assert_int_equal(r.status, PT_OK);
        assert_int_equal(total(&r, "samples"), files[i].samples);
        assert_int_equal(r.profile->arc->t.count, files[i].arcs);
        assert_int_equal(r.profile->block->t.count, files[i].blocks);
        pt_buf again = written_as("gmon", r.profile, NULL);
        assert_int_equal(again.size, blob.size);
        assert_memory_equal(again.data, blob.data, blob.size);
        pt_buf_done(&again);
        reading_done(&r);
        pt_blob_done(&blob);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_format_has_no_cookie_and_is_known_by_its_arithmetic),
        cmocka_unit_test(format_of_4_4_bsd_has_version_rate_and_spare_bytes),
        cmocka_unit_test(old_format_cannot_hold_basic_blocks_and_that_is_told),
        cmocka_unit_test(header_has_cookie_version_and_spare_bytes),
        cmocka_unit_test(profiles_of_shared_objects_are_refused_by_name),
        cmocka_unit_test(every_target_gives_the_same_profile),
        cmocka_unit_test(records_come_in_any_order_and_number),
        cmocka_unit_test(records_of_one_type_that_do_not_fit_are_left_out_with_one_line),
        cmocka_unit_test(union_of_records_is_their_sum),
        cmocka_unit_test(size_of_the_histogram_counts_no_header),
        cmocka_unit_test(dimension_is_fifteen_characters_and_an_abbreviation),
        cmocka_unit_test(events_of_a_counter_have_their_name_as_unit_and_no_time),
        cmocka_unit_test(ten_bins_of_a_thousand_bytes_cover_a_hundred_each),
        cmocka_unit_test(arcs_are_pairs_of_any_addresses_and_a_count),
        cmocka_unit_test(length_of_blocks_is_read_as_gprof_and_as_glibc_have_it),
        cmocka_unit_test(blocks_are_kept_at_whatever_address_they_have),
        cmocka_unit_test(word_size_is_the_programs_unless_the_file_says_otherwise),
        cmocka_unit_test(leaf_counts_become_bins_of_their_granule_at_linked_addresses),
        cmocka_unit_test(bins_of_16_bits_never_wrap),
        cmocka_unit_test(a_file_has_a_limited_number_of_further_records),
        cmocka_unit_test(empty_bins_between_counts_are_few),
        cmocka_unit_test(each_sample_is_counted_once_in_whatever_is_written),
        cmocka_unit_test(samples_that_changed_count_more_than_their_old_bins),
        cmocka_unit_test(names_without_addresses_cannot_be_written),
        cmocka_unit_test(every_truncation_and_flip_is_read_without_harm),
        cmocka_unit_test(files_of_the_corpus_are_read_whole_and_written_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
