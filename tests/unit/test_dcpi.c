/* test_dcpi.c: the DCPI profile of versions 0.06 and 0.07 against its description, sentence by
 * sentence. Headers are text; the binary part is a list of 32-bit numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/format.h"
#include "transform/one_event.h"

extern const pt_format pt_format_dcpi;

#define HEADER                                                                                     \
    "version pdb-0.07\n"                                                                           \
    "image 1b2c3d4e5f\n"                                                                           \
    "epoch 9705221030\n"                                                                           \
    "platform a.host\n"                                                                            \
    "event cycles\n"                                                                               \
    "period 62000\n"                                                                               \
    "tsize 4096\n"                                                                                 \
    "tstart 120000000\n"                                                                           \
    "cpuspeed 333\n"                                                                               \
    "path /usr/shlib/libc.so\n"
#define SAMPLES "samples\n"

/* The file: header text, then numbers until END, little endian. */
#define END                  0xe0d0e0d0e0u
#define FILE_OF(header, ...) make_file(header, (const uint64_t[]){__VA_ARGS__, END})
static pt_buf make_file(const char *header, const uint64_t *numbers)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_text(&buf, header);
    for (; *numbers != END; numbers++)
        pt_put_le(&buf, *numbers, 4);
    return buf;
}

typedef struct {
    const pt_profile *profile;
    pt_status status;
    pt_error error;
    pt_diag diag;
} reading;

static reading read_file(pt_buf *buf)
{
    reading r = {.error = PT_ERROR_INIT};
    pt_diag_init(&r.diag);
    pt_error error = PT_ERROR_INIT;
    pt_reader reader;
    pt_reader_init(&reader, buf->data, buf->size, &error);
    pt_builder *b = pt_builder_new();
    const pt_read_hooks hooks = {.diag = &r.diag};
    r.status = pt_format_dcpi.read(&reader, b, &hooks, &r.error);
    assert_int_equal(pt_builder_freeze(b, &r.profile, &error), PT_OK);
    pt_buf_done(buf);
    return r;
}

static void done(reading *r)
{
    pt_profile_unref(r->profile);
    pt_diag_done(&r->diag);
}

/* The count at an address; 0 if there is no sample. */
static int64_t count_at(const pt_profile *p, uint64_t address)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t leaf = pt_stack_frames(p, p->sample->stack[i])[0];
        if (p->location->address[leaf] == address) count += p->sample->value[0][i];
    }
    return count;
}

static bool told(const reading *r, const char *words)
{
    for (size_t i = 0; i < r->diag.count; i++) {
        if (strstr(r->diag.facts[i].text, words) != NULL) return true;
    }
    return false;
}

static int probed(const pt_buf *buf)
{
    uint8_t head[1024] = {0};
    const size_t n = buf->size < sizeof head ? buf->size : sizeof head;
    memcpy(head, buf->data, n);
    return pt_format_dcpi.probe(
        &(pt_probe_input){.head = head, .head_bytes = n, .file_bytes = buf->size, .name = ""});
}

/* Sentences D32, D34, D35, D37, D38, D40, D41, D42, D43, D50. */
static void counts_belong_to_instruction_addresses_from_tstart_plus_offset(void **state)
{
    pt_buf buf = FILE_OF(HEADER SAMPLES, 16, 3, 5, 0, 7, /* one chunk of three */
                         64, 1, 9,                       /* another of one */
                         3, 21);
    assert_true(probed(&buf) > 90);
    reading r = read_file(&buf);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.diag.count, 0);
    assert_int_equal(count_at(r.profile, 0x120000000 + 16), 5);
    assert_int_equal(count_at(r.profile, 0x120000000 + 24), 7); /* instructions take four bytes */
    assert_int_equal(count_at(r.profile, 0x120000000 + 64), 9);
    assert_int_equal(r.profile->sample->t.count, 3); /* a zero count is no sample */
    assert_int_equal(pt_profile_total(r.profile, 0), 21);
    done(&r);
}

