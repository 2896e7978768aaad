/* test_dcpicat.c: the text of DCPI's dcpicat, and what it keeps of a binary DCPI profile. Texts are
 * written here after the description of dcpicat(1): its fields, in its order. */
#include "formats_check.h"

#define TEXT                                                                                       \
    "name        libc.so\n"                                                                        \
    "image       1b2c3d4e5f\n"                                                                     \
    "path        /usr/shlib/libc.so\n"                                                             \
    "epoch       9705221030\n"                                                                     \
    "platform    a.host\n"                                                                         \
    "text_start  0x120000000\n"                                                                    \
    "text_size   0x1000\n"                                                                         \
    "label       run-7\n"                                                                          \
    "event       12 cycles:62000:10000\n"                                                          \
    "event       5 imiss:4096:5000\n"
#define ROWS                                                                                       \
    "0x120000010 9 0\n"                                                                            \
    "0x120000014 3 5\n"

static reading read_text(const char *text)
{
    return read_as("dcpicat", text, strlen(text));
}

static int64_t count_at(const pt_profile *p, uint64_t address, uint32_t event)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < p->sample->t.count; i++) {
        const uint32_t leaf = pt_stack_frames(p, p->sample->stack[i])[0];
        if (p->location->address[leaf] == address) count += p->sample->value[event][i];
    }
    return count;
}

static void fields_of_the_header_are_image_time_place_and_events(void **state)
{
    (void)state;
    reading r = read_text(TEXT ROWS);
    const pt_profile *p = r.profile;
    const pt_mapping *m = &p->mapping->row[0];
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.diag.count, 0);
    assert_string_equal(pt_text(p, m->file), "/usr/shlib/libc.so");
    assert_string_equal(pt_text(p, m->foreign_id), "dcpi:1b2c3d4e5f");
    assert_int_equal(m->start, 0x120000000);
    assert_int_equal(m->limit, 0x120001000); /* text_size is hexadecimal, unlike tsize */
    assert_int_equal(p->event->t.count, 2);
    assert_string_equal(pt_text(p, p->event->row[0].type), "cycles");
    assert_int_equal(p->event->row[0].period, 62000);
    assert_true(p->event->row[0].monitored_fraction == 0); /* all the time */
    assert_int_equal(p->event->row[1].period, 4096);
    assert_true(p->event->row[1].monitored_fraction == 0.5); /* 5000 of 10000 */
    /* date -u -d '1997-05-22 10:30' +%s */
    assert_int_equal(pt_profile_provenance(p)->start_ns, 864297000LL * 1000000000);
    assert_string_equal(pt_text(p, pt_profile_provenance(p)->host), "a.host");
    reading_done(&r);
}

static void a_row_is_an_address_and_a_count_for_each_event(void **state)
{
    (void)state;
    reading r = read_text(TEXT ROWS);
    assert_int_equal(r.profile->sample->t.count, 2);
    assert_int_equal(count_at(r.profile, 0x120000010, 0), 9);
    assert_int_equal(count_at(r.profile, 0x120000010, 1), 0);
    assert_int_equal(count_at(r.profile, 0x120000014, 0), 3);
    assert_int_equal(count_at(r.profile, 0x120000014, 1), 5);
    reading_done(&r);
}

static void what_was_written_by_us_is_rewritten_with_the_same_bytes(void **state)
{
    (void)state;
    reading r = read_text(TEXT ROWS);
    pt_buf buf = written_as("dcpicat", r.profile, NULL);
    assert_int_equal(buf.size, strlen(TEXT ROWS));
    assert_memory_equal(buf.data, TEXT ROWS, buf.size);
    pt_buf_done(&buf);
    reading_done(&r);
}

/* ProfileMe's events have a counter: attributes, a colon, what was counted. */
static void an_events_counter_is_part_of_its_name_and_names_may_repeat(void **state)
{
    (void)state;
    static const char text[] = "name x\nimage 1\nepoch 7001010000\nplatform h\n"
                               "text_start 0x1000\ntext_size 0x100\n"
                               "event 1 retired^!taken:retdelay:64000:10000\n"
                               "event 2 cycles:100:10000\n"
                               "event 3 cycles:200:10000\n"
                               "0x1004 1 2 3\n";
    reading r = read_text(text);
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_string_equal(pt_text(p, p->event->row[0].type), "retired^!taken:retdelay");
    assert_int_equal(p->event->t.count, 3);
    assert_int_equal(p->event->row[2].period, 200);
    assert_int_equal(count_at(p, 0x1004, 2), 3);
    pt_buf buf = written_as("dcpicat", p, NULL);
    reading again = read_as("dcpicat", buf.data, buf.size);
    assert_same_meaning(p, again.profile);
    reading_done(&again);
    pt_buf_done(&buf);
    reading_done(&r);
}

