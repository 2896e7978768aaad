/* test_formats_pprof.c: profile.proto. Inputs are assembled from text (proto_text.h); what they
 * mean comes from the specification of profile.proto and of the protobuf encoding. */
#include "formats_check.h"

/* A small whole profile: two values, three locations (the first with an inlined frame), labels. */
#define STRINGS                                                                                    \
    "6\"\" 6\"samples\" 6\"count\" 6\"cpu\" 6\"nanoseconds\" 6\"leaf\" 6\"_Zleaf\" 6\"leaf.c\" "   \
    "6\"main\" 6\"/bin/prog\" 6\"abcd\" 6\"thread\" 6\"worker\" 6\"bytes\" "
#define TYPES    "1{1:1 2:2} 1{1:3 2:4} "
#define MAPPINGS "3{1:1 2:0x1000 3:0x9000 4:0x200 5:9 6:10 7:1 8:1 9:1 10:1} "
#define LOCATIONS                                                                                  \
    "4{1:1 2:1 3:0x1100 4{1:1 2:10 3:7} 4{1:2 2:20}} 4{1:2 2:1 3:0x1200 5:1} 4{1:3 3:0x77} "
#define FUNCTIONS "5{1:1 2:5 3:6 4:7 5:3} 5{1:2 2:8} "
#define SAMPLES   "2{1[1 2 3] 2[5 50]} 2{1:1 2:7 2:-70 3{1:11 2:12} 3{1:11 3:4096 4:13} 3{1:11 3:0}} "
#define HEADER                                                                                     \
    "7:5 8:8 9:1700000000000000000 10:5000000000 11{1:3 2:4} 12:1000000 13[5 8] 14:3 15:9 "
#define WHOLE TYPES SAMPLES MAPPINGS LOCATIONS FUNCTIONS STRINGS HEADER

static reading read_text(const char *text)
{
    proto_bytes bytes = proto_text(text);
    reading r = read_as("pprof", bytes.data, bytes.size);
    free(bytes.data);
    return r;
}

static void assert_writes(const char *text, const char *expected)
{
    reading r = read_text(text);
    assert_int_equal(r.status, PT_OK);
    pt_buf got = written_as("pprof", r.profile, NULL);
    proto_bytes want = proto_text(expected);
    assert_int_equal(got.size, want.size);
    assert_memory_equal(got.data, want.data, want.size);
    free(want.data);
    pt_buf_done(&got);
    reading_done(&r);
}

static void reads_every_field(void **state)
{
    (void)state;
    reading r = read_text(WHOLE);
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.diag.count, 0);
    assert_int_equal(p->event->t.count, 2);
    assert_string_equal(pt_text(p, p->event->row[1].type), "cpu");
    assert_string_equal(pt_text(p, p->event->row[1].unit), "nanoseconds");
    const pt_mapping *m = &p->mapping->row[0];
    assert_int_equal(m->start, 0x1000);
    assert_int_equal(m->limit, 0x9000);
    assert_int_equal(m->file_offset, 0x200);
    assert_string_equal(pt_text(p, m->file), "/bin/prog");
    assert_string_equal(pt_text(p, m->build_id), "abcd");
    assert_int_equal(m->flags, PT_MAPPING_HAS_FUNCTIONS | PT_MAPPING_HAS_FILENAMES |
                                   PT_MAPPING_HAS_LINES | PT_MAPPING_HAS_INLINES);
    assert_string_equal(pt_text(p, p->function->name[0]), "leaf");
    assert_string_equal(pt_text(p, p->function->system_name[0]), "_Zleaf");
    assert_string_equal(pt_text(p, p->function->file[0]), "leaf.c");
    assert_int_equal(p->function->start_line[0], 3);
    assert_int_equal(p->location->t.count, 3);
    assert_int_equal(p->location->address[1], 0x1200);
    assert_int_equal(p->location->flags[1], PT_LOCATION_FOLDED);
    assert_int_equal(p->location->mapping[2], PT_NONE);
    assert_int_equal(p->location->line_first[1], 2);
    assert_int_equal(p->line->line[0], 10);
    assert_int_equal(p->line->column[0], 7);
    assert_int_equal(p->line->function[1], 1);
    reading_done(&r);
}