/* Sentences D1, D4, D5, D6, D7, D8, D9, D15. */
static void header_lines_tell_image_event_period_and_time(void **state)
{
    pt_buf buf = FILE_OF(HEADER SAMPLES, 0, 0);
    reading r = read_file(&buf);
    const pt_profile *p = r.profile;
    const pt_mapping *m = &p->mapping->row[0];
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(m->start, 0x120000000);
    assert_int_equal(m->limit, 0x120001000);
    assert_string_equal(pt_text(p, m->file), "/usr/shlib/libc.so");
    assert_string_equal(pt_text(p, m->foreign_id), "dcpi:1b2c3d4e5f");
    assert_string_equal(pt_text(p, p->event->row[0].type), "cycles");
    assert_int_equal(p->event->row[0].period, 62000);
    assert_string_equal(pt_text(p, pt_profile_provenance(p)->host), "a.host");
    /* date -u -d '1997-05-22 10:30' +%s */
    assert_int_equal(pt_profile_provenance(p)->start_ns, 864297000LL * 1000000000);
    done(&r);
}

/* Sentences D19, D20. */
static void times_of_ten_twelve_and_fourteen_digits_are_utc(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* date -u -d ... +%s */
    } cases[] = {
        {"6912312359", 3155759940},     {"7001010000", 0},    {"200402291200", 1078056000},
        {"20040229120030", 1078056030}, {"9913010000", -1},   {"990101", -1},
        {"999912312359", -1},           {"000001010000", -1}, /* no 63 bits of nanoseconds */
        {"226101010000", 9183110400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char header[200];
        snprintf(header, sizeof header,
                 "version pdb-0.07\nimage 1\nepoch %s\nevent e\ntstart 0\nsamples\n",
                 cases[i].text);
        pt_buf buf = FILE_OF(header, 0, 0);
        reading r = read_file(&buf);
        assert_int_equal(told(&r, "epoch line"), cases[i].seconds == -1);
        if (cases[i].seconds >= 0)
            assert_int_equal(pt_profile_provenance(r.profile)->start_ns,
                             cases[i].seconds * 1000000000);
        done(&r);
    }
}

/* Sentence D4. */
static void an_identification_as_long_as_a_build_id_is_one(void **state)
{
    pt_buf buf = FILE_OF("version pdb-0.07\nimage 0123456789abcdef0123456789abcdef01234567\n"
                         "event cycles\ntstart 0\nsamples\n",
                         0, 0);
    reading r = read_file(&buf);
    assert_string_equal(pt_text(r.profile, r.profile->mapping->row[0].build_id),
                        "0123456789abcdef0123456789abcdef01234567");
    done(&r);
}

/* Sentences D10, D26: missing and repeated lines are reported; none makes the file invalid. */
static void required_lines_that_are_missing_or_repeated_are_told(void **state)
{
    static const char *const kinds[] = {"image", "epoch", "platform", "event", "tsize", "cpuspeed"};
    static const char *const lines[] = {"image 1b\n", "epoch 9705221030\n", "platform x\n",
                                        "event e\n",  "tsize 64\n",         "cpuspeed 1\n"};
    for (size_t missing = 0; missing < 6; missing++) {
        char words[80];
        pt_buf header = PT_BUF_INIT;
        pt_put_text(&header, "version pdb-0.07\ntstart 0\nperiod 4\n");
        for (size_t i = 0; i < 6; i++)
            if (i != missing) pt_put_text(&header, lines[i]);
        pt_put_text(&header, lines[(missing + 1) % 6]);
        pt_put_text(&header, SAMPLES);
        pt_buf buf = FILE_OF(pt_buf_text(&header), 8, 1, 3, 1, 3);
        pt_buf_done(&header);
        reading r = read_file(&buf);
        assert_int_equal(r.status, PT_OK);
        assert_int_equal(r.diag.count, 2);
        snprintf(words, sizeof words, "missing %s line", kinds[missing]);
        assert_true(told(&r, words));
        snprintf(words, sizeof words, "%s lines of the header beyond the first",
                 kinds[(missing + 1) % 6]);
        assert_true(told(&r, words));
        done(&r);
    }
}