static void a_header_behind_rows_begins_another_image(void **state)
{
    (void)state;
    reading r = read_text("name a\nimage 1\nepoch 9705221030\nplatform h\npath /bin/a\n"
                          "text_start 0x1000\ntext_size 0x100\nevent 4 cycles:10:10000\n"
                          "0x1004 4\n"
                          "name b\nimage 2\nepoch 9705221030\nplatform h\npath /bin/b\n"
                          "text_start 0x2000\ntext_size 0x100\n"
                          "event 2 imiss:20:10000\nevent 3 cycles:10:10000\n"
                          "0x2008 2 3\n");
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(p->mapping->t.count, 2);
    assert_string_equal(pt_text(p, p->event->row[0].type), "cycles");
    assert_string_equal(pt_text(p, p->event->row[1].type), "imiss");
    assert_int_equal(count_at(p, 0x2008, 0), 3); /* by name, not by place */
    assert_int_equal(count_at(p, 0x2008, 1), 2);
    assert_int_equal(pt_profile_total(p, 0), 7);
    pt_buf buf = written_as("dcpicat", p, NULL);
    reading again = read_as("dcpicat", buf.data, buf.size);
    assert_same_meaning(p, again.profile);
    reading_done(&again);
    pt_buf_done(&buf);
    reading_done(&r);
}

static void an_image_without_rows_is_left_out_and_told(void **state)
{
    (void)state;
    reading r = read_text(TEXT ROWS "name b\nimage 2\nlabel run-8\n");
    assert_int_equal(r.profile->mapping->t.count, 2);
    pt_diag diag;
    pt_diag_init(&diag);
    pt_buf buf = written_as("dcpicat", r.profile, &diag);
    assert_int_equal(fact(&diag, "images without samples left out, with their header lines"), 1);
    reading again = read_as("dcpicat", buf.data, buf.size);
    assert_int_equal(again.profile->mapping->t.count, 1);
    assert_int_equal(pt_profile_total(again.profile, 0), 12);
    assert_string_equal(pt_text(again.profile, again.profile->extra->value[0]),
                        "label       run-7");
    pt_buf_done(&buf);
    pt_diag_done(&diag);
    reading_done(&again);
    reading_done(&r);
}

static void sums_and_orders_that_do_not_fit_are_told(void **state)
{
    (void)state;
    reading r = read_text("name a\ntext_start 0x1000\ntext_size 0x10\nevent 4 c:10:10000\n"
                          "0x1008 1\n0x1004 2\n0x1010 3\n");
    assert_int_equal(fact(&r.diag, "event line with 4 c, the rows hold 6"), 1);
    assert_int_equal(fact(&r.diag, "rows out of order"), 1);
    assert_int_equal(fact(&r.diag, "outside the text's size"), 1);
    assert_int_equal(pt_profile_total(r.profile, 0), 6);
    reading_done(&r);
}

static void lines_that_cannot_be_read_are_damage_and_the_others_are_kept(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "0x1004\n",
        "0x1004 1 2\n",
        "0x1004 -1\n",
        "0x 1\n",
        "0x1004 9223372036854775808\n",
        "0x11112222333344445 1\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "name a\ntext_start 0x1000\ntext_size 0x100\nevent 2 c:10:10000\n%s0x1008 2\n",
                 bad[i]);
        reading r = read_text(text);
        assert_int_equal(r.status, PT_ERR_DAMAGED);
        assert_string_equal(r.error.message, "1 line not understood");
        assert_int_equal(pt_profile_total(r.profile, 0), 2);
        reading_done(&r);
    }
    reading r = read_text("name a\ntext_start 0x1000\ntext_size 0x100\n0x1004 1\n");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_string_equal(r.error.message, "has no event line");
    reading_done(&r);
}

/* Each row has a value of each event of the file: a few lines must not become gigabytes. */
static void events_beyond_sixty_four_are_damage(void **state)
{
    (void)state;
    pt_buf text = PT_BUF_INIT;
    pt_put_text(&text, "name a\ntext_start 0x1000\ntext_size 0x100\n");
    for (int i = 0; i < 100; i++)
        pt_putf(&text, "event 0 e%d:10:10000\n%s", i,
                i % 10 == 9 ? "0x1004 1 1 1 1 1 1 1 1 1 1\nname b\n" : "");
    reading r = read_as("dcpicat", text.data, text.size);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(r.profile->event->t.count, 64);
    assert_int_equal(pt_profile_total(r.profile, 0), 1);
    reading_done(&r);
    pt_buf_done(&text);
}

/* ---- Between the text and the binary profile ---- */

/* A binary profile 0.06 with each line that its grammar knows and one that it does not. */
static pt_buf binary(void)
{
    static const uint32_t words[] = {16, 3, 5, 0, 7, 64, 1, 9, 3, 21};
    pt_buf buf = PT_BUF_INIT;
    pt_put_text(&buf, "version pdb-0.06\nimage 1b2c3d\nepoch 9705221030\nplatform a.host\n"
                      "event cycles\nperiod 62000\ntsize 4096\ntstart 120000000\ncpuspeed 333\n"
                      "path /usr/shlib/libc.so\ncpuamask 7\ncpuimplv 2\ncpucount 4\n"
                      "path /a/second\nfuture some thing\nsamples\n");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        pt_put_le(&buf, words[i], 4);
    return buf;
}