static void reads_samples_labels_and_header(void **state)
{
    (void)state;
    reading r = read_text(WHOLE);
    const pt_profile *p = r.profile;
    assert_int_equal(p->sample->t.count, 2);
    assert_int_equal(pt_stack_depth(p, p->sample->stack[0]), 3);
    assert_int_equal(pt_stack_frames(p, p->sample->stack[0])[2], 2);
    assert_int_equal(p->sample->value[1][0], 50);
    assert_int_equal(p->sample->value[1][1], -70);
    const uint32_t set = p->sample->labels[1];
    assert_int_equal(p->labels->offset[set + 1] - p->labels->offset[set], 3);
    const pt_label *l = &p->labels->row[p->labels->offset[set]];
    assert_int_equal(l[0].kind, PT_LABEL_STRING);
    assert_string_equal(pt_text(p, l[0].str), "worker");
    assert_int_equal(l[1].num, 4096);
    assert_string_equal(pt_text(p, l[1].unit), "bytes");
    assert_int_equal(l[2].kind, PT_LABEL_NUMBER);
    const pt_provenance *h = pt_profile_provenance(p);
    assert_string_equal(pt_text(p, h->drop_frames), "leaf");
    assert_string_equal(pt_text(p, h->keep_frames), "main");
    assert_int_equal(h->start_ns, 1700000000000000000);
    assert_int_equal(h->duration_ns, 5000000000);
    assert_true(h->has_period_type);
    assert_string_equal(pt_text(p, h->period_type), "cpu");
    assert_int_equal(h->period, 1000000);
    assert_int_equal(h->comment_count, 2);
    assert_string_equal(pt_text(p, h->comments[1]), "main");
    assert_string_equal(pt_text(p, h->default_event), "cpu");
    assert_string_equal(pt_text(p, h->doc_url), "/bin/prog");
    reading_done(&r);
}

/* As the profiles of .NET's tools are: no function has an id, no line names one. */
static void functions_without_ids_belong_to_the_locations_of_their_places(void **state)
{
    (void)state;
    reading r = read_text("1{1:1 2:2} 2{1[2 1] 2:5} 4{1:1 4{2:10}} 4{1:2} 5{2:3} 5{2:4} "
                          "6\"\" 6\"samples\" 6\"count\" 6\"Main\" 6\"Foo\"");
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    const uint32_t *frames = pt_stack_frames(p, p->sample->stack[0]);
    static const char *const names[] = {"Foo", "Main"};
    for (int i = 0; i < 2; i++) {
        const uint32_t line = p->location->line_first[frames[i]];
        assert_string_equal(pt_text(p, p->function->name[p->line->function[line]]), names[i]);
        assert_int_equal(p->line->line[line], i == 1 ? 10 : 0);
    }
    reading_done(&r);
    r = read_text("1{1:1 2:2} 2{1[2 1] 2:5} 4{1:1 4{2:10}} 4{1:2} 5{2:3} 5{1:1 2:4} "
                  "6\"\" 6\"samples\" 6\"count\" 6\"Main\" 6\"Foo\"");
    assert_int_equal(r.status, PT_ERR_DAMAGED); /* one has: the other is nobody's */
    assert_int_equal(r.profile->line->function[0], PT_NONE);
    reading_done(&r);
}

static void writes_fields_in_order_and_packs_only_more_than_two(void **state)
{
    (void)state;
    assert_writes(
        "6\"\" 6\"a\" 6\"b\" 1{2:2 1:1} 1{1:2} 1{1:2} 2{2[1 2 3] 1[1 2 3]} 2{1[2 1] 2[4 5 6]} "
        "4{3:9 1:1} 4{1:2} 4{1:3}",
        "1{1:1 2:2} 1{1:2} 1{1:2} 2{1[1 2 3] 2[1 2 3]} 2{1:2 1:1 2[4 5 6]} "
        "4{1:1 3:9} 4{1:2} 4{1:3} 6\"\" 6\"a\" 6\"b\" 14:0");
}