/* Sentences D21, D22, D23, D25. */
static void blanks_tabs_and_both_cases_of_digits_are_read(void **state)
{
    pt_buf buf = FILE_OF("version\t pdb-0.07\nimage \t 1B2c\nepoch 9705221030\nplatform  a b\tc\n"
                         "event two words\nperiod\t5\ntsize 64\ntstart 1aB0\ncpuspeed 1\n" SAMPLES,
                         8, 1, 3, 1, 3);
    reading r = read_file(&buf);
    const pt_profile *p = r.profile;
    assert_int_equal(r.diag.count, 0);
    assert_string_equal(pt_text(p, p->mapping->row[0].foreign_id), "dcpi:1B2c");
    assert_string_equal(pt_text(p, pt_profile_provenance(p)->host), "a b\tc");
    assert_string_equal(pt_text(p, p->event->row[0].type), "two words");
    assert_int_equal(p->event->row[0].period, 5);
    assert_int_equal(count_at(p, 0x1ab0 + 8), 3);
    done(&r);
}

/* Sentences D8, D14, D26. */
static void period_may_be_absent_but_not_twice(void **state)
{
    pt_buf absent = FILE_OF("version pdb-0.07\nimage 1\nevent e\ntstart 0\nsamples\n", 0, 0);
    reading r = read_file(&absent);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->event->row[0].period, 0); /* unknown, not invented */
    done(&r);
    pt_buf twice = FILE_OF(HEADER "period 4\n" SAMPLES, 0, 0);
    r = read_file(&twice);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_string_equal(r.error.message, "period lines in the header beyond the first");
    done(&r);
}

/* Sentence D17. */
static void missing_version_and_tstart_are_told(void **state)
{
    pt_buf buf = FILE_OF("image 1\nepoch 9705221030\nplatform x\nevent e\nperiod 4\n"
                         "tsize 64\ncpuspeed 1\nsamples\n",
                         8, 1, 3, 1, 3);
    assert_true(probed(&buf) > 0);
    reading r = read_file(&buf);
    assert_int_equal(r.status, PT_OK);
    assert_true(told(&r, "missing version line"));
    assert_true(told(&r, "missing tstart line"));
    assert_int_equal(count_at(r.profile, 8), 3);
    done(&r);
}

/* Sentences D17, D28, D29, D31. */
static void version_one_shows_its_header_and_why_no_more(void **state)
{
    pt_buf buf = FILE_OF("version pdb-1.01\nimage 77\nevent cycles\ntstart 0\nsamples\n", 1, 2, 3);
    reading r = read_file(&buf);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "version 1.01"));
    assert_non_null(strstr(r.error.message, "never documented"));
    assert_string_equal(pt_text(r.profile, r.profile->mapping->row[0].foreign_id), "dcpi:77");
    assert_int_equal(r.profile->sample->t.count, 0);
    done(&r);
    /* 2^32 is no version 0. */
    buf = FILE_OF("version pdb-4294967296.01\nimage 77\nevent cycles\ntstart 0\nsamples\n", 0, 0);
    r = read_file(&buf);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    done(&r);
}

/* Sentences D2, D33. */
static void blanks_may_stand_behind_samples(void **state)
{
    pt_buf buf = FILE_OF(HEADER "samples \t \n", 0, 1, 4, 1, 4);
    reading r = read_file(&buf);
    assert_int_equal(pt_profile_total(r.profile, 0), 4);
    done(&r);
}

/* Sentences D46, D47, D48. */
static void footer_that_does_not_fit_is_told(void **state)
{
    pt_buf buf = FILE_OF(HEADER SAMPLES, 0, 2, 4, 5, 2, 8);
    reading r = read_file(&buf);
    assert_int_equal(r.status, PT_OK);
    assert_true(told(&r, "footer with 8 samples at 2 addresses, the chunks hold 9 at 2"));
    done(&r);
}

/* Sentences D44, D45. */
static void chunks_that_overlap_or_go_back_are_told(void **state)
{
    pt_buf overlap = FILE_OF(HEADER SAMPLES, 0, 2, 1, 1, 4, 1, 1, 3, 3);
    reading r = read_file(&overlap);
    assert_true(told(&r, "chunks out of order or overlapping"));
    assert_int_equal(pt_profile_total(r.profile, 0), 3);
    done(&r);
    pt_buf outside = FILE_OF(HEADER SAMPLES, 4096, 1, 1, 1, 1);
    r = read_file(&outside);
    assert_true(told(&r, "counts outside the text's size"));
    done(&r);
}