static void a_binary_profile_becomes_text_and_is_itself_again(void **state)
{
    (void)state;
    pt_buf before = binary();
    reading r = read_as("dcpi", before.data, before.size);
    pt_buf text = written_as("dcpicat", r.profile, NULL);
    reading t = read_as("dcpicat", text.data, text.size);
    assert_int_equal(t.status, PT_OK);
    assert_int_equal(t.diag.count, 0);
    pt_buf after = written_as("dcpi", t.profile, NULL);
    reading again = read_as("dcpi", after.data, after.size);
    static const char *const lines[] = {
        "version pdb-0.06\n", "image 1b2c3d\n",     "epoch 9705221030\n", "platform a.host\n",
        "event cycles\n",     "period 62000\n",     "tsize 4096\n",       "tstart 120000000\n",
        "cpuspeed 333\n",     "cpuamask 7\n",       "cpuimplv 2\n",       "cpucount 4\n",
        "path /a/second\n",   "future some thing\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_non_null(memmem(after.data, after.size, lines[i], strlen(lines[i])));
    assert_int_equal(pt_profile_total(again.profile, 0), 21);
    for (uint32_t i = 0; i < r.profile->sample->t.count; i++) {
        const uint32_t leaf = pt_stack_frames(r.profile, r.profile->sample->stack[i])[0];
        const uint64_t address = r.profile->location->address[leaf];
        assert_int_equal(count_at(again.profile, address, 0), count_at(r.profile, address, 0));
    }
    reading_done(&again);
    pt_buf_done(&after);
    reading_done(&t);
    pt_buf_done(&text);
    reading_done(&r);
    pt_buf_done(&before);
}

/* Images of today are mapped in pieces: without it addresses could not be found in the file. */
static void where_the_text_lies_in_its_file_goes_both_ways(void **state)
{
    (void)state;
    static const char text[] = "name x\nimage 1\npath /bin/x\nepoch 7001010000\nplatform h\n"
                               "text_start 0x1000\ntext_size 0x100\nfileoffset 0x2000\n"
                               "event 2 c:10:10000\n0x1001 2\n";
    reading r = read_text(text);
    assert_int_equal(r.profile->mapping->row[0].file_offset, 0x2000);
    pt_buf bytes = written_as("dcpi", r.profile, NULL);
    assert_non_null(memmem(bytes.data, bytes.size, "\nfileoffset 2000\n", 17));
    reading again = read_as("dcpi", bytes.data, bytes.size);
    assert_int_equal(again.profile->mapping->row[0].file_offset, 0x2000);
    assert_int_equal(count_at(again.profile, 0x1001, 0), 2);
    reading_done(&again);
    pt_buf_done(&bytes);
    reading_done(&r);
}

static void a_header_of_version_one_is_shown(void **state)
{
    (void)state;
    static const char head[] = "version pdb-1.01\nimage 77\nevent cycles\ntstart 0\nnew thing\n"
                               "samples\n\1\0\0\0";
    reading r = read_as("dcpi", head, sizeof head - 1);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    pt_buf text = written_as("dcpicat", r.profile, NULL);
    assert_non_null(memmem(text.data, text.size, "version pdb-1.01\n", 17));
    assert_non_null(memmem(text.data, text.size, "new thing\n", 10));
    assert_non_null(memmem(text.data, text.size, "image       77\n", 15));
    pt_buf_done(&text);
    reading_done(&r);
}

static void every_truncation_and_flip_is_read_without_harm(void **state)
{
    (void)state;
    char whole[] = TEXT ROWS;
    for (size_t i = 0; i + 1 < sizeof whole; i++) {
        reading r = read_as("dcpicat", whole, i);
        reading_done(&r);
        whole[i] = (char)(whole[i] ^ 0xff);
        r = read_as("dcpicat", whole, sizeof whole - 1);
        whole[i] = (char)(whole[i] ^ 0xff);
        reading_done(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_the_header_are_image_time_place_and_events),
        cmocka_unit_test(a_row_is_an_address_and_a_count_for_each_event),
        cmocka_unit_test(what_was_written_by_us_is_rewritten_with_the_same_bytes),
        cmocka_unit_test(an_events_counter_is_part_of_its_name_and_names_may_repeat),
        cmocka_unit_test(a_header_behind_rows_begins_another_image),
        cmocka_unit_test(an_image_without_rows_is_left_out_and_told),
        cmocka_unit_test(sums_and_orders_that_do_not_fit_are_told),
        cmocka_unit_test(lines_that_cannot_be_read_are_damage_and_the_others_are_kept),
        cmocka_unit_test(events_beyond_sixty_four_are_damage),
        cmocka_unit_test(a_binary_profile_becomes_text_and_is_itself_again),
        cmocka_unit_test(where_the_text_lies_in_its_file_goes_both_ways),
        cmocka_unit_test(a_header_of_version_one_is_shown),
        cmocka_unit_test(every_truncation_and_flip_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