static void numbers_strings_by_first_use_and_leaves_out_unused_ones(void **state)
{
    (void)state;
    assert_writes("6\"\" 6\"unused\" 6\"file\" 6\"type\" 1{1:3} 3{1:1 5:2}",
                  "1{1:1} 3{1:1 5:2} 6\"\" 6\"type\" 6\"file\" 14:0");
}

static void the_string_table_may_come_first_or_last_or_in_pieces(void **state)
{
    (void)state;
    reading a = read_text(TYPES SAMPLES MAPPINGS LOCATIONS FUNCTIONS STRINGS HEADER);
    reading b = read_text(STRINGS HEADER FUNCTIONS LOCATIONS MAPPINGS TYPES SAMPLES);
    reading c = read_text(
        "6\"\" " SAMPLES "6\"samples\" 6\"count\" 6\"cpu\" " LOCATIONS HEADER
        "6\"nanoseconds\" 6\"leaf\" 6\"_Zleaf\" 6\"leaf.c\" 6\"main\" " TYPES
        "6\"/bin/prog\" 6\"abcd\" 6\"thread\" 6\"worker\" 6\"bytes\" " FUNCTIONS MAPPINGS);
    assert_int_equal(b.status, PT_OK);
    assert_int_equal(c.status, PT_OK);
    assert_same_meaning(a.profile, b.profile);
    assert_same_meaning(a.profile, c.profile);
    reading_done(&a);
    reading_done(&b);
    reading_done(&c);
}

static void packed_and_single_numbers_mean_the_same_and_may_be_mixed(void **state)
{
    (void)state;
    reading a =
        read_text("1{1:1} 1{1:1} 1{1:1} 2{1[1 2 3] 2[7 8 9]} 4{1:1} 4{1:2} 4{1:3} 6\"\" 6\"x\" "
                  "13[1 1]");
    reading b = read_text("1{1:1} 1{1:1} 1{1:1} 2{1:1 1:2 1:3 2:7 2:8 2:9} 4{1:1} 4{1:2} 4{1:3} "
                          "6\"\" 6\"x\" 13:1 13:1");
    reading c = read_text("1{1:1} 1{1:1} 1{1:1} 2{1[1] 2[7] 1:2 2:8 1[3] 1[] 2[9]} 4{1:1} 4{1:2} "
                          "4{1:3} 6\"\" 6\"x\" 13:1 13[1]");
    assert_same_meaning(a.profile, b.profile);
    assert_same_meaning(a.profile, c.profile);
    assert_int_equal(c.status, PT_OK);
    reading_done(&a);
    reading_done(&b);
    reading_done(&c);
}

/* The memo of repeated stacks must not be fooled by samples that begin alike. */
static void samples_that_begin_alike_are_told_apart(void **state)
{
    (void)state;
    reading r =
        read_text("1{1:1} 6\"\" 6\"x\" 4{1:1} 4{1:2} 4{1:3} 2{1[1 2 3] 2:1} 2{1[1 2 3] 2:2} "
                  "2{1[1 2 3] 1[1] 2:3} 2{1[1 2 3] 2:4 1:2} 2{1[1 2] 2:5}");
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(p->sample->t.count, 5);
    assert_int_equal(p->sample->stack[0], p->sample->stack[1]);
    assert_int_equal(pt_stack_depth(p, p->sample->stack[2]), 4);
    assert_int_equal(pt_stack_frames(p, p->sample->stack[2])[3], 0);
    assert_int_equal(pt_stack_frames(p, p->sample->stack[3])[3], 1);
    assert_int_equal(pt_stack_depth(p, p->sample->stack[4]), 2);
    reading_done(&r);
}

/* Samples are decoded some ahead of being interned; repeats leave gaps, labels empty the queue.
 * Sample i has the stack 1 2 ... n of n = 1 + i * i % 7 frames, or a packed list with 9 behind it.
 */