/* Sentences D1, D2, D35, D36, D39, D49. */
static void chunk_of_no_counts_or_of_too_many_is_damage(void **state)
{
    pt_buf none = FILE_OF(HEADER SAMPLES, 0, 1, 6, 8, 0, 1, 6);
    reading r = read_file(&none);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(pt_profile_total(r.profile, 0), 6); /* what came before is kept */
    done(&r);
    pt_buf many = FILE_OF(HEADER SAMPLES, 0, 0xffffffff, 6, 1, 6);
    r = read_file(&many);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    done(&r);
    pt_buf no_footer = FILE_OF(HEADER SAMPLES, 1);
    r = read_file(&no_footer);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    done(&r);
    pt_buf no_end = FILE_OF(HEADER, 1);
    r = read_file(&no_end);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "no samples line"));
    done(&r);
}

/* Sentence D51. */
static void every_count_of_32_bits_is_read_whole(void **state)
{
    pt_buf buf = FILE_OF(HEADER SAMPLES, 0, 2, UINT32_MAX, UINT32_MAX, 2,
                         (2 * (uint64_t)UINT32_MAX) & UINT32_MAX);
    reading r = read_file(&buf);
    assert_int_equal(r.diag.count, 0); /* the footer is right modulo 2^32 */
    assert_true(pt_profile_total(r.profile, 0) == 2 * (int64_t)UINT32_MAX);
    done(&r);
}

/* ---- Writing ---- */

typedef struct {
    pt_out out[8];
    pt_buf buf[8];
    char suffix[8][64];
    size_t count;
} outputs;

static pt_out *open_next(void *context, const char *suffix, pt_error *reterr)
{
    outputs *o = context;
    assert_true(o->count < 8);
    snprintf(o->suffix[o->count], sizeof o->suffix[0], "%s", suffix);
    pt_out_to_buf(&o->out[o->count], &o->buf[o->count]);
    return &o->out[o->count++];
}

static pt_status write_all(const pt_profile *p, outputs *o, pt_diag *diag, pt_error *reterr)
{
    *o = (outputs){0};
    const pt_output output = {o, open_next};
    const pt_status status = pt_format_dcpi.write(
        p, &output, &(pt_write_options){.event = PT_NONE, .diag = diag}, reterr);
    for (size_t i = 0; i < o->count; i++)
        assert_int_equal(pt_out_done(&o->out[i], NULL), PT_OK);
    return status;
}

static void outputs_done(outputs *o)
{
    for (size_t i = 0; i < o->count; i++)
        pt_buf_done(&o->buf[i]);
}

/* Sentences D3, D10, D11, D12, D13, D15, D16, D18, D24, D27, D30. */
static void rewriting_gives_the_same_bytes_with_unknown_lines_in_place(void **state)
{
    static const char *const headers[] = {
        HEADER SAMPLES,
        "version pdb-0.06\nimage 77\nfuture some thing\nepoch 9705221030\nplatform x\n"
        "event imiss\nperiod 4096\ntsize 4096\ntstart 120000000\ncpuspeed 500\n"
        "cpuamask 7\ncpuimplv 2\ncpucount 4\npath /a\npath /b c\nlast-word of all\nsamples\n",
    };
    for (size_t i = 0; i < 2; i++) {
        char header[1024];
        snprintf(header, sizeof header, "%s", headers[i]);
        /* Blanks bring the header to a multiple of four, as the writer of the format should. */
        size_t length = strlen(header);
        for (; length % 4 != 0; length++)
            memcpy(header + length - 1, " \n", 3);
        /* Two zeros between two counts are no reason for another chunk; more are. */
        pt_buf buf = FILE_OF(header, 16, 4, 5, 0, 0, 7, 256, 1, 9, 3, 21);
        pt_buf copy = PT_BUF_INIT;
        pt_put(&copy, buf.data, buf.size);
        reading r = read_file(&buf);
        outputs o;
        assert_int_equal(write_all(r.profile, &o, NULL, NULL), PT_OK);
        assert_int_equal(o.count, 1);
        assert_string_equal(o.suffix[0], "");
        assert_int_equal(o.buf[0].size, copy.size);
        assert_memory_equal(o.buf[0].data, copy.data, copy.size);
        outputs_done(&o);
        pt_buf_done(&copy);
        done(&r);
    }
}

static uint32_t at(pt_builder *b, pt_mapping_id m, uint64_t address)
{
    return pt_builder_location(b, &(pt_location){.mapping = m.v, .address = address}, NULL, 0).v;
}

/* A profile with stacks in two images, as another format would bring it. */
static const pt_profile *two_images(int64_t count)
{
    pt_builder *b = pt_builder_new();
    const uint32_t cpu = pt_builder_text(b, "cpu").v, ns = pt_builder_text(b, "nanoseconds").v;
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v});
    pt_builder_event(b, &(pt_event){.type = cpu, .unit = ns});
    pt_provenance *from = pt_builder_provenance(b);
    from->has_period_type = true;
    from->period_type = cpu;
    from->period_unit = ns;
    from->period = 1000;
    const pt_mapping_id prog =
        pt_builder_append_mapping(b, &(pt_mapping){.start = 0x400000,
                                                   .limit = 0x500000,
                                                   .file = pt_builder_text(b, "/bin/prog").v,
                                                   .build_id = pt_builder_text(b, "1b2c3d4e").v});
    const pt_mapping_id lib =
        pt_builder_append_mapping(b, &(pt_mapping){.start = 0x7f0000000000,
                                                   .limit = 0x7f0000100000,
                                                   .file = pt_builder_text(b, "/lib/libc.so.6").v});
    const uint32_t deep[] = {at(b, lib, 0x7f0000000011), at(b, prog, 0x400001)};
    const uint32_t flat[] = {at(b, prog, 0x400003)};
    const pt_stack_id s = pt_builder_stack(b, deep, 2, PT_STACK_END_UNKNOWN);
    const pt_stack_id t = pt_builder_stack(b, flat, 1, PT_STACK_END_UNKNOWN);
    pt_builder_sample(b, s, PT_NO_LABELS, (int64_t[]){count, count * 1000});
    pt_builder_sample(b, t, PT_NO_LABELS, (int64_t[]){2, 2000});
    pt_builder_sample(b, t, PT_NO_LABELS, (int64_t[]){3, 3000});
    const pt_profile *p = NULL;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static void each_image_becomes_a_file_with_its_leaf_counts(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = two_images(4);
    outputs o;
    assert_int_equal(write_all(p, &o, NULL, NULL), PT_OK);
    assert_int_equal(o.count, 2);
    assert_string_equal(o.suffix[0], ".prog-0.samples");
    assert_string_equal(o.suffix[1], ".libc.so.6-1.samples");
    reading prog = read_file(&o.buf[0]), libc = read_file(&o.buf[1]);
    assert_int_equal(prog.diag.count + libc.diag.count, 0);
    assert_int_equal(count_at(prog.profile, 0x400003), 5);
    assert_int_equal(count_at(libc.profile, 0x7f0000000011), 4);
    /* Conservation: nothing is lost or doubled. */
    assert_int_equal(pt_profile_total(prog.profile, 0) + pt_profile_total(libc.profile, 0),
                     pt_profile_total(p, 0));
    assert_string_equal(pt_text(prog.profile, prog.profile->event->row[0].type), "cpu");
    assert_int_equal(prog.profile->event->row[0].period, 1000);
    done(&prog);
    done(&libc);
}

/* Sentence D52. */
static void header_is_padded_so_that_counts_are_aligned(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = two_images(4);
    outputs o;
    assert_int_equal(write_all(p, &o, NULL, NULL), PT_OK);
    for (size_t i = 0; i < o.count; i++) {
        const uint8_t *end = memmem(o.buf[i].data, o.buf[i].size, "\nsamples", 8);
        const uint8_t *newline = memchr(end + 1, '\n', 16);
        assert_int_equal((newline + 1 - o.buf[i].data) % 4, 0);
    }
    outputs_done(&o);
}