static void many_samples_keep_their_stacks_values_and_order(void **state)
{
    (void)state;
    PT_FREE char *text = pt_alloc(1, 1 << 16);
    int size = 0;
    for (int i = 0; i < 600; i++) {
        size += snprintf(text + size, 200, "2{1[");
        for (int k = 1; k <= 1 + i * i % 7; k++)
            size += snprintf(text + size, 200, "%d ", k);
        size += snprintf(text + size, 200, "] 2:%d%s%s} ", i, i % 5 == 0 ? " 3{1:1 2:1}" : "",
                         i % 11 == 0 ? " 1:9" : "");
    }
    for (int k = 1; k <= 9; k++)
        size += snprintf(text + size, 200, "4{1:%d} ", k);
    snprintf(text + size, 200, "1{1:1} 6\"\" 6\"x\"");
    reading r = read_text(text);
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(p->sample->t.count, 600);
    assert_int_equal(p->stack->t.count, 8); /* of 1, 2, 3, 5 frames, with and without 9 */
    for (uint32_t i = 0; i < 600; i++) {
        const uint32_t stack = p->sample->stack[i], depth = 1 + i * i % 7;
        assert_int_equal(p->sample->value[0][i], i);
        assert_int_equal(p->sample->labels[i], i % 5 == 0);
        assert_int_equal(pt_stack_depth(p, stack), depth + (i % 11 == 0));
        for (uint32_t k = 0; k < depth; k++)
            assert_int_equal(pt_stack_frames(p, stack)[k], k);
        if (i % 11 == 0) assert_int_equal(pt_stack_frames(p, stack)[depth], 8);
    }
    reading_done(&r);
}

static void ids_may_be_any_numbers(void **state)
{
    (void)state;
    reading r = read_text("1{1:1} 6\"\" 6\"x\" 3{1:0xffffffffffffffff} 5{1:0x8000000000000000 2:1} "
                          "4{1:0x7fffffffffffffff 2:0xffffffffffffffff 4{1:0x8000000000000000}} "
                          "4{1:5 3:1} 2{1[0x7fffffffffffffff 5 5] 2:1}");
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(p->location->mapping[0], 0);
    assert_int_equal(p->line->function[0], 0);
    assert_int_equal(pt_stack_frames(p, 0)[0], 0);
    assert_int_equal(pt_stack_frames(p, 0)[1], 1);
    reading_done(&r);
    assert_writes("2{1[900 7 900] } 4{1:900} 4{1:7} 6\"\"",
                  "2{1[900 7 900]} 4{1:900} 4{1:7} 6\"\" 14:0");
}

/* Stacks of every depth to 100 of ids that take one to nine bytes, mixed so that they begin and end
 * anywhere: behind the samples lies as much of the file as before them. */
static void ids_of_any_length_are_read_wherever_they_lie_in_a_list(void **state)
{
    (void)state;
    static const uint64_t id[] = {1,           0x7f,         0x80,       0x3fff,
                                  0x4000,      0x1fffff,     0x200000,   0xfffffffu,
                                  0x10000000u, 0x7ffffffffu, 1ull << 35, 1ull << 62};
    enum { IDS = sizeof id / sizeof id[0], SAMPLES_MADE = 100 };
#define ID_AT(sample, frame) ((frame) * (frame) / 3 + (sample) * (frame) % 7 + (sample)) % IDS
    PT_FREE char *tables = pt_alloc(1, 1 << 12), *samples = pt_alloc(1, 1 << 18);
    int size = 0;
    for (int i = 0; i < IDS; i++)
        size += snprintf(tables + size, 100, "4{1:%llu} ", (unsigned long long)id[i]);
    size = 0;
    for (int i = 0; i < SAMPLES_MADE; i++) {
        size += snprintf(samples + size, 100, "2{1[");
        for (int k = 0; k <= i; k++)
            size += snprintf(samples + size, 100, "%llu ", (unsigned long long)id[ID_AT(i, k)]);
        size += snprintf(samples + size, 100, "] 2:1} ");
    }
    for (int order = 0; order < 2; order++) {
        PT_FREE char *text = pt_strf("1{1:1} 6\"\" 6\"x\" %s%s", order == 0 ? samples : tables,
                                     order == 0 ? tables : samples);
        reading r = read_text(text);
        assert_int_equal(r.status, PT_OK);
        for (uint32_t i = 0; i < SAMPLES_MADE; i++) {
            const uint32_t stack = r.profile->sample->stack[i];
            assert_int_equal(pt_stack_depth(r.profile, stack), i + 1);
            for (uint32_t k = 0; k <= i; k++)
                assert_int_equal(pt_stack_frames(r.profile, stack)[k], ID_AT(i, k));
        }
        reading_done(&r);
    }
}