static void counts_beyond_32_bits_are_held_at_the_limit_aloud(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = two_images((int64_t)1 << 40);
    pt_diag diag;
    pt_diag_init(&diag);
    outputs o;
    assert_int_equal(write_all(p, &o, &diag, NULL), PT_OK);
    reading r = {.diag = diag};
    assert_true(told(&r, "counts above 4294967295 set to that number"));
    reading libc = read_file(&o.buf[1]);
    assert_int_equal(count_at(libc.profile, 0x7f0000000011), UINT32_MAX);
    done(&libc);
    pt_buf_done(&o.buf[0]);
    pt_diag_done(&diag);
}

static void every_truncation_and_flip_is_read_without_harm(void **state)
{
    pt_buf whole = FILE_OF("version pdb-0.07\nimage 1b\nepoch 9705221030\nevent e\nperiod 6\n"
                           "tsize 4096\ntstart 1200\ngranule 4\npath /a\nx y\nsamples\n",
                           16, 3, 5, 0, 7, 64, 1, 9, 3, 21);
    for (size_t i = 0; i < whole.size; i++) {
        pt_buf cut = PT_BUF_INIT, flipped = PT_BUF_INIT;
        pt_put(&cut, whole.data, i);
        pt_put(&flipped, whole.data, whole.size);
        flipped.data[i] ^= 0xff;
        reading r = read_file(&cut);
        done(&r);
        r = read_file(&flipped);
        done(&r);
    }
    pt_buf_done(&whole);
}

/* Two events, "samples/count" and "cpu/nanoseconds" of 1 ms each, at two addresses of an image. */
static const pt_profile *two_addresses(uint64_t first, uint64_t second, const char *line)
{
    pt_builder *b = pt_builder_new();
    const uint32_t ns = pt_builder_text(b, "nanoseconds").v;
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "samples").v,
                                    .unit = pt_builder_text(b, "count").v});
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "cpu").v, .unit = ns});
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "space").v,
                                    .unit = pt_builder_text(b, "bytes").v});
    pt_builder_provenance(b)->period = 1000000;
    const pt_mapping m = {
        .start = 0x1000, .limit = 0x200000000, .file = pt_builder_text(b, "/bin/x").v};
    const uint32_t mapping = pt_builder_append_mapping(b, &m).v;
    const uint64_t at[] = {first, second};
    for (int i = 0; i < 2; i++) {
        const pt_location_id l =
            pt_builder_location(b, &(pt_location){.mapping = mapping, .address = at[i]}, NULL, 0);
        pt_builder_sample(b, pt_builder_stack(b, &l.v, 1, PT_STACK_END_UNKNOWN), PT_NO_LABELS,
                          (int64_t[]){3, 3000000, 12});
    }
    if (line != NULL)
        pt_builder_extra(b, pt_builder_text(b, "dcpi.line"), pt_builder_text(b, line));
    const pt_profile *p;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    return p;
}

static pt_status write_event(const pt_profile *p, uint32_t event, outputs *o, pt_error *reterr)
{
    *o = (outputs){0};
    const pt_output output = {o, open_next};
    PT_UNREF_PROFILE const pt_profile *alone = pt_one_event(p, event, NULL);
    const pt_status status =
        pt_format_dcpi.write(alone, &output, &(pt_write_options){.event = PT_NONE}, reterr);
    for (size_t i = 0; i < o->count; i++)
        assert_int_equal(pt_out_done(&o->out[i], NULL), PT_OK);
    return status;
}

static void event_asked_for_is_the_one_written_or_refused_by_name(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = two_addresses(0x1000, 0x1010, NULL);
    outputs o;
    pt_error error = PT_ERROR_INIT;
    assert_int_equal(write_event(p, 1, &o, &error), PT_OK);
    assert_int_equal(o.count, 1);
    assert_non_null(memmem(o.buf[0].data, o.buf[0].size, "event cpu\n", 10));
    reading r = read_file(&o.buf[0]);
    assert_int_equal(count_at(r.profile, 0x1010), 3); /* 3 ms of 1 ms each */
    done(&r);
    assert_int_equal(write_event(p, 2, &o, &error), PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "not space/bytes"));
}