static void unknown_fields_of_every_message_are_written_again(void **state)
{
    (void)state;
    /* One in each message, of each wire type; strings keep their numbers then. */
    const char *text = "1{1:1 2:1 90:1} 2{1:1 2:5 3{1:2 2:3 91\"q\"} 92=8:7} 3{1:1 93=4:6} "
                       "4{1:1 4{1:1 94:5} 95(1:2 2(3:4))} 5{1:1 2:1 96\"\"} "
                       "6\"\" 6\"a\" 6\"b\" 6\"c\" 6\"only the unknown field knows me\" "
                       "11{1:1 97:1} 14:0 98:4 99{1:2}";
    reading r = read_text(text);
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->unknown->t.count, 9);
    reading_done(&r);
    assert_writes(text, text);
}

static void a_text_label_that_is_empty_stays_a_text(void **state)
{
    (void)state;
    reading a = read_text("1{1:1} 2{2:1 3{1:1 2:2}} 6\"\" 6\"key\" 6\"\"");
    assert_int_equal(a.status, PT_OK);
    pt_buf bytes = written_as("pprof", a.profile, NULL);
    reading b = read_as("pprof", bytes.data, bytes.size);
    assert_int_equal(b.profile->labels->row[0].kind, PT_LABEL_STRING);
    assert_same_meaning(a.profile, b.profile);
    pt_buf_done(&bytes);
    reading_done(&a);
    reading_done(&b);
}

static void references_to_nothing_are_kept_as_unknown_and_counted(void **state)
{
    (void)state;
    reading r = read_text("1{1:1} 6\"\" 6\"x\" 4{1:1 2:40 4{1:41} 4{1:0}} 2{1[1 50 51 50] 2:1} "
                          "2{1:0 2:1} 5{1:1 2:99}");
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "missing locations of samples"), 3);
    assert_int_equal(fact(&r.diag, "locations with a missing mapping"), 1);
    assert_int_equal(fact(&r.diag, "lines with a missing function"), 1);
    assert_int_equal(fact(&r.diag, "string table"), 1);
    const uint32_t *frames = pt_stack_frames(p, p->sample->stack[0]);
    assert_int_equal(frames[1], frames[3]); /* stacks keep their shape */
    assert_int_not_equal(frames[1], frames[2]);
    assert_int_equal(p->location->address[frames[1]], 0);
    reading_done(&r);
}

static void rows_without_an_id_of_their_own_are_left_out_and_counted(void **state)
{
    (void)state;
    reading r =
        read_text("1{1:1} 6\"\" 6\"x\" 6\"y\" 5{1:1 2:1} 5{1:1 2:2} 5{2:2} 3{} 4{1:1 4{1:1}} "
                  "4{1:1} 2{1:1 2:3}");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "without an id"), 4);
    assert_int_equal(r.profile->function->t.count, 1);
    assert_string_equal(pt_text(r.profile, r.profile->function->name[0]), "x");
    reading_done(&r);
}

static void a_wrong_number_of_values_is_filled_or_cut(void **state)
{
    (void)state;
    reading r = read_text("1{1:1} 1{1:1} 6\"\" 6\"x\" 2{2:1} 2{2[1 2 3]} 2{2:5 2:6} 2{}");
    const pt_profile *p = r.profile;
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(fact(&r.diag, "wrong number of values"), 3);
    assert_int_equal(p->sample->value[1][0], 0);
    assert_int_equal(p->sample->value[1][1], 2);
    assert_int_equal(p->sample->value[1][2], 6);
    reading_done(&r);
}

static void values_without_types_get_columns_with_made_up_names(void **state)
{
    (void)state;
    reading r = read_text("2{1:1 2[4 5]} 4{1:1} 6\"\"");
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(r.profile->event->t.count, 2);
    assert_string_equal(pt_text(r.profile, r.profile->event->row[1].type), "value2");
    assert_int_equal(r.profile->sample->value[1][0], 5);
    reading_done(&r);
}

static void more_columns_than_samples_have_bytes_are_refused(void **state)
{
    (void)state;
    char text[4096];
    int size = snprintf(text, sizeof text, "2{1:1 2:1} ");
    for (int i = 0; i < 200; i++)
        size += snprintf(text + size, sizeof text - (size_t)size, "1{} ");
    reading r = read_text(text);
    assert_int_equal(r.status, PT_ERR_FORMAT);
    assert_non_null(strstr(r.error.message, "200 values for each sample"));
    reading_done(&r);
}

static void two_profiles_in_one_file_are_refused(void **state)
{
    (void)state;
    reading r = read_text(WHOLE WHOLE);
    assert_int_equal(r.status, PT_ERR_UNSUPPORTED);
    assert_non_null(strstr(r.error.message, "pitot merge"));
    proto_bytes one = proto_text(WHOLE);
    assert_int_equal(r.error.offset, one.size); /* where the second begins */
    free(one.data);
    reading_done(&r);
    /* Also if neither has a time, and if each begins with its strings. */
    r = read_text(TYPES SAMPLES STRINGS TYPES SAMPLES STRINGS);
    assert_int_equal(r.status, PT_ERR_UNSUPPORTED);
    reading_done(&r);
    r = read_text(STRINGS TYPES SAMPLES STRINGS TYPES SAMPLES);
    assert_int_equal(r.status, PT_ERR_UNSUPPORTED);
    reading_done(&r);
}

static void a_second_empty_string_alone_is_no_second_profile(void **state)
{
    (void)state;
    reading r = read_text("1{1:1} 2{2:1} 6\"\" 6\"x\" 6\"\" 9:5");
    assert_int_equal(r.status, PT_OK);
    reading_done(&r);
}

static void overlong_tags_and_numbers_are_read(void **state)
{
    (void)state;
    reading r = read_text("~3 1{~1 1:1} ~2 2{~2 1[1 1 1] 2:7} ~1 4{1:1 3:5} 6\"\" 6\"x\"");
    assert_int_equal(r.status, PT_OK);
    assert_int_equal(r.profile->sample->value[0][0], 7);
    assert_int_equal(pt_stack_depth(r.profile, r.profile->sample->stack[0]), 3);
    reading_done(&r);
}

static void extreme_values_survive(void **state)
{
    (void)state;
    const char *text = "1{1:1} 2{2:-9223372036854775808} 2{2:9223372036854775807} "
                       "2{2:1 3{1:1 3:-9223372036854775808}} 6\"\" 6\"x\" 14:0";
    assert_writes(text, text);
}

/* Writers put samples before the tables, so a file that is cut loses names first. */
static void a_file_cut_behind_its_samples_keeps_their_shape(void **state)
{
    (void)state;
    proto_bytes bytes = proto_text(WHOLE), part = proto_text(TYPES SAMPLES);
    reading r = read_as("pprof", bytes.data, part.size + 1);
    assert_int_equal(r.status, PT_ERR_DAMAGED);
    assert_int_equal(r.error.offset, part.size);
    assert_non_null(strstr(r.error.message, "kept 2 samples"));
    assert_int_equal(r.profile->sample->value[1][0], 50);
    assert_int_equal(pt_stack_depth(r.profile, r.profile->sample->stack[0]), 3);
    assert_int_equal(fact(&r.diag, "missing locations of samples"), 3);
    assert_string_equal(pt_text(r.profile, r.profile->event->row[0].type), "value1");
    reading_done(&r);
    free(part.data);
    free(bytes.data);
}

static void every_cut_is_an_error_or_a_smaller_profile(void **state)
{
    (void)state;
    proto_bytes bytes = proto_text(WHOLE);
    for (size_t size = 0; size < bytes.size; size++) {
        reading r = read_as("pprof", bytes.data, size);
        if (r.profile) assert_true(r.profile->sample->t.count <= 2);
        reading_done(&r);
    }
    free(bytes.data);
}