static void counts_between_granules_and_too_far_are_told_apart(void **state)
{
    const char *const line = "granule 16";
    PT_UNREF_PROFILE const pt_profile *p = two_addresses(0x1008, 0x1000 + (1ull << 32), line);
    outputs o;
    pt_diag diag;
    pt_diag_init(&diag);
    assert_int_equal(write_all(p, &o, &diag, NULL), PT_OK);
    reading r = {.diag = diag};
    assert_true(told(&r, "no multiple of the granule (16 bytes)"));
    assert_true(told(&r, "more than 4 GiB from"));
    outputs_done(&o);
    pt_diag_done(&diag);
}

static void granule_that_the_reader_refuses_is_not_the_writers(void **state)
{
    PT_UNREF_PROFILE const pt_profile *p = two_addresses(0x1000, 0x1004, "granule 8192");
    outputs o;
    assert_int_equal(write_all(p, &o, NULL, NULL), PT_OK);
    pt_buf body = PT_BUF_INIT; /* offset, number, counts: four bytes apart, not 8192 */
    for (size_t i = 0; i < 5; i++)
        pt_put_le(&body, (const uint64_t[]){0, 2, 3, 3, 2}[i], 4);
    assert_non_null(memmem(o.buf[0].data, o.buf[0].size, body.data, body.size));
    pt_buf_done(&body);
    outputs_done(&o);
}

static void header_without_end_is_read_no_further_than_64_kib(void **state)
{
    pt_buf buf = PT_BUF_INIT;
    pt_put_text(&buf, HEADER);
    for (int i = 0; i < 100000; i++)
        pt_putf(&buf, "future %d\n", i);
    pt_put_text(&buf, SAMPLES);
    for (int i = 0; i < 2; i++)
        pt_put_le(&buf, 0, 4);
    reading r = read_file(&buf);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_non_null(strstr(r.error.message, "header of more than 65536 bytes"));
    assert_true(r.profile->extra->t.count < 10000);
    done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_belong_to_instruction_addresses_from_tstart_plus_offset),
        cmocka_unit_test(header_lines_tell_image_event_period_and_time),
        cmocka_unit_test(times_of_ten_twelve_and_fourteen_digits_are_utc),
        cmocka_unit_test(an_identification_as_long_as_a_build_id_is_one),
        cmocka_unit_test(required_lines_that_are_missing_or_repeated_are_told),
        cmocka_unit_test(blanks_tabs_and_both_cases_of_digits_are_read),
        cmocka_unit_test(period_may_be_absent_but_not_twice),
        cmocka_unit_test(missing_version_and_tstart_are_told),
        cmocka_unit_test(version_one_shows_its_header_and_why_no_more),
        cmocka_unit_test(blanks_may_stand_behind_samples),
        cmocka_unit_test(footer_that_does_not_fit_is_told),
        cmocka_unit_test(chunks_that_overlap_or_go_back_are_told),
        cmocka_unit_test(chunk_of_no_counts_or_of_too_many_is_damage),
        cmocka_unit_test(every_count_of_32_bits_is_read_whole),
        cmocka_unit_test(rewriting_gives_the_same_bytes_with_unknown_lines_in_place),
        cmocka_unit_test(each_image_becomes_a_file_with_its_leaf_counts),
        cmocka_unit_test(header_is_padded_so_that_counts_are_aligned),
        cmocka_unit_test(counts_beyond_32_bits_are_held_at_the_limit_aloud),
        cmocka_unit_test(every_truncation_and_flip_is_read_without_harm),
        cmocka_unit_test(event_asked_for_is_the_one_written_or_refused_by_name),
        cmocka_unit_test(counts_between_granules_and_too_far_are_told_apart),
        cmocka_unit_test(granule_that_the_reader_refuses_is_not_the_writers),
        cmocka_unit_test(header_without_end_is_read_no_further_than_64_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