static void every_flip_is_an_error_or_a_profile_that_can_be_written(void **state)
{
    (void)state;
    proto_bytes bytes = proto_text(WHOLE "98:4 ");
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        reading r = read_as("pprof", bytes.data, bytes.size);
        if (r.profile) {
            pt_buf again = written_as("pprof", r.profile, NULL);
            reading second = read_as("pprof", again.data, again.size);
            if (second.profile) assert_same_meaning(r.profile, second.profile);
            reading_done(&second);
            pt_buf_done(&again);
        }
        reading_done(&r);
        bytes.data[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    free(bytes.data);
}

static void columns_of_samples_become_labels(void **state)
{
    (void)state;
    pt_builder *b = pt_builder_new();
    pt_builder_event(b, &(pt_event){.type = pt_builder_text(b, "n").v});
    const pt_stack_id stack = pt_builder_stack(b, NULL, 0, PT_STACK_END_UNKNOWN);
    pt_builder_timed_sample(b, &(pt_sample){.stack = stack.v,
                                            .values = (int64_t[]){1},
                                            .pid = 7,
                                            .tid = 9,
                                            .cpu = PT_NONE,
                                            .time_ns = 1500,
                                            .comm = pt_builder_text(b, "sh").v});
    pt_builder_provenance(b)->start_ns = 1000;
    const pt_profile *p;
    assert_int_equal(pt_builder_freeze(b, &p, NULL), PT_OK);
    pt_buf got = written_as("pprof", p, NULL);
    proto_bytes want = proto_text("1{1:1} 2{2:1 3{1:3 3:7} 3{1:4 3:9} 3{1:5 2:2} 3{1:6 3:500 4:7}} "
                                  "6\"\" 6\"n\" 6\"sh\" 6\"pid\" 6\"tid\" 6\"comm\" 6\"time\" "
                                  "6\"nanoseconds\" 6\"pitot: columns=labels\" 9:1000 13:8 14:0");
    assert_int_equal(got.size, want.size);
    assert_memory_equal(got.data, want.data, want.size);
    free(want.data);
    pt_buf_done(&got);
    pt_profile_unref(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_field),
        cmocka_unit_test(reads_samples_labels_and_header),
        cmocka_unit_test(functions_without_ids_belong_to_the_locations_of_their_places),
        cmocka_unit_test(writes_fields_in_order_and_packs_only_more_than_two),
        cmocka_unit_test(numbers_strings_by_first_use_and_leaves_out_unused_ones),
        cmocka_unit_test(the_string_table_may_come_first_or_last_or_in_pieces),
        cmocka_unit_test(packed_and_single_numbers_mean_the_same_and_may_be_mixed),
        cmocka_unit_test(samples_that_begin_alike_are_told_apart),
        cmocka_unit_test(many_samples_keep_their_stacks_values_and_order),
        cmocka_unit_test(ids_may_be_any_numbers),
        cmocka_unit_test(ids_of_any_length_are_read_wherever_they_lie_in_a_list),
        cmocka_unit_test(unknown_fields_of_every_message_are_written_again),
        cmocka_unit_test(a_text_label_that_is_empty_stays_a_text),
        cmocka_unit_test(references_to_nothing_are_kept_as_unknown_and_counted),
        cmocka_unit_test(rows_without_an_id_of_their_own_are_left_out_and_counted),
        cmocka_unit_test(a_wrong_number_of_values_is_filled_or_cut),
        cmocka_unit_test(values_without_types_get_columns_with_made_up_names),
        cmocka_unit_test(more_columns_than_samples_have_bytes_are_refused),
        cmocka_unit_test(two_profiles_in_one_file_are_refused),
        cmocka_unit_test(a_second_empty_string_alone_is_no_second_profile),
        cmocka_unit_test(overlong_tags_and_numbers_are_read),
        cmocka_unit_test(extreme_values_survive),
        cmocka_unit_test(a_file_cut_behind_its_samples_keeps_their_shape),
        cmocka_unit_test(every_cut_is_an_error_or_a_smaller_profile),
        cmocka_unit_test(every_flip_is_an_error_or_a_profile_that_can_be_written),
        cmocka_unit_test(columns_of_samples_become_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
